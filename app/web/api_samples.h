// SPDX-License-Identifier: BSD-3-Clause
// Samples: the configurations of config/ that describe a run, and their input files, as parts of
// the program; api_samples.py writes them. Path: cold. Threads of libmicrohttpd.
#pragma once

#include <stddef.h>

#include "http/http.h"

#define SAMPLE_INPUTS 4

struct sample {
	const char *name;                 // NULL: behind the last one
	const char *about;                // NULL: an input file of others
	const char *needs[SAMPLE_INPUTS]; // names of its input files
	const unsigned char *packed;      // by zlib
	size_t packed_len, len;
};

extern const struct sample samples[];

struct http_reply api_list_samples(void *ctx, struct http_request *r);
struct http_reply api_get_sample(void *ctx, struct http_request *r);

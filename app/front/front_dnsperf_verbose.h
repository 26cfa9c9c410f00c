// SPDX-License-Identifier: BSD-3-Clause
// dnsperf -v: a line for each query. Path: cold. Main thread.
#pragma once

#include "document/document_reader.h"
#include "front/front_as.h"

// After the run: "> NOERROR www.example.com A 0.000123", and "> T ..." for lost ones; same: this
// text in place of the question, NULL: names end with a dot where they do so in the file of
// queries. fd is closed.
void dnsperf_verbose_print(const struct as_run *r, int fd, const char *file, const char *same,
	const struct document_reader *b);

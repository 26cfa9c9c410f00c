// SPDX-License-Identifier: BSD-3-Clause
// The result as the JSON document of --json, and its way into a file. Path: cold. Main thread.
#pragma once

#include <stdio.h>

#include <jansson.h>

#include "engine/config/config.h"
#include "engine/result/result.h"

// The effective settings: numbers and booleans keep their type, all others are text as in the file.
json_t *document_settings(const struct field_section *section, const void *settings);

// The whole document; without the configuration if it is NULL or does not want to be there. The
// caller owns it.
json_t *document_result(const struct result *r, const struct config *c);

// Percentiles above that share which are not known (hist_knows) become null, in all latencies of
// the document or the line.
void document_blank(json_t *in, double above);

// With the digits that a reader of the file gets, so that all formats are those of a report on it.
// Takes the document and gives another one.
json_t *document_as_written(json_t *document);

// The document as text, with a newline at its end. 0 or -EIO.
int document_print(const json_t *document, FILE *f);

// Finds out before the run that path cannot be written after it; leaves no file there. option names
// the file in messages. 0, or -errno, which was logged.
int document_check(const char *option, const char *path);

// What is to be written: 0, or -errno after an error that it logged. Errors of f are found by those
// that hand it out.
struct document_writer {
	int (*write)(void *ctx, FILE *f);
	void *ctx;
	bool is_private; // only the owner may read the file
};

// "-": standard output. A file appears complete or not at all (base/file.h). 0, or -errno, which
// was logged.
int document_write_by(const char *option, const char *path, const struct document_writer *w);
int document_write_json(const char *option, const json_t *document, const char *path);

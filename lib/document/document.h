// SPDX-License-Identifier: BSD-3-Clause
// The result as the JSON document of --json, and its way into a file. Path: cold. Main thread.
#pragma once

#include <stdio.h>

#include <jansson.h>

#include "engine/config/config.h"
#include "engine/result/result.h"

// Returns the effective settings: numbers and booleans keep their type, others are the file's text.
json_t *document_settings(const struct field_section *section, const void *settings);

// Returns the whole document; without the configuration if c is NULL or output.config is off. The
// caller owns it.
json_t *document_result(const struct result *r, const struct config *c);

// Sets percentiles above that share which are unknown (hist_knows) to null, in all latencies of the
// document or the line.
void document_blank(json_t *in, double above);

// Rounds to the digits that a reader of the file gets, so that all formats agree with a report on
// it. Takes the document and returns another one.
json_t *document_as_written(json_t *document);

// Prints the document as text, with a newline at its end. Returns 0 or -EIO.
int document_print(const json_t *document, FILE *f);

// Finds out before the run that path cannot be written after it; leaves no file there. option names
// the file in messages. Returns 0, or -errno, which was logged.
int document_check(const char *option, const char *path);

// write returns 0, or -errno after an error that it logged. The owner of f checks it for errors.
struct document_writer {
	int (*write)(void *ctx, FILE *f);
	void *ctx;
	bool is_private; // only the owner may read the file
};

// "-": standard output. A file appears complete or not at all (base/file.h). Returns 0, or -errno,
// which was logged.
int document_write_by(const char *option, const char *path, const struct document_writer *w);
int document_write_json(const char *option, const json_t *document, const char *path);

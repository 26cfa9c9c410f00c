// SPDX-License-Identifier: BSD-3-Clause
// The result as the JSON document of --json, and its way into a file. Path: cold. Main thread.
#pragma once

#include <jansson.h>

#include "engine/config/config.h"
#include "engine/result/result.h"

// The effective settings: numbers and booleans keep their type, all others are text as in the file.
json_t *document_settings(const struct field_section *section, const void *settings);

// The whole document; config NULL: without it. The caller owns it.
json_t *document_result(const struct result *r, const struct config *c);

// The document as text with a newline at its end; the caller frees it.
char *document_text(const json_t *document);

// Finds out before the run that path cannot be written after it; leaves no file there. option names
// the file in messages. 0, or -errno, which was logged.
int document_check(const char *option, const char *path);

// "-": standard output. A file appears complete or not at all; a pipe or device is written to
// directly. 0, or -errno, which was logged.
int document_write(const char *option, const char *text, const char *path);
int document_write_json(const char *option, const json_t *document, const char *path);

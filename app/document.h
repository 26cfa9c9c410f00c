// SPDX-License-Identifier: BSD-3-Clause
// The result as the JSON document of --json, and its way into a file. Path: cold. Main thread.
#pragma once

#include <jansson.h>

#include "engine/config/config.h"
#include "engine/result/result.h"

// The effective settings; numbers and booleans as such, everything else as text in the file's
// notation.
json_t *document_settings(const struct field_section *section, const void *settings);

// The whole document; config NULL: without it. The caller owns it.
json_t *document_result(const struct result *r, const struct config *c);

// The document as text with a newline at its end; the caller frees it.
char *document_text(const json_t *document);

// Can path be written when the run is over? Leaves nothing there. 0, or -errno, which was logged.
int document_check(const char *path);

// "-": standard output. A file appears complete or not at all; what is not a file (a pipe,
// /dev/null) is written to directly. 0, or -errno, which was logged.
int document_write(const json_t *document, const char *path);

// The same for other texts; what: how messages call the file.
int document_check_as(const char *what, const char *path);
int document_put(const char *what, const char *text, const char *path);

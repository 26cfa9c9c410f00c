// SPDX-License-Identifier: BSD-3-Clause
// A history: one line of JSON for each run, with its figures of merit, appended by `ddiperf report
// --append`. A line has the members of a result at the places that they have there. The file may
// hold anything: damaged lines are named and left out. Path: cold. Main thread.
#pragma once

#include <jansson.h>

#include "document/document_reader.h"

#define HISTORY_SCHEMA "ddiperf-history/1"
// SHA-256 of the configuration without settings that do not change the load; "" as in a result that
// has no configuration: config_sha256 instead.
#define HISTORY_TEST "run.test_sha256"

// Returns the members of a result that the history has. The caller owns it.
json_t *history_entry(const struct document_reader *b);

// Returns all entries, in their order: an array that the caller owns. NULL: no history (logged).
json_t *history_read(const char *file);

// Appends the results that the file does not have, by their ids, in one write that has reached the
// disk on return. A failed write leaves the file unchanged, and programs that append at once wait
// for each other. Returns 0, or -errno, which was logged; -EINVAL: the file is not a history, or a
// result has no id.
int history_append(const char *file, struct document_reader *const readers[], unsigned count);

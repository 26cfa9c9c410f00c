// SPDX-License-Identifier: BSD-3-Clause
// Figures of a result that the user chose: by path, pattern or one of netperf's names. Path: cold.
// Main thread.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "document/document_reader.h"
#include "engine/config/config.h"

struct chosen {
	const char *name; // as the user wrote it; of a pattern the path
	const char *text; // the value; "": the result does not have it
};

// Figures up to a ";" or the end of a line of a file.
struct chosen_block {
	struct chosen *list;
	uint32_t count;
};

struct choice {
	struct chosen_block *blocks;
	uint32_t count;
};

// text: "A,B;C", "all", or the name of a file with such lines. NULL: every path. 0, or -EINVAL with
// the reason logged: a selector that no figure has, with the nearest one. units: as netperf's -f
// (format_netperf.h), 0: by the test.
int select_figures(const struct document_reader *b, const char *text, char units, struct arena *a,
	struct choice *out);

// Before a run of that file: can its result have the one figure of that name? A pattern is not
// judged. false: *nearest is one that was perhaps meant, in a; NULL: none is near.
bool select_may_have(
	const struct config *c, const char *name, struct arena *a, const char **nearest);

// netperf's names, with their paths and units. b: and every path that it has; NULL: names only.
void select_list(const struct document_reader *b, FILE *out);

// The one figure of merit: the answer of a search (0: none was found), else netperf's THROUGHPUT:
// answered transactions per second over all items, or 10^6 bits sent per second one way.
double select_merit(const struct document_reader *b, char units);

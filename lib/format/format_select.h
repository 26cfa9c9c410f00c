// SPDX-License-Identifier: BSD-3-Clause
// Figures of a result that the user chose: by path, pattern or netperf name. Path: cold. Main
// thread.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "document/document_reader.h"
#include "engine/config/config.h"

struct chosen {
	const char *name; // as the user wrote it; for a pattern the path
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

// Selects figures. text: "A,B;C", "all", or the name of a file with such lines. NULL: every path.
// Returns 0, or -EINVAL with the reason logged: a selector without a figure, with the nearest name.
// units: as netperf's -f (format_netperf.h), 0: by the test.
int select_figures(const struct document_reader *b, const char *text, char units, struct arena *a,
	struct choice *out);

// Before a run of that file: can its result have the figure of that name? Patterns are not judged.
// false: *nearest is the name that was perhaps meant, in a; NULL: none is near.
bool select_may_have(
	const struct config *c, const char *name, struct arena *a, const char **nearest);

// Lists netperf's names with paths and units. b: also every path that it has; NULL: names only.
void select_list(const struct document_reader *b, FILE *out);

// Returns the figure of merit: a search's answer (0: none was found), else netperf's THROUGHPUT:
// answered transactions per second over all items, or 10^6 bits sent per second one way.
double select_merit(const struct document_reader *b, char units);

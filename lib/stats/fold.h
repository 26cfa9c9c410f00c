// SPDX-License-Identifier: BSD-3-Clause
// Figures added up by their rows (base/counter.h): over several machines, or interval by interval.
// Knows types, never a counter. Path: cold. Management thread.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/counter.h"

// Over machines, counts, rates and levels are added; of times and shares the highest counts;
// settings are taken from the first machine. Over time, counts are added, the newest levels and
// settings count, and all other figures with a unit become unknown (NAN), as they do not follow
// from the intervals.
enum fold_over { FOLD_OVER_BOXES, FOLD_OVER_TIME };

struct stats_fold;

// A section that is not added row by row. first: *to is zeroed and has no figures yet.
struct stats_fold_whole {
	const struct counter_section *section;
	void (*fold)(const struct stats_fold *f, void *to, const void *from, bool first);
};

struct stats_fold {
	enum fold_over over;
	struct arena *arena;                  // of all that the sum points to
	const struct stats_fold_whole *whole; // the last one without a section
	void *ctx;                            // theirs
};

// Add the figures at `from` to those at `to`. first: `to` is zeroed. Elements of a list are the
// same if all their rows with `key` are; without such rows, if they have the same place. Nothing in
// the sum points into `from`. A count that would not fit stays UINT64_MAX.
void stats_fold(const struct stats_fold *f, const struct counter_section *section, void *to,
	const void *from, bool first);

// Element i of a list of the sum. If i is the count of the list, the element is added, and *first
// is set.
void *stats_fold_element(
	struct counter_list *list, uint32_t i, size_t size, struct arena *a, bool *first);

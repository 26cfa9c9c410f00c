// SPDX-License-Identifier: BSD-3-Clause
// Documents of the parts of a run (docs/fleet.md) as one: counts, rates and levels are added,
// histograms too, and percentiles and shares come from the sums. Workers stand one after the other,
// each with the number of its part. The rows of the result say how a figure is merged. Knows no
// verdict (merge_verdict.h). Path: cold. Main thread.
#pragma once

#include <jansson.h>

#include "base/counter.h"
#include "base/hist.h"

#define MERGE_PARTS 1024

struct merge {
	unsigned count;
	uint64_t part[MERGE_PARTS]; // the number of each, from 1
	double hz[MERGE_PARTS];     // ticks a second of its box: the unit of its histograms
	// While a distribution is merged: of all parts, and of those with one clock.
	struct hist sum, clock;
	unsigned depth; // of the objects that are being merged
};

// Objects of the same place in the document of each part, or NULL where a part has none; section:
// their rows. The caller owns the sum, whose histograms are in ticks of the first part.
json_t *merge_objects(struct merge *m, const struct counter_section *section, json_t *const *parts);
// Elements of lists that have the same place: of intervals.
json_t *merge_lists(struct merge *m, const struct counter_section *section, json_t *const *parts);

// SPDX-License-Identifier: BSD-3-Clause
// Sums of results and intervals: over the boxes of a fleet, or over successive intervals. Counts
// follow from the rows (stats/fold.h), percentiles from the sum of the histograms, and rates and
// shares from the sums. Path: cold. Management thread.
#pragma once

#include "engine/result/result.h"
#include "stats/fold.h"

// Sets the percentiles of l, in ns, from a histogram of ticks, and the chosen ones by their names.
// above: samples that rank above all of h, as INFINITY. Without samples they are NAN. rounded: to
// whole nanoseconds, as in documents.
void result_percentiles(
	struct latency *l, const struct hist *h, uint64_t above, double hz, bool rounded);

// Returns the text of hist_print, in a; NULL: empty.
const char *result_histogram(const struct hist *h, struct arena *a);

struct result_fold {
	enum fold_over over;
	struct arena *arena; // of the sum
	struct arena *hists; // of its histograms, until it is derived for the last time
	double hz;           // ticks a second in them
};

// Adds an interval, or a result, whose histograms have from_hz ticks a second; 0: unknown. first:
// *to is zeroed. Replies to requests of earlier intervals keep their places in time: the sum has
// the number of the latest interval.
void result_fold_interval(const struct result_fold *f, struct result_interval *to,
	const struct result_interval *from, double from_hz, bool first);
void result_fold(const struct result_fold *f, struct result *to, const struct result *from,
	double from_hz, bool first);

// Computes the figures that follow from the sums. More may be added afterwards.
void result_derive_interval(const struct result_fold *f, struct result_interval *sum);
// Computes rates and loss of the sum of all intervals so far, as the result has them.
void result_derive_rates(struct result_interval *sum);
void result_derive(const struct result_fold *f, struct result *sum);

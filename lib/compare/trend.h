// SPDX-License-Identifier: BSD-3-Clause
// Is a run worse than the last runs of its history? docs/measurement/comparison.md has the method.
// Path: cold. Main thread.
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/arena.h"

#define TREND_RUNS     10 // runs to compare with, at most
#define TREND_RUNS_MIN 3
#define TREND_SHOWN    500 // runs in a chart, at most
#define TREND_DEFAULT  0.99
#define TREND_SURE     0.9999 // higher values are not printed: the method is not that exact

struct trend_figure {
	const char *item, *path; // as in figures.h; borrowed from the entries
	double value;            // INFINITY: a rank among the lost transactions; NAN: none
	double past[TREND_RUNS]; // the runs that have one
	unsigned count;
	unsigned lost; // runs with a rank among the lost, which past does not have
	// Only if judged:
	double mean;       // of past; of times, the geometric one
	double bound;      // beyond it the run is worse
	double confidence; // that it is worse, for all figures together: 0..1
	bool judged, worse;
	bool noisy; // judged, and not worse, but the past varies too much for a conclusion
};

struct trend {
	unsigned runs;            // comparable runs, at most TREND_RUNS
	unsigned others;          // of the same name before the run, not comparable
	unsigned boxes;           // comparable runs on another CPU model
	const char *first, *last; // when the comparable runs began
	struct trend_figure *figures;
	unsigned count;
	unsigned judged, noisy;
};

// entry: of the run, which entries may have already. Only entries before it count. The trend's
// texts live as long as both and the arena.
void trend_of(const json_t *entries, const json_t *entry, double confidence, struct arena *a,
	struct trend *out);

// Judges past and value: sets the members from mean on. together: figures that are judged.
void trend_judge(struct trend_figure *f, double confidence, unsigned together);

// For a chart: returns the last runs of the same name up to the entry, which is the last, and their
// figures with its judgement. The caller owns it.
json_t *trend_series(const json_t *entries, const json_t *entry);

// Can a result with this verdict be judged?
bool trend_may_judge(const char *status);

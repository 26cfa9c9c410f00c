// SPDX-License-Identifier: BSD-3-Clause
// The verdict so far: criteria on the sum of the intervals, and whether the tester has spoilt the
// run already. From intervals alone, so that it serves the runs of a fleet too; verdict.h judges
// the end. Memory does not grow with the run. Path: cold. Management thread.
#pragma once

#include "engine/config/criteria.h"
#include "engine/result/result_fold.h"

struct so_far {
	const struct config *config;
	struct arena *arena;
	struct criteria criteria;
	struct result_interval sum;
	double hz;         // ticks a second in its histograms
	uint64_t *pending; // per item: due and unsent at the end of the interval before
	uint64_t *unsent;  // per item: of these, still unsent now
	double *late;      // per item: sends that were certainly later than validity.send_lag_p99
	bool *punctual;    // per item: no interval had too many of them
	bool unstamped;    // the kernel stamps no packet of any worker
	bool begun;        // there is an interval
};

// c lives as long as *s. hz: of the histograms of the run's intervals; 0: unknown.
void so_far_begin(struct so_far *s, const struct config *c, double hz);
void so_far_forget(struct so_far *s); // zeroed, or begun before

// Adds an interval of the measured part.
void so_far_add(struct so_far *s, const struct result_interval *i);

// Returns the criteria by the sum of all intervals (criteria_so_far).
struct counter_list so_far_criteria(const struct so_far *s, struct arena *a);

// Returns the first reason, in short, why the run would be invalid if it ended now; NULL: none that
// intervals show.
const char *so_far_invalid(const struct so_far *s, struct arena *a);

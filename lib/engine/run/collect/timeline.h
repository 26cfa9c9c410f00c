// SPDX-License-Identifier: BSD-3-Clause
// The remains of a run's intervals. Each interval is handed out when it ends and is gone then. The
// end of the run needs their sums, the criteria about them, and how the transactions in flight
// grew. Memory does not grow with the run. Path: cold. Management thread.
#pragma once

#include "engine/config/criteria.h"

struct timeline_point {
	double t_s;
	uint64_t sent, open; // by the end of an interval, since the start of the measured part
};

#define TIMELINE_POINTS 1024

struct timeline_item {
	struct ledger sum;
	struct timeline_point points[TIMELINE_POINTS]; // a point per `every` intervals
	uint32_t count;
};

struct timeline {
	struct criteria criteria;
	struct timeline_item *items;
	uint64_t intervals, every;
};

void timeline_start(struct timeline *t, const struct config *c, struct arena *a);

// Adds the next interval of the measured part, the drain included.
void timeline_add(struct timeline *t, const struct result_interval *i);

// The number in flight at the end of the measured part, its growth since half-way, and the number
// sent since then. Without an interval that ends by half-way there is no growth.
struct timeline_growth {
	uint64_t open, grown, sent;
};
struct timeline_growth timeline_growth(const struct timeline *t, uint32_t item, double measured_s);

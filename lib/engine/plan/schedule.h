// SPDX-License-Identifier: BSD-3-Clause
// From the settings of a load to the schedule that workers walk (pace.h). The k-th transaction is
// due when the sum of the rate from the start reaches k + 1/2. A shape whose rate changes evenly
// becomes segments of constant rate. Each begins and ends on the shape: in between a due time is
// off by at most SCHEDULE_ERROR_NS, and errors do not accumulate.
// Path: cold. Management thread.
#pragma once

#include "engine/config/load.h"
#include "engine/core/pace.h"

#define SCHEDULE_ERROR_NS 1000

// The time base of a shape.
struct schedule_base {
	double hz;        // ticks per second
	uint64_t lead_ns; // sent at the first rate before the shape begins: the warm-up
	uint64_t seed;
	// For a replay: ns after the first, ascending.
	const uint64_t *times_ns;
	uint64_t times_count;
};

// For an open loop. Returns 0 or -ENOMEM. Call schedule_free in any case.
int schedule_build(
	struct schedule *s, const struct load_settings *l, const struct schedule_base *base);
void schedule_free(struct schedule *s);

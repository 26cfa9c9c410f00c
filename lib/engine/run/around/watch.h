// SPDX-License-Identifier: BSD-3-Clause
// Facts that only the management thread can observe during a run: clock, links, use of the links.
// Judges nothing (verdict.c).
// Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/plan/plan.h"
#include "engine/result/result.h"

// Three clocks at the same time.
struct watch_reading {
	uint64_t tick;
	uint64_t raw_ns, mono_ns; // CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC
};

// Returns the difference in ns, between two readings, of ticks (hz a second) and the kernel's
// clocks: the greater of both, less the error of a reading, never negative.
double watch_clock_error(
	double hz, const struct watch_reading *from, const struct watch_reading *to);

struct watch_link {
	bool watched; // it was up at the start
	bool down;
	uint64_t downs, since, ticks;
};

struct watch_usage {
	uint64_t tick, bytes, packets;
};

struct watch {
	struct watch_reading first, last;
	double deviation, jump_ns; // the worst so far
	struct watch_link links[PORT_MAX];
	struct watch_usage from[PORT_MAX], to[PORT_MAX]; // at both ends of the measured part
	bool began, ended;
};

void watch_start(struct watch *w, struct plan *p);
// Call every few milliseconds. now: the tick.
void watch_tick(struct watch *w, struct plan *p, uint64_t now);
// Call after the last tick, before the plan's clock is calibrated again.
void watch_end(struct watch *w, struct plan *p);
// Writes into the result of collect_result.
void watch_report(const struct watch *w, const struct plan *p, struct result *r);

// SPDX-License-Identifier: BSD-3-Clause
// How fast the tick counter runs: two pairs of simultaneous readings, each the tightest of several.
// Path: cold. Any thread.
#include "base/clock.h"

#include <time.h>

#define ATTEMPTS 16

#define PAIR_S     2e-6 // longest time between two readings
#define PAIR_TRIES 3

static uint64_t kernel_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t raw_ns(void)
{
	return kernel_ns(CLOCK_MONOTONIC_RAW);
}

static void pair_read(clockid_t clock, uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < ATTEMPTS; i++) {
		uint64_t before = clock_now();
		uint64_t now = kernel_ns(clock);
		uint64_t took = clock_now() - before;

		if (took >= best)
			continue;
		best = took;
		*tsc = before + took / 2;
		*ns = now;
	}
}

void clock_calibrate(struct clock *c, unsigned ms)
{
	uint64_t until;

	c->set = NULL;
	pair_read(CLOCK_MONOTONIC_RAW, &c->anchor_tsc, &c->anchor_ns);
	until = c->anchor_ns + (uint64_t)(ms ? ms : 1) * 1000000u;
	while (raw_ns() < until) {
		uint64_t left = until - raw_ns();
		struct timespec t = {.tv_nsec = 1000000};

		if (left < until && left > 2000000)
			t.tv_nsec = left < 500000000 ? (long)left - 1000000 : 500000000;
		nanosleep(&t, NULL);
	}
	clock_refine(c);
}

void clock_refine(struct clock *c)
{
	uint64_t tsc = 0, ns = 0;

	pair_read(CLOCK_MONOTONIC_RAW, &tsc, &ns);
	if (ns > c->anchor_ns)
		c->hz = (double)(tsc - c->anchor_tsc) * 1e9 / (double)(ns - c->anchor_ns);
}

void clock_pair(const struct clock *c, uint64_t *tick, uint64_t *wall_ns)
{
	uint64_t before, most = (uint64_t)(c->hz * PAIR_S);

	if (c->set) {
		*tick = *c->set;
		*wall_ns = (uint64_t)clock_ns(c, *tick);
		return;
	}
	for (int i = 0; i < PAIR_TRIES; i++) {
		before = clock_now();
		*wall_ns = kernel_ns(CLOCK_REALTIME);
		*tick = clock_now();
		if (*tick - before < most)
			return;
	}
}

uint64_t clock_steady_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t clock_wall_ns(const struct clock *c, uint64_t tick)
{
	uint64_t tsc = 0, ns = 0;

	if (c->set)
		return (uint64_t)clock_ns(c, tick);
	pair_read(CLOCK_REALTIME, &tsc, &ns);
	return (uint64_t)((int64_t)ns - (int64_t)(1e9 * (double)(int64_t)(tsc - tick) / c->hz));
}

uint64_t clock_wall_tick(const struct clock *c, uint64_t wall_ns)
{
	uint64_t tsc = 0, ns = 0;

	if (c->set)
		return clock_ticks(c, wall_ns);
	pair_read(CLOCK_REALTIME, &tsc, &ns);
	return (uint64_t)((int64_t)tsc + (int64_t)(1e-9 * (double)(int64_t)(wall_ns - ns) * c->hz));
}

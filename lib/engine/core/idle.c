// SPDX-License-Identifier: BSD-3-Clause
// When a worker may sleep, and the call that does it. Path: cold. The worker's own thread, between
// two passes of its loop.
#include "engine/core/idle.h"

#include <time.h>

#include "base/clock.h"
#include "engine/core/worker.h"

#define LONGEST_NS 1000000 // asked for our address, or told to end, it does not take longer
#define EARLY_NS   300000  // before a send is due it is awake: timers of a kernel are late
#define LEAST_NS   50000   // for less it is not worth it

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

// A closed loop that has begun sends whenever it may, so it is due now.
static uint64_t item_until(const struct worker_item *it, uint64_t now)
{
	if (it->txns.in_flight || it->pending_first < it->pending_count)
		return now;
	if (it->ended || it->pace.left == 0)
		return PACE_NEVER;
	return it->pace.next > now ? it->pace.next : now;
}

uint64_t idle_until(const struct worker *w, uint64_t now)
{
	uint64_t until = w->next_publish, early = clock_ticks(w->clock, EARLY_NS);

	if (w->hand || w->all_ended)
		return now;
	for (uint32_t i = 0; i < w->item_count; i++)
		until = earlier(until, item_until(&w->items[i], now));
	if (until < now + early + clock_ticks(w->clock, LEAST_NS))
		return now;
	return earlier(until - early, now + clock_ticks(w->clock, LONGEST_NS));
}

uint64_t idle_sleep(struct worker *w, uint64_t now)
{
	uint64_t until = idle_until(w, now);

	if (until == now)
		return now;
	nanosleep(&(struct timespec){.tv_nsec = (long)clock_ns(w->clock, until - now)}, NULL);
	until = earlier(until, clock_time(w->clock)); // a signal may have ended it
	if (now >= w->times.measure)
		w->slept += until - now;
	return until;
}

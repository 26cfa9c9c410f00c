// SPDX-License-Identifier: BSD-3-Clause
// Decides whether and how long a loop sleeps until its next work.
// Path: cold. The loop's own thread, between two passes.
#include "engine/core/idle.h"

#include "base/clock.h"
#include "engine/core/secure.h"

#define LEAST_NS     3000      // a shorter sleep is not worth it
#define SPIN_NS      50000     // of polling after work
#define CROWDED_NS   300000000 // after others had its CPU
#define BUCKETS_SEEN 64        // of the wheel of deadlines, examined for the next one
#define LEARNS       8         // timers in the mean

uint64_t idle_conns_due(const struct conns *cs, const struct clock *clock, uint64_t now)
{
	uint64_t bucket = (cs->host.now >> CONN_BUCKET_SHIFT) + 1;
	uint32_t turn = cs->turn;

	if (cs->ready_count || cs->out_first < cs->out_count ||
		(cs->secure && secure_is_due(cs->secure)))
		return now;
	if (cs->timed == 0)
		return UINT64_MAX;
	for (int i = 0; i < BUCKETS_SEEN && cs->buckets[turn % CONN_BUCKETS] == CONN_NONE; i++) {
		turn++;
		bucket++;
	}
	return cs->start + clock_ticks(clock, (bucket << CONN_BUCKET_SHIFT) * 1000) + 1;
}

bool idle_look(struct idle *i, const struct clock *clock, uint64_t now, bool worked)
{
	if (i->turn_at && now - i->turn_at > i->stall)
		i->crowded_to = now + clock_ticks(clock, CROWDED_NS);
	i->turn_at = now;
	if (worked)
		i->active_at = now;
	return worked;
}

// Updates the mean delay of the last timers.
static void idle_learn(struct idle *i, const struct clock *clock, uint64_t late)
{
	if (late > i->stall)
		i->crowded_to = i->turn_at + clock_ticks(clock, CROWDED_NS);
	else
		i->late += late / LEARNS - i->late / LEARNS;
}

uint64_t idle_rest(
	struct idle *i, const struct clock *clock, uint64_t now, uint64_t due, uint64_t longest)
{
	bool crowded = !i->spins || now < i->crowded_to;
	uint64_t early = crowded ? 0 : i->late, ns, woke;

	if (!crowded && now - i->active_at < clock_ticks(clock, SPIN_NS))
		return now;
	if (due <= now + early)
		return now;
	ns = (uint64_t)clock_ns(clock, due - now - early);
	if (ns < LEAST_NS)
		return now;
	ns = ns < longest ? ns : longest;
	wait_for(&i->wait, ns);
	woke = clock_time(clock);
	i->turn_at = woke;
	if (woke - now > clock_ticks(clock, ns))
		idle_learn(i, clock, woke - now - clock_ticks(clock, ns));
	return woke;
}

// SPDX-License-Identifier: BSD-3-Clause
// When the next transaction is due: an absolute schedule that is never re-based, so a late send
// stays late (but for pace_give_up). A load shape is a const list of segments of constant rate
// (schedule.c makes it); the position in it is kept exactly, in 64.64 fixed point, so nothing
// drifts. Several workers share a schedule: each takes every n-th send. Knows no packet. Path: hot
// (ready, pop, turn) | cold (start, backlog). The worker that owns it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rand.h"

#define PACE_NEVER UINT64_MAX
#define PACE_LATER (UINT64_MAX - 1) // PACE_ASKED: none is due now

__extension__ typedef unsigned __int128 fixed; // 64.64: sends, or ticks

#define FIXED_ONE      ((fixed)1 << 64)
#define FIXED_HALF     ((fixed)1 << 63)
#define FIXED_INFINITY (~(fixed)0)

// A part of a schedule in which sends follow each other at the same gap.
struct pace_segment {
	fixed at;   // sends of the schedule before it
	fixed time; // ticks of the schedule before it
	fixed gap;  // ticks per send
};

enum pace_order {
	PACE_EVEN,    // the k-th is due when k + 1/2 sends of the schedule are over
	PACE_POISSON, // gaps are exponential with the mean that the segments say
	PACE_BURSTS,  // the k-th burst is due when k + 1/2 gaps are over
	PACE_TABLE,   // the k-th is due at its place in a table
	PACE_ASKED,   // the protocol says when the next one is due (pace_ask)
};

#define PACE_LOG_BITS 10 // of the table of logarithms
#define PACE_LOGS     (1u << PACE_LOG_BITS)

// Const from its making on; may be shared by workers.
struct schedule {
	enum pace_order order;
	struct pace_segment *segments;
	uint32_t count;
	fixed sends; // of all segments together; FIXED_INFINITY: the last has no end
	// After the last segment those from `loop` on begin anew; period_sends 0: there is nothing.
	uint32_t loop;
	fixed period_sends, period_time;
	uint64_t stop;        // ticks after the start from which on nothing is due, or PACE_NEVER
	struct recip burst;   // PACE_BURSTS: sends of one
	const uint64_t *logs; // PACE_POISSON: ln(1 + i / PACE_LOGS) x 2^64, PACE_LOGS + 1 of them
	uint64_t seed;
	const uint64_t *table; // PACE_TABLE: ticks after the start, ascending
	uint64_t table_count;
};

enum pace_kind {
	PACE_RATE,        // open loop: by a schedule
	PACE_OUTSTANDING, // closed loop: due whenever fewer than `outstanding` are in flight
	PACE_MAX,         // always due
};

struct pace {
	enum pace_kind kind;
	bool steady;   // PACE_RATE: the gap holds for ever
	uint32_t of;   // workers that share the schedule
	uint32_t busy; // of them that have anything to do
	uint64_t next; // tick at which the next one is due, or PACE_NEVER; otherwise the start
	uint64_t next_frac;
	uint64_t gap, gap_frac;       // steady: ticks, and 2^-64 of one; PACE_ASKED: of 1 ms
	uint64_t stop;                // tick from which on nothing is due, or PACE_NEVER
	uint64_t outstanding;         // PACE_OUTSTANDING
	uint64_t ramp_up, ramp_scale; // ticks until all are allowed; sends x 2^64 per tick
	uint64_t behind;  // steady: ticks of lateness that are made up for; 0: all of it
	uint64_t left;    // measured transactions still allowed (load.total)
	uint64_t measure; // tick from which they are measured
	// Of a schedule that is not steady.
	const struct schedule *schedule;
	const struct pace_segment *segment; // that the next one is in
	fixed at;                           // of the next one: sends, periods taken off
	fixed base;                         // ticks: the start, periods added
	uint64_t index;                     // of the next one: PACE_BURSTS, PACE_TABLE
	uint64_t waiting;                   // PACE_ASKED: due and not taken when the item ended
	struct rand rand;                   // PACE_POISSON
};

// How the work is shared: worker `place` of `of` takes the k-th with k mod of = place.
struct pace_share {
	uint32_t place, of; // place < of
};

// a x b rounded down; FIXED_INFINITY when that has no room.
static inline fixed fixed_mul(fixed a, fixed b)
{
	uint64_t ai = (uint64_t)(a >> 64), af = (uint64_t)a, bi = (uint64_t)(b >> 64);
	uint64_t bf = (uint64_t)b;
	fixed whole = (fixed)ai * bi;

	if (whole >> 63)
		return FIXED_INFINITY;
	return (whole << 64) + (fixed)ai * bf + (fixed)af * bi + (((fixed)af * bf) >> 64);
}

// PACE_ASKED: the next one is due this time after the start; from PACE_LATER on: later.
static inline void pace_ask(struct pace *p, uint64_t ms)
{
	uint64_t after = ms * p->gap + (uint64_t)(((fixed)ms * p->gap_frac) >> 64);
	uint64_t tick = (uint64_t)(p->base >> 64) + after;

	if (ms >= PACE_LATER)
		p->next = PACE_LATER;
	else
		p->next = tick < p->stop ? tick : PACE_NEVER;
}

// The one that was next is taken: find the one after it. Path: hot.
void pace_turn(struct pace *p);

// How many a closed loop may have in flight.
static inline uint64_t pace_allowed(const struct pace *p, uint64_t now)
{
	uint64_t since = now - p->next;

	if (since >= p->ramp_up)
		return p->outstanding;
	return 1 + (uint64_t)(((fixed)since * p->ramp_scale) >> 64);
}

// Is one due at `now`, with `in_flight` in flight?
static inline bool pace_ready(const struct pace *p, uint64_t now, uint64_t in_flight)
{
	if (p->left == 0 || p->next > now)
		return false;
	if (p->kind == PACE_RATE)
		return true;
	if (now >= p->stop)
		return false;
	if (p->kind == PACE_MAX)
		return true;
	return in_flight < pace_allowed(p, now);
}

// One is due, and there is room for it: what is too late for the schedule to make up for is not due
// any more, and the schedule is that much later.
static inline void pace_give_up(struct pace *p, uint64_t now)
{
	if (p->behind && now - p->next > p->behind)
		p->next = now - p->behind;
}

// Take it: the tick at which it was due.
static inline uint64_t pace_pop(struct pace *p, uint64_t now)
{
	uint64_t due = now;

	if (p->kind == PACE_RATE) {
		due = p->next;
		if (p->steady) {
			p->next_frac += p->gap_frac;
			p->next += p->gap + (p->next_frac < p->gap_frac);
		} else {
			pace_turn(p);
		}
	}
	p->left -= due >= p->measure && p->left != UINT64_MAX;
	return due;
}

// Take up to `most` that are due, and their ticks: how many. in_flight: before.
static inline uint32_t pace_take(
	struct pace *p, uint64_t now, uint64_t in_flight, uint32_t most, uint64_t *due)
{
	uint64_t left = p->left, allowed = most;
	uint32_t n = 0;

	if (p->kind == PACE_RATE) {
		while (n < most && pace_ready(p, now, in_flight + n))
			due[n++] = pace_pop(p, now);
		return n;
	}
	if (!pace_ready(p, now, in_flight))
		return 0;
	if (p->kind == PACE_OUTSTANDING)
		allowed = pace_allowed(p, now) - in_flight;
	if (now >= p->measure && left != UINT64_MAX) {
		allowed = left < allowed ? left : allowed;
		p->left -= allowed < most ? allowed : most;
	}
	for (; n < most && n < allowed; n++)
		due[n] = now;
	return n;
}

// Nothing will ever be due again.
static inline bool pace_over(const struct pace *p, uint64_t now)
{
	return p->left == 0 || p->next == PACE_NEVER || (p->kind != PACE_RATE && now >= p->stop);
}

// Open loop: from tick `start` on, a share of the schedule. Sets all but left, measure
// and behind.
void pace_start(struct pace *p, const struct schedule *s, uint64_t start, struct pace_share share);

// Closed loop (outstanding > 0) or as fast as it goes, between the ticks start and stop; ramp_up:
// ticks until all are allowed. Sets all but left and measure.
struct pace_closed {
	uint64_t outstanding, start, stop, ramp_up;
};
void pace_start_closed(struct pace *p, const struct pace_closed *c, struct pace_share share);

// Of the total that the schedule has from p->measure on, what is this share's: all of them in turn
// end with the send that one alone would have ended with. Just after one of the two above. A worker
// that is left without anything to do has ended.
void pace_share_total(struct pace *p, uint64_t start, uint64_t total, struct pace_share share);

// A schedule of one rate for ever gets another one from tick `at` on: so many ticks per send of all
// its workers together, x 2^PACE_ASKED_BITS. false: nothing changes, for some are due before that.
// Path: hot.
#define PACE_ASKED_BITS 24
bool pace_change(struct pace *p, uint64_t gap, uint64_t at);

// How many are due before `until` and were not taken yet: exactly those that would be popped.
uint64_t pace_backlog(const struct pace *p, uint64_t until);

// Of these, those that are due in the measured part.
uint64_t pace_missed(const struct pace *p, uint64_t until);

// Open loop: take, and leave unsent, those that are due before `until`, which is not in the
// measured part: how many. Random ones only by and by: again, while next < until.
uint64_t pace_drop(struct pace *p, uint64_t until);

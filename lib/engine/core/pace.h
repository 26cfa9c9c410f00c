// SPDX-License-Identifier: BSD-3-Clause
// When the next transaction is due: an absolute schedule that is never re-based, so a late send
// stays late (except for pace_give_up). A load shape is a const list of segments of constant rate
// (built by schedule.c); the position in it is exact, in 64.64 fixed point, so nothing drifts.
// Workers that share a schedule each take every n-th send. Knows nothing of packets. Path: hot
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

// A part of a schedule with a constant gap between sends.
struct pace_segment {
	fixed at;   // sends of the schedule before it
	fixed time; // ticks of the schedule before it
	fixed gap;  // ticks per send
};

enum pace_order {
	PACE_EVEN,    // the k-th send is due at position k + 1/2
	PACE_POISSON, // exponential gaps with the mean of the segments
	PACE_BURSTS,  // the k-th burst is due at position k + 1/2
	PACE_TABLE,   // the k-th send is due at the k-th tick of a table
	PACE_ASKED,   // the protocol decides when the next one is due (pace_ask)
};

#define PACE_LOG_BITS 10 // of the table of logarithms
#define PACE_LOGS     (1u << PACE_LOG_BITS)

// Const once it is built; may be shared by workers.
struct schedule {
	enum pace_order order;
	struct pace_segment *segments;
	uint32_t count;
	fixed sends; // of all segments together; FIXED_INFINITY: the last has no end
	// After the last segment the schedule repeats from segment `loop`; period_sends 0: it ends.
	uint32_t loop;
	fixed period_sends, period_time;
	uint64_t stop;        // ticks after the start from which nothing is due, or PACE_NEVER
	struct recip burst;   // PACE_BURSTS: sends per burst
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
	bool steady;   // PACE_RATE: the gap is constant
	uint32_t of;   // workers that share the schedule
	uint32_t busy; // workers among them that have any work
	uint64_t next; // PACE_RATE: due tick of the next one, or PACE_NEVER; else the start
	uint64_t next_frac;
	uint64_t gap, gap_frac;       // steady: ticks, and 2^-64 of one; PACE_ASKED: per ms
	uint64_t stop;                // tick from which nothing is due, or PACE_NEVER
	uint64_t outstanding;         // PACE_OUTSTANDING
	uint64_t ramp_up, ramp_scale; // ticks until all are allowed; sends x 2^64 per tick
	uint64_t behind;              // steady: most ticks of lateness to make up for; 0: no limit
	uint64_t left;                // measured transactions still allowed (load.total)
	uint64_t measure;             // start of the measured part, tick
	// For a schedule that is not steady.
	const struct schedule *schedule;
	const struct pace_segment *segment; // segment of the next send
	fixed at;                           // position of the next send, without whole periods
	fixed base;                         // ticks: the start plus whole periods
	uint64_t index;                     // PACE_BURSTS, PACE_TABLE: index of the next send
	uint64_t waiting;                   // PACE_ASKED: due and not taken when the item ended
	struct rand rand;                   // PACE_POISSON
};

// A worker's share of a schedule: worker `place` of `of` takes the k-th send with k mod of = place.
struct pace_share {
	uint32_t place, of; // place < of
};

// Returns a x b, rounded down, or FIXED_INFINITY if that overflows.
static inline fixed fixed_mul(fixed a, fixed b)
{
	uint64_t ai = (uint64_t)(a >> 64), af = (uint64_t)a, bi = (uint64_t)(b >> 64);
	uint64_t bf = (uint64_t)b;
	fixed whole = (fixed)ai * bi;

	if (whole >> 63)
		return FIXED_INFINITY;
	return (whole << 64) + (fixed)ai * bf + (fixed)af * bi + (((fixed)af * bf) >> 64);
}

// PACE_ASKED: makes the next one due ms after the start; from PACE_LATER on: none is due yet.
static inline void pace_ask(struct pace *p, uint64_t ms)
{
	uint64_t after = ms * p->gap + (uint64_t)(((fixed)ms * p->gap_frac) >> 64);
	uint64_t tick = (uint64_t)(p->base >> 64) + after;

	if (ms >= PACE_LATER)
		p->next = PACE_LATER;
	else
		p->next = tick < p->stop ? tick : PACE_NEVER;
}

// Advances to the next send. Path: hot.
void pace_turn(struct pace *p);

// Returns how many transactions a closed loop may have in flight.
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

// Gives up lateness beyond p->behind by moving the schedule by as much. To be called when one is
// due and there is room for it.
static inline void pace_give_up(struct pace *p, uint64_t now)
{
	if (p->behind && now - p->next > p->behind)
		p->next = now - p->behind;
}

// Takes the transaction that is due. Returns its due tick.
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

// Takes up to `most` transactions that are due, and writes their due ticks. Returns their number.
// in_flight: before the call.
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

// Returns whether nothing will be due any more.
static inline bool pace_over(const struct pace *p, uint64_t now)
{
	return p->left == 0 || p->next == PACE_NEVER || (p->kind != PACE_RATE && now >= p->stop);
}

// Open loop: starts a share of the schedule at tick `start`. Sets all members except left, measure
// and behind.
void pace_start(struct pace *p, const struct schedule *s, uint64_t start, struct pace_share share);

// Closed loop (outstanding > 0), or as fast as possible, between the ticks start and stop. ramp_up:
// ticks until all are allowed. Sets all members except left and measure.
struct pace_closed {
	uint64_t outstanding, start, stop, ramp_up;
};
void pace_start_closed(struct pace *p, const struct pace_closed *c, struct pace_share share);

// Sets p->left to this share of the transactions from p->measure on, `total` over all shares. All
// shares together end with the send at which a single worker would end. To be called right after
// pace_start or pace_start_closed. A worker that is left without work has ended.
void pace_share_total(struct pace *p, uint64_t start, uint64_t total, struct pace_share share);

// Changes the rate of a steady schedule from tick `at` on. gap: ticks per send of all its workers
// together, x 2^PACE_ASKED_BITS. Returns false, and changes nothing, if a send is still due before
// `at`. Path: hot.
#define PACE_ASKED_BITS 24
bool pace_change(struct pace *p, uint64_t gap, uint64_t at);

// Returns the number of sends that are due before `until` and not taken yet: exactly as many as
// pace_pop would take.
uint64_t pace_backlog(const struct pace *p, uint64_t until);

// Like pace_backlog, but counts only sends that are due in the measured part.
uint64_t pace_missed(const struct pace *p, uint64_t until);

// Open loop: takes the sends due before `until`, which is not in the measured part; they stay
// unsent. Returns their number. A random schedule needs several calls, while next < until.
uint64_t pace_drop(struct pace *p, uint64_t until);

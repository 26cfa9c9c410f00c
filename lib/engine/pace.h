// SPDX-License-Identifier: BSD-3-Clause
// When the next transaction is due: an absolute schedule that is never re-based, so a late send
// stays late. Knows no packet. Path: hot (ready, pop) | cold (init, backlog). The worker that owns
// it.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum pace_kind {
	PACE_RATE,        // open loop: the k-th is due at start + k * gap
	PACE_OUTSTANDING, // closed loop: due whenever fewer than `outstanding` are in flight
	PACE_MAX,         // always due
};

struct pace {
	enum pace_kind kind;
	uint64_t gap, gap_frac; // ticks, and 2^-64 of one: so that days at any rate do not drift
	uint64_t next; // tick at which the next one is due; otherwise the start of the schedule
	uint64_t next_frac;
	uint64_t outstanding; // PACE_OUTSTANDING
	uint64_t left;        // measured transactions still allowed (load.total)
	uint64_t measure;     // tick from which they are measured
};

// Is one due at `now`, with so many in flight?
static inline bool pace_ready(const struct pace *p, uint64_t now, uint64_t in_flight)
{
	if (p->left == 0 || p->next > now)
		return false;
	return p->kind != PACE_OUTSTANDING || in_flight < p->outstanding;
}

// Take it: the tick at which it was due.
static inline uint64_t pace_pop(struct pace *p, uint64_t now)
{
	uint64_t due = now;

	if (p->kind == PACE_RATE) {
		due = p->next;
		p->next_frac += p->gap_frac;
		p->next += p->gap + (p->next_frac < p->gap_frac);
	}
	p->left -= due >= p->measure && p->left != UINT64_MAX;
	return due;
}

// ticks_per_send > 0: hz / rate. The schedule starts at `start` plus `place` gaps.
static inline void pace_start(
	struct pace *p, double ticks_per_send, uint64_t start, uint64_t measure, double place)
{
	double gap = floor(ticks_per_send);

	p->gap = (uint64_t)gap;
	p->gap_frac = (uint64_t)((ticks_per_send - gap) * 0x1p64);
	p->next = start + (uint64_t)(ticks_per_send * place);
	p->next_frac = 0;
	p->measure = measure;
}

// How many are due before `until` and were not taken yet: exactly those that would be popped.
static inline uint64_t pace_backlog(const struct pace *p, uint64_t until)
{
	unsigned __int128 gap = (unsigned __int128)p->gap << 64 | p->gap_frac, time;
	uint64_t n;

	if (p->kind != PACE_RATE || p->next >= until)
		return 0;
	time = ((unsigned __int128)(until - p->next) << 64) - p->next_frac;
	n = 1 + (uint64_t)((time - 1) / gap);
	return n < p->left ? n : p->left;
}

static inline uint64_t pace_share(uint64_t all, uint64_t place, uint64_t of)
{
	return all / of + (place < all % of);
}

// Of what several workers do together, the part of one (0..of-1), which takes every of-th send: all
// of them in turn have the same due times as the one schedule, and share the total to the last one.
// Once, before the first send; nothing may have been taken. A worker that is left without anything
// to do has ended.
static inline void pace_split(struct pace *p, uint64_t worker, uint64_t of)
{
	unsigned __int128 gap = (unsigned __int128)p->gap << 64 | p->gap_frac, next;
	uint64_t left = p->left, before;

	p->left = UINT64_MAX;
	before = pace_backlog(p, p->measure) % of; // the first measured one is not the first
	p->left = left;
	if (left != UINT64_MAX && p->kind != PACE_OUTSTANDING)
		p->left = pace_share(left, (worker + of - before) % of, of);
	if (p->kind == PACE_OUTSTANDING) {
		uint64_t busy = p->outstanding < of ? p->outstanding : of;

		if (worker >= busy)
			p->left = 0;
		else if (left != UINT64_MAX)
			p->left = pace_share(left, worker, busy);
		p->outstanding = pace_share(p->outstanding, worker, of);
	}
	next = ((unsigned __int128)p->next << 64 | p->next_frac) + gap * worker;
	gap *= of;
	p->next = (uint64_t)(next >> 64);
	p->next_frac = (uint64_t)next;
	p->gap = (uint64_t)(gap >> 64);
	p->gap_frac = (uint64_t)gap;
}

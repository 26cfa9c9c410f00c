// SPDX-License-Identifier: BSD-3-Clause
// Packets and messages that are sent later: a timing wheel of intrusive lists in tables made at
// start. An entry leaves after all entries put before it with the same or an earlier time. Never
// early; late by up to one bucket (about a microsecond) and the time between two calls. Path: hot
// (inline) | cold (init, free). One thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DELAY_NONE UINT32_MAX
#define DELAY_SEEN 256 // buckets that delay_due examines

struct delay_entry {
	void *what;
	uint64_t at; // tick
	uint32_t next;
};

struct delay_list {
	uint32_t head, tail;
};

struct delay {
	struct delay_entry *entries;
	struct delay_list *buckets; // mask + 1
	uint32_t count;             // entries
	uint32_t mask;
	uint32_t shift; // a bucket is 2^shift ticks
	uint32_t free;  // list of free entries
	uint32_t held;  // entries in use
	uint64_t now;   // number of the first bucket that is not emptied yet
};

// For up to `count` entries at a time and delays up to about `longest` ticks (longer ones work, but
// cost more). tick_hz: ticks per second. Returns 0 or -ENOMEM.
int delay_init(struct delay *d, uint32_t count, uint64_t longest, double tick_hz);
void delay_free(struct delay *d); // may be zeroed; entries still held stay the caller's

static inline void delay_append(struct delay *d, uint32_t e)
{
	uint64_t bucket = d->entries[e].at >> d->shift;
	struct delay_list *l;

	if (bucket < d->now)
		bucket = d->now;
	if (bucket > d->now + d->mask)
		bucket = d->now + d->mask; // examined again there
	l = &d->buckets[bucket & d->mask];
	d->entries[e].next = DELAY_NONE;
	if (l->head == DELAY_NONE)
		l->head = e;
	else
		d->entries[l->tail].next = e;
	l->tail = e;
}

// Holds `what` until tick `at`. Returns false without room. now: where an empty wheel starts.
static inline bool delay_put(struct delay *d, void *what, uint64_t at, uint64_t now)
{
	uint32_t e = d->free;

	if (e == DELAY_NONE)
		return false;
	if (d->held == 0)
		d->now = now >> d->shift;
	d->free = d->entries[e].next;
	d->entries[e].what = what;
	d->entries[e].at = at;
	delay_append(d, e);
	d->held++;
	return true;
}

// Takes the first entry of the current bucket. Returns DELAY_NONE if it is empty.
static inline uint32_t delay_pop(struct delay *d)
{
	struct delay_list *l = &d->buckets[d->now & d->mask];
	uint32_t e = l->head;

	if (e != DELAY_NONE)
		l->head = d->entries[e].next;
	return e;
}

static inline void delay_return(struct delay *d, uint32_t e)
{
	d->entries[e].next = d->free;
	d->free = e;
	d->held--;
}

// Takes up to `room` entries whose bucket has passed at `now`. Returns their number.
static inline uint32_t delay_take(struct delay *d, uint64_t now, void **out, uint32_t room)
{
	uint64_t end = now >> d->shift;
	uint32_t n = 0, e;

	while (n < room && d->held && d->now < end) {
		e = delay_pop(d);
		if (e == DELAY_NONE) {
			d->now++;
			continue;
		}
		if (d->entries[e].at >> d->shift > d->now) { // of a later turn of the wheel
			delay_append(d, e);
			continue;
		}
		out[n++] = d->entries[e].what;
		delay_return(d, e);
	}
	return n;
}

// Returns the tick from which delay_take has something to do, or an earlier one, as it examines
// only some buckets. UINT64_MAX: nothing is held.
static inline uint64_t delay_due(const struct delay *d)
{
	uint64_t bucket = d->now, last = d->now + DELAY_SEEN;

	if (d->held == 0)
		return UINT64_MAX;
	while (bucket < last && d->buckets[bucket & d->mask].head == DELAY_NONE)
		bucket++;
	return (bucket + 1) << d->shift;
}

// Takes any held entry, whatever its time. Returns NULL if there is none. For the end of a run: all
// calls together take one turn of the wheel.
static inline void *delay_drop(struct delay *d)
{
	for (; d->held; d->now++) {
		uint32_t e = delay_pop(d);

		if (e == DELAY_NONE)
			continue;
		delay_return(d, e);
		return d->entries[e].what;
	}
	return NULL;
}

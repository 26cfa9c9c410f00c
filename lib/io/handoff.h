// SPDX-License-Identifier: BSD-3-Clause
// From the worker whose queue a packet came to, to the worker that it is for: one lane for each
// pair of workers of a port, with one writer and one reader. The time of receiving goes along, so
// that a latency has nothing of the way between workers in it. A full lane is counted, never waited
// for. Knows no packet's content; who it is for is decided elsewhere. Path: hot | cold (init). Each
// struct handoff: the worker that owns it.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "io/handover.h"

#define HANDOFF_WORKERS 16   // of one port: PORT_MAX_QUEUES
#define HANDOFF_BURST   64   // packets that are handed over or taken at once: BURST_MAX
#define HANDOFF_LANE    1024 // packets that wait in a lane; a power of two

struct handoff_packet {
	struct rte_mbuf *mbuf;
	uint64_t time; // tick at which it was received
};

struct handoff_lane {
	_Alignas(64) _Atomic uint64_t written; // the writer's
	_Alignas(64) _Atomic uint64_t taken;   // the reader's
	_Alignas(64) struct handoff_packet packets[HANDOFF_LANE];
};

struct handoff_out {
	uint32_t count;
	struct handoff_packet packets[HANDOFF_BURST];
};

struct handoff {
	// ctlplane: wo before the launch, dataplane: ro
	uint32_t self, workers;
	struct handoff_lane *to[HANDOFF_WORKERS], *from[HANDOFF_WORKERS]; // NULL: itself
	const struct handoff *all[HANDOFF_WORKERS];
	uint64_t look_every; // ticks between two looks at how far the others are
	// dataplane: wo
	uint64_t given, taken, full; // packets; full: lost, for their lane was
	// dataplane: rw
	uint64_t look_at, until;
	struct handoff_out out[HANDOFF_WORKERS];
	// What its queue had received by this tick, this worker has looked at and handed over.
	_Alignas(64) _Atomic uint64_t seen;
};

// The lanes between n workers; all: zeroed, lanes: n x n, zeroed.
static inline void handoff_init(
	struct handoff *all, struct handoff_lane *lanes, uint32_t n, uint64_t look_every)
{
	for (uint32_t i = 0; i < n; i++) {
		all[i].self = i;
		all[i].workers = n;
		all[i].look_every = look_every;
		for (uint32_t k = 0; k < n; k++) {
			all[i].all[k] = &all[k];
			if (k == i)
				continue;
			all[i].to[k] = &lanes[i * n + k];
			all[i].from[k] = &lanes[k * n + i];
		}
	}
}

// Into the lane; what finds no room stays with the caller: how many did.
static inline uint32_t handoff_lane_put(
	struct handoff_lane *l, const struct handoff_packet *packets, uint32_t n)
{
	uint64_t written = atomic_load_explicit(&l->written, memory_order_relaxed);
	uint64_t taken = atomic_load_explicit(&l->taken, memory_order_acquire);
	uint32_t room = (uint32_t)(HANDOFF_LANE - (written - taken));

	n = n < room ? n : room;
	for (uint32_t i = 0; i < n; i++)
		l->packets[(written + i) & (HANDOFF_LANE - 1)] = packets[i];
	atomic_store_explicit(&l->written, written + n, memory_order_release);
	return n;
}

static inline uint32_t handoff_lane_take(
	struct handoff_lane *l, struct handoff_packet *packets, uint32_t room)
{
	uint64_t taken = atomic_load_explicit(&l->taken, memory_order_relaxed);
	uint64_t there = atomic_load_explicit(&l->written, memory_order_acquire) - taken;
	uint32_t n = there < room ? (uint32_t)there : room;

	for (uint32_t i = 0; i < n; i++)
		packets[i] = l->packets[(taken + i) & (HANDOFF_LANE - 1)];
	if (n)
		atomic_store_explicit(&l->taken, taken + n, memory_order_release);
	return n;
}

// For another worker; it leaves with the next flush. At most HANDOFF_BURST between two of them.
static inline void handoff_put(
	struct handoff *h, uint32_t worker, struct rte_mbuf *mbuf, uint64_t time)
{
	struct handoff_out *out = &h->out[worker];

	out->packets[out->count++] = (struct handoff_packet){mbuf, time};
}

// To one worker. Those that its lane has no room for are lost: they are left to the caller to be
// freed, in lost, which has room for HANDOFF_BURST; how many.
static inline uint32_t handoff_flush(struct handoff *h, uint32_t worker, struct rte_mbuf **lost)
{
	struct handoff_out *out = &h->out[worker];
	uint32_t n = out->count, put;

	out->count = 0;
	if (n == 0)
		return 0;
	put = handoff_lane_put(h->to[worker], out->packets, n);
	h->given += put;
	h->full += n - put;
	for (uint32_t i = put; i < n; i++)
		lost[i - put] = out->packets[i].mbuf;
	return n - put;
}

// What this worker's own queue had received by `now` has been looked at, and flushed.
static inline void handoff_tell(struct handoff *h, uint64_t now)
{
	atomic_store_explicit(&h->seen, now, memory_order_release);
}

// Now and then, before the lanes are looked into: up to when every worker has looked at what it
// received. Once the lanes were found empty after that, nothing of before is on its way any more.
static inline void handoff_look(struct handoff *h, uint64_t now)
{
	if ((int64_t)(now - h->look_at) < 0)
		return;
	h->look_at = now + h->look_every;
	h->until = now;
	for (uint32_t i = 0; i < h->workers; i++) {
		uint64_t seen =
			i == h->self ? now
				     : atomic_load_explicit(&h->all[i]->seen, memory_order_acquire);

		h->until = seen < h->until ? seen : h->until;
	}
}

// SPDX-License-Identifier: BSD-3-Clause
// Hand-over: forwards a reply from the worker that received it to the worker that sent the request,
// over one SPSC ring for each pair of workers of a port. The time of receipt is forwarded, too, so
// the way between workers adds nothing to a latency. A packet that finds its ring full is lost and
// counted.
// Path: hot | cold (init). Each struct handoff: the worker that owns it.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "io/port_state.h"

#define HANDOFF_WORKERS PORT_MAX_QUEUES // of one port
#define HANDOFF_BURST   BURST_MAX       // packets forwarded or taken at once
#define HANDOFF_RING    1024            // packets that a ring holds; a power of two

// Counters of packets that a worker forwarded or took over. BOTH: in the result of each worker and
// of its port. WORKER, PORT: in that result only.
#define HANDOFF_COUNTERS(BOTH, WORKER, PORT)                                                       \
	BOTH(handed_over, "received for another worker of the port")                               \
	WORKER(taken_over, "packets that other workers received for this one")                     \
	PORT(hand_over_full, "lost because that worker's ring was full")

struct handoff_packet {
	struct rte_mbuf *mbuf;
	uint64_t time; // tick at which it was received
};

struct handoff_ring {
	_Alignas(64) _Atomic uint64_t written; // the writer's
	_Alignas(64) _Atomic uint64_t taken;   // the reader's
	_Alignas(64) struct handoff_packet packets[HANDOFF_RING];
};

struct handoff_out {
	uint32_t count;
	struct handoff_packet packets[HANDOFF_BURST];
};

struct handoff {
	// ctlplane: wo before the launch, dataplane: ro
	uint32_t self, workers;
	struct handoff_ring *to[HANDOFF_WORKERS], *from[HANDOFF_WORKERS]; // NULL: itself
	const struct handoff *all[HANDOFF_WORKERS];
	uint64_t look_every; // ticks between two reads of the others' progress
	// dataplane: wo
	HANDOFF_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER, COUNTER_MEMBER)
	// dataplane: rw
	uint64_t look_at; // tick of the next look
	uint64_t until;   // tick up to which every worker has matched or forwarded its packets
	struct handoff_out out[HANDOFF_WORKERS];
	// This worker has matched or forwarded all packets that its queue received by this tick.
	_Alignas(64) _Atomic uint64_t seen;
};

// Connect n workers, n <= HANDOFF_WORKERS. all[n] and rings[n * n] are zeroed and the caller's.
static inline void handoff_init(
	struct handoff *all, struct handoff_ring *rings, uint32_t n, uint64_t look_every)
{
	for (uint32_t i = 0; i < n; i++) {
		all[i].self = i;
		all[i].workers = n;
		all[i].look_every = look_every;
		for (uint32_t k = 0; k < n; k++) {
			all[i].all[k] = &all[k];
			if (k == i)
				continue;
			all[i].to[k] = &rings[i * n + k];
			all[i].from[k] = &rings[k * n + i];
		}
	}
}

// Put packets into the ring: the number that had room. The others stay with the caller.
static inline uint32_t handoff_ring_put(
	struct handoff_ring *l, const struct handoff_packet *packets, uint32_t n)
{
	uint64_t written = atomic_load_explicit(&l->written, memory_order_relaxed);
	uint64_t taken = atomic_load_explicit(&l->taken, memory_order_acquire);
	uint32_t room = (uint32_t)(HANDOFF_RING - (written - taken));

	n = n < room ? n : room;
	for (uint32_t i = 0; i < n; i++)
		l->packets[(written + i) & (HANDOFF_RING - 1)] = packets[i];
	atomic_store_explicit(&l->written, written + n, memory_order_release);
	return n;
}

// Take packets out of the ring: their number, up to room.
static inline uint32_t handoff_ring_take(
	struct handoff_ring *l, struct handoff_packet *packets, uint32_t room)
{
	uint64_t taken = atomic_load_explicit(&l->taken, memory_order_relaxed);
	uint64_t there = atomic_load_explicit(&l->written, memory_order_acquire) - taken;
	uint32_t n = there < room ? (uint32_t)there : room;

	for (uint32_t i = 0; i < n; i++)
		packets[i] = l->packets[(taken + i) & (HANDOFF_RING - 1)];
	if (n)
		atomic_store_explicit(&l->taken, taken + n, memory_order_release);
	return n;
}

// Keep a packet for another worker until the next flush. At most HANDOFF_BURST between two flushes.
static inline void handoff_put(
	struct handoff *h, uint32_t worker, struct rte_mbuf *mbuf, uint64_t time)
{
	struct handoff_out *out = &h->out[worker];

	out->packets[out->count++] = (struct handoff_packet){mbuf, time};
}

// Forwards the kept packets to one worker. Packets that do not fit into its ring are lost: they are
// written to lost[HANDOFF_BURST] for the caller to free. Returns their number.
static inline uint32_t handoff_flush(struct handoff *h, uint32_t worker, struct rte_mbuf **lost)
{
	struct handoff_out *out = &h->out[worker];
	uint32_t n = out->count, put;

	out->count = 0;
	if (n == 0)
		return 0;
	put = handoff_ring_put(h->to[worker], out->packets, n);
	h->handed_over += put;
	h->hand_over_full += n - put;
	for (uint32_t i = put; i < n; i++)
		lost[i - put] = out->packets[i].mbuf;
	return n - put;
}

// Announces to the other workers that all packets received by tick `now` were matched or forwarded.
static inline void handoff_tell(struct handoff *h, uint64_t now)
{
	atomic_store_explicit(&h->seen, now, memory_order_release);
}

// Every look_every ticks, before the rings are emptied: update `until`. When the rings were empty
// after that, no packet received before `until` is on its way any more.
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

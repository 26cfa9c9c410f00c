// SPDX-License-Identifier: BSD-3-Clause
// Stepped time: a whole run on one thread, with a clock that jumps to whatever happens next. World
// owns the clock, the turns of workers, responders and threads, and the links between ports. It
// knows no packet. Ticks are nanoseconds; within a turn no time passes. Path: tests only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rand.h"

struct rte_mbuf;

#define WORLD_EPOCH_NS 1767225600000000000ull // Unix time of tick 0: 2026-01-01
#define WORLD_START    1000000000ull          // first tick
#define WORLD_CPUS     16

// What a link does to the packets of one direction. Zeroed: nothing, at once.
struct link_settings {
	uint64_t delay_ns, jitter_ns;             // constant, and up to so much more, evenly
	double loss, duplicate, reorder, corrupt; // shares, 0 to 1; reordered: jitter of 10 delays
	double bits_per_s;                        // 0: no limit
	uint64_t queue;              // packets that have arrived and wait, at most; 0: no limit
	uint64_t down_from, down_to; // ns since the start of the world: all are lost
};

#define WORLD_AWAY 8

struct world_settings {
	uint64_t seed;
	struct link_settings link; // of each direction of each link
	uint64_t cost_ns;          // that a loop is busy with each packet that it sends or receives
	uint64_t stamps;           // not 0: received packets say when they arrived
	uint64_t spread; // not 0: packets reach the queues of the other end by their ports
	// The CPU of a worker is elsewhere for a part of the time, ns since the start of the world.
	struct world_away {
		uint32_t worker; // as io/driver/launch.h
		uint64_t from, to;
	} away[WORLD_AWAY];
	uint32_t away_count;
};

// Read settings from a text such as "seed=3 delay=1ms loss=0.01 away=0:1s-1200ms": an error, or
// NULL.
const char *world_parse(const char *text, struct world_settings *out);

// Start again, at tick WORLD_START. Nothing may be left of the world before.
void world_reset(const struct world_settings *s);

uint64_t world_now(void);
// Let time pass: everything that is due meanwhile happens. In a turn: nothing, it takes no time.
void world_wait(uint64_t ns);

// --- links ---

struct way; // one direction of a link

struct way_counts {
	uint64_t sent, lost, duplicated, corrupted, delayed, dropped;
};

struct way *way_new(void);
void way_free(struct way *w); // and its packets
void way_send(struct way *w, struct rte_mbuf *m);
// Packets that have arrived: up to n of them.
uint16_t way_take(struct way *w, struct rte_mbuf **pkts, uint16_t n);
// The tick at which the next one arrives or has arrived; UINT64_MAX: none is on its way.
uint64_t way_due(const struct way *w);
// Packets that found the queue at the receiving end full.
uint64_t way_dropped(const struct way *w);
// All packets of all links since the world began.
const struct way_counts *world_counts(void);

// --- loops ---

// The way that a queue of a device receives from; NULL: none.
struct way *device_way(uint16_t device, uint16_t queue);
// Is the packet data that a link may damage? Then flip a bit of it.
void device_corrupt(struct rte_mbuf *m, uint64_t random);
// Note in a packet when it arrived.
void device_stamp(struct rte_mbuf *m, uint64_t tick);
struct rte_mbuf *device_copy(const struct rte_mbuf *m); // NULL: no buffer
uint32_t device_hash(const struct rte_mbuf *m);         // of its ports and addresses

// SPDX-License-Identifier: BSD-3-Clause
// The sleep of a worker or responder until its next pass has anything to do, or until a packet
// comes, with host.idle: sleep. It polls on for a moment after it had work, as the next packet is
// often near, unless other programs want its CPU. When it has anything to do: worker_idle.h,
// responder_idle.h.
// Path: cold. The loop's own thread, between two passes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/port/wait.h"

struct clock;
struct conns;

// Of a thread that may sleep.
struct idle {
	// ctlplane: wo before the launch, dataplane: ro
	bool sleeps;
	bool spins;       // it polls on for a moment, on a CPU that nobody else wants
	uint64_t stall;   // a pass longer than this: the CPU was elsewhere
	struct wait wait; // what wakes it
	// dataplane: rw; ticks
	uint64_t active_at;  // of the last pass with work
	uint64_t turn_at;    // at which the last turn ended
	uint64_t crowded_to; // others had its CPU a moment before
	uint64_t late;       // its timers, as a rule
};

// The longest sleeps, in ns.
#define IDLE_LONGEST_NS 5000000 // told to end, it does not take longer
#define IDLE_MOMENT_NS  1000000 // the same where others wait for it
#define IDLE_BLIND_NS   50000   // where no packet wakes it

// Others had the CPU if a pass, or a timer, took longer than one does: for a while it leaves the
// CPU whenever it can, and gets it back the sooner. Returns `worked`.
bool idle_look(struct idle *i, const struct clock *clock, uint64_t now, bool worked);

// Sleep from `now` until `due`, or not: the tick at which it woke up, or `now`. longest: ns.
uint64_t idle_rest(
	struct idle *i, const struct clock *clock, uint64_t now, uint64_t due, uint64_t longest);

// Deadlines and segments of connections: at the latest, as only some buckets are looked at.
uint64_t idle_conns_due(const struct conns *cs, const struct clock *clock, uint64_t now);

static inline uint64_t idle_earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

// SPDX-License-Identifier: BSD-3-Clause
// With host.idle: sleep, a worker or responder sleeps until its next pass has something to do or a
// packet arrives. After work it polls for a moment longer, as the next packet is often near, unless
// other programs want its CPU. Its next work: worker_idle.h, responder_idle.h.
// Path: cold. The loop's own thread, between two passes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/port/wait.h"

struct clock;
struct conns;

// The state of a thread that may sleep.
struct idle {
	// ctlplane: wo before the launch, dataplane: ro
	bool sleeps;
	bool spins;       // polls for a moment after work, as CPU time suffices for all threads
	uint64_t stall;   // ticks; a longer pass means that others had the CPU
	struct wait wait; // the packets that wake it
	// dataplane: rw; ticks
	uint64_t active_at;  // start of the last pass with work
	uint64_t turn_at;    // end of the last turn
	uint64_t crowded_to; // until then it sleeps at once, as others had its CPU
	uint64_t late;       // usual delay of its timers
};

// The longest sleeps, in ns.
#define IDLE_LONGEST_NS 5000000 // limits the reaction to the end of the run
#define IDLE_MOMENT_NS  1000000 // if other threads wait for it
#define IDLE_BLIND_NS   50000   // if no packet can wake it

// Accounts for a pass. If one, or a timer, took longer than `stall`, others had the CPU: the thread
// then sleeps at every chance for a while, to get the CPU back sooner. Returns `worked`.
bool idle_look(struct idle *i, const struct clock *clock, uint64_t now, bool worked);

// Sleeps from `now` until `due`, at most `longest` ns, unless that is too short. Returns the tick
// at which it woke up, or `now` if it did not sleep.
uint64_t idle_rest(
	struct idle *i, const struct clock *clock, uint64_t now, uint64_t due, uint64_t longest);

// Returns the tick at which connections next have a deadline or segments to send, or an earlier
// one, as it examines only some buckets.
uint64_t idle_conns_due(const struct conns *cs, const struct clock *clock, uint64_t now);

static inline uint64_t idle_earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

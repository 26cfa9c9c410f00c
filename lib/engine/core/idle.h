// SPDX-License-Identifier: BSD-3-Clause
// When the next pass of a worker or responder has anything to do, and its sleep until then or until
// a packet comes, with host.idle: sleep. It polls on for a moment after it had work, as the next
// packet is often near, unless other programs want its CPU.
// Path: cold. The loop's own thread, between two passes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/port/wait.h"

struct clock;
struct responder;
struct worker;

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

// The tick from which on a pass at the latest has anything to do, packets that arrive aside; `now`:
// at once.
uint64_t idle_due(const struct worker *w, uint64_t now);
// The same of a responder; UINT64_MAX: there is nothing.
uint64_t idle_responder_due(const struct responder *r, uint64_t now);

// Behind a pass that ended at `now`: sleep if it may. The tick from which on the time is the
// thread's again: `now` when it has not slept, otherwise when it woke up, or should have: from the
// tick on from which something was due, a late wake-up counts as time without its CPU.
uint64_t idle_turn(struct worker *w, uint64_t now, bool worked);
uint64_t idle_responder_turn(struct responder *r, uint64_t now, bool worked);

// SPDX-License-Identifier: BSD-3-Clause
// When the next pass of a worker or responder has anything to do, and the sleep of a worker until
// then, with host.idle: sleep. A worker sleeps only when that can change no figure but CPU time:
// with nothing in flight, as its reply would be seen too late, with no send due soon, and not on a
// port of several workers, as it may receive their replies.
// Path: cold. The loop's own thread, between two passes.
#pragma once

#include <stdint.h>

struct responder;
struct worker;

// The tick from which on a pass at the latest has anything to do, packets that arrive aside; `now`:
// at once.
uint64_t idle_due(const struct worker *w, uint64_t now);
// The same of a responder; UINT64_MAX: there is nothing.
uint64_t idle_responder_due(const struct responder *r, uint64_t now);

// Tick until which it may be left alone from `now` on; `now`: it may not.
uint64_t idle_until(const struct worker *w, uint64_t now);

// Sleep if it may. The tick from which on the time is the worker's again: `now` when it has not
// slept, otherwise when it woke up, or should have: from the tick on from which something was due,
// a late wake-up counts as time without its CPU. Before that it delayed nothing.
uint64_t idle_sleep(struct worker *w, uint64_t now);

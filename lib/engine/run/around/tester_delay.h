// SPDX-License-Identifier: BSD-3-Clause
// Delay that the tester adds to every latency. It is the time from the clock reading before a burst
// leaves to the one after a burst has come, with a peer that only turns packets round. Not here:
// making packets (send_lag), waiting for the next pass of the loop (passes). Path: cold. Management
// thread.
#pragma once

#include "base/arena.h"
#include "engine/plan/plan.h"
#include "engine/result/result.h"

#define TESTER_DELAY_NS 18000000ull // duration, at most

// Call on a built plan before anything is launched. NULL: the responder is not at the other end of
// a ring port. Resets the ports' counters.
struct result_tester_delay *tester_delay_measure(struct plan *p, struct arena *a);

// SPDX-License-Identifier: BSD-3-Clause
// When a worker has something to do next, and its sleep until then (engine/core/idle.h).
// Path: cold. The worker's own thread, between two passes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct worker;

// The tick from which on a pass at the latest has anything to do, packets that arrive aside; `now`:
// at once.
uint64_t worker_due(const struct worker *w, uint64_t now);

// Behind a pass that ended at `now`: sleep if it may. The tick from which on the time is the
// thread's again: `now` when it has not slept, otherwise when it woke up, or should have: from the
// tick on from which something was due, a late wake-up counts as time without its CPU.
uint64_t worker_rest(struct worker *w, uint64_t now, bool worked);

// SPDX-License-Identifier: BSD-3-Clause
// When a worker has something to do next, and its sleep until then (engine/core/idle.h).
// Path: cold. The worker's own thread, between two passes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct worker;

// Returns the tick from which a pass has something to do, apart from arriving packets, or an
// earlier one; `now`: at once.
uint64_t worker_due(const struct worker *w, uint64_t now);

// Sleeps after a pass that ended at `now`, if it may. Returns the tick from which time counts as
// the thread's again: `now` if it did not sleep; else when it woke up or, if that is earlier, when
// something was due: a late wake-up counts as time without its CPU.
uint64_t worker_rest(struct worker *w, uint64_t now, bool worked);

// SPDX-License-Identifier: BSD-3-Clause
// The loop of a tester's worker. Path: hot. The worker's own thread.
#pragma once

#include "engine/core/worker/worker_state.h"

// The counters of the worker itself, without those of its items. Path: hot.
void worker_read(const struct worker *w, struct worker_snapshot *to);

// The kind with the fewest features that has all features of the item. Path: cold.
enum item_kind item_kind_of(const struct worker_item *it);

// Before the first pass: the kinds of the items, when sending ends, when the first snapshot is due.
void worker_begin(struct worker *w);

// One pass at tick `now`: receive, send, look at the received packets, publish, expire. true: there
// was anything to do.
bool worker_pass(struct worker *w, uint64_t now);

// One turn of the loop: a pass at *at, and its account; *at becomes the tick of the next turn.
// false: the phase is PHASE_STOP, and the worker has put everything away.
bool worker_turn(struct worker *w, uint64_t *at);

// Begins, and takes turns until the phase is PHASE_STOP. arg: struct worker. Returns 0.
int worker_loop(void *arg);

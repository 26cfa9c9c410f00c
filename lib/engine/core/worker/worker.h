// SPDX-License-Identifier: BSD-3-Clause
// The loop of a tester's worker. Path: hot. The worker's own thread.
#pragma once

#include "engine/core/worker/worker_state.h"

// Copies the counters of the worker itself, without its items'. Path: hot.
void worker_read(const struct worker *w, struct worker_snapshot *to);

// Returns the kind with the fewest features that has all features of the item. Path: cold.
enum item_kind item_kind_of(const struct worker_item *it);

// Derives the kind of an item and the headers of its replies from its other members. Path: cold.
void worker_item_ready(struct worker_item *it);

// Before the first pass: makes the items ready, sets the end of sending and the first snapshot.
void worker_begin(struct worker *w);

// Makes one pass at tick `now`: receive, send, match the received packets, publish, expire. Returns
// whether there was anything to do.
bool worker_pass(struct worker *w, uint64_t now);

// Makes one turn of the loop: a pass at *at, and its account; *at becomes the tick of the next
// turn. Returns false if the phase is PHASE_STOP; the worker has then released everything.
bool worker_turn(struct worker *w, uint64_t *at);

// Begins, and takes turns until the phase is PHASE_STOP. arg: struct worker. Returns 0.
int worker_loop(void *arg);

// SPDX-License-Identifier: BSD-3-Clause
// Begins transactions without sending them: over connections, and in a dry run. Path: hot. The
// worker's own thread.
#pragma once

#include "engine/core/worker/worker_state.h"

// Begins the next transaction, which is due, without building a frame. Returns its slot, or
// TXN_NONE if no slot or client is free; at a rate the transaction still counts as due.
uint32_t worker_take(struct worker *w, struct worker_item *it, uint64_t now);
// Asks the protocol when the next transaction is due, if it decides that.
void worker_ask(struct worker_item *it);

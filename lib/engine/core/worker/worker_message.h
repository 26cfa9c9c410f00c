// SPDX-License-Identifier: BSD-3-Clause
// Rebuilds messages that a transaction has sent, for captures and probes. Path: hot. The worker's
// own thread.
#pragma once

#include "engine/core/worker/worker_state.h"

// Messages of connections are rebuilt with sequence numbers that leave room for one each.
#define WORKER_SEQ_SHIFT 16

// Rebuilds the frame last sent for a slot, with complete checksums, without counting it. copy: 0,
// or the number of a copy to a further destination. Returns its length, 0 if there is no such copy.
uint32_t worker_again(
	struct worker_item *it, uint32_t slot, uint32_t copy, uint8_t *buf, uint32_t room);

// Rebuilds the first message of a transaction without a slot, in an item without a router.
uint32_t worker_first(
	struct worker_item *it, const struct txn_place *place, uint8_t *buf, uint32_t room);

// SPDX-License-Identifier: BSD-3-Clause
// Answers for the addresses of clients. Path: hot. The worker's own thread.
#pragma once

#include "engine/core/worker/worker_state.h"

// Returns whether a client of an item with a router holds the address, and its MAC. A neigh_self
// callback; of: struct worker.
bool worker_owns(void *of, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6]);

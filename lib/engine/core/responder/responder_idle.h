// SPDX-License-Identifier: BSD-3-Clause
// When a responder has something to do next, and its sleep until then (engine/core/idle.h).
// Path: cold. The responder's own thread, between two passes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct responder;

// The tick from which on a pass at the latest has anything to do, packets that arrive aside; `now`:
// at once. UINT64_MAX: there is nothing.
uint64_t responder_due(const struct responder *r, uint64_t now);

// As worker_rest, of a responder.
uint64_t responder_rest(struct responder *r, uint64_t now, bool worked);

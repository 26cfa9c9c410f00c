// SPDX-License-Identifier: BSD-3-Clause
// When a responder has something to do next, and its sleep until then (engine/core/idle.h).
// Path: cold. The responder's own thread, between two passes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct responder;

// Returns the tick from which a pass has something to do, apart from arriving packets, or an
// earlier one; `now`: at once. UINT64_MAX: never.
uint64_t responder_due(const struct responder *r, uint64_t now);

// Like worker_rest, for a responder.
uint64_t responder_rest(struct responder *r, uint64_t now, bool worked);

// SPDX-License-Identifier: BSD-3-Clause
// Resources that the workers of one port divide, so that nothing is shared: source ports, relay
// addresses, the upper bits of keys, and the rings that hand over replies from the wrong queue.
// Path: cold. Management thread.
#pragma once

#include "engine/plan/plan_state.h"

// Deals source ports, tags and rings to a port's workers, whose items are placed. Returns 0 or
// -ENOMEM.
int deal_port(struct plan *p, const struct port *port, struct arena *a);

// How evenly the addresses that an item answers for (layout.owned) are dealt to the workers, which
// have equal shares of its clients.
struct deal_balance {
	uint64_t addresses;
	double home;   // share of replies that reach the worker that plays their client
	uint64_t more; // addresses for the other workers that would make it 1
};

// Works before and after the ports are started.
struct deal_balance deal_balance(const struct plan_item *i, uint32_t workers);

// Returns packets left in the rings of an ended run to their pools.
void deal_empty(const struct plan *p);

// Frees the rings.
void deal_free(struct plan *p);

// SPDX-License-Identifier: BSD-3-Clause
// Resources that the workers of one port divide, so that nothing is shared: source ports, the upper
// bits of keys, and the rings that hand over replies from the wrong queue.
// Path: cold. Management thread.
#pragma once

#include "engine/plan/plan.h"

// Source ports, tags and rings of a port's workers, whose items are in their places. 0 or -ENOMEM.
int deal_port(struct plan *p, const struct port *port, struct arena *a);

// Packets left in the rings of an ended run go back to their pools.
void deal_empty(const struct plan *p);

// The rings.
void deal_free(struct plan *p);

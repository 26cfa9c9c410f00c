// SPDX-License-Identifier: BSD-3-Clause
// What the workers of one port divide among them, so that nothing is shared: source ports, the
// upper bits of keys, and the lanes on which a reply that came to the wrong queue is handed over.
// Path: cold. Management thread.
#pragma once

#include "engine/plan/plan.h"

// Source ports, tags and lanes of a port's workers, whose items are in their places. 0 or -ENOMEM.
int deal_port(struct plan *p, const struct port *port, struct arena *a);

// What still lies in the lanes of a run that has ended goes back to where it is from.
void deal_empty(const struct plan *p);

// The lanes.
void deal_free(struct plan *p);

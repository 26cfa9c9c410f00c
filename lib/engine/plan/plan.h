// SPDX-License-Identifier: BSD-3-Clause
// From a configuration to the plan of the workers: CPU, port, source ports, slots and schedule of
// each. All needs of a worker are computed here, so that its loop decides nothing twice. Path:
// cold. Management thread; const for the workers from the launch on.
#pragma once

#include "engine/plan/plan_state.h"

// First of all: read and compile the input of the items and the responder. Touches no port;
// `check` stops here. Errors go to d: 0, -EINVAL, -ENOMEM, or -ENOSPC (logged). plan_free is due in
// any case.
int plan_read_input(
	struct plan *p, const struct config *c, bool respond_only, struct arena *a, struct diag *d);

// With the ports started: tables, templates (without the server's MAC). Calibrates the clock unless
// it is a set one. 0, -ENOMEM or -ERANGE (slots).
int plan_build(struct plan *p, struct arena *a);

// The next hop's MAC is known: the item's frames on this path are complete.
void plan_address(struct plan_item *i, uint32_t path, const uint8_t mac[6]);

// The schedule from `start` (ticks) on, for all workers.
void plan_schedule(struct plan *p, uint64_t start);

// Protocols and tables; ports stay as they are. Safe on a plan that was only started or partly
// built. 0, or -errno when the leases of its clients could not be written to a file (logged).
int plan_free(struct plan *p);

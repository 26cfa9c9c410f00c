// SPDX-License-Identifier: BSD-3-Clause
// From a configuration to the plan of the workers: CPU, port, source ports, slots and schedule of
// each. All needs of a worker are computed here, so that its loop decides nothing twice.
// Path: cold. Management thread; const for the workers from the launch on.
#pragma once

#include "engine/plan/plan_state.h"

// First step: reads and compiles the input of the items and the responder, and touches no port;
// `check` stops here. Errors go to d. Returns 0, -EINVAL, -ENOMEM, or -ENOSPC (logged). Call
// plan_free in any case.
int plan_read_input(
	struct plan *p, const struct config *c, bool respond_only, struct arena *a, struct diag *d);

// Builds tables and templates (without the server's MAC), with the ports started. Calibrates the
// clock unless it is a set one. Returns 0, -ENOMEM or -ERANGE (slots).
int plan_build(struct plan *p, struct arena *a);

// Completes the item's frames on this path with the MAC of the next hop.
void plan_address(struct plan_item *i, uint32_t path, const uint8_t mac[6]);

// Sets the schedule of all workers from `start` (ticks) on.
void plan_schedule(struct plan *p, uint64_t start);

// Frees protocols and tables; ports stay as they are. Safe on a plan that was only started or
// partly built. Returns 0, or -errno if leases of clients could not be written to a file (logged).
int plan_free(struct plan *p);

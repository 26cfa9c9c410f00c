// SPDX-License-Identifier: BSD-3-Clause
// Decisions before EAL starts: ports, queues, CPUs, and whether the memory suffices. Path: cold.
// Management thread.
#pragma once

#include "engine/plan/plan_state.h"

// Creates the workers of each port, from the CPUs of its settings.
void plan_workers(struct plan *p, struct arena *a);

// Chooses CPUs and ports before EAL starts. Returns 0, or -errno with e.
int plan_start(struct plan *p, bool respond_only, struct arena *a, struct io_error *e);

// Does the box lack memory for the plan's tables and, if ports, for packets? NULL: no, or unknown.
// Otherwise the reason, with the sum and its larger parts.
const char *plan_lacks_memory(const struct plan *p, bool ports, struct arena *a);

// Replaces plan_start: takes the CPUs and started ports of an earlier plan with the same settings
// of ports.
void plan_adopt(struct plan *p, const struct plan *before, struct arena *a);

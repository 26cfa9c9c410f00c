// SPDX-License-Identifier: BSD-3-Clause
// What is decided before EAL starts: ports, queues, CPUs, and whether the memory suffices. Path:
// cold. Management thread.
#pragma once

#include "engine/plan/plan_state.h"

// The workers of each port, from the CPUs of its settings.
void plan_workers(struct plan *p, struct arena *a);

// CPUs and ports, to be known before EAL starts. 0, or -errno with e.
int plan_start(struct plan *p, bool respond_only, struct arena *a, struct io_error *e);

// Does the box have the memory that the plan is going to take for its tables and, if ports, for
// packets? NULL: yes, or nobody knows. Otherwise the reason with the sum and its larger parts.
const char *plan_lacks_memory(const struct plan *p, bool ports, struct arena *a);

// Instead of plan_start: the CPUs and started ports of a plan before, whose configuration had the
// same.
void plan_adopt(struct plan *p, const struct plan *before, struct arena *a);

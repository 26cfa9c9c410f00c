// SPDX-License-Identifier: BSD-3-Clause
// The capture file of a run (output.capture). Path: cold. Management thread.
#pragma once

#include "engine/plan/plan.h"
#include "engine/result/result.h"

struct evidence_log;

// Before the launch, on a built plan: opens the file and gives each item its struct evidence.
// Returns 0, with *out NULL if nothing is to be captured, or -errno.
int evidence_log_start(struct plan *p, struct arena *a, struct evidence_log **out);
// After the workers have ended. Errors of the file are logged.
void evidence_log_stop(struct evidence_log *log, struct result_capture *out);

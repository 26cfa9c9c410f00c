// SPDX-License-Identifier: BSD-3-Clause
// What a finished run says, and whether it may say it: unreachable, invalid, failed or passed, with
// reasons in words. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan.h"
#include "engine/result/result.h"

// broken: what collect_check found, or NULL. interrupted: the user stopped the run. Fills
// r->verdict and returns the exit code.
int verdict_reach(const struct plan *p, const char *broken, bool interrupted, struct arena *a,
	struct result *r);

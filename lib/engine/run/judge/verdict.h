// SPDX-License-Identifier: BSD-3-Clause
// The verdict on a finished run: unreachable, invalid, failed, passed, or done when nothing
// was to be judged, with reasons in words. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan.h"
#include "engine/result/result.h"
#include "engine/run/collect/timeline.h"

// Did a worker or the responder lack its CPU for more of the measured time than validity.stolen, as
// far as that counts?
bool verdict_stole(const struct config *c, const struct result *r);

// Is its server, other than the embedded one, an address of this box?
bool verdict_is_near(const struct plan *p, const struct plan_item *i);

// broken: result of collect_check, or NULL. interrupted: the user stopped the run. Fills
// r->verdict and returns the exit code.
int verdict_reach(const struct plan *p, const struct timeline *t, const char *broken,
	bool interrupted, struct arena *a, struct result *r);

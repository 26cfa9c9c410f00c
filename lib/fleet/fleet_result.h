// SPDX-License-Identifier: BSD-3-Clause
// The results of the parts of a fleet's run (docs/fleet.md) as one, with a verdict on it: counts,
// rates and levels are added, and percentiles come from the sum of the histograms. Path: cold. Main
// thread.
#pragma once

#include "base/arena.h"
#include "document/document_reader.h"
#include "engine/result/result.h"

#define FLEET_PARTS 1024

struct fleet_result {
	struct result sum;
	// Members of its document besides the result; freed by fleet_result_forget.
	json_t *fleet, *config, *parts;
};

// Merges parts in any order, up to FLEET_PARTS; the verdict names missing parts. command: as in the
// result. All but the JSON lives in a. Returns false with the reason logged, and nothing to forget.
bool fleet_result_make(struct fleet_result *r, struct document_reader *readers, unsigned count,
	const char *command, struct arena *a);
void fleet_result_forget(struct fleet_result *r);

// Returns its document; the caller owns it.
json_t *fleet_result_document(const struct fleet_result *r);

// Adds a reason that only the coordinator knows: the run is INVALID, unless it was interrupted.
void fleet_result_invalidate(
	struct result_verdict *v, const char *reason, bool interrupted, struct arena *a);
// rule: stop rule of the whole that ended the run at at_s; NULL: none of the rules did.
void fleet_result_stop(struct result_verdict *v, const char *rule, double at_s, struct arena *a);

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
	// Members of its document that are no part of a result; the owner's.
	json_t *fleet, *config, *parts;
};

// Parts in any order, up to FLEET_PARTS; the verdict names those that are missing. command: as the
// result has it. intervals: are those of the parts wanted? Then they are added up too. All but the
// JSON lives in a. false: the reason was logged, and there is nothing to forget.
bool fleet_result_make(struct fleet_result *r, struct document_reader *readers, unsigned count,
	const char *command, struct arena *a);
void fleet_result_forget(struct fleet_result *r);

// The document of it; the caller owns it.
json_t *fleet_result_document(const struct fleet_result *r);

// What the coordinator saw, and no part: the run is INVALID, unless it was interrupted.
void fleet_result_invalidate(
	struct result_verdict *v, const char *reason, bool interrupted, struct arena *a);
// A stop rule about the whole has ended the run at that time; NULL: none did, of those there are.
void fleet_result_stop(struct result_verdict *v, const char *rule, double at_s, struct arena *a);

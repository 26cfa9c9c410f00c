// SPDX-License-Identifier: BSD-3-Clause
// The parts of a fleet's run as its agents kept them, fetched when it is over. They contain the
// messages of a lost agent that a coordinator did not receive. Path: cold. Main thread.
#pragma once

#include "base/arena.h"
#include "document/document_reader.h"
#include "fleet/fleet_result.h"
#include "nats/bus.h"

// Fetches the parts of the run that `result` describes, from the agents that it names. file: of the
// result, for messages. readers: room for FLEET_PARTS; *count of them are open on return, in any
// case. Returns 0, or an exit code with the reasons logged.
int fleet_kept_fetch(const struct bus_settings *s, const char *file, const json_t *result,
	struct arena *a, struct document_reader *readers, unsigned *count);
// Adds to the sum of the parts the facts that only the coordinator knew: members and skew of the
// fleet, the configuration, and its reasons for the verdict.
void fleet_kept_complete(const json_t *result, struct fleet_result *r, struct arena *a);

// SPDX-License-Identifier: BSD-3-Clause
// The first packets that a run would send, into a pcapng file: no port is opened, no EAL started,
// no privilege needed. Path: cold. Main thread.
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "engine/config/config.h"

#define DRYRUN_PACKETS 100 // of all items together, at least one per item

// MACs of ports and next hops are unknown before a run. Destination 02:00:00:00:00:01, source
// 02:00:00:00:01:n for the n-th port.
struct dryrun {
	uint64_t packets; // written
};

// Same file and seed, same bytes: time counts from the start of the schedule. Returns the exit
// code; errors are in d or were logged.
int dryrun_write(const struct config *c, const char *path, struct arena *a, struct diag *d,
	struct dryrun *out);

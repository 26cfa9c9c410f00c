// SPDX-License-Identifier: BSD-3-Clause
// The coordinator of a fleet: it finds agents on NATS, gives each its part of a run, starts all at
// one time, and merges their reports into one run. For all who follow or judge a run it is a run
// elsewhere (engine/run/run.h). Path: cold. Main thread.
#pragma once

#include <jansson.h>

#include "nats/bus.h"
#include "engine/run/run.h"

struct fleet;

// The agents to use, and changes of the file. The caller keeps it until fleet_close.
struct fleet_wanted {
	struct bus_settings bus;
	const char *agents; // how many; NULL: as many as in the file, or all
	const char *labels; // that each agent must have; NULL: any
	char **assignments; // of --set
	unsigned assignment_count;
};

// Connects, and chooses agents. config: as read from the file. Returns 0, or an exit code with the
// reason logged.
int fleet_open(const struct fleet_wanted *w, const struct config *config, struct fleet **out);
// Returns the callbacks that make the runs.
struct run_elsewhere fleet_elsewhere(struct fleet *f);
// Sets another rate in all parts, from the first interval that begins at at_ns (Unix time of this
// box) or later and leaves time to reach them. Returns NULL, or the reason of a failure.
const char *fleet_order(struct fleet *f, const char *order, uint64_t at_ns);
// Adds the members "fleet" and "parts" to the document of the run of that number.
void fleet_complete(const struct fleet *f, uint64_t number, json_t *document);
void fleet_close(struct fleet *f); // NULL: nothing to do

// SPDX-License-Identifier: BSD-3-Clause
// The coordinator of a fleet: it finds agents on NATS, gives each its part of a run, starts all at
// one time, and makes one run of what they report. For all who follow or judge a run it is a run
// elsewhere (engine/run/run.h). Path: cold. Main thread.
#pragma once

#include <jansson.h>

#include "nats/bus.h"
#include "engine/run/run.h"

struct fleet;

// Which agents to use, and the changes that they make to the file. The caller keeps it until
// fleet_close.
struct fleet_wanted {
	struct bus_settings bus;
	const char *agents; // how many; NULL: as many as the file says, or all
	const char *labels; // that each agent must have; NULL: any
	char **assignments; // of --set
	unsigned assignment_count;
};

// Connect, and choose agents. config: the file as read from `file`. 0, or an exit code, with the
// reason logged.
int fleet_open(const struct fleet_wanted *w, const struct config *config, struct fleet **out);
// It makes the runs.
struct run_elsewhere fleet_elsewhere(struct fleet *f);
// Another rate in all parts, from the first interval on that begins at at_ns (Unix time of this
// box) or later and leaves time to reach them. NULL: done, else the reason why not.
const char *fleet_order(struct fleet *f, const char *order, uint64_t at_ns);
// What the document of the run of that number has besides: the members "fleet" and "parts".
void fleet_complete(const struct fleet *f, uint64_t number, json_t *document);
void fleet_close(struct fleet *f); // NULL: nothing to do

// SPDX-License-Identifier: BSD-3-Clause
// An agent of a fleet: it waits on NATS for a coordinator that claims it, and runs its part of the
// coordinator's runs in a child process (run_child.h). The events of a run are a file, of which
// pieces are sent as they arrive; lost pieces are read again. Path: cold. Main thread.
//
//   DIR/cache/HASH              input files, checked
//   DIR/runs/RUN/run.yaml       the configuration, beside the input files under their names
//   DIR/runs/RUN/events.jsonl   the events of the run, as its coordinator gets them
//   DIR/runs/RUN/run-N.json     its results
//   DIR/runs/RUN/log.txt        standard error
#pragma once

#include <stdbool.h>

#include "nats/bus.h"

struct agent_settings {
	const char *name, *labels, *dir;
	char *const *assignments; // --set: they hold for every run here
	unsigned assignment_count;
	bool commands; // configurations may run commands
};

struct agent;

// Returns 0, or -errno, which was logged. In both cases *out, or NULL, must be ended, and freed
// after bus_close: threads of the bus use it until then.
int agent_open(struct bus *b, const struct agent_settings *s, struct agent **out);
// Call some 100 times a second.
void agent_tick(struct agent *a);
// Ends the run in progress, in order.
void agent_end(struct agent *a);
void agent_free(struct agent *a);

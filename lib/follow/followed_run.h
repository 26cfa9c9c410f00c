// SPDX-License-Identifier: BSD-3-Clause
// The result so far of a run that is followed by its lines (run_events.h). Path: cold. Any thread,
// one at a time.
#pragma once

#include <jansson.h>

#include "document/running_sum.h"

// Zeroed before the first line.
struct followed_run {
	struct document_reader reader; // without document: no run has begun
	struct running_sum sum;
	json_t *newest; // interval; NULL: there is none yet
};

enum followed_change {
	FOLLOWED_SAME,
	FOLLOWED_MORE,  // an interval
	FOLLOWED_PHASE, // a run begins or ends
};

// name: as messages call the run; the caller's. Before the reader is read, running_sum_put is due.
enum followed_change followed_line(struct followed_run *r, const char *name, const json_t *line);
void followed_forget(struct followed_run *r);

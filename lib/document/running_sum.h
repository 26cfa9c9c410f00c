// SPDX-License-Identifier: BSD-3-Clause
// The result of a run so far, from its lines (run_events.h): counts are those of the run, and
// gauges are of its newest interval. Path: cold. Any thread, one at a time.
#pragma once

#include <jansson.h>

#include "document/partial_result.h"

struct running_sum {
	struct document_reader reader; // without document: no run has begun
	struct partial_result rescue;
	json_t *newest; // interval; NULL: there is none yet
};

enum running_sum_change {
	RUNNING_SUM_SAME,
	RUNNING_SUM_MORE,  // an interval
	RUNNING_SUM_PHASE, // a run begins or ends
};

// t is zeroed before the first line. name: as messages call the run; the caller's.
enum running_sum_change running_sum_line(
	struct running_sum *t, const char *name, const json_t *line);
// Before its reader is read: percentiles and rates of all intervals so far.
void running_sum_sum_up(struct running_sum *t);
void running_sum_forget(struct running_sum *t);

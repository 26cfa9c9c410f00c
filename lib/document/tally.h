// SPDX-License-Identifier: BSD-3-Clause
// The result of a run so far, from its lines (live.h): counts are those of the run, and gauges are
// of its newest interval. Path: cold. Any thread, one at a time.
#pragma once

#include <jansson.h>

#include "document/rescue.h"

struct tally {
	struct book book; // without document: no run has begun
	struct rescue rescue;
	json_t *newest; // interval; NULL: there is none yet
};

enum tally_change {
	TALLY_SAME,
	TALLY_MORE,  // an interval
	TALLY_PHASE, // a run begins or ends
};

// t is zeroed before the first line. name: as messages call the run; the caller's.
enum tally_change tally_line(struct tally *t, const char *name, const json_t *line);
// Before its book is read: percentiles and rates of all intervals so far.
void tally_sum_up(struct tally *t);
void tally_forget(struct tally *t);

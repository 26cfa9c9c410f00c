// SPDX-License-Identifier: BSD-3-Clause
// The state of a run on one screen, made of its lines (run_events.h): phase, trial, the verdict so
// far, items with their last interval and the last minute, latencies so far, workers. Makes text of
// a given size; terminal.h has the terminal. Path: cold. Main thread.
#pragma once

#include <stdio.h>

#include "follow/run_events.h"

#define VIEW_ITEMS   64 // that have a history
#define VIEW_SECONDS 60
#define VIEW_BINS    26 // of latencies: below 1, 2, 5, 10 us ... 100 s, and above

struct view {
	json_t *begin, *trial, *interval;          // last lines of each kind; NULL: none yet
	double came_s;                             // when the last interval came, or the begin
	double answered[VIEW_ITEMS][VIEW_SECONDS]; // by seconds, newest last
	double known[VIEW_ITEMS][VIEW_SECONDS];    // share of that second that is known
	double p50[VIEW_ITEMS][VIEW_SECONDS]; // longest, in ns; 0: nothing timed, INFINITY: lost
	double p99[VIEW_ITEMS][VIEW_SECONDS];
	uint64_t bins[VIEW_ITEMS][VIEW_BINS]; // answered so far, by response latency
	uint64_t lost[VIEW_ITEMS];            // so far
	double until_s;                       // end of the newest second
};

struct view_size {
	unsigned columns, rows; // at most
	bool utf8;
	const char *hint; // for the user, in the first line
};

void view_line(void *ctx, const json_t *line);

// Writes up to size->rows lines, none if the run has not begun. Returns their number.
unsigned view_draw(const struct view *v, const struct view_size *size, FILE *out);

void view_free(struct view *v);

// Does the locale of the user have block characters?
bool view_is_utf8(void);

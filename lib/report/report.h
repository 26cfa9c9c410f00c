// SPDX-License-Identifier: BSD-3-Clause
// Output for people: lines during a run (progress.c), tables and the verdict at its end (report.c).
// Colour only on a terminal. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "engine/result/result.h"

struct report {
	FILE *out;  // NULL: print nothing
	bool quiet; // the last line only
	bool colour;
	bool live;   // a view below (terminal.h) instead of interval lines
	bool header; // was printed
	bool searches;
	uint64_t sent, answered, lost; // measured so far
	double responder_s;            // of the last line
	uint64_t responder_received, responder_answered;
};

void report_init(struct report *r, FILE *out, bool quiet);

void report_note(struct report *r, const char *text);
// For struct run_events_follower. Keeps sums; does not print intervals of a search.
void report_line(void *ctx, const json_t *line);
void report_responder(struct report *r, double t_s, const struct result_responder *total);

void report_result(struct report *r, const struct result *result);
void report_responder_end(struct report *r, const struct result_responder *total); // NULL: none

// Clears the view, if there is one, to print in its place.
void report_clear(struct report *r);

// Sets cells to texts of an item of an interval, to print at once: name, due/s, answered/s, loss,
// p50, p99, max. Times are "-" if it is not timed, and "lost" where unknown.
#define REPORT_CELLS 7
void report_cells(const json_t *item, bool timed, const char *cells[REPORT_CELLS]);

// Returns the value found for a criterion, in the unit of its figure. room >= 32.
const char *report_criterion_value(const struct result_criterion *c, char *buf, size_t room);

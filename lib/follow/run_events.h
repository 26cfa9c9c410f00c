// SPDX-License-Identifier: BSD-3-Clause
// The events of a run in progress: JSON objects, a line each, made once and handed to all who
// follow it. docs/formats.md describes the lines. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "engine/config/config.h"
#include "engine/result/result.h"
#include "engine/result/lines.h"
#include "engine/run/judge/so_far.h"

struct run_events_follower {
	void (*line)(void *ctx, const json_t *line);
	// Some 50 times a second while packets flow and between the runs of a series. NULL: not
	// wanted.
	void (*tick)(void *ctx);
	void (*close)(void *ctx); // NULL: nothing to do
	void *ctx;
};

#define RUN_EVENTS_FOLLOWERS 8

struct run_events {
	struct run_events_follower followers[RUN_EVENTS_FOLLOWERS];
	unsigned count;
	uint64_t number; // of the run
	json_t *trial;   // it comes behind the line of its run
	bool judges;     // intervals have the verdict so far
	struct so_far so_far;
};

// From now on f gets every line. Lines belong to l.
void run_events_follow(struct run_events *l, struct run_events_follower f);

// A line to all followers, which l owns from now on.
void run_events_put(struct run_events *l, json_t *line);

// file: the configuration of the user, c: that of this run, which a series varies.
void run_events_begin(struct run_events *l, const struct result *r, const struct config *file,
	const struct config *c);
void run_events_interval(struct run_events *l, const struct result_interval *i, bool warmup);
// As run_hooks.trial.
void run_events_trial(struct run_events *l, const struct result_trial *t, uint32_t number,
	double answer, double upper);
// With the verdict, and the answers of a search or of repeats.
void run_events_order(struct run_events *l, const char *text, const char *refused);
void run_events_end(struct run_events *l, const struct result *r);
void run_events_tick(struct run_events *l);
// For all followers.
void run_events_close(struct run_events *l);

// The line as text without its end; the caller frees it.
char *run_events_text(const json_t *line);

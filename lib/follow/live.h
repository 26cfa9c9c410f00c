// SPDX-License-Identifier: BSD-3-Clause
// What a run tells while it goes on: JSON objects, a line each, made once and handed to all who
// follow it. docs/formats.md describes the lines. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "engine/config/config.h"
#include "engine/result/result.h"
#include "document/lines.h"

struct live_follower {
	void (*line)(void *ctx, const json_t *line);
	// Some 50 times a second while packets flow and between the runs of a series. NULL: not
	// wanted.
	void (*tick)(void *ctx);
	void (*close)(void *ctx); // NULL: nothing to do
	void *ctx;
};

#define LIVE_FOLLOWERS 8

struct live {
	struct live_follower followers[LIVE_FOLLOWERS];
	unsigned count;
	uint64_t number; // of the run
	json_t *trial;   // it comes behind the line of its run
};

// From now on f gets every line. Lines belong to l.
void live_follow(struct live *l, struct live_follower f);

// A line to all followers, which l owns from now on.
void live_put(struct live *l, json_t *line);

// file: the configuration of the user, c: that of this run, which a series varies.
void live_begin(
	struct live *l, const struct result *r, const struct config *file, const struct config *c);
void live_interval(struct live *l, const struct result_interval *i, bool warmup);
// As run_hooks.trial.
void live_trial(
	struct live *l, const struct result_trial *t, uint32_t number, double answer, double upper);
// With the verdict, and the answers of a search or of repeats.
void live_order(struct live *l, const char *text, const char *refused);
void live_end(struct live *l, const struct result *r);
void live_tick(struct live *l);
// Of all followers.
void live_close(struct live *l);

// The line as text without its end; the caller frees it.
char *live_text(const json_t *line);

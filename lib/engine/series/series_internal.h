// SPDX-License-Identifier: BSD-3-Clause
// Shared by searches and repeats, for series*.c only. Path: cold. Management thread.
#pragma once

#include "engine/series/spread.h"
#include "engine/series/search.h"
#include "engine/run/run.h"
#include "engine/series/series_run.h"

struct series {
	const struct run_options *options;
	const struct config *config; // of the file
	struct arena *arena;
	struct run *run;
	uint64_t runs; // begun so far
};

// Repeats that count.
struct series_repeats {
	struct result *valid;
	uint32_t count;
};

// Returns the configuration of one run; texts: count assignments. NULL after errors, which were
// printed. Free *d after the run.
const struct config *series_derive(
	const struct series *s, char *const *texts, unsigned count, struct diag **d);

// Like run_open and run_close, wherever the runs execute.
int series_open(struct series *s, const struct run_options *o);
int series_close(struct series *s);

// Like run_execute: one run of the file as it is.
int series_plain(struct series *s, struct result *out);

// Runs once with these settings and returns the exit code. The run has a seed of its own, so that
// late replies to it are strays in the next, and a capture file of its own. out->verdict.status
// NULL: it did not begin.
int series_run(struct series *s, char *const *texts, unsigned count, struct result *out);

// Runs with these settings until run.repeat is satisfied; the ports are up. Returns like
// series_run; seen: the runs behind out.
int series_run_repeats(struct series *s, char *const *texts, unsigned count,
	struct series_repeats *seen, struct result *out);

// Returns the capture file of a run; NULL: none.
const char *series_capture(const struct result *r);

// Waits between runs. Returns false if interrupted.
bool series_rest(const struct series *s, uint64_t ns);

// Puts a reason in front of the others.
void series_reason(const struct series *s, struct result_verdict *v, const char *text);

#define SERIES_AT_MAX   3
#define SERIES_RAMP_MAX 5

// Writes the settings of a run at a value of the variable; returns the number of texts.
unsigned series_at(const struct config *c, double value, struct arena *a, char **texts);
// Likewise for a run that is the ramp of the search.
unsigned series_ramp(const struct config *c, struct arena *a, char **texts);
// Does the variable belong to the n-th item of traffic?
bool series_concerns(const struct config *c, uint32_t n);

// Like series_execute, for the repeats or the search of the file.
int series_repeat(struct series *s, struct result *out);
int series_search(struct series *s, struct result *out);

// Runs the ramp of a search, once. Its intervals go into search as trials, each with the number
// `run` of the run; trials has room for search->count + series_ramp_room. o: the options that the
// ports were brought up with.
uint32_t series_ramp_room(const struct search_settings *settings);
int series_run_ramp(struct series *s, struct run_options *o, struct search *search,
	struct search_trial *trials, struct result *out);

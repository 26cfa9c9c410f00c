// SPDX-License-Identifier: BSD-3-Clause
// Searches for the highest load at which a server meets goals: the next trial and the answer, as
// functions of the trials so far. No clock, no packet, no state: the same trials
// give the same step. Bisection as in RFC 2544 and RFC 8219 section 9, MLRsearch as in RFC 9971,
// and one ramp as resperf's, whose intervals are the trials (search_ramp.h). Path: cold. Any
// thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/config/series_settings.h"

// One measurement: a run, or an interval of a ramp.
struct search_trial {
	uint32_t run; // number of its run, from 0
	double load;  // value of the variable; of a ramp in the middle of the interval
	uint64_t length_ns;
	double loss, failed;                 // shares of sent
	double latency_ns[GOAL_PERCENTILES]; // of a ramp p50 and p99. INFINITY: among the lost ones
	double answered_per_s;
	bool stopped;   // by a rule of the user: too much for the server, whatever it answered
	bool invalid;   // because of the tester: no measurement of the server
	bool undecided; // others disturbed the box: a failure proves nothing
	bool crowded;   // others had its CPU, whatever the load
};

struct search {
	const struct search_settings *settings;
	bool whole; // the variable counts: no fractions
	const struct search_trial *trials;
	uint32_t count;
	bool going;    // ramp: in progress, more trials will follow
	double cut_at; // ramp: where a rule of the user ended it; 0: none did
};

struct search_step {
	bool done, ramp;
	double load; // of a ramp the highest
	uint64_t length_ns;
};

struct search_answer {
	double load;       // NAN: `from` does not meet the goal, or nothing is known yet
	double upper;      // lowest load that does not; INFINITY: none up to `to`
	double throughput; // answered per second there (docs/measurement/series.md)
	bool tester;       // the tester was too weak to measure above
	bool undecided;    // it was disturbed there
};

// Further findings of the trials.
struct search_shape {
	double peak_load, peak_per_s;         // load with the highest answered rate
	double collapse_load, collapse_per_s; // from here on a tenth less, or worse; NAN: none
	double knee; // last load before p99 left its level for good; NAN: none
};

static inline const struct search_goal *search_goal_of(const struct search *s, uint32_t i)
{
	return (const struct search_goal *)s->settings->goals.items + i;
}

static inline bool search_met(const struct search_goal *g, const struct search_trial *t)
{
	bool met = !t->stopped && t->loss + t->failed <= g->loss && t->failed <= g->failed;

	for (unsigned i = 0; i < GOAL_PERCENTILES; i++)
		met = met &&
		      (g->latency_ns[i] == 0 || t->latency_ns[i] <= (double)g->latency_ns[i]);
	return met;
}

// Is the trial inconclusive for the goal?
static inline bool search_void(const struct search_goal *g, const struct search_trial *t)
{
	return t->invalid || (t->undecided && !search_met(g, t));
}

// Are the trials spoilt by something other than the load? True if every trial is inconclusive, at
// half of the load as at the first one, and others had the CPU in each.
bool search_is_spoilt(const struct search *s);
// Seconds that its trials will take if the answer is in the middle of the bounds; NAN: unknown.
double search_left_s(const struct search *s);

struct search_step search_next(const struct search *s);
// Return the findings so far.
struct search_answer search_answer(const struct search *s, uint32_t goal);
struct search_shape search_shape(const struct search *s);

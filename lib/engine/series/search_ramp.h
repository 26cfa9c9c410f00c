// SPDX-License-Identifier: BSD-3-Clause
// A search by one ramp, as resperf's. The rate of one run rises evenly from the lowest to the
// highest value; its intervals are the trials, and the answer follows from them. As in search.h
// everything is a function of the measurements. Path: cold. Any thread.
#pragma once

#include "engine/series/search.h"

// Counts of an interval, by the time of the event.
struct ramp_interval {
	double t_s, length_s; // its end, from the start of the ramp
	double due, sent;
	double asked; // messages sent that are to be answered
	double answered, failed, lost;
	double p50_ns, p99_ns;
};

struct ramp {
	const struct search_settings *settings;
	const struct ramp_interval *intervals;
	uint32_t count;
	double timeout_s; // a loss is known this long after its send
	double late_s;    // further behind, the tester is at fault
	bool over;        // nothing more will come
	bool cut;         // it ended before its time: within the last interval that sent anything
};

// Converts the intervals to trials, up to the last whose losses are all known, and returns their
// number. Losses count in the interval of their sends. out has room for r->count.
uint32_t ramp_trials(const struct ramp *r, uint32_t run, struct search_trial *out);

struct search_step ramp_next(const struct search *s);
struct search_answer ramp_answer(const struct search *s, const struct search_goal *g);
// Is every goal broken for good, far enough below to see a collapse, or is the tester behind?
bool search_enough(const struct search *s);

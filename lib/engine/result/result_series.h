// SPDX-License-Identifier: BSD-3-Clause
// What several runs in a row found out: the trials of a search and its answers, or repeats and how
// well they agree. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"

struct result_trial {
	double rate; // value of the variable
	double duration_s;
	double loss, failed; // of what was sent; lost alone, failed alone
	double p50_ns, p99_ns, answered_per_s;
	const char *verdict; // pass: every goal is met; fail; invalid: because of the tester
	uint64_t goals_met;
	uint64_t seed;
	const char *capture; // file; NULL: none
};

struct result_goal {
	const char *goal;
	double answer; // value of the variable; NAN: not even the lowest one
	double upper;  // lowest value that was too much; INFINITY: none
	double answered_per_s;
	const char *limited_by; // server, tester, range
	double repeats_met;     // repeats at the answer; NAN: there were none
};

struct result_peak {
	double rate, answered_per_s;
};

struct result_search {
	const char *method, *variable;
	double answer;                // of the first goal
	struct counter_list goals;    // struct result_goal
	struct result_peak *peak;     // NULL: nothing was answered
	struct result_peak *collapse; // NULL: none seen
	double knee;                  // NAN: none seen
	struct counter_list trials;   // struct result_trial
};

// A figure of an item over all repeats.
struct result_spread {
	const char *item, *figure;
	double mean, stddev, low, high, median, min, max;
	bool reached; // no wider than asked for
};

struct result_repeat {
	uint64_t seed;
	const char *verdict;
	const char *capture;         // file; NULL: none
	struct counter_list traffic; // struct result_item
};

struct result_confidence {
	uint64_t runs;
	double confidence, width;
	bool reached;
	struct counter_list figures; // struct result_spread
};

extern const struct counter_section result_search_section;
extern const struct counter_section result_repeat_section;
extern const struct counter_section result_confidence_section;

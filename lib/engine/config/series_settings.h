// SPDX-License-Identifier: BSD-3-Clause
// Settings of many runs: search: and run.repeat:. Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "base/field.h"

// Percentiles of the response latency that a goal can limit.
enum { GOAL_P50, GOAL_P90, GOAL_P95, GOAL_P99, GOAL_P999, GOAL_PERCENTILES };
extern const struct goal_percentile {
	const char *name; // "p50"
	double percent;
} goal_percentiles[GOAL_PERCENTILES];

// A load meets a goal when every limit that is given holds.
struct search_goal {
	double loss;                           // of sent: lost or failed
	double failed;                         // failed alone
	uint64_t latency_ns[GOAL_PERCENTILES]; // 0: not given
	double exceed; // mlr: share of the time in which the limits may be broken
	double width;  // of the answer; 0: the search's
};

enum search_method { SEARCH_BISECT, SEARCH_MLR, SEARCH_RAMP };

extern const char *const search_methods[]; // by enum search_method, NULL-terminated

// Which value is tried first, of bisect and mlr.
enum search_start { SEARCH_HIGHEST, SEARCH_LOWEST };

struct search_settings {
	const char *variable; // path of a rate or a count
	int32_t method;
	int32_t start; // enum search_start
	double from, to;
	struct field_list goals; // struct search_goal
	double width;
	uint64_t warmup_ns, trial_ns, final_ns, sum_ns, settle_ns;
	uint64_t verify; // bisect
	uint64_t attempts;
	uint64_t time_ns; // UINT64_MAX: as long as it takes
	uint64_t steps;   // ramp
};

extern const struct field_section search_section;

// Returns "traffic.NAME.load" if the variable is the rate of an item, else NULL.
char *search_load_path(const struct search_settings *s, struct arena *a);

enum repeat_figure { REPEAT_RATE, REPEAT_P99, REPEAT_CPU, REPEAT_DUT_CPU };

extern const char *const repeat_figures[]; // by enum repeat_figure, NULL-terminated

struct repeat_settings {
	uint64_t min, max;
	double confidence;
	double width; // of the whole interval, as a share of the mean
	uint64_t rest_ns;
	struct field_list of; // int32_t: enum repeat_figure
	uint64_t skip;        // first runs that are left out
};

extern const struct field_section repeat_section;

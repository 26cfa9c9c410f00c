// SPDX-License-Identifier: BSD-3-Clause
// The rows of search: and run.repeat:. Path: cold. Management thread.
#include "engine/config/series_settings.h"

#include <stddef.h>
#include <string.h>

#define AT(type, member) .offset = offsetof(struct type, member)

#define LOAD_RATE ".load.rate"

const char *const search_methods[] = {
	[SEARCH_BISECT] = "bisect", [SEARCH_MLR] = "mlr", [SEARCH_RAMP] = "ramp", NULL};

static const char *const search_starts[] = {
	[SEARCH_HIGHEST] = "highest", [SEARCH_LOWEST] = "lowest", NULL};

const struct goal_percentile goal_percentiles[GOAL_PERCENTILES] = {[GOAL_P50] = {"p50", 50},
	[GOAL_P90] = {"p90", 90},
	[GOAL_P95] = {"p95", 95},
	[GOAL_P99] = {"p99", 99},
	[GOAL_P999] = {"p999", 99.9}};

#define GOAL_PERCENTILE(name, which, number)                                                       \
	{                                                                                          \
		name, number " percentile of the response latency at most; 0s: any",               \
			FIELD_DURATION, AT(search_goal, latency_ns[which]), .def = "0s",           \
									    .max = 1e16            \
	}

static const struct field goal_fields[] = {
	{"loss", "share of sent transactions lost or failed, at most", FIELD_PERCENT,
		AT(search_goal, loss), .def = "0%", .max = 1},
	{"failed", "share of sent transactions failed, at most", FIELD_PERCENT,
		AT(search_goal, failed), .def = "100%", .max = 1},
	GOAL_PERCENTILE("p50", GOAL_P50, "50th"),
	GOAL_PERCENTILE("p90", GOAL_P90, "90th"),
	GOAL_PERCENTILE("p95", GOAL_P95, "95th"),
	GOAL_PERCENTILE("p99", GOAL_P99, "99th"),
	GOAL_PERCENTILE("p999", GOAL_P999, "99.9th"),
	{"exceed", "mlr: share of the time in which the limits may be broken", FIELD_PERCENT,
		AT(search_goal, exceed), .def = "50%", .max = 0.9},
	{"width", "width of the answer; 0%: the search's", FIELD_PERCENT, AT(search_goal, width),
		.def = "0%", .max = 0.5},
};

static const struct field_section goal_section = {"goals", "bounds that a load must meet",
	FIELD_ROWS(goal_fields), sizeof(struct search_goal)};

static const struct field search_fields[] = {
	{"variable", "setting to vary: a rate or a count, like traffic.queries.load.rate",
		FIELD_STRING, .required = true, AT(search_settings, variable), .min = 1,
		.max = 256},
	{"method", "bisection (RFC 2544, RFC 8219), MLRsearch (RFC 9971), or one ramp (resperf)",
		FIELD_ENUM, AT(search_settings, method), .names = search_methods, .def = "bisect"},
	{"start",
		"value to try first: the highest, as in RFC 2544, or the lowest, then four times "
		"as much each time until a load does not meet a goal",
		FIELD_ENUM, AT(search_settings, start), .names = search_starts, .def = "highest"},
	{"from", "lowest value", FIELD_RATE, .required = true, AT(search_settings, from),
		.min = 0.001, .max = 1e9},
	{"to", "highest value", FIELD_RATE, .required = true, AT(search_settings, to), .min = 0.001,
		.max = 1e9},
	{"goals", "bounds that a load must meet; each has an answer", FIELD_SECTION, .list = true,
		.required = true, AT(search_settings, goals), .section = &goal_section},
	{"width", "maximum distance between the bounds of the answer", FIELD_PERCENT,
		AT(search_settings, width), .def = "1%", .min = 0.0001, .max = 0.5},
	{"warmup", "warm-up of each trial: sent, not judged", FIELD_DURATION,
		AT(search_settings, warmup_ns), .def = "500ms", .max = 1e13},
	{"trial", "length of a trial; mlr: of the shortest trial; ramp: of an interval",
		FIELD_DURATION, AT(search_settings, trial_ns), .def = "2s", .min = 1e7,
		.max = 1e14},
	{"final", "length of trials that confirm the answer; mlr: of the longest trial",
		FIELD_DURATION, AT(search_settings, final_ns), .def = "10s", .min = 1e7,
		.max = 1e14},
	{"sum", "mlr: total length of the long trials that decide a load", FIELD_DURATION,
		AT(search_settings, sum_ns), .def = "30s", .max = 1e15},
	{"settle", "rest between trials", FIELD_DURATION, AT(search_settings, settle_ns),
		.def = "1s", .max = 1e13},
	{"verify", "bisect: additional trials that must fail at the load that bounds the answer",
		FIELD_COUNT, AT(search_settings, verify), .def = "1", .max = 10},
	{"time", "time limit of the search; it ends before a trial that would exceed it",
		FIELD_DURATION, AT(search_settings, time_ns), .def = "unlimited",
		.word = "unlimited", .min = 1e9, .max = 1e15},
	{"attempts", "invalid or disturbed trials at a load before the search tries a lower one",
		FIELD_COUNT, AT(search_settings, attempts), .def = "3", .min = 1, .max = 100},
	{"steps", "ramp: number of intervals; the ramp takes steps x trial", FIELD_COUNT,
		AT(search_settings, steps), .def = "100", .min = 2, .max = 500},
};

const struct field_section search_section = {"search",
	"find the highest value of a setting at which goals are met", FIELD_ROWS(search_fields),
	sizeof(struct search_settings)};

char *search_load_path(const struct search_settings *s, struct arena *a)
{
	size_t len = strlen(s->variable), tail = strlen(LOAD_RATE);

	if (len < tail || strcmp(s->variable + len - tail, LOAD_RATE) != 0)
		return NULL;
	return arena_printf(a, "%.*s", (int)(len - strlen(".rate")), s->variable);
}

const char *const repeat_figures[] = {[REPEAT_RATE] = "rate",
	[REPEAT_P99] = "p99",
	[REPEAT_CPU] = "cpu",
	[REPEAT_DUT_CPU] = "dut_cpu",
	NULL};

static const struct field repeat_fields[] = {
	{"skip", "first runs, left out of all figures, for example to fill caches", FIELD_COUNT,
		AT(repeat_settings, skip), .def = "0", .max = 100},
	{"min", "minimum number of runs", FIELD_COUNT, AT(repeat_settings, min), .def = "3",
		.min = 2, .max = 1000},
	{"max", "maximum number of runs", FIELD_COUNT, AT(repeat_settings, max), .def = "10",
		.min = 2, .max = 1000},
	{"confidence", "confidence level of the interval", FIELD_PERCENT,
		AT(repeat_settings, confidence), .def = "99%", .min = 0.5, .max = 0.9999},
	{"width", "full width of the interval as a share of the mean; if wider, run again",
		FIELD_PERCENT, AT(repeat_settings, width), .def = "5%", .min = 0.0001, .max = 10},
	{"rest", "pause between runs", FIELD_DURATION, AT(repeat_settings, rest_ns), .def = "1s",
		.max = 1e13},
	{"of",
		"figures that must be that precise: answered rate, 99th percentile, share of the "
		"tester's CPUs in use, of the server's (dut.probe)",
		FIELD_ENUM, .list = true, AT(repeat_settings, of), .names = repeat_figures,
		.def = "rate"},
};

const struct field_section repeat_section = {"repeat",
	"repeat the run until its result is precise enough", FIELD_ROWS(repeat_fields),
	sizeof(struct repeat_settings)};

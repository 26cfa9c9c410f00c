// SPDX-License-Identifier: BSD-3-Clause
// The rows of searches and repeats. Path: cold. Management thread.
#include "engine/result/result_series.h"

#include "engine/result/result.h"

#define AT(of, member) .offset = offsetof(struct of, member)
#define COUNT(of, member, text)                                                                    \
	{                                                                                          \
		.name = #member, .help = text, .type = COUNTER_U64, AT(of, member)                 \
	}
#define TEXT(of, member, text)                                                                     \
	{                                                                                          \
		.name = #member, .help = text, .type = COUNTER_STRING, AT(of, member)              \
	}
#define REAL(of, member, unit_, text)                                                              \
	{                                                                                          \
		.name = #member, .help = text, .unit = unit_, .type = COUNTER_F64, AT(of, member)  \
	}

static const struct counter trial_rows[] = {
	REAL(result_trial, rate, NULL,
		"value of the variable; of a ramp in the middle of the interval"),
	REAL(result_trial, duration_s, "s", "length of the measured part"),
	REAL(result_trial, loss, "1", "lost over sent"),
	REAL(result_trial, failed, "1", "failed over sent"),
	REAL(result_trial, p50_ns, "ns", "median of the response latency"),
	REAL(result_trial, p99_ns, "ns", "99th percentile of the response latency"),
	REAL(result_trial, answered_per_s, "per_s",
		"answered rate, until the last answer; of a ramp within the interval"),
	TEXT(result_trial, verdict,
		"pass: every goal is met; fail; invalid: because of the tester"),
	COUNT(result_trial, goals_met, "goals that are met"),
	COUNT(result_trial, seed, "seed of the trial; the intervals of a ramp share one"),
	TEXT(result_trial, capture, "its capture file"),
};
static const struct counter_section trial_section = {
	"trials", "a measurement", COUNTER_ROWS(trial_rows), sizeof(struct result_trial)};

static const struct counter goal_rows[] = {
	TEXT(result_goal, goal, "what a load has to meet"),
	REAL(result_goal, answer, NULL, "highest value of the variable that meets it"),
	REAL(result_goal, upper, NULL, "lowest value that does not; null: none up to the end"),
	REAL(result_goal, answered_per_s, "per_s",
		"answered rate there; mlr: the conditional throughput"),
	TEXT(result_goal, limited_by,
		"server, tester, range (met up to the end), or none (interrupted)"),
	REAL(result_goal, repeats_met, NULL,
		"repeats at the answer that met it; null: none were made"),
};
static const struct counter_section goal_section = {
	"goals", "a goal and its answer", COUNTER_ROWS(goal_rows), sizeof(struct result_goal)};

static const struct counter peak_rows[] = {
	REAL(result_peak, rate, NULL, "value of the variable"),
	REAL(result_peak, answered_per_s, "per_s", "answered rate"),
};
static const struct counter_section peak_section = {"peak", "a load and what was answered",
	COUNTER_ROWS(peak_rows), sizeof(struct result_peak)};

static const struct counter search_rows[] = {
	TEXT(result_search, method, "bisect, mlr or ramp"),
	TEXT(result_search, variable, "setting that was varied"),
	REAL(result_search, answer, NULL, "highest value that meets the first goal; null: none"),
	{"goals", "goals and their answers", NULL, COUNTER_LIST, AT(result_search, goals),
		.section = &goal_section},
	{"peak", "where most was answered", NULL, COUNTER_SECTION, AT(result_search, peak),
		.section = &peak_section, .optional = true},
	{"collapse", "lowest load above the peak at which at least a tenth less was answered", NULL,
		COUNTER_SECTION, AT(result_search, collapse), .section = &peak_section,
		.optional = true},
	REAL(result_search, knee, NULL,
		"last value before the 99th percentile stayed above three times its lowest"),
	{"trials", "measurements in order", NULL, COUNTER_LIST, AT(result_search, trials),
		.section = &trial_section},
};
const struct counter_section result_search_section = {
	"search", "a search", COUNTER_ROWS(search_rows), sizeof(struct result_search)};

static const struct counter spread_rows[] = {
	TEXT(result_spread, item, "item of traffic"),
	TEXT(result_spread, figure, "figure of the item"),
	REAL(result_spread, mean, NULL, "arithmetic mean of the runs"),
	REAL(result_spread, stddev, NULL, "standard deviation of the runs"),
	REAL(result_spread, low, NULL, "lower end of the confidence interval of the mean"),
	REAL(result_spread, high, NULL, "upper end"),
	REAL(result_spread, median, NULL, "median"),
	REAL(result_spread, min, NULL, "least"),
	REAL(result_spread, max, NULL, "greatest"),
	{"reached", "whether the interval is as narrow as was asked for", NULL, COUNTER_BOOL,
		AT(result_spread, reached)},
};
static const struct counter_section spread_section = {"figures", "a figure over all repeats",
	COUNTER_ROWS(spread_rows), sizeof(struct result_spread)};

static const struct counter confidence_rows[] = {
	COUNT(result_confidence, runs, "valid runs"),
	REAL(result_confidence, confidence, "1", "that the interval holds the truth"),
	REAL(result_confidence, width, "1", "asked for, as a share of the mean"),
	{"reached", "whether every figure that was asked for is known so well", NULL, COUNTER_BOOL,
		AT(result_confidence, reached)},
	{"figures", "figures over all repeats", NULL, COUNTER_LIST, AT(result_confidence, figures),
		.section = &spread_section},
};
const struct counter_section result_confidence_section = {"confidence", "how well repeats agree",
	COUNTER_ROWS(confidence_rows), sizeof(struct result_confidence)};

static const struct counter repeat_rows[] = {
	COUNT(result_repeat, seed, "seed of the run"),
	TEXT(result_repeat, verdict, "pass, fail or invalid"),
	TEXT(result_repeat, capture, "its capture file"),
	{"traffic", "items of traffic", NULL, COUNTER_LIST, AT(result_repeat, traffic),
		.section = &result_item_section},
};
const struct counter_section result_repeat_section = {
	"repeats", "a run", COUNTER_ROWS(repeat_rows), sizeof(struct result_repeat)};

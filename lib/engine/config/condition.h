// SPDX-License-Identifier: BSD-3-Clause
// Conditions on figures, for the verdict and for stop rules: one language, one parser.
//
//   [traffic.NAME.]FIGURE OP VALUE            of the whole run: "loss <= 0.1%", "p99 <= 2ms",
//                                             "traffic.leases.steps.request-ack.p99 <= 20ms"
//   max([traffic.NAME.]interval.FIGURE) ...   of its intervals; min and mean as well
//   FIGURE OP VALUE [for TIME]                a stop rule: "loss > 5% for 3s", "failed > 100"
//   unanswered for TIME                       a stop rule: sent, and no reply of any kind
//
// FIGURE is a counter's dotted name; against a percentage, its share of the transactions sent in
// the run, or ended in the interval. mean, p50 .. p9999 and max stand for the response latency.
// Without a name it applies to every item. Path: cold. Management thread.
#pragma once

#include "engine/config/config.h"
#include "engine/result/result.h"

enum condition_use { CONDITION_VERDICT, CONDITION_STOP };
enum condition_fold { FOLD_NONE, FOLD_MAX, FOLD_MIN, FOLD_MEAN };
enum condition_op { OP_LE, OP_LT, OP_GE, OP_GT, OP_EQ };

struct condition {
	const char *text;
	const char *item;   // NULL: every one
	const char *figure; // path in result_item_section, or in result_interval_item_section
	bool interval;      // of the latter
	bool unanswered;    // only item and for_ns are set besides
	enum condition_fold fold;
	enum condition_op op;
	double limit;
	uint64_t for_ns;  // 0: not given
	bool total;       // a counter: a stop rule without a time takes its sum so far
	bool share;       // a counter against a percentage: its share of the transactions
	const char *unit; // of the figure, as its row has it
};

// Adds the percentiles that criteria and goals name, like p95 or p975 (97.5), to
// output.percentiles.
void condition_name_percentiles(struct config *c, struct arena *a);

// Returns the names of output.percentiles as struct result_percentile, without values.
struct counter_list condition_percentiles(const struct config *c, struct arena *a);

struct condition_error {
	size_t at;        // offset of the character at fault
	const char *what; // arena text
};

// Returns false after an error, which is in *e with its place.
bool condition_parse(const struct config *c, const char *text, enum condition_use use,
	struct arena *a, struct condition *out, struct condition_error *e);

// Looks up the figure of an item in the rows of the section, at data. of: the transactions that a
// share refers to. A step that never came has counts of 0 and no times (NAN). Returns false if the
// item has no such figure.
bool condition_value(const struct condition *k, const struct proto *proto,
	const struct counter_section *section, const void *data, uint64_t of, double *out);

// Returns false for an unknown value (NAN).
bool condition_holds(const struct condition *k, double value);

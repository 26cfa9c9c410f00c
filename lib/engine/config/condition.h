// SPDX-License-Identifier: BSD-3-Clause
// Conditions about figures, of the verdict and of stop rules: one language, one parser.
//
//   [traffic.NAME.]FIGURE OP VALUE            of the whole run: "loss <= 0.1%", "p99 <= 2ms",
//                                             "traffic.leases.steps.request-ack.p99 <= 20ms"
//   max([traffic.NAME.]interval.FIGURE) ...   of its intervals; min and mean as well
//   FIGURE OP VALUE [for TIME]                a stop rule: "loss > 5% for 3s", "failed > 100"
//   unanswered for TIME                       a stop rule: sent, and no reply of any kind
//
// FIGURE is a counter's dotted name; against a percentage, its share of the transactions sent in
// the run, or ended in the interval. mean, p50 .. p9999 and max stand for the response latency.
// Without a name it is about every item. Path: cold. Management thread.
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
	bool unanswered;    // nothing else is set but for_ns
	enum condition_fold fold;
	enum condition_op op;
	double limit;
	uint64_t for_ns;  // 0: not given
	bool total;       // a counter: of a stop rule without a time its sum so far
	bool share;       // a counter against a percentage: its share of the transactions
	const char *unit; // of the figure, as its row has it
};

// output.percentiles by name, without values: struct result_percentile.
struct counter_list condition_percentiles(const struct config *c, struct arena *a);

struct condition_error {
	size_t at;        // offset of the character that it is about
	const char *what; // arena text
};

// false: *e has the error and its place.
bool condition_parse(const struct config *c, const char *text, enum condition_use use,
	struct arena *a, struct condition *out, struct condition_error *e);

// The figure of an item, by its rows (of the section, at data); of: transactions that a share is
// of. A step that did not come has counts of 0, and no times (NAN). false: this item has no such
// figure.
bool condition_value(const struct condition *k, const struct proto *proto,
	const struct counter_section *section, const void *data, uint64_t of, double *out);

// false for a value that is not known (NAN).
bool condition_holds(const struct condition *k, double value);

// SPDX-License-Identifier: BSD-3-Clause
// The criteria of the verdict: conditions (condition.h) that have to hold for the result.
// Path: cold. Management thread.
#pragma once

#include "engine/config/condition.h"

// Reports the errors of all criteria and stop rules to d.
void criteria_check(const struct config *c, struct arena *a, struct diag *d);

// The state of a condition on figures of intervals, for one item.
struct criterion_fold {
	bool absent; // the item has no such figure
	double last; // of the newest interval, which may be incomplete; NAN: none
	double sum, worst;
	uint32_t count; // intervals in sum and worst
};

struct criterion {
	struct condition condition;
	struct criterion_fold *folds; // per item
};

// The criteria of a run in progress.
struct criteria {
	const struct config *config;
	struct criterion *list;
	uint32_t count;
	uint64_t intervals;
};

// Starts with the criteria of the file, parsed into a.
void criteria_start(struct criteria *k, const struct config *c, struct arena *a);

// Adds an interval of the measured part.
void criteria_interval(struct criteria *k, const struct result_interval *i);

// Judges the result: returns a list of struct result_criterion, one per criterion and item. A
// criterion on a figure without a sample fails with the value NAN: the latency of a step that never
// came, or intervals in a run without any. A stop rule that ended the run comes last, as failed.
struct counter_list criteria_judge(
	const struct criteria *k, const struct result *r, struct arena *a);

// Likewise for the sum of all intervals so far. The value of a figure that is known only at the end
// is NAN.
struct counter_list criteria_so_far(
	const struct criteria *k, const struct result_interval *sum, struct arena *a);

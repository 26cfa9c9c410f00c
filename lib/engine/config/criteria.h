// SPDX-License-Identifier: BSD-3-Clause
// The criteria of the verdict: conditions (condition.h) that have to hold for the result.
// Path: cold. Management thread.
#pragma once

#include "engine/config/condition.h"

// Errors of all criteria and stop rules go to d.
void criteria_check(const struct config *c, struct arena *a, struct diag *d);

// A condition on figures of intervals, of one item.
struct criterion_fold {
	bool absent; // the item has no such figure
	double last; // of the newest interval, which may be a part of one; NAN: none
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

// Those of the file. They live in a.
void criteria_start(struct criteria *k, const struct config *c, struct arena *a);

// Another interval of the measured part.
void criteria_interval(struct criteria *k, const struct result_interval *i);

// Judge the result: a list of struct result_criterion, one per criterion and item. A criterion on a
// figure without a sample does not hold, and its value is NAN. Examples are the latency of a step
// that never came, and an interval of a run without intervals. A stop rule that has ended the run
// comes last, as one that does not hold.
struct counter_list criteria_judge(
	const struct criteria *k, const struct result *r, struct arena *a);

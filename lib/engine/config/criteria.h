// SPDX-License-Identifier: BSD-3-Clause
// The criteria of the verdict: conditions (condition.h) that have to hold for the result.
// Path: cold. Management thread.
#pragma once

#include "engine/config/condition.h"

// Errors of all criteria and stop rules go to d.
void criteria_check(const struct config *c, struct arena *a, struct diag *d);

// Judge the result: a list of struct result_criterion, one per criterion and item. A criterion on a
// figure without a sample does not hold, and its value is NAN. Examples are the latency of a step
// that never came, and an interval of a run without intervals. A stop rule that has ended the run
// comes last, as one that does not hold.
struct counter_list criteria_judge(const struct config *c, const struct result *r, struct arena *a);

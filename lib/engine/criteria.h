// SPDX-License-Identifier: BSD-3-Clause
// Conditions of the verdict: "[traffic.NAME.]FIGURE OP VALUE", e.g. "loss <= 0.1%", "p99 <= 2ms",
// "traffic.queries.dns.rcode.SERVFAIL == 0". FIGURE is a counter's dotted name in the item, or one
// of the short names loss, mean, p50, p90, p99, p999, p9999, max (of the response latency). Without
// a scope it holds for every item. Path: cold. Management thread.
#pragma once

#include "engine/config.h"
#include "engine/result.h"

// Errors of all criteria go to d.
void criteria_check(const struct config *c, struct arena *a, struct diag *d);

// Judge the items of the result: a list of struct result_criterion, one per criterion and item.
struct counter_list criteria_judge(
	const struct config *c, const struct counter_list *items, struct arena *a);

// SPDX-License-Identifier: BSD-3-Clause
// Orders of the user to a run that goes on: another rate of an item. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan.h"
#include "engine/result/result.h"

#define ORDERS_MAX 1000 // that the result has; later ones are refused

struct orders {
	struct result_order *list;
	uint32_t count;
	struct arena *arena; // of the result
};

void orders_start(struct orders *o, struct arena *a);

// "traffic.NAME.load.rate=50k": it holds from the next interval on. Only of an item with one rate
// for the whole run, and at most that of the file: tables and keys are made for it. NULL: done;
// else the reason why not, which lives in the arena.
const char *orders_take(struct orders *o, struct plan *p, const char *text);

void orders_end(const struct orders *o, struct result *r);

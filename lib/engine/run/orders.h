// SPDX-License-Identifier: BSD-3-Clause
// Orders of the user to a run in progress: another rate of an item. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan.h"
#include "engine/result/result.h"

#define ORDERS_MAX 1000 // that the result has; later ones are refused

// An order that does not hold yet.
struct order_waiting {
	const struct plan_item *item; // NULL: it holds, or never will
	struct result_order *order;
	uint64_t gap, at; // as struct worker_item has them
	bool given;       // the workers have it
	uint64_t before;  // gap_from of the first of them until then
};

struct orders {
	struct result_order *list;
	uint32_t count;
	struct order_waiting *waiting; // [count]
	uint32_t settled;              // of the first ones nothing is waited for
	struct arena *arena;           // of the result
};

void orders_start(struct orders *o, struct arena *a);

// "traffic.NAME.load.rate=50k": it holds from the first interval on that begins at at_ns (Unix time
// of this box) or later; 0: from the next one on. Orders for one item hold in the order of their
// times, also if the item has that rate already; of those due before the same interval only the
// last one holds. Only of an item with one rate for the whole run, and at most that of the file:
// tables and keys are made for it. NULL: done; else the reason why not, which lives in the arena.
const char *orders_take(struct orders *o, struct plan *p, const char *text, uint64_t at_ns);

// At each tick of the run: hand out what is due, and note what holds.
void orders_tick(struct orders *o, struct plan *p);

// After the workers have ended.
void orders_end(struct orders *o, struct plan *p, struct result *r);

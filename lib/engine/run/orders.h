// SPDX-License-Identifier: BSD-3-Clause
// Orders of the user to a run in progress: another rate of an item. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan.h"
#include "engine/result/result.h"

#define ORDERS_MAX 1000 // in the result; later ones are refused

// An order that does not hold yet.
struct order_waiting {
	const struct plan_item *item; // NULL: it holds, or never will
	struct result_order *order;
	uint64_t gap, at; // as struct worker_item has them
	bool given;       // the workers have it
	uint64_t before;  // gap_from of the first worker until then
};

struct orders {
	struct result_order *list;
	uint32_t count;
	struct order_waiting *waiting; // [count]
	uint32_t settled;              // number of first orders that no longer wait
	struct arena *arena;           // of the result
};

void orders_start(struct orders *o, struct arena *a);

// Takes an order, "traffic.NAME.load.rate=50k". It holds from the first interval that begins at
// at_ns (Unix time of this box) or later; 0: from the next one. Orders for an item hold in the
// order of their times, even if it has that rate already; of several due before the same interval
// only the last holds. Only for an item with one rate for the whole run, and at most that rate:
// tables and keys are made for it. Returns NULL, or the reason of a refusal, in the arena.
const char *orders_take(struct orders *o, struct plan *p, const char *text, uint64_t at_ns);

// At each tick of the run: hands out due orders, and notes which of them hold.
void orders_tick(struct orders *o, struct plan *p);

// Call after the workers have ended.
void orders_end(struct orders *o, struct plan *p, struct result *r);

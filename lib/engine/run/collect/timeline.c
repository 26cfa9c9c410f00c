// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/run/collect/timeline.h"

#define ROUNDING 1.001 // of the measured part

void timeline_start(struct timeline *t, const struct config *c, struct arena *a)
{
	*t = (struct timeline){
		.items = arena_zalloc(a, (c->traffic.count + 1) * sizeof(*t->items)), .every = 1};
	criteria_start(&t->criteria, c, a);
}

// Drops every second point.
static void thin_out(struct timeline *t, uint32_t items)
{
	for (uint32_t i = 0; i < items; i++) {
		struct timeline_item *of = &t->items[i];

		of->count /= 2;
		for (uint32_t k = 0; k < of->count; k++)
			of->points[k] = of->points[2 * k + 1];
	}
	t->every *= 2;
}

void timeline_add(struct timeline *t, const struct result_interval *i)
{
	const struct result_interval_item *items = i->traffic.items;

	criteria_interval(&t->criteria, i);
	t->intervals++;
	if (i->traffic.count && t->items[0].count == TIMELINE_POINTS)
		thin_out(t, i->traffic.count);
	for (uint32_t n = 0; n < i->traffic.count; n++) {
		struct ledger *to = &t->items[n].sum;
		const struct result_interval_item *from = &items[n];

		LEDGER_COUNTERS(COUNTER_ADD, COUNTER_SKIP, COUNTER_SKIP) // core/counters.h
		if (t->intervals % t->every)
			continue;
		t->items[n].points[t->items[n].count++] = (struct timeline_point){i->t_s, to->sent,
			to->sent - to->answered - to->failed - to->lost - to->no_reply};
	}
}

struct timeline_growth timeline_growth(const struct timeline *t, uint32_t item, double measured_s)
{
	const struct timeline_item *of = &t->items[item];
	struct timeline_point half = {0}, end = {0};

	for (uint32_t i = 0; i < of->count && of->points[i].t_s <= ROUNDING * measured_s; i++) {
		end = of->points[i];
		if (end.t_s <= 0.5 * ROUNDING * measured_s)
			half = end;
	}
	return (struct timeline_growth){end.open,
		half.t_s > 0 && end.open > half.open ? end.open - half.open : 0,
		end.sent - half.sent};
}

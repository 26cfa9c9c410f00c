// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/run/orders.h"

#include <math.h>

#define RATE_LEAST 0.01 // per second

void orders_start(struct orders *o, struct arena *a)
{
	*o = (struct orders){.arena = a, .list = arena_zalloc(a, ORDERS_MAX * sizeof(*o->list))};
}

// Of the transactions of all workers together; each takes its share.
static void ask_for(const struct plan *p, const struct plan_item *i, double rate)
{
	uint64_t gap = (uint64_t)ldexp(p->clock.hz / rate, PACE_ASKED_BITS);

	for (uint32_t k = 0; k < i->worker_count; k++)
		atomic_store_explicit(&plan_run(i, k)->gap_asked, gap, memory_order_relaxed);
}

static const char *refuse(const struct plan_item *i, double rate, struct arena *a)
{
	double most = load_peak(&i->settings->load);

	if (i->run->pace.kind != PACE_RATE || !i->run->pace.steady)
		return arena_printf(a,
			"%s has not one rate for the whole run, so it stays as it is",
			i->settings->name);
	if (!(rate >= RATE_LEAST) || rate > most)
		return arena_printf(a,
			"the rate of %s can be %g/s to %g/s, that of the file: its tables are made "
			"for it",
			i->settings->name, RATE_LEAST, most);
	return NULL;
}

const char *orders_take(struct orders *o, struct plan *p, const char *text)
{
	double rate, at;
	const struct item_settings *item = config_item_of_set(p->config, text, &rate);
	const char *why = NULL;

	if (!item)
		return "an order is traffic.NAME.load.rate=RATE, of an item of the file";
	if (o->count == ORDERS_MAX)
		return "there were too many orders";
	for (uint32_t i = 0; i < p->item_count && !why; i++)
		if (p->items[i].settings == item) {
			why = refuse(&p->items[i], rate, o->arena);
			if (!why)
				ask_for(p, &p->items[i], rate);
		}
	if (why)
		return why;
	at = clock_ns(&p->clock, clock_time(&p->clock) - p->items[0].worker->times.start) -
	     (double)p->config->run.warmup_ns;
	o->list[o->count++] =
		(struct result_order){arena_strdup(o->arena, text), fmax(0, at / 1e9)};
	return NULL;
}

void orders_end(const struct orders *o, struct result *r)
{
	r->orders = (struct counter_list){o->list, o->count};
}

// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/run/orders.h"

#include <math.h>

#include "engine/config/events_fit.h"

#define RATE_LEAST 0.01 // per second

void orders_start(struct orders *o, struct arena *a)
{
	*o = (struct orders){.arena = a,
		.list = arena_zalloc(a, ORDERS_MAX * sizeof(*o->list)),
		.waiting = arena_zalloc(a, ORDERS_MAX * sizeof(*o->waiting))};
}

static uint64_t holds_from(const struct plan_item *i)
{
	return i->worker_count
	               ? atomic_load_explicit(&plan_run(i, 0)->gap_from, memory_order_relaxed)
	               : 0;
}

// The gap is for all workers together; each takes its share. A worker has one order at a time: a
// later order that it had before must be given again.
static void give(struct orders *o, struct order_waiting *w)
{
	for (uint32_t i = o->settled; i < o->count; i++)
		if (o->waiting[i].item == w->item)
			o->waiting[i].given = false;
	w->before = holds_from(w->item);
	w->given = true;
	for (uint32_t k = 0; k < w->item->worker_count; k++) {
		struct worker_item *run = plan_run(w->item, k);
		uint32_t number = atomic_load_explicit(&run->gap_number, memory_order_relaxed) + 1;

		atomic_store_explicit(&run->gap_at, w->at, memory_order_relaxed);
		atomic_store_explicit(&run->gap_asked, w->gap, memory_order_relaxed);
		atomic_store_explicit(&run->gap_number, number, memory_order_release);
	}
}

// Returns an order for the same item that is due before this one and still waits.
static struct order_waiting *ahead_of(struct orders *o, uint32_t n)
{
	const struct order_waiting *w = &o->waiting[n];

	for (uint32_t i = o->settled; i < o->count; i++) {
		struct order_waiting *other = &o->waiting[i];

		if (other->item == w->item && (other->at < w->at || (other->at == w->at && i < n)))
			return other;
	}
	return NULL;
}

// A due order replaces the orders before it, which then never held.
static void hand_out(struct orders *o, uint32_t n, uint64_t now)
{
	struct order_waiting *w = &o->waiting[n], *ahead;

	while ((ahead = ahead_of(o, n))) {
		if (w->at > now && w->at > ahead->at)
			return;
		ahead->item = NULL;
	}
	give(o, w);
}

void orders_tick(struct orders *o, struct plan *p)
{
	uint64_t now = o->settled < o->count ? clock_time(&p->clock) : 0, from;

	for (uint32_t i = o->settled; i < o->count; i++) {
		struct order_waiting *w = &o->waiting[i];

		from = w->item && w->given ? holds_from(w->item) : 0;
		if (w->item && w->given && from != w->before) {
			w->order->from_ns = clock_wall_ns(&p->clock, from);
			w->item = NULL;
		} else if (w->item && !w->given) {
			hand_out(o, i, now);
		}
	}
	while (o->settled < o->count && !o->waiting[o->settled].item)
		o->settled++;
}

static const char *refuse(const struct plan_item *i, double rate, struct arena *a)
{
	double most = load_peak(&i->settings->load);

	if (i->run->pace.kind != PACE_RATE || !i->run->pace.steady)
		return arena_printf(a,
			"%s has no single rate for the whole run, so it cannot be changed",
			i->settings->name);
	if (!(rate >= RATE_LEAST) || rate > most)
		return arena_printf(a,
			"the rate of %s can be %g/s to %g/s, the rate in the file, which its "
			"tables are sized for",
			i->settings->name, RATE_LEAST, most);
	return NULL;
}

const char *orders_take(struct orders *o, struct plan *p, const char *text, uint64_t at_ns)
{
	uint64_t now = clock_time(&p->clock), at = 0;
	double rate, at_s;
	const struct item_settings *item = events_item_of_set(p->config, text, &rate);
	const struct plan_item *of = NULL;
	struct result_order *order = &o->list[o->count];
	const char *why;

	for (uint32_t i = 0; i < p->item_count && item; i++)
		if (p->items[i].settings == item)
			of = &p->items[i];
	if (!of)
		return "an order is traffic.NAME.load.rate=RATE, of an item of the file";
	if (o->count == ORDERS_MAX)
		return "there were too many orders";
	why = refuse(of, rate, o->arena);
	if (why)
		return why;
	if (at_ns)
		at = clock_wall_tick(&p->clock, at_ns);
	at_s = clock_ns(&p->clock, now - p->items[0].worker->times.start) / 1e9 -
	       1e-9 * (double)p->config->run.warmup_ns;
	*order = (struct result_order){.set = arena_strdup(o->arena, text), .at_s = fmax(0, at_s)};
	o->waiting[o->count++] = (struct order_waiting){.item = of,
		.order = order,
		.gap = (uint64_t)ldexp(p->clock.hz / rate, PACE_ASKED_BITS),
		.at = at > now ? at : now};
	orders_tick(o, p);
	return NULL;
}

void orders_end(struct orders *o, struct plan *p, struct result *r)
{
	orders_tick(o, p);
	o->settled = o->count;
	r->orders = (struct counter_list){o->list, o->count};
}

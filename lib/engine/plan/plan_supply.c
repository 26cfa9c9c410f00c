// SPDX-License-Identifier: BSD-3-Clause
// Stocks of items and of the responder against the schedules of the loads, and relay addresses
// against workers. Path: cold. Management
// thread.
#include "engine/plan/plan_supply.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/table.h"
#include "engine/plan/deal.h"
#include "io/driver/driver.h"

#define NS         1e-9
#define TIME_STEPS 64
#define ROUNDING   (1 + 1e-9)

// An item that takes from a stock, and the amount per transaction.
struct demand {
	const struct plan_item *item;
	double each;
};

static struct load_span span_of(const struct plan *p)
{
	return (struct load_span){
		.warmup_ns = p->config->run.warmup_ns, .duration_ns = p->config->run.duration_ns};
}

static double length_s(const struct plan *p)
{
	return NS * (double)(p->config->run.warmup_ns + p->config->run.duration_ns);
}

// Transactions of a replay until until_s.
static double replayed(const struct plan *p, const struct plan_item *i, double until_s)
{
	const struct load_settings *l = &i->settings->load;
	double from_s = NS * (double)(p->config->run.warmup_ns + l->start_at_ns);
	double until_ns = (until_s - from_s) * l->replay->speed / NS;
	uint64_t low = 0, high = i->replay.count;

	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if ((double)i->replay.ns[middle] <= until_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return (double)low;
}

// A closed loop, whose rate is unknown, counts as taking nothing.
static double taken(const struct plan *p, const struct demand *d, uint32_t count, double until_s)
{
	const struct load_span span = span_of(p);
	double sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct load_settings *l = &d[i].item->settings->load;
		double due =
			l->replay ? replayed(p, d[i].item, until_s) : load_due(l, &span, until_s);

		if (isfinite(due))
			sum += due * d[i].each;
	}
	return sum;
}

// Returns the time at which the stock runs out; INFINITY: it suffices.
static double lasts_s(const struct plan *p, const struct demand *d, uint32_t count, uint64_t left)
{
	double low = 0, high = length_s(p);

	if (taken(p, d, count, high) <= (double)left * ROUNDING)
		return INFINITY;
	for (int i = 0; i < TIME_STEPS; i++) {
		double middle = (low + high) / 2;

		if (taken(p, d, count, middle) <= (double)left)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static const char *shortage(const struct plan *p, const char *of, const struct proto_stock *s,
	double after_s, struct arena *a)
{
	return arena_printf(a,
		"%s: its %llu %s run out after %.3g s of %.3g s, warm-up included (%s)", of,
		(unsigned long long)s->count, s->name, after_s, length_s(p), s->remedy);
}

struct proto_stock plan_clients(const struct plan_item *i)
{
	struct proto_stock s = i->facts.stocks[0];

	if (!s.name)
		s.remedy = "give it more clients";
	if (!s.bound)
		s.bound = "more of what binds them";
	return s;
}

double plan_starved_s(const struct plan *p, const struct plan_item *i)
{
	bool open = i->run->pace.kind == PACE_RATE;
	uint64_t at = 0;

	for (uint32_t k = 0; k < i->worker_count; k++) {
		uint64_t one = plan_run(i, k)->starved_at;

		if (open ? one && (at == 0 || one < at) : one > at)
			at = one;
		if (!open && one == 0)
			return -1;
	}
	return at ? clock_ns(&p->clock, at - i->worker->times.start) * NS : -1;
}

// Stocks of the responder for items of one protocol, all of which take from them.
static void responder_shortages(
	const struct plan *p, unsigned k, double *back_s, struct arena *a, struct counter_list *out)
{
	const struct proto_server *server = protos[k]->server;
	struct demand *d = arena_zalloc(a, PROTO_MAX_STOCKS * p->item_count * sizeof(*d));
	struct proto_stock s[PROTO_MAX_STOCKS] = {{0}};
	uint32_t stocks = 0, n = 0;

	for (uint32_t i = 0; i < p->item_count; i++) {
		const struct item_facts *f = &p->items[i].settings->facts;

		if (f->proto != protos[k] || !f->asks_responder)
			continue;
		stocks = server->stocks(p->config->responder->protocol[k], f->settings, s);
		for (uint32_t m = 0; m < stocks; m++) {
			d[m * p->item_count + n] = (struct demand){&p->items[i], s[m].each};
			back_s[i] = s[m].back_s;
		}
		n++;
	}
	for (uint32_t m = 0; m < stocks; m++) {
		double after_s = lasts_s(p, d + m * p->item_count, n, s[m].left);

		if (after_s < s[m].back_s || (isfinite(after_s) && s[m].back_s == 0))
			((const char **)out->items)[out->count++] =
				shortage(p, arena_printf(a, "responder.%s", protos[k]->name), &s[m],
					after_s, a);
	}
}

// Clients whose leases end early return before the stock runs out.
static void item_shortages(const struct plan *p, const struct plan_item *i, double back_s,
	struct arena *a, struct counter_list *out)
{
	const struct proto_stock *s = i->facts.stocks;

	for (uint32_t m = 0; m < PROTO_MAX_STOCKS && s[m].name; m++) {
		const struct demand d = {i, s[m].each};
		double after_s = lasts_s(p, &d, 1, s[m].left);

		if (after_s < back_s || (isfinite(after_s) && back_s == 0))
			((const char **)out->items)[out->count++] =
				shortage(p, arena_printf(a, "traffic %s", i->settings->name), &s[m],
					after_s, a);
	}
}

// Reports replies that reach another worker's queue for want of relay addresses. Before the start
// only their number is known, and whether the driver steers at all.
static void relay_shortage(
	const struct plan *p, const struct plan_item *i, struct arena *a, struct counter_list *out)
{
	const struct port_settings *s = i->settings->facts.port;
	uint32_t workers = port_cpu_count(s);
	struct deal_balance b = deal_balance(i, workers);
	enum steer_how how = i->port ? i->port->steer.how : STEER_HASHED;
	bool steers = i->port ? i->homes || how == STEER_ADDRESS
	                      : port_is_pci(s) || drivers[s->driver].one_queue;
	const char *why;

	if (!steers || b.home >= STEER_HOME_LEAST)
		return;
	why = how == STEER_RULES
	              ? "the device's rules go by port, which relays share (let this item have a "
	                "port of its own)"
	              : arena_printf(a,
				"%llu relay address%s cannot be dealt evenly to %u workers (at "
				"least %llu more)",
				(unsigned long long)b.addresses, b.addresses == 1 ? "" : "es",
				workers, (unsigned long long)b.more);
	((const char **)out->items)[out->count++] = arena_printf(a,
		"traffic %s: %.0f %% of its replies are handed over between workers: %s",
		i->settings->name, 100 * (1 - b.home), why);
}

struct counter_list plan_shortages(const struct plan *p, struct arena *a)
{
	uint32_t room = PROTO_MAX_STOCKS * (p->item_count + proto_count()) + p->item_count;
	struct counter_list out = {arena_zalloc(a, (room + 1) * sizeof(const char *)), 0};
	double *back_s = arena_zalloc(a, (p->item_count + 1) * sizeof(*back_s));

	for (unsigned k = 0; p->config->responder && protos[k]; k++)
		if (p->config->responder->protocol[k] && protos[k]->server->stocks)
			responder_shortages(p, k, back_s, a, &out);
	for (uint32_t i = 0; i < p->item_count; i++) {
		if (!p->items[i].shared)
			continue;
		item_shortages(p, &p->items[i], back_s[i], a, &out);
		relay_shortage(p, &p->items[i], a, &out);
	}
	return out;
}

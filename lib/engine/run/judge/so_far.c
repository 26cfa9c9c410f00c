// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/run/judge/so_far.h"

#include <math.h>
#include <string.h>

#include "proto/proto.h"
#include "stats/text.h"

void so_far_begin(struct so_far *s, const struct config *c, double hz)
{
	size_t count = c->traffic.count + 1;

	so_far_forget(s);
	*s = (struct so_far){.config = c, .arena = arena_new(), .hz = hz, .unstamped = true};
	criteria_start(&s->criteria, c, s->arena);
	s->pending = arena_zalloc(s->arena, count * sizeof(*s->pending));
	s->unsent = arena_zalloc(s->arena, count * sizeof(*s->unsent));
	s->late = arena_zalloc(s->arena, count * sizeof(*s->late));
	s->punctual = arena_zalloc(s->arena, count * sizeof(*s->punctual));
	memset(s->punctual, true, count * sizeof(*s->punctual));
}

void so_far_forget(struct so_far *s)
{
	if (s->arena)
		arena_free(s->arena);
	*s = (struct so_far){0};
}

// Returns the share of sends that were certainly later than the bound, by the percentiles.
static double late_share(const struct latency *lag, double bound_ns)
{
	return lag->min_ns > bound_ns   ? 1
	       : lag->p50_ns > bound_ns ? 0.5
	       : lag->p90_ns > bound_ns ? 0.1
	       : lag->p99_ns > bound_ns ? 0.01
	                                : 0;
}

static void add_sends(struct so_far *s, const struct result_interval *i)
{
	const double bound_ns = (double)s->config->validity.send_lag_p99_ns;
	const struct result_interval_item *items = i->traffic.items, *sums = s->sum.traffic.items;

	for (uint32_t n = 0; n < i->traffic.count && n < s->config->traffic.count; n++) {
		const struct latency *lag = &items[n].send_lag;
		uint64_t unsent = sums[n].due > sums[n].sent ? sums[n].due - sums[n].sent : 0;
		double share = lag->count ? late_share(lag, bound_ns) : 0;

		// A send that is due at the end of an interval may still be on time.
		s->unsent[n] = unsent < s->pending[n] ? unsent : s->pending[n];
		s->pending[n] = unsent;
		s->late[n] += share * (double)lag->count;
		s->punctual[n] &= share < 0.01;
	}
}

void so_far_add(struct so_far *s, const struct result_interval *i)
{
	struct arena *a = arena_new();
	struct result_fold f = {FOLD_OVER_TIME, s->arena, s->arena, s->hz};
	const struct result_interval_worker *workers = i->workers.items;
	struct result_interval one = *i;
	struct result_interval_item *items =
		arena_zalloc(a, (i->traffic.count + 1) * sizeof(*items));

	criteria_interval(&s->criteria, i);
	if (i->traffic.count)
		memcpy(items, i->traffic.items, i->traffic.count * sizeof(*items));
	for (uint32_t n = 0; n < i->traffic.count; n++)
		items[n].earlier_count = 0; // they would make the sum longer with each interval
	one.traffic.items = items;
	result_fold_interval(&f, &s->sum, &one, s->hz, !s->begun);
	s->sum.t_s =
		fmin(i->t_s, 1e-9 * (double)s->config->run.duration_ns); // no rates of the drain
	s->begun = true;
	for (uint32_t n = 0; n < i->workers.count; n++)
		s->unstamped &= workers[n].unstamped;
	f.arena = a; // texts of histograms, which nobody reads
	result_derive_interval(&f, &s->sum);
	result_derive_rates(&s->sum);
	add_sends(s, i);
	arena_free(a);
}

struct counter_list so_far_criteria(const struct so_far *s, struct arena *a)
{
	return s->begun ? criteria_so_far(&s->criteria, &s->sum, a) : (struct counter_list){0};
}

// Returns why an item's sends spoil the run. Clients that are not free yet are judged at the end.
static const char *of_item(const struct so_far *s, uint32_t n, struct arena *a)
{
	const struct validity_settings *v = &s->config->validity;
	const struct result_interval_item *i =
		&((const struct result_interval_item *)s->sum.traffic.items)[n];
	const struct item_settings *of = s->config->traffic.items;

	if (!of[n].facts.proto->router && (double)s->unsent[n] > v->unsent * (double)i->due)
		return arena_printf(a, "%s: %s of %s not sent", i->name,
			stats_shown((double)s->unsent[n], NULL), stats_shown((double)i->due, NULL));
	if (s->late[n] > 0.01 * (double)i->send_lag.count)
		return arena_printf(a, "%s: more than 1 %% of its messages were over %s late",
			i->name, stats_shown_time((double)v->send_lag_p99_ns, true));
	return NULL;
}

// Are all items of the port scheduled (by_schedule), and was nothing sent late?
static bool is_on_time(const struct so_far *s, const char *port, bool by_schedule)
{
	const struct item_settings *of = s->config->traffic.items;

	for (uint32_t n = 0; n < s->config->traffic.count; n++) {
		const struct port_settings *p = of[n].facts.port;

		if (p && strcmp(p->name, port) == 0 &&
			(!s->punctual[n] || (by_schedule && !load_is_open(&of[n].load))))
			return false;
	}
	return true;
}

// As verdict.c judges a worker, from the figures of intervals.
static const char *of_worker(
	const struct so_far *s, const struct result_interval_worker *w, struct arena *a)
{
	double stolen_s = fmin(w->stolen_s, s->sum.t_s);

	if (stolen_s <= s->config->validity.stolen * s->sum.t_s ||
		(!s->unstamped && is_on_time(s, w->port, true)) ||
		(w->slept_s > w->stolen_s && is_on_time(s, w->port, false)))
		return NULL;
	return arena_printf(a, "others had the CPU of port %s for %s of the time", w->port,
		stats_shown(stolen_s / s->sum.t_s, "1"));
}

static const char *of_port(
	const struct so_far *s, const struct result_interval_port *p, struct arena *a)
{
	uint64_t dropped = p->rx_missed + p->rx_no_mbuf + p->hand_over_full;

	if (!dropped ||
		(double)dropped <= s->config->validity.dropped * (double)(p->rx_packets + dropped))
		return NULL;
	return arena_printf(a, "port %s: %s received packets dropped", p->name,
		stats_shown((double)dropped, NULL));
}

const char *so_far_invalid(const struct so_far *s, struct arena *a)
{
	const struct result_interval_worker *workers = s->sum.workers.items;
	const struct result_interval_port *ports = s->sum.ports.items;
	const char *why = NULL;

	for (uint32_t n = 0; n < s->sum.traffic.count && n < s->config->traffic.count && !why; n++)
		why = of_item(s, n, a);
	for (uint32_t i = 0; i < s->sum.workers.count && !why; i++)
		why = of_worker(s, &workers[i], a);
	for (uint32_t i = 0; i < s->sum.ports.count && !why; i++)
		why = of_port(s, &ports[i], a);
	return why;
}

// SPDX-License-Identifier: BSD-3-Clause
// Events at their times, and the figures after each: gaps of the workers, losses and rates of the
// intervals. Path: cold. Management thread.
#include "engine/run/around/events.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "engine/core/worker/worker_servers.h"
#include "engine/run/collect/collect.h"
#include "engine/run/around/task.h"
#include "io/driver/state.h"

#define SAME_S   1e-4 // a tick is calibrated
#define REGAINED 0.99 // of the former rate

// Figures of an item or a server, from an event to the next one.
struct after {
	uint64_t answered, lost, failed;
	double max_ns;
	double regained_s; // 0: the rate did not fall; INFINITY: it has not come back
};

// Places for an item and its servers, beside each other.
#define PLACES (1 + SERVERS_MAX)

struct event {
	const struct event_settings *settings;
	double at_s, next_s;
	bool begun;
	uint64_t began; // tick
	struct task *task;
	struct after *after; // of each item, in PLACES
};

struct events {
	const struct plan *plan;
	struct event *list;
	uint32_t count, begun, told;
	double *answered; // likewise, until the first event
	double answered_s;
};

struct events *events_start(const struct plan *p, struct arena *a)
{
	const struct event_settings *s = p->config->events.items;
	uint32_t count = p->config->events.count;
	struct events *e = arena_zalloc(a, sizeof(*e));

	*e = (struct events){.plan = p,
		.count = count,
		.list = arena_zalloc(a, (count + 1) * sizeof(*e->list)),
		.answered = arena_zalloc(a, (p->item_count + 1) * PLACES * sizeof(*e->answered))};
	for (uint32_t i = 0; i < count; i++)
		e->list[i] = (struct event){.settings = &s[i],
			.at_s = 1e-9 * (double)s[i].at_ns,
			.next_s = i + 1 < count ? 1e-9 * (double)s[i + 1].at_ns : INFINITY,
			.after = arena_zalloc(a, p->item_count * PLACES * sizeof(struct after))};
	return e;
}

// In a fleet, a command about the server runs only once.
static bool is_elsewhere(const struct events *e, const struct event_settings *s)
{
	return s->run && !fleet_asks_server(e->plan->config);
}

// The link is restored even if this process is killed, so it is noted before it changes.
static void note_link(const struct port_settings *p)
{
	int err = state_link(p);

	if (err)
		log_warning(
			"port %s: the state of its link cannot be noted (%s), so it stays as the "
			"events leave it",
			p->name, strerror(-err));
}

void events_tick(struct events *e, uint64_t now)
{
	for (; e->begun < e->count && now >= e->plan->events.at[e->begun]; e->begun++) {
		struct event *one = &e->list[e->begun];
		const struct event_settings *s = one->settings;

		one->begun = true;
		one->began = clock_time(&e->plan->clock);
		for (uint32_t k = 0; s->fault && k < e->plan->responder_count; k++)
			faults_set_share(&e->plan->responders[k].faults, s->fault, s->share);
		if (s->link_port)
			note_link(s->link_port);
		if (s->command && !is_elsewhere(e, s))
			one->task = task_start(
				&e->plan->clock, s->name, s->command, NULL, 0, s->timeout_ns);
	}
}

uint64_t events_wait_ns(const struct events *e, uint64_t now)
{
	uint64_t at = e->begun < e->count ? e->plan->events.at[e->begun] : UINT64_MAX;

	if (at == UINT64_MAX)
		return at;
	return at > now ? (uint64_t)clock_ns(&e->plan->clock, at - now) : 0;
}

static void follow(
	struct after *f, uint64_t answered, double former, double since_s, double length_s)
{
	double rate = (double)answered / length_s;

	if (rate < REGAINED * former && f->regained_s == 0)
		f->regained_s = INFINITY;
	else if (rate >= REGAINED * former && isinf(f->regained_s))
		f->regained_s = since_s;
}

// Adds an interval after an event, for an item (in place `first`) and its servers.
static void after_interval(const struct events *e, const struct event *one, uint32_t first,
	const struct result_interval *i, const struct result_interval_item *item, bool measured)
{
	const struct result_interval_server *s = item->servers.items;
	struct after *f = &one->after[first];

	if (i->t_s - i->length_s > one->next_s - SAME_S)
		return;
	f->failed += item->failed;
	f->max_ns = fmax(f->max_ns, item->max_ns); // NAN: nothing came
	for (uint32_t k = 0; k <= item->servers.count; k++) {
		uint64_t answered = k ? s[k - 1].answered : item->answered;

		f[k].answered += answered;
		f[k].lost += k ? s[k - 1].lost : item->lost;
		if (measured && i->length_s > 0 && e->answered_s > 0)
			follow(&f[k], answered, e->answered[first + k] / e->answered_s,
				i->t_s - one->at_s, i->length_s);
	}
}

void events_interval(struct events *e, struct result_interval *i, bool measured, struct arena *a)
{
	const char **names = arena_zalloc(a, (e->count + 1) * sizeof(*names));
	const struct result_interval_item *items = i->traffic.items;
	bool before = e->count && i->t_s <= e->list[0].at_s + SAME_S;

	i->events.items = names;
	for (; e->told < e->count && e->list[e->told].at_s < i->t_s - SAME_S; e->told++)
		names[i->events.count++] = e->list[e->told].settings->name;
	e->answered_s += before ? i->length_s : 0;
	for (uint32_t n = 0; n < i->traffic.count; n++) {
		const struct result_interval_server *s = items[n].servers.items;

		if (before)
			e->answered[n * PLACES] += (double)items[n].answered;
		for (uint32_t k = 0; before && k < items[n].servers.count; k++)
			e->answered[n * PLACES + 1 + k] += (double)s[k].answered;
		for (uint32_t k = 0; k < e->told; k++)
			after_interval(e, &e->list[k], n * PLACES, i, &items[n], measured);
	}
}

// Returns the longest gap of its workers. server: number of a server, or SERVERS_MAX for all.
static struct gap gap_of(const struct plan_item *i, uint32_t event, uint32_t server)
{
	struct gap longest = {0};

	for (uint32_t k = 0; k < i->worker_count; k++) {
		const struct worker_item *run = plan_run(i, k);
		const struct gap *g = server == SERVERS_MAX ? &run->gaps[event]
		                                            : &run->servers->gaps[server][event];

		if (g->to - g->from > longest.to - longest.from)
			longest = *g;
	}
	return longest;
}

// Returns the time from the event to the end of its gap. NAN: unknown after the end of sending.
static double first_answer_ns(
	const struct events *e, uint32_t event, const struct plan_item *i, const struct gap *gap)
{
	if (!gap->to || gap->to >= plan_run(i, 0)->ended_at)
		return NAN;
	return clock_ns(&e->plan->clock, gap->to - e->plan->events.at[event]);
}

static struct counter_list event_servers(
	const struct events *e, uint32_t event, uint32_t item, bool known, struct arena *a)
{
	const struct plan_item *i = &e->plan->items[item];
	uint32_t count = i->run->servers ? i->run->servers->count : 0;
	struct result_event_server *out = count ? arena_zalloc(a, count * sizeof(*out)) : NULL;

	for (uint32_t n = 0; n < count; n++) {
		const struct after *f = &e->list[event].after[item * PLACES + 1 + n];
		struct gap gap = gap_of(i, event, n);

		out[n] = (struct result_event_server){.name = collect_server_name(i, n, a),
			.longest_gap_ns = clock_ns(&e->plan->clock, gap.to - gap.from),
			.first_answer_ns = first_answer_ns(e, event, i, &gap),
			.regained_s = known ? f->regained_s : NAN,
			.answered = f->answered,
			.lost = f->lost};
	}
	return (struct counter_list){out, count};
}

static struct latency event_waited(
	const struct events *e, uint32_t event, const struct plan_item *i, struct arena *a)
{
	struct hist *sum = arena_zalloc(a, sizeof(*sum));

	hist_clear(sum);
	for (uint32_t k = 0; k < i->worker_count; k++)
		hist_merge(sum, &plan_run(i, k)->waited[event]);
	return collect_distribution(e->plan, sum, 0, a);
}

static struct result_event_item event_item(const struct events *e, uint32_t event, uint32_t item,
	double after_event_s, struct arena *a)
{
	const struct plan_item *i = &e->plan->items[item];
	const struct after *f = &e->list[event].after[item * PLACES];
	struct gap gap = gap_of(i, event, SERVERS_MAX);
	bool known = e->answered_s > 0 && after_event_s > 0;

	return (struct result_event_item){.name = i->settings->name,
		.longest_gap_ns = clock_ns(&e->plan->clock, gap.to - gap.from),
		.first_answer_ns = first_answer_ns(e, event, i, &gap),
		.regained_s = known ? f->regained_s : NAN,
		.lost = f->lost,
		.failed = f->failed,
		.max_ns = f->max_ns,
		.waited = event_waited(e, event, i, a),
		.servers = event_servers(e, event, item, known, a)};
}

static struct result_event event_result(
	const struct events *e, uint32_t n, struct arena *a, const struct result *r)
{
	const struct event *one = &e->list[n];
	const struct event_settings *s = one->settings;
	const struct clock *c = &e->plan->clock;
	struct result_event_item *items =
		arena_zalloc(a, (e->plan->item_count + 1) * sizeof(*items));
	uint64_t from = e->plan->items[0].worker->times.measure;
	struct result_event out = {.name = s->name,
		.action = s->run   ? "run"
	                  : s->set ? "set"
	                           : "link",
		.at_s = one->at_s,
		.began_s = one->begun ? clock_ns(c, one->began - from) / 1e9 : NAN,
		.took_s = NAN,
		.exit_status = NAN,
		.outcome = one->begun ? "done" : "not reached",
		.failed = s->command && one->begun && !one->task && !is_elsewhere(e, s),
		.traffic = {items, one->begun ? e->plan->item_count : 0}};
	struct task_end end;

	if (out.failed)
		out.outcome = "could not be started";
	if (one->begun && is_elsewhere(e, s))
		out.outcome = "run by part 1";
	if (one->task) {
		task_end(one->task, &end);
		out.took_s = clock_ns(c, end.ended - end.began) / 1e9;
		out.exit_status = end.rc >= 0 ? end.rc : NAN;
		out.outcome = arena_strdup(a, end.outcome);
		out.failed = end.rc != 0;
	}
	for (uint32_t i = 0; i < out.traffic.count; i++)
		items[i] = event_item(e, n, i, r->run.measured_s - one->at_s, a);
	return out;
}

void events_end(struct events *e, struct arena *a, struct result *r)
{
	struct result_event *out = arena_zalloc(a, (e->count + 1) * sizeof(*out));

	for (uint32_t i = 0; i < e->count; i++)
		out[i] = event_result(e, i, a, r);
	for (uint32_t i = 0; i < e->begun; i++)
		if (e->list[i].settings->link_port)
			state_link_end(e->list[i].settings->link_port); // else at the port's end
	r->events = (struct counter_list){out, e->count};
}

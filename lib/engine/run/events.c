// SPDX-License-Identifier: BSD-3-Clause
// Events at their times, and the figures of what followed each: gaps of the workers, losses and
// rates of the intervals. Path: cold. Management thread.
#include "engine/run/events.h"

#include <math.h>

#include "engine/run/task.h"

#define SAME_S   1e-4 // a tick is calibrated
#define REGAINED 0.99 // of the former rate

// Of an item, from an event to the next one.
struct after {
	uint64_t lost, failed;
	double max_ns;
	double regained_s; // 0: the rate did not fall; INFINITY: it has not come back
};

struct event {
	const struct event_settings *settings;
	double at_s, next_s;
	bool begun;
	uint64_t began; // tick
	struct task *task;
	struct after *after; // of each item
};

struct events {
	const struct plan *plan;
	struct event *list;
	uint32_t count, begun, told;
	double *answered; // of each item, until the first event
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
		.answered = arena_zalloc(a, (p->item_count + 1) * sizeof(*e->answered))};
	for (uint32_t i = 0; i < count; i++)
		e->list[i] = (struct event){.settings = &s[i],
			.at_s = 1e-9 * (double)s[i].at_ns,
			.next_s = i + 1 < count ? 1e-9 * (double)s[i + 1].at_ns : INFINITY,
			.after = arena_zalloc(a, p->item_count * sizeof(struct after))};
	return e;
}

void events_tick(struct events *e, uint64_t now)
{
	for (; e->begun < e->count && now >= e->plan->events.at[e->begun]; e->begun++) {
		struct event *one = &e->list[e->begun];
		const struct event_settings *s = one->settings;

		one->begun = true;
		one->began = clock_now();
		if (s->command)
			one->task = task_start(s->name, s->command, NULL, 0, s->timeout_ns);
	}
}

uint64_t events_wait_ns(const struct events *e, uint64_t now)
{
	uint64_t at = e->begun < e->count ? e->plan->events.at[e->begun] : UINT64_MAX;

	if (at == UINT64_MAX)
		return at;
	return at > now ? (uint64_t)clock_ns(&e->plan->clock, at - now) : 0;
}

static void follow(struct after *f, const struct result_interval_item *i, double former,
	double since_s, double length_s)
{
	double rate = (double)i->answered / length_s;

	if (rate < REGAINED * former && f->regained_s == 0)
		f->regained_s = INFINITY;
	else if (rate >= REGAINED * former && isinf(f->regained_s))
		f->regained_s = since_s;
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
		if (before)
			e->answered[n] += (double)items[n].answered;
		for (uint32_t k = 0; k < e->told; k++) {
			const struct event *one = &e->list[k];
			struct after *f = &one->after[n];

			if (i->t_s - i->length_s > one->next_s - SAME_S)
				continue;
			f->lost += items[n].lost;
			f->failed += items[n].failed;
			f->max_ns = fmax(f->max_ns, items[n].max_ns); // NAN: nothing came
			if (measured && i->length_s > 0 && e->answered_s > 0)
				follow(f, &items[n], e->answered[n] / e->answered_s,
					i->t_s - one->at_s, i->length_s);
		}
	}
}

// The longest gap of its workers.
static struct gap gap_of(const struct plan_item *i, uint32_t event)
{
	struct gap longest = {0};

	for (uint32_t k = 0; k < i->worker_count; k++) {
		const struct gap *g = &plan_run(i, k)->gaps[event];

		if (g->to - g->from > longest.to - longest.from)
			longest = *g;
	}
	return longest;
}

static struct result_event_item event_item(
	const struct events *e, uint32_t event, uint32_t item, double after_event_s)
{
	const struct plan_item *i = &e->plan->items[item];
	const struct after *f = &e->list[event].after[item];
	const struct clock *c = &e->plan->clock;
	struct gap gap = gap_of(i, event);
	// After the end of sending nobody knows.
	bool over = gap.to && gap.to < plan_run(i, 0)->ended_at;

	return (struct result_event_item){.name = i->settings->name,
		.longest_gap_ns = clock_ns(c, gap.to - gap.from),
		.first_answer_ns = over ? clock_ns(c, gap.to - e->plan->events.at[event]) : NAN,
		.regained_s = e->answered_s > 0 && after_event_s > 0 ? f->regained_s : NAN,
		.lost = f->lost,
		.failed = f->failed,
		.max_ns = f->max_ns};
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
		.failed = s->command && one->begun && !one->task,
		.traffic = {items, one->begun ? e->plan->item_count : 0}};
	struct task_end end;

	if (out.failed)
		out.outcome = "could not be started";
	if (one->task) {
		task_end(one->task, &end);
		out.took_s = clock_ns(c, end.ended - end.began) / 1e9;
		out.exit_status = end.rc >= 0 ? end.rc : NAN;
		out.outcome = arena_strdup(a, end.outcome);
		out.failed = end.rc != 0;
	}
	for (uint32_t i = 0; i < out.traffic.count; i++)
		items[i] = event_item(e, n, i, r->run.measured_s - one->at_s);
	return out;
}

void events_end(struct events *e, struct arena *a, struct result *r)
{
	struct result_event *out = arena_zalloc(a, (e->count + 1) * sizeof(*out));

	for (uint32_t i = 0; i < e->count; i++)
		out[i] = event_result(e, i, a, r);
	r->events = (struct counter_list){out, e->count};
}

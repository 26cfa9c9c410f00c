// SPDX-License-Identifier: BSD-3-Clause
// The one run of a search by ramp. Its intervals become trials while it is running, and it ends as
// soon as the answer is known. Path: cold. Management thread.
#include <math.h>
#include <string.h>

#include "engine/run/judge/verdict.h"
#include "engine/series/series_internal.h"
#include "engine/series/search_ramp.h"

#define INTERVALS_FIRST 256

struct ramping {
	struct series *series;
	struct search *search;
	struct search_trial *trials; // of the search
	uint32_t before;             // number of trials of earlier runs
	uint32_t run;
	uint32_t item; // that the variable belongs to
	struct ramp ramp;
	struct ramp_interval *intervals;
	uint32_t room;
	bool enough;
};

static struct ramp_interval interval_of(const struct result_interval *i, uint32_t item)
{
	const struct result_interval_item *it =
		&((const struct result_interval_item *)i->traffic.items)[item];

	return (struct ramp_interval){.t_s = i->t_s,
		.length_s = i->length_s,
		.due = (double)it->due,
		.sent = (double)it->sent,
		.asked = (double)it->sent - (double)it->no_reply,
		.answered = (double)it->answered,
		.failed = (double)it->failed,
		.lost = (double)it->lost,
		.p50_ns = it->p50_ns,
		.p99_ns = it->p99_ns};
}

static void add_interval(struct ramping *g, const struct result_interval *i)
{
	if (g->ramp.count == g->room) {
		uint32_t room = g->room ? 2 * g->room : INTERVALS_FIRST;
		struct ramp_interval *more = arena_zalloc(g->series->arena, room * sizeof(*more));

		if (g->ramp.count)
			memcpy(more, g->intervals, g->ramp.count * sizeof(*more));
		g->intervals = more;
		g->ramp.intervals = more;
		g->room = room;
	}
	g->intervals[g->ramp.count++] = interval_of(i, g->item);
}

static void update_trials(struct ramping *g)
{
	g->search->count = g->before + ramp_trials(&g->ramp, g->run, g->trials + g->before);
}

static void ramp_on_note(void *ctx, const char *text)
{
	const struct ramping *g = ctx;
	const struct run_hooks *h = &g->series->options->hooks;

	if (h->note)
		h->note(h->ctx, text);
}

static void ramp_on_begin(void *ctx, const struct result *r, const struct config *c)
{
	const struct ramping *g = ctx;
	const struct run_hooks *h = &g->series->options->hooks;

	if (h->begin)
		h->begin(h->ctx, r, c);
}

static void ramp_on_interval(void *ctx, const struct result_interval *i, bool warmup)
{
	const struct ramping *g = ctx;
	const struct run_hooks *h = &g->series->options->hooks;

	if (h->interval)
		h->interval(h->ctx, i, warmup);
}

static void ramp_on_tick(void *ctx)
{
	const struct ramping *g = ctx;
	const struct run_hooks *h = &g->series->options->hooks;

	if (h->tick)
		h->tick(h->ctx);
}

static void ramp_on_kept(void *ctx, const struct result_interval *i)
{
	struct ramping *g = ctx;
	const struct run_hooks *h = &g->series->options->hooks;
	struct search live; // without the runs before

	if (h->kept)
		h->kept(h->ctx, i);
	add_interval(g, i);
	if (g->enough)
		return;
	update_trials(g);
	live = *g->search;
	live.trials += g->before;
	live.count -= g->before;
	g->enough = search_enough(&live);
}

static bool ramp_is_enough(void *ctx)
{
	return ((const struct ramping *)ctx)->enough;
}

// Was the tester at fault in a way that belongs to no particular rate?
static bool at_fault(const struct config *c, const struct result *r)
{
	const struct result_port *p = r->ports.items;
	bool any = verdict_stole(c, r);

	for (uint32_t i = 0; i < r->ports.count; i++)
		any |= p[i].rx_missed || p[i].rx_no_mbuf || p[i].hand_over_full || p[i].link_downs;
	return any;
}

// A tester that fell behind did so at some rate, and the trials before it count. Otherwise no trial
// of an invalid run counts.
static void ramp_judge_tester(struct ramping *g, const struct result *r)
{
	bool behind = false;

	for (uint32_t i = g->before; i < g->search->count; i++)
		behind |= g->trials[i].invalid;
	for (uint32_t i = g->before; i < g->search->count; i++)
		g->trials[i].invalid |= !behind || at_fault(g->series->config, r);
}

// Evaluates the whole run, the drain included.
static void ramp_finish(struct ramping *g, const struct result *r)
{
	bool stopped = r->verdict.stopped != NULL;

	g->ramp.over = true;
	g->ramp.cut = stopped || g->enough || *g->series->options->signals;
	update_trials(g);
	g->search->going = false;
	if (stopped && g->search->count > g->before)
		g->search->cut_at = g->trials[g->search->count - 1].load;
	if (strcmp(r->verdict.status, "invalid") == 0)
		ramp_judge_tester(g, r);
}

static void ramp_prepare(struct ramping *g)
{
	const struct config *c = g->series->config;
	const struct item_settings *items = c->traffic.items;

	while (g->item + 1 < c->traffic.count && !series_concerns(c, g->item))
		g->item++;
	g->ramp.settings = c->search;
	g->ramp.timeout_s = 1e-9 * (double)items[g->item].timeout_ns;
	g->ramp.late_s = 1e-9 * (double)c->validity.send_lag_p99_ns;
	g->search->going = true;
	g->search->cut_at = 0;
}

uint32_t series_ramp_room(const struct search_settings *settings)
{
	return (uint32_t)settings->steps + 2;
}

int series_run_ramp(struct series *s, struct run_options *o, struct search *search,
	struct search_trial *trials, struct result *out)
{
	struct ramping g = {.series = s,
		.search = search,
		.trials = trials,
		.before = search->count,
		.run = search->count ? trials[search->count - 1].run + 1 : 0};
	const struct run_hooks before = o->hooks;
	char *texts[SERIES_RAMP_MAX];
	unsigned count = series_ramp(s->config, s->arena, texts);
	int code;

	ramp_prepare(&g);
	o->hooks = (struct run_hooks){.note = ramp_on_note,
		.begin = ramp_on_begin,
		.kept = ramp_on_kept,
		.interval = ramp_on_interval,
		.tick = ramp_on_tick,
		.enough = ramp_is_enough,
		.ctx = &g};
	code = series_run(s, texts, count, out);
	o->hooks = before;
	if (out->verdict.status)
		ramp_finish(&g, out);
	return code;
}

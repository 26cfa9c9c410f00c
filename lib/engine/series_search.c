// SPDX-License-Identifier: BSD-3-Clause
// The trials of a search: what engine/search.h asks for is run, what came of it is told to it,
// until there is an answer. Path: cold. Management thread.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "conf/schema.h"
#include "engine/series_internal.h"
#include "stats/text.h"

#define TRIALS_FIRST 64

struct searching {
	struct series *series;
	const struct search_settings *settings;
	struct search search;
	struct search_trial *trials;
	struct result *results; // of each trial
	uint32_t room;
	bool heard; // the server answered something in some trial
};

static void prepare(struct searching *g, struct series *s)
{
	const struct search_settings *settings = s->config->search;
	const char *what;
	const void *place;
	const struct field *f =
		conf_find(config_section(), s->config, settings->variable, &place, s->arena, &what);

	*g = (struct searching){.series = s, .settings = settings};
	g->search = (struct search){.settings = settings, .whole = f && f->type == FIELD_COUNT};
}

static void *grown(struct arena *a, const void *from, uint32_t count, uint32_t room, size_t size)
{
	void *more = arena_zalloc(a, room * size);

	if (count)
		memcpy(more, from, count * size);
	return more;
}

static struct result *next_result(struct searching *g)
{
	struct arena *a = g->series->arena;
	uint32_t n = g->search.count;

	if (n == g->room) {
		g->room = n ? 2 * n : TRIALS_FIRST;
		g->trials = grown(a, g->trials, n, g->room, sizeof(*g->trials));
		g->results = grown(a, g->results, n, g->room, sizeof(*g->results));
		g->search.trials = g->trials;
	}
	return &g->results[n];
}

// Does the variable belong to this item? A variable of no item in particular belongs to all.
static bool concerns(const struct searching *g, const struct result_item *items, uint32_t i)
{
	const char *path = g->settings->variable;
	size_t len = strlen(items[i].name);

	if (strncmp(path, "traffic[", 8) == 0)
		return strtoul(path + 8, NULL, 10) == i;
	return strncmp(path + 8, items[i].name, len) == 0 && path[8 + len] == '.';
}

static struct search_trial figures(
	const struct searching *g, const struct result *r, struct search_step step)
{
	struct search_trial t = {.load = step.load,
		.length_ns = step.length_ns,
		.loss = 1,
		.p99_ns = INFINITY,
		.invalid = strcmp(r->verdict.status, "invalid") == 0};
	const struct result_item *items = r->traffic.items;

	for (uint32_t i = 0; i < r->traffic.count; i++) {
		const struct ledger *l = &items[i].ledger;
		double asked = (double)(l->sent - l->no_reply);

		if (!concerns(g, items, i) || asked == 0)
			continue;
		t.loss = (double)(l->lost + items[i].in_flight) / asked;
		t.failed = (double)l->failed / asked;
		t.p99_ns = items[i].latency.response.p99_ns;
		t.answered_per_s = items[i].answered_per_s;
	}
	return t;
}

static uint32_t goals_met(const struct searching *g, const struct search_trial *t)
{
	const struct search_goal *goals = g->settings->goals.items;
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->settings->goals.count && !t->invalid; i++)
		n += search_met(&goals[i], t);
	return n;
}

static const char *trial_verdict(const struct searching *g, const struct search_trial *t)
{
	if (t->invalid)
		return "invalid";
	return goals_met(g, t) == g->settings->goals.count ? "pass" : "fail";
}

// "12 500", "12.5 k/s": the value as people read it.
static const char *value_text(const struct searching *g, double value, char *buf, size_t room)
{
	if (isnan(value))
		snprintf(buf, room, "none");
	else
		stats_format(value, g->search.whole ? NULL : "per_s", buf, room);
	return buf;
}

static void tell(const struct searching *g, const struct search_trial *t)
{
	struct search_answer now = search_answer(&g->search, 0);
	char load[32], loss[32], p99[32], answer[32], length[32], failed[32];

	value_text(g, t->load, load, sizeof(load));
	stats_format(1e-9 * (double)t->length_ns, "s", length, sizeof(length));
	stats_format(t->loss, "1", loss, sizeof(loss));
	stats_format(t->failed, "1", failed, sizeof(failed));
	stats_format(t->p99_ns, "ns", p99, sizeof(p99));
	series_note(g->series,
		"trial %2u: %10s for %s: loss %s, failed %s, p99 %s: %s; answer so far %s",
		g->search.count, load, length, loss, failed, isinf(t->p99_ns) ? "lost" : p99,
		trial_verdict(g, t), value_text(g, now.load, answer, sizeof(answer)));
	for (uint32_t i = 0;
		t->invalid && i < g->results[g->search.count - 1].verdict.reasons.count; i++)
		series_note(g->series, "          %s",
			((const char *const *)g->results[g->search.count - 1]
					.verdict.reasons.items)[i]);
}

// One trial. 0, or the exit code that ends the search.
static int measure(struct searching *g, struct search_step step)
{
	struct series *s = g->series;
	struct result *r = next_result(g);
	char *texts[] = {
		series_value(s->config, step.load, s->arena),
		series_seed(s, g->search.count),
		arena_printf(
			s->arena, "run.warmup=%lluns", (unsigned long long)g->settings->warmup_ns),
		arena_printf(s->arena, "run.duration=%lluns", (unsigned long long)step.length_ns),
	};
	int code = series_run(s, texts, sizeof(texts) / sizeof(texts[0]), r);
	const struct result_item *items = r->traffic.items;

	if (!r->verdict.status || code == EXIT_INTERNAL || code == EXIT_INTERRUPTED)
		return code;
	// Nobody there at all, and never was: no search.
	if (code == EXIT_UNREACHABLE && !g->heard && items[0].ledger.sent == 0)
		return code;
	g->heard |= code != EXIT_UNREACHABLE;
	g->trials[g->search.count++] = figures(g, r, step);
	tell(g, &g->trials[g->search.count - 1]);
	return 0;
}

static const char *goal_text(const struct search_goal *goal, struct arena *a)
{
	char number[32];
	const char *text;

	stats_format(goal->loss, "1", number, sizeof(number));
	text = arena_printf(a, "loss + failed <= %s", number);
	if (goal->failed < 1) {
		stats_format(goal->failed, "1", number, sizeof(number));
		text = arena_printf(a, "%s, failed <= %s", text, number);
	}
	if (goal->p99_ns == 0)
		return text;
	stats_format((double)goal->p99_ns, "ns", number, sizeof(number));
	return arena_printf(a, "%s, p99 <= %s", text, number);
}

static const char *limit_text(const struct search_answer *a)
{
	if (a->tester)
		return "tester";
	return isinf(a->upper) ? "range" : "server";
}

static struct counter_list goals_result(const struct searching *g)
{
	const struct search_goal *goals = g->settings->goals.items;
	uint32_t n = g->settings->goals.count;
	struct result_goal *out = arena_zalloc(g->series->arena, n * sizeof(*out));

	for (uint32_t i = 0; i < n; i++) {
		struct search_answer a = search_answer(&g->search, i);

		out[i] = (struct result_goal){goal_text(&goals[i], g->series->arena), a.load,
			a.upper, a.throughput, limit_text(&a)};
	}
	return (struct counter_list){out, n};
}

static struct counter_list trials_result(const struct searching *g)
{
	struct result_trial *out =
		arena_zalloc(g->series->arena, (g->search.count + 1) * sizeof(*out));

	for (uint32_t i = 0; i < g->search.count; i++) {
		const struct search_trial *t = &g->trials[i];

		out[i] = (struct result_trial){t->load, 1e-9 * (double)t->length_ns, t->loss,
			t->failed, t->p99_ns, t->answered_per_s, trial_verdict(g, t),
			goals_met(g, t), g->results[i].run.seed};
	}
	return (struct counter_list){out, g->search.count};
}

static struct result_peak *peak_of(const struct searching *g, double load, double per_s)
{
	struct result_peak *out;

	if (isnan(load))
		return NULL;
	out = arena_zalloc(g->series->arena, sizeof(*out));
	*out = (struct result_peak){load, per_s};
	return out;
}

static struct result_search *search_result(const struct searching *g)
{
	struct result_search *out = arena_zalloc(g->series->arena, sizeof(*out));
	struct search_shape shape = search_shape(&g->search);

	*out = (struct result_search){
		.method = search_methods[g->settings->method],
		.variable = g->settings->variable,
		.answer = search_answer(&g->search, 0).load,
		.goals = goals_result(g),
		.peak = peak_of(g, shape.peak_load, shape.peak_per_s),
		.collapse = peak_of(g, shape.collapse_load, shape.collapse_per_s),
		.knee = shape.knee,
		.trials = trials_result(g),
	};
	return out;
}

// The trial that stands for the search: the last valid one at the answer, or the last valid one, or
// the last one.
static const struct result *representative(const struct searching *g)
{
	double answer = search_answer(&g->search, 0).load;
	const struct result *out = NULL;

	for (uint32_t i = 0; i < g->search.count; i++)
		if (!g->trials[i].invalid && (isnan(answer) || g->trials[i].load == answer))
			out = &g->results[i];
	return out ? out : &g->results[g->search.count - 1];
}

static void conclude_as(
	struct searching *g, struct result *out, const char *status, int code, const char *why)
{
	out->verdict.status = status;
	out->verdict.exit_code = (uint64_t)code;
	series_reason(g->series, &out->verdict, why);
}

// Why this answer is not the whole story; NULL: it is.
static const char *remark(const struct searching *g, const struct result_goal *goal)
{
	struct arena *a = g->series->arena;
	char from[32], answer[32], upper[32];

	value_text(g, g->settings->from, from, sizeof(from));
	value_text(g, goal->answer, answer, sizeof(answer));
	value_text(g, goal->upper, upper, sizeof(upper));
	if (strcmp(goal->limited_by, "tester") == 0)
		return arena_printf(a,
			"%s: %s is the tester's own limit (at %s its trials were invalid); the "
			"server may do more",
			goal->goal, answer, upper);
	if (isnan(goal->answer))
		return arena_printf(a, "%s: not even met at %s", goal->goal, from);
	if (strcmp(goal->limited_by, "range") == 0)
		return arena_printf(
			a, "%s: met up to %s, the end of the search", goal->goal, answer);
	return NULL;
}

// From the trial's verdict to the search's.
static void conclude(struct searching *g, struct result *out)
{
	const struct result_goal *goals = out->search->goals.items;
	bool none = false, tester = false, server = false;

	for (uint32_t i = 0; i < out->search->goals.count; i++) {
		const char *why = remark(g, &goals[i]);

		none |= isnan(goals[i].answer);
		tester |= strcmp(goals[i].limited_by, "tester") == 0;
		server |= strcmp(goals[i].limited_by, "server") == 0;
		if (why)
			series_reason(g->series, &out->verdict, why);
	}
	out->verdict.limited_by = tester ? "tester" : server ? "server" : "none";
	if (tester || (none && strcmp(out->verdict.status, "pass") == 0)) {
		out->verdict.status = tester ? "invalid" : "fail";
		out->verdict.exit_code = tester ? EXIT_INVALID : EXIT_FAIL;
	}
}

static int finish(struct searching *g, int code, struct result *out)
{
	if (g->search.count == 0) {
		*out = g->results[0];
		return code;
	}
	*out = *representative(g);
	out->search = search_result(g);
	if (*g->series->options->signals) {
		conclude_as(g, out, "interrupted", EXIT_INTERRUPTED,
			arena_printf(g->series->arena,
				"interrupted after %u trials: the answer is what was known then",
				g->search.count));
	} else if (code == EXIT_INTERNAL) {
		conclude_as(g, out, "invalid", code, "a trial ended with an internal error");
	} else if (code) {
		conclude_as(g, out, "invalid", code, "a trial could not be started");
	} else if (g->heard) {
		conclude(g, out);
	}
	return (int)out->verdict.exit_code;
}

static int search_all(struct searching *g)
{
	struct search_step step = search_next(&g->search);
	int code = 0;

	while (!step.done && code == 0) {
		if (g->search.count && !series_rest(g->series, g->settings->settle_ns))
			return EXIT_INTERRUPTED;
		code = measure(g, step);
		step = search_next(&g->search);
	}
	return code;
}

// Ports are brought up for the greatest load.
int series_search(struct series *s, struct result *out)
{
	char *greatest = series_value(s->config, s->config->search->to, s->arena);
	struct run_options o = *s->options;
	struct searching g;
	int code = EXIT_CONFIG;

	memset(out, 0, sizeof(*out));
	if (series_check(s->config, s->arena, s->options->diag) < 0) {
		diag_print(s->options->diag, stderr);
		return code;
	}
	prepare(&g, s);
	o.hooks.interval = NULL;
	o.config = series_derive(s, &greatest, 1, &o.diag);
	if (o.config) {
		code = run_open(&o, s->arena, &s->run);
		if (code == 0)
			code = search_all(&g);
		run_close(s->run);
		if (g.room)
			code = finish(&g, code, out);
	}
	diag_free(o.diag);
	return code;
}

// SPDX-License-Identifier: BSD-3-Clause
// The trials of a search: runs the load that engine/series/search.h asks for and reports the result
// to it, until there is an answer. Path: cold. Management thread.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/hist.h"
#include "base/log.h"
#include "conf/schema.h"
#include "engine/run/judge/limit.h"
#include "engine/run/judge/run_notes.h"
#include "engine/series/series_internal.h"
#include "stats/text.h"

#define TRIALS_FIRST 64

struct searching {
	struct series *series;
	const struct search_settings *settings;
	struct run_options *options; // of the runs
	struct search search;
	struct search_trial *trials;
	struct result *results; // of each run
	uint32_t runs;
	uint32_t trial_room, result_room;
	struct series_repeats repeats; // at the answer
	struct result confirmed;       // their result
	bool heard;                    // the server answered something in some trial
	bool cut;                      // it ended before it was done
	const char *ended;             // why; NULL: it was done, or interrupted
	uint64_t began_ns;             // CLOCK_MONOTONIC
};

static void search_prepare(struct searching *g, struct series *s)
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
	if (g->runs == g->result_room) {
		g->result_room = g->runs ? 2 * g->runs : TRIALS_FIRST;
		g->results = grown(
			g->series->arena, g->results, g->runs, g->result_room, sizeof(*g->results));
	}
	return &g->results[g->runs];
}

// Room for `more` trials.
static void search_reserve(struct searching *g, uint32_t more)
{
	uint32_t n = g->search.count;

	if (n + more <= g->trial_room)
		return;
	g->trial_room = 2 * n + more + TRIALS_FIRST;
	g->trials = grown(g->series->arena, g->trials, n, g->trial_room, sizeof(*g->trials));
	g->search.trials = g->trials;
}

// The rate until the last reply: the server needs time for its queue after the end of sending.
static double rate_of(const struct result_item *i)
{
	double time_s = fmax(i->sending_s, i->last_answer_s);

	return time_s > 0 ? (double)i->ledger.answered / time_s : 0;
}

static void take_latencies(struct search_trial *t, const struct latency *from)
{
	const struct result_percentile *chosen = from->percentiles.items;

	t->latency_ns[GOAL_P50] = from->p50_ns;
	t->latency_ns[GOAL_P90] = from->p90_ns;
	t->latency_ns[GOAL_P99] = from->p99_ns;
	t->latency_ns[GOAL_P999] = from->p999_ns;
	t->latency_ns[GOAL_P95] = NAN;
	// There if a goal names it: condition_name_percentiles.
	for (uint32_t i = 0; i < from->percentiles.count; i++)
		if (strcmp(chosen[i].name, goal_percentiles[GOAL_P95].name) == 0)
			t->latency_ns[GOAL_P95] = chosen[i].value_ns;
}

static struct search_trial figures(
	const struct searching *g, const struct result *r, struct search_step step)
{
	const char *by = r->verdict.invalid_by ? r->verdict.invalid_by : "";
	bool disturbed = strcmp(by, "disturbance") == 0;
	bool harmed = r->verdict.harmed > LIMIT_DISTURBED;
	struct search_trial t = {.run = g->runs,
		.load = step.load,
		.length_ns = step.length_ns,
		.loss = 1,
		.latency_ns = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY},
		.stopped = r->verdict.stopped != NULL,
		.undecided = disturbed || harmed,
		.crowded = harmed,
		.invalid = !disturbed && strcmp(r->verdict.status, "invalid") == 0};
	const struct result_item *items = r->traffic.items;

	for (uint32_t i = 0; i < r->traffic.count; i++) {
		const struct ledger *l = &items[i].ledger;
		double asked = (double)(l->sent - l->no_reply);

		if (!series_concerns(g->series->config, i) || asked == 0)
			continue;
		t.loss = (double)(l->lost + items[i].in_flight) / asked;
		t.failed = (double)l->failed / asked;
		take_latencies(&t, &items[i].latency.response);
		t.answered_per_s = rate_of(&items[i]);
		t.undecided |= !t.invalid && items[i].send_lag.p99_ns > LIMIT_LATE_NS;
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
	if (goals_met(g, t) == g->settings->goals.count)
		return "pass";
	return t->undecided ? "undecided" : "fail";
}

// "12 500", "12.5 k/s": the value as people read it.
static const char *search_value(const struct searching *g, double value, char *buf, size_t room)
{
	if (isnan(value))
		snprintf(buf, room, "none");
	else
		stats_format(value, g->search.whole ? NULL : "per_s", buf, room);
	return buf;
}

// Reports why a run is invalid, or ended before its time.
static void tell_reasons(const struct searching *g, const struct result *r)
{
	const char *const *reasons = r->verdict.reasons.items;

	for (uint32_t i = 0; i < r->verdict.reasons.count; i++)
		run_note(g->series->options, "          %s", reasons[i]);
}

// Writes the settings of a trial.
static unsigned at_texts(const struct searching *g, struct search_step step, char **texts)
{
	struct arena *a = g->series->arena;
	unsigned n = series_at(g->series->config, step.load, a, texts);

	texts[n++] =
		arena_printf(a, "run.warmup=%lluns", (unsigned long long)g->settings->warmup_ns);
	texts[n++] = arena_printf(a, "run.duration=%lluns", (unsigned long long)step.length_ns);
	return n;
}

// Returns NAN if the replies are too few for the percentile: the longest is judged instead.
static double known_latency(const struct search_trial *t, unsigned which)
{
	double replies = t->answered_per_s * 1e-9 * (double)t->length_ns;
	double value = t->latency_ns[which];

	return isinf(value) || hist_knows(replies, goal_percentiles[which].percent / 100) ? value
	                                                                                  : NAN;
}

// Returns ", p95 1.2 ms, p999 lost": the percentiles that goals limit, or p99.
static const char *latencies_text(const struct searching *g, const struct search_trial *t)
{
	const struct search_goal *goals = g->settings->goals.items;
	struct arena *a = g->series->arena;
	const char *text = "";
	char number[32];
	bool any = false;

	for (unsigned which = 0; which <= GOAL_PERCENTILES; which++) {
		unsigned shown = which < GOAL_PERCENTILES ? which : GOAL_P99;
		bool limits = which == GOAL_PERCENTILES && !any;

		for (uint32_t i = 0; which < GOAL_PERCENTILES && i < g->settings->goals.count; i++)
			limits |= goals[i].latency_ns[which] > 0;
		if (!limits)
			continue;
		any = true;
		stats_format(known_latency(t, shown), "ns", number, sizeof(number));
		text = arena_printf(a, "%s, %s %s", text, goal_percentiles[shown].name,
			isinf(t->latency_ns[shown]) ? "lost" : number);
	}
	return text;
}

static void search_tell(const struct searching *g, const struct search_trial *t)
{
	struct search_answer now = search_answer(&g->search, 0);
	char load[32], loss[32], answer[32], length[32], failed[32], left[64] = "";
	double left_s = search_left_s(&g->search);

	search_value(g, t->load, load, sizeof(load));
	stats_format(1e-9 * (double)t->length_ns, "s", length, sizeof(length));
	stats_format(t->loss, "1", loss, sizeof(loss));
	stats_format(t->failed, "1", failed, sizeof(failed));
	if (left_s > 0)
		snprintf(left, sizeof(left), ", about %.0f s left", left_s);
	run_note(g->series->options,
		"trial %2u: %10s for %s: loss %s, failed %s%s: %s; answer so far %s%s",
		g->search.count, load, length, loss, failed, latencies_text(g, t),
		trial_verdict(g, t), search_value(g, now.load, answer, sizeof(answer)), left);
	if (t->invalid || t->undecided || t->stopped)
		tell_reasons(g, &g->results[t->run]);
}

static struct result_trial trial_result(
	const struct searching *g, const struct search_trial *t, const struct result *r)
{
	return (struct result_trial){.rate = t->load,
		.duration_s = t->stopped ? r->run.measured_s : 1e-9 * (double)t->length_ns,
		.loss = t->loss,
		.failed = t->failed,
		.p50_ns = t->latency_ns[GOAL_P50],
		.p90_ns = known_latency(t, GOAL_P90),
		.p95_ns = known_latency(t, GOAL_P95),
		.p99_ns = known_latency(t, GOAL_P99),
		.p999_ns = known_latency(t, GOAL_P999),
		.answered_per_s = t->answered_per_s,
		.verdict = trial_verdict(g, t),
		.goals_met = goals_met(g, t),
		.seed = r->run.seed,
		.capture = series_capture(r)};
}

// Shows a trial to the observers of the search, with the current bracket.
static void show_trial(const struct searching *g, const struct result_trial *t, uint32_t number)
{
	const struct run_hooks *h = &g->series->options->hooks;
	struct search_answer now = search_answer(&g->search, 0);

	if (h->trial)
		h->trial(h->ctx, t, number, now.load, now.upper);
}

// Announces a trial, whose outcome is unknown.
static void announce(const struct searching *g, struct search_step step)
{
	uint64_t length_ns =
		step.ramp ? g->settings->trial_ns * g->settings->steps : step.length_ns;
	struct result_trial t = {.rate = step.load, .duration_s = 1e-9 * (double)length_ns};

	t.loss = t.failed = t.answered_per_s = NAN;
	t.p50_ns = t.p90_ns = t.p95_ns = t.p99_ns = t.p999_ns = NAN;
	show_trial(g, &t, g->search.count + 1);
}

// Shows the trials after the first `before`.
static void show_trials(const struct searching *g, uint32_t before)
{
	for (uint32_t i = before; i < g->search.count; i++) {
		struct result_trial t =
			trial_result(g, &g->trials[i], &g->results[g->trials[i].run]);

		show_trial(g, &t, i + 1);
	}
}

// Runs a trial.
static int measure_at(struct searching *g, struct search_step step, struct result *r)
{
	struct series *s = g->series;
	char *texts[SERIES_AT_MAX + 2];
	unsigned n = at_texts(g, step, texts);
	int code = series_run(s, texts, n, r);

	if (!r->verdict.status || code == EXIT_INTERNAL || code == EXIT_INTERRUPTED)
		return code;
	search_reserve(g, 1);
	g->trials[g->search.count++] = figures(g, r, step);
	search_tell(g, &g->trials[g->search.count - 1]);
	return code;
}

// Runs all intervals of a ramp.
static int measure_ramp(struct searching *g, struct result *r)
{
	int code;

	search_reserve(g, series_ramp_room(g->settings));
	code = series_run_ramp(g->series, g->options, &g->search, g->trials, r);
	if (r->verdict.status && strcmp(r->verdict.status, "invalid") == 0)
		tell_reasons(g, r);
	return code;
}

// Returns 0, or the exit code that ends the search.
static int search_measure(struct searching *g, struct search_step step)
{
	struct result *r = next_result(g);
	uint32_t before = g->search.count;
	const struct result_item *items;
	int code;

	announce(g, step);
	code = step.ramp ? measure_ramp(g, r) : measure_at(g, step, r);
	items = r->traffic.items;
	if (!r->verdict.status)
		return code;
	g->runs++;
	show_trials(g, before);
	if (code == EXIT_INTERNAL || code == EXIT_INTERRUPTED)
		return code;
	// The server is unreachable and always was: no search.
	if (code == EXIT_UNREACHABLE && !g->heard && items[0].ledger.sent == 0)
		return code;
	g->heard |= code != EXIT_UNREACHABLE;
	return g->search.count > before ? 0 : code;
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
	for (unsigned i = 0; i < GOAL_PERCENTILES; i++) {
		if (goal->latency_ns[i] == 0)
			continue;
		stats_format((double)goal->latency_ns[i], "ns", number, sizeof(number));
		text = arena_printf(a, "%s, %s <= %s", text, goal_percentiles[i].name, number);
	}
	return text;
}

static const char *limit_text(const struct searching *g, const struct search_answer *a)
{
	if (a->tester)
		return a->undecided ? "undecided" : "tester";
	if (!isinf(a->upper))
		return "server";
	return g->cut ? "none" : "range";
}

// Returns the number of repeats at the first goal's answer that met it.
static uint32_t repeats_met(const struct searching *g)
{
	struct search_step at = {.load = search_answer(&g->search, 0).load};
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->repeats.count; i++) {
		struct search_trial t = figures(g, &g->repeats.valid[i], at);

		n += search_met(g->settings->goals.items, &t);
	}
	return n;
}

static struct counter_list goals_result(const struct searching *g)
{
	const struct search_goal *goals = g->settings->goals.items;
	uint32_t n = g->settings->goals.count;
	struct result_goal *out = arena_zalloc(g->series->arena, n * sizeof(*out));

	for (uint32_t i = 0; i < n; i++) {
		struct search_answer a = search_answer(&g->search, i);

		out[i] = (struct result_goal){goal_text(&goals[i], g->series->arena), a.load,
			a.upper, a.throughput, limit_text(g, &a), NAN};
	}
	if (g->repeats.count)
		out[0].repeats_met = repeats_met(g);
	return (struct counter_list){out, n};
}

static struct counter_list trials_result(const struct searching *g)
{
	struct result_trial *out =
		arena_zalloc(g->series->arena, (g->search.count + 1) * sizeof(*out));

	for (uint32_t i = 0; i < g->search.count; i++) {
		const struct search_trial *t = &g->trials[i];

		out[i] = trial_result(g, t, &g->results[t->run]);
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

// Returns the run that represents the search: of the last valid trial at the answer, else of the
// last valid trial, else the last one. With repeats, the repeat that represents them.
static const struct result *representative(const struct searching *g)
{
	const struct search_goal *goal = g->settings->goals.items;
	double answer = search_answer(&g->search, 0).load;
	const struct result *out = NULL;

	if (g->confirmed.verdict.status)
		return &g->confirmed;
	for (uint32_t i = 0; i < g->search.count; i++)
		if (!search_void(goal, &g->trials[i]) &&
			(isnan(answer) || g->trials[i].load == answer))
			out = &g->results[g->trials[i].run];
	return out ? out : &g->results[g->runs - 1];
}

static void conclude_as(
	struct searching *g, struct result *out, const char *status, int code, const char *why)
{
	out->verdict.status = status;
	out->verdict.exit_code = (uint64_t)code;
	series_reason(g->series, &out->verdict, why);
}

// Returns a reservation about the answer; NULL: none.
static const char *remark(const struct searching *g, const struct result_goal *goal)
{
	struct arena *a = g->series->arena;
	char from[32], answer[32], upper[32];

	search_value(g, g->settings->from, from, sizeof(from));
	search_value(g, goal->answer, answer, sizeof(answer));
	search_value(g, goal->upper, upper, sizeof(upper));
	if (strcmp(goal->limited_by, "tester") == 0 && isnan(goal->answer))
		return arena_printf(a,
			"%s: nothing was found within the tester's own limit (at %s its trials "
			"were invalid)",
			goal->goal, upper);
	if (strcmp(goal->limited_by, "tester") == 0)
		return arena_printf(a,
			"%s: %s is the tester's own limit (at %s its trials were invalid); the "
			"server may do more",
			goal->goal, answer, upper);
	if (strcmp(goal->limited_by, "undecided") == 0)
		return arena_printf(a,
			"%s: %s%s, and undecided from %s on: others disturbed the box in each "
			"trial there, so it is not known whether the server failed",
			goal->goal, isnan(goal->answer) ? "" : "at least ", answer, upper);
	if (isnan(goal->answer) && g->ended)
		return arena_printf(a, "%s: no answer yet", goal->goal);
	if (isnan(goal->answer))
		return arena_printf(a, "%s: not even met at %s", goal->goal, from);
	if (g->ended && !isinf(goal->upper))
		return arena_printf(a, "%s: at least %s, below %s", goal->goal, answer, upper);
	if (strcmp(goal->limited_by, "range") == 0)
		return arena_printf(
			a, "%s: met up to %s, the end of the search", goal->goal, answer);
	return NULL;
}

// Goals that were met although others had the CPU are met; a failed criterion may be due to the
// disturbance.
static void forgive_disturbance(struct result *out)
{
	struct result_verdict *v = &out->verdict;
	const struct result_criterion *c = v->criteria.items;

	for (uint32_t i = 0; i < v->criteria.count; i++)
		if (!c[i].pass)
			return;
	if (!v->invalid_by || strcmp(v->invalid_by, "disturbance") != 0)
		return;
	v->status = "pass";
	v->exit_code = EXIT_PASS;
	v->invalid_by = NULL;
}

// A ramp goes beyond the server's capacity, so a failure there is no verdict. A tester that fell
// behind was judged with the answer.
static void forgive_ramp(struct searching *g, struct result *out)
{
	struct result_verdict *v = &out->verdict;
	const char *const *reasons = v->reasons.items;
	bool invalid = strcmp(v->status, "invalid") == 0;

	if (!invalid && strcmp(v->status, "fail") != 0)
		return;
	v->status = "pass";
	v->exit_code = EXIT_PASS;
	v->invalid_by = NULL;
	v->criteria = (struct counter_list){NULL, 0};
	if (!invalid)
		return;
	v->reasons = (struct counter_list){NULL, 0};
	series_reason(
		g->series, v, arena_printf(g->series->arena, "beyond the answer: %s", reasons[0]));
}

// Most of the repeats have to confirm the answer.
static void conclude_repeats(struct searching *g, struct result *out)
{
	uint32_t met = repeats_met(g), count = g->repeats.count;

	if (count == 0 || met == count)
		return;
	series_reason(g->series, &out->verdict,
		arena_printf(g->series->arena, "the answer met the goal in %u of %u repeats", met,
			count));
	if (2 * met >= count || strcmp(out->verdict.status, "pass") != 0)
		return;
	out->verdict.status = "fail";
	out->verdict.exit_code = EXIT_FAIL;
}

// Turns the trial's verdict into the search's.
static void search_conclude(struct searching *g, struct result *out)
{
	const struct result_goal *goals = out->search->goals.items;
	bool none = false, tester = false, server = false, undecided = false;

	for (uint32_t i = 0; i < out->search->goals.count; i++) {
		tester |= strcmp(goals[i].limited_by, "tester") == 0;
		undecided |= strcmp(goals[i].limited_by, "undecided") == 0;
	}
	if (strcmp(out->verdict.status, "done") == 0)
		out->verdict.status = "pass"; // the goals are judged
	forgive_disturbance(out);
	if (g->settings->method == SEARCH_RAMP && !g->confirmed.verdict.status && !tester)
		forgive_ramp(g, out);
	conclude_repeats(g, out);
	for (uint32_t i = 0; i < out->search->goals.count; i++) {
		const char *why = remark(g, &goals[i]);

		none |= isnan(goals[i].answer);
		server |= strcmp(goals[i].limited_by, "server") == 0;
		if (why)
			series_reason(g->series, &out->verdict, why);
	}
	out->verdict.limited_by = tester      ? "tester"
	                          : undecided ? "undecided"
	                          : server    ? "server"
	                                      : "none";
	tester = tester || (none && (undecided || g->ended));
	if (tester || (none && strcmp(out->verdict.status, "pass") == 0)) {
		out->verdict.status = tester ? "invalid" : "fail";
		out->verdict.exit_code = tester ? EXIT_INVALID : EXIT_FAIL;
	}
	if (g->ended)
		series_reason(g->series, &out->verdict, g->ended);
}

static int search_finish(struct searching *g, int code, struct result *out)
{
	if (g->search.count == 0) {
		*out = g->results[g->runs ? g->runs - 1 : 0];
		return code;
	}
	*out = *representative(g);
	g->cut = code || g->ended || *g->series->options->signals;
	out->search = search_result(g);
	if (*g->series->options->signals) {
		conclude_as(g, out, "interrupted", EXIT_INTERRUPTED,
			arena_printf(g->series->arena,
				"interrupted after %u trials: the answer is based on the trials so "
				"far",
				g->search.count));
	} else if (code == EXIT_INTERNAL) {
		conclude_as(g, out, "invalid", code, "a trial ended with an internal error");
	} else if (code && code != EXIT_UNREACHABLE) { // its trial reports the latter
		conclude_as(g, out, "invalid", code, "a trial could not be started");
	} else if (g->heard) {
		search_conclude(g, out);
	}
	return (int)out->verdict.exit_code;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Returns why the search ends before the next trial although it is not done, or NULL.
static const char *search_ends(const struct searching *g, struct search_step step)
{
	const struct search_settings *s = g->settings;
	uint64_t whole = step.ramp ? s->trial_ns * s->steps : step.length_ns;
	uint64_t next = s->settle_ns + s->warmup_ns + whole;
	char text[32];

	if (search_is_spoilt(&g->search))
		return arena_printf(g->series->arena,
			"the search stopped after %u trials, all of them invalid or disturbed: a "
			"lower "
			"load does not help; a quieter machine or other CPUs (ports.*.cpus, "
			"taskset) would",
			g->search.count);
	if (s->time_ns == UINT64_MAX || g->runs == 0 || now_ns() - g->began_ns + next <= s->time_ns)
		return NULL;
	return arena_printf(g->series->arena,
		"search.time is over (%s): the answer is based on the trials so far",
		stats_format(1e-9 * (double)s->time_ns, "s", text, sizeof(text)));
}

static int search_all(struct searching *g)
{
	struct search_step step = search_next(&g->search);
	int code = 0;

	g->began_ns = now_ns();
	while (!step.done && code == 0) {
		g->ended = search_ends(g, step);
		if (g->ended)
			return 0;
		if (g->runs && !series_rest(g->series, g->settings->settle_ns))
			return EXIT_INTERRUPTED;
		code = search_measure(g, step);
		step = search_next(&g->search);
	}
	return code;
}

// With run.repeat, the answer is run again until it is known well enough.
static int search_confirm(struct searching *g)
{
	struct series *s = g->series;
	struct search_step at = {
		.load = search_answer(&g->search, 0).load, .length_ns = g->settings->final_ns};
	char *texts[SERIES_AT_MAX + 2], value[32];
	unsigned n;
	int code;

	if (!s->config->run.repeat || isnan(at.load) || g->ended ||
		search_answer(&g->search, 0).tester)
		return 0;
	if (!series_rest(s, g->settings->settle_ns))
		return EXIT_INTERRUPTED;
	run_note(s->options, "repeats at %s", search_value(g, at.load, value, sizeof(value)));
	n = at_texts(g, at, texts);
	code = series_run_repeats(s, texts, n, &g->repeats, &g->confirmed);
	return g->confirmed.verdict.status ? 0 : code;
}

static int search_on_ports(struct searching *g, struct result *out)
{
	int code = series_open(g->series, g->options), kept;

	if (code == 0)
		code = search_all(g);
	if (code == 0)
		code = search_confirm(g);
	kept = series_close(g->series);
	code = g->runs ? search_finish(g, code, out) : code;
	return code ? code : kept;
}

// Ports are brought up for the greatest load.
int series_search(struct series *s, struct result *out)
{
	struct run_options o = *s->options;
	struct searching g;
	int code = EXIT_CONFIG;

	memset(out, 0, sizeof(*out));
	if (series_check(s->config, s->arena, s->options->diag) < 0) {
		diag_print(s->options->diag, stderr);
		return code;
	}
	search_prepare(&g, s);
	g.options = &o;
	o.diag = diag_new();
	o.config = series_greatest(s->config, s->arena, o.diag);
	diag_print(o.diag, stderr);
	if (o.config)
		code = search_on_ports(&g, out);
	diag_free(o.diag);
	return code;
}

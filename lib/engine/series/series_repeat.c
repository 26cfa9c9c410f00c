// SPDX-License-Identifier: BSD-3-Clause
// Repeats a run until its figures are known well enough, or often enough. Path: cold. Management
// thread.
#include <math.h>
#include <string.h>

#include "base/hist.h"
#include "engine/run/judge/run_notes.h"
#include "engine/series/series_internal.h"
#include "stats/lookup.h"
#include "stats/text.h"

#define INVALID_MAX 3 // in a row

static double cpu_used(const struct result *r)
{
	return r->cpu ? r->cpu->use.used : NAN;
}

static double dut_used(const struct result *r)
{
	return r->dut ? r->dut->use.used : NAN;
}

static const struct {
	const char *figure;
	double (*of_run)(const struct result *r); // NULL: a figure of an item
} figures[] = {
	[REPEAT_RATE] = {"answered_per_s", NULL},
	[REPEAT_P99] = {"latency.response.p99_ns", NULL},
	[REPEAT_CPU] = {"cpu.used", cpu_used},
	[REPEAT_DUT_CPU] = {"dut.used", dut_used},
};

#define FIGURES (sizeof(figures) / sizeof(figures[0]))

struct repeating {
	struct series *series;
	const struct repeat_settings *settings;
	struct result *valid; // results that count, [settings->max]
	uint32_t count;
	uint32_t skipped;   // valid runs before them, left out
	uint32_t runs;      // all of them
	struct result last; // the latest one
	char *const *texts; // settings of each
	unsigned text_count;
};

// Are there too few values in the run for the percentile?
static bool is_too_short(const struct result *r, uint32_t item, uint32_t figure)
{
	const struct latency *l =
		&((const struct result_item *)r->traffic.items)[item].latency.response;

	return figure == REPEAT_P99 && l->count && !isinf(l->p99_ns) &&
	       !hist_knows((double)l->count, 0.99);
}

static double figure_of(const struct result *r, uint32_t item, uint32_t figure)
{
	const struct result_item *items = r->traffic.items;
	struct stats_value v = {NAN, NULL};

	if (figures[figure].of_run)
		return figures[figure].of_run(r);
	if (is_too_short(r, item, figure))
		return NAN;
	stats_lookup(&result_item_section, &items[item], figures[figure].figure, &v);
	return v.value;
}

static struct spread spread_over(const struct repeating *g, uint32_t item, uint32_t figure)
{
	double *values = arena_zalloc(g->series->arena, (g->count + 1) * sizeof(*values));

	for (uint32_t i = 0; i < g->count; i++)
		values[i] = figure_of(&g->valid[i], item, figure);
	return spread_of(values, g->count, g->settings->confidence);
}

static bool repeat_is_wanted(const struct repeating *g, uint32_t figure)
{
	const int32_t *of = g->settings->of.items;

	for (uint32_t i = 0; i < g->settings->of.count; i++)
		if (of[i] == (int32_t)figure)
			return true;
	return false;
}

// Returns the number of items with this figure; the run counts as one.
static uint32_t holders(const struct repeating *g, uint32_t figure)
{
	return figures[figure].of_run ? 1 : g->valid[0].traffic.count;
}

// An item that is never answered has no p99, so none is required.
static bool repeat_is_known(const struct repeating *g)
{
	for (uint32_t f = 0; f < FIGURES; f++)
		for (uint32_t i = 0; repeat_is_wanted(g, f) && i < holders(g, f); i++) {
			struct spread s = spread_over(g, i, f);
			bool lacks = false;

			for (uint32_t n = 0; n < g->count; n++)
				lacks |= is_too_short(&g->valid[n], i, f);
			if (lacks || (!isnan(s.mean) && !spread_within(&s, g->settings->width)))
				return false;
		}
	return true;
}

static bool repeat_is_enough(const struct repeating *g)
{
	return g->count >= g->settings->max || (g->count >= g->settings->min && repeat_is_known(g));
}

static void figure_result(
	const struct repeating *g, uint32_t item, uint32_t figure, struct result_spread *out)
{
	const struct result_item *items = g->valid[0].traffic.items;
	struct spread s = spread_over(g, item, figure);

	if (isnan(s.mean))
		s.min = s.p10 = s.p25 = s.median = s.p75 = s.p90 = s.max = NAN;
	*out = (struct result_spread){.item = figures[figure].of_run ? NULL : items[item].name,
		.figure = figures[figure].figure,
		.mean = s.mean,
		.stddev = s.stddev,
		// No figure is possible beyond these ends; infinite ends stand for any.
		.low = s.low < 0 && !isinf(s.low) ? 0 : s.low,
		.high = s.high > 1 && !isinf(s.high) && figures[figure].of_run ? 1 : s.high,
		.median = s.median,
		.min = s.min,
		.max = s.max,
		.p10 = s.p10,
		.p25 = s.p25,
		.p75 = s.p75,
		.p90 = s.p90,
		.reached = spread_within(&s, g->settings->width)};
}

static struct counter_list figures_result(const struct repeating *g)
{
	uint32_t items = g->valid[0].traffic.count, n = 0;
	struct result_spread *out =
		arena_zalloc(g->series->arena, (items + 1) * FIGURES * sizeof(*out));

	for (uint32_t i = 0; i < items; i++)
		for (uint32_t f = 0; f < FIGURES; f++)
			if (!figures[f].of_run)
				figure_result(g, i, f, &out[n++]);
	for (uint32_t f = 0; f < FIGURES; f++)
		if (figures[f].of_run && !isnan(spread_over(g, 0, f).mean))
			figure_result(g, 0, f, &out[n++]);
	return (struct counter_list){out, n};
}

static struct result_confidence *confidence_result(const struct repeating *g)
{
	struct result_confidence *out = arena_zalloc(g->series->arena, sizeof(*out));

	*out = (struct result_confidence){g->count, g->skipped, g->settings->confidence,
		g->settings->width, repeat_is_known(g), figures_result(g)};
	return out;
}

static struct counter_list repeats_result(const struct repeating *g)
{
	struct result_repeat *out = arena_zalloc(g->series->arena, (g->count + 1) * sizeof(*out));

	for (uint32_t i = 0; i < g->count; i++)
		out[i] = (struct result_repeat){.cpu_used = figure_of(&g->valid[i], 0, REPEAT_CPU),
			.dut_used = figure_of(&g->valid[i], 0, REPEAT_DUT_CPU),
			.seed = g->valid[i].run.seed,
			.verdict = g->valid[i].verdict.status,
			.capture = series_capture(&g->valid[i]),
			.traffic = g->valid[i].traffic};
	return (struct counter_list){out, g->count};
}

// Returns the median run, by the rate of the first item.
static const struct result *repeat_middle(const struct repeating *g)
{
	const struct result *best = &g->valid[0];
	double median = spread_over(g, 0, REPEAT_RATE).median, off = INFINITY;

	for (uint32_t i = 0; i < g->count; i++) {
		double d = fabs(figure_of(&g->valid[i], 0, REPEAT_RATE) - median);

		if (d < off)
			best = &g->valid[i];
		off = fmin(off, d);
	}
	return best;
}

static void repeat_tell(const struct repeating *g)
{
	const struct result_item *items = g->valid[0].traffic.items;
	struct spread s = spread_over(g, 0, REPEAT_RATE);
	double width = s.mean > 0 ? (s.high - s.low) / s.mean : INFINITY;
	char rate[32], mean[32], known[32];

	stats_format(
		figure_of(&g->valid[g->count - 1], 0, REPEAT_RATE), "per_s", rate, sizeof(rate));
	stats_format(s.mean, "per_s", mean, sizeof(mean));
	stats_format(width, "1", known, sizeof(known));
	run_note(g->series->options,
		"repeat %u: %s answered %s; mean %s, interval %s wide (asked for %g %%)", g->count,
		items[0].name, rate, mean, isinf(width) ? "any" : known, 100 * g->settings->width);
}

// A criterion that fails in any run fails.
static void repeat_judge(struct repeating *g, struct result *out)
{
	for (uint32_t i = 0; i < g->count; i++) {
		const struct result_verdict *v = &g->valid[i].verdict;
		const char *const *reasons = v->reasons.items;

		if (strcmp(v->status, "fail") != 0)
			continue;
		out->verdict.status = "fail";
		out->verdict.exit_code = EXIT_FAIL;
		for (uint32_t k = 0; k < v->reasons.count; k++)
			series_reason(g->series, &out->verdict,
				arena_printf(g->series->arena, "repeat %u: %s", i + 1, reasons[k]));
	}
	if (!out->confidence->reached)
		series_reason(g->series, &out->verdict,
			arena_printf(g->series->arena,
				"after %u runs the mean is not known within %g %% at %g %% "
				"confidence: see the intervals",
				g->count, 100 * g->settings->width, 100 * g->settings->confidence));
}

// Did this run end the series, by its verdict?
static bool is_ended_by_run(const struct repeating *g, int code)
{
	return code != 0 && code != EXIT_INTERRUPTED && g->last.verdict.status;
}

static const char *why_ended(const struct repeating *g, int code)
{
	struct arena *a = g->series->arena;

	if (code == EXIT_INTERRUPTED)
		return arena_printf(a, "interrupted, after %u runs that count", g->count);
	if (is_ended_by_run(g, code))
		return arena_printf(a, "ended by run %u, after %u that count", g->runs, g->count);
	return arena_printf(a,
		"run %u could not begin%s, after %u that count: see the message on standard error",
		g->runs, code == EXIT_CONFIG ? " because of the configuration" : "", g->count);
}

// The run that ended the series early determines the verdict, whatever the runs before it.
static void end_early(const struct repeating *g, int code, struct result *out)
{
	const char *last = is_ended_by_run(g, code) ? g->last.verdict.status : "invalid";

	out->verdict.status = code == EXIT_INTERRUPTED ? "interrupted" : last;
	out->verdict.exit_code = (uint64_t)code;
	series_reason(g->series, &out->verdict, why_ended(g, code));
}

static int repeat_finish(struct repeating *g, int code, struct result *out)
{
	if (g->count == 0) {
		*out = g->last;
		if (code == EXIT_INTERRUPTED && out->verdict.status)
			end_early(g, code, out);
		return code;
	}
	*out = is_ended_by_run(g, code) ? g->last : *repeat_middle(g);
	if (!is_ended_by_run(g, code))
		out->verdict.reasons = (struct counter_list){NULL, 0};
	out->confidence = confidence_result(g);
	out->repeats = repeats_result(g);
	repeat_judge(g, out);
	if (code == 0)
		return (int)out->verdict.exit_code;
	end_early(g, code, out);
	return code;
}

// Runs once more. Returns 0, or the exit code that ends the series.
static int run_again(struct repeating *g, uint32_t *invalid)
{
	int code = series_run(g->series, g->texts, g->text_count, &g->last);

	g->runs++;
	if ((code == EXIT_PASS || code == EXIT_FAIL) && g->skipped < g->settings->skip) {
		g->skipped++;
		*invalid = 0;
		run_note(g->series->options, "run %u: left out (run.repeat.skip: %llu)", g->runs,
			(unsigned long long)g->settings->skip);
		return 0;
	}
	if (code == EXIT_PASS || code == EXIT_FAIL) {
		g->valid[g->count++] = g->last;
		*invalid = 0;
		repeat_tell(g);
		return 0;
	}
	if (code != EXIT_INVALID || ++*invalid == INVALID_MAX)
		return code;
	run_note(g->series->options, "run %u: invalid because of the tester, so it does not count",
		g->runs);
	return 0;
}

static int repeat_all(struct repeating *g)
{
	uint32_t invalid = 0;
	int code = 0;

	while (code == 0 && !repeat_is_enough(g)) {
		if (g->runs && !series_rest(g->series, g->settings->rest_ns))
			return EXIT_INTERRUPTED;
		code = run_again(g, &invalid);
	}
	return code;
}

int series_run_repeats(struct series *s, char *const *texts, unsigned count,
	struct series_repeats *seen, struct result *out)
{
	struct repeating g = {.series = s,
		.settings = s->config->run.repeat,
		.texts = texts,
		.text_count = count};
	int code;

	g.valid = arena_zalloc(s->arena, g.settings->max * sizeof(*g.valid));
	code = repeat_finish(&g, repeat_all(&g), out);
	*seen = (struct series_repeats){g.valid, g.count};
	return code;
}

int series_repeat(struct series *s, struct result *out)
{
	struct series_repeats seen;
	int code, kept;

	memset(out, 0, sizeof(*out));
	code = series_open(s, s->options);
	if (code == 0)
		code = series_run_repeats(s, NULL, 0, &seen, out);
	kept = series_close(s);
	return code ? code : kept;
}

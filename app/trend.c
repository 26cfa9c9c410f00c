// SPDX-License-Identifier: BSD-3-Clause
// One-sided prediction limits from the last runs of a history, and the gate of them. Path: cold.
// Main thread.
#include "trend.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/student.h"
#include "book.h"
#include "commands.h"
#include "conf/units.h"
#include "engine/series/spread.h"
#include "figures.h"
#include "history.h"

// Differences that no user cares for, and that one bucket of a histogram makes.
#define LEAST_SHARE  0.01   // of the mean
#define LEAST_POINTS 0.0001 // of a figure that is a share itself
#define SURE         0.9999 // more is not printed: the method is not that exact

// Where even changes of this size would not be noticed, nothing is judged.
#define NOISY_FACTOR 3.0 // of a time
#define NOISY_SHARE  0.5 // of a rate
#define NOISY_POINTS 0.1 // of a figure that is a share itself

static const char *const figures_of_items[] = {
	"answered_per_s", "loss", "latency.response.p50_ns", "latency.response.p99_ns"};

#define FIGURES (sizeof(figures_of_items) / sizeof(figures_of_items[0]))

// --- the judgement

// Times vary by factors, so their logarithms are what is normal.
static bool is_time(const struct trend_figure *f)
{
	return strcmp(figures_unit(f->path), "ns") == 0;
}

static bool is_share(const struct trend_figure *f)
{
	return strcmp(figures_unit(f->path), "1") == 0;
}

static double scaled(const struct trend_figure *f, double value)
{
	return is_time(f) ? log(fmax(value, 1)) : value;
}

void trend_judge(struct trend_figure *f, double confidence, unsigned together)
{
	double y[TREND_RUNS], sign = is_time(f) || is_share(f) ? 1 : -1, away, error, tail, reach;
	struct spread s;

	for (unsigned i = 0; i < f->count; i++)
		y[i] = scaled(f, f->past[i]);
	s = spread_of(y, f->count, confidence);
	error = s.stddev * sqrt(1 + 1.0 / f->count);
	reach = student_quantile(1 - 2 * (1 - confidence) / together, f->count - 1) * error;
	reach = fmax(reach, is_time(f)    ? log1p(LEAST_SHARE)
			    : is_share(f) ? LEAST_POINTS
					  : LEAST_SHARE * fabs(s.mean));
	f->noisy = reach > (is_time(f)           ? log(NOISY_FACTOR)
				   : is_share(f) ? NOISY_POINTS
						 : NOISY_SHARE * fabs(s.mean));
	away = sign * (scaled(f, f->value) - s.mean);
	tail = away <= 0 ? 1 : error > 0 ? student_outside(away / error, f->count - 1) / 2 : 0;
	f->confidence = fmax(0, 1 - together * tail);
	f->worse = away > reach;
	f->noisy = f->noisy && !f->worse;
	f->mean = is_time(f) ? exp(s.mean) : s.mean;
	f->bound = is_time(f) ? exp(s.mean + reach) : s.mean + sign * reach;
}

// --- collecting

static double value_at(const json_t *item, const char *path)
{
	const json_t *value = book_at(item, path);

	if (json_is_null(value) && book_number(item, "lost") > 0)
		return INFINITY;
	return book_number(item, path);
}

static const json_t *named(const json_t *list, const char *key, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) if (strcmp(book_text(one, key), name) == 0) return one;
	return NULL;
}

// The answer of a goal is a figure of the item "search", by the name of the goal.
static double value_of(const json_t *entry, const struct trend_figure *f)
{
	const json_t *goal;

	if (strcmp(f->item, "search") != 0 || !json_object_get(entry, "search"))
		return value_at(named(book_at(entry, "traffic"), "name", f->item), f->path);
	goal = named(book_at(entry, "search.goals"), "goal", f->path + strlen("search.answer."));
	if (!goal)
		return NAN;
	return json_is_null(book_at(goal, "answer")) ? 0 : book_number(goal, "answer");
}

static struct trend_figure *add_figure(struct trend *t, const char *item, const char *path)
{
	t->figures[t->count] = (struct trend_figure){.item = item, .path = path};
	return &t->figures[t->count++];
}

// The traffic of a search is that of its last trial, whose load is another one in each run.
static void list_figures(struct trend *t, const json_t *entry, struct arena *a)
{
	const json_t *search = json_object_get(entry, "search"), *one;
	const json_t *list = search ? book_at(search, "goals") : book_at(entry, "traffic");
	size_t i;

	t->figures = arena_zalloc(a, (json_array_size(list) * FIGURES + 1) * sizeof(*t->figures));
	json_array_foreach(list, i, one)
	{
		if (search)
			add_figure(t, "search",
				arena_printf(a, "search.answer.%s", book_text(one, "goal")));
		for (size_t k = 0; !search && k < FIGURES; k++)
			add_figure(t, book_text(one, "name"), figures_of_items[k]);
	}
	for (unsigned n = 0; n < t->count; n++)
		t->figures[n].value = value_of(entry, &t->figures[n]);
}

static bool is_judged_verdict(const char *status)
{
	return strcmp(status, "invalid") != 0 && strcmp(status, "interrupted") != 0 &&
	       strcmp(status, "unreachable") != 0;
}

static bool is_same_test(const json_t *a, const json_t *b)
{
	const char *key = *book_text(a, HISTORY_TEST) && *book_text(b, HISTORY_TEST)
	                          ? HISTORY_TEST
	                          : "run.config_sha256";

	return strcmp(book_text(a, key), book_text(b, key)) == 0;
}

static void take_run(struct trend *t, const json_t *past)
{
	t->first = book_text(past, "run.started");
	t->last = t->runs == 0 ? t->first : t->last;
	t->runs++;
	for (unsigned i = 0; i < t->count; i++) {
		struct trend_figure *f = &t->figures[i];
		double value = value_of(past, f);

		if (isinf(value))
			f->lost++;
		else if (!isnan(value))
			f->past[f->count++] = value;
	}
}

// A rank among the lost is worse than any number, and nothing to compute with.
static void judge_figure(struct trend_figure *f, double confidence, unsigned together)
{
	if (isfinite(f->value)) {
		trend_judge(f, confidence, together);
		return;
	}
	f->value = 0;
	trend_judge(f, confidence, together);
	f->value = INFINITY;
	f->confidence = 1;
	f->worse = true;
	f->noisy = false;
}

void trend_of(const json_t *entries, const json_t *entry, double confidence, struct arena *a,
	struct trend *out)
{
	size_t before = json_array_size(entries);
	const json_t *one;
	size_t i;

	*out = (struct trend){.first = "", .last = ""};
	list_figures(out, entry, a);
	json_array_foreach(entries, i,
		one) if (strcmp(book_text(one, "run.id"), book_text(entry, "run.id")) == 0 &&
			 i < before) before = i;
	while (before-- > 0) {
		one = json_array_get(entries, before);
		if (strcmp(book_text(one, "run.name"), book_text(entry, "run.name")) != 0)
			continue;
		if (!is_judged_verdict(book_text(one, "verdict.status")) ||
			!is_same_test(one, entry)) {
			out->others++;
			continue;
		}
		if (out->runs == TREND_RUNS)
			continue;
		out->boxes += strcmp(book_text(one, "run.host.cpu"),
				      book_text(entry, "run.host.cpu")) != 0;
		take_run(out, one);
	}
	for (i = 0; i < out->count; i++) {
		struct trend_figure *f = &out->figures[i];

		f->judged = f->count >= TREND_RUNS_MIN && f->lost == 0 && !isnan(f->value);
		out->judged += f->judged;
	}
	for (i = 0; i < out->count; i++)
		if (out->figures[i].judged) {
			judge_figure(&out->figures[i], confidence, out->judged);
			out->noisy += out->figures[i].noisy;
		}
}

// --- the chart

static json_t *number_or_lost(double value)
{
	return isinf(value) ? json_string("lost") : isnan(value) ? json_null() : json_real(value);
}

static json_t *run_json(const json_t *entry, const json_t *before)
{
	bool changed = before && !is_same_test(before, entry);

	return json_pack("{s:s, s:s, s:s, s:s, s:b}", "id", book_text(entry, "run.id"), "started",
		book_text(entry, "run.started"), "version", book_text(entry, "run.version"),
		"status", book_text(entry, "verdict.status"), "changed", changed);
}

static json_t *figure_json(const struct trend_figure *f, const json_t *runs)
{
	json_t *values = json_array(), *out;
	const json_t *one;
	size_t i;

	json_array_foreach(runs, i, one)
		json_array_append_new(values, number_or_lost(value_of(one, f)));
	out = json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:o}", "item", f->item, "path", f->path,
		"unit", figures_unit(f->path), "judged", f->judged, "worse", f->worse, "noisy",
		f->judged && f->noisy, "values", values);
	if (f->judged) {
		json_object_set_new(out, "mean", number_or_lost(f->mean));
		json_object_set_new(out, "bound", number_or_lost(f->bound));
		json_object_set_new(out, "confidence", json_real(fmin(f->confidence, SURE)));
	}
	return out;
}

// The entry and those before it of the same name, in their order. Borrowed entries.
static json_t *runs_up_to(const json_t *entries, const json_t *entry)
{
	json_t *runs = json_array();
	json_t *one;
	size_t i;

	json_array_foreach(entries, i, one)
	{
		if (strcmp(book_text(one, "run.id"), book_text(entry, "run.id")) == 0)
			break;
		if (strcmp(book_text(one, "run.name"), book_text(entry, "run.name")) == 0)
			json_array_append(runs, one);
	}
	json_array_append(runs, (json_t *)entry);
	while (json_array_size(runs) > TREND_SHOWN)
		json_array_remove(runs, 0);
	return runs;
}

json_t *trend_series(const json_t *entries, const json_t *entry)
{
	json_t *runs = runs_up_to(entries, entry), *list = json_array(), *figures = json_array();
	struct arena *a = arena_new();
	struct trend t;

	trend_of(entries, entry, TREND_DEFAULT, a, &t);
	if (!is_judged_verdict(book_text(entry, "verdict.status")) || t.runs < TREND_RUNS_MIN)
		for (unsigned i = 0; i < t.count; i++)
			t.figures[i].judged = t.figures[i].worse = t.figures[i].noisy = false;
	for (size_t i = 0; i < json_array_size(runs); i++)
		json_array_append_new(list,
			run_json(json_array_get(runs, i), i ? json_array_get(runs, i - 1) : NULL));
	for (unsigned i = 0; i < t.count; i++)
		json_array_append_new(figures, figure_json(&t.figures[i], runs));
	json_decref(runs);
	arena_free(a);
	return json_pack("{s:o, s:o, s:i, s:f}", "runs", list, "figures", figures, "compared",
		(int)t.runs, "confidence", TREND_DEFAULT);
}

// --- the gate

static const char *confidence_text(double confidence, char *buf, size_t room)
{
	snprintf(buf, room, confidence > SURE ? "> %.2f %%" : "%.2f %%",
		100 * fmin(confidence, SURE));
	return buf;
}

// The least of its past values, or with -1 the least of their opposites.
static double least(const struct trend_figure *f, double sign)
{
	double value = INFINITY;

	for (unsigned i = 0; i < f->count; i++)
		value = fmin(value, sign * f->past[i]);
	return value;
}

static void print_figure(const struct trend_figure *f)
{
	const char *unit = figures_unit(f->path);
	char mean[32], value[32], bound[32], confidence[32];

	printf("  %-28s %12s", f->path, figures_text(f->value, unit, value, sizeof(value)));
	if (f->judged && f->noisy)
		printf(" %12s %12s  too noisy: %s to %s before\n",
			figures_text(f->mean, unit, mean, sizeof(mean)), "-",
			figures_text(least(f, 1), unit, bound, sizeof(bound)),
			figures_text(-least(f, -1), unit, confidence, sizeof(confidence)));
	else if (f->judged)
		printf(" %12s %12s  %s\n", figures_text(f->mean, unit, mean, sizeof(mean)),
			figures_text(f->bound, unit, bound, sizeof(bound)),
			f->worse ? confidence_text(f->confidence, confidence, sizeof(confidence))
				 : "no");
	else if (f->lost)
		printf("  not judged: lost in %u of the runs\n", f->lost);
	else
		printf("  not judged: known in %u of the runs\n", f->count);
}

static void print_trend(const struct trend *t)
{
	const char *item = NULL;

	for (unsigned i = 0; i < t->count; i++) {
		const struct trend_figure *f = &t->figures[i];

		if (!item || strcmp(item, f->item) != 0)
			printf("\n%-30s %12s %12s %12s  worse\n", f->item, "this run", "mean",
				"bound");
		item = f->item;
		print_figure(f);
	}
	putchar('\n');
}

// The last line: the figures that are worse, each with its confidence, or those that nobody can
// judge. The exit code.
static int print_verdict(const struct trend *t, double confidence)
{
	unsigned worse = 0, noisy = 0;
	char text[32];

	for (unsigned i = 0; i < t->count; i++) {
		const struct trend_figure *f = &t->figures[i];

		if (f->worse)
			printf("%s%s of %s (%s)",
				worse++ ? ", " : "FAIL: worse than the last runs: ", f->path,
				f->item, confidence_text(f->confidence, text, sizeof(text)));
	}
	for (unsigned i = 0; i < t->count && worse == 0; i++) {
		const struct trend_figure *f = &t->figures[i];

		if (f->noisy)
			printf("%s%s of %s", noisy++ ? ", " : "TOO NOISY TO JUDGE: ", f->path,
				f->item);
	}
	if (noisy)
		printf(" differed too much in the last %u runs; a quieter box, longer runs or more "
		       "of them help",
			t->runs);
	else if (worse == 0)
		printf("PASS: not worse than the last %u runs (%.4g %% confidence, "
		       "figures judged: %u)",
			t->runs, 100 * confidence, t->judged);
	putchar('\n');
	return worse ? EXIT_FAIL : noisy ? EXIT_NOISY : EXIT_PASS;
}

static int judge(
	const struct options *o, const json_t *entries, const json_t *entry, double confidence)
{
	const char *name = book_text(entry, "run.name"),
		   *status = book_text(entry, "verdict.status");
	struct trend t;

	trend_of(entries, entry, confidence, o->arena, &t);
	if (!o->quiet && t.runs)
		printf("%s: the last %u runs of %s with this configuration, %s to %s\n", o->history,
			t.runs, name, t.first, t.last);
	if (t.boxes)
		log_warning("compare: %u of the last %u runs had another CPU (%s here)", t.boxes,
			t.runs, book_text(entry, "run.host.cpu"));
	if (!is_judged_verdict(status)) {
		log_error(
			"compare: %s: its verdict is %s, so it is not judged", o->operand, status);
		return EXIT_INVALID;
	}
	if (t.runs < TREND_RUNS_MIN || t.judged == 0) {
		log_error(
			"compare: %s: %u runs to compare with, at least %u are needed: of the "
			"name %s, with this configuration, and a verdict on the server (%u others "
			"have the name); add runs by ddiperf report RESULT.json --append",
			o->history, t.runs, TREND_RUNS_MIN, name, t.others);
		return EXIT_INVALID;
	}
	if (!o->quiet)
		print_trend(&t);
	return print_verdict(&t, confidence);
}

static int refuse(const char *reason)
{
	log_error("compare: %s (see ddiperf compare --help)", reason);
	return EXIT_CONFIG;
}

int trend_gate(const struct options *o)
{
	double confidence = TREND_DEFAULT;
	const char *expected = "";
	json_t *entries, *entry;
	struct book b;
	int code;

	if (o->operand_count > 1 || o->baseline || o->margin_count)
		return refuse("--history judges one result, without --baseline and --fail-on");
	if (o->confidence && (units_parse_percent(o->confidence, &confidence, &expected) < 0 ||
				     confidence < 0.5 || confidence > SURE))
		return refuse("--confidence is a percentage from 50% to 99.99%");
	entries = history_read(o->history);
	if (!entries)
		return EXIT_CONFIG;
	if (book_open(&b, o->operand) < 0) {
		json_decref(entries);
		return EXIT_CONFIG;
	}
	entry = history_entry(&b);
	code = judge(o, entries, entry, confidence);
	json_decref(entry);
	json_decref(entries);
	book_close(&b);
	return code;
}

// SPDX-License-Identifier: BSD-3-Clause
// One-sided prediction limits from the last runs of a history. Path: cold. Main thread.
#include "compare/trend.h"

#include <math.h>
#include <string.h>

#include "base/nearest.h"
#include "base/student.h"
#include "document/document_reader.h"
#include "engine/series/spread.h"
#include "compare/figures.h"
#include "compare/history.h"

// Smaller differences do not matter to users, and can come from one bucket of a histogram.
#define LEAST_SHARE  0.01   // of the mean
#define LEAST_POINTS 0.0001 // of a figure that is a share itself

// If changes of this size would not be noticed, nothing is judged.
#define NOISY_FACTOR 3.0 // of a time
#define NOISY_SHARE  0.5 // of a rate
#define NOISY_POINTS 0.1 // of a figure that is a share itself

static const char *const figures_of_items[] = {
	"answered_per_s", "loss", "latency.response.p50_ns", "latency.response.p99_ns"};

#define FIGURES (sizeof(figures_of_items) / sizeof(figures_of_items[0]))

// --- the judgement

// Times vary by factors, so their logarithms are normally distributed.
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
	const json_t *value = document_at(item, path);

	if (json_is_null(value) && document_number(item, "lost") > 0)
		return INFINITY;
	return document_number(item, path);
}

// The answer of a goal is a figure of the item "search", by the name of the goal.
static double value_of(const json_t *entry, const struct trend_figure *f)
{
	const json_t *goal;

	if (strcmp(f->item, "search") != 0 || !json_object_get(entry, "search"))
		return value_at(
			document_named(document_at(entry, "traffic"), "name", f->item), f->path);
	goal = document_named(
		document_at(entry, "search.goals"), "goal", f->path + strlen("search.answer."));
	if (!goal)
		return NAN;
	return json_is_null(document_at(goal, "answer")) ? 0 : document_number(goal, "answer");
}

static struct trend_figure *add_figure(struct trend *t, const char *item, const char *path)
{
	t->figures[t->count] = (struct trend_figure){.item = item, .path = path};
	return &t->figures[t->count++];
}

// The traffic of a search belongs to its last trial, whose load differs from run to run.
static void list_figures(struct trend *t, const json_t *entry, struct arena *a)
{
	const json_t *search = json_object_get(entry, "search"), *one;
	const json_t *list = search ? document_at(search, "goals") : document_at(entry, "traffic");
	size_t i;

	t->figures = arena_zalloc(a, (json_array_size(list) * FIGURES + 1) * sizeof(*t->figures));
	json_array_foreach(list, i, one)
	{
		if (search)
			add_figure(t, "search",
				arena_printf(a, "search.answer.%s", document_text(one, "goal")));
		for (size_t k = 0; !search && k < FIGURES; k++)
			add_figure(t, document_text(one, "name"), figures_of_items[k]);
	}
	for (unsigned n = 0; n < t->count; n++)
		t->figures[n].value = value_of(entry, &t->figures[n]);
}

bool trend_may_judge(const char *status)
{
	return !word_is_among(status, "invalid interrupted unreachable");
}

static bool is_same_test(const json_t *a, const json_t *b)
{
	const char *key = *document_text(a, HISTORY_TEST) && *document_text(b, HISTORY_TEST)
	                          ? HISTORY_TEST
	                          : "run.config_sha256";

	return strcmp(document_text(a, key), document_text(b, key)) == 0;
}

static void take_run(struct trend *t, const json_t *past)
{
	t->first = document_text(past, "run.started");
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

// A rank among lost transactions is worse than any number, and cannot be used in computations.
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
	json_array_foreach(entries, i, one) if (strcmp(document_text(one, "run.id"),
							document_text(entry, "run.id")) == 0 &&
						i < before) before = i;
	while (before-- > 0) {
		one = json_array_get(entries, before);
		if (strcmp(document_text(one, "run.name"), document_text(entry, "run.name")) != 0)
			continue;
		if (!trend_may_judge(document_text(one, "verdict.status")) ||
			!is_same_test(one, entry)) {
			out->others++;
			continue;
		}
		if (out->runs == TREND_RUNS)
			continue;
		out->boxes += strcmp(document_text(one, "run.host.cpu"),
				      document_text(entry, "run.host.cpu")) != 0;
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

	return json_pack("{s:s, s:s, s:s, s:s, s:b}", "id", document_text(entry, "run.id"),
		"started", document_text(entry, "run.started"), "version",
		document_text(entry, "run.version"), "status",
		document_text(entry, "verdict.status"), "changed", changed);
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
		json_object_set_new(out, "confidence", json_real(fmin(f->confidence, TREND_SURE)));
	}
	return out;
}

// Returns the entry, and earlier entries of the same name, in their order. Borrowed entries.
static json_t *runs_up_to(const json_t *entries, const json_t *entry)
{
	json_t *runs = json_array();
	json_t *one;
	size_t i;

	json_array_foreach(entries, i, one)
	{
		if (strcmp(document_text(one, "run.id"), document_text(entry, "run.id")) == 0)
			break;
		if (strcmp(document_text(one, "run.name"), document_text(entry, "run.name")) == 0)
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
	if (!trend_may_judge(document_text(entry, "verdict.status")) || t.runs < TREND_RUNS_MIN)
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

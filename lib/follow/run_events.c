// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "follow/run_events.h"

#include <math.h>
#include <stdlib.h>

#include "document/document.h"
#include "stats/json.h"

void run_events_follow(struct run_events *l, struct run_events_follower f)
{
	if (l->count == RUN_EVENTS_FOLLOWERS)
		abort(); // there are fewer kinds of them
	l->followers[l->count++] = f;
}

void run_events_put(struct run_events *l, json_t *line)
{
	for (unsigned i = 0; i < l->count; i++)
		l->followers[i].line(l->followers[i].ctx, line);
	json_decref(line);
}

// The members of the result that are known by then.
static json_t *part_of(
	const struct result *r, const struct config *c, const char *const *names, unsigned count)
{
	json_t *document = document_result(r, c), *out = json_object();

	for (unsigned i = 0; i < count; i++)
		if (json_object_get(document, names[i]))
			json_object_set(out, names[i], json_object_get(document, names[i]));
	json_decref(document);
	return out;
}

static json_t *line_of(const char *kind, uint64_t number)
{
	json_t *line = json_object();

	json_object_set_new(line, kind, json_integer((json_int_t)number));
	return line;
}

void run_events_begin(struct run_events *l, const struct result *r, const struct config *file,
	const struct config *c)
{
	static const char *const known[] = {"schema", "run", "config"};
	json_t *line;

	if (!l->count)
		return;
	if (l->judges)
		so_far_begin(&l->so_far, c, r->run.host.tsc_hz);
	line = line_of(LINE_BEGIN, r->number);
	l->number = r->number;
	json_object_set_new(line, "warmup_s", json_real(1e-9 * (double)c->run.warmup_ns));
	json_object_set_new(line, "duration_s", json_real(1e-9 * (double)c->run.duration_ns));
	json_object_set_new(
		line, "result", part_of(r, file, known, sizeof(known) / sizeof(known[0])));
	run_events_put(l, line);
	if (l->trial)
		run_events_put(l, l->trial);
	l->trial = NULL;
}

static json_t *earlier_of(const struct result_interval_item *i)
{
	json_t *list = json_array();

	for (uint32_t n = 0; n < i->earlier_count; n++)
		json_array_append_new(list, stats_json(&result_earlier_section, &i->earlier[n]));
	return list;
}

// Adds the verdict so far, in the form of the document's criteria.
static void put_verdict(struct run_events *l, const struct result_interval *i, json_t *line)
{
	struct arena *a = arena_new();
	const struct result_criterion *c;
	struct counter_list list;
	json_t *out = json_array();
	const char *why;

	so_far_add(&l->so_far, i);
	list = so_far_criteria(&l->so_far, a);
	why = so_far_invalid(&l->so_far, a);
	c = list.items;
	for (uint32_t n = 0; n < list.count; n++) {
		json_t *one = stats_json(&result_criterion_section, &c[n]);

		if (isnan(c[n].value)) // nothing yet: neither met nor missed
			json_object_set_new(one, "pass", json_null());
		json_array_append_new(out, one);
	}
	if (list.count)
		json_object_set(line, LINE_CRITERIA, out);
	if (why)
		json_object_set_new(line, LINE_INVALID, json_string(why));
	json_decref(out);
	arena_free(a);
}

void run_events_interval(struct run_events *l, const struct result_interval *i, bool warmup)
{
	const struct result_interval_item *items = i->traffic.items;
	json_t *line, *list;

	if (!l->count)
		return;
	line = stats_json(&result_interval_section, i);
	document_blank(line, 0.99); // a chart over time has the longest as its p99
	list = json_object_get(line, "traffic");
	json_object_set_new(line, LINE_NUMBER, json_integer((json_int_t)i->number));
	if (warmup)
		json_object_set_new(line, LINE_WARMUP, json_true());
	if (i->last)
		json_object_set_new(line, LINE_LAST, json_true());
	for (uint32_t n = 0; n < i->traffic.count; n++)
		if (items[n].earlier_count)
			json_object_set_new(
				json_array_get(list, n), LINE_EARLIER, earlier_of(&items[n]));
	if (l->judges && !warmup)
		put_verdict(l, i, line);
	run_events_put(l, line);
}

static json_t *number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

void run_events_trial(struct run_events *l, const struct result_trial *t, uint32_t number,
	double answer, double upper)
{
	json_t *line, *figures;

	if (!l->count)
		return;
	line = line_of(LINE_TRIAL, number);
	figures = stats_json(&result_trial_section, t);
	json_object_set_new(line, "answer", number_or_null(answer));
	json_object_set_new(line, "upper", number_or_null(upper));
	json_object_update(line, figures);
	json_decref(figures);
	if (t->verdict) {
		run_events_put(l, line);
		return;
	}
	json_decref(l->trial);
	l->trial = line;
}

void run_events_order(struct run_events *l, const char *text, const char *refused)
{
	json_t *line = json_object();

	json_object_set_new(line, LINE_ORDER, json_string(text));
	if (refused)
		json_object_set_new(line, "refused", json_string(refused));
	run_events_put(l, line);
}

void run_events_end(struct run_events *l, const struct result *r)
{
	static const char *const known[] = {"verdict", "search", "confidence"};
	json_t *line;

	if (!l->count)
		return;
	line = line_of(LINE_END, l->number);
	json_object_set_new(
		line, "result", part_of(r, NULL, known, sizeof(known) / sizeof(known[0])));
	run_events_put(l, line);
}

void run_events_tick(struct run_events *l)
{
	for (unsigned i = 0; i < l->count; i++)
		if (l->followers[i].tick)
			l->followers[i].tick(l->followers[i].ctx);
}

void run_events_close(struct run_events *l)
{
	for (unsigned i = 0; i < l->count; i++)
		if (l->followers[i].close)
			l->followers[i].close(l->followers[i].ctx);
	json_decref(l->trial);
	so_far_forget(&l->so_far);
	*l = (struct run_events){0};
}

char *run_events_text(const json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(15));

	if (!text)
		abort(); // memory for JSON is never NULL (main.c)
	return text;
}

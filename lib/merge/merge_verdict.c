// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "merge/merge_verdict.h"

#include <math.h>
#include <string.h>

#include "proto/table.h"
#include "document/document_reader.h"
#include "engine/config/condition.h"
#include "engine/run/limit.h"
#include "engine/run/run.h"

// The member of a path in which the elements of lists have their names.
static const json_t *member_at(const json_t *in, const char *path)
{
	const json_t *one, *found = NULL;
	const char *end = path + strcspn(path, ".");
	char name[64];
	size_t i;

	if (!in || !*path || (size_t)(end - path) >= sizeof(name))
		return in && !*path ? in : NULL;
	memcpy(name, path, (size_t)(end - path));
	name[end - path] = '\0';
	if (json_is_array(in))
		json_array_foreach((json_t *)in, i, one) found =
			strcmp(document_text(one, "name"), name) == 0 ? one : found;
	else
		found = json_object_get(in, name);
	return found && *end ? member_at(found, end + 1) : found;
}

static bool is_value(const json_t *one)
{
	return json_is_number(one) || json_is_boolean(one) || json_is_null(one);
}

// A figure that is not there has not happened, unless it is of another protocol.
bool merge_figure(const struct condition *k, const char *protocol, const json_t *item, double *out)
{
	static const char *const of[] = {"sent", "answered", "failed", "lost"};
	const json_t *value = member_at(item, k->figure);
	size_t first = strcspn(k->figure, "."), own = strlen(protocol);
	double all = 0;

	for (unsigned n = 0; protos[n]; n++)
		if (strlen(protos[n]->name) == first &&
			strncmp(protos[n]->name, k->figure, first) == 0 &&
			(first != own || strncmp(protocol, k->figure, own) != 0))
			return false;
	if (value && !is_value(value))
		return false;
	*out = json_is_number(value) ? json_number_value(value) : json_is_true(value);
	if (json_is_null(value)) // above all that was measured, or nothing was
		*out = strstr(k->figure, "_ns") && document_number(item, "lost") > 0 ? INFINITY
		                                                                     : NAN;
	else if (!value && strstr(k->figure, "_ns"))
		*out = NAN;
	if (!k->share)
		return true;
	for (size_t i = k->interval ? 1 : 0; i < (k->interval ? 4 : 1); i++)
		all += fmax(document_number(item, of[i]), 0);
	*out = all > 0 ? *out / all : 0;
	return true;
}

// Over the whole intervals; over all if there is one only. false: no such figure.
static bool of_intervals(const struct condition *k, const char *protocol, const json_t *sum,
	size_t item, double *out)
{
	const json_t *intervals = json_object_get(sum, "intervals"), *one, *at;
	size_t count = json_array_size(intervals), i;
	double total = 0, worst = NAN, value;
	unsigned n = 0;

	json_array_foreach((json_t *)intervals, i, one)
	{
		at = json_array_get(json_object_get(one, "traffic"), item);
		if (count > 1 && i + 1 == count)
			break;
		if (!merge_figure(k, protocol, at, &value))
			return false;
		if (!(document_number(at, "due") > 0))
			continue;
		worst = k->fold == FOLD_MIN ? fmin(worst, value) : fmax(worst, value);
		total += value;
		n++;
	}
	*out = k->fold == FOLD_MEAN && n ? total / n : worst;
	return true;
}

static bool only_tells(const json_t *item)
{
	double sent = document_number(item, "sent");

	return sent > 0 && sent == document_number(item, "no_reply");
}

static json_t *criterion(const char *expression, const struct condition *k, double value)
{
	json_t *one = json_pack("{s:s, s:o, s:b}", "expression", expression, "value",
		isfinite(value) ? json_real(value) : json_null(), "pass",
		condition_holds(k, value));

	if (k->unit)
		json_object_set_new(one, "unit", json_string(k->unit));
	return one;
}

static void judge_item(
	const struct condition *k, const json_t *sum, size_t n, json_t *out, struct arena *a)
{
	const json_t *items = json_object_get(sum, "traffic"), *item = json_array_get(items, n);
	const char *name = document_text(item, "name"), *text = k->text;
	double value;
	bool found;

	if (k->item && strcmp(k->item, name) != 0)
		return;
	found = k->interval ? of_intervals(k, document_text(item, "protocol"), sum, n, &value)
	                    : merge_figure(k, document_text(item, "protocol"), item, &value);
	if (!found || (!k->item && isnan(value) && only_tells(item)))
		return;
	if (!k->item && json_array_size(items) > 1)
		text = arena_printf(
			a, k->fold == FOLD_NONE ? "traffic.%s.%s" : "traffic.%s: %s", name, text);
	json_array_append_new(out, criterion(text, k, value));
}

static json_t *judge(const struct config *c, const json_t *sum, struct arena *a)
{
	const char *const *texts = c->criteria.items;
	struct condition_error e;
	struct condition k;
	json_t *out = json_array();

	for (uint32_t i = 0; i < c->criteria.count; i++)
		for (size_t n = 0; n < json_array_size(json_object_get(sum, "traffic")); n++)
			if (condition_parse(c, texts[i], CONDITION_VERDICT, a, &k, &e))
				judge_item(&k, sum, n, out, a);
	return out;
}

// Of the parts' verdicts.
struct parts {
	json_t *reasons; // each names its part
	unsigned interrupted, invalid, of_load, of_others, unreachable, unanswered, broken;
	double disturbed, harmed; // the most of them
	enum limit limit;
	const json_t *stopped; // the verdict of a part that a rule has ended
};

static enum limit limit_read(const char *name)
{
	enum limit l = LIMIT_WIRE;

	while (l > LIMIT_NONE && strcmp(limit_name(l), name) != 0)
		l--;
	return l;
}

double merge_total(const json_t *items, const char *name)
{
	const json_t *item;
	double sum = 0;
	size_t i;

	json_array_foreach((json_t *)items, i, item) sum += document_number(item, name);
	return sum;
}

// Sums hide a box that got no answer, if others did.
static void add_unanswered(struct parts *p, const json_t *part, uint64_t number, struct arena *a)
{
	const json_t *items = json_object_get(part, "traffic");
	double sent = merge_total(items, "sent") - merge_total(items, "no_reply");

	if (!(sent > 0) || merge_total(items, "answered") + merge_total(items, "failed") > 0)
		return;
	p->unanswered++;
	json_array_append_new(p->reasons,
		json_string(arena_printf(a, "part %llu: none of its %.0f requests was answered",
			(unsigned long long)number, sent)));
}

static void add_part(struct parts *p, const json_t *part, uint64_t number, struct arena *a)
{
	const json_t *verdict = json_object_get(part, "verdict");
	const char *status = document_text(verdict, "status");
	const char *by = document_text(verdict, "invalid_by");
	enum limit limit = limit_read(document_text(verdict, "limited_by"));
	const json_t *reason;
	size_t i;

	p->limit = limit > p->limit ? limit : p->limit;
	p->broken += document_number(verdict, "exit_code") == EXIT_INTERNAL;
	p->interrupted += strcmp(status, "interrupted") == 0;
	p->unreachable += strcmp(status, "unreachable") == 0;
	p->invalid += strcmp(status, "invalid") == 0;
	p->of_load += strcmp(by, "load") == 0;
	p->of_others += strcmp(by, "disturbance") == 0;
	p->disturbed = fmax(p->disturbed, document_number(verdict, "disturbed"));
	p->harmed = fmax(p->harmed, document_number(verdict, "harmed"));
	if (*document_text(verdict, "stopped"))
		p->stopped = verdict;
	if (strcmp(status, "pass") == 0 || strcmp(status, "done") == 0 ||
		strcmp(status, "fail") == 0) {
		add_unanswered(p, part, number, a);
		return;
	}
	json_array_foreach(json_object_get(verdict, "reasons"), i, reason) json_array_append_new(
		p->reasons, json_string(arena_printf(a, "part %llu: %s", (unsigned long long)number,
				    json_string_value(reason) ? json_string_value(reason) : "")));
}

static bool all_hold(json_t *criteria, json_t *reasons, struct arena *a)
{
	const json_t *one;
	bool hold = true;
	size_t i;

	json_array_foreach(criteria, i, one)
	{
		if (json_is_true(json_object_get(one, "pass")))
			continue;
		hold = false;
		json_array_append_new(reasons, json_string(arena_printf(a, "criterion not met: %s",
						       document_text(one, "expression"))));
	}
	return hold;
}

static json_t *verdict_of(const char *status, int code)
{
	return json_pack("{s:s, s:i}", "status", status, "exit_code", code);
}

json_t *merge_verdict(const struct config *c, const json_t *sum, json_t *const *parts,
	const uint64_t *numbers, unsigned count, json_t *missing, struct arena *a)
{
	struct parts p = {.reasons = json_deep_copy(missing)};
	unsigned absent = (unsigned)json_array_size(missing);
	json_t *criteria = judge(c, sum, a), *v;
	bool whole, by_load, by_others;

	for (unsigned k = 0; k < count; k++)
		add_part(&p, parts[k], numbers[k], a);
	whole = p.invalid && !absent && !p.unreachable;
	by_load = whole && p.of_load == p.invalid;
	by_others = whole && !by_load && p.of_load + p.of_others == p.invalid;
	if (p.broken)
		v = verdict_of("invalid", EXIT_INTERNAL);
	else if (p.interrupted)
		v = verdict_of("interrupted", EXIT_INTERRUPTED);
	else if (p.unreachable == count + absent)
		v = verdict_of("unreachable", EXIT_UNREACHABLE);
	else if (p.invalid || absent || p.unreachable)
		v = verdict_of("invalid", EXIT_INVALID);
	else if (!all_hold(criteria, p.reasons, a) || p.stopped)
		v = verdict_of("fail", EXIT_FAIL);
	else if (p.unanswered)
		v = verdict_of("invalid", EXIT_INVALID);
	else
		v = verdict_of(c->criteria.count || c->stop.count ? "pass" : "done", EXIT_PASS);
	json_object_set_new(v, "limited_by", json_string(limit_name(p.limit)));
	if (strcmp(document_text(v, "status"), "invalid") == 0)
		json_object_set_new(v, "invalid_by",
			json_string(by_load     ? "load"
				    : by_others ? "disturbance"
						: "tester"));
	json_object_set_new(v, "disturbed", json_real(p.disturbed));
	json_object_set_new(v, "harmed", json_real(p.harmed));
	json_object_set_new(v, "reasons", p.reasons);
	json_object_set_new(v, "criteria", criteria);
	if (p.stopped)
		json_object_set(v, "stopped", json_object_get(p.stopped, "stopped"));
	json_object_set_new(
		v, "stopped_s", json_real(p.stopped ? document_number(p.stopped, "stopped_s") : 0));
	return v;
}

void merge_invalidate(json_t *verdict, const char *reason, bool interrupted)
{
	json_t *reasons = json_object_get(verdict, "reasons");

	json_array_insert_new(reasons, 0, json_string(reason));
	if (interrupted || document_number(verdict, "exit_code") == EXIT_INTERNAL)
		return;
	json_object_set_new(verdict, "status", json_string("invalid"));
	json_object_set_new(verdict, "exit_code", json_integer(EXIT_INVALID));
	json_object_set_new(verdict, "invalid_by", json_string("tester"));
}

void merge_stop(json_t *verdict, const char *rule, double at_s)
{
	const char *status = document_text(verdict, "status");
	char text[512];

	if (!rule && strcmp(status, "done") == 0)
		json_object_set_new(verdict, "status", json_string("pass"));
	if (!rule)
		return;
	json_object_set_new(verdict, "stopped", json_string(rule));
	json_object_set_new(verdict, "stopped_s", json_real(at_s));
	snprintf(text, sizeof(text), "stopped %.3g s after the start of the measured part: %s",
		at_s, rule);
	json_array_insert_new(json_object_get(verdict, "reasons"), 0, json_string(text));
	if (strcmp(status, "pass") != 0 && strcmp(status, "done") != 0)
		return;
	json_object_set_new(verdict, "status", json_string("fail"));
	json_object_set_new(verdict, "exit_code", json_integer(EXIT_FAIL));
}

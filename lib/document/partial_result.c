// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "document/partial_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "document/distribution.h"
#include "engine/result/result.h"
#include "engine/run/run.h"

// NULL: the section has no such row, as of what a protocol counts, where everything is a count.
static const struct counter *row_of(const struct counter_section *s, const char *name)
{
	for (uint32_t i = 0; s && i < s->count; i++)
		if (strcmp(s->rows[i].name, name) == 0)
			return &s->rows[i];
	return NULL;
}

static double number_or(const json_t *in, const char *name, double otherwise)
{
	double value = document_number(in, name);

	return isnan(value) ? otherwise : value;
}

static json_t *same_in(json_t *list, const json_t *one);

static void add_numbers(json_t *to, const char *name, const json_t *from)
{
	json_t *sum = json_object_get(to, name);
	json_int_t whole;
	double real;

	if (!json_is_number(sum)) {
		json_object_set(to, name, (json_t *)from);
		return;
	}
	real = json_number_value(sum) + json_number_value(from);
	if (json_is_integer(from) && json_is_integer(sum) &&
		!__builtin_add_overflow(json_integer_value(sum), json_integer_value(from), &whole))
		json_object_set_new(to, name, json_integer(whole));
	else
		json_object_set_new(to, name, isfinite(real) ? json_real(real) : json_null());
}

static void add_distribution(json_t *to, const json_t *from)
{
	struct distribution d = {0};

	distribution_add(&d, to);
	distribution_add(&d, from);
	distribution_put(&d, to);
}

static void add_members(json_t *to, const struct counter_section *s, const json_t *from);

// The object, list or figure of an interval into the same of the sum. Of figures that do not add up
// gauges have their last value; shares, rates and percentiles are made anew at the end.
static void add_member(
	json_t *to, const struct counter_section *of, const char *name, const json_t *from)
{
	const struct counter *r = row_of(of, name);
	const struct counter_section *inner = r ? r->section : NULL;
	json_t *sum = json_object_get(to, name), *one;
	size_t i;

	if (json_is_number(from) && (!r || counter_adds_up(r))) {
		add_numbers(to, name, from);
	} else if (json_is_object(from)) {
		if (!json_is_object(sum))
			json_object_set_new(to, name, sum = json_object());
		if (distribution_is(from))
			add_distribution(sum, from);
		else
			add_members(sum, inner, from);
	} else if (json_is_array(from)) {
		if (!json_is_array(sum))
			json_object_set_new(to, name, sum = json_array());
		json_array_foreach(from, i, one) add_members(same_in(sum, one), inner, one);
	} else if (!r || r->type != COUNTER_F64) {
		json_object_set(to, name, (json_t *)from);
	}
}

// But for replies by the time of their requests, which only intervals have.
static void add_members(json_t *to, const struct counter_section *s, const json_t *from)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)from, key, value) if (strcmp(key, "by_due") != 0)
		add_member(to, s, key, value);
}

// The object of the list with the same name, or port, number and CPU; a new one if there is none.
static json_t *same_in(json_t *list, const json_t *one)
{
	static const char *const names[] = {"name", "port", "number", "cpu"};
	json_t *other;
	size_t i;

	json_array_foreach(list, i, other)
	{
		bool same = true;

		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			same &= json_equal(json_object_get(other, names[n]),
					json_object_get(one, names[n])) ||
			        (!json_object_get(other, names[n]) &&
					!json_object_get(one, names[n]));
		if (same)
			return other;
	}
	json_array_append_new(list, other = json_object());
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
		if (json_object_get(one, names[n]))
			json_object_set(other, names[n], json_object_get(one, names[n]));
	return other;
}

static void set_rates(json_t *item, double over_s)
{
	static const char *const rates[][2] = {
		{"due_per_s", "due"}, {"sent_per_s", "sent"}, {"answered_per_s", "answered"}};
	double sent = number_or(item, "sent", 0);

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		json_object_set_new(item, rates[i][0],
			json_real(over_s > 0 ? number_or(item, rates[i][1], 0) / over_s : 0));
	json_object_set_new(
		item, "loss", json_real(sent > 0 ? number_or(item, "lost", 0) / sent : 0));
}

static void set_verdict(json_t *document, double last_s)
{
	char reason[128];

	snprintf(reason, sizeof(reason),
		"the tester was killed; its last interval ended %.3g s after the start of the "
		"measured part",
		last_s);
	json_object_set_new(document, "verdict",
		json_pack("{s:s, s:i, s:s, s:[s], s:[]}", "status", "interrupted", "exit_code",
			EXIT_INTERRUPTED, "limited_by", "none", "reasons", reason, "criteria"));
}

void partial_result_begin(struct partial_result *r, struct document_reader *b)
{
	*r = (struct partial_result){.reader = b};
	json_object_set_new(b->document, "traffic", json_array());
	json_object_set_new(b->document, "ports", json_array());
	json_object_set_new(b->document, "workers", json_array());
}

static void add_histogram(struct partial_result *r, size_t n, const json_t *item)
{
	struct hist one;

	if (n >= PARTIAL_RESULT_ITEMS ||
		!reader_histogram(r->reader, document_at(item, "latency.response"), &one))
		return;
	if (!r->sums[n]) {
		r->sums[n] = malloc(sizeof(*r->sums[n]));
		if (!r->sums[n])
			arena_exhausted();
		hist_clear(r->sums[n]);
	}
	hist_merge(r->sums[n], &one);
}

void partial_result_add(struct partial_result *r, const json_t *interval)
{
	static const char *const parts[] = {"traffic", "ports", "workers", "responder"};
	json_t *item;
	size_t n;

	for (n = 0; n < sizeof(parts) / sizeof(parts[0]); n++)
		if (json_object_get(interval, parts[n]))
			add_member(r->reader->document, &result_interval_section, parts[n],
				json_object_get(interval, parts[n]));
	r->last_s = fmax(r->last_s, number_or(interval, "t_s", 0));
	json_array_foreach(json_object_get(interval, "traffic"), n, item) add_histogram(r, n, item);
}

void partial_result_sum_up(struct partial_result *r)
{
	json_t *document = r->reader->document, *item;
	double hz = reader_tick_hz(r->reader);
	size_t n;

	json_array_foreach(json_object_get(document, "traffic"), n, item)
	{
		set_rates(item, r->last_s);
		if (n < PARTIAL_RESULT_ITEMS && r->sums[n] && hz > 0)
			distribution_finish(
				json_object_get(json_object_get(item, "latency"), "response"),
				r->sums[n], document_whole(number_or(item, "lost", 0)), hz);
	}
	json_object_set_new(json_object_get(document, "run"), "measured_s", json_real(r->last_s));
}

void partial_result_forget(struct partial_result *r)
{
	for (size_t n = 0; n < PARTIAL_RESULT_ITEMS; n++)
		free(r->sums[n]);
	*r = (struct partial_result){0};
}

void partial_result_end(struct partial_result *r)
{
	json_t *document = r->reader->document;

	partial_result_sum_up(r);
	if (!json_object_get(document, "verdict"))
		set_verdict(document, r->last_s);
	partial_result_forget(r);
}

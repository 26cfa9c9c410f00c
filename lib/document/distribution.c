// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "document/distribution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "document/document_reader.h"
#include "stats/json.h"

bool distribution_is(const json_t *object)
{
	return json_object_get(object, "stddev_ns") != NULL;
}

static double number_or_0(const json_t *in, const char *name)
{
	return json_number_value(json_object_get(in, name)); // 0 of anything else
}

void distribution_add(struct distribution *d, const json_t *from)
{
	double m = number_or_0(from, "count"), all = d->count + m, delta, t;

	if (m <= 0)
		return;
	t = number_or_0(from, "stddev_ns");
	delta = number_or_0(from, "mean_ns") - d->mean;
	d->squares += fmax(m - 1, 0) * t * t + delta * delta * d->count * m / all;
	d->mean += delta * m / all;
	t = number_or_0(from, "min_ns");
	d->min = d->count > 0 ? fmin(d->min, t) : t;
	d->max = fmax(d->max, number_or_0(from, "max_ns"));
	d->count = all;
}

void distribution_put(const struct distribution *d, json_t *to)
{
	const struct {
		const char *name;
		double value;
	} rows[] = {{"min_ns", d->min}, {"mean_ns", d->mean},
		{"stddev_ns", d->count > 1 ? sqrt(d->squares / (d->count - 1)) : 0},
		{"max_ns", d->max}};

	json_object_set_new(to, "count", json_integer((json_int_t)fmin(d->count, 0x1p62)));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		json_object_set_new(to, rows[i].name,
			stats_number(rows[i].name, d->count > 0 ? rows[i].value : NAN));
}

static void set_ns(json_t *in, const char *name, uint64_t ticks, double hz)
{
	json_object_set_new(
		in, name, stats_number(name, ticks == UINT64_MAX ? NAN : (double)ticks * 1e9 / hz));
}

// Of the name of one of output.percentiles: "p95", "p99999", "p05".
static double share_of(const char *name)
{
	size_t digits = strspn(name + (*name == 'p'), "0123456789");

	return digits ? strtod(name + 1, NULL) / pow(10, (double)digits) : NAN;
}

static const struct {
	const char *name;
	double share;
} rows[] = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p999_ns", 0.999},
	{"p9999_ns", 0.9999}};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void blank_one(json_t *of, double above)
{
	double count = number_or_0(of, "count"), share;
	json_t *one;
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (rows[i].share > above && !hist_knows(count, rows[i].share))
			json_object_set_new(of, rows[i].name, json_null());
	json_array_foreach(json_object_get(of, "percentiles"), i, one)
	{
		share = share_of(document_text(one, "name"));
		if (share > above && !hist_knows(count, share))
			json_object_set_new(one, "value_ns", json_null());
	}
}

void distribution_blank(json_t *in, double above)
{
	const char *key;
	json_t *value;
	size_t i;

	if (distribution_is(in))
		blank_one(in, above);
	else if (json_is_object(in))
		json_object_foreach(in, key, value) distribution_blank(value, above);
	else
		json_array_foreach(in, i, value) distribution_blank(value, above);
}

void distribution_finish(json_t *to, const struct hist *h, uint64_t above, double hz)
{
	size_t len = hist_print(h, NULL, 0), n;
	char *text = malloc(len + 1);
	json_t *one;

	for (size_t i = 0; h->count + above && i < ROWS; i++)
		set_ns(to, rows[i].name, hist_percentile(h, rows[i].share, above), hz);
	json_array_foreach(json_object_get(to, "percentiles"), n, one) set_ns(one, "value_ns",
		hist_percentile(h, share_of(document_text(one, "name")), above), hz);
	if (text && len) {
		hist_print(h, text, len + 1);
		json_object_set_new(to, "histogram", json_string(text));
	}
	free(text);
}

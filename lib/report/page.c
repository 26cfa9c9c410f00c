// SPDX-License-Identifier: BSD-3-Clause
// The data of a page: each document without the histograms that no chart needs, the intervals as
// columns, the heat map of each item, and the changes from the first result to each other result.
// Path: cold. Main thread.
#include "report/page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "compare/figures.h"
#include "compare/history.h"
#include "compare/trend.h"

#define CELLS        110000 // numbers in the series of all results, so that a page stays below 1 MB
#define POINTS_MIN   200    // of each series, however many there are
#define HEAT_COLUMNS 400    // of all heat maps
#define HEAT_SHIFT   4      // buckets of a histogram that become one: 8 an octave remain
#define HEAT_BUCKETS (HIST_BUCKETS >> HEAT_SHIFT)
#define LABELS       6 // of the answers; the others are added up
#define PROBES       8 // figures of dut.probe; the others are left out
#define DIGITS       4

// --- columns ----------------------------------------------------------------------------------

enum column_kind {
	COLUMN_NUMBER,
	COLUMN_RANK,   // without a value where transactions were lost: above all values
	COLUMN_RATE,   // of a label of `group`, per second
	COLUMN_OTHERS, // of all labels of `group` without a column
	COLUMN_PROBE   // the figure `label` of the server's side
};

// A figure of all intervals. Where several intervals become one, both extremes are kept.
struct column {
	enum column_kind kind;
	const char *
		list; // of the interval's members, that has the figure in entry `index`; NULL: none
	size_t index;
	const char *path; // in the entry; of labels: of the object that has them
	const char *label;
	const json_t *named; // COLUMN_OTHERS: labels with a column of their own
	int digits;
	double low, high; // so far; NAN: none
	size_t low_at, high_at;
	json_t *values;
	struct column *next;
};

struct columns {
	struct arena *arena;
	struct column *first, **end;
	unsigned count;
	json_t *owned; // objects that columns refer to
};

static struct column *add_column(
	struct columns *c, const char *list, size_t index, const char *path, enum column_kind kind)
{
	struct column *one = arena_zalloc(c->arena, sizeof(*one));

	*one = (struct column){.kind = kind,
		.list = list,
		.index = index,
		.path = path,
		.digits = DIGITS,
		.low = NAN,
		.high = NAN,
		.values = json_array()};
	*c->end = one;
	c->end = &one->next;
	c->count++;
	return one;
}

static double rate_of(const json_t *count, double length_s)
{
	return length_s > 0 ? json_number_value(count) / length_s : NAN;
}

static double others_of(const struct column *c, const json_t *group, double length_s)
{
	double sum = 0;
	const char *label;
	json_t *count;

	json_object_foreach((json_t *)group, label, count) if (!json_object_get(c->named, label))
		sum += rate_of(count, length_s);
	return sum;
}

static double probed(const json_t *interval, const char *name)
{
	return document_number(
		document_named(document_at(interval, "dut.figures"), "name", name), "value");
}

static double value_of(const struct column *c, const json_t *interval)
{
	const json_t *in = interval;
	double value, length_s = document_number(interval, "length_s");

	if (c->list)
		in = json_array_get(json_object_get(interval, c->list), c->index);
	switch (c->kind) {
	case COLUMN_NUMBER:
		break;
	case COLUMN_RANK:
		value = document_number(in, c->path);
		return isnan(value) && document_number(in, "loss") > 0 ? INFINITY : value;
	case COLUMN_RATE:
		return rate_of(json_object_get(document_at(in, c->path), c->label), length_s);
	case COLUMN_OTHERS:
		return others_of(c, document_at(in, c->path), length_s);
	case COLUMN_PROBE:
		return probed(in, c->label);
	}
	return document_number(in, c->path);
}

static void column_take(struct column *c, double value, size_t at)
{
	if (isnan(value))
		return;
	if (isnan(c->low) || value < c->low) {
		c->low = value;
		c->low_at = at;
	}
	if (isnan(c->high) || value > c->high) {
		c->high = value;
		c->high_at = at;
	}
}

static json_t *rounded(double value, int digits)
{
	char text[32];

	if (isnan(value))
		return json_null();
	if (isinf(value))
		return json_string("lost");
	snprintf(text, sizeof(text), "%.*g", digits, value);
	value = strtod(text, NULL);
	if (value == rint(value) && fabs(value) < 1e15)
		return json_integer((json_int_t)value);
	return json_real(value);
}

// twice: there were several intervals since the last call.
static void column_put(struct column *c, bool twice)
{
	bool rising = c->low_at <= c->high_at;

	json_array_append_new(c->values, rounded(rising || !twice ? c->low : c->high, c->digits));
	if (twice)
		json_array_append_new(c->values, rounded(rising ? c->high : c->low, c->digits));
	c->low = c->high = NAN;
}

static void columns_put(const struct columns *c, bool twice)
{
	for (struct column *one = c->first; one; one = one->next)
		column_put(one, twice);
}

// Returns the figure's place in an interval: [list, index, path, label], less missing members.
static json_t *column_place(const struct column *c)
{
	json_t *place = c->list ? json_pack("[s,I]", c->list, (json_int_t)c->index) : json_array();

	if (c->kind == COLUMN_PROBE || c->kind == COLUMN_RATE || c->kind == COLUMN_OTHERS) {
		json_array_append_new(
			place, json_string(c->kind == COLUMN_PROBE ? "probe" : "answers"));
		json_array_append_new(place, json_string(c->label));
	} else {
		json_array_append_new(place, json_string(c->path));
	}
	return place;
}

static json_t *columns_json(const struct columns *c)
{
	json_t *all = json_array();

	for (struct column *one = c->first; one; one = one->next)
		json_array_append_new(all, json_pack("[o,o]", column_place(one), one->values));
	return all;
}

// --- which columns
// --------------------------------------------------------------------------------

// Returns the protocol's counters with labels that describe best how its requests were answered.
static const char *answer_group(struct arena *a, const json_t *item)
{
	static const char *const names[] = {"rcode", "received"};
	const char *protocol = document_text(item, "protocol");

	for (size_t i = 0; *protocol && i < sizeof(names) / sizeof(names[0]); i++) {
		const char *path = arena_printf(a, "%s.%s", protocol, names[i]);

		if (json_object_size(document_at(item, path)) > 0)
			return path;
	}
	return NULL;
}

// Returns the greatest label without a column; NULL: none is left.
static const char *greatest_label(const json_t *group, const json_t *named)
{
	const char *label, *best = NULL;
	double most = 0;
	json_t *count;

	json_object_foreach((json_t *)group, label, count)
	{
		if (json_object_get(named, label) || json_number_value(count) <= most)
			continue;
		most = json_number_value(count);
		best = label;
	}
	return best;
}

static void add_answers(struct columns *c, const json_t *item, size_t index)
{
	const char *path = answer_group(c->arena, item), *label;
	const json_t *group = path ? document_at(item, path) : NULL;
	json_t *named = json_object();
	struct column *one;

	json_array_append_new(c->owned, named);
	for (unsigned i = 0; i < LABELS && (label = greatest_label(group, named)); i++) {
		one = add_column(c, "traffic", index, path, COLUMN_RATE);
		one->label = label;
		json_object_set_new(named, label, json_true());
	}
	if (greatest_label(group, named)) {
		one = add_column(c, "traffic", index, path, COLUMN_OTHERS);
		one->label = "others";
		one->named = named;
	}
}

static void add_item(struct columns *c, const json_t *item, size_t index)
{
	static const char *const numbers[] = {"due_per_s", "sent_per_s", "answered_per_s", "loss"};
	static const char *const ranks[] = {"latency.response.p50_ns", "latency.response.p90_ns",
		"latency.response.p99_ns", "latency.response.max_ns"};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		add_column(c, "traffic", index, numbers[i], COLUMN_NUMBER);
	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
		add_column(c, "traffic", index, ranks[i],
			strstr(ranks[i], "max") ? COLUMN_NUMBER : COLUMN_RANK);
	add_answers(c, item, index);
}

// Adds columns for the names that an interval is the first to have.
static void add_probed(struct columns *c, const json_t *interval)
{
	const json_t *one;
	size_t i;

	json_array_foreach(document_at(interval, "dut.figures"), i, one)
	{
		const char *name = document_text(one, "name");
		unsigned count = 0;
		bool known = !*name;

		for (const struct column *k = c->first; k; k = k->next)
			if (k->kind == COLUMN_PROBE) {
				count++;
				known |= strcmp(k->label, name) == 0;
			}
		if (!known && count < PROBES)
			add_column(c, NULL, 0, NULL, COLUMN_PROBE)->label =
				arena_strdup(c->arena, name);
	}
}

// --- heat maps -----------------------------------------------------------------------------------

// A column of it is a pair: [end of its time, histogram].
struct heat {
	double count[HEAT_BUCKETS];
	json_t *cells;
};

static void heat_take(struct heat *heat, const struct document_reader *b, const json_t *latency)
{
	struct hist h;

	if (!latency || !reader_histogram(b, latency, &h))
		return;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		heat->count[i >> HEAT_SHIFT] += (double)h.bucket[i];
}

// Like hist_print, for the wide buckets.
static void heat_put(struct heat *heat, double until_s)
{
	char text[HEAT_BUCKETS * 32];
	size_t len = 0;
	unsigned last = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < HEAT_BUCKETS; i++) {
		if (heat->count[i] == 0)
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u:%.0f", len ? " " : "",
			i - last, heat->count[i]);
		last = i;
	}
	json_array_append_new(heat->cells, json_pack("[o,s]", rounded(until_s, 7), text));
	memset(heat->count, 0, sizeof(heat->count));
}

// --- a result
// --------------------------------------------------------------------------------------

struct series {
	struct document_reader *reader;
	struct columns columns;
	struct heat *heat; // one for each item
	size_t items, intervals;
};

static void series_prepare(struct series *s, struct document_reader *b, struct arena *a)
{
	const json_t *traffic = json_object_get(b->document, "traffic"), *one;
	struct columns *c = &s->columns;
	size_t i;

	*s = (struct series){
		.reader = b, .columns = {.arena = a}, .items = json_array_size(traffic)};
	c->end = &c->first;
	c->owned = json_array();
	add_column(c, NULL, 0, "t_s", COLUMN_NUMBER)->digits = 7;
	json_array_foreach(traffic, i, one) add_item(c, one, i);
	json_array_foreach(json_object_get(b->document, "workers"), i, one)
	{
		add_column(c, "workers", i, "busy", COLUMN_NUMBER);
		add_column(c, "workers", i, "stolen_s", COLUMN_NUMBER);
	}
	s->heat = arena_zalloc(a, (s->items + 1) * sizeof(*s->heat));
	for (i = 0; i < s->items; i++)
		s->heat[i].cells = json_array();
	reader_rewind(b);
	for (const json_t *interval; (interval = reader_next(b)); s->intervals++)
		add_probed(c, interval);
}

static void series_take(struct series *s, const json_t *interval, size_t at)
{
	const json_t *traffic = json_object_get(interval, "traffic");

	for (struct column *c = s->columns.first; c; c = c->next)
		column_take(c, value_of(c, interval), at);
	for (size_t i = 0; i < s->items; i++)
		heat_take(&s->heat[i], s->reader,
			document_at(json_array_get(traffic, i), "latency.response"));
}

// limit: points of each column.
static void series_read(struct series *s, size_t limit)
{
	size_t step = s->intervals <= limit ? 1 : (2 * s->intervals + limit - 1) / limit;
	size_t columns = HEAT_COLUMNS / (s->items + 1) + 1;
	size_t wide = (s->intervals + columns - 1) / columns;
	const json_t *interval;

	reader_rewind(s->reader);
	for (size_t at = 1; (interval = reader_next(s->reader)); at++) {
		series_take(s, interval, at);
		if (at % step == 0 || at == s->intervals)
			columns_put(&s->columns, step > 1);
		for (size_t i = 0; i < s->items && (at % wide == 0 || at == s->intervals); i++)
			heat_put(&s->heat[i], document_number(interval, "t_s"));
	}
}

static json_t *series_json(const struct series *s)
{
	json_t *heat = json_array();

	for (size_t i = 0; i < s->items; i++)
		json_array_append_new(heat, s->heat[i].cells);
	return json_pack("{s:I,s:o,s:o,s:i}", "intervals", (json_int_t)s->intervals, "columns",
		columns_json(&s->columns), "heat", heat, "heat_shift", HEAT_SHIFT);
}

static void drop_histograms(json_t *in)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_del(in, "histogram");
	json_object_foreach(in, key, value) drop_histograms(value);
	json_array_foreach(in, i, value) drop_histograms(value);
}

// Only the percentile curves of items need histograms.
static json_t *lean(const json_t *document)
{
	json_t *copy = json_deep_copy(document), *kept = json_array(), *item, *repeat;
	json_t *traffic = json_object_get(copy, "traffic");
	size_t i, k;

	json_array_foreach(traffic, i, item)
		json_array_append(kept, json_object_get(item, "latency"));
	json_array_foreach(traffic, i, item) json_object_del(item, "latency");
	drop_histograms(copy);
	json_array_foreach(traffic, i, item)
		json_object_set(item, "latency", json_array_get(kept, i));
	json_array_foreach(json_object_get(copy, "repeats"), i, repeat)
		json_array_foreach(json_object_get(repeat, "traffic"), k, item)
	{
		json_object_del(item, "steps");
		json_object_del(item, document_text(item, "protocol"));
	}
	json_decref(kept);
	return copy;
}

// --- changes
// -----------------------------------------------------------------------------------------

static void add_change(
	json_t *out, const struct figures *from, const struct figures *to, const struct figure *one)
{
	struct figures_change c;

	if (!figures_is_shown(one->path))
		return;
	c = figures_change(from, to, one->item, one->path);
	if ((isnan(c.a) && isnan(c.b)) || (c.a == 0 && c.b == 0 && strchr(one->path, '.')))
		return;
	json_array_append_new(out,
		json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:b}", "item", one->item, "path", one->path,
			"unit", figures_unit(one->path), "a", rounded(c.a, 9), "b", rounded(c.b, 9),
			"half", rounded(c.half, DIGITS), "noise", figures_change_is_noise(&c)));
}

// Returns an empty list if either has no figures.
static json_t *changes_json(
	const struct document_reader *a, const struct document_reader *b, struct arena *arena)
{
	json_t *out = json_array();
	struct figures from, to;

	if (figures_read(a->file, a->document, arena, &from) < 0 ||
		figures_read(b->file, b->document, arena, &to) < 0)
		return out;
	for (uint32_t i = 0; i < from.count; i++)
		if (figures_has_item(&to, from.list[i].item))
			add_change(out, &from, &to, &from.list[i]);
	for (uint32_t i = 0; i < to.count; i++)
		if (figures_has_item(&from, to.list[i].item) &&
			!figures_find(&from, to.list[i].item, to.list[i].path))
			add_change(out, &from, &to, &to.list[i]);
	return out;
}

// --- the page
// ----------------------------------------------------------------------------------------

// In JSON a '<' occurs only in texts, and starts everything that HTML would interpret.
static int put_escaped(const char *text, size_t len, void *out)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(text[i], out);
	return 0;
}

// file: include its name, for a reader who compares.
static json_t *result_json(
	struct series *s, const struct document_reader *first, size_t limit, bool file)
{
	json_t *result = json_object();

	series_read(s, limit);
	json_object_set_new(result, "file", json_string(file ? s->reader->file : ""));
	json_object_update_new(result, json_pack("{s:o,s:o}", "document", lean(s->reader->document),
					       "series", series_json(s)));
	if (s->reader != first)
		json_object_set_new(
			result, "changes", changes_json(first, s->reader, s->columns.arena));
	return result;
}

static json_t *trend_json(const json_t *history, const struct document_reader *b)
{
	json_t *entry = history_entry(b), *out = trend_series(history, entry);

	json_decref(entry);
	return out;
}

void page_put(const json_t *data, FILE *out)
{
	fputs(page_head, out);
	json_dump_callback(data, put_escaped, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
	fputs(page_tail, out);
}

int page_write(
	struct document_reader *const readers[], unsigned count, const json_t *history, FILE *out)
{
	struct arena *a = arena_new();
	struct series *s = arena_zalloc(a, (count + 1) * sizeof(*s));
	json_t *data = json_object(), *results = json_array();
	unsigned columns = 1;
	size_t limit;

	for (unsigned i = 0; i < count; i++) {
		series_prepare(&s[i], readers[i], a);
		columns += s[i].columns.count;
	}
	limit = CELLS / columns > POINTS_MIN ? CELLS / columns : POINTS_MIN;
	for (unsigned i = 0; i < count; i++)
		json_array_append_new(results, result_json(&s[i], readers[0], limit, count > 1));
	for (unsigned i = 0; i < count; i++)
		json_decref(s[i].columns.owned);
	json_object_set_new(data, "results", results);
	if (history)
		json_object_set_new(data, "trend", trend_json(history, readers[0]));
	page_put(data, out);
	json_decref(data);
	arena_free(a);
	return ferror(out) ? -EIO : 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "report/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/interrupt.h"
#include "document/document_reader.h"
#include "report/report.h"
#include "stats/text.h"

#define LINE 1024
#define TEXT 32

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

// Returns a number, or 0.
static double number_of(const json_t *in, const char *path)
{
	double value = document_number(in, path);

	return isnan(value) ? 0 : value;
}

// --- lines received ---

static void keep(json_t **place, const json_t *line)
{
	json_decref(*place);
	*place = json_incref((json_t *)line);
}

// Moves the history by that many seconds.
static void shift(struct view *v, unsigned seconds)
{
	unsigned by = seconds < VIEW_SECONDS ? seconds : VIEW_SECONDS;

	for (unsigned i = 0; i < VIEW_ITEMS; i++) {
		memmove(v->answered[i], v->answered[i] + by,
			(VIEW_SECONDS - by) * sizeof(**v->answered));
		memmove(v->known[i], v->known[i] + by, (VIEW_SECONDS - by) * sizeof(**v->known));
		memset(v->answered[i] + VIEW_SECONDS - by, 0, by * sizeof(**v->answered));
		memset(v->known[i] + VIEW_SECONDS - by, 0, by * sizeof(**v->known));
	}
	v->until_s += seconds;
}

// Spreads the interval over the seconds that it touches.
static void add_history(struct view *v, const json_t *line)
{
	double end = number_of(line, "t_s"), length = number_of(line, "length_s");
	const json_t *item;
	size_t n;

	if (!(length > 0) || !(end < 1e9))
		return;
	if (end > v->until_s)
		shift(v, (unsigned)ceil(end - v->until_s));
	json_array_foreach(json_object_get(line, "traffic"), n, item)
	{
		if (n == VIEW_ITEMS)
			break;
		for (unsigned k = 0; k < VIEW_SECONDS; k++) {
			double to = v->until_s - (VIEW_SECONDS - 1 - k), from = to - 1;
			double share = fmin(to, end) - fmax(from, end - length);

			if (share <= 0)
				continue;
			v->answered[n][k] += number_of(item, "answered") * share / length;
			v->known[n][k] += share;
		}
	}
}

static void forget_history(struct view *v)
{
	memset(v->answered, 0, sizeof(v->answered));
	memset(v->known, 0, sizeof(v->known));
	v->until_s = 0;
}

void view_line(void *ctx, const json_t *line)
{
	struct view *v = ctx;
	bool warm = json_object_get(v->interval, LINE_WARMUP);

	if (json_object_get(line, LINE_BEGIN)) {
		keep(&v->begin, line);
		keep(&v->interval, NULL);
		forget_history(v);
	} else if (json_object_get(line, LINE_TRIAL)) {
		keep(&v->trial, line);
		return;
	} else if (json_object_get(line, "t_s") && !json_object_get(line, LINE_LAST)) {
		if (warm && !json_object_get(line, LINE_WARMUP)) // time starts again
			forget_history(v);
		keep(&v->interval, line);
		add_history(v, line);
	} else {
		return;
	}
	v->came_s = now_s();
}

void view_free(struct view *v)
{
	json_decref(v->begin);
	json_decref(v->trial);
	json_decref(v->interval);
	*v = (struct view){0};
}

bool view_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *value = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !(value && *value); i++)
		value = getenv(names[i]);
	return value && (strcasestr(value, "utf-8") || strcasestr(value, "utf8"));
}

// --- lines ---

struct drawing {
	const struct view *v;
	const struct view_size *size;
	FILE *out;
	unsigned lines;
};

// Writes a line, cut at the width; a character of several octets is one column.
__attribute__((format(printf, 2, 3))) static void put(struct drawing *d, const char *fmt, ...)
{
	char line[LINE];
	unsigned columns = 0;
	size_t len = 0;
	va_list args;

	if (d->lines == d->size->rows)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	for (; line[len]; len++) {
		if (((unsigned char)line[len] & 0xc0) != 0x80 && ++columns > d->size->columns)
			break;
		if ((unsigned char)line[len] < 0x20 || line[len] == 0x7f)
			line[len] = '?';
	}
	while (len && line[len - 1] == ' ')
		len--;
	fprintf(d->out, "%.*s\n", (int)len, line);
	d->lines++;
}

struct course {
	const char *name;
	double at_s, of_s;
};

// Returns the phase now, some time after the last line.
static struct course course_of(const struct view *v)
{
	double warmup = number_of(v->begin, "warmup_s"), all = number_of(v->begin, "duration_s");
	double at = number_of(v->interval, "t_s") + now_s() - v->came_s;

	if (!v->interval)
		return (struct course){"starting", 0, warmup > 0 ? warmup : all};
	if (json_object_get(v->interval, LINE_WARMUP) && at < warmup)
		return (struct course){"warm-up", at, warmup};
	if (json_object_get(v->interval, LINE_WARMUP))
		at -= warmup;
	if (interrupt_count || at >= all)
		return (struct course){interrupt_count ? "ending" : "draining", fmin(at, all), all};
	return (struct course){"measuring", at, all};
}

static void put_course(struct drawing *d)
{
	struct course c = course_of(d->v);
	unsigned width = d->size->columns > 60 ? d->size->columns - 48 : 12;
	double share = c.of_s > 0 ? fmax(fmin(c.at_s / c.of_s, 1), 0) : 0;
	char at[TEXT], of[TEXT], left[TEXT], bar[128];

	width = width < sizeof(bar) - 1 ? width : sizeof(bar) - 1;
	memset(bar, '.', width);
	memset(bar, '#', (size_t)(share * width));
	bar[width] = '\0';
	snprintf(at, sizeof(at), "%.0f", floor(c.at_s));
	snprintf(of, sizeof(of), "%.*f", c.of_s < 10 && c.of_s != floor(c.of_s), c.of_s);
	snprintf(left, sizeof(left), "%.0f", ceil(c.of_s - c.at_s));
	put(d, "%-10s [%s] %s of %s s, %s s left", c.name, bar, at, of, left);
}

static const char *value_or(const json_t *line, const char *name, const char *none)
{
	double value = document_number(line, name);

	return isnan(value) ? none : stats_shown(value, NULL);
}

static void put_trial(struct drawing *d)
{
	const json_t *t = d->v->trial;
	const char *verdict = document_text(t, "verdict");

	put(d, "trial %.0f: %s%s%s; met at %s, not met at %s  %s", number_of(t, LINE_TRIAL),
		value_or(t, "rate", "-"), *verdict ? " " : "", verdict,
		value_or(t, "answer", "none yet"), value_or(t, "upper", "none yet"),
		document_text(d->v->begin, "result.config.search.variable"));
}

// --- items ---

struct columns {
	int name, figure;
};

static struct columns columns_of(const struct view_size *s)
{
	int more = s->columns > 79 ? (int)s->columns - 79 : 0;

	return (struct columns){12 + (more > 24 ? 12 : more / 2), 9 + (more > 60 ? 4 : more / 15)};
}

static void put_row(struct drawing *d, const char *const cells[8])
{
	struct columns c = columns_of(d->size);

	put(d, "%-*.*s%*s%*s%*s%*s%*s%*s%*s", c.name, c.name, cells[0], c.figure, cells[1],
		c.figure + 2, cells[2], c.figure, cells[3], c.figure, cells[4], c.figure, cells[5],
		c.figure, cells[6], c.figure + 1, cells[7]);
}

static void put_item(struct drawing *d, const json_t *item, bool warmup)
{
	const char *cells[REPORT_CELLS + 1];

	report_cells(item, !warmup, cells);
	cells[REPORT_CELLS] = stats_shown(number_of(item, "in_flight"), NULL);
	put_row(d, cells);
}

// A column for each second of the last minute, or of less on a narrow screen.
static void put_spark(struct drawing *d, size_t n)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char plain[] = "_.-~=+*#";
	const struct view *v = d->v;
	unsigned seconds = d->size->columns > 38 ? d->size->columns - 18 : 20, first;
	double most = 0, rate[VIEW_SECONDS];
	char line[4 * VIEW_SECONDS + 1] = "", *to = line;

	first = seconds < VIEW_SECONDS ? VIEW_SECONDS - seconds : 0;
	for (unsigned k = first; k < VIEW_SECONDS; k++) {
		rate[k] = v->known[n][k] > 0 ? v->answered[n][k] / v->known[n][k] : -1;
		most = fmax(most, rate[k]);
	}
	for (unsigned k = first; k < VIEW_SECONDS; k++) {
		unsigned level = most > 0 && rate[k] > 0 ? (unsigned)(rate[k] / most * 7.99) : 0;

		if (rate[k] < 0)
			*to++ = ' ';
		else if (d->size->utf8)
			to = stpcpy(to, blocks[level]);
		else
			*to++ = plain[level];
	}
	*to = '\0';
	put(d, "  %s up to %s", line, stats_shown(most, "per_s"));
}

// Returns the object in an item that is not in the rows of items.
static const json_t *of_protocol(const json_t *item)
{
	const struct counter_section *s = &result_interval_item_section;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)item, key, value)
	{
		bool is_row = false;

		for (uint32_t i = 0; i < s->count; i++)
			is_row |= strcmp(s->rows[i].name, key) == 0;
		if (json_is_object(value) && !is_row)
			return value;
	}
	return NULL;
}

// Appends a text to a line of that many columns, if it fits.
static bool append(char *line, size_t columns, const char *text)
{
	size_t len = strlen(line), more = strlen(text);

	if (len + more > columns || len + more >= LINE)
		return false;
	memcpy(line + len, text, more + 1);
	return true;
}

struct counts {
	char line[LINE];
	size_t columns;
	double length_s;
};

// Appends the counters that are above 0 in the interval.
static void add_counts(struct counts *c, const char *group, const json_t *in)
{
	char one[LINE];
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)in, key, value)
	{
		const char *end = strrchr(key, '_');

		if (!json_is_integer(value) || json_integer_value(value) <= 0 ||
			(end && strcmp(end, "_bytes") == 0))
			continue;
		snprintf(one, sizeof(one), "  %s%s %s", group, key,
			stats_shown_rate(json_number_value(value) / c->length_s));
		if (!append(c->line, c->columns, one))
			return;
		group = "";
	}
}

// Writes the protocol's own counts that fit into the line: by their labels, then all others.
static void put_counts(struct drawing *d, const json_t *item)
{
	struct counts c = {
		"  per s", d->size->columns, document_number(d->v->interval, "length_s")};
	const json_t *all = of_protocol(item);
	char group[128];
	const char *key;
	json_t *value;

	if (!(c.length_s > 0))
		return;
	json_object_foreach((json_t *)all, key, value)
	{
		snprintf(group, sizeof(group), "%s ", key);
		if (json_is_object(value))
			add_counts(&c, group, value);
	}
	add_counts(&c, "", all);
	put(d, "%s", c.line);
}

// Writes the number of open connections, and the fate of others, as far as the line goes.
static void put_connections(struct drawing *d, const json_t *all)
{
	struct counts c = {"", d->size->columns, document_number(d->v->interval, "length_s")};
	json_t *counts = json_copy((json_t *)all);

	snprintf(c.line, sizeof(c.line), "  connections %s open, per s",
		stats_shown(number_of(all, "open"), NULL));
	json_object_del(counts, "open");
	if (c.length_s > 0)
		add_counts(&c, "", counts);
	put(d, "%s", c.line);
	json_decref(counts);
}

// --- workers ---

// Writes as many workers as the lines hold.
static void put_workers(struct drawing *d, unsigned lines)
{
	const json_t *list = json_object_get(d->v->interval, "workers"), *w;
	char line[LINE] = "busy", one[128];
	size_t n;

	json_array_foreach(list, n, w)
	{
		snprintf(one, sizeof(one), "  %.40s/%.0f %s", document_text(w, "port"),
			number_of(w, "number"), stats_shown(number_of(w, "busy"), "1"));
		if (append(line, d->size->columns, one) || lines <= 1)
			continue;
		put(d, "%s", line);
		strcpy(line, "    ");
		append(line, d->size->columns, one);
		lines--;
	}
	if (n)
		put(d, "%s", line);
}

// --- all of it ---

static void put_title(struct drawing *d)
{
	const json_t *b = d->v->begin;
	char left[256];
	int room = (int)d->size->columns - (int)strlen(d->size->hint);

	snprintf(left, sizeof(left), "%s, run %.0f, %s", document_text(b, "result.run.name"),
		number_of(b, LINE_BEGIN), document_text(b, "result.run.id"));
	put(d, "%-*.*s %s", room > 1 ? room - 1 : 0, room > 1 ? room - 1 : 0, left, d->size->hint);
}

static void put_items(struct drawing *d, unsigned rows)
{
	const json_t *items = json_object_get(d->v->interval, "traffic"), *item;
	unsigned count = (unsigned)json_array_size(items);
	unsigned shown = count <= rows ? count : rows ? rows - 1 : 0, more = rows - shown;
	bool warmup = json_object_get(d->v->interval, LINE_WARMUP);
	size_t n;

	json_array_foreach(items, n, item)
	{
		if (n == shown)
			break;
		put_item(d, item, warmup);
		if (shown == count && more && n < VIEW_ITEMS) {
			put_spark(d, n);
			more--;
		}
		if (shown == count && more && json_object_get(item, "connections")) {
			put_connections(d, json_object_get(item, "connections"));
			more--;
		}
		if (shown == count && more) {
			put_counts(d, item);
			more--;
		}
	}
	if (shown < count)
		put(d, "and %u items more", count - shown);
}

unsigned view_draw(const struct view *v, const struct view_size *size, FILE *out)
{
	struct drawing d = {v, size, out, 0};
	unsigned workers = (unsigned)json_array_size(json_object_get(v->interval, "workers"));
	unsigned items = (unsigned)json_array_size(json_object_get(v->interval, "traffic"));
	unsigned most = (workers + 3) / 4, left;

	if (!v->begin)
		return 0;
	put_title(&d);
	put_course(&d);
	if (v->trial)
		put_trial(&d);
	if (!v->interval)
		return d.lines;
	if (size->rows > 12)
		put(&d, "%s", "");
	put_row(&d, (const char *const[8]){"item", "due/s", "answered/s", "loss", "p50", "p99",
			    "max", "in flight"});
	left = size->rows - d.lines;
	workers = workers && left > items ? left - items : workers > 0;
	workers = workers < most ? workers : most;
	if (left > workers)
		put_items(&d, left - workers);
	put_workers(&d, workers);
	return d.lines;
}

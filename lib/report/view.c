// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "report/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hist.h"
#include "base/interrupt.h"
#include "document/document_reader.h"
#include "report/report.h"
#include "stats/text.h"

#define LINE 1024
#define TEXT 32
#define TALL 32 // lines of a screen with room for latencies

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
	double(*const all[])[VIEW_SECONDS] = {v->answered, v->known, v->p50, v->p99};
	unsigned by = seconds < VIEW_SECONDS ? seconds : VIEW_SECONDS;

	for (unsigned n = 0; n < sizeof(all) / sizeof(all[0]); n++)
		for (unsigned i = 0; i < VIEW_ITEMS; i++) {
			double *of = all[n][i];

			memmove(of, of + by, (VIEW_SECONDS - by) * sizeof(*of));
			memset(of + VIEW_SECONDS - by, 0, by * sizeof(*of));
		}
	v->until_s += seconds;
}

// Returns a percentile of the interval; 0: nothing was timed, INFINITY: it is among the lost.
static double latency_of(const json_t *line, const json_t *item, const char *name)
{
	double ns = document_number(item, name);

	if (json_object_get(line, LINE_WARMUP) ||
		document_computed(item, "answered + failed + lost") <= 0)
		return 0;
	return isnan(ns) ? INFINITY : ns;
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
		double p50 = latency_of(line, item, "p50_ns");
		double p99 = latency_of(line, item, "p99_ns");

		if (n == VIEW_ITEMS)
			break;
		for (unsigned k = 0; k < VIEW_SECONDS; k++) {
			double to = v->until_s - (VIEW_SECONDS - 1 - k), from = to - 1;
			double share = fmin(to, end) - fmax(from, end - length);

			if (share <= 0)
				continue;
			v->answered[n][k] += number_of(item, "answered") * share / length;
			v->known[n][k] += share;
			v->p50[n][k] = fmax(v->p50[n][k], p50);
			v->p99[n][k] = fmax(v->p99[n][k], p99);
		}
	}
}

// Returns the upper edge of a bin.
static double edge_ns(unsigned bin)
{
	static const double steps[] = {1, 2, 5};

	return steps[bin % 3] * pow(10, 3 + bin / 3);
}

// "20 us"
static const char *edge_text(unsigned bin)
{
	static const char *const units[] = {"us", "ms", "s"};
	unsigned power = bin / 3;

	return stats_shown_text(
		"%g %s", edge_ns(bin) / pow(10, 3 + 3 * (power / 3)), units[power / 3]);
}

static void add_latencies(struct view *v, const json_t *line)
{
	double hz = document_number(v->begin, "result.run.host.tsc_hz");
	const json_t *item;
	size_t n;

	json_array_foreach(json_object_get(line, "traffic"), n, item)
	{
		const char *text = document_text(item, "latency.response.histogram");
		uint32_t bucket = HIST_NONE;
		uint64_t times;

		if (n == VIEW_ITEMS)
			break;
		v->lost[n] += document_whole(number_of(item, "lost"));
		while (hz > 0 && *text && hist_next(&text, &bucket, &times, UINT64_MAX >> 1)) {
			double ns = (double)hist_bucket_low(bucket) * 1e9 / hz;
			unsigned bin = 0;

			while (bin < VIEW_BINS - 1 && ns >= edge_ns(bin))
				bin++;
			v->bins[n][bin] += times;
		}
	}
}

static void forget_history(struct view *v)
{
	memset(v->answered, 0, sizeof(v->answered));
	memset(v->known, 0, sizeof(v->known));
	memset(v->p50, 0, sizeof(v->p50));
	memset(v->p99, 0, sizeof(v->p99));
	memset(v->bins, 0, sizeof(v->bins));
	memset(v->lost, 0, sizeof(v->lost));
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
		if (!json_object_get(line, LINE_WARMUP))
			add_latencies(v, line);
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

// --- the verdict so far ---

enum state { MET, MISSED, UNKNOWN };

static enum state state_of(const json_t *criterion)
{
	const json_t *pass = json_object_get(criterion, "pass");

	return json_is_true(pass) ? MET : json_is_false(pass) ? MISSED : UNKNOWN;
}

static const char *value_of(const json_t *criterion)
{
	double value = document_number(criterion, "value");
	char text[TEXT];

	if (state_of(criterion) == UNKNOWN)
		return "not yet judged";
	if (isnan(value) && strcmp(document_text(criterion, "unit"), "ns") == 0)
		value = INFINITY; // among the lost
	return stats_shown_text(
		"%s", report_criterion_value(&(struct result_criterion){.value = value,
						     .unit = document_text(criterion, "unit")},
			      text, sizeof(text)));
}

// Writes the number of criteria in each state; without room for a list also the first missed one.
static void put_summary(struct drawing *d, const json_t *list, bool follow)
{
	static const enum state order[] = {MISSED, MET, UNKNOWN};
	static const char *const names[] = {"met", "missed", "not yet judged"};
	unsigned count[UNKNOWN + 1] = {0};
	const json_t *c, *missed = NULL;
	char line[LINE] = "criteria so far:";
	size_t n;

	json_array_foreach(list, n, c)
	{
		count[state_of(c)]++;
		missed = !missed && state_of(c) == MISSED ? c : missed;
	}
	for (unsigned i = 0; i <= UNKNOWN; i++)
		if (count[order[i]])
			strcat(line, stats_shown_text("%s %u %s",
					     line[strlen(line) - 1] == ':' ? "" : ",",
					     count[order[i]], names[order[i]]));
	if (missed && !follow)
		put(d, "%s: %s is %s", line, document_text(missed, "expression"), value_of(missed));
	else
		put(d, "%s", line);
}

// Writes the criteria of that state, or of any other, as far as the lines go.
static void put_criteria_of(
	struct drawing *d, const json_t *list, bool missed, bool all, unsigned *lines)
{
	static const char *const names[] = {"met", "MISSED", "-"};
	unsigned wide = 0, most = d->size->columns > 40 ? d->size->columns - 26 : 14;
	const json_t *c;
	size_t n;

	json_array_foreach(list, n, c)
	{
		size_t len = strlen(document_text(c, "expression"));

		wide = len > wide ? (unsigned)len : wide;
	}
	wide = wide < most ? wide : most;
	json_array_foreach(list, n, c)
	{
		if ((!all && (state_of(c) == MISSED) != missed) || !*lines)
			continue;
		put(d, "  %-7s %-*.*s  %s", names[state_of(c)], (int)wide, (int)wide,
			document_text(c, "expression"), value_of(c));
		(*lines)--;
	}
}

// One line, and the criteria in the further lines: if there are too few, the missed ones first.
static void put_criteria(struct drawing *d, const json_t *list, unsigned lines)
{
	bool all = lines >= json_array_size(list);

	put_summary(d, list, lines > 0);
	put_criteria_of(d, list, true, all, &lines);
	if (!all)
		put_criteria_of(d, list, false, false, &lines);
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

// Writes the cells that fit; the least important ones are left out first.
static void put_row(struct drawing *d, const char *const cells[8])
{
	static const unsigned least[] = {7, 6, 4, 1, 3, 2};
	struct columns c = columns_of(d->size);
	int wide[8] = {c.name, c.figure, c.figure + 2, c.figure, c.figure, c.figure, c.figure,
		c.figure + 1};
	int all = c.name + 6 * c.figure + c.figure + 3;
	char line[LINE];
	size_t len;

	for (unsigned i = 0; i < 6 && all > (int)d->size->columns; i++) {
		all -= wide[least[i]];
		wide[least[i]] = 0;
	}
	len = (size_t)snprintf(line, sizeof(line), "%-*.*s", c.name, c.name, cells[0]);
	for (unsigned i = 1; i < 8; i++)
		if (wide[i])
			len += (size_t)snprintf(line + len, sizeof(line) - len, "%*.*s", wide[i],
				wide[i], cells[i]);
	put(d, "%s", line);
}

static void put_item(struct drawing *d, const json_t *item, bool warmup)
{
	const char *cells[REPORT_CELLS + 1];

	report_cells(
		item, !warmup && document_computed(item, "answered + failed + lost") > 0, cells);
	cells[REPORT_CELLS] = stats_shown(number_of(item, "in_flight"), NULL);
	put_row(d, cells);
}

// A column for each second of the last minute, or of less on a narrow screen. x: lost.
static void put_spark(struct drawing *d, const char *name, const double *values,
	const double *known, const char *unit)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char plain[] = "_.-~=+*#";
	unsigned seconds = d->size->columns > 36 ? d->size->columns - 28 : 8, first;
	double most = 0;
	char line[4 * VIEW_SECONDS + 1] = "", *to = line;

	first = seconds < VIEW_SECONDS ? VIEW_SECONDS - seconds : 0;
	for (unsigned k = first; k < VIEW_SECONDS; k++)
		if (isfinite(values[k]))
			most = fmax(most, values[k]);
	for (unsigned k = first; k < VIEW_SECONDS; k++) {
		unsigned level = most > 0 && values[k] > 0 && isfinite(values[k])
		                         ? (unsigned)(values[k] / most * 7.99)
		                         : 0;

		if (known[k] <= 0)
			*to++ = ' ';
		else if (isinf(values[k]))
			*to++ = 'x';
		else if (d->size->utf8)
			to = stpcpy(to, blocks[level]);
		else
			*to++ = plain[level];
	}
	*to = '\0';
	put(d, "  %-8s %s up to %s", name, line, stats_shown(most, unit));
}

static void put_rate(struct drawing *d, size_t n)
{
	const struct view *v = d->v;
	double rate[VIEW_SECONDS];

	for (unsigned k = 0; k < VIEW_SECONDS; k++)
		rate[k] = v->known[n][k] > 0 ? v->answered[n][k] / v->known[n][k] : 0;
	put_spark(d, "answered", rate, v->known[n], "per_s");
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

// Writes counters as far as the line goes.
static void put_plain(struct drawing *d, const char *head, const json_t *counts)
{
	struct counts c = {"", d->size->columns, document_number(d->v->interval, "length_s")};

	snprintf(c.line, sizeof(c.line), "%s", head);
	if (c.length_s > 0)
		add_counts(&c, "", counts);
	put(d, "%s", c.line);
}

// Writes the number of open connections, and the fate of others.
static void put_connections(struct drawing *d, const json_t *all)
{
	json_t *counts = json_copy((json_t *)all);

	json_object_del(counts, "open");
	put_plain(d,
		stats_shown_text(
			"  connections %s open, per s", stats_shown(number_of(all, "open"), NULL)),
		counts);
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

// Does the run belong to a series?
static bool is_series(const json_t *begin)
{
	const json_t *file = document_at(begin, "result.config");

	return number_of(begin, LINE_BEGIN) > 1 || json_is_object(document_at(file, "search")) ||
	       json_is_object(document_at(file, "run.repeat"));
}

static void put_title(struct drawing *d)
{
	const json_t *b = d->v->begin;
	int room = (int)d->size->columns - (int)strlen(d->size->hint);
	const char *name = document_text(b, "result.run.name"), *left = *name ? name : "run";

	if (is_series(b))
		left = stats_shown_text("%s, run %.0f", left, number_of(b, LINE_BEGIN));
	put(d, "%-*.*s %s", room > 1 ? room - 1 : 0, room > 1 ? room - 1 : 0, left, d->size->hint);
}

// Lines that an item has below its row, if there is room: rate and p99, and then p50 too.
#define DETAILS 3

static void put_item_details(struct drawing *d, const json_t *item, size_t n, unsigned more)
{
	const struct view *v = d->v;
	const json_t *connections = json_object_get(item, "connections");
	const json_t *tls = json_object_get(connections, "tls");
	const json_t *http = json_object_get(connections, "http");
	const json_t *quic = json_object_get(connections, "quic");
	bool timed = !json_object_get(v->interval, LINE_WARMUP) && n < VIEW_ITEMS;

	if (more && n < VIEW_ITEMS && more--)
		put_rate(d, n);
	if (timed && more > DETAILS - 1 && more--)
		put_spark(d, "p50", v->p50[n], v->known[n], "ns");
	if (timed && more && more--)
		put_spark(d, "p99", v->p99[n], v->known[n], "ns");
	if (connections && more && more--)
		put_connections(d, connections);
	if (tls && more > 1 && more--)
		put_plain(d, "  TLS, per s", tls);
	if (http && more > 1 && more--)
		put_plain(d, "  HTTP/2, per s", http);
	if (quic && more > 1 && more--)
		put_plain(d, "  QUIC, per s", quic);
	if (more)
		put_counts(d, item);
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
		unsigned before = d->lines,
			 each = (more + count - (unsigned)n - 1) / (count - (unsigned)n);

		if (n == shown)
			break;
		put_item(d, item, warmup);
		if (shown == count)
			put_item_details(d, item, n, each < 6 ? each : 6);
		more -= shown == count ? d->lines - before - 1 : 0;
	}
	if (shown < count)
		put(d, "and %u items more", count - shown);
}

// Replies of one interval answer requests of earlier ones, so its figures need not add up.
static void put_note(struct drawing *d)
{
	const json_t *item;
	size_t n;

	json_array_foreach(json_object_get(d->v->interval, "traffic"), n, item)
	{
		if (!(number_of(item, "lost") > 0))
			continue;
		put(d, "lost requests were due earlier: they count when their timeout ends");
		return;
	}
}

// Writes the latencies of an item so far, a bin a line. Returns false if there are too few lines.
static bool put_histogram(struct drawing *d, size_t n, const char *name, unsigned lines)
{
	const uint64_t *bins = d->v->bins[n];
	unsigned first = 0, last = VIEW_BINS,
		 width = d->size->columns > 60 ? d->size->columns - 40 : 20;
	double most = (double)d->v->lost[n], all = most;
	char bar[4 * 101];

	while (last && !bins[last - 1])
		last--;
	while (first < last && !bins[first])
		first++;
	if (first == last || last - first + 1 + (d->v->lost[n] > 0) > lines)
		return false;
	for (unsigned i = first; i < last; i++) {
		most = fmax(most, (double)bins[i]);
		all += (double)bins[i];
	}
	width = width < 100 ? width : 100;
	put(d, "%s", "");
	put(d, "%s: response latency so far", name);
	for (unsigned i = first; i <= last; i++) {
		double count = i < last ? (double)bins[i] : (double)d->v->lost[n];
		char *to = bar;
		unsigned full = (unsigned)ceil(count / most * width);

		if (i == last && !d->v->lost[n])
			break;
		for (unsigned k = 0; k < full; k++)
			to = stpcpy(to, d->size->utf8 ? "█" : "#");
		*to = '\0';
		put(d, "  %-9s%9s  %11s  %s",
			i == last           ? "lost"
			: i < VIEW_BINS - 1 ? stats_shown_text("< %s", edge_text(i))
					    : "longer",
			stats_shown(count / all, "1"), stats_shown(count, NULL), bar);
	}
	return true;
}

unsigned view_draw(const struct view *v, const struct view_size *size, FILE *out)
{
	struct drawing d = {v, size, out, 0};
	const json_t *items = json_object_get(v->interval, "traffic"), *item;
	const json_t *criteria = json_object_get(v->interval, LINE_CRITERIA);
	const char *invalid = document_text(v->interval, LINE_INVALID);
	unsigned workers = (unsigned)json_array_size(json_object_get(v->interval, "workers"));
	unsigned count = (unsigned)json_array_size(items);
	unsigned most = (workers + 3) / 4, least, left;
	size_t n;

	if (!v->begin)
		return 0;
	put_title(&d);
	put_course(&d);
	if (v->trial)
		put_trial(&d);
	if (*invalid)
		put(&d, "INVALID so far: %s", invalid);
	if (!v->interval)
		return d.lines;
	least = 1 + count + (workers > 0) + (size->rows > 12); // rows of items, header, busy, blank
	if (criteria && d.lines + least < size->rows) {
		left = size->rows - d.lines - least - 1;
		put_criteria(&d, criteria, left > DETAILS * count ? left - DETAILS * count : 0);
	}
	if (size->rows > 12)
		put(&d, "%s", "");
	put_row(&d, (const char *const[8]){"item", "due/s", "answered/s", "loss", "p50", "p99",
			    "max", "in flight"});
	left = size->rows - d.lines;
	workers = workers && left > count ? left - count : workers > 0;
	workers = workers < most ? workers : most;
	if (left > workers)
		put_items(&d, left - workers);
	if (size->rows > d.lines + workers)
		put_note(&d);
	json_array_foreach(items, n, item)
	{
		unsigned room = size->rows - d.lines;

		if (size->rows < TALL || n == VIEW_ITEMS || room < workers + 4)
			break;
		if (!put_histogram(&d, n, document_text(item, "name"), room - workers - 2))
			break;
	}
	put_workers(&d, workers);
	return d.lines;
}

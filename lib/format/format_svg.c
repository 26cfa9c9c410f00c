// SPDX-License-Identifier: BSD-3-Clause
// Charts of a result for a document: rates, loss and latency over time, the percentiles, and the
// trials of a search. One sheet without scripts or anything from elsewhere, below 100 kB: long runs
// are thinned out. Path: cold. Main thread.
#include "format/format_svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "conf/units.h"
#include "format/svg_chart.h"
#include "stats/text.h"

#define HEAD        96   // height of the title
#define ITEMS       6    // with charts over time
#define ITEMS_NAMED 2    // in the title, with their figures
#define POINTS      4000 // of all lines of a sheet
#define LINES       7    // of an item, over time
#define POINTS_MOST 400  // of a line
#define TRIALS_MOST 150

// The colours of Okabe and Ito, as on the page of a result.
#define GREY   "#777777"
#define BLUE   "#0072b2"
#define SKY    "#56b4e9"
#define RED    "#d55e00"
#define GREEN  "#009e73"
#define ORANGE "#e69f00"
#define BLACK  "#000000"

enum figure { DUE, SENT, ANSWERED, LOSS, P50, P99, MAX, FIGURES };

// An item over time. Intervals in which nothing was sent are left out: the wait for the last
// replies.
struct course {
	const char *name;
	double *t_s; // middles
	double *length_s;
	double *value[FIGURES];
	unsigned count;
};

struct sheet {
	struct document_reader *reader;
	const json_t *document;
	const char *only; // chart; NULL: all
	struct arena *arena;
	struct course items[ITEMS];
	unsigned item_count;
	double end_s;
	FILE *out;
	double top;
};

const char *const svg_charts[] = {"rate", "loss", "latency", "percentiles", "search", NULL};

static bool is_wanted(const struct sheet *s, const char *chart)
{
	return !s->only || strcmp(s->only, chart) == 0;
}

// --- the figures

static unsigned interval_count(struct document_reader *b)
{
	unsigned n = 0;

	reader_rewind(b);
	while (reader_next(b))
		n++;
	return n;
}

// Returns a percentile; INFINITY: it is among the lost, NAN: nothing was timed.
static double time_of(const json_t *item, const char *path)
{
	double ns = document_number(item, path);

	if (document_computed(item, "answered + failed + lost") <= 0)
		return NAN;
	return isnan(ns) ? INFINITY : ns;
}

static void add_interval(struct course *c, const json_t *interval, const json_t *item)
{
	double length_s = document_number(interval, "length_s");
	double end_s = document_number(interval, "t_s");
	unsigned n = c->count;

	if (!(length_s > 0) || !isfinite(end_s) || document_computed(item, "due + sent") <= 0)
		return;
	c->t_s[n] = end_s - length_s / 2;
	c->length_s[n] = length_s;
	c->value[DUE][n] = document_number(item, "due_per_s");
	c->value[SENT][n] = document_number(item, "sent_per_s");
	c->value[ANSWERED][n] = document_number(item, "answered_per_s");
	c->value[LOSS][n] = document_number(item, "loss");
	c->value[P50][n] = time_of(item, "p50_ns");
	c->value[P99][n] = time_of(item, "p99_ns");
	c->value[MAX][n] = document_number(item, "max_ns");
	c->count++;
}

// Joins so many successive points: rates and loss by their mean, times by the longest.
static void thin_out(struct course *c, unsigned each)
{
	unsigned to = 0;

	for (unsigned from = 0; each > 1 && from < c->count; from += each, to++) {
		unsigned end = from + each < c->count ? from + each : c->count;
		double length_s = 0, value[FIGURES] = {0},
		       from_s = c->t_s[from] - c->length_s[from] / 2;

		for (unsigned i = from; i < end; i++) {
			length_s += c->length_s[i];
			for (unsigned f = 0; f < FIGURES; f++)
				if (f < P50)
					value[f] += c->value[f][i] * c->length_s[i];
				else
					value[f] = i == from ? c->value[f][i]
					                     : fmax(value[f], c->value[f][i]);
		}
		for (unsigned f = 0; f < FIGURES; f++)
			c->value[f][to] = f < P50 ? value[f] / length_s : value[f];
		c->t_s[to] = from_s + length_s / 2;
		c->length_s[to] = length_s;
	}
	if (each > 1)
		c->count = to;
}

static void read_courses(struct sheet *s)
{
	unsigned count = interval_count(s->reader), most;
	const json_t *interval, *item;
	size_t n;

	json_array_foreach(json_object_get(s->document, "traffic"), n, item)
	{
		struct course *c = &s->items[s->item_count];

		if (n == ITEMS)
			break;
		*c = (struct course){.name = document_text(item, "name")};
		c->t_s = arena_zalloc(s->arena, (count + 1) * sizeof(double));
		c->length_s = arena_zalloc(s->arena, (count + 1) * sizeof(double));
		for (unsigned f = 0; f < FIGURES; f++)
			c->value[f] = arena_zalloc(s->arena, (count + 1) * sizeof(double));
		s->item_count++;
	}
	reader_rewind(s->reader);
	while ((interval = reader_next(s->reader)))
		json_array_foreach(json_object_get(interval, "traffic"), n,
			item) if (n < s->item_count) add_interval(&s->items[n], interval, item);
	most = s->item_count ? POINTS / LINES / s->item_count : 0;
	most = most < POINTS_MOST ? most : POINTS_MOST;
	for (unsigned i = 0; i < s->item_count; i++) {
		struct course *c = &s->items[i];

		if (c->count)
			s->end_s = fmax(
				s->end_s, c->t_s[c->count - 1] + c->length_s[c->count - 1] / 2);
		thin_out(c, most ? (c->count + most - 1) / most : 1);
	}
}

// Widens the axis by the finite values.
static void span(struct svg_axis *a, const double *values, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (!isfinite(values[i]) || (a->kind == SVG_NS && values[i] <= 0))
			continue;
		a->least = fmin(a->least, values[i]);
		a->most = fmax(a->most, values[i]);
	}
}

static struct svg_axis axis(const char *label, enum svg_kind kind)
{
	return (struct svg_axis){label, kind, INFINITY, -INFINITY, kind != SVG_NS};
}

// --- charts over time

static const char *text_of(const struct sheet *s, double value, const char *unit)
{
	char text[64];

	return arena_strdup(s->arena, stats_format(value, unit, text, sizeof(text)));
}

static const char *titled(const struct sheet *s, const char *what, const char *item)
{
	return json_array_size(json_object_get(s->document, "traffic")) > 1
	               ? arena_printf(s->arena, "%s: %s", item, what)
	               : what;
}

static struct svg_axis time_axis(const struct sheet *s)
{
	struct svg_axis a = axis("time since the start of the measured part, s", SVG_NUMBER);

	a.least = 0;
	a.most = s->end_s;
	return a;
}

static void end_chart(struct sheet *s, struct svg_chart *c)
{
	svg_chart_end(c);
	s->top += SVG_CHART_HEIGHT;
}

static const json_t *totals_of(const struct sheet *s, const struct course *c)
{
	return document_named(json_object_get(s->document, "traffic"), "name", c->name);
}

static void put_rate(struct sheet *s, const struct course *c)
{
	const json_t *all = totals_of(s, c);
	struct svg_axis y = axis("requests per second", SVG_NUMBER);
	struct svg_chart chart;

	for (unsigned f = DUE; f <= ANSWERED; f++)
		span(&y, c->value[f], c->count);
	svg_chart_begin(&chart, s->out, s->top, titled(s, "Rate", c->name),
		arena_printf(s->arena, "Over the whole run due %s, sent %s, answered %s.",
			text_of(s, document_number(all, "due_per_s"), "per_s"),
			text_of(s, document_number(all, "sent_per_s"), "per_s"),
			text_of(s, document_number(all, "answered_per_s"), "per_s")),
		time_axis(s), y);
	svg_chart_line(
		&chart, "due", (struct svg_style){GREY, "6 3"}, c->t_s, c->value[DUE], c->count);
	svg_chart_line(
		&chart, "sent", (struct svg_style){SKY, NULL}, c->t_s, c->value[SENT], c->count);
	svg_chart_line(&chart, "answered", (struct svg_style){BLUE, NULL}, c->t_s,
		c->value[ANSWERED], c->count);
	end_chart(s, &chart);
}

static void put_loss(struct sheet *s, const struct course *c)
{
	struct svg_axis y = axis("loss, %", SVG_SHARE);
	struct svg_chart chart;

	span(&y, c->value[LOSS], c->count);
	svg_chart_begin(&chart, s->out, s->top, titled(s, "Loss", c->name),
		arena_printf(s->arena,
			"Over the whole run %s of the requests were lost. A lost request counts "
			"when its timeout ends.",
			text_of(s, document_number(totals_of(s, c), "loss"), "1")),
		time_axis(s), y);
	svg_chart_line(&chart, "lost, of those that ended", (struct svg_style){RED, NULL}, c->t_s,
		c->value[LOSS], c->count);
	end_chart(s, &chart);
}

static void put_latency(struct sheet *s, const struct course *c)
{
	const json_t *all = totals_of(s, c);
	struct svg_axis y = axis("response latency", SVG_NS);
	struct svg_chart chart;

	for (unsigned f = P50; f <= MAX; f++)
		span(&y, c->value[f], c->count);
	svg_chart_begin(&chart, s->out, s->top, titled(s, "Latency", c->name),
		arena_printf(s->arena,
			"Over the whole run p50 %s, p99 %s. A cross at the upper edge: the "
			"percentile is among lost requests.",
			stats_shown_time(time_of(all, "latency.response.p50_ns"), true),
			stats_shown_time(time_of(all, "latency.response.p99_ns"), true)),
		time_axis(s), y);
	svg_chart_line(
		&chart, "p50", (struct svg_style){GREEN, NULL}, c->t_s, c->value[P50], c->count);
	svg_chart_line(
		&chart, "p99", (struct svg_style){ORANGE, NULL}, c->t_s, c->value[P99], c->count);
	svg_chart_line(&chart, "longest answered", (struct svg_style){BLACK, "2 3"}, c->t_s,
		c->value[MAX], c->count);
	end_chart(s, &chart);
}

// --- percentiles

#define STEPS 20 // a nine
#define NINES 6

struct curve {
	double x[NINES * STEPS + 1], y[NINES * STEPS + 1];
	unsigned count;
};

// Returns the percentiles that the number of values supports, up to the lost ones; without a
// histogram, the few of the document.
static struct curve curve_of(const struct sheet *s, const json_t *latency, uint64_t lost)
{
	static const struct {
		const char *name;
		double share;
	} fixed[] = {{"min_ns", 0}, {"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99},
		{"p999_ns", 0.999}, {"p9999_ns", 0.9999}};
	struct hist *h = arena_zalloc(s->arena, sizeof(*h));
	double hz = reader_tick_hz(s->reader);
	struct curve c = {.count = 0};

	if (!reader_histogram(s->reader, latency, h)) {
		for (unsigned i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
			if (!isnan(document_number(latency, fixed[i].name))) {
				c.x[c.count] = svg_percentile(fixed[i].share);
				c.y[c.count++] = document_number(latency, fixed[i].name);
			}
		return c;
	}
	for (unsigned i = 0; i <= NINES * STEPS; i++) {
		double left = pow(10, -(double)i / STEPS);
		uint64_t ticks = hist_percentile(h, 1 - left, lost);

		if (ticks == UINT64_MAX || left * (double)(h->count + lost) < 1)
			break;
		c.x[c.count] = (double)i / STEPS;
		c.y[c.count++] = (double)ticks * 1e9 / hz;
	}
	return c;
}

static void put_percentiles(struct sheet *s)
{
	static const struct svg_style styles[] = {{BLUE, NULL}, {RED, NULL}, {GREEN, NULL},
		{ORANGE, NULL}, {SKY, NULL}, {BLACK, NULL}};
	struct svg_axis x = axis("percentile, %", SVG_PERCENTILE), y = axis("latency", SVG_NS);
	struct curve curves[2 * ITEMS];
	struct svg_chart chart;
	const json_t *item;
	unsigned count = 0;
	size_t n;

	x.least = 0;
	x.most = 2;
	json_array_foreach(json_object_get(s->document, "traffic"), n, item)
	{
		if (n == ITEMS)
			break;
		curves[count++] = curve_of(s, document_at(item, "latency.response"),
			document_whole(fmax(document_computed(item, "lost"), 0)));
		curves[count++] = curve_of(s, document_at(item, "latency.service"), 0);
	}
	for (unsigned i = 0; i < count; i++) {
		span(&y, curves[i].y, curves[i].count);
		span(&x, curves[i].x, curves[i].count);
	}
	if (!isfinite(y.least))
		return;
	svg_chart_begin(&chart, s->out, s->top, "Latency by percentile",
		"Response latency counts from the time a request was due, service latency from its "
		"last send. Lost requests rank above all answers, where a curve ends.",
		x, y);
	for (unsigned i = 0; i < count; i++) {
		const char *what = i % 2 ? "service" : "response";
		struct svg_style style = styles[i / 2];

		style.dash = i % 2 ? "2 3" : NULL;
		if (curves[i].count)
			svg_chart_line(&chart, titled(s, what, s->items[i / 2].name), style,
				curves[i].x, curves[i].y, curves[i].count);
	}
	end_chart(s, &chart);
}

// --- a search

static double bound_of(const struct sheet *s, const char *name)
{
	const json_t *goal = json_array_get(document_at(s->document, "config.search.goals"), 0);
	const char *text = document_text(goal, name), *what;
	double share;
	uint64_t ns;

	if (strcmp(name, "loss") == 0)
		return units_parse_percent(text, &share, &what) == 0 ? share : NAN;
	return units_parse_duration(text, &ns, &what) == 0 ? (double)ns : NAN;
}

static void put_trials(struct sheet *s, const char *title, const char *figure, const char *bound,
	struct svg_axis y)
{
	static const struct {
		const char *verdict, *name, *colour;
		enum svg_shape shape;
	} kinds[] = {{"pass", "met the goals", GREEN, SVG_RING},
		{"fail", "missed a goal", RED, SVG_CROSS}, {"", "not valid", GREY, SVG_DOT}};
	const json_t *search = json_object_get(s->document, "search"), *trial;
	const json_t *trials = json_object_get(search, "trials");
	const char *variable = document_text(search, "variable"), *limit;
	struct svg_axis x = axis(*variable ? variable : "value", SVG_NUMBER);
	struct svg_chart chart;
	double most = bound_of(s, bound), answer = document_number(search, "answer");
	size_t n;

	json_array_foreach(trials, n, trial)
	{
		double rate = document_number(trial, "rate"),
		       value = document_number(trial, figure);

		span(&x, &rate, 1);
		span(&y, &value, 1);
	}
	span(&y, &most, 1);
	limit = arena_printf(
		s->arena, "goal: at most %s", text_of(s, most, y.kind == SVG_SHARE ? "1" : "ns"));
	svg_chart_begin(&chart, s->out, s->top, title,
		arena_printf(s->arena, "%zu trials. The highest value that met the goals: %s.",
			json_array_size(trials), isnan(answer) ? "none" : text_of(s, answer, NULL)),
		x, y);
	for (unsigned k = 0; k < 3; k++)
		svg_chart_legend_point(&chart, kinds[k].name, kinds[k].colour, kinds[k].shape);
	json_array_foreach(trials, n, trial)
	{
		const char *verdict = document_text(trial, "verdict");
		unsigned k = 0;
		double value = document_number(trial, figure);

		while (k < 2 && strcmp(kinds[k].verdict, verdict) != 0)
			k++;
		if (n < TRIALS_MOST)
			svg_chart_point(&chart, kinds[k].colour, kinds[k].shape,
				document_number(trial, "rate"), isnan(value) ? INFINITY : value);
	}
	svg_chart_bound(&chart, false, most, limit);
	svg_chart_bound(&chart, true, answer, "answer");
	svg_chart_bound(&chart, true,
		document_number(json_array_get(json_object_get(search, "goals"), 0), "upper"),
		"not met");
	end_chart(s, &chart);
}

// The percentiles that the first goal limits, or p99.
static void put_latencies(struct sheet *s)
{
	static const char *const names[] = {"p50", "p90", "p95", "p99", "p999"};
	bool any = false;

	for (size_t i = 0; i <= sizeof(names) / sizeof(names[0]); i++) {
		bool last = i == sizeof(names) / sizeof(names[0]);
		const char *name = last ? "p99" : names[i];

		if (last ? any : !(bound_of(s, name) > 0))
			continue;
		any = true;
		put_trials(s, arena_printf(s->arena, "%s of the trials", name),
			arena_printf(s->arena, "%s_ns", name), name,
			axis(arena_printf(s->arena, "response latency, %s", name), SVG_NS));
	}
}

// --- the sheet

static const char *server_of(const struct sheet *s, const json_t *item)
{
	const char *server = document_text(item, "server");
	double port = document_number(item, "server_port");

	if (!*server || !(port > 0))
		return server;
	return arena_printf(s->arena, strchr(server, ':') ? "[%s]:%.0f" : "%s:%.0f", server, port);
}

// "198.18.0.2, 5 000 per second; 198.18.0.3:54, 100 in flight"
static const char *load_of(const struct sheet *s)
{
	const json_t *items = document_at(s->document, "config.traffic"), *item;
	const char *out = "";
	size_t n;

	if (!items) // output.config: false
		items = json_object_get(s->document, "traffic");
	json_array_foreach(items, n, item)
	{
		double rate = document_number(item, "load.rate"),
		       kept = document_number(item, "load.outstanding");
		const char *load = "";

		if (n == ITEMS)
			break;
		if (!*server_of(s, item)) // clients broadcast, or nobody knows
			continue;
		if (!json_object_get(s->document, "search"))
			load = rate > 0   ? arena_printf(s->arena, ", %s per second",
						    text_of(s, rate, NULL))
			       : kept > 0 ? arena_printf(s->arena, ", %s in flight",
						    text_of(s, kept, NULL))
			                  : "";
		out = arena_printf(s->arena, "%s%s%s%s", out, *out ? "; " : "server ",
			server_of(s, item), load);
	}
	return out;
}

// Returns the figures of an item: "answered 50.0 k/s, loss 0 %, p50 58.0 us, p99 121 us"
static const char *figures_of(const struct sheet *s, const json_t *item)
{
	return titled(s,
		arena_printf(s->arena, "answered %s, loss %s, p50 %s, p99 %s",
			text_of(s, document_number(item, "answered_per_s"), "per_s"),
			text_of(s, document_number(item, "loss"), "1"),
			stats_shown_time(time_of(item, "latency.response.p50_ns"), true),
			stats_shown_time(time_of(item, "latency.response.p99_ns"), true)),
		document_text(item, "name"));
}

static const char *upper_of(const struct sheet *s, const char *text)
{
	char *out = (char *)arena_strdup(s->arena, text);

	for (char *c = out; *c; c++)
		*c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
	return out;
}

static void put_head(struct sheet *s, double height)
{
	const char *name = document_text(s->document, "run.name");
	const char *status = document_text(s->document, "verdict.status");
	const json_t *items = json_object_get(s->document, "traffic");
	const char *title = arena_printf(
		s->arena, "%s%s%s", *name ? name : "run", *status ? ": " : "", upper_of(s, status));
	const char *load = load_of(s), *figures = "";
	const char *started = document_text(s->document, "run.started");
	const json_t *item;
	size_t n;

	json_array_foreach(items, n, item) if (n < ITEMS_NAMED) figures =
		arena_printf(s->arena, "%s%s%s", figures, n ? "; " : "", figures_of(s, item));
	fprintf(s->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"viewBox=\"0 0 %d %.0f\" role=\"img\" aria-labelledby=\"title about\" "
		"font-family=\"sans-serif\" font-size=\"12\" fill=\"#222222\">\n<title "
		"id=\"title\">",
		SVG_WIDTH, height, SVG_WIDTH, height);
	svg_text(s->out, title);
	fputs("</title>\n<desc id=\"about\">", s->out);
	svg_text(s->out, arena_printf(s->arena, "Charts of a run of ddiperf%s%s. %s",
				 *load ? ", " : "", load, figures));
	fprintf(s->out,
		"</desc>\n"
		"<style>.g{stroke:#dddddd;fill:none}.a{stroke:#222222;fill:none}"
		".l{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}"
		".b{stroke:#222222;stroke-dasharray:1 3;fill:none}"
		".h{font-size:15px;font-weight:bold}</style>\n"
		"<rect width=\"%d\" height=\"%.0f\" fill=\"#ffffff\"/>\n"
		"<text x=\"20\" y=\"30\" font-size=\"20\" font-weight=\"bold\">",
		SVG_WIDTH, height);
	svg_text(s->out, title);
	fputs("</text>\n<text x=\"20\" y=\"50\">", s->out);
	svg_text(s->out, load);
	fputs("</text>\n<text x=\"20\" y=\"68\">", s->out);
	svg_text(s->out, figures);
	fprintf(s->out, "</text>\n<text x=\"%d\" y=\"30\" text-anchor=\"end\">", SVG_WIDTH - 20);
	svg_text(s->out, started);
	fputs("</text>\n", s->out);
}

static void put_charts(struct sheet *s)
{
	const json_t *trials = document_at(s->document, "search.trials");

	if (json_array_size(trials) > 0 && is_wanted(s, "search")) {
		put_trials(s, "Loss of the trials", "loss", "loss", axis("loss, %", SVG_SHARE));
		put_latencies(s);
	}
	for (unsigned i = 0; i < s->item_count; i++) {
		const struct course *c = &s->items[i];

		if (c->count && is_wanted(s, "rate"))
			put_rate(s, c);
		if (c->count && is_wanted(s, "loss"))
			put_loss(s, c);
		if (c->count && is_wanted(s, "latency"))
			put_latency(s, c);
	}
	if (is_wanted(s, "percentiles"))
		put_percentiles(s);
}

int svg_write(const struct format_input *in, FILE *out)
{
	struct sheet s = {.reader = in->readers[0],
		.document = in->readers[0]->document,
		.only = in->select,
		.arena = arena_new(),
		.top = HEAD};
	char *text = NULL;
	size_t len = 0;

	s.out = open_memstream(&text, &len); // the head has the height of all
	if (!s.out)
		arena_exhausted();
	read_courses(&s);
	put_charts(&s);
	fclose(s.out);
	s.out = out;
	put_head(&s, s.top);
	if (len)
		fwrite(text, 1, len, out);
	else
		fputs("<text x=\"20\" y=\"88\">The result has no figures for a chart.</text>\n",
			out);
	fputs("</svg>\n", out);
	free(text);
	arena_free(s.arena);
	return 0;
}

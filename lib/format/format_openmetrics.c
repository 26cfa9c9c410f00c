// SPDX-License-Identifier: BSD-3-Clause
// The figures of a result as OpenMetrics text, or as the older text format of Prometheus, which
// puts TYPE and HELP of a counter under the name with _total. Names, units and help come from the
// rows: base units, ratios, _total for counts. Path: cold. Main thread.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "format/format_walk.h"
#include "format/format_writers.h"

#define PREFIX    "ddiperf"
#define NAME_MAX_ 512 // of a metric
#define LINE_MAX_ 8192

enum kind { KIND_COUNTER, KIND_GAUGE, KIND_HISTOGRAM, KIND_INFO };

// All samples of one name.
struct family {
	const char *name; // without _total or _info
	const char *help, *unit;
	enum kind kind;
	char *text;
	size_t len;
	FILE *samples;
};

struct metrics {
	const struct document_reader *reader;
	const char *run; // label of all samples; NULL: none
	bool open_metrics;
	bool newest;   // of the newest interval, without counts
	json_t *index; // name: number of its family
	json_t *seen;  // samples written so far: items may share a name
	struct arena *arena;
	struct family **families; // never moved: its stream refers to it
	size_t count;
	struct hist hist;
};

// --- names ---

// "traffic.latency.response.p99_ns" becomes ddiperf_traffic_latency_response_p99_seconds.
static void metric_name(const char *path, const char *unit, char *name)
{
	static const char *const words[][2] = {{"ns", "seconds"}, {"us", "seconds"},
		{"s", "seconds"}, {"hz", "hertz"}, {"bps", "bytes_per_second"}};
	const char *before = "";
	size_t len = (size_t)snprintf(name, NAME_MAX_, PREFIX);

	while (*path && len + 64 < NAME_MAX_) {
		size_t n = strcspn(path, "._ ");
		const char *word = NULL;

		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (n == strlen(words[i][0]) && strncmp(path, words[i][0], n) == 0)
				word = words[i][1];
		if (word && strcmp(before, "per") == 0)
			word = "second";
		before = n == 3 && strncmp(path, "per", 3) == 0 ? "per" : "";
		if (word)
			len += (size_t)snprintf(name + len, NAME_MAX_ - len, "_%s", word);
		else if (n)
			len += (size_t)snprintf(
				name + len, NAME_MAX_ - len, "_%.*s", (int)(n < 60 ? n : 60), path);
		path += n + (path[n] != '\0');
	}
	if (unit && strcmp(unit, "1") == 0)
		snprintf(name + len, NAME_MAX_ - len, "_ratio");
}

// Returns the factor to base units.
static double scale_of(const struct counter *r)
{
	const char *unit = r->unit ? r->unit : "", *bits = strstr(r->name, "_bps");

	if (strcmp(unit, "ns") == 0)
		return 1e-9;
	if (strcmp(unit, "us") == 0)
		return 1e-6;
	return bits && strcmp(bits, "_bps") == 0 ? 0.125 : 1;
}

// Returns the unit that ends the name; NULL: none.
static const char *unit_of(const char *name)
{
	static const char *const units[] = {"seconds", "ratio", "hertz", "bytes"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i]), all = strlen(name);

		if (all > len && name[all - len - 1] == '_' &&
			strcmp(name + all - len, units[i]) == 0)
			return units[i];
	}
	return NULL;
}

// --- families ---

// Returns NULL if the name has another kind already.
static struct family *family_of(
	struct metrics *m, const char *name, enum kind kind, const char *help)
{
	const json_t *at = json_object_get(m->index, name);
	struct family *f;

	if (at) {
		f = m->families[json_integer_value(at)];
		return f->kind == kind ? f : NULL;
	}
	f = arena_zalloc(m->arena, sizeof(*f));
	*f = (struct family){.name = arena_strdup(m->arena, name),
		.help = help,
		.kind = kind,
		.unit = kind == KIND_INFO ? NULL : unit_of(name)};
	f->samples = open_memstream(&f->text, &f->len);
	if (!f->samples)
		arena_exhausted();
	m->families = arena_grow(m->arena, m->families, m->count, sizeof(*m->families));
	m->families[m->count] = f;
	json_object_set_new(m->index, name, json_integer((json_int_t)m->count++));
	return f;
}

static void put_label(FILE *out, const char *name, const char *value, bool first)
{
	fprintf(out, "%s%s=\"", first ? "{" : ",", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '\\' || *value == '"')
			fprintf(out, "\\%c", *value);
		else
			fputc(*value, out);
	}
	fputc('"', out);
}

struct label {
	const char *name, *value;
};

static bool has_label(const struct walk *w, const char *name)
{
	for (unsigned i = 0; i < w->label_count; i++)
		if (strcmp(w->labels[i].name, name) == 0)
			return true;
	return false;
}

// Returns name and labels of a sample, as text that the caller frees. extra: more labels, ended by
// a NULL name; labels that the place has already are left out.
static char *sample_name(
	const struct walk *w, const char *name, const char *suffix, const struct label *extra)
{
	const struct metrics *m = w->ctx;
	unsigned count = 0;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		arena_exhausted();
	fprintf(out, "%s%s", name, suffix);
	if (m->run)
		put_label(out, "run", m->run, count++ == 0);
	for (unsigned i = 0; i < w->label_count; i++)
		put_label(out, w->labels[i].name, w->labels[i].value, count++ == 0);
	for (; extra->name; extra++)
		if (!has_label(w, extra->name))
			put_label(out, extra->name, extra->value, count++ == 0);
	if (count)
		fputc('}', out);
	fclose(out);
	return text;
}

static void put_sample(struct walk *w, struct family *f, const char *suffix,
	const struct label *extra, const char *value)
{
	struct metrics *m = w->ctx;
	char *name = f ? sample_name(w, f->name, suffix, extra) : NULL;

	if (name && !json_object_get(m->seen, name)) {
		json_object_set_new(m->seen, name, json_true());
		fprintf(f->samples, "%s %s\n", name, value);
	}
	free(name);
}

// Uses fewer digits than the document has, so that a result and its document give equal text.
static const char *number_text(double value, char *buf, size_t room)
{
	snprintf(buf, room, "%.9g", value);
	return buf;
}

// --- from the walk ---

static bool adds_up(const struct counter *r)
{
	return counter_adds_up(r) || r->type == COUNTER_ARRAY;
}

static void put_figure(
	struct walk *w, const struct counter *row, const char *label, const json_t *value)
{
	enum kind kind = adds_up(row) ? KIND_COUNTER : KIND_GAUGE;
	const struct label extra[] = {{label ? row->name : NULL, label}, {NULL, NULL}};
	struct metrics *m = w->ctx;
	char path[WALK_PATH + 16], name[NAME_MAX_], number[32];
	struct family *f;

	if (json_is_string(value) || json_is_null(value) || (m->newest && kind == KIND_COUNTER))
		return;
	snprintf(path, sizeof(path), "%s%s", m->newest ? "interval." : "", w->name);
	metric_name(path, row->unit, name);
	f = family_of(m, name, kind, row->help);
	if (json_is_boolean(value))
		number_text(json_is_true(value), number, sizeof(number));
	else if (scale_of(row) == 1)
		walk_text(value, number, sizeof(number));
	else if (json_is_integer(value)) // times of day need all digits
		snprintf(number, sizeof(number), "%.15g",
			scale_of(row) * (double)json_integer_value(value));
	else
		number_text(scale_of(row) * json_number_value(value), number, sizeof(number));
	put_sample(w, f, kind == KIND_COUNTER ? "_total" : "", extra, number);
}

// Writes the texts of an object, as labels.
static void put_info(struct walk *w, const struct counter_section *s, const json_t *object)
{
	struct label texts[32];
	unsigned count = 0;
	char name[NAME_MAX_];

	for (uint32_t i = 0; i < s->count && count + 1 < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct counter *r = &s->rows[i];
		const char *text = json_string_value(json_object_get(object, r->name));

		if (r->type == COUNTER_STRING && text && strcmp(r->name, "histogram") != 0 &&
			strcmp(r->name, "name") != 0)
			texts[count++] = (struct label){r->name, text};
	}
	texts[count] = (struct label){NULL, NULL};
	if (count == 0)
		return;
	metric_name(w->name, NULL, name);
	put_sample(w, family_of(w->ctx, name, KIND_INFO, s->help), "_info", texts, "1");
}

// 1, 2 and 5 of each decade, in the notation of other programs.
static const char *const bounds[] = {"1e-06", "2e-06", "5e-06", "1e-05", "2e-05", "5e-05", "0.0001",
	"0.0002", "0.0005", "0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5",
	"1.0", "2.0", "5.0", "10.0", "+Inf"};

static void put_histogram(struct walk *w, const char *path, double hz)
{
	struct metrics *m = w->ctx;
	const struct label none[] = {{NULL, NULL}};
	char name[NAME_MAX_], number[32];
	uint64_t below = 0;
	struct family *f;
	uint32_t i = 0;

	metric_name(path, NULL, name);
	f = family_of(m, name, KIND_HISTOGRAM, "distribution of the answered transactions");
	for (size_t b = 0; b < sizeof(bounds) / sizeof(bounds[0]); b++) {
		double bound = strtod(bounds[b], NULL) * hz;

		for (; i < HIST_BUCKETS &&
			(isinf(bound) ||
				0.5 * ((double)hist_bucket_low(i) + (double)hist_bucket_high(i)) <=
					bound);
			i++)
			below += m->hist.bucket[i];
		snprintf(number, sizeof(number), "%llu", (unsigned long long)below);
		put_sample(
			w, f, "_bucket", (struct label[]){{"le", bounds[b]}, {NULL, NULL}}, number);
	}
	put_sample(w, f, "_count", none, number);
	put_sample(
		w, f, "_sum", none, number_text((double)m->hist.sum / hz, number, sizeof(number)));
}

static void put_object(struct walk *w, const struct counter_section *s, const json_t *object)
{
	struct metrics *m = w->ctx;
	char path[WALK_PATH + 8];

	if (m->newest)
		return;
	put_info(w, s, object);
	if (!json_object_get(object, "histogram") || !reader_histogram(m->reader, object, &m->hist))
		return;
	snprintf(path, sizeof(path), "%sseconds", w->name);
	put_histogram(w, path, reader_tick_hz(m->reader));
}

// --- the text ---

static void put_family(const struct metrics *m, const struct family *f, FILE *out)
{
	static const char *const types[] = {"counter", "gauge", "histogram", "info"};
	static const char *const suffixes[] = {"_total", "", "", "_info"};
	const char *suffix = m->open_metrics ? "" : suffixes[f->kind];
	const char *type = !m->open_metrics && f->kind == KIND_INFO ? "gauge" : types[f->kind];

	fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", f->name, suffix, f->help, f->name, suffix,
		type);
	if (m->open_metrics && f->unit)
		fprintf(out, "# UNIT %s %s\n", f->name, f->unit);
	fputs(f->text, out);
}

// Writes the newest interval (NULL: none) of a run in progress, and the run's number in its series.
static void walk_newest(struct walk *w, const json_t *interval)
{
	static const struct counter number = {"number",
		"number of the run in its series; counts begin anew with each", NULL, COUNTER_F64};
	struct metrics *m = w->ctx;
	json_t *value = json_integer((json_int_t)m->reader->run);

	if (!interval)
		interval = json_null();
	snprintf(w->name, sizeof(w->name), "run.number");
	put_figure(w, &number, NULL, value);
	json_decref(value);
	m->newest = true;
	walk_interval(w, interval);
}

// live: the runs are in progress.
static int write_metrics(
	const struct prometheus_run *runs, unsigned count, bool live, FILE *out, bool open_metrics)
{
	struct arena *a = arena_new();
	struct metrics *m = arena_zalloc(a, sizeof(*m));
	struct walk *w = arena_zalloc(a, sizeof(*w));

	*m = (struct metrics){.arena = a,
		.open_metrics = open_metrics,
		.index = json_object(),
		.seen = json_object()};
	for (unsigned i = 0; i < count; i++) {
		m->reader = runs[i].reader;
		m->run = runs[i].id;
		m->newest = false;
		*w = (struct walk){.figure = put_figure, .object = put_object, .ctx = m};
		walk_document(w, m->reader);
		if (live)
			walk_newest(w, runs[i].interval);
	}
	for (size_t i = 0; i < m->count; i++) {
		if (fclose(m->families[i]->samples) != 0)
			arena_exhausted();
		put_family(m, m->families[i], out);
		free(m->families[i]->text);
	}
	if (open_metrics)
		fputs("# EOF\n", out);
	json_decref(m->index);
	json_decref(m->seen);
	arena_free(a);
	return 0;
}

static int write_result(const struct format_input *in, FILE *out, bool open_metrics)
{
	return write_metrics(
		&(struct prometheus_run){.reader = in->readers[0]}, 1, false, out, open_metrics);
}

int openmetrics_write(const struct format_input *in, FILE *out)
{
	return write_result(in, out, true);
}

int prometheus_write(const struct format_input *in, FILE *out)
{
	return write_result(in, out, false);
}

int prometheus_write_live(const struct prometheus_run *runs, unsigned count, FILE *out)
{
	return write_metrics(runs, count, true, out, false);
}

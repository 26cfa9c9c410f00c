// SPDX-License-Identifier: BSD-3-Clause
// Reads a result document into a flat list. Nothing in the document is trusted. Path: cold. Main
// thread.
#include "compare/figures.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "document/document_reader.h"
#include "base/log.h"
#include "base/student.h"
#include "engine/series/spread.h"
#include "stats/text.h"

#define SCHEMA      "ddiperf-result/1"
#define ANSWER      "search.answer"
#define DEPTH_MAX   8
#define REPEATS_MAX 1000
#define FIGURES_MAX 20000

struct flattening {
	struct figures *out;
	struct arena *a;
	const char *item;
	double sent, lost;
	uint32_t repeat; // that the figures belong to; REPEATS_MAX: the run itself
	uint32_t next;   // where the next figure of a repeat is expected
	bool too_many;   // some are left out
};

static const struct {
	const char *name, *path;
} short_names[] = {
	{"rate", "answered_per_s"},
	{"mean", "latency.response.mean_ns"},
	{"p50", "latency.response.p50_ns"},
	{"p90", "latency.response.p90_ns"},
	{"p99", "latency.response.p99_ns"},
	{"p999", "latency.response.p999_ns"},
	{"p9999", "latency.response.p9999_ns"},
	{"max", "latency.response.max_ns"},
};

const char *figures_full_name(const char *name)
{
	for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++)
		if (strcmp(name, short_names[i].name) == 0)
			return short_names[i].path;
	return name;
}

void figures_try_names(const struct figures *f, struct nearest *nearest)
{
	for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++)
		nearest_try(nearest, short_names[i].name);
	for (uint32_t i = 0; i < f->count; i++)
		nearest_try(nearest, f->list[i].path);
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), tail = strlen(end);

	return len >= tail && strcmp(text + len - tail, end) == 0;
}

const char *figures_unit(const char *path)
{
	if (ends_in(path, "_ns") || ends_in(path, "ns_per_transaction"))
		return "ns";
	if (strncmp(path, ANSWER, strlen(ANSWER)) == 0)
		return "";
	return ends_in(path, "_per_s") ? "per_s" : "1";
}

const char *figures_text(double v, const char *unit)
{
	return isinf(v) ? "lost" : stats_shown(v, *unit ? unit : NULL);
}

double figures_absent(const char *path)
{
	return strcmp(figures_unit(path), "ns") == 0 ? NAN : 0;
}

static bool is_figure(const struct figure *f, const char *item, const char *path)
{
	return strcmp(f->item, item) == 0 && strcmp(f->path, path) == 0;
}

const struct figure *figures_find(const struct figures *f, const char *item, const char *path)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (is_figure(&f->list[i], item, path))
			return &f->list[i];
	return NULL;
}

bool figures_is_new_item(const struct figures *f, uint32_t i)
{
	return i == 0 || strcmp(f->list[i].item, f->list[i - 1].item) != 0;
}

bool figures_has_item(const struct figures *f, const char *item)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (strcmp(f->list[i].item, item) == 0)
			return true;
	return false;
}

// Repeats list their figures in the order of the run, or nearly so: the search starts at the next.
static struct figure *find_again(struct flattening *f, const char *path)
{
	struct figures *out = f->out;

	for (uint32_t i = 0; i < out->count; i++) {
		uint32_t k = (f->next + i) % out->count;

		if (!is_figure(&out->list[k], f->item, path))
			continue;
		f->next = k + 1;
		return &out->list[k];
	}
	return NULL;
}

static struct figure *add_figure(struct flattening *f, const char *path)
{
	struct figures *out = f->out;
	struct figure *one;

	out->list = arena_grow(f->a, out->list, out->count, sizeof(*out->list));
	one = &out->list[out->count++];
	*one = (struct figure){.item = f->item, .path = path};
	if (out->repeats)
		one->repeats = arena_zalloc(f->a, out->repeats * sizeof(*one->repeats));
	for (uint32_t i = 0; i < out->repeats; i++)
		one->repeats[i] = figures_absent(path);
	return one;
}

static void put_value(struct flattening *f, const char *path, double value)
{
	bool share = strcmp(figures_unit(path), "1") == 0 && strcmp(path, "loss") != 0 &&
	             !ends_in(path, "share");
	struct figure *one = f->repeat == REPEATS_MAX ? NULL : find_again(f, path);

	if (share)
		value = f->sent > 0 ? value / f->sent : 0;
	if (!one && f->out->count == FIGURES_MAX) {
		f->too_many = true;
		return;
	}
	if (!one)
		one = add_figure(f, path);
	if (f->repeat == REPEATS_MAX)
		one->value = value;
	else
		one->repeats[f->repeat] = value;
	one->repeated |= f->repeat != REPEATS_MAX;
}

static void flatten(struct flattening *f, const json_t *v, const char *path, unsigned depth);

// With too few values for a percentile, the maximum is the percentile.
static const json_t *known_value(
	const struct flattening *f, const json_t *in, const char *key, const json_t *value)
{
	if (json_is_null(value) && f->lost == 0 && document_is_latency(in) && key[0] == 'p')
		return json_object_get(in, "max_ns");
	return value;
}

static void flatten_members(struct flattening *f, json_t *object, const char *path, unsigned depth)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) flatten(f, known_value(f, object, key, value),
		*path ? arena_printf(f->a, "%s.%s", path, key) : arena_strdup(f->a, key), depth);
}

// A time that is null is a rank among lost transactions, if any were lost.
static void flatten(struct flattening *f, const json_t *v, const char *path, unsigned depth)
{
	const json_t *one;
	size_t i;

	if (depth == DEPTH_MAX) {
		f->too_many = true;
		return;
	}
	if (json_is_number(v))
		put_value(f, path, json_number_value(v));
	else if (json_is_null(v) && ends_in(path, "_ns"))
		put_value(f, path, f->lost > 0 ? INFINITY : NAN);
	else if (json_is_object(v))
		flatten_members(f, (json_t *)v, path, depth + 1);
	else if (json_is_array(v))
		json_array_foreach(v, i, one) if (*document_text(one, "name")) flatten(f, one,
			arena_printf(f->a, "%s.%s", path, document_text(one, "name")), depth + 1);
}

static void flatten_traffic(struct flattening *f, const json_t *traffic)
{
	const json_t *item;
	size_t i;

	json_array_foreach(traffic, i, item)
	{
		if (!*document_text(item, "name"))
			continue;
		f->item = arena_strdup(f->a, document_text(item, "name"));
		f->sent = json_number_value(json_object_get(item, "sent"));
		f->lost = json_number_value(json_object_get(item, "lost"));
		flatten(f, item, "", 0);
	}
}

// The first goal's answer is "search.answer"; the name of any other ends in its goal.
static void flatten_search(struct flattening *f, const json_t *search)
{
	const json_t *goal;
	size_t i;

	f->item = "search";
	json_array_foreach(json_object_get(search, "goals"), i, goal) put_value(f,
		i ? arena_printf(f->a, ANSWER ".%s", document_text(goal, "goal")) : ANSWER,
		json_number_value(json_object_get(goal, "answer")));
}

static void put_setting(struct flattening *f, const char *path, const json_t *value)
{
	struct figures *out = f->out;
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));

	if (!text)
		return;
	out->settings = arena_grow(f->a, out->settings, out->setting_count, sizeof(*out->settings));
	out->settings[out->setting_count++] =
		(struct figures_setting){path, arena_strdup(f->a, text)};
	free(text);
}

// Elements of lists are identified by name, if they have one.
static void flatten_settings(
	struct flattening *f, const char *path, const json_t *value, unsigned depth)
{
	const char *key, *dot = *path ? "." : "";
	json_t *one;
	size_t i;

	// These do not change the measurement.
	if (word_is_among(path, "run.name run.id run.note run.labels run.seed output criteria") ||
		f->out->setting_count == FIGURES_MAX)
		return;
	if (depth == DEPTH_MAX || !(json_is_object(value) || json_is_array(value))) {
		put_setting(f, path, value);
		return;
	}
	json_object_foreach((json_t *)value, key, one)
		flatten_settings(f, arena_printf(f->a, "%s%s%s", path, dot, key), one, depth + 1);
	json_array_foreach(value, i, one) flatten_settings(f,
		*document_text(one, "name")
			? arena_printf(f->a, "%s.%s", path, document_text(one, "name"))
			: arena_printf(f->a, "%s[%zu]", path, i),
		one, depth + 1);
}

static const char *setting_of(const struct figures *f, const char *path)
{
	for (uint32_t i = 0; i < f->setting_count; i++)
		if (strcmp(f->settings[i].path, path) == 0)
			return f->settings[i].value;
	return NULL;
}

bool figures_differ(const struct figures *a, const struct figures *b, uint32_t *at,
	struct figures_setting *in_a, struct figures_setting *in_b)
{
	while (*at < a->setting_count + b->setting_count) {
		bool of_a = *at < a->setting_count;
		const struct figures_setting *s =
			of_a ? &a->settings[*at] : &b->settings[*at - a->setting_count];
		const char *other = setting_of(of_a ? b : a, s->path);

		++*at;
		if (other && (!of_a || strcmp(other, s->value) == 0))
			continue;
		*in_a = (struct figures_setting){s->path, of_a ? s->value : NULL};
		*in_b = (struct figures_setting){s->path, of_a ? other : s->value};
		return true;
	}
	return false;
}

static int refuse_document(const char *file, const char *reason)
{
	log_error("compare: %s: %s", file, reason);
	return -EINVAL;
}

int figures_read(const char *file, const json_t *document, struct arena *a, struct figures *out)
{
	struct flattening f = {.out = out, .a = a};
	const json_t *traffic = json_object_get(document, "traffic");
	const json_t *repeats = json_object_get(document, "repeats"), *one;
	const json_t *run = json_object_get(document, "run");
	size_t i;

	*out = (struct figures){.file = file};
	if (strcmp(document_text(document, "schema"), SCHEMA) != 0)
		return refuse_document(out->file,
			"not a result of ddiperf (name a file written by --json; schema \"" SCHEMA
			"\")");
	if (!json_is_array(traffic) || json_array_size(traffic) == 0)
		return refuse_document(out->file, "no traffic in this result");
	out->name = arena_strdup(a, document_text(run, "name"));
	out->version = arena_strdup(a, document_text(run, "version"));
	out->started = arena_strdup(a, document_text(run, "started"));
	out->status = arena_strdup(a, document_text(document, "verdict.status"));
	out->confidence = document_computed(document, "confidence.confidence");
	if (json_array_size(repeats) > REPEATS_MAX)
		return refuse_document(out->file, "more than 1000 repeats");
	if (out->confidence > 0 && out->confidence < 1 && json_array_size(repeats) >= 2)
		out->repeats = (uint32_t)json_array_size(repeats);
	f.repeat = REPEATS_MAX;
	flatten_traffic(&f, traffic);
	if (out->count == 0)
		return refuse_document(out->file, "no figures in its traffic");
	flatten_search(&f, json_object_get(document, "search"));
	flatten_settings(&f, "", json_object_get(document, "config"), 0);
	for (i = 0; i < out->repeats; i++) {
		one = json_array_get(repeats, i);
		f.repeat = (uint32_t)i;
		flatten_traffic(&f, json_object_get(one, "traffic"));
	}
	for (i = 0; i < out->count; i++)
		if (!out->list[i].repeated)
			out->list[i].repeats = NULL;
	if (f.too_many)
		return refuse_document(out->file, "more figures than can be compared (20000, "
						  "in 8 levels)");
	return 0;
}

int figures_load(const char *file, struct arena *a, struct figures *out)
{
	json_error_t e;
	json_t *document = json_load_file(file, 0, &e);
	int rc;

	if (!document) {
		if (e.line > 0)
			log_error(
				"compare: %s:%d:%d: not JSON: %s", file, e.line, e.column, e.text);
		else
			log_error("compare: %s", e.text);
		return -EINVAL;
	}
	rc = figures_read(file, document, a, out);
	json_decref(document);
	return rc;
}

static double square(double x)
{
	return x * x;
}

// Welch's interval: the two need not have the same variance.
static double half_interval(const struct spread *a, const struct spread *b, double confidence)
{
	double va = square(a->stddev) / a->count, vb = square(b->stddev) / b->count;
	double freedom;

	if (va + vb == 0)
		return 0;
	freedom = square(va + vb) / (square(va) / (a->count - 1) + square(vb) / (b->count - 1));
	return student_quantile(confidence, (unsigned)fmax(1, floor(freedom))) * sqrt(va + vb);
}

struct figures_change figures_change(
	const struct figures *from, const struct figures *to, const char *item, const char *path)
{
	const struct figure absent = {.value = figures_absent(path)};
	const struct figure *in_a = figures_find(from, item, path);
	const struct figure *in_b = figures_find(to, item, path);
	const struct figure *a = in_a ? in_a : &absent, *b = in_b ? in_b : &absent;
	struct figures_change c = {a->value, b->value, NAN};
	struct spread x, y;

	if (a->repeats) {
		x = spread_of(a->repeats, from->repeats, from->confidence);
		c.a = x.mean;
	}
	if (b->repeats) {
		y = spread_of(b->repeats, to->repeats, to->confidence);
		c.b = y.mean;
	}
	if (a->repeats && b->repeats && isfinite(c.a) && isfinite(c.b))
		c.half = half_interval(&x, &y, fmin(from->confidence, to->confidence));
	return c;
}

bool figures_change_is_noise(const struct figures_change *c)
{
	return !isnan(c->half) && fabs(c->b - c->a) <= c->half;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool figures_is_shown(const char *path)
{
	if (word_is_among(path, "answered_per_s loss failed latency.response.mean_ns "
				"latency.response.p50_ns latency.response.p90_ns "
				"latency.response.p99_ns latency.response.p999_ns "
				"latency.response.max_ns latency.service.p50_ns "
				"latency.service.p99_ns"))
		return true;
	if (begins(path, "steps."))
		return ends_in(path, ".lost") || ends_in(path, ".failed") ||
		       ends_in(path, ".latency.response.p50_ns") ||
		       ends_in(path, ".latency.response.p99_ns");
	if (begins(path, "connections.") && (ends_in(path, "_ns") || ends_in(path, ".count")))
		return ends_in(path, ".p50_ns") || ends_in(path, ".p99_ns");
	return strchr(path, '.') && !ends_in(path, "_bytes") && !begins(path, "latency.") &&
	       !begins(path, "send_lag.");
}

// SPDX-License-Identifier: BSD-3-Clause
// Settings to JSON by a visitor, and a document to a file or to standard output. Path: cold. Main
// thread.
#include "document/document.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document/document_reader.h"
#include "base/file.h"
#include "base/hist.h"
#include "base/log.h"
#include "conf/schema.h"
#include "stats/json.h"

#define DEPTH_MAX 32

struct nest {
	json_t *open[DEPTH_MAX]; // borrowed, except for the first
	unsigned depth;          // of the innermost
};

static void nest_put(struct nest *n, const char *key, json_t *value)
{
	json_t *in = n->open[n->depth];

	if (key && json_is_object(in))
		json_object_set_new(in, key, value);
	else
		json_array_append_new(in, value);
}

static void on_begin(void *ctx, const char *key, bool is_list)
{
	struct nest *n = ctx;
	json_t *inner = is_list ? json_array() : json_object();

	if (n->depth + 1 == DEPTH_MAX)
		abort(); // rows nest by their types, a handful deep
	nest_put(n, key, inner);
	n->open[++n->depth] = inner;
}

static void on_end(void *ctx)
{
	struct nest *n = ctx;

	n->depth--;
}

static json_t *string_of(const char *text)
{
	json_t *s = json_string(text);

	return s ? s : json_string("(not UTF-8)");
}

static void on_value(void *ctx, const char *key, const char *text, bool is_text)
{
	json_t *value = is_text ? NULL : json_loads(text, JSON_DECODE_ANY, NULL);

	nest_put(ctx, key, value ? value : string_of(text));
}

json_t *document_settings(const struct field_section *section, const void *settings)
{
	struct nest nest = {.open = {json_object()}};
	struct conf_visitor visitor = {on_begin, on_end, on_value, &nest};

	conf_visit(section, settings, &visitor);
	return nest.open[0];
}

// Returns the share that a name of output.percentiles stands for: "p95", "p99999", "p05".
static double share_of(const char *name)
{
	size_t digits = strspn(name + (*name == 'p'), "0123456789");

	return digits ? strtod(name + 1, NULL) / pow(10, (double)digits) : NAN;
}

static const struct {
	const char *name;
	double share;
} known[] = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p999_ns", 0.999},
	{"p9999_ns", 0.9999}};

#define KNOWN (sizeof(known) / sizeof(known[0]))

static void blank_one(json_t *of, double above)
{
	double count = json_number_value(json_object_get(of, "count")), share;
	json_t *one;
	size_t i;

	for (i = 0; i < KNOWN; i++)
		if (known[i].share > above && !hist_knows(count, known[i].share))
			json_object_set_new(of, known[i].name, json_null());
	json_array_foreach(json_object_get(of, "percentiles"), i, one)
	{
		share = share_of(document_text(one, "name"));
		if (share > above && !hist_knows(count, share))
			json_object_set_new(one, "value_ns", json_null());
	}
}

void document_blank(json_t *in, double above)
{
	const char *key;
	json_t *value;
	size_t i;

	if (document_is_latency(in))
		blank_one(in, above);
	else if (json_is_object(in))
		json_object_foreach(in, key, value) document_blank(value, above);
	else
		json_array_foreach(in, i, value) document_blank(value, above);
}

json_t *document_result(const struct result *r, const struct config *c)
{
	json_t *document = stats_json(&result_section, r);

	document_blank(document, 0);
	if (c && c->output.config)
		json_object_set_new(document, "config", document_settings(config_section(), c));
	return document;
}

json_t *document_as_written(json_t *document)
{
	char *text = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_t *again = json_loads(text, 0, NULL);

	free(text);
	json_decref(document);
	return again;
}

int document_print(const json_t *document, FILE *f)
{
	int flags = JSON_INDENT(2) | JSON_REAL_PRECISION(15);

	return json_dumpf(document, f, flags) < 0 || fputc('\n', f) < 0 ? -EIO : 0;
}

static int fail_write(const char *option, const char *path, int error)
{
	log_error("%s %s: %s", option, path, strerror(error));
	return -error;
}

int document_check(const char *option, const char *path)
{
	int rc = strcmp(path, "-") == 0 ? 0 : file_draft_check(path);

	return rc < 0 ? fail_write(option, path, -rc) : 0;
}

static int put_document(void *ctx, FILE *f)
{
	return document_print(ctx, f) < 0 ? -ENOMEM : 0; // if it is not the file that failed
}

static int put_stdout(const struct document_writer *w, int *rc)
{
	errno = 0; // writing leaves there the reason why it failed
	*rc = w->write(w->ctx, stdout);
	if (ferror(stdout) || fflush(stdout) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

static int put_file(const char *path, const struct document_writer *w, int *rc)
{
	struct file_draft draft;
	int opened = file_draft_open(path, &draft);

	if (opened < 0)
		return opened;
	if (w->is_private)
		file_draft_make_private(&draft);
	*rc = w->write(w->ctx, draft.f);
	if (*rc == 0 || draft.error)
		return file_draft_commit(&draft);
	file_draft_abandon(&draft);
	return 0;
}

int document_write_by(const char *option, const char *path, const struct document_writer *w)
{
	int of_writer = 0;
	int of_file =
		strcmp(path, "-") == 0 ? put_stdout(w, &of_writer) : put_file(path, w, &of_writer);

	if (of_file < 0)
		return fail_write(option, path, -of_file);
	return of_writer == -ENOMEM ? fail_write(option, path, ENOMEM) : of_writer;
}

int document_write_json(const char *option, const json_t *document, const char *path)
{
	return document_write_by(
		option, path, &(struct document_writer){put_document, (json_t *)document});
}

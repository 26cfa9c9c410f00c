// SPDX-License-Identifier: BSD-3-Clause
// ddiperf report RESULT.json...: existing results in another format. Path: cold. Main thread.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "run/commands.h"
#include "document/document.h"
#include "format/format.h"
#include "format/format_select.h"
#include "compare/history.h"

struct reporting {
	const struct options *options;
	const struct format *format;
	struct format_input in;
	json_t *history; // NULL: not given
};

static int write_report(void *ctx, FILE *out)
{
	const struct reporting *r = ctx;
	const char *select = r->options->select;
	const char *const *charts = r->format->charts;
	bool list = select && strcmp(select, "?") == 0;

	if (!r->options->brief && !list)
		return r->format->write(&r->in, out);
	for (; list && charts && *charts; charts++)
		fprintf(out, "%s\n", *charts);
	if (!r->options->brief && !r->format->charts)
		select_list(r->in.readers[0], out);
	for (unsigned i = 0; i < r->in.count && r->options->brief; i++)
		fprintf(out, "%.2f\n", select_merit(r->in.readers[i], r->in.units));
	return 0;
}

static int refuse(const char *what, const struct format *f, const char *allowed)
{
	log_error("report: %s %s: %s", f->name, what, allowed);
	return EXIT_CONFIG;
}

// Returns false, with an error, for a name that is not a chart of the format. "?" lists them.
static bool names_chart(const struct options *o, const struct format *f)
{
	const char *const *chart = f->charts, *known = "";

	for (; *chart && strcmp(*chart, o->select) != 0; chart++)
		known = arena_printf(o->arena, "%s%s%s", known, *known ? ", " : "", *chart);
	if (*chart || strcmp(o->select, "?") == 0)
		return true;
	log_error("report: --select %s: no such chart (one of %s)", o->select, known);
	return false;
}

static int check(const struct options *o, const struct format *f)
{
	if (o->history && (strcmp(f->name, "html") != 0 || o->brief))
		return refuse(
			"has no trend", f, "leave out --history, or write a page (-o X.html)");
	if (o->append && !o->format && !o->output && !o->select && !o->brief)
		return EXIT_PASS;
	if (o->operand_count > 1 && !f->several && !o->brief)
		return refuse("is made of one result", f, "name one file");
	if (o->select && !f->selects)
		return refuse("has fixed figures", f, "leave out --select, or take keyval or csv");
	if (o->select && f->charts && !names_chart(o, f))
		return EXIT_CONFIG;
	if (o->units && (strlen(o->units) != 1 || !strchr("GMKgmkx", o->units[0]))) {
		log_error("report: --units %s: not one of G, M, K, g, m, k and x", o->units);
		return EXIT_CONFIG;
	}
	if (o->units && !o->brief && (!f->selects || f->charts))
		return refuse("has fixed units", f, "leave out --units, or take keyval or csv");
	if (o->brief && (o->format || o->select)) {
		log_error("report: --brief prints one figure (leave out --%s)",
			o->format ? "format" : "select");
		return EXIT_CONFIG;
	}
	return EXIT_PASS;
}

static int report_books(const struct options *o, struct reporting *r)
{
	struct document_reader *list = arena_zalloc(o->arena, o->operand_count * sizeof(*list));
	struct document_reader **readers =
		arena_zalloc(o->arena, o->operand_count * sizeof(*readers));
	int rc = 0;

	for (; r->in.count < o->operand_count; r->in.count++) {
		readers[r->in.count] = &list[r->in.count];
		rc = reader_open(readers[r->in.count], o->operands[r->in.count]);
		if (rc < 0)
			break;
	}
	r->in.readers = readers;
	if (rc == 0 && (!o->append || o->format || o->output || o->select || o->brief))
		rc = document_write_by("report:", o->output ? o->output : "-",
			&(struct document_writer){write_report, r});
	if (rc == 0 && o->append)
		rc = history_append(o->append, readers, r->in.count);
	while (r->in.count)
		reader_close(readers[--r->in.count]);
	return rc == -EINVAL ? EXIT_CONFIG : rc < 0 ? EXIT_ENVIRONMENT : EXIT_PASS;
}

int cmd_report(const struct options *o)
{
	const struct format *of_file = o->format ? NULL : format_of_file(o->output);
	const char *wanted = o->format ? o->format : o->select || o->units ? "keyval" : "text";
	struct reporting r = {.options = o,
		.format = of_file ? of_file : format_find(wanted),
		.in.select = o->select,
		.in.units = o->units ? o->units[0] : 0};
	int code;

	if (!r.format)
		return EXIT_CONFIG;
	code = check(o, r.format);
	if (code == EXIT_PASS && o->history) {
		r.history = history_read(o->history);
		r.in.history = r.history;
		code = r.history ? EXIT_PASS : EXIT_CONFIG;
	}
	if (code == EXIT_PASS && o->output && document_check("report:", o->output) < 0)
		code = EXIT_CONFIG;
	if (code == EXIT_PASS)
		code = report_books(o, &r);
	json_decref(r.history);
	return code;
}

// SPDX-License-Identifier: BSD-3-Clause
// The table of formats, and the formats of a few lines. Path: cold. Main thread.
#include "format/format.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/nearest.h"
#include "engine/result/result_read.h"
#include "format/format_select.h"
#include "format/format_svg.h"
#include "format/format_writers.h"
#include "report/page.h"
#include "report/report.h"

// Its file in `output:` is the member of the same name.
#define FILE_OF(member, help)                                                                      \
	static const char *member##_file(const struct output_settings *o)                          \
	{                                                                                          \
		return o->member;                                                                  \
	}
OUTPUT_FILES(FILE_OF)

static int text_write(const struct format_input *in, FILE *out)
{
	struct arena *a = arena_new();
	struct result *result = arena_zalloc(a, sizeof(*result));
	const struct document_reader *from = in->readers[0];
	struct report r;
	const char *why;
	int rc = result_read(&result_section, from->document, result, a, &why);

	if (rc < 0) {
		log_error("%s: %s", from->file, why);
	} else {
		report_init(&r, out, false);
		report_result(&r, result);
	}
	arena_free(a);
	return rc;
}

static int html_write(const struct format_input *in, FILE *out)
{
	return page_write(in->readers, in->count, in->history, out);
}

#define FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY)

static int json_write(const struct format_input *in, FILE *out)
{
	return reader_print(in->readers[0], out);
}

static int jsonl_write(const struct format_input *in, FILE *out)
{
	struct document_reader *b = in->readers[0];
	const json_t *interval;
	int rc = 0;

	reader_rewind(b);
	while ((interval = reader_next(b))) {
		rc |= json_dumpf(interval, out, FLAGS) < 0 ? -EIO : 0;
		fputc('\n', out);
	}
	return rc;
}

static int keyval_write(const struct format_input *in, FILE *out)
{
	struct arena *a = arena_new();
	struct choice choice;
	int rc = select_figures(in->readers[0], in->select, in->units, a, &choice);

	for (uint32_t i = 0; rc == 0 && i < choice.count; i++)
		for (uint32_t k = 0; k < choice.blocks[i].count; k++)
			fprintf(out, "%s=%s\n", choice.blocks[i].list[k].name,
				choice.blocks[i].list[k].text);
	arena_free(a);
	return rc;
}

const struct format formats[] = {
	{"text", "the report of the end of a run", text_write},
	{"html", "a page with charts, of one result or of several beside each other", html_write,
		.several = true, .file = html_file},
	{"svg", "charts for a document; --select: one of rate, loss, latency, percentiles, search",
		svg_write, .selects = true, .charts = svg_charts},
	{"keyval", "lines of NAME=VALUE, for scripts", keyval_write, .selects = true,
		.file = keyval_file},
	{"csv", "table of the intervals; with --select a row of figures for each result", csv_write,
		.several = true, .selects = true, .series = true, .file = csv_file},
	{"json", "the result document", json_write},
	{"jsonl", "a JSON object a line for each interval", jsonl_write, .file = jsonl_file,
		.live = true},
	{"hdr", "HdrHistogram's interval log (V2): a histogram for each interval, item and latency",
		hdr_write, .file = hdr_file},
	{"hgrm", "HdrHistogram's percentile distribution; --select: the latency", hgrm_write,
		.selects = true},
	{"dns_metrics", "JSON lines of the schema of DNS-OARC's dns-metrics", dns_metrics_write,
		.unfit = dns_metrics_unfit, .file = dns_metrics_file},
	{"resperf", "plot data of resperf 2.10, for its gnuplot scripts", resperf_write,
		.series = true, .unfit = resperf_unfit, .file = resperf_file},
	{"openmetrics", "figures of the run as OpenMetrics text", openmetrics_write,
		.file = openmetrics_file},
	{"prometheus", "figures of the run in the Prometheus text format", prometheus_write},
	{"junit", "JUnit XML: a test case for each criterion and one for the verdict", junit_write,
		.file = junit_file},
};

const unsigned format_count = sizeof(formats) / sizeof(formats[0]);

const char *format_names(void)
{
	static char names[256];
	size_t len = 0;

	for (unsigned i = 0; i < format_count && len < sizeof(names); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
			i == 0                  ? ""
			: i + 1 == format_count ? " or "
						: ", ",
			formats[i].name);
	return names;
}

const struct format *format_find(const char *name)
{
	struct nearest nearest = nearest_to(name);

	for (unsigned i = 0; i < format_count; i++) {
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
		nearest_try(&nearest, formats[i].name);
	}
	log_error("no such format: %s (%s%s%s%s)", name, nearest.name ? "did you mean " : "",
		nearest.name ? nearest.name : "", nearest.name ? "? " : "", format_names());
	return NULL;
}

const struct format *format_of_file(const char *path)
{
	const char *suffix = path ? strrchr(path, '.') : NULL;

	for (unsigned i = 0; suffix && i < format_count; i++)
		if (strcmp(formats[i].name, suffix + 1) == 0)
			return &formats[i];
	return NULL;
}

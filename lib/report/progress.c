// SPDX-License-Identifier: BSD-3-Clause
// The lines during a run: one per interval and item. Path: cold. Main thread.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "document/document_reader.h"
#include "follow/run_events.h"
#include "report/report.h"
#include "stats/text.h"

void report_init(struct report *r, FILE *out, bool quiet)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	bool terminal = out && isatty(fileno(out)) && (!term || strcmp(term, "dumb") != 0);

	*r = (struct report){.out = out, .quiet = quiet, .live = terminal && !quiet};
	r->colour = terminal && (!no_color || !*no_color);
}

static bool is_silent(const struct report *r)
{
	return !r->out || r->quiet;
}

void report_clear(struct report *r)
{
	if (r->out && r->live)
		fputs("\r\033[J", r->out);
}

void report_note(struct report *r, const char *text)
{
	if (is_silent(r))
		return;
	report_clear(r);
	fprintf(r->out, "%s\n", text);
	fflush(r->out);
}

static const char *rate_text(uint64_t n, double length_s)
{
	return stats_shown_rate(length_s > 0 ? (double)n / length_s : 0);
}

static uint64_t count_of(const json_t *in, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(in, name));
}

void report_cells(const json_t *item, bool timed, const char *cells[REPORT_CELLS])
{
	static const char *const times[] = {"p50_ns", "p99_ns", "max_ns"};

	*cells++ = document_text(item, "name");
	*cells++ = stats_shown_rate(document_computed(item, "due_per_s"));
	*cells++ = stats_shown_rate(document_computed(item, "answered_per_s"));
	*cells++ = stats_shown(document_computed(item, "loss"), "1");
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		double ns = document_number(item, times[i]);

		*cells++ = timed ? stats_shown_time(isnan(ns) ? INFINITY : ns, true) : "-";
	}
}

#define LINE "%-16s %-12s %9s %11s %10s %9s %9s %9s\n"

static void print_interval(struct report *r, const json_t *line)
{
	bool warmup = json_object_get(line, LINE_WARMUP);
	const char *c[REPORT_CELLS];
	const json_t *item;
	char time[32];
	size_t n;

	report_clear(r);
	if (!r->header)
		fprintf(r->out, LINE, "time", "item", "due/s", "answered/s", "loss", "p50", "p99",
			"max");
	r->header = true;
	snprintf(time, sizeof(time), "%7.1f s%s", document_number(line, "t_s"),
		warmup ? " warmup" : "");
	json_array_foreach(json_object_get(line, "traffic"), n, item)
	{
		report_cells(item,
			!warmup && document_computed(item, "answered + failed + lost") > 0, c);
		fprintf(r->out, LINE, time, c[0], c[1], c[2], c[3], c[4], c[5], c[6]);
	}
	fflush(r->out);
}

static void sum_up(struct report *r, const json_t *line)
{
	const json_t *item;
	size_t n;

	json_array_foreach(json_object_get(line, "traffic"), n, item)
	{
		r->sent += count_of(item, "sent");
		r->answered += count_of(item, "answered");
		r->lost += count_of(item, "lost");
	}
}

void report_line(void *ctx, const json_t *line)
{
	struct report *r = ctx;

	r->searches |= json_object_get(line, LINE_TRIAL) != NULL;
	if (!json_object_get(line, LINE_WARMUP))
		sum_up(r, line);
	if (!is_silent(r) && !r->live && !r->searches && json_object_get(line, "t_s") &&
		!json_object_get(line, LINE_LAST))
		print_interval(r, line);
}

static void print_responder(struct report *r, double t_s, const struct result_responder *total)
{
	double length_s = t_s - r->responder_s;

	if (!r->header)
		fprintf(r->out, "%-16s %12s %12s %16s\n", "time", "received/s", "answered/s",
			"answered so far");
	r->header = true;
	fprintf(r->out, "%7.1f s        %12s %12s %16s\n", t_s,
		rate_text(total->received - r->responder_received, length_s),
		rate_text(total->answered - r->responder_answered, length_s),
		stats_shown((double)total->answered, NULL));
	fflush(r->out);
}

void report_responder(struct report *r, double t_s, const struct result_responder *total)
{
	if (!is_silent(r))
		print_responder(r, t_s, total);
	r->responder_s = t_s;
	r->responder_received = total->received;
	r->responder_answered = total->answered;
}

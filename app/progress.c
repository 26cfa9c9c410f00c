// SPDX-License-Identifier: BSD-3-Clause
// The lines during a run: one per interval and item. Path: cold. Main thread.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"
#include "stats/text.h"

void report_init(struct report *r, FILE *out, bool quiet)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	bool terminal = out && isatty(fileno(out)) && (!term || strcmp(term, "dumb") != 0);

	*r = (struct report){.out = out, .quiet = quiet, .live = terminal && !quiet};
	r->colour = terminal && (!no_color || !*no_color);
}

const char *report_time(double ns, bool any, char *buf, size_t room)
{
	if (isinf(ns))
		snprintf(buf, room, "lost");
	else if (!any)
		snprintf(buf, room, "-");
	else
		stats_format(ns, "ns", buf, room);
	return buf;
}

static bool is_silent(const struct report *r)
{
	return !r->out || r->quiet;
}

void report_clear(struct report *r)
{
	if (r->out && r->live)
		fputs("\r\033[K", r->out);
}

void report_note(struct report *r, const char *text)
{
	if (is_silent(r))
		return;
	report_clear(r);
	fprintf(r->out, "%s\n", text);
	fflush(r->out);
}

// "20.0 k" under a header that says per second.
static const char *rate_text(uint64_t n, double length_s, char *buf, size_t room)
{
	stats_format(length_s > 0 ? (double)n / length_s : 0, "per_s", buf, room);
	buf[strcspn(buf, "/")] = '\0';
	if (buf[0] && buf[strlen(buf) - 1] == ' ')
		buf[strlen(buf) - 1] = '\0';
	return buf;
}

static void print_item_line(struct report *r, double length_s, const struct result_interval_item *i,
	const char *time, bool warmup)
{
	uint64_t ended = i->answered + i->failed + i->lost;
	char due[32], answered[32], loss[32], p50[32], p99[32], max[32];

	fprintf(r->out, "%-16s %-12s %9s %11s %10s %9s %9s %9s\n", time, i->name,
		rate_text(i->due, length_s, due, sizeof(due)),
		rate_text(i->answered, length_s, answered, sizeof(answered)),
		stats_format(ended ? (double)i->lost / (double)ended : 0, "1", loss, sizeof(loss)),
		report_time(i->p50_ns, ended && !warmup, p50, sizeof(p50)),
		report_time(i->p99_ns, ended && !warmup, p99, sizeof(p99)),
		report_time(i->max_ns, ended && !warmup, max, sizeof(max)));
	if (warmup)
		return;
	r->sent += i->sent;
	r->answered += i->answered;
	r->lost += i->lost;
}

static void print_status_line(struct report *r, double t_s)
{
	char sent[32], answered[32], lost[32];

	fprintf(r->out,
		"%.0f of %.0f s: %s sent, %s answered, %s lost (Ctrl-C stops and reports)\r", t_s,
		r->duration_s, stats_format((double)r->sent, NULL, sent, sizeof(sent)),
		stats_format((double)r->answered, NULL, answered, sizeof(answered)),
		stats_format((double)r->lost, NULL, lost, sizeof(lost)));
}

void report_interval(struct report *r, const struct result_interval *i, bool warmup)
{
	const struct result_interval_item *items = i->traffic.items;
	char time[32];

	if (is_silent(r))
		return;
	report_clear(r);
	if (!r->header)
		fprintf(r->out, "%-16s %-12s %9s %11s %10s %9s %9s %9s\n", "time", "item", "due/s",
			"answered/s", "loss", "p50", "p99", "max");
	r->header = true;
	snprintf(time, sizeof(time), "%7.1f s%s", i->t_s, warmup ? " warmup" : "");
	for (uint32_t n = 0; n < i->traffic.count; n++)
		print_item_line(r, i->length_s, &items[n], time, warmup);
	if (r->live && !warmup)
		print_status_line(r, i->t_s);
	fflush(r->out);
}

void report_responder(struct report *r, double t_s, const struct result_responder *total)
{
	double length_s = t_s - r->responder_s;
	char received[32], answered[32], sum[32];

	if (is_silent(r))
		return;
	if (!r->header)
		fprintf(r->out, "%-16s %12s %12s %16s\n", "time", "received/s", "answered/s",
			"answered so far");
	r->header = true;
	fprintf(r->out, "%7.1f s        %12s %12s %16s\n", t_s,
		rate_text(total->received - r->responder_received, length_s, received,
			sizeof(received)),
		rate_text(total->answered - r->responder_answered, length_s, answered,
			sizeof(answered)),
		stats_format((double)total->answered, NULL, sum, sizeof(sum)));
	fflush(r->out);
	r->responder_s = t_s;
	r->responder_received = total->received;
	r->responder_answered = total->answered;
}

// SPDX-License-Identifier: BSD-3-Clause
// ddiperf as resperf and as resperf-report, whose pages are our own. Path: cold. Main thread.
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "run/commands.h"
#include "format/format_resperf.h"
#include "front/front_queries.h"
#include "follow/run_events.h"

#define ITEM   "traffic.queries."
#define MARGIN 0.01 // in queries, for the rounding of times

struct resperf {
	struct queries is;
	double peak, ramp_s, hold_s, every_s, start_s;
	double most_lost; // percent
	bool again;       // repeat the file
};

static struct resperf *own(struct as_run *r)
{
	return (struct resperf *)r;
}

#define NUMBER(member, from, to)                                                                   \
	.place = offsetof(struct resperf, member), .least = (from), .most = (to)

static const struct as_option options[] = {
	QUERIES_OPTIONS,
	{'M', NULL, "MODE", "udp, tcp, dot or doh", .set = queries_set_mode},
	{'x', NULL, "PORT", "",
		.ignored = "there are as many source ports as the load needs (--set "
			   "traffic.queries.source.ports)"},
	{'i', NULL, "SECONDS", "interval of the plot data", NUMBER(every_s, 0.01, 1e4)},
	{'m', NULL, "RATE", "peak rate", NUMBER(peak, 0.001, 1e9)},
	{'P', NULL, "FILE", "plot data", "output.resperf"},
	{'r', NULL, "SECONDS", "time of the ramp", NUMBER(ramp_s, 0.001, 1e6)},
	{'c', NULL, "SECONDS", "time at the peak", NUMBER(hold_s, 0, 1e6)},
	{'L', NULL, "PERCENT", "loss at the maximum, at most", NUMBER(most_lost, 0, 100)},
	{'C', NULL, "CLIENTS", "connections; UDP has as many ports as the load needs",
		NUMBER(is.clients, 1, 64511)},
	{'q', NULL, "COUNT", "end the run when more are outstanding", ITEM "load.max_outstanding"},
	{'v', NULL, NULL, "", .ignored = "no further output is available"},
	{'R', NULL, NULL, "start over at the end of the file",
		.place = offsetof(struct resperf, again)},
	{'F', NULL, "COUNT", "",
		.ignored = "a run in which the tester fell behind is invalid, and says so"},
	{'O', NULL, "NAME=VALUE", "long options", .set = queries_set_long},
	{0},
};

static void on_line(void *ctx, const json_t *line)
{
	const struct resperf *d = ctx;
	double t_s = document_number(line, "t_s");

	if (json_object_get(line, LINE_BEGIN))
		printf("[Status] Command line: %s\n[Status] Sending\n",
			queries_command_line(&d->is.is));
	else if (t_s >= d->ramp_s && t_s < d->ramp_s + d->every_s && d->hold_s > 0)
		puts("[Status] Ramp-up done, sending constant traffic");
	fflush(stdout);
}

// As in resperf: the best interval before loss first exceeds the limit.
static void print_maximum(const struct resperf *d, struct document_reader *b)
{
	double best = 0, lost = 0;
	struct resperf_rows rows = resperf_begin(b);
	bool last = false; // the best one is the last

	while (resperf_next(&rows)) {
		struct resperf_row row = rows.row;
		double sent = row.sent_per_s * row.length_s, replies = row.answered + row.failed;
		double percent = sent > 0 ? 100 * fmax(sent - replies, 0) / sent : 0;

		if (percent > d->most_lost)
			break;
		if (replies / row.length_s <= best)
			continue;
		best = replies / row.length_s;
		lost = percent;
		last = row.middle_s + row.length_s > d->ramp_s + d->hold_s;
	}
	printf("  Maximum throughput:   %.6f qps\n  Lost at that point:   %.2f%%\n\n", best, lost);
	if (last)
		as_note(&d->is.is,
			"the maximum is that of the last interval, which resperf leaves out");
}

static int on_end(void *ctx, struct document_reader *b, int code)
{
	struct resperf *d = ctx;
	const json_t *item = json_array_get(json_object_get(b->document, "traffic"), 0);
	json_t *f = queries_figures(&d->is.is, item);

	json_object_set_new(f, "start_s", json_real(d->start_s));
	json_object_set_new(f, "tcp", json_integer(d->is.tcp));
	document_fill(f,
		"[Status] Waiting for more responses\n[Status] Testing complete\n\nStatistics:\n\n"
		"  Queries sent:         {sent}\n  Queries completed:    {completed}\n"
		"  Queries lost:         {sent - completed}\n  Response codes:       {codes}\n"
		"  Reconnection(s):      {reconnections * tcp}\n"
		"  Run time (s):         {start_s + run_s:%.6f}\n",
		stdout);
	json_decref(f);
	print_maximum(d, b);
	queries_explain(&d->is.is, b);
	return EXIT_PASS;
}

// Write standard output to YYYYMMDD-HHMM.output, with the page and the plot data next to it.
static int make_report(struct as_run *r)
{
	time_t now = time(NULL);
	char name[32];
	FILE *out;

	strftime(name, sizeof(name), "%Y%m%d-%H%M", localtime(&now));
	front_setf(&r->front, NULL, "output.resperf", "%s.gnuplot", name);
	front_setf(&r->front, NULL, "output.html", "%s.html", name);
	if (r->options->dump)
		return 0;
	as_note(r, "the report is %s.html, the output %s.output", name, name);
	fflush(stdout);
	out = freopen(arena_printf(r->arena, "%s.output", name), "we", stdout);
	return out ? 0 : as_refuse(r, "%s.output cannot be written", name);
}

// Queries due in a ramp from 0 and the following hold.
static double queries_due(const struct resperf *d)
{
	return d->peak * (d->ramp_s / 2 + d->hold_s);
}

// Warns of lines that cannot be sent. Without -R, resperf gives up without a result at the end of
// the file.
static int check_file(struct resperf *d)
{
	double due = queries_due(d), needed = d->hold_s > 0 ? ceil(due) - 1 : floor(due);
	uint64_t lines = 0;
	int err = d->again && d->is.is.options->dump ? 0 : queries_count(&d->is.is, &lines);

	if (err || d->again || (double)lines >= needed)
		return err;
	return as_refuse(&d->is.is,
		"Error: ran out of query data: %.0f queries are needed (-R starts over)", needed);
}

// resperf sends the k-th query when k are due, but at the very end only without a hold; here it is
// due half a query earlier. So start later, by the time of half a query at the end.
static void set_start(struct resperf *d)
{
	struct as_run *r = &d->is.is;
	double later = d->hold_s > 0 ? 0.5 + MARGIN : 0.5 - MARGIN;
	double ramp = d->peak * d->ramp_s / 2, all = queries_due(d);
	bool in_hold = d->peak * d->hold_s >= later;

	if (all <= later)
		return;
	d->start_s = in_hold ? later / d->peak
	                     : d->hold_s + d->ramp_s * (1 - sqrt((all - later) / ramp));
	front_setf(&r->front, NULL, ITEM "load.start_at", "%.9fs", d->start_s);
	if (!in_hold) // the ramp is cut
		front_setf(&r->front, NULL, ITEM "load.stop_at", "%.9gs", d->ramp_s + d->hold_s);
}

static const char *const words[][2] = {{"load.max_outstanding", "-q"},
	{"raise load.slots", "--set " ITEM "load.slots=COUNT"},
	{"tcp.connections or tcp.pipeline", "-C"}, {"tcp.connections", "-C"}, {NULL, NULL}};

static int finish(struct as_run *r)
{
	struct resperf *d = own(r);
	int err;

	r->front.words = words;

	if (strcmp(r->tool->name, "resperf-report") == 0 && (err = make_report(r)))
		return err;
	err = queries_prepare(r, "DNS Resolution Performance Testing Tool", "45s");
	if (err)
		return err;
	front_setf(&r->front, NULL, "run.duration", "%.9gs", d->ramp_s + d->hold_s);
	front_setf(&r->front, "-i", "run.interval", "%.9gs", d->every_s);
	as_default(r, "output.resperf", "resperf.gnuplot");
	front_set(&r->front, NULL, ITEM "load.ramp.from", "0");
	front_setf(&r->front, "-m", ITEM "load.ramp.to", "%.9g", d->peak);
	front_setf(&r->front, "-r", ITEM "load.ramp.over", "%.9gs", d->ramp_s);
	set_start(d);
	as_default(r, ITEM "load.max_outstanding", "65536");
	d->is.most_per_s = d->peak;
	err = queries_finish(r, "-s", "-d");
	if (!err)
		err = check_file(d);
	r->front.output = (struct front_output){on_line, on_end, d};
	return err;
}

static void begin(struct as_run *r)
{
	struct resperf *d = own(r);

	queries_begin(r);
	d->peak = 100e3;
	d->ramp_s = 60;
	d->every_s = 0.5;
	d->most_lost = 100;
}

#define TOOL(called)                                                                               \
	{                                                                                          \
		.name = called, .version = "2.10.0", .options = options,                           \
		.size = sizeof(struct resperf), .begin = begin, .finish = finish, .error_code = 1  \
	}

const struct as_tool front_resperf = TOOL("resperf"), front_resperf_report = TOOL("resperf-report");

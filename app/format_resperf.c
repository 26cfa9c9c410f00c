// SPDX-License-Identifier: BSD-3-Clause
// The plot data of resperf 2.10, for its resperf-report and gnuplot scripts. As there, replies are
// booked by the interval in which their query was due, and an interval in which sending ended is
// left out. All items together. Path: cold. Main thread.
#include <errno.h>
#include <math.h>

#include "base/log.h"
#include "format_resperf.h"
#include "format_writers.h"

#define PART 0.1 // of an interval that may be without sending

static double positive(double x)
{
	return x > 0 && isfinite(x) ? x : 0;
}

static struct resperf_row row_of(const json_t *interval)
{
	double length_s = positive(book_number(interval, "length_s"));
	struct resperf_row r = {positive(book_number(interval, "t_s")) - length_s / 2, length_s};
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(interval, "traffic"), i, item)
	{
		double answered = positive(book_number(item, "by_due.answered"));
		double failed = positive(book_number(item, "by_due.failed")), handshakes;

		r.due_per_s += positive(book_number(item, "due_per_s"));
		r.sent_per_s += positive(book_number(item, "sent_per_s"));
		r.answered += answered;
		r.failed += failed;
		r.time_ns += (answered + failed) * positive(book_number(item, "by_due.mean_ns"));
		r.connections += positive(book_number(item, "connections.established"));
		handshakes = positive(book_number(item, "connections.handshake.count"));
		r.handshakes += handshakes;
		r.handshake_ns +=
			handshakes * positive(book_number(item, "connections.handshake.mean_ns"));
	}
	return r;
}

static void put_row(const struct resperf_row *r, FILE *out)
{
	double replies = r->answered + r->failed;

	fprintf(out, "%7.3f %8.2f %8.2f %8.2f %8.2f %8.6f %8.2f %8.6f\n", r->middle_s, r->due_per_s,
		r->sent_per_s, replies / r->length_s, r->failed / r->length_s,
		replies > 0 ? r->time_ns / replies * 1e-9 : 0, r->connections / r->length_s,
		r->handshakes > 0 ? r->handshake_ns / r->handshakes * 1e-9 : 0);
}

// The end of sending, which resperf's file does not go beyond; INFINITY: not known.
static double sending_s(const struct book *b)
{
	double end = 0;
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(b->document, "traffic"), i, item) end =
		fmax(end, positive(book_number(item, "sending_s")));
	return end > 0 ? end : INFINITY;
}

bool resperf_next(struct book *b, struct resperf_row *r)
{
	double end = sending_s(b);
	const json_t *interval;

	while ((interval = book_next(b))) {
		*r = row_of(interval);
		if (r->length_s > 0 && r->middle_s + r->length_s / 2 - end <= PART * r->length_s)
			return true;
	}
	return false;
}

int resperf_write(const struct format_input *in, FILE *out)
{
	struct book *b = in->books[0];
	struct resperf_row r;
	unsigned rows = 0;

	fputs("# time target_qps actual_qps responses_per_sec failures_per_sec avg_latency "
	      "connections conn_avg_latency\n",
		out);
	book_rewind(b);
	for (; resperf_next(b, &r); rows++)
		put_row(&r, out);
	if (rows)
		return 0;
	log_error("%s: no whole interval in this result", b->file);
	return -EINVAL;
}

const char *resperf_unfit(const struct config *c)
{
	return c->run.duration_ns < c->run.interval_ns
	               ? "the run ends before its first interval (a shorter run.interval)"
	               : NULL;
}

// SPDX-License-Identifier: BSD-3-Clause
// The plot data of resperf 2.10, for its resperf-report and gnuplot scripts. As there, replies are
// booked by the interval in which their query was due, and an interval in which sending ended is
// left out. All items together. Path: cold. Main thread.
#include <errno.h>
#include <math.h>

#include "base/log.h"
#include "format/format_resperf.h"
#include "format/format_writers.h"

#define PART     0.1 // of an interval that may be without sending
#define ROWS_MAX 1e6 // of one interval

// Returns 0 for a missing number.
static double number(const json_t *in, const char *path)
{
	return fmax(document_computed(in, path), 0);
}

static struct resperf_row row_of(const json_t *interval)
{
	double length_s = number(interval, "length_s");
	struct resperf_row r = {number(interval, "t_s") - length_s / 2, length_s};
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(interval, "traffic"), i, item)
	{
		double answered = number(item, "by_due.answered");
		double failed = number(item, "by_due.failed"), handshakes;

		r.due_per_s += number(item, "due_per_s");
		r.sent_per_s += number(item, "sent_per_s");
		r.answered += answered;
		r.failed += failed;
		r.time_ns += (answered + failed) * number(item, "by_due.mean_ns");
		r.connections += number(item, "connections.established");
		handshakes = number(item, "connections.handshake.count");
		r.handshakes += handshakes;
		r.handshake_ns += handshakes * number(item, "connections.handshake.mean_ns") +
		                  number(item, "connections.tls.full_time.count") *
		                          number(item, "connections.tls.full_time.mean_ns");
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

// Returns the end of sending, where resperf's file ends; INFINITY: unknown.
static double sending_s(const struct document_reader *b)
{
	double end = 0;
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(b->document, "traffic"), i, item) end =
		fmax(end, number(item, "sending_s"));
	return end > 0 ? end : INFINITY;
}

// Returns the shortest interval, except for the last one, which ends with the run; 0: unknown.
static double every_s(struct document_reader *b)
{
	double shortest = INFINITY, last = INFINITY;
	const json_t *interval;

	reader_rewind(b);
	while ((interval = reader_next(b))) {
		shortest = fmin(shortest, last);
		last = number(interval, "length_s");
	}
	return isfinite(shortest) ? shortest : 0;
}

struct resperf_rows resperf_begin(struct document_reader *b)
{
	struct resperf_rows rows = {.reader = b, .end_s = sending_s(b), .every_s = every_s(b)};

	reader_rewind(b);
	return rows;
}

static unsigned rows_in(const struct resperf_row *r, double every)
{
	double n = every > 0 ? round(r->length_s / every) : 1;

	return n >= 1 && n <= ROWS_MAX ? (unsigned)n : 1;
}

static void take_share(struct resperf_row *r, unsigned n)
{
	double *const counts[] = {&r->length_s, &r->answered, &r->failed, &r->time_ns,
		&r->connections, &r->handshakes, &r->handshake_ns};
	double start_s = r->middle_s - r->length_s / 2;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		*counts[i] /= n;
	r->middle_s = start_s + r->length_s / 2;
}

bool resperf_next(struct resperf_rows *rows)
{
	struct resperf_row *r = &rows->row;
	const json_t *interval;

	for (;;) {
		if (rows->left > 0) {
			rows->left--;
			r->middle_s += r->length_s;
		} else if ((interval = reader_next(rows->reader))) {
			*r = row_of(interval);
			rows->left = rows_in(r, rows->every_s);
			take_share(r, rows->left--);
		} else {
			return false;
		}
		if (r->length_s > 0 &&
			r->middle_s + r->length_s / 2 - rows->end_s <= PART * r->length_s)
			return true;
	}
}

int resperf_write(const struct format_input *in, FILE *out)
{
	struct resperf_rows rows = resperf_begin(in->readers[0]);
	unsigned count = 0;

	fputs("# time target_qps actual_qps responses_per_sec failures_per_sec avg_latency "
	      "connections conn_avg_latency\n",
		out);
	for (; resperf_next(&rows); count++)
		put_row(&rows.row, out);
	if (count)
		return 0;
	log_error("%s: no whole interval in this result", in->readers[0]->file);
	return -EINVAL;
}

const char *resperf_unfit(const struct config *c)
{
	return c->run.duration_ns < c->run.interval_ns
	               ? "the run ends before its first interval (a shorter run.interval)"
	               : NULL;
}

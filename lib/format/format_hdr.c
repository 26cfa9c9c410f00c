// SPDX-License-Identifier: BSD-3-Clause
// HdrHistogram's two forms: the interval log (V2, one compressed histogram a line and tag) and the
// percentile distribution of one histogram (.hgrm). Our histograms are converted to its kind:
// nanoseconds, 3 significant digits, each bucket at its middle. Path: cold. Main thread.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/evp.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/log.h"
#include "format/format_walk.h"
#include "format/format_writers.h"

#define DIGITS    3
#define SUB_BITS  10 // half of the 2 048 places that 3 digits need
#define SUB_HALF  (1u << SUB_BITS)
#define HIGHEST   3600000000000ull // 1 h; longer times count as this
#define PLACES    (33u * SUB_HALF) // of HIGHEST and below
#define V2        0x1c849313u
#define V2_ZLIB   0x1c849314u
#define HEAD      40 // octets before the counts
#define LEB_MAX   9
#define PER_HALF  5 // steps of the percentile distribution for each halving of the rest
#define NS_PER_MS 1e6

struct hdr {
	uint64_t places[PLACES];
	uint64_t total;
	double max_ns;
};

static unsigned place_of(uint64_t ns)
{
	unsigned shift = 63 - SUB_BITS - (unsigned)__builtin_clzll(ns | (2 * SUB_HALF - 1));

	return (shift << SUB_BITS) + (unsigned)(ns >> shift);
}

// Returns the lowest value of a place; *width: the number of values that share it.
static uint64_t place_low(unsigned place, uint64_t *width)
{
	unsigned shift = place < 2 * SUB_HALF ? 0 : (place >> SUB_BITS) - 1;

	*width = 1ull << shift;
	return (uint64_t)(place - (shift << SUB_BITS)) << shift;
}

// Returns the middle of bucket i in nanoseconds, within the measured extremes.
static uint64_t middle_ns(const struct hist *h, uint32_t i, double hz)
{
	double low = (double)hist_bucket_low(i), high = (double)hist_bucket_high(i);
	double middle = fmin(fmax(0.5 * (low + high), (double)h->min), (double)h->max);
	double ns = middle / hz * 1e9;

	return ns < (double)HIGHEST ? (uint64_t)(ns + 0.5) : HIGHEST;
}

static void hdr_fill(struct hdr *to, const struct hist *h, double hz)
{
	memset(to, 0, sizeof(*to));
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		if (h->bucket[i] == 0)
			continue;
		to->places[place_of(middle_ns(h, i, hz))] += h->bucket[i];
		to->total += h->bucket[i];
	}
	to->max_ns = fmin((double)h->max / hz * 1e9, (double)HIGHEST);
}

// --- the log ---

// ZigZag LEB128; the ninth octet has eight bits.
static unsigned char *put_leb(unsigned char *to, int64_t value)
{
	uint64_t rest = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);

	for (unsigned i = 0; i + 1 < LEB_MAX && rest >= 0x80; i++, rest >>= 7)
		*to++ = (unsigned char)(rest | 0x80);
	*to++ = (unsigned char)rest;
	return to;
}

// Counts up to the last place in use; a run of n empty places is -n. Returns the octets written.
static size_t hdr_encode(const struct hdr *h, unsigned char *out)
{
	unsigned char *to = out + HEAD;
	unsigned last = PLACES;
	uint64_t one = 0x3ff0000000000000ull; // 1.0
	int64_t empty = 0;

	while (last > 0 && h->places[last - 1] == 0)
		last--;
	for (unsigned i = 0; i < last; i++) {
		if (h->places[i] == 0) {
			empty++;
			continue;
		}
		if (empty)
			to = put_leb(to, -empty);
		empty = 0;
		to = put_leb(to, (int64_t)(h->places[i] & INT64_MAX));
	}
	bytes_put_be32(out, V2);
	bytes_put_be32(out + 4, (uint32_t)(to - out) - HEAD);
	bytes_put_be32(out + 8, 0);
	bytes_put_be32(out + 12, DIGITS);
	bytes_put_be64(out + 16, 1);
	bytes_put_be64(out + 24, HIGHEST);
	bytes_put_be64(out + 32, one);
	return (size_t)(to - out);
}

struct hdr_log {
	FILE *out;
	struct document_reader *reader;
	double hz, start_s, length_s;
	struct hist hist;
	struct hdr hdr;
	uint64_t lines;
	bool failed;
};

static void put_histogram(struct hdr_log *l)
{
	size_t room = HEAD + LEB_MAX * (size_t)PLACES;
	uLongf packed = compressBound((uLong)room);
	unsigned char *plain = malloc(room), *zipped = malloc(8 + packed);
	unsigned char *text = malloc(2 * (8 + packed));
	size_t len = plain && zipped && text ? hdr_encode(&l->hdr, plain) : 0;

	if (len && compress(zipped + 8, &packed, plain, (uLong)len) == Z_OK) {
		bytes_put_be32(zipped, V2_ZLIB);
		bytes_put_be32(zipped + 4, (uint32_t)packed);
		EVP_EncodeBlock(text, zipped, (int)(8 + packed)); // base64
		fputs((const char *)text, l->out);
	} else {
		l->failed = true;
	}
	free(plain);
	free(zipped);
	free(text);
}

// "traffic.queries.latency.response." becomes queries.response. A tag has no comma and no space.
static void put_tag(FILE *out, const char *path)
{
	static const char *const left_out[] = {"traffic.", "latency.", "steps."};

	while (*path) {
		for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
			if (strncmp(path, left_out[i], strlen(left_out[i])) == 0)
				path += strlen(left_out[i]);
		for (; *path && *path != '.'; path++)
			fputc(*path == ',' || (unsigned char)*path <= ' ' ? '_' : *path, out);
		if (*path && *++path)
			fputc('.', out);
	}
}

static void put_line(struct walk *w, const struct counter_section *section, const json_t *object)
{
	struct hdr_log *l = w->ctx;

	if (!json_object_get(object, "histogram") || !reader_histogram(l->reader, object, &l->hist))
		return;
	hdr_fill(&l->hdr, &l->hist, l->hz);
	fputs("Tag=", l->out);
	put_tag(l->out, w->path);
	fprintf(l->out, ",%.3f,%.3f,%.3f,", l->start_s, l->length_s, l->hdr.max_ns / NS_PER_MS);
	put_histogram(l);
	fputc('\n', l->out);
	l->lines++;
}

// Returns the wall clock at the start of the measured part; 0: unknown.
static double started_s(struct document_reader *b)
{
	const json_t *first;
	double end;

	reader_rewind(b);
	first = reader_next(b);
	end = document_number(first, "ended_ns") * 1e-9 - document_number(first, "t_s");
	return end > 0 ? end : 0;
}

static void put_head(FILE *out, double start_s)
{
	time_t whole = start_s < 1e11 ? (time_t)start_s : 0;
	struct tm tm;
	char text[64];

	gmtime_r(&whole, &tm);
	strftime(text, sizeof(text), "%a %b %d %H:%M:%S UTC %Y", &tm);
	fprintf(out,
		"#[Histogram log format version 1.3]\n"
		"#[BaseTime: %.3f (seconds since epoch)]\n"
		"#[StartTime: %.3f (seconds since epoch), %s]\n"
		"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
		"\"Interval_Compressed_Histogram\"\n",
		start_s, start_s, text);
}

static int refuse_empty(const struct document_reader *b)
{
	log_error("%s: no histograms in this result (it is of an earlier version, or nothing was "
		  "answered)",
		b->file);
	return -EINVAL;
}

static double length_of(double s)
{
	return s >= 0 && s < 1e12 ? s : 0;
}

static void put_intervals(struct hdr_log *l, struct walk *w)
{
	const json_t *interval;

	reader_rewind(l->reader);
	while ((interval = reader_next(l->reader))) {
		l->length_s = length_of(document_number(interval, "length_s"));
		l->start_s = length_of(document_number(interval, "t_s") - l->length_s);
		walk_interval(w, interval);
	}
}

// Without histograms in the intervals, writes the run as one.
int hdr_write(const struct format_input *in, FILE *out)
{
	struct arena *a = arena_new();
	struct hdr_log *l = arena_zalloc(a, sizeof(*l));
	struct walk *w = arena_zalloc(a, sizeof(*w));
	int rc;

	*w = (struct walk){.object = put_line, .ctx = l};
	l->out = out;
	l->reader = in->readers[0];
	l->hz = reader_tick_hz(l->reader);
	put_head(out, started_s(l->reader));
	put_intervals(l, w);
	if (l->lines == 0) {
		l->start_s = 0;
		l->length_s = length_of(document_number(l->reader->document, "run.measured_s"));
		walk_document(w, l->reader);
	}
	rc = l->failed ? -ENOMEM : l->lines ? 0 : refuse_empty(l->reader);
	arena_free(a);
	return rc;
}

// --- the percentile distribution ---

static void put_steps(const struct hdr *h, FILE *out)
{
	uint64_t below = 0, width;
	double level = 0;

	for (unsigned i = 0; i < PLACES; i++) {
		uint64_t low = place_low(i, &width);
		double share, ms = (double)(low + width - 1) / NS_PER_MS;

		if (h->places[i] == 0)
			continue;
		below += h->places[i];
		share = 100 * (double)below / (double)h->total;
		while (level < 100 && level <= share) {
			double next = level +
			              100 / (PER_HALF * exp2(floor(log2(100 / (100 - level))) + 1));

			fprintf(out, "%12.3f %2.12f %10llu %14.2f\n", ms, level / 100,
				(unsigned long long)below, 1 / (1 - level / 100));
			level = next > level ? next : 100; // as far as a double goes
			if (below == h->total)
				break;
		}
		if (below == h->total)
			fprintf(out, "%12.3f %2.12f %10llu\n", ms, 1.0, (unsigned long long)below);
	}
}

// Returns the latency object whose distribution is wanted: at the path --select, or of the only
// item.
static const json_t *distribution_of(const struct format_input *in)
{
	const json_t *items = json_object_get(in->readers[0]->document, "traffic"), *found;
	const char *file = in->readers[0]->file;

	if (in->select) {
		found = walk_object(in->readers[0], in->select);
		if (!found)
			log_error("%s: no latency is called %s (such as "
				  "traffic.NAME.latency.response)",
				file, in->select);
		return found;
	}
	if (json_array_size(items) == 1)
		return document_at(json_array_get(items, 0), "latency.response");
	log_error("%s: %zu items (choose a latency: --select traffic.NAME.latency.response)", file,
		json_array_size(items));
	return NULL;
}

int hgrm_write(const struct format_input *in, FILE *out)
{
	const struct document_reader *b = in->readers[0];
	const json_t *latency = distribution_of(in);
	double hz = reader_tick_hz(b);
	struct arena *a = arena_new();
	struct hist *hist = arena_zalloc(a, sizeof(*hist));
	struct hdr *h = arena_zalloc(a, sizeof(*h));
	int rc = -EINVAL;

	if (latency && !reader_histogram(b, latency, hist)) {
		rc = refuse_empty(b);
	} else if (latency) {
		hdr_fill(h, hist, hz);
		fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
			"1/(1-Percentile)");
		put_steps(h, out);
		fprintf(out,
			"#[Mean    = %12.3f, StdDeviation   = %12.3f]\n"
			"#[Max     = %12.3f, Total count    = %12llu]\n"
			"#[Buckets = %12u, SubBuckets     = %12u]\n",
			hist_mean(hist) / hz * 1e3, hist_stddev(hist) / hz * 1e3,
			h->max_ns / NS_PER_MS, (unsigned long long)h->total, PLACES / SUB_HALF - 1,
			2 * SUB_HALF);
		rc = 0;
	}
	arena_free(a);
	return rc;
}

// SPDX-License-Identifier: BSD-3-Clause
// JSON lines of the schema of DNS-OARC's dns-metrics: a header, an object for each interval and
// item, and a sum for each item. Items without RCODEs are left out. Path: cold. Main thread.
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "format/format_writers.h"

#define SCHEMA_VERSION 20240530
#define NS_PER_S       1e9
#define FLAGS          (JSON_COMPACT | JSON_REAL_PRECISION(15))

struct metrics {
	struct document_reader *reader;
	FILE *out;
	struct hist hist;
};

static json_int_t whole(double x)
{
	return x > 0 && x < 0x1p62 ? (json_int_t)(x + 0.5) : 0;
}

struct span {
	json_int_t since_ns, until_ns;
};

// Returns the wall clock at an interval's end; a double cannot hold nanoseconds since 1970.
static json_int_t ended_ns(const json_t *interval)
{
	json_int_t ns = json_integer_value(json_object_get(interval, "ended_ns"));

	return ns > 0 ? ns : 0;
}

// Returns the end of an interval, less a number of seconds in the interval.
static json_int_t before(const json_t *interval, const char *seconds)
{
	json_int_t ns = whole(NS_PER_S * document_number(interval, seconds));

	return ended_ns(interval) > ns ? ended_ns(interval) - ns : 0;
}

static void set_whole(json_t *to, const char *name, double x)
{
	json_object_set_new(to, name, json_integer(whole(x)));
}

static void put_line(struct metrics *m, json_t *line)
{
	json_dumpf(line, m->out, FLAGS);
	fputc('\n', m->out);
	json_decref(line);
}

static json_t *line_of(const struct metrics *m, const char *type)
{
	return json_pack(
		"{s:s,s:s}", "runid", document_text(m->reader->document, "run.id"), "type", type);
}

// --- the header ---

// *all: the measured part.
static void put_header(struct metrics *m, const json_t *first, struct span *all)
{
	double interval_s = document_number(first, "length_s");
	const json_t *document = m->reader->document;
	json_t *line = line_of(m, "header");

	json_object_update_new(line,
		json_pack("{s:i,s:s,s:s,s:[s],s:I,s:f}", "schema_version", SCHEMA_VERSION,
			"generator", "ddiperf", "generator_version",
			document_text(document, "run.version"), "generator_params",
			document_text(document, "run.command"), "time_units_per_sec",
			(json_int_t)NS_PER_S, "stats_interval", interval_s > 0 ? interval_s : 0));
	put_line(m, line);
	all->since_ns = before(first, "t_s");
	all->until_ns =
		all->since_ns + whole(NS_PER_S * document_number(document, "run.measured_s"));
}

// --- an item, of an interval or of the run ---

// Returns the object "rcode" of the protocol's counters; NULL: none.
static const json_t *rcodes_of(const json_t *item, const char *protocol)
{
	const json_t *rcodes = json_object_get(json_object_get(item, protocol), "rcode");

	return json_is_object(rcodes) ? rcodes : NULL;
}

static json_t *buckets_of(struct metrics *m, const json_t *latency)
{
	double ns = NS_PER_S / reader_tick_hz(m->reader);
	json_t *buckets = json_array();

	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		uint64_t high = hist_bucket_high(i);

		if (m->hist.bucket[i] == 0)
			continue;
		json_array_append_new(
			buckets, json_pack("[I,I,I]", whole((double)hist_bucket_low(i) * ns),
					 whole(high == UINT64_MAX ? (double)m->hist.max * ns
								  : (double)high * ns),
					 (json_int_t)m->hist.bucket[i]));
	}
	return buckets;
}

static json_t *latency_of(struct metrics *m, const json_t *item)
{
	static const char *const names[][2] = {{"avg", "mean_ns"}, {"min", "min_ns"},
		{"max", "max_ns"}, {"stddev", "stddev_ns"}, {"p50", "p50_ns"}, {"p99", "p99_ns"}};
	const json_t *response = document_at(item, "latency.response");
	json_t *latency = json_object();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!isnan(document_number(response, names[i][1])))
			set_whole(latency, names[i][0], document_number(response, names[i][1]));
	if (reader_histogram(m->reader, response, &m->hist))
		json_object_set_new(latency, "buckets", buckets_of(m, response));
	return latency;
}

static void put_stats(struct metrics *m, const char *type, const json_t *item, const char *protocol,
	struct span span)
{
	static const char *const counts[][2] = {{"queries", "sent"},
		{"responses", "answered + failed"}, {"timeouts", "lost"},
		{"unexpected", "late + duplicate + stray"}, {"discarded", "malformed"},
		{"interrupted", "in_flight"}};
	json_t *line = line_of(m, type);

	json_object_update_new(
		line, json_pack("{s:s,s:I,s:I}", "subid", document_text(item, "name"), "since",
			      span.since_ns, "until", span.until_ns));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (strcmp(counts[i][0], "interrupted") != 0 || strcmp(type, "stats_sum") == 0)
			set_whole(line, counts[i][0], document_computed(item, counts[i][1]));
	json_object_set(line, "response_rcodes", (json_t *)rcodes_of(item, protocol));
	json_object_set_new(line, "response_latency", latency_of(m, item));
	put_line(m, line);
}

// Returns its protocol, if that has RCODEs; items of intervals do not name theirs.
static const char *protocol_of(const struct metrics *m, const char *name)
{
	const json_t *item =
		document_named(json_object_get(m->reader->document, "traffic"), "name", name);
	const char *protocol = document_text(item, "protocol");

	return rcodes_of(item, protocol) ? protocol : NULL;
}

static unsigned put_items(
	struct metrics *m, const char *type, const json_t *items, struct span span)
{
	unsigned count = 0;
	json_t *item;
	size_t i;

	json_array_foreach(items, i, item)
	{
		const char *protocol = protocol_of(m, document_text(item, "name"));

		if (!protocol || !rcodes_of(item, protocol))
			continue;
		put_stats(m, type, item, protocol, span);
		count++;
	}
	return count;
}

static void put_intervals(struct metrics *m)
{
	const json_t *interval;

	reader_rewind(m->reader);
	while ((interval = reader_next(m->reader))) {
		put_items(m, "stats_periodic", json_object_get(interval, "traffic"),
			(struct span){before(interval, "length_s"), ended_ns(interval)});
	}
}

int dns_metrics_write(const struct format_input *in, FILE *out)
{
	struct arena *a = arena_new();
	struct metrics *m = arena_zalloc(a, sizeof(*m));
	struct span all;
	unsigned items;

	m->reader = in->readers[0];
	m->out = out;
	reader_rewind(m->reader);
	put_header(m, reader_next(m->reader), &all);
	put_intervals(m);
	items = put_items(m, "stats_sum", json_object_get(m->reader->document, "traffic"), all);
	if (items == 0)
		log_error("%s: no item has RCODEs", m->reader->file);
	arena_free(a);
	return items ? 0 : -EINVAL;
}

const char *dns_metrics_unfit(const struct config *c)
{
	const struct item_settings *items = c->traffic.items;

	for (uint32_t i = 0; i < c->traffic.count; i++) {
		const struct counter_section *own = items[i].facts.proto->counters;

		for (uint32_t k = 0; own && k < own->count; k++)
			if (strcmp(own->rows[k].name, "rcode") == 0)
				return NULL;
	}
	return "no item has RCODEs";
}

// SPDX-License-Identifier: BSD-3-Clause
// The lines of kxdpgun -j (3.4): objects of DNS-OARC's dns-metrics with the members that kxdpgun
// has. Path: cold. Main thread.
#include "front/kxdpgun/front_kxdpgun.h"

#include <time.h>

#define SCHEMA_VERSION 20240530
#define NS_PER_S       1e9

static json_int_t whole(double x)
{
	return x > 0 && x < 0x1p62 ? (json_int_t)(x + 0.5) : 0;
}

static json_t *line_of(const char *type, json_int_t runid)
{
	return json_pack("{s:I,s:s}", "runid", runid, "type", type);
}

static void put_line(json_t *line)
{
	json_dumpf(line, stdout, JSON_REAL_PRECISION(15));
	putchar('\n');
	fflush(stdout);
	json_decref(line);
}

void kxdpgun_json_begin(struct kxdpgun_json *j, const struct as_run *r, const json_t *info)
{
	json_t *line, *params = json_array();
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	j->started_ns = (json_int_t)now.tv_sec * (json_int_t)NS_PER_S + now.tv_nsec;
	j->runid = j->started_ns / 1000;
	line = line_of("header", j->runid);
	json_object_set_new(line, "schema_version", json_integer(SCHEMA_VERSION));
	json_object_set_new(line, "generator", json_string(r->tool->name));
	json_object_set_new(line, "generator_version", json_string(r->tool->version));
	for (int i = 0; i < r->argc; i++)
		json_array_append_new(params, json_string(r->argv[i]));
	json_object_set_new(line, "generator_params", params);
	json_object_set_new(line, "time_units_per_sec", json_integer((json_int_t)NS_PER_S));
	if (j->period_s > 0)
		json_object_set_new(line, "stats_interval", json_real(j->period_s));
	json_object_set(line, "additional_info", (json_t *)info);
	put_line(line);
}

static json_t *rcodes_of(const json_t *item)
{
	json_t *of = json_object(), *count;
	const char *name;

	json_object_foreach((json_t *)document_at(item, "dns.rcode"), name, count)
	{
		if (json_number_value(count) > 0)
			json_object_set_new(
				of, name, json_integer(whole(json_number_value(count))));
	}
	return of;
}

void kxdpgun_json_stats(const struct kxdpgun_json *j, const char *type, const json_t *item,
	double since_s, double until_s, bool replies)
{
	json_int_t sent = whole(document_number(item, "sent"));
	json_int_t got = whole(document_number(item, "answered") + document_number(item, "failed"));
	json_t *line = line_of(type, j->runid);

	got = replies ? got : 0;
	json_object_set_new(line, "since", json_integer(j->started_ns + whole(NS_PER_S * since_s)));
	json_object_set_new(line, "until", json_integer(j->started_ns + whole(NS_PER_S * until_s)));
	json_object_set_new(line, "queries", json_integer(sent));
	json_object_set_new(line, "responses", json_integer(got));
	if (got)
		json_object_set_new(line, "response_rcodes", rcodes_of(item));
	json_object_set_new(line, "conn_info",
		json_pack("{s:s,s:I,s:I,s:i}", "type", "udp", "packets_sent", sent,
			"packets_recieved", got, "socket_errors", 0));
	put_line(line);
}

void kxdpgun_json_thread(const struct kxdpgun_json *j, const json_t *item, bool replies)
{
	double got = document_number(item, "answered") + document_number(item, "failed");
	json_t *line = line_of("thread_summary", j->runid);

	json_object_update_new(line,
		json_pack("{s:i,s:I,s:I,s:I,s:i}", "subid", 0, "qry_sent",
			whole(document_number(item, "sent")), "ans_recv", replies ? whole(got) : 0,
			"lost", whole(document_number(item, "unsent")), "errors", 0));
	put_line(line);
}

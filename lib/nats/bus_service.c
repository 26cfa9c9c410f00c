// SPDX-License-Identifier: BSD-3-Clause
// A micro service as ADR-32 of NATS describes it: replies to $SRV.PING, INFO and STATS when all
// services, all of its name, or this one alone are addressed. Path: cold. Main thread | the
// library's thread (answer).
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nats/bus_internal.h"

#define SUBJECT_SIZE 256
#define GROUP        "q" // the usual name of the group of an endpoint

struct bus_served {
	struct bus *bus;
	const struct bus_service *service;
	char started[32];
};

// The members that all replies have.
static json_t *begin_reply(const struct bus_served *d, const char *verb)
{
	const struct bus_service *s = d->service;
	const char *const *pair = s->metadata;
	json_t *metadata = json_object();

	for (; pair && pair[0]; pair += 2)
		json_object_set_new(metadata, pair[0], json_string(pair[1]));
	return json_pack("{s:s+, s:s, s:s, s:s, s:o}", "type", "io.nats.micro.v1.", verb, "name",
		s->name, "id", s->id, "version", s->version, "metadata", metadata);
}

static json_t *endpoints_info(const struct bus_service *s)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < s->count; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:{}}", "name", s->endpoints[i].name, "subject",
				s->endpoints[i].subject, "queue_group", "", "metadata"));
	return list;
}

// The figures of an endpoint are counted by the subscription to its subject.
static json_t *endpoint_stats(struct bus *b, const struct bus_endpoint *e)
{
	uint64_t count = 0, busy_ns = 0;

	pthread_mutex_lock(&b->lock);
	for (const struct bus_subscription *s = b->subscriptions; s; s = s->next) {
		if (strcmp(s->subject, e->subject) == 0) {
			count += s->count;
			busy_ns += s->busy_ns;
		}
	}
	pthread_mutex_unlock(&b->lock);
	return json_pack("{s:s, s:s, s:s, s:I, s:i, s:s, s:I, s:I}", "name", e->name, "subject",
		e->subject, "queue_group", "", "num_requests", (json_int_t)count, "num_errors", 0,
		"last_error", "", "processing_time", (json_int_t)busy_ns, "average_processing_time",
		(json_int_t)(count ? busy_ns / count : 0));
}

static json_t *ping(const struct bus_served *d)
{
	return begin_reply(d, "ping_response");
}

static json_t *info(const struct bus_served *d)
{
	json_t *reply = begin_reply(d, "info_response");

	json_object_set_new(reply, "description", json_string(d->service->description));
	json_object_set_new(reply, "endpoints", endpoints_info(d->service));
	return reply;
}

static json_t *stats(const struct bus_served *d)
{
	json_t *reply = begin_reply(d, "stats_response"), *list = json_array();

	for (unsigned i = 0; i < d->service->count; i++)
		json_array_append_new(list, endpoint_stats(d->bus, &d->service->endpoints[i]));
	json_object_set_new(reply, "started", json_string(d->started));
	json_object_set_new(reply, "endpoints", list);
	return reply;
}

static void answer(void *ctx, const struct bus_message *m)
{
	static const struct {
		const char *verb;
		json_t *(*make)(const struct bus_served *d);
	} rows[] = {{"PING", ping}, {"INFO", info}, {"STATS", stats}};
	struct bus_served *d = ctx;
	const char *verb = m->subject + strlen("$SRV.");
	size_t len = strcspn(verb, ".");
	json_t *reply;
	char *text;

	for (unsigned i = 0; m->reply && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strlen(rows[i].verb) != len || strncmp(rows[i].verb, verb, len) != 0)
			continue;
		reply = rows[i].make(d);
		text = json_dumps(reply, JSON_COMPACT);
		if (text)
			bus_publish(d->bus, m->reply, text, strlen(text));
		free(text);
		json_decref(reply);
	}
}

int bus_serve(struct bus *b, const struct bus_service *s)
{
	struct bus_served *d = calloc(1, sizeof(*d));
	char subject[SUBJECT_SIZE];
	time_t now = time(NULL);
	struct tm utc;
	int rc;

	if (!d)
		return -ENOMEM;
	d->bus = b;
	d->service = s;
	strftime(d->started, sizeof(d->started), "%FT%TZ", gmtime_r(&now, &utc));
	b->served = d;
	rc = bus_subscribe_at_once(b, "$SRV.*", answer, d);
	snprintf(subject, sizeof(subject), "$SRV.*.%s", s->name);
	if (rc == 0)
		rc = bus_subscribe_at_once(b, subject, answer, d);
	snprintf(subject, sizeof(subject), "$SRV.*.%s.%s", s->name, s->id);
	if (rc == 0)
		rc = bus_subscribe_at_once(b, subject, answer, d);
	return rc;
}

// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. A thread of its own | any thread (list).
#include "fleet/agent_list.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "fleet/fleet_clock.h"
#include "fleet/fleet_talk.h"
#include "io/host/privileges.h"

#define ASK_MS     2000
#define SILENT_MS  5000 // two requests without a reply
#define FORGET_MS  600000
#define TICK_MS    100
#define AGENTS_MAX 4096
#define FACTS_MAX  16384 // octets

struct agent_list {
	const struct bus_settings *settings;
	struct bus *bus;
	char inbox[TALK_SUBJECT];
	int64_t asked_ns;
	pthread_t thread;
	pthread_mutex_t lock; // of all that follows
	pthread_cond_t told;
	int rc; // of bus_open; 1: unknown so far
	bool over, up;
	json_t *agents; // by name; "heard_ms" is when it replied
};

static void on_facts(void *ctx, const struct bus_message *m)
{
	static const char *const members[] = {
		"labels", "version", "host", "cpus", "run", "coordinator"};
	static const char *const objects[] = {"box", "clock"};
	struct agent_list *r = ctx;
	json_t *facts = m->size <= FACTS_MAX ? talk_read(m->data, m->size) : NULL, *agent;
	const char *name = document_text(facts, "name");

	pthread_mutex_lock(&r->lock);
	if (talk_is_name(name) &&
		(json_object_size(r->agents) < AGENTS_MAX || json_object_get(r->agents, name))) {
		agent = json_pack("{s:s, s:f, s:I}", "name", name, "reply_ms",
			(double)(m->at_ns - r->asked_ns) / 1e6, "heard_ms",
			(json_int_t)clock_steady_ms());
		for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
			json_object_set_new(
				agent, members[i], json_string(document_text(facts, members[i])));
		for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
			if (json_is_object(json_object_get(facts, objects[i])))
				json_object_set(
					agent, objects[i], json_object_get(facts, objects[i]));
		json_object_set_new(r->agents, name, agent);
	}
	pthread_mutex_unlock(&r->lock);
	json_decref(facts);
}

static json_int_t silent_ms(const json_t *agent)
{
	return (json_int_t)clock_steady_ms() -
	       json_integer_value(json_object_get(agent, "heard_ms"));
}

static void ask(struct agent_list *r)
{
	const char *name;
	json_t *agent;
	void *next;

	r->asked_ns = fleet_clock_ns();
	bus_ask(r->bus, "ddiperf.find", r->inbox, "", 0);
	pthread_mutex_lock(&r->lock);
	json_object_foreach_safe(r->agents, next, name, agent) if (silent_ms(agent) > FORGET_MS)
		json_object_del(r->agents, name);
	pthread_mutex_unlock(&r->lock);
}

static bool goes_on(struct agent_list *r)
{
	bool up = bus_is_up(r->bus), over;

	pthread_mutex_lock(&r->lock);
	r->up = up;
	over = r->over;
	pthread_mutex_unlock(&r->lock);
	return !over;
}

static void *watch(void *arg)
{
	struct agent_list *r = arg;
	uint64_t next_ms = 0;
	int rc = privileges_drop(false);

	if (rc == 0)
		rc = bus_open(r->settings, &r->bus);
	if (rc == 0) {
		bus_inbox(r->bus, r->inbox, sizeof(r->inbox));
		rc = bus_subscribe(r->bus, r->inbox, on_facts, r);
	}
	pthread_mutex_lock(&r->lock);
	r->rc = rc;
	pthread_cond_broadcast(&r->told);
	pthread_mutex_unlock(&r->lock);
	while (rc == 0 && goes_on(r)) {
		if (clock_steady_ms() >= next_ms) {
			next_ms = clock_steady_ms() + ASK_MS;
			ask(r);
		}
		bus_tick(r->bus, TICK_MS);
	}
	bus_close(r->bus);
	return NULL;
}

int agent_list_open(const struct bus_settings *s, struct agent_list **out)
{
	struct agent_list *r = calloc(1, sizeof(*r));
	sigset_t all, before;
	int rc;

	*out = NULL;
	if (!r)
		return -ENOMEM;
	*r = (struct agent_list){.settings = s,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.told = PTHREAD_COND_INITIALIZER,
		.rc = 1,
		.agents = json_object()};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&r->thread, NULL, watch, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc < 0) {
		log_error("serve: --fleet: %s", strerror(-rc));
		json_decref(r->agents);
		free(r);
		return rc;
	}
	pthread_mutex_lock(&r->lock);
	while (r->rc == 1)
		pthread_cond_wait(&r->told, &r->lock);
	rc = r->rc;
	pthread_mutex_unlock(&r->lock);
	if (rc < 0)
		agent_list_close(r);
	else
		*out = r;
	return rc;
}

json_t *agent_list_list(struct agent_list *r, bool *up)
{
	json_t *list = json_array(), *agent, *one;
	const char *name;

	pthread_mutex_lock(&r->lock);
	*up = r->up;
	json_object_foreach(r->agents, name, agent)
	{
		json_int_t ms = silent_ms(agent);

		one = json_copy(agent);
		json_object_del(one, "heard_ms");
		json_object_set_new(one, "silent_s", json_integer(ms / 1000));
		json_object_set_new(one, "state",
			json_string(ms > SILENT_MS                 ? "silent"
				    : *document_text(agent, "run") ? "busy"
								   : "free"));
		json_array_append_new(list, one);
	}
	pthread_mutex_unlock(&r->lock);
	return list;
}

void agent_list_close(struct agent_list *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->over = true;
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	json_decref(r->agents);
	free(r);
}

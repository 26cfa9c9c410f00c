// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "fleet/fleet_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "document/document_reader.h"
#include "engine/run/run.h"
#include "fleet/fleet_talk.h"

#define FIND_MS   500  // for all agents to reply
#define READ_MS   1000 // for a piece of a file
#define READ_MOST 20   // requests without a reply, in a row

int fleet_ask_open(const struct bus_settings *s, struct bus **out)
{
	int rc = bus_open(s, out);

	if (rc == 0)
		return 0;
	return rc == -EINVAL || rc == -EACCES ? EXIT_CONFIG : EXIT_ENVIRONMENT;
}

static void on_facts(void *ctx, const struct bus_message *m)
{
	json_t *found = ctx, *facts = talk_read(m->data, m->size);

	if (talk_is_name(document_text(facts, "name")))
		json_array_append(found, facts);
	json_decref(facts);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(document_text(*(json_t *const *)a, "name"),
		document_text(*(json_t *const *)b, "name"));
}

static json_t *sorted(json_t *found)
{
	size_t count = json_array_size(found);
	json_t **list = calloc(count + 1, sizeof(*list)), *out = json_array();

	if (!list)
		abort(); // as for JSON
	for (size_t i = 0; i < count; i++)
		list[i] = json_array_get(found, i);
	qsort(list, count, sizeof(*list), by_name);
	for (size_t i = 0; i < count; i++)
		json_array_append(out, list[i]);
	free(list);
	json_decref(found);
	return out;
}

json_t *fleet_ask_all(struct bus *b)
{
	uint64_t until = clock_steady_ms() + FIND_MS;
	json_t *found = json_array();
	char inbox[TALK_SUBJECT];

	bus_inbox(b, inbox, sizeof(inbox));
	bus_subscribe(b, inbox, on_facts, found);
	bus_ask(b, "ddiperf.find", inbox, "", 0);
	while (clock_steady_ms() < until)
		bus_tick(b, 20);
	bus_unsubscribe(b, inbox);
	return sorted(found);
}

char *fleet_ask_piece(const struct fleet_ask *q, uint64_t from, const char **octets, size_t *count)
{
	char subject[TALK_SUBJECT], *reply = NULL;
	char *text = talk_text(json_pack(
		"{s:s, s:s, s:I}", "run", q->run, "file", q->file, "from", (json_int_t)from));
	uint64_t at;
	size_t len;
	int rc = 0;

	talk_agent(subject, q->agent, "read");
	for (unsigned n = 0; n < READ_MOST && !reply && !(q->signals && *q->signals >= 2); n++) {
		if (q->tick)
			q->tick(q->ctx);
		reply = bus_request(q->bus, subject, text, strlen(text), READ_MS, &len, NULL, &rc);
		if (!reply && rc != -ETIMEDOUT)
			poll(NULL, 0, READ_MS); // its connection may come back
	}
	free(text);
	if (reply && talk_get_piece(reply, len, &at, octets, count) && at == from)
		return reply;
	free(reply);
	return NULL;
}

// SPDX-License-Identifier: BSD-3-Clause
// A bus in the memory of the test in place of NATS: published messages go to a function of the
// test, and the test's own go to the subscribers. The steady clock is the test's, too; it advances
// when nothing has come. The linker wraps the functions (meson.build). Path: cold. Test.
#pragma once

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/fleet_talk.h"
#include "nats/bus.h"

struct fake_message {
	char subject[TALK_SUBJECT];
	char *data;
	size_t size;
	int64_t at_ns;
};

static struct {
	struct {
		char subject[TALK_SUBJECT];
		bus_handler *handler;
		void *ctx;
	} all[32];
	unsigned count, inboxes, open;
	struct fake_message waiting[64]; // for bus_tick
	unsigned first, last;
	uint64_t ms;                  // the steady clock
	bool down, closed;            // the connection; closed: for good
	struct bus_settings settings; // of the last bus_open
	size_t room;
	int refuses;                                         // -errno of bus_open
	int silence;                                         // -errno of a request without reply
	void (*published)(const struct bus_message *m);      // NULL: nobody listens
	json_t *(*asked)(const char *subject, json_t *data); // NULL: no reply
	void (*ticked)(void);
} bus;

// Hands a message to its subscribers at once.
static inline void bus_say(const char *subject, const char *reply, const char *data, size_t size)
{
	const struct bus_message m = {subject, reply, data, size, 0};

	for (unsigned i = 0; i < bus.count; i++)
		if (strcmp(bus.all[i].subject, subject) == 0)
			bus.all[i].handler(bus.all[i].ctx, &m);
}

// Takes message.
static inline void bus_say_json(const char *subject, const char *reply, json_t *message)
{
	char *text = talk_text(message);

	bus_say(subject, reply, text, strlen(text));
	free(text);
}

// Hands a message to its subscribers in the next bus_tick.
static inline void bus_say_later(const char *subject, const void *data, size_t size, int64_t at_ns)
{
	struct fake_message *m = &bus.waiting[bus.last++ % 64];

	assert_true(bus.last - bus.first <= 64);
	snprintf(m->subject, sizeof(m->subject), "%s", subject);
	m->data = malloc(size + 1);
	memcpy(m->data, data, size);
	m->data[size] = '\0';
	m->size = size;
	m->at_ns = at_ns;
}

static inline bool bus_has(const char *subject)
{
	for (unsigned i = 0; i < bus.count; i++)
		if (strcmp(bus.all[i].subject, subject) == 0)
			return true;
	return false;
}

int __wrap_bus_open(const struct bus_settings *s, struct bus **out);
void __wrap_bus_close(struct bus *b);
int __wrap_bus_subscribe(struct bus *b, const char *subject, bus_handler *handler, void *ctx);
int __wrap_bus_subscribe_at_once(
	struct bus *b, const char *subject, bus_handler *handler, void *ctx);
void __wrap_bus_unsubscribe(struct bus *b, const char *subject);
int __wrap_bus_publish(struct bus *b, const char *subject, const void *data, size_t size);
int __wrap_bus_ask(
	struct bus *b, const char *subject, const char *reply, const void *data, size_t size);
void __wrap_bus_inbox(struct bus *b, char *subject, size_t room);
char *__wrap_bus_request(struct bus *b, const char *subject, const void *data, size_t size,
	unsigned ms, size_t *len, int64_t *at_ns, int *rc);
unsigned __wrap_bus_tick(struct bus *b, unsigned ms);
bool __wrap_bus_is_up(struct bus *b);
bool __wrap_bus_is_closed(struct bus *b);
const char *__wrap_bus_place(const struct bus *b);
size_t __wrap_bus_room(const struct bus *b);
int __wrap_bus_serve(struct bus *b, const struct bus_service *s);
uint64_t __wrap_clock_steady_ms(void);
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms);
int __real_poll(struct pollfd *fds, nfds_t count, int ms);

int __wrap_bus_open(const struct bus_settings *s, struct bus **out)
{
	bus.settings = *s;
	*out = bus.refuses ? NULL : (struct bus *)&bus;
	bus.open += bus.refuses == 0;
	return bus.refuses;
}

void __wrap_bus_close(struct bus *b)
{
	bus.open -= b != NULL;
	bus.count = 0;
}

int __wrap_bus_subscribe(struct bus *b, const char *subject, bus_handler *handler, void *ctx)
{
	assert_true(bus.count < sizeof(bus.all) / sizeof(bus.all[0]));
	snprintf(bus.all[bus.count].subject, TALK_SUBJECT, "%s", subject);
	bus.all[bus.count].handler = handler;
	bus.all[bus.count++].ctx = ctx;
	return 0;
}

int __wrap_bus_subscribe_at_once(
	struct bus *b, const char *subject, bus_handler *handler, void *ctx)
{
	return __wrap_bus_subscribe(b, subject, handler, ctx);
}

void __wrap_bus_unsubscribe(struct bus *b, const char *subject)
{
	for (unsigned i = bus.count; i-- > 0;)
		if (strcmp(bus.all[i].subject, subject) == 0)
			bus.all[i] = bus.all[--bus.count];
}

int __wrap_bus_ask(
	struct bus *b, const char *subject, const char *reply, const void *data, size_t size)
{
	char *copy = malloc(size + 1); // with its zero, as a bus has it
	const struct bus_message m = {subject, reply, copy, size, 0};

	memcpy(copy, data, size);
	copy[size] = '\0';
	if (bus.published)
		bus.published(&m);
	free(copy);
	return 0;
}

int __wrap_bus_publish(struct bus *b, const char *subject, const void *data, size_t size)
{
	return __wrap_bus_ask(b, subject, NULL, data, size);
}

void __wrap_bus_inbox(struct bus *b, char *subject, size_t room)
{
	snprintf(subject, room, "inbox.%u", bus.inboxes++);
}

// The reply that the test makes: an object, or a text as it is.
char *__wrap_bus_request(struct bus *b, const char *subject, const void *data, size_t size,
	unsigned ms, size_t *len, int64_t *at_ns, int *rc)
{
	json_t *message = talk_read(data, size);
	json_t *reply = bus.asked ? bus.asked(subject, message) : NULL;
	char *text;

	json_decref(message);
	*rc = reply ? 0 : bus.silence ? bus.silence : -ETIMEDOUT;
	bus.ms += *rc == -ETIMEDOUT ? ms : 0;
	if (!reply)
		return NULL;
	if (!json_is_string(reply)) {
		text = talk_text(reply);
		*len = strlen(text);
		return text;
	}
	*len = json_string_length(reply);
	text = malloc(*len + 1);
	memcpy(text, json_string_value(reply), *len + 1);
	json_decref(reply);
	return text;
}

unsigned __wrap_bus_tick(struct bus *b, unsigned ms)
{
	unsigned count = bus.last - bus.first;

	if (bus.ticked)
		bus.ticked();
	bus.ms += count ? 0 : ms ? ms : 1;
	for (unsigned i = 0; i < count; i++) {
		struct fake_message m = bus.waiting[bus.first++ % 64];
		const struct bus_message given = {m.subject, NULL, m.data, m.size, m.at_ns};

		for (unsigned k = 0; k < bus.count; k++)
			if (strcmp(bus.all[k].subject, m.subject) == 0)
				bus.all[k].handler(bus.all[k].ctx, &given);
		free(m.data);
	}
	return count;
}

bool __wrap_bus_is_up(struct bus *b)
{
	return !bus.down;
}

bool __wrap_bus_is_closed(struct bus *b)
{
	return bus.closed;
}

const char *__wrap_bus_place(const struct bus *b)
{
	return "here";
}

size_t __wrap_bus_room(const struct bus *b)
{
	return bus.room;
}

int __wrap_bus_serve(struct bus *b, const struct bus_service *s)
{
	return 0;
}

uint64_t __wrap_clock_steady_ms(void)
{
	return bus.ms;
}

// A pause takes none of our time.
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms)
{
	if (count)
		return __real_poll(fds, count, ms);
	bus.ms += (uint64_t)ms;
	return 0;
}

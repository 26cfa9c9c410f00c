// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the bus only: its state, with the types of libnats. Path: cold. Main
// thread.
#pragma once

#include <nats/nats.h>
#include <pthread.h>

#include "nats/bus.h"

struct bus_subscription {
	struct bus *bus;
	struct bus_subscription *next;
	natsSubscription *nats;
	char *subject;
	bus_handler *handler; // NULL: replies to requests
	void *ctx;
	bool at_once;
	bool over; // the library makes no further calls; this and the next members are under the
	           // lock
	size_t queued;           // octets of its waiting messages
	bool full;               // some were dropped since then
	uint64_t count, busy_ns; // messages handled, and the time spent on them
};

// A message on its way from the library's thread to bus_tick.
struct bus_came {
	struct bus_came *next;
	struct bus_subscription *from;
	natsMsg *message;
	int64_t at_ns;
};

// A request that waits for its reply.
struct bus_wait {
	char subject[80];   // of the reply; empty: not in use
	int rc;             // of sending it
	natsMsg *reply;     // NULL: not yet
	int64_t replied_ns; // CLOCK_REALTIME
};

#define BUS_WAITS 16 // at a time

struct bus {
	natsConnection *nats;
	char place[256]; // URLs of the servers, without passwords
	char inbox[64];  // prefix of our subjects for replies
	unsigned inboxes;
	int woken; // eventfd: something came

	pthread_mutex_t lock;
	pthread_cond_t changed; // a subscription is over, or the reply is there
	struct bus_subscription *subscriptions;
	struct bus_came *first, **last;
	unsigned waiting;                 // entries of the list
	struct bus_subscription *running; // its handler does, in bus_tick
	struct bus_wait waits[BUS_WAITS];

	void *served; // of bus_serve, freed with the bus
};

struct bus_question {
	const char *subject;
	const char *header[2]; // name and value, or NULL
	const void *data;
	size_t size;
	unsigned ms;
};

// Sends a request without waiting. 0, and bus_await must follow; or -errno (-EBUSY: too many
// requests wait).
int bus_put_question(struct bus *b, const struct bus_question *q, struct bus_wait **out);
// The whole reply, which the caller destroys, or NULL and *rc, as bus_request. at_ns may be NULL.
natsMsg *bus_await(struct bus *b, struct bus_wait *w, unsigned ms, int64_t *at_ns, int *rc);

// bus_settings.c: the options of a connection, which the caller destroys, and in servers the URLs
// of its servers without passwords, for messages. 0, or -errno, which was logged.
int bus_options(const struct bus_settings *s, natsOptions **out, char *servers, size_t room);
// An error text of the library without the place in its source, "(conn.c:2088): ", that it begins
// with. NULL stays NULL.
const char *bus_reason(const char *text);

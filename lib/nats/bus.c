// SPDX-License-Identifier: BSD-3-Clause
// Threads of the library hold no capability and take no signal, as the connection is made by a
// thread of ours that has neither and ends at once. Path: cold. Main thread | the library's thread
// (on_message).
#include "nats/bus.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "nats/bus_internal.h"
#include "io/host/privileges.h"

#define FLUSH_MS     2000
#define SIGNS_ALWAYS 0x030800 // version of the library
#define SIGNATURES   3        // one in 256 of those before begins with a 0
#define AGAIN_MS     10       // a connection that cannot be written to is soon known to be lost
#define AGAIN        200
#define QUEUE        (16u << 20) // octets of a subscription that wait for bus_tick

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int errno_of(natsStatus status)
{
	static const struct {
		natsStatus status;
		int error;
	} rows[] = {
		{NATS_OK, 0},
		{NATS_NO_SERVER, ECONNREFUSED},
		{NATS_CONNECTION_AUTH_FAILED, EACCES},
		{NATS_NOT_PERMITTED, EACCES},
		{NATS_SSL_ERROR, EPROTO},
		{NATS_SECURE_CONNECTION_WANTED, EPROTO},
		{NATS_SECURE_CONNECTION_REQUIRED, EPROTO},
		{NATS_TIMEOUT, ETIMEDOUT},
		{NATS_CONNECTION_CLOSED, ENOTCONN},
		{NATS_CONNECTION_DISCONNECTED, ENOTCONN},
		{NATS_INSUFFICIENT_BUFFER, ENOBUFS},
		{NATS_MAX_PAYLOAD, EMSGSIZE},
		{NATS_INVALID_SUBJECT, EINVAL},
		{NATS_INVALID_ARG, EINVAL},
		{NATS_NO_MEMORY, ENOMEM},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].status == status)
			return -rows[i].error;
	return -EIO;
}

// --- messages that come ---

static void run_handler(struct bus_subscription *s, natsMsg *m, int64_t at_ns)
{
	struct bus_message message = {
		.subject = natsMsg_GetSubject(m),
		.reply = natsMsg_GetReply(m),
		.data = natsMsg_GetData(m),
		.size = (size_t)natsMsg_GetDataLength(m),
		.at_ns = at_ns,
	};

	s->handler(s->ctx, &message);
}

// Is it the reply that a question waits for? It is the question's then.
static void take_reply(struct bus *b, natsMsg *m, int64_t at_ns)
{
	const char *subject = natsMsg_GetSubject(m);

	pthread_mutex_lock(&b->lock);
	for (struct bus_wait *w = b->waits; w < b->waits + BUS_WAITS && m; w++) {
		if (w->reply || strcmp(w->subject, subject) != 0)
			continue;
		w->reply = m;
		w->replied_ns = at_ns;
		m = NULL;
		pthread_cond_broadcast(&b->changed);
	}
	pthread_mutex_unlock(&b->lock);
	natsMsg_Destroy(m);
}

static void take_at_once(struct bus_subscription *s, natsMsg *m, int64_t at_ns)
{
	int64_t begin = now_ns(CLOCK_MONOTONIC);

	run_handler(s, m, at_ns);
	natsMsg_Destroy(m);
	pthread_mutex_lock(&s->bus->lock);
	s->count++;
	s->busy_ns += (uint64_t)(now_ns(CLOCK_MONOTONIC) - begin);
	pthread_mutex_unlock(&s->bus->lock);
}

// Otherwise any publisher could fill the memory. Important messages are requested again.
static bool has_room(struct bus_subscription *s, size_t size)
{
	bool room, was_full;

	pthread_mutex_lock(&s->bus->lock);
	room = s->queued + size <= QUEUE;
	was_full = s->full;
	s->full = !room;
	s->queued += room ? size : 0;
	pthread_mutex_unlock(&s->bus->lock);
	if (!room && !was_full)
		log_warning("messages to %s arrive faster than they are handled: beyond %u MiB "
			    "they are dropped",
			s->subject, QUEUE >> 20);
	return room;
}

static size_t size_of(natsMsg *m)
{
	return sizeof(struct bus_came) + (size_t)natsMsg_GetDataLength(m);
}

static void take_for_tick(struct bus_subscription *s, natsMsg *m, int64_t at_ns)
{
	struct bus_came *came = has_room(s, size_of(m)) ? malloc(sizeof(*came)) : NULL;
	struct bus *b = s->bus;

	if (!came) {
		natsMsg_Destroy(m);
		return;
	}
	*came = (struct bus_came){.from = s, .message = m, .at_ns = at_ns};
	pthread_mutex_lock(&b->lock);
	*b->last = came;
	b->last = &came->next;
	b->waiting++;
	pthread_mutex_unlock(&b->lock);
	eventfd_write(b->woken, 1);
}

// The library puts a zero behind the data. It hands out the messages of all subscriptions on one
// thread, so handlers "at once" never run at the same time.
static void on_message(natsConnection *nc, natsSubscription *ns, natsMsg *m, void *closure)
{
	struct bus_subscription *s = closure;
	int64_t at_ns = now_ns(CLOCK_REALTIME);

	if (!s->handler)
		take_reply(s->bus, m, at_ns);
	else if (s->at_once)
		take_at_once(s, m, at_ns);
	else
		take_for_tick(s, m, at_ns);
}

static void on_over(void *closure)
{
	struct bus_subscription *s = closure;
	struct bus *b = s->bus;

	pthread_mutex_lock(&b->lock);
	s->over = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

// The first message with a handler that is about to run, or NULL.
static struct bus_came *take_first(struct bus *b)
{
	struct bus_came *came;

	pthread_mutex_lock(&b->lock);
	came = b->first;
	if (came) {
		if (!(b->first = came->next))
			b->last = &b->first;
		b->waiting--;
		b->running = came->from;
		came->from->count++;
		came->from->queued -= size_of(came->message);
	}
	pthread_mutex_unlock(&b->lock);
	return came;
}

static void forget(struct bus_came *came)
{
	natsMsg_Destroy(came->message);
	free(came);
}

unsigned bus_tick(struct bus *b, unsigned ms)
{
	struct pollfd wait = {.fd = b->woken, .events = POLLIN};
	unsigned count = 0, most;
	struct bus_came *came;
	eventfd_t some;
	int64_t begin;

	if (poll(&wait, 1, (int)ms) == 1)
		eventfd_read(b->woken, &some);
	pthread_mutex_lock(&b->lock);
	most = b->waiting;
	pthread_mutex_unlock(&b->lock);
	while (count < most && (came = take_first(b))) {
		begin = now_ns(CLOCK_MONOTONIC);
		run_handler(came->from, came->message, came->at_ns);
		pthread_mutex_lock(&b->lock);
		if (b->running) // it did not unsubscribe
			b->running->busy_ns += (uint64_t)(now_ns(CLOCK_MONOTONIC) - begin);
		pthread_mutex_unlock(&b->lock);
		forget(came);
		count++;
	}
	b->running = NULL;
	return count;
}

// --- subscriptions ---

static int subscribe(
	struct bus *b, const char *subject, bus_handler *handler, void *ctx, bool at_once)
{
	struct bus_subscription *s = malloc(sizeof(*s));
	natsStatus status;

	if (!s)
		return -ENOMEM;
	*s = (struct bus_subscription){
		.bus = b,
		.subject = strdup(subject),
		.handler = handler,
		.ctx = ctx,
		.at_once = at_once,
	};
	status = s->subject ? natsConnection_Subscribe(&s->nats, b->nats, subject, on_message, s)
	                    : NATS_NO_MEMORY;
	if (status != NATS_OK) {
		free(s->subject);
		free(s);
		return errno_of(status);
	}
	// Fails only if the connection is closed, and then no handler is called any more.
	if (natsSubscription_SetOnCompleteCB(s->nats, on_over, s) != NATS_OK)
		s->over = true;
	pthread_mutex_lock(&b->lock);
	s->next = b->subscriptions;
	b->subscriptions = s;
	pthread_mutex_unlock(&b->lock);
	if (bus_is_up(b))
		natsConnection_FlushTimeout(b->nats, FLUSH_MS);
	return s->over ? -ENOTCONN : 0;
}

int bus_subscribe(struct bus *b, const char *subject, bus_handler *handler, void *ctx)
{
	return subscribe(b, subject, handler, ctx, false);
}

int bus_subscribe_at_once(struct bus *b, const char *subject, bus_handler *handler, void *ctx)
{
	return subscribe(b, subject, handler, ctx, true);
}

// Nothing refers to it afterwards, neither the library nor a message that waits for bus_tick.
static void end_subscription(struct bus *b, struct bus_subscription *s)
{
	struct bus_came **at, *came;

	natsSubscription_Destroy(s->nats);
	pthread_mutex_lock(&b->lock);
	while (!s->over)
		pthread_cond_wait(&b->changed, &b->lock);
	for (at = &b->first; (came = *at);) {
		if (came->from != s) {
			at = &came->next;
			continue;
		}
		*at = came->next;
		b->waiting--;
		forget(came);
	}
	b->last = at;
	if (b->running == s)
		b->running = NULL;
	pthread_mutex_unlock(&b->lock);
	free(s->subject);
	free(s);
}

void bus_unsubscribe(struct bus *b, const char *subject)
{
	struct bus_subscription **at = &b->subscriptions, *s;

	while ((s = *at)) {
		if (strcmp(s->subject, subject) != 0) {
			at = &s->next;
			continue;
		}
		pthread_mutex_lock(&b->lock);
		*at = s->next;
		pthread_mutex_unlock(&b->lock);
		end_subscription(b, s);
	}
}

// --- messages that go ---

static int publish(struct bus *b, natsMsg *m)
{
	natsStatus status = NATS_INVALID_ARG;

	for (unsigned i = 0; m && i < AGAIN; i++) {
		status = natsConnection_PublishMsg(b->nats, m);
		if (status != NATS_IO_ERROR && status != NATS_TIMEOUT)
			break;
		poll(NULL, 0, AGAIN_MS);
	}
	natsMsg_Destroy(m);
	return errno_of(status);
}

int bus_ask(struct bus *b, const char *subject, const char *reply, const void *data, size_t size)
{
	natsMsg *m = NULL;

	if (size > INT32_MAX)
		return -EMSGSIZE;
	natsMsg_Create(&m, subject, reply, data, (int)size);
	return publish(b, m);
}

int bus_publish(struct bus *b, const char *subject, const void *data, size_t size)
{
	return bus_ask(b, subject, NULL, data, size);
}

void bus_inbox(struct bus *b, char *subject, size_t room)
{
	snprintf(subject, room, "%s.%u", b->inbox, b->inboxes++);
}

int bus_put_question(struct bus *b, const struct bus_question *q, struct bus_wait **out)
{
	struct bus_wait *w = b->waits;
	natsMsg *m = NULL;
	char subject[sizeof(w->subject)];

	if (q->size > INT32_MAX)
		return -EMSGSIZE;
	while (w < b->waits + BUS_WAITS && w->subject[0])
		w++;
	if (w == b->waits + BUS_WAITS)
		return -EBUSY;
	snprintf(subject, sizeof(subject), "%s.r.%u", b->inbox, b->inboxes++);
	pthread_mutex_lock(&b->lock);
	strcpy(w->subject, subject);
	pthread_mutex_unlock(&b->lock);
	*out = w;
	natsMsg_Create(&m, q->subject, subject, q->data, (int)q->size);
	if (m && q->header[0])
		natsMsgHeader_Set(m, q->header[0], q->header[1]);
	w->rc = publish(b, m);
	return 0;
}

natsMsg *bus_await(struct bus *b, struct bus_wait *w, unsigned ms, int64_t *at_ns, int *rc)
{
	int64_t end = now_ns(CLOCK_MONOTONIC) + (w->rc == 0 ? ms : 0) * 1000000ll;
	struct timespec until = {end / 1000000000, end % 1000000000};
	natsMsg *reply;
	int over = 0;

	pthread_mutex_lock(&b->lock);
	while (!w->reply && over == 0)
		over = pthread_cond_timedwait(&b->changed, &b->lock, &until);
	reply = w->reply;
	if (at_ns)
		*at_ns = w->replied_ns;
	w->reply = NULL;
	w->subject[0] = 0;
	pthread_mutex_unlock(&b->lock);
	*rc = w->rc;
	if (*rc == 0 && !reply)
		*rc = -ETIMEDOUT;
	else if (*rc == 0 && natsMsg_IsNoResponders(reply))
		*rc = -EHOSTUNREACH;
	if (*rc == 0)
		return reply;
	natsMsg_Destroy(reply);
	return NULL;
}

char *bus_request(struct bus *b, const char *subject, const void *data, size_t size, unsigned ms,
	size_t *len, int64_t *at_ns, int *rc)
{
	struct bus_question q = {.subject = subject, .data = data, .size = size, .ms = ms};
	struct bus_wait *w;
	natsMsg *reply;
	char *text;

	*rc = bus_put_question(b, &q, &w);
	reply = *rc == 0 ? bus_await(b, w, ms, at_ns, rc) : NULL;
	if (!reply)
		return NULL;
	*len = (size_t)natsMsg_GetDataLength(reply);
	text = malloc(*len + 1);
	if (text) {
		memcpy(text, natsMsg_GetData(reply), *len);
		text[*len] = 0;
	} else {
		*rc = -ENOMEM;
	}
	natsMsg_Destroy(reply);
	return text;
}

// --- the connection ---

bool bus_is_up(struct bus *b)
{
	return natsConnection_Status(b->nats) == NATS_CONN_STATUS_CONNECTED;
}

bool bus_is_closed(struct bus *b)
{
	return natsConnection_IsClosed(b->nats);
}

const char *bus_place(const struct bus *b)
{
	return b->place;
}

size_t bus_room(const struct bus *b)
{
	return (size_t)natsConnection_GetMaxPayload(b->nats);
}

static void on_lost(natsConnection *nc, void *closure)
{
	if (!natsConnection_IsClosed(nc))
		log_warning("the connection to NATS is lost; it is tried again");
}

static void on_back(natsConnection *nc, void *closure)
{
	log_note("the connection to NATS is back");
}

static void on_closed(natsConnection *nc, void *closure)
{
	const char *why = NULL;

	if (natsConnection_GetLastError(nc, &why) != NATS_OK)
		log_error("NATS ended the connection: %s", bus_reason(why));
}

static void on_error(natsConnection *nc, natsSubscription *ns, natsStatus status, void *closure)
{
	const char *why = NULL;

	natsConnection_GetLastError(nc, &why);
	log_warning("NATS: %s", why && *why ? bus_reason(why) : natsStatus_GetText(status));
}

struct order {
	const struct bus_settings *settings;
	struct bus *bus;
	int rc;
};

// Before 3.8.0 the library sends no signature if its first byte is 0, and the server takes the
// credentials for wrong ones. The next attempt signs another nonce.
static natsStatus connect_signed(struct bus *b, natsOptions *o, bool has_creds)
{
	bool may_lack = has_creds && nats_GetVersionNumber() < SIGNS_ALWAYS;
	natsStatus status = natsConnection_Connect(&b->nats, o);

	for (int i = 1; i < SIGNATURES && may_lack && status == NATS_CONNECTION_AUTH_FAILED; i++)
		status = natsConnection_Connect(&b->nats, o);
	return status;
}

static int connect_inbox(struct bus *b, natsOptions *o, bool has_creds)
{
	natsInbox *inbox = NULL;
	char subject[80];
	natsStatus status;

	natsOptions_SetErrorHandler(o, on_error, NULL);
	natsOptions_SetDisconnectedCB(o, on_lost, NULL);
	natsOptions_SetReconnectedCB(o, on_back, NULL);
	natsOptions_SetClosedCB(o, on_closed, NULL);
	status = connect_signed(b, o, has_creds);
	if (status == NATS_OK)
		status = natsInbox_Create(&inbox);
	if (status != NATS_OK)
		return errno_of(status);
	snprintf(b->inbox, sizeof(b->inbox), "%s", inbox);
	natsInbox_Destroy(inbox);
	snprintf(subject, sizeof(subject), "%s.r.*", b->inbox);
	return subscribe(b, subject, NULL, NULL, true);
}

// The library starts its threads from here, and from those.
static void *connect_thread(void *arg)
{
	struct order *o = arg;
	struct bus *b = o->bus;
	natsOptions *options;
	const char *why;

	o->rc = privileges_drop(false);
	if (o->rc < 0) {
		log_error("no connection to NATS: capabilities cannot be given up");
		return NULL;
	}
	o->rc = bus_options(o->settings, &options, b->place, sizeof(b->place));
	if (o->rc == 0) {
		o->rc = connect_inbox(b, options, o->settings->creds != NULL);
		why = o->rc < 0 ? bus_reason(nats_GetLastError(NULL)) : NULL;
		if (o->rc < 0)
			log_error("no connection to NATS at %s: %s", b->place,
				why ? why : strerror(-o->rc));
		natsOptions_Destroy(options);
	}
	nats_ReleaseThreadMemory();
	return NULL;
}

static int connect_bus(struct order *o)
{
	sigset_t all, before;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&thread, NULL, connect_thread, o);
	if (rc == 0)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc < 0)
		log_error("no connection to NATS: %s", strerror(-rc));
	return rc < 0 ? rc : o->rc;
}

static unsigned open_count; // buses: with the last one the threads of the library end

static struct bus *new_bus(void)
{
	struct bus *b = calloc(1, sizeof(*b));
	pthread_condattr_t monotonic;

	if (!b)
		return NULL;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&b->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&b->lock, NULL);
	b->last = &b->first;
	b->woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	open_count++;
	return b;
}

int bus_open(const struct bus_settings *s, struct bus **out)
{
	struct order o = {.settings = s, .bus = new_bus()};
	int rc = o.bus && o.bus->woken >= 0 ? connect_bus(&o) : -ENOMEM;

	if (rc == 0)
		*out = o.bus;
	else
		bus_close(o.bus);
	return rc;
}

void bus_close(struct bus *b)
{
	struct bus_subscription *s;

	if (!b)
		return;
	if (b->nats && bus_is_up(b))
		natsConnection_FlushTimeout(b->nats, FLUSH_MS);
	while ((s = b->subscriptions)) {
		b->subscriptions = s->next;
		end_subscription(b, s);
	}
	free(b->served);
	natsConnection_Destroy(b->nats);
	if (--open_count == 0)
		nats_CloseAndWait(FLUSH_MS);
	if (b->woken >= 0)
		close(b->woken);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

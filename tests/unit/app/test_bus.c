// SPDX-License-Identifier: BSD-3-Clause
// The connection to NATS without a server: the test is the library. Messages wait for their
// handlers, requests find their replies, and each failure has its error number. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>

#include "captured.h"
#include "base/log.h"
#include "nats/bus_internal.h"

#define MOST 8

static struct {
	struct bus *bus;
	struct library_subscription {
		char subject[80];
		natsMsgHandler on_message;
		void *closure;
		natsOnCompleteCB on_over;
		void *over_closure;
	} all[MOST];
	unsigned count, connects, destroyed, flushes, closes, published, pauses;
	natsStatus status[4];                        // of the next connects
	natsStatus subscribes, completes, publishes; // of these calls
	unsigned fails;                              // publications that fail
	natsConnStatus connection;
	bool closed, confined;
	uint32_t version;
	const char *error; // the last one
	natsErrHandler on_error;
	natsConnectionHandler on_lost, on_back, on_closed;
	// what was published last
	char subject[80], reply[80], data[80], header[80];
	const char *answer; // to the next request; NULL: none, "": no subscriber
	// what the handlers got
	char got[200];
} x;

natsStatus __wrap_natsConnection_Connect(natsConnection **nc, natsOptions *o);
natsStatus __wrap_natsConnection_Subscribe(natsSubscription **s, natsConnection *nc,
	const char *subject, natsMsgHandler handler, void *closure);
natsStatus __wrap_natsSubscription_SetOnCompleteCB(
	natsSubscription *s, natsOnCompleteCB cb, void *closure);
void __wrap_natsSubscription_Destroy(natsSubscription *s);
natsStatus __wrap_natsConnection_PublishMsg(natsConnection *nc, natsMsg *m);
natsStatus __wrap_natsConnection_FlushTimeout(natsConnection *nc, int64_t ms);
natsConnStatus __wrap_natsConnection_Status(natsConnection *nc);
bool __wrap_natsConnection_IsClosed(natsConnection *nc);
int64_t __wrap_natsConnection_GetMaxPayload(natsConnection *nc);
void __wrap_natsConnection_Destroy(natsConnection *nc);
natsStatus __wrap_natsConnection_GetLastError(natsConnection *nc, const char **error);
const char *__wrap_nats_GetLastError(natsStatus *status);
uint32_t __wrap_nats_GetVersionNumber(void);
natsStatus __wrap_nats_CloseAndWait(int64_t ms);
natsStatus __wrap_natsOptions_SetErrorHandler(natsOptions *o, natsErrHandler h, void *closure);
natsStatus __wrap_natsOptions_SetDisconnectedCB(
	natsOptions *o, natsConnectionHandler h, void *closure);
natsStatus __wrap_natsOptions_SetReconnectedCB(
	natsOptions *o, natsConnectionHandler h, void *closure);
natsStatus __wrap_natsOptions_SetClosedCB(natsOptions *o, natsConnectionHandler h, void *closure);
int __wrap_privileges_drop(bool all);
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms);
int __real_poll(struct pollfd *fds, nfds_t count, int ms);
int __wrap_bus_options(const struct bus_settings *s, natsOptions **out, char *servers, size_t room);

natsStatus __wrap_natsConnection_Connect(natsConnection **nc, natsOptions *o)
{
	natsStatus status = x.status[x.connects++ % 4];

	*nc = status == NATS_OK ? (natsConnection *)&x : NULL;
	return status;
}

natsStatus __wrap_natsConnection_Subscribe(natsSubscription **s, natsConnection *nc,
	const char *subject, natsMsgHandler handler, void *closure)
{
	struct library_subscription *one = &x.all[x.count];

	assert_true(x.count < MOST);
	if (x.subscribes != NATS_OK)
		return x.subscribes;
	snprintf(one->subject, sizeof(one->subject), "%s", subject);
	one->on_message = handler;
	one->closure = closure;
	*s = (natsSubscription *)one;
	x.count++;
	return NATS_OK;
}

natsStatus __wrap_natsSubscription_SetOnCompleteCB(
	natsSubscription *s, natsOnCompleteCB cb, void *closure)
{
	struct library_subscription *one = (struct library_subscription *)s;

	one->on_over = x.completes == NATS_OK ? cb : NULL;
	one->over_closure = closure;
	return x.completes;
}

void __wrap_natsSubscription_Destroy(natsSubscription *s)
{
	struct library_subscription *one = (struct library_subscription *)s;

	one->subject[0] = '\0';
	if (one->on_over)
		one->on_over(one->over_closure);
}

static natsMsg *a_message(const char *subject, const char *data)
{
	natsMsg *m;

	assert_int_equal(natsMsg_Create(&m, subject, "back", data, (int)strlen(data)), NATS_OK);
	if (!*data)
		natsMsgHeader_Set(m, "Status", "503"); // as for a subject without a subscriber
	return m;
}

// The library hands a message to a subscription.
static void come(unsigned i, const char *subject, const char *data)
{
	x.all[i].on_message(NULL, NULL, a_message(subject, data), x.all[i].closure);
}

natsStatus __wrap_natsConnection_PublishMsg(natsConnection *nc, natsMsg *m)
{
	const char *reply = natsMsg_GetReply(m), *header = NULL;

	x.published++;
	if (x.fails && x.fails--)
		return x.publishes;
	snprintf(x.subject, sizeof(x.subject), "%s", natsMsg_GetSubject(m));
	snprintf(x.reply, sizeof(x.reply), "%s", reply ? reply : "");
	snprintf(x.data, sizeof(x.data), "%.*s", natsMsg_GetDataLength(m), natsMsg_GetData(m));
	natsMsgHeader_Get(m, "Name", &header);
	snprintf(x.header, sizeof(x.header), "%s", header ? header : "");
	if (x.answer) {
		come(0, "inbox.of.another", "wrong");
		come(0, x.reply, x.answer);
	}
	return NATS_OK;
}

natsStatus __wrap_natsConnection_FlushTimeout(natsConnection *nc, int64_t ms)
{
	x.flushes++;
	return NATS_OK;
}

natsConnStatus __wrap_natsConnection_Status(natsConnection *nc)
{
	return x.connection;
}

bool __wrap_natsConnection_IsClosed(natsConnection *nc)
{
	return x.closed;
}

int64_t __wrap_natsConnection_GetMaxPayload(natsConnection *nc)
{
	return 4711;
}

void __wrap_natsConnection_Destroy(natsConnection *nc)
{
	x.destroyed += nc != NULL;
}

natsStatus __wrap_natsConnection_GetLastError(natsConnection *nc, const char **error)
{
	*error = x.error;
	return x.error ? NATS_ERR : NATS_OK;
}

const char *__wrap_nats_GetLastError(natsStatus *status)
{
	return x.error;
}

uint32_t __wrap_nats_GetVersionNumber(void)
{
	return x.version;
}

natsStatus __wrap_nats_CloseAndWait(int64_t ms)
{
	x.closes++;
	return NATS_OK;
}

natsStatus __wrap_natsOptions_SetErrorHandler(natsOptions *o, natsErrHandler h, void *closure)
{
	x.on_error = h;
	return NATS_OK;
}

natsStatus __wrap_natsOptions_SetDisconnectedCB(
	natsOptions *o, natsConnectionHandler h, void *closure)
{
	x.on_lost = h;
	return NATS_OK;
}

natsStatus __wrap_natsOptions_SetReconnectedCB(
	natsOptions *o, natsConnectionHandler h, void *closure)
{
	x.on_back = h;
	return NATS_OK;
}

natsStatus __wrap_natsOptions_SetClosedCB(natsOptions *o, natsConnectionHandler h, void *closure)
{
	x.on_closed = h;
	return NATS_OK;
}

int __wrap_privileges_drop(bool all)
{
	assert_false(all);
	return x.confined ? -EPERM : 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int ms)
{
	x.pauses += count == 0;
	return count ? __real_poll(fds, count, ms) : 0;
}

int __wrap_bus_options(const struct bus_settings *s, natsOptions **out, char *servers, size_t room)
{
	snprintf(servers, room, "%s", s->url);
	return natsOptions_Create(out) == NATS_OK ? 0 : -ENOMEM;
}

// --- tests

static const struct bus_settings plain = {.url = "nats://here"};
static const struct bus_settings with_creds = {.url = "nats://here", .creds = "file"};

static int open_bus(void *settings)
{
	return bus_open(settings, &x.bus);
}

static int begin(void **state)
{
	memset(&x, 0, sizeof(x));
	x.connection = NATS_CONN_STATUS_CONNECTED;
	return bus_open(&plain, &x.bus);
}

static int end(void **state)
{
	bus_close(x.bus);
	return 0;
}

static void note(void *ctx, const struct bus_message *m)
{
	size_t len = strlen(x.got);

	assert_int_equal(strlen(m->data), m->size);
	assert_true(m->at_ns > 0);
	snprintf(x.got + len, sizeof(x.got) - len, "%s%s=%s ", (const char *)ctx, m->subject,
		m->data);
}

static void a_bus_subscribes_to_replies(void **state)
{
	char a[80], b[80];

	assert_int_equal(x.count, 1);
	assert_non_null(strstr(x.all[0].subject, ".r.*"));
	assert_string_equal(bus_place(x.bus), "nats://here");
	assert_int_equal(bus_room(x.bus), 4711);
	assert_true(bus_is_up(x.bus));
	x.connection = NATS_CONN_STATUS_RECONNECTING;
	assert_false(bus_is_up(x.bus));
	assert_false(bus_is_closed(x.bus));
	x.closed = true;
	assert_true(bus_is_closed(x.bus));
	bus_inbox(x.bus, a, sizeof(a));
	bus_inbox(x.bus, b, sizeof(b));
	assert_string_not_equal(a, b);
	assert_int_equal(strncmp(a, x.all[0].subject, strlen(x.all[0].subject) - 3), 0);
}

static void the_last_bus_ends_the_library(void **state)
{
	struct bus *first = x.bus;
	unsigned flushes;

	assert_int_equal(bus_open(&plain, &x.bus), 0);
	flushes = x.flushes;
	bus_close(first);
	assert_int_equal(x.closes, 0);
	assert_int_equal(x.flushes, flushes + 1);
	x.connection = NATS_CONN_STATUS_CLOSED;
	bus_close(x.bus);
	bus_close(NULL);
	x.bus = NULL;
	assert_int_equal(x.closes, 1);
	assert_int_equal(x.destroyed, 2);
	assert_int_equal(x.flushes, flushes + 1);
}

static void a_connection_that_fails_has_a_reason(void **state)
{
	static const struct {
		natsStatus status;
		int rc;
	} rows[] = {{NATS_NO_SERVER, -ECONNREFUSED}, {NATS_CONNECTION_AUTH_FAILED, -EACCES},
		{NATS_NOT_PERMITTED, -EACCES}, {NATS_SSL_ERROR, -EPROTO},
		{NATS_SECURE_CONNECTION_WANTED, -EPROTO}, {NATS_TIMEOUT, -ETIMEDOUT},
		{NATS_NO_MEMORY, -ENOMEM}, {NATS_PROTOCOL_ERROR, -EIO}};

	end(NULL);
	x.error = "(conn.c:1): why";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		x.status[0] = x.status[1] = x.status[2] = x.status[3] = rows[i].status;
		assert_int_equal(capture_output(open_bus, (void *)&plain), rows[i].rc);
		assert_captured("no connection to NATS at nats://here: why\n");
	}
	x.error = NULL;
	assert_int_equal(capture_output(open_bus, (void *)&plain), -EIO);
	assert_captured("no connection to NATS at nats://here: Input/output error\n");
	x.confined = true;
	assert_int_equal(capture_output(open_bus, (void *)&plain), -EPERM);
	assert_captured("capabilities cannot be given up");
	x.bus = NULL;
}

// One signature of 256 is not sent by old versions.
static void a_refused_signature_is_made_again(void **state)
{
	static const struct {
		uint32_t version;
		const struct bus_settings *settings;
		natsStatus first, second;
		unsigned connects;
		int rc;
	} rows[] = {
		{0x0307ff, &with_creds, NATS_CONNECTION_AUTH_FAILED, NATS_OK, 2, 0},
		{0x0307ff, &with_creds, NATS_CONNECTION_AUTH_FAILED, NATS_CONNECTION_AUTH_FAILED, 3,
			-EACCES},
		{0x0307ff, &with_creds, NATS_NO_SERVER, NATS_OK, 1, -ECONNREFUSED},
		{0x0307ff, &plain, NATS_CONNECTION_AUTH_FAILED, NATS_OK, 1, -EACCES},
		{0x030800, &with_creds, NATS_CONNECTION_AUTH_FAILED, NATS_OK, 1, -EACCES},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		end(NULL);
		x.bus = NULL;
		x.count = x.connects = 0;
		x.version = rows[i].version;
		x.status[0] = rows[i].first;
		x.status[1] = x.status[2] = rows[i].second;
		assert_int_equal(capture_output(open_bus, (void *)rows[i].settings), rows[i].rc);
		assert_int_equal(x.connects, rows[i].connects);
	}
}

static void messages_wait_for_a_tick(void **state)
{
	unsigned flushes = x.flushes;

	assert_int_equal(bus_subscribe(x.bus, "a.*", note, "1:"), 0);
	assert_int_equal(bus_subscribe_at_once(x.bus, "b", note, "2:"), 0);
	assert_int_equal(x.flushes, flushes + 2);
	come(1, "a.x", "one");
	come(1, "a.y", "two");
	assert_string_equal(x.got, "");
	come(2, "b", "now");
	assert_string_equal(x.got, "2:b=now ");
	assert_int_equal(bus_tick(x.bus, 0), 2);
	assert_string_equal(x.got, "2:b=now 1:a.x=one 1:a.y=two ");
	assert_int_equal(bus_tick(x.bus, 0), 0);
	for (const struct bus_subscription *s = x.bus->subscriptions; s; s = s->next)
		assert_true(s->busy_ns < 60 * UINT64_C(1000000000));
	assert_int_equal(__real_poll(&(struct pollfd){x.bus->woken, POLLIN, 0}, 1, 0), 0);
	come(1, "a.z", "three");
	assert_int_equal(bus_tick(x.bus, 60000), 1); // does not wait
	x.connection = NATS_CONN_STATUS_RECONNECTING;
	assert_int_equal(bus_subscribe(x.bus, "c", note, ""), 0);
	assert_int_equal(x.flushes, flushes + 2);
}

static void again(void *ctx, const struct bus_message *m)
{
	note("", m);
	come(1, "a", "more");
}

static void leave(void *ctx, const struct bus_message *m)
{
	note("", m);
	bus_unsubscribe(x.bus, "a");
}

// A handler that brings further messages does not keep the caller.
static void a_tick_ends(void **state)
{
	assert_int_equal(bus_subscribe(x.bus, "a", again, NULL), 0);
	come(1, "a", "one");
	assert_int_equal(bus_tick(x.bus, 0), 1);
	assert_string_equal(x.got, "a=one ");
	assert_int_equal(bus_tick(x.bus, 0), 1);
	assert_string_equal(x.got, "a=one a=more ");
}

static void nothing_comes_after_the_subscription(void **state)
{
	assert_int_equal(bus_subscribe(x.bus, "a", leave, NULL), 0);
	assert_int_equal(bus_subscribe(x.bus, "b", note, ""), 0);
	come(1, "a", "one");
	come(2, "b", "two");
	come(1, "a", "three");
	assert_int_equal(bus_tick(x.bus, 0), 2);
	assert_string_equal(x.got, "a=one b=two ");
	come(2, "b", "four");
	assert_int_equal(bus_tick(x.bus, 0), 1);
	assert_string_equal(x.all[1].subject, "");
	assert_string_equal(x.all[2].subject, "b");
	bus_unsubscribe(x.bus, "b");
	assert_string_equal(x.all[2].subject, "");
}

static void a_subscription_can_fail(void **state)
{
	x.subscribes = NATS_INVALID_SUBJECT;
	assert_int_equal(bus_subscribe(x.bus, "a b", note, ""), -EINVAL);
	x.subscribes = NATS_CONNECTION_CLOSED;
	assert_int_equal(bus_subscribe(x.bus, "a", note, ""), -ENOTCONN);
	x.subscribes = NATS_OK;
	x.completes = NATS_ERR;
	assert_int_equal(bus_subscribe(x.bus, "a", note, ""), -ENOTCONN);
}

static int flood(void *data)
{
	for (int i = 0; i < 20; i++)
		come(1, "a", data);
	return 0;
}

static void handlers_that_are_too_slow_lose_messages(void **state)
{
	char *data = malloc((1 << 20) + 1);

	memset(data, 'x', 1 << 20);
	data[1 << 20] = '\0';
	assert_int_equal(bus_subscribe(x.bus, "a", note, ""), 0);
	for (int i = 0; i < 2; i++) {
		capture_output(flood, data);
		assert_string_equal(captured, "ddiperf: warning: messages to a arrive faster than "
					      "they are handled: beyond 16 MiB "
					      "they are dropped\n");
		assert_int_equal(bus_tick(x.bus, 0), 15); // 16 with their own octets are more
	}
	free(data);
}

// --- what goes

static char *request(int *rc)
{
	int64_t at_ns = 0;
	size_t len = 0;
	char *text = bus_request(x.bus, "ask", "what", 4, 0, &len, &at_ns, rc);

	assert_int_equal(text ? strlen(text) : 0, len);
	assert_true(!text || at_ns > 0);
	return text;
}

static void a_request_has_its_own_reply(void **state)
{
	char *text;
	int rc;

	for (int i = 0; i < 20; i++) {
		x.answer = "this";
		text = request(&rc);
		assert_int_equal(rc, 0);
		assert_string_equal(text, "this");
		assert_string_equal(x.subject, "ask");
		assert_string_equal(x.data, "what");
		free(text);
	}
	x.answer = "";
	assert_null(request(&rc));
	assert_int_equal(rc, -EHOSTUNREACH);
	x.answer = NULL;
	assert_null(request(&rc));
	assert_int_equal(rc, -ETIMEDOUT);
	come(0, x.reply, "late");
	x.fails = 1;
	x.publishes = NATS_MAX_PAYLOAD;
	assert_null(request(&rc));
	assert_int_equal(rc, -EMSGSIZE);
}

static void requests_at_a_time_are_limited(void **state)
{
	struct bus_question q = {"ask", {"Name", "value"}, "what", 4, 0};
	struct bus_wait *waits[BUS_WAITS], *more;
	char subject[sizeof(more->subject)];
	natsMsg *reply;
	int rc;

	for (int i = 0; i < BUS_WAITS; i++)
		assert_int_equal(bus_put_question(x.bus, &q, &waits[i]), 0);
	assert_string_equal(x.header, "value");
	assert_int_equal(bus_put_question(x.bus, &q, &more), -EBUSY);
	strcpy(subject, waits[3]->subject);
	come(0, subject, "first");
	come(0, subject, "second");
	reply = bus_await(x.bus, waits[3], 60000, NULL, &rc);
	assert_int_equal(rc, 0);
	assert_int_equal(natsMsg_GetDataLength(reply), 5);
	assert_memory_equal(natsMsg_GetData(reply), "first", 5);
	natsMsg_Destroy(reply);
	assert_int_equal(bus_put_question(x.bus, &q, &more), 0);
	assert_ptr_equal(more, waits[3]);
	for (int i = 0; i < BUS_WAITS; i++) {
		assert_null(bus_await(x.bus, waits[i], 0, NULL, &rc));
		assert_int_equal(rc, -ETIMEDOUT);
	}
	q.size = (size_t)INT32_MAX + 1;
	assert_int_equal(bus_put_question(x.bus, &q, &more), -EMSGSIZE);
}

static void a_message_is_sent_again_for_some_time(void **state)
{
	assert_int_equal(bus_ask(x.bus, "to", "back", "text", 4), 0);
	assert_string_equal(x.subject, "to");
	assert_string_equal(x.reply, "back");
	assert_string_equal(x.data, "text");
	assert_int_equal(bus_publish(x.bus, "to", "more", 4), 0);
	assert_string_equal(x.reply, "");
	assert_string_equal(x.data, "more");
	assert_int_equal(x.published, 2);
	x.fails = 3;
	x.publishes = NATS_IO_ERROR;
	assert_int_equal(bus_publish(x.bus, "to", "3", 1), 0);
	assert_int_equal(x.pauses, 3);
	x.fails = 1000;
	assert_int_equal(bus_publish(x.bus, "to", "4", 1), -EIO);
	assert_int_equal(x.pauses, 203);
	x.publishes = NATS_TIMEOUT;
	assert_int_equal(bus_publish(x.bus, "to", "5", 1), -ETIMEDOUT);
	assert_int_equal(x.pauses, 403);
	x.publishes = NATS_INSUFFICIENT_BUFFER;
	assert_int_equal(bus_publish(x.bus, "to", "6", 1), -ENOBUFS);
	assert_int_equal(x.pauses, 403);
	assert_string_equal(x.data, "3");
	assert_int_equal(bus_publish(x.bus, "to", "7", (size_t)INT32_MAX + 1), -EMSGSIZE);
}

static int lose(void *ctx)
{
	x.on_lost(NULL, NULL);
	x.on_back(NULL, NULL);
	x.on_closed(NULL, NULL);
	x.on_error(NULL, NULL, NATS_SLOW_CONSUMER, NULL);
	return 0;
}

static void a_lost_connection_is_told(void **state)
{
	capture_output(lose, NULL);
	assert_string_equal(captured,
		"ddiperf: warning: the connection to NATS is lost; it is tried again\n"
		"ddiperf: the connection to NATS is back\n"
		"ddiperf: warning: NATS: Slow Consumer, messages dropped\n");
	x.closed = true;
	x.error = "refused";
	capture_output(lose, NULL);
	assert_string_equal(captured, "ddiperf: the connection to NATS is back\n"
				      "ddiperf: NATS ended the connection: refused\n"
				      "ddiperf: warning: NATS: refused\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_bus_subscribes_to_replies),
		TEST(the_last_bus_ends_the_library),
		TEST(a_connection_that_fails_has_a_reason),
		TEST(a_refused_signature_is_made_again),
		TEST(messages_wait_for_a_tick),
		TEST(a_tick_ends),
		TEST(nothing_comes_after_the_subscription),
		TEST(a_subscription_can_fail),
		TEST(handlers_that_are_too_slow_lose_messages),
		TEST(a_request_has_its_own_reply),
		TEST(requests_at_a_time_are_limited),
		TEST(a_message_is_sent_again_for_some_time),
		TEST(a_lost_connection_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

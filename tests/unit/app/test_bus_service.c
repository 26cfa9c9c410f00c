// SPDX-License-Identifier: BSD-3-Clause
// The micro service of NATS: the three subjects, and the reply to each verb. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <jansson.h>

#include "nats/bus_internal.h"

static struct {
	char names[4][64];
	bus_handler *handler;
	void *ctx;
	unsigned count, replies;
	int fails; // the subscription with this number, from 1 on
	json_t *reply;
} x;

int __wrap_bus_subscribe_at_once(struct bus *b, const char *subject, bus_handler *h, void *ctx);
int __wrap_bus_publish(struct bus *b, const char *subject, const void *data, size_t size);

int __wrap_bus_subscribe_at_once(struct bus *b, const char *subject, bus_handler *h, void *ctx)
{
	strcpy(x.names[x.count++], subject);
	x.handler = h;
	x.ctx = ctx;
	return (int)x.count == x.fails ? -ENOMEM : 0;
}

int __wrap_bus_publish(struct bus *b, const char *subject, const void *data, size_t size)
{
	assert_string_equal(subject, "inbox");
	x.replies++;
	json_decref(x.reply);
	x.reply = json_loadb(data, size, 0, NULL);
	assert_non_null(x.reply);
	return 0;
}

static struct bus_subscription of_run = {.subject = "run", .count = 4, .busy_ns = 1000};
static struct bus_subscription other = {
	.next = &of_run, .subject = "other", .count = 9, .busy_ns = 9};
static struct bus bus = {.lock = PTHREAD_MUTEX_INITIALIZER, .subscriptions = &other};
static const char *const metadata[] = {"rack", "1", "site", "a", NULL};
static const struct bus_endpoint endpoints[] = {{"start", "run"}, {"stop", "none"}};
static const struct bus_service service = {
	"ddiperf", "1.2.3", "text", "ID", metadata, endpoints, 2};

static int begin(void **state)
{
	memset(&x, 0, sizeof(x));
	return 0;
}

static int end(void **state)
{
	json_decref(x.reply);
	free(bus.served);
	return 0;
}

// Returns the number of replies.
static unsigned ask(const char *subject, const char *reply)
{
	unsigned before = x.replies;

	x.handler(x.ctx, &(struct bus_message){.subject = subject, .reply = reply});
	return x.replies - before;
}

static void assert_text(const json_t *in, const char *key, const char *text)
{
	assert_string_equal(json_string_value(json_object_get(in, key)), text);
}

static void assert_number(const json_t *in, const char *key, json_int_t number)
{
	assert_true(json_integer_value(json_object_get(in, key)) == number);
}

static void assert_head(const char *type)
{
	const json_t *more = json_object_get(x.reply, "metadata");

	assert_text(x.reply, "type", type);
	assert_text(x.reply, "name", "ddiperf");
	assert_text(x.reply, "id", "ID");
	assert_text(x.reply, "version", "1.2.3");
	assert_int_equal(json_object_size(more), 2);
	assert_text(more, "rack", "1");
	assert_text(more, "site", "a");
}

static void each_verb_has_its_reply(void **state)
{
	const json_t *one;

	assert_int_equal(bus_serve(&bus, &service), 0);
	assert_int_equal(x.count, 3);
	assert_string_equal(x.names[0], "$SRV.*");
	assert_string_equal(x.names[1], "$SRV.*.ddiperf");
	assert_string_equal(x.names[2], "$SRV.*.ddiperf.ID");
	assert_int_equal(ask("$SRV.PING", "inbox"), 1);
	assert_head("io.nats.micro.v1.ping_response");
	assert_int_equal(ask("$SRV.INFO.ddiperf", "inbox"), 1);
	assert_head("io.nats.micro.v1.info_response");
	assert_text(x.reply, "description", "text");
	one = json_array_get(json_object_get(x.reply, "endpoints"), 1);
	assert_text(one, "name", "stop");
	assert_text(one, "subject", "none");
	assert_int_equal(ask("$SRV.STATS.ddiperf.ID", "inbox"), 1);
	assert_head("io.nats.micro.v1.stats_response");
	assert_int_equal(strlen(json_string_value(json_object_get(x.reply, "started"))), 20);
	assert_int_equal(json_array_size(json_object_get(x.reply, "endpoints")), 2);
	one = json_array_get(json_object_get(x.reply, "endpoints"), 0);
	assert_text(one, "name", "start");
	assert_number(one, "num_requests", 4);
	assert_number(one, "processing_time", 1000);
	assert_number(one, "average_processing_time", 250);
	one = json_array_get(json_object_get(x.reply, "endpoints"), 1);
	assert_number(one, "num_requests", 0);
	assert_number(one, "average_processing_time", 0);
}

static void other_verbs_have_none(void **state)
{
	assert_int_equal(bus_serve(&bus, &service), 0);
	assert_int_equal(ask("$SRV.PINGS", "inbox"), 0);
	assert_int_equal(ask("$SRV.PIN", "inbox"), 0);
	assert_int_equal(ask("$SRV.NONE.ddiperf", "inbox"), 0);
	assert_int_equal(ask("$SRV.PING", NULL), 0);
}

static void a_refused_subscription_ends_it(void **state)
{
	x.fails = (int)(uintptr_t)*state;
	assert_int_equal(bus_serve(&bus, &service), -ENOMEM);
	assert_int_equal(x.count, x.fails);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define REFUSED(nth)                                                                               \
	{                                                                                          \
		"subscription " #nth, a_refused_subscription_ends_it, begin, end, (void *)(nth)    \
	}
	const struct CMUnitTest tests[] = {
		TEST(each_verb_has_its_reply),
		TEST(other_verbs_have_none),
		REFUSED(1),
		REFUSED(2),
		REFUSED(3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

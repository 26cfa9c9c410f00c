// SPDX-License-Identifier: BSD-3-Clause
// A table of twelve protocols, one without a server, the last one with a router: settings,
// responder and plan are sized by the table. This program defines the table itself, so table.c is
// not linked.
// Path: tests only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/table.h"
#include "conf/schema.h"
#include "engine/config/config_load.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_internal.h"
#include "engine/tools/sample.h"
#include "engine/tools/selfcheck.h"
#include "lib/diag_text.h"

struct small_settings {
	uint64_t x;
};

struct small_counters {
	uint64_t seen;
};

static const struct field small_fields[] = {
	{"x", "a number", FIELD_COUNT, .def = "5"},
};

static const struct counter small_counters[] = {
	{"seen", "packets", "messages"},
};

static uint32_t alive; // set-ups that were not torn down

static void *small_setup(const void *settings, const struct proto_env *env,
	struct proto_facts *facts, struct diag *d)
{
	alive++;
	return malloc(1);
}

static void small_teardown(void *shared)
{
	alive--;
	free(shared);
}

static uint32_t small_request_one(
	struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	memcpy(buf, &t->key, sizeof(t->key));
	return sizeof(t->key);
}

static PROTO_REQUEST(small_request, small_request_one);

static uint32_t small_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	memcpy(out, buf, len);
	return len;
}

static bool small_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	memcpy(key, buf, sizeof(*key));
	return true;
}

static enum proto_verdict verdict; // on each reply

static enum proto_verdict small_reply_one(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	return verdict;
}

static PROTO_REPLY(small_reply, small_reply_one);

static enum proto_verdict small_timeout(struct proto_ctx *ctx, struct proto_txn *t)
{
	return PROTO_FAIL;
}

static const struct proto_router router;

#define SECTION(n)                                                                                 \
	static const struct field_section section_##n = {                                          \
		#n, "one of twelve", FIELD_ROWS(small_fields), sizeof(struct small_settings)};     \
	static const struct counter_section counters_##n = {                                       \
		#n, COUNTER_ROWS(small_counters), sizeof(struct small_counters)};                  \
	static const struct proto_server server_##n = {.settings = &section_##n,                   \
		.counters = &counters_##n,                                                         \
		.setup = small_setup,                                                              \
		.teardown = small_teardown,                                                        \
		.answer = small_answer}

#define PROTO(n, has_server, has_router)                                                           \
	&(const struct proto)                                                                      \
	{                                                                                          \
		.name = #n, .help = "one of twelve",                                               \
		.ports = &(const struct proto_ports){.plain = 1000}, .key_bits = 16,               \
		.settings = &section_##n, .counters = &counters_##n,                               \
		.server = has_server ? &server_##n : NULL, .router = has_router ? &router : NULL,  \
		.setup = small_setup, .teardown = small_teardown, .request = small_request,        \
		.key = small_key, .reply = small_reply, .timeout = small_timeout                   \
	}

SECTION(p0);
SECTION(p1);
SECTION(p2);
SECTION(p3);
SECTION(p4);
SECTION(p5);
SECTION(p6);
SECTION(p7);
SECTION(p8);
SECTION(p9);
SECTION(p10);
SECTION(p11);

const struct proto *const protos[] = {
	PROTO(p0, true, false),
	PROTO(p1, true, false),
	PROTO(p2, true, false),
	PROTO(p3, false, false),
	PROTO(p4, true, false),
	PROTO(p5, true, false),
	PROTO(p6, true, false),
	PROTO(p7, true, false),
	PROTO(p8, true, false),
	PROTO(p9, true, false),
	PROTO(p10, true, false),
	PROTO(p11, true, true),
	NULL,
};

uint32_t proto_count(void)
{
	return 12;
}

const struct proto *proto_find(const char *name)
{
	return NULL;
}

// --- a file loaded ---

static struct arena *a;
static struct diag *d;

static int begin(void **state)
{
	a = arena_new();
	d = diag_new();
	alive = 0;
	verdict = PROTO_DONE;
	return 0;
}

static int end(void **state)
{
	diag_free(d);
	arena_free(a);
	return alive;
}

static const struct config *load(const char *traffic, const char *responder)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"ports:\n"
		"  - {name: lan, driver: ring, device: dut, addresses: [198.18.0.1/24]}\n"
		"  - {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/24]}\n"
		"traffic:\n"
		"  - {name: q, port: lan, server: 198.18.0.2, load: {rate: 1k}%s%s}\n"
		"responder: {port: dut%s%s}\n",
		traffic[0] ? ", " : "", traffic, responder[0] ? ", " : "", responder);
	return config_load_text("t.yaml", text, strlen(text), a, d);
}

static void expect_error(const char *traffic, const char *responder, const char *part)
{
	assert_null(load(traffic, responder));
	assert_diag_has(d, part);
}

static void an_item_speaks_any_protocol_of_the_table(void **state)
{
	for (uint32_t k = 0; k < proto_count(); k++) {
		char item[32];
		const struct config *c;
		const struct item_settings *i;
		const void *settings;

		snprintf(item, sizeof(item), "p%u: {x: %u}", k, 100 + k);
		c = load(item, "p0: {}");
		assert_non_null(c);
		i = c->traffic.items;
		settings = i->facts.settings;
		assert_ptr_equal(i->facts.proto, protos[k]);
		assert_int_equal(((const struct small_settings *)settings)->x, 100 + k);
		for (uint32_t other = 0; other < proto_count(); other++)
			assert_int_equal(i->protocol[other] != NULL, other == k);
	}
}

static void a_protocol_without_server_hides_no_other(void **state)
{
	const struct config *c = load("p3: {}", "p2: {}, p4: {x: 44}, p11: {x: 111}");

	assert_non_null(c);
	for (uint32_t k = 0; k < proto_count(); k++)
		assert_int_equal(c->responder->protocol[k] != NULL, k == 2 || k == 4 || k == 11);
	assert_int_equal(((struct small_settings *)c->responder->protocol[4])->x, 44);
	assert_int_equal(((struct small_settings *)c->responder->protocol[11])->x, 111);
}

static void the_responder_does_not_take_a_protocol_without_server(void **state)
{
	expect_error("p0: {}", "p3: {}", "unknown key \"p3\"");
}

static void errors_name_all_protocols(void **state)
{
	expect_error(
		"", "p0: {}", "(exactly one of: p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11)");
}

static void errors_of_the_responder_name_those_with_a_server(void **state)
{
	expect_error("p0: {}", "",
		"(add at least one of: p0, p1, p2, p4, p5, p6, p7, p8, p9, p10, p11)");
}

static void what_was_loaded_is_dumped_and_found(void **state)
{
	const struct config *c = load("p10: {x: 77}", "p9: {x: 99}");
	const struct field *row;
	const void *place;
	const char *why;
	char *out = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&out, &len);

	assert_non_null(c);
	conf_dump(config_section(), c, f);
	fclose(f);
	assert_non_null(strstr(out, "p10:\n      x: 77"));
	assert_non_null(strstr(out, "p9:\n    x: 99"));
	assert_null(strstr(out, "p3"));
	free(out);
	row = conf_find(config_section(), c, "traffic.q.p10.x", &place, a, &why);
	assert_non_null(row);
	assert_int_equal(*(const uint64_t *)place, 77);
}

static void a_plan_has_room_for_every_protocol(void **state)
{
	const struct config *c = load("p11: {}", "p0: {}, p10: {}, p11: {}");
	struct plan p;

	assert_non_null(c);
	assert_int_equal(plan_read_input(&p, c, false, a, d), 0);
	assert_int_equal(p.responders[0].protocol_count, 3);
	assert_ptr_equal(p.responders[0].protocols[2].server, protos[11]->server);
	assert_non_null(p.responder_shared[11]);
	assert_int_equal(alive, 4);
	assert_int_equal(plan_free(&p), 0);
}

// A refused run closes a plan that was never begun.
static void a_plan_that_was_never_begun_is_freed(void **state)
{
	struct plan p = {0};

	assert_int_equal(plan_free(&p), 0);
}

static void a_self_check_needs_a_server_but_a_forecast_does_not(void **state)
{
	const struct config *c = load("p3: {}", "p0: {}");
	struct sample sample = {0};
	uint64_t input;
	struct counter_list shortages;

	assert_non_null(c);
	assert_int_equal(sample_items(c, a, d, &sample, &input, &shortages), 0);
	assert_true(sample.exchanges > 0);
	assert_int_equal(sample.assumed, sample.exchanges);
	assert_false(selfcheck_possible(c, d));
	assert_int_equal(diag_count(d), 1);
}

// An endless exchange is examined for twice as many messages as there are steps.
static void a_forecast_of_an_endless_exchange_ends(void **state)
{
	const struct config *c = load("p4: {}", "p0: {}");
	struct sample sample = {0};
	uint64_t input;
	struct counter_list shortages;

	verdict = PROTO_AGAIN;
	assert_non_null(c);
	assert_int_equal(sample_items(c, a, d, &sample, &input, &shortages), 0);
	assert_true(sample.exchanges > 0);
	assert_int_equal(sample.messages, 2 * PROTO_MAX_STEPS * sample.exchanges);
}

static void a_self_check_of_an_item_with_server_is_possible(void **state)
{
	const struct config *c = load("p4: {}", "p0: {}");
	const struct config *check;

	assert_non_null(c);
	assert_true(selfcheck_possible(c, d));
	check = selfcheck_derive(c, a, d);
	assert_non_null(check);
	for (uint32_t k = 0; k < proto_count(); k++)
		assert_int_equal(check->responder->protocol[k] != NULL, k == 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(an_item_speaks_any_protocol_of_the_table),
		TEST(a_protocol_without_server_hides_no_other),
		TEST(the_responder_does_not_take_a_protocol_without_server),
		TEST(errors_name_all_protocols),
		TEST(errors_of_the_responder_name_those_with_a_server),
		TEST(what_was_loaded_is_dumped_and_found),
		TEST(a_plan_has_room_for_every_protocol),
		TEST(a_plan_that_was_never_begun_is_freed),
		TEST(a_self_check_needs_a_server_but_a_forecast_does_not),
		TEST(a_forecast_of_an_endless_exchange_ends),
		TEST(a_self_check_of_an_item_with_server_is_possible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// Counters of a responder as JSON and back, and the loss in each direction from both sides'
// counters. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "proto/table.h"
#include "engine/result/result_read.h"
#include "engine/run/around/peer.h"
#include "stats/json.h"

static struct arena *arena;

static int fresh(void **state)
{
	arena = arena_new();
	return 0;
}

static int over(void **state)
{
	arena_free(arena);
	return 0;
}

// All counters of all protocols, each with a different value, from `first` on.
static struct result_responder counted(uint64_t first)
{
	struct result_responder_protocol *list = arena_zalloc(arena, proto_count() * sizeof(*list));
	struct result_responder r = {.received = first,
		.answered = first + 1,
		.fragmented = first + 2,
		.ignored = first + 3,
		.no_buffer = first + 4,
		.waiting = first + 5,
		.protocols = {list, 0}};

	for (uint32_t i = 0; protos[i]; i++) {
		const struct counter_section *s =
			protos[i]->server ? protos[i]->server->counters : NULL;
		uint64_t *data = arena_zalloc(arena, s ? s->size : 0);

		if (!s)
			continue;

		for (size_t n = 0; n < s->size / sizeof(*data); n++)
			data[n] = first + 100 * (i + 1) + n;
		list[r.protocols.count++] =
			(struct result_responder_protocol){protos[i]->name, {s, data}};
	}
	return r;
}

// As a responder sends them and a tester reads them.
static void counters_cross_the_socket(void **state)
{
	const struct result_responder r = counted(1ull << 40);
	struct result_responder back = {0};
	json_t *sent = stats_json(&result_responder_section, &r), *again;
	const char *why;

	assert_int_equal(result_read(&result_responder_section, sent, &back, arena, &why), 0);
	assert_int_equal(back.received, r.received);
	assert_int_equal(back.no_buffer, r.no_buffer);
	assert_int_equal(back.protocols.count, r.protocols.count);
	again = stats_json(&result_responder_section, &back);
	assert_true(json_equal(sent, again));
	json_decref(sent);
	json_decref(again);
}

static void a_protocol_of_another_version_is_left_out(void **state)
{
	const struct result_responder_protocol unknown[] = {{"none"}};
	const struct result_responder r = {.received = 3, .protocols = {unknown, 1}};
	struct config config = {0};
	const struct plan p = {.config = &config};
	struct result_peer *out = peer_result(&p, &r, &r, arena);

	assert_int_equal(out->received, 0);
	assert_int_equal(out->protocols.count, 0);
}

static void losses_are_those_of_this_run(void **state)
{
	static const char *const names[] = {"a", "b", "c", NULL};
	static const struct proto steps = {.steps = names};
	struct worker_item run = {.proto = proto_find("echo")};
	struct worker worker = {.items = &run};
	struct plan_item item = {.worker = &worker, .worker_count = 1};
	struct fleet_settings fleet = {.agents = 2, .part = 1};
	struct config config = {0};
	const struct plan p = {.config = &config, .items = &item, .item_count = 1};
	const struct result_responder before = counted(1000);
	struct result_responder now = counted(1000);
	const struct result_responder_protocol *list;
	struct result_peer *out;

	run.books.ledger[0] = (struct ledger){.sent = 100, .answered = 30};
	run.books.ledger[1] = (struct ledger){
		.sent = 300, .answered = 100, .failed = 1, .late = 2, .duplicate = 3, .stray = 4};
	now.received += 360;
	now.answered += 200;
	out = peer_result(&p, &before, &now, arena);
	assert_int_equal(out->sent, 400);
	assert_int_equal(out->received, 360);
	assert_int_equal(out->replies, 140);
	assert_true(fabs(out->loss_there - 0.1) < 1e-9);
	assert_true(fabs(out->loss_back - 0.3) < 1e-9);
	list = out->protocols.items;
	assert_int_equal(out->protocols.count, before.protocols.count);
	for (size_t n = 0; n < list[0].counters.section->size / 8; n++)
		assert_int_equal(((const uint64_t *)list[0].counters.data)[n], 0);
	config.fleet = &fleet; // its messages are not all that came
	assert_true(isnan(peer_result(&p, &before, &now, arena)->loss_there));
	config.fleet = NULL;
	run.proto = &steps; // nobody knows how many messages each had
	assert_true(isnan(peer_result(&p, &before, &now, arena)->loss_there));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counters_cross_the_socket, fresh, over),
		cmocka_unit_test_setup_teardown(
			a_protocol_of_another_version_is_left_out, fresh, over),
		cmocka_unit_test_setup_teardown(losses_are_those_of_this_run, fresh, over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// Which packets are captured: only wanted and measured ones, within the limit and with room;
// packets without room are counted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "engine/core/worker/worker.h"
#include "rig.h"

#define RING    4
#define MEASURE 1000 // tick from which on things are measured

static struct capture_slot slots[RING];
static struct capture_ring ring;
static _Atomic int64_t left;
static struct evidence evidence;
static struct worker_item item;
static uint8_t bytes[100];
static struct frame answer;

static int fresh(void **state)
{
	memset(&ring, 0, sizeof(ring));
	ring.slots = slots;
	ring.count = RING;
	left = 10;
	evidence = (struct evidence){.ring = &ring,
		.left = &left,
		.interface = 3,
		.comments = {[EVIDENCE_STRAY] = "stray", [EVIDENCE_LATE] = "late"}};
	item.evidence = &evidence;
	item.pace.measure = MEASURE;
	for (uint8_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	answer = (struct frame){.eth = bytes, .payload = bytes + 42, .payload_len = 18};
	return 0;
}

static void an_answer_to_nothing_is_kept_without_the_padding_of_its_frame(void **state)
{
	evidence_keep(&item, EVIDENCE_STRAY, TXN_NONE, &answer, MEASURE + 5);
	assert_int_equal(ring.written, 1);
	assert_int_equal(slots[0].packet.time, MEASURE + 5);
	assert_int_equal(slots[0].packet.interface, 3);
	assert_int_equal(slots[0].packet.len, 60);
	assert_int_equal(slots[0].packet.wire_len, 60);
	assert_false(slots[0].packet.outbound);
	assert_string_equal(slots[0].packet.comments[0], "stray");
	assert_memory_equal(slots[0].bytes, bytes, 60);
	assert_int_equal(left, 9);
}

static void what_is_not_wanted_or_not_measured_is_not_kept(void **state)
{
	evidence_keep(&item, EVIDENCE_MALFORMED, TXN_NONE, &answer, MEASURE + 5);
	evidence_keep(&item, EVIDENCE_STRAY, TXN_NONE, &answer, MEASURE - 1);
	assert_int_equal(ring.written, 0);
	assert_int_equal(ring.dropped, 0);
	assert_int_equal(left, 10);
}

static void a_full_ring_is_counted_and_not_charged_to_the_limit(void **state)
{
	for (int i = 0; i < RING + 3; i++)
		evidence_keep(&item, EVIDENCE_STRAY, TXN_NONE, &answer, MEASURE);
	assert_int_equal(ring.written, RING);
	assert_int_equal(ring.dropped, 3);
	assert_int_equal(left, 10 - RING);
}

static void beyond_the_limit_nothing_is_kept_and_that_shows(void **state)
{
	left = 1;
	evidence_keep(&item, EVIDENCE_STRAY, TXN_NONE, &answer, MEASURE);
	assert_int_equal(left, 0);
	evidence_keep(&item, EVIDENCE_STRAY, TXN_NONE, &answer, MEASURE);
	assert_int_equal(ring.written, 1);
	assert_int_equal(ring.dropped, 0);
	assert_true(left < 0);
}

// Evidence of a worker's own transactions: the query is rebuilt from its slot.
static int fresh_worker(void **state)
{
	rig_fresh(state);
	fresh(state);
	evidence.comments[EVIDENCE_LOST] = "lost";
	evidence.comments[EVIDENCE_FAILED] = "failed";
	evidence.first_id = 7000;
	rig.items[0].evidence = &evidence;
	rig.script[0].timeout = PROTO_FAIL;
	rig_ask();
	return 0;
}

static void is_query(const struct capture_slot *s, const char *comment)
{
	assert_true(s->packet.outbound);
	assert_int_equal(s->packet.time, RIG_START + 500);
	assert_int_equal(s->packet.id, 7000);
	assert_int_equal(s->packet.len, rig.queries[0].len);
	assert_memory_equal(s->bytes, rig.queries[0].bytes, rig.queries[0].len);
	assert_string_equal(s->packet.comments[0], comment);
}

static void a_loss_is_kept_with_its_query_and_the_late_answer_without(void **state)
{
	rig_pass(500 + RIG_TIMEOUT);
	assert_int_equal(ring.written, 1);
	is_query(&slots[0], "lost");
	rig_reply(0, PROTO_DONE);
	rig_pass(600 + RIG_TIMEOUT);
	assert_int_equal(ring.written, 2);
	assert_false(slots[1].packet.outbound);
	assert_string_equal(slots[1].packet.comments[0], "late");
	assert_int_equal(slots[1].packet.time, RIG_START + 600 + RIG_TIMEOUT);
}

static void without_the_loss_a_late_answer_brings_its_query_once(void **state)
{
	static struct evidence_sent sent[EVIDENCE_SENT];

	memset(sent, 0, sizeof(sent));
	evidence.sent = sent;
	evidence.comments[EVIDENCE_LOST] = NULL;
	rig_pass(500 + RIG_TIMEOUT);
	assert_int_equal(ring.written, 0);
	rig_reply(0, PROTO_DONE);
	rig_pass(600 + RIG_TIMEOUT);
	assert_int_equal(ring.written, 2);
	is_query(&slots[0], "late");
	assert_int_equal(slots[1].packet.time, RIG_START + 600 + RIG_TIMEOUT);
	rig_reply(0, PROTO_DONE);
	rig_pass(700 + RIG_TIMEOUT);
	assert_int_equal(ring.written, 3);
	assert_false(slots[2].packet.outbound);
}

static void a_failed_one_is_kept_as_query_and_answer(void **state)
{
	rig_reply(0, PROTO_FAIL);
	rig_pass(900);
	assert_int_equal(ring.written, 2);
	is_query(&slots[0], "failed");
	assert_false(slots[1].packet.outbound);
	assert_string_equal(slots[1].packet.comments[0], "failed");
	assert_int_equal(left, 9);
}

static void the_query_of_an_answered_one_is_not_known_any_more(void **state)
{
	rig_reply(0, PROTO_DONE);
	rig_pass(900);
	assert_int_equal(ring.written, 0);
	rig_reply(0, PROTO_STRAY);
	rig_pass(1000);
	assert_int_equal(ring.written, 1);
	assert_false(slots[0].packet.outbound);
}

static void query_and_answer_need_room_together(void **state)
{
	ring.written = RING - 1;
	rig_reply(0, PROTO_FAIL);
	rig_pass(900);
	assert_int_equal(ring.written, RING - 1);
	assert_int_equal(ring.dropped, 2);
	assert_int_equal(left, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			an_answer_to_nothing_is_kept_without_the_padding_of_its_frame, fresh),
		cmocka_unit_test_setup(what_is_not_wanted_or_not_measured_is_not_kept, fresh),
		cmocka_unit_test_setup(a_full_ring_is_counted_and_not_charged_to_the_limit, fresh),
		cmocka_unit_test_setup(beyond_the_limit_nothing_is_kept_and_that_shows, fresh),
		cmocka_unit_test_setup_teardown(
			a_loss_is_kept_with_its_query_and_the_late_answer_without, fresh_worker,
			rig_over),
		cmocka_unit_test_setup_teardown(
			without_the_loss_a_late_answer_brings_its_query_once, fresh_worker,
			rig_over),
		cmocka_unit_test_setup_teardown(
			a_failed_one_is_kept_as_query_and_answer, fresh_worker, rig_over),
		cmocka_unit_test_setup_teardown(
			the_query_of_an_answered_one_is_not_known_any_more, fresh_worker, rig_over),
		cmocka_unit_test_setup_teardown(
			query_and_answer_need_room_together, fresh_worker, rig_over),
	};

	return cmocka_run_group_tests_name("engine evidence", tests, NULL, NULL);
}

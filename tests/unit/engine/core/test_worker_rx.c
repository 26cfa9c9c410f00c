// SPDX-License-Identifier: BSD-3-Clause
// The outcome of a received packet: the one counter that it increments, and the state of its
// transaction. Path: cold. Test.
#include "engine/core/reassembly.h"
#include "engine/core/worker/worker_internal.h"
#include "engine/core/worker/worker_rx.h"
#include "rig.h"

static struct worker_item *const it = &rig.items[0];

static void one_reply(enum proto_verdict verdict)
{
	rig_reply(0, verdict);
	rig_pass(1500);
}

static void a_good_reply_ends_its_transaction(void **state)
{
	rig_ask();
	one_reply(PROTO_DONE);
	assert_int_equal(it->books.ledger[1].answered, 1);
	assert_int_equal(it->books.response.max, 1000); // from the due time
	assert_int_equal(it->books.service.max, 1000);  // from the send
	assert_int_equal(it->last_answer, RIG_START + 1500);
	assert_int_equal(it->books.longest_gap, 500 + 1000);
	assert_int_equal(rig.slots[0][0].state, TXN_DONE);
	assert_int_equal(it->txns.in_flight, 0);
	assert_ptr_equal(rig.script[0].counters, it->banks[1]);
	assert_false(rig.script[0].had_ends); // they are for protocols with a router
}

static void one_of_the_warmup_has_no_latency(void **state)
{
	rig_pass(500);
	one_reply(PROTO_DONE);
	assert_int_equal(it->books.ledger[0].answered, 1);
	assert_int_equal(it->books.ledger[1].answered, 0);
	assert_int_equal(it->books.response.count, 0);
	assert_int_equal(it->books.service.count, 0);
	assert_ptr_equal(rig.script[0].counters, it->banks[0]);
}

static void each_verdict_has_its_cell(void **state)
{
	static const struct {
		enum proto_verdict verdict;
		struct ledger expect;
		uint8_t state;
	} rows[] = {
		{PROTO_DONE, {1, 1, .answered = 1}, TXN_DONE},
		{PROTO_FAIL, {1, 1, .failed = 1}, TXN_DONE},
		{PROTO_AGAIN, {1, 1}, TXN_TAKEN},
		{PROTO_KEPT, {1, 1}, TXN_FLYING},
		{PROTO_STRAY, {1, 1, .stray = 1}, TXN_FLYING},
		{PROTO_MALFORMED, {1, 1, .malformed = 1}, TXN_FLYING},
		{PROTO_DUPLICATE, {1, 1, .duplicate = 1}, TXN_FLYING},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rig_fresh(NULL);
		rig_ask();
		one_reply(rows[i].verdict);
		assert_memory_equal(&it->books.ledger[1], &rows[i].expect, sizeof(struct ledger));
		assert_int_equal(rig.slots[0][0].state, rows[i].state);
		assert_int_equal(it->txns.in_flight, rows[i].state >= TXN_TAKEN);
		assert_int_equal(
			it->books.service.count, rows[i].expect.answered + rows[i].expect.failed);
	}
}

static void a_reply_to_an_ended_transaction_is_booked_apart(void **state)
{
	static const struct {
		enum proto_verdict first, second; // first KEPT: none came, it was lost
		struct ledger expect;
	} rows[] = {
		{PROTO_DONE, PROTO_DONE, {1, 1, .answered = 1, .duplicate = 1}},
		{PROTO_DONE, PROTO_FAIL, {1, 1, .answered = 1, .duplicate = 1}},
		{PROTO_DONE, PROTO_STRAY, {1, 1, .answered = 1, .stray = 1}},
		{PROTO_DONE, PROTO_MALFORMED, {1, 1, .answered = 1, .malformed = 1}},
		{PROTO_KEPT, PROTO_DONE, {1, 1, .lost = 1, .late = 1}},
		{PROTO_KEPT, PROTO_DUPLICATE, {1, 1, .lost = 1, .duplicate = 1}},
		{PROTO_KEPT, PROTO_STRAY, {1, 1, .lost = 1, .stray = 1}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rig_fresh(NULL);
		rig.script[0].timeout = PROTO_FAIL;
		rig_ask();
		one_reply(rows[i].first);
		rig_pass(500 + RIG_TIMEOUT);
		rig_reply(0, rows[i].second);
		rig_pass(600 + RIG_TIMEOUT);
		assert_memory_equal(&it->books.ledger[1], &rows[i].expect, sizeof(struct ledger));
		assert_int_equal(rig.script[0].over, 1);
		assert_ptr_equal(rig.script[0].counters, it->shadow);
	}
}

static void of_two_replies_in_a_burst_the_second_counts_as_it_would_later(void **state)
{
	static const struct {
		enum proto_verdict first, second;
		struct ledger expect;
	} rows[] = {
		{PROTO_DONE, PROTO_DONE, {1, 1, .answered = 1, .duplicate = 1}},
		{PROTO_FAIL, PROTO_DONE, {1, 1, .failed = 1, .duplicate = 1}},
		{PROTO_STRAY, PROTO_DONE, {1, 1, .answered = 1, .stray = 1}},
		{PROTO_KEPT, PROTO_DONE, {1, 1, .answered = 1}},
		{PROTO_DONE, PROTO_MALFORMED, {1, 1, .answered = 1, .malformed = 1}},
		{PROTO_AGAIN, PROTO_DONE, {1, 1, .late = 1}}, // the next message is not sent yet
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rig_fresh(NULL);
		rig_ask();
		rig_reply(0, rows[i].first);
		rig_reply(0, rows[i].second);
		rig_pass(1500);
		assert_memory_equal(&it->books.ledger[1], &rows[i].expect, sizeof(struct ledger));
	}
}

static void a_burst_may_have_replies_for_several_items_and_parts_of_the_run(void **state)
{
	rig.items[1].pace.left = UINT64_MAX;
	rig_pass(RIG_MEASURE - RIG_START + 1000); // both items, 10 of the warm-up each and one more
	assert_int_equal(rig.asked, 22);
	for (uint32_t i = 0; i < 11; i++) {
		rig_reply(i, PROTO_DONE);
		if (i % 2)
			rig_answer((struct rig_answer){.key = 1}); // none of ours
		rig_reply(11 + i, i % 2 ? PROTO_FAIL : PROTO_DONE);
	}
	rig_pass(RIG_MEASURE - RIG_START + 1400);
	assert_int_equal(rig.items[0].books.ledger[0].answered, 10);
	assert_int_equal(rig.items[0].books.ledger[1].answered, 1);
	assert_int_equal(rig.items[1].books.ledger[0].answered, 5);
	assert_int_equal(rig.items[1].books.ledger[1].answered, 1);
	assert_int_equal(rig.items[1].books.ledger[0].failed, 5);
	assert_int_equal(rig.items[0].books.ledger[1].stray, 5);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rig.items[i].txns.in_flight, 0);
		assert_int_equal(rig.items[i].books.service.count, 1);
		assert_ptr_equal(rig.script[i].counters, rig.items[i].banks[1]);
	}
}

static void a_reply_while_the_next_message_waits_is_late(void **state)
{
	rig_ask();
	rig.port.takes = 0; // the next message stays with us
	one_reply(PROTO_AGAIN);
	rig_reply(0, PROTO_DONE);
	rig_pass(1600);
	assert_int_equal(it->books.ledger[1].late, 1);
	assert_int_equal(it->books.ledger[1].answered, 0);
	assert_int_equal(it->txns.in_flight, 1);
}

// The first query is sent at 500, the second at 5 500, when its reply arrives, which is read only
// after a third was sent.
static void a_reply_that_crosses_a_retransmission_answers_the_message_before(void **state)
{
	for (int kept = 0; kept < 2; kept++) {
		rig_fresh(NULL);
		rig.script[0].timeout = PROTO_AGAIN;
		rig_ask();
		rig_pass(500 + RIG_TIMEOUT);
		rig_pass(501 + RIG_TIMEOUT);
		rig_pass(501 + 2 * RIG_TIMEOUT);
		rig.script[0].takes = 30;
		if (kept)
			rig_reply(1, PROTO_KEPT);
		rig_reply(1, PROTO_DONE);
		rig_pass(601 + 2 * RIG_TIMEOUT);
		assert_int_equal(rig.asked, 3);
		assert_int_equal(it->books.ledger[1].answered, 1);
		assert_int_equal(it->books.ledger[1].stray, 0);
		assert_int_equal(it->books.service.max, RIG_TIMEOUT + 100);
		assert_int_equal(it->books.service.sum, it->books.service.max);
		assert_int_equal(it->books.response.max, 2 * RIG_TIMEOUT + 101);
		assert_int_equal(it->txns.in_flight, 0);
	}
}

// The transaction waits for a reply to the new message as long as without the refused one.
static void a_refused_reply_that_crosses_a_retransmission_changes_no_time(void **state)
{
	rig.script[0].timeout = PROTO_AGAIN;
	rig_ask();
	rig_pass(500 + RIG_TIMEOUT);
	rig.script[0].takes = 30;
	rig_reply(0, PROTO_MALFORMED);
	rig_pass(600 + RIG_TIMEOUT);
	assert_int_equal(rig.asked, 2);
	assert_int_equal(it->books.ledger[1].malformed, 1);
	assert_int_equal(rig.slots[0][0].time, RIG_START + 630 + RIG_TIMEOUT);
	rig_pass(629 + 2 * RIG_TIMEOUT);
	assert_int_equal(rig.script[0].timeouts, 1);
	rig_pass(630 + 2 * RIG_TIMEOUT);
	assert_int_equal(rig.script[0].timeouts, 2);
}

// Another worker handed the reply over late: the message before is not known any more.
static void a_reply_that_crossed_an_earlier_retransmission_is_as_old_as_its_transaction(
	void **state)
{
	static const struct {
		uint64_t due;
		struct ledger expect;
	} rows[] = {
		{500, {1, 1, .answered = 1}},
		{3000, {1, 1, .stray = 1}}, // received before it was due
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rig_fresh(NULL);
		rig_ask();
		rig.slots[0][0].due = RIG_START + rows[i].due;
		rig.slots[0][0].time = RIG_START + 4000;
		rig_reply(0, PROTO_DONE);
		rig_pass(2000);
		assert_memory_equal(&it->books.ledger[1], &rows[i].expect, sizeof(struct ledger));
		assert_int_equal(it->books.service.max, rows[i].expect.answered ? 1500 : 0);
		assert_int_equal(it->txns.in_flight, 1 - rows[i].expect.answered);
	}
}

static void a_late_reply_is_judged_though_its_slot_is_used_again(void **state)
{
	struct rig_query first;

	rig_closed(0);
	rig.w.spares = 64;
	rig_measured();
	rig_pass(0);
	first = rig.queries[0];
	rig_pass(RIG_TIMEOUT);     // all are lost
	rig_pass(RIG_TIMEOUT + 1); // and their slots used again
	assert_int_equal(rig.asked, 128);
	rig_answer((struct rig_answer){.dst_port = first.f.src_port, .key = first.key});
	rig_pass(RIG_TIMEOUT + 2);
	assert_int_equal(it->books.ledger[1].late, 1);
	assert_int_equal(it->books.ledger[1].answered, 0);
	assert_int_equal(rig.script[0].over_seq, 0);
	assert_int_equal(it->txns.in_flight, 64);
	rig_answer((struct rig_answer){
		.dst_port = first.f.src_port, .key = first.key, .verdict = PROTO_STRAY});
	rig_pass(RIG_TIMEOUT + 3);
	assert_int_equal(it->books.ledger[1].stray, 1);
	assert_int_equal(rig.script[0].over, 2);
}

static void a_packet_that_fits_no_transaction_is_stray(void **state)
{
	static const struct {
		struct rig_answer a;
		uint64_t stray, malformed, unmatched;
	} rows[] = {
		{{.key = 1}, 1, 0, 0},                 // a key that was not issued
		{{.src = "198.18.0.8"}, 1, 0, 0},      // not the server
		{{.src_port = 54}, 1, 0, 0},           // nor its port
		{{.payload_len = 5}, 0, 1, 0},         // no key in it
		{{.dst = "198.18.0.3"}, 0, 0, 1},      // no address of the item
		{{.dst_port = RIG_PORT + 2}, 0, 0, 1}, // no port of it
		{{.dst = "198.18.0.2", .key = UINT32_MAX}, 1, 0,
			0}, // address and key of two queries
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rig_answer a = rows[i].a;

		rig_fresh(NULL);
		rig_ask();
		if (a.key == 0 || a.key == UINT32_MAX)
			a.key = rig.queries[0].key;
		rig_answer(a);
		rig_pass(600);
		assert_int_equal(it->books.ledger[1].stray, rows[i].stray);
		assert_int_equal(it->books.ledger[1].malformed, rows[i].malformed);
		assert_int_equal(rig.w.wire.counters.unmatched, rows[i].unmatched);
		assert_int_equal(it->txns.in_flight, 1);
	}
}

static void a_server_may_reply_from_any_port_and_be_asked_there(void **state)
{
	for (uint32_t family = 0; family < 2; family++) {
		rig_fresh(NULL);
		if (family)
			rig_ipv6();
		it->any_port = true;
		rig_ask();
		rig.script[0].to_port = 54;
		rig_answer((struct rig_answer){
			.src_port = 54, .key = rig.queries[0].key, .verdict = PROTO_AGAIN});
		rig_pass(600);
		assert_true(rig.script[0].had_ends);
		rig_pass(700);
		assert_int_equal(rig.asked, 2);
		assert_int_equal(rig.queries[0].f.dst_port, 53);
		assert_int_equal(rig.queries[1].f.dst_port, 54);
		rig_reply(1, PROTO_DONE);
		rig_answer((struct rig_answer){.src = family ? "2001:db8::8" : "198.18.0.8",
			.dst = family ? "2001:db8::1" : "198.18.0.1",
			.src_port = 54,
			.key = rig.queries[1].key});
		rig_pass(800);
		assert_int_equal(it->books.ledger[1].answered, 1);
		assert_int_equal(it->books.ledger[1].stray, 1);
	}
}

static void replies_over_ipv6_are_booked_alike(void **state)
{
	static const struct {
		struct rig_answer a;
		uint64_t answered, stray, malformed, unmatched;
	} rows[] = {
		{{.verdict = PROTO_DONE}, 1, 0, 0, 0},
		{{.key = 1}, 0, 1, 0, 0},
		{{.src = "2001:db8::8"}, 0, 1, 0, 0},
		{{.src_port = 54}, 0, 1, 0, 0},
		{{.payload_len = 5}, 0, 0, 1, 0},
		{{.dst = "2001:db8::3"}, 0, 0, 0, 1},
		{{.dst_port = RIG_PORT + 2}, 0, 0, 0, 1},
		{{.src = "198.18.0.9", .dst = "198.18.0.1"}, 0, 0, 0, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rig_answer a = rows[i].a;

		rig_fresh(NULL);
		rig_ipv6();
		rig_ask();
		a.key = a.key ? a.key : rig.queries[0].key;
		rig_answer(a);
		rig_pass(600);
		assert_int_equal(it->books.ledger[1].answered, rows[i].answered);
		assert_int_equal(it->books.ledger[1].stray, rows[i].stray);
		assert_int_equal(it->books.ledger[1].malformed, rows[i].malformed);
		assert_int_equal(rig.w.wire.counters.unmatched, rows[i].unmatched);
	}
}

static void a_burst_may_have_replies_over_both_families(void **state)
{
	rig_ipv6();
	rig.items[1].pace.left = UINT64_MAX;
	rig_pass(RIG_MEASURE - RIG_START + 1000); // 11 of each item
	assert_int_equal(rig.asked, 22);
	for (uint32_t i = 0; i < 11; i++) {
		rig_reply(i, PROTO_DONE);
		if (i % 2)
			rig_reply(11 + i, PROTO_DONE);
		if (i % 3 == 0)
			rig_answer((struct rig_answer){.key = 1}); // none of ours
	}
	rig_pass(RIG_MEASURE - RIG_START + 1400);
	assert_int_equal(rig_ledger(0).answered, 11);
	assert_int_equal(rig_ledger(1).answered, 5);
	assert_int_equal(rig_ledger(0).stray, 4);
}

static void before_the_measured_part_it_is_stray_of_the_warmup(void **state)
{
	rig_pass(500);
	rig_answer((struct rig_answer){.key = 1});
	rig_answer((struct rig_answer){.payload_len = 5});
	rig_answer((struct rig_answer){.src_port = 1});
	rig_pass(600);
	assert_int_equal(it->books.ledger[0].stray, 2);
	assert_int_equal(it->books.ledger[0].malformed, 1);
	assert_int_equal(it->books.ledger[1].stray, 0);
}

static void a_reply_to_a_question_before_the_run_is_no_stray(void **state)
{
	struct txn_place place;

	txn_place_of(&it->txns, (uint64_t)-5, &place);
	it->asked[0] = 5;
	it->asked_count = 1;
	rig_pass(500);
	rig_answer((struct rig_answer){.key = place.key,
		.dst = (const char *[]){"198.18.0.1", "198.18.0.2", "198.18.1.1"}[place.client],
		.dst_port = (uint16_t)(RIG_PORT + place.port)});
	rig_pass(600);
	assert_int_equal(it->books.counts[1].probe_late, 1);
	assert_int_equal(rig_ledger(0).stray, 0);
	it->asked[0] = 6;
	rig_answer((struct rig_answer){.key = place.key,
		.dst = (const char *[]){"198.18.0.1", "198.18.0.2", "198.18.1.1"}[place.client],
		.dst_port = (uint16_t)(RIG_PORT + place.port)});
	rig_pass(601);
	assert_int_equal(it->books.counts[1].probe_late, 1);
	assert_int_equal(rig_ledger(0).stray, 1);
}

static void the_next_step_is_sent_with_the_next_pass(void **state)
{
	rig_steps();
	rig.script[0].next_step = 1;
	rig_ask();
	one_reply(PROTO_AGAIN);
	assert_int_equal(it->steps[0].sent, 1);
	assert_int_equal(it->steps[0].answered, 1);
	assert_int_equal(it->steps[0].service.max, 1000);
	rig_pass(2500);
	assert_int_equal(rig.asked, 2);
	assert_int_equal(rig.queries[1].step, 1);
	assert_int_equal(rig.queries[1].seq, 0);
	assert_int_equal(it->steps[1].sent, 1);
	rig_reply(1, PROTO_FAIL);
	rig_pass(4500);
	assert_int_equal(it->steps[1].failed, 1);
	assert_int_equal(it->steps[1].answered, 0);
	assert_in_range(it->steps[1].response.max, 3000 - 63, 3000 + 63); // from the reply before
	assert_int_equal(it->steps[1].service.max, 2000);
	assert_int_equal(it->books.ledger[1].sent, 1);
	assert_int_equal(it->books.ledger[1].failed, 1);
	assert_int_equal(it->books.response.max, 4000);
}

static void a_step_without_a_message_begins_with_the_reply_before(void **state)
{
	rig_steps();
	rig.script[0].next_step = 1;
	rig.script[0].step_when_kept = true;
	rig_ask();
	one_reply(PROTO_KEPT);
	assert_int_equal(it->steps[0].sent, 1);
	assert_int_equal(it->steps[0].answered, 1);
	assert_int_equal(it->steps[0].service.max, 1000);
	assert_int_equal(it->steps[1].sent, 1);
	rig_reply(0, PROTO_KEPT); // of the same step
	rig_pass(2500);
	assert_int_equal(it->steps[1].sent, 1);
	assert_int_equal(it->steps[1].answered, 0);
	rig_reply(0, PROTO_DONE);
	rig_pass(4500);
	assert_int_equal(rig.asked, 1);
	assert_int_equal(it->steps[1].answered, 1);
	assert_int_equal(it->steps[1].response.max, 3000);
	assert_int_equal(it->steps[1].service.max, 3000);
	assert_int_equal(it->books.response.max, 4000);
}

// 2^38 ticks are 92 s at 3 GHz.
static void latencies_of_steps_beyond_38_bits_are_exact(void **state)
{
	const uint64_t late = 3ull << 38;

	rig_steps();
	it->waits[0] = 8ull << 38;
	rig.w.times.end = RIG_END + (9ull << 38);
	rig.script[0].next_step = 1;
	rig_ask();
	rig_reply(0, PROTO_AGAIN);
	rig_pass(500 + late);
	assert_true(it->steps[0].response.max == late);
	assert_true(it->steps[0].service.max == late);
	rig_pass(600 + late);
	rig_reply(1, PROTO_DONE);
	rig_pass(600 + 2 * late);
	assert_int_equal(it->steps[1].answered, 1);
	assert_true(it->steps[1].response.max == late + 100);
	assert_true(it->steps[1].service.max == late);
}

static void a_burst_may_have_replies_to_both_steps(void **state)
{
	rig_steps();
	rig_measured();
	rig.script[0].next_step = 1;
	for (uint32_t i = 0; i < 4; i++)
		rig_pass(500 + 1000 * i);
	for (uint32_t i = 0; i < 4; i++)
		rig_reply(i, i % 2 ? PROTO_AGAIN : PROTO_DONE);
	rig_pass(4000);
	assert_int_equal(it->steps[0].answered, 4);
	assert_int_equal(it->steps[0].service.count, 4);
	assert_int_equal(it->steps[0].service.sum, 3500 + 2500 + 1500 + 500);
	assert_int_equal(it->steps[0].service.min, 500);
	assert_int_equal(it->steps[0].service.max, 3500);
	rig_pass(4500); // two of the second step, and a new one
	assert_int_equal(rig.asked, 7);
	rig_reply(4, PROTO_DONE);
	rig_reply(6, PROTO_DONE);
	rig_reply(5, PROTO_FAIL);
	rig_pass(4600);
	assert_int_equal(it->steps[0].answered, 5);
	assert_int_equal(it->steps[0].service.count, 5);
	assert_int_equal(it->steps[0].service.min, 100);
	assert_int_equal(it->steps[1].answered, 1);
	assert_int_equal(it->steps[1].failed, 1);
	assert_int_equal(it->steps[1].service.count, 2);
	assert_int_equal(it->steps[1].service.sum, 100 + 100);
	assert_int_equal(it->steps[1].response.sum, 600 + 600);
}

static void a_loss_is_one_of_its_step(void **state)
{
	rig_steps();
	rig.script[0].next_step = 1;
	rig.script[0].timeout = PROTO_FAIL;
	rig_ask();
	one_reply(PROTO_AGAIN);
	rig_pass(2500);
	rig_pass(2500 + RIG_TIMEOUT);
	assert_int_equal(it->steps[0].lost, 0);
	assert_int_equal(it->steps[1].lost, 1);
}

static void steps_of_the_warmup_are_not_counted(void **state)
{
	rig_steps();
	rig_pass(500);
	one_reply(PROTO_DONE);
	assert_int_equal(it->steps[0].sent, 0);
	assert_int_equal(it->steps[0].answered, 0);
	assert_int_equal(it->steps[0].service.count, 0);
}

static void a_routed_item_is_found_by_the_tag_of_its_key(void **state)
{
	rig_routed();
	rig_ask();
	assert_int_equal(rig.queries[0].key >> 28, 3);
	rig_answer((struct rig_answer){.key = rig.queries[0].key | 1u << 30}); // another tag
	rig_answer((struct rig_answer){.payload_len = 5});
	rig_pass(600);
	assert_int_equal(it->books.ledger[1].stray, 1);
	assert_int_equal(it->books.ledger[1].malformed, 1);
	rig_answer((struct rig_answer){.key = rig.queries[0].key, .src = "203.0.113.1"});
	rig_pass(1500000);
	assert_int_equal(it->books.ledger[1].answered, 1); // who answers is the protocol's to judge
	assert_true(rig.script[0].had_ends);
	assert_int_equal(rig.script[0].now_ms, 1);
}

static void the_same_over_ipv6(void **state)
{
	rig_ipv6();
	rig_routed();
	rig_ask();
	rig_answer((struct rig_answer){.key = rig.queries[0].key | 1u << 30}); // another tag
	rig_answer((struct rig_answer){.key = rig.queries[0].key, .src = "2001:db8::5"});
	rig_pass(600);
	assert_int_equal(it->books.ledger[1].stray, 1);
	assert_int_equal(it->books.ledger[1].answered, 1);
	assert_true(rig.script[0].had_ends);
}

static void it_owns_what_its_protocol_says(void **state)
{
	uint8_t found[6], addr[4] = {10, 0, 0, 1};

	rig_routed();
	assert_true(worker_owns(&rig.w, addr, 4, found));
	assert_int_equal(found[4], 1);
	addr[0] = 11;
	assert_false(worker_owns(&rig.w, addr, 4, found));
	addr[0] = 10;
	rig.w.tagged_count = 0;
	assert_false(worker_owns(&rig.w, addr, 4, found));
}

// Worker 0 of two, and the other end of its rings.
static struct handoff ends[2];
static struct handoff_ring rings[4];
static uint8_t home[65536];

static void share(uint8_t number)
{
	memset(ends, 0, sizeof(ends));
	memset(rings, 0, sizeof(rings));
	memset(home, 0, sizeof(home));
	handoff_init(ends, rings, 2, 0);
	rig.w.hand = &ends[number];
	rig.w.number = number;
	rig.w.home = home;
	home[RIG_PORT + 1] = 1;
}

static void the_other_workers_packets_go_to_its_lane(void **state)
{
	struct handoff_packet got[4];

	share(0);
	rig_pass(1500);
	rig_reply(0, PROTO_DONE);
	rig_answer((struct rig_answer){.dst_port = RIG_PORT + 1, .key = 9});
	rig_pass(2000);
	assert_int_equal(rig_ledger(0).answered, 1);
	assert_int_equal(rig_ledger(0).stray, 0);
	assert_int_equal(ends[0].handed_over, 1);
	assert_int_equal(handoff_ring_take(&rings[1], got, 4), 1);
	assert_int_equal(got[0].time, RIG_START + 2000);
	rte_pktmbuf_free(got[0].mbuf);
}

static struct {
	unsigned asked;
	uint32_t worker;
	bool none;
} client;

static bool unasked(struct proto_ctx *ctx, const struct proto_message *message, uint32_t *worker)
{
	client.asked++;
	assert_ptr_equal(ctx->counters, it->banks[1]);
	*worker = client.worker;
	return !client.none;
}

// A message that a server sends of itself, to a client of worker 4, which is the first here, or of
// another one.
static void a_message_that_nobody_asked_for_goes_to_the_worker_of_its_client(void **state)
{
	static const struct proto_router knows = {.unasked = unasked}, knows_none = {0};
	static const struct proto another;
	static struct worker_item first = {.proto = &another};
	static struct worker_item *tagged[] = {&first, &rig.items[0]};
	static const struct {
		uint32_t worker;
		bool none, deaf,
			alone; // the client is none, there are no such messages, one worker
		unsigned asked, handed, stray, malformed;
	} rows[] = {
		{4, .asked = 1},
		{5, .asked = 1, .handed = 1},
		{6, .asked = 1, .stray = 1},
		{3, .asked = 1, .stray = 1},
		{UINT32_MAX, .asked = 1, .stray = 1},
		{5, .alone = true, .asked = 1, .stray = 1},
		{4, .none = true, .asked = 1, .malformed = 1},
		{5, .deaf = true, .malformed = 1},
	};
	struct handoff_packet got[4];

	rig_routed();
	rig_ask();
	rig.w.tagged = tagged;
	rig.w.tagged_count = 2;
	rig.w.before = 4;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		share(0);
		home[RIG_PORT] = PORT_HOME_KEY;
		rig.w.hand = rows[i].alone ? NULL : rig.w.hand;
		it->router = rows[i].deaf ? &knows_none : &knows;
		it->books.ledger[1] = (struct ledger){0};
		client.asked = 0;
		client.worker = rows[i].worker;
		client.none = rows[i].none;
		rig_answer((struct rig_answer){.payload_len = 5}); // without a key
		rig_pass(600 + 10 * i);
		assert_int_equal(client.asked, rows[i].asked);
		assert_int_equal(ends[0].handed_over, rows[i].handed);
		assert_int_equal(it->books.ledger[1].stray, rows[i].stray);
		assert_int_equal(it->books.ledger[1].malformed, rows[i].malformed);
		assert_int_equal(handoff_ring_take(&rings[1], got, 4), rows[i].handed);
		if (rows[i].handed)
			rte_pktmbuf_free(got[0].mbuf);
	}
	rig.w.hand = NULL;
}

static void a_full_lane_loses_the_packet_and_counts_it(void **state)
{
	share(0);
	rings[1].written = HANDOFF_RING;
	rig_pass(500);
	rig_answer((struct rig_answer){.dst_port = RIG_PORT + 1});
	rig_pass(600);
	assert_int_equal(ends[0].hand_over_full, 1);
	assert_int_equal(ends[0].handed_over, 0);
	rings[1].written = 0;
}

static void a_packet_from_another_worker_has_the_time_of_its_coming(void **state)
{
	struct handoff_packet packet = {.time = RIG_START + 700};

	share(0);
	rig_ask();
	rig_reply(0, PROTO_DONE);
	packet.mbuf = rig.port.received[--rig.port.received_count];
	assert_int_equal(handoff_ring_put(&rings[2], &packet, 1), 1);
	assert_true(rig_pass(1500));
	assert_int_equal(rig_ledger(0).answered, 1);
	assert_int_equal(it->books.service.max, 200);
	assert_int_equal(ends[0].taken_over, 1);
	assert_int_equal(rig.port.live, rig.w.spare_count); // nothing else is held
}

static void nothing_expires_before_the_other_worker_has_looked(void **state)
{
	share(0);
	rig_ask();
	ends[1].seen = RIG_START + 500 + RIG_TIMEOUT - 1;
	rig_pass(500 + RIG_TIMEOUT + 100);
	assert_int_equal(rig_ledger(0).lost, 0);
	ends[1].seen++;
	rig_pass(500 + RIG_TIMEOUT + 101);
	assert_int_equal(rig_ledger(0).lost, 1);
}

static void it_tells_how_far_it_has_looked_when_its_queue_ran_empty(void **state)
{
	share(0);
	rig.w.wire.burst = 1;
	rig_answer((struct rig_answer){.dst_port = 9});
	rig_pass(100);
	assert_int_equal(ends[0].seen, 0);
	rig_pass(200);
	assert_int_equal(ends[0].seen, RIG_START + 200);
}

static void keys_of_routed_items_name_their_worker(void **state)
{
	share(1);
	rig_routed();
	rig.w.tag_bits = 1; // tag 3: item 1 of worker 1
	home[RIG_PORT] = PORT_HOME_KEY;
	rig_ask();
	rig_answer((struct rig_answer){.key = rig.queries[0].key});
	rig_pass(600);
	assert_int_equal(rig_ledger(0).answered, 1);
	rig_answer((struct rig_answer){.key = 0x10000000}); // tag 1: item 1 of worker 0
	rig_answer((struct rig_answer){.key = 0x50000000}); // of worker 2, which is not there
	rig_answer((struct rig_answer){.payload_len = 5});  // no key: it stays
	rig_pass(700);
	assert_int_equal(ends[1].handed_over, 1);
	assert_int_equal(rig_ledger(0).stray, 1);
	assert_int_equal(rig_ledger(0).malformed, 1);
	for (struct handoff_packet p; handoff_ring_take(&rings[2], &p, 1);)
		rte_pktmbuf_free(p.mbuf);
}

// The packet to be received last arrives in fragments, the last of them first.
static void cut(uint32_t each)
{
	struct rte_mbuf *whole = rig.port.received[--rig.port.received_count];
	uint8_t data[2048];
	struct frame f;
	uint32_t len;

	assert_int_equal(
		frame_parse(rte_pktmbuf_mtod(whole, uint8_t *), whole->data_len, &f), FRAME_UDP);
	len = FRAME_UDP_LEN + f.payload_len;
	for (uint32_t at = (len - 1) / each * each + each; at; at -= each) {
		uint32_t from = at - each, n = len - from < each ? len - from : each;

		test_port_receive(&rig.port, data, fragment_make(&f, 1, from, n, data));
	}
	rte_pktmbuf_free_bulk(&whole, 1);
}

static int with_reassembly(void **state)
{
	int rc = rig_fresh(state);

	rig.w.wire.reassembly = reassembly_new(&rig.clock);
	return rig.w.wire.reassembly ? rc : -1;
}

static int without_reassembly(void **state)
{
	int rc = rig_over(state);

	reassembly_free(rig.w.wire.reassembly);
	return rc;
}

static void a_reply_in_fragments_ends_its_transaction(void **state)
{
	for (int family = 0; family < 2; family++) {
		if (family)
			rig_ipv6();
		rig_ask();
		rig_answer((struct rig_answer){.key = rig.queries[0].key, .payload_len = 4000});
		cut(1400);
		rig_pass(1500);
		assert_int_equal(rig_ledger(0).answered, 1);
		assert_int_equal(it->books.service.max, 1000);
		assert_int_equal(rig.w.wire.counters.fragments, 3);
		assert_int_equal(rig.w.wire.counters.reassembled, 1);
		assert_int_equal(rig.port.live, rig.w.spare_count);
		if (family == 0) {
			without_reassembly(NULL);
			with_reassembly(NULL);
		}
	}
}

static void a_whole_of_fragments_is_judged_like_any_packet(void **state)
{
	rig_ask();
	rig_reply(0, PROTO_STRAY);
	cut(8);
	rig_answer((struct rig_answer){.dst_port = 9});
	cut(8);
	rig_answer((struct rig_answer){.src_port = 9});
	cut(8);
	rig_answer((struct rig_answer){.payload_len = 5});
	cut(8);
	rig_pass(1500);
	assert_int_equal(rig_ledger(0).stray, 2);
	assert_int_equal(rig_ledger(0).malformed, 1);
	assert_int_equal(rig.w.wire.counters.unmatched, 1);
	assert_int_equal(rig.w.wire.counters.reassembled, 4);
}

static void what_waits_at_the_end_is_incomplete(void **state)
{
	rig_ask();
	rig_reply(0, PROTO_DONE);
	cut(8);
	rte_pktmbuf_free_bulk(&rig.port.received[--rig.port.received_count], 1);
	rig_pass(1500);
	rig.phase = PHASE_STOP;
	worker_loop(&rig.w);
	assert_int_equal(rig.w.wire.counters.not_reassembled[FRAGMENTS_INCOMPLETE], 1);
}

static void fragments_that_stay_alone_are_given_up_in_the_run(void **state)
{
	rig_ask();
	rig_reply(0, PROTO_DONE);
	cut(8);
	rte_pktmbuf_free_bulk(&rig.port.received[--rig.port.received_count], 1);
	rig_pass(1500);
	rig.w.look_at = RIG_START + 1600;
	rig_pass(1600);
	assert_int_equal(rig.w.wire.counters.not_reassembled[FRAGMENTS_INCOMPLETE], 0);
	rig.w.look_at = RIG_START + REASSEMBLY_TIMEOUT_NS + 1501;
	rig_pass(REASSEMBLY_TIMEOUT_NS + 1501);
	assert_int_equal(rig.w.wire.counters.not_reassembled[FRAGMENTS_INCOMPLETE], 1);
}

// It is forwarded in as many buffers as it takes; the other worker reads it as one.
static void a_whole_for_another_worker_goes_there_as_a_copy(void **state)
{
	struct handoff_packet got[4];

	share(0);
	rig_pass(1500);
	rig_answer((struct rig_answer){.dst_port = RIG_PORT + 1, .key = 9, .payload_len = 4200});
	cut(1400);
	rig_pass(2000);
	assert_int_equal(rig.port.received_count, 0);
	assert_int_equal(ends[0].handed_over, 1);
	assert_int_equal(handoff_ring_take(&rings[1], got, 4), 1);
	assert_int_equal(got[0].time, RIG_START + 2000);
	assert_int_equal(got[0].mbuf->nb_segs, 3);
	assert_int_equal(got[0].mbuf->pkt_len, 42 + 4200);
	rig.w.number = 1;
	rig.w.hand = &ends[1];
	home[RIG_PORT] = 0;
	got[0].time = RIG_START + 1900;
	assert_int_equal(handoff_ring_put(&rings[1], got, 1), 1);
	rig_pass(2100);
	assert_int_equal(rig_ledger(0).stray, 1);
	assert_int_equal(rig.w.wire.counters.reassembled, 1);
	assert_int_equal(rig.w.wire.counters.bad_frame, 0);
	rig.w.hand = NULL;
}

static void a_whole_without_a_buffer_for_its_copy_is_lost_and_counted(void **state)
{
	share(0);
	rig_pass(1500);
	rig_answer((struct rig_answer){.dst_port = RIG_PORT + 1, .key = 9, .payload_len = 4200});
	cut(1400);
	rig.port.buffers = 2;
	rig.w.spares = 0;
	rig_pass(2000);
	assert_int_equal(ends[0].hand_over_full, 1);
	assert_int_equal(ends[0].handed_over, 0);
	rig.w.hand = NULL;
}

// The interval begins at the boundary of the last snapshot; each earlier one has its own place, and
// all older ones share the last.
static void a_reply_to_an_earlier_interval_is_booked_there_too(void **state)
{
	static const struct {
		uint64_t before; // ticks, of the due time, before the interval
		uint32_t place;
	} rows[] = {{1, 0}, {100, 0}, {101, 1}, {200, 1}, {201, 2}, {126 * 100 + 1, 126},
		{127 * 100, 126}, {127 * 100 + 1, 127}, {1000 * 100, 127}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct earlier_books *b = &it->books.earlier;

		*b = (struct earlier_books){0};
		it->interval = 100;
		it->interval_from = RIG_MEASURE + 1000000;
		worker_book_earlier(
			it, it->interval_from - rows[i].before, it->interval_from + 7, i % 2);
		assert_int_equal(b->answered[rows[i].place], i % 2 == 0);
		assert_int_equal(b->failed[rows[i].place], i % 2);
		assert_int_equal(b->time[rows[i].place], rows[i].before + 7);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_fresh, rig_over)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_good_reply_ends_its_transaction),
		TEST(one_of_the_warmup_has_no_latency),
		TEST(each_verdict_has_its_cell),
		TEST(a_reply_to_an_ended_transaction_is_booked_apart),
		TEST(of_two_replies_in_a_burst_the_second_counts_as_it_would_later),
		TEST(a_burst_may_have_replies_for_several_items_and_parts_of_the_run),
		TEST(a_reply_while_the_next_message_waits_is_late),
		TEST(a_reply_that_crosses_a_retransmission_answers_the_message_before),
		TEST(a_refused_reply_that_crosses_a_retransmission_changes_no_time),
		TEST(a_reply_that_crossed_an_earlier_retransmission_is_as_old_as_its_transaction),
		TEST(a_late_reply_is_judged_though_its_slot_is_used_again),
		TEST(a_packet_that_fits_no_transaction_is_stray),
		TEST(a_server_may_reply_from_any_port_and_be_asked_there),
		TEST(replies_over_ipv6_are_booked_alike),
		TEST(a_burst_may_have_replies_over_both_families),
		TEST(before_the_measured_part_it_is_stray_of_the_warmup),
		TEST(a_reply_to_a_question_before_the_run_is_no_stray),
		TEST(the_next_step_is_sent_with_the_next_pass),
		TEST(a_step_without_a_message_begins_with_the_reply_before),
		TEST(latencies_of_steps_beyond_38_bits_are_exact),
		TEST(a_burst_may_have_replies_to_both_steps),
		TEST(a_loss_is_one_of_its_step),
		TEST(steps_of_the_warmup_are_not_counted),
		TEST(a_routed_item_is_found_by_the_tag_of_its_key),
		TEST(the_same_over_ipv6),
		TEST(it_owns_what_its_protocol_says),
		TEST(the_other_workers_packets_go_to_its_lane),
		TEST(a_message_that_nobody_asked_for_goes_to_the_worker_of_its_client),
		TEST(a_full_lane_loses_the_packet_and_counts_it),
		TEST(a_packet_from_another_worker_has_the_time_of_its_coming),
		TEST(nothing_expires_before_the_other_worker_has_looked),
		TEST(it_tells_how_far_it_has_looked_when_its_queue_ran_empty),
		TEST(keys_of_routed_items_name_their_worker),
		TEST(a_reply_to_an_earlier_interval_is_booked_there_too),
		cmocka_unit_test_setup_teardown(a_reply_in_fragments_ends_its_transaction,
			with_reassembly, without_reassembly),
		cmocka_unit_test_setup_teardown(a_whole_of_fragments_is_judged_like_any_packet,
			with_reassembly, without_reassembly),
		cmocka_unit_test_setup_teardown(
			what_waits_at_the_end_is_incomplete, with_reassembly, without_reassembly),
		cmocka_unit_test_setup_teardown(fragments_that_stay_alone_are_given_up_in_the_run,
			with_reassembly, without_reassembly),
		cmocka_unit_test_setup_teardown(a_whole_for_another_worker_goes_there_as_a_copy,
			with_reassembly, without_reassembly),
		cmocka_unit_test_setup_teardown(
			a_whole_without_a_buffer_for_its_copy_is_lost_and_counted, with_reassembly,
			without_reassembly),
	};

	return cmocka_run_group_tests_name("engine worker_rx", tests, NULL, NULL);
}

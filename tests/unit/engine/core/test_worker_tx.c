// SPDX-License-Identifier: BSD-3-Clause
// The sends of a worker: how many, from where, with which headers, and the fate of a message that
// cannot be sent. Path: cold. Test.
#include "rig.h"
#include "engine/core/worker/worker_message.h"
#include "engine/core/worker/worker_tx.h"

static struct worker_item *const it = &rig.items[0];

static void sends_are_due_half_a_gap_after_the_start(void **state)
{
	rig_pass(499);
	assert_int_equal(rig.asked, 0);
	rig_pass(500);
	assert_int_equal(rig.asked, 1);
	rig_pass(1499);
	assert_int_equal(rig.asked, 1);
	rig_pass(3500);
	assert_int_equal(rig.asked, 4);
}

static void a_late_send_is_counted_as_late(void **state)
{
	rig_pass(12000); // 10 of the warm-up, two measured: due at 10500 and 11500
	assert_int_equal(it->books.lag.count, 2);
	assert_int_equal(it->books.lag.min, 500);
	assert_int_equal(it->books.lag.max, 1500);
	assert_int_equal(it->books.ledger[0].sent, 10);
	assert_int_equal(it->books.ledger[1].sent, 2);
}

static void addresses_change_first_then_ports(void **state)
{
	static const struct {
		uint8_t src[4];
		uint16_t port;
	} rows[] = {
		{{198, 18, 0, 1}, RIG_PORT},
		{{198, 18, 0, 2}, RIG_PORT},
		{{198, 18, 1, 1}, RIG_PORT},
		{{198, 18, 0, 1}, RIG_PORT + 1},
		{{198, 18, 0, 2}, RIG_PORT + 1},
	};

	rig_pass(5000);
	assert_int_equal(rig.asked, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct frame *f = &rig.queries[i].f;

		assert_memory_equal(f->src, rows[i].src, 4);
		assert_int_equal(f->src_port, rows[i].port);
		assert_int_equal(f->dst_port, 53);
		assert_memory_equal(f->dst, ((uint8_t[]){198, 18, 0, 9}), 4);
		assert_memory_equal(f->eth + 6, rig.w.wire.self.mac, 6);
		assert_int_equal(rig.queries[i].seq, i);
		assert_int_equal(f->payload_len, 14);
	}
}

static void a_message_whose_sum_is_not_known_is_right_all_the_same(void **state)
{
	rig.script[0].no_sum = true;
	rig_pass(2500); // the fixture verifies checksums
	assert_int_equal(rig.asked, 3);
	rig.script[0].no_sum = false;
	rig_pass(3500);
	assert_int_equal(rig.asked, 4);
}

static void checksums_are_left_to_a_device_that_can(void **state)
{
	uint16_t check;

	rig.w.wire.checksum_offload = true;
	it->frames[0].checksum_offload = true;
	rig_pass(500);
	assert_int_equal(rig.queries[0].ol_flags,
		RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM);
	memcpy(&check, rig.queries[0].f.ip + 10, 2);
	assert_int_equal(check, 0);
}

static void a_closed_loop_keeps_its_number_in_flight(void **state)
{
	rig_closed(3);
	rig_pass(0);
	rig_pass(1);
	assert_int_equal(rig.asked, 3);
	rig_reply(1, PROTO_DONE);
	rig_pass(2);
	rig_pass(3);
	assert_int_equal(rig.asked, 4);
	assert_int_equal(it->txns.in_flight, 3);
}

static void a_burst_is_no_larger_than_the_spare_buffers(void **state)
{
	rig_closed(0);
	rig_pass(0);
	assert_int_equal(rig.asked, 32);
	assert_int_equal(rig.port.bursts, 1);
	rig_pass(1);
	assert_int_equal(rig.asked, 64);
}

// Few packets a pass ask the pool once for two bursts. With few buffers left, one burst will do.
static void spare_buffers_are_taken_for_two_bursts(void **state)
{
	for (uint64_t i = 0; i < 33; i++) {
		rig_pass(500 + i * RIG_GAP);
		assert_int_equal(rig.w.spare_count, 63 - i); // 31 of 32 are too few for a burst
	}
	rig_pass(500 + 33 * RIG_GAP);
	assert_int_equal(rig.w.spare_count, 63);
	rig_over(NULL);
	rig_fresh(NULL);
	rig.port.buffers = 40;
	rig_pass(500);
	assert_int_equal(rig.w.spare_count, 31);
	assert_int_equal(rig.w.tx_no_mbuf, 0);
}

static void without_buffers_sends_wait(void **state)
{
	rig.port.buffers = 0;
	rig_pass(2500);
	assert_int_equal(rig.asked, 0);
	assert_int_equal(rig.w.tx_no_mbuf, 1);
	assert_int_equal(rig_ledger(0).due, 0);
	rig.port.buffers = 32;
	rig_pass(2501);
	assert_int_equal(rig.asked, 3);
	assert_int_equal(it->books.lag.count, 0); // the warm-up has none
	rig_pass(40000);                          // the spares that are left
	assert_int_equal(rig.asked, 32);
	assert_int_equal(rig.w.tx_no_mbuf, 2);
}

static void when_every_slot_is_used_sends_wait(void **state)
{
	rig.w.spares = 64;
	rig_pass(70000);
	rig_pass(70000);
	assert_int_equal(rig.asked, RIG_SLOTS);
	assert_true(it->books.counts[1].no_slot > 0);
	assert_int_equal(it->books.counts[0].no_slot, 0);
	assert_int_equal(rig_ledger(0).due, RIG_SLOTS);
}

// As fast as the replies arrive, all within one timeout.
static void a_closed_loop_of_all_slots_never_waits_for_one(void **state)
{
	rig_closed(RIG_SLOTS);
	rig.w.spares = RIG_SLOTS;
	for (uint32_t round = 0; round < 4; round++) {
		rig_pass(2 * round);
		assert_int_equal(rig.asked, (round + 1) * RIG_SLOTS);
		for (uint32_t i = 0; i < RIG_SLOTS; i++)
			rig_reply(round * RIG_SLOTS + i, PROTO_DONE);
		it->pace.left = 0; // nothing is sent while two bursts of replies are received
		rig_pass(2 * round + 1);
		rig_pass(2 * round + 1);
		it->ended = false;
		it->answered_at = RIG_START;
		it->pace.left = UINT64_MAX;
		assert_int_equal(it->txns.in_flight, 0);
	}
	assert_int_equal(it->books.counts[0].no_slot, 0);
}

static void what_the_device_refuses_is_sent_first_next_time(void **state)
{
	rig.port.takes = 2;
	rig_pass(3500);
	assert_int_equal(rig.asked, 2);
	assert_int_equal(rig.w.tx_refused, 1);
	assert_int_equal(rig_ledger(0).due, 4);
	assert_int_equal(rig_ledger(0).sent, 2);
	assert_int_equal(rig.slots[0][2].state, TXN_TAKEN);
	rig_pass(4500);
	assert_int_equal(rig.asked, 4); // nothing is built before those have left
	assert_int_equal(rig.queries[2].seq, 2);
	assert_int_equal(rig.w.tx_refused, 1);
	rig_pass(4501);
	assert_int_equal(rig.asked, 5);
}

static void what_was_built_and_never_sent_stays_unsent(void **state)
{
	rig_routed();
	rig.port.takes = 2;
	rig_pass(3500);
	rig.w.stop_at = RIG_START + 3600;
	rig_pass(3600 + RIG_GRACE - 1); // the device has two more of them
	rig.port.takes = 0;
	rig_pass(3600 + RIG_GRACE);
	assert_true(it->ended);
	assert_int_equal(rig_ledger(0).due, 4);
	assert_int_equal(rig_ledger(0).sent, 4);
	rig_fresh(NULL);
	rig_routed();
	rig.port.takes = 0;
	rig_pass(3500);
	rig.w.stop_at = RIG_START + 3600;
	rig_pass(3600 + RIG_GRACE);
	assert_int_equal(rig_ledger(0).due, 4);
	assert_int_equal(rig_ledger(0).sent, 0);
	assert_int_equal(rig_ledger(0).lost, 0);
	assert_int_equal(it->txns.in_flight, 0);
	assert_int_equal(rig.script[0].abandoned, 4);
	assert_ptr_equal(rig.script[0].counters, it->shadow);
	assert_int_equal(rig.slots[0][0].state, TXN_FREE);
	assert_int_equal(it->pending_first, it->pending_count);
}

static void a_next_message_that_cannot_leave_is_a_loss(void **state)
{
	rig_ask();
	rig.port.takes = 0;
	rig_reply(0, PROTO_AGAIN);
	rig_pass(600);
	rig_pass(700); // built
	rig.phase = PHASE_STOP;
	worker_loop(&rig.w);
	assert_int_equal(rig_ledger(0).lost, 1);
	assert_int_equal(rig.slots[0][0].state, TXN_LOST);
	assert_int_equal(it->txns.in_flight, 0);
	assert_int_equal(rig.script[0].abandoned, 0); // nobody made it
}

static void a_silent_message_ends_its_transaction(void **state)
{
	rig_steps();
	rig.script[0].silent = true;
	rig_measured();
	rig_pass(500);
	assert_int_equal(it->books.ledger[1].no_reply, 1);
	assert_int_equal(it->books.ledger[1].sent, 1);
	assert_int_equal(it->steps[0].sent, 1);
	assert_int_equal(it->steps[0].no_reply, 1);
	assert_int_equal(it->txns.in_flight, 0);
	assert_int_equal(rig.slots[0][0].state, TXN_DONE);
}

static void a_retransmission_is_no_message_of_its_step(void **state)
{
	rig_steps();
	rig.script[0].timeout = PROTO_AGAIN;
	rig_ask();
	rig_pass(500 + RIG_TIMEOUT);
	rig_pass(501 + RIG_TIMEOUT);
	assert_int_equal(rig.asked, 2);
	assert_int_equal(it->steps[0].sent, 1);
	assert_int_equal(it->steps[0].answered, 0);
}

static void with_nobody_to_make_it_an_open_loop_goes_on_without_it(void **state)
{
	rig_routed();
	rig.script[0].nobody = true;
	rig_pass(11500);
	for (int i = 0; i < 12; i++) // one per pass
		rig_pass(11500);
	assert_int_equal(rig.asked, 0);
	assert_int_equal(it->books.counts[0].no_client, 10);
	assert_int_equal(it->books.counts[1].no_client, 2);
	assert_int_equal(it->books.ledger[0].due, 10);
	assert_int_equal(it->books.ledger[1].due, 2);
	assert_int_equal(rig_ledger(0).sent, 0);
	assert_int_equal(it->pace.next, RIG_START + 12500);
	rig.script[0].nobody = false;
	rig_pass(12500);
	assert_int_equal(rig.asked, 1);
	assert_int_equal(rig.queries[0].seq, 0); // no slot was used
	assert_int_equal(rig.slots[0][0].user, 1000);
}

static void a_closed_loop_just_waits_for_a_client(void **state)
{
	rig_routed();
	rig_closed(3);
	rig.script[0].nobody = true;
	rig_pass(100);
	rig_pass(200);
	assert_int_equal(it->books.counts[0].no_client, 0);
	assert_int_equal(rig_ledger(0).due, 0);
	assert_int_equal(it->starved_at, RIG_START + 100);
	rig.script[0].nobody = false;
	rig_pass(300);
	assert_int_equal(rig.asked, 3);
	assert_int_equal(it->starved_at, 0);
}

// What was due beside the first one without a client is not given up.
static void transactions_after_one_without_a_client_stay_due(void **state)
{
	rig_routed();
	rig.script[0].clients = 2;
	rig.script[0].lack = PROTO_NO_BOUND_YET;
	rig_pass(5500); // six are due
	assert_int_equal(rig.asked, 2);
	assert_int_equal(rig_ledger(0).due, 3);
	assert_int_equal(it->books.counts[0].no_client, 1);
	assert_int_equal(it->books.counts[0].no_bound, 1);
	assert_int_equal(it->books.counts[0].no_bound_yet, 1);
	assert_int_equal(it->ctx.lack, PROTO_NO_FREE);
	assert_int_equal(it->pace.next, RIG_START + 3500);
	assert_int_equal(it->txns.in_flight, 2);
	rig.script[0].clients = 0;
	rig_pass(5501);
	assert_int_equal(rig.asked, 5);
	assert_int_equal(rig.slots[0][2].due, RIG_START + 3500);
	assert_int_equal(rig_ledger(0).due, 6);
}

static void a_closed_loop_takes_as_many_as_have_clients(void **state)
{
	rig_measured();
	rig_routed();
	rig_closed(8);
	it->pace.left = 6;
	rig.script[0].clients = 2;
	rig_pass(0);
	assert_int_equal(rig.asked, 2);
	assert_int_equal(it->pace.left, 4);
	assert_int_equal(rig_ledger(0).due, 2);
	assert_int_equal(it->books.counts[1].no_client, 0);
	rig.script[0].clients = 0;
	rig_pass(1);
	assert_int_equal(rig.asked, 6);
	assert_int_equal(it->pace.left, 0);
}

// Ten are due in the warm-up, the other two after it.
static void a_block_is_split_where_the_measured_part_begins(void **state)
{
	rig_routed();
	rig.script[0].first_step = 1;
	rig_pass(11500);
	assert_int_equal(rig.asked, 12);
	assert_int_equal(it->books.ledger[0].due, 10);
	assert_int_equal(it->books.ledger[1].due, 2);
	assert_ptr_equal(rig.script[0].counters, it->banks[1]);
	for (uint32_t i = 0; i < 12; i++) {
		assert_int_equal(rig.slots[0][i].user, 1000 + i);
		assert_int_equal(rig.queries[i].step, 1);
		assert_int_equal(rig.slots[0][i].judged, i >= 10);
	}
}

static void a_client_is_asked_for_only_when_a_slot_is_free(void **state)
{
	rig_routed();
	rig_closed(0);
	rig.w.spares = 64;
	rig_pass(0);
	assert_int_equal(rig.script[0].begun, 64);
	rig_pass(1);
	assert_int_equal(rig.script[0].begun, 64);
	assert_int_equal(it->books.counts[0].no_slot, 1);
}

static void a_routed_message_goes_as_its_protocol_says(void **state)
{
	rig_routed();
	rig_pass(1500);
	assert_int_equal(rig.asked, 2);
	assert_memory_equal(rig.queries[1].f.src, ((uint8_t[]){198, 18, 2, 1}), 4);
	assert_memory_equal(rig.queries[1].f.eth + 6, ((uint8_t[]){2, 0, 0, 0, 1, 1}), 6);
	assert_int_equal(rig.queries[1].f.src_port, RIG_PORT);
	assert_int_equal(rig.queries[1].key >> 28, 3);
}

static void copies_go_to_the_paths_after_the_first(void **state)
{
	for (int known = 0; known < 2; known++) {
		rig_fresh(NULL);
		rig_routed();
		it->more = 1;
		rig.script[0].more = 1;
		rig.script[0].no_sum = !known;
		rig_pass(1500);
		assert_int_equal(rig.asked, 4);
		for (int i = 0; i < 4; i++) {
			assert_int_equal(rig.queries[i].f.dst[3], 9 + i / 2);
			assert_int_equal(rig.queries[i].seq, i % 2);
			assert_memory_equal(
				rig.queries[i].f.eth + 6, ((uint8_t[]){2, 0, 0, 0, 1, 1}), 6);
		}
		assert_int_equal(rig_ledger(0).sent, 2);
		assert_int_equal(it->txns.in_flight, 2);
	}
}

static void a_message_and_its_copies_need_as_many_buffers(void **state)
{
	rig_routed();
	it->more = 1;
	rig.script[0].more = 1;
	rig.port.buffers = rig.w.spares = 5;
	rig_closed(0);
	rig_pass(0);
	assert_int_equal(rig.asked, 4);
	assert_int_equal(rig_ledger(0).sent, 2);
}

static void items_are_served_in_turn(void **state)
{
	rig.items[1].pace = it->pace;
	rig_pass(500);
	assert_int_equal(rig.asked, 2);
	assert_int_equal(rig.queries[0].f.src_port, RIG_PORT);
	assert_int_equal(rig.queries[1].f.src_port, RIG_PORT + 100);
}

static void a_message_made_again_is_the_same_with_complete_checksums(void **state)
{
	uint8_t again[128];
	struct frame f;

	it->frames[0].checksum_offload = false;
	rig_pass(500);
	it->frames[0].checksum_offload = true;
	assert_int_equal(worker_again(it, 0, 0, again, sizeof(again)), rig.queries[0].len);
	assert_memory_equal(again, rig.queries[0].bytes, rig.queries[0].len);
	assert_int_equal(frame_parse(again, rig.queries[0].len, &f), FRAME_UDP);
	assert_int_equal(worker_again(it, 0, 1, again, sizeof(again)), 0); // it had no copy
	assert_ptr_equal(rig.script[0].counters, it->shadow);
	rig.script[0].more = 1;
	rig_routed();
	assert_int_equal(worker_again(it, 0, 1, again, sizeof(again)), rig.queries[0].len);
	assert_int_equal(again[33], 10);
	assert_int_equal(worker_again(it, 0, 2, again, sizeof(again)), 0);
}

static void a_transaction_can_be_taken_without_a_frame(void **state)
{
	assert_int_equal(worker_take(&rig.w, it, RIG_START + 500), 0);
	assert_int_equal(rig.slots[0][0].due, RIG_START + 500);
	assert_int_equal(rig.slots[0][0].judged, 0);
	assert_int_equal(worker_take(&rig.w, it, RIG_START + 1500), 1);
	assert_int_equal(rig_ledger(0).due, 2);
	assert_int_equal(rig.asked, 0);
}

static void a_step_keeps_when_it_was_due(void **state)
{
	rig_steps();
	assert_int_equal(worker_take(&rig.w, it, RIG_START + 500), 0);
	assert_int_equal(it->step_due[0], RIG_START + 500);
}

static void a_client_takes_a_transaction_without_a_frame(void **state)
{
	rig_routed();
	rig.script[0].clients = 1;
	assert_int_equal(worker_take(&rig.w, it, RIG_START + 500), 0);
	assert_int_equal(rig.slots[0][0].user, 1000);
	assert_int_equal(rig.slots[0][0].due, RIG_START + 500);
	assert_int_equal(worker_take(&rig.w, it, RIG_START + 1500), TXN_NONE);
	assert_int_equal(it->books.counts[0].no_client, 1);
	assert_int_equal(rig_ledger(0).due, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_fresh, rig_over)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sends_are_due_half_a_gap_after_the_start),
		TEST(a_late_send_is_counted_as_late),
		TEST(addresses_change_first_then_ports),
		TEST(a_message_whose_sum_is_not_known_is_right_all_the_same),
		TEST(checksums_are_left_to_a_device_that_can),
		TEST(a_closed_loop_keeps_its_number_in_flight),
		TEST(a_burst_is_no_larger_than_the_spare_buffers),
		TEST(spare_buffers_are_taken_for_two_bursts),
		TEST(without_buffers_sends_wait),
		TEST(when_every_slot_is_used_sends_wait),
		TEST(a_closed_loop_of_all_slots_never_waits_for_one),
		TEST(what_the_device_refuses_is_sent_first_next_time),
		TEST(what_was_built_and_never_sent_stays_unsent),
		TEST(a_next_message_that_cannot_leave_is_a_loss),
		TEST(a_silent_message_ends_its_transaction),
		TEST(a_retransmission_is_no_message_of_its_step),
		TEST(with_nobody_to_make_it_an_open_loop_goes_on_without_it),
		TEST(a_closed_loop_just_waits_for_a_client),
		TEST(transactions_after_one_without_a_client_stay_due),
		TEST(a_closed_loop_takes_as_many_as_have_clients),
		TEST(a_block_is_split_where_the_measured_part_begins),
		TEST(a_client_is_asked_for_only_when_a_slot_is_free),
		TEST(a_routed_message_goes_as_its_protocol_says),
		TEST(copies_go_to_the_paths_after_the_first),
		TEST(a_message_and_its_copies_need_as_many_buffers),
		TEST(items_are_served_in_turn),
		TEST(a_message_made_again_is_the_same_with_complete_checksums),
		TEST(a_transaction_can_be_taken_without_a_frame),
		TEST(a_step_keeps_when_it_was_due),
		TEST(a_client_takes_a_transaction_without_a_frame),
	};

	return cmocka_run_group_tests_name("engine worker_tx", tests, NULL, NULL);
}

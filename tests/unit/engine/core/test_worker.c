// SPDX-License-Identifier: BSD-3-Clause
// The worker's loop: when it sends, expires, publishes and ends. Path: cold. Test.
#include "rig.h"

static struct worker_item *const it = &rig.items[0];

static void sending_ends_at_the_end_and_grace_is_for_the_backlog(void **state)
{
	rig.w.stop_at = RIG_START + 50000;
	rig_pass(49999);
	assert_int_equal(rig.asked, 32); // as many as a pass has buffers
	assert_false(it->ended);
	rig_pass(51999);
	assert_int_equal(rig.asked, 50); // all that were due before the end, none after
	assert_true(it->ended);
	assert_int_equal(it->ended_at, RIG_START + 50000);
	assert_int_equal(rig_ledger(0).due, 50);
}

static void after_the_grace_a_backlog_stays_unsent(void **state)
{
	rig.w.stop_at = RIG_START + 80000;
	rig_pass(79999);
	assert_false(it->ended);
	rig_pass(82000);
	assert_true(it->ended);
	assert_int_equal(it->pace.left, 0);
	assert_int_equal(rig_ledger(0).sent, 64);
}

static void an_unlimited_item_keeps_its_left_over_in_the_snapshot(void **state)
{
	worker_begin(&rig.w);
	it->pace.left = 200;
	rig_pass(99999);
	rig_pass(102000);
	assert_int_equal(it->left_over, 200 - 20);
	rig_pass(110000);
	rig_pass(110001);
	assert_int_equal(rig.snapshots[rig.w.handed & 3][0].pace.left, 200 - 20);
}

static void a_worker_has_finished_when_nothing_is_in_flight(void **state)
{
	it->pace.left = 1;
	rig_pass(11500);
	assert_int_equal(rig.asked, 11);
	rig_pass(11501);
	assert_true(it->ended);
	assert_true(rig.w.all_ended);
	assert_false(rig.w.finished);
	for (uint32_t i = 0; i < 11; i++)
		rig_reply(i, PROTO_DONE);
	rig_pass(12000);
	assert_true(rig.w.finished);
}

static void an_item_that_still_sends_keeps_the_worker_from_its_end(void **state)
{
	it->pace.left = 0;
	rig.items[1].pace = it->pace;
	rig.items[1].pace.left = UINT64_MAX;
	rig_pass(500);
	assert_true(it->ended);
	assert_false(rig.items[1].ended);
	assert_false(rig.w.all_ended);
	assert_false(rig.w.finished);
}

static void what_is_not_answered_in_time_is_lost(void **state)
{
	rig_ask();
	rig_pass(500 + RIG_TIMEOUT - 1);
	assert_int_equal(rig_ledger(0).lost, 0);
	rig_pass(500 + RIG_TIMEOUT);
	assert_int_equal(rig_ledger(0).lost, 1);
	assert_int_equal(rig.script[0].timeouts, 1);
	assert_int_equal(rig.script[0].now_ms, 0);
	assert_int_equal(it->txns.in_flight, 0);
	assert_int_equal(rig.slots[0][0].state, TXN_LOST);
}

static void the_time_of_a_run_does_not_wrap_after_49_days(void **state)
{
	const uint64_t days_60 = 60 * 86400 * 1000000000ull + 1000;

	rig_ask();
	rig_pass(days_60);
	assert_int_equal(rig_ledger(0).lost, 1);
	assert_int_equal(rig.script[0].now_ms, days_60 / 1000000);
}

// Independent of the transactions in flight before, and of the queue of a message.
static void a_short_wait_ends_in_time_beside_a_long_one(void **state)
{
	it->waits[0] = 50 * RIG_TIMEOUT;
	rig.items[1].pace = it->pace;
	rig.items[1].pace.next = RIG_START + 3000;
	rig_ask();
	for (uint64_t at = 1000; at <= 3000; at += 1000)
		rig_pass(at);
	assert_int_equal(rig.items[1].txns.in_flight, 1);
	rig_pass(3000 + RIG_TIMEOUT - 1);
	assert_int_equal(rig_ledger(1).lost, 0);
	rig_pass(3000 + RIG_TIMEOUT);
	assert_int_equal(rig_ledger(1).lost, 1);
	assert_int_equal(rig_ledger(0).lost, 0);
}

static void a_loss_is_booked_to_the_part_in_which_it_was_due(void **state)
{
	rig_pass(9500);  // ten of the warm-up
	rig_pass(10500); // and one in the measured part
	rig_pass(30000);
	rig_pass(60000);
	assert_int_equal(it->books.ledger[0].lost, 10);
	assert_true(it->books.ledger[1].lost >= 1);
	assert_int_equal(it->books.ledger[0].due, 10);
	assert_int_equal(it->books.response.count, 0);
	assert_ptr_equal(rig.script[0].counters, it->banks[1]);
}

static void a_retransmission_is_no_further_transaction(void **state)
{
	rig.script[0].timeout = PROTO_AGAIN;
	rig_ask();
	rig_pass(500 + RIG_TIMEOUT); // expires, and is sent with the next pass
	rig_pass(501 + RIG_TIMEOUT);
	assert_int_equal(rig.asked, 2);
	assert_int_equal(rig.queries[1].tries, 1);
	assert_int_equal(rig.queries[1].key, rig.queries[0].key);
	assert_int_equal(rig_ledger(0).sent, 1);
	assert_int_equal(it->txns.in_flight, 1);
	rig_reply(1, PROTO_DONE);
	rig_pass(600 + RIG_TIMEOUT);
	assert_int_equal(rig_ledger(0).answered, 1);
	assert_int_equal(it->books.response.max, RIG_TIMEOUT + 100);
	assert_int_equal(it->books.service.max, 99); // from the last send
}

static void each_length_of_wait_has_a_queue_of_its_own(void **state)
{
	rig.script[0].wait = 1;
	rig_ask();
	rig_pass(500 + RIG_TIMEOUT / 5 - 1);
	assert_int_equal(rig_ledger(0).lost, 0);
	rig_pass(500 + RIG_TIMEOUT / 5);
	assert_int_equal(rig_ledger(0).lost, 1);
}

static void one_pass_expires_64_of_a_queue(void **state)
{
	rig_closed(0);
	rig.w.spares = 64;
	rig_pass(0);
	assert_int_equal(rig.asked, 64);
	it->pace.left = 0;
	rig_pass(RIG_TIMEOUT);
	assert_int_equal(rig_ledger(0).lost, 64);
}

static void nothing_expires_while_the_queue_may_hold_its_reply(void **state)
{
	rig_ask();
	rig.w.wire.burst = 1;
	for (int i = 0; i < 3; i++)
		rig_answer((struct rig_answer){.dst_port = 9});
	rig_pass(500 + RIG_TIMEOUT);
	rig_pass(500 + RIG_TIMEOUT);
	rig_pass(500 + RIG_TIMEOUT);
	assert_int_equal(rig_ledger(0).lost, 0);
	rig_pass(500 + RIG_TIMEOUT);
	assert_int_equal(rig_ledger(0).lost, 1);
}

static void a_queue_that_never_runs_empty_is_seen_through_after_1024_bursts(void **state)
{
	rig_ask();
	rig.w.wire.burst = 1;
	for (int i = 0; i < 1023; i++) {
		rig_answer((struct rig_answer){.dst_port = 9});
		rig_pass(500 + RIG_TIMEOUT);
	}
	assert_int_equal(rig_ledger(0).lost, 0);
	rig_answer((struct rig_answer){.dst_port = 9});
	rig_pass(500 + RIG_TIMEOUT);
	assert_int_equal(rig_ledger(0).lost, 1);
	assert_int_equal(rig.w.wire.counters.unmatched, 1024);
}

static void a_kept_answer_completes_its_step_when_no_better_one_comes(void **state)
{
	rig_steps();
	rig.script[0] = (struct rig_script){
		.timeout = PROTO_AGAIN, .next_step = 1, .step_on_timeout = true};
	rig_ask();
	rig_reply(0, PROTO_KEPT);
	rig_pass(1000);
	assert_int_equal(it->steps[0].answered, 0);
	rig_pass(500 + RIG_TIMEOUT);
	assert_int_equal(it->steps[0].answered, 1);
	rig_pass(501 + RIG_TIMEOUT);
	assert_int_equal(rig.queries[1].step, 1);
	assert_int_equal(it->steps[1].sent, 1);
	rig_reply(1, PROTO_DONE);
	rig_pass(1500 + RIG_TIMEOUT);
	assert_int_equal(it->steps[1].answered, 1);
	assert_in_range(it->steps[1].response.max, 1000 - 63, 1000 + 63); // due at the timeout
	assert_int_equal(it->steps[1].service.max, 999);
}

static void snapshots_are_of_the_boundary_and_hold_nothing_later(void **state)
{
	worker_begin(&rig.w);
	rig_pass(9999);
	assert_int_equal(rig.w.published, 0);
	rig_pass(10001); // sends due after the boundary wait for the snapshot
	assert_int_equal(rig.w.published, 1);
	assert_int_equal(rig.w.handed, SNAPSHOT_NEW | 0);
	assert_int_equal(rig.snapshots[0][0].books.ledger[0].due, 10);
	assert_int_equal(rig.snapshots[0][0].books.ledger[1].due, 0);
	assert_int_equal(rig.w.snapshots[0].at, RIG_MEASURE);
	assert_int_equal(rig.w.snapshots[0].number, 1);
	assert_int_equal(rig.snapshots[0][0].ended_at, UINT64_MAX);
	assert_int_equal(rig.w.filling, 1);
	assert_int_equal(rig.w.next_publish, RIG_MEASURE + RIG_INTERVAL);
}

static void a_snapshot_has_what_the_queue_received(void **state)
{
	worker_begin(&rig.w);
	rig_pass(500);
	rig_reply(0, PROTO_DONE);
	rig_answer((struct rig_answer){.dst_port = 9});
	rig_pass(600);
	rig_pass(RIG_MEASURE - RIG_START);
	assert_int_equal(rig.w.snapshots[0].received, 2);
	assert_int_equal(rig.w.snapshots[0].handed_over, 0);
	assert_int_equal(rig.snapshots[0][1].ended_at, RIG_START + 500);
}

// A histogram is copied between its smallest and its largest value only, into a used snapshot.
static void a_snapshot_has_all_that_the_worker_counts(void **state)
{
	rig_steps();
	for (uint64_t n = 1; n <= 2 * SNAPSHOTS; n++) {
		const struct worker_snapshot *s = &rig.w.snapshots[rig.w.filling];

		it->books.counts[1].no_slot = it->steps[0].failed = n;
		it->books.longest_gap = *(uint64_t *)it->banks[0] = 10 * n;
		*(uint64_t *)it->banks[1] = 100 * n;
		hist_add(&it->books.response, 1000 >> n);
		hist_add(&it->books.service, 1000 << n);
		hist_add(&it->books.lag, 7);
		hist_add(&it->steps[0].response, 5 * n);
		hist_add(&it->steps[1].service, 500 * n);
		rig.w.gaps_over_1ms = rig.w.wire.counters.fragments = n;
		rig.w.busy[1] = 3 * n;
		worker_begin(&rig.w);
		rig_pass(RIG_MEASURE - RIG_START);
		assert_int_equal(rig.w.published, n);
		assert_memory_equal(&s->items->books, &it->books, sizeof(it->books));
		assert_memory_equal(s->items->steps, it->steps, RIG_STEPS * sizeof(*it->steps));
		assert_memory_equal(s->items->banks[0], it->banks[0], sizeof(uint64_t));
		assert_memory_equal(s->items->banks[1], it->banks[1], sizeof(uint64_t));
		assert_int_equal(s->gaps_over_1ms, n);
		assert_int_equal(s->wire.fragments, n);
		assert_int_equal(s->busy[1], 3 * n);
	}
}

static void a_backlog_delays_a_snapshot_by_8_passes_at_most(void **state)
{
	worker_begin(&rig.w);
	rig.w.wire.burst = rig.w.spares = 1;
	for (int i = 0; i < 8; i++)
		rig_pass(10000);
	assert_int_equal(rig.w.published, 0);
	rig_pass(10000);
	assert_int_equal(rig.w.published, 1);
}

static void what_the_warmup_did_not_send_is_dropped_at_its_end(void **state)
{
	worker_begin(&rig.w);
	rig.w.wire.burst = rig.w.spares = 1;
	for (int i = 0; i < 9; i++)
		rig_pass(12000);
	assert_int_equal(rig.w.published, 1);
	assert_int_equal(rig.asked, 9);
	assert_int_equal(rig.snapshots[rig.w.handed & 3][0].books.ledger[0].due, 10);
	assert_int_equal(it->books.ledger[0].due, 10);
	rig_pass(12000);
	assert_int_equal(it->books.ledger[1].due, 1);
	assert_true(it->books.ledger[1].sent == 1 && it->books.ledger[0].sent == 9);
}

static void the_first_boundary_of_a_long_warmup_is_an_interval_after_the_start(void **state)
{
	rig.w.times.interval = 3000;
	worker_begin(&rig.w);
	assert_int_equal(rig.w.next_publish, RIG_START + 1000);
	rig.w.times.interval = 5000;
	worker_begin(&rig.w);
	assert_int_equal(rig.w.next_publish, RIG_START + 5000);
	rig.w.times.interval = 10000;
	worker_begin(&rig.w);
	assert_int_equal(rig.w.next_publish, RIG_MEASURE);
	assert_int_equal(rig.w.stop_at, RIG_END);
}

// The loop itself: the phase ends it, and the clock advances with each reading.
static struct {
	uint64_t step;
	uint32_t left;
	uint32_t drain_at;
} loop;

static void next_pass(struct test_port *p)
{
	rig.tick += loop.step;
	loop.left--;
	if (loop.left == loop.drain_at)
		rig.phase = PHASE_DRAIN;
	if (loop.left == 0)
		rig.phase = PHASE_STOP;
}

static void run_loop(uint64_t from, uint64_t step, uint32_t passes, uint32_t drain_at)
{
	loop.step = step;
	loop.left = passes;
	loop.drain_at = drain_at;
	rig.tick = RIG_START + from;
	rig.phase = PHASE_MEASURE;
	rig.port.poll = next_pass;
	worker_loop(&rig.w);
	rig.port.poll = NULL;
}

static void the_phase_drain_ends_sending_at_once(void **state)
{
	run_loop(0, 500, 40, 30);
	assert_int_equal(rig.w.stop_at, RIG_START + 5000);
	assert_true(it->ended);
	assert_int_equal(it->ended_at, RIG_START + 5000);
	assert_int_equal(rig.asked, 5);
}

static void the_phase_stop_ends_what_is_left(void **state)
{
	run_loop(0, 500, 4, 100);
	assert_true(it->ended);
	assert_int_equal(it->ended_at, RIG_START + 2000);
	assert_int_equal(rig.port.live, 0); // spare buffers went back
}

static void passes_are_timed_in_the_measured_part_only(void **state)
{
	run_loop(0, 500, 20, 100); // up to the measured part
	assert_int_equal(rig.w.passes.count, 0);
	assert_int_equal(rig.w.busy[1], 0);
	assert_true(rig.w.busy[0] > 0);
	rig_fresh(NULL);
	run_loop(10000, 500, 20, 100);
	assert_int_equal(rig.w.passes.count, 20);
	assert_int_equal(rig.w.passes.max, 500);
	assert_int_equal(rig.w.busy[0], 0);
	assert_in_range(rig.w.busy[1], 500, 20 * 500);
	assert_int_equal(rig.w.gaps_over_1ms, 0);
}

static void a_pass_that_did_nothing_is_not_busy(void **state)
{
	it->pace.next = PACE_NEVER - 1;
	run_loop(10000, 500, 20, 100);
	assert_int_equal(rig.w.busy[1], 0);
	assert_int_equal(rig.w.passes.count, 20);
}

static void a_long_pass_is_a_stall_and_its_time_is_stolen(void **state)
{
	rig.w.stall = 499;
	run_loop(10000, 500, 4, 100);
	assert_int_equal(rig.w.gaps_over_1ms, 4);
	assert_int_equal(rig.w.stolen, 2000);
	rig_fresh(NULL);
	rig.w.stall = 500;
	run_loop(10000, 500, 4, 100);
	assert_int_equal(rig.w.gaps_over_1ms, 0);
}

static void after_a_stop_of_the_machine_replies_get_time_to_come(void **state)
{
	rig.w.stall = 10;
	run_loop(0, 500, 2, 100); // 500 are not above 50 stalls
	assert_int_equal(rig.w.expire_after, 0);
	rig.w.all_ended = false;
	run_loop(0, 501, 1, 100);
	assert_int_equal(rig.w.expire_after, RIG_START + 501 + 500);
	run_loop(100, 600, 1, 100); // one more while that time lasts: it is prolonged
	assert_int_equal(rig.w.expire_after, RIG_START + 501 + 500 + 600);
}

static void time_given_is_time_in_which_nothing_expires(void **state)
{
	rig_ask();
	rig.w.expire_after = RIG_START + 20000;
	rig_pass(19999);
	assert_int_equal(rig_ledger(0).lost, 0);
	rig_pass(20000);
	assert_int_equal(rig_ledger(0).lost, 1);
}

static void a_pass_says_whether_there_was_anything_to_do(void **state)
{
	assert_false(rig_pass(0));
	assert_true(rig_pass(500));
	assert_false(rig_pass(501));
	rig_reply(0, PROTO_DONE);
	assert_true(rig_pass(502));
	assert_false(rig_pass(503));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_fresh, rig_over)

static uint32_t begins(struct proto_ctx *ctx, struct proto_txn *t, uint32_t n)
{
	return 0;
}

static void an_item_has_the_narrowest_kind_with_all_its_features(void **state)
{
	static const struct proto_router router;
	static struct worker_item *followers[1];
	static const struct {
		struct worker_item item;
		enum item_kind kind;
	} cases[] = {
		{{0}, ITEM_PLAIN},
		{{.conns = (void *)&rig}, ITEM_CONNS},
		{{.conns = (void *)&rig, .begin = begins}, ITEM_FULL},
		{{.router = &router}, ITEM_ROUTED},
		{{.begin = begins}, ITEM_ROUTED},
		{{.steps = (void *)&rig}, ITEM_ROUTED},
		{{.followers = followers}, ITEM_ROUTED},
		{{.router = &router, .begin = begins, .conns = (void *)&rig}, ITEM_FULL},
		{{.router = &router, .servers = (void *)&rig}, ITEM_FULL},
		{{.servers = (void *)&rig}, ITEM_FULL},
		{{.any_port = true}, ITEM_FULL},
		{{.evidence = (void *)&rig}, ITEM_FULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(item_kind_of(&cases[i].item), cases[i].kind);
	worker_begin(&rig.w);
	assert_int_equal(it->kind, ITEM_PLAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_item_has_the_narrowest_kind_with_all_its_features),
		TEST(sending_ends_at_the_end_and_grace_is_for_the_backlog),
		TEST(after_the_grace_a_backlog_stays_unsent),
		TEST(an_unlimited_item_keeps_its_left_over_in_the_snapshot),
		TEST(a_worker_has_finished_when_nothing_is_in_flight),
		TEST(an_item_that_still_sends_keeps_the_worker_from_its_end),
		TEST(what_is_not_answered_in_time_is_lost),
		TEST(the_time_of_a_run_does_not_wrap_after_49_days),
		TEST(a_short_wait_ends_in_time_beside_a_long_one),
		TEST(a_loss_is_booked_to_the_part_in_which_it_was_due),
		TEST(a_retransmission_is_no_further_transaction),
		TEST(each_length_of_wait_has_a_queue_of_its_own),
		TEST(one_pass_expires_64_of_a_queue),
		TEST(nothing_expires_while_the_queue_may_hold_its_reply),
		TEST(a_queue_that_never_runs_empty_is_seen_through_after_1024_bursts),
		TEST(a_kept_answer_completes_its_step_when_no_better_one_comes),
		TEST(snapshots_are_of_the_boundary_and_hold_nothing_later),
		TEST(a_snapshot_has_what_the_queue_received),
		TEST(a_snapshot_has_all_that_the_worker_counts),
		TEST(a_backlog_delays_a_snapshot_by_8_passes_at_most),
		TEST(what_the_warmup_did_not_send_is_dropped_at_its_end),
		TEST(the_first_boundary_of_a_long_warmup_is_an_interval_after_the_start),
		TEST(the_phase_drain_ends_sending_at_once),
		TEST(the_phase_stop_ends_what_is_left),
		TEST(passes_are_timed_in_the_measured_part_only),
		TEST(a_pass_that_did_nothing_is_not_busy),
		TEST(a_long_pass_is_a_stall_and_its_time_is_stolen),
		TEST(after_a_stop_of_the_machine_replies_get_time_to_come),
		TEST(time_given_is_time_in_which_nothing_expires),
		TEST(a_pass_says_whether_there_was_anything_to_do),
	};

	return cmocka_run_group_tests_name("engine worker", tests, NULL, NULL);
}

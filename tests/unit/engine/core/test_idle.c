// SPDX-License-Identifier: BSD-3-Clause
// Who may sleep, and until when: never with something in flight or waiting to be sent, never close
// to the next send, never on a port of several workers. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine/core/idle.h"
#include "engine/core/worker.h"

#define NOW    1000000000ull // ticks are nanoseconds
#define EARLY  300000ull
#define MOMENT 1000000ull
#define FAR    (NOW + 50 * MOMENT)
#define SLOTS  16

static struct worker w;
static struct worker_item items[2];
static struct txn_slot lists[2][1]; // of transactions that go on: nothing is in it
static const struct clock nanoseconds = {.hz = 1e9};

static int fresh(void **state)
{
	memset(&w, 0, sizeof(w));
	memset(items, 0, sizeof(items));
	w.items = items;
	w.item_count = 2;
	w.clock = &nanoseconds;
	w.next_publish = w.look_at = w.next_expiry = FAR;
	for (int i = 0; i < 2; i++) {
		memset(lists[i], 0, sizeof(lists[i]));
		items[i].txns.slots = lists[i];
		items[i].txns.count = SLOTS;
		items[i].pace = (struct pace){.kind = PACE_RATE, .next = FAR, .left = UINT64_MAX};
	}
	return 0;
}

static void with_nothing_to_do_it_is_left_alone_for_a_moment(void **state)
{
	assert_int_equal(idle_until(&w, NOW), NOW + MOMENT);
}

static void it_wakes_up_before_the_next_send_of_any_item(void **state)
{
	items[1].pace.next = NOW + 700000;
	assert_int_equal(idle_until(&w, NOW), NOW + 700000 - EARLY);
	items[0].pace.next = NOW + 600000;
	assert_int_equal(idle_until(&w, NOW), NOW + 600000 - EARLY);
	items[0].pace.next = NOW + EARLY + 49999;
	assert_int_equal(idle_until(&w, NOW), NOW);
	items[0].pace.next = NOW - 5;
	assert_int_equal(idle_until(&w, NOW), NOW);
}

static void it_wakes_up_to_publish(void **state)
{
	w.next_publish = NOW + 800000;
	assert_int_equal(idle_until(&w, NOW), NOW + 800000 - EARLY);
}

static void with_something_in_flight_it_stays_awake(void **state)
{
	items[1].txns.in_flight = 1;
	assert_int_equal(idle_until(&w, NOW), NOW);
	items[1].txns.in_flight = 0;
	items[0].pending_count = 1; // a copy that the device has not taken yet
	assert_int_equal(idle_until(&w, NOW), NOW);
}

static void what_has_no_more_to_send_keeps_nobody_awake(void **state)
{
	items[0].ended = true;
	items[0].pace.next = NOW - 1;
	items[1].pace.left = 0;
	items[1].pace.next = NOW - 1;
	assert_int_equal(idle_until(&w, NOW), NOW + MOMENT);
	w.all_ended = true; // what comes late is looked at at once
	assert_int_equal(idle_until(&w, NOW), NOW);
}

static void a_closed_loop_sleeps_only_before_its_start(void **state)
{
	items[0].pace = (struct pace){.kind = PACE_OUTSTANDING,
		.outstanding = 1,
		.next = NOW,
		.stop = FAR,
		.left = UINT64_MAX};
	assert_int_equal(idle_until(&w, NOW), NOW);
	items[0].pace.next = FAR;
	assert_int_equal(idle_until(&w, NOW), NOW + MOMENT);
}

static void one_of_several_workers_stays_awake_for_the_others(void **state)
{
	struct handoff *hand = (struct handoff *)&w;

	w.hand = hand;
	assert_int_equal(idle_until(&w, NOW), NOW);
}

static void a_pass_is_due_with_whatever_comes_first(void **state)
{
	uint64_t *const first[] = {&w.next_publish, &w.look_at, &items[0].pace.next, &w.stop_at};

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		fresh(NULL);
		w.stop_at = FAR;
		*first[i] = NOW + 7;
		assert_int_equal(idle_due(&w, NOW), NOW + 7);
	}
	w.stop_at = NOW - 3; // due transactions are still sent in the grace
	w.times.grace = 10;
	assert_int_equal(idle_due(&w, NOW), NOW + 7);
	w.all_ended = true;
	assert_int_equal(idle_due(&w, NOW), FAR);
}

static void something_in_flight_may_expire(void **state)
{
	w.next_expiry = NOW + 5;
	assert_int_equal(idle_due(&w, NOW), FAR);
	items[1].txns.in_flight = 1;
	assert_int_equal(idle_due(&w, NOW), NOW + 5);
	w.expire_after = NOW + 9; // the CPU was elsewhere
	assert_int_equal(idle_due(&w, NOW), NOW + 9);
}

static void a_full_table_waits_for_what_is_in_flight(void **state)
{
	items[0].pace.next = NOW + 3;
	items[0].txns.in_flight = SLOTS;
	assert_int_equal(idle_due(&w, NOW), NOW + 3); // to count that there is no slot
	assert_int_equal(idle_due(&w, NOW + 3), FAR);
	items[0].txns.in_flight--;
	assert_int_equal(idle_due(&w, NOW + 3), NOW + 3);
}

static void a_closed_loop_is_due_when_it_may_send(void **state)
{
	struct pace *p = &items[0].pace;

	*p = (struct pace){.kind = PACE_OUTSTANDING,
		.outstanding = 10,
		.next = NOW,
		.stop = FAR,
		.left = UINT64_MAX,
		.ramp_up = 1000,
		.ramp_scale = UINT64_MAX / 100}; // another one each 100 ticks
	assert_int_equal(idle_due(&w, NOW), NOW);
	items[0].txns.in_flight = 1;
	assert_int_equal(idle_due(&w, NOW), NOW + 101);
	assert_int_equal(idle_due(&w, NOW + 101), NOW + 101);
	items[0].txns.in_flight = 10;
	assert_int_equal(idle_due(&w, NOW + 1000), FAR);
	*p = (struct pace){.kind = PACE_MAX, .next = NOW, .stop = NOW + 50, .left = UINT64_MAX};
	assert_int_equal(idle_due(&w, NOW + 49), NOW + 49);
	assert_int_equal(idle_due(&w, NOW + 50), FAR);
}

static uint64_t asked_due(struct proto_ctx *ctx)
{
	return *(uint64_t *)ctx->own;
}

// When the next one is due may have changed since the last pass.
static void a_protocol_is_asked_anew_when_it_is_due(void **state)
{
	uint64_t due_ms = 7;

	w.ms_scale = clock_ms_scale(&nanoseconds);
	w.times.start = NOW;
	items[0].asks = true;
	items[0].due = asked_due;
	items[0].ctx.own = &due_ms;
	items[0].pace = (struct pace){.kind = PACE_RATE,
		.next = PACE_LATER,
		.gap = 1000000,
		.base = (fixed)NOW << 64,
		.stop = FAR,
		.left = UINT64_MAX};
	assert_int_equal(idle_due(&w, NOW), NOW + 7000000);
	due_ms = 3;
	assert_int_equal(idle_due(&w, NOW), NOW + 3000000);
	due_ms = UINT64_MAX; // it knows the next millisecond when that has come
	assert_int_equal(idle_due(&w, NOW + 5400000), NOW + 6000001);
}

static void a_sleep_takes_its_time_and_is_counted(void **state)
{
	struct clock real;
	uint64_t now, until;

	clock_calibrate(&real, 5);
	w.clock = &real;
	now = clock_now();
	w.next_publish = w.look_at = items[0].pace.next = items[1].pace.next =
		now + 1000000000000ull;
	until = idle_sleep(&w, now);
	assert_true(until > now && until <= clock_now());
	assert_true(until - now >= clock_ticks(&real, MOMENT - 10000));
	assert_int_equal(w.slept, until - now);
	items[0].txns.in_flight = 1;
	assert_int_equal(idle_sleep(&w, now), now);
	assert_int_equal(w.slept, until - now);
}

// The kernel wakes it up late: that costs something only from the time of the next send on.
static void a_late_wake_up_is_sleep_until_something_is_due(void **state)
{
	uint64_t woken = NOW + 5 * MOMENT;
	const struct clock late = {.hz = 1e9, .set = &woken};

	w.clock = &late;
	w.times.measure = NOW;
	assert_int_equal(idle_sleep(&w, NOW), NOW + 5 * MOMENT);
	assert_int_equal(w.slept, 5 * MOMENT);
	items[1].pace.next = NOW + 2 * MOMENT;
	assert_int_equal(idle_sleep(&w, NOW), NOW + 2 * MOMENT);
	assert_int_equal(w.slept, 7 * MOMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(with_nothing_to_do_it_is_left_alone_for_a_moment, fresh),
		cmocka_unit_test_setup(it_wakes_up_before_the_next_send_of_any_item, fresh),
		cmocka_unit_test_setup(it_wakes_up_to_publish, fresh),
		cmocka_unit_test_setup(with_something_in_flight_it_stays_awake, fresh),
		cmocka_unit_test_setup(what_has_no_more_to_send_keeps_nobody_awake, fresh),
		cmocka_unit_test_setup(a_closed_loop_sleeps_only_before_its_start, fresh),
		cmocka_unit_test_setup(one_of_several_workers_stays_awake_for_the_others, fresh),
		cmocka_unit_test_setup(a_pass_is_due_with_whatever_comes_first, fresh),
		cmocka_unit_test_setup(something_in_flight_may_expire, fresh),
		cmocka_unit_test_setup(a_full_table_waits_for_what_is_in_flight, fresh),
		cmocka_unit_test_setup(a_closed_loop_is_due_when_it_may_send, fresh),
		cmocka_unit_test_setup(a_protocol_is_asked_anew_when_it_is_due, fresh),
		cmocka_unit_test_setup(a_sleep_takes_its_time_and_is_counted, fresh),
		cmocka_unit_test_setup(a_late_wake_up_is_sleep_until_something_is_due, fresh),
	};

	return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}

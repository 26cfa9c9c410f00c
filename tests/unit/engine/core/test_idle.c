// SPDX-License-Identifier: BSD-3-Clause
// When threads sleep, and until when; when they keep polling, and for how long. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/core/worker/worker_idle.h"
#include "engine/core/responder/responder_idle.h"
#include "base/clock.h"
#include "engine/core/idle.h"
#include "engine/core/responder/responder.h"
#include "engine/core/worker/worker.h"

void __wrap_wait_for(const struct wait *wait, uint64_t ns);

#define NOW     1000000000ull // ticks are nanoseconds
#define LONGEST 5000000ull
#define MOMENT  1000000ull
#define BLIND   50000ull
#define SPIN    50000ull
#define STALL   1000000ull
#define CROWDED 300000000ull
#define FAR     (NOW + 50 * MOMENT)
#define SLOTS   16

static struct worker w;
static struct worker_item items[2];
static struct txn_slot lists[2][1]; // empty lists of transactions to continue
static const struct clock nanoseconds = {.hz = 1e9};
static uint64_t now, asked, late, packet_after;
static unsigned sleeps;
static const struct clock stepped = {.hz = 1e9, .set = &now};

static int fresh(void **state)
{
	memset(&w, 0, sizeof(w));
	memset(items, 0, sizeof(items));
	w.items = items;
	w.item_count = 2;
	w.clock = &stepped;
	w.idle = (struct idle){.sleeps = true, .wait.count = 1, .stall = STALL};
	late = 0;
	sleeps = 0;
	packet_after = UINT64_MAX;
	w.next_publish = w.look_at = w.next_expiry = FAR;
	for (int i = 0; i < 2; i++) {
		memset(lists[i], 0, sizeof(lists[i]));
		items[i].txns.slots = lists[i];
		items[i].txns.count = SLOTS;
		items[i].pace = (struct pace){.kind = PACE_RATE, .next = FAR, .left = UINT64_MAX};
	}
	return 0;
}

// Sleeps for the requested time, and `late` more; shorter if a packet arrives.
void __wrap_wait_for(const struct wait *wait, uint64_t ns)
{
	asked = ns;
	sleeps++;
	now += packet_after < ns ? packet_after : ns + late;
}

// Returns the tick until which a thread sleeps after an empty pass that began at NOW.
static uint64_t slept_to(uint64_t from)
{
	now = from;
	asked = 0;
	return worker_rest(&w, from, false);
}

static void with_nothing_to_do_it_sleeps_for_a_while(void **state)
{
	assert_int_equal(slept_to(NOW), NOW + LONGEST);
	assert_int_equal(asked, LONGEST);
	w.idle.wait.count = 0; // nobody asks it for its address while it looks less often
	assert_int_equal(slept_to(NOW), NOW + MOMENT);
	w.idle.wait.count = 1;
	w.hand = (struct handoff *)&w; // other workers wait for its progress
	assert_int_equal(slept_to(NOW), NOW + BLIND);
	w.idle.wait.own = true;
	assert_int_equal(slept_to(NOW), NOW + MOMENT);
}

static void it_wakes_up_for_whatever_is_due(void **state)
{
	items[1].pace.next = NOW + 700000;
	assert_int_equal(slept_to(NOW), NOW + 700000);
	w.next_publish = NOW + 600000;
	assert_int_equal(slept_to(NOW), NOW + 600000);
	items[0].pace.next = NOW + 2999; // less than a sleep is worth
	assert_int_equal(slept_to(NOW), NOW);
	assert_int_equal(asked, 0);
	items[0].pace.next = NOW - 5;
	assert_int_equal(slept_to(NOW), NOW);
	items[0].pace.next = FAR;
	items[0].pending_count = 1; // a copy that the device has not taken yet
	assert_int_equal(slept_to(NOW), NOW);
}

static void with_something_in_flight_a_packet_wakes_it(void **state)
{
	items[1].txns.in_flight = 1;
	packet_after = 77777;
	assert_int_equal(slept_to(NOW), NOW + 77777);
	assert_int_equal(w.slept, 77777);
	w.idle.wait.count = 0; // or it looks itself
	packet_after = UINT64_MAX;
	assert_int_equal(slept_to(NOW), NOW + BLIND);
}

static void after_work_it_polls_on_for_a_moment(void **state)
{
	w.idle.spins = true;
	assert_int_equal(worker_rest(&w, NOW, true), NOW);
	assert_int_equal(slept_to(NOW + SPIN - 1), NOW + SPIN - 1);
	assert_int_equal(sleeps, 0);
	assert_int_equal(slept_to(NOW + SPIN), NOW + SPIN + LONGEST);
}

// The pass was long because other programs had the CPU.
static void a_long_pass_ends_polling_for_a_while(void **state)
{
	w.idle.spins = true;
	worker_rest(&w, NOW, true);
	worker_rest(&w, NOW + STALL + 1, true);
	assert_int_equal(slept_to(NOW + STALL + 1), NOW + STALL + 1 + LONGEST);
	for (uint64_t at = NOW + STALL + 1; at < NOW + CROWDED + 2 * STALL; at += STALL)
		worker_rest(&w, at, true);
	assert_int_equal(slept_to(w.idle.turn_at), w.idle.turn_at);
}

static void it_learns_how_late_timers_are(void **state)
{
	w.idle.spins = true;
	late = 80000;
	for (int i = 0; i < 200; i++) {
		w.idle.turn_at = 0;
		items[0].pace.next = NOW + 700000;
		slept_to(NOW);
	}
	assert_in_range(w.idle.late, late - 100, late);
	assert_in_range(asked, 700000 - late, 700000 - late + 100);
	w.idle.turn_at = 0;
	items[0].pace.next = NOW + 70000; // its timer would be too late: it polls
	assert_int_equal(slept_to(NOW), NOW);
}

static void what_has_no_more_to_send_keeps_nobody_awake(void **state)
{
	items[0].ended = true;
	items[0].pace.next = NOW - 1;
	items[1].pace.left = 0;
	items[1].pace.next = NOW - 1;
	assert_int_equal(slept_to(NOW), NOW + LONGEST);
}

static void a_responder_sleeps_until_an_answer_is_due(void **state)
{
	struct responder r = {.idle = w.idle, .clock = w.clock};

	now = NOW;
	assert_int_equal(responder_rest(&r, NOW, false), NOW + MOMENT);
	r.swapped = (struct rte_mbuf *)&r;
	r.swapped_at = NOW;
	r.patience = 300000;
	now = NOW;
	assert_int_equal(responder_rest(&r, NOW, false), NOW + 300001);
	assert_int_equal(responder_rest(&r, NOW + 5, true), NOW + 5);
	r.asked = 1; // for its counters
	assert_int_equal(responder_rest(&r, NOW, false), NOW);
}

static void a_pass_is_due_with_whatever_comes_first(void **state)
{
	uint64_t *const first[] = {&w.next_publish, &w.look_at, &items[0].pace.next, &w.stop_at};

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		fresh(NULL);
		w.stop_at = FAR;
		*first[i] = NOW + 7;
		assert_int_equal(worker_due(&w, NOW), NOW + 7);
	}
	w.stop_at = NOW - 3; // due transactions are still sent in the grace
	w.times.grace = 10;
	assert_int_equal(worker_due(&w, NOW), NOW + 7);
	w.all_ended = true;
	assert_int_equal(worker_due(&w, NOW), FAR);
}

static void something_in_flight_may_expire(void **state)
{
	w.next_expiry = NOW + 5;
	assert_int_equal(worker_due(&w, NOW), FAR);
	items[1].txns.in_flight = 1;
	assert_int_equal(worker_due(&w, NOW), NOW + 5);
	w.expire_after = NOW + 9; // the CPU was elsewhere
	assert_int_equal(worker_due(&w, NOW), NOW + 9);
}

static void a_full_table_waits_for_what_is_in_flight(void **state)
{
	items[0].pace.next = NOW + 3;
	items[0].txns.in_flight = SLOTS;
	assert_int_equal(worker_due(&w, NOW), NOW + 3); // to count that there is no slot
	assert_int_equal(worker_due(&w, NOW + 3), FAR);
	items[0].txns.in_flight--;
	assert_int_equal(worker_due(&w, NOW + 3), NOW + 3);
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
	assert_int_equal(worker_due(&w, NOW), NOW);
	items[0].txns.in_flight = 1;
	assert_int_equal(worker_due(&w, NOW), NOW + 101);
	assert_int_equal(worker_due(&w, NOW + 101), NOW + 101);
	items[0].txns.in_flight = 10;
	assert_int_equal(worker_due(&w, NOW + 1000), FAR);
	*p = (struct pace){.kind = PACE_MAX, .next = NOW, .stop = NOW + 50, .left = UINT64_MAX};
	assert_int_equal(worker_due(&w, NOW + 49), NOW + 49);
	assert_int_equal(worker_due(&w, NOW + 50), FAR);
}

static uint64_t asked_due(struct proto_ctx *ctx)
{
	return *(uint64_t *)ctx->own;
}

// The next due time may have changed since the last pass.
static void a_protocol_is_asked_anew_when_it_is_due(void **state)
{
	static const struct proto paced = {.due = asked_due};
	uint64_t due_ms = 7;

	w.ms_scale = clock_ms_scale(&nanoseconds);
	w.times.start = NOW;
	items[0].asks = true;
	items[0].proto = &paced;
	items[0].ctx.own = &due_ms;
	items[0].pace = (struct pace){.kind = PACE_RATE,
		.next = PACE_LATER,
		.gap = 1000000,
		.base = (fixed)NOW << 64,
		.stop = FAR,
		.left = UINT64_MAX};
	assert_int_equal(worker_due(&w, NOW), NOW + 7000000);
	due_ms = 3;
	assert_int_equal(worker_due(&w, NOW), NOW + 3000000);
	due_ms = UINT64_MAX; // the next millisecond is known only when it begins
	assert_int_equal(worker_due(&w, NOW + 5400000), NOW + 6000001);
}

// A late wake-up by the kernel costs time only from the due time of the next send on.
static void a_late_wake_up_is_sleep_until_something_is_due(void **state)
{
	late = 4 * MOMENT;
	w.times.measure = NOW;
	assert_int_equal(slept_to(NOW), NOW + LONGEST + late);
	assert_int_equal(w.slept, LONGEST + late);
	items[1].pace.next = NOW + 2 * MOMENT;
	assert_int_equal(slept_to(NOW), NOW + 2 * MOMENT);
	assert_int_equal(w.slept, LONGEST + late + 2 * MOMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(with_nothing_to_do_it_sleeps_for_a_while, fresh),
		cmocka_unit_test_setup(it_wakes_up_for_whatever_is_due, fresh),
		cmocka_unit_test_setup(with_something_in_flight_a_packet_wakes_it, fresh),
		cmocka_unit_test_setup(after_work_it_polls_on_for_a_moment, fresh),
		cmocka_unit_test_setup(a_long_pass_ends_polling_for_a_while, fresh),
		cmocka_unit_test_setup(it_learns_how_late_timers_are, fresh),
		cmocka_unit_test_setup(what_has_no_more_to_send_keeps_nobody_awake, fresh),
		cmocka_unit_test_setup(a_responder_sleeps_until_an_answer_is_due, fresh),
		cmocka_unit_test_setup(a_pass_is_due_with_whatever_comes_first, fresh),
		cmocka_unit_test_setup(something_in_flight_may_expire, fresh),
		cmocka_unit_test_setup(a_full_table_waits_for_what_is_in_flight, fresh),
		cmocka_unit_test_setup(a_closed_loop_is_due_when_it_may_send, fresh),
		cmocka_unit_test_setup(a_protocol_is_asked_anew_when_it_is_due, fresh),
		cmocka_unit_test_setup(a_late_wake_up_is_sleep_until_something_is_due, fresh),
	};

	return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// The schedule: no drift over 10^7 sends, whole seconds hold exactly the rate, late sends keep
// their due time. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/pace.h"

#define HZ 2599999713.0

static struct pace open_loop(double rate, uint64_t start)
{
	struct pace p = {.kind = PACE_RATE, .left = UINT64_MAX};

	pace_start(&p, HZ / rate, start, start, 0.5);
	return p;
}

static void ten_million_sends_do_not_drift(void **state)
{
	struct pace p = open_loop(333333, 12345);

	for (uint64_t k = 0; k < 10000000; k++) {
		double expected = 12345 + ((double)k + 0.5) * HZ / 333333;
		double got = (double)pace_pop(&p, UINT64_MAX);

		assert_true(fabs(got - expected) < 2);
	}
}

static void every_second_holds_exactly_the_rate(void **state)
{
	const double rates[] = {1, 7, 1000, 20000, 100000, 3333333};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		struct pace p = open_loop(rates[r], 1000);

		for (int s = 1; s <= 3; s++) {
			uint64_t end = 1000 + (uint64_t)(s * HZ), n = 0;

			while (pace_ready(&p, end - 1, 0)) {
				pace_pop(&p, end - 1);
				n++;
			}
			assert_int_equal(n, (uint64_t)rates[r]);
		}
	}
}

static void a_late_send_keeps_its_due_time(void **state)
{
	struct pace p = open_loop(1000, 0);
	uint64_t first = p.next;

	assert_int_equal(pace_pop(&p, 50 * (uint64_t)HZ), first);
	assert_true(pace_pop(&p, 50 * (uint64_t)HZ) - first - (uint64_t)(HZ / 1000) <= 1);
}

static void the_backlog_is_what_could_still_be_taken(void **state)
{
	const double rates[] = {1, 333, 20000, 1e6};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		struct pace p = open_loop(rates[r], 99);
		uint64_t until = 99 + (uint64_t)(1.3 * HZ), n = 0;
		uint64_t backlog = pace_backlog(&p, p.next, p.left, until);

		for (; pace_ready(&p, until - 1, 0); n++)
			pace_pop(&p, until - 1);
		assert_int_equal(backlog, n);
		assert_int_equal(pace_backlog(&p, p.next, p.left, until), 0);
	}
}

static void a_total_counts_measured_sends_only(void **state)
{
	struct pace p = open_loop(10, 0);

	p.left = 3;
	p.measure = (uint64_t)HZ;
	for (int k = 0; k < 13; k++) {
		assert_true(pace_ready(&p, UINT64_MAX, 0));
		pace_pop(&p, UINT64_MAX);
	}
	assert_false(pace_ready(&p, UINT64_MAX, 0));
}

static void a_closed_loop_waits_for_room(void **state)
{
	struct pace p = {.kind = PACE_OUTSTANDING, .outstanding = 2, .left = UINT64_MAX};

	assert_true(pace_ready(&p, 0, 1));
	assert_false(pace_ready(&p, 0, 2));
	assert_int_equal(pace_pop(&p, 77), 77);
}

static void nothing_is_due_before_the_start(void **state)
{
	const enum pace_kind kinds[] = {PACE_RATE, PACE_OUTSTANDING, PACE_MAX};

	for (size_t i = 0; i < 3; i++) {
		struct pace p = {
			.kind = kinds[i], .outstanding = 1, .left = UINT64_MAX, .next = 100};

		assert_false(pace_ready(&p, 99, 0));
		assert_true(pace_ready(&p, 100, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_million_sends_do_not_drift),
		cmocka_unit_test(every_second_holds_exactly_the_rate),
		cmocka_unit_test(a_late_send_keeps_its_due_time),
		cmocka_unit_test(the_backlog_is_what_could_still_be_taken),
		cmocka_unit_test(a_total_counts_measured_sends_only),
		cmocka_unit_test(a_closed_loop_waits_for_room),
		cmocka_unit_test(nothing_is_due_before_the_start),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}

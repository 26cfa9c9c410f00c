// SPDX-License-Identifier: BSD-3-Clause
// The schedule: no drift over 10^7 sends nor after years, whole seconds hold exactly the rate, late
// sends keep their due time. Path: cold. Test.
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
		uint64_t backlog = pace_backlog(&p, until);

		for (; pace_ready(&p, until - 1, 0); n++)
			pace_pop(&p, until - 1);
		assert_int_equal(backlog, n);
		assert_int_equal(pace_backlog(&p, until), 0);
	}
}

// As it stands before the k-th send, by 128-bit arithmetic alone.
static struct pace after(const struct pace *first, uint64_t k)
{
	unsigned __int128 frac = (unsigned __int128)k * first->gap_frac + first->next_frac;
	struct pace p = *first;

	p.next = first->next + k * first->gap + (uint64_t)(frac >> 64);
	p.next_frac = (uint64_t)frac;
	return p;
}

static void sends_around_a_power_of_two_are_due_to_the_tick(void **state)
{
	const double rates[] = {20000, 333333, 1e6, 14.88e6, 1e9};
	const unsigned bits[] = {31, 32, 33, 47, 48};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++)
		for (size_t b = 0; b < sizeof(bits) / sizeof(bits[0]); b++) {
			struct pace first = open_loop(rates[r], 12345);
			uint64_t k = (1ull << bits[b]) - 5000;
			struct pace p = after(&first, k);

			for (uint64_t end = k + 10000; k < end; k++) {
				assert_true(p.next == after(&first, k).next);
				assert_true(pace_pop(&p, UINT64_MAX) == after(&first, k).next);
			}
		}
}

static void years_of_sends_do_not_drift(void **state)
{
	const double rates[] = {7, 20000, 333333, 1e6, 14.88e6};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++)
		for (uint64_t k = 1; k < (uint64_t)(1e8 * rates[r]); k *= 3) {
			struct pace first = open_loop(rates[r], 0);
			long double ideal = ((long double)k + 0.5L) * (long double)HZ / rates[r];
			long double off = (long double)after(&first, k).next - ideal;

			// 2^-53 of the time is what a gap in floating point is off by.
			assert_true(fabsl(off) < 2 + ideal * 0x1p-52L);
		}
}

static void a_second_after_a_month_holds_exactly_the_rate(void **state)
{
	const double rates[] = {1, 7, 20000, 333333, 1e6, 10e6, 100e6};
	const uint64_t seconds = 30 * 86400;

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		struct pace first = open_loop(rates[r], 1000), p;
		uint64_t begin = 1000 + (uint64_t)((double)seconds * HZ);
		uint64_t end = 1000 + (uint64_t)((double)(seconds + 1) * HZ);
		uint64_t k = seconds * (uint64_t)rates[r], n = 0;

		assert_true(pace_backlog(&first, begin) == k);
		assert_true(pace_backlog(&first, end) == k + (uint64_t)rates[r]);
		p = after(&first, k);
		assert_true(pace_backlog(&p, end) == (uint64_t)rates[r]);
		for (; n < 1000000 && pace_ready(&p, end - 1, 0); n++)
			assert_true(pace_pop(&p, end) >= begin);
		assert_true(n == (uint64_t)fmin(rates[r], 1000000));
	}
}

static void the_backlog_is_exact_at_every_tick(void **state)
{
	const double rates[] = {333333, 1e9, HZ / 1000}; // the last one without a fraction

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		struct pace first = open_loop(rates[r], 0), p = after(&first, 1ull << 40);
		struct pace popped = p;
		uint64_t n = 0;

		for (uint64_t until = p.next; until < p.next + 100000; until++) {
			while (pace_ready(&popped, until - 1, 0)) {
				pace_pop(&popped, until - 1);
				n++;
			}
			assert_true(pace_backlog(&p, until) == n);
		}
		p.left = n / 2;
		assert_true(pace_backlog(&p, UINT64_MAX) == n / 2);
	}
}

static void a_total_beyond_32_bits_is_counted_down(void **state)
{
	struct pace p = open_loop(1000, 0);

	p.left = (1ull << 32) + 1;
	pace_pop(&p, UINT64_MAX);
	pace_pop(&p, UINT64_MAX);
	assert_true(p.left == (1ull << 32) - 1);
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

// Of several paces that are ready, the one that is due first.
static struct pace *first_of(struct pace *all, uint64_t of)
{
	struct pace *first = NULL;

	for (uint64_t w = 0; w < of; w++)
		if (all[w].left && (!first || all[w].next < first->next ||
					   (all[w].next == first->next &&
						   all[w].next_frac < first->next_frac)))
			first = &all[w];
	return first;
}

static void workers_in_turn_send_what_one_would_have_sent(void **state)
{
	const double rates[] = {7, 20000, 333333, 14.88e6};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++)
		for (uint64_t of = 1; of <= 16; of++) {
			struct pace one = open_loop(rates[r], 12345), all[16];

			for (uint64_t w = 0; w < of; w++) {
				all[w] = one;
				pace_split(&all[w], w, of);
			}
			for (uint64_t k = 0; k < 50000; k++) {
				struct pace *p = first_of(all, of);

				assert_int_equal(p - all, k % of);
				assert_int_equal(
					pace_pop(p, UINT64_MAX), pace_pop(&one, UINT64_MAX));
			}
		}
}

static void workers_share_a_total_to_the_send_that_would_have_been_the_last(void **state)
{
	const uint64_t warmups[] = {0, 1, 2, 3, 10, 101};

	for (size_t i = 0; i < sizeof(warmups) / sizeof(warmups[0]); i++)
		for (uint64_t of = 1; of <= 5; of++) {
			struct pace one = open_loop(1000, 0), all[5], *p;
			uint64_t k = 0;

			one.measure = (uint64_t)((double)warmups[i] * HZ / 1000);
			one.left = 23;
			for (uint64_t w = 0; w < of; w++) {
				all[w] = one;
				pace_split(&all[w], w, of);
			}
			for (; (p = first_of(all, of)) != NULL; k++)
				assert_int_equal(
					pace_pop(p, UINT64_MAX), pace_pop(&one, UINT64_MAX));
			assert_int_equal(k, warmups[i] + 23);
			assert_int_equal(one.left, 0);
		}
}

static void workers_share_what_is_outstanding_and_none_waits_for_nothing(void **state)
{
	for (uint64_t of = 1; of <= 5; of++) {
		uint64_t outstanding = 0, left = 0;

		for (uint64_t w = 0; w < of; w++) {
			struct pace p = {.kind = PACE_OUTSTANDING, .outstanding = 3, .left = 100};

			pace_split(&p, w, of);
			outstanding += p.outstanding;
			left += p.left;
			assert_true((p.outstanding == 0) == (p.left == 0));
		}
		assert_int_equal(outstanding, 3);
		assert_int_equal(left, 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_million_sends_do_not_drift),
		cmocka_unit_test(every_second_holds_exactly_the_rate),
		cmocka_unit_test(a_late_send_keeps_its_due_time),
		cmocka_unit_test(the_backlog_is_what_could_still_be_taken),
		cmocka_unit_test(sends_around_a_power_of_two_are_due_to_the_tick),
		cmocka_unit_test(years_of_sends_do_not_drift),
		cmocka_unit_test(a_second_after_a_month_holds_exactly_the_rate),
		cmocka_unit_test(the_backlog_is_exact_at_every_tick),
		cmocka_unit_test(a_total_beyond_32_bits_is_counted_down),
		cmocka_unit_test(a_total_counts_measured_sends_only),
		cmocka_unit_test(a_closed_loop_waits_for_room),
		cmocka_unit_test(nothing_is_due_before_the_start),
		cmocka_unit_test(workers_in_turn_send_what_one_would_have_sent),
		cmocka_unit_test(workers_share_a_total_to_the_send_that_would_have_been_the_last),
		cmocka_unit_test(workers_share_what_is_outstanding_and_none_waits_for_nothing),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}

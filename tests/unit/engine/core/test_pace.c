// SPDX-License-Identifier: BSD-3-Clause
// The schedule: no drift over 10^7 sends nor after years, whole seconds hold exactly the rate, late
// sends keep their due time. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/plan/schedule.h"

#define HZ 2599999713.0

static struct pace open_loop(double rate, uint64_t start)
{
	const struct load_settings load = {.rate = rate, .stop_at_ns = UINT64_MAX};
	const struct schedule_base base = {.hz = HZ};
	struct pace p = {.left = UINT64_MAX, .measure = start};
	struct schedule s;

	assert_int_equal(schedule_build(&s, &load, &base), 0);
	pace_start(&p, &s, start, (struct pace_share){0, 1});
	assert_true(p.steady); // so that the schedule is not needed any more
	p.schedule = NULL;
	schedule_free(&s);
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

// After a time without room every window has the previous rate, apart from the lateness that
// `behind` allows; and the backlog is counted exactly.
static void what_is_too_late_is_not_due_any_more(void **state)
{
	const uint64_t ms = (uint64_t)(HZ / 1000), blocked = 1000 * ms;
	struct pace p = open_loop(500, 0);
	uint64_t now = blocked, n = 0;

	p.behind = 5 * ms;
	assert_true(pace_ready(&p, now, 0));
	pace_give_up(&p, now);
	assert_true(p.next == now - 5 * ms);
	assert_int_equal(pace_backlog(&p, now + 1), 3); // 2 ms apart
	for (; pace_ready(&p, now, 0); n++) {
		pace_give_up(&p, now);
		pace_pop(&p, now);
	}
	assert_int_equal(n, 3);
	for (uint64_t at = now; at < now + 200 * ms; at += ms / 10)
		while (pace_ready(&p, at, 0)) {
			pace_give_up(&p, at);
			pace_pop(&p, at);
			n++;
		}
	assert_in_range(n, 102, 103);
	p = open_loop(500, 0);
	p.behind = 5 * ms;
	now = p.next + p.behind;
	pace_give_up(&p, now);
	assert_int_equal(p.next, now - p.behind);
	pace_give_up(&p, now + 1);
	assert_int_equal(p.next, now + 1 - p.behind);
	p = open_loop(500, 0);
	pace_give_up(&p, blocked); // without a bound nothing is given up
	assert_int_equal(pace_backlog(&p, blocked), 500);
}

static struct pace share_of(double rate, uint64_t start, struct pace_share share)
{
	const struct load_settings load = {.rate = rate, .stop_at_ns = UINT64_MAX};
	const struct schedule_base base = {.hz = HZ};
	struct pace p = {.left = UINT64_MAX, .measure = start};
	struct schedule s;

	assert_int_equal(schedule_build(&s, &load, &base), 0);
	pace_start(&p, &s, start, share);
	schedule_free(&s);
	return p;
}

// From the boundary on all workers together are due at the new rate, one gap apart.
static void another_rate_holds_from_a_boundary_on(void **state)
{
	const double rates[] = {0.01, 3, 999.5, 250000, 4e6};
	const uint64_t at = 12345 + (uint64_t)HZ;

	for (size_t r = 0; r < sizeof(rates) / sizeof(*rates); r++) {
		uint64_t gap = (uint64_t)ldexp(HZ / rates[r], PACE_ASKED_BITS);
		struct pace workers[3];

		for (uint32_t k = 0; k < 3; k++) {
			workers[k] = share_of(5e6, 12345, (struct pace_share){k, 3});
			while (workers[k].next < at)
				pace_pop(&workers[k], UINT64_MAX);
			assert_true(pace_change(&workers[k], gap, at));
			assert_int_equal(pace_backlog(&workers[k], at), 0);
		}
		for (uint64_t n = 0; n < 3000; n++) {
			double expected = (double)at + ((double)n + 0.5) * HZ / rates[r];
			double got = (double)pace_pop(&workers[n % 3], UINT64_MAX);

			assert_true(fabs(got - expected) < 2 + expected * 1e-7);
		}
	}
}

// Overdue sends keep their times, and the ledger its count.
static void an_overdue_send_holds_up_another_rate(void **state)
{
	struct pace p = open_loop(1000, 0), before = p;

	assert_false(pace_change(&p, 1ull << PACE_ASKED_BITS, p.next + 1));
	assert_memory_equal(&p, &before, sizeof(p));
	assert_true(pace_change(&p, 1ull << PACE_ASKED_BITS, p.next));
}

// The same transactions at the same ticks, and the same state after them.
static void expect_same_block(struct pace p, uint64_t now, uint64_t in_flight, uint32_t most)
{
	struct pace one = p, block = p;
	uint64_t due[64];
	uint32_t n = 0, taken;

	taken = pace_take(&block, now, in_flight, most, due);
	for (; n < most && pace_ready(&one, now, in_flight + n); n++)
		assert_true(n < taken && pace_pop(&one, now) == due[n]);
	assert_int_equal(taken, n);
	assert_memory_equal(&one, &block, sizeof(one));
}

static void a_block_is_what_would_be_taken_one_by_one(void **state)
{
	const struct pace_closed closed[] = {{512, 1000, PACE_NEVER, 0}, {512, 1000, 90000, 40000},
		{3, 1000, PACE_NEVER, 0}, {0, 1000, PACE_NEVER, 0}, {0, 1000, 5000, 0}};
	const uint64_t left[] = {0, 1, 20, 64, 65, UINT64_MAX};

	for (uint64_t now = 999; now < 200000; now = now * 5 / 4)
		for (uint32_t most = 0; most <= 64; most += 16)
			for (size_t l = 0; l < sizeof(left) / sizeof(*left); l++) {
				struct pace rate = open_loop(1e8, 1000);

				rate.left = left[l];
				expect_same_block(rate, now, 5, most);
				for (size_t c = 0; c < sizeof(closed) / sizeof(*closed); c++) {
					struct pace p = {.left = left[l], .measure = 10000};

					pace_start_closed(
						&p, &closed[c], (struct pace_share){0, 1});
					expect_same_block(p, now, 0, most);
					expect_same_block(p, now, 2, most);
					expect_same_block(p, now, 500, most);
					expect_same_block(p, now, 512, most);
				}
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

// Returns the pace before the k-th send, by 128-bit arithmetic alone.
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

			// A gap in floating point is off by 2^-53 of the time.
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

static struct pace closed(uint64_t outstanding, uint64_t ramp_up, struct pace_share share)
{
	const struct pace_closed c = {outstanding, 100, 5000, ramp_up};
	struct pace p = {.left = UINT64_MAX};

	pace_start_closed(&p, &c, share);
	return p;
}

static const struct pace_share alone = {0, 1};

static void a_closed_loop_waits_for_room(void **state)
{
	struct pace p = closed(2, 0, alone);

	assert_true(pace_ready(&p, 100, 1));
	assert_false(pace_ready(&p, 100, 2));
	assert_int_equal(pace_pop(&p, 177), 177);
}

static void a_closed_loop_that_ramps_up_gets_one_more_at_even_times(void **state)
{
	struct pace p = closed(5, 1000, alone);

	for (uint64_t now = 100; now < 1100; now += 10) {
		uint64_t allowed = 1 + (now - 100) * 4 / 1000;

		assert_true(pace_ready(&p, now + 1, allowed - 1));
		assert_false(pace_ready(&p, now + 1, allowed));
	}
	assert_true(pace_ready(&p, 1100, 4));
	assert_false(pace_ready(&p, 1100, 5));
}

static void an_open_loop_ends_at_its_stop(void **state)
{
	struct pace_segment segment = {0, 0, (fixed)1000 << 64};
	const struct schedule s = {.order = PACE_EVEN,
		.segments = &segment,
		.count = 1,
		.sends = FIXED_INFINITY,
		.stop = 2500};
	struct pace p = {.left = UINT64_MAX};

	pace_start(&p, &s, 7000, (struct pace_share){0, 1});
	assert_int_equal(pace_pop(&p, 9000), 7500);
	assert_int_equal(pace_pop(&p, 9000), 8500);
	assert_int_equal(p.next, PACE_NEVER); // the third one would be due at the stop
}

static void the_least_ramp_is_of_two(void **state)
{
	struct pace p = {.left = UINT64_MAX};

	pace_start_closed(
		&p, &(struct pace_closed){2, 5000, PACE_NEVER, 1000}, (struct pace_share){0, 1});
	assert_true(pace_ready(&p, 5000, 0));
	assert_false(pace_ready(&p, 5999, 1));
	assert_true(pace_ready(&p, 6000, 1));
	assert_false(pace_ready(&p, 6000, 2));
}

static void a_closed_loop_ends_at_its_stop(void **state)
{
	struct pace p = closed(1, 0, alone), max = closed(0, 0, alone);

	assert_int_equal(max.kind, PACE_MAX);
	assert_true(pace_ready(&p, 4999, 0) && pace_ready(&max, 4999, 1000000));
	assert_false(pace_ready(&p, 5000, 0) || pace_ready(&max, 5000, 0));
	assert_false(pace_over(&p, 4999) || pace_over(&max, 4999));
	assert_true(pace_over(&p, 5000) && pace_over(&max, 5000));
}

static void workers_share_what_is_outstanding(void **state)
{
	for (uint32_t n = 1; n < 20; n++) {
		uint64_t sum = 0;

		for (uint32_t w = 0; w < n; w++)
			sum += closed(10, 0, (struct pace_share){w, n}).outstanding;
		assert_int_equal(sum, 10);
	}
}

static void nothing_is_due_before_the_start(void **state)
{
	struct pace p = closed(1, 0, alone), max = closed(0, 0, alone), rate = open_loop(1e9, 100);

	assert_false(pace_ready(&p, 99, 0) || pace_ready(&max, 99, 0));
	assert_false(pace_ready(&rate, 100, 0));
	assert_true(pace_ready(&p, 100, 0) && pace_ready(&max, 100, 0));
	assert_true(pace_ready(&rate, 103, 0));
}

// Returns the first pace that is due, if any is ready.
static struct pace *first_of(struct pace *all, uint32_t of)
{
	struct pace *first = NULL;

	for (uint32_t w = 0; w < of; w++)
		if (all[w].left && (!first || all[w].next < first->next ||
					   (all[w].next == first->next &&
						   all[w].next_frac < first->next_frac)))
			first = &all[w];
	return first;
}

// Starts the shares of `of` workers in a schedule and its total.
static void share_out(
	struct pace *all, uint32_t of, const struct schedule *s, const struct pace *like)
{
	for (uint32_t w = 0; w < of; w++) {
		const struct pace_share share = {w, of};

		all[w] = (struct pace){.measure = like->measure};
		pace_start(&all[w], s, 12345, share);
		pace_share_total(&all[w], 12345, like->left, share);
	}
}

static struct schedule constant(double rate)
{
	const struct load_settings load = {.rate = rate, .stop_at_ns = UINT64_MAX};
	const struct schedule_base base = {.hz = HZ};
	struct schedule s;

	assert_int_equal(schedule_build(&s, &load, &base), 0);
	return s;
}

static void workers_in_turn_send_what_one_would_have_sent(void **state)
{
	const double rates[] = {7, 20000, 333333, 14.88e6};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		struct schedule s = constant(rates[r]);

		for (uint32_t of = 1; of <= 16; of++) {
			struct pace one = open_loop(rates[r], 12345), all[16];

			share_out(all, of, &s, &one);
			for (uint64_t k = 0; k < 50000; k++) {
				struct pace *p = first_of(all, of);

				assert_int_equal(p - all, k % of);
				assert_int_equal(
					pace_pop(p, UINT64_MAX), pace_pop(&one, UINT64_MAX));
			}
		}
		schedule_free(&s);
	}
}

static void workers_share_a_total_to_the_send_that_would_have_been_the_last(void **state)
{
	const uint64_t warmups[] = {0, 1, 2, 3, 10, 101};
	struct schedule s = constant(1000);

	for (size_t i = 0; i < sizeof(warmups) / sizeof(warmups[0]); i++)
		for (uint32_t of = 1; of <= 5; of++) {
			struct pace one = open_loop(1000, 12345), all[5], *p;
			uint64_t k = 0;

			one.measure = 12345 + (uint64_t)((double)warmups[i] * HZ / 1000);
			one.left = 23;
			share_out(all, of, &s, &one);
			for (; (p = first_of(all, of)) != NULL; k++)
				assert_int_equal(
					pace_pop(p, UINT64_MAX), pace_pop(&one, UINT64_MAX));
			assert_int_equal(k, warmups[i] + 23);
			assert_int_equal(one.left, 0);
		}
	schedule_free(&s);
}

static void no_worker_waits_for_what_is_outstanding_elsewhere(void **state)
{
	const struct pace_closed three = {3, 100, PACE_NEVER, 0};

	for (uint32_t of = 1; of <= 5; of++) {
		uint64_t outstanding = 0, left = 0;

		for (uint32_t w = 0; w < of; w++) {
			const struct pace_share share = {w, of};
			struct pace p = {0};

			pace_start_closed(&p, &three, share);
			pace_share_total(&p, 100, 100, share);
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
		cmocka_unit_test(what_is_too_late_is_not_due_any_more),
		cmocka_unit_test(a_block_is_what_would_be_taken_one_by_one),
		cmocka_unit_test(ten_million_sends_do_not_drift),
		cmocka_unit_test(another_rate_holds_from_a_boundary_on),
		cmocka_unit_test(an_overdue_send_holds_up_another_rate),
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
		cmocka_unit_test(a_closed_loop_that_ramps_up_gets_one_more_at_even_times),
		cmocka_unit_test(an_open_loop_ends_at_its_stop),
		cmocka_unit_test(the_least_ramp_is_of_two),
		cmocka_unit_test(a_closed_loop_ends_at_its_stop),
		cmocka_unit_test(workers_share_what_is_outstanding),
		cmocka_unit_test(nothing_is_due_before_the_start),
		cmocka_unit_test(workers_in_turn_send_what_one_would_have_sent),
		cmocka_unit_test(workers_share_a_total_to_the_send_that_would_have_been_the_last),
		cmocka_unit_test(no_worker_waits_for_what_is_outstanding_elsewhere),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}

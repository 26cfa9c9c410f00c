// SPDX-License-Identifier: BSD-3-Clause
// The timing wheel: nothing leaves early or stays, entries of one time keep their order, and delays
// longer than the wheel work. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rand.h"
#include "engine/core/delay.h"

#define HZ     2600000000.0
#define BUCKET 2048u // ticks, at that rate: the largest power of two within a microsecond

static struct delay wheel(uint32_t count, uint64_t longest)
{
	struct delay d;

	assert_int_equal(delay_init(&d, count, longest, HZ), 0);
	assert_int_equal(1u << d.shift, BUCKET);
	return d;
}

static void *thing(uint64_t n)
{
	return (void *)(uintptr_t)n;
}

static void nothing_leaves_early_and_all_of_it_within_a_bucket(void **state)
{
	struct delay d = wheel(1000, 1000 * BUCKET);
	struct rand r = {1};
	uint64_t at[1000], base = 1ull << 40, now = base;
	void *out[64];
	uint32_t left = 1000;

	for (uint32_t i = 0; i < 1000; i++) {
		at[i] = base + rand_scale(rand_next(&r), 1000 * BUCKET);
		assert_true(delay_put(&d, thing(i), at[i], base));
	}
	for (; left; now += BUCKET / 2) {
		uint32_t n;

		while ((n = delay_take(&d, now, out, 64)) > 0)
			for (uint32_t k = 0; k < n; k++, left--) {
				uint64_t due = at[(uintptr_t)out[k]];

				assert_true(due <= now);
				assert_true(now - due <= BUCKET + BUCKET / 2);
			}
		assert_true(now < base + 1002 * BUCKET);
	}
	assert_int_equal(d.held, 0);
	delay_free(&d);
}

static void what_leaves_together_keeps_its_order(void **state)
{
	struct delay d = wheel(300, 100 * BUCKET);
	void *out[64];
	uint64_t expected = 0;
	uint32_t n;

	for (uint32_t i = 0; i < 300; i++)
		assert_true(delay_put(&d, thing(i), 50 * BUCKET, i));
	assert_int_equal(delay_take(&d, 50 * BUCKET, out, 64), 0);
	while ((n = delay_take(&d, 51 * BUCKET, out, 64)) > 0)
		for (uint32_t k = 0; k < n; k++)
			assert_int_equal((uintptr_t)out[k], expected++);
	assert_int_equal(expected, 300);
	delay_free(&d);
}

static void a_full_wheel_says_so_and_has_room_again(void **state)
{
	struct delay d = wheel(2, BUCKET);
	void *out[4];

	assert_true(delay_put(&d, thing(1), 0, 0));
	assert_true(delay_put(&d, thing(2), 0, 0));
	assert_false(delay_put(&d, thing(3), 0, 0));
	assert_int_equal(delay_take(&d, BUCKET, out, 4), 2);
	assert_true(delay_put(&d, thing(3), 0, BUCKET));
	delay_free(&d);
}

static void a_delay_longer_than_the_wheel_is_right(void **state)
{
	struct delay d = wheel(4, BUCKET);
	uint64_t turn = ((uint64_t)d.mask + 1) * BUCKET, at = 5 * turn + 12345;
	void *out[4];

	assert_true(delay_put(&d, thing(7), at, 0));
	for (uint64_t now = 0; now < at; now += turn / 64)
		assert_int_equal(delay_take(&d, now, out, 4), 0);
	assert_int_equal(delay_take(&d, at + BUCKET, out, 4), 1);
	assert_ptr_equal(out[0], thing(7));
	delay_free(&d);
}

static void a_long_silence_costs_no_order(void **state)
{
	struct delay d = wheel(4, 10 * BUCKET);
	uint64_t later = 1ull << 50;
	void *out[4];

	assert_true(delay_put(&d, thing(1), 3 * BUCKET, 0));
	assert_int_equal(delay_take(&d, 10 * BUCKET, out, 4), 1);
	assert_true(delay_put(&d, thing(2), later + 5 * BUCKET, later));
	assert_true(delay_put(&d, thing(3), later + 4 * BUCKET, later));
	assert_int_equal(delay_take(&d, later + 4 * BUCKET, out, 4), 0);
	assert_int_equal(delay_take(&d, later + 9 * BUCKET, out, 4), 2);
	assert_ptr_equal(out[0], thing(3));
	delay_free(&d);
}

// 1 M/s x 100 ms, all at once: the same few steps for each.
static void a_hundred_thousand_in_flight_come_out_in_order(void **state)
{
	enum { COUNT = 100000 };
	uint64_t delay = (uint64_t)(0.1 * HZ), gap = (uint64_t)(HZ / 1e6), now = 0, expected = 0;
	struct delay d = wheel(COUNT + 16, delay);
	void *out[64];

	for (uint32_t i = 0; i < 3 * COUNT; i++, now += gap) {
		uint32_t n = delay_take(&d, now, out, 64);

		for (uint32_t k = 0; k < n; k++)
			assert_true((uintptr_t)out[k] == expected++);
		if (!delay_put(&d, thing(i), now + delay, now))
			fail();
	}
	assert_in_range(d.held, COUNT - 1, COUNT + 2);
	delay_free(&d);
}

static void what_would_leave_in_years_is_dropped_at_once(void **state)
{
	struct delay d = wheel(10, 1000 * BUCKET);
	const uint64_t base = 1ull << 40, year = 1ull << 56;
	uintptr_t sum = 0;
	void *out;

	assert_null(delay_drop(&d));
	for (uint64_t i = 1; i <= 9; i++)
		assert_true(delay_put(&d, thing(i), base + (i & 1 ? i * year : i * BUCKET), base));
	while ((out = delay_drop(&d)))
		sum += (uintptr_t)out;
	assert_int_equal(sum, 45);
	assert_int_equal(d.held, 0);
	delay_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_leaves_early_and_all_of_it_within_a_bucket),
		cmocka_unit_test(what_leaves_together_keeps_its_order),
		cmocka_unit_test(a_full_wheel_says_so_and_has_room_again),
		cmocka_unit_test(a_delay_longer_than_the_wheel_is_right),
		cmocka_unit_test(a_long_silence_costs_no_order),
		cmocka_unit_test(a_hundred_thousand_in_flight_come_out_in_order),
		cmocka_unit_test(what_would_leave_in_years_is_dropped_at_once),
	};

	return cmocka_run_group_tests_name("delay", tests, NULL, NULL);
}

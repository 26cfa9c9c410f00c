// SPDX-License-Identifier: BSD-3-Clause
// Sums of counters: every word of the struct, 64 bits wide. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/counter.h"

struct counts {
	uint64_t first, list[3], last;
};

static void every_word_is_summed_beyond_32_bits(void **state)
{
	struct counts sum = {1ull << 32, {1, UINT32_MAX, 3ull << 50}, UINT64_MAX - 1};
	const struct counts more = {UINT32_MAX, {2, 1, 5ull << 50}, 1};
	const struct counts want = {
		(1ull << 32) + UINT32_MAX, {3, 1ull << 32, 8ull << 50}, UINT64_MAX};

	counter_sum(&sum, &more, sizeof(sum));
	assert_memory_equal(&sum, &want, sizeof(sum));
}

static void what_lies_behind_is_left_alone(void **state)
{
	uint64_t sum[2] = {1, 2};
	const uint64_t more[2] = {10, 20};

	counter_sum(sum, more, sizeof(sum[0]));
	assert_int_equal(sum[0], 11);
	assert_int_equal(sum[1], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_is_summed_beyond_32_bits),
		cmocka_unit_test(what_lies_behind_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

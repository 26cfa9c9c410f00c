// SPDX-License-Identifier: BSD-3-Clause
// Reproducible randomness, keyed permutations that lose nothing, division that is never off by one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/rand.h"

static void the_stream_is_the_published_splitmix64(void **state)
{
	struct rand r = {1234567};

	// The first outputs of the reference implementation for this seed.
	assert_int_equal(rand_next(&r), UINT64_C(6457827717110365317));
	assert_int_equal(rand_next(&r), UINT64_C(3203168211198807973));
	assert_int_equal(rand_next(&r), UINT64_C(9817491932198370423));
}

static void scaling_reaches_both_ends_evenly(void **state)
{
	unsigned seen[10] = {0};
	struct rand r = {1};

	assert_int_equal(rand_scale(UINT64_MAX, 10), 9);
	assert_int_equal(rand_scale(0, 10), 0);
	assert_int_equal(rand_scale(UINT64_MAX, 1), 0);
	for (unsigned i = 0; i < 100000; i++)
		seen[rand_scale(rand_next(&r), 10)]++;
	for (unsigned i = 0; i < 10; i++)
		assert_in_range(seen[i], 9600, 10400);
}

static void every_16_bit_number_is_met_once(void **state)
{
	static uint8_t seen[1u << 16];

	for (uint64_t seed = 0; seed < 3; seed++) {
		struct perm p;

		perm_init(&p, seed, 16);
		memset(seen, 0, sizeof(seen));
		for (uint64_t x = 0; x < 1u << 16; x++) {
			uint64_t y = perm_map(&p, x);

			assert_true(y < 1u << 16);
			assert_int_equal(seen[y]++, 0);
			assert_int_equal(perm_unmap(&p, y), x);
		}
	}
}

static void the_inverse_holds_for_every_width(void **state)
{
	struct rand r = {5};

	for (unsigned bits = 1; bits <= 64; bits++) {
		uint64_t mask = UINT64_MAX >> (64 - bits);
		struct perm p;

		perm_init(&p, bits, bits);
		for (unsigned i = 0; i < (bits == 32 || bits == 60 ? 20000 : 500); i++) {
			uint64_t x = rand_next(&r) & mask, y = perm_map(&p, x);

			assert_true(y <= mask);
			assert_int_equal(perm_unmap(&p, y), x);
		}
		assert_int_equal(perm_unmap(&p, perm_map(&p, 0)), 0);
		assert_int_equal(perm_unmap(&p, perm_map(&p, mask)), mask);
	}
}

// Keys on the wire follow from these: the same seed gives the same bytes in every version.
static void a_permutation_never_changes(void **state)
{
	static const struct {
		unsigned bits;
		uint64_t of_1, of_a_third;
	} cases[] = {
		{1, 0, 0x1},
		{8, 0x5c, 0x1c},
		{13, 0x166e, 0x1f79},
		{16, 0x49d7, 0x9daa},
		{24, 0xc47003, 0x8b2028},
		{32, 0x8224ba6c, 0x46d5594b},
		{63, 0x2af6a4cb5f625ca0, 0x2228b3997e64f9cf},
		{64, 0xddbe1afedf625ca0, 0xda7d446b53df1cea},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perm p;

		perm_init(&p, 1, cases[i].bits);
		assert_int_equal(perm_map(&p, 1), cases[i].of_1);
		assert_int_equal(perm_map(&p, p.mask / 3), cases[i].of_a_third);
	}
}

static void another_key_is_another_permutation(void **state)
{
	unsigned same = 0;
	struct perm p, q;

	perm_init(&p, 1, 32);
	perm_init(&q, 2, 32);
	for (uint64_t x = 0; x < 1000; x++)
		same += perm_map(&p, x) == perm_map(&q, x);
	assert_true(same < 5);
}

static void assert_mod32(const struct recip *r, uint32_t x)
{
	if (r->divisor <= UINT32_MAX)
		assert_int_equal(recip_mod32(r, x), x % (uint32_t)r->divisor);
}

static void division_is_exact_at_the_edges(void **state)
{
	static const uint64_t numbers[] = {1, 2, 3, 4, 5, 7, 10, 641, 1000, 65535, 65536, 65537,
		UINT32_MAX, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, 6700417, 10000000019,
		(UINT64_C(1) << 63) - 1, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1, UINT64_MAX / 3,
		UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};
	const size_t count = sizeof(numbers) / sizeof(numbers[0]);

	for (size_t d = 0; d < count; d++) {
		struct recip r;

		recip_init(&r, numbers[d]);
		assert_int_equal(recip_div(&r, 0), 0);
		for (size_t i = 0; i < count; i++) {
			for (int k = -2; k <= 2; k++) {
				uint64_t x = numbers[i] + (uint64_t)k;
				uint64_t m = UINT64_MAX / numbers[d] * numbers[d] + (uint64_t)k;

				assert_int_equal(recip_div(&r, x), x / numbers[d]);
				assert_int_equal(recip_mod(&r, x), x % numbers[d]);
				assert_int_equal(recip_div(&r, m), m / numbers[d]);
				assert_mod32(&r, (uint32_t)x);
				assert_mod32(&r, (uint32_t)m);
			}
		}
	}
}

static void division_is_exact_for_random_numbers(void **state)
{
	struct rand rnd = {9};

	for (unsigned i = 0; i < 100000; i++) {
		uint64_t x = rand_next(&rnd) >> rand_scale(rand_next(&rnd), 64);
		uint64_t d = (rand_next(&rnd) >> rand_scale(rand_next(&rnd), 64)) | 1;
		struct recip r;

		recip_init(&r, d);
		assert_int_equal(recip_div(&r, x), x / d);
		assert_int_equal(recip_mod(&r, x), x % d);
		assert_mod32(&r, (uint32_t)x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stream_is_the_published_splitmix64),
		cmocka_unit_test(scaling_reaches_both_ends_evenly),
		cmocka_unit_test(every_16_bit_number_is_met_once),
		cmocka_unit_test(the_inverse_holds_for_every_width),
		cmocka_unit_test(a_permutation_never_changes),
		cmocka_unit_test(another_key_is_another_permutation),
		cmocka_unit_test(division_is_exact_at_the_edges),
		cmocka_unit_test(division_is_exact_for_random_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

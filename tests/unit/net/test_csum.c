// SPDX-License-Identifier: BSD-3-Clause
// The Internet checksum against RFC 1071's own example, captured headers and a plain
// implementation.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "net/csum.h"
#include "samples.h"

static uint16_t checksum(const uint8_t *data, size_t len)
{
	uint16_t wire = csum_fold(csum_add(0, data, len));
	uint8_t bytes[2];

	memcpy(bytes, &wire, 2);
	return get_be16(bytes);
}

static void fill(uint8_t *data, size_t len, uint64_t seed)
{
	struct rand r = {seed};

	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)rand_next(&r);
}

static void gives_the_example_of_rfc1071(void **state)
{
	static const uint8_t example[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};

	assert_int_equal(checksum(example, sizeof(example)), (uint16_t)~0xddf2);
}

static void accepts_a_captured_ipv4_header(void **state)
{
	struct bytes b = sample_load("udp4");

	assert_int_equal(checksum(b.data + 14, 20), 0);
	b.data[14 + 10] = b.data[14 + 11] = 0;
	assert_int_equal(checksum(b.data + 14, 20), 0xf985);
	free(b.data);
}

static void agrees_with_the_plain_sum_for_every_length_and_alignment(void **state)
{
	uint8_t data[300];

	for (size_t start = 0; start < 8; start++) {
		fill(data, sizeof(data), start);
		for (size_t len = 0; len + start <= sizeof(data); len++) {
			uint16_t want = (uint16_t)~plain_sum(0, data + start, len);

			assert_int_equal(checksum(data + start, len), want);
		}
	}
}

static void never_reads_behind_the_data(void **state)
{
	uint8_t data[16];

	fill(data, sizeof(data), 7);
	for (uint32_t len = 0; len <= sizeof(data); len++) {
		struct bytes b = bytes_copy(data, len);

		assert_int_equal(checksum(b.data, len), (uint16_t)~plain_sum(0, data, len));
		free(b.data);
	}
}

static void keeps_every_carry_of_a_large_message(void **state)
{
	static uint8_t data[65535];

	memset(data, 0xff, sizeof(data));
	assert_int_equal(checksum(data, sizeof(data)), (uint16_t)~plain_sum(0, data, sizeof(data)));
	assert_int_equal(checksum(data, sizeof(data) - 1), 0);
}

static void adds_up_from_even_parts(void **state)
{
	uint8_t data[97];
	uint16_t whole;

	fill(data, sizeof(data), 3);
	whole = csum_fold(csum_add(0, data, sizeof(data)));
	for (size_t cut = 0; cut <= sizeof(data); cut += 2) {
		uint64_t sum = csum_add(csum_add(0, data, cut), data + cut, sizeof(data) - cut);

		assert_int_equal(csum_fold(sum), whole);
	}
}

static void folds_sums_of_any_size(void **state)
{
	assert_int_equal(csum_fold(0), 0xffff);
	assert_int_equal(csum_fold(0xffff), 0);
	assert_int_equal(csum_fold(0x10000), 0xfffe);
	assert_int_equal(csum_fold(0xffffffffu), 0);
	assert_int_equal(csum_fold(0x1fffffffeu), 0);
	assert_int_equal(csum_fold(UINT64_MAX), 0);
	assert_int_equal(csum_fold(UINT64_MAX - 1), 1);
	assert_int_equal(csum_fold(0xffffffff00000001u), 0xfffe);
	assert_int_equal(csum_fold(0x0001ffff0001ffffu), (uint16_t)~2);
}

static void a_right_sum_is_a_multiple_of_all_ones(void **state)
{
	struct rand r = {3};

	for (uint64_t i = 1; i < 1000; i++) {
		uint64_t right = 0xffff * i * 0x10000deadull, random = rand_next(&r);

		assert_true(csum_is_right(right));
		assert_false(csum_is_right(right + 1));
		assert_false(csum_is_right(right - 1));
		assert_int_equal(csum_is_right(random), csum_fold(random) == 0);
		random -= random % 0xffff;
		assert_true(csum_is_right(random));
		assert_int_equal(csum_fold(random), 0);
	}
	assert_true(csum_is_right(0xffff));
	assert_true(csum_is_right(UINT64_MAX));
	assert_false(csum_is_right(1));
	assert_false(csum_is_right(UINT64_MAX - 1));
}

static void a_sum_may_begin_with_a_number(void **state)
{
	static const uint32_t starts[] = {0, 1, 0xffff, UINT32_MAX};
	uint8_t data[70];

	for (size_t fill = 0; fill < 2; fill++) {
		memset(data, fill ? 0xff : 0x5a, sizeof(data));
		for (size_t len = 8; len <= sizeof(data); len++)
			for (size_t i = 0; i < 4; i++)
				assert_int_equal(csum_fold(csum_wide_from(starts[i], data, len)),
					csum_fold(csum_add(starts[i], data, len)));
	}
}

static void puts_numbers_in_wire_order(void **state)
{
	static const uint8_t want[2] = {0x12, 0x34};
	uint16_t wire = csum_be16(0x1234);

	assert_memory_equal(&wire, want, 2);
}

static void covers_the_pseudo_header_of_both_families(void **state)
{
	struct bytes v4 = sample_load("udp4"), v6 = sample_load("udp6");
	const uint8_t *ip4 = v4.data + 14, *ip6 = v6.data + 14;
	uint64_t sum;

	sum = csum_pseudo(ip4 + 12, ip4 + 16, 4, 17, v4.len - 34);
	assert_int_equal(csum_fold(csum_add(sum, ip4 + 20, v4.len - 34)), 0);
	sum = csum_pseudo(ip6 + 8, ip6 + 24, 16, 17, v6.len - 54);
	assert_int_equal(csum_fold(csum_add(sum, ip6 + 40, v6.len - 54)), 0);
	sum = csum_pseudo(ip6 + 8, ip6 + 24, 16, 58, v6.len - 54);
	assert_int_not_equal(csum_fold(csum_add(sum, ip6 + 40, v6.len - 54)), 0);
	free(v4.data);
	free(v6.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_the_example_of_rfc1071),
		cmocka_unit_test(accepts_a_captured_ipv4_header),
		cmocka_unit_test(agrees_with_the_plain_sum_for_every_length_and_alignment),
		cmocka_unit_test(never_reads_behind_the_data),
		cmocka_unit_test(keeps_every_carry_of_a_large_message),
		cmocka_unit_test(adds_up_from_even_parts),
		cmocka_unit_test(folds_sums_of_any_size),
		cmocka_unit_test(a_right_sum_is_a_multiple_of_all_ones),
		cmocka_unit_test(a_sum_may_begin_with_a_number),
		cmocka_unit_test(puts_numbers_in_wire_order),
		cmocka_unit_test(covers_the_pseudo_header_of_both_families),
	};

	return cmocka_run_group_tests_name("csum", tests, NULL, NULL);
}

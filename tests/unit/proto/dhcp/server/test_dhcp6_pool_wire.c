// SPDX-License-Identifier: BSD-3-Clause
// Addresses and prefixes of the responder's pools, by number and back. Path: tests only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/dhcp/server/dhcp6_pool.h"

#define NUMBER(high, low) ((dhcp6_number)(high) << 64 | (low))

struct table {
	struct dhcp6_pool p;
	struct dhcp6_range ranges[2];
	struct dhcp_lease leases[8];
};

static void table_init(struct table *t, dhcp6_number first, dhcp6_number second, uint8_t bits)
{
	*t = (struct table){.ranges = {{first, 5, 0}, {second, 3, 5}}};
	t->p = (struct dhcp6_pool){
		.leases = {.count = 8, .shift = 5, .records = (uint8_t *)t->leases},
		.ranges = t->ranges,
		.range_count = 2,
		.bits = bits};
	for (uint32_t i = 0; i < 8; i++)
		t->leases[i].place = i;
}

static void assert_number(const struct table *t, uint32_t lease, dhcp6_number n)
{
	uint8_t bytes[16], expected[16];

	dhcp6_pool_address(&t->p, &t->leases[lease], bytes);
	dhcp6_pool_bytes(n, expected);
	assert_memory_equal(bytes, expected, 16);
	assert_ptr_equal(dhcp6_pool_at(&t->p, bytes, t->p.bits), &t->leases[lease]);
}

static void assert_nobodys(const struct table *t, dhcp6_number n, uint8_t bits)
{
	uint8_t bytes[16];

	dhcp6_pool_bytes(n, bytes);
	assert_null(dhcp6_pool_at(&t->p, bytes, bits));
}

static void addresses_are_found_and_no_others(void **state)
{
	struct table t;

	table_init(
		&t, NUMBER(0x20010db800000001, 0x10), NUMBER(0x20010db800000000, UINT64_MAX), 128);
	assert_number(&t, 0, NUMBER(0x20010db800000001, 0x10));
	assert_number(&t, 4, NUMBER(0x20010db800000001, 0x14));
	assert_number(&t, 5, NUMBER(0x20010db800000000, UINT64_MAX));
	assert_number(&t, 7, NUMBER(0x20010db800000001, 1));
	assert_nobodys(&t, NUMBER(0x20010db800000001, 0x15), 128);
	assert_nobodys(&t, NUMBER(0x20010db800000001, 0x0f), 128);
	assert_nobodys(&t, NUMBER(0x20010db800000001, 0x10), 64);
	assert_nobodys(&t, 0, 128);
}

static void prefixes_are_found_and_no_others(void **state)
{
	struct table t;

	table_init(&t, NUMBER(0x20010db880000000, 0), NUMBER(0x20010db8ffffff00, 0), 56);
	assert_number(&t, 0, NUMBER(0x20010db880000000, 0));
	assert_number(&t, 4, NUMBER(0x20010db880000400, 0));
	assert_number(&t, 7, NUMBER(0x20010db900000100, 0));
	assert_nobodys(&t, NUMBER(0x20010db880000500, 0), 56);
	assert_nobodys(&t, NUMBER(0x20010db880000001, 0), 56); // within one
	assert_nobodys(&t, NUMBER(0x20010db880000000, 1), 56);
	assert_nobodys(&t, NUMBER(0x20010db880000000, 0), 55);
}

static void prefixes_beyond_64_bits_count_as_well(void **state)
{
	struct table t;

	table_init(&t, NUMBER(1, (uint64_t)0xfe << 56), NUMBER(7, 0), 72);
	assert_number(&t, 1, NUMBER(1, (uint64_t)0xff << 56));
	assert_number(&t, 2, NUMBER(2, 0));
	table_init(&t, 0, NUMBER((uint64_t)1 << 63, 0), 3);
	assert_number(&t, 1, NUMBER((uint64_t)1 << 61, 0));
	assert_number(&t, 6, NUMBER((uint64_t)5 << 61, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_found_and_no_others),
		cmocka_unit_test(prefixes_are_found_and_no_others),
		cmocka_unit_test(prefixes_beyond_64_bits_count_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

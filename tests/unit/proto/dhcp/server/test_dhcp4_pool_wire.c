// SPDX-License-Identifier: BSD-3-Clause
// The responder's DHCPv4 leases: found by client, hardware and address, with each client that has
// an id in one more chain. Path: tests only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "proto/dhcp/server/dhcp4_pool.h"

#define COUNT   12
#define BUCKETS 2 // so that chains are long

static const struct dhcp4_range ranges[] = {{100, 5, 0}, {10, 3, 5}, {0xfffffffc, 4, 8}};

struct table {
	struct dhcp4_pool p;
	struct dhcp4_lease leases[COUNT];
	uint32_t by_identity[BUCKETS], by_hardware[BUCKETS];
};

static struct dhcp4_pool *table_new(void)
{
	struct table *t = calloc(1, sizeof(*t));

	t->p = (struct dhcp4_pool){
		.leases = {.count = COUNT,
			.mask = BUCKETS - 1,
			.shift = 6,
			.hold_s = {0, 10, 100, 50},
			.records = (uint8_t *)t->leases,
			.by_identity = t->by_identity},
		.ranges = ranges,
		.range_count = 3,
		.by_hardware = t->by_hardware,
	};
	dhcp4_pool_clear(&t->p);
	return &t->p;
}

static struct table *table_of(const struct dhcp4_pool *p)
{
	return (struct table *)p;
}

static struct dhcp4_asker asker(const struct dhcp4_pool *p, const char *mac, const char *id)
{
	struct dhcp4_asker a = {.chaddr = (const uint8_t *)mac,
		.client_id = (const uint8_t *)id,
		.htype = 1,
		.hlen = 6,
		.client_id_len = id ? (uint16_t)strlen(id) : 0};

	a.identity = dhcp4_pool_identity(p, &a);
	return a;
}

static struct dhcp4_lease *give(
	struct dhcp4_pool *p, const char *mac, const char *id, uint32_t now_s)
{
	struct dhcp4_asker a = asker(p, mac, id);
	struct dhcp4_lease *l = dhcp4_pool_oldest(p, now_s);

	assert_non_null(l);
	dhcp4_pool_give(p, l, &a, now_s);
	return l;
}

static void every_address_has_a_record_and_no_other_has(void **state)
{
	struct dhcp4_pool *p = table_new();
	static const uint32_t there[] = {100, 101, 102, 103, 104, 10, 11, 12, 0xfffffffc,
		0xfffffffd, 0xfffffffe, 0xffffffff};
	static const uint32_t others[] = {0, 9, 13, 99, 105, 0xfffffffb};

	for (uint32_t i = 0; i < COUNT; i++) {
		assert_ptr_equal(dhcp4_pool_at(p, there[i]), &table_of(p)->leases[i]);
		assert_int_equal(dhcp4_pool_address(p, &table_of(p)->leases[i]), there[i]);
	}
	for (uint32_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_null(dhcp4_pool_at(p, others[i]));
	free(p);
}

static void a_client_is_found_by_its_id_or_its_hardware(void **state)
{
	struct dhcp4_pool *p = table_new();
	struct dhcp4_lease *plain = give(p, "aaaaaa", NULL, 0);
	struct dhcp4_lease *first = give(p, "bbbbbb", "one", 0);
	struct dhcp4_lease *second = give(p, "bbbbbb", "two", 0);

	assert_ptr_equal(dhcp4_pool_of_identity(p, asker(p, "aaaaaa", NULL).identity), plain);
	assert_ptr_equal(dhcp4_pool_of_identity(p, asker(p, "xxxxxx", "one").identity), first);
	assert_null(dhcp4_pool_of_identity(p, asker(p, "bbbbbb", NULL).identity));
	assert_ptr_equal(dhcp4_pool_of_hardware(p, 1, (const uint8_t *)"aaaaaa", 6), plain);
	assert_ptr_equal(dhcp4_pool_of_hardware(p, 1, (const uint8_t *)"bbbbbb", 6), second);
	assert_null(dhcp4_pool_of_hardware(p, 2, (const uint8_t *)"bbbbbb", 6));
	dhcp4_pool_rest(p, second, 0);
	assert_ptr_equal(dhcp4_pool_of_hardware(p, 1, (const uint8_t *)"bbbbbb", 6), first);
	assert_null(dhcp4_pool_of_identity(p, asker(p, "bbbbbb", "two").identity));
	free(p);
}

static void a_long_client_id_identifies_but_is_not_kept(void **state)
{
	struct dhcp4_pool *p = table_new();
	struct dhcp4_lease *fits = give(p, "aaaaaa", "1234567890123456789", 0);
	struct dhcp4_lease *longer = give(p, "bbbbbb", "12345678901234567890", 0);

	assert_int_equal(fits->client_id_len, 19);
	assert_memory_equal(fits->bytes, "aaaaaa1234567890123456789", 25);
	assert_int_equal(longer->client_id_len, DHCP4_ID_NOT_KEPT);
	assert_ptr_equal(
		dhcp4_pool_of_identity(p, asker(p, "x", "12345678901234567890").identity), longer);
	free(p);
}

static void a_shared_address_comes_back_to_nobody_twice(void **state)
{
	struct dhcp4_pool *p = table_new();
	struct dhcp4_lease *first = give(p, "aaaaaa", NULL, 0), *second;

	dhcp_pool_move(&p->leases, &first->lease, DHCP_BOUND, 0);
	second = give(p, "bbbbbb", "id", 0);
	assert_true(dhcp_pool_share(&p->leases, &second->lease));
	assert_int_equal(dhcp4_pool_address(p, second), 100);
	dhcp_pool_move(&p->leases, &second->lease, DHCP_BOUND, 0);
	dhcp4_pool_free(p, second, 0);
	assert_int_equal(dhcp4_pool_address(p, second), 101);
	assert_null(dhcp4_pool_of_identity(p, asker(p, "bbbbbb", "id").identity));
	assert_null(dhcp4_pool_of_hardware(p, 1, (const uint8_t *)"bbbbbb", 6));
	assert_ptr_equal(dhcp4_pool_at(p, 100), first);
	free(p);
}

// Who has a client-id is in one chain, and nobody else.
static void assert_hardware_chained(const struct dhcp4_pool *p)
{
	uint32_t chained = 0, known = 0;

	for (uint32_t b = 0; b < BUCKETS; b++)
		for (uint32_t i = p->by_hardware[b]; i != DHCP_NO_LEASE;
			i = table_of(p)->leases[i].same_hardware)
			assert_true(++chained <= COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		known += table_of(p)->leases[i].client_id_len != 0;
	assert_int_equal(chained, known);
}

static void any_order_of_operations_keeps_the_hardware_chains(void **state)
{
	static const char *const ids[] = {NULL, "x", "y"};
	struct dhcp4_pool *p = table_new();
	struct rand r = {.state = 11};

	for (uint32_t now_s = 0; now_s < 5000; now_s++) {
		char mac[7] = "aaaaa";
		const char *id = ids[rand_scale(rand_next(&r), 3)];
		struct dhcp4_asker a;
		struct dhcp4_lease *l;

		mac[5] = (char)('a' + rand_scale(rand_next(&r), 9));
		a = asker(p, mac, id);
		l = dhcp4_pool_of_identity(p, a.identity);
		if (!l && (l = dhcp4_pool_oldest(p, now_s)))
			dhcp4_pool_give(p, l, &a, now_s);
		if (!l)
			continue;
		switch (rand_scale(rand_next(&r), 5)) {
		case 0:
			dhcp4_pool_free(p, l, now_s);
			break;
		case 1:
			dhcp4_pool_rest(p, l, now_s);
			break;
		case 2:
			if (!dhcp_pool_is_shared(&p->leases, &l->lease) &&
				l->lease.state == DHCP_OFFERED)
				dhcp_pool_share(&p->leases, &l->lease);
			break;
		default:
			dhcp_pool_move(&p->leases, &l->lease, DHCP_BOUND, now_s);
		}
		assert_hardware_chained(p);
	}
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_has_a_record_and_no_other_has),
		cmocka_unit_test(a_client_is_found_by_its_id_or_its_hardware),
		cmocka_unit_test(a_long_client_id_identifies_but_is_not_kept),
		cmocka_unit_test(a_shared_address_comes_back_to_nobody_twice),
		cmocka_unit_test(any_order_of_operations_keeps_the_hardware_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// The responder's lease table by itself: found by client, hardware and address, and given in the
// right order, with every record in one queue and each client in one chain. Path: tests only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "proto/dhcp4_pool.h"

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
		.ranges = ranges,
		.range_count = 3,
		.count = COUNT,
		.mask = BUCKETS - 1,
		.hold_s = {0, 10, 100, 50},
		.leases = t->leases,
		.by_identity = t->by_identity,
		.by_hardware = t->by_hardware,
	};
	dhcp4_pool_clear(&t->p);
	return &t->p;
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
		assert_ptr_equal(dhcp4_pool_at(p, there[i]), &p->leases[i]);
		assert_int_equal(p->leases[i].address, there[i]);
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
	struct dhcp4_lease *fits = give(p, "aaaaaa", "12345678901234567890", 0);
	struct dhcp4_lease *longer = give(p, "bbbbbb", "123456789012345678901", 0);

	assert_int_equal(fits->client_id_len, 20);
	assert_memory_equal(fits->bytes, "aaaaaa12345678901234567890", 26);
	assert_int_equal(longer->client_id_len, 0);
	assert_ptr_equal(
		dhcp4_pool_of_identity(p, asker(p, "x", "123456789012345678901").identity), longer);
	free(p);
}

static void free_comes_before_old_offers_bindings_and_resting(void **state)
{
	struct dhcp4_pool *p = table_new();
	char mac[7] = "aaaaa";
	struct dhcp4_lease *l[COUNT];

	for (uint32_t i = 0; i < COUNT; i++) {
		mac[5] = (char)('a' + i);
		l[i] = give(p, mac, NULL, 0);
	}
	for (uint32_t i = 2; i < COUNT; i++)
		dhcp4_pool_move(p, l[i], DHCP4_BOUND, 1);
	dhcp4_pool_rest(p, l[2], 2);
	assert_null(dhcp4_pool_oldest(p, 9));
	assert_ptr_equal(dhcp4_pool_oldest(p, 10), l[0]); // an offer
	dhcp4_pool_move(p, l[0], DHCP4_BOUND, 10);
	dhcp4_pool_move(p, l[1], DHCP4_BOUND, 10);
	assert_null(dhcp4_pool_oldest(p, 51));
	assert_ptr_equal(dhcp4_pool_oldest(p, 52), l[2]);  // rested
	assert_ptr_equal(dhcp4_pool_oldest(p, 101), l[3]); // the oldest binding
	dhcp4_pool_free(p, l[7], 102);
	assert_ptr_equal(dhcp4_pool_oldest(p, 102), l[7]);
	p->hold_s[DHCP4_BOUND] = UINT32_MAX;
	dhcp4_pool_move(p, l[7], DHCP4_BOUND, 102);
	dhcp4_pool_move(p, l[2], DHCP4_OFFERED, 102);
	assert_null(dhcp4_pool_oldest(p, 102)); // for ever
	free(p);
}

static void a_shared_address_comes_back_to_nobody_twice(void **state)
{
	struct dhcp4_pool *p = table_new();
	struct dhcp4_lease *first = give(p, "aaaaaa", NULL, 0), *second;

	assert_false(dhcp4_pool_share(p, first));
	dhcp4_pool_move(p, first, DHCP4_BOUND, 0);
	assert_false(dhcp4_pool_share(p, first));
	second = give(p, "bbbbbb", NULL, 0);
	assert_true(dhcp4_pool_share(p, second));
	assert_int_equal(second->address, first->address);
	dhcp4_pool_move(p, second, DHCP4_BOUND, 0);
	assert_int_equal(p->last_bound, 0);
	dhcp4_pool_free(p, second, 0);
	assert_int_equal(second->address, 101);
	assert_null(dhcp4_pool_of_identity(p, asker(p, "bbbbbb", NULL).identity));
	assert_ptr_equal(dhcp4_pool_at(p, 100), first);
	assert_int_equal(first->state, DHCP4_BOUND);
	free(p);
}

static void assert_whole(const struct dhcp4_pool *p)
{
	uint32_t queued = 0, chained = 0, known = 0;

	for (uint32_t s = 0; s < DHCP4_LEASE_STATES; s++)
		for (uint32_t i = p->queues[s].head; i != DHCP4_NO_LEASE; i = p->leases[i].next) {
			assert_int_equal(p->leases[i].state, s);
			assert_true(++queued <= COUNT);
		}
	assert_int_equal(queued, COUNT);
	for (uint32_t b = 0; b < BUCKETS; b++)
		for (uint32_t i = p->by_identity[b]; i != DHCP4_NO_LEASE;
			i = p->leases[i].same_identity)
			assert_true(++chained <= COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		known += p->leases[i].identity != 0;
	assert_int_equal(chained, known);
}

static void any_order_of_operations_keeps_queues_and_chains(void **state)
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
			if (!l->shared && l->state == DHCP4_OFFERED)
				dhcp4_pool_share(p, l);
			break;
		default:
			dhcp4_pool_move(p, l, DHCP4_BOUND, now_s);
		}
		assert_whole(p);
	}
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_has_a_record_and_no_other_has),
		cmocka_unit_test(a_client_is_found_by_its_id_or_its_hardware),
		cmocka_unit_test(a_long_client_id_identifies_but_is_not_kept),
		cmocka_unit_test(free_comes_before_old_offers_bindings_and_resting),
		cmocka_unit_test(a_shared_address_comes_back_to_nobody_twice),
		cmocka_unit_test(any_order_of_operations_keeps_queues_and_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

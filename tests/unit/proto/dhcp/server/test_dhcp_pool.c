// SPDX-License-Identifier: BSD-3-Clause
// The lease table of the server on its own: numbers and clients are found, records are given in the
// right order, every record is in one queue and each client in one chain. Path: tests only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "proto/dhcp/server/dhcp_pool.h"

#define COUNT             12
#define BUCKETS           2 // so that chains are long
#define NUMBER(high, low) ((dhcp_number)(high) << 64 | (low))

struct table {
	struct dhcp_pool p;
	struct dhcp_lease leases[COUNT];
	uint32_t by_identity[BUCKETS];
};

static struct dhcp_pool *table_new(void)
{
	struct table *t = calloc(1, sizeof(*t));

	t->p = (struct dhcp_pool){
		.count = COUNT,
		.mask = BUCKETS - 1,
		.shift = 5,
		.hold_s = {0, 10, 100, 50},
		.records = (uint8_t *)t->leases,
		.by_identity = t->by_identity,
	};
	dhcp_pool_clear(&t->p);
	return &t->p;
}

static struct dhcp_lease *give(struct dhcp_pool *p, uint64_t identity, uint32_t now_s)
{
	struct dhcp_lease *l = dhcp_pool_oldest(p, now_s);

	assert_non_null(l);
	dhcp_pool_give(p, l, identity, now_s);
	return l;
}

static void a_pool_of_any_size_is_made_and_cleared(void **state)
{
	static const uint32_t counts[] = {0, 1, 3, 4, 1000};

	for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct dhcp_pool p;

		assert_int_equal(
			dhcp_pool_make(&p, counts[i], sizeof(struct dhcp_lease), i & 1, 1), 0);
		assert_int_equal(p.by_hardware != NULL, i & 1);
		p.hold_s[DHCP_OFFERED] = DHCP_OFFER_S;
		dhcp_pool_clear(&p);
		for (uint32_t k = 0; k < counts[i]; k++)
			assert_ptr_equal(give(&p, k + 1, 0), dhcp_pool_record(&p, k));
		assert_null(dhcp_pool_oldest(&p, DHCP_OFFER_S - 1));
		assert_int_equal(dhcp_pool_oldest(&p, DHCP_OFFER_S) != NULL, counts[i] > 0);
		dhcp_pool_unmake(&p);
	}
}

static struct dhcp_pool *ranges_new(dhcp_number first, dhcp_number second, uint32_t step)
{
	struct dhcp_pool *p = table_new();

	p->step = step;
	p->range_count = 2;
	p->ranges[0] = (struct dhcp_range){first, 5, 0};
	p->ranges[1] = (struct dhcp_range){second, COUNT - 5, 5};
	return p;
}

static void assert_number(const struct dhcp_pool *p, uint32_t lease, dhcp_number n)
{
	assert_true(dhcp_pool_number(p, dhcp_pool_record(p, lease)) == n);
	assert_ptr_equal(dhcp_pool_at(p, n), dhcp_pool_record(p, lease));
}

static void addresses_are_found_and_no_others(void **state)
{
	struct dhcp_pool *p = ranges_new(
		NUMBER(0x20010db800000001, 0x10), NUMBER(0x20010db800000000, UINT64_MAX), 0);

	assert_number(p, 0, NUMBER(0x20010db800000001, 0x10));
	assert_number(p, 4, NUMBER(0x20010db800000001, 0x14));
	assert_number(p, 5, NUMBER(0x20010db800000000, UINT64_MAX));
	assert_number(p, 7, NUMBER(0x20010db800000001, 1));
	assert_null(dhcp_pool_at(p, NUMBER(0x20010db800000001, 0x15)));
	assert_null(dhcp_pool_at(p, NUMBER(0x20010db800000001, 0x0f)));
	assert_null(dhcp_pool_at(p, 0));
	free(p);
	p = ranges_new(100, 0xfffffff9, 0); // IPv4, up to its last address
	assert_number(p, 0, 100);
	assert_number(p, 4, 104);
	assert_number(p, 11, 0xffffffff);
	assert_null(dhcp_pool_at(p, 0));
	assert_null(dhcp_pool_at(p, 99));
	assert_null(dhcp_pool_at(p, 105));
	assert_null(dhcp_pool_at(p, 0xfffffff8));
	free(p);
}

static void prefixes_are_found_and_no_others(void **state)
{
	struct dhcp_pool *p =
		ranges_new(NUMBER(0x20010db880000000, 0), NUMBER(0x20010db8ffffff00, 0), 128 - 56);

	assert_number(p, 0, NUMBER(0x20010db880000000, 0));
	assert_number(p, 4, NUMBER(0x20010db880000400, 0));
	assert_number(p, 7, NUMBER(0x20010db900000100, 0));
	assert_null(dhcp_pool_at(p, NUMBER(0x20010db880000500, 0)));
	assert_null(dhcp_pool_at(p, NUMBER(0x20010db880000001, 0))); // within one
	assert_null(dhcp_pool_at(p, NUMBER(0x20010db880000000, 1)));
	free(p);
	p = ranges_new(NUMBER(1, (uint64_t)0xfe << 56), NUMBER(7, 0), 128 - 72);
	assert_number(p, 1, NUMBER(1, (uint64_t)0xff << 56));
	assert_number(p, 2, NUMBER(2, 0));
	free(p);
	p = ranges_new(0, NUMBER((uint64_t)5 << 61, 0), 128 - 3);
	assert_number(p, 1, NUMBER((uint64_t)1 << 61, 0));
	assert_number(p, 6, NUMBER((uint64_t)6 << 61, 0));
	free(p);
}

static void a_client_is_found_until_another_gets_its_record(void **state)
{
	struct dhcp_pool *p = table_new();
	struct dhcp_lease *first = give(p, 2, 0), *second = give(p, 4, 0);

	assert_ptr_equal(dhcp_pool_of_identity(p, 2), first);
	assert_ptr_equal(dhcp_pool_of_identity(p, 4), second);
	assert_null(dhcp_pool_of_identity(p, 6));
	dhcp_pool_free(p, first, 0);
	assert_ptr_equal(dhcp_pool_of_identity(p, 2), first);
	dhcp_pool_give(p, first, 6, 0);
	assert_null(dhcp_pool_of_identity(p, 2));
	assert_ptr_equal(dhcp_pool_of_identity(p, 6), first);
	dhcp_pool_rest(p, second, 0);
	assert_null(dhcp_pool_of_identity(p, 4));
	free(p);
}

static void free_comes_before_old_offers_bindings_and_resting(void **state)
{
	struct dhcp_pool *p = table_new();
	struct dhcp_lease *l[COUNT];

	for (uint32_t i = 0; i < COUNT; i++)
		l[i] = give(p, i + 1, 0);
	for (uint32_t i = 2; i < COUNT; i++)
		dhcp_pool_move(p, l[i], DHCP_BOUND, 1);
	dhcp_pool_rest(p, l[2], 2);
	assert_null(dhcp_pool_oldest(p, 9));
	assert_ptr_equal(dhcp_pool_oldest(p, 10), l[0]); // an offer
	dhcp_pool_move(p, l[0], DHCP_BOUND, 10);
	dhcp_pool_move(p, l[1], DHCP_BOUND, 10);
	assert_null(dhcp_pool_oldest(p, 51));
	assert_ptr_equal(dhcp_pool_oldest(p, 52), l[2]);  // rested
	assert_ptr_equal(dhcp_pool_oldest(p, 101), l[3]); // the oldest binding
	dhcp_pool_free(p, l[7], 102);
	assert_ptr_equal(dhcp_pool_oldest(p, 102), l[7]);
	p->hold_s[DHCP_BOUND] = UINT32_MAX;
	dhcp_pool_move(p, l[7], DHCP_BOUND, 102);
	dhcp_pool_move(p, l[2], DHCP_OFFERED, 102);
	assert_null(dhcp_pool_oldest(p, 102)); // for ever
	free(p);
}

static void a_shared_place_comes_back_to_nobody_twice(void **state)
{
	struct dhcp_pool *p = table_new();
	struct dhcp_lease *first = give(p, 1, 0), *second;

	assert_false(dhcp_pool_share(p, first));
	dhcp_pool_move(p, first, DHCP_BOUND, 0);
	assert_false(dhcp_pool_share(p, first));
	second = give(p, 2, 0);
	assert_true(dhcp_pool_share(p, second));
	assert_int_equal(second->place, first->place);
	assert_true(dhcp_pool_is_shared(p, second));
	dhcp_pool_move(p, second, DHCP_BOUND, 0);
	assert_int_equal(p->last_bound, 0);
	dhcp_pool_free(p, second, 0);
	assert_int_equal(second->place, 1);
	assert_false(dhcp_pool_is_shared(p, second));
	assert_null(dhcp_pool_of_identity(p, 2));
	assert_int_equal(first->state, DHCP_BOUND);
	free(p);
}

static void assert_whole(const struct dhcp_pool *p)
{
	uint32_t queued = 0, chained = 0, known = 0;

	for (uint32_t s = 0; s < DHCP_LEASE_STATES; s++)
		for (uint32_t i = p->queues[s].head; i != DHCP_NO_LEASE;
			i = dhcp_pool_record(p, i)->next) {
			assert_int_equal(dhcp_pool_record(p, i)->state, s);
			assert_true(++queued <= COUNT);
		}
	assert_int_equal(queued, COUNT);
	for (uint32_t b = 0; b < BUCKETS; b++)
		for (uint32_t i = p->by_identity[b]; i != DHCP_NO_LEASE;
			i = dhcp_pool_record(p, i)->same_identity)
			assert_true(++chained <= COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		known += dhcp_pool_record(p, i)->identity != 0;
	assert_int_equal(chained, known);
}

static void any_order_of_operations_keeps_queues_and_chains(void **state)
{
	struct dhcp_pool *p = table_new();
	struct rand r = {.state = 11};

	for (uint32_t now_s = 0; now_s < 5000; now_s++) {
		uint64_t identity = 1 + rand_scale(rand_next(&r), 27);
		struct dhcp_lease *l = dhcp_pool_of_identity(p, identity);

		if (!l && (l = dhcp_pool_oldest(p, now_s)))
			dhcp_pool_give(p, l, identity, now_s);
		if (!l)
			continue;
		switch (rand_scale(rand_next(&r), 5)) {
		case 0:
			dhcp_pool_free(p, l, now_s);
			break;
		case 1:
			dhcp_pool_rest(p, l, now_s);
			break;
		case 2:
			if (!dhcp_pool_is_shared(p, l) && l->state == DHCP_OFFERED)
				dhcp_pool_share(p, l);
			break;
		default:
			dhcp_pool_move(p, l, DHCP_BOUND, now_s);
		}
		assert_whole(p);
	}
	free(p);
}

static void every_byte_of_an_identity_counts(void **state)
{
	uint8_t bytes[20] = {0};
	uint64_t plain = dhcp_pool_hash(1, bytes, sizeof(bytes));

	assert_int_not_equal(plain, dhcp_pool_hash(2, bytes, sizeof(bytes)));
	for (uint32_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = 1;
		assert_int_not_equal(plain, dhcp_pool_hash(1, bytes, sizeof(bytes)));
		bytes[i] = 0;
		assert_int_not_equal(plain, dhcp_pool_hash(1, bytes, i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_of_any_size_is_made_and_cleared),
		cmocka_unit_test(addresses_are_found_and_no_others),
		cmocka_unit_test(prefixes_are_found_and_no_others),
		cmocka_unit_test(a_client_is_found_until_another_gets_its_record),
		cmocka_unit_test(free_comes_before_old_offers_bindings_and_resting),
		cmocka_unit_test(a_shared_place_comes_back_to_nobody_twice),
		cmocka_unit_test(any_order_of_operations_keeps_queues_and_chains),
		cmocka_unit_test(every_byte_of_an_identity_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

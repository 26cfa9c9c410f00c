// SPDX-License-Identifier: BSD-3-Clause
// The index of DHCPv4 leases by hardware address: each client that has a client-id is in one more
// chain. Path: tests only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "proto/dhcp/server/dhcp4_pool.h"

#define COUNT   12
#define BUCKETS 2 // so that chains are long

struct table {
	struct dhcp_pool p;
	struct dhcp4_lease leases[COUNT];
	uint32_t by_identity[BUCKETS], by_hardware[BUCKETS];
};

static struct dhcp_pool *table_new(void)
{
	struct table *t = calloc(1, sizeof(*t));

	t->p = (struct dhcp_pool){
		.count = COUNT,
		.mask = BUCKETS - 1,
		.shift = 6,
		.hold_s = {0, 10, 100, 50},
		.records = (uint8_t *)t->leases,
		.by_identity = t->by_identity,
		.by_hardware = t->by_hardware,
	};
	dhcp_pool_clear(&t->p);
	return &t->p;
}

static struct table *table_of(const struct dhcp_pool *p)
{
	return (struct table *)p;
}

static struct dhcp4_identity client(const char *mac, const char *id)
{
	return (struct dhcp4_identity){.chaddr = (const uint8_t *)mac,
		.client_id = (const uint8_t *)id,
		.htype = 1,
		.hlen = 6,
		.client_id_len = id ? (uint16_t)strlen(id) : 0};
}

static struct dhcp4_lease *lease_of(const struct dhcp_pool *p, const char *mac, const char *id)
{
	struct dhcp4_identity c = client(mac, id);

	return (struct dhcp4_lease *)dhcp_pool_of_identity(p, dhcp4_pool_identity(p, &c));
}

static struct dhcp4_lease *give(
	struct dhcp_pool *p, const char *mac, const char *id, uint32_t now_s)
{
	struct dhcp4_identity c = client(mac, id);
	struct dhcp_lease *l = dhcp_pool_oldest(p, now_s);

	if (!l)
		return NULL;
	dhcp4_pool_forget(p, l);
	dhcp_pool_give(p, l, dhcp4_pool_identity(p, &c), now_s);
	dhcp4_pool_keep(p, l, &c);
	return (struct dhcp4_lease *)l;
}

static void a_client_is_found_by_its_id_or_its_hardware(void **state)
{
	struct dhcp_pool *p = table_new();
	struct dhcp4_lease *plain = give(p, "aaaaaa", NULL, 0);
	struct dhcp4_lease *first = give(p, "bbbbbb", "one", 0);
	struct dhcp4_lease *second = give(p, "bbbbbb", "two", 0);

	assert_ptr_equal(lease_of(p, "aaaaaa", NULL), plain);
	assert_ptr_equal(lease_of(p, "xxxxxx", "one"), first);
	assert_null(lease_of(p, "bbbbbb", NULL));
	assert_ptr_equal(dhcp4_pool_of_hardware(p, 1, (const uint8_t *)"aaaaaa", 6), plain);
	assert_ptr_equal(dhcp4_pool_of_hardware(p, 1, (const uint8_t *)"bbbbbb", 6), second);
	assert_null(dhcp4_pool_of_hardware(p, 2, (const uint8_t *)"bbbbbb", 6));
	dhcp4_pool_forget(p, &second->lease);
	assert_ptr_equal(dhcp4_pool_of_hardware(p, 1, (const uint8_t *)"bbbbbb", 6), first);
	free(p);
}

static void a_long_client_id_identifies_but_is_not_kept(void **state)
{
	struct dhcp_pool *p = table_new();
	struct dhcp4_lease *fits = give(p, "aaaaaa", "1234567890123456789", 0);
	struct dhcp4_lease *longer = give(p, "bbbbbb", "12345678901234567890", 0);

	assert_int_equal(fits->client_id_len, 19);
	assert_memory_equal(fits->bytes, "aaaaaa1234567890123456789", 25);
	assert_int_equal(longer->client_id_len, DHCP4_ID_NOT_KEPT);
	assert_ptr_equal(lease_of(p, "xxxxxx", "12345678901234567890"), longer);
	free(p);
}

// Each client with a client-id is in one chain, and no other client is in any.
static void assert_hardware_chained(const struct dhcp_pool *p)
{
	uint32_t chained = 0, known = 0;

	for (uint32_t b = 0; b < BUCKETS; b++)
		for (uint32_t i = p->by_hardware[b], before = i; i != DHCP_NO_LEASE;
			before = i, i = table_of(p)->leases[i].same_hardware) {
			assert_int_equal(table_of(p)->leases[i].lease.before, before);
			assert_true(++chained <= COUNT);
		}
	for (uint32_t i = 0; i < COUNT; i++)
		known += table_of(p)->leases[i].client_id_len != 0;
	assert_int_equal(chained, known);
}

static void any_order_of_operations_keeps_the_hardware_chains(void **state)
{
	static const char *const ids[] = {NULL, "x", "y"};
	struct dhcp_pool *p = table_new();
	struct rand r = {.state = 11};

	for (uint32_t now_s = 0; now_s < 5000; now_s++) {
		char mac[7] = "aaaaa";
		const char *id = ids[rand_scale(rand_next(&r), 3)];
		struct dhcp4_lease *l;

		mac[5] = (char)('a' + rand_scale(rand_next(&r), 9));
		l = lease_of(p, mac, id);
		if (!l)
			l = give(p, mac, id, now_s);
		if (!l)
			continue;
		if (rand_scale(rand_next(&r), 3)) {
			dhcp_pool_move(p, &l->lease, DHCP_BOUND, now_s);
		} else {
			dhcp4_pool_forget(p, &l->lease);
			dhcp_pool_rest(p, &l->lease, now_s);
		}
		assert_hardware_chained(p);
	}
	free(p);
}

// Only the neighbours in the chain are read: all other links are invalid here.
static void a_lease_leaves_a_chain_without_a_walk(void **state)
{
	struct dhcp_pool *p = table_new();
	struct dhcp4_lease *leases = table_of(p)->leases;

	for (char i = 0; i < COUNT; i++)
		assert_ptr_equal(
			give(p, "aaaaaa", (char[]){(char)('a' + i), 0}, 0), &leases[(int)i]);
	leases[COUNT - 1].same_hardware = DHCP_NO_LEASE - 1;
	leases[COUNT - 2].same_hardware = DHCP_NO_LEASE - 1;
	dhcp4_pool_forget(p, &leases[0].lease);
	dhcp4_pool_forget(p, &leases[5].lease);
	assert_int_equal(leases[1].same_hardware, DHCP_NO_LEASE);
	assert_int_equal(leases[6].same_hardware, 4);
	assert_int_equal(leases[4].lease.before, 6);
	free(p);
}

// One MAC address and always new client identifiers: walking the chains would take 10^10 steps.
static void a_flood_of_clients_with_one_mac_takes_no_longer(void **state)
{
	const uint32_t count = 1 << 17;
	struct dhcp_pool p;
	char id[16];

	assert_int_equal(dhcp_pool_make(&p, count, sizeof(struct dhcp4_lease), true, 1), 0);
	dhcp_pool_clear(&p);
	p.hold_s[DHCP_OFFERED] = 0;
	for (uint32_t i = 0; i < 3 * count; i++) {
		snprintf(id, sizeof(id), "%u", i);
		assert_non_null(give(&p, "aaaaaa", id, 0));
	}
	assert_ptr_equal(dhcp4_pool_of_hardware(&p, 1, (const uint8_t *)"aaaaaa", 6),
		lease_of(&p, "aaaaaa", id));
	dhcp_pool_unmake(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_is_found_by_its_id_or_its_hardware),
		cmocka_unit_test(a_long_client_id_identifies_but_is_not_kept),
		cmocka_unit_test(any_order_of_operations_keeps_the_hardware_chains),
		cmocka_unit_test(a_lease_leaves_a_chain_without_a_walk),
		cmocka_unit_test(a_flood_of_clients_with_one_mac_takes_no_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

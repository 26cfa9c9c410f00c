// SPDX-License-Identifier: BSD-3-Clause
// The rings and the address table of DHCPv4 clients: order, exactness under churn, expiry and size.
// Path: tests only.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rand.h"
#include "proto/dhcp4_clients.h"

#define FOREVER UINT32_MAX
#define MIB     (1024.0 * 1024)

static struct dhcp4_clients made(uint32_t count)
{
	struct dhcp4_clients c;

	assert_int_equal(dhcp4_clients_init(&c, count), 0);
	return c;
}

static uint32_t bind_next(struct dhcp4_clients *c, uint32_t address, uint32_t expires_s)
{
	uint32_t client = dhcp4_clients_take(c, DHCP4_IS_FREE, 0);

	assert_int_not_equal(client, DHCP4_NOBODY);
	assert_int_equal(dhcp4_clients_hold(c, client, address, 0), DHCP4_NOBODY);
	c->items[client].expires_s = expires_s;
	dhcp4_clients_give(c, client);
	return client;
}

static void clients_are_taken_in_turn_and_once(void **state)
{
	struct dhcp4_clients c = made(3);

	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), i);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), DHCP4_NOBODY);
	dhcp4_clients_give(&c, 2);
	dhcp4_clients_give(&c, 0);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), 2);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), 0);
	dhcp4_clients_free(&c);
}

static void a_client_with_an_address_is_bound_and_not_free(void **state)
{
	struct dhcp4_clients c = made(2);

	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_BOUND, 0), DHCP4_NOBODY);
	bind_next(&c, 7, FOREVER);
	assert_int_equal(dhcp4_clients_holder(&c, 7), 0);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), 1);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), DHCP4_NOBODY);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_BOUND, 0), 0);
	dhcp4_clients_drop(&c, 0);
	dhcp4_clients_give(&c, 0);
	assert_int_equal(dhcp4_clients_holder(&c, 7), DHCP4_NOBODY);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), 0);
	dhcp4_clients_free(&c);
}

static void an_address_that_is_held_is_not_given_twice(void **state)
{
	struct dhcp4_clients c = made(2);

	bind_next(&c, 7, 100);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), 1);
	assert_int_equal(dhcp4_clients_hold(&c, 1, 7, 99), 0);
	assert_int_equal(c.items[1].address, 0);
	assert_int_equal(dhcp4_clients_holder(&c, 7), 0);
	dhcp4_clients_free(&c);
}

static void an_address_whose_lease_ran_out_is_anybodys(void **state)
{
	struct dhcp4_clients c = made(2);

	bind_next(&c, 7, 100);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), 1);
	assert_int_equal(dhcp4_clients_hold(&c, 1, 7, 100), DHCP4_NOBODY);
	assert_int_equal(dhcp4_clients_holder(&c, 7), 1);
	assert_int_equal(c.items[0].address, 0);
	assert_int_equal(c.held, 1);
	assert_int_equal(dhcp4_clients_expire(&c, 100), 1);
	assert_int_equal(dhcp4_clients_holder(&c, 7), 1);
	dhcp4_clients_free(&c);
}

static void a_client_holds_one_address(void **state)
{
	struct dhcp4_clients c = made(1);

	bind_next(&c, 7, FOREVER);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_BOUND, 0), 0);
	assert_int_equal(dhcp4_clients_hold(&c, 0, 8, 0), DHCP4_NOBODY);
	assert_int_equal(dhcp4_clients_hold(&c, 0, 8, 0), DHCP4_NOBODY);
	assert_int_equal(c.held, 1);
	assert_int_equal(dhcp4_clients_holder(&c, 7), DHCP4_NOBODY);
	assert_int_equal(dhcp4_clients_holder(&c, 8), 0);
	dhcp4_clients_free(&c);
}

static void leases_run_out_in_their_order_and_a_bound_one_is_never_old(void **state)
{
	struct dhcp4_clients c = made(4);

	for (uint32_t i = 0; i < 3; i++)
		bind_next(&c, 10 + i, 100 + i);
	bind_next(&c, 13, FOREVER);
	assert_int_equal(dhcp4_clients_expire(&c, 99), 0);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_BOUND, 101), DHCP4_NOBODY);
	assert_int_equal(dhcp4_clients_expire(&c, 101), 2);
	assert_int_equal(dhcp4_clients_holder(&c, 11), DHCP4_NOBODY);
	assert_int_equal(dhcp4_clients_holder(&c, 12), 2);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_BOUND, 101), 2);
	assert_int_equal(dhcp4_clients_expire(&c, FOREVER - 1), 0);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 101), 0);
	dhcp4_clients_free(&c);
}

static void one_call_takes_back_a_bounded_number(void **state)
{
	struct dhcp4_clients c = made(3 * DHCP4_EXPIRE_MAX);

	for (uint32_t i = 0; i < c.count; i++)
		bind_next(&c, 10 + i, 5);
	assert_int_equal(dhcp4_clients_expire(&c, 5), DHCP4_EXPIRE_MAX);
	assert_int_equal(dhcp4_clients_expire(&c, 5), DHCP4_EXPIRE_MAX);
	assert_int_equal(dhcp4_clients_expire(&c, 5), DHCP4_EXPIRE_MAX);
	assert_int_equal(dhcp4_clients_expire(&c, 5), 0);
	assert_int_equal(c.held, 0);
	dhcp4_clients_free(&c);
}

// Against a plain array: a random mix of holding and dropping, full at times.
static void churn(uint32_t clients, uint32_t addresses)
{
	struct dhcp4_clients c = made(clients);
	uint32_t holder[100];
	struct rand r = {42};

	for (uint32_t a = 0; a < addresses; a++)
		holder[a] = DHCP4_NOBODY;
	for (uint32_t i = 0; i < clients; i++)
		c.items[i].expires_s = FOREVER;
	for (uint32_t step = 0; step < 100000; step++) {
		uint32_t client = (uint32_t)rand_scale(rand_next(&r), clients);
		uint32_t a = (uint32_t)rand_scale(rand_next(&r), addresses);
		uint32_t old = c.items[client].address;

		if (rand_next(&r) & 1) {
			dhcp4_clients_drop(&c, client);
			if (old)
				holder[old - 1000] = DHCP4_NOBODY;
		} else if (holder[a] == DHCP4_NOBODY || holder[a] == client) {
			assert_int_equal(dhcp4_clients_hold(&c, client, 1000 + a, 0), DHCP4_NOBODY);
			if (old)
				holder[old - 1000] = DHCP4_NOBODY;
			holder[a] = client;
		} else {
			assert_int_equal(dhcp4_clients_hold(&c, client, 1000 + a, 0), holder[a]);
		}
		if (step % 16)
			continue;
		for (uint32_t k = 0; k < addresses; k++)
			assert_int_equal(dhcp4_clients_holder(&c, 1000 + k), holder[k]);
	}
	dhcp4_clients_free(&c);
}

static void the_table_is_exact_under_churn(void **state)
{
	churn(60, 90);
	churn(5, 40); // one line, round which the entries go
	churn(20, 100);
}

static void the_table_holds_an_address_of_every_client(void **state)
{
	struct dhcp4_clients c = made(1000);

	for (uint32_t i = 0; i < 1000; i++)
		bind_next(&c, 0xc0a80000u + i * 256, FOREVER);
	assert_int_equal(c.held, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(dhcp4_clients_holder(&c, 0xc0a80000u + i * 256), i);
	assert_int_equal(dhcp4_clients_holder(&c, 1), DHCP4_NOBODY);
	assert_int_equal(dhcp4_clients_holder(&c, 0), DHCP4_NOBODY);
	dhcp4_clients_free(&c);
}

static void clients_of_an_earlier_run_start_bound(void **state)
{
	struct dhcp4_clients c = made(4);

	assert_int_equal(dhcp4_clients_hold(&c, 2, 7, 0), DHCP4_NOBODY);
	c.items[2].expires_s = FOREVER;
	dhcp4_clients_bind(&c, 2);
	dhcp4_clients_settle(&c);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_BOUND, 0), 2);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), 0);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), 1);
	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), 3);
	dhcp4_clients_free(&c);
}

static void no_client_at_all_is_fine(void **state)
{
	struct dhcp4_clients c = made(0);

	assert_int_equal(dhcp4_clients_take(&c, DHCP4_IS_FREE, 0), DHCP4_NOBODY);
	assert_int_equal(dhcp4_clients_expire(&c, 0), 0);
	assert_int_equal(dhcp4_clients_holder(&c, 1), DHCP4_NOBODY);
	dhcp4_clients_free(&c);
}

static void ten_million_clients_fit_in_a_gibibyte(void **state)
{
	assert_true(sizeof(struct dhcp4_client) <= 32);
	assert_true(dhcp4_clients_memory(10000000) / 1e7 <= 64);
	assert_true((double)dhcp4_clients_memory(10000000) / MIB <= 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_are_taken_in_turn_and_once),
		cmocka_unit_test(a_client_with_an_address_is_bound_and_not_free),
		cmocka_unit_test(an_address_that_is_held_is_not_given_twice),
		cmocka_unit_test(an_address_whose_lease_ran_out_is_anybodys),
		cmocka_unit_test(a_client_holds_one_address),
		cmocka_unit_test(leases_run_out_in_their_order_and_a_bound_one_is_never_old),
		cmocka_unit_test(one_call_takes_back_a_bounded_number),
		cmocka_unit_test(the_table_is_exact_under_churn),
		cmocka_unit_test(the_table_holds_an_address_of_every_client),
		cmocka_unit_test(clients_of_an_earlier_run_start_bound),
		cmocka_unit_test(no_client_at_all_is_fine),
		cmocka_unit_test(ten_million_clients_fit_in_a_gibibyte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

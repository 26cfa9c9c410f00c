// SPDX-License-Identifier: BSD-3-Clause
// The rings of clients, common to both families: order, leases that expire, and size. Path: tests
// only.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proto/dhcp/v4/dhcp4_plan.h"

#define FOREVER UINT32_MAX
#define REST_MS 10000
#define RECORD  sizeof(struct dhcp4_client)
#define MIB     (1024.0 * 1024)

static struct dhcp_clients made(uint32_t count)
{
	struct dhcp_clients c;

	assert_int_equal(dhcp_clients_init(&c, count, RECORD, REST_MS, true), 0);
	return c;
}

static uint32_t bind_next(struct dhcp_clients *c, uint32_t expires_s)
{
	uint32_t client = dhcp_clients_take(c, DHCP_IS_FREE, 0);

	assert_int_not_equal(client, DHCP_NOBODY);
	dhcp_client_at(c, client)->holds = true;
	dhcp_client_at(c, client)->expires_s = expires_s;
	dhcp_clients_give(c, client);
	return client;
}

static void clients_are_taken_in_turn_and_once(void **state)
{
	struct dhcp_clients c = made(3);

	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 0), i);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 0), DHCP_NOBODY);
	dhcp_clients_give(&c, 2);
	dhcp_clients_give(&c, 0);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 0), 2);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 0), 0);
	dhcp_clients_free(&c);
}

// Each client once, in an order that the draws choose.
static void clients_are_drawn_by_chance_and_once(void **state)
{
	struct dhcp_clients c = made(4);
	uint32_t drawn[4], seen = 0;

	for (uint32_t i = 0; i < 4; i++) {
		drawn[i] = dhcp_clients_draw(&c, DHCP_IS_FREE, 0, (uint64_t)(2 - i / 2) << 62);
		seen |= 1u << drawn[i];
	}
	assert_int_equal(seen, 15);
	assert_int_equal(drawn[0], 2);
	assert_int_equal(drawn[1], 0);
	assert_int_equal(dhcp_clients_draw(&c, DHCP_IS_FREE, 0, 0), DHCP_NOBODY);
	dhcp_clients_give(&c, drawn[3]);
	assert_int_equal(dhcp_clients_draw(&c, DHCP_IS_FREE, 0, UINT64_MAX), drawn[3]);
	dhcp_clients_free(&c);
}

static void a_lease_that_has_ended_is_not_drawn(void **state)
{
	struct dhcp_clients c = made(3);

	bind_next(&c, 10);
	bind_next(&c, FOREVER);
	bind_next(&c, 10);
	for (uint64_t n = 0; n < 3; n++) {
		assert_int_equal(dhcp_clients_draw(&c, DHCP_IS_BOUND, 10, n << 62), 1);
		dhcp_clients_give(&c, 1);
	}
	assert_int_equal(dhcp_clients_draw(&c, DHCP_IS_BOUND, 10, 0), 1);
	assert_int_equal(dhcp_clients_draw(&c, DHCP_IS_BOUND, 10, 0), DHCP_NOBODY);
	dhcp_clients_free(&c);
}

static void a_client_with_an_address_is_bound_and_not_free(void **state)
{
	struct dhcp_clients c = made(2);

	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_BOUND, 0), DHCP_NOBODY);
	bind_next(&c, FOREVER);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 0), 1);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 0), DHCP_NOBODY);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_BOUND, 0), 0);
	dhcp_client_at(&c, 0)->holds = false;
	dhcp_clients_give(&c, 0);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 0), 0);
	dhcp_clients_free(&c);
}

static void leases_run_out_in_their_order_and_a_bound_one_is_never_old(void **state)
{
	struct dhcp_clients c = made(4);

	for (uint32_t i = 0; i < 3; i++)
		bind_next(&c, 100 + i);
	bind_next(&c, FOREVER);
	assert_int_equal(dhcp_clients_ended(&c, 99), DHCP_NOBODY);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_BOUND, 101), DHCP_NOBODY);
	assert_int_equal(dhcp_clients_ended(&c, 101), 0);
	assert_int_equal(dhcp_clients_ended(&c, 101), 1);
	assert_int_equal(dhcp_clients_ended(&c, 101), DHCP_NOBODY);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_BOUND, 101), 2);
	assert_int_equal(dhcp_clients_ended(&c, FOREVER - 1), DHCP_NOBODY);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 101), 0);
	dhcp_clients_free(&c);
}

static uint32_t decline_next(struct dhcp_clients *c, uint64_t now_ms)
{
	uint32_t client = dhcp_clients_take(c, DHCP_IS_FREE, (uint32_t)(now_ms / 1000));

	dhcp_clients_rest(c, client, now_ms);
	return client;
}

static void clients_at_rest_are_not_taken_until_they_have_rested(void **state)
{
	struct dhcp_clients c = made(3);
	const uint64_t far = 1ull << 32; // a client keeps the lower half

	assert_int_equal(decline_next(&c, far - 5001), 0);
	assert_int_equal(decline_next(&c, far - 4001), 1);
	dhcp_clients_wake(&c, far + 4998);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 5), 2);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 5), DHCP_NOBODY);
	dhcp_clients_wake(&c, far + 4999);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 5), 0);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 5), DHCP_NOBODY);
	dhcp_clients_wake(&c, far + 5999);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 5), 1);
	dhcp_clients_free(&c);
}

static void one_call_wakes_a_bounded_number(void **state)
{
	struct dhcp_clients c = made(1000);

	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(decline_next(&c, 0), i);
	dhcp_clients_wake(&c, REST_MS);
	assert_in_range(c.rings[DHCP_IS_FREE].count, 1, 100);
	for (uint32_t i = 0; i < 1000; i++)
		dhcp_clients_wake(&c, REST_MS);
	assert_int_equal(c.rings[DHCP_IS_FREE].count, 1000);
	dhcp_clients_free(&c);
}

static void clients_of_an_earlier_run_start_bound(void **state)
{
	struct dhcp_clients c = made(4);

	dhcp_client_at(&c, 2)->holds = true;
	dhcp_client_at(&c, 2)->expires_s = FOREVER;
	dhcp_clients_bind(&c, 2);
	dhcp_clients_settle(&c);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_BOUND, 0), 2);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 0), 0);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 0), 1);
	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 0), 3);
	dhcp_clients_free(&c);
}

static void no_client_at_all_is_fine(void **state)
{
	struct dhcp_clients c = made(0);

	assert_int_equal(dhcp_clients_take(&c, DHCP_IS_FREE, 0), DHCP_NOBODY);
	assert_int_equal(dhcp_clients_ended(&c, 0), DHCP_NOBODY);
	dhcp_clients_free(&c);
}

static void ten_million_clients_fit_in_a_gibibyte(void **state)
{
	uint64_t all = dhcp_clients_memory(10000000, RECORD, true) + dhcp_holders_memory(10000000);

	assert_true(RECORD <= 32);
	assert_true(all / 1e7 <= 64);
	assert_true((double)all / MIB <= 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_are_taken_in_turn_and_once),
		cmocka_unit_test(clients_are_drawn_by_chance_and_once),
		cmocka_unit_test(a_lease_that_has_ended_is_not_drawn),
		cmocka_unit_test(a_client_with_an_address_is_bound_and_not_free),
		cmocka_unit_test(leases_run_out_in_their_order_and_a_bound_one_is_never_old),
		cmocka_unit_test(clients_at_rest_are_not_taken_until_they_have_rested),
		cmocka_unit_test(one_call_wakes_a_bounded_number),
		cmocka_unit_test(clients_of_an_earlier_run_start_bound),
		cmocka_unit_test(no_client_at_all_is_fine),
		cmocka_unit_test(ten_million_clients_fit_in_a_gibibyte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

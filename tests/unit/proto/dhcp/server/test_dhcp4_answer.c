// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 server before it runs: its settings become ready options and a lease table, and
// invalid ones are refused. Path: tests only.

#include "dhcp4_server_fixture.h"

static void wrong_settings_are_refused_with_an_error(void **state)
{
	const struct addr v6 = {16, {0x20, 1}}, hole = {4, {255, 0, 255, 0}};
	const struct addr_range large = {{4, {10}}, (1u << 24) + 1};
	struct dhcp4_answers_settings s = server_settings();

	s.common.pool = LIST(&large, 1);
	assert_refused(&s);
	s.common.pool = LIST(NULL, 0);
	assert_refused(&s);
	s = server_settings();
	s.server_id = v6;
	assert_refused(&s);
	s = server_settings();
	s.router = LIST(&v6, 1);
	assert_refused(&s);
	s = server_settings();
	s.subnet_mask = hole;
	assert_refused(&s);
}

static void the_largest_pool_is_accepted(void **state)
{
	const struct addr_range largest = {{4, {10}}, DHCP_POOL_MAX};
	struct dhcp4_answers_settings s = server_settings();
	const struct proto_env env = {.workers = 1};
	void *shared;

	s.common.pool = LIST(&largest, 1);
	shared = dhcp4_server.setup(&s, &env, &(struct proto_facts){0}, NULL);
	assert_non_null(shared);
	dhcp4_server.teardown(shared);
}

static void every_lease_carries_times_mask_and_server(void **state)
{
	struct server *v = server_new();

	dora(v, 1);
	assert_int_equal(v->m.lease_time, 3600);
	assert_int_equal(v->m.t1, 1800);
	assert_int_equal(v->m.t2, 3150);
	assert_int_equal(v->m.server_id, SERVER);
	// 198.18.64.0/27 is the smallest with .1 and .16 to .19 in it.
	assert_memory_equal(
		v->out + dhcp4_find_option(v->out, v->len, 1), "\1\4\xff\xff\xff\xe0", 6);
	server_end(v);
}

static void times_are_whole_seconds_and_parts_of_the_lease(void **state)
{
	struct dhcp4_answers_settings s = server_settings();
	struct server *v;

	s.common.lease_ns = 1001900000000;
	v = server_of(&s);
	dora(v, 1);
	assert_int_equal(v->m.lease_time, 1001);
	assert_int_equal(v->m.t1, 500);
	assert_int_equal(v->m.t2, 875);
	server_end(v);
	s.common.t1_ns = 7900000000;
	v = server_of(&s);
	dora(v, 1);
	assert_int_equal(v->m.t1, 7);
	server_end(v);
}

static void an_endless_lease_has_endless_times(void **state)
{
	struct dhcp4_answers_settings s = server_settings();
	struct server *v;

	s.common.lease_ns = UINT64_MAX;
	v = server_of(&s);
	dora(v, 1);
	assert_int_equal(v->m.lease_time, UINT32_MAX);
	assert_int_equal(v->m.t1, UINT32_MAX);
	assert_int_equal(v->m.t2, UINT32_MAX);
	server_end(v);
}

static void without_a_server_id_it_is_the_responders_address(void **state)
{
	struct dhcp4_answers_settings s = server_settings();
	struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();
	struct dhcp4_answers *a;

	s.server_id = (struct addr){0};
	a = dhcp4_server.setup(&s, &env, &(struct proto_facts){0}, d);
	assert_int_equal(a->server_id, IP(192, 0, 2, 1));
	dhcp_server_teardown(a);
	env.server = (struct addr){4, {198, 18, 0, 9}};
	a = dhcp4_server.setup(&s, &env, &(struct proto_facts){0}, d);
	assert_int_equal(a->server_id, IP(198, 18, 0, 9));
	dhcp_server_teardown(a);
	diag_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_settings_are_refused_with_an_error),
		cmocka_unit_test(the_largest_pool_is_accepted),
		cmocka_unit_test(every_lease_carries_times_mask_and_server),
		cmocka_unit_test(times_are_whole_seconds_and_parts_of_the_lease),
		cmocka_unit_test(an_endless_lease_has_endless_times),
		cmocka_unit_test(without_a_server_id_it_is_the_responders_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

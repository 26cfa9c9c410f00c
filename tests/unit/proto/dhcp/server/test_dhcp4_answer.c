// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 responder before it runs: its settings become ready options and a table, and wrong
// ones are refused. Path: tests only.

#include "dhcp4_server_fixture.h"

static void assert_refused(const struct dhcp4_answers_settings *s)
{
	const struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();

	assert_null(dhcp4_answers_setup(s, &env, d));
	assert_int_equal(diag_count(d), 1);
	diag_free(d);
}

static void wrong_settings_are_refused_with_an_error(void **state)
{
	const struct addr v6 = {16, {0x20, 1}}, hole = {4, {255, 0, 255, 0}};
	const struct addr_range pool6 = {v6, 10}, large = {{4, {10}}, (1u << 24) + 1};
	const struct addr_range twice[2] = {test_pool, {{4, {198, 18, 64, 19}}, 2}};
	struct dhcp4_answers_settings s = server_settings();

	s.common.pool = (struct field_list){(void *)&pool6, 1};
	assert_refused(&s);
	s.common.pool = (struct field_list){(void *)&large, 1};
	assert_refused(&s);
	s.common.pool = (struct field_list){(void *)twice, 2};
	assert_refused(&s);
	s.common.pool = (struct field_list){NULL, 0};
	assert_refused(&s);
	s = server_settings();
	s.server_id = v6;
	assert_refused(&s);
	s = server_settings();
	s.router = (struct field_list){(void *)&v6, 1};
	assert_refused(&s);
	s = server_settings();
	s.subnet_mask = hole;
	assert_refused(&s);
	s = server_settings();
	s.common.t2_ns = s.common.lease_ns + 1000000000;
	assert_refused(&s);
	s = server_settings();
	s.common.t1_ns = s.common.lease_ns - 1000000000;
	assert_refused(&s);
	s = server_settings();
	s.common.t2_ns = s.common.lease_ns / 4;
	assert_refused(&s);
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
	a = dhcp4_answers_setup(&s, &env, d);
	assert_int_equal(a->server_id, IP(192, 0, 2, 1));
	dhcp_answers_teardown(a);
	env.server = (struct addr){4, {198, 18, 0, 9}};
	a = dhcp4_answers_setup(&s, &env, d);
	assert_int_equal(a->server_id, IP(198, 18, 0, 9));
	dhcp_answers_teardown(a);
	diag_free(d);
}

static void clients_bounds_the_leases_over_all_ranges(void **state)
{
	const struct addr_range ranges[2] = {test_pool, {{4, {198, 18, 65, 0}}, 256}};
	struct dhcp4_answers_settings s = server_settings();
	struct server *v;

	s.common.pool = (struct field_list){(void *)ranges, 2};
	s.common.clients = 6;
	v = server_of(&s);
	for (uint8_t i = 0; i < 6; i++)
		assert_int_equal(dora(v, i), i < 4 ? POOL + i : IP(198, 18, 65, i - 4));
	assert_int_equal(SAY(v, DISCOVER, 6), 0);
	assert_int_equal(v->n.pool_full, 1);
	server_end(v);
}

static void every_type_of_message_has_a_label(void **state)
{
	for (uint32_t i = 0; i < DHCP4_TYPES; i++)
		assert_non_null(dhcp4_answer_type_label(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_settings_are_refused_with_an_error),
		cmocka_unit_test(every_lease_carries_times_mask_and_server),
		cmocka_unit_test(times_are_whole_seconds_and_parts_of_the_lease),
		cmocka_unit_test(an_endless_lease_has_endless_times),
		cmocka_unit_test(without_a_server_id_it_is_the_responders_address),
		cmocka_unit_test(clients_bounds_the_leases_over_all_ranges),
		cmocka_unit_test(every_type_of_message_has_a_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

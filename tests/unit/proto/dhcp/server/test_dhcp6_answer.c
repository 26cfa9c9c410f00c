// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv6 server before it runs: its settings become ready options and lease tables, and invalid
// ones are refused. Path: tests only.

#include "dhcp6_server_fixture.h"
#include "proto/dhcp/v6/dhcp6_plan.h"

static void wrong_prefixes_are_refused_with_an_error(void **state)
{
	const struct addr_prefix v4_prefix = {{4, {10}}, 8}, longer = {{16, {0x20}}, 57};
	const struct addr_prefix all = {{16, {0}}, 0};
	const struct addr_prefix both[2] = {test_prefixes, {test_prefixes.addr, 55}};
	struct dhcp6_answers_settings s = server_settings();

	s.common.prefixes = LIST(&v4_prefix, 1);
	assert_refused(&s);
	s.common.prefixes = LIST(&longer, 1);
	assert_refused(&s);
	s.common.prefixes = LIST(&all, 1);
	assert_refused(&s);
	s.common.prefixes = LIST(both, 2);
	assert_refused(&s);
}

static void wrong_names_and_times_are_refused_with_an_error(void **state)
{
	static const char *const domains[] = {".", "a..b", ".a",
		"a123456789012345678901234567890123456789012345678901234567890123.b"};
	const struct addr v4 = {4, {10}};
	struct dhcp6_answers_settings s = server_settings();

	for (uint32_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
		s.common.domain = domains[i];
		assert_refused(&s);
	}
	s = server_settings();
	s.common.dns = LIST(&v4, 1);
	assert_refused(&s);
	s = server_settings();
	s.server_id.len = 2;
	assert_refused(&s);
	s = server_settings();
	s.common.preferred_ns = s.common.lease_ns + 1000000000;
	assert_refused(&s);
}

static void every_lease_carries_lifetimes_and_times(void **state)
{
	struct server *v = server_new();

	sarr(v, 1);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(v->m.ias[i].leases[0].valid_s, 4000);
		assert_int_equal(v->m.ias[i].leases[0].preferred_s, 2500);
		assert_int_equal(v->m.ias[i].t1_s, 1250);
		assert_int_equal(v->m.ias[i].t2_s, 2000);
	}
	server_end(v);
}

static void an_endless_lease_has_endless_times(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	struct server *v;

	s.common.lease_ns = UINT64_MAX;
	v = server_of(&s);
	sarr(v, 1);
	assert_int_equal(v->m.ias[0].leases[0].valid_s, DHCP6_INFINITY);
	assert_int_equal(v->m.ias[0].leases[0].preferred_s, DHCP6_INFINITY);
	assert_int_equal(v->m.ias[0].t1_s, DHCP6_INFINITY);
	assert_int_equal(v->m.ias[0].t2_s, DHCP6_INFINITY);
	server_end(v);
}

static void times_of_0_leave_them_to_the_client(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	struct server *v;

	s.common.t1_ns = 100000000000;
	s.common.t2_ns = 0;
	v = server_of(&s);
	sarr(v, 1);
	assert_int_equal(v->m.ias[0].t1_s, 100);
	assert_int_equal(v->m.ias[0].t2_s, 0);
	server_end(v);
}

static void without_a_server_id_it_is_made_of_the_address(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	const struct proto_env env = {.workers = 1, .server = {16, {0x20, 1, [15] = 9}}};
	struct diag *d = diag_new();
	struct dhcp6_answers *a;

	s.server_id.len = 0;
	a = dhcp6_server.setup(&s, &env, &(struct proto_facts){0}, d);
	assert_int_equal(a->server_id_len, 2 + 4 + 1 + 16);
	assert_memory_equal(a->server_id, "\0\2\0\0\x7e\xd9\x10\x20\1", 9);
	assert_int_equal(a->server_id[22], 9);
	dhcp_server_teardown(a);
	diag_free(d);
}

static void a_domain_may_end_with_a_dot_or_not(void **state)
{
	static const char *const names[] = {"example.com", "example.com."};
	struct dhcp6_answers_settings s = server_settings();

	for (uint32_t i = 0; i < 2; i++) {
		struct server *v;

		s.common.domain = names[i];
		v = server_of(&s);
		assert_int_equal(
			SAY(v, INFORMATION, 1, .oro = "\0\x18", .oro_len = 2), DHCP6_REPLY);
		assert_memory_equal(
			v->out + dhcp6_find_option(v->out, 4, v->len, DHCP6_OPT_DOMAIN_LIST),
			"\0\x18\0\x0d\7example\3com", 17);
		server_end(v);
	}
}

static void options_are_for_those_who_ask_for_them(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	struct server *v;

	s.common.dns = LIST(test_dns, 2);
	s.common.domain = "example.com.";
	s.sol_max_rt_ns = 7200000000000;
	s.inf_max_rt_ns = 3600000000000;
	s.refresh_ns = 86400000000000;
	v = server_of(&s);
	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1), DHCP6_ADVERTISE);
	assert_false(dhcp6_has(&v->m, DHCP6_OPT_DNS));
	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1, .oro = "\0\x17\0\x52\0\x20", .oro_len = 6),
		DHCP6_ADVERTISE);
	assert_true(dhcp6_has(&v->m, DHCP6_OPT_DNS));
	assert_false(dhcp6_has(&v->m, DHCP6_OPT_DOMAIN_LIST));
	assert_int_equal(v->m.sol_max_rt_s, 7200);
	assert_false(dhcp6_has(&v->m, DHCP6_OPT_INF_MAX_RT));
	assert_false(dhcp6_has(&v->m, DHCP6_OPT_REFRESH_TIME)); // not in an ADVERTISE
	assert_int_equal(SAY(v, INFORMATION, 1, .oro = "\0\x18\0\x53\0\x20\x0f\xa0", .oro_len = 8),
		DHCP6_REPLY);
	assert_int_equal(v->m.inf_max_rt_s, 3600);
	assert_int_equal(v->m.refresh_s, 86400);
	assert_true(dhcp6_has(&v->m, DHCP6_OPT_DOMAIN_LIST));
	server_end(v);
}

static void clients_bounds_addresses_and_prefixes(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	struct server *v;

	s.common.clients = 2;
	v = server_of(&s);
	sarr(v, 1);
	sarr(v, 2);
	assert_int_equal(SAY(v, SOLICIT, 3, .nas = 1, .pds = 1), DHCP6_ADVERTISE);
	assert_int_equal(v->m.ias[0].status, DHCP6_NO_ADDRS_AVAIL);
	assert_int_equal(v->m.ias[1].status, DHCP6_NO_PREFIX_AVAIL);
	server_end(v);
}

static void a_server_without_pools_refuses_every_ia(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	struct server *v;

	s.common.pool.count = s.common.prefixes.count = 0;
	v = server_of(&s);
	assert_int_equal(SAY(v, SOLICIT, 3, .nas = 1, .pds = 1), DHCP6_ADVERTISE);
	assert_int_equal(v->m.ias[0].status, DHCP6_NO_ADDRS_AVAIL);
	assert_int_equal(v->m.ias[1].status, DHCP6_NO_PREFIX_AVAIL);
	server_end(v);
}

// Returns the number of complaints when these items use the server.
static uint32_t complaints(const struct dhcp6_answers_settings *s, const struct dhcp6_settings *a,
	const struct dhcp6_settings *b)
{
	const void *items[2] = {a, b};
	struct diag *d = diag_new();
	uint32_t count;

	dhcp6_server.check(s, items, b ? 2 : 1, d);
	count = diag_count(d);
	diag_free(d);
	return count;
}

static void pools_must_do_for_the_clients_of_the_same_file(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	struct dhcp6_settings a = {.is.exchange = DHCP6_SARR,
		.is.clients = 4,
		.lease = DHCP6_WANTS_BOTH,
		.addresses = 1,
		.prefixes = 1};
	const struct addr_prefix two[2] = {test_prefixes, {{16, {0x20, 2}}, 54}};
	struct dhcp6_settings b = a;

	assert_int_equal(complaints(&s, &a, NULL), 0);
	assert_int_equal(complaints(&s, &a, &b), 0); // the same clients
	b.is.mac[5] = 77;
	assert_int_equal(complaints(&s, &a, &b), 2);
	b.is.exchange = DHCP_TWO_WAY; // which hold nothing
	assert_int_equal(complaints(&s, &a, &b), 0);
	a.addresses = 2;
	assert_int_equal(complaints(&s, &a, NULL), 1);
	a.lease = DHCP6_WANTS_PREFIXES;
	assert_int_equal(complaints(&s, &a, NULL), 0);
	a.is.clients = 5;
	assert_int_equal(complaints(&s, &a, NULL), 1);
	s.common.full_pool = true;
	assert_int_equal(complaints(&s, &a, NULL), 0);
	s.common.full_pool = false;
	a.is.clients = 4;
	s.common.clients = 3;
	assert_int_equal(complaints(&s, &a, NULL), 1);
	s.common.prefixes = LIST(two, 2); // clients bounds their sum
	assert_int_equal(complaints(&s, &a, NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_prefixes_are_refused_with_an_error),
		cmocka_unit_test(wrong_names_and_times_are_refused_with_an_error),
		cmocka_unit_test(every_lease_carries_lifetimes_and_times),
		cmocka_unit_test(an_endless_lease_has_endless_times),
		cmocka_unit_test(times_of_0_leave_them_to_the_client),
		cmocka_unit_test(without_a_server_id_it_is_made_of_the_address),
		cmocka_unit_test(a_domain_may_end_with_a_dot_or_not),
		cmocka_unit_test(options_are_for_those_who_ask_for_them),
		cmocka_unit_test(clients_bounds_addresses_and_prefixes),
		cmocka_unit_test(a_server_without_pools_refuses_every_ia),
		cmocka_unit_test(pools_must_do_for_the_clients_of_the_same_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

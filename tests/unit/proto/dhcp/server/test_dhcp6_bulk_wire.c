// SPDX-License-Identifier: BSD-3-Clause
// Bulk lease queries to the DHCPv6 server (RFC 5460): its replies about clients, message by
// message. Path: tests only.
#include "dhcp6_server_fixture.h"

static struct server *server_asked(void)
{
	struct dhcp6_answers_settings s = server_settings();

	s.leasequery = true;
	return server_of(&s);
}

// Sends a query of this type over a connection. Returns the status of the reply.
static uint16_t ask(struct server *v, uint8_t type, const void *option, uint32_t len)
{
	uint8_t buf[256], *begin;
	struct writer w = writer_of(buf, sizeof(buf));

	dhcp6_write_header(&w, DHCP6_LEASEQUERY, XID);
	dhcp6_write_option(&w, DHCP6_OPT_CLIENT_ID, "\0\2\0\0\x7e\xd9r", 7);
	begin = dhcp6_option_begin(&w, DHCP6_OPT_LQ_QUERY);
	write_u8(&w, type);
	memset(write_space(&w, 16), 0, 16);
	write_bytes(&w, option, len);
	dhcp6_option_end(&w, begin);
	v->ctx.stream = true;
	v->ctx.more = 0;
	assert_true(hear(v, buf, (uint32_t)(w.at - buf)));
	v->ctx.stream = false;
	assert_int_equal(v->m.type, DHCP6_LEASEQUERY_REPLY);
	assert_int_equal(v->m.client_id.len, 7);
	return v->m.status;
}

static uint8_t go_on(struct server *v)
{
	v->len = dhcp6_more(&v->ctx, NULL, 0, v->out, sizeof(v->out));
	assert_true(v->len > 0);
	reply_read(v);
	assert_int_equal(v->m.xid, XID);
	assert_null(v->m.server_id.data);
	return v->m.type;
}

// Returns the last byte of the DUID in the reply, which has this number of leases; 0: none.
static uint8_t told(const struct server *v, uint32_t leases)
{
	struct dhcp6_subject s;

	if (!v->m.client_data.data)
		return 0;
	assert_true(dhcp6_parse_subject(&v->m.client_data, false, &s));
	assert_int_equal(s.lease_count, leases);
	assert_true(s.has_age);
	return s.client_id.data[9];
}

#define LINK DHCP6_QUERY_BY_LINK

static void a_query_for_a_link_tells_each_client_once(void **state)
{
	struct server *v = server_asked();

	assert_int_equal(ask(v, LINK, "", 0), DHCP6_STATUS_NONE);
	assert_int_equal(told(v, 0), 0); // no lease: the reply is all
	assert_int_equal(v->ctx.more, 0);
	sarr(v, 1);
	sarr(v, 2);
	assert_int_equal(SAY(v, SOLICIT, 3, .pds = 1), DHCP6_ADVERTISE);
	assert_int_equal(SAY(v, REQUEST, 3, .pds = 1, .to_us = true), DHCP6_REPLY);
	assert_int_equal(SAY(v, SOLICIT, 4, .nas = 1), DHCP6_ADVERTISE); // no lease yet
	assert_int_equal(ask(v, LINK, "", 0), DHCP6_STATUS_NONE);
	assert_int_equal(told(v, 2), 1);
	assert_int_equal(go_on(v), DHCP6_LEASEQUERY_DATA);
	assert_int_equal(told(v, 2), 2);
	assert_int_equal(go_on(v), DHCP6_LEASEQUERY_DATA);
	assert_int_equal(told(v, 1), 3);
	assert_int_equal(go_on(v), DHCP6_LEASEQUERY_DONE);
	assert_int_equal(v->m.status, DHCP6_STATUS_NONE);
	assert_int_equal(v->ctx.more, 0);
	assert_int_equal(v->n.bulk_queries, 2);
	assert_int_equal(v->n.bulk_bindings, 3);
	assert_int_equal(v->n.sent[DHCP6_LEASEQUERY_DATA], 2);
	v->ctx.now_ms = LEASE_S * 1000; // their time is over
	assert_int_equal(ask(v, LINK, "", 0), DHCP6_STATUS_NONE);
	assert_int_equal(told(v, 0), 0);
	assert_int_equal(v->ctx.more, 0);
	server_end(v);
}

static void a_query_for_a_client_or_address_tells_all_leases_of_the_client(void **state)
{
	struct server *v = server_asked();
	uint8_t address[28] = {0, 5, 0, 24};

	sarr(v, 1);
	sarr(v, 2);
	memcpy(address + 4, test_pool.first.bytes, 16);
	assert_int_equal(
		ask(v, DHCP6_QUERY_BY_ADDRESS, address, sizeof(address)), DHCP6_STATUS_NONE);
	assert_int_equal(told(v, 2), 1);
	assert_int_equal(go_on(v), DHCP6_LEASEQUERY_DONE);
	assert_int_equal(ask(v, DHCP6_QUERY_BY_CLIENT_ID, "\0\1\0\x0a\0\3\0\1\2\0\0\0\0\2", 14),
		DHCP6_STATUS_NONE);
	assert_int_equal(told(v, 2), 2);
	assert_int_equal(go_on(v), DHCP6_LEASEQUERY_DONE);
	assert_int_equal(v->ctx.more, 0);
	assert_int_equal(ask(v, DHCP6_QUERY_BY_CLIENT_ID, "\0\1\0\x0a\0\3\0\1\2\0\0\0\0\7", 14),
		DHCP6_STATUS_NONE);
	assert_int_equal(told(v, 0), 0);
	assert_int_equal(v->ctx.more, 0);
	server_end(v);
}

static void wrong_queries_get_their_status(void **state)
{
	struct server *v = server_asked(), *closed = server_new();

	assert_int_equal(ask(v, DHCP6_QUERY_BY_RELAY_ID, "", 0), DHCP6_UNKNOWN_QUERY_TYPE);
	assert_int_equal(ask(v, DHCP6_QUERY_BY_REMOTE_ID, "", 0), DHCP6_UNKNOWN_QUERY_TYPE);
	assert_int_equal(ask(v, DHCP6_QUERY_BY_CLIENT_ID, "", 0), DHCP6_MALFORMED_QUERY);
	assert_int_equal(v->n.bulk_queries, 3);
	assert_int_equal(ask(closed, LINK, "", 0), DHCP6_NOT_ALLOWED);
	assert_int_equal(closed->ctx.more, 0);
	server_end(v);
	server_end(closed);
}

static void connections_are_for_lease_queries_alone(void **state)
{
	struct server *v = server_asked();

	v->ctx.stream = true;
	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1), 0);
	assert_int_equal(SAY(v, LEASEQUERY, 1, .levels = 1), 0);
	assert_int_equal(v->n.ignored, 2);
	server_end(v);
}

static void an_answer_whose_connection_ends_is_dropped(void **state)
{
	struct server *v = server_asked();

	sarr(v, 1);
	assert_int_equal(ask(v, LINK, "", 0), DHCP6_STATUS_NONE);
	assert_int_equal(dhcp6_more(&v->ctx, NULL, 0, NULL, 0), 0);
	assert_int_equal(v->ctx.more, 0);
	assert_int_equal(v->n.bulk_dropped, 1);
	server_end(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_for_a_link_tells_each_client_once),
		cmocka_unit_test(a_query_for_a_client_or_address_tells_all_leases_of_the_client),
		cmocka_unit_test(wrong_queries_get_their_status),
		cmocka_unit_test(connections_are_for_lease_queries_alone),
		cmocka_unit_test(an_answer_whose_connection_ends_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

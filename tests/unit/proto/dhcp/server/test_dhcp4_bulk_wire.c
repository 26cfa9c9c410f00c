// SPDX-License-Identifier: BSD-3-Clause
// Bulk lease queries to the DHCPv4 server (RFC 6926): its replies about leases, message by message.
// Path: tests only.
#include "dhcp4_server_fixture.h"

// Sends a message over a connection. Returns the type of the first reply; 0: none.
static uint8_t ask(struct server *v, struct said c)
{
	uint8_t type;

	v->ctx.stream = true;
	v->ctx.more = 0;
	type = say(v, c);
	v->ctx.stream = false;
	return type;
}

#define ASK(v, type_, ...) ask(v, (struct said){.type = DHCP4_##type_, __VA_ARGS__})

// Returns the type of the next message of the reply, in a block of exactly its size.
static uint8_t go_on(struct server *v)
{
	v->len = dhcp4_more(&v->ctx, NULL, 0, v->out, sizeof(v->out));
	assert_true(v->len > 0);
	reply_read(v);
	assert_int_equal(v->m.xid, XID);
	return v->m.type;
}

static uint32_t option_be32(const struct server *v, uint8_t code)
{
	uint32_t at = dhcp4_find_option(v->out, v->len, code);

	assert_true(at && v->out[at + 1] == 4);
	return bytes_be32(v->out + at + 2);
}

static uint8_t option_u8(const struct server *v, uint8_t code)
{
	uint32_t at = dhcp4_find_option(v->out, v->len, code);

	assert_true(at && v->out[at + 1] == 1);
	return v->out[at + 2];
}

static void a_query_for_all_tells_each_address_once(void **state)
{
	struct server *v = server_new();

	dora(v, 1);
	dora(v, 2);
	SAY(v, RELEASE, 1, .ciaddr = POOL, .server_id = SERVER);
	v->ctx.began_ms = 1700000000000;
	v->ctx.now_ms = 60 * 1000;
	assert_int_equal(ASK(v, BULKLEASEQUERY, .no_hardware = true), DHCP4_LEASEUNASSIGNED);
	assert_int_equal(v->m.ciaddr, POOL);
	assert_int_equal(option_u8(v, DHCP4_OPT_STATE), DHCP4_STATE_AVAILABLE);
	assert_int_equal(go_on(v), DHCP4_LEASEACTIVE);
	assert_int_equal(v->m.ciaddr, POOL + 1);
	assert_int_equal(v->m.hlen, 6);
	assert_int_equal(v->m.chaddr[5], 2);
	assert_int_equal(v->m.lease_time, LEASE_S - 60);
	assert_int_equal(option_be32(v, DHCP4_OPT_BASE_TIME), 1700000060);
	assert_int_equal(option_be32(v, DHCP4_OPT_STATE_TIME), 60);
	assert_int_equal(option_u8(v, DHCP4_OPT_STATE), DHCP4_STATE_ACTIVE);
	assert_int_equal(go_on(v), DHCP4_LEASEUNASSIGNED);
	assert_int_equal(go_on(v), DHCP4_LEASEUNASSIGNED);
	assert_int_equal(v->m.ciaddr, POOL + 3);
	assert_int_equal(go_on(v), DHCP4_LEASEQUERYDONE);
	assert_int_equal(v->ctx.more, 0);
	assert_int_equal(v->m.hlen, 0);
	assert_false(dhcp4_find_option(v->out, v->len, DHCP4_OPT_STATUS));
	assert_int_equal(v->n.bulk_queries, 1);
	assert_int_equal(v->n.bulk_bindings, 1);
	assert_int_equal(v->n.sent[DHCP4_LEASEUNASSIGNED], 3);
	server_end(v);
}

static void a_query_for_a_client_tells_its_lease(void **state)
{
	struct server *v = server_new();

	dora(v, 1);
	assert_int_equal(ASK(v, BULKLEASEQUERY, .client = 1), DHCP4_LEASEACTIVE);
	assert_int_equal(v->m.ciaddr, POOL);
	assert_int_equal(go_on(v), DHCP4_LEASEQUERYDONE);
	assert_int_equal(v->ctx.more, 0);
	assert_int_equal(ASK(v, BULKLEASEQUERY, .client = 2), DHCP4_LEASEQUERYDONE);
	assert_int_equal(v->ctx.more, 0);
	assert_int_equal(
		ASK(v, BULKLEASEQUERY, .no_hardware = true, .client_id = "\0x", .client_id_len = 2),
		DHCP4_LEASEQUERYDONE);
	SAY(v, DISCOVER, 3, .client_id = "\0x", .client_id_len = 2); // an offer is no lease
	assert_int_equal(
		ASK(v, BULKLEASEQUERY, .no_hardware = true, .client_id = "\0x", .client_id_len = 2),
		DHCP4_LEASEQUERYDONE);
	SAY(v, REQUEST, 3, .client_id = "\0x", .client_id_len = 2, .requested = POOL + 1,
		.server_id = SERVER);
	assert_int_equal(
		ASK(v, BULKLEASEQUERY, .no_hardware = true, .client_id = "\0x", .client_id_len = 2),
		DHCP4_LEASEACTIVE);
	assert_int_equal(v->m.client_id_len, 2);
	assert_int_equal(go_on(v), DHCP4_LEASEQUERYDONE);
	assert_int_equal(v->n.bulk_queries, 5);
	assert_int_equal(v->n.bulk_bindings, 2);
	server_end(v);
}

static void wrong_queries_end_with_their_status(void **state)
{
	struct server *v = server_new();
	const struct said relay = {.type = DHCP4_BULKLEASEQUERY,
		.no_hardware = true,
		.relay_info = "\x0c\2ab",
		.relay_info_len = 4};
	struct said remote = relay;

	remote.relay_info = "\2\2ab";
	assert_int_equal(ask(v, relay), DHCP4_LEASEQUERYDONE);
	assert_int_equal(option_u8(v, DHCP4_OPT_STATUS), DHCP4_STATUS_NOT_ALLOWED);
	assert_null(v->m.relay_info);
	assert_int_equal(ask(v, remote), DHCP4_LEASEQUERYDONE);
	assert_int_equal(option_u8(v, DHCP4_OPT_STATUS), DHCP4_STATUS_NOT_ALLOWED);
	assert_int_equal(
		ASK(v, BULKLEASEQUERY, .client = 1, .client_id = "\0x", .client_id_len = 2),
		DHCP4_LEASEQUERYDONE);
	assert_int_equal(option_u8(v, DHCP4_OPT_STATUS), DHCP4_STATUS_MALFORMED_QUERY);
	assert_int_equal(ASK(v, BULKLEASEQUERY, .client = 1, .ciaddr = POOL), DHCP4_LEASEQUERYDONE);
	assert_int_equal(option_u8(v, DHCP4_OPT_STATUS), DHCP4_STATUS_MALFORMED_QUERY);
	assert_int_equal(v->n.bulk_queries, 4);
	server_end(v);
}

static void connections_are_for_bulk_queries_alone(void **state)
{
	struct server *v = server_new();

	assert_int_equal(ASK(v, DISCOVER, .client = 1), 0);
	assert_int_equal(ASK(v, LEASEQUERY, .client = 1, .giaddr = RELAY), 0);
	assert_int_equal(SAY(v, BULKLEASEQUERY, 0, .no_hardware = true), 0);
	assert_int_equal(v->n.ignored, 3);
	server_end(v);
}

static void more_answers_than_there_is_room_for_are_refused(void **state)
{
	const struct said all = {.type = DHCP4_BULKLEASEQUERY, .no_hardware = true};
	uint32_t more[PROTO_MAX_MORE];
	struct server *v = server_new();

	for (uint32_t i = 0; i < PROTO_MAX_MORE; i++) {
		assert_int_equal(ask(v, all), DHCP4_LEASEUNASSIGNED);
		more[i] = v->ctx.more;
		assert_in_range(more[i], 1, PROTO_MAX_MORE);
	}
	assert_int_equal(ask(v, all), DHCP4_LEASEQUERYDONE);
	assert_int_equal(option_u8(v, DHCP4_OPT_STATUS), DHCP4_STATUS_UNSPEC_FAIL);
	assert_int_equal(v->ctx.more, 0);
	for (uint32_t i = 0; i < PROTO_MAX_MORE; i++) { // their connections end
		v->ctx.more = more[i];
		assert_int_equal(dhcp4_more(&v->ctx, NULL, 0, NULL, 0), 0);
		assert_int_equal(v->ctx.more, 0);
	}
	assert_int_equal(v->n.bulk_dropped, PROTO_MAX_MORE);
	assert_int_equal(ask(v, all), DHCP4_LEASEUNASSIGNED);
	server_end(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_for_all_tells_each_address_once),
		cmocka_unit_test(a_query_for_a_client_tells_its_lease),
		cmocka_unit_test(wrong_queries_end_with_their_status),
		cmocka_unit_test(connections_are_for_bulk_queries_alone),
		cmocka_unit_test(more_answers_than_there_is_room_for_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 bulk lease queries: the query of each kind, and the check of its reply. Path: tests only.
#define FAMILY(name) leasequery4_##name
#define ADDR_LEN     4
#include "leasequery_fixture.h"

static const uint64_t codes[] = {51, 61};

static struct leasequery_settings about(enum leasequery4_kind kind, const char *subject)
{
	return (struct leasequery_settings){.query = (int32_t)kind,
		.subject = subject,
		.clients = 10,
		.parameters = {(void *)codes, 2}};
}

static void a_query_has_its_subject_and_no_other(void **state)
{
	static const struct {
		enum leasequery4_kind kind;
		const char *subject;
		uint8_t hlen;
		const char *options; // behind option 55
		uint32_t len;
	} rows[] = {
		{LEASEQUERY4_ALL, NULL, 0, "\xff", 1},
		{LEASEQUERY4_MAC, "0200{client:4}", 6, "\xff", 1},
		{LEASEQUERY4_CLIENT_ID, "00{client:1}", 0, "\x3d\2\0\7\xff", 5},
		{LEASEQUERY4_RELAY_ID, "aa{client:1}", 0, "\x52\4\x0c\2\xaa\7\xff", 7},
		{LEASEQUERY4_REMOTE_ID, "aa{client:1}", 0, "\x52\4\2\2\xaa\7\xff", 7},
	};
	static const uint8_t none[DHCP4_HEADER_LEN], mac[6] = {2, 0, 0, 0, 0, 7};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct leasequery_settings s = about(rows[i].kind, rows[i].subject);
		struct asked a;

		ask(&a, &s, 3); // of worker 1 of 2: number 7
		assert_int_equal(a.len, DHCP4_OPTIONS_AT + 3 + 4 + rows[i].len);
		assert_int_equal(a.query[0], DHCP4_REQUEST_OP);
		assert_int_equal(a.query[DHCP4_AT_HTYPE], rows[i].hlen > 0);
		assert_int_equal(a.query[DHCP4_AT_HLEN], rows[i].hlen);
		assert_int_equal(bytes_be32(a.query + DHCP4_AT_XID), 0x123456);
		assert_memory_equal(a.query + DHCP4_AT_SECS, none, 20); // no address
		assert_memory_equal(a.query + DHCP4_AT_CHADDR, rows[i].hlen ? mac : none, 6);
		assert_memory_equal(a.query + DHCP4_OPTIONS_AT, "\x35\1\x0e\x37\2\x33\x3d", 7);
		assert_memory_equal(a.query + DHCP4_OPTIONS_AT + 7, rows[i].options, rows[i].len);
		asked_end(&a);
	}
}

// A reply of this type to the query about the client with that MAC.
static uint32_t reply(uint8_t *out, uint8_t type, uint8_t mac, const char *options, uint32_t len)
{
	memset(out, 0, DHCP4_OPTIONS_AT);
	out[DHCP4_AT_OP] = DHCP4_REPLY_OP;
	out[DHCP4_AT_HTYPE] = 1;
	out[DHCP4_AT_HLEN] = 6;
	bytes_put_be32(out + DHCP4_AT_XID, 0x123456);
	out[DHCP4_AT_CHADDR] = 2;
	out[DHCP4_AT_CHADDR + 5] = mac;
	bytes_put_be32(out + DHCP4_AT_COOKIE, DHCP4_COOKIE);
	memcpy(out + DHCP4_OPTIONS_AT, "\x35\1", 2);
	out[DHCP4_OPTIONS_AT + 2] = type;
	memcpy(out + DHCP4_OPTIONS_AT + 3, options, len);
	out[DHCP4_OPTIONS_AT + 3 + len] = DHCP4_OPT_END;
	return DHCP4_OPTIONS_AT + 4 + len;
}

#define REPLY(a, type, mac, options)                                                               \
	hear(a, m, reply(m, DHCP4_##type, mac, options, sizeof(options) - 1))

static void an_answer_goes_on_to_its_done(void **state)
{
	const struct leasequery_settings s = about(LEASEQUERY4_ALL, NULL);
	struct asked a;
	uint8_t m[512];

	ask(&a, &s, 0);
	cut(&a, m, reply(m, DHCP4_LEASEACTIVE, 1, "\x3d\2\0\1", 4));
	assert_int_equal(REPLY(&a, LEASEACTIVE, 1, ""), PROTO_KEPT);
	assert_int_equal(a.t.step, LEASEQUERY_REST);
	assert_int_equal(REPLY(&a, LEASEACTIVE, 2, "\x3d\2\0\1"), PROTO_KEPT);
	assert_int_equal(REPLY(&a, LEASEUNASSIGNED, 3, ""), PROTO_KEPT);
	assert_int_equal(REPLY(&a, LEASEQUERYDONE, 0, ""), PROTO_DONE);
	assert_int_equal(a.n.bindings, 2);
	assert_int_equal(a.n.unassigned, 1);
	assert_int_equal(a.n.empty, 0);
	assert_int_equal(a.n.received[DHCP4_LEASEACTIVE], 2);
	assert_int_equal(a.n.reply_bytes, 4 * (DHCP4_OPTIONS_AT + 4) + 4);
	asked_end(&a);
	ask(&a, &s, 0);
	assert_int_equal(REPLY(&a, LEASEQUERYDONE, 0, "\x97\1\0"), PROTO_DONE);
	assert_int_equal(a.n.empty, 1);
	asked_end(&a);
}

static void a_status_and_a_strange_message_fail_the_query(void **state)
{
	const struct leasequery_settings s = about(LEASEQUERY4_ALL, NULL);
	struct asked a;
	uint8_t m[512];

	ask(&a, &s, 0);
	assert_int_equal(REPLY(&a, LEASEQUERYDONE, 0, "\x97\5\4nope"), PROTO_FAIL);
	assert_int_equal(REPLY(&a, LEASEQUERYDONE, 0, "\x97\0"), PROTO_FAIL);
	assert_int_equal(REPLY(&a, LEASEQUERYDONE, 0, "\x97\1\x63"), PROTO_FAIL);
	assert_int_equal(a.n.refused, 3);
	assert_int_equal(a.n.status[DHCP4_STATUS_NOT_ALLOWED], 1);
	assert_int_equal(a.n.status[DHCP4_STATUSES], 2);
	assert_int_equal(REPLY(&a, LEASEUNKNOWN, 0, ""), PROTO_FAIL);
	assert_int_equal(REPLY(&a, ACK, 0, ""), PROTO_FAIL);
	assert_int_equal(a.n.unexpected, 2);
	assert_int_equal(a.t.step, LEASEQUERY_FIRST);
	asked_end(&a);
}

static void a_binding_is_of_the_client_that_was_asked_about(void **state)
{
	struct leasequery_settings s = about(LEASEQUERY4_MAC, "0200{client:4}");
	struct asked a;
	uint8_t m[512];

	ask(&a, &s, 3);
	assert_int_equal(REPLY(&a, LEASEACTIVE, 8, ""), PROTO_FAIL);
	assert_int_equal(REPLY(&a, LEASEACTIVE, 7, ""), PROTO_KEPT);
	assert_int_equal(a.n.subject_wrong, 1);
	asked_end(&a);
	s = about(LEASEQUERY4_CLIENT_ID, "00{client:1}");
	ask(&a, &s, 3);
	assert_int_equal(REPLY(&a, LEASEACTIVE, 7, ""), PROTO_FAIL);
	assert_int_equal(REPLY(&a, LEASEACTIVE, 7, "\x3d\2\0\x08"), PROTO_FAIL);
	assert_int_equal(REPLY(&a, LEASEACTIVE, 7, "\x3d\3\0\7\0"), PROTO_FAIL);
	assert_int_equal(REPLY(&a, LEASEACTIVE, 9, "\x3d\2\0\7"), PROTO_KEPT);
	assert_int_equal(a.n.subject_wrong, 3);
	assert_int_equal(a.n.bindings, 1);
	asked_end(&a);
}

static void what_is_no_answer_leaves_the_query_in_flight(void **state)
{
	const struct leasequery_settings s = about(LEASEQUERY4_ALL, NULL);
	struct leasequery_counters none = {0};
	struct asked a;
	uint32_t key, len;
	uint8_t m[512];

	ask(&a, &s, 0);
	none.request_bytes = a.n.request_bytes;
	len = reply(m, DHCP4_LEASEQUERYDONE, 0, "", 0);
	assert_true(leasequery4_key(m, len, &key));
	assert_int_equal(key, 0x123456);
	m[DHCP4_AT_XID] ^= 1;
	assert_int_equal(hear(&a, m, len), PROTO_STRAY);
	m[DHCP4_AT_XID] ^= 1;
	m[DHCP4_AT_OP] = DHCP4_REQUEST_OP;
	assert_false(leasequery4_key(m, len, &key));
	assert_int_equal(hear(&a, m, len), PROTO_MALFORMED);
	assert_int_equal(hear(&a, m, 0), PROTO_MALFORMED);
	assert_memory_equal(&a.n, &none, sizeof(none));
	asked_end(&a);
}

static void a_lost_query_is_counted_by_its_reason(void **state)
{
	const struct leasequery_settings s = about(LEASEQUERY4_ALL, NULL);
	struct asked a;

	ask(&a, &s, 0);
	for (uint32_t i = 0; i < 4; i++) {
		a.t.step = i & 1;
		a.ctx.closed = i & 2;
		assert_int_equal(leasequery4_proto.timeout(&a.ctx, &a.t), PROTO_FAIL);
	}
	assert_int_equal(a.n.closed_before, 1);
	assert_int_equal(a.n.closed_within, 1);
	assert_int_equal(a.n.late_within, 1);
	asked_end(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_has_its_subject_and_no_other),
		cmocka_unit_test(an_answer_goes_on_to_its_done),
		cmocka_unit_test(a_status_and_a_strange_message_fail_the_query),
		cmocka_unit_test(a_binding_is_of_the_client_that_was_asked_about),
		cmocka_unit_test(what_is_no_answer_leaves_the_query_in_flight),
		cmocka_unit_test(a_lost_query_is_counted_by_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

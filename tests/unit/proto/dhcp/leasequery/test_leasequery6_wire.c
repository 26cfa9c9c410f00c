// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 bulk lease queries: the query of each kind, and the check of its reply. Path: tests only.
#define FAMILY(name) leasequery6_##name
#define ADDR_LEN     16
#include "leasequery_fixture.h"

static const uint64_t codes[] = {47, 23};
static const uint8_t address[16] = {0x20, 1, 0x0d, 0xb8, [15] = 7};

static struct leasequery_settings about(enum dhcp6_query_type type, const char *subject)
{
	return (struct leasequery_settings){.query = (int32_t)type - DHCP6_QUERY_BY_ADDRESS,
		.subject = subject,
		.clients = 10,
		.address = {{16, {0x20, 1, 0x0d, 0xb8}}, 16},
		.link = {16, {0xfe, 0x80, [15] = 9}},
		.duid = {(const uint8_t *)"\0\2\0\0\x7e\xd9", 6}};
}

static void a_query_has_its_subject_and_no_other(void **state)
{
	static const struct {
		enum dhcp6_query_type type;
		const char *subject;
		uint16_t code; // of the option in the query; 0: none
		uint32_t len;
	} rows[] = {
		{DHCP6_QUERY_BY_ADDRESS, NULL, DHCP6_OPT_IA_ADDRESS, 24},
		{DHCP6_QUERY_BY_CLIENT_ID, "0003{client:1}", DHCP6_OPT_CLIENT_ID, 3},
		{DHCP6_QUERY_BY_RELAY_ID, "0003{client:1}", DHCP6_OPT_RELAY_ID, 3},
		{DHCP6_QUERY_BY_LINK, NULL, 0, 0},
		{DHCP6_QUERY_BY_REMOTE_ID, "00007ed9{client:1}", DHCP6_OPT_REMOTE_ID, 5},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct leasequery_settings s = about(rows[i].type, rows[i].subject);
		uint32_t len = 17 + (rows[i].code ? 4 + rows[i].len : 0);
		struct dhcp6_message m;
		struct asked a;

		for (uint32_t parameters = 0; parameters <= 2; parameters += 2) {
			s.parameters = (struct field_list){(void *)codes, parameters};
			ask(&a, &s, 3); // of worker 1 of 2: number 7
			assert_true(dhcp6_parse(a.query, a.len, &m));
			assert_int_equal(m.type, DHCP6_LEASEQUERY);
			assert_int_equal(m.xid, 0x123456);
			assert_int_equal(m.client_id.len, 6);
			assert_int_equal(m.query.len, len + (parameters ? 8 : 0));
			assert_int_equal(m.query.data[0], rows[i].type);
			assert_memory_equal(m.query.data + 1, s.link.bytes, 16);
			if (rows[i].code)
				assert_int_equal(bytes_be16(m.query.data + 17), rows[i].code);
			if (rows[i].type == DHCP6_QUERY_BY_ADDRESS)
				assert_memory_equal(m.query.data + 21, address, 16);
			else if (rows[i].code)
				assert_int_equal(m.query.data[20 + rows[i].len], 7);
			if (parameters)
				assert_memory_equal(m.query.data + len, "\0\6\0\4\0\x2f\0\x17", 8);
			asked_end(&a);
		}
	}
}

// A message of this type; with data of the client whose DUID ends in this byte, or with a status.
static uint32_t message(uint8_t *out, uint8_t type, int client, uint16_t status)
{
	struct writer w = writer_of(out, 512);
	const struct dhcp6_lease l = {
		.address = address, .valid_s = 9, .status = DHCP6_STATUS_NONE};
	uint8_t duid[3] = {0, 3, (uint8_t)client}, *option;

	dhcp6_write_header(&w, type, 0x123456);
	if (client >= 0) {
		option = dhcp6_option_begin(&w, DHCP6_OPT_CLIENT_DATA);
		dhcp6_write_option(&w, DHCP6_OPT_CLIENT_ID, duid, sizeof(duid));
		dhcp6_write_lease(&w, DHCP6_OPT_IA_ADDRESS, &l);
		dhcp6_write_lease(&w, DHCP6_OPT_IA_PREFIX, &l);
		dhcp6_option_end(&w, option);
	}
	if (status != DHCP6_STATUS_NONE)
		dhcp6_write_status(&w, status, "");
	return (uint32_t)(w.at - out);
}

#define HEAR(a, type, client, status)                                                              \
	hear(a, m, message(m, DHCP6_LEASEQUERY_##type, client, status))
#define NONE DHCP6_STATUS_NONE

static void an_answer_goes_on_to_its_done(void **state)
{
	const struct leasequery_settings s = about(DHCP6_QUERY_BY_LINK, NULL);
	struct asked a;
	uint8_t m[512];

	ask(&a, &s, 0);
	cut(&a, m, message(m, DHCP6_LEASEQUERY_REPLY, 1, NONE));
	assert_int_equal(HEAR(&a, REPLY, 1, NONE), PROTO_KEPT);
	assert_int_equal(a.t.step, LEASEQUERY_REST);
	assert_int_equal(HEAR(&a, DATA, 2, NONE), PROTO_KEPT);
	assert_int_equal(HEAR(&a, DONE, -1, DHCP6_SUCCESS), PROTO_DONE);
	assert_int_equal(a.n.bindings, 2);
	assert_int_equal(a.n.leases, 4);
	assert_int_equal(a.n.empty, 0);
	assert_int_equal(a.n.received[DHCP6_LEASEQUERY_DATA], 1);
	asked_end(&a);
	ask(&a, &s, 0);
	assert_int_equal(HEAR(&a, REPLY, -1, NONE), PROTO_DONE);
	assert_int_equal(a.n.empty, 1);
	asked_end(&a);
}

static void a_status_and_a_strange_message_fail_the_query(void **state)
{
	const struct leasequery_settings s = about(DHCP6_QUERY_BY_LINK, NULL);
	struct asked a;
	uint8_t m[512];

	ask(&a, &s, 0);
	assert_int_equal(HEAR(&a, REPLY, -1, DHCP6_NOT_ALLOWED), PROTO_FAIL);
	assert_int_equal(HEAR(&a, REPLY, -1, 99), PROTO_FAIL);
	assert_int_equal(HEAR(&a, REPLY, 1, DHCP6_UNSPEC_FAIL), PROTO_FAIL);
	assert_int_equal(a.n.status[DHCP6_NOT_ALLOWED], 1);
	assert_int_equal(a.n.status[DHCP6_STATUSES], 1);
	assert_int_equal(HEAR(&a, DATA, 1, NONE), PROTO_FAIL);
	assert_int_equal(HEAR(&a, DONE, -1, NONE), PROTO_FAIL);
	assert_int_equal(a.n.unexpected, 2);
	assert_int_equal(HEAR(&a, REPLY, 1, NONE), PROTO_KEPT);
	assert_int_equal(HEAR(&a, REPLY, 1, NONE), PROTO_FAIL);
	assert_int_equal(HEAR(&a, DATA, -1, NONE), PROTO_FAIL);
	assert_int_equal(a.n.unexpected, 4);
	assert_int_equal(HEAR(&a, DONE, -1, DHCP6_QUERY_TERMINATED), PROTO_FAIL);
	assert_int_equal(a.n.refused, 4);
	asked_end(&a);
}

static void a_binding_is_the_one_that_was_asked_about(void **state)
{
	struct leasequery_settings s = about(DHCP6_QUERY_BY_CLIENT_ID, "0003{client:1}");
	struct asked a;
	uint8_t m[512];

	ask(&a, &s, 3);
	assert_int_equal(HEAR(&a, REPLY, 8, NONE), PROTO_FAIL);
	assert_int_equal(HEAR(&a, REPLY, 7, NONE), PROTO_KEPT);
	assert_int_equal(a.n.subject_wrong, 1);
	asked_end(&a);
	s = about(DHCP6_QUERY_BY_ADDRESS, NULL);
	ask(&a, &s, 2); // number 5
	assert_int_equal(HEAR(&a, REPLY, 8, NONE), PROTO_FAIL);
	asked_end(&a);
	ask(&a, &s, 3);
	assert_int_equal(HEAR(&a, REPLY, 8, NONE), PROTO_KEPT);
	asked_end(&a);
}

static void what_is_no_answer_leaves_the_query_in_flight(void **state)
{
	const struct leasequery_settings s = about(DHCP6_QUERY_BY_LINK, NULL);
	struct asked a;
	uint32_t key, len;
	uint8_t m[512];

	ask(&a, &s, 0);
	len = message(m, DHCP6_LEASEQUERY_REPLY, 1, NONE);
	assert_true(leasequery6_key(m, len, &key));
	assert_int_equal(key, 0x123456);
	m[3] ^= 1;
	assert_int_equal(hear(&a, m, len), PROTO_STRAY);
	m[3] ^= 1;
	m[7]++; // option 45 runs over the end
	assert_int_equal(hear(&a, m, len), PROTO_MALFORMED);
	assert_int_equal(hear(&a, m, 3), PROTO_MALFORMED);
	assert_int_equal(a.n.reply_bytes, 0);
	asked_end(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_has_its_subject_and_no_other),
		cmocka_unit_test(an_answer_goes_on_to_its_done),
		cmocka_unit_test(a_status_and_a_strange_message_fail_the_query),
		cmocka_unit_test(a_binding_is_the_one_that_was_asked_about),
		cmocka_unit_test(what_is_no_answer_leaves_the_query_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

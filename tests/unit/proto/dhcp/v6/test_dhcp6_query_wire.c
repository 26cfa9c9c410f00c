// SPDX-License-Identifier: BSD-3-Clause
// Lease queries of relays (RFC 5007): parsing of their subjects, the messages, and the effect of
// replies on the client. Path: tests only.

#include "proto/dhcp/dhcp.h"
#include "one_message.h"
#include "dhcp6_client_fixture.h"

#define DUID      "\0\1\0\12\0\3\0\1\2\0\0\0\0\0"
#define OTHER_ID  "\0\1\0\12\0\3\0\1\2\0\0\0\0\1"
#define AGE       "\0\x2e\0\4\0\0\0\x2a"
#define OTHER_AGE "\0\x2e\0\4\0\0\0\x2b"
#define LINK      "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\0"
#define ADDRESS                                                                                    \
	"\0\5\0\x18\x20\1\x0d\xb8\0\0\0\1\0\0\0\0\0\0\0\1"                                         \
	"\0\0\0\5\0\0\0\6"
#define BYTES(text) (text), sizeof(text) - 1

static struct dhcp6_subject s;

// In a block of exactly that size.
static bool reads(bool query, const char *bytes, size_t len)
{
	uint8_t *exact = malloc(len);
	struct dhcp6_bytes data = {exact, (uint16_t)len};
	bool right;

	memcpy(exact, bytes, len);
	memset(&s, 0xee, sizeof(s));
	right = dhcp6_parse_subject(&data, query, &s);
	free(exact);
	return right;
}

static void subjects_are_read(void **state)
{
	assert_true(reads(true, BYTES("\1" LINK ADDRESS)));
	assert_int_equal(s.query, DHCP6_QUERY_BY_ADDRESS);
	assert_int_equal(s.lease_count, 1);
	assert_int_equal(s.leases[0].valid_s, 6);
	assert_null(s.client_id.data);
	assert_true(reads(true, BYTES("\2" LINK DUID)));
	assert_int_equal(s.query, DHCP6_QUERY_BY_CLIENT_ID);
	assert_int_equal(s.client_id.len, 10);
	assert_true(reads(false, BYTES(DUID ADDRESS AGE ADDRESS "\0\7\0\0")));
	assert_int_equal(s.lease_count, 2);
	assert_true(s.has_age);
	assert_int_equal(s.age_s, 42);
	assert_int_equal(s.query, 0);
	assert_null(s.link);
	assert_true(reads(true, BYTES("\7" LINK)));
	assert_false(s.has_age);
}

static void broken_subjects_are_refused(void **state)
{
	static const char whole[] = DUID AGE ADDRESS;
	static const size_t ends[] = {14, 22, 50};

	assert_false(reads(true, BYTES("\1\x20\1")));
	assert_false(reads(false, BYTES(DUID OTHER_ID)));
	assert_false(reads(false, BYTES(AGE OTHER_AGE)));
	assert_false(reads(false, BYTES("\0\1\0\2\0\3")));
	assert_false(reads(false, BYTES("\0\x2e\0\3\0\0\0")));
	assert_int_equal(sizeof(whole) - 1, ends[2]);
	for (size_t len = 1; len < sizeof(whole); len++)
		assert_int_equal(reads(false, whole, len),
			len == ends[0] || len == ends[1] || len == ends[2]);
	// More leases than there is room for.
	assert_true(reads(false,
		BYTES(ADDRESS ADDRESS ADDRESS ADDRESS ADDRESS ADDRESS ADDRESS ADDRESS ADDRESS)));
	assert_int_equal(s.lease_count, DHCP6_IAS_MAX);
	assert_int_equal(s.leases_ignored, 1);
}

// A client with a lease, about which its relay sends a query.
static struct dhcp6_fixture *asking(enum dhcp6_query query)
{
	struct dhcp6_fixture *f = fixture_relay(2, 2);

	f->settings.query = query;
	fixture_open(f);
	fixture_bound(f, DHCP6_LEASEQUERIES);
	return f;
}

static void a_relay_asks_by_itself_under_its_own_name(void **state)
{
	struct dhcp6_fixture *f = asking(DHCP6_BY_ADDRESS);
	uint8_t address[16], relay[16] = {0x20, 1, 0x0d, 0xb8, [14] = 1};
	struct proto_flow flow;

	assert_int_equal(f->e.levels, 0);
	assert_int_equal(f->m.type, DHCP6_LEASEQUERY);
	assert_int_equal(f->m.client_id.len, DHCP6_RELAY_DUID_LEN);
	assert_memory_equal(f->m.client_id.data + 6, relay, 16);
	assert_false(dhcp6_has(&f->m, DHCP6_OPT_ELAPSED_TIME));
	assert_true(dhcp6_parse_subject(&f->m.query, true, &s));
	address_of(f, 0, address);
	assert_memory_equal(s.leases[0].address, address, 16);
	flow_one(&dhcp6_proto, &f->ctx, &f->txn, &flow);
	assert_int_equal(flow.src_port, DHCP6_CLIENT_PORT);
	assert_memory_equal(flow.src, relay, 16);
	fixture_end(f);
	f = asking(DHCP6_BY_CLIENT_ID);
	assert_true(dhcp6_parse_subject(&f->m.query, true, &s));
	assert_int_equal(s.lease_count, 0);
	assert_memory_equal(s.client_id.data, "\0\3\0\1\2\0\0\0\0\0", DUID_LEN);
	fixture_end(f);
}

// Returns the verdict on a LEASEQUERY-REPLY with these options after its DUIDs.
static enum proto_verdict told(struct dhcp6_fixture *f, uint16_t code, const char *data, size_t len)
{
	struct writer w = writer_of(f->reply, sizeof(f->reply));
	enum proto_verdict verdict;
	uint8_t *exact;

	dhcp6_write_header(&w, DHCP6_LEASEQUERY_REPLY, f->m.xid);
	dhcp6_write_option(&w, DHCP6_OPT_CLIENT_ID, f->m.client_id.data, f->m.client_id.len);
	dhcp6_write_option(&w, DHCP6_OPT_SERVER_ID, SERVER_DUID, DUID_LEN);
	if (code)
		dhcp6_write_option(&w, code, data, (uint32_t)len);
	f->reply_len = (uint32_t)(w.at - f->reply);
	exact = malloc(f->reply_len);
	memcpy(exact, f->reply, f->reply_len);
	verdict = judge_one(&dhcp6_proto, &f->ctx, &f->txn, exact, f->reply_len);
	free(exact);
	return verdict;
}

#define DATA(text) DHCP6_OPT_CLIENT_DATA, BYTES(text)

static void an_answer_is_about_the_client_and_has_its_lease_and_a_time(void **state)
{
	struct dhcp6_fixture *f = asking(DHCP6_BY_ADDRESS);

	assert_int_equal(told(f, DATA(DUID ADDRESS AGE)), PROTO_DONE);
	fixture_next(f);
	assert_int_equal(told(f, 0, "", 0), PROTO_FAIL);
	assert_int_equal(f->n.lease_unknown, 1);
	fixture_next(f);
	assert_int_equal(told(f, DATA(DUID ADDRESS)), PROTO_FAIL);
	fixture_next(f);
	assert_int_equal(told(f, DATA(DUID AGE)), PROTO_FAIL);
	fixture_next(f);
	assert_int_equal(told(f, DATA("\0\1\0\3\0\0\0" ADDRESS AGE)), PROTO_FAIL);
	fixture_next(f);
	assert_int_equal(told(f, DATA(DUID ADDRESS AGE OTHER_AGE)), PROTO_FAIL);
	assert_int_equal(f->n.client_data_wrong, 4);
	assert_int_equal(held_by(f, 0), 1);
	fixture_end(f);
}

static void an_answer_about_a_client_may_list_its_links(void **state)
{
	struct dhcp6_fixture *f = asking(DHCP6_BY_CLIENT_ID);

	assert_int_equal(told(f, DHCP6_OPT_LQ_CLIENT_LINK, BYTES(LINK LINK)), PROTO_DONE);
	assert_int_equal(f->n.client_links, 1);
	fixture_next(f);
	assert_int_equal(told(f, DHCP6_OPT_LQ_CLIENT_LINK, BYTES(LINK "\0")), PROTO_MALFORMED);
	assert_int_equal(told(f, DATA(DUID AGE)), PROTO_DONE);
	fixture_end(f);
}

static void a_refused_query_leaves_the_lease_with_its_client(void **state)
{
	struct dhcp6_fixture *f = asking(DHCP6_BY_ADDRESS);
	const uint8_t relay[16] = {0x20, 1, 0x0d, 0xb8, [14] = 1},
		      server[16] = {0x20, 1, 0x0d, 0xb8, [15] = 2};
	struct proto_ends ends = {.src = server,
		.dst = relay,
		.addr_len = 16,
		.src_port = DHCP6_SERVER_PORT,
		.dst_port = DHCP6_SERVER_PORT};

	f->ctx.ends = &ends;
	assert_int_equal(told(f, DHCP6_OPT_STATUS, BYTES("\0\12no")), PROTO_STRAY);
	assert_int_equal(f->n.way_wrong, 1);
	ends.dst_port = DHCP6_CLIENT_PORT;
	assert_int_equal(told(f, DHCP6_OPT_STATUS, BYTES("\0\12no")), PROTO_FAIL);
	assert_int_equal(f->n.refused, 1);
	assert_int_equal(f->n.message_status[DHCP6_NOT_ALLOWED], 1);
	assert_int_equal(held_by(f, 0), 1);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_BOUND);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subjects_are_read),
		cmocka_unit_test(broken_subjects_are_refused),
		cmocka_unit_test(a_relay_asks_by_itself_under_its_own_name),
		cmocka_unit_test(an_answer_is_about_the_client_and_has_its_lease_and_a_time),
		cmocka_unit_test(an_answer_about_a_client_may_list_its_links),
		cmocka_unit_test(a_refused_query_leaves_the_lease_with_its_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// User-defined contents of messages of DHCPv4 clients: fields of the header, options of chosen
// messages, the time that clients claim to have waited, the subject of lease queries, addresses
// without a lease, and whole messages. Path: tests only.

#include "proto/dhcp/dhcp.h"
#include "one_message.h"
#include "dhcp4_client_fixture.h"

static struct dhcp4_header_settings header_none(void)
{
	return (struct dhcp4_header_settings){.flags = UINT64_MAX, .hops = UINT64_MAX};
}

static void every_field_of_the_header_can_be_given(void **state)
{
	struct dhcp4_header_settings header = header_none();
	struct dhcp4_fixture *f = fixture_relay(2);

	header.flags = 0x1234;
	header.hops = 99;
	header.ciaddr = v4(0x01010101);
	header.yiaddr = v4(0x02020202);
	header.siaddr = v4(0x03030303);
	header.giaddr = v4(0x04040404);
	header.sname = "boot-{client}";
	header.file = "{mac}.img";
	f->settings.header = &header;
	f->settings.is.options.count = 0;
	fixture_open(f);
	fixture_next(f);
	fixture_next(f); // the second client
	assert_int_equal(bytes_be16(f->sent + DHCP4_AT_FLAGS), 0x1234);
	assert_int_equal(f->sent[DHCP4_AT_HOPS], 99);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(
			bytes_be32(f->sent + DHCP4_AT_CIADDR + 4 * i), (i + 1) * 0x01010101);
	assert_string_equal((char *)f->sent + DHCP4_AT_SNAME, "boot-1");
	assert_string_equal((char *)f->sent + DHCP4_AT_FILE, "02:00:00:00:00:01.img");
	// The rest of the message is unchanged, and so is its exchange.
	assert_int_equal(f->sent_len, 300);
	assert_int_equal(f->sent[DHCP4_AT_CHADDR + 5], 1);
	fixture_requesting(f);
	assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	fixture_end(f);
}

static void a_given_ciaddr_stands_in_renewals_which_leave_from_the_lease(void **state)
{
	struct dhcp4_header_settings header = header_none();
	struct dhcp4_fixture *f = fixture_new(1);
	struct proto_flow flow;

	header.ciaddr = v4(0x01010101);
	f->settings.header = &header;
	fixture_open(f);
	fixture_bound(f, DHCP4_RENEW);
	assert_int_equal(bytes_be32(f->sent + DHCP4_AT_CIADDR), 0x01010101);
	flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
	assert_int_equal(bytes_be32(flow.src), POOL);
	fixture_end(f);
}

static void replies_come_to_a_given_giaddr(void **state)
{
	struct dhcp4_header_settings header = header_none();
	struct dhcp4_fixture *f = fixture_relay(1);
	uint8_t to[4] = {198, 18, 0, 66};
	struct proto_ends ends = {.src = (const uint8_t[]){198, 18, 0, 2},
		.dst = to,
		.addr_len = 4,
		.src_port = 67,
		.dst_port = 67};

	header.giaddr = v4(RELAY + 2);
	f->settings.header = &header;
	fixture_start(f);
	f->ctx.ends = &ends;
	to[3] = 64;
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_STRAY);
	assert_int_equal(f->n.way_wrong, 1);
	to[3] = 66;
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN);
	fixture_end(f);
}

static void wrong_fields_are_refused(void **state)
{
	struct dhcp4_header_settings header = header_none();

	header.giaddr = v4(RELAY);
	REFUSED(fixture_new(1), "needs a relay", f->settings.header = &header);
	header = header_none();
	header.siaddr = (struct addr){.len = 16};
	REFUSED(fixture_relay(1), "IPv4", f->settings.header = &header);
	header = header_none();
	header.sname = "{random:65}";
	REFUSED(fixture_relay(1), "too long: 65 bytes (up to 64)", f->settings.header = &header);
	header.sname = NULL;
	header.file = "{random:129}";
	REFUSED(fixture_relay(1), "too long: 129 bytes (up to 128)", f->settings.header = &header);
}

// Options 12, common to all clients, and 60, one for each client, in these messages.
static struct dhcp4_fixture *placed(const int32_t *steps, uint32_t count)
{
	struct dhcp4_fixture *f = fixture_relay(2);
	struct field_list messages = {(void *)(uintptr_t)steps, count};

	f->options[0] = (struct dhcp4_option_settings){
		.code = "12", .value = {.text = "name", .messages = messages}};
	f->options[1] = (struct dhcp4_option_settings){
		.code = "60", .value = {.text = "class-{client}", .messages = messages}};
	return fixture_open(f);
}

static void options_are_in_the_messages_that_are_named(void **state)
{
	static const int32_t all[] = {DHCP4_STEP_DISCOVER, DHCP4_STEP_REQUEST, DHCP4_STEP_RAPID,
		DHCP4_STEP_RENEW, DHCP4_STEP_REBIND, DHCP4_STEP_REBOOT, DHCP4_STEP_INFORM,
		DHCP4_STEP_RELEASE, DHCP4_STEP_DECLINE, DHCP4_STEP_LEASEQUERY};

	for (uint32_t named = 0; named < DHCP4_STEPS; named++)
		for (uint32_t exchange = 0; exchange < DHCP4_EXCHANGES; exchange++) {
			struct dhcp4_fixture *f = placed(&all[named], 1);
			uint32_t step = dhcp4_starts[exchange].step;

			if (dhcp4_starts[exchange].from == DHCP_IS_BOUND)
				fixture_dora(f);
			fixture_only(f, exchange);
			fixture_next(f);
			assert_int_equal(has_sent(f, 12), step == (uint32_t)all[named]);
			assert_int_equal(has_sent(f, 60), step == (uint32_t)all[named]);
			fixture_end(f);
		}
}

static void options_that_name_no_message_are_in_the_usual_ones(void **state)
{
	struct dhcp4_fixture *f = placed(NULL, 0);

	fixture_next(f);
	assert_true(has_sent(f, 12) && has_sent(f, 60));
	fixture_requesting(f);
	assert_true(has_sent(f, 12) && has_sent(f, 60));
	assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	fixture_only(f, DHCP4_RELEASES);
	fixture_next(f);
	assert_false(has_sent(f, 12) || has_sent(f, 60));
	fixture_end(f);
}

static void relay_information_is_in_all_messages(void **state)
{
	static const int32_t step = DHCP4_STEP_RENEW;

	REFUSED(fixture_relay(1), "82 is in all messages",
		f->options[0] = ((struct dhcp4_option_settings){.code = "82.9",
			.value = {.text = "x", .messages = {(void *)(uintptr_t)&step, 1}}}));
}

static uint16_t secs_at(struct dhcp4_fixture *f, uint64_t now_ms)
{
	f->ctx.now_ms = now_ms;
	fixture_next(f);
	return bytes_be16(f->sent + DHCP4_AT_SECS);
}

static void clients_pretend_to_have_waited_for_a_time_of_the_run(void **state)
{
	struct dhcp_pretend_settings s = {
		.from = 1, .grow = true, .after_ns = 5000000000, .for_ns = 3000000000};
	struct dhcp4_fixture *f = fixture_relay(20);

	f->settings.is.pretend = &s;
	fixture_open(f);
	assert_int_equal(secs_at(f, 0), 0);
	assert_int_equal(secs_at(f, 4999), 0);
	assert_int_equal(secs_at(f, 5000), 1);
	assert_int_equal(secs_at(f, 7999), 3);
	// The REQUEST has the time of its DISCOVER.
	f->ctx.now_ms = 9000;
	fixture_requesting(f);
	assert_int_equal(bytes_be16(f->sent + DHCP4_AT_SECS), 3);
	assert_int_equal(secs_at(f, 8000), 0);
	fixture_end(f);
}

static void the_time_stays_or_grows_to_the_end_and_no_further(void **state)
{
	struct dhcp_pretend_settings s = {.from = 77};
	struct dhcp4_fixture *f = fixture_relay(20);

	f->settings.is.pretend = &s;
	fixture_open(f);
	assert_int_equal(secs_at(f, 0), 77);
	assert_int_equal(secs_at(f, 100000000), 77);
	fixture_end(f);
	s.grow = true;
	f = fixture_relay(20);
	f->settings.is.pretend = &s;
	fixture_open(f);
	assert_int_equal(secs_at(f, 2000), 79);
	assert_int_equal(secs_at(f, 100000000), 65535);
	fixture_end(f);
}

// Checks a LEASEQUERY about client 0, which has the fields named in `has`.
static void asks_about(enum dhcp4_query query, bool ciaddr, bool chaddr, bool client_id)
{
	struct dhcp4_fixture *f = fixture_relay(1);

	f->settings.query = query;
	fixture_open(f);
	fixture_bound(f, DHCP4_LEASEQUERIES);
	assert_int_equal(bytes_be32(f->sent + DHCP4_AT_CIADDR), ciaddr ? POOL : 0);
	assert_int_equal(f->sent[DHCP4_AT_HTYPE], chaddr);
	assert_int_equal(f->sent[DHCP4_AT_HLEN], chaddr ? 6 : 0);
	assert_int_equal(f->sent[DHCP4_AT_CHADDR], chaddr ? 2 : 0);
	assert_int_equal(has_sent(f, DHCP4_OPT_CLIENT_ID), client_id);
	fixture_plan(f, DHCP4_LEASEACTIVE);
	f->answer.ciaddr = POOL;
	fixture_compose(f);
	f->reply[DHCP4_AT_HTYPE] = 1;
	f->reply[DHCP4_AT_HLEN] = 6;
	f->reply[DHCP4_AT_CHADDR] = 2;
	assert_int_equal(
		judge_one(&dhcp4_proto, &f->ctx, &f->txn, f->reply, f->reply_len), PROTO_DONE);
	fixture_end(f);
}

static void lease_queries_are_about_one_thing(void **state)
{
	asks_about(DHCP4_BY_ADDRESS, true, false, false);
	asks_about(DHCP4_BY_MAC, false, true, false);
	asks_about(DHCP4_BY_CLIENT_ID, false, false, true);
}

static void an_answer_about_another_address_fails(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(1);

	f->settings.query = DHCP4_BY_MAC;
	fixture_open(f);
	fixture_bound(f, DHCP4_LEASEQUERIES);
	ANSWER(f, DHCP4_LEASEACTIVE, PROTO_FAIL, a->ciaddr = POOL + 1);
	assert_int_equal(f->n.address_changed, 1);
	fixture_next(f);
	ANSWER(f, DHCP4_LEASEUNKNOWN, PROTO_FAIL, a->ciaddr = 0);
	assert_int_equal(f->n.lease_unknown, 1);
	fixture_end(f);
}

static struct dhcp4_fixture *informing(struct dhcp4_fixture *f)
{
	f->settings.inform_address = (struct addr_range){v4(0x0a000001), 2};
	f->settings.is.exchange = DHCP4_INFORMS;
	return f;
}

static void clients_inform_without_a_lease(void **state)
{
	static const uint8_t addresses[][4] = {{10, 0, 0, 1}, {10, 0, 0, 2}, {10, 0, 0, 3}};
	struct dhcp4_fixture *f = informing(fixture_new(2));
	struct proto_flow flow;
	uint8_t mac[6];

	fixture_open(f);
	for (uint32_t i = 0; i < 4; i++) {
		fixture_next(f);
		assert_int_equal(bytes_be32(f->sent + DHCP4_AT_CIADDR), 0x0a000001 + i % 2);
		flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
		assert_memory_equal(flow.src, addresses[i % 2], 4);
		ANSWER(f, DHCP4_ACK, PROTO_DONE, a->yiaddr = 0, a->lease_time = 0);
		assert_int_equal(client_of(f, f->txn.user)->head.state, DHCP_IS_FREE);
	}
	assert_int_equal(f->n.leases, 0);
	assert_true(dhcp4_owns(&f->ctx, addresses[1], 4, mac));
	assert_int_equal(mac[5], 1);
	assert_false(dhcp4_owns(&f->ctx, addresses[2], 4, mac));
	fixture_end(f);
}

static void informing_clients_need_an_address_each(void **state)
{
	assert_right(informing(fixture_new(2)));
	REFUSED(informing(fixture_new(3)), "2 addresses for 3 clients", (void)f);
}

#define RAW_HEAD "01010600{xid}{secs}000000000000000000000000000000000000{mac}"
#define ZEROS_32 "0000000000000000000000000000000000000000000000000000000000000000"
#define RAW_TAIL                                                                                   \
	"00000000000000000000" ZEROS_32 ZEROS_32 ZEROS_32 ZEROS_32 ZEROS_32 ZEROS_32 "63825363"

// A whole DISCOVER and REQUEST, without giaddr, as on the link.
static void messages_can_be_given_as_a_whole(void **state)
{
	static const struct dhcp_raw_settings raw[] = {
		{DHCP4_STEP_DISCOVER, RAW_HEAD RAW_TAIL "350101 3d0701{mac} fe02{client:2} ff"},
		{DHCP4_STEP_REQUEST,
			RAW_HEAD RAW_TAIL "350103 3204{address} 3604{server} 3d0701{mac} ff"}};
	struct dhcp_pretend_settings pretend = {.from = 0x1234};
	struct dhcp4_fixture *f = fixture_new(2);
	const uint8_t *data;
	uint32_t len;

	f->settings.is.raw = (struct field_list){(void *)(uintptr_t)raw, 2};
	f->settings.is.pretend = &pretend;
	fixture_open(f);
	assert_true(fixture_begin(f));
	for (uint32_t i = 0; i < 2; i++) {
		if (i)
			assert_true(fixture_begin(f));
		f->sent_len = proto_request(&dhcp4_proto, &f->ctx, &f->txn, f->sent,
			((const struct dhcp_plan *)f->ctx.shared)->longest);
		assert_int_equal(f->ctx.sum, 0);
		assert_int_equal(f->sent_len, 240 + 3 + 9 + 4 + 1);
		assert_int_equal(bytes_be32(f->sent + DHCP4_AT_XID), KEY);
		assert_int_equal(bytes_be16(f->sent + DHCP4_AT_SECS), 0x1234);
		assert_int_equal(f->sent[DHCP4_AT_CHADDR + 5], i);
		data = option_sent(f, 254, &len);
		assert_true(len == 2 && data[1] == i);
	}
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN);
	f->sent_len = proto_request(&dhcp4_proto, &f->ctx, &f->txn, f->sent,
		((const struct dhcp_plan *)f->ctx.shared)->longest);
	data = option_sent(f, DHCP4_OPT_REQUESTED_ADDRESS, &len);
	assert_int_equal(bytes_be32(data), POOL + 1);
	data = option_sent(f, DHCP4_OPT_SERVER_ID, &len);
	assert_int_equal(bytes_be32(data), SERVER_ID);
	assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	assert_int_equal(f->n.leases, 1);
	assert_int_equal(f->n.sent[DHCP4_REQUEST], 1);
	fixture_end(f);
}

static void whole_messages_that_cannot_work_are_refused(void **state)
{
	static struct dhcp_raw_settings raw[] = {
		{DHCP4_STEP_DISCOVER, "01"}, {DHCP4_STEP_DISCOVER, "01{xid}"}};
	struct dhcp_wrong_settings wrong = {.shares = {0.1}};

	REFUSED(fixture_new(1), "needs {xid}", f->settings.is.raw = ((struct field_list){raw, 1}));
	REFUSED(fixture_new(1), "there twice", f->settings.is.raw = ((struct field_list){raw, 2}));
	raw[0].hex = "{xid}{server_id}";
	REFUSED(fixture_new(1), "{server_id} is not",
		f->settings.is.raw = ((struct field_list){raw, 1}));
	REFUSED(fixture_new(1), "conflicts with raw", f->settings.is.wrong = &wrong,
		f->settings.is.raw = ((struct field_list){&raw[1], 1}));
}

// The first differing message is kept, as far as it is shown.
static void an_expected_option_is_that_of_the_client(void **state)
{
	static const char longest[] = "class-0 and thirty-two bytes of another";
	static const struct {
		const char *sent; // NULL: no such option
		bool right;
		uint8_t shown;
	} rows[] = {{"class-0", true, 0}, {"class-1", false, 7}, {"class-00", false, 8},
		{"class-", false, 6}, {NULL, false, 0}, {longest, false, DHCP_UNLIKE_SHOWN}};
	struct dhcp_expected_settings expected[] = {{.code = 51, .value.hex = "00000e10"},
		{.code = 60, .value.text = "class-{client}"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct dhcp4_fixture *f = fixture_relay(1);
		const struct dhcp_unlike *u;

		f->expect.options = (struct field_list){expected, 2};
		f->settings.expect = &f->expect;
		fixture_open(f);
		fixture_only(f, DHCP_TWO_WAY);
		u = &worker_of(f)->is.unlike[1];
		for (uint32_t n = 0; n < 2; n++) {
			fixture_next(f);
			ANSWER(f, DHCP4_OFFER, rows[i].right ? PROTO_DONE : PROTO_FAIL,
				a->vendor_class = n ? "class" : rows[i].sent);
			if (rows[i].right)
				break;
		}
		assert_int_equal(f->n.option_unexpected, rows[i].right ? 0 : 2);
		assert_int_equal(worker_of(f)->is.unlike[0].count, 0);
		assert_int_equal(u->count, rows[i].right ? 0 : 2);
		assert_int_equal(u->missing, !rows[i].sent);
		assert_int_equal(u->len, rows[i].shown);
		assert_int_equal(u->client, 0);
		if (u->len)
			assert_memory_equal(u->bytes, rows[i].sent, u->len);
		fixture_end(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_the_header_can_be_given),
		cmocka_unit_test(a_given_ciaddr_stands_in_renewals_which_leave_from_the_lease),
		cmocka_unit_test(replies_come_to_a_given_giaddr),
		cmocka_unit_test(wrong_fields_are_refused),
		cmocka_unit_test(options_are_in_the_messages_that_are_named),
		cmocka_unit_test(options_that_name_no_message_are_in_the_usual_ones),
		cmocka_unit_test(relay_information_is_in_all_messages),
		cmocka_unit_test(clients_pretend_to_have_waited_for_a_time_of_the_run),
		cmocka_unit_test(the_time_stays_or_grows_to_the_end_and_no_further),
		cmocka_unit_test(lease_queries_are_about_one_thing),
		cmocka_unit_test(an_answer_about_another_address_fails),
		cmocka_unit_test(clients_inform_without_a_lease),
		cmocka_unit_test(informing_clients_need_an_address_each),
		cmocka_unit_test(an_expected_option_is_that_of_the_client),
		cmocka_unit_test(messages_can_be_given_as_a_whole),
		cmocka_unit_test(whole_messages_that_cannot_work_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

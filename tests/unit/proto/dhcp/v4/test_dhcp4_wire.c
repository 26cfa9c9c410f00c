// SPDX-License-Identifier: BSD-3-Clause
// Messages of DHCPv4 clients byte by byte in both topologies, exchanges from begin to end, and
// every check of a reply with its counter. Path: tests only.

#include "proto/dhcp/dhcp.h"
#include "one_message.h"
#include "dhcp4_client_fixture.h"

#include "base/log.h"

#define LEASE_S          3600
#define FIRST_ADDRESS    "\xc6\x12\x40\0"
#define OTHER_SERVER(a)  ((a)->server_id = SERVER_ID + 1)
#define LEASE_OF_0(f, a) ((a)->yiaddr = POOL)
#define OTHER_OFFERS     other_offers
#define HAS_RAPID(f)     has_sent(f, DHCP4_OPT_RAPID_COMMIT)
#define TAGGED(clients)  fixture_new(clients)

static const struct proto_ends tagged_ends = {.src = (const uint8_t[]){198, 18, 0, 2},
	.dst = (const uint8_t[]){255, 255, 255, 255},
	.addr_len = 4,
	.src_port = 67,
	.dst_port = 68};

#include "dhcp_wire_tests.h"

struct golden {
	uint32_t exchange;
	bool relay;
	const char *header;  // the first 44 bytes
	const char *options; // from the magic cookie to END
	uint32_t path;
	uint16_t port;
	uint32_t src;
};

#define MAC_AND_PAD "020000000000 00000000000000000000"
#define COOKIE      "63825363"
#define LIST_AND_ID "37020103 3d0701020000000000"
#define CIRCUIT     "520401027030"

// Decoded by tshark without a warning, and checked against table 5 of RFC 2131. Paths: through a
// relay 0 is the server; for clients that broadcast 0 is the broadcast, 1 the server.
static const struct golden goldens[] = {
	{DHCP4_DORA, false,
		"01010600 1234abcd 00008000 00000000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350101" LIST_AND_ID "ff", 0, 68, 0},
	{DHCP_TWO_WAY, false,
		"01010600 1234abcd 00008000 00000000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350101" LIST_AND_ID "ff", 0, 68, 0},
	{DHCP_RAPID, false,
		"01010600 1234abcd 00008000 00000000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350101" LIST_AND_ID "5000ff", 0, 68, 0},
	{DHCP4_INFORMS, false,
		"01010600 1234abcd 00000000 c6124000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350108" LIST_AND_ID "ff", 1, 68, POOL},
	{DHCP4_RENEW, false,
		"01010600 1234abcd 00000000 c6124000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350103" LIST_AND_ID "ff", 1, 68, POOL},
	{DHCP4_REBIND, false,
		"01010600 1234abcd 00000000 c6124000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350103" LIST_AND_ID "ff", 0, 68, POOL},
	{DHCP4_REBOOT, false,
		"01010600 1234abcd 00008000 00000000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350103 3204c6124000" LIST_AND_ID "ff", 0, 68, 0},
	{DHCP4_RELEASES, false,
		"01010600 1234abcd 00000000 c6124000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350107 3604c6120002 3d0701020000000000ff", 1, 68, POOL},
	{DHCP4_DECLINES, false,
		"01010600 1234abcd 00000000 00000000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350104 3204c6124000 3604c6120002 3d0701020000000000ff", 0, 68, 0},
	{DHCP4_DORA, true,
		"01010601 1234abcd 00008000 00000000 00000000 00000000 c6120040" MAC_AND_PAD,
		COOKIE "350101" LIST_AND_ID CIRCUIT "ff", 0, 67, RELAY},
	{DHCP_TWO_WAY, true,
		"01010601 1234abcd 00008000 00000000 00000000 00000000 c6120040" MAC_AND_PAD,
		COOKIE "350101" LIST_AND_ID CIRCUIT "ff", 0, 67, RELAY},
	{DHCP_RAPID, true,
		"01010601 1234abcd 00008000 00000000 00000000 00000000 c6120040" MAC_AND_PAD,
		COOKIE "350101" LIST_AND_ID "5000" CIRCUIT "ff", 0, 67, RELAY},
	{DHCP4_INFORMS, true,
		"01010600 1234abcd 00000000 c6124000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350108" LIST_AND_ID "ff", 0, 68, POOL},
	{DHCP4_RENEW, true,
		"01010600 1234abcd 00000000 c6124000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350103" LIST_AND_ID "ff", 0, 68, POOL},
	{DHCP4_REBIND, true,
		"01010601 1234abcd 00000000 c6124000 00000000 00000000 c6120040" MAC_AND_PAD,
		COOKIE "350103" LIST_AND_ID CIRCUIT "ff", 0, 67, RELAY},
	{DHCP4_REBOOT, true,
		"01010601 1234abcd 00008000 00000000 00000000 00000000 c6120040" MAC_AND_PAD,
		COOKIE "350103 3204c6124000" LIST_AND_ID CIRCUIT "ff", 0, 67, RELAY},
	{DHCP4_RELEASES, true,
		"01010600 1234abcd 00000000 c6124000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350107 3604c6120002 3d0701020000000000ff", 0, 68, POOL},
	{DHCP4_DECLINES, true,
		"01010601 1234abcd 00000000 00000000 00000000 00000000 c6120040" MAC_AND_PAD,
		COOKIE "350104 3204c6124000 3604c6120002 3d0701020000000000" CIRCUIT "ff", 0, 67,
		RELAY},
	{DHCP4_LEASEQUERIES, true,
		"01000001 1234abcd 00000000 c6124000 00000000 00000000 c6120040"
		"000000000000 00000000000000000000",
		COOKIE "35010a 37020103ff", 0, 67, RELAY},
};

static void assert_sent(struct dhcp4_fixture *f, const char *header, const char *options)
{
	uint8_t all[300] = {0};

	assert_int_equal(from_hex(header, all), 44);
	assert_true(from_hex(options, all + DHCP4_AT_COOKIE) > 4);
	assert_int_equal(f->sent_len, sizeof(all));
	assert_memory_equal(f->sent, all, sizeof(all));
}

static void assert_flow(
	struct dhcp4_fixture *f, uint32_t path, uint16_t port, uint32_t src, bool own_mac)
{
	struct proto_flow flow;

	memset(&flow, 0xee, sizeof(flow));
	flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
	assert_int_equal(flow.path, path);
	assert_int_equal(flow.src_port, port);
	assert_int_equal(bytes_be32(flow.src), src);
	assert_int_equal(flow.own_mac, own_mac);
	if (own_mac)
		assert_memory_equal(flow.mac, f->sent + DHCP4_AT_CHADDR, 6);
}

static void every_message_is_what_the_rfcs_say(void **state)
{
	for (size_t i = 0; i < sizeof(goldens) / sizeof(*goldens); i++) {
		const struct golden *g = &goldens[i];
		struct dhcp4_fixture *f = g->relay ? fixture_relay(3) : fixture_new(3);

		f->relay.circuit_id = "p{client}";
		f->mix.share[DHCP4_RENEW] = 0.5; // so that there are paths to servers
		fixture_open(f);
		fixture_only(f, DHCP4_DORA);
		if (dhcp4_starts[g->exchange].from == DHCP_IS_BOUND) {
			fixture_bound(f, g->exchange);
		} else {
			fixture_only(f, g->exchange);
			fixture_next(f);
		}
		assert_sent(f, g->header, g->options);
		assert_flow(f, g->path, g->port, g->src, !g->relay);
		fixture_end(f);
	}
}

static void the_request_has_what_was_offered(void **state)
{
	struct dhcp4_fixture *f = fixture_start(fixture_new(3));

	assert_int_equal(f->txn.step, DHCP4_STEP_DISCOVER);
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN);
	assert_int_equal(f->txn.step, DHCP4_STEP_REQUEST);
	fixture_send(f);
	assert_sent(f, "01010600 1234abcd 00008000 00000000 00000000 00000000 00000000" MAC_AND_PAD,
		COOKIE "350103 3204c6124000 3604c6120002" LIST_AND_ID "ff");
	assert_flow(f, 0, 68, 0, true);
	assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	assert_int_equal(f->n.leases, 1);
	assert_int_equal(f->n.sent[DHCP4_DISCOVER], 1);
	assert_int_equal(f->n.sent[DHCP4_REQUEST], 1);
	assert_int_equal(f->n.received[DHCP4_OFFER], 1);
	assert_int_equal(f->n.received[DHCP4_ACK], 1);
	assert_int_equal(f->n.server[0], 1);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_BOUND);
	fixture_end(f);
}

static void a_message_without_padding_is_as_long_as_its_options(void **state)
{
	struct dhcp4_fixture *f = fixture_new(1);

	f->settings.pad = 0;
	f->settings.broadcast_flag = false;
	f->settings.client_id = DHCP4_ID_NONE;
	f->settings.is.parameters.count = 0;
	fixture_start(f);
	assert_int_equal(f->sent_len, DHCP4_OPTIONS_AT + 3 + 1);
	assert_int_equal(f->sent[DHCP4_AT_FLAGS], 0);
	assert_int_equal(f->sent[f->sent_len - 1], DHCP4_OPT_END);
	fixture_end(f);
}

static void a_message_that_does_not_fit_is_not_written(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));

	assert_true(fixture_begin(f));
	f->sent[0] = 0xee;
	assert_int_equal(proto_request(&dhcp4_proto, &f->ctx, &f->txn, f->sent, 299), 0);
	assert_int_equal(f->sent[0], 0xee);
	assert_int_equal(f->n.sent[DHCP4_DISCOVER], 0);
	assert_int_equal(proto_request(&dhcp4_proto, &f->ctx, &f->txn, f->sent, 300), 300);
	fixture_end(f);
}

static void macs_count_on_with_carry(void **state)
{
	struct dhcp4_fixture *f = fixture_new(3);

	memcpy(f->settings.is.mac, "\2\0\0\0\xff\xff", 6);
	fixture_open(f);
	for (int i = 0; i < 2; i++) {
		fixture_next(f);
	}
	assert_memory_equal(f->sent + DHCP4_AT_CHADDR, "\2\0\0\1\0\0", 6);
	fixture_end(f);
}

static void assert_option(struct dhcp4_fixture *f, uint8_t code, const char *data, uint32_t len)
{
	uint32_t sent_len;
	const uint8_t *sent = option_sent(f, code, &sent_len);

	assert_int_equal(sent_len, len);
	assert_memory_equal(sent, data, len);
}

static void client_identifiers_have_their_forms(void **state)
{
	static const struct {
		enum dhcp4_client_id kind;
		const char *data;
		uint32_t len;
	} forms[] = {
		{DHCP4_ID_MAC, "\1\2\0\0\0\0\0", 7},
		{DHCP4_ID_DUID, "\xff\0\0\0\1\0\3\0\1\2\0\0\0\0\0", 15},
		{DHCP4_ID_TEXT, "\0me-0000", 8},
	};

	for (size_t i = 0; i < 3; i++) {
		struct dhcp4_fixture *f = fixture_new(1);

		f->settings.client_id = (int32_t)forms[i].kind;
		f->settings.client_id_text = "me-{client:04x}";
		fixture_open(f);
		fixture_dora(f); // each is echoed, and found right
		assert_option(f, DHCP4_OPT_CLIENT_ID, forms[i].data, forms[i].len);
		assert_int_equal(f->n.client_id_missing, 0);
		fixture_end(f);
	}
}

static void options_of_the_user_are_per_client(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(20);
	struct addr ntp[2] = {v4(0xc0000201), v4(0xc0000202)};

	f->options[0] = (struct dhcp4_option_settings){.code = "12", .value.text = "host-{client}"};
	f->options[1] = (struct dhcp4_option_settings){.code = "77", .value.hex = "00ff{mac}"};
	f->options[2] = (struct dhcp4_option_settings){.code = "60", .value.text = "x"};
	f->options[3] = (struct dhcp4_option_settings){.code = "42", .value.address = {ntp, 2}};
	f->options[4] = (struct dhcp4_option_settings){.code = "82.9", .value.hex = "{relay}"};
	f->settings.lease_time_ns = 600000000000;
	f->settings.requested_address = (struct addr_range){v4(0x0a000000), 4};
	fixture_open(f);
	for (int i = 0; i < 12; i++)
		fixture_dora(f);
	assert_option(f, 12, "host-11", 7);
	assert_option(f, 77, "\0\xff\2\0\0\0\0\x0b", 8);
	assert_option(f, 60, "x", 1);
	assert_option(f, 42, "\xc0\0\2\1\xc0\0\2\2", 8);
	assert_option(f, 82, "\x09\4\xc6\x12\0\x43", 6);
	assert_option(f, 51, "\0\0\2\x58", 4);
	fixture_next(f);
	assert_option(f, 50, "\x0a\0\0\0", 4);
	assert_option(f, 12, "host-12", 7);
	assert_int_equal(f->n.relay_info_wrong, 0);
	fixture_end(f);
}

static void release_and_decline_have_no_options_of_the_user(void **state)
{
	struct dhcp4_fixture *f = fixture_new(1);

	f->options[0] = (struct dhcp4_option_settings){.code = "12", .value.text = "host-{client}"};
	f->options[1] = (struct dhcp4_option_settings){.code = "60", .value.text = "x"};
	fixture_open(f);
	fixture_bound(f, DHCP4_DECLINES);
	assert_false(has_sent(f, 12));
	assert_false(has_sent(f, 60));
	assert_false(has_sent(f, DHCP4_OPT_PARAMETERS));
	fixture_end(f);
}

static void names_are_labels_or_text(void **state)
{
	static const struct {
		struct dhcp_fqdn_settings fqdn;
		const char *data;
		uint32_t len;
	} rows[] = {
		{{"c{client}.example.org", true, false, true}, "\5\0\0\2c0\7example\3org\0", 19},
		{{"c{client}", false, true, true}, "\x0c\0\0\2c0", 6},
		{{"a.b.", true, false, false}, "\1\0\0a.b.", 7},
		{{"a.b.", true, false, true}, "\5\0\0\1a\1b\0", 8},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dhcp4_fixture *f = fixture_new(1);

		f->fqdn = rows[i].fqdn;
		fixture_start(f);
		assert_option(f, 81, rows[i].data, rows[i].len);
		fixture_end(f);
	}
}

static void option_82_has_all_its_sub_options_and_is_last(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(8);

	f->relay.circuit_id = "eth{client:2}";
	f->relay.remote_id = "r";
	f->relay.subscriber_id = "s-{mac}";
	f->relay.link_selection = v4(0xc0000200);
	f->relay.server_id_override = "relay";
	f->relay.is.port = 1067;
	fixture_open(f);
	fixture_dora(f);
	fixture_dora(f);
	assert_option(f, 82,
		"\1\5eth01\2\1r\5\4\xc0\0\2\0\6\x13s-02:00:00:00:00:01\x0b\4\xc6\x12\0\x41\x13\0",
		3 + 6 + 2 + 7 + 21 + 6);
	assert_int_equal(
		f->sent[dhcp4_find_option(f->sent, f->sent_len, 82) + 2 + 45], DHCP4_OPT_END);
	assert_int_equal(f->n.relay_info_wrong, 0);
	assert_flow(f, 0, 1067, RELAY + 1, false);
	fixture_end(f);
}

static void with_a_server_id_override_renewals_go_through_the_relay(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(1);

	f->relay.server_id_override = "192.0.2.9";
	fixture_open(f);
	fixture_bound(f, DHCP4_RENEW);
	assert_option(f, 82, "\x0b\4\xc0\0\2\x09", 6);
	assert_int_equal(bytes_be32(f->sent + DHCP4_AT_GIADDR), RELAY);
	assert_int_equal(bytes_be32(f->sent + DHCP4_AT_CIADDR), POOL);
	assert_flow(f, 0, 67, RELAY, false);
	assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	fixture_end(f);
}

static void all_messages_go_through_the_relay_if_asked(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(1);

	f->relay.all = true;
	fixture_open(f);
	fixture_bound(f, DHCP4_RENEW);
	assert_int_equal(dhcp4_find_option(f->sent, f->sent_len, 82), 0);
	assert_int_equal(bytes_be32(f->sent + DHCP4_AT_GIADDR), RELAY);
	assert_int_equal(bytes_be32(f->sent + DHCP4_AT_CIADDR), POOL);
	assert_flow(f, 0, 67, RELAY, false);
	assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	fixture_end(f);
}

static void a_client_stays_with_its_relay(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_relay(10));

	for (uint32_t i = 0; i < 10; i++) {
		fixture_dora(f);
		assert_int_equal(bytes_be32(f->sent + DHCP4_AT_GIADDR), RELAY + i % 4);
	}
	fixture_only(f, DHCP4_REBIND);
	for (uint32_t i = 0; i < 10; i++) {
		fixture_next(f);
		assert_int_equal(bytes_be32(f->sent + DHCP4_AT_GIADDR), RELAY + i % 4);
	}
	fixture_end(f);
}

static void workers_have_clients_and_relays_of_their_own(void **state)
{
	bool client_seen[10] = {false}, relay_seen[2][4] = {{false}};

	for (uint32_t worker = 0; worker < 2; worker++) {
		struct dhcp4_fixture *f = fixture_relay(10);

		f->env.worker = worker;
		f->env.workers = 2;
		fixture_open(f);
		while (fixture_begin(f)) {
			uint32_t client, relay;

			fixture_send(f);
			client = f->sent[DHCP4_AT_CHADDR + 5];
			relay = bytes_be32(f->sent + DHCP4_AT_GIADDR) - RELAY;
			assert_false(client_seen[client]);
			assert_int_equal(relay, client % 4);
			client_seen[client] = true;
			relay_seen[worker][relay] = true;
		}
		fixture_end(f);
	}
	for (int i = 0; i < 10; i++)
		assert_true(client_seen[i]);
	for (int r = 0; r < 4; r++)
		assert_int_equal(relay_seen[0][r] + relay_seen[1][r], 1);
}

static void random_parts_stay_the_same_for_a_client(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(2);
	uint8_t first[8];
	uint32_t len;

	f->relay.circuit_id = "{random:8}";
	f->relay.remote_id = "{random:8}";
	fixture_start(f);
	memcpy(first, option_sent(f, 82, &len) + 2, 8);
	assert_memory_not_equal(first, option_sent(f, 82, &len) + 12, 8);
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN);
	fixture_send(f);
	assert_memory_equal(first, option_sent(f, 82, &len) + 2, 8);
	fixture_next(f);
	assert_memory_not_equal(first, option_sent(f, 82, &len) + 2, 8);
	fixture_end(f);
}

static void clients_have_the_vlans_of_their_range(void **state)
{
	struct dhcp4_fixture *f = fixture_new(4);
	struct proto_flow flow;
	struct proto_layout layout;
	const struct proto_path *paths;
	static const uint32_t expected[4] = {0, 1, 1, 2};

	f->vlan_ids[0] = 7;
	f->vlan_ids[1] = 100;
	f->vlan_ids[2] = 200;
	f->vlans[0] = (struct dhcp_vlan_settings){{1, 2}, {f->vlan_ids, 1}};
	f->vlans[1] = (struct dhcp_vlan_settings){{3, 3}, {f->vlan_ids + 1, 2}};
	fixture_open(f);
	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	paths = layout.paths.items;
	assert_int_equal(layout.paths.count, 3);
	assert_int_equal(paths[0].vlan_count, 0);
	assert_int_equal(paths[1].vlan_count, 1);
	assert_int_equal(paths[1].vlans[0], 7);
	assert_int_equal(paths[2].vlan_count, 2);
	assert_int_equal(paths[2].vlans[1], 200);
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(fixture_begin(f));
		flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
		assert_int_equal(flow.path, expected[i]);
	}
	fixture_end(f);
}

// The next hop of each path is requested, and may be on one VLAN only.
static void no_path_is_without_clients(void **state)
{
	struct dhcp4_fixture *f = fixture_new(4);
	const struct proto_path *paths;
	struct proto_layout layout;

	f->vlan_ids[0] = 7;
	f->vlan_ids[1] = 8;
	f->vlans[0] = (struct dhcp_vlan_settings){{4, 9}, {f->vlan_ids + 1, 1}};
	f->vlans[1] = (struct dhcp_vlan_settings){{0, 3}, {f->vlan_ids, 1}};
	fixture_open(f);
	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	paths = layout.paths.items;
	assert_int_equal(layout.paths.count, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(paths[i].vlan_count == 1 && paths[i].vlans[0] == 7);
	fixture_end(f);
}

// RFC 2131 section 4.4.3; some servers reply to the relay.
static void an_inform_behind_a_relay_is_answered_at_both_addresses(void **state)
{
	static const struct {
		uint32_t to;
		uint16_t port;
		enum proto_verdict verdict;
	} ways[] = {{RELAY, 67, PROTO_DONE}, {0x0a4d0301, 68, PROTO_DONE},
		{0x0a4d0301, 67, PROTO_STRAY}, {0x0a4d0302, 68, PROTO_STRAY}};

	for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct dhcp4_fixture *f = fixture_relay(4);
		uint8_t from[4], to[4], mac[6];
		struct proto_ends ends = {.src = from,
			.dst = to,
			.addr_len = 4,
			.src_port = 67,
			.dst_port = ways[i].port};
		struct proto_layout layout;

		f->relay.all = true;
		f->settings.is.exchange = DHCP4_INFORMS;
		f->settings.inform_address = (struct addr_range){v4(0x0a4d0301), 4};
		fixture_open(f);
		layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
		assert_true(layout.own_answers && !layout.own_addresses);
		assert_int_equal(layout.ports.count, 2);
		assert_int_equal(((const uint16_t *)layout.ports.items)[1], 68);
		fixture_next(f);
		bytes_put_be32(from, SERVER_ID);
		bytes_put_be32(to, ways[i].to);
		if (ways[i].port == 68)
			assert_true(dhcp4_owns(&f->ctx, to, 4, mac));
		f->ctx.ends = &ends;
		assert_int_equal(fixture_answer(f, DHCP4_ACK), ways[i].verdict);
		f->ctx.ends = NULL;
		fixture_end(f);
	}
}

static enum proto_verdict proxy_verdict(struct dhcp4_fixture *f, const char *vendor_class)
{
	fixture_plan(f, DHCP4_OFFER);
	f->answer.yiaddr = 0;
	f->answer.lease_time = f->answer.t1 = f->answer.t2 = 0;
	f->answer.vendor_class = vendor_class;
	return fixture_verdict(f);
}

// The offer of a boot server has no address: it answers a DISCOVER, and the exchange keeps waiting.
static void offers_of_pxe_proxies_have_no_address(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_relay(4));

	fixture_next(f);
	assert_int_equal(proxy_verdict(f, "PXEClient:Arch:00007"), PROTO_DUPLICATE);
	assert_int_equal(f->n.proxy_offers, 1);
	assert_int_equal(f->n.address_missing, 0);
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN);
	fixture_end(f);
	f = fixture_open(fixture_relay(1));
	fixture_only(f, DHCP_TWO_WAY);
	fixture_next(f);
	assert_int_equal(proxy_verdict(f, "PXEClient"), PROTO_DONE);
	assert_int_equal(f->n.proxy_offers, 1);
	fixture_next(f);
	assert_int_equal(proxy_verdict(f, "PXEServer"), PROTO_FAIL);
	fixture_next(f);
	assert_int_equal(proxy_verdict(f, NULL), PROTO_FAIL);
	assert_int_equal(f->n.proxy_offers, 1);
	assert_int_equal(f->n.address_missing, 2);
	fixture_end(f);
}

static void boot_files_are_in_the_header_or_in_option_67(void **state)
{
	static const struct {
		const char *file, *option;
		uint32_t siaddr;
		bool right;
	} all[] = {{"c1.efi", NULL, 0xc0000209, true}, {NULL, "c1.efi", 0xc0000209, true},
		{"c0.efi", NULL, 0xc0000209, false}, {"c1.efix", NULL, 0xc0000209, false},
		{"c1.efi", "other", 0xc0000209, false}, {"c1.efi", NULL, 0xc0000208, false},
		{NULL, NULL, 0xc0000209, false}};
	struct dhcp4_fixture *f = fixture_relay(2);
	uint64_t wrong = 0;

	f->expect.boot_file = "c{client}.efi";
	f->expect.next_server = v4(0xc0000209);
	f->settings.expect = &f->expect;
	fixture_open(f);
	fixture_only(f, DHCP_TWO_WAY);
	fixture_next(f); // client 0
	fixture_answer(f, DHCP4_OFFER);
	for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		do
			fixture_next(f);
		while (f->txn.user != 1);
		fixture_plan(f, DHCP4_OFFER);
		f->answer.file = all[i].file;
		f->answer.boot_file = all[i].option;
		f->answer.siaddr = all[i].siaddr;
		wrong = f->n.option_unexpected;
		assert_int_equal(fixture_verdict(f), all[i].right ? PROTO_DONE : PROTO_FAIL);
		assert_int_equal(f->n.option_unexpected, wrong + !all[i].right);
		fixture_next(f); // client 0
		fixture_answer(f, DHCP4_OFFER);
	}
	fixture_end(f);
}

// --- exchanges ---

static void running_out_of_clients_is_counted(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));

	fixture_dora(f);
	assert_false(fixture_begin(f));
	assert_false(fixture_begin(f));
	assert_int_equal(f->n.no_free_client, 2);
	fixture_only(f, DHCP4_RENEW);
	assert_true(fixture_begin(f));
	assert_false(fixture_begin(f));
	assert_int_equal(f->n.no_bound_client, 1);
	fixture_end(f);
}

static void a_closed_loop_that_asks_again_is_counted_once(void **state)
{
	struct dhcp4_fixture *f = fixture_new(1);

	f->env.rate = 0;
	fixture_open(f);
	fixture_dora(f);
	for (int i = 0; i < 5; i++) {
		f->txn.seq = 41;
		assert_false(dhcp4_begin(&f->ctx, &f->txn, 1));
	}
	assert_int_equal(f->n.no_free_client, 1);
	fixture_end(f);
}

static void what_nobody_can_do_does_not_stop_the_others(void **state)
{
	struct dhcp4_fixture *f = fixture_new(50);
	uint32_t begun = 0;

	f->mix.share[DHCP4_RENEW] = 0.5;
	fixture_open(f);
	for (int i = 0; i < 20; i++) {
		f->txn = (struct proto_txn){0};
		begun += dhcp4_begin(&f->ctx, &f->txn, 1);
	}
	assert_in_range(begun, 8, 12);
	assert_int_equal(f->n.no_bound_client, 20 - begun);
	fixture_end(f);
}

static void shares_of_a_mix_are_exact_in_the_long_run(void **state)
{
	struct dhcp4_fixture *f = fixture_new(1000);
	uint32_t count[DHCP4_EXCHANGES] = {0};

	f->mix.share[DHCP4_RENEW] = 0.2;
	f->mix.share[DHCP4_RELEASES] = 0.1;
	fixture_open(f);
	for (uint32_t i = 0; i < 100000; i++) {
		uint64_t free_before = f->n.no_free_client, bound_before = f->n.no_bound_client;

		f->txn = (struct proto_txn){.seq = i};
		if (!dhcp4_begin(&f->ctx, &f->txn, 1)) {
			count[DHCP4_DORA] += f->n.no_free_client > free_before;
			count[DHCP4_RENEW] += f->n.no_bound_client > bound_before;
			continue;
		}
		count[client_of(f, f->txn.user)->head.exchange]++;
		dhcp4_timeout(&f->ctx, &f->txn);
	}
	assert_in_range(count[DHCP4_DORA], 70000 - 20, 70000 + 20);
	assert_in_range(count[DHCP4_RENEW] + count[DHCP4_RELEASES], 30000 - 20, 30000 + 20);
	fixture_end(f);
}

static void two_messages_are_enough_for_discover(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));

	fixture_only(f, DHCP_TWO_WAY);
	fixture_next(f);
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_DONE);
	assert_int_equal(f->n.leases, 0);
	assert_true(fixture_begin(f));
	fixture_end(f);
}

static void renewals_make_the_lease_longer(void **state)
{
	static const enum dhcp4_exchange ways[] = {DHCP4_RENEW, DHCP4_REBIND, DHCP4_REBOOT};

	for (int i = 0; i < 3; i++) {
		struct dhcp4_fixture *f = fixture_open(fixture_new(1));

		fixture_dora(f);
		fixture_only(f, ways[i]);
		f->ctx.now_ms = 1000000;
		fixture_next(f);
		assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
		assert_int_equal(client_of(f, 0)->head.expires_s, 1000 + 3600);
		assert_int_equal(client_of(f, 0)->address, POOL);
		assert_int_equal(f->n.renewed, 1);
		assert_int_equal(f->n.leases, 1);
		fixture_end(f);
	}
}

static void an_infinite_lease_never_runs_out(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));

	fixture_bound(f, DHCP4_RENEW);
	ANSWER(f, DHCP4_ACK, PROTO_DONE, a->lease_time = UINT32_MAX);
	f->ctx.now_ms = UINT32_MAX;
	assert_true(fixture_begin(f));
	assert_int_equal(f->n.expired, 0);
	fixture_end(f);
}

static void inform_asks_for_parameters_and_changes_nothing(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));

	fixture_bound(f, DHCP4_INFORMS);
	ANSWER(f, DHCP4_ACK, PROTO_DONE, a->yiaddr = a->lease_time = a->t1 = a->t2 = 0);
	assert_int_equal(client_of(f, 0)->address, POOL);
	assert_int_equal(f->n.renewed, 0);
	fixture_end(f);
}

static void a_released_address_is_free_at_once_and_may_be_anybodys(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(2));
	uint8_t mac[6], address[4];

	fixture_dora(f);
	bytes_put_be32(address, POOL);
	assert_true(dhcp4_owns(&f->ctx, address, 4, mac));
	assert_memory_equal(mac, f->settings.is.mac, 6);
	fixture_only(f, DHCP4_RELEASES);
	fixture_next(f);
	assert_true(f->txn.silent);
	assert_int_equal(f->n.released, 1);
	assert_false(dhcp4_owns(&f->ctx, address, 4, mac));

	fixture_only(f, DHCP4_DORA);
	assert_true(fixture_begin(f));
	assert_int_equal(f->txn.user, 1);
	fixture_send(f);
	ANSWER(f, DHCP4_OFFER, PROTO_AGAIN, a->yiaddr = POOL);
	fixture_send(f);
	ANSWER(f, DHCP4_ACK, PROTO_DONE, a->yiaddr = POOL);
	assert_int_equal(f->n.duplicate_address, 0);
	fixture_end(f);
}

static void a_release_ends_once_however_often_it_is_made(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));
	struct proto_txn release;

	fixture_bound(f, DHCP4_RELEASES);
	release = f->txn;
	fixture_only(f, DHCP4_DORA);
	assert_true(fixture_begin(f));
	proto_request(&dhcp4_proto, &f->ctx, &release, f->sent, sizeof(f->sent));
	release.over = true;
	dhcp4_timeout(&f->ctx, &release);
	assert_int_equal(f->n.released, 1);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_BUSY);
	assert_false(fixture_begin(f));
	fixture_end(f);
}

static void a_release_that_was_never_made_leaves_the_lease(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));

	fixture_dora(f);
	fixture_only(f, DHCP4_RELEASES);
	assert_true(fixture_begin(f));
	f->txn.over = true;
	dhcp4_timeout(&f->ctx, &f->txn);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_BOUND);
	assert_int_equal(client_of(f, 0)->address, POOL);
	fixture_end(f);
}

static void a_declined_address_is_not_held(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));

	fixture_bound(f, DHCP4_DECLINES);
	assert_true(f->txn.silent);
	assert_int_equal(f->n.declined, 1);
	assert_int_equal(holder_of(f, POOL), DHCP_NOBODY);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_FREE);
	fixture_end(f);
}

static void after_a_decline_a_client_rests(void **state)
{
	assert_rests(DHCP4_DECLINES, false, UINT64_MAX, 0, NULL);
	assert_rests(DHCP4_DECLINES, true, UINT64_MAX, 10000, NULL);
	assert_rests(DHCP4_DECLINES, true, 0, 0, NULL);
	assert_rests(DHCP4_DECLINES, false, 1500000000, 1500, NULL);
}

static void a_lost_exchange_leaves_the_client_as_it_was(void **state)
{
	struct dhcp4_fixture *f = fixture_start(fixture_new(1));

	assert_int_equal(dhcp4_timeout(&f->ctx, &f->txn), PROTO_FAIL);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_FREE);
	fixture_bound(f, DHCP4_RENEW);
	assert_int_equal(dhcp4_timeout(&f->ctx, &f->txn), PROTO_FAIL);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_BOUND);
	assert_true(fixture_begin(f));
	assert_int_equal(f->n.retransmitted, 0);
	fixture_end(f);
}

static void a_nak_ends_the_lease(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));

	fixture_bound(f, DHCP4_RENEW);
	ANSWER(f, DHCP4_NAK, PROTO_FAIL, a->message = "wrong network");
	assert_int_equal(f->n.nak, 1);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_FREE);
	assert_int_equal(holder_of(f, POOL), DHCP_NOBODY);
	assert_int_equal(worker_of(f)->is.work.refusals[0].count, 1);
	assert_int_equal(worker_of(f)->is.work.refusals[0].len, 13);
	fixture_end(f);
}

static void naks_with_a_ninth_message_are_counted_for_the_log(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));
	char message[] = "a";

	for (int i = 0; i < DHCP_NOTES + 2; i++, message[0]++) {
		fixture_only(f, DHCP4_DORA);
		fixture_bound(f, DHCP4_RENEW);
		ANSWER(f, DHCP4_NAK, PROTO_FAIL, a->message = message);
	}
	assert_int_equal(worker_of(f)->is.work.refusals[DHCP_NOTES - 1].count, 1);
	assert_int_equal(worker_of(f)->is.work.refusals_more, 2);
	fixture_end(f);
}

static void naks_are_kept_by_their_message(void **state)
{
	static const char *const messages[] = {"a", "b", NULL, "a", "b", "a"};
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));

	for (int i = 0; i < 6; i++) {
		fixture_only(f, DHCP4_DORA);
		fixture_bound(f, DHCP4_RENEW);
		ANSWER(f, DHCP4_NAK, PROTO_FAIL, a->message = messages[i]);
	}
	assert_int_equal(worker_of(f)->is.work.refusals[0].count, 3);
	assert_int_equal(worker_of(f)->is.work.refusals[1].count, 2);
	assert_int_equal(worker_of(f)->is.work.refusals[2].count, 1);
	assert_int_equal(worker_of(f)->is.work.refusals[2].len, 0);
	fixture_end(f);
}

static void lease_queries_are_about_an_address(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_relay(1));

	fixture_bound(f, DHCP4_LEASEQUERIES);
	ANSWER(f, DHCP4_LEASEACTIVE, PROTO_STRAY, a->ciaddr = POOL, a->no_chaddr = true);
	ANSWER(f, DHCP4_LEASEUNKNOWN, PROTO_STRAY, a->ciaddr = POOL + 1);
	assert_int_equal(f->n.chaddr_wrong, 2);
	ANSWER(f, DHCP4_LEASEUNASSIGNED, PROTO_FAIL, a->ciaddr = POOL);
	assert_int_equal(f->n.lease_unknown, 1);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_BOUND);

	fixture_next(f);
	fixture_plan(f, DHCP4_LEASEACTIVE);
	f->answer.ciaddr = POOL;
	fixture_compose(f);
	f->reply[DHCP4_AT_HTYPE] = 1;
	f->reply[DHCP4_AT_HLEN] = 6;
	memcpy(f->reply + DHCP4_AT_CHADDR, f->settings.is.mac, 6);
	assert_int_equal(
		judge_one(&dhcp4_proto, &f->ctx, &f->txn, f->reply, f->reply_len), PROTO_DONE);
	fixture_end(f);
}

// --- retransmission ---

static void messages_are_sent_again_with_the_same_xid_and_longer_waits(void **state)
{
	struct dhcp4_fixture *f = fixture_new(1);
	struct proto_layout layout;
	const uint64_t *waits;

	f->settings.is.retransmit = &f->retransmit;
	fixture_open(f);
	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	waits = layout.waits.items;
	assert_int_equal(layout.waits.count, 64);
	assert_true(fixture_begin(f));
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t middle = 4000000000ull << i;

		f->ctx.now_ms = 5000 * i;
		fixture_send(f);
		assert_int_equal(f->sent[DHCP4_AT_SECS + 1], 5 * i);
		assert_int_equal(bytes_be32(f->sent + DHCP4_AT_XID), 0x1234abcd);
		assert_in_range(f->txn.wait, 1 + 16 * i, 16 + 16 * i);
		assert_in_range(waits[f->txn.wait - 1], middle - 1000000000, middle + 1000000000);
		assert_int_equal(waits[16 * i], middle - 1000000000);
		assert_int_equal(waits[16 * i + 15], middle + 1000000000);
		assert_int_equal(dhcp4_timeout(&f->ctx, &f->txn), i < 3 ? PROTO_AGAIN : PROTO_FAIL);
	}
	assert_int_equal(f->n.retransmitted, 3);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_FREE);
	fixture_end(f);
}

// Also after a DISCOVER with rapid commit that is answered by an OFFER.
static void the_request_has_the_secs_of_its_discover_and_tries_of_its_own(void **state)
{
	for (uint32_t rapid = 0; rapid < 2; rapid++) {
		struct dhcp4_fixture *f = fixture_new(1);

		f->settings.is.retransmit = &f->retransmit;
		if (rapid)
			f->settings.is.exchange = DHCP_RAPID;
		fixture_start(f);
		assert_int_equal(dhcp4_timeout(&f->ctx, &f->txn), PROTO_AGAIN);
		f->ctx.now_ms = 4500;
		fixture_send(f);
		assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN);
		assert_int_equal(f->n.attempt[1], 1);
		assert_int_equal(f->txn.tries, 0);
		f->ctx.now_ms = 9000;
		fixture_send(f);
		assert_int_equal(f->sent[DHCP4_AT_SECS + 1], 4);
		assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
		assert_int_equal(f->n.attempt[0], 1);
		fixture_end(f);
	}
}

static void tries_that_wait_for_as_long_share_a_wait(void **state)
{
	struct dhcp4_fixture *f = fixture_new(1);
	struct proto_layout layout;

	f->retransmit = (struct dhcp4_retransmit_settings){1000000000, 10, 0, 16};
	f->settings.is.retransmit = &f->retransmit;
	fixture_open(f);
	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	assert_int_equal(layout.waits.count, 6); // the longest is a day
	assert_int_equal(((uint64_t *)layout.waits.items)[1], 10000000000);
	assert_int_equal(((uint64_t *)layout.waits.items)[5], 24 * 3600 * 1000000000ull);
	assert_true(fixture_begin(f));
	for (uint8_t i = 0; i < 16; i++) {
		f->txn.tries = i;
		fixture_send(f);
		assert_int_equal(f->txn.wait, 1 + (i < 5 ? i : 5));
	}
	fixture_end(f);
}

// --- checks ---

// A client in this step, whose message was sent.
static struct dhcp4_fixture *in_step(enum dhcp4_step step, bool relay)
{
	struct dhcp4_fixture *f = relay ? fixture_relay(4) : fixture_new(4);

	f->relay.circuit_id = "p{client}";
	fixture_open(f);
	if (step == DHCP4_STEP_RAPID)
		fixture_only(f, DHCP_RAPID);
	if (step == DHCP4_STEP_RENEW) {
		fixture_bound(f, DHCP4_RENEW);
		return f;
	}
	fixture_next(f);
	if (step == DHCP4_STEP_REQUEST) {
		assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN);
		fixture_send(f);
	}
	return f;
}

static void assert_spoilt(struct dhcp4_fixture *f, enum proto_verdict verdict, uint64_t *counter)
{
	assert_int_equal(fixture_verdict(f), verdict);
	assert_int_equal(*counter, 1);
	if (verdict == PROTO_FAIL)
		assert_int_not_equal(client_of(f, f->txn.user)->head.state, DHCP_IS_BUSY);
	else
		assert_int_equal(client_of(f, f->txn.user)->head.state, DHCP_IS_BUSY);
	fixture_end(f);
}

static void what_is_not_for_this_transaction_is_stray(void **state)
{
	struct dhcp4_fixture *f = in_step(DHCP4_STEP_DISCOVER, false);

	fixture_plan(f, DHCP4_OFFER);
	f->answer.op = DHCP4_REQUEST_OP;
	assert_spoilt(f, PROTO_STRAY, &f->n.op_wrong);
	f = in_step(DHCP4_STEP_DISCOVER, false);
	fixture_plan(f, DHCP4_OFFER);
	f->answer.xid_xor = 1;
	assert_spoilt(f, PROTO_STRAY, &f->n.xid_wrong);
	f = in_step(DHCP4_STEP_DISCOVER, false);
	fixture_plan(f, DHCP4_OFFER);
	f->answer.chaddr_xor = 1;
	assert_spoilt(f, PROTO_STRAY, &f->n.chaddr_wrong);
}

static enum proto_verdict verdict_of_way(enum dhcp4_step step, bool relay, uint32_t src,
	uint16_t src_port, uint32_t dst, uint16_t dst_port, bool elsewhere)
{
	struct dhcp4_fixture *f = in_step(step, relay);
	uint8_t from[4], to[4];
	struct proto_ends ends = {
		.src = from, .dst = to, .addr_len = 4, .src_port = src_port, .dst_port = dst_port};
	enum proto_verdict v;

	bytes_put_be32(from, src);
	bytes_put_be32(to, dst);
	f->ctx.ends = &ends;
	v = fixture_answer(f, step == DHCP4_STEP_DISCOVER ? DHCP4_OFFER : DHCP4_ACK);
	assert_int_equal(f->n.way_wrong, v == PROTO_STRAY);
	assert_int_equal(f->n.other_source, elsewhere);
	assert_int_equal(f->ctx.elsewhere, elsewhere);
	f->ctx.ends = NULL;
	fixture_end(f);
	return v;
}

// The identifier defines the server. The source of its packet is counted if the request went to an
// address.
static void answers_come_to_where_the_client_is(void **state)
{
	enum dhcp4_step d = DHCP4_STEP_DISCOVER, r = DHCP4_STEP_RENEW;
	uint32_t own = SERVER_ID, all = UINT32_MAX;

	assert_int_equal(verdict_of_way(d, true, own, 67, RELAY, 67, false), PROTO_AGAIN);
	assert_int_equal(verdict_of_way(d, true, own + 1, 67, RELAY, 67, true), PROTO_AGAIN);
	assert_int_equal(verdict_of_way(d, true, own, 68, RELAY, 67, true), PROTO_AGAIN);
	assert_int_equal(verdict_of_way(d, true, own, 67, RELAY + 1, 67, false), PROTO_STRAY);
	assert_int_equal(verdict_of_way(d, true, own, 67, RELAY, 68, false), PROTO_STRAY);
	assert_int_equal(verdict_of_way(d, false, own, 67, all, 68, false), PROTO_AGAIN);
	assert_int_equal(verdict_of_way(d, false, own + 1, 67, all, 68, false), PROTO_AGAIN);
	assert_int_equal(verdict_of_way(d, false, own, 1067, all, 68, true), PROTO_AGAIN);
	assert_int_equal(verdict_of_way(d, false, own, 67, POOL, 68, false), PROTO_AGAIN);
	assert_int_equal(verdict_of_way(d, false, own, 67, POOL + 1, 68, false), PROTO_STRAY);
	assert_int_equal(verdict_of_way(d, false, own, 67, all, 67, false), PROTO_STRAY);
	assert_int_equal(verdict_of_way(r, true, own, 67, POOL, 68, false), PROTO_DONE);
	assert_int_equal(verdict_of_way(r, true, own, 67, RELAY, 67, false), PROTO_STRAY);
}

// Servers reply to the sender's address, or to the one in the message.
static void relays_with_one_sender_are_answered_there_or_at_their_own(void **state)
{
	static const uint8_t sender[4] = {192, 0, 2, 9};
	uint8_t relay[4], server[4], other[4] = {192, 0, 2, 8};
	const uint8_t *to[] = {sender, relay, other};

	bytes_put_be32(relay, RELAY);
	bytes_put_be32(server, SERVER_ID);
	for (uint32_t i = 0; i < 3; i++) {
		struct dhcp4_fixture *f = fixture_relay(4);
		struct proto_ends ends = {
			.src = server, .dst = to[i], .addr_len = 4, .src_port = 67, .dst_port = 67};
		struct proto_flow flow;

		f->relay.is.from = v4(0xc0000209);
		fixture_next(fixture_open(f));
		flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
		assert_memory_equal(flow.src, sender, 4);
		assert_int_equal(bytes_be32(f->sent + DHCP4_AT_GIADDR), RELAY);
		f->ctx.ends = &ends;
		assert_int_equal(
			fixture_answer(f, DHCP4_OFFER), i == 2 ? PROTO_STRAY : PROTO_AGAIN);
		f->ctx.ends = NULL;
		fixture_end(f);
	}
}

static void types_that_do_not_fit_the_state_are_stray(void **state)
{
	static const struct {
		enum dhcp4_step step;
		uint8_t type;
	} wrong[] = {
		{DHCP4_STEP_DISCOVER, DHCP4_ACK},
		{DHCP4_STEP_DISCOVER, DHCP4_NAK},
		{DHCP4_STEP_DISCOVER, 0},
		{DHCP4_STEP_DISCOVER, 200},
		{DHCP4_STEP_RAPID, DHCP4_NAK},
		{DHCP4_STEP_REQUEST, DHCP4_LEASEACTIVE},
		{DHCP4_STEP_REQUEST, DHCP4_DISCOVER},
		{DHCP4_STEP_RENEW, DHCP4_OFFER},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct dhcp4_fixture *f = in_step(wrong[i].step, false);

		fixture_plan(f, (enum dhcp4_type)wrong[i].type);
		assert_spoilt(f, PROTO_STRAY, &f->n.type_wrong);
	}
}

static void only_the_server_that_was_chosen_can_refuse_a_request(void **state)
{
	struct dhcp4_fixture *f = in_step(DHCP4_STEP_REQUEST, false);

	ANSWER(f, DHCP4_NAK, PROTO_STRAY, a->server_id++);
	assert_int_equal(f->n.other_naks, 1);
	assert_int_equal(f->n.nak, 0);
	assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	assert_int_equal(f->n.leases, 1);
	fixture_end(f);
	f = in_step(DHCP4_STEP_REQUEST, false);
	assert_int_equal(fixture_answer(f, DHCP4_NAK), PROTO_FAIL);
	assert_int_equal(f->n.nak, 1);
	fixture_end(f);
	// Any server may refuse a request sent to all.
	f = fixture_open(fixture_new(1));
	fixture_bound(f, DHCP4_REBIND);
	ANSWER(f, DHCP4_NAK, PROTO_FAIL, a->server_id++);
	assert_int_equal(f->n.other_naks, 0);
	fixture_end(f);
}

static void only_the_offer_of_the_server_wanted_is_taken(void **state)
{
	struct dhcp4_fixture *f = fixture_new(1);

	f->settings.accept = v4(SERVER_ID);
	fixture_start(f);
	ANSWER(f, DHCP4_OFFER, PROTO_DUPLICATE, a->server_id++);
	assert_int_equal(f->n.other_offers, 1);
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN);
	fixture_end(f);
}

// A change to a valid reply, and the counter that it must increment.
#define FAILS(step, relay, type, change, counter)                                                  \
	do {                                                                                       \
		struct dhcp4_fixture *f = in_step(step, relay);                                    \
		struct reply_plan *a = &f->answer;                                                 \
                                                                                                   \
		fixture_plan(f, type);                                                             \
		change;                                                                            \
		assert_spoilt(f, PROTO_FAIL, &f->n.counter);                                       \
	} while (0)

static void content_that_is_wrong_fails_the_exchange(void **state)
{
	FAILS(DHCP4_STEP_DISCOVER, false, DHCP4_OFFER, a->server_id = 0, server_id_missing);
	FAILS(DHCP4_STEP_REQUEST, false, DHCP4_ACK, a->server_id = 0, server_id_missing);
	FAILS(DHCP4_STEP_REQUEST, false, DHCP4_ACK, a->server_id++, server_id_changed);
	FAILS(DHCP4_STEP_REQUEST, false, DHCP4_NAK, a->server_id = 0, server_id_missing);
	FAILS(DHCP4_STEP_REQUEST, false, DHCP4_NAK, a->op = 2, nak);
	FAILS(DHCP4_STEP_DISCOVER, false, DHCP4_OFFER, a->yiaddr = 0, address_missing);
	FAILS(DHCP4_STEP_REQUEST, false, DHCP4_ACK, a->yiaddr++, address_changed);
	FAILS(DHCP4_STEP_RENEW, false, DHCP4_ACK, a->yiaddr++, address_changed);
	FAILS(DHCP4_STEP_DISCOVER, false, DHCP4_OFFER, a->lease_time = 0, lease_time_missing);
	FAILS(DHCP4_STEP_REQUEST, false, DHCP4_ACK, a->lease_time = 0, lease_time_missing);
	FAILS(DHCP4_STEP_RENEW, false, DHCP4_ACK, a->t1 = a->t2, times_wrong);
	FAILS(DHCP4_STEP_RENEW, false, DHCP4_ACK, a->t2 = 3600, times_wrong);
	FAILS(DHCP4_STEP_RENEW, false, DHCP4_ACK, (a->t1 = 3600, a->t2 = 0), times_wrong);
	FAILS(DHCP4_STEP_DISCOVER, false, DHCP4_OFFER, a->id_xor = 1, client_id_wrong);
	FAILS(DHCP4_STEP_DISCOVER, false, DHCP4_OFFER, a->id_more = 1, client_id_wrong);
	FAILS(DHCP4_STEP_DISCOVER, false, DHCP4_OFFER, a->id_first_xor = 1, client_id_wrong);
	FAILS(DHCP4_STEP_DISCOVER, true, DHCP4_OFFER, a->echo_relay = false, relay_info_wrong);
	FAILS(DHCP4_STEP_DISCOVER, true, DHCP4_OFFER, a->relay_xor = 1, relay_info_wrong);
	FAILS(DHCP4_STEP_REQUEST, true, DHCP4_NAK, a->echo_relay = false, relay_info_wrong);
	FAILS(DHCP4_STEP_RAPID, false, DHCP4_ACK, a->rapid = false, rapid_commit_missing);
}

static void option_82_that_was_not_sent_must_not_come(void **state)
{
	struct dhcp4_fixture *f = in_step(DHCP4_STEP_RENEW, true);

	fixture_plan(f, DHCP4_ACK);
	f->answer.no_end = true;
	fixture_compose(f);
	memcpy(f->reply + f->reply_len, "\x52\4\1\2p0\xff", 7);
	assert_int_equal(
		judge_one(&dhcp4_proto, &f->ctx, &f->txn, f->reply, f->reply_len + 7), PROTO_FAIL);
	assert_int_equal(f->n.relay_info_wrong, 1);
	fixture_end(f);
}

static void a_lease_of_no_time_is_none(void **state)
{
	struct dhcp4_fixture *f = in_step(DHCP4_STEP_REQUEST, false);

	fixture_plan(f, DHCP4_ACK);
	f->answer.t1 = f->answer.t2 = 0;
	fixture_compose(f);
	bytes_put_be32(
		f->reply + dhcp4_find_option(f->reply, f->reply_len, DHCP4_OPT_LEASE_TIME) + 2, 0);
	assert_int_equal(
		judge_one(&dhcp4_proto, &f->ctx, &f->txn, f->reply, f->reply_len), PROTO_FAIL);
	assert_int_equal(f->n.lease_time_missing, 1);
	fixture_end(f);
}

static void lease_times_without_t1_and_t2_are_right(void **state)
{
	struct dhcp4_fixture *f = in_step(DHCP4_STEP_REQUEST, false);

	ANSWER(f, DHCP4_ACK, PROTO_DONE, a->t1 = a->t2 = 0);
	fixture_end(f);
}

static void addresses_outside_the_pool_fail(void **state)
{
	struct dhcp4_fixture *f = fixture_new(4);

	f->pool[0] = (struct addr_range){v4(POOL + 1), 2};
	f->pool[1] = (struct addr_range){v4(POOL + 8), 2};
	fixture_start(f);
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_FAIL);
	assert_int_equal(f->n.outside_pool, 1);
	for (int i = 0; i < 2; i++)
		fixture_dora(f);
	fixture_next(f);
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_FAIL);
	assert_int_equal(f->n.outside_pool, 2);
	fixture_end(f);
}

static void another_address_on_renewal_may_be_allowed(void **state)
{
	struct dhcp4_fixture *f = fixture_new(1);

	f->settings.expect = &f->expect;
	f->expect.same_address = false;
	fixture_open(f);
	fixture_bound(f, DHCP4_RENEW);
	ANSWER(f, DHCP4_ACK, PROTO_DONE, a->yiaddr = POOL + 9);
	assert_int_equal(holder_of(f, POOL), DHCP_NOBODY);
	assert_int_equal(holder_of(f, POOL + 9), 0);
	fixture_end(f);
}

// Adds one more server identifier after the options of the composed reply. Returns its verdict.
static enum proto_verdict with_another_identifier(struct dhcp4_fixture *f, uint32_t id)
{
	struct writer w = writer_of(f->reply + f->reply_len, 7);

	dhcp4_write_option_be32(&w, DHCP4_OPT_SERVER_ID, id);
	write_u8(&w, DHCP4_OPT_END);
	return judge_one(&dhcp4_proto, &f->ctx, &f->txn, f->reply, f->reply_len + 7);
}

static void an_option_that_is_there_twice_is_used_if_both_are_equal(void **state)
{
	struct dhcp4_fixture *f = in_step(DHCP4_STEP_DISCOVER, false);

	fixture_plan(f, DHCP4_OFFER);
	f->answer.no_end = true;
	fixture_compose(f);
	assert_int_equal(with_another_identifier(f, SERVER_ID + 1), PROTO_MALFORMED);
	assert_non_null(strstr(dhcp4_reason(&f->ctx, &f->txn, f->reply, f->reply_len + 7),
		"option 54 (server identifier)"));
	assert_int_equal(f->n.option_repeated, 0);
	assert_int_equal(with_another_identifier(f, SERVER_ID), PROTO_AGAIN);
	assert_int_equal(f->n.option_repeated, 1);
	assert_int_equal(client_of(f, 0)->chosen, SERVER_ID);
	fixture_end(f);
}

static void what_is_only_counted_fails_nothing(void **state)
{
	struct dhcp4_fixture *f = in_step(DHCP4_STEP_REQUEST, false);

	ANSWER(f, DHCP4_ACK, PROTO_DONE, a->echo_id = false, a->no_end = true);
	assert_int_equal(f->n.client_id_missing, 1);
	assert_int_equal(f->n.no_end, 1);
	assert_int_equal(f->n.parameters_missing, 0);
	fixture_end(f);

	f = fixture_new(1);
	f->parameters[1] = 200;
	fixture_open(f);
	fixture_dora(f);
	assert_int_equal(f->n.parameters_missing, 1);
	fixture_end(f);
}

static void overloaded_and_split_options_are_read(void **state)
{
	struct dhcp4_fixture *f = in_step(DHCP4_STEP_DISCOVER, true);

	fixture_plan(f, DHCP4_OFFER);
	f->answer.echo_id = false;
	f->answer.echo_relay = false;
	f->answer.no_end = true;
	fixture_compose(f);
	// 82 in two pieces, 61 in the file field.
	memcpy(f->reply + f->reply_len, "\x34\1\1\x52\1\1\x52\3\2p0\xff", 12);
	memcpy(f->reply + DHCP4_AT_FILE, "\x3d\7\1\2\0\0\0\0\0\xff", 10);
	assert_int_equal(judge_one(&dhcp4_proto, &f->ctx, &f->txn, f->reply, f->reply_len + 12),
		PROTO_AGAIN);
	assert_int_equal(f->n.overloaded, 1);
	assert_int_equal(f->n.client_id_missing, 0);
	fixture_end(f);
}

static void what_does_not_parse_is_malformed_at_any_length(void **state)
{
	struct dhcp4_fixture *f = in_step(DHCP4_STEP_DISCOVER, true);

	fixture_plan(f, DHCP4_OFFER);
	fixture_compose(f);
	for (uint32_t len = 0; len < f->reply_len; len++) {
		uint8_t *exact = malloc(len ? len : 1);
		enum proto_verdict v;

		assert_non_null(exact);
		memcpy(exact, f->reply, len);
		v = judge_one(&dhcp4_proto, &f->ctx, &f->txn, exact, len);
		free(exact);
		if (len < DHCP4_OPTIONS_AT)
			assert_int_equal(v, PROTO_MALFORMED);
		if (v == PROTO_AGAIN || v == PROTO_FAIL) { // cut between options: start again
			fixture_end(f);
			f = in_step(DHCP4_STEP_DISCOVER, true);
			fixture_plan(f, DHCP4_OFFER);
			fixture_compose(f);
		}
	}
	fixture_end(f);
}

static struct dhcp4_fixture *of_hardware(const char *chaddr, uint8_t htype, uint32_t clients)
{
	struct dhcp4_fixture *f = fixture_relay(clients);

	f->settings.chaddr = chaddr;
	f->settings.htype = htype;
	return f;
}

// The fields sent by the next client: its header from htype to hlen and chaddr, and its identifier.
static void assert_hardware(struct dhcp4_fixture *f, const char *head, const char *id)
{
	uint8_t bytes[32];
	uint32_t len, id_len = from_hex(id, bytes);
	const uint8_t *sent;

	fixture_next(f);
	sent = option_sent(f, DHCP4_OPT_CLIENT_ID, &len);
	assert_int_equal(len, id_len);
	assert_memory_equal(sent, bytes, len);
	assert_int_equal(from_hex(head, bytes), 18);
	assert_memory_equal(f->sent + DHCP4_AT_HTYPE, bytes, 2);
	assert_memory_equal(f->sent + DHCP4_AT_CHADDR, bytes + 2, DHCP4_CHADDR_LEN);
}

static void hardware_addresses_have_one_to_sixteen_bytes(void **state)
{
	struct dhcp4_fixture *f = of_hardware("ff", 20, 1);

	fixture_open(f);
	assert_hardware(f, "1401ff000000000000000000000000000000", "14ff");
	fixture_end(f);
	f = of_hardware("00:11:ff", 7, 3);
	fixture_open(f);
	assert_hardware(f, "07030011ff00000000000000000000000000", "070011ff");
	assert_hardware(f, "070300120000000000000000000000000000", "07001200");
	fixture_end(f);
	f = of_hardware("00:01:02:03:04:05:06:ff:ff:ff:ff:ff:ff:ff:ff:ff", 6, 2);
	fixture_open(f);
	assert_hardware(
		f, "061000010203040506ffffffffffffffffff", "0600010203040506ffffffffffffffffff");
	assert_hardware(
		f, "0610000102030405070000000000000000 00", "06000102030405070000000000000000 00");
	fixture_end(f);
}

static void infiniband_is_told_by_its_identifier_alone(void **state)
{
	struct dhcp4_fixture *f = of_hardware("00:00:01:ff", 32, 2);

	f->settings.client_id = DHCP4_ID_DUID;
	fixture_open(f);
	assert_hardware(f, "200000000000000000000000000000000000", "ff00000001000300200000 01ff");
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN);
	assert_hardware(f, "200000000000000000000000000000000000", "ff00000001000300200000 0200");
	ANSWER(f, DHCP4_OFFER, PROTO_FAIL, a->id_xor = 1);
	assert_int_equal(f->n.client_id_wrong, 1);
	fixture_end(f);
}

static void a_reply_has_the_hardware_address_that_was_sent(void **state)
{
	static const struct {
		uint32_t at;
		enum proto_verdict verdict;
	} rows[] = {{DHCP4_AT_CHADDR + 7, PROTO_STRAY}, {DHCP4_AT_HLEN, PROTO_STRAY},
		{DHCP4_AT_HTYPE, PROTO_STRAY}, {DHCP4_AT_CHADDR + 8, PROTO_AGAIN}};
	struct dhcp4_fixture *f = of_hardware("00:01:02:03:04:05:06:07", 6, 1);

	fixture_start(f);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fixture_plan(f, DHCP4_OFFER);
		fixture_compose(f);
		f->reply[rows[i].at] ^= 1;
		assert_int_equal(judge_one(&dhcp4_proto, &f->ctx, &f->txn, f->reply, f->reply_len),
			rows[i].verdict);
	}
	assert_int_equal(f->n.chaddr_wrong, 3);
	fixture_end(f);
}

static void a_long_hardware_address_can_be_put_into_options(void **state)
{
	struct dhcp4_fixture *f = of_hardware("00:01:02:03:04:05:06:07", 6, 2);
	const uint8_t *data;
	uint32_t len;

	f->options[0] = (struct dhcp4_option_settings){.code = "12", .value.text = "h-{mac}"};
	f->options[1] = (struct dhcp4_option_settings){.code = "60", .value.hex = "ff{mac}"};
	fixture_start(f);
	data = option_sent(f, 12, &len);
	assert_int_equal(len, 25);
	assert_memory_equal(data, "h-00:01:02:03:04:05:06:07", 25);
	data = option_sent(f, 60, &len);
	assert_int_equal(len, 9);
	assert_memory_equal(data, "\xff\0\1\2\3\4\5\6\7", 9);
	fixture_end(f);
}

static struct dhcp4_fixture *second_item(uint8_t mac)
{
	struct dhcp4_fixture *g = fixture_new(2);

	g->settings.is.mac[4] = mac;
	return g;
}

// Both items' client 0 is given the first address of the pool.
static void an_address_of_two_items_fails_until_it_is_given_back(void **state)
{
	struct dhcp4_fixture *f = fixture_new(2), *g = second_item(1);

	fixture_open_both(f, g);
	fixture_dora(f);
	assert_int_equal(holder_of(f, POOL), 0);
	fixture_next(g);
	assert_int_equal(fixture_answer(g, DHCP4_OFFER), PROTO_AGAIN);
	fixture_send(g);
	assert_int_equal(fixture_answer(g, DHCP4_ACK), PROTO_FAIL);
	assert_int_equal(g->n.duplicate_address, 1);
	assert_int_equal(worker_of(g)->is.work.clashes[0].holder, 0);
	assert_int_equal(worker_of(g)->is.work.clashes[0].taker, 2);
	assert_int_equal(client_of(g, 0)->head.state, DHCP_IS_FREE);
	fixture_only(f, DHCP4_RELEASES);
	fixture_next(f);
	assert_int_equal(holder_of(f, POOL), DHCP_NOBODY);
	fixture_dora(g);
	assert_int_equal(holder_of(f, POOL + 1), 3);
	fixture_end(g);
	fixture_end(f);
}

static void a_client_of_two_items_may_have_one_address(void **state)
{
	struct dhcp4_fixture *f = fixture_new(2), *g = second_item(0);

	fixture_open_both(f, g);
	fixture_dora(f);
	fixture_dora(g);
	assert_int_equal(g->n.duplicate_address + f->n.duplicate_address, 0);
	assert_int_equal(holder_of(f, POOL), 0);
	fixture_end(g);
	fixture_end(f);
}

static void what_an_item_owns_is_its_own_clients(void **state)
{
	struct dhcp4_fixture *f = fixture_new(2), *g = second_item(1);
	uint8_t address[4], mac[6] = {0};

	fixture_open_both(f, g);
	fixture_dora(f);
	fixture_next(g);
	ANSWER(g, DHCP4_OFFER, PROTO_AGAIN, a->yiaddr = POOL + 9);
	fixture_send(g);
	ANSWER(g, DHCP4_ACK, PROTO_DONE, a->yiaddr = POOL + 9);
	bytes_put_be32(address, POOL + 9);
	assert_false(dhcp4_owns(&f->ctx, address, 4, mac));
	assert_true(dhcp4_owns(&g->ctx, address, 4, mac));
	assert_memory_equal(mac, "\2\0\0\0\1\0", 6);
	bytes_put_be32(address, POOL);
	assert_true(dhcp4_owns(&f->ctx, address, 4, mac));
	assert_memory_equal(mac, "\2\0\0\0\0\0", 6);
	assert_false(dhcp4_owns(&g->ctx, address, 4, mac));
	fixture_end(g);
	fixture_end(f);
}

// The lease began at the server before the ACK arrived.
static void a_lease_counts_from_the_beginning_of_its_exchange(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));

	f->ctx.now_ms = 10900;
	fixture_next(f);
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN);
	fixture_send(f);
	f->ctx.now_ms = 11100;
	assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	assert_int_equal(client_of(f, 0)->head.expires_s, 10 + 3600);
	f->ctx.now_ms = 3609999;
	assert_int_equal(holder_of(f, POOL), 0);
	f->ctx.now_ms = 3610000;
	assert_int_equal(holder_of(f, POOL), DHCP_NOBODY);
	fixture_end(f);
}

static void after_the_end_replies_are_judged_and_change_nothing(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_new(1));
	struct dhcp4_client before;

	fixture_dora(f);
	f->txn.over = true;
	before = *client_of(f, 0);
	assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	assert_int_equal(fixture_answer(f, DHCP4_NAK), PROTO_FAIL);
	ANSWER(f, DHCP4_ACK, PROTO_FAIL, a->lease_time = 0);
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_DUPLICATE);
	ANSWER(f, DHCP4_ACK, PROTO_STRAY, a->chaddr_xor = 1);
	assert_memory_equal(&before, client_of(f, 0), sizeof(before));
	assert_int_equal(f->n.leases, 1);
	assert_int_equal(holder_of(f, POOL), 0);
	assert_int_equal(worker_of(f)->is.work.clients.rings[DHCP_IS_BOUND].count, 1);
	fixture_end(f);
}

static void a_late_offer_does_not_go_on(void **state)
{
	struct dhcp4_fixture *f = fixture_start(fixture_new(1));

	assert_int_equal(dhcp4_timeout(&f->ctx, &f->txn), PROTO_FAIL);
	f->txn.over = true;
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_DONE);
	assert_int_equal(f->txn.step, DHCP4_STEP_DISCOVER);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_FREE);
	fixture_end(f);
}

static void a_late_ack_is_not_held_against_what_the_client_does_now(void **state)
{
	struct dhcp4_fixture *f = in_step(DHCP4_STEP_REQUEST, false);
	struct proto_txn late = f->txn;

	assert_int_equal(dhcp4_timeout(&f->ctx, &late), PROTO_FAIL);
	client_of(f, 0)->offered = POOL + 7;
	client_of(f, 0)->chosen = SERVER_ID + 7;
	f->txn.over = true;
	assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	assert_int_equal(f->n.address_changed, 0);
	fixture_end(f);
}

static void the_key_is_the_xid_of_replies_and_requests(void **state)
{
	struct dhcp4_fixture *f = in_step(DHCP4_STEP_DISCOVER, false);
	uint32_t key = 0;

	fixture_plan(f, DHCP4_OFFER);
	fixture_compose(f);
	assert_true(dhcp4_key(f->reply, f->reply_len, &key));
	assert_int_equal(key, 0x1234abcd);
	assert_true(dhcp4_key(f->sent, f->sent_len, &key));
	assert_false(dhcp4_key(f->reply, 10, &key));
	f->reply[0] = 3;
	assert_false(dhcp4_key(f->reply, f->reply_len, &key));
	fixture_end(f);
}

static void addresses_are_owned_while_their_lease_runs(void **state)
{
	struct dhcp4_fixture *f = fixture_open(fixture_relay(1));
	uint8_t address[16] = {0}, mac[6] = "portm";

	fixture_dora(f);
	bytes_put_be32(address, POOL);
	assert_true(dhcp4_owns(&f->ctx, address, 4, mac));
	assert_memory_equal(mac, "portm", 6); // behind the relay
	assert_false(dhcp4_owns(&f->ctx, address, 16, mac));
	f->ctx.now_ms = 3600000;
	assert_false(dhcp4_owns(&f->ctx, address, 4, mac));
	bytes_put_be32(address, POOL + 1);
	assert_false(dhcp4_owns(&f->ctx, address, 4, mac));
	fixture_end(f);
}

static void servers_are_asked_in_turn_and_leases_go_back_to_theirs(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(6);
	struct proto_flow flow;

	f->servers[0].addr = v4(SERVER_ID + 1);
	f->servers[1].addr = v4(SERVER_ID + 2);
	f->settings.is.spread = DHCP_ROUND_ROBIN;
	fixture_open(f);
	for (uint32_t i = 0; i < 6; i++) {
		fixture_next(f);
		flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
		assert_int_equal(flow.path, i % 3);
		ANSWER(f, DHCP4_OFFER, PROTO_AGAIN, a->server_id = SERVER_ID + i % 3);
		fixture_send(f);
		f->answer.type = DHCP4_ACK;
		assert_int_equal(fixture_verdict(f), PROTO_DONE);
		assert_int_equal(f->n.server[i % 3], i / 3 + 1);
	}
	fixture_only(f, DHCP4_RENEW);
	for (uint32_t i = 0; i < 6; i++) {
		assert_true(fixture_begin(f));
		flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
		assert_int_equal(flow.path, i % 3);
	}
	fixture_end(f);
}

static void all_servers_are_asked_but_one_is_renewed_with(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(2);
	struct proto_flow flow;

	f->servers[0].addr = v4(SERVER_ID + 1);
	f->servers[1].addr = v4(SERVER_ID + 2);
	f->settings.is.spread = DHCP_TO_EACH;
	fixture_open(f);
	assert_true(fixture_begin(f));
	for (uint32_t step = 0; step < 2; step++) {
		fixture_send(f);
		flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
		assert_int_equal(flow.path, 0);
		assert_int_equal(flow.more, 2);
		ANSWER(f, step ? DHCP4_ACK : DHCP4_OFFER, step ? PROTO_DONE : PROTO_AGAIN,
			a->server_id = SERVER_ID + 1);
	}
	assert_int_equal(f->n.sent[DHCP4_DISCOVER], 3);
	assert_int_equal(f->n.sent[DHCP4_REQUEST], 3);
	assert_int_equal(f->n.server[1], 1);
	fixture_only(f, DHCP4_RENEW);
	assert_true(fixture_begin(f));
	flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
	assert_int_equal(flow.path, 1);
	assert_int_equal(flow.more, 0);
	fixture_end(f);
}

static void a_renewal_goes_to_whoever_gave_the_lease(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(1);
	struct proto_flow flow;

	f->servers[0].addr = v4(SERVER_ID + 1);
	fixture_start(f);
	ANSWER(f, DHCP4_OFFER, PROTO_AGAIN, a->server_id = SERVER_ID + 1);
	fixture_send(f);
	f->answer.type = DHCP4_ACK;
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.server[1], 1);
	fixture_only(f, DHCP4_RENEW);
	assert_true(fixture_begin(f));
	flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
	assert_int_equal(flow.path, 1);
	fixture_end(f);
}

// RFC 2131 section 4.4.5: to the server of option 54. No server is named; one more replies than
// there are paths.
static void on_a_link_each_renewal_goes_to_the_server_of_its_lease(void **state)
{
	const uint32_t count = DHCP_SERVERS_MAX + 1;
	struct dhcp4_fixture *f = fixture_new(count);
	const uint8_t src[4] = {198, 18, 0, 99}, all[4] = {255, 255, 255, 255};
	const struct proto_ends ends = {
		.src = src, .dst = all, .addr_len = 4, .src_port = 67, .dst_port = 68};
	struct proto_flow flow;

	f->mix.share[DHCP4_RENEW] = 0.1;
	f->env.server = (struct addr){.len = 0};
	fixture_open(f);
	fixture_only(f, DHCP4_DORA);
	f->ctx.ends = &ends;
	for (uint32_t i = 0; i < 2 * count; i++) { // each of them twice
		uint32_t server = i % count;
		bool beyond = server == DHCP_SERVERS_MAX;

		if (i == count)
			fixture_only(f, DHCP4_RENEW);
		fixture_next(f);
		flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
		assert_int_equal(flow.path, i < count || beyond ? 0 : 1 + server);
		if (i < count) {
			ANSWER(f, DHCP4_OFFER, PROTO_AGAIN, a->server_id = SERVER_ID + server);
			fixture_send(f);
		}
		assert_int_equal(f->ctx.path_found, 0);
		ANSWER(f, DHCP4_ACK, PROTO_DONE, a->server_id = SERVER_ID + server);
		assert_int_equal(f->ctx.path_found, beyond ? 0 : 2 + server);
		if (!beyond)
			assert_int_equal(bytes_be32(f->ctx.found), SERVER_ID + server);
		f->ctx.path_found = 0;
	}
	assert_int_equal(f->n.servers_beyond, 2);
	fixture_only(f, DHCP4_RELEASES);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(fixture_begin(f));
		flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
		assert_int_equal(flow.path, 1 + i);
	}
	fixture_end(f);
}

static void assert_heard(struct dhcp4_fixture *f, uint32_t place, const char *name, uint64_t offers,
	uint64_t answers, uint64_t refusals)
{
	struct proto_peer peer;

	assert_true(dhcp_peer(f->ctx.shared, &f->n, place, &peer));
	assert_string_equal(peer.name, name);
	assert_int_equal(peer.offers, offers);
	assert_int_equal(peer.answers, answers);
	assert_int_equal(peer.refusals, refusals);
}

// Includes offers and NAKs of servers that were not chosen.
static void each_server_is_known_by_its_replies(void **state)
{
	const uint8_t src[4] = {198, 18, 0, 99}, all[4] = {255, 255, 255, 255};
	const struct proto_ends ends = {
		.src = src, .dst = all, .addr_len = 4, .src_port = 67, .dst_port = 68};
	struct dhcp4_fixture *f = fixture_start(fixture_new(1));
	struct proto_peer peer;

	f->ctx.ends = &ends;
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN);
	fixture_send(f);
	ANSWER(f, DHCP4_OFFER, PROTO_DUPLICATE, a->server_id = SERVER_ID + 1);
	ANSWER(f, DHCP4_NAK, PROTO_STRAY, a->server_id = SERVER_ID + 1);
	assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	assert_heard(f, 0, "198.18.0.2", 1, 1, 0);
	assert_heard(f, 1, "198.18.0.3", 1, 0, 1);
	assert_false(dhcp_peer(f->ctx.shared, &f->n, 2, &peer));
	assert_true(dhcp_peer(f->ctx.shared, &f->n, 1, &peer));
	assert_memory_equal(peer.from.bytes, src, 4);
	fixture_end(f);

	f = fixture_start(fixture_new(1));
	for (uint32_t i = 0; i < DHCP_SERVERS_MAX + 2; i++)
		ANSWER(f, DHCP4_NAK, PROTO_STRAY, a->server_id = SERVER_ID + i);
	assert_heard(f, DHCP_SERVERS_MAX - 1, "198.18.0.17", 0, 0, 1);
	assert_heard(f, DHCP_SERVERS_MAX, "others", 0, 0, 2);
	assert_false(dhcp_peer(f->ctx.shared, &f->n, DHCP_SERVERS_MAX + 1, &peer));
	fixture_end(f);
}

// The server named by the file keeps its own path, which follows its next hop. Any other server is
// found in the run, on the VLANs of the client.
static void another_server_than_the_named_one_renews_its_own_leases(void **state)
{
	struct dhcp4_fixture *f = fixture_new(2);
	const uint8_t src[4] = {198, 18, 0, 99}, all[4] = {255, 255, 255, 255};
	const uint16_t vlan = 7;
	const struct proto_ends ends = {.src = src,
		.dst = all,
		.addr_len = 4,
		.src_port = 67,
		.dst_port = 68,
		.vlans = &vlan,
		.vlan_count = 1};
	struct proto_flow flow;

	f->mix.share[DHCP4_RENEW] = 0.1;
	f->vlan_ids[0] = vlan;
	f->vlans[0] = (struct dhcp_vlan_settings){{0, 9}, {f->vlan_ids, 1}};
	fixture_open(f);
	fixture_only(f, DHCP4_DORA);
	f->ctx.ends = &ends;
	for (uint32_t i = 0; i < 2; i++) {
		fixture_next(f);
		ANSWER(f, DHCP4_OFFER, PROTO_AGAIN, a->server_id = SERVER_ID + i);
		fixture_send(f);
		ANSWER(f, DHCP4_ACK, PROTO_DONE, a->server_id = SERVER_ID + i);
		assert_int_equal(f->ctx.path_found, i ? 17 + 2 + i : 0);
		assert_int_equal(f->n.server[i], 1);
	}
	fixture_only(f, DHCP4_RENEW);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(fixture_begin(f));
		flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
		assert_int_equal(flow.path, 17 + 1 + i);
	}
	fixture_end(f);
}

static void the_same_seed_begins_the_same_exchanges(void **state)
{
	uint8_t first[200];

	for (int run = 0; run < 2; run++) {
		struct dhcp4_fixture *f = fixture_new(200);

		f->mix.share[DHCP_TWO_WAY] = 0.3;
		f->mix.share[DHCP_RAPID] = 0.3;
		fixture_open(f);
		for (int i = 0; i < 200; i++) {
			assert_true(fixture_begin(f));
			if (run == 0)
				first[i] = client_of(f, f->txn.user)->head.exchange;
			assert_int_equal(first[i], client_of(f, f->txn.user)->head.exchange);
		}
		fixture_end(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DHCP_WIRE_TESTS,
		cmocka_unit_test(every_message_is_what_the_rfcs_say),
		cmocka_unit_test(the_request_has_what_was_offered),
		cmocka_unit_test(a_message_without_padding_is_as_long_as_its_options),
		cmocka_unit_test(a_message_that_does_not_fit_is_not_written),
		cmocka_unit_test(macs_count_on_with_carry),
		cmocka_unit_test(client_identifiers_have_their_forms),
		cmocka_unit_test(options_of_the_user_are_per_client),
		cmocka_unit_test(release_and_decline_have_no_options_of_the_user),
		cmocka_unit_test(names_are_labels_or_text),
		cmocka_unit_test(option_82_has_all_its_sub_options_and_is_last),
		cmocka_unit_test(with_a_server_id_override_renewals_go_through_the_relay),
		cmocka_unit_test(all_messages_go_through_the_relay_if_asked),
		cmocka_unit_test(a_client_stays_with_its_relay),
		cmocka_unit_test(workers_have_clients_and_relays_of_their_own),
		cmocka_unit_test(random_parts_stay_the_same_for_a_client),
		cmocka_unit_test(clients_have_the_vlans_of_their_range),
		cmocka_unit_test(no_path_is_without_clients),
		cmocka_unit_test(offers_of_pxe_proxies_have_no_address),
		cmocka_unit_test(boot_files_are_in_the_header_or_in_option_67),
		cmocka_unit_test(an_inform_behind_a_relay_is_answered_at_both_addresses),
		cmocka_unit_test(running_out_of_clients_is_counted),
		cmocka_unit_test(a_closed_loop_that_asks_again_is_counted_once),
		cmocka_unit_test(what_nobody_can_do_does_not_stop_the_others),
		cmocka_unit_test(shares_of_a_mix_are_exact_in_the_long_run),
		cmocka_unit_test(two_messages_are_enough_for_discover),
		cmocka_unit_test(renewals_make_the_lease_longer),
		cmocka_unit_test(an_infinite_lease_never_runs_out),
		cmocka_unit_test(inform_asks_for_parameters_and_changes_nothing),
		cmocka_unit_test(a_released_address_is_free_at_once_and_may_be_anybodys),
		cmocka_unit_test(a_release_ends_once_however_often_it_is_made),
		cmocka_unit_test(a_release_that_was_never_made_leaves_the_lease),
		cmocka_unit_test(a_declined_address_is_not_held),
		cmocka_unit_test(after_a_decline_a_client_rests),
		cmocka_unit_test(a_lost_exchange_leaves_the_client_as_it_was),
		cmocka_unit_test(a_nak_ends_the_lease),
		cmocka_unit_test(naks_with_a_ninth_message_are_counted_for_the_log),
		cmocka_unit_test(naks_are_kept_by_their_message),
		cmocka_unit_test(lease_queries_are_about_an_address),
		cmocka_unit_test(messages_are_sent_again_with_the_same_xid_and_longer_waits),
		cmocka_unit_test(the_request_has_the_secs_of_its_discover_and_tries_of_its_own),
		cmocka_unit_test(tries_that_wait_for_as_long_share_a_wait),
		cmocka_unit_test(what_is_not_for_this_transaction_is_stray),
		cmocka_unit_test(answers_come_to_where_the_client_is),
		cmocka_unit_test(relays_with_one_sender_are_answered_there_or_at_their_own),
		cmocka_unit_test(types_that_do_not_fit_the_state_are_stray),
		cmocka_unit_test(only_the_server_that_was_chosen_can_refuse_a_request),
		cmocka_unit_test(only_the_offer_of_the_server_wanted_is_taken),
		cmocka_unit_test(content_that_is_wrong_fails_the_exchange),
		cmocka_unit_test(option_82_that_was_not_sent_must_not_come),
		cmocka_unit_test(a_lease_of_no_time_is_none),
		cmocka_unit_test(lease_times_without_t1_and_t2_are_right),
		cmocka_unit_test(addresses_outside_the_pool_fail),
		cmocka_unit_test(another_address_on_renewal_may_be_allowed),
		cmocka_unit_test(an_option_that_is_there_twice_is_used_if_both_are_equal),
		cmocka_unit_test(what_is_only_counted_fails_nothing),
		cmocka_unit_test(overloaded_and_split_options_are_read),
		cmocka_unit_test(what_does_not_parse_is_malformed_at_any_length),
		cmocka_unit_test(hardware_addresses_have_one_to_sixteen_bytes),
		cmocka_unit_test(infiniband_is_told_by_its_identifier_alone),
		cmocka_unit_test(a_reply_has_the_hardware_address_that_was_sent),
		cmocka_unit_test(a_long_hardware_address_can_be_put_into_options),
		cmocka_unit_test(an_address_of_two_items_fails_until_it_is_given_back),
		cmocka_unit_test(a_client_of_two_items_may_have_one_address),
		cmocka_unit_test(what_an_item_owns_is_its_own_clients),
		cmocka_unit_test(a_lease_counts_from_the_beginning_of_its_exchange),
		cmocka_unit_test(after_the_end_replies_are_judged_and_change_nothing),
		cmocka_unit_test(a_late_offer_does_not_go_on),
		cmocka_unit_test(a_late_ack_is_not_held_against_what_the_client_does_now),
		cmocka_unit_test(the_key_is_the_xid_of_replies_and_requests),
		cmocka_unit_test(addresses_are_owned_while_their_lease_runs),
		cmocka_unit_test(servers_are_asked_in_turn_and_leases_go_back_to_theirs),
		cmocka_unit_test(all_servers_are_asked_but_one_is_renewed_with),
		cmocka_unit_test(a_renewal_goes_to_whoever_gave_the_lease),
		cmocka_unit_test(on_a_link_each_renewal_goes_to_the_server_of_its_lease),
		cmocka_unit_test(each_server_is_known_by_its_replies),
		cmocka_unit_test(another_server_than_the_named_one_renews_its_own_leases),
		cmocka_unit_test(the_same_seed_begins_the_same_exchanges),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

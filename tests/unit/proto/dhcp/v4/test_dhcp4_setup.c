// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 settings: refused values and their errors, destinations of messages, files of MACs and of
// leases. Path: tests only.

#include "proto/dhcp/dhcp.h"
#include "one_message.h"
#include "dhcp4_client_fixture.h"
#include "dhcp_file_fixture.h"

#include <time.h>

#include "base/log.h"
#include "dhcp_setup_tests.h"

static void right_settings_have_no_complaint(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(4);

	f->mix.share[DHCP4_RENEW] = 0.5;
	f->mix.share[DHCP4_RELEASES] = 0.1;
	f->settings.is.retransmit = &f->retransmit;
	f->fqdn.name = "a.b";
	f->pool[0] = (struct addr_range){v4(POOL), 4};
	assert_right(f);
}

static void who_needs_leases_needs_somebody_who_gets_them(void **state)
{
	struct dhcp4_fixture *right = fixture_new(1);

	right->mix.share[DHCP_RAPID] = 0.1;
	right->settings.is.exchange = DHCP4_RENEW;
	assert_right(right);
	REFUSED(fixture_new(1), "renew needs clients that hold a lease",
		f->settings.is.exchange = DHCP4_RENEW);
	REFUSED(fixture_new(1), "release needs clients that hold a lease",
		f->mix.share[DHCP_TWO_WAY] = 0.9, f->settings.is.exchange = DHCP4_RELEASES);
	REFUSED(fixture_new(1), "leasequery needs a relay", f->mix.share[DHCP4_DORA] = 0.5,
		f->settings.is.exchange = DHCP4_LEASEQUERIES);
}

static void a_pool_smaller_than_the_clients_is_refused(void **state)
{
	REFUSED(fixture_new(100), "99 addresses for 100 clients",
		f->pool[0] = (struct addr_range){v4(POOL), 50},
		f->pool[1] = (struct addr_range){v4(POOL + 64), 49});
}

static void client_id_text_belongs_to_text(void **state)
{
	REFUSED(fixture_new(1), "needs client_id_text", f->settings.client_id = DHCP4_ID_TEXT);
	REFUSED(fixture_new(1), "needs client_id: text", f->settings.client_id_text = "x");
	REFUSED(fixture_new(1), "{address} differs between the messages",
		f->settings.client_id = DHCP4_ID_TEXT, f->settings.client_id_text = "{address}");
}

static void option_refused(const char *code, const char *text, const char *hex, const char *why)
{
	REFUSED(fixture_relay(1), why,
		f->options[0] = (struct dhcp4_option_settings){
			.code = code, .value.text = text, .value.hex = hex});
}

static void bad_options_are_refused(void **state)
{
	static char longer[1100];

	memset(longer, 'x', sizeof(longer) - 1);
	option_refused("x", "a", NULL, "\"x\" is not an option code (like 12 or 82.1)");
	option_refused("256", "a", NULL, "is not an option code");
	option_refused("-1", "a", NULL, "is not an option code");
	option_refused("12.1", "a", NULL, "is not an option code");
	option_refused("82.", "a", NULL, "is not an option code");
	option_refused("82.0", "a", NULL, "is not an option code");
	option_refused("82.255", "a", NULL, "is not an option code");
	option_refused("82", "a", NULL, "option 82 has sub-options (like 82.1)");
	option_refused("53", "a", NULL, "option 53 is written as the message needs it");
	option_refused("0", "a", NULL, "option 0 is written as the message needs it");
	option_refused("255", "a", NULL, "option 255 is written as the message needs it");
	option_refused("61", "a", NULL, "option 61 is set by client_id");
	option_refused("12", NULL, NULL, "needs a value (one of text, hex and address)");
	option_refused("12", "a", "00", "needs a value (one of text, hex and address)");
	option_refused("12", "{nobody}", NULL, "{nobody} is not");
	option_refused("12", NULL, "0", "half a byte");
	option_refused("12", longer, NULL, "too long: 1099 bytes (up to 1024)");
	longer[256] = '\0';
	option_refused("82.9", longer, NULL, "too long: 256 bytes (a sub-option has up to 255)");
	option_refused("82.9", "{address}", NULL, "{address} differs");
}

static void a_template_counts_with_its_longest_client(void **state)
{
	static char text[1100];

	memset(text, 'x', 1019);
	strcpy(text + 1019, "{client}");
	REFUSED(fixture_new(1000000), "too long: 1025 bytes (up to 1024)",
		f->options[0] = (struct dhcp4_option_settings){.code = "12", .value.text = text});
}

static void relays_are_needed_where_they_are_named(void **state)
{
	REFUSED(fixture_new(1), "option 82 needs a relay",
		f->options[0] = (struct dhcp4_option_settings){.code = "82.9", .value.text = "a"});
	REFUSED(fixture_new(1), "{relay} needs a relay",
		f->options[0] =
			(struct dhcp4_option_settings){.code = "12", .value.text = "{relay}"});
	REFUSED(fixture_new(1), "needs a relay: a broadcast reaches all servers",
		f->settings.is.spread = DHCP_ROUND_ROBIN);
}

static void option_82_has_its_limit(void **state)
{
	static char text[260];

	memset(text, 'x', 253);
	REFUSED(fixture_relay(1), "option 82 may get 1025 bytes long (up to 1024)",
		f->relay.circuit_id = text, f->relay.remote_id = text,
		f->relay.subscriber_id = text,
		f->options[0] = (struct dhcp4_option_settings){.code = "82.9",
			.value.text = "{random:255}"},
		f->options[1] = (struct dhcp4_option_settings){.code = "82.10", .value.text = "a"});
}

// RFC 3396: 300 bytes are pieces of 255 and 45.
static void long_options_are_sent_in_pieces(void **state)
{
	static char text[301];
	struct dhcp4_fixture *f = fixture_new(1);
	uint8_t joined[DHCP4_OPTION_MAX];
	uint32_t at;

	for (uint32_t i = 0; i < 300; i++)
		text[i] = (char)('a' + i % 26);
	f->options[0] = (struct dhcp4_option_settings){.code = "43", .value.text = text};
	fixture_next(fixture_open(f));
	at = dhcp4_find_option(f->sent, f->sent_len, 43);
	assert_int_equal(f->sent[at + 1], 255);
	assert_int_equal(f->sent[at + 257], 43);
	assert_int_equal(f->sent[at + 258], 45);
	assert_int_equal(dhcp4_option_join(f->sent, f->sent_len, 43, joined, sizeof(joined)), 300);
	assert_memory_equal(joined, text, 300);
	assert_int_equal(f->sent[f->sent_len - 1], DHCP4_OPT_END);
	fixture_end(f);
}

static void messages_have_their_limit(void **state)
{
	struct dhcp4_fixture *f = fixture_new(1);

	for (int i = 0; i < 5; i++)
		f->options[i] =
			(struct dhcp4_option_settings){.code = "77", .value.text = "{random:250}"};
	assert_refused(f, "messages get too long (up to 1400 bytes)");
	assert_right(fixture_new(1));
}

// The room required is that of the longest message; only an identifier in hex leaves a byte.
static void the_room_is_that_of_the_longest_message(void **state)
{
	static const struct {
		enum dhcp4_client_id id;
		const char *text, *fqdn, *code;
		bool relay;
		uint32_t spare;
	} rows[] = {{DHCP4_ID_NONE}, {DHCP4_ID_MAC}, {DHCP4_ID_DUID}, {DHCP4_ID_TEXT, "id{client}"},
		{DHCP4_ID_HEX, "0102", .spare = 1}, {.fqdn = "a.b"}, {.code = "12"}, {.code = "43"},
		{.relay = true}, {.relay = true, .code = "82.9"},
		{DHCP4_ID_TEXT, "x", "a.b", "77", true}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct dhcp4_fixture *f = rows[i].relay ? fixture_relay(1) : fixture_new(1);

		f->settings.pad = 0;
		f->settings.client_id = rows[i].id;
		if (rows[i].id == DHCP4_ID_TEXT)
			f->settings.client_id_text = rows[i].text;
		else
			f->settings.client_id_hex = rows[i].text;
		f->fqdn.name = rows[i].fqdn;
		if (rows[i].code)
			f->options[0] = (struct dhcp4_option_settings){
				.code = rows[i].code, .value.text = "{random:240}"};
		f->relay.circuit_id = "circuit";
		fixture_open(f);
		fixture_next(f);
		fixture_requesting(f);
		assert_int_equal(f->sent_len + rows[i].spare, f->facts.longest);
		assert_int_equal(proto_request(&dhcp4_proto, &f->ctx, &f->txn, f->sent,
					 f->sent_len + rows[i].spare - 1),
			0);
		fixture_end(f);
	}
}

static void a_count_of_macs_is_of_those_that_are_computed(void **state)
{
	REFUSED(fixture_relay(1), "conflicts with mac_file",
		(f->settings.is.mac_count = 1, f->settings.is.mac_file = "macs"));
	REFUSED(fixture_relay(1), "conflicts with mac_count",
		(f->settings.is.mac_count = 1, f->settings.chaddr = "00:01"));
}

static void bad_relays_are_refused(void **state)
{
	REFUSED(fixture_relay(1), "not an IPv4 address",
		f->relays[0].first = (struct addr){.len = 16});
	REFUSED(fixture_relay(1), "2000000 relays (up to 1048576)", f->relays[0].count = 2000000);
	REFUSED(fixture_relay(1), "\"yes\" is not \"relay\" or an IPv4 address",
		f->relay.server_id_override = "yes");
	REFUSED(fixture_relay(1), "\"::1\" is not \"relay\" or an IPv4 address",
		f->relay.server_id_override = "::1");
	REFUSED(fixture_relay(1), "not an IPv4 address",
		f->relay.link_selection = (struct addr){.len = 16});
}

static void bad_names_are_refused(void **state)
{
	REFUSED(fixture_new(1), "a label of a name has 1 to 63 characters", f->fqdn.name = "a..b");
	REFUSED(fixture_new(1), "a label of a name has 1 to 63 characters",
		f->fqdn.name = "{random:64}.b");
	REFUSED(fixture_new(1), "conflicts with server_update", f->fqdn.name = "a.b",
		f->fqdn.no_update = true);
}

static void jitter_is_shorter_than_the_wait(void **state)
{
	REFUSED(fixture_new(1), "not shorter than initial",
		f->settings.is.retransmit = &f->retransmit,
		f->retransmit.jitter_ns = f->retransmit.initial_ns);
}

static void a_server_is_needed_by_relays_only(void **state)
{
	struct dhcp4_fixture *f = fixture_new(1);

	assert_int_equal(proto_terms(&dhcp4_proto, &f->settings).server_len, 4);
	assert_null(proto_terms(&dhcp4_proto, &f->settings).no_server);
	f->mix.share[DHCP4_RENEW] = 0.1;
	fixture_link(f);
	assert_null(proto_terms(&dhcp4_proto, &f->settings).no_server);
	f->settings.is.relay = &f->relay.is;
	assert_string_equal(proto_terms(&dhcp4_proto, &f->settings).no_server,
		"is missing (the relays send to it)");
	fixture_end(f);
}

static void assert_layout(struct dhcp4_fixture *f, uint32_t paths, uint32_t ports,
	const uint16_t *port, uint32_t owned, bool own_macs)
{
	struct proto_layout layout;

	fixture_open(f);
	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	assert_int_equal(layout.paths.count, paths);
	assert_int_equal(layout.ports.count, ports);
	assert_memory_equal(layout.ports.items, port, ports * sizeof(*port));
	assert_int_equal(layout.owned.count, owned);
	assert_int_equal(layout.own_macs, own_macs);
	assert_int_equal(layout.waits.count, 0);
	fixture_end(f);
}

static void the_layout_follows_the_topology(void **state)
{
	static const uint16_t client[] = {68}, relay[] = {67}, both[] = {67, 68};
	static const uint16_t own[] = {1067}, old[] = {67, 1067};
	struct dhcp4_fixture *f = fixture_new(1);

	assert_layout(f, 1, 1, client, 0, true);
	f = fixture_new(1);
	f->mix.share[DHCP4_RENEW] = 0.1;
	assert_layout(f, 1 + DHCP_SERVERS_MAX, 1, client, 0, true);
	f = fixture_relay(1);
	assert_layout(f, 1, 1, relay, 1, false);
	f = fixture_relay(1);
	f->mix.share[DHCP4_RENEW] = 0.1;
	assert_layout(f, 1, 2, both, 1, false);
	f = fixture_relay(1);
	f->relay.is.port = 1067;
	assert_layout(f, 1, 1, own, 1, false);
	f = fixture_relay(1);
	f->relay.is.port = 1067;
	f->relay.is.source_port = false;
	assert_layout(f, 1, 2, old, 1, false);
}

static void paths_are_the_broadcast_and_the_servers(void **state)
{
	struct dhcp4_fixture *f = fixture_new(1);
	struct proto_layout layout;
	const struct proto_path *paths;
	struct addr all = v4(UINT32_MAX), own = v4(SERVER_ID);

	f->mix.share[DHCP4_RENEW] = 0.1;
	f->servers[0].addr = v4(SERVER_ID + 1);
	fixture_open(f);
	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	paths = layout.paths.items;
	assert_int_equal(layout.paths.count, 1 + DHCP_SERVERS_MAX);
	assert_true(addr_equal(&paths[0].dst, &all));
	assert_true(addr_equal(&paths[1].dst, &own));
	assert_true(addr_equal(&paths[2].dst, &f->servers[0].addr));
	for (uint32_t i = 3; i < layout.paths.count; i++) // until a server is met
		assert_true(addr_equal(&paths[i].dst, &all));
	fixture_end(f);
}

// --- files ---

static void macs_come_from_a_file(void **state)
{
	struct dhcp4_fixture *f = fixture_new(2);

	f->settings.is.mac_file = file_of("# two\n02:00:00:00:00:09\r\n\n  00:1b:21:00:00:01  \n");
	fixture_open(f);
	fixture_dora(f);
	assert_memory_equal(f->sent + DHCP4_AT_CHADDR, "\2\0\0\0\0\x09", 6);
	fixture_dora(f);
	assert_memory_equal(f->sent + DHCP4_AT_CHADDR, "\0\x1b\x21\0\0\1", 6);
	unlink(f->settings.is.mac_file);
	fixture_end(f);
}

static void a_file_may_have_longer_addresses_behind_relays(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(2);

	f->settings.is.mac_file = file_of("00:01:02:03:04:05:06:07\n00:01:02:03:04:05:06:09\n");
	f->settings.htype = 6;
	fixture_open(f);
	fixture_dora(f);
	assert_memory_equal(f->sent + DHCP4_AT_HTYPE, "\6\x8", 2);
	fixture_dora(f);
	assert_memory_equal(f->sent + DHCP4_AT_CHADDR, "\0\1\2\3\4\5\6\x9\0", 9);
	unlink(f->settings.is.mac_file);
	fixture_end(f);
}

static void leases_go_from_one_run_to_the_next(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(5);
	const char *path = file_of("");

	f->leases.save = path;
	fixture_open(f);
	for (int i = 0; i < 3; i++)
		fixture_dora(f);
	fixture_end(f);

	f = fixture_relay(5);
	f->leases.load = path;
	f->settings.is.exchange = DHCP4_RENEW;
	fixture_check(f);
	assert_int_equal(diag_count(f->diag), 0);
	fixture_open(f);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(fixture_begin(f));
		assert_int_equal(f->txn.user, i);
		assert_in_range(client_of(f, i)->head.expires_s, 3590, 3601);
		fixture_send(f);
		assert_int_equal(bytes_be32(f->sent + DHCP4_AT_CIADDR), POOL + i);
		assert_int_equal(fixture_answer(f, DHCP4_ACK), PROTO_DONE);
	}
	assert_int_equal(f->n.renewed, 3);
	assert_int_equal(worker_of(f)->is.work.clients.rings[DHCP_IS_BOUND].count, 3);
	fixture_only(f, DHCP4_DORA);
	assert_true(fixture_begin(f));
	assert_int_equal(f->txn.user, 3);
	fixture_end(f);
	unlink(path);
}

static void a_saved_lease_has_five_columns(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(1);
	const char *path = file_of("old\n");
	char line[3][128] = {{0}};
	unsigned long long expires;
	FILE *file;

	f->leases.save = path;
	fixture_open(f);
	fixture_dora(f);
	fixture_end(f);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line[0], 128, file));
	assert_non_null(fgets(line[1], 128, file));
	assert_null(fgets(line[2], 128, file));
	fclose(file);
	assert_string_equal(line[0], "client,mac,address,server,expires\n");
	assert_int_equal(
		sscanf(line[1], "0,02:00:00:00:00:00,198.18.64.0,198.18.0.2,%llu\n", &expires), 1);
	assert_in_range(expires, (unsigned long long)time(NULL) + 3500,
		(unsigned long long)time(NULL) + 3601);
	unlink(path);
}

static void a_loaded_lease_is_renewed_with_the_server_that_gave_it(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(3);
	const char *path = file_of("0,02:00:00:00:00:00,10.0.0.1,198.18.0.4,never\n"
				   "1,02:00:00:00:00:01,10.0.0.2,198.18.0.3,never\n"
				   "2,02:00:00:00:00:02,10.0.0.3,192.0.2.1,never\n");
	static const uint32_t servers[] = {2, 1, 0}; // the last one's is not known
	struct proto_flow flow;

	f->servers[0].addr = v4(SERVER_ID + 1);
	f->servers[1].addr = v4(SERVER_ID + 2);
	f->leases.load = path;
	f->settings.is.exchange = DHCP4_RENEW;
	fixture_open(f);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(fixture_begin(f));
		assert_int_equal(f->txn.user, i);
		flow_one(&dhcp4_proto, &f->ctx, &f->txn, &flow);
		assert_int_equal(flow.path, servers[i]);
	}
	fixture_end(f);
	unlink(path);
}

static void leases_that_ran_out_are_left_out(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(2);
	const char *path = file_of("0,02:00:00:00:00:00,10.0.0.1,10.0.0.2,1000\n"
				   "1,02:00:00:00:00:01,10.0.0.1,10.0.0.2,never\n");

	f->leases.load = path;
	fixture_open(f);
	assert_int_equal(worker_of(f)->is.work.clients.rings[DHCP_IS_BOUND].count, 1);
	assert_int_equal(client_of(f, 1)->head.expires_s, UINT32_MAX);
	fixture_end(f);
	unlink(path);
}

static void bad_files_of_leases_are_refused(void **state)
{
	struct dhcp4_fixture *f = fixture_relay(2);

	leases_refused("client,mac,address,server,expires\n0,02:00:00:00:00:00,10.0.0.1\n",
		":2:1: \"0,02:00:00:00:00:00,10.0.0.1\": not as many columns as the first line");
	leases_refused("0,02:00:00:00:00:00,10.0.0.1,10.0.0.2,1,2\n", "not as many columns");
	leases_refused(
		"x,02:00:00:00:00:00,10.0.0.1,10.0.0.2,never\n", "the client is not a number");
	leases_refused("2,02:00:00:00:00:02,10.0.0.1,10.0.0.2,never\n", "beyond those of the item");
	leases_refused("0,02:00:00:00:00:01,10.0.0.1,10.0.0.2,never\n", "another MAC address now");
	leases_refused("0,zz,10.0.0.1,10.0.0.2,never\n", "not a MAC address");
	leases_refused("0,02:00:00:00:00:00,10.0.0,10.0.0.2,never\n",
		"the address is not an IPv4 address");
	leases_refused("0,02:00:00:00:00:00,0.0.0.0,10.0.0.2,never\n",
		"the address is not an IPv4 address");
	leases_refused(
		"0,02:00:00:00:00:00,10.0.0.1,::1,never\n", "the server is not an IPv4 address");
	leases_refused("0,02:00:00:00:00:00,10.0.0.1,0.0.0.0,never\n",
		"the server is not an IPv4 address");
	leases_refused("0,02:00:00:00:00:00,10.0.0.1,10.0.0.2,soon\n",
		"expires is not seconds since 1970");
	leases_refused("0,02:00:00:00:00:00,10.0.0.1,10.0.0.2,never\n"
		       "0,02:00:00:00:00:00,10.0.0.2,10.0.0.2,never\n",
		"for the second time");
	leases_refused("0,02:00:00:00:00:00,10.0.0.1,10.0.0.2,never\n"
		       "1,02:00:00:00:00:01,10.0.0.1,10.0.0.2,never\n",
		"10.0.0.1 is leased to two clients");
	f->leases.save = "/nonexistent/file";
	assert_not_set_up(f, "/nonexistent/file: No such file");
}

// A field missing in a hand-written file is unknown, and no reason to leave the client out.
static void leases_by_hand_need_their_address_alone(void **state)
{
	static const char *const texts[] = {
		"client,mac,address,server,expires\n0,02:00:00:00:00:00,10.0.0.1,,0\n"
		"1,,10.0.0.2,,\n",
		"0,02:00:00:00:00:00,10.0.0.1,,\n1,02:00:00:00:00:01,10.0.0.2,,never\n",
		"address\n10.0.0.1\n10.0.0.2\n", "address,client\n10.0.0.2,1\n10.0.0.1,0\n",
		"# by hand\naddress,mac,expires\n10.0.0.1,02:00:00:00:00:00,0\n"
		"10.0.0.2,02:00:00:00:00:01,\n"};

	for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct dhcp4_fixture *f = fixture_relay(2);
		const char *path = file_of(texts[i]);

		f->relay.all = true;
		f->settings.is.exchange = DHCP4_RENEW;
		f->leases.load = path;
		f->settings.is.leases = &f->leases;
		fixture_open(f);
		for (uint32_t k = 0; k < 2; k++) {
			assert_int_equal(dhcp4_client_at(f->ctx.own, k)->address, 0x0a000001 + k);
			assert_int_equal(dhcp4_client_at(f->ctx.own, k)->server_id, SERVER_ID);
			assert_int_equal(
				dhcp4_client_at(f->ctx.own, k)->head.expires_s, UINT32_MAX);
		}
		fixture_end(f);
		unlink(path);
	}
	leases_refused("mac,address\n02:00:00:00:00:00\n", "not as many columns");
	leases_refused("address\n10.0.0.1\n10.0.0.2\n10.0.0.3\n", "beyond those of the item");
	leases_refused("address,address\n", "not as many columns");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DHCP_SETUP_TESTS,
		cmocka_unit_test(right_settings_have_no_complaint),
		cmocka_unit_test(who_needs_leases_needs_somebody_who_gets_them),
		cmocka_unit_test(a_pool_smaller_than_the_clients_is_refused),
		cmocka_unit_test(client_id_text_belongs_to_text),
		cmocka_unit_test(bad_options_are_refused),
		cmocka_unit_test(a_template_counts_with_its_longest_client),
		cmocka_unit_test(relays_are_needed_where_they_are_named),
		cmocka_unit_test(option_82_has_its_limit),
		cmocka_unit_test(long_options_are_sent_in_pieces),
		cmocka_unit_test(messages_have_their_limit),
		cmocka_unit_test(the_room_is_that_of_the_longest_message),
		cmocka_unit_test(a_count_of_macs_is_of_those_that_are_computed),
		cmocka_unit_test(bad_relays_are_refused),
		cmocka_unit_test(bad_names_are_refused),
		cmocka_unit_test(jitter_is_shorter_than_the_wait),
		cmocka_unit_test(a_server_is_needed_by_relays_only),
		cmocka_unit_test(the_layout_follows_the_topology),
		cmocka_unit_test(paths_are_the_broadcast_and_the_servers),
		cmocka_unit_test(macs_come_from_a_file),
		cmocka_unit_test(a_file_may_have_longer_addresses_behind_relays),
		cmocka_unit_test(leases_go_from_one_run_to_the_next),
		cmocka_unit_test(a_saved_lease_has_five_columns),
		cmocka_unit_test(a_loaded_lease_is_renewed_with_the_server_that_gave_it),
		cmocka_unit_test(leases_that_ran_out_are_left_out),
		cmocka_unit_test(bad_files_of_leases_are_refused),
		cmocka_unit_test(leases_by_hand_need_their_address_alone),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

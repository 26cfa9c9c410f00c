// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 settings: refused values and their errors, destinations of messages, files of MACs, DUIDs
// and leases. Path: tests only.

#include "proto/dhcp/dhcp.h"
#include "one_message.h"
#include "dhcp6_client_fixture.h"
#include "dhcp_file_fixture.h"

#include <errno.h>
#include <time.h>

#include "base/log.h"
#include "dhcp_setup_tests.h"

static void right_settings_have_no_complaint(void **state)
{
	struct dhcp6_fixture *f = fixture_relay(4, 8);

	f->settings.lease = DHCP6_WANTS_BOTH;
	f->mix.share[DHCP6_RENEWS] = 0.5;
	f->mix.share[DHCP6_DECLINES] = 0.1;
	f->settings.is.retransmit = &f->retransmit;
	f->fqdn.name = "a.b";
	f->pool[0] = prefix("2001:db8::/126");
	f->prefixes[0] = prefix("2001:db8:8000::/46");
	f->expect.prefix_length = 48;
	f->vlans[0] = (struct dhcp_vlan_settings){{0, 1}, {f->vlan_ids, 2}};
	f->vlans[1] = (struct dhcp_vlan_settings){{2, 9}, {f->vlan_ids, 1}};
	assert_right(f);
}

static void a_server_is_of_this_family_and_needed_by_unicasts_only(void **state)
{
	struct dhcp6_fixture *f = fixture_new(1);

	assert_int_equal(proto_terms(&dhcp6_proto, &f->settings).server_len, 16);
	assert_null(proto_terms(&dhcp6_proto, &f->settings).no_server);
	f->settings.to = DHCP6_TO_SERVER;
	assert_string_equal(proto_terms(&dhcp6_proto, &f->settings).no_server,
		"is missing (or to: all, to: servers)");
	fixture_end(f);
}

static void who_needs_leases_needs_somebody_who_gets_them(void **state)
{
	struct dhcp6_fixture *right = fixture_new(1);

	right->settings.is.exchange = DHCP6_RENEWS;
	right->leases.load = "leases.csv";
	assert_right(right);
	REFUSED(fixture_new(1),
		"renew needs clients that hold a lease (with a share of sarr or rapid: "
		"mix: {sarr: 50%}, or leases: {load: FILE})",
		f->settings.is.exchange = DHCP6_RENEWS);
	REFUSED(fixture_new(1), "release needs clients that hold a lease",
		f->mix.share[DHCP_TWO_WAY] = 0.9, f->settings.is.exchange = DHCP6_RELEASES);
	REFUSED(fixture_new(1), "confirm is about addresses (lease: address or both)",
		f->settings.lease = DHCP6_WANTS_PREFIXES, f->mix.share[DHCP6_CONFIRMS] = 0.1);
}

static void expected_refused(const char *pool, const char *prefixes, uint64_t bits, const char *why)
{
	struct dhcp6_fixture *f = fixture_leasing(300);

	f->pool[0] = prefix(pool);
	f->prefixes[0] = prefix(prefixes);
	f->expect.prefix_length = bits;
	assert_refused(f, why);
}

static void what_is_expected_has_room_for_all(void **state)
{
	expected_refused("2001:db8::/120", "2001:db8::/32", 56, "256 addresses for 300 clients");
	expected_refused("2001:db8::/64", "2001:db8::/48", 56, "256 prefixes for 300 clients");
	expected_refused(
		"2001:db8::/64", "2001:db8::/57", 56, "longer than prefix_length (up to /56)");
	expected_refused("10.0.0.0/8", "2001:db8::/32", 56, "not an IPv6 address");
}

static void identities_are_whole(void **state)
{
	REFUSED(fixture_new(1), "needs duid_hex", f->settings.duid = DHCP6_DUID_HEX);
	REFUSED(fixture_new(1), "needs duid: file", f->settings.duid_file = "duids.txt");
	REFUSED(fixture_new(1), "2 bytes are not a DUID (3 to 130)",
		f->settings.accept = (struct field_bytes){(const uint8_t *)"\1\2", 2});
}

static void duid_refused(uint32_t clients, const char *hex, const char *why)
{
	REFUSED(fixture_new(clients), why, f->settings.duid = DHCP6_DUID_HEX,
		f->settings.duid_hex = hex);
}

static void bad_duids_are_refused(void **state)
{
	duid_refused(1, "00", "too short: 1 bytes (3 to 130)");
	duid_refused(1, "{random:131}", "too long: 131 bytes (up to 130)");
	duid_refused(1, "0001f", "half a byte");
	duid_refused(2, "0001ff", "is identical for all clients (like 000200000009{client:4})");
	duid_refused(1, "0001{address}", "{address} differs between the messages");
	duid_refused(1, "0001{relay}", "{relay} needs a relay");
}

static void leases_of_a_client_have_their_limits(void **state)
{
	REFUSED(fixture_leasing(1), "9 addresses and prefixes of a client (together up to 8)",
		f->settings.addresses = 5, f->settings.prefixes = 4);
	REFUSED(fixture_new(1), "needs lease: prefix or both", f->settings.prefix_hint = 56);
	REFUSED(fixture_new(1), "too large (up to 4294967287)", f->settings.iaid = UINT32_MAX - 1);
}

static void bad_relays_are_refused(void **state)
{
	REFUSED(fixture_relay(1, 1), "not an IPv6 address",
		f->relays[0].first = (struct addr){.len = 4});
	REFUSED(fixture_relay(1, 1), "2000000 relays (up to 1048576)",
		f->relays[0].count = 2000000);
	REFUSED(fixture_relay(1, 1), "no address", f->relay.is.addresses.count = 0);
	REFUSED(fixture_relay(1, 1),
		"a relay on layer 2 alone names no link (with levels: 2 the outer one",
		f->relay.ldra = true, f->relay.link = v6("2001:db8::1"));
}

static void groups_reach_all_servers(void **state)
{
	REFUSED(fixture_new(1), "a group reaches all servers (to: server)",
		f->servers[0].addr = v6("2001:db8::3"));
	REFUSED(fixture_new(1), "a group reaches all servers (to: server)",
		f->settings.is.spread = DHCP_ROUND_ROBIN);
	REFUSED(fixture_relay(1, 1), "not an IPv6 address",
		f->servers[0].addr = (struct addr){4, {198, 18, 0, 2}});
}

static void option_refused(struct dhcp6_option_settings option, const char *why)
{
	REFUSED(fixture_new(1), why, f->options[0] = option);
}

static void bad_options_are_refused(void **state)
{
	static struct addr many[65], four = {4, {198, 18, 0, 2}};

	for (uint32_t i = 0; i < 65; i++)
		many[i] = v6("2001:db8::1");
	option_refused((struct dhcp6_option_settings){.code = 3, .value.hex = "00"},
		"option 3 is set by lease");
	option_refused((struct dhcp6_option_settings){.code = 13, .value.hex = "00"},
		"option 13 does not belong there");
	option_refused((struct dhcp6_option_settings){.code = 1000},
		"needs a value (one of text, hex and address)");
	option_refused((struct dhcp6_option_settings){.code = 1000, .value.text = "{nobody}"},
		"{nobody} is not");
	option_refused((struct dhcp6_option_settings){.code = 1000, .value.address = {&four, 1}},
		"not an IPv6 address");
	option_refused((struct dhcp6_option_settings){.code = 1000, .value.address = {many, 65}},
		"too many (up to 64)");
	option_refused(
		(struct dhcp6_option_settings){
			.code = 1000, .in = DHCP6_IN_RELAY, .value.text = "a"},
		"needs a relay");
	option_refused((struct dhcp6_option_settings){.code = 1000,
			       .value.text = "{random:255}{random:255}"
					     "{random:255}{random:255}{random:5}"},
		"too long: 1025 bytes (up to 1024)");
}

// --- where messages go ---

static void each_client_has_its_vlans_and_its_server(void **state)
{
	static const uint32_t expected[4] = {0, 3, 2, 5};
	struct dhcp6_fixture *f = fixture_relay(4, 1);
	const struct proto_path *paths;
	struct proto_layout layout;
	struct proto_flow flow;

	f->vlan_ids[0] = 7;
	f->vlan_ids[1] = 100;
	f->vlan_ids[2] = 200;
	f->vlans[0] = (struct dhcp_vlan_settings){{1, 2}, {f->vlan_ids, 1}};
	f->vlans[1] = (struct dhcp_vlan_settings){{3, 9}, {f->vlan_ids + 1, 2}};
	f->servers[0].addr = v6("2001:db8::3");
	f->settings.is.spread = DHCP_ROUND_ROBIN;
	fixture_open(f);
	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	paths = layout.paths.items;
	assert_int_equal(layout.paths.count, 6);
	assert_int_equal(paths[1].vlan_count, 0);
	assert_int_equal(paths[2].vlans[0], 7);
	assert_int_equal(paths[4].vlan_count, 2);
	assert_int_equal(paths[4].vlans[1], 200);
	assert_true(addr_equal(&paths[2].dst, &f->env.server));
	assert_true(addr_equal(&paths[5].dst, &f->servers[0].addr));
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(fixture_begin(f));
		flow_one(&dhcp6_proto, &f->ctx, &f->txn, &flow);
		assert_int_equal(flow.path, expected[i]);
	}
	fixture_end(f);
}

// --- files of MACs and DUIDs ---

static void macs_of_a_file_are_in_duids_and_own_link_local_addresses(void **state)
{
	static const char *const ours[] = {"fe80::ff:fe00:9", "fe80::21b:21ff:fe00:1"};
	static const char *const others[] = {"fe80::ff:fe00:0", "fe80::ff:fe00:a", "2001:db8::9"};
	struct dhcp6_fixture *f = fixture_new(2);
	uint8_t mac[6];

	f->settings.is.mac_file = file_of("# two\n02:00:00:00:00:09\r\n\n  00:1b:21:00:00:01  \n");
	fixture_open(f);
	fixture_sarr(f);
	assert_memory_equal(f->m.client_id.data, "\0\3\0\1\2\0\0\0\0\x09", 10);
	fixture_sarr(f);
	assert_memory_equal(f->m.client_id.data, "\0\3\0\1\0\x1b\x21\0\0\1", 10);
	for (uint32_t i = 0; i < 2; i++)
		assert_true(dhcp6_owns(&f->ctx, v6(ours[i]).bytes, 16, mac));
	assert_memory_equal(mac, "\0\x1b\x21\0\0\1", 6);
	for (uint32_t i = 0; i < 3; i++)
		assert_false(dhcp6_owns(&f->ctx, v6(others[i]).bytes, 16, mac));
	unlink(f->settings.is.mac_file);
	fixture_end(f);
}

static void a_shared_mac_owns_one_link_local_address(void **state)
{
	static const char *const ours[] = {"fe80::ff:fe00:0", "fe80::ff:fe00:1"};
	struct dhcp6_fixture *f = fixture_new(5);
	uint8_t mac[6];

	f->settings.is.mac_count = 2;
	fixture_open(f);
	for (uint32_t i = 0; i < 5; i++) {
		fixture_sarr(f);
		assert_int_equal(f->m.client_id.data[9], i % 2);
		if (i < 2)
			assert_true(dhcp6_owns(&f->ctx, v6(ours[i]).bytes, 16, mac));
	}
	assert_false(dhcp6_owns(&f->ctx, v6("fe80::ff:fe00:2").bytes, 16, mac));
	fixture_end(f);
}

static void duids_refused(const char *text, const char *why)
{
	struct dhcp6_fixture *f = fixture_new(2);
	const char *path = file_of(text);

	f->settings.duid = DHCP6_DUID_FILE;
	f->settings.duid_file = path;
	assert_not_set_up(f, why);
	unlink(path);
}

static void bad_files_of_duids_are_refused(void **state)
{
	static char longer[263];

	memset(longer, '0', sizeof(longer) - 1);
	duids_refused("000100\n00:0g:01\n", ":2:1: \"00:0g:01\": not pairs of hex digits");
	duids_refused("000100\n0001\n", "\"0001\": shorter than 3 bytes");
	duids_refused(longer, "longer than 130 bytes");
	duids_refused("000100\n", "the file has 1 DUIDs for 2 clients");
	duids_refused("000100\n00:01:00\n", "the file has a DUID twice (000100...)");
}

// --- leases in a file ---

#define MAC0   "02:00:00:00:00:00"
#define MAC1   "02:00:00:00:00:01"
#define SERVER "000300010200000000fe"
#define NEVER  SERVER ",never\n"

static void leases_go_from_one_run_to_the_next(void **state)
{
	struct dhcp6_fixture *f = fixture_leasing(5);
	const char *path = file_of("");
	uint8_t address[16], bits[16];

	f->leases.save = path;
	fixture_open(f);
	for (int i = 0; i < 3; i++)
		fixture_sarr(f);
	fixture_end(f);

	f = fixture_leasing(5);
	f->leases.load = path;
	f->settings.is.exchange = DHCP6_RENEWS;
	fixture_open(f);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(fixture_begin(f));
		assert_int_equal(f->txn.user, i);
		assert_in_range(client_of(f, i)->head.expires_s, 3990, 4001);
		fixture_send(f);
		assert_memory_equal(f->m.server_id.data, SERVER_DUID, DUID_LEN);
		address_of(f, 0, address);
		prefix_of(f, 1, bits);
		assert_memory_equal(f->m.ias[0].leases[0].address, address, 16);
		assert_memory_equal(f->m.ias[1].leases[0].address, bits, 16);
		assert_int_equal(f->m.ias[1].leases[0].bits, 56);
		assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
	}
	assert_int_equal(f->n.renewed, 3);
	fixture_only(f, DHCP6_SARR);
	assert_true(fixture_begin(f));
	assert_int_equal(f->txn.user, 3);
	fixture_end(f);
	unlink(path);
}

static void a_saved_lease_is_a_line_of_five_columns(void **state)
{
	struct dhcp6_fixture *f = fixture_leasing(1);
	const char *path = file_of("old\n");
	unsigned long long expires[2], now;
	char *text;

	f->leases.save = path;
	fixture_open(f);
	fixture_sarr(f);
	fixture_end(f);
	text = text_of(path);
	now = (unsigned long long)time(NULL);
	assert_int_equal(sscanf(text,
				 "client,mac,address,server,expires\n"
				 "0," MAC0 ",2001:db8:0:1::1," SERVER ",%llu\n"
				 "0," MAC0 ",2001:db8:8000:100::/56," SERVER ",%llu\n",
				 &expires[0], &expires[1]),
		2);
	assert_in_range(expires[0], now + 3990, now + 4001);
	assert_int_equal(expires[0], expires[1]);
	free(text);
	unlink(path);
}

// Including the leases of a worker that got no reply.
static void leases_of_all_workers_are_saved(void **state)
{
	static const char three[] = "# old\n0," MAC0 ",2001:db8::1," NEVER "1," MAC1
				    ",2001:db8::2," NEVER "2,02:00:00:00:00:02,2001:db8::3," NEVER;
	struct dhcp6_fixture *f = fixture_new(3);
	const char *path = file_of(three);
	struct proto_ctx other;
	char *text;

	f->leases.load = f->leases.save = path;
	f->settings.is.exchange = DHCP6_RENEWS;
	f->env.workers = 2;
	f->env.worker = 1;
	fixture_open(f);
	f->env.worker = 0;
	other = f->ctx;
	assert_int_equal(dhcp_open(&other, &f->env), 0);
	fixture_next(f);
	f->txn.tries = 9;
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_FAIL);
	dhcp_close(&other);
	fixture_end(f);
	text = text_of(path);
	assert_null(strstr(text, "old"));
	assert_non_null(strstr(text, "0," MAC0 ",2001:db8::1," NEVER));
	assert_non_null(strstr(text, "1," MAC1 ",2001:db8::2," NEVER));
	assert_non_null(strstr(text, "2,02:00:00:00:00:02,2001:db8::3," NEVER));
	free(text);
	unlink(path);
}

static void leases_that_ran_out_are_left_out_with_all_of_their_client(void **state)
{
	struct dhcp6_fixture *f = fixture_leasing(2);
	const char *path = file_of("0," MAC0 ",2001:db8::1," SERVER ",1000\n"
				   "0," MAC0 ",2001:db8:8000::/56," NEVER "1," MAC1
				   ",2001:db8:8000::/56," NEVER "1," MAC1 ",2001:db8::1," NEVER);
	uint8_t mac[6];

	f->leases.load = path;
	fixture_open(f);
	assert_int_equal(worker_of(f)->is.work.clients.rings[DHCP_IS_BOUND].count, 1);
	assert_int_equal(worker_of(f)->is.work.clients.rings[DHCP_IS_FREE].count, 1);
	assert_true(held_by(f, 1));
	assert_true(dhcp6_owns(&f->ctx, v6("2001:db8::1").bytes, 16, mac));
	assert_int_equal(client_of(f, 1)->head.expires_s, UINT32_MAX);
	fixture_end(f);
	unlink(path);
}

static void overlapping_prefixes_of_a_file_have_one_holder(void **state)
{
	struct dhcp6_fixture *f = fixture_new(2);
	const char *path = file_of(
		"0," MAC0 ",2001:db8:8000::/33," NEVER "1," MAC1 ",2001:db8:8000:100::/56," NEVER);

	f->settings.lease = DHCP6_WANTS_PREFIXES;
	f->leases.load = path;
	fixture_open(f);
	assert_int_equal(worker_of(f)->is.work.clients.rings[DHCP_IS_BOUND].count, 1);
	fixture_end(f);
	unlink(path);
}

static void bad_files_of_leases_are_refused(void **state)
{
	struct dhcp6_fixture *f = fixture_leasing(2);

	leases_refused("client,mac,address,server,expires\n0," MAC0 ",2001:db8::1\n",
		":2:1: \"0,02:00:00:00:00:00,2001:db8::1\": not as many columns as the first line");
	leases_refused("0," MAC0 ",2001:db8::1," NEVER "0," MAC0 ",2001:db8::2," NEVER,
		":2:1: \"0,02:00:00:00:00:00,2001:db8::2,000300010200000000fe,never\": "
		"more addresses than the client asks for");
	leases_refused("0," MAC0 ",2001:db8::/56," NEVER "0," MAC0 ",2001:db8:1::/56," NEVER,
		"more prefixes than the client asks for");
	leases_refused(
		"0," MAC0 ",2001:db8::1," NEVER, "client 0 has 1 of its 2 addresses and prefixes");
	leases_refused("2," MAC0 ",2001:db8::1," NEVER, "a client beyond those of the item");
	leases_refused("0," MAC1 ",2001:db8::1," NEVER, "another MAC address now");
	leases_refused(
		"0," MAC0 ",10.0.0.1," NEVER, "the address is not an IPv6 address or prefix");
	leases_refused("0," MAC0 ",::," NEVER, "not an IPv6 address or prefix");
	leases_refused("0," MAC0 ",2001:db8:8000::/32," NEVER, "not an IPv6 address or prefix");
	leases_refused("0," MAC0 ",2001:db8::1/56," NEVER, "not an IPv6 address or prefix");
	leases_refused("0," MAC0 ",2001:db8::/121," NEVER, "not an IPv6 address or prefix");
	leases_refused("0," MAC0 ",2001:db8::1,10.0.0.2,never\n", "the server is not a DUID");
	leases_refused("0," MAC0 ",2001:db8::1,0001,never\n", "the server is not a DUID");
	leases_refused(
		"0," MAC0 ",2001:db8::1," SERVER ",soon\n", "expires is not seconds since 1970");
	leases_refused("0," MAC0 ",2001:db8::1," NEVER "0," MAC0 ",2001:db8:8000::/56," NEVER
		       "1," MAC1 ",2001:db8::2," NEVER "1," MAC1 ",2001:db8:8000::/56," NEVER,
		"2001:db8:8000::/56 is leased to two clients");
	f->leases.save = "/nonexistent/file";
	assert_not_set_up(f, "/nonexistent/file: No such file");
}

// REBIND and CONFIRM name no server.
static void a_lease_without_its_server_can_be_rebound(void **state)
{
	const char *path = file_of("client,address\n0,2001:db8::1\n");

	for (uint32_t i = 0; i < 3; i++) {
		static const uint32_t exchanges[] = {DHCP6_RENEWS, DHCP6_REBINDS, DHCP6_CONFIRMS};
		struct dhcp6_fixture *f = fixture_relay(1, 1);

		f->settings.is.exchange = (int32_t)exchanges[i];
		f->settings.is.leases = &f->leases;
		f->leases.load = path;
		if (i == 0) {
			assert_not_set_up(f, "no server, whose DUID RENEW, RELEASE and DECLINE");
			continue;
		}
		fixture_open(f);
		assert_true(dhcp6_client_at(f->ctx.own, 0)->head.holds);
		fixture_end(f);
	}
	unlink(path);
}

// Line by line, with some bytes of each changed at random.
static void broken_lines_never_crash_it(void **state)
{
	static const char right[] = "0," MAC0 ",2001:db8:8000:100::/56," SERVER ",1900000000";
	struct dhcp6_fixture *f = fixture_open(fixture_leasing(2));
	uint64_t random = 1;
	uint32_t taken = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		struct dhcp_lease_loading l = {.p = f->ctx.shared,
			.leases = {.size = sizeof(struct dhcp_saved)},
			.servers = {.size = sizeof(struct dhcp_server_id)},
			.seen = calloc(2, sizeof(*l.seen))};
		char *line = strdup(right);
		const char *what = NULL;
		int ret;

		for (uint32_t n = i % 4; n > 0; n--) {
			random = rand_hash(random + 1);
			line[random % strlen(right)] = (char)(1 + (random >> 32) % 126);
		}
		ret = dhcp_lease_line(&l, line, &what);
		assert_true(ret == 0 || (ret == -EINVAL && what));
		assert_int_equal(l.leases.count, ret == 0);
		taken += ret == 0;
		free(l.leases.items);
		free(l.servers.items);
		free(l.seen);
		free(line);
	}
	assert_in_range(taken, 5000, 15000);
	fixture_end(f);
}

static void a_file_has_what_the_clients_ask_for(void **state)
{
	struct dhcp6_fixture *f = fixture_new(2);
	const char *path = file_of("0," MAC0 ",2001:db8:8000::/56," NEVER);

	f->leases.load = path;
	assert_not_set_up(f, "a prefix, which the clients do not ask for");
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DHCP_SETUP_TESTS,
		cmocka_unit_test(right_settings_have_no_complaint),
		cmocka_unit_test(a_server_is_of_this_family_and_needed_by_unicasts_only),
		cmocka_unit_test(who_needs_leases_needs_somebody_who_gets_them),
		cmocka_unit_test(what_is_expected_has_room_for_all),
		cmocka_unit_test(identities_are_whole),
		cmocka_unit_test(bad_duids_are_refused),
		cmocka_unit_test(leases_of_a_client_have_their_limits),
		cmocka_unit_test(bad_relays_are_refused),
		cmocka_unit_test(groups_reach_all_servers),
		cmocka_unit_test(bad_options_are_refused),
		cmocka_unit_test(each_client_has_its_vlans_and_its_server),
		cmocka_unit_test(macs_of_a_file_are_in_duids_and_own_link_local_addresses),
		cmocka_unit_test(a_shared_mac_owns_one_link_local_address),
		cmocka_unit_test(bad_files_of_duids_are_refused),
		cmocka_unit_test(leases_go_from_one_run_to_the_next),
		cmocka_unit_test(a_saved_lease_is_a_line_of_five_columns),
		cmocka_unit_test(leases_of_all_workers_are_saved),
		cmocka_unit_test(leases_that_ran_out_are_left_out_with_all_of_their_client),
		cmocka_unit_test(overlapping_prefixes_of_a_file_have_one_holder),
		cmocka_unit_test(bad_files_of_leases_are_refused),
		cmocka_unit_test(a_lease_without_its_server_can_be_rebound),
		cmocka_unit_test(broken_lines_never_crash_it),
		cmocka_unit_test(a_file_has_what_the_clients_ask_for),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// The settings of DHCPv4 clients as users see them. Path: cold. Any thread.

#include "proto/dhcp/v4/dhcp4_plan.h"
#include "proto/dhcp/client/dhcp_fields.h"

#define OPTION(member)     offsetof(struct dhcp4_option_settings, member)
#define HEADER(member)     offsetof(struct dhcp4_header_settings, member)
#define RELAY(member)      offsetof(struct dhcp4_relay_settings, member)
#define RETRANSMIT(member) offsetof(struct dhcp4_retransmit_settings, member)
#define EXPECT(member)     offsetof(struct dhcp4_expect_settings, member)
#define SETTING(member)    offsetof(struct dhcp4_settings, member)

#define HOUR_NS  3600e9
#define YEARS_NS 4294967294e9 // the longest finite lease time

const char *const dhcp4_exchange_names[] = {DHCP4_EXCHANGES_LIST(DHCP_ROW_NAME) NULL};
static const char *const message_names[] = {DHCP4_MESSAGES_LIST(DHCP_ROW_NAME) NULL};
static const char *const query_names[] = {"address", "mac", "client_id", NULL};
static const char *const client_id_names[] = {"none", "mac", "duid", "text", "hex", NULL};

static const struct field mix_fields[] = {DHCP4_EXCHANGES_LIST(DHCP_SHARE_ROW)};

static const struct field_section mix_section = DHCP_SECTION("mix",
	"several kinds of exchanges: shares, the rest up to 100 % is `exchange`; or rates "
	"like 100/s on top of load.rate",
	mix_fields, struct dhcp_mix_settings);

static const struct field option_fields[] = {
	{"code", "option code; 82.N: sub-option N of the relay agent information", FIELD_STRING,
		.required = true, .offset = OPTION(code), .min = 1, .max = 7},
	DHCP_VALUE_ROWS(struct dhcp4_option_settings, "IPv4", message_names,
		"all but release, decline and leasequery"),
};

static const struct field_section option_section =
	DHCP_SECTION("option", "an option", option_fields, struct dhcp4_option_settings);

// clang-format off
#define HEADER_COUNT_ROW(member_, most_, help_) \
	{#member_, help_, FIELD_COUNT, .offset = HEADER(member_), .def = "auto", .word = "auto", \
		.max = most_}
#define HEADER_ADDR_ROW(member_, help_) \
	{#member_, help_, FIELD_ADDR, .offset = HEADER(member_)}
// clang-format on

static const struct field header_fields[] = {
	HEADER_COUNT_ROW(flags, 65535, "the whole field; auto: set by broadcast_flag"),
	HEADER_COUNT_ROW(hops, 255, "auto: relay.hops"),
	HEADER_ADDR_ROW(ciaddr, "address of the client; without: the leased one where it belongs"),
	HEADER_ADDR_ROW(yiaddr, "filled in by servers; default: 0.0.0.0"),
	HEADER_ADDR_ROW(siaddr, "filled in by servers; default: 0.0.0.0"),
	HEADER_ADDR_ROW(
		giaddr, "of messages through a relay, where replies go; without: the relay's own"),
	DHCP_PATTERN_ROW(struct dhcp4_header_settings, sname,
		"server's name as text, with {client}, {mac}, {relay}, {address}, {vlan}, "
		"{random:N} or "
		"{file:N}"),
	DHCP_PATTERN_ROW(
		struct dhcp4_header_settings, file, "name of the boot file as text, likewise"),
};

static const struct field_section header_section = DHCP_SECTION("header",
	"fields of the header in all messages", header_fields, struct dhcp4_header_settings);

static const struct field relay_fields[] = {
	DHCP_RELAYS_ROW("addresses of the relays (giaddr); a client stays with its relay"),
	{"hops", "hops field of relayed messages", FIELD_COUNT, .offset = RELAY(hops), .def = "1",
		.max = 255},
	DHCP_RELAY_PORT_ROWS("67", "option 82 sub-option 19"),
	DHCP_PATTERN_ROW(struct dhcp4_relay_settings, circuit_id,
		"option 82 sub-option 1 as text, with {client}, {mac}, {relay}, {vlan}, {random:N} "
		"or "
		"{file:N}"),
	DHCP_PATTERN_ROW(
		struct dhcp4_relay_settings, remote_id, "option 82 sub-option 2 as text, likewise"),
	DHCP_PATTERN_ROW(struct dhcp4_relay_settings, subscriber_id,
		"option 82 sub-option 6 (RFC 3993) as text, likewise"),
	{"link_selection", "option 82 sub-option 5 (RFC 3527): subnet to lease from", FIELD_ADDR,
		.offset = RELAY(link_selection)},
	{"server_id_override",
		"option 82 sub-option 11 (RFC 5107): an address, or \"relay\" for the "
		"relay's own; "
		"renew, release and inform then go through the relay",
		FIELD_STRING, .offset = RELAY(server_id_override)},
	{"all", "renew, release and inform go through the relay too, without server_id_override",
		FIELD_BOOL, .offset = RELAY(all), .def = "false"},
};

static const struct field_section relay_section =
	DHCP_SECTION("relay", "clients behind relays; without: clients that broadcast",
		relay_fields, struct dhcp4_relay_settings);

static const struct field fqdn_fields[] = {
	DHCP_FQDN_ROWS("A"),
	{"wire", "E flag: the name as in DNS messages, not as text", FIELD_BOOL,
		.offset = DHCP_FQDN(wire), .def = "true"},
};

static const struct field_section fqdn_section = DHCP_SECTION("fqdn",
	"the client's name in option 81 (RFC 4702)", fqdn_fields, struct dhcp_fqdn_settings);

static const struct field retransmit_fields[] = {
	{"initial", "wait for the reply to the first attempt", FIELD_DURATION,
		.offset = RETRANSMIT(initial_ns), .def = "4s", .min = 1e6, .max = HOUR_NS},
	{"factor", "factor between one wait and the next", FIELD_COUNT,
		.offset = RETRANSMIT(factor), .def = "2", .min = 1, .max = 10},
	{"jitter", "largest random change of a wait, up or down", FIELD_DURATION,
		.offset = RETRANSMIT(jitter_ns), .def = "1s", .max = HOUR_NS},
	{"tries", "most attempts of a message", FIELD_COUNT, .offset = RETRANSMIT(tries),
		.def = "4", .min = 1, .max = DHCP_TRIES_MAX},
};

static const struct field_section retransmit_section =
	DHCP_SECTION("retransmit", "retransmission (RFC 2131 section 4.1); without: one attempt",
		retransmit_fields, struct dhcp4_retransmit_settings);

static const struct field expected_fields[] = {
	DHCP_EXPECTED_ROWS(struct dhcp_expected_settings, "IPv4"),
};

static const struct field_section expected_section = DHCP_SECTION(
	"option", "an option of replies", expected_fields, struct dhcp_expected_settings);

static const struct field expect_fields[] = {
	{"pool", "addresses that the server may give", FIELD_ADDR_RANGE, .list = true,
		.offset = EXPECT(pool)},
	{"same_address", "renew, rebind and reboot must get the address that they ask for",
		FIELD_BOOL, .offset = EXPECT(same_address), .def = "true"},
	{"options", "options that each OFFER and ACK must have, with these values", FIELD_SECTION,
		.list = true, .lone = true, .offset = EXPECT(options),
		.section = &expected_section},
	{"next_server", "siaddr that each OFFER and ACK must have", FIELD_ADDR,
		.offset = EXPECT(next_server)},
	DHCP_PATTERN_ROW(struct dhcp4_expect_settings, boot_file,
		"file that each OFFER and ACK must have in its header, or in option 67"),
};

static const struct field_section expect_section =
	DHCP_SECTION("expect", "conditions of a valid address; others count as failed",
		expect_fields, struct dhcp4_expect_settings);

static const struct field raw_fields[] = {
	DHCP_RAW_FIELDS(message_names, "{secs}, {server}"),
};

static const struct field_section raw_section =
	DHCP_SECTION("raw", "a message as a whole", raw_fields, struct dhcp_raw_settings);

static const struct field wrong_fields[] = {DHCP4_WRONGS(DHCP_WRONG_ROW)};

static const struct field_section wrong_section =
	DHCP_SECTION("wrong", DHCP_WRONG_HELP, wrong_fields, struct dhcp_wrong_settings);

#define S struct dhcp4_settings
static const struct field dhcp4_fields[] = {
	DHCP_FIRST_ROWS("dora", dhcp4_exchange_names),
	DHCP_MAC_ROWS("", "; behind relays all may have another length than 6 bytes"),
	{"chaddr",
		"hardware address of client 0 that is not Ethernet's, 1 to 16 bytes like "
		"00:01:02:03; client i has this + i; instead of mac, behind relays",
		FIELD_STRING, .offset = SETTING(chaddr)},
	{"htype", "hardware type: 1 Ethernet, 6 IEEE 802, 32 InfiniBand (hlen 0, RFC 4390)",
		FIELD_COUNT, .offset = SETTING(htype), .def = "1", .max = 255},
	{"client_id",
		"option 61: none, mac (1 and the MAC), duid (RFC 4361, DUID-LL), text (behind a "
		"0), hex",
		FIELD_ENUM, .offset = SETTING(client_id), .def = "mac", .names = client_id_names},
	DHCP_PATTERN_ROW(S, client_id_text,
		"with client_id text: its value, with {client}, {mac}, {relay}, {vlan}, {random:N} "
		"or "
		"{file:N}"),
	DHCP_PATTERN_ROW(S, client_id_hex,
		"with client_id hex: the whole of it, as hex digits and the same names"),
	DHCP_SECTION_ROW(struct dhcp_settings, relay, &relay_section,
		"clients behind relays; without: clients that broadcast"),
	{"broadcast_flag", "ask for broadcast replies while there is no address", FIELD_BOOL,
		.offset = SETTING(broadcast_flag), .def = "true"},
	DHCP_SECTION_ROW(S, header, &header_section, "other fields of the header in all messages"),
	DHCP_PRETEND_ROW("secs", "field secs: seconds"),
	DHCP_SECTIONS_ROW(
		vlans, &dhcp_vlan_section, "VLANs of ranges of clients; the others have none"),
	DHCP_SECTIONS_ROW(options, &option_section, "more options"),
	DHCP_SECTIONS_ROW(raw, &raw_section,
		"messages as a whole, in place of all settings of their content"),
	{"parameters",
		"option 55: requested options; ACKs that lack one are "
		"counted",
		FIELD_COUNT, .list = true, .offset = DHCP_SETTING(parameters),
		.def = "1, 3, 6, 15, 28, 51, 58, 59", .min = 1, .max = 254},
	{"requested_address",
		"option 50 of DISCOVER: client i asks for the i-th address of this range",
		FIELD_ADDR_RANGE, .offset = SETTING(requested_address)},
	{"lease_time", "option 51: the requested lease time, in whole seconds; 0s: none",
		FIELD_DURATION, .offset = SETTING(lease_time_ns), .def = "0s", .max = YEARS_NS},
	DHCP_SECTION_ROW(struct dhcp_settings, fqdn, &fqdn_section, "option 81: the client's name"),
	DHCP_SERVERS_ROWS("which of the servers a new exchange through a relay asks; all: each "
			  "gets everything that is not unicast"),
	{"query", "subject of a LEASEQUERY: the leased address, MAC or client identifier",
		FIELD_ENUM, .offset = SETTING(query), .def = "address", .names = query_names},
	{"inform_address",
		"INFORM without a lease: client i has the i-th address of this range, "
		"by hand",
		FIELD_ADDR_RANGE, .offset = SETTING(inform_address)},
	{"accept", "take offers with this server identifier only", FIELD_ADDR,
		.offset = SETTING(accept)},
	DHCP_RETRANSMIT_ROWS(" (RFC 2131: at least 10s)"),
	{"pad", "least length of a message in bytes, padded with zeros; 0: no padding", FIELD_COUNT,
		.load = true, .offset = SETTING(pad), .def = "300", .max = DHCP4_MESSAGE_MAX},
	DHCP_SECTION_ROW(struct dhcp_settings, wrong, &wrong_section, DHCP_WRONG_HELP),
	DHCP_LAST_ROWS(S, "conditions of a valid address"),
};
#undef S

const struct field_section dhcp4_settings_section =
	DHCP_SECTION("dhcp4", "DHCPv4 clients, behind relays or on the server's link", dhcp4_fields,
		struct dhcp4_settings);

// SPDX-License-Identifier: BSD-3-Clause
// The settings of DHCPv6 clients as users see them, and the kinds of messages (not in a hot file,
// where the compiler would spend instructions on their values). Path: cold. Any thread.

#include "proto/dhcp/v6/dhcp6_plan.h"
#include "proto/dhcp/client/dhcp_fields.h"

#define OPTION(member)       offsetof(struct dhcp6_option_settings, member)
#define RELAY(member)        offsetof(struct dhcp6_relay_settings, member)
#define VENDOR(member)       offsetof(struct dhcp6_vendor_settings, member)
#define TRIES(member)        offsetof(struct dhcp6_tries_settings, member)
#define RETRANSMIT(member)   offsetof(struct dhcp6_retransmit_settings, member)
#define EXPECT(member)       offsetof(struct dhcp6_expect_settings, member)
#define SOLICITATION(member) offsetof(struct dhcp6_solicitation_settings, member)
#define SETTING(member)      offsetof(struct dhcp6_settings, member)

#define DAY_NS  86400e9
#define HOUR_NS 3600e9

#define ADVERTISES (1u << DHCP6_ADVERTISE)
#define REPLIES    (1u << DHCP6_REPLY)

// Content allowed in every client message that requests something.
#define FULL  (DHCP6_HAS_OPTIONS | DHCP6_HAS_PARAMETERS)
#define IAS   (DHCP6_HAS_ADDRESSES | DHCP6_HAS_PREFIXES)
#define BOUND (IAS | DHCP6_HAS_LEASES)

const struct dhcp_message_kind dhcp6_kinds[] = {DHCP6_MESSAGES_LIST(DHCP_ROW_KIND)};
#undef BOUND
const struct dhcp_start dhcp6_starts[] = {DHCP6_EXCHANGES_LIST(DHCP_ROW_START)};

const char *const dhcp6_exchange_names[] = {DHCP6_EXCHANGES_LIST(DHCP_ROW_NAME) NULL};
static const char *const message_names[] = {DHCP6_MESSAGES_LIST(DHCP_ROW_NAME) NULL};
static const char *const lease_names[] = {"address", "prefix", "both", NULL};
static const char *const duid_names[] = {"ll", "llt", "en", "uuid", "hex", "file", NULL};
static const char *const to_names[] = {"auto", "server", "all", "servers", NULL};
static const char *const query_names[] = {"address", "client_id", NULL};
static const char *const advertise_names[] = {"first", "best", NULL};
static const char *const reconfigure_names[] = {"none", "accept", "lenient", NULL};
static const char *const need_names[] = {"nothing", "advert", "managed", NULL};
static const char *const place_names[] = {"message", "ia_na", "ia_pd", "relay", NULL};

static const struct field mix_fields[] = {DHCP6_EXCHANGES_LIST(DHCP_SHARE_ROW)};

static const struct field_section mix_section = DHCP_SECTION("mix",
	"several kinds of exchanges: shares, the rest up to 100 % is `exchange`; or rates "
	"like 100/s on top of load.rate",
	mix_fields, struct dhcp_mix_settings);

static const struct field option_fields[] = {
	{"code", "option code", FIELD_COUNT, .required = true, .offset = OPTION(code), .min = 1,
		.max = 65535},
	{"in", "where it stands; relay: in the innermost relay message", FIELD_ENUM,
		.offset = OPTION(in), .def = "message", .names = place_names},
	DHCP_VALUE_ROWS(struct dhcp6_option_settings, "IPv6", message_names,
		"all but release, decline and leasequery; in relay messages and IAs: all"),
};

static const struct field_section option_section =
	DHCP_SECTION("option", "an option", option_fields, struct dhcp6_option_settings);

static const struct field relay_fields[] = {
	DHCP_RELAYS_ROW("addresses of the relays; a client stays with its relay"),
	{"levels", "relays between client and server", FIELD_COUNT, .load = true,
		.offset = RELAY(levels), .def = "1", .min = 1, .max = DHCP6_LEVELS_MAX},
	{"link", "link address of the relay nearest to the client; without: its own", FIELD_ADDR,
		.offset = RELAY(link)},
	{"ldra",
		"the relay nearest to the client is one on layer 2 (RFC 6221), which names "
		"no link",
		FIELD_BOOL, .offset = RELAY(ldra), .def = "false"},
	{"hop_count", "hop count of the relay nearest to the client, the next one has one more",
		FIELD_COUNT, .offset = RELAY(hop_count), .def = "0", .max = 256 - DHCP6_LEVELS_MAX},
	DHCP_RELAY_PORT_ROWS("547", "option 135"),
	{"interface_id",
		"option 18 as text, with {client}, {mac}, {relay}, {vlan}, {random:N} or {file:N}",
		FIELD_STRING, .offset = RELAY(interface_id), .min = 1},
	{"remote_id", "option 37 (RFC 4649) as text, likewise", FIELD_STRING,
		.offset = RELAY(remote_id), .min = 1},
	{"remote_enterprise", "enterprise number in front of remote_id", FIELD_COUNT,
		.offset = RELAY(remote_enterprise), .def = "0", .max = 4294967295.0},
	{"subscriber_id", "option 38 (RFC 4580) as text, likewise", FIELD_STRING,
		.offset = RELAY(subscriber_id), .min = 1},
	{"client_mac", "option 79 (RFC 6939): the client's MAC address", FIELD_BOOL,
		.offset = RELAY(client_mac), .def = "false"},
};

static const struct field_section relay_section =
	DHCP_SECTION("relay", "clients behind relays; without: clients on the server's link",
		relay_fields, struct dhcp6_relay_settings);

static const struct field fqdn_fields[] = {
	DHCP_FQDN_ROWS("AAAA"),
};

static const struct field_section fqdn_section = DHCP_SECTION("fqdn",
	"the client's name in option 39 (RFC 4704)", fqdn_fields, struct dhcp_fqdn_settings);

static const struct field vendor_fields[] = {
	{"enterprise", "enterprise number", FIELD_COUNT, .required = true,
		.offset = VENDOR(enterprise), .max = 4294967295.0},
	{"text", "the class as text, with {client}, {mac}, {relay}, {vlan}, {random:N} or {file:N}",
		FIELD_STRING, .required = true, .offset = VENDOR(text)},
};

static const struct field_section vendor_section =
	DHCP_SECTION("vendor_class", "option 16", vendor_fields, struct dhcp6_vendor_settings);

// clang-format off
#define TRIES_ROWS(irt_, mrt_, mrc_, mrd_) \
	{{"irt", "wait for the reply to the first attempt", FIELD_DURATION, .offset = TRIES(irt_ns), \
		.def = irt_, .min = 1e6, .max = DAY_NS}, \
	{"mrt", "longest wait; 0s: any", FIELD_DURATION, .offset = TRIES(mrt_ns), .def = mrt_, \
		.max = DAY_NS}, \
	{"mrc", "most attempts of the message", FIELD_COUNT, .offset = TRIES(mrc), .def = mrc_, \
		.min = 1, .max = DHCP_TRIES_MAX}, \
	{"mrd", "time after which the attempts end; 0s: by mrc alone", FIELD_DURATION, \
		.offset = TRIES(mrd_ns), .def = mrd_, .max = DAY_NS}}

static const struct field solicit_tries[] = TRIES_ROWS("1s", "3600s", "4", "0s");
static const struct field request_tries[] = TRIES_ROWS("1s", "30s", "10", "0s");
static const struct field confirm_tries[] = TRIES_ROWS("1s", "4s", "4", "10s");
static const struct field renew_tries[] = TRIES_ROWS("10s", "600s", "4", "0s");
static const struct field release_tries[] = TRIES_ROWS("1s", "0s", "4", "0s");
static const struct field query_tries[] = TRIES_ROWS("1s", "10s", "5", "0s");

// X(member, message, defaults)
#define TRIES_SECTIONS(X) \
	X(solicit, "SOLICIT", solicit_tries) \
	X(request, "REQUEST", request_tries) \
	X(confirm, "CONFIRM", confirm_tries) \
	X(renew, "RENEW", renew_tries) \
	X(rebind, "REBIND", renew_tries) \
	X(information, "INFORMATION-REQUEST", solicit_tries) \
	X(release, "RELEASE", release_tries) \
	X(decline, "DECLINE", release_tries) \
	X(leasequery, "LEASEQUERY", query_tries)

#define TRIES_SECTION(name_, message_, rows_) \
	static const struct field_section name_##_section = \
		DHCP_SECTION(#name_, "of " message_, rows_, struct dhcp6_tries_settings);
#define TRIES_ROW(name_, message_, rows_) \
	{#name_, "how " #name_ " messages are sent again", FIELD_SECTION, \
		.offset = RETRANSMIT(name_), .section = &name_##_section},
// clang-format on

TRIES_SECTIONS(TRIES_SECTION)

static const struct field retransmit_fields[] = {
	{"rand", "largest random change of a wait, up or down", FIELD_PERCENT,
		.offset = RETRANSMIT(rand), .def = "10%", .max = 0.9},
	TRIES_SECTIONS(TRIES_ROW)};

static const struct field_section retransmit_section =
	DHCP_SECTION("retransmit", "retransmission (RFC 8415 section 15); without: one attempt",
		retransmit_fields, struct dhcp6_retransmit_settings);

static const struct field solicitation_fields[] = {
	{"need",
		"begin only after a router advertisement with flag M (managed; information alone: "
		"with M or O), after any (advert), or in any case (nothing)",
		FIELD_ENUM, .offset = SOLICITATION(need), .def = "managed", .names = need_names},
	{"interval", "time to the next solicitation without an advertisement", FIELD_DURATION,
		.offset = SOLICITATION(interval_ns), .def = "4s", .min = 1e6, .max = HOUR_NS},
	{"tries", "maximum number of solicitations", FIELD_COUNT, .offset = SOLICITATION(tries),
		.def = "3", .min = 1, .max = 1000},
};

static const struct field_section solicitation_section = DHCP_SECTION("router_solicitation",
	"router discovery (RFC 4861)", solicitation_fields, struct dhcp6_solicitation_settings);

static const struct field expected_fields[] = {
	DHCP_EXPECTED_ROWS(struct dhcp_expected_settings, "IPv6"),
};

static const struct field_section expected_section = DHCP_SECTION(
	"option", "an option of replies", expected_fields, struct dhcp_expected_settings);

static const struct field expect_fields[] = {
	{"pool", "addresses that the server may give", FIELD_PREFIX, .list = true,
		.offset = EXPECT(pool)},
	{"prefixes", "ranges of delegated prefixes", FIELD_PREFIX, .list = true,
		.offset = EXPECT(prefixes)},
	{"prefix_length", "length that a delegated prefix must have; 0: any", FIELD_COUNT,
		.offset = EXPECT(prefix_length), .def = "0", .max = DHCP_PREFIX_MAX},
	{"same_lease", "renew and rebind must get the addresses and prefixes that they ask for",
		FIELD_BOOL, .offset = EXPECT(same_lease), .def = "true"},
	{"options", "options that each ADVERTISE and REPLY must have, with these values",
		FIELD_SECTION, .list = true, .lone = true, .offset = EXPECT(options),
		.section = &expected_section},
};

static const struct field_section expect_section =
	DHCP_SECTION("expect", "conditions of valid leases; others count as failed", expect_fields,
		struct dhcp6_expect_settings);

static const struct field raw_fields[] = {
	DHCP_RAW_FIELDS(message_names, "{elapsed}, {server}, {duid}"),
};

static const struct field_section raw_section =
	DHCP_SECTION("raw", "a message as a whole", raw_fields, struct dhcp_raw_settings);

static const struct field wrong_fields[] = {DHCP6_WRONGS(DHCP_WRONG_ROW)};

static const struct field_section wrong_section =
	DHCP_SECTION("wrong", DHCP_WRONG_HELP, wrong_fields, struct dhcp_wrong_settings);

#define S struct dhcp6_settings
static const struct field dhcp6_fields[] = {
	DHCP_FIRST_ROWS("sarr", dhcp6_exchange_names),
	{"lease", "leases that clients ask for: addresses (IA_NA), prefixes (IA_PD) or both",
		FIELD_ENUM, .offset = SETTING(lease), .def = "address", .names = lease_names},
	{"addresses", "addresses per client, each in an IA of its own", FIELD_COUNT, .load = true,
		.offset = SETTING(addresses), .def = "1", .min = 1, .max = DHCP6_IAS_MAX},
	{"temporary", "addresses are temporary ones (IA_TA)", FIELD_BOOL,
		.offset = SETTING(temporary), .def = "false"},
	{"prefixes", "prefixes per client, each in an IA of its own", FIELD_COUNT, .load = true,
		.offset = SETTING(prefixes), .def = "1", .min = 1, .max = DHCP6_IAS_MAX},
	{"prefix_hint", "prefix length that SOLICIT asks for; 0: none", FIELD_COUNT,
		.offset = SETTING(prefix_hint), .def = "0", .max = DHCP_PREFIX_MAX},
	{"iaid", "IAID of a client's first IA of a kind; the next ones follow", FIELD_COUNT,
		.offset = SETTING(iaid), .def = "1", .max = 4294967295.0},
	DHCP_MAC_ROWS(", and a link-local address from it", ""),
	{"duid",
		"DUID: ll, llt and en have the MAC in them, uuid is random, hex is "
		"duid_hex",
		FIELD_ENUM, .offset = SETTING(duid), .def = "ll", .names = duid_names},
	DHCP_PATTERN_ROW(S, duid_hex,
		"with duid hex: the whole of it, with {client:N}, {mac} or {random:N}"),
	{"duid_file",
		"with duid file: file with the DUID of a client on each line as hex digits, "
		"relative to this file's folder",
		FIELD_STRING, .role = FIELD_INPUT, .offset = offsetof(S, duid_file)},
	{"enterprise", "with duid en: enterprise number", FIELD_COUNT,
		.offset = SETTING(enterprise), .def = "32473", .max = 4294967295.0},
	DHCP_SECTION_ROW(struct dhcp_settings, relay, &relay_section,
		"clients behind relays; without: clients on the server's link"),
	DHCP_SECTIONS_ROW(
		vlans, &dhcp_vlan_section, "VLANs of ranges of clients; the others have none"),
	DHCP_SECTION_ROW(S, router_solicitation, &solicitation_section,
		"clients on the server's link: the first one asks for routers before the run, once "
		"for each VLAN"),
	{"to",
		"where messages go: server (its address), all (ff02::1:2), servers "
		"(ff05::1:3); auto: relays to server, clients to all",
		FIELD_ENUM, .offset = SETTING(to), .def = "auto", .names = to_names},
	{"unicast",
		"REQUEST, RENEW, RELEASE and DECLINE go to server once it has sent this address in "
		"option 12, until it answers UseMulticast",
		FIELD_BOOL, .offset = SETTING(unicast), .def = "false"},
	{"reconfigure",
		"accept: clients accept RECONFIGUREs (option 20), verify them with the server's "
		"key, and RENEW, REBIND or ask for information as requested (RFC 8415); lenient: "
		"even if their number has not grown; needs life",
		FIELD_ENUM, .offset = SETTING(reconfigure), .def = "none",
		.names = reconfigure_names},
	{"query", "subject of a LEASEQUERY: the first leased address, or the client's DUID",
		FIELD_ENUM, .offset = SETTING(query), .def = "address", .names = query_names},
	DHCP_PRETEND_ROW("elapsed", "elapsed time: hundredths of seconds"),
	DHCP_SECTIONS_ROW(options, &option_section, "more options"),
	DHCP_SECTIONS_ROW(raw, &raw_section,
		"messages as a whole, in place of all settings of their content"),
	{"parameters",
		"option 6: options requested in addition to those of the RFC; REPLY messages that "
		"lack one are counted",
		FIELD_COUNT, .list = true, .offset = DHCP_SETTING(parameters), .def = "23, 24",
		.min = 1, .max = 65535},
	DHCP_SECTION_ROW(struct dhcp_settings, fqdn, &fqdn_section, "option 39: the client's name"),
	DHCP_PATTERN_ROW(S, user_class,
		"option 15 with one class as text, with {client}, {mac}, {relay}, {vlan}, "
		"{random:N} or "
		"{file:N}"),
	DHCP_SECTION_ROW(S, vendor_class, &vendor_section, "option 16"),
	DHCP_SERVERS_ROWS("which of the servers a new exchange asks; all: each gets everything"),
	{"accept", "take ADVERTISEs with this server DUID only", FIELD_HEX,
		.offset = SETTING(accept)},
	{"advertise",
		"ADVERTISE that a client takes: the first, or the one with the highest preference "
		"received during the first wait; preference 255 at once (RFC 8415)",
		FIELD_ENUM, .offset = SETTING(advertise), .def = "first", .names = advertise_names},
	DHCP_RETRANSMIT_ROWS(""),
	DHCP_SECTION_ROW(struct dhcp_settings, wrong, &wrong_section, DHCP_WRONG_HELP),
	DHCP_LAST_ROWS(S, "conditions of valid leases"),
};
#undef S

const struct field_section dhcp6_settings_section =
	DHCP_SECTION("dhcp6", "DHCPv6 clients, behind relays or on the server's link", dhcp6_fields,
		struct dhcp6_settings);

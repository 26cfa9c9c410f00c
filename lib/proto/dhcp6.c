// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 clients as users see them: settings, counters and the row for protos[]. What they mean is
// in dhcp6_setup.c and dhcp6_templates.c, what is sent in dhcp6_request_wire.c, what is accepted in
// dhcp6_wire.c and dhcp6_checks_wire.c. The responder's rows are in dhcp6_answer.c. Path: cold. Any
// thread.

#include "proto/dhcp6.h"

#include "proto/dhcp6_answer.h"
#include "proto/dhcp6_plan.h"

#define OPTION(member)     offsetof(struct dhcp6_option_settings, member)
#define RELAY(member)      offsetof(struct dhcp6_relay_settings, member)
#define FQDN(member)       offsetof(struct dhcp6_fqdn_settings, member)
#define VENDOR(member)     offsetof(struct dhcp6_vendor_settings, member)
#define TRIES(member)      offsetof(struct dhcp6_tries_settings, member)
#define RETRANSMIT(member) offsetof(struct dhcp6_retransmit_settings, member)
#define EXPECT(member)     offsetof(struct dhcp6_expect_settings, member)
#define SETTING(member)    offsetof(struct dhcp6_settings, member)

#define DAY_NS  86400e9
#define HOUR_NS 3600e9

const char *const dhcp6_exchange_names[] = {"sarr", "solicit", "rapid", "renew", "rebind",
	"release", "decline", "confirm", "information", NULL};
static const char *const lease_names[] = {"address", "prefix", "both", NULL};
static const char *const duid_names[] = {"ll", "llt", "en", "uuid", "hex", "file", NULL};
static const char *const to_names[] = {"auto", "server", "all", "servers", NULL};
static const char *const spread_names[] = {"first", "round_robin", "client", "all", NULL};
static const char *const advertise_names[] = {"first", "best", NULL};
static const char *const place_names[] = {"message", "ia_na", "ia_pd", "relay", NULL};

#define SHARE(name_, exchange_, help_)                                                             \
	{                                                                                          \
		.name = name_, .help = help_, .type = FIELD_PERCENT,                               \
		.offset = offsetof(struct dhcp6_mix_settings, share[exchange_]), .def = "0%",      \
		.max = 1                                                                           \
	}

static const struct field mix_fields[] = {
	SHARE("sarr", DHCP6_SARR, "share of exchanges that get leases in four messages"),
	SHARE("solicit", DHCP6_TWO_WAY, "share of exchanges that end with the ADVERTISE"),
	SHARE("rapid", DHCP6_RAPID, "share of exchanges that get leases in two messages"),
	SHARE("renew", DHCP6_RENEWS, "share of exchanges that renew at the server of the lease"),
	SHARE("rebind", DHCP6_REBINDS, "share of exchanges that renew at any server"),
	SHARE("release", DHCP6_RELEASES, "share of exchanges that give the leases back"),
	SHARE("decline", DHCP6_DECLINES, "share of exchanges that decline the addresses"),
	SHARE("confirm", DHCP6_CONFIRMS, "share of exchanges that ask if addresses fit the link"),
	SHARE("information", DHCP6_INFORMS, "share of exchanges that ask for parameters only"),
};

static const struct field_section mix_section = {
	.name = "mix",
	.help = "several kinds of exchanges; the rest up to 100 % is `exchange`",
	FIELD_ROWS(mix_fields),
	.size = sizeof(struct dhcp6_mix_settings),
};

static const struct field option_fields[] = {
	{.name = "code",
		.help = "option code",
		.type = FIELD_COUNT,
		.required = true,
		.offset = OPTION(code),
		.min = 1,
		.max = 65535},
	{.name = "in",
		.help = "where it stands; relay: in the innermost relay message",
		.type = FIELD_ENUM,
		.offset = OPTION(in),
		.def = "message",
		.names = place_names},
	{.name = "text",
		.help = "value as text, with {client}, {mac}, {relay}, {address} or {random:N}",
		.type = FIELD_STRING,
		.offset = OPTION(text)},
	{.name = "hex",
		.help = "value as hex digits and the same names, which give bytes",
		.type = FIELD_STRING,
		.offset = OPTION(hex)},
	{.name = "address",
		.help = "value as one or more IPv6 addresses",
		.type = FIELD_ADDR,
		.list = true,
		.offset = OPTION(address)},
};

static const struct field_section option_section = {
	.name = "option",
	.help = "an option of all messages but RELEASE and DECLINE",
	FIELD_ROWS(option_fields),
	.size = sizeof(struct dhcp6_option_settings),
};

static const struct field relay_fields[] = {
	{.name = "addresses",
		.help = "addresses of the relays; a client stays with its relay",
		.type = FIELD_ADDR_RANGE,
		.list = true,
		.required = true,
		.offset = RELAY(addresses)},
	{.name = "levels",
		.help = "relays between client and server",
		.type = FIELD_COUNT,
		.offset = RELAY(levels),
		.def = "1",
		.min = 1,
		.max = DHCP6_LEVELS_MAX},
	{.name = "link",
		.help = "link address of the relay nearest to the client; without: its own",
		.type = FIELD_ADDR,
		.offset = RELAY(link)},
	{.name = "ldra",
		.help = "the relay nearest to the client is one on layer 2 (RFC 6221), which names "
			"no link",
		.type = FIELD_BOOL,
		.offset = RELAY(ldra),
		.def = "false"},
	{.name = "port",
		.help = "UDP port that the relays send from",
		.type = FIELD_COUNT,
		.offset = RELAY(port),
		.def = "547",
		.min = 1,
		.max = 65535},
	{.name = "source_port",
		.help = "with a port other than 547: option 135 (RFC 8357), answers come to that "
			"port",
		.type = FIELD_BOOL,
		.offset = RELAY(source_port),
		.def = "true"},
	{.name = "interface_id",
		.help = "option 18 as text, with {client}, {mac}, {relay} or {random:N}",
		.type = FIELD_STRING,
		.offset = RELAY(interface_id),
		.min = 1},
	{.name = "remote_id",
		.help = "option 37 (RFC 4649) as text, likewise",
		.type = FIELD_STRING,
		.offset = RELAY(remote_id),
		.min = 1},
	{.name = "remote_enterprise",
		.help = "enterprise number in front of remote_id",
		.type = FIELD_COUNT,
		.offset = RELAY(remote_enterprise),
		.def = "0",
		.max = 4294967295.0},
	{.name = "subscriber_id",
		.help = "option 38 (RFC 4580) as text, likewise",
		.type = FIELD_STRING,
		.offset = RELAY(subscriber_id),
		.min = 1},
	{.name = "client_mac",
		.help = "option 79 (RFC 6939): the client's MAC address",
		.type = FIELD_BOOL,
		.offset = RELAY(client_mac),
		.def = "false"},
};

static const struct field_section relay_section = {
	.name = "relay",
	.help = "clients behind relays; without: clients on the server's link",
	FIELD_ROWS(relay_fields),
	.size = sizeof(struct dhcp6_relay_settings),
};

static const struct field fqdn_fields[] = {
	{.name = "name",
		.help = "the client's name; with a dot in it: fully qualified",
		.type = FIELD_STRING,
		.required = true,
		.offset = FQDN(name),
		.min = 1,
		.max = 253},
	{.name = "server_update",
		.help = "S flag: the server is to update the AAAA record",
		.type = FIELD_BOOL,
		.offset = FQDN(server_update),
		.def = "true"},
	{.name = "no_update",
		.help = "N flag: the server is to update nothing",
		.type = FIELD_BOOL,
		.offset = FQDN(no_update),
		.def = "false"},
};

static const struct field_section fqdn_section = {
	.name = "fqdn",
	.help = "the client's name in option 39 (RFC 4704)",
	FIELD_ROWS(fqdn_fields),
	.size = sizeof(struct dhcp6_fqdn_settings),
};

static const struct field vendor_fields[] = {
	{.name = "enterprise",
		.help = "enterprise number",
		.type = FIELD_COUNT,
		.required = true,
		.offset = VENDOR(enterprise),
		.max = 4294967295.0},
	{.name = "text",
		.help = "the class as text, with {client}, {mac}, {relay} or {random:N}",
		.type = FIELD_STRING,
		.required = true,
		.offset = VENDOR(text)},
};

static const struct field_section vendor_section = {
	.name = "vendor_class",
	.help = "option 16",
	FIELD_ROWS(vendor_fields),
	.size = sizeof(struct dhcp6_vendor_settings),
};

#define TRIES_ROWS(irt_, mrt_, mrc_, mrd_)                                                         \
	{                                                                                          \
		{.name = "irt",                                                                    \
			.help = "wait for the answer to the first try",                            \
			.type = FIELD_DURATION,                                                    \
			.offset = TRIES(irt_ns),                                                   \
			.def = irt_,                                                               \
			.min = 1e6,                                                                \
			.max = DAY_NS},                                                            \
			{.name = "mrt",                                                            \
				.help = "longest wait; 0s: any",                                   \
				.type = FIELD_DURATION,                                            \
				.offset = TRIES(mrt_ns),                                           \
				.def = mrt_,                                                       \
				.max = DAY_NS},                                                    \
			{.name = "mrc",                                                            \
				.help = "how often the message is sent at most",                   \
				.type = FIELD_COUNT,                                               \
				.offset = TRIES(mrc),                                              \
				.def = mrc_,                                                       \
				.min = 1,                                                          \
				.max = DHCP6_TRIES_MAX},                                           \
		{                                                                                  \
			.name = "mrd", .help = "when all tries end; 0s: by mrc alone",             \
			.type = FIELD_DURATION, .offset = TRIES(mrd_ns), .def = mrd_,              \
			.max = DAY_NS                                                              \
		}                                                                                  \
	}

static const struct field solicit_tries[] = TRIES_ROWS("1s", "3600s", "4", "0s");
static const struct field request_tries[] = TRIES_ROWS("1s", "30s", "10", "0s");
static const struct field confirm_tries[] = TRIES_ROWS("1s", "4s", "4", "10s");
static const struct field renew_tries[] = TRIES_ROWS("10s", "600s", "4", "0s");
static const struct field release_tries[] = TRIES_ROWS("1s", "0s", "4", "0s");

#define TRIES_SECTION(name_, help_, rows_)                                                         \
	{                                                                                          \
		.name = name_, .help = help_, FIELD_ROWS(rows_),                                   \
		.size = sizeof(struct dhcp6_tries_settings)                                        \
	}

static const struct field_section tries_sections[] = {
	TRIES_SECTION("solicit", "of SOLICIT", solicit_tries),
	TRIES_SECTION("request", "of REQUEST", request_tries),
	TRIES_SECTION("confirm", "of CONFIRM", confirm_tries),
	TRIES_SECTION("renew", "of RENEW", renew_tries),
	TRIES_SECTION("rebind", "of REBIND", renew_tries),
	TRIES_SECTION("information", "of INFORMATION-REQUEST", solicit_tries),
	TRIES_SECTION("release", "of RELEASE", release_tries),
	TRIES_SECTION("decline", "of DECLINE", release_tries),
};

#define TRIES_FIELD(name_, index_)                                                                 \
	{                                                                                          \
		.name = #name_, .help = "how " #name_ " messages are sent again",                  \
		.type = FIELD_SECTION, .offset = RETRANSMIT(name_),                                \
		.section = &tries_sections[index_]                                                 \
	}

static const struct field retransmit_fields[] = {
	{.name = "rand",
		.help = "how much a wait is shorter or longer at random",
		.type = FIELD_PERCENT,
		.offset = RETRANSMIT(rand),
		.def = "10%",
		.max = 0.9},
	TRIES_FIELD(solicit, 0),
	TRIES_FIELD(request, 1),
	TRIES_FIELD(confirm, 2),
	TRIES_FIELD(renew, 3),
	TRIES_FIELD(rebind, 4),
	TRIES_FIELD(information, 5),
	TRIES_FIELD(release, 6),
	TRIES_FIELD(decline, 7),
};

static const struct field_section retransmit_section = {
	.name = "retransmit",
	.help = "send again what is not answered (RFC 8415 section 15); without: one try",
	FIELD_ROWS(retransmit_fields),
	.size = sizeof(struct dhcp6_retransmit_settings),
};

static const struct field expect_fields[] = {
	{.name = "pool",
		.help = "addresses that the server may give",
		.type = FIELD_PREFIX,
		.list = true,
		.offset = EXPECT(pool)},
	{.name = "prefixes",
		.help = "what delegated prefixes may lie in",
		.type = FIELD_PREFIX,
		.list = true,
		.offset = EXPECT(prefixes)},
	{.name = "prefix_length",
		.help = "length that a delegated prefix must have; 0: any",
		.type = FIELD_COUNT,
		.offset = EXPECT(prefix_length),
		.def = "0",
		.max = DHCP6_PREFIX_MAX},
	{.name = "same_lease",
		.help = "renew and rebind must get the addresses and prefixes that they ask for",
		.type = FIELD_BOOL,
		.offset = EXPECT(same_lease),
		.def = "true"},
};

static const struct field_section expect_section = {
	.name = "expect",
	.help = "what right leases are: others count as failed",
	FIELD_ROWS(expect_fields),
	.size = sizeof(struct dhcp6_expect_settings),
};

static const struct field dhcp6_fields[] = {
	{.name = "exchange",
		.help = "what clients do",
		.type = FIELD_ENUM,
		.offset = SETTING(exchange),
		.def = "sarr",
		.names = dhcp6_exchange_names},
	{.name = "mix",
		.help = "several kinds of exchanges in one item",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(mix),
		.section = &mix_section},
	{.name = "clients",
		.help = "how many different clients there are",
		.type = FIELD_COUNT,
		.offset = SETTING(clients),
		.def = "1",
		.min = 1,
		.max = 1e9},
	{.name = "lease",
		.help = "what clients want: addresses (IA_NA), prefixes (IA_PD) or both",
		.type = FIELD_ENUM,
		.offset = SETTING(lease),
		.def = "address",
		.names = lease_names},
	{.name = "addresses",
		.help = "how many addresses a client wants, each in an IA of its own",
		.type = FIELD_COUNT,
		.offset = SETTING(addresses),
		.def = "1",
		.min = 1,
		.max = DHCP6_IAS_MAX},
	{.name = "prefixes",
		.help = "how many prefixes a client wants, each in an IA of its own",
		.type = FIELD_COUNT,
		.offset = SETTING(prefixes),
		.def = "1",
		.min = 1,
		.max = DHCP6_IAS_MAX},
	{.name = "prefix_hint",
		.help = "length of prefix that SOLICIT wishes for; 0: none",
		.type = FIELD_COUNT,
		.offset = SETTING(prefix_hint),
		.def = "0",
		.max = DHCP6_PREFIX_MAX},
	{.name = "iaid",
		.help = "IAID of a client's first IA of a kind; the next ones follow",
		.type = FIELD_COUNT,
		.offset = SETTING(iaid),
		.def = "1",
		.max = 4294967295.0},
	{.name = "mac",
		.help = "MAC address of client 0; client i has this + i, and a link-local address "
			"from it",
		.type = FIELD_MAC,
		.offset = SETTING(mac),
		.def = "02:00:00:00:00:00"},
	{.name = "duid",
		.help = "DUID: ll, llt and en have the MAC in them, uuid is random, hex is "
			"duid_hex",
		.type = FIELD_ENUM,
		.offset = SETTING(duid),
		.def = "ll",
		.names = duid_names},
	{.name = "duid_hex",
		.help = "with duid hex: the whole of it, with {client:N}, {mac} or {random:N}",
		.type = FIELD_STRING,
		.offset = SETTING(duid_hex)},
	{.name = "duid_file",
		.help = "with duid file: file with the DUID of a client on each line as hex "
			"digits, "
			"relative to this file's folder",
		.type = FIELD_STRING,
		.offset = SETTING(duid_file)},
	{.name = "enterprise",
		.help = "with duid en: enterprise number",
		.type = FIELD_COUNT,
		.offset = SETTING(enterprise),
		.def = "32473",
		.max = 4294967295.0},
	{.name = "relay",
		.help = "clients behind relays; without: clients on the server's link",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(relay),
		.section = &relay_section},
	{.name = "to",
		.help = "where messages go: server (its address), all (ff02::1:2), servers "
			"(ff05::1:3); auto: relays to server, clients to all",
		.type = FIELD_ENUM,
		.offset = SETTING(to),
		.def = "auto",
		.names = to_names},
	{.name = "options",
		.help = "more options",
		.type = FIELD_SECTION,
		.list = true,
		.offset = SETTING(options),
		.section = &option_section},
	{.name = "parameters",
		.help = "option 6: options that the server is asked for beside those of the RFC; "
			"REPLY messages that lack one are counted",
		.type = FIELD_COUNT,
		.list = true,
		.offset = SETTING(parameters),
		.def = "23, 24",
		.min = 1,
		.max = 65535},
	{.name = "fqdn",
		.help = "option 39: the client's name",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(fqdn),
		.section = &fqdn_section},
	{.name = "user_class",
		.help = "option 15 with one class as text, with {client}, {mac}, {relay} or "
			"{random:N}",
		.type = FIELD_STRING,
		.offset = SETTING(user_class)},
	{.name = "vendor_class",
		.help = "option 16",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(vendor_class),
		.section = &vendor_section},
	{.name = "servers",
		.help = "further servers beside the item's",
		.type = FIELD_ADDR,
		.list = true,
		.offset = SETTING(servers)},
	{.name = "spread",
		.help = "which of the servers a new exchange asks; all: each gets everything",
		.type = FIELD_ENUM,
		.offset = SETTING(spread),
		.def = "first",
		.names = spread_names},
	{.name = "accept",
		.help = "take ADVERTISEs with this server DUID only",
		.type = FIELD_HEX,
		.offset = SETTING(accept)},
	{.name = "advertise",
		.help = "which ADVERTISE a client takes: the first, or the one with the best "
			"preference of those that come while it waits for the first try, at once "
			"one with 255 (RFC 8415)",
		.type = FIELD_ENUM,
		.offset = SETTING(advertise),
		.def = "first",
		.names = advertise_names},
	{.name = "retransmit",
		.help = "send again what is not answered",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(retransmit),
		.section = &retransmit_section},
	{.name = "decline_rest",
		.help = "how long a client waits after a DECLINE before it asks again; auto: 10s "
			"with retransmit, otherwise 0s",
		.type = FIELD_DURATION,
		.offset = SETTING(decline_rest_ns),
		.def = "auto",
		.word = "auto",
		.max = HOUR_NS},
	{.name = "expect",
		.help = "what right leases are",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(expect),
		.section = &expect_section},
};

static const struct field_section dhcp6_settings_section = {
	.name = "dhcp6",
	.help = "DHCPv6 clients, behind relays or on the server's link",
	FIELD_ROWS(dhcp6_fields),
	.size = sizeof(struct dhcp6_settings),
};

const char *dhcp6_type_label(uint32_t i)
{
	const char *name = dhcp6_type_name(i);

	return name ? name : "other";
}

const char *dhcp6_status_label(uint32_t i)
{
	const char *name = dhcp6_status_name(i);

	return name ? name : "other";
}

const char *dhcp6_attempt_label(uint32_t i)
{
	static const char *const labels[DHCP6_TRIES_MAX] = {"1", "2", "3", "4", "5", "6", "7", "8",
		"9", "10", "11", "12", "13", "14", "15", "16"};

	return labels[i];
}

#define OFFSET(member) offsetof(struct dhcp6_counters, member)
static const struct counter dhcp6_rows[] = {DHCP6_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};
#undef OFFSET

static const struct counter_section dhcp6_counters_section = {
	.name = "dhcp6",
	.help = "DHCPv6 messages and leases",
	COUNTER_ROWS(dhcp6_rows),
	.size = sizeof(struct dhcp6_counters),
};

static const struct proto_step steps[DHCP6_STEPS] = {
	[DHCP6_STEP_SOLICIT] = {"solicit-advertise"},
	[DHCP6_STEP_REQUEST] = {"request-reply"},
	[DHCP6_STEP_RAPID] = {"solicit-reply"},
	[DHCP6_STEP_RENEW] = {"renew-reply"},
	[DHCP6_STEP_REBIND] = {"rebind-reply"},
	[DHCP6_STEP_RELEASE] = {"release-reply"},
	[DHCP6_STEP_DECLINE] = {"decline-reply"},
	[DHCP6_STEP_CONFIRM] = {"confirm-reply"},
	[DHCP6_STEP_INFORMATION] = {"information-reply"},
};

_Static_assert(DHCP6_STEPS <= PROTO_MAX_STEPS, "steps of one protocol");

const struct proto dhcp6_proto = {
	.name = "dhcp6",
	.help = "DHCPv6 clients and relays",
	.default_port = DHCP6_SERVER_PORT,
	.key_bits = DHCP6_KEY_BITS,
	.cost_ns = 325,
	.steps = steps,
	.step_count = DHCP6_STEPS,
	.settings = &dhcp6_settings_section,
	.answers = &dhcp6_answers_section,
	.counters = &dhcp6_counters_section,
	.answered = &dhcp6_answered_section,
	.check = dhcp6_check,
	.check_server = dhcp6_check_server,
	.check_answers = dhcp6_check_answers,
	.setup = dhcp6_setup,
	.teardown = dhcp6_teardown,
	.common_setup = dhcp6_common_setup,
	.common_teardown = dhcp6_common_teardown,
	.memory = dhcp6_memory,
	.open = dhcp6_open,
	.close = dhcp6_close,
	.layout = dhcp6_layout,
	.flow = dhcp6_flow,
	.owns = dhcp6_owns,
	.begin = dhcp6_begin,
	.request = dhcp6_request,
	.key = dhcp6_key,
	.reply = dhcp6_reply,
	.timeout = dhcp6_timeout,
	.answers_setup = dhcp6_answers_setup,
	.answer = dhcp6_answer,
	.answers_open = dhcp6_answers_open,
	.answers_close = dhcp6_answers_close,
	.answers_teardown = dhcp6_answers_teardown,
	.direct = dhcp6_direct,
	.faults = dhcp6_faults,
};

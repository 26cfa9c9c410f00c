// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 clients as users see them: settings, counters and the row for protos[]. What they mean is
// in dhcp4_setup.c and dhcp4_templates.c, what is sent in dhcp4_request_wire.c, what is accepted in
// dhcp4_wire.c and dhcp4_checks_wire.c. The responder's rows are in dhcp4_answer.c. Path: cold. Any
// thread.

#include "proto/dhcp4.h"

#include "proto/dhcp4_internal.h"
#include "proto/dhcp4_plan.h"

#define OPTION(member)     offsetof(struct dhcp4_option_settings, member)
#define RELAY(member)      offsetof(struct dhcp4_relay_settings, member)
#define VLAN(member)       offsetof(struct dhcp4_vlan_settings, member)
#define FQDN(member)       offsetof(struct dhcp4_fqdn_settings, member)
#define RETRANSMIT(member) offsetof(struct dhcp4_retransmit_settings, member)
#define LEASES(member)     offsetof(struct dhcp4_leases_settings, member)
#define EXPECT(member)     offsetof(struct dhcp4_expect_settings, member)
#define SETTING(member)    offsetof(struct dhcp4_settings, member)

#define HOUR_NS  3600e9
#define YEARS_NS 4294967294e9 // of a lease, the longest that is not infinite

const char *const dhcp4_exchange_names[] = {"dora", "discover", "rapid", "inform", "renew",
	"rebind", "reboot", "release", "decline", "leasequery", NULL};
static const char *const client_id_names[] = {"none", "mac", "duid", "text", NULL};
static const char *const spread_names[] = {"first", "round_robin", "client", "all", NULL};

#define SHARE(name_, exchange_, help_)                                                             \
	{                                                                                          \
		.name = name_, .help = help_, .type = FIELD_PERCENT,                               \
		.offset = offsetof(struct dhcp4_mix_settings, share[exchange_]), .def = "0%",      \
		.max = 1                                                                           \
	}

static const struct field mix_fields[] = {
	SHARE("dora", DHCP4_DORA, "share of exchanges that get a lease in four messages"),
	SHARE("discover", DHCP4_TWO_WAY, "share of exchanges that end with the offer"),
	SHARE("rapid", DHCP4_RAPID, "share of exchanges that get a lease in two messages"),
	SHARE("inform", DHCP4_INFORMS, "share of exchanges that ask for parameters only"),
	SHARE("renew", DHCP4_RENEW, "share of exchanges that renew at the server of the lease"),
	SHARE("rebind", DHCP4_REBIND, "share of exchanges that renew at any server"),
	SHARE("reboot", DHCP4_REBOOT, "share of exchanges that ask for the known address again"),
	SHARE("release", DHCP4_RELEASES, "share of exchanges that give the lease back"),
	SHARE("decline", DHCP4_DECLINES, "share of exchanges that decline the leased address"),
	SHARE("leasequery", DHCP4_LEASEQUERIES, "share of exchanges that ask about a lease"),
};

static const struct field_section mix_section = {
	.name = "mix",
	.help = "several kinds of exchanges; the rest up to 100 % is `exchange`",
	FIELD_ROWS(mix_fields),
	.size = sizeof(struct dhcp4_mix_settings),
};

static const struct field option_fields[] = {
	{.name = "code",
		.help = "option code; 82.N: sub-option N of the relay agent information",
		.type = FIELD_STRING,
		.required = true,
		.offset = OPTION(code),
		.min = 1,
		.max = 7},
	{.name = "text",
		.help = "value as text, with {client}, {mac}, {relay}, {address} or {random:N}",
		.type = FIELD_STRING,
		.offset = OPTION(text)},
	{.name = "hex",
		.help = "value as hex digits and the same names, which give bytes",
		.type = FIELD_STRING,
		.offset = OPTION(hex)},
	{.name = "address",
		.help = "value as one or more IPv4 addresses",
		.type = FIELD_ADDR,
		.list = true,
		.offset = OPTION(address)},
};

static const struct field_section option_section = {
	.name = "option",
	.help = "an option of DISCOVER, REQUEST and INFORM",
	FIELD_ROWS(option_fields),
	.size = sizeof(struct dhcp4_option_settings),
};

static const struct field relay_fields[] = {
	{.name = "addresses",
		.help = "addresses of the relays (giaddr); a client stays with its relay",
		.type = FIELD_ADDR_RANGE,
		.list = true,
		.required = true,
		.offset = RELAY(addresses)},
	{.name = "hops",
		.help = "hops field of relayed messages",
		.type = FIELD_COUNT,
		.offset = RELAY(hops),
		.def = "1",
		.max = 255},
	{.name = "port",
		.help = "UDP port that the relays send from",
		.type = FIELD_COUNT,
		.offset = RELAY(port),
		.def = "67",
		.min = 1,
		.max = 65535},
	{.name = "circuit_id",
		.help = "option 82 sub-option 1 as text, with {client}, {mac}, {relay} or "
			"{random:N}",
		.type = FIELD_STRING,
		.offset = RELAY(circuit_id)},
	{.name = "remote_id",
		.help = "option 82 sub-option 2 as text, likewise",
		.type = FIELD_STRING,
		.offset = RELAY(remote_id)},
	{.name = "subscriber_id",
		.help = "option 82 sub-option 6 (RFC 3993) as text, likewise",
		.type = FIELD_STRING,
		.offset = RELAY(subscriber_id)},
	{.name = "link_selection",
		.help = "option 82 sub-option 5 (RFC 3527): subnet to lease from",
		.type = FIELD_ADDR,
		.offset = RELAY(link_selection)},
	{.name = "server_id_override",
		.help = "option 82 sub-option 11 (RFC 5107): an address, or \"relay\" for the "
			"relay's own; "
			"renew, release and inform then go through the relay",
		.type = FIELD_STRING,
		.offset = RELAY(server_id_override)},
	{.name = "source_port",
		.help = "with a port other than 67: option 82 sub-option 19 (RFC 8357), answers "
			"come to "
			"that port",
		.type = FIELD_BOOL,
		.offset = RELAY(source_port),
		.def = "true"},
};

static const struct field_section relay_section = {
	.name = "relay",
	.help = "clients behind relays; without: clients that broadcast",
	FIELD_ROWS(relay_fields),
	.size = sizeof(struct dhcp4_relay_settings),
};

static const struct field vlan_fields[] = {
	{.name = "clients",
		.help = "numbers of the clients, from 0",
		.type = FIELD_RANGE,
		.required = true,
		.offset = VLAN(clients)},
	{.name = "vlans",
		.help = "one VLAN or two, inside those of the port, outermost first",
		.type = FIELD_COUNT,
		.list = true,
		.required = true,
		.offset = VLAN(vlans),
		.min = 1,
		.max = 4094},
};

static const struct field_section vlan_section = {
	.name = "vlans",
	.help = "VLANs of a range of clients",
	FIELD_ROWS(vlan_fields),
	.size = sizeof(struct dhcp4_vlan_settings),
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
		.help = "S flag: the server is to update the A record",
		.type = FIELD_BOOL,
		.offset = FQDN(server_update),
		.def = "true"},
	{.name = "no_update",
		.help = "N flag: the server is to update nothing",
		.type = FIELD_BOOL,
		.offset = FQDN(no_update),
		.def = "false"},
	{.name = "wire",
		.help = "E flag: the name as in DNS messages, not as text",
		.type = FIELD_BOOL,
		.offset = FQDN(wire),
		.def = "true"},
};

static const struct field_section fqdn_section = {
	.name = "fqdn",
	.help = "the client's name in option 81 (RFC 4702)",
	FIELD_ROWS(fqdn_fields),
	.size = sizeof(struct dhcp4_fqdn_settings),
};

static const struct field retransmit_fields[] = {
	{.name = "initial",
		.help = "wait for the answer to the first try",
		.type = FIELD_DURATION,
		.offset = RETRANSMIT(initial_ns),
		.def = "4s",
		.min = 1e6,
		.max = HOUR_NS},
	{.name = "factor",
		.help = "how much longer each further wait is",
		.type = FIELD_COUNT,
		.offset = RETRANSMIT(factor),
		.def = "2",
		.min = 1,
		.max = 10},
	{.name = "jitter",
		.help = "how much a wait is shorter or longer at random",
		.type = FIELD_DURATION,
		.offset = RETRANSMIT(jitter_ns),
		.def = "1s",
		.max = HOUR_NS},
	{.name = "tries",
		.help = "how often a message is sent",
		.type = FIELD_COUNT,
		.offset = RETRANSMIT(tries),
		.def = "4",
		.min = 1,
		.max = DHCP4_TRIES_MAX},
};

static const struct field_section retransmit_section = {
	.name = "retransmit",
	.help = "send again what is not answered (RFC 2131 section 4.1); without: one try",
	FIELD_ROWS(retransmit_fields),
	.size = sizeof(struct dhcp4_retransmit_settings),
};

static const struct field expect_fields[] = {
	{.name = "pool",
		.help = "addresses that the server may give",
		.type = FIELD_ADDR_RANGE,
		.list = true,
		.offset = EXPECT(pool)},
	{.name = "same_address",
		.help = "renew, rebind and reboot must get the address that they ask for",
		.type = FIELD_BOOL,
		.offset = EXPECT(same_address),
		.def = "true"},
};

static const struct field_section expect_section = {
	.name = "expect",
	.help = "what a right address is: others count as failed",
	FIELD_ROWS(expect_fields),
	.size = sizeof(struct dhcp4_expect_settings),
};

static const struct field leases_fields[] = {
	{.name = "save",
		.help = "CSV file for the leases held at the end, from the working directory",
		.type = FIELD_STRING,
		.offset = LEASES(save),
		.min = 1,
		.max = 4095},
	{.name = "load",
		.help = "such a file of an earlier run: its clients hold leases from the start",
		.type = FIELD_STRING,
		.offset = LEASES(load),
		.min = 1,
		.max = 4095},
};

static const struct field_section leases_section = {
	.name = "leases",
	.help = "leases in a file: client,mac,address,server,expires",
	FIELD_ROWS(leases_fields),
	.size = sizeof(struct dhcp4_leases_settings),
};

static const struct field dhcp4_fields[] = {
	{.name = "exchange",
		.help = "what clients do",
		.type = FIELD_ENUM,
		.offset = SETTING(exchange),
		.def = "dora",
		.names = dhcp4_exchange_names},
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
	{.name = "mac",
		.help = "MAC address of client 0; client i has this + i",
		.type = FIELD_MAC,
		.offset = SETTING(mac),
		.def = "02:00:00:00:00:00"},
	{.name = "mac_file",
		.help = "file with the MAC address of a client on each line, relative to this "
			"file's folder; behind relays all may have another length than 6 bytes",
		.type = FIELD_STRING,
		.offset = SETTING(mac_file)},
	{.name = "chaddr",
		.help = "hardware address of client 0 that is not Ethernet's, 1 to 16 bytes like "
			"00:01:02:03; client i has this + i; instead of mac, behind relays",
		.type = FIELD_STRING,
		.offset = SETTING(chaddr)},
	{.name = "htype",
		.help = "hardware type: 1 Ethernet, 6 IEEE 802, 32 InfiniBand (hlen 0, RFC 4390)",
		.type = FIELD_COUNT,
		.offset = SETTING(htype),
		.def = "1",
		.max = 255},
	{.name = "client_id",
		.help = "option 61: none, mac (1 and the MAC), duid (RFC 4361, DUID-LL), text",
		.type = FIELD_ENUM,
		.offset = SETTING(client_id),
		.def = "mac",
		.names = client_id_names},
	{.name = "client_id_text",
		.help = "with client_id text: what it is, with {client}, {mac}, {relay} or "
			"{random:N}",
		.type = FIELD_STRING,
		.offset = SETTING(client_id_text)},
	{.name = "relay",
		.help = "clients behind relays; without: clients that broadcast",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(relay),
		.section = &relay_section},
	{.name = "broadcast_flag",
		.help = "ask for broadcast answers while there is no address",
		.type = FIELD_BOOL,
		.offset = SETTING(broadcast_flag),
		.def = "true"},
	{.name = "vlans",
		.help = "VLANs of ranges of clients; the others have none",
		.type = FIELD_SECTION,
		.list = true,
		.offset = SETTING(vlans),
		.section = &vlan_section},
	{.name = "options",
		.help = "more options",
		.type = FIELD_SECTION,
		.list = true,
		.offset = SETTING(options),
		.section = &option_section},
	{.name = "parameters",
		.help = "option 55: options that the server is asked for; ACKs that lack one are "
			"counted",
		.type = FIELD_COUNT,
		.list = true,
		.offset = SETTING(parameters),
		.def = "1, 3, 6, 15, 28, 51, 58, 59",
		.min = 1,
		.max = 254},
	{.name = "requested_address",
		.help = "option 50 of DISCOVER: client i wishes for the i-th address of this range",
		.type = FIELD_ADDR_RANGE,
		.offset = SETTING(requested_address)},
	{.name = "lease_time",
		.help = "option 51: the lease time wished for, in whole seconds; 0s: none",
		.type = FIELD_DURATION,
		.offset = SETTING(lease_time_ns),
		.def = "0s",
		.max = YEARS_NS},
	{.name = "fqdn",
		.help = "option 81: the client's name",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(fqdn),
		.section = &fqdn_section},
	{.name = "servers",
		.help = "further servers beside the item's",
		.type = FIELD_ADDR,
		.list = true,
		.offset = SETTING(servers)},
	{.name = "spread",
		.help = "which of the servers a new exchange through a relay asks; all: each gets "
			"everything that is not unicast",
		.type = FIELD_ENUM,
		.offset = SETTING(spread),
		.def = "first",
		.names = spread_names},
	{.name = "accept",
		.help = "take offers with this server identifier only",
		.type = FIELD_ADDR,
		.offset = SETTING(accept)},
	{.name = "retransmit",
		.help = "send again what is not answered",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(retransmit),
		.section = &retransmit_section},
	{.name = "decline_rest",
		.help = "how long a client waits after a DECLINE before it asks again (RFC 2131: "
			"at least 10s); auto: 10s with retransmit, otherwise 0s",
		.type = FIELD_DURATION,
		.offset = SETTING(decline_rest_ns),
		.def = "auto",
		.word = "auto",
		.max = HOUR_NS},
	{.name = "pad",
		.help = "least length of a message in bytes, padded with zeros; 0: no padding",
		.type = FIELD_COUNT,
		.offset = SETTING(pad),
		.def = "300",
		.max = DHCP4_MESSAGE_MAX},
	{.name = "leases",
		.help = "leases in a file, from one run to the next",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(leases),
		.section = &leases_section},
	{.name = "expect",
		.help = "what a right address is",
		.type = FIELD_SECTION,
		.optional = true,
		.offset = SETTING(expect),
		.section = &expect_section},
};

static const struct field_section dhcp4_settings_section = {
	.name = "dhcp4",
	.help = "DHCPv4 clients, behind relays or on the server's link",
	FIELD_ROWS(dhcp4_fields),
	.size = sizeof(struct dhcp4_settings),
};

const char *dhcp4_type_label(uint32_t i)
{
	const char *name = dhcp4_type_name(i);

	if (i == 0)
		return "none";
	if (i == 9) // RFC 3203, which no client here takes part in
		return "FORCERENEW";
	return name ? name : "other";
}

const char *dhcp4_attempt_label(uint32_t i)
{
	static const char *const labels[DHCP4_TRIES_MAX] = {"1", "2", "3", "4", "5", "6", "7", "8",
		"9", "10", "11", "12", "13", "14", "15", "16"};

	return labels[i];
}

// Numbered as they stand in the file: the item's own, then `servers`.
const char *dhcp4_server_label(uint32_t i)
{
	return dhcp4_attempt_label(i);
}

#define OFFSET(member) offsetof(struct dhcp4_counters, member)
static const struct counter dhcp4_rows[] = {DHCP4_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};
#undef OFFSET

static const struct counter_section dhcp4_counters_section = {
	.name = "dhcp4",
	.help = "DHCPv4 messages and leases",
	COUNTER_ROWS(dhcp4_rows),
	.size = sizeof(struct dhcp4_counters),
};

static const struct proto_step steps[DHCP4_STEPS] = {
	[DHCP4_STEP_DISCOVER] = {"discover-offer"},
	[DHCP4_STEP_REQUEST] = {"request-ack"},
	[DHCP4_STEP_RAPID] = {"discover-ack"},
	[DHCP4_STEP_RENEW] = {"renew-ack"},
	[DHCP4_STEP_REBIND] = {"rebind-ack"},
	[DHCP4_STEP_REBOOT] = {"reboot-ack"},
	[DHCP4_STEP_INFORM] = {"inform-ack"},
	[DHCP4_STEP_RELEASE] = {"release"},
	[DHCP4_STEP_DECLINE] = {"decline"},
	[DHCP4_STEP_LEASEQUERY] = {"leasequery"},
};

_Static_assert(DHCP4_STEPS <= PROTO_MAX_STEPS, "steps of one protocol");

const struct proto dhcp4_proto = {
	.name = "dhcp4",
	.help = "DHCPv4 clients and relays",
	.default_port = DHCP4_SERVER_PORT,
	.key_bits = 32,
	.steps = steps,
	.step_count = DHCP4_STEPS,
	.cost_ns = 260,
	.settings = &dhcp4_settings_section,
	.answers = &dhcp4_answers_section,
	.counters = &dhcp4_counters_section,
	.answered = &dhcp4_answered_section,
	.check = dhcp4_check,
	.check_server = dhcp4_check_server,
	.setup = dhcp4_setup,
	.teardown = dhcp4_teardown,
	.common_setup = dhcp4_common_setup,
	.common_teardown = dhcp4_common_teardown,
	.memory = dhcp4_memory,
	.open = dhcp4_open,
	.close = dhcp4_close,
	.layout = dhcp4_layout,
	.flow = dhcp4_flow,
	.owns = dhcp4_owns,
	.begin = dhcp4_begin,
	.request = dhcp4_request,
	.key = dhcp4_key,
	.reply = dhcp4_reply,
	.timeout = dhcp4_timeout,
	.check_answers = dhcp4_check_answers,
	.answers_setup = dhcp4_answers_setup,
	.answer = dhcp4_answer,
	.answers_open = dhcp4_answers_open,
	.answers_close = dhcp4_answers_close,
	.answers_teardown = dhcp4_answers_teardown,
	.direct = dhcp4_direct,
	.faults = dhcp4_faults,
};

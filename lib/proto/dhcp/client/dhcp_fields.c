// SPDX-License-Identifier: BSD-3-Clause
// Sections of settings shared by both families. Path: cold. Any thread.

#include <stdio.h>

#include "proto/dhcp/client/dhcp_fields.h"

#define VLAN(member)    offsetof(struct dhcp_vlan_settings, member)
#define LEASES(member)  offsetof(struct dhcp_leases_settings, member)
#define LIFE(member)    offsetof(struct dhcp_life_settings, member)
#define PRETEND(member) offsetof(struct dhcp_pretend_settings, member)
#define PATH_LEN_MAX    4095
#define DAY_NS          86400e9

const char *const dhcp_order_names[] = {"in_turn", "leases_random", "random", NULL};

const char *const dhcp_spread_names[] = {"first", "round_robin", "client", "all", NULL};

static const struct field vlan_fields[] = {
	{"clients", "numbers of the clients, from 0", FIELD_RANGE, .def = "0-999999999",
		.offset = VLAN(clients)},
	{"vlans", "one VLAN or two, inside those of the port, outermost first", FIELD_COUNT,
		.list = true, .offset = VLAN(vlans), .min = 1, .max = 4094},
	{"outer",
		"in place of vlans: outer VLANs; the next one is taken when all inner VLANs are "
		"used",
		FIELD_RANGE, .def = "0", .offset = VLAN(outer), .max = 4094},
	{"inner",
		"inner VLANs, one for each client in turn; 0: clients have one VLAN, an outer one",
		FIELD_RANGE, .def = "0", .offset = VLAN(inner), .max = 4094},
};

const struct field_section dhcp_vlan_section = DHCP_SECTION(
	"vlans", "VLANs of a range of clients", vlan_fields, struct dhcp_vlan_settings);

static const struct field leases_fields[] = {
	{"save", "CSV file for the leases held at the end, from the working directory",
		FIELD_STRING, .role = FIELD_OUTPUT, .offset = LEASES(save), .min = 1,
		.max = PATH_LEN_MAX},
	{"load", "such a file of an earlier run: its clients hold leases from the start",
		FIELD_STRING, .role = FIELD_INPUT, .offset = LEASES(load), .min = 1,
		.max = PATH_LEN_MAX},
};

const struct field_section dhcp_leases_section =
	DHCP_SECTION("leases", "leases in a file: client,mac,address,server,expires", leases_fields,
		struct dhcp_leases_settings);

#define DAYS_NS (49 * DAY_NS) // range of a 32-bit number of milliseconds

#define LIFE_SHARE_ROW(name_, event_, help_)                                                       \
	{                                                                                          \
		name_, "share of leases that end before T1 as the client " help_, FIELD_PERCENT,   \
			.def = "0%", .max = 1, .offset = LIFE(share[event_])                       \
	}

static const char *const curve_names[] = {"even", "bell", NULL};

static const struct field life_fields[] = {
	{"t1",
		"T1 expected from the servers, for the forecast of the rate; clients use the T1 "
		"that they are given",
		FIELD_DURATION, .required = true, .offset = LIFE(t1_ns), .min = 1e9,
		.max = DAYS_NS},
	{"speed", "factor by which the clients' time runs faster than the run's", FIELD_RATE,
		.load = true, .offset = LIFE(speed), .def = "1", .min = 0.001, .max = 1e6},
	{"power_on", "time of clients, from the start of the run, until all are switched on",
		FIELD_DURATION, .offset = LIFE(power_on_ns), .def = "0s", .max = DAYS_NS},
	{"curve", "distribution of switch-on times: even, or most in the middle", FIELD_ENUM,
		.offset = LIFE(curve), .def = "even", .names = curve_names},
	LIFE_SHARE_ROW("reboot", DHCP_LIFE_REBOOT,
		"asks whether it still holds (INIT-REBOOT, "
		"CONFIRM)"),
	LIFE_SHARE_ROW("forget", DHCP_LIFE_FORGET, "forgets it and starts over"),
	LIFE_SHARE_ROW(
		"release", DHCP_LIFE_RELEASE, "gives it back and is switched off for `away`"),
	LIFE_SHARE_ROW("move", DHCP_LIFE_MOVE, "starts over behind another relay of its worker"),
	{"away", "time of clients between a release and the next start", FIELD_DURATION,
		.offset = LIFE(away_ns), .def = "5m", .max = DAYS_NS},
	{"retry", "time of clients between an exchange that got no lease and the next one",
		FIELD_DURATION, .offset = LIFE(retry_ns), .def = "10s", .max = DAYS_NS},
};

const struct field_section dhcp_life_section =
	DHCP_SECTION("life", "behaviour of clients with leases: renew, rebind, lose them, and more",
		life_fields, struct dhcp_life_settings);

static const struct field pretend_fields[] = {
	{"from", "time at first, in the unit of the field: seconds, in DHCPv6 hundredths of them",
		FIELD_COUNT, .offset = PRETEND(from), .def = "0", .max = 65535},
	{"grow", "it grows with the time of the run, as if no server had answered", FIELD_BOOL,
		.offset = PRETEND(grow), .def = "false"},
	{"after", "time of the run, warm-up included, at which it begins", FIELD_DURATION,
		.offset = PRETEND(after_ns), .def = "0s", .max = DAY_NS},
	{"for", "its duration, after which messages carry the true time again; 0s: to the end",
		FIELD_DURATION, .offset = PRETEND(for_ns), .def = "0s", .max = DAY_NS},
};

const struct field_section dhcp_pretend_section = DHCP_SECTION("pretend",
	"time that clients pretend to have waited", pretend_fields, struct dhcp_pretend_settings);

// Labels from 1; servers in the order of the file: the item's own, then `servers`.
const char *dhcp_place_label(uint32_t i)
{
	static const char *const labels[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10",
		"11", "12", "13", "14", "15", "16"};

	_Static_assert(sizeof(labels) / sizeof(labels[0]) == DHCP_TRIES_MAX, "tries");
	_Static_assert(DHCP_SERVERS_MAX <= DHCP_TRIES_MAX, "servers");
	return labels[i];
}

const char *dhcp_code_label(uint32_t i)
{
	static char labels[DHCP_CODES][4]; // all threads write identical text

	snprintf(labels[i], sizeof(labels[i]), "%u", i & 255);
	return labels[i];
}

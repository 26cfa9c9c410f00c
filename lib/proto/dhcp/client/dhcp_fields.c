// SPDX-License-Identifier: BSD-3-Clause
// Sections of settings that both families have. Path: cold. Any thread.

#include "proto/dhcp/client/dhcp_fields.h"

#define VLAN(member)    offsetof(struct dhcp_vlan_settings, member)
#define LEASES(member)  offsetof(struct dhcp_leases_settings, member)
#define PRETEND(member) offsetof(struct dhcp_pretend_settings, member)
#define PATH_LEN_MAX    4095
#define DAY_NS          86400e9

const char *const dhcp_spread_names[] = {"first", "round_robin", "client", "all", NULL};

static const struct field vlan_fields[] = {
	{"clients", "numbers of the clients, from 0", FIELD_RANGE, .required = true,
		.offset = VLAN(clients)},
	{"vlans", "one VLAN or two, inside those of the port, outermost first", FIELD_COUNT,
		.list = true, .required = true, .offset = VLAN(vlans), .min = 1, .max = 4094},
};

const struct field_section dhcp_vlan_section = DHCP_SECTION(
	"vlans", "VLANs of a range of clients", vlan_fields, struct dhcp_vlan_settings);

static const struct field leases_fields[] = {
	{"save", "CSV file for the leases held at the end, from the working directory",
		FIELD_STRING, .offset = LEASES(save), .min = 1, .max = PATH_LEN_MAX},
	{"load", "such a file of an earlier run: its clients hold leases from the start",
		FIELD_STRING, .offset = LEASES(load), .min = 1, .max = PATH_LEN_MAX},
};

const struct field_section dhcp_leases_section =
	DHCP_SECTION("leases", "leases in a file: client,mac,address,server,expires", leases_fields,
		struct dhcp_leases_settings);

static const struct field pretend_fields[] = {
	{"from", "time at first, in the unit of the field: seconds, in DHCPv6 hundredths of them",
		FIELD_COUNT, .offset = PRETEND(from), .def = "0", .max = 65535},
	{"grow", "it grows with the time of the run, as if nobody had answered since", FIELD_BOOL,
		.offset = PRETEND(grow), .def = "false"},
	{"after", "time of the run, warm-up included, at which it begins", FIELD_DURATION,
		.offset = PRETEND(after_ns), .def = "0s", .max = DAY_NS},
	{"for", "its length, after which messages tell the true time again; 0s: to the end",
		FIELD_DURATION, .offset = PRETEND(for_ns), .def = "0s", .max = DAY_NS},
};

const struct field_section dhcp_pretend_section = DHCP_SECTION("pretend",
	"time that clients pretend to have waited", pretend_fields, struct dhcp_pretend_settings);

// Numbered from 1; servers as they stand in the file: the item's own, then `servers`.
const char *dhcp_place_label(uint32_t i)
{
	static const char *const labels[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10",
		"11", "12", "13", "14", "15", "16"};

	_Static_assert(sizeof(labels) / sizeof(labels[0]) == DHCP_TRIES_MAX, "tries");
	_Static_assert(DHCP_SERVERS_MAX <= DHCP_TRIES_MAX, "servers");
	return labels[i];
}

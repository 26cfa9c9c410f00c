// SPDX-License-Identifier: BSD-3-Clause
// Settings that clients of both families have, as structs. Their rows are in dhcp_fields.h. Path:
// cold. Any thread.
#pragma once

#include "base/field.h"

#define DHCP_TRIES_MAX   16 // of one message
#define DHCP_SERVERS_MAX 16 // the item's and further ones

struct dhcp_vlan_settings {
	struct field_range clients;
	struct field_list vlans; // uint64_t, outermost first
};

struct dhcp_leases_settings {
	const char *save, *load; // NULL: not
};

// Names of the numbers of tries and servers, in counters.
const char *dhcp_place_label(uint32_t i);

// One of these is given, the value of an option.
struct dhcp_value_settings {
	const void *code; // whom to complain about when none is, or several are
	const char *const *text, *const *hex;
	const struct field_list *address; // struct addr
};

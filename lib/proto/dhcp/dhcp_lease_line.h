// SPDX-License-Identifier: BSD-3-Clause
// One line of a file of leases. Path: cold. Management thread.
#pragma once

#include "proto/dhcp/dhcp_lease_file.h"
#include "proto/dhcp/dhcp_lines.h"

#define DHCP_LEASE_HEADING "client,mac,address,server,expires"

// What the lines fill.
struct dhcp_lease_loading {
	const struct dhcp_lease_clients *of;
	struct dhcp_rows leases, servers;
	uint8_t (*seen)[2]; // lines of each client: addresses, prefixes
	uint32_t line;
	uint64_t now; // since 1970
};

// A dhcp_line for struct dhcp_lease_loading: what it says must be possible and new.
int dhcp_lease_line(void *to, char *line, const char **what);

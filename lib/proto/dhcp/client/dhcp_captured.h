// SPDX-License-Identifier: BSD-3-Clause
// Clients out of a capture: client i is the i-th one in it, with its hardware address (DHCPv4),
// identifier and options, as the columns of a table. Path: cold. Management thread.
#pragma once

#include "proto/dhcp/client/dhcp_client.h"

// Columns of the table, from 0.
enum dhcp_captured_column {
	DHCP_CAPTURED_MAC,     // as text; empty: the message has none
	DHCP_CAPTURED_ID,      // client identifier or DUID, as on the wire; empty: none
	DHCP_CAPTURED_OPTIONS, // all others that are the client's own, as on the wire
	DHCP_CAPTURED_COLUMNS,
};

#define DHCP_CAPTURED_MAX 1024 // bytes of an identifier, and of all other options

struct dhcp_captured_bytes {
	uint8_t bytes[DHCP_CAPTURED_MAX];
	uint32_t len;
};

// A message of a client.
struct dhcp_captured_client {
	bool has_mac; // clients are told apart by it, the others by their identifier
	uint8_t mac[6];
	struct dhcp_captured_bytes id, options;
};

// The capture that the setting `wire` names, into p->table; p->used and, if it is the file of the
// load's replay, p->times. The first message of each client counts. 0, -EINVAL (in d) or -ENOMEM.
int dhcp_captured_load(struct dhcp_plan *p, const struct dhcp_settings *s, uint32_t most,
	const struct proto_env *env, struct diag *d);

// Settings that stand for what the capture has.
void dhcp_captured_check(const struct dhcp_settings *s, struct diag *d);
// The options of a captured client as an option of the plan; steps: those that have it.
void dhcp_captured_options(struct dhcp_build *b, struct dhcp_varying_list *to);

// SPDX-License-Identifier: BSD-3-Clause
// Clients taken from a capture: client i is the i-th one in it, with its hardware address (DHCPv4),
// identifier and options, as the columns of a table. Path: cold. Management thread.
#pragma once

#include "proto/dhcp/client/dhcp_client.h"

// Columns of the table, from 0.
enum dhcp_captured_column {
	DHCP_CAPTURED_MAC,     // as text; empty: not in the message
	DHCP_CAPTURED_ID,      // client identifier or DUID, as on the wire; empty: none
	DHCP_CAPTURED_OPTIONS, // all other client-specific options, as on the wire
	DHCP_CAPTURED_COLUMNS,
};

#define DHCP_CAPTURED_MAX 1024 // bytes of an identifier, and of all other options together

struct dhcp_captured_bytes {
	uint8_t bytes[DHCP_CAPTURED_MAX];
	uint32_t len;
};

// A message of a client.
struct dhcp_captured_client {
	bool has_mac; // identifies the client; otherwise `id` does
	uint8_t mac[6];
	struct dhcp_captured_bytes id, options;
};

// Loads the capture of the setting `wire` into p->table, sets p->used and, if the load replays the
// same file, p->times. Uses the first message of each client. 0, -EINVAL (in d) or -ENOMEM.
int dhcp_captured_load(struct dhcp_plan *p, const struct dhcp_settings *s, uint32_t most,
	const struct proto_env *env, struct diag *d);

// Reject settings that conflict with the contents of the capture.
void dhcp_captured_check(const struct dhcp_settings *s, struct diag *d);
// Add the options of captured clients as one option of the plan; steps: the messages that carry it.
void dhcp_captured_options(struct dhcp_build *b, struct dhcp_varying_list *to);

// SPDX-License-Identifier: BSD-3-Clause
// From settings to the plan of a client item: the part common to both families. Path: cold.
// Management thread.
#pragma once

#include "proto/dhcp/client/dhcp_client.h"

// Report errors in the settings.
void dhcp_check(const struct dhcp_family *f, const struct dhcp_settings *s, struct diag *d);
// Does the item use this exchange?
bool dhcp_does(const struct dhcp_family *f, const struct dhcp_settings *s, uint32_t exchange);
// Set the first hardware address of the plan; the clients' addresses count up from it.
void dhcp_plan_mac(struct dhcp_plan *p, const uint8_t *mac, uint32_t len);
// Clients' addresses count up from the first one; on a link they must not reach group addresses.
void dhcp_mac_check(const struct dhcp_settings *s, struct diag *d);
// Number of clients for which these addresses suffice.
uint64_t dhcp_mac_room(const struct dhcp_settings *s);
// Maximum number of addresses, or prefixes, that the clients of an item hold at a time.
uint64_t dhcp_leases_wanted(
	const struct dhcp_family *f, const struct dhcp_settings *s, bool prefixes);
// Returns the plan, or NULL after an error (in d, or out of memory).
void *dhcp_setup(const struct dhcp_family *f, const struct dhcp_settings *s,
	const struct proto_env *env, struct diag *d);
// For struct proto.
void dhcp_teardown(void *shared);

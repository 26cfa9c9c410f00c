// SPDX-License-Identifier: BSD-3-Clause
// Checks and small steps of set-up that are the same for both families: they differ by the length
// of an address, 4 or 16 bytes. Path: cold. Management thread.
#pragma once

#include "base/diag.h"
#include "base/rand.h"
#include "proto/dhcp/dhcp_vlans.h"
#include "proto/proto.h"

// Complaints name `where`. An address that is not given (len 0) is right.
bool dhcp_family_check(const struct addr *a, const void *where, uint32_t len, struct diag *d);
// A list of struct addr, up to so many; key as in diag_error.
bool dhcp_addresses_check(const struct field_list *list, const char *key, uint32_t len,
	uint32_t most, struct diag *d);
// How many addresses a list of struct addr_range has; those of the other family are complained
// about.
uint64_t dhcp_ranges_count(const struct field_list *list, uint32_t len, struct diag *d);
// Do the addresses of clients run on from the first one without getting into those of groups?
void dhcp_mac_check(const uint8_t mac[6], uint64_t clients, struct diag *d);
// Further servers.
void dhcp_servers_check(const struct field_list *servers, uint32_t len, struct diag *d);
// An exchange needs leases and there is none that gets them, like maker.
void dhcp_unleased(const void *settings, const char *exchange, const char *maker, struct diag *d);
// Is there one for each worker?
bool dhcp_clients_check(const uint64_t *clients, const struct proto_env *env, struct diag *d);

// A list of option codes to a bit each; those of 256 and above have none.
void dhcp_parameters_mark(uint64_t bits[4], const struct field_list *codes);

// Where messages go: these destinations without VLANs, then again for each range of clients.
void dhcp_paths_make(struct proto_layout *layout, const struct dhcp_vlans *v, const struct addr *to,
	uint32_t count, struct arena *a);

// What a relay list is to be: not empty, of this family, not too long.
void dhcp_relays_check(const struct field_list *relays, uint32_t len, struct diag *d);
// All addresses of the list, len bytes each as on the wire; their number in *count.
void *dhcp_relays_make(
	const struct field_list *relays, uint32_t len, struct arena *a, uint32_t *count);

// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 part of a lease record: the client's hardware address and client-id, and the index of
// clients by hardware address (RFC 4388). Independent of messages. Path: hot. The responder's
// thread.
#pragma once

#include "proto/dhcp/server/dhcp_pool.h"

#define DHCP4_IDENTITY_MAX 25 // bytes stored per client: hardware address, then client-id
#define DHCP4_ID_NOT_KEPT  UINT8_MAX

struct dhcp4_lease {
	struct dhcp_lease lease;
	uint32_t same_hardware; // next in the bucket, only for clients with a client-id.
	                        // lease.before is the previous one, or itself for the first
	uint8_t htype, hlen;
	uint8_t client_id_len;             // 0: none; DHCP4_ID_NOT_KEPT: too long to be stored
	uint8_t bytes[DHCP4_IDENTITY_MAX]; // hlen bytes, then client_id_len bytes
};

_Static_assert(sizeof(struct dhcp4_lease) == 64, "one cache line");

// A client as identified by its message.
struct dhcp4_identity {
	const uint8_t *chaddr, *client_id;
	uint8_t htype, hlen; // hlen <= 16
	uint16_t client_id_len;
};

// Hash of the client-id or, if there is none, of the hardware address.
uint64_t dhcp4_pool_identity(const struct dhcp_pool *p, const struct dhcp4_identity *c);
// The lease of this hardware address, with or without a client-id; if several, the latest. NULL:
// none.
struct dhcp4_lease *dhcp4_pool_of_hardware(
	const struct dhcp_pool *p, uint8_t htype, const uint8_t *chaddr, uint8_t hlen);
// Store the client (struct dhcp4_identity) of a lease.
void dhcp4_pool_keep(struct dhcp_pool *p, struct dhcp_lease *l, const void *client);
// Remove the lease from the index, before it loses its client.
void dhcp4_pool_forget(struct dhcp_pool *p, struct dhcp_lease *l);

// SPDX-License-Identifier: BSD-3-Clause
// The part of a lease record that only DHCPv4 has: the client's hardware address and client-id, and
// the index of clients by hardware address (RFC 4388). Knows no message. Path: hot. The responder's
// thread.
#pragma once

#include "proto/dhcp/server/dhcp_pool.h"

#define DHCP4_IDENTITY_MAX 25 // bytes kept of a client: its hardware address, then its client-id
#define DHCP4_ID_NOT_KEPT  UINT8_MAX

struct dhcp4_lease {
	struct dhcp_lease lease;
	uint32_t same_hardware; // next in the bucket; of clients with a client-id only.
	                        // lease.before is the one before, or itself: it is the first
	uint8_t htype, hlen;
	uint8_t client_id_len;             // 0: none; DHCP4_ID_NOT_KEPT: too long to be kept
	uint8_t bytes[DHCP4_IDENTITY_MAX]; // hlen bytes, then client_id_len bytes
};

_Static_assert(sizeof(struct dhcp4_lease) == 64, "one cache line");

// A client as its message identifies it.
struct dhcp4_identity {
	const uint8_t *chaddr, *client_id;
	uint8_t htype, hlen; // hlen <= 16
	uint16_t client_id_len;
};

// The identity is that of the client-id, or without one that of the hardware address.
uint64_t dhcp4_pool_identity(const struct dhcp_pool *p, const struct dhcp4_identity *c);
// The lease of this hardware address, with or without a client-id; of several the one that was
// given last. NULL: none.
struct dhcp4_lease *dhcp4_pool_of_hardware(
	const struct dhcp_pool *p, uint8_t htype, const uint8_t *chaddr, uint8_t hlen);
// Note the client (struct dhcp4_identity) that the lease was given to.
void dhcp4_pool_keep(struct dhcp_pool *p, struct dhcp_lease *l, const void *client);
// Take the lease out of the index: it is going to lose its client.
void dhcp4_pool_forget(struct dhcp_pool *p, struct dhcp_lease *l);

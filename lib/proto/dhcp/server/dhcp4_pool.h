// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 responder's addresses and who has them: leases as in dhcp_pool.h, found by address and
// by hardware address as well. Knows no message. Path: cold (made in dhcp4_answer.c) | hot (the
// rest). The responder's thread.
#pragma once

#include "proto/dhcp/server/dhcp_pool.h"

#define DHCP4_RANGES_MAX   64
#define DHCP4_IDENTITY_MAX 25 // bytes kept of a client: its hardware address, then its client-id
#define DHCP4_ID_NOT_KEPT  UINT8_MAX

struct dhcp4_lease {
	struct dhcp_lease lease;
	uint32_t same_hardware; // next in the bucket; of clients with a client-id only
	uint8_t htype, hlen;
	uint8_t client_id_len;             // 0: none; DHCP4_ID_NOT_KEPT: too long to be kept
	uint8_t bytes[DHCP4_IDENTITY_MAX]; // hlen bytes, then client_id_len bytes
};

_Static_assert(sizeof(struct dhcp4_lease) == 64, "one cache line");

struct dhcp4_range {
	uint32_t first; // host order
	uint32_t count;
	uint32_t lease; // of the first address
};

struct dhcp4_pool {
	struct dhcp_pool leases;
	const struct dhcp4_range *ranges;
	uint32_t range_count;
	uint32_t *by_hardware;
};

// A client by what its message says of it.
struct dhcp4_asker {
	uint64_t identity; // of its client-id, or else of its hardware address
	const uint8_t *chaddr, *client_id;
	uint8_t htype, hlen; // hlen <= 16
	uint16_t client_id_len;
};

// Every lease FREE, in order of addresses.
void dhcp4_pool_clear(struct dhcp4_pool *p);

uint64_t dhcp4_pool_identity(const struct dhcp4_pool *p, const struct dhcp4_asker *a);

// With or without a client-id; of several the one that was given last. NULL: none.
struct dhcp4_lease *dhcp4_pool_of_hardware(
	const struct dhcp4_pool *p, uint8_t htype, const uint8_t *chaddr, uint8_t hlen);
struct dhcp4_lease *dhcp4_pool_of_identity(const struct dhcp4_pool *p, uint64_t identity);
struct dhcp4_lease *dhcp4_pool_at(const struct dhcp4_pool *p, uint32_t address);
// The address that it hands out, host order.
uint32_t dhcp4_pool_address(const struct dhcp4_pool *p, const struct dhcp4_lease *l);

// These are as in dhcp_pool.h.
struct dhcp4_lease *dhcp4_pool_oldest(const struct dhcp4_pool *p, uint32_t now_s);
void dhcp4_pool_give(
	struct dhcp4_pool *p, struct dhcp4_lease *l, const struct dhcp4_asker *a, uint32_t now_s);
void dhcp4_pool_free(struct dhcp4_pool *p, struct dhcp4_lease *l, uint32_t now_s);
void dhcp4_pool_rest(struct dhcp4_pool *p, struct dhcp4_lease *l, uint32_t now_s);

// SPDX-License-Identifier: BSD-3-Clause
// The clients of one worker: who is free, busy, at rest or holds a lease. All memory is allocated
// at the start; every verb is O(1). Knows no message, and not which address is whose
// (dhcp_holders.h). Path: hot | cold (init, bind, settle, free, memory). The worker that owns it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/dhcp_holders.h"
#include "proto/dhcp_ring.h"

enum dhcp4_client_state { DHCP4_IS_FREE, DHCP4_IS_BOUND, DHCP4_IS_RESTING, DHCP4_IS_BUSY };

struct dhcp4_client {
	uint32_t address;   // held now, host order; 0: none
	uint32_t server_id; // of the lease
	uint32_t expires_s; // of the run; UINT32_MAX: never
	uint32_t offered;   // what the open exchange is about
	uint32_t chosen;    // server identifier that it talks to
	uint32_t began_ms;  // when it began, or the client's rest, of the run
	uint16_t secs;      // of its DISCOVER
	uint16_t place;     // index of the client's VLANs
	uint8_t state;      // enum dhcp4_client_state
	uint8_t exchange;   // that is open
	uint8_t server;     // index of the server that it asks
};

struct dhcp4_clients {
	struct dhcp4_client *items;
	uint32_t count;
	struct dhcp_ring rings[3]; // by state: free, bound, resting; each client is in one, or busy
	uint32_t rest_ms;          // how long a rest is
};

// 0 or -ENOMEM. All clients are free, the first one is taken first.
int dhcp4_clients_init(struct dhcp4_clients *c, uint32_t count, uint32_t rest_ms);
void dhcp4_clients_free(struct dhcp4_clients *c);
// Before the first take: a client that holds an address is bound, behind those bound before; settle
// then leaves only the others among the free.
void dhcp4_clients_bind(struct dhcp4_clients *c, uint32_t client);
void dhcp4_clients_settle(struct dhcp4_clients *c);
// Bytes that init allocates when nobody rests; otherwise 4 more for each.
uint64_t dhcp4_clients_memory(uint32_t count);

// Of the bound the one that has waited longest, when its lease has run out by now: it is free then,
// and what it held is the caller's to drop. DHCP_NOBODY: there is none.
uint32_t dhcp4_clients_ended(struct dhcp4_clients *c, uint32_t now_s);
// Whoever is free or bound the longest becomes busy; DHCP_NOBODY: there is none.
uint32_t dhcp4_clients_take(struct dhcp4_clients *c, enum dhcp4_client_state from, uint32_t now_s);
// A busy one becomes free, or bound when it holds an address.
void dhcp4_clients_give(struct dhcp4_clients *c, uint32_t client);
// A busy one that holds no address becomes free when it has rested.
void dhcp4_clients_rest(struct dhcp4_clients *c, uint32_t client, uint32_t now_ms);
// Those that have rested are free, a bounded number of them in one call.
void dhcp4_clients_wake(struct dhcp4_clients *c, uint32_t now_ms);

static inline bool dhcp4_client_expired(const struct dhcp4_client *k, uint32_t now_s)
{
	return k->expires_s <= now_s && k->expires_s != UINT32_MAX;
}

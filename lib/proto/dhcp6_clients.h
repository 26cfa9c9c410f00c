// SPDX-License-Identifier: BSD-3-Clause
// The clients of one worker: who is free, busy or holds leases. All memory is allocated at the
// start; every verb is O(1). Knows no message, and not which lease is whose (dhcp6_leases.h). Path:
// hot | cold (init, free, memory). The worker that owns it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/dhcp_holders.h"
#include "proto/dhcp_ring.h"

enum dhcp6_client_state { DHCP6_IS_FREE, DHCP6_IS_BOUND, DHCP6_IS_BUSY };

struct dhcp6_client {
	uint32_t expires_s; // of the run; UINT32_MAX: never
	uint32_t began_ms;  // first try of the message that is open, of the run
	uint8_t state;      // enum dhcp6_client_state
	uint8_t exchange;   // that is open
	uint8_t server;     // index of the server that it asks
	uint8_t chosen;     // index of the server DUID that it talks to
	bool holds;         // its leases; otherwise they were advertised at most
};

struct dhcp6_clients {
	struct dhcp6_client *items;
	uint32_t count;
	struct dhcp_ring rings[2]; // by state: free, bound; each client is in one, or busy
};

// 0 or -ENOMEM. All clients are free, the first one is taken first.
int dhcp6_clients_init(struct dhcp6_clients *c, uint32_t count);
void dhcp6_clients_free(struct dhcp6_clients *c);
// Bytes that init allocates.
uint64_t dhcp6_clients_memory(uint32_t count);

// Of the bound the one that has waited longest, when its leases have run out by now: it is free
// then, and what it held is the caller's to drop. DHCP_NOBODY: there is none.
uint32_t dhcp6_clients_ended(struct dhcp6_clients *c, uint32_t now_s);
// Whoever is free or bound the longest becomes busy; DHCP_NOBODY: there is none. *later is who
// will be soon, or DHCP_NOBODY.
uint32_t dhcp6_clients_take(
	struct dhcp6_clients *c, enum dhcp6_client_state from, uint32_t now_s, uint32_t *later);
// A busy one becomes free, or bound when it holds leases.
void dhcp6_clients_give(struct dhcp6_clients *c, uint32_t client);

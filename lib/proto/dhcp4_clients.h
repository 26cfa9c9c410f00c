// SPDX-License-Identifier: BSD-3-Clause
// The clients of one worker: who is free, busy or holds a lease, and which address is whose. All
// memory is allocated at the start; every verb is O(1). Knows no message. Path: hot | cold (init,
// bind, settle, free, memory). The worker that owns it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DHCP4_NOBODY     UINT32_MAX
#define DHCP4_TABLE_LINE 8  // holdings in a cache line
#define DHCP4_EXPIRE_MAX 64 // expired leases that one call takes back

enum dhcp4_client_state { DHCP4_IS_FREE, DHCP4_IS_BOUND, DHCP4_IS_BUSY };

struct dhcp4_client {
	uint32_t address;   // held now, host order; 0: none
	uint32_t server_id; // of the lease
	uint32_t expires_s; // of the run; UINT32_MAX: never
	uint32_t offered;   // what the open exchange is about
	uint32_t chosen;    // server identifier that it talks to
	uint32_t began_ms;  // when it began, of the run
	uint16_t secs;      // of its DISCOVER
	uint16_t place;     // index of the client's VLANs
	uint8_t state;      // enum dhcp4_client_state
	uint8_t exchange;   // that is open
	uint8_t server;     // index of the server that it asks
};

// First in, first out; each client is in one ring, or busy and in none.
struct dhcp4_ring {
	uint32_t *items;
	uint32_t head, count, room;
};

struct dhcp4_holding {
	uint32_t address; // 0: nothing here
	uint32_t client;
};

struct dhcp4_clients {
	struct dhcp4_client *items;
	uint32_t count;
	struct dhcp4_ring rings[2];  // by state: free, bound
	struct dhcp4_holding *table; // linear probing
	uint32_t slots, lines;
	uint32_t held; // addresses in the table
};

// 0 or -ENOMEM. All clients are free, the first one is taken first.
int dhcp4_clients_init(struct dhcp4_clients *c, uint32_t count);
void dhcp4_clients_free(struct dhcp4_clients *c);
// Before the first take: a client that holds an address is bound, behind those bound before; settle
// then leaves only the others among the free.
void dhcp4_clients_bind(struct dhcp4_clients *c, uint32_t client);
void dhcp4_clients_settle(struct dhcp4_clients *c);
// Bytes that init allocates.
uint64_t dhcp4_clients_memory(uint32_t count);

// Leases at the head of the bound that have run out by now are taken back, DHCP4_EXPIRE_MAX at
// most; returns how many.
uint32_t dhcp4_clients_expire(struct dhcp4_clients *c, uint32_t now_s);
// Whoever is free or bound the longest becomes busy; DHCP4_NOBODY: there is none.
uint32_t dhcp4_clients_take(struct dhcp4_clients *c, enum dhcp4_client_state from, uint32_t now_s);
// A busy one becomes free, or bound when it holds an address.
void dhcp4_clients_give(struct dhcp4_clients *c, uint32_t client);

// The busy client holds address (not 0) from now on, and no other one any more. DHCP4_NOBODY, or
// who has a running lease on it: then nothing changes.
uint32_t dhcp4_clients_hold(
	struct dhcp4_clients *c, uint32_t client, uint32_t address, uint32_t now_s);
// It holds no address any more; nothing happens when it holds none.
void dhcp4_clients_drop(struct dhcp4_clients *c, uint32_t client);
// hold will be asked about this address soon.
void dhcp4_clients_expect(const struct dhcp4_clients *c, uint32_t address);
// Who holds the address, or DHCP4_NOBODY.
uint32_t dhcp4_clients_holder(const struct dhcp4_clients *c, uint32_t address);

static inline bool dhcp4_client_expired(const struct dhcp4_client *k, uint32_t now_s)
{
	return k->expires_s <= now_s && k->expires_s != UINT32_MAX;
}

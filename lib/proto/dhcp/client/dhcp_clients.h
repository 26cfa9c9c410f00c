// SPDX-License-Identifier: BSD-3-Clause
// The clients of one worker by state: free, bound (to a lease), resting or busy. All memory is
// allocated at the start; every function is O(1). Independent of messages and addresses. Path: hot
// | cold (init, bind, settle, free, memory). The worker that owns it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/dhcp/client/lease/dhcp_holders.h"
#include "proto/dhcp/client/lease/dhcp_ring.h"

#define DHCP_CLIENTS_AHEAD 8 // distance in a ring at which client records are prefetched

enum dhcp_client_state { DHCP_IS_FREE, DHCP_IS_BOUND, DHCP_IS_RESTING, DHCP_IS_BUSY };

// First member of a family's client record. Times are since the start of the run.
struct dhcp_client {
	uint32_t expires_s; // end of its lease; UINT32_MAX: never
	uint32_t began_ms;  // start of the open message, or of the client's rest, lower 32 bits
	uint8_t state;      // enum dhcp_client_state
	uint8_t exchange;   // the open exchange
	uint8_t server;     // index of the server it asks
	bool holds;         // has a lease
};

struct dhcp_clients {
	void *items; // records of the family
	uint32_t count;
	uint32_t rest_ms;                     // length of a rest
	uint8_t shift;                        // a record has 1 << shift bytes
	struct dhcp_ring rings[DHCP_IS_BUSY]; // by state; each client is in one, or busy
};

// record: bytes of one record, a power of two. 0 or -ENOMEM. All clients are free and taken in
// order. rings false: clients are never taken, bound or returned here.
int dhcp_clients_init(
	struct dhcp_clients *c, uint32_t count, size_t record, uint32_t rest_ms, bool rings);
void dhcp_clients_free(struct dhcp_clients *c);
// Before the first take: append a client with a lease to the bound ones. settle then removes all
// bound clients from the free ring.
void dhcp_clients_bind(struct dhcp_clients *c, uint32_t client);
void dhcp_clients_settle(struct dhcp_clients *c);
// Bytes that init allocates if no client ever rests; otherwise 4 more per client.
uint64_t dhcp_clients_memory(uint32_t count, size_t record, bool rings);

// A busy client becomes free, or bound if it holds a lease.
void dhcp_clients_give(struct dhcp_clients *c, uint32_t client);
// A busy client without a lease rests, then becomes free.
void dhcp_clients_rest(struct dhcp_clients *c, uint32_t client, uint64_t now_ms);
// Free the clients whose rest is over, a bounded number per call.
void dhcp_clients_wake(struct dhcp_clients *c, uint64_t now_ms);

static inline struct dhcp_client *dhcp_client_at(const struct dhcp_clients *c, uint32_t client)
{
	return (struct dhcp_client *)((uint8_t *)c->items + ((size_t)client << c->shift));
}

// Time since the start of the open message or rest, which must be shorter than 2^32 ms (49 days).
static inline uint32_t dhcp_client_age_ms(const struct dhcp_client *k, uint64_t now_ms)
{
	return (uint32_t)now_ms - k->began_ms;
}

static inline bool dhcp_client_expired(const struct dhcp_client *k, uint32_t now_s)
{
	return k->expires_s <= now_s && k->expires_s != UINT32_MAX;
}

static inline bool dhcp_client_ended(const struct dhcp_client *k, uint32_t now_s)
{
	return !k->holds || dhcp_client_expired(k, now_s);
}

// Has the lease of the first bound client expired?
static inline bool dhcp_clients_any_ended(const struct dhcp_clients *c, uint32_t now_s)
{
	const struct dhcp_ring *bound = &c->rings[DHCP_IS_BOUND];

	return bound->count && dhcp_client_ended(dhcp_client_at(c, dhcp_ring_first(bound)), now_s);
}

// Has any client ever been bound, other than by a transaction still in flight?
static inline bool dhcp_clients_ever_bound(const struct dhcp_clients *c)
{
	return c->rings[DHCP_IS_BOUND].items[0] != DHCP_NOBODY; // the first one is put there
}

// Frees the first bound client if its lease has expired, and returns it; the caller drops the
// lease. DHCP_NOBODY: not expired, or no client is bound.
static inline uint32_t dhcp_clients_ended(struct dhcp_clients *c, uint32_t now_s)
{
	struct dhcp_ring *bound = &c->rings[DHCP_IS_BOUND];
	uint32_t client;

	if (!dhcp_clients_any_ended(c, now_s))
		return DHCP_NOBODY;
	client = dhcp_ring_first(bound);
	dhcp_client_at(c, client)->state = DHCP_IS_FREE;
	dhcp_ring_pop(bound);
	dhcp_ring_push(&c->rings[DHCP_IS_FREE], client);
	return client;
}

// Make the client busy that has been free, or bound, longest. DHCP_NOBODY: there is none.
static inline uint32_t dhcp_clients_take(
	struct dhcp_clients *c, enum dhcp_client_state from, uint32_t now_s)
{
	struct dhcp_ring *r = &c->rings[from];
	struct dhcp_client *k;
	uint32_t client;

	if (r->count == 0)
		return DHCP_NOBODY;
	if (r->count > DHCP_CLIENTS_AHEAD)
		__builtin_prefetch(dhcp_client_at(c, dhcp_ring_at(r, DHCP_CLIENTS_AHEAD)), 1);
	client = dhcp_ring_first(r);
	k = dhcp_client_at(c, client);
	if (from == DHCP_IS_BOUND && dhcp_client_ended(k, now_s))
		return DHCP_NOBODY;
	dhcp_ring_pop(r);
	k->state = DHCP_IS_BUSY;
	return client;
}

// Like dhcp_clients_take, for a random client selected by `random`. Skips a few bound clients whose
// lease has ended.
uint32_t dhcp_clients_draw(
	struct dhcp_clients *c, enum dhcp_client_state from, uint32_t now_s, uint64_t random);

// The client at the prefetch distance, which will be taken soon; DHCP_NOBODY: unknown.
static inline uint32_t dhcp_clients_later(const struct dhcp_clients *c, enum dhcp_client_state from)
{
	const struct dhcp_ring *r = &c->rings[from];

	return r->count >= DHCP_CLIENTS_AHEAD ? dhcp_ring_at(r, DHCP_CLIENTS_AHEAD - 1)
	                                      : DHCP_NOBODY;
}

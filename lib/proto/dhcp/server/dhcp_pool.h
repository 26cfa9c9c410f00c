// SPDX-License-Identifier: BSD-3-Clause
// The leases of the server, independent of the family: one record per address or prefix, found by
// client or by number, in a queue per state. No allocation after dhcp_pool_make; the time of an
// operation does not depend on the size of the pool. Independent of messages. Path: cold (make,
// unmake, clear) | hot (the rest). The responder's thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DHCP_POOL_MAX   (1u << 24) // records
#define DHCP_RANGES_MAX 64
#define DHCP_NO_LEASE   UINT32_MAX
#define DHCP_OFFER_S    60 // lifetime of an offer

typedef unsigned __int128 dhcp_number; // an address of either family in host order

// Consecutive addresses or prefixes with a record each.
struct dhcp_range {
	dhcp_number first;
	uint32_t count;
	uint32_t lease; // record of the first one
};

enum dhcp_lease_state {
	DHCP_FREE,    // its last client is remembered and gets it again if it is still free
	DHCP_OFFERED, // for DHCP_OFFER_S
	DHCP_BOUND,   // for the lease time
	DHCP_RESTING, // declined; without a client for the lease time
	DHCP_LEASE_STATES,
};

// First member of a family's own record, whose size is a power of two.
struct dhcp_lease {
	uint64_t identity;      // hash of the client; 0: no client
	uint32_t place;         // number of the record whose address it hands out: usually its own;
	                        // another's if handed out twice
	uint32_t since_s;       // the client's last transaction
	uint32_t prev, next;    // in the queue of its state
	uint32_t same_identity; // next in the bucket
	uint32_t state : 8;     // enum dhcp_lease_state
	uint32_t before : 24;   // for the family: number of a record (dhcp4_pool.h)
};

_Static_assert(sizeof(struct dhcp_lease) == 32, "half a cache line");
_Static_assert(DHCP_POOL_MAX <= 1u << 24, "before holds the number of a record");

struct dhcp_queue {
	uint32_t head, tail;
};

struct dhcp_pool {
	uint32_t count;                     // records
	uint32_t mask;                      // of the buckets
	uint32_t last_bound;                // DHCP_NO_LEASE: none yet
	uint32_t shift;                     // log2 of the size of a record
	uint32_t hold_s[DHCP_LEASE_STATES]; // how long a state lasts; UINT32_MAX: forever
	uint64_t seed;
	uint64_t twice; // every n-th new client gets another client's address; 0: never
	uint64_t fresh; // new clients since the last such client
	struct dhcp_queue queues[DHCP_LEASE_STATES];
	uint8_t *records;
	uint32_t *by_identity;
	uint32_t *by_hardware; // second index (dhcp4_pool.h); NULL: none
	uint32_t step;         // numbers are 2^step apart: 0 for addresses, 72 for /56 prefixes
	uint32_t range_count;
	struct dhcp_range ranges[DHCP_RANGES_MAX];
};

// Allocate count records (possibly 0) of this size, without ranges, not cleared. 0 or -ENOMEM.
int dhcp_pool_make(
	struct dhcp_pool *p, uint32_t count, size_t record, bool by_hardware, uint64_t seed);
void dhcp_pool_unmake(struct dhcp_pool *p);
// Bytes that dhcp_pool_make allocates.
uint64_t dhcp_pool_memory(uint32_t count, size_t record, bool by_hardware);
// Reset every record to zeros and FREE, in order, and all buckets and queues.
void dhcp_pool_clear(struct dhcp_pool *p);

static inline struct dhcp_lease *dhcp_pool_record(const struct dhcp_pool *p, uint32_t i)
{
	return (struct dhcp_lease *)(void *)(p->records + ((size_t)i << p->shift));
}

static inline uint32_t dhcp_pool_index(const struct dhcp_pool *p, const struct dhcp_lease *l)
{
	return (uint32_t)((size_t)((const uint8_t *)l - p->records) >> p->shift);
}

static inline bool dhcp_pool_is_shared(const struct dhcp_pool *p, const struct dhcp_lease *l)
{
	return l->place != dhcp_pool_index(p, l);
}

// The address or prefix it hands out. Inline: DHCPv4 needs only the lower half.
static inline dhcp_number dhcp_pool_number(const struct dhcp_pool *p, const struct dhcp_lease *l)
{
	const struct dhcp_range *r = p->ranges;

	while (l->place - r->lease >= r->count)
		r++;
	return r->first + ((dhcp_number)(l->place - r->lease) << p->step);
}

// Hash of a client's identifier, never 0. Two clients collide once in 2^64.
uint64_t dhcp_pool_hash(uint64_t seed, const uint8_t *bytes, uint32_t len);

struct dhcp_lease *dhcp_pool_of_identity(const struct dhcp_pool *p, uint64_t identity); // or NULL
struct dhcp_lease *dhcp_pool_at(const struct dhcp_pool *p, dhcp_number n);              // or NULL

// Has the lease expired? It stays valid until another client needs the address.
bool dhcp_pool_is_over(const struct dhcp_pool *p, const struct dhcp_lease *l, uint32_t now_s);
// The address that has been free longest, otherwise an expired one. NULL: the pool is exhausted.
struct dhcp_lease *dhcp_pool_oldest(const struct dhcp_pool *p, uint32_t now_s);

// Take the lease from its last client and assign it to this client, in state OFFERED.
void dhcp_pool_give(struct dhcp_pool *p, struct dhcp_lease *l, uint64_t identity, uint32_t now_s);
// Give it another client's address. false: no client has one.
bool dhcp_pool_share(const struct dhcp_pool *p, struct dhcp_lease *l);
// Set OFFERED or BOUND, at the end of the queue.
void dhcp_pool_move(
	struct dhcp_pool *p, struct dhcp_lease *l, enum dhcp_lease_state state, uint32_t now_s);
// Released: the client is remembered, unless the address is another's.
void dhcp_pool_free(struct dhcp_pool *p, struct dhcp_lease *l, uint32_t now_s);
// Declined: without a client, and not assigned for a while.
void dhcp_pool_rest(struct dhcp_pool *p, struct dhcp_lease *l, uint32_t now_s);

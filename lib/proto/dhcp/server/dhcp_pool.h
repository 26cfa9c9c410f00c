// SPDX-License-Identifier: BSD-3-Clause
// The responder's leases whatever their family: one record per address or prefix, found by client,
// in a queue per state. No allocation after it is made, every operation O(1). Knows no message, and
// an address only as the number of its record. Path: cold (made in dhcp_pool.c) | hot (the rest).
// The responder's thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DHCP_POOL_MAX (1u << 24) // records
#define DHCP_NO_LEASE UINT32_MAX
#define DHCP_OFFER_S  60 // how long an offer is held

enum dhcp_lease_state {
	DHCP_FREE,    // its last client is still known, and gets it again if it is still free then
	DHCP_OFFERED, // for DHCP_OFFER_S
	DHCP_BOUND,   // for the lease time
	DHCP_RESTING, // declined; nobody's, for the lease time
	DHCP_LEASE_STATES,
};

// The first member of a protocol's own record, whose size is a power of two.
struct dhcp_lease {
	uint64_t identity;      // hash; 0: nobody's
	uint32_t place;         // number of the record whose address it hands out: its own, or
	                        // another's that is handed out twice
	uint32_t since_s;       // the client's last transaction
	uint32_t prev, next;    // in the queue of its state
	uint32_t same_identity; // next in the bucket
	uint8_t state;          // enum dhcp_lease_state
};

_Static_assert(sizeof(struct dhcp_lease) == 32, "half a cache line");

struct dhcp_queue {
	uint32_t head, tail;
};

struct dhcp_pool {
	uint32_t count;                     // records
	uint32_t mask;                      // of the buckets
	uint32_t last_bound;                // DHCP_NO_LEASE: none yet
	uint32_t shift;                     // of the size of a record
	uint32_t hold_s[DHCP_LEASE_STATES]; // how long a state lasts; UINT32_MAX: for ever
	uint64_t seed;
	struct dhcp_queue queues[DHCP_LEASE_STATES];
	uint8_t *records;
	uint32_t *by_identity;
};

// So many records (0 is fine) of this size, to be cleared. 0 or -ENOMEM.
int dhcp_pool_make(struct dhcp_pool *p, uint32_t count, size_t record, uint64_t seed);
void dhcp_pool_unmake(struct dhcp_pool *p);
// Memory for a table of buckets as large as by_identity; NULL: none left.
uint32_t *dhcp_pool_buckets(const struct dhcp_pool *p);
// How long leases are held, UINT32_MAX: for ever.
void dhcp_pool_hold(struct dhcp_pool *p, uint32_t lease_s);

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

// Every record zeroed and FREE, in order; buckets and queues as well.
void dhcp_pool_clear(struct dhcp_pool *p);

// A client by what its message says of it, never 0. Two clients have the same once in 2^64.
uint64_t dhcp_pool_hash(uint64_t seed, const uint8_t *bytes, uint32_t len);

struct dhcp_lease *dhcp_pool_of_identity(const struct dhcp_pool *p, uint64_t identity); // or NULL

// Has its time passed? Such a lease is good until somebody else needs the address.
bool dhcp_pool_is_over(const struct dhcp_pool *p, const struct dhcp_lease *l, uint32_t now_s);
// The address that has been free for longest, or else one whose time has passed. NULL: used up.
struct dhcp_lease *dhcp_pool_oldest(const struct dhcp_pool *p, uint32_t now_s);

// Make it this client's instead of whose it was, OFFERED.
void dhcp_pool_give(struct dhcp_pool *p, struct dhcp_lease *l, uint64_t identity, uint32_t now_s);
// Give it an address that another client has. false: nobody has one.
bool dhcp_pool_share(const struct dhcp_pool *p, struct dhcp_lease *l);
// OFFERED or BOUND from now on, and last in the queue.
void dhcp_pool_move(
	struct dhcp_pool *p, struct dhcp_lease *l, enum dhcp_lease_state state, uint32_t now_s);
// Given back: still known for its client, unless the address is another's.
void dhcp_pool_free(struct dhcp_pool *p, struct dhcp_lease *l, uint32_t now_s);
// Declined: nobody's, and not given for a while.
void dhcp_pool_rest(struct dhcp_pool *p, struct dhcp_lease *l, uint32_t now_s);

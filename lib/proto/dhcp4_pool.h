// SPDX-License-Identifier: BSD-3-Clause
// The responder's addresses and who has them: one lease record per address, found by client, by
// hardware address and by address, in a queue per state. No allocation after it is made, every
// operation O(1). Knows no message. Path: cold (made in dhcp4_answer.c) | hot (the rest). The
// responder's thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DHCP4_POOL_MAX     (1u << 24) // addresses
#define DHCP4_RANGES_MAX   64
#define DHCP4_IDENTITY_MAX 26 // bytes kept of a client: its hardware address, then its client-id
#define DHCP4_NO_LEASE     UINT32_MAX

enum dhcp4_lease_state {
	DHCP4_FREE,    // its last client is still known, and gets it again if it is still free then
	DHCP4_OFFERED, // for DHCP4_OFFER_S
	DHCP4_BOUND,   // for the lease time
	DHCP4_RESTING, // declined; nobody's, for the lease time
	DHCP4_LEASE_STATES,
};

#define DHCP4_OFFER_S 60

struct dhcp4_lease {
	uint64_t identity;      // hash; 0: nobody's
	uint32_t address;       // host order
	uint32_t since_s;       // the client's last transaction
	uint32_t prev, next;    // in the queue of its state
	uint32_t same_identity; // next in the bucket
	uint32_t same_hardware; // next in the bucket; of clients with a client-id only
	uint8_t state;          // enum dhcp4_lease_state
	uint8_t htype, hlen;
	uint8_t client_id_len; // 0: none, or too long to be kept
	bool has_client_id;
	bool shared;                       // address is another's: handed out twice
	uint8_t bytes[DHCP4_IDENTITY_MAX]; // hlen bytes, then client_id_len bytes
};

_Static_assert(sizeof(struct dhcp4_lease) == 64, "one cache line");

struct dhcp4_range {
	uint32_t first; // host order
	uint32_t count;
	uint32_t lease; // of the first address
};

struct dhcp4_queue {
	uint32_t head, tail;
};

struct dhcp4_pool {
	const struct dhcp4_range *ranges;
	uint32_t range_count;
	uint32_t count;                      // leases
	uint32_t mask;                       // of the buckets
	uint32_t last_bound;                 // DHCP4_NO_LEASE: none yet
	uint32_t hold_s[DHCP4_LEASE_STATES]; // how long a state lasts; UINT32_MAX: for ever
	uint64_t seed;
	struct dhcp4_queue queues[DHCP4_LEASE_STATES];
	struct dhcp4_lease *leases;
	uint32_t *by_identity, *by_hardware;
};

// A client by what its message says of it.
struct dhcp4_asker {
	uint64_t identity; // of its client-id, or else of its hardware address
	const uint8_t *chaddr, *client_id;
	uint8_t htype, hlen; // hlen <= 16
	uint16_t client_id_len;
};

// Every lease FREE, in order of addresses; everything but queues and last_bound is filled.
void dhcp4_pool_clear(struct dhcp4_pool *p);

// Two clients have the same identity once in 2^64.
uint64_t dhcp4_pool_identity(const struct dhcp4_pool *p, const struct dhcp4_asker *a);

// NULL: none.
struct dhcp4_lease *dhcp4_pool_of_identity(const struct dhcp4_pool *p, uint64_t identity);
// With or without a client-id; of several the one that was given last.
struct dhcp4_lease *dhcp4_pool_of_hardware(
	const struct dhcp4_pool *p, uint8_t htype, const uint8_t *chaddr, uint8_t hlen);
struct dhcp4_lease *dhcp4_pool_at(const struct dhcp4_pool *p, uint32_t address);

// Has its time passed? Such a lease is good until somebody else needs the address.
bool dhcp4_pool_is_over(const struct dhcp4_pool *p, const struct dhcp4_lease *l, uint32_t now_s);
// The address that has been free for longest, or else one whose time has passed. NULL: used up.
struct dhcp4_lease *dhcp4_pool_oldest(const struct dhcp4_pool *p, uint32_t now_s);

// Make it this client's instead of whose it was, OFFERED.
void dhcp4_pool_give(
	struct dhcp4_pool *p, struct dhcp4_lease *l, const struct dhcp4_asker *a, uint32_t now_s);
// Give it an address that another client has. false: nobody has one.
bool dhcp4_pool_share(struct dhcp4_pool *p, struct dhcp4_lease *l);
// OFFERED or BOUND from now on, and last in the queue.
void dhcp4_pool_move(
	struct dhcp4_pool *p, struct dhcp4_lease *l, enum dhcp4_lease_state state, uint32_t now_s);
void dhcp4_pool_free(struct dhcp4_pool *p, struct dhcp4_lease *l, uint32_t now_s);
void dhcp4_pool_rest(struct dhcp4_pool *p, struct dhcp4_lease *l, uint32_t now_s);

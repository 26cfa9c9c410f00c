// SPDX-License-Identifier: BSD-3-Clause
// The clients that hold addresses and prefixes, for all items of a protocol and all workers, which
// may call every function concurrently. A lease is a number, equal to its owner's in the table of
// holders; its key is the address or prefix. DHCPv4 has no keys here: the address is the number in
// the table of holders. Path: hot | cold (init, free, memory). Any thread; each lease belongs to
// one thread.
#pragma once

#include <string.h>

#include "base/rand.h"
#include "proto/dhcp/client/lease/dhcp_holders.h"

#define DHCP_PREFIX_MAX 120 // longer prefixes are unsupported

// An address in wire format, or a prefix with its length in the last byte.
struct dhcp_key {
	uint8_t bytes[16];
};

// A key that other threads may read during a change; a torn read never matches their key.
struct dhcp_words {
	_Atomic uint64_t high, low;
};

struct dhcp_leases {
	struct dhcp_holders holders;
	struct dhcp_words *words;    // by lease; NULL: DHCPv4; dataplane: rw
	_Atomic uint64_t lengths[2]; // bit per prefix length ever held; dataplane: rw
};

// For count leases; several: more than one thread will use the table. 0 or -ENOMEM.
int dhcp_leases_init(struct dhcp_leases *l, uint64_t count, bool keys, bool several);
void dhcp_leases_free(struct dhcp_leases *l);
// Bytes that init allocates.
uint64_t dhcp_leases_memory(uint64_t count, bool keys);

// As words, which may stay in registers; memcmp() reads memory.
static inline bool dhcp_key_equal(const struct dhcp_key *a, const struct dhcp_key *b)
{
	uint64_t x[2], y[2];

	memcpy(x, a->bytes, sizeof(x));
	memcpy(y, b->bytes, sizeof(y));
	return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

// An IPv4 address in the form that the table of holders uses.
static inline struct dhcp_held dhcp4_held(uint32_t address)
{
	return (struct dhcp_held){address, NULL};
}

// A key in that form: its number is a hash.
static inline struct dhcp_held dhcp_key_held(const struct dhcp_key *k)
{
	uint64_t words[2];

	memcpy(words, k->bytes, sizeof(words));
	return (struct dhcp_held){
		(uint32_t)(rand_hash(words[0] * 0x9e3779b97f4a7c15u ^ words[1]) >> 32), k};
}

// Split a prefix's key: returns its length and writes the prefix.
static inline uint8_t dhcp_key_split(const struct dhcp_key *k, uint8_t prefix[16])
{
	memcpy(prefix, k->bytes, 15);
	prefix[15] = 0;
	return k->bytes[15];
}

// bits <= DHCP_PREFIX_MAX. false: the prefix has host bits.
bool dhcp_key_prefix(struct dhcp_key *k, const uint8_t prefix[16], uint8_t bits);

// The address or prefix of a lease that is not held.
static inline void dhcp_lease_set(struct dhcp_leases *l, uint32_t lease, const struct dhcp_key *k)
{
	uint64_t words[2];

	memcpy(words, k->bytes, sizeof(words));
	atomic_store_explicit(&l->words[lease].high, words[0], memory_order_relaxed);
	atomic_store_explicit(&l->words[lease].low, words[1], memory_order_relaxed);
}

static inline void dhcp_lease_get(const struct dhcp_leases *l, uint32_t lease, struct dhcp_key *k)
{
	const uint64_t words[2] = {
		atomic_load_explicit(&l->words[lease].high, memory_order_relaxed),
		atomic_load_explicit(&l->words[lease].low, memory_order_relaxed)};

	memcpy(k->bytes, words, sizeof(words));
}

// For the table of holders: does the lease have this key?
bool dhcp_lease_is(const void *of, uint32_t lease, const void *key);
// Prefetch for an upcoming hold of this key.
static inline void dhcp_lease_expect(const struct dhcp_leases *l, struct dhcp_key k)
{
	dhcp_holders_expect(&l->holders, dhcp_key_held(&k).number);
}

// For a prefix that the lease holds: a running lease with an overlapping one, which ends the hold,
// or DHCP_NOBODY.
uint32_t dhcp_lease_overlap(
	struct dhcp_leases *l, uint32_t lease, const struct dhcp_key *k, uint32_t now_s);
// Hold the lease, whose key must be set to k, until until_s (UINT32_MAX: forever). Returns
// DHCP_NOBODY, or a running lease with an equal or overlapping key, which prevents the hold.
// DHCP_UNWATCHED: as in dhcp_holders_hold.
static inline uint32_t dhcp_lease_hold(struct dhcp_leases *l, uint32_t lease, struct dhcp_key k,
	bool prefix, uint32_t until_s, uint32_t now_s)
{
	uint32_t other = dhcp_holders_hold(&l->holders, dhcp_key_held(&k), lease, until_s, now_s);

	return other != DHCP_NOBODY || !prefix ? other : dhcp_lease_overlap(l, lease, &k, now_s);
}

// Stop holding the lease. No effect if it is not held.
void dhcp_lease_drop(struct dhcp_leases *l, uint32_t lease);
// The running lease on this address, or DHCP_NOBODY.
uint32_t dhcp_leases_find(const struct dhcp_leases *l, const uint8_t address[16], uint32_t now_s);

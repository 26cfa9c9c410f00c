// SPDX-License-Identifier: BSD-3-Clause
// Which address or prefix is whose, for all DHCPv6 items and all workers, which may call every verb
// at the same time. A lease is a number, the same as its owner's in the table of holders; its key
// is what it is about. Path: hot | cold (init, free, memory). Any thread; a lease is one thread's.
#pragma once

#include <string.h>

#include "proto/dhcp/dhcp_holders.h"

#define DHCP6_PREFIX_MAX 120 // longer prefixes have no key

// An address as on the wire, or a prefix with its length in the last byte.
struct dhcp6_key {
	uint8_t bytes[16];
};

// A key as others may read it while it changes: then they see that it is not theirs.
struct dhcp6_words {
	_Atomic uint64_t high, low;
};

struct dhcp6_leases {
	struct dhcp_holders holders;
	struct dhcp6_words *words;   // by lease; dataplane: rw
	_Atomic uint64_t lengths[2]; // of prefixes that were ever held, a bit each; dataplane: rw
};

// For so many leases; several: more than one thread will use it. 0 or -ENOMEM.
int dhcp6_leases_init(struct dhcp6_leases *l, uint64_t count, bool several);
void dhcp6_leases_free(struct dhcp6_leases *l);
// Bytes that init allocates.
uint64_t dhcp6_leases_memory(uint64_t count);

static inline bool dhcp6_key_equal(const struct dhcp6_key *a, const struct dhcp6_key *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

// bits <= DHCP6_PREFIX_MAX. false: the prefix has host bits.
bool dhcp6_key_prefix(struct dhcp6_key *k, const uint8_t prefix[16], uint8_t bits);

// What a lease is about: it must not be held.
void dhcp6_lease_set(struct dhcp6_leases *l, uint32_t lease, const struct dhcp6_key *k);
void dhcp6_lease_get(const struct dhcp6_leases *l, uint32_t lease, struct dhcp6_key *k);
// For the table of holders: is the lease about this key?
bool dhcp6_lease_is(const void *of, uint32_t lease, const void *key);
// hold will be asked about this key soon.
void dhcp6_lease_expect(const struct dhcp6_leases *l, const struct dhcp6_key *k);
// It, which was set to this key, is held until until_s (UINT32_MAX: for ever). DHCP_NOBODY, or the
// other lease that runs and is the same or overlaps: then it is not held.
uint32_t dhcp6_lease_hold(struct dhcp6_leases *l, uint32_t lease, const struct dhcp6_key *k,
	bool prefix, uint32_t until_s, uint32_t now_s);
// It is not held any more. Nothing happens when it is not.
void dhcp6_lease_drop(struct dhcp6_leases *l, uint32_t lease);
// The running lease on this address, or DHCP_NOBODY.
uint32_t dhcp6_leases_find(const struct dhcp6_leases *l, const uint8_t address[16], uint32_t now_s);

// SPDX-License-Identifier: BSD-3-Clause
// The table of leases: the table of holders stores hashes, this one the keys. Prefixes overlap if
// one contains the other; usually all have one length, and only equal ones overlap. Path: hot
// (dhcp_lease_is, dhcp_lease_overlap, dhcp_lease_drop, dhcp_leases_find, dhcp_key_prefix) | cold
// (init, free, memory). Any thread.

#include "proto/dhcp/client/lease/dhcp_leases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/client/lease/dhcp_ring.h"

#define INNER_BITS 12 // maximum extra length of the prefixes searched for in a new one

// The upper `bits` of 64; none if bits <= 0.
static inline uint64_t upper(int bits)
{
	if (bits <= 0)
		return 0;
	return bits < 64 ? UINT64_MAX << (64 - bits) : UINT64_MAX;
}

static inline void bits_clear(uint8_t bytes[16], uint8_t from)
{
	uint64_t words[2];

	memcpy(words, bytes, sizeof(words));
	words[0] &= __builtin_bswap64(upper(from));
	words[1] &= __builtin_bswap64(upper(from - 64));
	memcpy(bytes, words, sizeof(words));
}

bool dhcp_key_prefix(struct dhcp_key *k, const uint8_t prefix[16], uint8_t bits)
{
	bool clean;

	memcpy(k->bytes, prefix, 16);
	bits_clear(k->bytes, bits);
	clean = memcmp(k->bytes, prefix, 16) == 0;
	k->bytes[15] = bits;
	return clean;
}

bool dhcp_lease_is(const void *of, uint32_t lease, const void *key)
{
	const struct dhcp_leases *l = of;
	struct dhcp_key k;

	dhcp_lease_get(l, lease, &k);
	return memcmp(k.bytes, key, sizeof(k.bytes)) == 0;
}

// The n-th prefix of length `bits` in a shorter one.
static struct dhcp_key key_inner(const struct dhcp_key *k, uint8_t bits, uint32_t n)
{
	struct dhcp_key inner = *k;

	inner.bytes[15] = 0;
	for (uint32_t at = bits - 1u; n; n >>= 1, at--)
		inner.bytes[at >> 3] |= (uint8_t)((n & 1) << (7 - (at & 7)));
	inner.bytes[15] = bits;
	return inner;
}

// A running lease on a longer prefix inside this one.
static uint32_t inner_of(
	const struct dhcp_leases *l, const struct dhcp_key *k, uint8_t bits, uint32_t now_s)
{
	uint32_t more = bits - k->bytes[15], lease = DHCP_NOBODY;

	for (uint32_t n = 0; more <= INNER_BITS && n < 1u << more && lease == DHCP_NOBODY; n++) {
		struct dhcp_key inner = key_inner(k, bits, n);

		lease = dhcp_holders_find(&l->holders, dhcp_key_held(&inner), now_s);
	}
	return lease;
}

static uint32_t outer_of(
	const struct dhcp_leases *l, const struct dhcp_key *k, uint8_t bits, uint32_t now_s)
{
	struct dhcp_key outer = *k;

	bits_clear(outer.bytes, bits);
	outer.bytes[15] = bits;
	return dhcp_holders_find(&l->holders, dhcp_key_held(&outer), now_s);
}

static __attribute__((noinline)) uint32_t overlap_of(
	const struct dhcp_leases *l, const struct dhcp_key *k, uint32_t now_s)
{
	uint32_t lease = DHCP_NOBODY;
	uint8_t own = k->bytes[15];

	for (uint8_t bits = 1; bits <= DHCP_PREFIX_MAX && lease == DHCP_NOBODY; bits++) {
		if (!(atomic_load(&l->lengths[bits >> 6]) >> (bits & 63) & 1) || bits == own)
			continue;
		lease = bits < own ? outer_of(l, k, bits, now_s) : inner_of(l, k, bits, now_s);
	}
	return lease;
}

// Record the length; is it the only one so far?
static inline bool is_only_length(struct dhcp_leases *l, uint8_t bits)
{
	_Atomic uint64_t *word = &l->lengths[bits >> 6];
	uint64_t own = 1ull << (bits & 63);

	if (!(atomic_load(word) & own))
		atomic_fetch_or(word, own);
	return atomic_load(word) == own && atomic_load(&l->lengths[1 - (bits >> 6)]) == 0;
}

uint32_t dhcp_lease_overlap(
	struct dhcp_leases *l, uint32_t lease, const struct dhcp_key *k, uint32_t now_s)
{
	uint32_t other = DHCP_NOBODY;

	if (!is_only_length(l, k->bytes[15]))
		other = overlap_of(l, k, now_s);
	if (other != DHCP_NOBODY)
		dhcp_holders_drop(&l->holders, dhcp_key_held(k), lease);
	return other;
}

void dhcp_lease_drop(struct dhcp_leases *l, uint32_t lease)
{
	struct dhcp_key k;

	dhcp_lease_get(l, lease, &k);
	dhcp_holders_drop(&l->holders, dhcp_key_held(&k), lease);
}

uint32_t dhcp_leases_find(const struct dhcp_leases *l, const uint8_t address[16], uint32_t now_s)
{
	struct dhcp_key k;

	memcpy(k.bytes, address, 16);
	return dhcp_holders_find(&l->holders, dhcp_key_held(&k), now_s);
}

uint64_t dhcp_leases_memory(uint64_t count, bool keys)
{
	return (keys ? count * sizeof(struct dhcp_words) : 0) + dhcp_holders_memory(count);
}

int dhcp_leases_init(struct dhcp_leases *l, uint64_t count, bool keys, bool several)
{
	memset(l, 0, sizeof(*l));
	if (keys) {
		l->words = dhcp_table_alloc(count * sizeof(*l->words));
		if (!l->words)
			return -ENOMEM;
	}
	if (dhcp_holders_init(&l->holders, count, several) < 0) {
		free(l->words);
		return -ENOMEM;
	}
	if (keys) {
		l->holders.same = dhcp_lease_is;
		l->holders.of = l;
	}
	return 0;
}

void dhcp_leases_free(struct dhcp_leases *l)
{
	dhcp_holders_free(&l->holders);
	free(l->words);
}

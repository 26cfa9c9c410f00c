// SPDX-License-Identifier: BSD-3-Clause
// Seeded randomness: a stream, a hash of a number, and a keyed permutation of b-bit numbers with
// its inverse. None is cryptographic; all give the same values for the same seed on every machine.
// Path: hot. Any thread.
#pragma once

#include <stdint.h>

struct rand {
	uint64_t state;
};

// SplitMix64 (Steele, Lea, Flood 2014): its finalizer is a bijection on 64 bits.
static inline uint64_t rand_hash(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static inline uint64_t rand_next(struct rand *r)
{
	uint64_t x = rand_hash(r->state);

	r->state += 0x9e3779b97f4a7c15u;
	return x;
}

// Evenly spread over 0..n-1, n >= 1, for 64 random bits; bias below 2^-32 for n < 2^32.
static inline uint64_t rand_scale(uint64_t bits, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)bits * n) >> 64);
}

// A keyed bijection on 0..2^bits-1, 1 <= bits <= 64.
struct perm {
	uint64_t mask;
	uint64_t key;
	uint64_t mul, mul_inverse; // odd, modulo 2^64
	uint32_t shift;            // at least half of bits, so that x ^= x >> shift undoes itself
};

void perm_init(struct perm *p, uint64_t seed, unsigned bits);

static inline uint64_t perm_map(const struct perm *p, uint64_t x)
{
	x = ((x ^ p->key) * p->mul) & p->mask;
	x ^= x >> p->shift;
	return (x * p->mul) & p->mask;
}

static inline uint64_t perm_unmap(const struct perm *p, uint64_t y)
{
	y = (y * p->mul_inverse) & p->mask;
	y ^= y >> p->shift;
	return ((y * p->mul_inverse) ^ p->key) & p->mask;
}

// Division by a number fixed at start, without dividing.
struct recip {
	uint64_t divisor; // >= 1
	uint64_t magic;
};

void recip_init(struct recip *r, uint64_t divisor);

static inline uint64_t recip_div(const struct recip *r, uint64_t x)
{
	uint64_t q = (uint64_t)(((unsigned __int128)x * r->magic) >> 64);

	// magic is within 1 below 2^64/divisor, so q is at most x/2^64 < 1 below x/divisor: one too
	// small.
	q += x - q * r->divisor >= r->divisor;
	return q;
}

static inline uint64_t recip_mod(const struct recip *r, uint64_t x)
{
	return x - recip_div(r, x) * r->divisor;
}

// Like recip_mod, for 32 bits and a divisor of 32 bits. The fraction of x / divisor, as 64 bits, is
// at most x/2^64 too great: the integer part of its product with the divisor is exact.
static inline uint32_t recip_mod32(const struct recip *r, uint32_t x)
{
	return (uint32_t)(((unsigned __int128)((r->magic + 1) * x) * r->divisor) >> 64);
}

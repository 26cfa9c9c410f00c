// SPDX-License-Identifier: BSD-3-Clause
// Preparing the keyed permutation and the division by a fixed number that rand.h applies.
// Path: cold. Any thread.
#include "base/rand.h"

// Newton's iteration doubles the correct low bits; an odd number is its own inverse modulo 8.
static uint64_t odd_inverse(uint64_t odd)
{
	uint64_t x = odd;

	for (unsigned bits = 3; bits < 64; bits *= 2)
		x *= 2 - odd * x;
	return x;
}

void perm_init(struct perm *p, uint64_t seed, unsigned bits)
{
	struct rand r = {seed};

	p->mask = UINT64_MAX >> (64 - bits);
	p->key = rand_next(&r);
	p->mul = rand_next(&r) | 1;
	p->mul_inverse = odd_inverse(p->mul);
	p->shift = (bits + 1) / 2;
}

void recip_init(struct recip *r, uint64_t divisor)
{
	r->divisor = divisor;
	r->magic = UINT64_MAX / divisor;
}

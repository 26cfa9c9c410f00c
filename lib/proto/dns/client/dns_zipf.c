// SPDX-License-Identifier: BSD-3-Clause
// Zipf-distributed choice in constant time: Walker's alias table, built by Vose's method.
// Path: cold. Any thread.

#include "proto/dns/client/dns_zipf.h"

#include <math.h>
#include <stdlib.h>

// Pair each column below its share with one above. small and large: the two work lists, growing
// towards each other in one array.
static void alias_pair(struct dns_alias *table, double *share, uint32_t *work, uint32_t count)
{
	uint32_t small = 0, large = count;

	for (uint32_t i = 0; i < count; i++) {
		if (share[i] < 1)
			work[small++] = i;
		else
			work[--large] = i;
	}
	while (small > 0 && large < count) {
		uint32_t s = work[--small], l = work[large];

		table[s] = (struct dns_alias){(uint32_t)(share[s] * 0x1p32), l};
		share[l] -= 1 - share[s];
		if (share[l] >= 1)
			continue;
		large++;
		work[small++] = l;
	}
	// The rest have exactly their share, except for rounding: each is its own alias.
}

struct dns_alias *dns_zipf_build(uint32_t count, double exponent)
{
	struct dns_alias *table = malloc((size_t)count * sizeof(*table));
	double *share = malloc((size_t)count * sizeof(*share));
	uint32_t *work = malloc((size_t)count * sizeof(*work));
	double sum = 0;

	if (!table || !share || !work) {
		free(table);
		table = NULL;
		goto out;
	}
	for (uint32_t i = 0; i < count; i++) {
		share[i] = pow((double)i + 1, -exponent);
		sum += share[i];
		table[i] = (struct dns_alias){UINT32_MAX, i};
	}
	for (uint32_t i = 0; i < count; i++)
		share[i] *= count / sum;
	alias_pair(table, share, work, count);
out:
	free(share);
	free(work);
	return table;
}

// SPDX-License-Identifier: BSD-3-Clause
// Allocates the tables of a timing wheel; the work per packet is inline in delay.h.
// Path: cold. Management thread.
#include "engine/core/delay.h"

#include <errno.h>
#include <string.h>

#include "engine/core/pages.h"

#define BUCKET_S    1e-6
#define BUCKETS_MIN (1u << 12)
#define BUCKETS_MAX (1u << 20)

int delay_init(struct delay *d, uint32_t count, uint64_t longest, double tick_hz)
{
	uint64_t buckets = BUCKETS_MIN;

	*d = (struct delay){.count = count, .free = DELAY_NONE};
	while ((double)(2ull << d->shift) <= BUCKET_S * tick_hz)
		d->shift++;
	while (buckets < BUCKETS_MAX && buckets << d->shift < longest)
		buckets *= 2;
	d->mask = (uint32_t)(buckets - 1);
	d->entries = pages_alloc(count * sizeof(*d->entries));
	d->buckets = pages_alloc(buckets * sizeof(*d->buckets));
	if (!d->entries || !d->buckets) {
		delay_free(d);
		return -ENOMEM;
	}
	memset(d->buckets, 0xff, buckets * sizeof(*d->buckets)); // DELAY_NONE
	for (uint32_t e = count; e-- > 0; d->free = e)
		d->entries[e].next = d->free;
	return 0;
}

void delay_free(struct delay *d)
{
	pages_free(d->entries, d->count * sizeof(*d->entries));
	pages_free(d->buckets, ((uint64_t)d->mask + 1) * sizeof(*d->buckets));
	*d = (struct delay){0};
}

// SPDX-License-Identifier: BSD-3-Clause
// The memory of a table of leases. What happens in it is in dhcp_pool_wire.c. Path: cold. The
// responder's thread, before it runs.

#include "proto/dhcp/server/dhcp_pool.h"

#include <errno.h>
#include <stdlib.h>

#define CACHE_LINE 64

static void *lines_alloc(size_t count, size_t size)
{
	return aligned_alloc(CACHE_LINE, (count * size / CACHE_LINE + 1) * CACHE_LINE);
}

uint32_t *dhcp_pool_buckets(const struct dhcp_pool *p)
{
	return lines_alloc((size_t)p->mask + 1, sizeof(uint32_t));
}

int dhcp_pool_make(struct dhcp_pool *p, uint32_t count, size_t record, uint64_t seed)
{
	*p = (struct dhcp_pool){.count = count, .mask = 1, .seed = seed};
	while (p->mask < count)
		p->mask = p->mask << 1 | 1;
	p->shift = (uint32_t)__builtin_ctzl(record);
	p->records = lines_alloc(count, record);
	p->by_identity = dhcp_pool_buckets(p);
	if (p->records && p->by_identity)
		return 0;
	dhcp_pool_unmake(p);
	return -ENOMEM;
}

void dhcp_pool_unmake(struct dhcp_pool *p)
{
	free(p->records);
	free(p->by_identity);
	p->records = NULL;
	p->by_identity = NULL;
}

void dhcp_pool_hold(struct dhcp_pool *p, uint32_t lease_s)
{
	p->hold_s[DHCP_OFFERED] = DHCP_OFFER_S;
	p->hold_s[DHCP_BOUND] = lease_s;
	p->hold_s[DHCP_RESTING] = lease_s;
}

// SPDX-License-Identifier: BSD-3-Clause
// Memory of rings and tables, all allocated at the start. Path: cold. Management thread.

#include "proto/dhcp/client/lease/dhcp_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CACHE_LINE 64u
#define HUGE_PAGE  (2u << 20)

// Prefaults all pages. Large tables use huge pages where available.
void *dhcp_table_alloc(uint64_t size)
{
	uint64_t unit = size < HUGE_PAGE ? CACHE_LINE : HUGE_PAGE;
	void *p = aligned_alloc(unit, (size + unit - 1) / unit * unit);

	if (!p)
		return NULL;
	if (unit == HUGE_PAGE)
		madvise(p, size, MADV_HUGEPAGE);
	return memset(p, 0, size);
}

int dhcp_ring_init(struct dhcp_ring *r, uint32_t room)
{
	*r = (struct dhcp_ring){.items = dhcp_table_alloc(room * sizeof(*r->items)), .room = room};
	return r->items ? 0 : -ENOMEM;
}

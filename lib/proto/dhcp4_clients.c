// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing the table of clients, and how large it is. Path: cold. Management thread.

#include "proto/dhcp4_clients.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CACHE_LINE 64u
#define HUGE_PAGE  (2u << 20)

uint64_t dhcp4_clients_memory(uint32_t count)
{
	return (sizeof(struct dhcp4_client) + 2 * sizeof(uint32_t)) * (uint64_t)count;
}

// No page is to be missing on the way. Large tables are in large pages where the system has them.
void *dhcp4_table_alloc(uint64_t size)
{
	uint64_t unit = size < HUGE_PAGE ? CACHE_LINE : HUGE_PAGE;
	void *p = aligned_alloc(unit, (size + unit - 1) / unit * unit);

	if (!p)
		return NULL;
	if (unit == HUGE_PAGE)
		madvise(p, size, MADV_HUGEPAGE);
	return memset(p, 0, size);
}

int dhcp4_clients_init(struct dhcp4_clients *c, uint32_t count, uint32_t rest_ms)
{
	struct dhcp4_ring *idle = &c->rings[DHCP4_IS_FREE], *bound = &c->rings[DHCP4_IS_BOUND];
	struct dhcp4_ring *resting = &c->rings[DHCP4_IS_RESTING];
	uint32_t some = count ? count : 1;

	*c = (struct dhcp4_clients){.count = count, .rest_ms = rest_ms};
	c->items = dhcp4_table_alloc(some * sizeof(*c->items));
	idle->items = dhcp4_table_alloc(some * sizeof(uint32_t));
	bound->items = dhcp4_table_alloc(some * sizeof(uint32_t));
	idle->room = bound->room = resting->room = some;
	if (rest_ms)
		resting->items = dhcp4_table_alloc(some * sizeof(uint32_t));
	if (!c->items || !idle->items || !bound->items || (rest_ms && !resting->items)) {
		dhcp4_clients_free(c);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		idle->items[i] = i;
	idle->count = count;
	return 0;
}

void dhcp4_clients_bind(struct dhcp4_clients *c, uint32_t client)
{
	struct dhcp4_ring *bound = &c->rings[DHCP4_IS_BOUND];

	c->items[client].state = DHCP4_IS_BOUND;
	bound->items[bound->count++] = client;
}

void dhcp4_clients_settle(struct dhcp4_clients *c)
{
	struct dhcp4_ring *idle = &c->rings[DHCP4_IS_FREE];

	idle->count = 0;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->items[i].state == DHCP4_IS_FREE)
			idle->items[idle->count++] = i;
}

void dhcp4_clients_free(struct dhcp4_clients *c)
{
	free(c->items);
	free(c->rings[DHCP4_IS_FREE].items);
	free(c->rings[DHCP4_IS_BOUND].items);
	free(c->rings[DHCP4_IS_RESTING].items);
	*c = (struct dhcp4_clients){0};
}

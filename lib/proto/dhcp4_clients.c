// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing the table of clients, and how large it is. Path: cold. Management thread.

#include "proto/dhcp4_clients.h"

#include <errno.h>
#include <stdlib.h>

uint64_t dhcp4_clients_memory(uint32_t count)
{
	return (sizeof(struct dhcp4_client) + 2 * sizeof(uint32_t)) * (uint64_t)count;
}

int dhcp4_clients_init(struct dhcp4_clients *c, uint32_t count, uint32_t rest_ms)
{
	struct dhcp_ring *idle = &c->rings[DHCP4_IS_FREE], *bound = &c->rings[DHCP4_IS_BOUND];
	struct dhcp_ring *resting = &c->rings[DHCP4_IS_RESTING];
	uint32_t some = count ? count : 1;

	*c = (struct dhcp4_clients){.count = count, .rest_ms = rest_ms};
	c->items = dhcp_table_alloc(some * sizeof(*c->items));
	if (!c->items || dhcp_ring_init(idle, some) < 0 || dhcp_ring_init(bound, some) < 0 ||
		(rest_ms && dhcp_ring_init(resting, some) < 0)) {
		dhcp4_clients_free(c);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		dhcp_ring_push(idle, i);
	return 0;
}

void dhcp4_clients_bind(struct dhcp4_clients *c, uint32_t client)
{
	struct dhcp_ring *bound = &c->rings[DHCP4_IS_BOUND];

	c->items[client].state = DHCP4_IS_BOUND;
	dhcp_ring_push(bound, client);
}

void dhcp4_clients_settle(struct dhcp4_clients *c)
{
	struct dhcp_ring *idle = &c->rings[DHCP4_IS_FREE];

	idle->count = 0;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->items[i].state == DHCP4_IS_FREE)
			dhcp_ring_push(idle, i);
}

void dhcp4_clients_free(struct dhcp4_clients *c)
{
	free(c->items);
	free(c->rings[DHCP4_IS_FREE].items);
	free(c->rings[DHCP4_IS_BOUND].items);
	free(c->rings[DHCP4_IS_RESTING].items);
	*c = (struct dhcp4_clients){0};
}

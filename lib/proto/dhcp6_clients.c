// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing the table of clients, and how large it is. Path: cold. Management thread.

#include "proto/dhcp6_clients.h"

#include <errno.h>
#include <stdlib.h>

uint64_t dhcp6_clients_memory(uint32_t count)
{
	return (sizeof(struct dhcp6_client) + 2 * sizeof(uint32_t)) * (uint64_t)count;
}

int dhcp6_clients_init(struct dhcp6_clients *c, uint32_t count)
{
	struct dhcp_ring *idle = &c->rings[DHCP6_IS_FREE], *bound = &c->rings[DHCP6_IS_BOUND];
	uint32_t some = count ? count : 1;

	*c = (struct dhcp6_clients){.count = count};
	c->items = dhcp_table_alloc(some * sizeof(*c->items));
	if (!c->items || dhcp_ring_init(idle, some) < 0 || dhcp_ring_init(bound, some) < 0) {
		dhcp6_clients_free(c);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		dhcp_ring_push(idle, i);
	return 0;
}

void dhcp6_clients_free(struct dhcp6_clients *c)
{
	free(c->items);
	free(c->rings[DHCP6_IS_FREE].items);
	free(c->rings[DHCP6_IS_BOUND].items);
	*c = (struct dhcp6_clients){0};
}

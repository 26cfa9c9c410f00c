// SPDX-License-Identifier: BSD-3-Clause
// Giving clients back to the rings of the free, bound and resting. Path: hot. The worker that owns
// it.

#include "proto/dhcp/dhcp_clients.h"

#define WAKE_MAX 64 // clients that one call makes free

void dhcp_clients_give(struct dhcp_clients *c, uint32_t client)
{
	struct dhcp_client *k = dhcp_client_at(c, client);

	k->state = k->holds ? DHCP_IS_BOUND : DHCP_IS_FREE;
	dhcp_ring_push(&c->rings[k->state], client);
}

void dhcp_clients_rest(struct dhcp_clients *c, uint32_t client, uint32_t now_ms)
{
	struct dhcp_client *k = dhcp_client_at(c, client);

	k->state = c->rest_ms ? DHCP_IS_RESTING : DHCP_IS_FREE;
	k->began_ms = now_ms;
	dhcp_ring_push(&c->rings[k->state], client);
}

// All rest for as long: who began first is awake first.
void dhcp_clients_wake(struct dhcp_clients *c, uint32_t now_ms)
{
	struct dhcp_ring *resting = &c->rings[DHCP_IS_RESTING];

	for (uint32_t n = 0; n < WAKE_MAX && resting->count > 0; n++) {
		uint32_t client = dhcp_ring_at(resting, 0);

		if (now_ms - dhcp_client_at(c, client)->began_ms < c->rest_ms)
			return;
		dhcp_client_at(c, client)->state = DHCP_IS_FREE;
		dhcp_ring_pop(resting);
		dhcp_ring_push(&c->rings[DHCP_IS_FREE], client);
	}
}

// SPDX-License-Identifier: BSD-3-Clause
// The rings of free and bound clients. Path: hot. The worker that owns it.

#include "proto/dhcp6_clients.h"

#define AHEAD 8 // clients in a ring whose memory is asked for early

static inline bool has_ended(const struct dhcp6_client *k, uint32_t now_s)
{
	return !k->holds || (k->expires_s <= now_s && k->expires_s != UINT32_MAX);
}

uint32_t dhcp6_clients_ended(struct dhcp6_clients *c, uint32_t now_s)
{
	struct dhcp_ring *bound = &c->rings[DHCP6_IS_BOUND];
	uint32_t client;

	if (bound->count == 0)
		return DHCP_NOBODY;
	client = dhcp_ring_at(bound, 0);
	if (!has_ended(&c->items[client], now_s))
		return DHCP_NOBODY;
	c->items[client].state = DHCP6_IS_FREE;
	dhcp_ring_pop(bound);
	dhcp_ring_push(&c->rings[DHCP6_IS_FREE], client);
	return client;
}

uint32_t dhcp6_clients_take(
	struct dhcp6_clients *c, enum dhcp6_client_state from, uint32_t now_s, uint32_t *later)
{
	struct dhcp_ring *r = &c->rings[from];
	struct dhcp6_client *k;
	uint32_t client;

	*later = r->count > AHEAD ? dhcp_ring_at(r, AHEAD) : DHCP_NOBODY;
	if (r->count == 0)
		return DHCP_NOBODY;
	if (*later != DHCP_NOBODY)
		__builtin_prefetch(&c->items[*later], 1);
	client = dhcp_ring_at(r, 0);
	k = &c->items[client];
	if (from == DHCP6_IS_BOUND && has_ended(k, now_s))
		return DHCP_NOBODY;
	dhcp_ring_pop(r);
	k->state = DHCP6_IS_BUSY;
	return client;
}

void dhcp6_clients_give(struct dhcp6_clients *c, uint32_t client)
{
	struct dhcp6_client *k = &c->items[client];

	k->state = k->holds ? DHCP6_IS_BOUND : DHCP6_IS_FREE;
	dhcp_ring_push(&c->rings[k->state], client);
}

// SPDX-License-Identifier: BSD-3-Clause
// The rings of free, bound and resting clients. Path: hot. The worker that owns it.

#include "proto/dhcp4_clients.h"

#define AHEAD    8  // clients in a ring whose memory is asked for early
#define WAKE_MAX 64 // clients that one call makes free

static inline bool has_ended(const struct dhcp4_client *k, uint32_t now_s)
{
	return !k->address || dhcp4_client_expired(k, now_s);
}

uint32_t dhcp4_clients_ended(struct dhcp4_clients *c, uint32_t now_s)
{
	struct dhcp_ring *bound = &c->rings[DHCP4_IS_BOUND];
	uint32_t client;

	if (bound->count == 0)
		return DHCP_NOBODY;
	client = dhcp_ring_at(bound, 0);
	if (!has_ended(&c->items[client], now_s))
		return DHCP_NOBODY;
	c->items[client].state = DHCP4_IS_FREE;
	dhcp_ring_pop(bound);
	dhcp_ring_push(&c->rings[DHCP4_IS_FREE], client);
	return client;
}

uint32_t dhcp4_clients_take(struct dhcp4_clients *c, enum dhcp4_client_state from, uint32_t now_s)
{
	struct dhcp_ring *r = &c->rings[from];
	struct dhcp4_client *k;
	uint32_t client;

	if (r->count == 0)
		return DHCP_NOBODY;
	if (r->count > AHEAD)
		__builtin_prefetch(&c->items[dhcp_ring_at(r, AHEAD)], 1);
	client = dhcp_ring_at(r, 0);
	k = &c->items[client];
	if (from == DHCP4_IS_BOUND && has_ended(k, now_s))
		return DHCP_NOBODY;
	dhcp_ring_pop(r);
	k->state = DHCP4_IS_BUSY;
	return client;
}

void dhcp4_clients_give(struct dhcp4_clients *c, uint32_t client)
{
	struct dhcp4_client *k = &c->items[client];

	k->state = k->address ? DHCP4_IS_BOUND : DHCP4_IS_FREE;
	dhcp_ring_push(&c->rings[k->state], client);
}

void dhcp4_clients_rest(struct dhcp4_clients *c, uint32_t client, uint32_t now_ms)
{
	struct dhcp4_client *k = &c->items[client];

	k->state = c->rest_ms ? DHCP4_IS_RESTING : DHCP4_IS_FREE;
	k->began_ms = now_ms;
	dhcp_ring_push(&c->rings[k->state], client);
}

// All rest for as long: who began first is awake first.
void dhcp4_clients_wake(struct dhcp4_clients *c, uint32_t now_ms)
{
	struct dhcp_ring *resting = &c->rings[DHCP4_IS_RESTING];

	for (uint32_t n = 0; n < WAKE_MAX && resting->count > 0; n++) {
		uint32_t client = dhcp_ring_at(resting, 0);

		if (now_ms - c->items[client].began_ms < c->rest_ms)
			return;
		c->items[client].state = DHCP4_IS_FREE;
		dhcp_ring_pop(resting);
		dhcp_ring_push(&c->rings[DHCP4_IS_FREE], client);
	}
}

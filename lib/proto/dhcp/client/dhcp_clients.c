// SPDX-License-Identifier: BSD-3-Clause
// The table of clients and its rings of free, bound and resting clients: their memory, and how
// clients are returned or drawn. Path: hot (give, rest, wake, draw) | cold (init, bind, settle,
// free, memory). The worker that owns it.

#include "proto/dhcp/client/dhcp_clients.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rand.h"

uint64_t dhcp_clients_memory(uint32_t count, size_t record, bool rings)
{
	return (record + (rings ? 2 * sizeof(uint32_t) : 0)) * (uint64_t)count;
}

int dhcp_clients_init(
	struct dhcp_clients *c, uint32_t count, size_t record, uint32_t rest_ms, bool rings)
{
	uint32_t some = count ? count : 1;
	bool failed;

	*c = (struct dhcp_clients){
		.count = count, .rest_ms = rest_ms, .shift = (uint8_t)__builtin_ctzl(record)};
	c->items = dhcp_table_alloc(some * (uint64_t)record);
	failed = !c->items;
	for (int state = 0; state < DHCP_IS_BUSY && !failed && rings; state++)
		if (state != DHCP_IS_RESTING || rest_ms)
			failed = dhcp_ring_init(&c->rings[state], some) < 0;
	if (failed) {
		dhcp_clients_free(c);
		return -ENOMEM;
	}
	if (rings)
		c->rings[DHCP_IS_BOUND].items[0] = DHCP_NOBODY;
	for (uint32_t i = 0; i < count && rings; i++)
		dhcp_ring_push(&c->rings[DHCP_IS_FREE], i);
	return 0;
}

void dhcp_clients_bind(struct dhcp_clients *c, uint32_t client)
{
	dhcp_client_at(c, client)->state = DHCP_IS_BOUND;
	dhcp_ring_push(&c->rings[DHCP_IS_BOUND], client);
}

void dhcp_clients_settle(struct dhcp_clients *c)
{
	struct dhcp_ring *idle = &c->rings[DHCP_IS_FREE];

	idle->count = 0;
	for (uint32_t i = 0; i < c->count; i++)
		if (dhcp_client_at(c, i)->state == DHCP_IS_FREE)
			dhcp_ring_push(idle, i);
}

void dhcp_clients_free(struct dhcp_clients *c)
{
	free(c->items);
	for (int state = 0; state < DHCP_IS_BUSY; state++)
		free(c->rings[state].items);
	*c = (struct dhcp_clients){0};
}

#define WAKE_MAX  64 // clients freed per call
#define DRAWS_MAX 8

void dhcp_clients_give(struct dhcp_clients *c, uint32_t client)
{
	struct dhcp_client *k = dhcp_client_at(c, client);

	k->state = k->holds ? DHCP_IS_BOUND : DHCP_IS_FREE;
	dhcp_ring_push(&c->rings[k->state], client);
}

void dhcp_clients_rest(struct dhcp_clients *c, uint32_t client, uint64_t now_ms)
{
	struct dhcp_client *k = dhcp_client_at(c, client);

	k->state = c->rest_ms ? DHCP_IS_RESTING : DHCP_IS_FREE;
	k->began_ms = (uint32_t)now_ms;
	dhcp_ring_push(&c->rings[k->state], client);
}

// Swaps the drawn client with the first of the ring.
uint32_t dhcp_clients_draw(
	struct dhcp_clients *c, enum dhcp_client_state from, uint32_t now_s, uint64_t random)
{
	struct dhcp_ring *r = &c->rings[from];

	for (uint32_t n = 0; r->count && n < DRAWS_MAX; n++, random = rand_hash(random + 1)) {
		uint32_t at = (uint32_t)rand_scale(random, r->count), client = dhcp_ring_at(r, at);
		struct dhcp_client *k = dhcp_client_at(c, client);

		if (from == DHCP_IS_BOUND && dhcp_client_ended(k, now_s))
			continue;
		dhcp_ring_put(r, at, dhcp_ring_first(r));
		dhcp_ring_pop(r);
		k->state = DHCP_IS_BUSY;
		return client;
	}
	return DHCP_NOBODY;
}

// All rests have equal length, so the first to start is the first to end.
void dhcp_clients_wake(struct dhcp_clients *c, uint64_t now_ms)
{
	struct dhcp_ring *resting = &c->rings[DHCP_IS_RESTING];

	for (uint32_t n = 0; n < WAKE_MAX && resting->count > 0; n++) {
		uint32_t client = dhcp_ring_first(resting);

		if (dhcp_client_age_ms(dhcp_client_at(c, client), now_ms) < c->rest_ms)
			return;
		dhcp_client_at(c, client)->state = DHCP_IS_FREE;
		dhcp_ring_pop(resting);
		dhcp_ring_push(&c->rings[DHCP_IS_FREE], client);
	}
}

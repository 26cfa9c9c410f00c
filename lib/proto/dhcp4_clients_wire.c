// SPDX-License-Identifier: BSD-3-Clause
// The rings of free and bound clients, and the table from address to client: linear probing with
// backward shift, so that nothing deleted stays behind. Path: hot. The worker that owns it.

#include "proto/dhcp4_clients.h"

#define LINE  DHCP4_TABLE_LINE
#define AHEAD 8 // clients in a ring whose memory is asked for early

static inline uint32_t ring_at(const struct dhcp4_ring *r, uint32_t n)
{
	uint64_t at = (uint64_t)r->head + n;

	return r->items[at < r->room ? at : at - r->room];
}

static inline void ring_push(struct dhcp4_ring *r, uint32_t client)
{
	uint64_t at = (uint64_t)r->head + r->count++;

	r->items[at < r->room ? at : at - r->room] = client;
}

static inline void ring_pop(struct dhcp4_ring *r)
{
	if (++r->head == r->room)
		r->head = 0;
	r->count--;
}

// Neighbours lie side by side in one cache line, as servers mostly give them in order; lines are
// spread by a multiplicative hash.
static inline uint32_t home_of(const struct dhcp4_clients *c, uint32_t address)
{
	uint32_t line = (uint32_t)((uint64_t)(address / LINE * 0x9e3779b1u) * c->lines >> 32);

	return line * LINE + address % LINE;
}

static inline uint32_t next_of(const struct dhcp4_clients *c, uint32_t slot)
{
	return slot + 1 == c->slots ? 0 : slot + 1;
}

// Where the address is, or the free slot where it belongs: there are always some.
static uint32_t slot_of(const struct dhcp4_clients *c, uint32_t address)
{
	uint32_t slot = home_of(c, address);

	while (c->table[slot].address && c->table[slot].address != address)
		slot = next_of(c, slot);
	return slot;
}

// Does an entry at `slot`, at home in `home`, have the hole on its way?
static inline bool hole_between(uint32_t home, uint32_t hole, uint32_t slot)
{
	return home <= slot ? home <= hole && hole < slot : home <= hole || hole < slot;
}

static void slot_clear(struct dhcp4_clients *c, uint32_t hole)
{
	uint32_t slot = hole;

	for (;;) {
		c->table[hole].address = 0;
		do {
			slot = next_of(c, slot);
			if (!c->table[slot].address)
				return;
		} while (!hole_between(home_of(c, c->table[slot].address), hole, slot));
		c->table[hole] = c->table[slot];
		hole = slot;
	}
}

void dhcp4_clients_expect(const struct dhcp4_clients *c, uint32_t address)
{
	__builtin_prefetch(&c->table[home_of(c, address)], 1);
}

void dhcp4_clients_drop(struct dhcp4_clients *c, uint32_t client)
{
	struct dhcp4_client *k = &c->items[client];
	uint32_t slot;

	if (!k->address)
		return;
	slot = slot_of(c, k->address);
	if (c->table[slot].address && c->table[slot].client == client) {
		slot_clear(c, slot);
		c->held--;
	}
	k->address = 0;
}

uint32_t dhcp4_clients_holder(const struct dhcp4_clients *c, uint32_t address)
{
	uint32_t slot = slot_of(c, address);

	return address && c->table[slot].address ? c->table[slot].client : DHCP4_NOBODY;
}

uint32_t dhcp4_clients_hold(
	struct dhcp4_clients *c, uint32_t client, uint32_t address, uint32_t now_s)
{
	uint32_t other = dhcp4_clients_holder(c, address);
	uint32_t slot;

	if (other == client)
		return DHCP4_NOBODY;
	if (other != DHCP4_NOBODY) {
		if (!dhcp4_client_expired(&c->items[other], now_s))
			return other;
		dhcp4_clients_drop(c, other);
	}
	dhcp4_clients_drop(c, client);
	slot = slot_of(c, address);
	c->table[slot] = (struct dhcp4_holding){address, client};
	c->held++;
	c->items[client].address = address;
	return DHCP4_NOBODY;
}

static inline bool has_ended(const struct dhcp4_client *k, uint32_t now_s)
{
	return !k->address || dhcp4_client_expired(k, now_s);
}

uint32_t dhcp4_clients_expire(struct dhcp4_clients *c, uint32_t now_s)
{
	struct dhcp4_ring *bound = &c->rings[DHCP4_IS_BOUND];
	uint32_t n = 0;

	for (; n < DHCP4_EXPIRE_MAX && bound->count > 0; n++) {
		uint32_t client = ring_at(bound, 0);

		if (!has_ended(&c->items[client], now_s))
			break;
		dhcp4_clients_drop(c, client);
		c->items[client].state = DHCP4_IS_FREE;
		ring_pop(bound);
		ring_push(&c->rings[DHCP4_IS_FREE], client);
	}
	return n;
}

uint32_t dhcp4_clients_take(struct dhcp4_clients *c, enum dhcp4_client_state from, uint32_t now_s)
{
	struct dhcp4_ring *r = &c->rings[from];
	struct dhcp4_client *k;
	uint32_t client;

	if (r->count == 0)
		return DHCP4_NOBODY;
	if (r->count > AHEAD)
		__builtin_prefetch(&c->items[ring_at(r, AHEAD)], 1);
	client = ring_at(r, 0);
	k = &c->items[client];
	if (from == DHCP4_IS_BOUND && has_ended(k, now_s))
		return DHCP4_NOBODY;
	ring_pop(r);
	k->state = DHCP4_IS_BUSY;
	return client;
}

void dhcp4_clients_give(struct dhcp4_clients *c, uint32_t client)
{
	struct dhcp4_client *k = &c->items[client];

	k->state = k->address ? DHCP4_IS_BOUND : DHCP4_IS_FREE;
	ring_push(&c->rings[k->state], client);
}

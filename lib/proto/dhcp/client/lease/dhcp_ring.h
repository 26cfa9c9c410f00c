// SPDX-License-Identifier: BSD-3-Clause
// A ring of clients by number: first in, first out. There is room for all of them, as each is in
// one ring at most. Path: hot | cold (init, table_alloc). The worker that owns it.
#pragma once

#include <stdint.h>

struct dhcp_ring {
	uint32_t *items;
	uint32_t head, count, room;
};

// 0 or -ENOMEM; free() its items.
int dhcp_ring_init(struct dhcp_ring *r, uint32_t room);
// Zeroed and in memory, on a cache line of its own; NULL: out of memory. free() it.
void *dhcp_table_alloc(uint64_t size);

// The number of clients or relays that belong to one of several workers: every workers-th does.
static inline uint32_t dhcp_share(uint32_t all, uint32_t worker, uint32_t workers)
{
	return all > worker ? (all - worker - 1) / workers + 1 : 0;
}

static inline uint32_t dhcp_ring_at(const struct dhcp_ring *r, uint32_t n)
{
	uint64_t at = (uint64_t)r->head + n;

	return r->items[at < r->room ? at : at - r->room];
}

static inline void dhcp_ring_put(struct dhcp_ring *r, uint32_t n, uint32_t client)
{
	uint64_t at = (uint64_t)r->head + n;

	r->items[at < r->room ? at : at - r->room] = client;
}

static inline void dhcp_ring_push(struct dhcp_ring *r, uint32_t client)
{
	dhcp_ring_put(r, r->count++, client);
}

static inline void dhcp_ring_pop(struct dhcp_ring *r)
{
	if (++r->head == r->room)
		r->head = 0;
	r->count--;
}

// SPDX-License-Identifier: BSD-3-Clause
// A FIFO ring of client numbers. Each client is in at most one ring, and every ring has room for
// all. Path: hot | cold (init, table_alloc). The worker that owns it.
#pragma once

#include <stdint.h>

struct dhcp_ring {
	uint32_t *items;
	uint32_t head, count, room;
};

// 0 or -ENOMEM; free() its items.
int dhcp_ring_init(struct dhcp_ring *r, uint32_t room);
// Zeroed and resident, aligned to a cache line; NULL: out of memory. free() it.
void *dhcp_table_alloc(uint64_t size);

// Number of clients or relays of one worker, which gets every workers-th.
static inline uint32_t dhcp_share(uint32_t all, uint32_t worker, uint32_t workers)
{
	return all > worker ? (all - worker - 1) / workers + 1 : 0;
}

static inline uint32_t dhcp_ring_first(const struct dhcp_ring *r)
{
	return r->items[r->head];
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

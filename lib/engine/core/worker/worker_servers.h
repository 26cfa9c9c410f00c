// SPDX-License-Identifier: BSD-3-Clause
// The servers of an item on a worker, if there are several or one is asked again: the one that each
// transaction asks, and what each server did. An item with one server has none of this. Path: hot |
// cold (the struct is filled by the plan). The worker's own thread.
#pragma once

#include "base/bytes.h"
#include "engine/core/worker/worker_state.h"

// Of a transaction in flight.
struct slot_servers {
	uint16_t asked; // bit of each server that its last message went to
	uint16_t ever;  // the same of all its messages
	uint8_t path;   // without a router: number of the server
	uint8_t asks;   // times that it moved to another server
};

struct worker_servers {
	// ctlplane: wo before the launch, dataplane: ro
	const struct addr *all;
	uint32_t count;
	enum server_spread spread; // without a router
	bool rotate;
	uint32_t asks; // of a transaction, at the most
	struct recip by_count;
	const uint16_t *of_path; // bits of the servers that a message on each path reaches
	// dataplane: rw
	struct slot_servers *slots; // of each slot
	struct server_books books[SERVERS_MAX];
	uint64_t silent_since[SERVERS_MAX]; // tick: first message since its last answer; 0: none
	struct gap gaps[SERVERS_MAX][WORKER_EVENTS]; // as worker_item.gaps
};

// The server that a new transaction asks first; port: index of its source port.
static inline uint32_t servers_of_new(
	const struct worker_item *it, const struct proto_txn *t, uint32_t port)
{
	const struct worker_servers *s = it->servers;
	uint64_t flow = (uint64_t)it->ports[port] << 32 | t->client;

	if (s->spread == SPREAD_HASH)
		return (uint32_t)((rand_hash(flow) >> 32) * s->count >> 32);
	if (s->spread == SPREAD_STUB && !s->rotate)
		return 0;
	return (uint32_t)recip_mod(&s->by_count, t->seq);
}

// The server with this address; s->count: none of them.
static inline uint32_t servers_find(
	const struct worker_servers *s, const uint8_t *addr, uint8_t addr_len)
{
	uint32_t i = 0;

	while (i < s->count && !addr_bytes_equal(s->all[i].bytes, addr, addr_len))
		i++;
	return i;
}

// The same of a reply. Without ends it came from the first one.
static inline uint32_t servers_replied(const struct worker_servers *s, const struct proto_ends *e)
{
	return e ? servers_find(s, e->src, e->addr_len) : 0;
}

// Does the item ask this address?
static inline bool servers_have(const struct worker_item *it, const uint8_t *addr, uint8_t addr_len)
{
	return addr_bytes_equal(it->server.bytes, addr, addr_len) ||
	       (it->servers && servers_find(it->servers, addr, addr_len) < it->servers->count);
}

// A message for these servers was built.
static inline void servers_ask(struct slot_servers *slot, uint16_t servers)
{
	slot->asked = servers;
	slot->ever |= servers;
}

// The messages of n slots have left, TXN_NONE among them: none.
void servers_sent(struct worker_item *it, const uint32_t *slots, uint32_t n, uint64_t now);
// Nothing came for the last message of a slot.
void servers_lost(struct worker_item *it, uint32_t slot);
// Is there a server that its transaction asks next, as a stub resolver does?
static inline bool servers_have_next(const struct worker_item *it, uint32_t slot)
{
	return it->servers->slots[slot].asks + 1u < it->servers->asks;
}

// As servers_lost, and the transaction asks the next server; false: there is none.
bool servers_next(struct worker_item *it, uint32_t slot);
// A server answered a transaction of the measured part well, or with a refusal.
void servers_answered(
	struct worker_item *it, const struct proto_ends *e, bool failed, uint64_t now);
// The end of sending: gaps end.
void servers_end(struct worker_item *it, uint64_t now);

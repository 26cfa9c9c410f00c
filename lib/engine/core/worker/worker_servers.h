// SPDX-License-Identifier: BSD-3-Clause
// The servers of an item on a worker, if there are several or one is asked again: which server a
// transaction asks, and the counters of each. An item with a single server has none of this.
// Path: hot | cold (the struct is filled by the plan). The worker's own thread.
#pragma once

#include "base/bytes.h"
#include "engine/core/worker/worker_state.h"

// The servers of a transaction in flight.
struct slot_servers {
	uint16_t asked; // bit of each server that its last message went to
	uint16_t ever;  // bit of each server that any of its messages went to
	uint8_t path;   // without a router: number of the server
	uint8_t asks;   // times that it moved to another server
};

struct worker_servers {
	// ctlplane: wo before the launch, dataplane: ro
	const struct addr *all;
	uint32_t count;
	enum server_spread spread; // without a router
	bool rotate;
	uint32_t asks; // attempts of a transaction, at most
	struct recip by_count;
	const uint16_t *of_path; // bits of the servers that a message on each path reaches
	// dataplane: rw
	struct slot_servers *slots; // by slot
	struct server_books books[SERVERS_MAX];
	uint64_t silent_since[SERVERS_MAX]; // tick: first message since its last reply; 0: none
	struct gap gaps[SERVERS_MAX][WORKER_EVENTS]; // as worker_item.gaps
};

// Returns the server that a new transaction asks first. port: index of its source port.
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

// Returns the number of the server with this address; s->count: none of them.
static inline uint32_t servers_find(
	const struct worker_servers *s, const uint8_t *addr, uint8_t addr_len)
{
	uint32_t i = 0;

	while (i < s->count && !addr_bytes_equal(s->all[i].bytes, addr, addr_len))
		i++;
	return i;
}

// Returns the number of the server that sent a reply; without e, the first one.
static inline uint32_t servers_replied(const struct worker_servers *s, const struct proto_ends *e)
{
	return e ? servers_find(s, e->src, e->addr_len) : 0;
}

// Is this the address of a server of the item?
static inline bool servers_have(const struct worker_item *it, const uint8_t *addr, uint8_t addr_len)
{
	return addr_bytes_equal(it->server.bytes, addr, addr_len) ||
	       (it->servers && servers_find(it->servers, addr, addr_len) < it->servers->count);
}

// Notes that a message for these servers was built.
static inline void servers_ask(struct slot_servers *slot, uint16_t servers)
{
	slot->asked = servers;
	slot->ever |= servers;
}

// Counts the messages of n slots as sent. TXN_NONE among them is ignored.
void servers_sent(struct worker_item *it, const uint32_t *slots, uint32_t n, uint64_t now);
// Counts the last message of a slot as lost.
void servers_lost(struct worker_item *it, uint32_t slot);
// Is there a server that its transaction asks next, as a stub resolver does?
static inline bool servers_have_next(const struct worker_item *it, uint32_t slot)
{
	return it->servers->slots[slot].asks + 1u < it->servers->asks;
}

// Like servers_lost, and moves the transaction to the next server. Returns false if there is none.
bool servers_next(struct worker_item *it, uint32_t slot);
// Counts a server's reply to a transaction of the measured part; failed: a refusal.
void servers_answered(
	struct worker_item *it, const struct proto_ends *e, bool failed, uint64_t now);
// Ends the servers' gaps at the end of sending.
void servers_end(struct worker_item *it, uint64_t now);

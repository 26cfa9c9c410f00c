// SPDX-License-Identifier: BSD-3-Clause
// The clients of an item that a worker plays. Client i is behind relay i mod the number of relays,
// for any number of workers. All workers play equally many clients, preferably behind their own
// relays (proto_env.homes). The pattern repeats with each round of clients; the last is shorter.
// Path: hot | cold (init, free, memory). The worker that owns it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rand.h"
#include "proto/proto.h"

struct dhcp_turns {
	// By the worker's clients in a whole round, then in the last one: a client's number is its
	// index among them times workers, plus its offset.
	uint32_t *offsets;
	struct recip by_round; // the worker's clients in a whole round
	struct recip by_all;   // all workers' clients in a whole round
	uint32_t round;        // the worker's clients in a whole round; 0: there is no whole round
	uint32_t last;         // the worker's first client in the last round
	uint32_t worker, workers;
	uint32_t count; // number of the worker's clients
	bool in_turn;   // every offset is the worker's number
};

// relays 0: clients on a link. 0 or -ENOMEM.
int dhcp_turns_init(
	struct dhcp_turns *t, const struct proto_env *env, uint32_t clients, uint32_t relays);
void dhcp_turns_free(struct dhcp_turns *t);
// Bytes that init allocates.
uint64_t dhcp_turns_memory(const struct proto_env *env, uint32_t clients, uint32_t relays);

static __attribute__((noinline)) uint32_t dhcp_turns_dealt(
	const struct dhcp_turns *t, uint32_t client)
{
	uint32_t whole = recip_mod32(&t->by_round, client), last = t->round + client - t->last;

	return client * t->workers + t->offsets[client < t->last ? whole : last];
}

// The run-wide number of a client.
static inline uint32_t dhcp_turns_number(const struct dhcp_turns *t, uint32_t client)
{
	return t->in_turn ? client * t->workers + t->worker : dhcp_turns_dealt(t, client);
}

// The worker's index of the client with this number; UINT32_MAX: another worker's client.
static inline uint32_t dhcp_turns_find(const struct dhcp_turns *t, uint32_t number)
{
	bool in_whole = number < (uint64_t)t->last * t->workers;
	uint32_t begin = in_whole ? (uint32_t)recip_div(&t->by_all, number) * t->round : t->last;
	uint32_t end = in_whole ? begin + t->round : t->count;

	while (begin < end) {
		uint32_t middle = begin + (end - begin) / 2, at = dhcp_turns_number(t, middle);

		if (at == number)
			return middle;
		if (at < number)
			begin = middle + 1;
		else
			end = middle;
	}
	return UINT32_MAX;
}

// SPDX-License-Identifier: BSD-3-Clause
// Distributes the clients of a round among the workers. Path: cold. Management thread.

#include "proto/dhcp/client/dhcp_turns.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/dhcp/client/lease/dhcp_ring.h"

#define WORKERS_MAX 256

static uint32_t gcd(uint32_t a, uint32_t b)
{
	return b ? gcd(b, a % b) : a;
}

static uint32_t home_of(const struct proto_env *env, uint32_t relays, uint32_t client)
{
	uint32_t relay = relays ? client % relays : client;

	return relays && env->homes ? env->homes[relay] : relay % env->workers;
}

// The worker's part of the first `len` clients, in order. The surplus of a worker goes to the first
// worker with room.
static void round_deal(uint32_t *out, const struct proto_env *env, uint32_t relays, uint32_t len)
{
	uint32_t home[WORKERS_MAX] = {0}, spare[WORKERS_MAX], n = 0;

	for (uint32_t i = 0; i < len; i++)
		home[home_of(env, relays, i)]++;
	for (uint32_t w = 0; w < env->workers; w++) {
		uint32_t share = dhcp_share(len, w, env->workers);

		home[w] = home[w] < share ? home[w] : share;
		spare[w] = share - home[w];
	}
	for (uint32_t i = 0; i < len; i++) {
		uint32_t w = home_of(env, relays, i), *room = home;

		if (room[w] == 0)
			for (w = 0, room = spare; room[w] == 0;)
				w++;
		room[w]--;
		if (w != env->worker)
			continue;
		out[n] = i - n * env->workers;
		n++;
	}
}

// Sets all members except the offsets, and returns the number of offsets.
static uint32_t lay_out(
	struct dhcp_turns *t, const struct proto_env *env, uint32_t clients, uint32_t relays)
{
	uint32_t mine = relays ? relays / gcd(relays, env->workers) : 1;
	uint32_t rounds = (uint32_t)(clients / ((uint64_t)mine * env->workers));

	*t = (struct dhcp_turns){.round = rounds ? mine : 0,
		.last = rounds * mine,
		.worker = env->worker,
		.workers = env->workers,
		.count = dhcp_share(clients, env->worker, env->workers)};
	recip_init(&t->by_round, mine);
	recip_init(&t->by_all, (uint64_t)mine * env->workers);
	return t->round + t->count - t->last;
}

uint64_t dhcp_turns_memory(const struct proto_env *env, uint32_t clients, uint32_t relays)
{
	struct dhcp_turns t;

	return ((uint64_t)lay_out(&t, env, clients, relays) + 1) * sizeof(*t.offsets);
}

int dhcp_turns_init(
	struct dhcp_turns *t, const struct proto_env *env, uint32_t clients, uint32_t relays)
{
	uint32_t len = lay_out(t, env, clients, relays), whole = t->last * t->workers;

	t->offsets = calloc(1, dhcp_turns_memory(env, clients, relays));
	if (!t->offsets)
		return -ENOMEM;
	round_deal(t->offsets, env, relays, t->round * t->workers);
	round_deal(t->offsets + t->round, env, relays, clients - whole);
	t->in_turn = true;
	for (uint32_t i = 0; i < len; i++)
		t->in_turn &= t->offsets[i] == t->worker;
	return 0;
}

void dhcp_turns_free(struct dhcp_turns *t)
{
	free(t->offsets);
	t->offsets = NULL;
}

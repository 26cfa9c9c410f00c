// SPDX-License-Identifier: BSD-3-Clause
// Counters of an item's servers, if it has several. Path: hot. The worker's own thread.
#include "engine/core/worker/worker_servers.h"

#include "engine/core/worker/worker_internal.h"

void servers_sent(struct worker_item *it, const uint32_t *slots, uint32_t n, uint64_t now)
{
	struct worker_servers *s = it->servers;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t asked;

		if (slots[i] == TXN_NONE || !it->txns.slots[slots[i]].judged)
			continue;
		for (asked = s->slots[slots[i]].asked; asked; asked &= asked - 1) {
			uint32_t k = (uint32_t)__builtin_ctz(asked);

			s->books[k].sent++;
			if (s->silent_since[k] == 0)
				s->silent_since[k] = now;
		}
	}
}

void servers_lost(struct worker_item *it, uint32_t slot)
{
	struct worker_servers *s = it->servers;
	uint32_t asked = s->slots[slot].asked;

	if (!it->txns.slots[slot].judged)
		return;
	for (; asked; asked &= asked - 1)
		s->books[__builtin_ctz(asked)].lost++;
}

bool servers_next(struct worker_item *it, uint32_t slot)
{
	struct slot_servers *of = &it->servers->slots[slot];

	if (!servers_have_next(it, slot))
		return false;
	servers_lost(it, slot);
	of->asks++;
	of->path = of->path + 1u == it->servers->count ? 0 : (uint8_t)(of->path + 1);
	return true;
}

static void server_silence(struct worker_item *it, uint32_t server, uint64_t now)
{
	struct worker_servers *s = it->servers;
	uint64_t from = s->silent_since[server];
	int64_t gap = txn_since(now, from);

	s->silent_since[server] = 0;
	if (from == 0 || gap <= 0)
		return;
	if ((uint64_t)gap > s->books[server].longest_gap)
		s->books[server].longest_gap = (uint64_t)gap;
	if ((uint64_t)gap >= it->gap_least)
		worker_book_gap(it, s->gaps[server], from, now);
}

void servers_answered(struct worker_item *it, const struct proto_ends *e, bool failed, uint64_t now)
{
	uint32_t server = servers_replied(it->servers, e);

	if (server == it->servers->count)
		return;
	it->servers->books[server].answered += !failed;
	it->servers->books[server].failed += failed;
	server_silence(it, server, now);
}

void servers_end(struct worker_item *it, uint64_t now)
{
	for (uint32_t i = 0; i < it->servers->count; i++)
		server_silence(it, i, now);
}

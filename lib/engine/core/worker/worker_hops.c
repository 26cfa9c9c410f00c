// SPDX-License-Identifier: BSD-3-Clause
// A worker's next hops: copies a changed MAC into the templates, and requests a MAC again when no
// reply comes although messages wait for one. A path that a reply shows needs neither.
// Path: hot, but rare. The worker's own thread.
#include "engine/core/worker/worker_conn.h"
#include "engine/core/wire.h"
#include "engine/core/worker/worker_internal.h"

static void item_aim(struct worker_item *it, const struct neighbours *n)
{
	for (uint32_t i = 0; i < it->path_count; i++) {
		uint64_t mac;

		if (it->hops[i] == HOP_NONE)
			continue;
		mac = atomic_load_explicit(&n->hops[it->hops[i]].mac, memory_order_relaxed);
		if (mac)
			memcpy(it->frames[i].bytes, &mac, 6);
		if (mac && it->conns)
			memcpy(it->conns->frame.bytes, &mac, 6);
	}
}

void worker_turn_path(struct worker_item *it, const struct proto_ends *ends)
{
	frame_template_turn(&it->frames[it->ctx.path_found - 1], ends->dst_mac + 6, it->ctx.found);
}

static bool item_has_several(const struct worker_item *it)
{
	for (uint32_t i = 1; i < it->path_count; i++)
		if (it->hops[i] != it->hops[0])
			return true;
	return false;
}

// Have messages waited for a reply since the last look, and none came? With several next hops a
// single loss is enough, as one may be silent.
static bool item_is_silent(struct worker_item *it)
{
	struct item_looked now = {0}, before = it->looked;

	for (int i = 0; i < 2; i++) {
		const struct ledger *l = &it->books.ledger[i];

		now.sent += l->sent;
		now.lost += l->lost;
		now.came +=
			l->answered + l->failed + l->late + l->duplicate + l->stray + l->malformed;
	}
	it->looked = now;
	if (now.lost != before.lost && item_has_several(it))
		return true;
	return now.came == before.came && (it->txns.in_flight || now.sent != before.sent);
}

// Requests the MAC of a next hop, once in a while over all workers of the port.
static void hop_ask(struct worker *w, struct next_hop *h, uint64_t now)
{
	uint64_t again = atomic_load_explicit(&h->ask_again, memory_order_relaxed);

	if (now < again || !atomic_compare_exchange_strong_explicit(&h->ask_again, &again,
				   now + HOP_ASK_LOOKS * w->look_every, memory_order_relaxed,
				   memory_order_relaxed))
		return;
	w->wire.counters.neighbour_asked += wire_ask(&w->wire, &h->vlans, &h->from, &h->addr);
}

void worker_hops(struct worker *w, uint64_t now)
{
	struct neighbours *n = w->wire.neighbours;
	uint32_t moved = atomic_load_explicit(&n->moved, memory_order_acquire);

	for (uint32_t i = 0; i < w->item_count && moved != w->moved; i++)
		item_aim(&w->items[i], n);
	w->moved = moved;
	if (now < w->look_at)
		return;
	w->look_at = now + w->look_every;
	wire_fragments_expire(&w->wire, now);
	for (uint32_t i = 0; i < w->item_count; i++) {
		struct worker_item *it = &w->items[i];

		if (!item_is_silent(it))
			continue;
		for (uint32_t k = 0; k < it->path_count; k++)
			if (it->hops[k] != HOP_NONE)
				hop_ask(w, &n->hops[it->hops[k]], now);
	}
}

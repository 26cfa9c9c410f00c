// SPDX-License-Identifier: BSD-3-Clause
// Learns the MACs of next hops; see neighbours.h. Not here: requests for them (worker_hops.c in a
// run, plan/resolve.c before). Path: hot, but rare. Any worker of the port, and the management
// thread.
#include "engine/core/neighbours.h"

static bool hop_learn(struct next_hop *h, const struct neigh_claim *claim, uint64_t now)
{
	uint64_t mac = hop_mac_word(claim->mac);
	uint64_t known = atomic_load_explicit(&h->mac, memory_order_relaxed);
	bool asked = now < atomic_load_explicit(&h->ask_again, memory_order_relaxed);

	if (known == mac || (known && !claim->overrides && !asked))
		return false;
	known = atomic_exchange_explicit(&h->mac, mac, memory_order_acq_rel);
	return known && known != mac; // another worker may have stored it first
}

bool neighbours_learn(
	struct neighbours *n, const struct frame *f, const struct neigh_claim *claim, uint64_t now)
{
	for (uint32_t i = 0; i < n->count && !claim->probe; i++) {
		struct next_hop *h = &n->hops[i];

		if (!addr_equal(&h->addr, &claim->addr) ||
			!frame_is_on(f, h->vlans.ids, h->vlans.count))
			continue;
		if (!hop_learn(h, claim, now))
			return false;
		atomic_fetch_add_explicit(&n->moved, 1, memory_order_release);
		return true;
	}
	return false;
}

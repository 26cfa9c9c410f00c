// SPDX-License-Identifier: BSD-3-Clause
// The servers that replied to an item, by the identifier in their messages. All workers share and
// extend the table, so an index means the same server to each of them. Path: hot (find) | cold (the
// rest, when no worker runs). Any thread.
#pragma once

#include <stdatomic.h>
#include <string.h>

#include "base/rand.h"
#include "proto/dhcp/client/dhcp_lease_file.h"
#include "proto/dhcp/client/dhcp_settings.h"

struct dhcp_peer {
	_Atomic uint64_t key; // hash of the identifier; 0: free
	// Written by the worker that claims the entry, read when no worker is running.
	struct addr from; // of its first reply
	struct dhcp_server_id id;
};

struct dhcp_peers {
	struct dhcp_peer items[DHCP_SERVERS_MAX];
};

// Hash of an identifier; never 0.
static inline uint64_t dhcp_peer_key(const uint8_t *id, uint32_t len)
{
	uint64_t key = len;

	for (uint32_t at = 0; at < len; at += 8) {
		uint64_t word = 0;

		memcpy(&word, id + at, len - at < 8 ? len - at : 8);
		key = rand_hash(key ^ word);
	}
	return key | 1;
}

// Returns the index of the server with this key, adding it if it is new; DHCP_SERVERS_MAX if the
// table is full. src: source of the reply, addr_len bytes; NULL: unknown.
static inline uint8_t dhcp_peer_find(struct dhcp_peers *peers, uint64_t key, const uint8_t *id,
	uint32_t len, const uint8_t *src, uint8_t addr_len)
{
	for (uint32_t i = 0; i < DHCP_SERVERS_MAX; i++) {
		struct dhcp_peer *p = &peers->items[i];
		uint64_t known = atomic_load_explicit(&p->key, memory_order_relaxed);

		if (known == key)
			return (uint8_t)i;
		if (known == 0 && atomic_compare_exchange_strong_explicit(&p->key, &known, key,
					  memory_order_relaxed, memory_order_relaxed)) {
			p->id.len =
				(uint8_t)(len < sizeof(p->id.bytes) ? len : sizeof(p->id.bytes));
			memcpy(p->id.bytes, id, p->id.len);
			p->from.len = src ? addr_len : 0;
			if (src)
				memcpy(p->from.bytes, src, addr_len);
			return (uint8_t)i;
		}
		if (known == key)
			return (uint8_t)i;
	}
	return DHCP_SERVERS_MAX;
}

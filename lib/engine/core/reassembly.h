// SPDX-License-Identifier: BSD-3-Clause
// Fragments received by one queue pair: the table in which they wait, and the reassembled packet.
// There is only one such packet, an mbuf that belongs to no pool and may be longer than any other.
// Path: hot, but rare | cold (new, free). The worker that owns the queue.
#pragma once

#include <rte_mbuf.h>

#include "base/clock.h"
#include "net/fragments.h"

#define REASSEMBLY_TIMEOUT_NS 2000000000u
#define REASSEMBLY_DATAGRAMS  256 // at the same time
#define REASSEMBLY_BLOCKS     512 // of FRAGMENTS_BLOCK octets: 1 MiB

struct reassembly {
	struct fragments table;
	uint8_t *frame;         // [FRAGMENTS_FRAME_MAX], the packet's data
	struct rte_mbuf packet; // its pkt_len is exact, data_len at most 65535
};

uint64_t reassembly_memory(void);                             // bytes of one
struct reassembly *reassembly_new(const struct clock *clock); // NULL: out of memory
void reassembly_free(struct reassembly *r);                   // NULL allowed

// Makes the len bytes in r->frame the packet.
void reassembly_set(struct reassembly *r, uint32_t len);
// Makes the packet a copy of m, which has several segments. Returns false if it is too long.
bool reassembly_copy(struct reassembly *r, const struct rte_mbuf *m);
// Returns a copy of the packet in segments from a pool, for another worker; NULL: the pool is
// empty.
struct rte_mbuf *reassembly_chain(const struct reassembly *r, struct rte_mempool *pool);

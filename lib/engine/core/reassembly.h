// SPDX-License-Identifier: BSD-3-Clause
// Fragments of one queue pair: the table in which they wait, and the packet that comes out. That
// packet is an mbuf of no pool, longer than any other, and there is only one of it.
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
	struct rte_mbuf packet; // its pkt_len is right, data_len is 65535 at most
};

uint64_t reassembly_memory(void);                             // bytes of one
struct reassembly *reassembly_new(const struct clock *clock); // NULL: out of memory
void reassembly_free(struct reassembly *r);                   // NULL allowed

// The packet is now what lies in r->frame.
void reassembly_set(struct reassembly *r, uint32_t len);
// The packet is now a copy of one in several segments. false: it is too long for any.
bool reassembly_copy(struct reassembly *r, const struct rte_mbuf *m);
// A copy of the packet in segments from a pool, for another worker. NULL: the pool is empty.
struct rte_mbuf *reassembly_chain(const struct reassembly *r, struct rte_mempool *pool);

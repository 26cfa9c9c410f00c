// SPDX-License-Identifier: BSD-3-Clause
// One queue pair of a port as its worker sees it (wire.h). Free of DPDK's headers, so that cold
// files which hold one do not parse them. Path: hot (the struct). The worker that owns the queue.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/neighbours.h"
#include "engine/core/wire_counters.h"
#include "net/frame.h"
#include "net/neigh.h"

struct clock;
struct reassembly;
struct rte_mempool;

struct wire {
	uint16_t port, queue, burst;
	bool reports_checksums; // in the mbuf flags; otherwise software verifies them
	bool checksum_offload;
	struct rte_mempool *tx_pool;
	struct neigh_self self;
	struct neighbours *neighbours; // of its port
	struct reassembly *reassembly; // NULL: fragments are only counted
	const struct clock *clock;
	// Ticks of the budget that a reply to ARP, ND or ping takes, and ticks that may be saved
	// up; 0: no limit.
	uint64_t answer_gap, answer_saved;
	bool tentative; // we probe for our addresses: a probe by another host is a conflict
	const struct frame_vlans *more; // VLANs of clients, in addition to the port's
	uint32_t more_count;
	bool any_vlan;               // accepts any VLAN, and replies on it
	uint64_t answer_from;        // tick from which there is a budget
	struct neigh_claim conflict; // the last one; addr.len 0: none
	// Called for router advertisements; NULL: they are not wanted.
	void (*advertised)(void *of, const struct wire *w, const struct frame *f,
		const struct neigh_advert *advert);
	void *advertised_of;
	struct wire_counters counters; // dataplane: wo
};

// SPDX-License-Identifier: BSD-3-Clause
// One queue pair of a port and what every kind of worker does with it: count and answer what is no
// UDP for us (ARP, ND, ping), classify ICMP errors, hand checksums to the device. Knows no
// transaction and no protocol. Path: hot. The worker that owns the queue.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/counter.h"
#include "net/frame.h"
#include "net/neigh.h"

enum icmp_kind {
	ICMP_NET_UNREACHABLE,
	ICMP_HOST_UNREACHABLE,
	ICMP_PORT_UNREACHABLE,
	ICMP_PROHIBITED,
	ICMP_TOO_BIG,
	ICMP_TIME_EXCEEDED,
	ICMP_REDIRECT,
	ICMP_OTHER,
	ICMP_KINDS,
};

// Packets that belong to no item of traffic.
struct wire_counters {
	uint64_t neighbour_answered, echo_answered;
	uint64_t unmatched, fragments, wrong_vlan, bad_checksum, bad_frame, other;
	uint64_t answer_refused;
	uint64_t icmp_errors[ICMP_KINDS];
};

extern const struct counter_section wire_section;

struct wire {
	uint16_t port, queue, burst;
	bool reports_checksums, checksum_offload;
	struct rte_mempool *tx_pool;
	struct neigh_self self;
	struct wire_counters counters; // dataplane: wo
};

// Everything that is no UDP, and UDP that is for nobody.
void wire_other(struct wire *w, enum frame_kind kind, const struct frame *f);

// Parse; FRAME_UDP only when it is on our VLANs and the device found no wrong checksum.
enum frame_kind wire_parse(struct wire *w, struct rte_mbuf *m, struct frame *f);

// What the device needs to know about a frame that frame_stamp has left for it to finish.
static inline void wire_offload(struct rte_mbuf *m, const struct frame_template *t)
{
	m->tx_offload = 0;
	m->l2_len = t->ip;
	m->l3_len = t->addr_len == 4 ? 20 : 40;
	m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM |
	               (t->addr_len == 4 ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM
					 : RTE_MBUF_F_TX_IPV6);
}

// SPDX-License-Identifier: BSD-3-Clause
// One queue pair of a port, with the duties of every kind of worker: answer and count packets that
// are no UDP for us (ARP, ND, ping), classify ICMP errors, hand checksums to the device. Knows no
// transaction and no protocol. Path: hot. The worker that owns the queue.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "engine/core/neighbours.h"
#include "engine/core/reassembly.h"
#include "engine/core/wire_counters.h"
#include "net/frame.h"
#include "net/neigh.h"
#include "proto/proto.h"

struct wire {
	uint16_t port, queue, burst;
	bool reports_checksums; // in the mbuf flags; without, they are verified in software
	bool checksum_offload;
	struct rte_mempool *tx_pool;
	struct neigh_self self;
	struct neighbours *neighbours; // of its port
	struct reassembly *reassembly; // NULL: fragments are only counted
	const struct clock *clock;
	// Ticks of the budget that an answer to ARP, ND or ping takes, and those that may be saved
	// up; 0: no limit.
	uint64_t answer_gap, answer_saved;
	bool tentative; // our addresses are probed for: whoever probes for them, too, wants them
	const struct frame_vlans *more; // VLANs of clients, beside those of the port
	uint32_t more_count;
	bool any_vlan;               // answers on whatever VLAN it was asked on
	uint64_t answer_from;        // tick from which on there is a budget
	struct neigh_claim conflict; // the last one; addr.len 0: none
	// Who waits for router advertisements; NULL: nobody.
	void (*advertised)(void *of, const struct wire *w, const struct frame *f,
		const struct neigh_advert *advert);
	void *advertised_of;
	struct wire_counters counters; // dataplane: wo
};

// Ask for the MAC of an address on these VLANs, in the name of `from` (neigh_ask). false: the
// question was not sent.
bool wire_ask(struct wire *w, const struct frame_vlans *vlans, const struct addr *from,
	const struct addr *target);

// Ask for routers on these VLANs, in the name of the host with this MAC and link-local address. As
// wire_ask.
bool wire_solicit(
	struct wire *w, const struct frame_vlans *vlans, const uint8_t mac[6], const uint8_t *from);

// Packets that are no UDP, and UDP for no item.
void wire_other(struct wire *w, enum frame_kind kind, const struct frame *f);

// Receive a burst that holds nothing for an item. Returns the number of packets.
uint16_t wire_listen(struct wire *w);

static inline bool wire_reports_whole(const struct rte_mbuf *m)
{
	return (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) != RTE_MBUF_F_RX_L4_CKSUM_BAD &&
	       (m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) != RTE_MBUF_F_RX_IP_CKSUM_BAD;
}

// Are the checksums of UDP right, as far as anybody can say?
static inline bool wire_is_whole(
	const struct wire *w, const struct rte_mbuf *m, const struct frame *f)
{
	return w->reports_checksums ? wire_reports_whole(m) : frame_checksum_ok(f);
}

// The same of a plain frame.
static inline __attribute__((always_inline)) bool wire_plain_is_whole(
	const struct wire *w, const struct rte_mbuf *m, uint32_t udp_len, uint8_t addr_len)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

	return w->reports_checksums ? wire_reports_whole(m)
	                            : frame_plain_checksum_ok(data, udp_len, addr_len);
}

// Parse. false: on other VLANs than ours, or with a checksum that the device or we found
// wrong; it is counted and must not be read. Also false: a fragment. The last one of a datagram
// gives the view of the whole, which lasts until the next call.
bool wire_parse_any(
	struct wire *w, const struct rte_mbuf *m, struct frame *f, enum frame_kind *kind);

// The same; plain UDP that is in order needs no call.
static inline __attribute__((always_inline)) bool wire_parse(
	struct wire *w, const struct rte_mbuf *m, struct frame *f, enum frame_kind *kind)
{
	*kind = FRAME_UDP;
	if (w->self.vlan_count == 0 &&
		frame_parse_plain(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, f) &&
		wire_is_whole(w, m, f))
		return true;
	return wire_parse_any(w, m, f, kind);
}

// The packet that a view is of: m, or the one that was put together.
static inline struct rte_mbuf *wire_packet(
	const struct wire *w, struct rte_mbuf *m, const struct frame *f)
{
	return w->reassembly && f->eth == w->reassembly->frame ? &w->reassembly->packet : m;
}

// Give up datagrams that wait for fragments: those whose time is over at `now`, or all.
void wire_fragments_expire(struct wire *w, uint64_t now);
void wire_fragments_end(struct wire *w);

static inline struct proto_ends wire_ends(const struct wire *w, const struct frame *f)
{
	uint8_t own = w->self.vlan_count < f->vlan_count ? w->self.vlan_count : f->vlan_count;

	return (struct proto_ends){.src = f->src,
		.dst = f->dst,
		.dst_mac = f->eth,
		.addr_len = f->addr_len,
		.src_port = f->src_port,
		.dst_port = f->dst_port,
		.vlans = f->vlans + own,
		.vlan_count = f->vlan_count - own};
}

// Tell the device about a frame that frame_stamp left for it to finish.
static inline void wire_offload(struct rte_mbuf *m, const struct frame_template *t)
{
	m->tx_offload = 0;
	m->l2_len = t->ip;
	m->l3_len = t->addr_len == 4 ? 20 : 40;
	m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM |
	               (t->addr_len == 4 ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM
					 : RTE_MBUF_F_TX_IPV6);
}

// The same of one that frame_stamp_tcp left.
static inline void wire_offload_tcp(
	struct rte_mbuf *m, const struct frame_template *t, uint32_t header)
{
	wire_offload(m, t);
	m->l4_len = header;
	m->ol_flags = (m->ol_flags & ~RTE_MBUF_F_TX_L4_MASK) | RTE_MBUF_F_TX_TCP_CKSUM;
}

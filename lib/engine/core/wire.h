// SPDX-License-Identifier: BSD-3-Clause
// One queue pair of a port, with the duties of every kind of worker: answers and counts packets
// other than its traffic (ARP, ND, ping), classifies ICMP errors, offloads checksums to the device.
// Knows no transaction and no protocol. Path: hot. The worker that owns the queue.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "engine/core/reassembly.h"
#include "engine/core/wire_state.h"
#include "proto/proto.h"

// Requests the MAC of an address on these VLANs, from address `from` (neigh_ask). Returns false if
// the request was not sent.
bool wire_ask(struct wire *w, const struct frame_vlans *vlans, const struct addr *from,
	const struct addr *target);

// Solicits routers on these VLANs, as the host with this MAC and link-local address. Returns false
// if the solicitation was not sent.
bool wire_solicit(
	struct wire *w, const struct frame_vlans *vlans, const uint8_t mac[6], const uint8_t *from);

// Handles a packet that belongs to no item.
void wire_other(struct wire *w, enum frame_kind kind, const struct frame *f);

// Receives a burst without packets for an item. Returns the number of packets.
uint16_t wire_listen(struct wire *w);

static inline bool wire_reports_whole(const struct rte_mbuf *m)
{
	return (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) != RTE_MBUF_F_RX_L4_CKSUM_BAD &&
	       (m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) != RTE_MBUF_F_RX_IP_CKSUM_BAD;
}

// Are the checksums of a UDP packet correct, as far as they can be verified?
static inline bool wire_is_whole(
	const struct wire *w, const struct rte_mbuf *m, const struct frame *f)
{
	return w->reports_checksums ? wire_reports_whole(m) : frame_checksum_ok(f);
}

// Like wire_is_whole, for a plain frame.
static inline __attribute__((always_inline)) bool wire_plain_is_whole(
	const struct wire *w, const struct rte_mbuf *m, uint32_t udp_len, uint8_t addr_len)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

	return w->reports_checksums ? wire_reports_whole(m)
	                            : frame_plain_checksum_ok(data, udp_len, addr_len);
}

// Parses a packet. Returns false if it is on other VLANs than ours or has a wrong checksum: it is
// counted and must not be read. Also returns false for a fragment, unless it completes its
// datagram: f then describes the whole, until the next call.
bool wire_parse_any(
	struct wire *w, const struct rte_mbuf *m, struct frame *f, enum frame_kind *kind);

// Like wire_parse_any, but needs no call for valid plain UDP.
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

// Returns the packet that f describes: m, or the reassembled one.
static inline struct rte_mbuf *wire_packet(
	const struct wire *w, struct rte_mbuf *m, const struct frame *f)
{
	return w->reassembly && f->eth == w->reassembly->frame ? &w->reassembly->packet : m;
}

// Gives up datagrams that wait for fragments: those timed out at `now`, or all.
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

// Sets the flags of a frame whose checksums frame_stamp left to the device.
static inline void wire_offload(struct rte_mbuf *m, const struct frame_template *t)
{
	m->tx_offload = 0;
	m->l2_len = t->ip;
	m->l3_len = t->addr_len == 4 ? 20 : 40;
	m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM |
	               (t->addr_len == 4 ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM
					 : RTE_MBUF_F_TX_IPV6);
}

// Like wire_offload, after frame_stamp_tcp.
static inline void wire_offload_tcp(
	struct rte_mbuf *m, const struct frame_template *t, uint32_t header)
{
	wire_offload(m, t);
	m->l4_len = header;
	m->ol_flags = (m->ol_flags & ~RTE_MBUF_F_TX_L4_MASK) | RTE_MBUF_F_TX_TCP_CKSUM;
}

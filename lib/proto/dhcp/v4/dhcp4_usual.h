// SPDX-License-Identifier: BSD-3-Clause
// The fast path for usual replies, which are nearly all: a valid OFFER or ACK whose options are at
// known offsets. Reads only the words that are checked. Everything else takes the slow path
// (dhcp4_wire.c), which finds and counts the reason. Path: hot. The worker that owns ctx.
#pragma once

#include "base/bytes.h"
#include "proto/dhcp/v4/dhcp4_plan.h"

#define DHCP4_HOPS (0xffull << 32) // of the first 64 bits of a message; any value is valid

// Does it have the client's key, MAC and identifier?
DHCP_INLINE bool dhcp4_usual_names(const struct dhcp4_plan *p, const struct dhcp4_layout *l,
	const struct proto_txn *t, uint64_t mac, const uint8_t *buf)
{
	if ((bytes_be64(buf) & ~DHCP4_HOPS) != (p->usual_head | t->key) ||
		bytes_be64(buf + DHCP4_AT_CHADDR) >> 16 != mac)
		return false;
	return !l->at.client_id || // its length precedes it
	       bytes_be64(buf + l->at.client_id - 1) == (p->usual_id | mac);
}

// Not through a relay, or not in a plain frame.
static __attribute__((noinline)) bool dhcp4_other_way(const struct dhcp4_worker *w,
	const struct proto_message *in, const struct proto_txn *t, uint32_t number, uint32_t yiaddr)
{
	const struct dhcp4_plan *p = (const struct dhcp4_plan *)w->is.plan;
	struct proto_ends room;
	const struct proto_ends *e = proto_ends_of(in, &room);
	uint32_t to;

	if (!e)
		return true;
	if (e->addr_len != 4 || e->src_port != p->is.server_port ||
		!dhcp_vlan_is_ours(&p->is, number, e))
		return false;
	if (p->templates[t->step].relayed)
		return (!p->known_server || addr_bytes_equal(e->src, p->is.servers[0], 4)) &&
		       dhcp_is_to_relay(&p->is, e->dst, dhcp4_relay_of(w, t->user, number), 4) &&
		       e->dst_port == p->is.relay_port;
	to = bytes_be32(e->dst);
	return e->dst_port == DHCP4_CLIENT_PORT && (to == UINT32_MAX || to == yiaddr);
}

DHCP_INLINE bool dhcp4_usual_way(const struct dhcp4_plan *p, const struct dhcp4_worker *w,
	const struct proto_message *in, const struct proto_txn *t, struct dhcp4_heard *h)
{
	const uint8_t *udp = in->buf - FRAME_UDP_LEN;
	uint32_t ports, server;

	if (__builtin_expect(
		    in->plain != 4 || p->is.vlans.places || !(p->usual_relayed >> t->step & 1),
		    0)) {
		h->is.src = in->plain ? udp - 2 * in->plain : in->ends ? in->ends->src : NULL;
		return dhcp4_other_way(w, in, t, h->is.number, h->m.yiaddr);
	}
	h->is.src = udp - 8;
	memcpy(&server, udp - 8, 4);
	memcpy(&ports, udp, 4);
	return (((server ^ p->usual_server) & p->usual_mask) | (ports ^ p->usual_ports)) == 0 &&
	       dhcp_is_to_relay(&p->is, udp - 4, dhcp4_relay_of(w, t->user, h->is.number), 4);
}

// Is it the lease that the client was offered, or held before?
DHCP_INLINE bool dhcp4_usual_lease(
	const struct dhcp4_plan *p, const struct proto_txn *t, const struct dhcp4_heard *h)
{
	const struct dhcp4_client *k = h->self.client;
	bool requested = t->step == DHCP4_STEP_REQUEST;

	if (!h->m.yiaddr || !h->m.server_id || !dhcp4_in_pool(p, h->m.yiaddr))
		return false;
	if (h->is.type == DHCP4_OFFER)
		return true;
	return (h->m.yiaddr == k->offered || !(requested || p->is.same_lease)) &&
	       (h->m.server_id == k->chosen || !requested);
}

// Learn the parameters missing from every message of the layout.
static __attribute__((noinline)) void dhcp4_missing_learn(
	const struct dhcp_plan *p, struct dhcp4_layout *l, struct dhcp_counters *n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < 4; i++)
		for (uint64_t lack = p->parameters[i] & ~l->present[i]; lack; lack &= lack - 1)
			if (count++ < DHCP4_LACKS)
				l->lack[count - 1] =
					(uint8_t)(64 * i + (uint32_t)__builtin_ctzll(lack));
	l->lacks = count > DHCP4_LACKS ? DHCP4_LACKS_MORE : (uint8_t)count;
	if (count)
		dhcp_count_missing(p, l->present, n);
}

// Two instructions per code; a loop over the bits takes five.
DHCP_INLINE void dhcp4_missing_count(
	const struct dhcp_plan *p, struct dhcp4_layout *l, struct dhcp_counters *n)
{
	switch (l->lacks) {
	case 0:
		return;
	case 8:
		n->missing[l->lack[7]]++; // fall through
	case 7:
		n->missing[l->lack[6]]++; // fall through
	case 6:
		n->missing[l->lack[5]]++; // fall through
	case 5:
		n->missing[l->lack[4]]++; // fall through
	case 4:
		n->missing[l->lack[3]]++; // fall through
	case 3:
		n->missing[l->lack[2]]++; // fall through
	case 2:
		n->missing[l->lack[1]]++; // fall through
	case 1:
		n->missing[l->lack[0]]++;
		n->parameters_missing++;
		return;
	default:
		dhcp4_missing_learn(p, l, n);
	}
}

// See struct dhcp_messages.
DHCP_INLINE bool dhcp4_is_usual(struct proto_ctx *ctx, const struct proto_txn *t,
	const struct proto_message *in, struct dhcp_heard *heard)
{
	const uint8_t *buf = in->buf;
	struct dhcp4_heard *h = (struct dhcp4_heard *)heard;
	const struct dhcp4_plan *p = ctx->shared;
	struct dhcp_counters *n = ctx->counters;
	struct dhcp4_worker *w = ctx->own;
	struct dhcp4_layout *l;

	heard->type = p->usual[t->step];
	if (!heard->type)
		return false;
	l = dhcp4_layout_find(&w->scratch.layouts, buf, in->len);
	if (!l || !l->usual || buf[l->at.type] != heard->type)
		return false;
	heard->valid_s = bytes_be32(buf + l->at.lease_time);
	heard->t1_s = bytes_be32(buf + l->at.t1);
	heard->t2_s = bytes_be32(buf + l->at.t2);
	if (heard->t1_s >= heard->t2_s || heard->t2_s >= heard->valid_s)
		return false;
	heard->number = dhcp_work_number(&w->is.work, t->user);
	if (!dhcp4_usual_names(p, l, t, dhcp_mac_number(&p->is, heard->number), buf))
		return false;
	h->self.client = dhcp4_client_at(w, t->user);
	heard->client = &h->self.client->head;
	h->m.yiaddr = bytes_be32(buf + DHCP4_AT_YIADDR);
	h->m.server_id = bytes_be32(buf + l->at.server_id);
	if (!dhcp4_usual_lease(p, t, h) || !dhcp4_usual_way(p, w, in, t, h))
		return false;
	dhcp4_peer_find(h, ctx);
	if (!l->at.client_id)
		n->client_id_missing += p->usual_id != 0;
	if (heard->type == DHCP4_ACK)
		dhcp4_missing_count(&p->is, l, n);
	return true;
}

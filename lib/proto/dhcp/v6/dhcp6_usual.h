// SPDX-License-Identifier: BSD-3-Clause
// The fast path for plans whose messages differ between clients at few offsets: a request is copied
// from an earlier one, and a reply is compared with an earlier valid one. All others take the slow
// path (dhcp6_request_wire.c, dhcp6_wire.c). Path: hot. The worker that owns ctx.
#pragma once

#include "base/bytes.h"
#include "proto/dhcp/client/dhcp_patch.h"
#include "proto/dhcp/v6/dhcp6_plan.h"

#define DHCP6_MAC_BITS 0xffffffffffffu

// dhcp6_usual_wire.c: learn from a valid reply that made a lease, after its client has chosen the
// server.
void dhcp6_usual_learn(struct dhcp6_worker *w, const struct dhcp6_heard *h);
// Learn from the message of t just written; learns only from a few.
void dhcp6_image_learn(
	struct dhcp6_worker *w, const struct proto_txn *t, const uint8_t *buf, uint32_t len);

static inline uint32_t dhcp6_head_of(uint8_t type, const struct proto_txn *t)
{
	return (uint32_t)type << 24 | dhcp6_xid_of(t);
}

// Can the message of t be written from this image of its step?
static inline bool dhcp6_image_is_of(
	const struct dhcp6_image *m, const struct dhcp6_client *k, const struct proto_txn *t)
{
	return !(dhcp6_kinds[t->step].has & DHCP6_HAS_SERVER_ID) || m->chosen == k->chosen;
}

// Write the message of t from an image. Returns its sum. number, relay: the client's; relay NULL:
// none.
DHCP_INLINE uint64_t dhcp6_image_write(const struct dhcp6_worker *w, const struct dhcp6_image *m,
	const struct proto_txn *t, uint32_t number, const uint8_t *relay, uint16_t elapsed,
	uint8_t *buf)
{
	const struct dhcp_plan *p = w->is.plan;
	uint64_t mac = dhcp_mac_number(p, number), sum = m->sum;
	struct dhcp_key key;

	dhcp_copy(buf, m->bytes, m->len);
	sum += dhcp_patch32(buf, m->at.inner, dhcp6_head_of(dhcp6_kinds[t->step].type, t));
	sum += dhcp_patch16(buf, m->at.inner + DHCP6_AT_ELAPSED, elapsed);
	sum += dhcp_patch48(buf, m->at.mac, mac);
	if (m->at.peer)
		sum += dhcp_patch64(buf, m->at.peer, dhcp6_interface_id(mac));
	if (m->at.link)
		sum += dhcp_patch_address(buf, m->at.link, relay);
	if (m->at.lease) {
		dhcp_lease_get(&w->is.common->leases, dhcp_lease_by(p, number), &key);
		sum += dhcp_patch_address(buf, m->at.lease, key.bytes);
	}
	return sum;
}

// Combines dhcp6_way_is_ours and !dhcp6_is_elsewhere. relay: the client's, NULL: none.
static __attribute__((noinline)) bool dhcp6_other_way(const struct dhcp6_plan *p,
	const struct proto_message *in, uint32_t number, const uint8_t *relay, uint64_t mac)
{
	struct proto_ends room;
	const struct proto_ends *e = proto_ends_of(in, &room);

	if (!e)
		return true;
	if (e->addr_len != 16 || e->src_port != p->is.server_port ||
		(p->unicast && !addr_bytes_equal(e->src, p->is.servers[0], 16)) ||
		!dhcp_vlan_is_ours(&p->is, number, e))
		return false;
	if (relay)
		return dhcp_is_to_relay(&p->is, e->dst, relay, 16) &&
		       e->dst_port == p->is.relay_port;
	return e->dst_port == DHCP6_CLIENT_PORT && bytes_be64(e->dst) == 0xfe80ull << 48 &&
	       bytes_be64(e->dst + 8) == dhcp6_interface_id(mac);
}

// Likewise; nearly all come to a relay in plain frames.
DHCP_INLINE bool dhcp6_usual_way(const struct dhcp6_plan *p, const struct proto_message *in,
	uint32_t number, const uint8_t *relay, uint64_t mac)
{
	const uint8_t *udp = in->buf - FRAME_UDP_LEN;

	if (in->plain != 16 || p->is.vlans.places || !relay)
		return dhcp6_other_way(p, in, number, relay, mac);
	return bytes_be32(udp) == ((uint32_t)p->is.server_port << 16 | p->is.relay_port) &&
	       (!p->unicast || addr_bytes_equal(udp - 32, p->is.servers[0], 16)) &&
	       dhcp_is_to_relay(&p->is, udp - 16, relay, 16);
}

// Do the variable fields belong to the client?
DHCP_INLINE bool dhcp6_usual_names(
	const struct dhcp6_places *at, const uint8_t *relay, uint64_t mac, const uint8_t *buf)
{
	return (bytes_be64(buf + at->mac - 2) & DHCP6_MAC_BITS) == mac &&
	       (!at->peer || bytes_be64(buf + at->peer) == dhcp6_interface_id(mac)) &&
	       (!at->link || addr_bytes_equal(buf + at->link, relay, 16));
}

// In a REPLY, is the address the requested one, and does the server match the one asked?
DHCP_INLINE bool dhcp6_usual_lease(const struct dhcp6_plan *p, const struct dhcp6_usual *u,
	const struct proto_txn *t, const struct dhcp6_heard *h)
{
	bool fixed = t->step == DHCP6_STEP_REQUEST || p->is.same_lease;

	if ((dhcp6_kinds[t->step].has & DHCP6_HAS_SERVER_ID) && h->self.client->chosen != u->chosen)
		return false;
	return !fixed || dhcp_key_equal(&h->given.keys[0], &h->self.keys[0]);
}

// See struct dhcp_messages.
DHCP_INLINE bool dhcp6_is_usual(struct proto_ctx *ctx, const struct proto_txn *t,
	const struct proto_message *in, struct dhcp_heard *heard)
{
	const uint8_t *buf = in->buf;
	struct dhcp6_heard *h = (struct dhcp6_heard *)heard;
	const struct dhcp6_plan *p = ctx->shared;
	struct dhcp_counters *n = ctx->counters;
	struct dhcp6_worker *w = ctx->own;
	const struct dhcp6_usual *u = w->usual_of[t->step];
	const uint8_t *relay = NULL;
	uint64_t mac;

	if (!u || in->len != u->len || !dhcp_shape_fits(&u->shape, buf) ||
		bytes_be32(buf + u->at.inner) != dhcp6_head_of(u->type, t))
		return false;
	heard->number = dhcp_work_number(&w->is.work, t->user);
	mac = dhcp_mac_number(&p->is, heard->number);
	memcpy(h->given.keys[0].bytes, buf + u->at.lease, 16);
	if (p->is.relays)
		relay = dhcp6_relay_of(p, dhcp_relay_number(&w->is, t->user, heard->number));
	if (!dhcp6_usual_names(&u->at, relay, mac, buf) ||
		!dhcp6_is_in(&p->pool, h->given.keys[0].bytes) ||
		!dhcp6_usual_way(p, in, heard->number, relay, mac))
		return false;
	heard->src = in->plain  ? buf - FRAME_UDP_LEN - 2 * in->plain
	             : in->ends ? in->ends->src
	                        : NULL;
	h->self.client = dhcp6_client_at(w, t->user);
	h->self.lease = dhcp_lease_by(&p->is, heard->number);
	dhcp_lease_get(&w->is.common->leases, h->self.lease, &h->self.keys[0]);
	if (u->type == DHCP6_REPLY && !dhcp6_usual_lease(p, u, t, h))
		return false;
	heard->client = &h->self.client->head;
	heard->type = u->type;
	heard->peer = u->peer;
	heard->valid_s = u->valid_s;
	heard->t1_s = u->t1_s;
	heard->t2_s = u->t2_s;
	h->self.p = p;
	h->usual = u;
	h->m.preference = u->preference;
	if (u->type == DHCP6_REPLY && u->lacks)
		dhcp_count_missing(&p->is, u->present, n);
	return true;
}

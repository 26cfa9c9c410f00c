// SPDX-License-Identifier: BSD-3-Clause
// The common part of connections over TCP and QUIC at the embedded server: headers for their
// peers, replies that are held back, and faults of messages. Path: hot. The responder's own thread.
#include "engine/core/responder/responder_internal.h"
#include "io/burst.h"

uint32_t responder_place(const uint8_t *peer, uint8_t addr_len, uint16_t peer_port, uint32_t own)
{
	uint64_t words[2] = {0}, hash = (uint64_t)peer_port << 32 | own;

	memcpy(words, peer, addr_len);
	return (uint32_t)rand_hash(rand_hash(hash ^ words[0]) ^ words[1]);
}

uint32_t responder_own(const struct responder *r, const struct frame *f)
{
	const struct neigh_self *self = &r->wire.self;
	uint32_t before = 0;

	for (uint32_t i = 0; i < self->owned_count; i++) {
		uint64_t n = addr_index(&self->owned[i], f->dst, f->addr_len);

		if (n != UINT64_MAX)
			return before + (uint32_t)n;
		before += (uint32_t)self->owned[i].count;
	}
	return UINT32_MAX;
}

void responder_own_address(const struct responder *r, uint64_t own, uint8_t *address)
{
	const struct neigh_self *self = &r->wire.self;
	uint32_t i = 0;

	while (own >= self->owned[i].count)
		own -= self->owned[i++].count;
	addr_nth_bytes(&self->owned[i], own, address);
}

uint32_t responder_way(
	struct responder_ways *ways, const struct wire *w, const struct frame *f, bool tcp)
{
	struct frame_path path = {.vlan_count = f->vlan_count, .dst.len = f->addr_len, .tcp = tcp};
	struct frame_template *made = &ways->all[CONN_WAYS];
	uint32_t n = 0;

	memcpy(path.src_mac, w->self.mac, 6);
	memcpy(path.dst_mac, f->eth + 6, 6);
	memcpy(path.vlans, f->vlans, sizeof(path.vlans));
	frame_template_build(made, &path);
	made->checksum_offload = w->checksum_offload;
	while (n < ways->count &&
		(ways->all[n].len != made->len ||
			memcmp(ways->all[n].bytes, made->bytes, sizeof(made->bytes)) != 0))
		n++;
	if (n == ways->count && n < CONN_WAYS)
		ways->all[ways->count++] = *made;
	return n;
}

void responder_ends(struct conn *of, const struct frame *f, uint32_t own, uint32_t way)
{
	memset(of->peer, 0, sizeof(of->peer));
	memcpy(of->peer, f->src, f->addr_len);
	of->peer_port = f->src_port;
	of->own_port = f->dst_port;
	of->own = (uint16_t)own;
	of->way = (uint8_t)way;
}

void responder_free_message(void *held)
{
	struct rte_mbuf *m = (struct rte_mbuf *)((uintptr_t)held & ~(uintptr_t)1), *next;

	for (; m; m = next) {
		next = rte_pktmbuf_mtod(m, const struct held *)->next;
		burst_free(&m, 1);
	}
}

struct rte_mbuf *responder_hold(
	struct responder *r, const uint8_t *from, uint32_t len, const struct held *head)
{
	struct rte_mbuf *first = NULL, **link = &first, *m;
	uint32_t room, more;

	for (; len; len -= more, from += more) {
		struct held *h;

		if (!burst_alloc(r->wire.tx_pool, &m, 1)) {
			r->tx_no_mbuf++;
			responder_free_message(responder_as_held(first));
			return NULL;
		}
		m->data_len = 0;
		room = rte_pktmbuf_tailroom(m) - (uint32_t)sizeof(*h);
		more = len < room ? len : room;
		h = rte_pktmbuf_mtod(m, struct held *);
		*h = *head;
		h->next = NULL;
		h->len = more;
		memcpy(h + 1, from, more);
		*link = m;
		link = &h->next;
	}
	return first;
}

uint32_t responder_spoil_message(struct responder *r, const struct responder_protocol *p,
	uint8_t *data, uint32_t len, uint32_t *extra)
{
	struct fault_answer answer = {
		.data = data, .len = len, .room = CONN_MESSAGE_MAX - CONN_LENGTH};

	for (uint64_t turns = faults_draw(&r->faults, FAULTS_OF_MESSAGES); turns;
		turns &= turns - 1) {
		uint32_t fault = (uint32_t)__builtin_ctzll(turns);
		const struct proto_fault *row = p->faults[fault];
		bool is_extra = row && row->extra;
		struct fault_answer a = answer;

		if (is_extra) {
			a.data = r->conns->request;
			memcpy(a.data, answer.data, len);
		}
		if (!faults_spoil(fault, row, &a, rand_next(&r->faults.rand)))
			continue;
		faults_count(&r->faults, fault);
		if (!is_extra)
			return a.len;
		*extra = a.len;
		return len;
	}
	return len;
}

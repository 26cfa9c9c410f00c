// SPDX-License-Identifier: BSD-3-Clause
// The embedded server's loop: receive, answer from fresh buffers, send.
// Path: hot. The responder's own thread.
#include "engine/responder.h"

#include <sched.h>

static void count(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(
		c, atomic_load_explicit(c, memory_order_relaxed) + n, memory_order_relaxed);
}

static struct responder_protocol *protocol_of(struct responder *r, uint16_t port)
{
	for (uint32_t i = 0; i < r->protocol_count; i++)
		if (r->protocols[i].port == port)
			return &r->protocols[i];
	return NULL;
}

// Headers of the answer: the request's, turned round.
static void turn(const struct responder *r, const struct frame *f, struct frame_template *t)
{
	struct frame_path path = {.dst_port = f->src_port, .vlan_count = r->wire.self.vlan_count};

	memcpy(path.src_mac, r->wire.self.mac, 6);
	memcpy(path.dst_mac, f->eth + 6, 6);
	memcpy(path.vlans, r->wire.self.vlans, sizeof(path.vlans));
	path.dst.len = f->addr_len;
	memcpy(path.dst.bytes, f->src, f->addr_len);
	frame_template_build(t, &path);
	t->checksum_offload = r->wire.checksum_offload;
}

// The answer to a request, or NULL.
static struct rte_mbuf *respond(
	struct responder *r, struct responder_protocol *p, const struct frame *f)
{
	struct frame_template t;
	struct rte_mbuf *m;
	uint8_t *data;
	uint32_t len;

	if (!burst_alloc(r->wire.tx_pool, &m, 1)) {
		r->tx_no_mbuf++;
		return NULL;
	}
	turn(r, f, &t);
	data = rte_pktmbuf_mtod(m, uint8_t *);
	len = p->proto->answer(
		&p->ctx, f->payload, f->payload_len, data + t.len, rte_pktmbuf_tailroom(m) - t.len);
	if (len == 0) {
		burst_free(&m, 1);
		return NULL;
	}
	len = frame_stamp(&t, data, f->dst, f->dst_port, len);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	if (r->wire.checksum_offload)
		wire_offload(m, &t);
	return m;
}

static struct rte_mbuf *responder_packet(struct responder *r, struct rte_mbuf *m)
{
	struct frame f;
	struct responder_protocol *p;
	enum frame_kind kind;

	if (!wire_parse(&r->wire, m, &f, &kind))
		return NULL;
	if (kind != FRAME_UDP) {
		wire_other(&r->wire, kind, &f);
		return NULL;
	}
	p = protocol_of(r, f.dst_port);
	if (!p || !neigh_owns(&r->wire.self, f.dst, f.addr_len)) {
		wire_other(&r->wire, kind, &f);
		return NULL;
	}
	count(&r->counts.received, 1);
	m = respond(r, p, &f);
	count(m ? &r->counts.answered : &r->counts.ignored, 1);
	return m;
}

// Answers wait for room, as a server's socket would; a port that takes nothing for long loses them.
static void responder_tx(struct responder *r, struct rte_mbuf **out, uint16_t n)
{
	uint16_t sent = burst_tx(r->wire.port, r->wire.queue, out, n);

	for (int tries = 0; sent < n && tries < 1000; tries++) {
		rte_pause();
		sent += burst_tx(r->wire.port, r->wire.queue, out + sent, n - sent);
	}
	if (sent == n)
		return;
	r->tx_refused += n - sent;
	burst_free(out + sent, n - sent);
}

static uint16_t responder_burst(struct responder *r)
{
	struct rte_mbuf *in[BURST_MAX], *out[BURST_MAX];
	uint16_t n = burst_rx(r->wire.port, r->wire.queue, in, r->wire.burst), answers = 0;

	burst_prefetch(in, n);
	for (uint16_t i = 0; i < n; i++) {
		out[answers] = responder_packet(r, in[i]);
		answers += out[answers] != NULL;
	}
	if (n)
		burst_free(in, n);
	if (answers)
		responder_tx(r, out, answers);
	return n;
}

int responder_loop(void *arg)
{
	struct responder *r = arg;

	while (atomic_load_explicit(r->phase, memory_order_acquire) != PHASE_STOP)
		if (responder_burst(r) == 0 && r->yields)
			sched_yield();
	return 0;
}

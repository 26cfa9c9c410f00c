// SPDX-License-Identifier: BSD-3-Clause
// The embedded server's connections over QUIC: accepts them, and answers each request on its
// stream, with the faults of the settings. Path: hot. The responder's own thread.
#include "base/clock.h"
#include "engine/core/quic_channel.h"
#include "engine/core/responder/responder.h"
#include "engine/core/responder/responder_internal.h"
#include "engine/core/wire.h"
#include "io/burst.h"

static struct responder *responder_of(struct conns *cs)
{
	return cs->of;
}

static struct responder_quic *quic_of_conns(struct conns *cs)
{
	return responder_of(cs)->quic;
}

// Writes the answer at cs->message to a request.
static bool write_answer(struct responder *r, uint32_t c, uint32_t tag, uint32_t len)
{
	struct conns *cs = &r->quic->cs;

	return cs->quic->at[c] != QUIC_NONE &&
	       quic_answer(&cs->quic->q, cs->quic->at[c], tag, r->conns->cs.message + CONN_LENGTH,
		       len, true);
}

void responder_quic_send(struct responder *r, const struct held *head, uint32_t len)
{
	if (r->quic->numbers[head->conn] == head->number &&
		write_answer(r, head->conn, head->stream, len))
		conn_touch(&r->quic->cs, head->conn);
	else
		responder_count(&r->conns->counts.unsent, 1);
}

// Answers at tick `leave`. Returns false without memory or a buffer.
static bool answer_send(
	struct responder *r, uint32_t c, uint32_t tag, uint32_t len, uint64_t leave, uint64_t now)
{
	const struct held head = {
		.conn = c, .number = r->quic->numbers[c], .stream = tag, .quic = true};
	struct rte_mbuf *m;
	void *held;

	if (leave <= now && r->faults.delay.held == 0)
		return write_answer(r, c, tag, len);
	m = responder_hold(r, r->conns->cs.message + CONN_LENGTH, len, &head);
	if (!m)
		return false;
	held = responder_as_held(m);
	if (delay_put(&r->faults.delay, held, leave, now))
		return true;
	r->tx_no_mbuf++;
	responder_free_message(held);
	return write_answer(r, c, tag, len);
}

static void answer_one(
	struct responder *r, uint32_t c, const uint8_t *message, uint32_t len, uint64_t now)
{
	struct responder_protocol *p = r->quic->protocol;
	struct responder_conns *rc = r->conns;
	uint8_t *out = rc->cs.message + CONN_LENGTH;
	uint32_t tag = r->quic->cs.stream.tag, n, extra = 0;
	uint64_t leave = now;

	responder_count(&r->counts.received, 1);
	if (r->faults.active && !faults_admit(&r->faults, now, &leave))
		return;
	memcpy(rc->request, message, len);
	p->ctx.now_ms = clock_ms(now - r->start, r->ms_scale);
	p->ctx.stream = true;
	p->ctx.more = 0;
	n = p->server->answer(&p->ctx, rc->request, len, out, CONN_MESSAGE_MAX - CONN_LENGTH);
	p->ctx.stream = false;
	if (p->ctx.more) // an answer is one message here
		p->server->more(&p->ctx, NULL, 0, NULL, CONN_MESSAGE_MAX - CONN_LENGTH);
	if (n && r->faults.active)
		n = responder_spoil_message(r, p, out, n, &extra);
	if (n == 0 || n == PROTO_NO_ANSWER)
		responder_count(&r->counts.ignored, 1);
	else if (answer_send(r, c, tag, n, leave, now))
		responder_count(&r->counts.answered, 1);
	else
		responder_count(&r->counts.no_buffer, 1);
}

static void ended(struct responder *r, uint32_t c)
{
	struct conns *cs = &r->quic->cs;
	const struct quic_end *e = quic_end(&cs->quic->q, cs->quic->at[c]);
	bool was_open = quic_channel_facts(cs, c)->done_ns != 0;

	responder_count(&r->conns->counts.tls_failed, !was_open);
	responder_count(&r->conns->counts.reset,
		was_open && e->kind != QUIC_END_APPLICATION && e->kind != QUIC_END_IDLE);
	quic_channel_abort(cs, c);
}

static void events(struct responder *r, uint32_t c, uint64_t now)
{
	struct responder_conn_counts *counts = &r->conns->counts;
	struct conns *cs = &r->quic->cs;
	const struct quic_facts *f;
	const uint8_t *message;
	uint32_t len;

	while (cs->all[c].tcp.state != TCP_CLOSED && conn_message(cs, c, &message, &len)) {
		switch (cs->stream.event) {
		case STREAM_OPENED:
			f = quic_channel_facts(cs, c);
			responder_count(&counts->accepted, 1);
			responder_count(&counts->tls_full, !f->tls.resumed);
			responder_count(&counts->tls_resumed, f->tls.resumed);
			responder_count(&counts->tls_early, f->early);
			break;
		case STREAM_CLOSED:
			ended(r, c);
			break;
		case STREAM_MESSAGE:
			answer_one(r, c, message, len, now);
			break;
		default:
			break;
		}
	}
	conn_touch(cs, c);
}

// Sends a datagram that belongs to no connection.
static void say(struct responder *r, const struct frame *f, const uint8_t *bytes, uint32_t len)
{
	uint32_t way = responder_way(&r->quic->ways, &r->wire, f, false);
	struct frame_template t;
	struct rte_mbuf *m;
	uint8_t *data;

	if (len == 0 || way == CONN_WAYS || !burst_alloc(r->wire.tx_pool, &m, 1))
		return;
	t = r->quic->ways.all[way];
	frame_template_aim(&t, f->eth + 6, f->src, f->src_port);
	data = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(data + t.len, bytes, len);
	len = frame_stamp(&t, data, f->dst, f->dst_port, (struct frame_payload){(uint16_t)len, 0});
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	if (r->wire.checksum_offload)
		wire_offload(m, &t);
	if (burst_tx(r->wire.port, r->wire.queue, &m, 1) != 1)
		burst_free(&m, 1);
}

// Takes the first datagram of a connection. Returns CONN_NONE if there is none.
static uint32_t take_first(struct responder *r, const struct frame *f, const struct quic_path *path)
{
	struct responder_quic *rq = r->quic;
	struct conns *cs = &rq->cs;
	uint32_t own = responder_own(r, f), way = responder_way(&rq->ways, &r->wire, f, false);
	uint32_t place = responder_place(f->src, f->addr_len, f->src_port, own << 16 | f->dst_port);
	uint8_t out[QUIC_MTU_MOST];
	uint32_t i = QUIC_NONE, c;
	struct conn *of;

	if (own > UINT16_MAX || way == CONN_WAYS || cs->free == CONN_NONE) {
		responder_count(&r->conns->counts.full, 1);
		return CONN_NONE;
	}
	say(r, f, out,
		quic_accept(&cs->quic->q, path, f->payload, f->payload_len, 0, quic_channel_now(cs),
			out, &i));
	if (i == QUIC_NONE)
		return CONN_NONE;
	c = conn_take(cs, place);
	of = &cs->all[c];
	responder_ends(of, f, own, way);
	of->tcp.state = TCP_ESTABLISHED;
	rq->numbers[c] = ++rq->number;
	cs->quic->at[c] = i;
	quic_set_of(&cs->quic->q, i, c);
	return c;
}

void responder_quic_datagram(struct responder *r, const struct frame *f, uint64_t now)
{
	struct conns *cs = &r->quic->cs;
	struct quics *q = &cs->quic->q;
	struct quic_path path = {.local.len = f->addr_len,
		.remote.len = f->addr_len,
		.local_port = f->dst_port,
		.remote_port = f->src_port};
	uint8_t out[QUIC_MTU_MOST];
	uint32_t c = CONN_NONE, i;

	memcpy(path.local.bytes, f->dst, f->addr_len);
	memcpy(path.remote.bytes, f->src, f->addr_len);
	conns_clock(cs, now);
	cs->segments_in++;
	switch (quic_find(q, f->payload, f->payload_len, &path.remote, f->src_port, &i)) {
	case QUIC_FOUND:
		c = quic_of(q, i);
		quic_input(q, i, f->payload, f->payload_len, 0, quic_channel_now(cs));
		break;
	case QUIC_NEW:
		c = take_first(r, f, &path);
		break;
	case QUIC_STRAY:
		say(r, f, out, quic_stray(q, f->payload, f->payload_len, out));
		break;
	case QUIC_FOREIGN:
	case QUIC_GARBAGE:
		break;
	}
	if (c != CONN_NONE)
		events(r, c, now);
}

uint16_t responder_quic_pass(struct responder *r)
{
	struct conns *cs = &r->quic->cs;

	conns_clock(cs, clock_time(r->clock));
	conns_expire(cs);
	return conns_send(cs, &r->wire, &r->tx_no_mbuf);
}

static void head_of(struct conns *cs, uint32_t c, struct conn_head *out)
{
	const struct responder *r = responder_of(cs);
	const struct conn *of = &cs->all[c];

	out->t = r->quic->ways.all[of->way];
	frame_template_aim(&out->t, out->t.bytes, of->peer, of->peer_port);
	responder_own_address(r, of->own, out->src);
	out->src_port = of->own_port;
}

static void expired(struct conns *cs, uint32_t c, uint32_t none)
{
	struct responder *r = responder_of(cs);

	(void)none;
	events(r, c, clock_time(r->clock));
}

static uint32_t gone(struct conns *cs, uint32_t c)
{
	struct responder_quic *rq = quic_of_conns(cs);
	const struct conn *of = &cs->all[c];

	rq->numbers[c] = 0; // no held-back reply belongs to it any more
	return responder_place(of->peer, rq->ways.all[of->way].addr_len, of->peer_port,
		(uint32_t)of->own << 16 | of->own_port);
}

const struct conn_owner responder_quic_owner = {.head = head_of, .expired = expired, .gone = gone};

void responder_quic_halt(struct responder *r)
{
	struct conns *cs = &r->quic->cs;

	for (uint32_t c = 0; c < cs->count && cs->used; c++) {
		if (cs->all[c].tcp.state == TCP_CLOSED || cs->quic->at[c] == QUIC_NONE)
			continue;
		conn_shut(cs, c);
		conn_touch(cs, c);
		if (cs->ready_count >= r->wire.burst &&
			conns_send(cs, &r->wire, &r->tx_no_mbuf) == 0)
			break;
	}
	conns_send(cs, &r->wire, &r->tx_no_mbuf);
	conns_halt(cs);
}

// SPDX-License-Identifier: BSD-3-Clause
// The embedded server's connections: it accepts all that come, answers each message, and closes
// when its peer does. Path: hot. The responder's own thread.
#include "base/clock.h"
#include "engine/core/responder_internal.h"

static struct responder *responder_of(struct conns *cs)
{
	return cs->of;
}

static uint32_t place_of(const uint8_t *peer, uint8_t addr_len, uint16_t peer_port, uint32_t own)
{
	uint64_t words[2] = {0}, hash = (uint64_t)peer_port << 32 | own;

	memcpy(words, peer, addr_len);
	return (uint32_t)rand_hash(rand_hash(hash ^ words[0]) ^ words[1]);
}

// Our address that the segment is for, as a number; UINT32_MAX: none.
static uint32_t own_of(const struct responder *r, const struct frame *f)
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

static uint8_t len_of(const struct responder_conns *rc, const struct conn *of)
{
	return rc->ways[of->way].addr_len;
}

// Headers for the peer of a segment: those of another one of its MAC, VLANs and family, or new
// ones. CONN_WAYS: there are too many.
static uint32_t way_to(struct responder *r, const struct frame *f)
{
	struct responder_conns *rc = r->conns;
	struct frame_path path = {.vlan_count = f->vlan_count, .dst.len = f->addr_len, .tcp = true};
	uint32_t n = 0;

	memcpy(path.src_mac, r->wire.self.mac, 6);
	memcpy(path.dst_mac, f->eth + 6, 6);
	memcpy(path.vlans, f->vlans, sizeof(path.vlans));
	frame_template_build(&rc->ways[CONN_WAYS], &path);
	rc->ways[CONN_WAYS].checksum_offload = r->wire.checksum_offload;
	while (n < rc->way_count && (rc->ways[n].len != rc->ways[CONN_WAYS].len ||
					    memcmp(rc->ways[n].bytes, rc->ways[CONN_WAYS].bytes,
						    sizeof(rc->ways[n].bytes)) != 0))
		n++;
	if (n == rc->way_count && n < CONN_WAYS)
		rc->ways[rc->way_count++] = rc->ways[CONN_WAYS];
	return n;
}

static uint32_t conn_find(struct responder *r, const struct frame *f, uint32_t own, uint32_t place)
{
	const struct conns *cs = &r->conns->cs;
	uint32_t c = cs->at[place & cs->at_mask];

	for (; c != CONN_NONE; c = cs->all[c].chain) {
		const struct conn *of = &cs->all[c];

		if (of->peer_port == f->src_port && of->own_port == f->dst_port && of->own == own &&
			len_of(r->conns, of) == f->addr_len &&
			addr_bytes_equal(of->peer, f->src, f->addr_len))
			return c;
	}
	return c;
}

static void answer_one(struct responder *r, struct responder_protocol *p, uint32_t c,
	const uint8_t *message, uint32_t len)
{
	struct conns *cs = &r->conns->cs;
	uint32_t n;

	responder_count(&r->counts.received, 1);
	// The message may lie where the answer is written.
	memcpy(r->conns->request, message, len);
	p->ctx.stream = true;
	n = p->server->answer(&p->ctx, r->conns->request, len, cs->message + CONN_LENGTH,
		CONN_MESSAGE_MAX - CONN_LENGTH);
	p->ctx.stream = false;
	if (n == 0) {
		responder_count(&r->counts.ignored, 1);
	} else if (!conn_write(cs, c, n)) {
		responder_count(&r->counts.no_buffer, 1);
		tcp_abort(&cs->host, &cs->all[c].tcp);
	} else {
		responder_count(&r->counts.answered, 1);
	}
}

static void answer_all(struct responder *r, struct responder_protocol *p, uint32_t c)
{
	struct conns *cs = &r->conns->cs;
	const uint8_t *message;
	uint32_t len;

	while (cs->all[c].tcp.state != TCP_CLOSED && conn_message(cs, c, &message, &len))
		answer_one(r, p, c, message, len);
}

// What a packet of this path can carry.
static uint16_t mss_of(const struct responder *r, const struct frame *f)
{
	return (uint16_t)(r->conns->packet - FRAME_TCP_LEN -
			  (f->addr_len == 4 ? FRAME_IPV4_LEN : FRAME_IPV6_LEN));
}

static uint32_t conn_accept(struct responder *r, const struct frame *f, uint32_t own,
	uint32_t place, const struct tcp_segment *s)
{
	struct conns *cs = &r->conns->cs;
	uint32_t way = way_to(r, f), c = way < CONN_WAYS ? conn_take(cs, place) : CONN_NONE;
	struct conn *of;

	if (c == CONN_NONE)
		return c;
	of = &cs->all[c];
	memset(of->peer, 0, sizeof(of->peer));
	memcpy(of->peer, f->src, f->addr_len);
	of->peer_port = f->src_port;
	of->own_port = f->dst_port;
	of->own = (uint16_t)own;
	of->way = (uint8_t)way;
	tcp_accept(&cs->host, &of->tcp, tcp_iss(&cs->host, rand_hash(r->conns->secret ^ place)),
		mss_of(r, f), s);
	return c;
}

static void refuse(struct responder *r, const struct frame *f, const struct tcp_segment *s)
{
	struct conn_head head;
	uint32_t way = way_to(r, f);

	if (way == CONN_WAYS)
		return;
	head.t = r->conns->ways[way];
	frame_template_aim_tcp(&head.t, f->eth + 6, f->src, f->src_port);
	memcpy(head.src, f->dst, f->addr_len);
	head.src_port = f->dst_port;
	conns_refuse(&r->conns->cs, &r->wire, &head, s);
}

static bool begins(const struct tcp_segment *s)
{
	return (s->flags & (TCP_SYN | TCP_ACK | TCP_RST)) == TCP_SYN;
}

void responder_segment(struct responder *r, struct responder_protocol *p, const struct frame *f)
{
	struct conns *cs = &r->conns->cs;
	uint32_t own = own_of(r, f), place, c, events;
	struct tcp_segment s;

	if (own > UINT16_MAX || !tcp_parse(f->payload, f->payload_len, &s)) {
		r->wire.counters.bad_frame++;
		return;
	}
	cs->segments_in++;
	if (!p) {
		refuse(r, f, &s);
		return;
	}
	place = place_of(f->src, f->addr_len, f->src_port, own << 16 | f->dst_port);
	c = conn_find(r, f, own, place);
	if (c != CONN_NONE && tcp_reopen(&cs->host, &cs->all[c].tcp, mss_of(r, f), &s)) {
		conn_touch(cs, c);
		return;
	}
	if (c == CONN_NONE) {
		if (begins(&s))
			c = conn_accept(r, f, own, place, &s);
		if (c == CONN_NONE)
			refuse(r, f, &s);
		else
			conn_touch(cs, c);
		return;
	}
	events = tcp_input(&cs->host, &cs->all[c].tcp, &s);
	if (events & TCP_STRANGE)
		refuse(r, f, &s);
	if (events & TCP_DATA)
		answer_all(r, p, c);
	if (events & TCP_ENDED)
		tcp_shut(&cs->all[c].tcp);
	conn_touch(cs, c);
}

static void head_of(struct conns *cs, uint32_t c, struct conn_head *out)
{
	const struct responder *r = responder_of(cs);
	const struct neigh_self *self = &r->wire.self;
	const struct conn *of = &cs->all[c];
	uint64_t own = of->own;
	uint32_t i = 0;

	out->t = r->conns->ways[of->way];
	frame_template_aim_tcp(&out->t, out->t.bytes, of->peer, of->peer_port);
	while (own >= self->owned[i].count)
		own -= self->owned[i++].count;
	addr_nth_bytes(&self->owned[i], own, out->src);
	out->src_port = of->own_port;
}

static void expired(struct conns *cs, uint32_t c, uint32_t events)
{
	conn_touch(cs, c);
}

static uint32_t gone(struct conns *cs, uint32_t c)
{
	const struct responder *r = responder_of(cs);
	const struct conn *of = &cs->all[c];

	return place_of(of->peer, len_of(r->conns, of), of->peer_port,
		(uint32_t)of->own << 16 | of->own_port);
}

// Faults of the wire befall segments; those of messages do not.
static enum conn_fate fate_of(struct conns *cs)
{
	static const enum conn_fate fates[] = {[FAULT_LOSS] = CONN_FATE_LOST,
		[FAULT_DUPLICATE] = CONN_FATE_TWICE,
		[FAULT_REORDER] = CONN_FATE_LATER};
	struct responder *r = responder_of(cs);
	uint64_t turns = r->faults.active ? faults_draw(&r->faults) : 0;

	turns &= 1ull << FAULT_LOSS | 1ull << FAULT_DUPLICATE | 1ull << FAULT_REORDER;
	if (turns == 0)
		return CONN_FATE_NONE;
	faults_count(&r->faults, (uint32_t)__builtin_ctzll(turns));
	return fates[__builtin_ctzll(turns)];
}

const struct conn_owner responder_conn_owner = {
	.fate = fate_of,
	.head = head_of,
	.expired = expired,
	.gone = gone,
};

void responder_conns_halt(struct responder *r)
{
	struct conns *cs = &r->conns->cs;

	for (uint32_t c = 0; c < cs->count && cs->used; c++) {
		if (cs->all[c].tcp.state == TCP_CLOSED)
			continue;
		tcp_abort(&cs->host, &cs->all[c].tcp);
		conn_touch(cs, c);
		if (cs->ready_count >= r->wire.burst &&
			conns_send(cs, &r->wire, &r->tx_no_mbuf) == 0)
			break;
	}
	conns_send(cs, &r->wire, &r->tx_no_mbuf);
	conns_halt(cs);
}

// SPDX-License-Identifier: BSD-3-Clause
// Receives: finds the item that a packet is for, and exchanges packets with the other workers of
// the port. Replies that come the plain way are handled in blocks (worker_plain), all other packets
// one by one (worker_packet). Path: hot. The worker's own thread.
#include "engine/core/worker/worker_rx.h"

#include "engine/core/wire.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_quic.h"
#include "engine/core/worker/worker_internal.h"
#include "engine/core/worker/worker_servers.h"
#include "io/burst.h"

// Which of the item's source addresses the packet is for; UINT32_MAX: none.
static uint32_t client_of(const struct worker_item *it, const uint8_t *addr, uint8_t len)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < it->source_ranges; i++) {
		uint64_t n = addr_index(&it->sources[i], addr, len);

		if (n != UINT64_MAX)
			return (uint32_t)(before + n);
		before += it->sources[i].count;
	}
	return UINT32_MAX;
}

// Which of the item's source addresses the packet is for: nearly always they are one range.
HOT uint32_t client_of_plain(const struct worker_item *it, const uint8_t *addr, uint8_t addr_len)
{
	uint32_t n;

	if (addr_len != 4)
		return client_of(it, addr, addr_len);
	n = bytes_be32(addr) - bytes_be32(it->sources[0].first.bytes);
	return n < it->sources[0].count ? n : client_of(it, addr, 4);
}

// A reply that belongs to no transaction of the item.
static void item_book_odd(
	struct worker_item *it, enum evidence_reason why, const struct rte_mbuf *m, uint64_t now)
{
	if (why == EVIDENCE_MALFORMED)
		worker_book_malformed(it, NULL, NULL, 0);
	worker_book(it, now >= it->pace.measure, why, TXN_NONE, m, now);
}

// The item of a reply, among the items with a router, by the tag in the key: they share ports. The
// protocol judges addresses and ports. it: any of these items. Returns NULL if there is none, and
// counts the reply.
HOT struct worker_item *routed_item(const struct worker *w, struct worker_item *it,
	struct rte_mbuf *m, uint64_t now, uint32_t *key)
{
	uint64_t tag;

	tag = ((uint64_t)*key >> it->tag_shift) - w->tag_first;
	if (tag >= w->tagged_count || w->tagged[tag]->proto != it->proto) {
		item_book_odd(it, EVIDENCE_STRAY, m, now);
		return NULL;
	}
	*key ^= w->tagged[tag]->tag;
	return w->tagged[tag];
}

// A single reply, which was received at `now` and had arrived at `came`.
APART void worker_match_one(const struct worker *w, struct worker_item *it,
	const struct txn_place *at, struct rte_mbuf *m, const struct proto_message *in,
	uint64_t now, uint64_t came)
{
	struct replies one;

	replies_of_one(&one, m, came, worker_late_to(w, now));
	one.in[0] = *in;
	one.at[0] = *at;
	item_match(it, &one);
}

// Forward a packet to another worker of the port.
static void hand_over(struct worker *w, uint32_t home, struct rte_mbuf *m, uint64_t now)
{
	if (w->wire.reassembly && m == &w->wire.reassembly->packet)
		m = reassembly_chain(w->wire.reassembly, w->wire.tx_pool);
	if (m)
		handoff_put(w->hand, home, m, now);
	else
		w->hand->hand_over_full++;
}

// A message without a key for the items with a router: a server sent it unasked to a client, or it
// is malformed. true: it was forwarded to the worker of that client.
APART bool worker_unasked(struct worker *w, struct worker_item *it, const struct proto_message *in,
	struct rte_mbuf *m, uint64_t now)
{
	uint32_t home = 0, i = 0;

	for (; it->router->unasked && i < w->tagged_count; i++) {
		struct worker_item *one = w->tagged[i];

		if (one->proto != it->proto)
			continue;
		one->ctx.counters = one->banks[now >= one->pace.measure];
		one->ctx.now_ms = worker_ms(w, now);
		if (it->router->unasked(&one->ctx, in, &home))
			break;
	}
	if (!it->router->unasked || i == w->tagged_count) {
		item_book_odd(it, EVIDENCE_MALFORMED, m, now);
		return false;
	}
	home -= w->before;
	if (home == w->number)
		return false;
	if (!w->hand || home >= w->hand->workers) {
		item_book_odd(w->tagged[i], EVIDENCE_STRAY, m, now);
		return false;
	}
	hand_over(w, home, m, now);
	return true;
}

// true: it was forwarded to another worker.
APART bool worker_routed(struct worker *w, struct worker_item *it, struct rte_mbuf *m,
	const struct frame *f, uint64_t now, uint64_t came)
{
	const struct proto_ends ends = wire_ends(&w->wire, f);
	const struct proto_message in = {.buf = f->payload, .len = f->payload_len, .ends = &ends};
	struct txn_place at = {0};

	if (!it->proto->key(in.buf, in.len, &at.key))
		return worker_unasked(w, it, &in, m, now);
	it = routed_item(w, it, m, came, &at.key);
	if (!it)
		return false;
	it->ctx.now_ms = worker_ms(w, now);
	worker_match_one(w, it, &at, m, &in, now, came);
	return false;
}

bool worker_owns(void *of, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6])
{
	struct worker *w = of;

	for (uint32_t i = 0; i < w->tagged_count; i++) {
		struct worker_item *it = w->tagged[i];

		if (it->router->owns(&it->ctx, addr, addr_len, mac))
			return true;
	}
	return false;
}

// The number of the worker that a reply is for, from the upper bits of its key. For a reply to
// another box, a number that no worker of the port has.
static uint64_t home_of_key(const struct worker *w, const struct frame *f)
{
	const struct worker_item *it = &w->items[w->by_port[f->dst_port].item];
	uint32_t key;

	if (!it->proto->key(f->payload, f->payload_len, &key))
		return w->number;
	return ((uint64_t)key >> it->tag_shift >> w->tag_bits) - w->before;
}

// Is the packet for another worker of the port? Then forward it.
APART bool worker_hands_over(
	struct worker *w, struct rte_mbuf *m, const struct frame *f, uint64_t now)
{
	uint64_t home = w->home[f->dst_port];

	if (home == PORT_HOME_KEY)
		home = home_of_key(w, f);
	if (home == w->number || home >= w->hand->workers)
		return false;
	hand_over(w, (uint32_t)home, m, now);
	return true;
}

static bool item_takes(const struct worker_item *it, enum frame_kind kind)
{
	if (it->stream && it->conns->cs.quic)
		return kind == FRAME_UDP;
	return kind == FRAME_TCP ? it->conns != NULL : !it->stream;
}

// Look at a packet that arrived at `came`. *place becomes NULL when it was forwarded to another
// worker. may_be_plain: worker_plain has not seen it.
HOT void worker_packet(
	struct worker *w, struct rte_mbuf **place, uint64_t now, uint64_t came, bool may_be_plain)
{
	struct rte_mbuf *m = *place;
	struct frame f;
	struct worker_item *it;
	struct port_entry entry;
	struct txn_place at;
	enum frame_kind kind;
	struct proto_ends ends;
	struct proto_message in;

	if (may_be_plain ? !wire_parse(&w->wire, m, &f, &kind)
			 : !wire_parse_any(&w->wire, m, &f, &kind))
		return;
	if (kind != FRAME_UDP && kind != FRAME_TCP) {
		wire_other(&w->wire, kind, &f);
		return;
	}
	m = wire_packet(&w->wire, m, &f);
	if (w->hand && (kind == FRAME_UDP || w->home[f.dst_port] != PORT_HOME_KEY) &&
		worker_hands_over(w, m, &f, came)) {
		*place = m == *place ? NULL : *place; // a reassembled packet went as a copy
		return;
	}
	entry = w->by_port[f.dst_port];
	if (entry.item == PORT_NOBODY || !item_takes(&w->items[entry.item], kind)) {
		wire_other(&w->wire, kind, &f);
		return;
	}
	it = &w->items[entry.item];
	if (it->router) {
		if (worker_routed(w, it, m, &f, now, came))
			*place = m == *place ? NULL : *place;
		return;
	}
	at.port = entry.index;
	at.client = f.addr_len == it->server.len ? client_of_plain(it, f.dst, f.addr_len)
	                                         : client_of(it, f.dst, f.addr_len);
	if (at.client == UINT32_MAX) {
		wire_other(&w->wire, kind, &f);
		return;
	}
	if (kind == FRAME_TCP) {
		worker_conn_rx(w, it, &at, m, &f, now, came);
		return;
	}
	if (it->stream) {
		worker_quic_rx(w, it, &at, m, &f, now, came);
		return;
	}
	ends = wire_ends(&w->wire, &f);
	in = (struct proto_message){.buf = f.payload,
		.len = f.payload_len,
		.ends = it->servers || it->any_port ? &ends : NULL};
	if ((f.src_port != it->server_port && !it->any_port) ||
		!servers_have(it, f.src, f.addr_len)) {
		worker_book_elsewhere(it, now >= it->pace.measure, &ends);
		item_book_odd(it, EVIDENCE_STRAY, m, came);
		return;
	}
	if (!it->proto->key(f.payload, f.payload_len, &at.key)) {
		item_book_odd(it, EVIDENCE_MALFORMED, m, came);
		return;
	}
	worker_match_one(w, it, &at, m, &in, now, came);
}

// Plain replies of a burst, with their items.
struct plain {
	struct replies r;
	bool several; // the replies are for more than one item
	struct worker_item *items[BURST_MAX];
};

// Returns whether a server of the item sent the n-th reply to a source address of the item.
APART bool plain_several(struct plain *p, uint32_t n, const struct worker_item *it,
	const uint8_t *udp, uint8_t addr_len)
{
	p->r.at[n].client = client_of_plain(it, udp - addr_len, addr_len);
	if (it->servers)
		p->r.in[n].plain = addr_len;
	return p->r.at[n].client != UINT32_MAX &&
	       (!it->servers || servers_have(it, udp - 2 * addr_len, addr_len));
}

// Find the item with a router that the n-th reply, m, is for. NULL: none, and it was counted.
HOT struct worker_item *plain_routed(struct worker *w, struct plain *p, uint32_t n,
	struct rte_mbuf *m, struct worker_item *it, uint8_t addr_len)
{
	struct proto_message *in = &p->r.in[n];

	in->plain = addr_len;
	p->r.at[n].port = p->r.at[n].client = 0;
	if (!proto_key(it->proto, in->buf, in->len, &p->r.at[n].key)) {
		worker_unasked(w, it, in, m, p->r.now);
		return NULL;
	}
	if (w->tagged_count != 1) {
		it = routed_item(w, it, m, p->r.now, &p->r.at[n].key);
		if (it)
			it->ctx.now_ms = worker_ms(w, p->r.now);
		p->several |= n && it != p->items[0];
		return it;
	}
	p->r.at[n].key ^= it->tag; // nearly always there is only one
	if ((uint64_t)p->r.at[n].key >> it->tag_shift == 0)
		return it;
	item_book_odd(it, EVIDENCE_STRAY, m, p->r.now);
	return NULL;
}

// The packets from the i-th on that a loop of the kind takes.
struct plain_part {
	struct worker_item *it; // that the port of the first belongs to
	uint16_t item;          // its index
	uint16_t i;
};

// Put packets into the block, or count them, up to the first that is not plain and whole, or not
// for the item. Returns its number. way: of the item.
HOT uint16_t plain_loop(struct worker *w, struct plain *p, struct received *r,
	struct plain_part part, enum plain_way way, uint8_t addr_len)
{
	const uint32_t to_udp = addr_len == 4 ? FRAME_PLAIN_UDP : FRAME_PLAIN_UDP6;
	const uint32_t words = way == PLAIN_ROUTED ? FRAME_MASK_PLAIN : frame_mask_words(addr_len);
	const uint8_t *home = w->hand ? w->home : NULL;
	struct worker_item *it = part.it, *of = it;
	uint32_t n = p->r.count;
	uint16_t i = part.i;

	if (way == PLAIN_ROUTED)
		it->ctx.now_ms = worker_ms(w, p->r.now);
	for (; i < r->count; i++) {
		struct rte_mbuf *m = r->pkts[i];
		const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *), *udp = data + to_udp;
		struct proto_message *in = &p->r.in[n];
		struct port_entry entry;
		uint32_t len;

		burst_ask_next(r->pkts, r->count, i);
		if (m->data_len < to_udp + FRAME_UDP_LEN ||
			(home && home[bytes_be16(udp + 2)] != w->number))
			break;
		entry = w->by_port[bytes_be16(udp + 2)];
		if (entry.item != part.item || !frame_has(&it->plain, data, words))
			break;
		len = frame_plain_udp_len(data, m->data_len, addr_len);
		if (len == 0 || !wire_plain_is_whole(&w->wire, m, len, addr_len))
			break;
		*in = (struct proto_message){
			.buf = udp + FRAME_UDP_LEN, .len = len - FRAME_UDP_LEN};
		if (way == PLAIN_ROUTED) {
			of = plain_routed(w, p, n, m, it, addr_len);
			if (!of)
				continue;
		} else {
			p->r.at[n].client = 0;
			p->r.at[n].port = entry.index;
			if (!proto_key(it->proto, in->buf, in->len, &p->r.at[n].key) ||
				(way == PLAIN_SEVERAL && !plain_several(p, n, it, udp, addr_len)))
				break;
		}
		p->r.pkts[n] = m;
		p->items[n++] = of;
	}
	p->r.count = n;
	return i;
}

#define PLAIN_LOOP(name, way, addr_len)                                                            \
	APART uint16_t plain_##name(                                                               \
		struct worker *w, struct plain *p, struct received *r, struct plain_part part)     \
	{                                                                                          \
		return plain_loop(w, p, r, part, way, addr_len);                                   \
	}

PLAIN_LOOP(one4, PLAIN_ONE, 4)
PLAIN_LOOP(one6, PLAIN_ONE, 16)
PLAIN_LOOP(several4, PLAIN_SEVERAL, 4)
PLAIN_LOOP(several6, PLAIN_SEVERAL, 16)
PLAIN_LOOP(routed4, PLAIN_ROUTED, 4)
PLAIN_LOOP(routed6, PLAIN_ROUTED, 16)

static uint16_t (*const plain_loops[PLAIN_WAYS][2])(
	struct worker *w, struct plain *p, struct received *r, struct plain_part part) = {
	[PLAIN_ONE] = {plain_one4, plain_one6},
	[PLAIN_SEVERAL] = {plain_several4, plain_several6},
	[PLAIN_ROUTED] = {plain_routed4, plain_routed6},
};

// Takes plain packets from the i-th on, for one item. Returns the number of the first that it does
// not take, without looking further: i, if no item awaits it in a block.
static uint16_t plain_take(struct worker *w, struct plain *p, struct received *r, uint16_t i)
{
	const struct rte_mbuf *m = r->pkts[i];
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	struct plain_part part = {.i = i};
	uint32_t to_udp, count = p->r.count;
	bool is_ipv6;

	if (m->data_len < FRAME_PLAIN_UDP + FRAME_UDP_LEN)
		return i;
	is_ipv6 = bytes_be16(data + 12) == FRAME_TYPE_IPV6;
	to_udp = is_ipv6 ? FRAME_PLAIN_UDP6 : FRAME_PLAIN_UDP;
	if (m->data_len < to_udp + FRAME_UDP_LEN)
		return i;
	part.item = w->by_port[bytes_be16(data + to_udp + 2)].item;
	if (part.item == PORT_NOBODY)
		return i;
	part.it = &w->items[part.item];
	if (part.it->way == PLAIN_NONE)
		return i;
	i = plain_loops[part.it->way][is_ipv6](w, p, r, part);
	p->several |= p->r.count > count && p->items[count] != p->items[0];
	return i;
}

// Replies for several items: one item after the other.
APART void plain_match_parts(struct plain *p)
{
	uint32_t left = p->r.count;
	struct replies part;

	part.now = p->r.now;
	part.stamped = p->r.stamped;
	part.late_to = p->r.late_to;
	while (left) {
		struct worker_item *it = p->items[0];
		uint32_t kept = 0;

		part.count = 0;
		for (uint32_t i = 0; i < left; i++) {
			bool is_its = p->items[i] == it;
			struct replies *to = is_its ? &part : &p->r;
			uint32_t n = is_its ? part.count++ : kept++;

			to->pkts[n] = p->r.pkts[i];
			to->in[n] = p->r.in[i];
			to->came[n] = p->r.stamped ? p->r.came[i] : 0;
			to->at[n] = p->r.at[i];
			if (!is_its)
				p->items[n] = p->items[i];
		}
		item_match(it, &part);
		left = kept;
	}
}

// Close the gaps that forwarded packets left in a burst. Returns the number of packets.
static uint16_t still_here(struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++)
		if (pkts[i])
			pkts[kept++] = pkts[i];
	return kept;
}

APART void stamped_rx(struct worker *w, struct received *r)
{
	const struct port_queue from = {w->wire.port, w->wire.queue};

	r->count = stamps_rx(&w->stamps, &from, r->pkts, w->wire.burst, w->clock, &r->at, r->came);
	for (uint16_t i = 0; i < r->count && r->at >= w->times.measure; i++)
		hist_add(&w->wake, r->at - r->came[i]);
}

void worker_rx(struct worker *w, struct received *r)
{
	if (w->stamps.known) {
		stamped_rx(w, r);
	} else {
		r->count = burst_rx(w->wire.port, w->wire.queue, r->pkts, w->wire.burst);
		r->at = clock_time(w->clock);
	}
	if (r->count == 0)
		return;
	w->received += r->count;
	burst_ask(r->pkts, r->count);
}

// When a packet of the burst arrived.
static uint64_t received_at(const struct worker *w, const struct received *r, uint16_t i)
{
	return w->stamps.known ? r->came[i] : r->at;
}

// Copy the stamps of the plain packets, which are in the order of the burst.
APART void plain_stamps(struct plain *p, const struct received *r)
{
	uint16_t i = 0;

	for (uint32_t n = 0; n < p->r.count; n++) {
		while (r->pkts[i] != p->r.pkts[n])
			i++;
		p->r.came[n] = r->came[i++];
	}
}

// The i-th packet of the burst is not plain: most of the next ones are not, either.
APART void worker_look_one(struct worker *w, struct received *r, uint16_t i)
{
	burst_ask_next(r->pkts, r->count, i);
	worker_packet(w, &r->pkts[i], r->at, received_at(w, r, i), false);
}

// Look at a burst: plain replies in a block, all other packets one by one. Neither changes how the
// other counts.
static void worker_look_all(struct worker *w, struct received *r)
{
	struct plain p;

	p.r.count = 0;
	p.r.stamped = w->stamps.known;
	p.r.late_to = worker_late_to(w, r->at);
	p.r.now = r->at;
	p.several = false;
	for (uint16_t i = 0; i < r->count;) {
		uint16_t first = i;

		i = plain_take(w, &p, r, i);
		if (i == first)
			worker_look_one(w, r, i++);
	}
	if (p.r.stamped)
		plain_stamps(&p, r);
	if (p.several)
		plain_match_parts(&p);
	else if (p.r.count)
		item_match(p.items[0], &p.r);
}

void worker_look(struct worker *w, struct received *r)
{
	if (w->wire.self.vlan_count == 0) {
		worker_look_all(w, r);
	} else {
		for (uint16_t i = 0; i < r->count; i++) {
			burst_ask_next(r->pkts, r->count, i);
			worker_packet(w, &r->pkts[i], r->at, received_at(w, r, i), false);
		}
	}
	burst_free(r->pkts, w->hand ? still_here(r->pkts, r->count) : r->count);
}

// Look at the packets that another worker received for this one. Each has the tick at which that
// worker received it.
static uint32_t worker_take_over(struct worker *w, uint32_t from, uint64_t now)
{
	struct handoff_packet packets[HANDOFF_BURST];
	struct rte_mbuf *pkts[HANDOFF_BURST];
	uint32_t n = handoff_ring_take(w->hand->from[from], packets, HANDOFF_BURST);

	for (uint32_t i = 0; i < n; i++)
		pkts[i] = packets[i].mbuf;
	burst_acquire(pkts, (uint16_t)n);
	for (uint32_t i = 0; i < n; i++)
		worker_packet(w, &pkts[i], now, packets[i].time, true);
	burst_free(pkts, still_here(pkts, (uint16_t)n));
	w->hand->taken_over += n;
	return n;
}

// Forward packets to one worker.
static void worker_flush(struct worker *w, uint32_t to)
{
	struct handoff_out *out = &w->hand->out[to];
	struct rte_mbuf *lost[HANDOFF_BURST];
	uint32_t n;

	for (uint32_t i = 0; i < out->count; i++)
		burst_release(&out->packets[i].mbuf, 1);
	n = handoff_flush(w->hand, to, lost);
	if (n)
		burst_free(lost, (uint16_t)n);
}

uint16_t worker_exchange(struct worker *w, uint16_t received, uint64_t now)
{
	struct handoff *h = w->hand;
	uint32_t most = received;

	for (uint32_t i = 0; i < h->workers; i++)
		if (i != h->self)
			worker_flush(w, i);
	if (received < w->wire.burst || w->full_bursts + 1 >= EXPIRE_AFTER_BURSTS)
		handoff_tell(h, now);
	handoff_look(h, now);
	for (uint32_t i = 0; i < h->workers; i++) {
		uint32_t n = i == h->self ? 0 : worker_take_over(w, i, now);

		if (n == HANDOFF_BURST)
			most = w->wire.burst;
		else if (n && most == 0)
			most = 1;
	}
	return (uint16_t)most;
}

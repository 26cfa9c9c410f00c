// SPDX-License-Identifier: BSD-3-Clause
// Sends: transactions that are due, and the next message of transactions that continue. A burst is
// built from spare buffers (item_fill), handed to the device, and counted if it took them
// (item_flush). Path: hot. The worker's own thread.
#include "engine/core/worker/worker_tx.h"

#include "engine/core/wire.h"
#include "engine/core/worker/worker_internal.h"
#include "engine/core/worker/worker_servers.h"
#include "io/burst.h"

// Take spare buffers for two bursts when there are too few for one, so that passes with few packets
// do not all ask the pool. Returns false if there are none.
static bool spare_fill(struct worker *w)
{
	uint16_t want = 2 * w->spares - w->spare_count;

	if (w->spare_count >= w->spares)
		return true;
	if (!burst_take(w->wire.tx_pool, w->spare + w->spare_count, want)) {
		want -= w->spares;
		if (!burst_take(w->wire.tx_pool, w->spare + w->spare_count, want)) {
			w->tx_no_mbuf++;
			return w->spare_count > 0;
		}
	}
	w->spare_count += want;
	for (uint16_t i = 1; i <= BURST_AHEAD && i <= w->spare_count; i++)
		burst_own_mbuf(w->spare[w->spare_count - i]);
	return true;
}

void worker_ask(struct worker_item *it)
{
	const struct worker_item *of = it->follows;
	uint64_t due;

	if (!it->asks)
		return;
	due = it->proto->due(&it->ctx);
	pace_ask(&it->pace, due);
	if (of && of->ended && of->txns.in_flight == 0 && due == PROTO_NOT_DUE)
		it->pace.next = PACE_NEVER;
}

// The burst that item_fill builds, in steps; entries as in the item's pending packets.
struct block {
	uint32_t count;
	uint32_t judged;           // of them, due in the measured part
	uint32_t *slots;           // the item's pending_slots
	uint32_t ports[BURST_MAX]; // source ports: indices
	struct proto_txn *views[BURST_MAX];
	struct proto_flow flows[BURST_MAX]; // with a router
	struct proto_out out[BURST_MAX];
};

// Transactions that continue. With a router their source ports are not used.
APART void block_again(struct worker_item *it, uint32_t most, struct block *b)
{
	struct txn_place place = {0};

	b->count = txn_shift_n(&it->txns, it->txns.again, most, b->slots);
	for (uint32_t i = 0; i < b->count; i++) {
		struct txn_slot *s = &it->txns.slots[b->slots[i]];

		if (!it->router)
			txn_place(&it->txns, b->slots[i], &place);
		b->ports[i] = place.port;
		b->views[i] = &s->view;
		b->judged += s->judged;
	}
}

// No client is free for a transaction that is due. An open loop counts it as due and leaves it
// unsent; a closed loop waits.
APART void item_starves(struct worker_item *it, uint64_t now, bool judged)
{
	struct item_counters *n = &it->books.counts[judged];
	bool open = it->pace.kind == PACE_RATE;

	if (it->starved_at == 0 && (open || it->txns.in_flight == 0))
		it->starved_at = now;
	if (open) {
		it->books.ledger[judged].due++;
		n->no_client++;
		n->no_bound += it->ctx.lack != PROTO_NO_FREE;
		n->no_bound_yet += it->ctx.lack == PROTO_NO_BOUND_YET;
	}
	it->ctx.lack = PROTO_NO_FREE;
}

// Let the protocol choose clients for the next n transactions, of one part of the run. Returns how
// many have one.
HOT uint32_t block_pick(struct worker *w, struct worker_item *it, uint64_t now, bool judged,
	struct proto_txn *views, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		views[i] = (struct proto_txn){.seq = it->txns.issued + i};
	it->ctx.counters = it->banks[judged];
	it->ctx.now_ms = worker_ms(w, now);
	n = it->begin(&it->ctx, views, n);
	if (n && it->pace.kind != PACE_RATE)
		it->starved_at = 0;
	return n;
}

// Begin new transactions that are due at these ticks, up to the first without a client. Returns
// their number.
HOT uint32_t block_due(struct worker *w, struct worker_item *it, unsigned has, uint64_t now,
	const uint64_t *due, uint32_t count, struct block *b)
{
	uint64_t measure = w->times.measure;
	struct txn_table *t = &it->txns;
	struct proto_txn picked[BURST_MAX];
	uint32_t from = 0, n, got, judged = 0;

	do {
		bool is_judged = due[from] >= measure;
		uint32_t *slots = b->slots + b->count;

		for (n = count - from; (due[from + n - 1] >= measure) != is_judged; n--)
			; // rare: the measured part begins here
		got = n;
		if (has & HAS_PICKS && it->begin) {
			got = block_pick(w, it, now, is_judged, picked, n);
			if (got < n)
				item_starves(it, now, is_judged);
		}
		txn_begin_n(t, got, due + from, is_judged, slots, b->ports + b->count,
			b->views + b->count);
		for (uint32_t i = 0; has & (HAS_ROUTER | HAS_STEPS | HAS_PICKS) && i < got; i++) {
			struct txn_slot *s = slot_of(b->views[b->count + i]);

			s->key |= it->tag;
			if (it->steps)
				it->step_due[slots[i]] = due[from + i];
			if (!it->begin)
				continue;
			s->word |= ((struct txn_slot){.view = picked[i]}).word; // user, step, tries
		}
		b->count += got;
		judged += is_judged ? got : 0;
		from += got;
	} while (got == n && from < count);
	it->books.ledger[1].due += judged;
	it->books.ledger[0].due += from - judged;
	if (judged < from)
		it->judged_from = t->issued - judged;
	b->judged += judged;
	return from;
}

// New transactions that are due, as far as there are slots, keys and clients.
HOT void block_begin(struct worker *w, struct worker_item *it, unsigned has, uint64_t now,
	uint32_t most, struct block *b)
{
	struct txn_table *t = &it->txns;
	uint64_t due[BURST_MAX];

	while (b->count < most && pace_ready(&it->pace, now, t->in_flight)) {
		uint64_t room = txn_room(t, now), in_flight = t->in_flight;
		uint32_t want = most - b->count, got, begun;
		struct pace before;

		if (room == 0) {
			it->books.counts[now >= w->times.measure].no_slot++;
			return;
		}
		want = room < want ? (uint32_t)room : want;
		pace_give_up(&it->pace, now);
		if (has & HAS_PICKS && it->begin)
			before = it->pace;
		got = pace_take(&it->pace, now, in_flight, want, due);
		begun = block_due(w, it, has, now, due, got, b);
		if (has & HAS_PICKS && it->begin &&
			begun < got) { // only the first of the others was due
			it->pace = before;
			pace_take(&it->pace, now, in_flight, begun + (it->pace.kind == PACE_RATE),
				due);
			return;
		}
		worker_ask(it);
	}
}

// worker_take for an item of any kind.
APART uint32_t take_full(struct worker *w, struct worker_item *it, uint64_t now)
{
	uint32_t slot;
	struct block b;

	b.count = b.judged = 0;
	b.slots = &slot;
	block_again(it, 1, &b);
	block_begin(w, it, kind_features[ITEM_FULL], now, 1, &b);
	return b.count ? slot : TXN_NONE;
}

// A block of one costs a message over TCP 8 % more.
uint32_t worker_take(struct worker *w, struct worker_item *it, uint64_t now)
{
	struct txn_slot *s;
	uint32_t slot, port;

	if (it->begin || it->steps || txn_first(&it->txns, it->txns.again) != TXN_NONE)
		return take_full(w, it, now);
	if (!pace_ready(&it->pace, now, it->txns.in_flight))
		return TXN_NONE;
	slot = txn_take(&it->txns, now, &port);
	if (slot == TXN_NONE) {
		it->books.counts[now >= w->times.measure].no_slot++;
		return TXN_NONE;
	}
	s = &it->txns.slots[slot];
	pace_give_up(&it->pace, now);
	s->due = pace_pop(&it->pace, now);
	s->judged = s->due >= w->times.measure;
	if (!s->judged)
		it->judged_from = it->txns.issued;
	it->books.ledger[s->judged].due++;
	return slot;
}

// Let the protocol write all payloads. head: room in front of each.
HOT void block_write(struct worker_item *it, struct block *b, uint32_t head)
{
	uint32_t room = it->pending[0]->buf_len - RTE_PKTMBUF_HEADROOM - head;

	for (uint32_t from = 0, n; from < b->count; from += n) {
		n = b->count - from;
		if (b->judged && b->judged < b->count) // rare: the measured part begins here
			n = views_alike(b->views + from, n);
		it->ctx.counters = it->banks[slot_of(b->views[from])->judged];
		it->proto->request(
			&it->ctx, b->views + from, b->flows + from, b->out + from, n, room);
	}
}

// The source address of an IPv4 packet, as on the wire. Nearly always there is one range of them.
HOT uint32_t source_of(
	const struct worker_item *it, const struct addr_range *first, uint32_t client)
{
	uint8_t bytes[16];
	uint32_t src;

	if (__builtin_expect(client < first->count, 1))
		return bytes_wire32(bytes_be32(first->first.bytes) + client);
	addr_list_nth_bytes(it->sources, client, bytes);
	memcpy(&src, bytes, 4);
	return src;
}

// Write the headers of all frames, which are plain. Constants are copied first: the compiler cannot
// know that no frame overlaps them.
HOT void block_stamp_plain(const struct worker_item *it, const struct block *b)
{
	const struct frame_template t = *it->frames;
	const struct addr_range first = it->sources[0];
	const uint16_t *ports = it->ports;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct proto_out *out = &b->out[i];
		struct frame_payload payload = {out->len, out->sum};
		struct rte_mbuf *m = it->pending[i];
		uint32_t len;

		if (payload.sum == 0)
			payload.sum = csum_add(0, out->buf, out->len);
		len = frame_stamp_plain(&t, out->buf - t.len,
			source_of(it, &first, b->views[i]->client), ports[b->ports[i]], payload);
		m->data_len = (uint16_t)len;
		m->pkt_len = len;
	}
}

// Write the headers of frames of any kind.
APART void block_stamp(const struct worker *w, const struct worker_item *it, const struct block *b)
{
	for (uint32_t i = 0; i < b->count; i++) {
		const struct proto_out *out = &b->out[i];
		struct rte_mbuf *m = it->pending[i];
		uint8_t src[16];
		uint32_t len;

		addr_list_nth_bytes(it->sources, b->views[i]->client, src);
		len = frame_stamp(it->frames, out->buf - it->frames->len, src,
			it->ports[b->ports[i]], (struct frame_payload){out->len, out->sum});
		m->data_len = (uint16_t)len;
		m->pkt_len = len;
		if (w->wire.checksum_offload)
			wire_offload(m, it->frames);
	}
}

// The path to the server of the i-th message, of an item with several.
static uint32_t block_server(const struct worker_item *it, const struct block *b, uint32_t i)
{
	const struct worker_servers *s = it->servers;
	struct slot_servers *of = &s->slots[it->pending_slots[i]];

	if (!slot_of(b->views[i])->begun)
		*of = (struct slot_servers){
			.path = (uint8_t)servers_of_new(it, b->views[i], b->ports[i])};
	servers_ask(of, s->of_path[of->path]);
	return of->path;
}

// Write the headers of messages whose server, or its port, differs from one message to the next.
APART void block_stamp_servers(
	const struct worker *w, const struct worker_item *it, const struct block *b)
{
	for (uint32_t i = 0; i < b->count; i++) {
		const struct frame_template *t =
			&it->frames[it->servers ? block_server(it, b, i) : 0];
		struct frame_template other;
		const struct proto_out *out = &b->out[i];
		struct rte_mbuf *m = it->pending[i];
		uint8_t src[16];

		if (it->any_port && b->flows[i].dst_port) {
			other = *t;
			frame_template_port(&other, b->flows[i].dst_port);
			t = &other;
		}
		addr_list_nth_bytes(it->sources, b->views[i]->client, src);
		m->data_len = (uint16_t)frame_stamp(t, out->buf - t->len, src,
			it->ports[b->ports[i]], (struct frame_payload){out->len, out->sum});
		m->pkt_len = m->data_len;
		if (w->wire.checksum_offload)
			wire_offload(m, t);
	}
}

// Write the headers of a message in m, with the addresses and ports of its flow.
APART void flow_stamp(const struct worker *w, const struct worker_item *it, struct rte_mbuf *m,
	const struct frame_template *t, const struct proto_flow *flow, const struct proto_out *out)
{
	struct frame_payload payload = {out->len, out->sum};
	uint8_t *data = out->buf - t->len;
	uint32_t len = frame_stamp(t, data, flow->src, flow->src_port, payload);

	flow_vlans(it, flow, data);
	if (flow->own_mac)
		memcpy(data + 6, flow->mac, 6);
	m->data_off = (uint16_t)(data - (uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	if (w->wire.checksum_offload)
		wire_offload(m, t);
}

// Send the i-th message to the paths after its own, too.
APART void flow_copy(struct worker *w, struct worker_item *it, const struct block *b, uint32_t i)
{
	const struct proto_flow *flow = &b->flows[i];

	for (uint32_t n = 1; n <= flow->more; n++) {
		struct rte_mbuf *m = w->spare[--w->spare_count];
		struct proto_out out = b->out[i];

		burst_reset(m);
		out.buf = rte_pktmbuf_mtod_offset(m, uint8_t *, FRAME_HEADER_MAX);
		memcpy(out.buf, b->out[i].buf, out.len);
		flow_stamp(w, it, m, &it->frames[flow->path + n], flow, &out);
		it->pending[it->pending_count] = m;
		it->pending_slots[it->pending_count++] = TXN_NONE;
	}
}

// Where the messages of an item with a router go.
APART void block_ask_servers(struct worker_item *it, const struct block *b)
{
	const struct worker_servers *s = it->servers;

	for (uint32_t i = 0; i < b->count; i++) {
		struct slot_servers *of = &s->slots[it->pending_slots[i]];
		const struct proto_flow *flow = &b->flows[i];
		uint16_t asked = 0;

		for (uint32_t n = 0; n <= flow->more; n++)
			asked |= s->of_path[flow->path + n];
		if (!slot_of(b->views[i])->begun)
			*of = (struct slot_servers){0};
		servers_ask(of, asked);
	}
}

// Write the headers of plain frames, from the i-th on, to one path. Returns the number of the first
// message on another path, on VLANs of its own, or whose sum is unknown.
HOT uint32_t block_stamp_path(
	struct worker_item *it, const struct block *b, uint32_t i, uint8_t addr_len)
{
	const uint32_t path = b->flows[i].path;
	struct frame_template t = it->frames[path]; // no frame overlaps a copy
	uint32_t src;

	t.ip = FRAME_PLAIN_IP; // it is plain: now the compiler knows that, too
	t.len = (addr_len == 4 ? FRAME_PLAIN_UDP : FRAME_PLAIN_UDP6) + FRAME_UDP_LEN;
	t.addr_len = addr_len;
	t.checksum_offload = false;
	for (; i < b->count; i++) {
		const struct proto_flow *flow = &b->flows[i];
		const struct frame_payload payload = {b->out[i].len, b->out[i].sum};
		uint8_t *data = b->out[i].buf - t.len;
		struct rte_mbuf *m = it->pending[i];

		if (flow->path != path || flow->vlans[0] || payload.sum == 0)
			break;
		memcpy(&src, flow->src, 4);
		m->pkt_len = addr_len == 4
		                     ? frame_stamp_plain(&t, data, src, flow->src_port, payload)
		                     : frame_stamp(&t, data, flow->src, flow->src_port, payload);
		m->data_len = (uint16_t)m->pkt_len;
		m->data_off = (uint16_t)(RTE_PKTMBUF_HEADROOM + FRAME_HEADER_MAX - t.len);
		if (flow->own_mac)
			memcpy(data + 6, flow->mac, 6);
	}
	return i;
}

APART uint32_t block_stamp_path4(struct worker_item *it, const struct block *b, uint32_t i)
{
	return block_stamp_path(it, b, i, 4);
}

APART uint32_t block_stamp_path6(struct worker_item *it, const struct block *b, uint32_t i)
{
	return block_stamp_path(it, b, i, 16);
}

APART void block_stamp_routed(struct worker *w, struct worker_item *it, const struct block *b)
{
	if (it->servers)
		block_ask_servers(it, b);
	for (uint32_t i = 0, from = 0; i < b->count; from = i) {
		const struct frame_template *t = &it->frames[b->flows[i].path];

		if (t->ip == FRAME_PLAIN_IP && !t->checksum_offload)
			i = t->addr_len == 4 ? block_stamp_path4(it, b, i)
			                     : block_stamp_path6(it, b, i);
		if (i == from) {
			flow_stamp(w, it, it->pending[i], t, &b->flows[i], &b->out[i]);
			i++;
		}
	}
	for (uint32_t i = 0; i < b->count && it->more; i++)
		flow_copy(w, it, b, i);
}

// Take a buffer for each message; head: room for the headers in front of the payload.
HOT void block_take_buffers(
	struct worker *w, struct worker_item *it, struct block *b, uint32_t head)
{
	for (uint32_t i = 0; i < b->count; i++) {
		struct rte_mbuf *m = w->spare[--w->spare_count];

		if (w->spare_count >= BURST_AHEAD)
			burst_own_mbuf(w->spare[w->spare_count - BURST_AHEAD]);
		burst_reset(m);
		it->pending[i] = m;
		b->out[i].buf = rte_pktmbuf_mtod_offset(m, uint8_t *, head);
	}
}

HOT struct image_source image_source_of(const struct worker_item *it,
	const struct addr_range *first, uint32_t client, uint8_t addr_len)
{
	// All of its bytes are set, but no compiler sees that.
	struct image_source out = {.sum = 0};
	uint32_t src;

	if (addr_len == 4) {
		src = source_of(it, first, client);
		memcpy(out.addr, &src, 4);
		out.sum = (src & 0xffff) + (src >> 16);
	} else {
		addr_list_nth_bytes(it->sources, client, out.addr);
		out.sum = csum_16(csum_add(0, out.addr, 16));
	}
	return out;
}

// Send copies of images. one: the item has a single source address.
HOT void block_copy(
	struct worker *w, struct worker_item *it, const struct block *b, uint8_t addr_len, bool one)
{
	const struct images images = *it->images;
	const struct frame_template t = *it->frames;
	const struct addr_range first = it->sources[0];
	struct image_source src = image_source_of(it, &first, 0, addr_len);
	struct rte_mbuf **spare = w->spare + w->spare_count;
	const uint32_t count = b->count;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct proto_txn *v = b->views[i];
		uint16_t port = csum_be16(it->ports[b->ports[i]]), len;
		struct rte_mbuf *m = *--spare;

		if (spare - w->spare >= BURST_AHEAD)
			burst_own_mbuf(spare[-BURST_AHEAD]);
		if (!one)
			src = image_source_of(it, &first, v->client, addr_len);
		len = image_copy(&images, v->user, &t, &src, port, csum_be16((uint16_t)v->key),
			addr_len, (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM);
		burst_reset(m);
		m->data_len = len;
		m->pkt_len = len;
		bytes += len;
		it->pending[i] = m;
	}
	w->spare_count -= (uint16_t)count;
	bytes -= (uint64_t)count * t.len;
	*(uint64_t *)((uint8_t *)it->ctx.counters + it->proto->images->bytes_at) += bytes;
}

#define BLOCK_COPY(name, addr_len, one)                                                            \
	APART void copy_##name(struct worker *w, struct worker_item *it, const struct block *b)    \
	{                                                                                          \
		block_copy(w, it, b, addr_len, one);                                               \
	}

BLOCK_COPY(one4, 4, true)
BLOCK_COPY(one6, 16, true)
BLOCK_COPY(any4, 4, false)
BLOCK_COPY(any6, 16, false)

APART void block_images(struct worker *w, struct worker_item *it, struct block *b)
{
	static void (*const copies[2][2])(struct worker * w, struct worker_item * it,
		const struct block *b) = {{copy_any4, copy_one4}, {copy_any6, copy_one6}};

	it->ctx.counters = it->banks[b->judged > 0];
	it->proto->images->choose(&it->ctx, b->views, b->count);
	copies[it->frames->addr_len == 16][it->way == PLAIN_ONE](w, it, b);
}

// How many messages have a buffer for each of their `more` copies, too.
APART uint32_t block_copies(uint32_t buffers, uint32_t more)
{
	uint32_t n = 0;

	while ((n + 1) * (1 + more) <= buffers)
		n++;
	return n;
}

// Build a burst of the messages that are due. With a router the path of a message is only known
// when its payload has been written: there is room for the longest headers.
HOT void item_fill(struct worker *w, struct worker_item *it, unsigned has, uint64_t now)
{
	bool routed = has & HAS_ROUTER && it->router;
	uint32_t head = routed ? FRAME_HEADER_MAX : it->frames->len, most;
	struct block b;

	it->pending_first = it->pending_count = 0;
	it->resent_count = 0;
	if (!spare_fill(w))
		return;
	most = w->spare_count < w->spares ? w->spare_count : w->spares;
	if (has & HAS_ROUTER && it->more)
		most = block_copies(most, it->more);
	b.count = b.judged = 0;
	b.slots = it->pending_slots;
	if (txn_first(&it->txns, it->txns.again) != TXN_NONE)
		block_again(it, most, &b);
	block_begin(w, it, has, now, most, &b);
	it->pending_count = (uint16_t)b.count;
	if (b.count == 0)
		return;
	// A block is mixed where the measured part begins: each part has its own counters.
	if (!(has & HAS_ROUTER && it->router) && it->images &&
		(b.judged == 0 || b.judged == b.count)) {
		block_images(w, it, &b);
		return;
	}
	block_take_buffers(w, it, &b, head);
	for (uint32_t i = 0; has & HAS_SERVERS && it->any_port && i < b.count; i++)
		b.flows[i].dst_port = 0;
	block_write(it, &b, head);
	if (routed)
		block_stamp_routed(w, it, &b);
	else if (has & HAS_SERVERS && (it->servers || it->any_port))
		block_stamp_servers(w, it, &b);
	else if (frame_template_is_plain(it->frames))
		block_stamp_plain(it, &b);
	else
		block_stamp(w, it, &b);
}

// Hand the burst to the device, and count the messages that it took. It may take a part; the rest
// is the first of the next burst.
HOT uint16_t item_flush(struct worker *w, struct worker_item *it, unsigned has)
{
	uint16_t want = it->pending_count - it->pending_first;
	uint64_t now = clock_time(w->clock), sent = 0, judged = 0;
	struct hist_run lag = {0};
	uint16_t n = burst_tx(w->wire.port, w->wire.queue, it->pending + it->pending_first, want);

	w->tx_given += n;
	w->tx_refused += n < want;
	for (uint16_t i = 0; i < n; i++) {
		uint32_t slot = it->pending_slots[it->pending_first + i];
		struct txn_slot *s;

		if (has & HAS_ROUTER && slot == TXN_NONE)
			continue;
		s = &it->txns.slots[slot];
		if (__builtin_expect(s->begun, 0)) { // a further message is not another transaction
			it->resent[it->resent_count++] = (struct resent){slot, s->time};
		} else {
			sent++;
			if (s->judged) {
				judged++;
				hist_run_add(&it->books.lag, &lag, now - s->due);
			}
		}
		// A retransmission is not another message of its step.
		if (has & HAS_STEPS && it->steps && s->judged && (!s->tries || s->silent))
			it->steps[s->step].sent++;
		txn_arm(&it->txns, slot, now);
		if (s->silent) {
			if (has & HAS_STEPS && it->steps && s->judged)
				it->steps[s->step].no_reply++;
			if (has & HAS_FOLLOWERS && it->followers)
				worker_tell(it, slot, now);
			it->books.ledger[s->judged].no_reply++;
			txn_give(&it->txns, slot, TXN_DONE);
		}
	}
	if (has & HAS_SERVERS && it->servers)
		servers_sent(it, it->pending_slots + it->pending_first, n, now);
	hist_run_end(&it->books.lag, &lag);
	if (sent && !it->first_sent)
		it->first_sent = now;
	it->books.ledger[1].sent += judged;
	it->books.ledger[0].sent += sent - judged;
	it->pending_first += n;
	return n;
}

// item_fill and item_flush of a kind of item.
#define SEND(kind, KIND)                                                                           \
	APART void fill_##kind(struct worker *w, struct worker_item *it, uint64_t now)             \
	{                                                                                          \
		item_fill(w, it, kind_features[KIND], now);                                        \
	}                                                                                          \
                                                                                                   \
	APART uint16_t flush_##kind(struct worker *w, struct worker_item *it)                      \
	{                                                                                          \
		return item_flush(w, it, kind_features[KIND]);                                     \
	}

SEND(full, ITEM_FULL)
SEND(plain, ITEM_PLAIN)
SEND(routed, ITEM_ROUTED)

static const struct {
	void (*fill)(struct worker *w, struct worker_item *it, uint64_t now);
	uint16_t (*flush)(struct worker *w, struct worker_item *it);
} sends[ITEM_KINDS] = {
	[ITEM_FULL] = {fill_full, flush_full},
	[ITEM_PLAIN] = {fill_plain, flush_plain},
	[ITEM_ROUTED] = {fill_routed, flush_routed},
	[ITEM_CONNS] = {fill_plain, flush_plain}, // sends over UDP as if it had no connections
};

uint16_t worker_tx(struct worker *w, uint64_t until)
{
	uint16_t n = 0;

	for (uint32_t i = 0; i < w->item_count; i++) {
		struct worker_item *it = &w->items[i];

		if (it->stream)
			continue; // worker.c
		if (it->pending_first == it->pending_count) {
			it->ctx.now_ms = worker_ms(w, until);
			worker_ask(it);
			if (txn_first(&it->txns, it->txns.again) == TXN_NONE &&
				!pace_ready(&it->pace, until, it->txns.in_flight))
				continue;
			sends[it->kind].fill(w, it, until);
		}
		if (it->pending_first < it->pending_count)
			n += sends[it->kind].flush(w, it);
	}
	return n;
}

// A built message that can no longer be sent. When it was the first one, its transaction was due
// and stays unsent; otherwise it is lost. The client is free again.
void worker_drop(struct worker_item *it, uint32_t slot, uint64_t now)
{
	struct txn_slot *s = &it->txns.slots[slot];
	struct proto_txn view = s->view;

	if (s->begun)
		worker_book_lost(it, slot, now);
	if (it->begin) {
		view.over = true;
		it->ctx.counters = it->shadow;
		it->proto->timeout(&it->ctx, &view);
	}
	txn_give(&it->txns, slot, s->begun ? TXN_LOST : TXN_FREE);
}

void worker_drop_pending(struct worker_item *it, uint64_t now)
{
	for (; it->pending_first < it->pending_count; it->pending_first++) {
		if (it->pending_slots[it->pending_first] != TXN_NONE)
			worker_drop(it, it->pending_slots[it->pending_first], now);
		burst_free(&it->pending[it->pending_first], 1);
	}
}

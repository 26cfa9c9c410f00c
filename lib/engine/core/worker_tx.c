// SPDX-License-Identifier: BSD-3-Clause
// What a worker sends: transactions that are due, the next message of those that go on, and the
// frames of both, made from templates. Path: hot. The worker's own thread.
#include "engine/core/worker_internal.h"

static bool spare_fill(struct worker *w)
{
	uint16_t want = w->spares - w->spare_count;

	if (want == 0)
		return true;
	if (!burst_take(w->wire.tx_pool, w->spare + w->spare_count, want)) {
		w->tx_no_mbuf++;
		return w->spare_count > 0;
	}
	w->spare_count += want;
	for (uint16_t i = 1; i <= BURST_AHEAD && i <= w->spare_count; i++)
		burst_own_mbuf(w->spare[w->spare_count - i]);
	return true;
}

static inline struct rte_mbuf *spare_use(struct worker *w)
{
	struct rte_mbuf *m = w->spare[--w->spare_count];

	if (w->spare_count >= BURST_AHEAD)
		burst_own_mbuf(w->spare[w->spare_count - BURST_AHEAD]);
	burst_reset(m);
	return m;
}

// How the next message of a slot goes.
static inline const struct frame_template *item_way(struct worker_item *it,
	const struct txn_place *place, const struct proto_txn *view, struct proto_flow *flow)
{
	if (it->router) {
		it->router->flow(&it->ctx, view, flow);
		return &it->frames[flow->path];
	}
	addr_list_nth_bytes(it->sources, place->client, flow->src);
	flow->src_port = it->ports[place->port];
	flow->own_mac = false;
	flow->more = 0;
	return it->frames;
}

// A payload that is written at data + t->len, and the headers that it is to get.
struct written {
	const struct frame_template *t;
	struct proto_flow flow;
	struct frame_payload payload;
};

// The payload of a slot; the view is what the protocol made of it.
HOT void item_write(struct worker_item *it, const struct txn_place *place, struct proto_txn *view,
	uint8_t *data, uint32_t room, struct written *out)
{
	out->t = item_way(it, place, view, &out->flow);
	out->payload.len =
		it->proto->request(&it->ctx, view, data + out->t->len, room - out->t->len);
	out->payload.sum = view->sum;
}

HOT uint32_t written_stamp(const struct written *p, const struct frame_template *t, uint8_t *data)
{
	uint32_t len = frame_stamp(t, data, p->flow.src, p->flow.src_port, p->payload);

	if (p->flow.own_mac)
		memcpy(data + 6, p->flow.mac, 6);
	return len;
}

uint32_t worker_again(
	struct worker_item *it, uint32_t slot, uint32_t copy, uint8_t *buf, uint32_t room)
{
	struct frame_template whole;
	struct written payload;
	struct txn_place place;
	struct proto_txn view;

	it->ctx.counters = it->shadow;
	txn_view(it, slot, &place, &view);
	item_write(it, &place, &view, buf, room, &payload);
	if (copy > payload.flow.more)
		return 0;
	whole = payload.t[copy];
	whole.checksum_offload = false;
	return written_stamp(&payload, &whole, buf);
}

// The messages of a round.
struct batch {
	struct written written[BURST_MAX];
	bool unstamped; // some of them have no headers yet
};

HOT void mbuf_stamp(const struct worker *w, struct rte_mbuf *m, const struct written *p)
{
	uint32_t len = written_stamp(p, p->t, rte_pktmbuf_mtod(m, uint8_t *));

	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	if (w->wire.checksum_offload)
		wire_offload(m, p->t);
}

// A payload that was written just now is slow to read: without its sum the headers have to wait.
HOT void item_append(struct worker *w, struct worker_item *it, struct rte_mbuf *m, uint32_t slot,
	struct batch *b)
{
	const struct written *p = &b->written[it->pending_count];

	it->pending[it->pending_count] = m;
	it->pending_slots[it->pending_count++] = slot;
	if (p->payload.sum)
		mbuf_stamp(w, m, p);
	else
		b->unstamped = true;
}

// The same message on the paths after its own.
APART void item_copy(
	struct worker *w, struct worker_item *it, const struct rte_mbuf *from, struct batch *b)
{
	const struct written *first = &b->written[it->pending_count - 1];
	const uint8_t *message = rte_pktmbuf_mtod_offset(from, const uint8_t *, first->t->len);

	for (uint32_t i = 1; i <= first->flow.more; i++) {
		struct rte_mbuf *m = w->spare[--w->spare_count];
		struct written *copy = &b->written[it->pending_count];

		*copy = *first;
		copy->t = first->t + i;
		memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, copy->t->len), message,
			first->payload.len);
		item_append(w, it, m, TXN_NONE, b);
	}
}

// Write the message of a taken slot into a spare mbuf and queue it as pending.
HOT void item_build(struct worker *w, struct worker_item *it, uint32_t slot,
	const struct txn_place *place, struct batch *b)
{
	struct rte_mbuf *m = spare_use(w);
	struct txn_slot *s = &it->txns.slots[slot];
	struct proto_txn view = txn_seen(it, s, place);

	it->ctx.counters = it->banks[s->judged];
	item_write(it, place, &view, rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_tailroom(m),
		&b->written[it->pending_count]);
	txn_keep(s, &view);
	item_append(w, it, m, slot, b);
	if (it->more)
		item_copy(w, it, m, b);
}

APART void item_stamp(struct worker *w, struct worker_item *it, const struct batch *b)
{
	for (uint16_t i = 0; i < it->pending_count; i++)
		if (!b->written[i].payload.sum)
			mbuf_stamp(w, it->pending[i], &b->written[i]);
}

// Somebody to make the next transaction, as the protocol sees it; the schedule goes on without it
// when nobody can: it was due and stays unsent. A closed loop just waits.
APART bool item_cast(struct worker *w, struct worker_item *it, struct proto_txn *view, uint64_t now)
{
	bool judged = (it->pace.kind == PACE_RATE ? it->pace.next : now) >= w->times.measure;

	*view = (struct proto_txn){.seq = txn_next_seq(&it->txns)};
	it->ctx.counters = it->banks[judged];
	it->ctx.now_ms = worker_ms(w, now);
	if (it->router->begin(&it->ctx, view))
		return true;
	if (it->pace.kind == PACE_RATE) {
		pace_pop(&it->pace, now);
		it->books.ledger[judged].due++;
		it->nobody[judged]++;
	}
	return false;
}

HOT uint32_t item_take(
	struct worker *w, struct worker_item *it, uint64_t now, struct txn_place *place)
{
	struct proto_txn view = {0};
	struct txn_slot *s;
	uint32_t slot;

	if (it->router && txn_may_take(&it->txns, now) && !item_cast(w, it, &view, now))
		return TXN_NONE;
	txn_next_place(&it->txns, place);
	slot = txn_take(&it->txns, now);
	if (slot == TXN_NONE) {
		it->no_slot[now >= w->times.measure]++;
		return TXN_NONE;
	}
	s = &it->txns.slots[slot];
	if (it->router)
		txn_keep(s, &view);
	s->due = pace_pop(&it->pace, now);
	s->judged = s->due >= w->times.measure;
	step_begin(it, slot, s->due);
	it->books.ledger[s->judged].due++;
	return slot;
}

uint32_t worker_take(struct worker *w, struct worker_item *it, uint64_t now)
{
	struct txn_place place;

	return item_take(w, it, now, &place);
}

// A new transaction, if one is due, a slot is free and somebody can make it.
HOT bool item_begin(struct worker *w, struct worker_item *it, uint64_t now, struct batch *b)
{
	struct txn_place place;
	uint32_t slot;

	if (!pace_ready(&it->pace, now, it->txns.in_flight))
		return false;
	slot = item_take(w, it, now, &place);
	if (slot == TXN_NONE)
		return false;
	item_build(w, it, slot, &place, b);
	return true;
}

// The next message of the first transaction that waits to send one.
APART void item_go_on(struct worker *w, struct worker_item *it, struct batch *b)
{
	uint32_t slot = it->txns.again.head;
	struct txn_place place;

	txn_unlink(&it->txns, &it->txns.again, slot);
	txn_place(&it->txns, slot, &place);
	item_build(w, it, slot, &place, b);
}

APART void item_fill(struct worker *w, struct worker_item *it, uint64_t now)
{
	struct batch b;

	it->pending_first = it->pending_count = 0;
	if (it->txns.again.head == TXN_NONE && !pace_ready(&it->pace, now, it->txns.in_flight))
		return;
	if (!spare_fill(w))
		return;
	b.unstamped = false;
	while (w->spare_count > it->more && it->txns.again.head != TXN_NONE)
		item_go_on(w, it, &b);
	while (w->spare_count > it->more && item_begin(w, it, now, &b))
		;
	if (b.unstamped)
		item_stamp(w, it, &b);
}

// A retransmission is not another message of the step.
static void step_sent(struct worker_item *it, const struct txn_slot *s)
{
	struct step_books *b = step_of(it, s);

	if (!b || (s->tries && !s->silent))
		return;
	b->sent++;
	b->no_reply += s->silent;
}

// Nothing answers what was sent: the transaction has ended.
static void item_silent(struct worker_item *it, uint32_t slot, uint64_t now)
{
	it->books.ledger[it->txns.slots[slot].judged].no_reply++;
	txn_give(&it->txns, slot, TXN_DONE, now);
}

static void item_sent(struct worker_item *it, uint32_t slot, uint64_t now)
{
	struct txn_slot *s = &it->txns.slots[slot];

	// A further message of the same transaction is not another transaction.
	if (!s->begun) {
		s->begun = 1;
		it->books.ledger[s->judged].sent++;
		if (s->judged)
			hist_add(&it->lag, now - s->due);
	}
	if (it->steps)
		step_sent(it, s);
	txn_arm(&it->txns, slot, now);
	if (s->silent)
		item_silent(it, slot, now);
}

APART uint16_t item_flush(struct worker *w, struct worker_item *it)
{
	uint16_t want = it->pending_count - it->pending_first;
	uint64_t now = clock_time(w->clock);
	uint16_t n = burst_tx(w->wire.port, w->wire.queue, it->pending + it->pending_first, want);

	w->tx_refused += n < want;
	for (uint16_t i = 0; i < n; i++) {
		uint32_t slot = it->pending_slots[it->pending_first + i];

		if (slot != TXN_NONE)
			item_sent(it, slot, now);
	}
	it->pending_first += n;
	return n;
}

uint16_t worker_tx(struct worker *w, uint64_t until)
{
	uint16_t n = 0;

	for (uint32_t i = 0; i < w->item_count; i++) {
		struct worker_item *it = item_of(w, i);

		if (it->pending_first == it->pending_count)
			item_fill(w, it, until);
		if (it->pending_first < it->pending_count)
			n += item_flush(w, it);
	}
	return n;
}

// Whoever made a transaction that cannot go on is told.
static void item_abandon(struct worker_item *it, uint32_t slot)
{
	struct txn_place place;
	struct proto_txn view;

	if (!it->router)
		return;
	txn_view(it, slot, &place, &view);
	view.over = true;
	it->ctx.counters = it->shadow;
	it->proto->timeout(&it->ctx, &view);
}

// What is built but can no longer be sent: never begun, it was due and stays unsent; otherwise it
// is lost.
static void item_drop(struct worker_item *it, uint32_t slot, uint64_t now)
{
	struct txn_slot *s = &it->txns.slots[slot];

	if (s->begun)
		worker_book_lost(it, slot, now);
	item_abandon(it, slot);
	txn_remember_sent(s, s->time);
	s->state = s->begun ? TXN_LOST : TXN_FREE;
	s->time = now;
	it->txns.in_flight--;
}

void worker_drop_pending(struct worker_item *it, uint64_t now)
{
	for (; it->pending_first < it->pending_count; it->pending_first++) {
		if (it->pending_slots[it->pending_first] != TXN_NONE)
			item_drop(it, it->pending_slots[it->pending_first], now);
		burst_free(&it->pending[it->pending_first], 1);
	}
}

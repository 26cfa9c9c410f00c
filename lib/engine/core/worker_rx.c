// SPDX-License-Identifier: BSD-3-Clause
// Receives: finds the item and the transaction that a packet answers (worker_packet), ends the
// transaction or counts the packet apart, and exchanges packets with the other workers of the port.
// Path: hot. The worker's own thread.
#include "engine/core/worker_internal.h"

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

// How a reply counts that is for no transaction in flight.
static enum evidence_reason reason_of(enum proto_verdict verdict)
{
	switch (verdict) {
	case PROTO_STRAY:
		return EVIDENCE_STRAY;
	case PROTO_MALFORMED:
		return EVIDENCE_MALFORMED;
	case PROTO_DONE:
	case PROTO_AGAIN:
	case PROTO_FAIL:
	case PROTO_KEPT:
	case PROTO_DUPLICATE:
		break;
	}
	return EVIDENCE_LATE;
}

// A reply ends its transaction.
HOT void item_complete(struct worker_item *it, uint32_t slot, uint64_t now, bool failed)
{
	struct txn_slot *s = &it->txns.slots[slot];

	if (it->steps)
		worker_book_step(it, slot, now, failed);
	it->last_answer = now;
	item_silence(it, now);
	if (s->judged) {
		hist_add(&it->books.response, now - s->due);
		hist_add(&it->service, now - s->time);
	}
	txn_give(&it->txns, slot, TXN_DONE);
}

// A reply to a transaction that has ended, or that waits to send its next message: validated like
// any other, counted apart. slot: TXN_NONE when it has ended. With a router its client is not known
// any more, so its content is not judged.
static void item_afterwards(struct worker_item *it, const struct txn_place *at, uint32_t slot,
	enum txn_state ended, const struct frame *f, uint64_t now)
{
	bool judged = at->seq >= it->judged_from;
	enum proto_verdict verdict = PROTO_DONE;
	struct proto_txn view =
		slot == TXN_NONE ? txn_of(it, at) : txn_seen(it, &it->txns.slots[slot], at);
	enum evidence_reason why;

	view.over = true;
	it->ctx.counters = it->shadow;
	if (slot != TXN_NONE || !it->router)
		verdict = it->proto->reply(&it->ctx, &view, f->payload, f->payload_len);
	why = reason_of(verdict);
	if (verdict == PROTO_DUPLICATE || (why == EVIDENCE_LATE && ended == TXN_DONE))
		it->books.ledger[judged].duplicate++;
	else if (slot == TXN_NONE && why == EVIDENCE_LATE)
		worker_book_late(it, judged, at, f, now);
	else
		worker_book(it, judged, why, slot, f, now);
}

// A reply to a transaction in flight that does not end it well.
APART void item_other_answer(struct worker_item *it, uint32_t slot, const struct proto_txn *view,
	enum proto_verdict verdict, const struct frame *f, uint64_t now)
{
	struct txn_slot *s = &it->txns.slots[slot];

	switch (verdict) {
	case PROTO_DONE: // counted in item_match
		return;
	case PROTO_FAIL:
		worker_book(it, s->judged, EVIDENCE_FAILED, slot, f, now);
		item_complete(it, slot, now, true);
		return;
	case PROTO_AGAIN:
		if (it->steps)
			worker_book_step(it, slot, now, false);
		txn_again(&it->txns, slot);
		txn_keep(s, view);
		return;
	case PROTO_KEPT:
		return;
	case PROTO_DUPLICATE:
		it->books.ledger[s->judged].duplicate++;
		return;
	case PROTO_STRAY:
		worker_book(it, s->judged, EVIDENCE_STRAY, slot, f, now);
		return;
	case PROTO_MALFORMED:
		worker_book(it, s->judged, EVIDENCE_MALFORMED, slot, f, now);
		return;
	}
}

// Does it answer a question of the probe before the run?
static bool item_was_asked(const struct worker_item *it, const struct txn_place *at)
{
	uint64_t before = txn_before(&it->txns, at->port, at->client, at->key);

	for (uint32_t i = 0; i < it->asked_count; i++)
		if (it->asked[i] == before)
			return true;
	return false;
}

// A reply that is for no transaction in flight, or for one that waits for no reply now.
APART void item_no_match(struct worker_item *it, enum txn_match match, uint32_t slot,
	const struct txn_place *at, const struct frame *f, uint64_t now)
{
	enum txn_state ended = TXN_FREE;

	if (match == TXN_NO_MATCH && item_was_asked(it, at)) {
		it->counts[1].probe_late++;
		return;
	}
	if (match == TXN_EARLIER)
		ended = txn_outcome(&it->txns, at->seq);
	else if (match == TXN_MATCH && it->txns.slots[slot].begun)
		ended = TXN_LOST;
	if (ended == TXN_FREE)
		worker_book(it, now >= it->pace.measure, EVIDENCE_STRAY, TXN_NONE, f, now);
	else
		item_afterwards(it, at, slot, ended, f, now);
}

// Find the transaction of a reply by port, client and key, and let the protocol judge it.
HOT void item_match(
	struct worker_item *it, struct txn_place *at, const struct frame *f, uint64_t now)
{
	uint32_t slot = TXN_NONE;
	enum txn_match match = txn_find(&it->txns, at, &slot);
	enum proto_verdict verdict;
	struct proto_txn view;
	struct txn_slot *s;

	if (slot == TXN_NONE || it->txns.slots[slot].state != TXN_FLYING) {
		item_no_match(it, match, slot, at, f, now);
		return;
	}
	s = &it->txns.slots[slot];
	view = txn_seen(it, s, at);
	it->ctx.counters = it->banks[s->judged];
	verdict = it->proto->reply(&it->ctx, &view, f->payload, f->payload_len);
	if (__builtin_expect(verdict != PROTO_DONE, 0)) {
		item_other_answer(it, slot, &view, verdict, f, now);
		return;
	}
	it->books.ledger[s->judged].answered++;
	item_complete(it, slot, now, false);
}

// Items with a router share ports: the tag in the key tells the item. The protocol judges addresses
// and ports.
APART void worker_routed(
	struct worker *w, struct worker_item *it, const struct frame *f, uint64_t now)
{
	const struct proto_ends ends = wire_ends(&w->wire, f);
	struct txn_place at = {0};
	uint64_t tag;

	if (!it->proto->key(f->payload, f->payload_len, &at.key)) {
		worker_book(it, now >= it->pace.measure, EVIDENCE_MALFORMED, TXN_NONE, f, now);
		return;
	}
	tag = ((uint64_t)at.key >> it->tag_shift) - w->tag_first;
	if (tag >= w->tagged_count || w->tagged[tag]->proto != it->proto) {
		worker_book(it, now >= it->pace.measure, EVIDENCE_STRAY, TXN_NONE, f, now);
		return;
	}
	it = w->tagged[tag];
	it->ctx.ends = &ends;
	it->ctx.now_ms = worker_ms(w, now);
	at.key ^= it->tag;
	item_match(it, &at, f, now);
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

// The number of the worker that a reply is for, from the upper bits of its key.
static uint64_t home_of_key(const struct worker *w, const struct frame *f)
{
	const struct worker_item *it = &w->items[w->by_port[f->dst_port].item];
	uint32_t key;

	if (!it->proto->key(f->payload, f->payload_len, &key))
		return w->number;
	return (uint64_t)key >> it->tag_shift >> w->tag_bits;
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
	handoff_put(w->hand, (uint32_t)home, m, now);
	return true;
}

// Look at a received packet. *place becomes NULL when it was forwarded to another worker.
HOT void worker_packet(struct worker *w, struct rte_mbuf **place, uint64_t now)
{
	struct rte_mbuf *m = *place;
	struct frame f;
	struct worker_item *it;
	struct port_entry entry;
	struct txn_place at;
	enum frame_kind kind;

	if (!wire_parse(&w->wire, m, &f, &kind))
		return;
	if (kind != FRAME_UDP) {
		wire_other(&w->wire, kind, &f);
		return;
	}
	if (w->hand && worker_hands_over(w, m, &f, now)) {
		*place = NULL;
		return;
	}
	entry = w->by_port[f.dst_port];
	if (entry.item == PORT_NOBODY) {
		wire_other(&w->wire, kind, &f);
		return;
	}
	it = &w->items[entry.item];
	if (it->router) {
		worker_routed(w, it, &f, now);
		return;
	}
	at.port = entry.index;
	at.client = client_of(it, f.dst, f.addr_len);
	if (at.client == UINT32_MAX) {
		wire_other(&w->wire, kind, &f);
		return;
	}
	if (f.src_port != it->server_port ||
		!addr_bytes_equal(f.src, it->server.bytes, f.addr_len)) {
		worker_book(it, now >= it->pace.measure, EVIDENCE_STRAY, TXN_NONE, &f, now);
		return;
	}
	if (!it->proto->key(f.payload, f.payload_len, &at.key)) {
		worker_book(it, now >= it->pace.measure, EVIDENCE_MALFORMED, TXN_NONE, &f, now);
		return;
	}
	item_match(it, &at, &f, now);
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

void worker_rx(struct worker *w, struct received *r)
{
	r->count = burst_rx(w->wire.port, w->wire.queue, r->pkts, w->wire.burst);
	if (r->count == 0)
		return;
	r->at = clock_time(w->clock);
	w->received += r->count;
	burst_ask(r->pkts, r->count);
}

void worker_look(struct worker *w, struct received *r)
{
	for (uint16_t i = 0; i < r->count; i++) {
		burst_ask_next(r->pkts, r->count, i);
		worker_packet(w, &r->pkts[i], r->at);
	}
	burst_free(r->pkts, w->hand ? still_here(r->pkts, r->count) : r->count);
}

// Look at the packets that another worker received for this one. Each has the tick at which that
// worker received it.
static uint32_t worker_take_over(struct worker *w, uint32_t from)
{
	struct handoff_packet packets[HANDOFF_BURST];
	struct rte_mbuf *pkts[HANDOFF_BURST];
	uint32_t n = handoff_ring_take(w->hand->from[from], packets, HANDOFF_BURST);

	for (uint32_t i = 0; i < n; i++)
		pkts[i] = packets[i].mbuf;
	burst_acquire(pkts, (uint16_t)n);
	for (uint32_t i = 0; i < n; i++)
		worker_packet(w, &pkts[i], packets[i].time);
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
		uint32_t n = i == h->self ? 0 : worker_take_over(w, i);

		if (n == HANDOFF_BURST)
			most = w->wire.burst;
		else if (n && most == 0)
			most = 1;
	}
	return (uint16_t)most;
}

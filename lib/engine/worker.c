// SPDX-License-Identifier: BSD-3-Clause
// The tester's loop: receive, send what is due, match what was received, expire what was not
// answered, publish once an interval. Path: hot. The worker's own thread.
#include "engine/worker.h"

#include <sched.h>

#include "base/clock.h"
#include "engine/idle.h"

#define EXPIRE_BURST        64
#define STOPPED             50   // stalls long: not a time slice of somebody else, but a stop
#define EXPIRE_AFTER_BURSTS 1024 // a receive queue and a socket buffer hold fewer packets
#define PUBLISH_HOLD        8    // loops that a backlog of sends may delay a snapshot

// What every packet goes through is one piece, though the compiler thinks it too large for that;
// what few go through, and what a whole burst does, is kept out of it, for the registers' sake.
#define HOT   static inline __attribute__((always_inline))
#define APART static __attribute__((noinline))

// As one pointer: the compiler would keep the array and a distance into it, and has no registers
// for two.
HOT struct worker_item *item_of(struct worker *w, uint32_t i)
{
	struct worker_item *it = &w->items[i];

	__asm__("" : "+r"(it));
	return it;
}

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

// What a slot and the protocol's view of it have in common lies in both alike: moved as one.
#define VIEW_SEEN (offsetof(struct proto_txn, tries) + 1 - offsetof(struct proto_txn, user))
#define VIEW_KEPT (offsetof(struct proto_txn, wait) + 1 - offsetof(struct proto_txn, user))

#define SAME_PLACE(member)                                                                         \
	_Static_assert(                                                                            \
		offsetof(struct txn_slot, member) - offsetof(struct txn_slot, user) ==             \
			offsetof(struct proto_txn, member) - offsetof(struct proto_txn, user),     \
		"as in the other")

SAME_PLACE(step);
SAME_PLACE(tries);
SAME_PLACE(wait);

static inline struct proto_txn txn_seen(
	const struct worker_item *it, const struct txn_slot *s, const struct txn_place *place)
{
	struct proto_txn view = {
		.seq = place->seq, .key = place->key | it->tag, .client = place->client};

	memcpy(&view.user, &s->user, VIEW_SEEN);
	return view;
}

static inline void txn_view(const struct worker_item *it, uint32_t slot, struct txn_place *place,
	struct proto_txn *view)
{
	txn_place(&it->txns, slot, place);
	*view = txn_seen(it, &it->txns.slots[slot], place);
}

// A silent message is the last one of its transaction: the mark is never taken back.
static inline void txn_keep(struct txn_slot *s, const struct proto_txn *view)
{
	memcpy(&s->user, &view->user, VIEW_KEPT);
	if (view->silent)
		s->silent = 1;
}

static uint64_t *cell_of(struct ledger *l, enum evidence_reason why)
{
	switch (why) {
	case EVIDENCE_LOST:
		return &l->lost;
	case EVIDENCE_LATE:
		return &l->late;
	case EVIDENCE_FAILED:
		return &l->failed;
	case EVIDENCE_MALFORMED:
		return &l->malformed;
	case EVIDENCE_STRAY:
	case EVIDENCE_REASONS:
		break;
	}
	return &l->stray;
}

// One more in its cell of the ledger, and into the capture file. Rare: nothing of this happens to a
// transaction that is answered as it should be.
APART void item_book(struct worker_item *it, bool judged, enum evidence_reason why, uint32_t slot,
	const struct frame *answer, uint64_t now)
{
	++*cell_of(&it->books.ledger[judged], why);
	if (it->evidence)
		evidence_keep(it, why, slot, answer, now);
}

// Of a reply that is not for a transaction in flight.
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

// Nothing was answered up to here. After the end of sending answered_at lies in the far future.
static void item_silence(struct worker_item *it, uint64_t now)
{
	int64_t gap = txn_since(now, it->answered_at);

	if (gap <= 0)
		return;
	it->answered_at = now;
	if ((uint64_t)gap > it->longest_gap)
		it->longest_gap = (uint64_t)gap;
}

// A valid answer came.
static void item_alive(struct worker_item *it, uint64_t now)
{
	it->last_answer = now;
	item_silence(it, now);
}

// The books of the step that a transaction is in, or NULL.
static inline struct step_books *step_of(struct worker_item *it, const struct txn_slot *s)
{
	return it->steps && s->judged ? &it->steps[s->step] : NULL;
}

// The step of a judged transaction ends with an answer. Kept out of the way of those that have
// none.
APART void step_book(struct worker_item *it, uint32_t slot, uint64_t now, bool failed)
{
	const struct txn_slot *s = &it->txns.slots[slot];
	struct step_books *b = &it->steps[s->step];

	if (!s->judged)
		return;
	b->answered += !failed;
	b->failed += failed;
	hist_add(&b->response, (uint64_t)((uint32_t)(now >> STEP_UNIT) - it->step_due[slot])
				       << STEP_UNIT);
	hist_add(&b->service, now - s->time);
}

static inline void step_complete(struct worker_item *it, uint32_t slot, uint64_t now, bool failed)
{
	if (it->steps)
		step_book(it, slot, now, failed);
}

// The next step is due at `now`.
static inline void step_begin(struct worker_item *it, uint32_t slot, uint64_t now)
{
	if (it->steps)
		it->step_due[slot] = (uint32_t)(now >> STEP_UNIT);
}

// A transaction ends with an answer, which was booked.
HOT void item_complete(struct worker_item *it, uint32_t slot, uint64_t now, bool failed)
{
	struct txn_slot *s = &it->txns.slots[slot];

	step_complete(it, slot, now, failed);
	item_alive(it, now);
	if (s->judged) {
		hist_add(&it->books.response, now - s->due);
		hist_add(&it->service, now - s->time);
	}
	txn_give(&it->txns, slot, TXN_DONE, now);
}

// A reply to a transaction that has ended, or that is about to send its next message: validated
// like any other, booked apart.
static void item_afterwards(
	struct worker_item *it, uint32_t slot, const struct frame *f, uint64_t now)
{
	struct txn_slot *s = &it->txns.slots[slot];
	enum proto_verdict verdict;
	enum evidence_reason why;
	struct txn_place place;
	struct proto_txn view;

	txn_view(it, slot, &place, &view);
	view.over = true;
	it->ctx.counters = it->shadow;
	verdict = it->proto->reply(&it->ctx, &view, f->payload, f->payload_len);
	why = reason_of(verdict);
	if (verdict == PROTO_DUPLICATE || (why == EVIDENCE_LATE && s->state == TXN_DONE))
		it->books.ledger[s->judged].duplicate++;
	else
		item_book(it, s->judged, why, slot, f, now);
}

// An answer to a transaction in flight that does not end it well.
APART void item_other_answer(struct worker_item *it, uint32_t slot, const struct proto_txn *view,
	enum proto_verdict verdict, const struct frame *f, uint64_t now)
{
	struct txn_slot *s = &it->txns.slots[slot];

	switch (verdict) {
	case PROTO_DONE: // seen to where it is found
		return;
	case PROTO_FAIL:
		item_book(it, s->judged, EVIDENCE_FAILED, slot, f, now);
		item_complete(it, slot, now, true);
		return;
	case PROTO_AGAIN:
		step_complete(it, slot, now, false);
		step_begin(it, slot, now);
		txn_again(&it->txns, slot);
		txn_keep(s, view);
		return;
	case PROTO_KEPT:
		return;
	case PROTO_DUPLICATE:
		it->books.ledger[s->judged].duplicate++;
		return;
	case PROTO_STRAY:
		item_book(it, s->judged, EVIDENCE_STRAY, slot, f, now);
		return;
	case PROTO_MALFORMED:
		item_book(it, s->judged, EVIDENCE_MALFORMED, slot, f, now);
		return;
	}
}

HOT void item_answer(struct worker_item *it, uint32_t slot, const struct txn_place *place,
	const struct frame *f, uint64_t now)
{
	struct txn_slot *s = &it->txns.slots[slot];
	struct proto_txn view = txn_seen(it, s, place);
	enum proto_verdict verdict;

	it->ctx.counters = it->banks[s->judged];
	verdict = it->proto->reply(&it->ctx, &view, f->payload, f->payload_len);
	if (__builtin_expect(verdict == PROTO_DONE, 1)) {
		it->books.ledger[s->judged].answered++;
		item_complete(it, slot, now, false);
		return;
	}
	item_other_answer(it, slot, &view, verdict, f, now);
}

// By its key a reply to what the slot held before: it is, if it has the question of that.
static void item_earlier(
	struct worker_item *it, uint32_t slot, uint32_t key, const struct frame *f, uint64_t now)
{
	enum evidence_reason why = EVIDENCE_LATE;
	struct txn_place place;
	struct proto_txn view;

	txn_place(&it->txns, slot, &place);
	view = (struct proto_txn){.seq = txn_earlier(&it->txns, &place, key),
		.key = key | it->tag,
		.client = place.client,
		.over = true};
	it->ctx.counters = it->shadow;
	if (!it->proto->begin) // who made it is forgotten
		why = reason_of(it->proto->reply(&it->ctx, &view, f->payload, f->payload_len));
	item_book(it, now >= it->pace.measure, why, TXN_NONE, f, now);
}

// Is it an answer to what was asked before the run?
static bool item_was_asked(const struct worker_item *it, const struct txn_place *at)
{
	uint32_t slot = txn_before(&it->txns, at->port, at->client, at->key);

	for (uint32_t i = 0; i < it->asked_count; i++)
		if (it->asked[i] == slot)
			return true;
	return false;
}

// A reply that is for no transaction in flight.
APART void item_no_match(struct worker_item *it, enum txn_match match, uint32_t slot,
	const struct txn_place *at, const struct frame *f, uint64_t now)
{
	if (match == TXN_EARLIER)
		item_earlier(it, slot, at->key, f, now);
	else if (match == TXN_NO_MATCH && item_was_asked(it, at))
		it->asked_late++;
	else if (match == TXN_MATCH && txn_has_been(&it->txns.slots[slot]))
		item_afterwards(it, slot, f, now);
	else
		item_book(it, now >= it->pace.measure, EVIDENCE_STRAY, TXN_NONE, f, now);
}

// Whose it is by its key on this port and address. The number is not known yet.
HOT void item_match(
	struct worker_item *it, struct txn_place *at, const struct frame *f, uint64_t now)
{
	uint32_t slot = TXN_NONE;
	enum txn_match match = txn_find(&it->txns, at->port, at->client, at->key, &slot);

	if (match != TXN_MATCH || it->txns.slots[slot].state != TXN_FLYING) {
		item_no_match(it, match, slot, at, f, now);
		return;
	}
	at->seq = txn_seq(&it->txns, slot);
	item_answer(it, slot, at, f, now);
}

HOT bool item_key(struct worker_item *it, const struct frame *f, uint32_t *key, uint64_t now)
{
	if (it->proto->key(f->payload, f->payload_len, key))
		return true;
	item_book(it, now >= it->pace.measure, EVIDENCE_MALFORMED, TXN_NONE, f, now);
	return false;
}

static inline uint32_t worker_ms(const struct worker *w, uint64_t now)
{
	return clock_ms(now - w->times.start, w->ms_scale);
}

// For items of a protocol that chooses addresses and ports: they share ports, and the key says
// whose it is. What else has to fit is the protocol's to judge.
APART void worker_routed(
	struct worker *w, struct worker_item *it, const struct frame *f, uint64_t now)
{
	const struct proto_ends ends = wire_ends(&w->wire, f);
	struct txn_place at = {0};
	uint64_t tag;

	if (!item_key(it, f, &at.key, now))
		return;
	tag = ((uint64_t)at.key >> it->tag_shift) - w->tag_first;
	if (tag >= w->tagged_count || w->tagged[tag]->proto != it->proto) {
		item_book(it, now >= it->pace.measure, EVIDENCE_STRAY, TXN_NONE, f, now);
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

		if (it->proto->owns && it->proto->owns(&it->ctx, addr, addr_len, mac))
			return true;
	}
	return false;
}

// The number of the worker that a reply is for by the upper bits of its key.
static uint64_t home_of_key(const struct worker *w, const struct frame *f)
{
	const struct worker_item *it = &w->items[w->by_port[f->dst_port].item];
	uint32_t key;

	if (!it->proto->key(f->payload, f->payload_len, &key))
		return w->number;
	return (uint64_t)key >> it->tag_shift >> w->tag_bits;
}

// Is a packet for another worker of the port? Then it is on its way there.
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

// What is handed over is not in the place any more.
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
	it = item_of(w, entry.item);
	if (it->routed) {
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
		item_book(it, now >= it->pace.measure, EVIDENCE_STRAY, TXN_NONE, &f, now);
		return;
	}
	if (item_key(it, &f, &at.key, now))
		item_match(it, &at, &f, now);
}

// Those of a burst that are still there: the others, which are NULL, were handed over.
static uint16_t still_here(struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++)
		if (pkts[i])
			pkts[kept++] = pkts[i];
	return kept;
}

// Received, and not looked at yet.
struct received {
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t count;
	uint64_t at; // tick
};

static void worker_rx(struct worker *w, struct received *r)
{
	r->count = burst_rx(w->wire.port, w->wire.queue, r->pkts, w->wire.burst);
	if (r->count == 0)
		return;
	r->at = clock_now();
	w->received += r->count;
	burst_ask(r->pkts, r->count);
}

APART void worker_look(struct worker *w, struct received *r)
{
	for (uint16_t i = 0; i < r->count; i++) {
		burst_ask_next(r->pkts, r->count, i);
		worker_packet(w, &r->pkts[i], r->at);
	}
	burst_free(r->pkts, w->hand ? still_here(r->pkts, r->count) : r->count);
}

// What another worker has received for this one, as of when it came to that one.
static uint32_t worker_take_over(struct worker *w, uint32_t from)
{
	struct handoff_packet packets[HANDOFF_BURST];
	struct rte_mbuf *pkts[HANDOFF_BURST];
	uint32_t n = handoff_lane_take(w->hand->from[from], packets, HANDOFF_BURST);

	for (uint32_t i = 0; i < n; i++)
		pkts[i] = packets[i].mbuf;
	handover_take(pkts, (uint16_t)n);
	for (uint32_t i = 0; i < n; i++)
		worker_packet(w, &pkts[i], packets[i].time);
	burst_free(pkts, still_here(pkts, (uint16_t)n));
	w->hand->taken += n;
	return n;
}

static void worker_flush(struct worker *w, uint32_t to)
{
	struct handoff_out *out = &w->hand->out[to];
	struct rte_mbuf *lost[HANDOFF_BURST];
	uint32_t n;

	for (uint32_t i = 0; i < out->count; i++)
		handover_give(&out->packets[i].mbuf, 1);
	n = handoff_flush(w->hand, to, lost);
	if (n)
		burst_free(lost, (uint16_t)n);
}

// Give the other workers of the port what is theirs, of a burst of so many packets received since
// `now`, and take from them. As many as received, or a full burst when there may be more.
static uint16_t worker_exchange(struct worker *w, uint16_t received, uint64_t now)
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
	if (it->routed) {
		it->proto->flow(&it->ctx, view, flow);
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
	if (it->proto->begin(&it->ctx, view))
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

	if (it->proto->begin && txn_may_take(&it->txns, now) && !item_cast(w, it, &view, now))
		return TXN_NONE;
	txn_next_place(&it->txns, place);
	slot = txn_take(&it->txns, now);
	if (slot == TXN_NONE) {
		it->no_slot[now >= w->times.measure]++;
		return TXN_NONE;
	}
	s = &it->txns.slots[slot];
	if (it->proto->begin)
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
	uint64_t now = clock_now();
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

// until: what is due before is sent.
static uint16_t worker_tx(struct worker *w, uint64_t until)
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

static void item_book_lost(struct worker_item *it, uint32_t slot, uint64_t now)
{
	const struct txn_slot *s = &it->txns.slots[slot];
	struct step_books *b = step_of(it, s);

	if (b)
		b->lost++;
	item_book(it, s->judged, EVIDENCE_LOST, slot, NULL, now);
}

// What was kept is the answer to the step, now that no better one has come.
static void step_go_on(struct worker_item *it, uint32_t slot, uint64_t now)
{
	step_complete(it, slot, now, false);
	step_begin(it, slot, now);
}

// The heads of one queue whose time is over.
static void item_expire(struct worker *w, struct worker_item *it, uint32_t wait, uint64_t now)
{
	for (int i = 0; i < EXPIRE_BURST; i++) {
		uint32_t slot = txn_expired(&it->txns, wait, now, it->waits[wait]);
		struct txn_place place;
		struct proto_txn view;
		struct txn_slot *s;

		if (slot == TXN_NONE)
			return;
		s = &it->txns.slots[slot];
		txn_view(it, slot, &place, &view);
		it->ctx.counters = it->banks[s->judged];
		it->ctx.now_ms = worker_ms(w, now);
		if (it->proto->timeout(&it->ctx, &view) == PROTO_AGAIN) {
			if (view.step != s->step)
				step_go_on(it, slot, now);
			txn_again(&it->txns, slot);
			txn_keep(s, &view);
			continue;
		}
		item_book_lost(it, slot, now);
		txn_lose(&it->txns, slot, now);
	}
}

static void worker_publish(struct worker *w, uint64_t at)
{
	uint64_t n = atomic_load_explicit(&w->published, memory_order_relaxed) + 1;
	struct worker_snapshot *s = &w->snapshots[w->filling];
	struct item_snapshot *to = s->items;

	for (uint32_t i = 0; i < w->item_count; i++) {
		to[i].pace = w->items[i].pace;
		if (w->items[i].ended)
			to[i].pace.left = w->items[i].left_over;
		to[i].ended_at = w->items[i].ended ? w->items[i].ended_at : UINT64_MAX;
		to[i].books = w->items[i].books;
	}
	s->at = at;
	s->number = n;
	s->received = w->received;
	s->given = w->hand ? w->hand->given : 0;
	w->held = 0;
	w->next_publish += w->times.interval;
	w->filling = ~SNAPSHOT_NEW & atomic_exchange_explicit(&w->handed, w->filling | SNAPSHOT_NEW,
					     memory_order_acq_rel);
	atomic_store_explicit(&w->published, n, memory_order_release);
}

// Nothing more is to be begun: the end came or the phase said so, or all of it was sent. What was
// due before the end is still sent within the grace.
static bool item_over(const struct worker *w, const struct worker_item *it, uint64_t now)
{
	if (now >= w->stop_at + w->times.grace)
		return true;
	if (it->pending_first < it->pending_count)
		return false;
	if (pace_over(&it->pace, now))
		return true;
	return now >= w->stop_at &&
	       (it->pace.kind != PACE_RATE || !pace_ready(&it->pace, w->stop_at - 1, 0));
}

// Whoever made a transaction that cannot go on is told.
static void item_abandon(struct worker_item *it, uint32_t slot)
{
	struct txn_place place;
	struct proto_txn view;

	if (!it->proto->begin)
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
		item_book_lost(it, slot, now);
	item_abandon(it, slot);
	txn_remember_sent(s, s->time);
	s->state = s->begun ? TXN_LOST : TXN_FREE;
	s->time = now;
	it->txns.in_flight--;
}

static void item_drop_pending(struct worker_item *it, uint64_t now)
{
	for (; it->pending_first < it->pending_count; it->pending_first++) {
		if (it->pending_slots[it->pending_first] != TXN_NONE)
			item_drop(it, it->pending_slots[it->pending_first], now);
		burst_free(&it->pending[it->pending_first], 1);
	}
}

static void item_end(struct worker *w, struct worker_item *it, uint64_t now)
{
	uint64_t stop = w->stop_at < it->pace.stop ? w->stop_at : it->pace.stop;

	it->ended_at = now < stop ? now : stop;
	item_silence(it, it->ended_at);
	it->answered_at = it->ended_at + INT64_MAX / 2;
	it->left_over = it->pace.left;
	it->pace.left = 0;
	it->ended = true;
	item_drop_pending(it, now);
}

// The sending part is over for an item when item_over says so; the worker has finished when none is
// in flight.
static void worker_wind_down(struct worker *w, uint64_t now)
{
	bool finished = true;

	w->all_ended = true;
	for (uint32_t i = 0; i < w->item_count; i++) {
		struct worker_item *it = &w->items[i];

		if (!it->ended && item_over(w, it, now))
			item_end(w, it, now);
		w->all_ended = w->all_ended && it->ended;
		finished = finished && it->ended && it->txns.in_flight == 0;
	}
	if (finished && !atomic_load_explicit(&w->finished, memory_order_relaxed))
		atomic_store_explicit(&w->finished, true, memory_order_release);
}

static void worker_account(struct worker *w, uint64_t before, uint64_t now, bool worked)
{
	bool judged = before >= w->times.measure && before < w->stop_at && !w->all_ended;

	if (worked)
		w->busy[judged] += now - before;
	// What stopped us may have stopped what is on the way to us too: it is given time to come,
	// time in which we run.
	if (now - before > STOPPED * w->stall)
		w->expire_after = w->expire_after > before ? w->expire_after + (now - before)
		                                           : now + STOPPED * w->stall;
	if (!judged)
		return;
	hist_add(&w->passes, now - before);
	if (now - before > w->stall) {
		w->stalls++;
		w->stolen += now - before;
	}
}

static void worker_begin(struct worker *w)
{
	w->stop_at = w->times.end;
	w->next_publish = w->times.measure;
	while (w->next_publish > w->times.start + w->times.interval)
		w->next_publish -= w->times.interval;
}

// What is due up to here may be sent now: nothing of the next interval before this one is
// published.
static uint64_t send_limit(const struct worker *w, uint64_t now)
{
	uint64_t limit = now < w->stop_at ? now : w->stop_at - 1;

	return limit < w->next_publish ? limit : w->next_publish - 1;
}

static void worker_expire(struct worker *w, uint64_t now)
{
	for (uint32_t i = 0; i < w->item_count; i++)
		for (uint32_t wait = 0; wait < w->items[i].txns.waits; wait++)
			item_expire(w, &w->items[i], wait, now);
}

// Transactions expire only when everything that was received up to now has been looked at: the
// queue ran empty, or so much was taken from it since that it cannot have held more.
static bool worker_is_caught_up(struct worker *w, uint16_t received)
{
	if (received == w->wire.burst && ++w->full_bursts < EXPIRE_AFTER_BURSTS)
		return false;
	w->full_bursts = 0;
	return true;
}

// One pass: receive, send, look at what was received, publish, expire. What came is in no cache of
// this CPU yet; it comes there while others are sent.
static bool worker_pass(struct worker *w, uint64_t now)
{
	struct received r;
	uint16_t received, sent;

	worker_rx(w, &r);
	received = r.count;
	sent = worker_tx(w, send_limit(w, now));
	if (r.count)
		worker_look(w, &r);
	if (w->hand)
		received = worker_exchange(w, received, now);
	if (now >= w->next_publish && (sent < w->wire.burst || ++w->held > PUBLISH_HOLD))
		worker_publish(w, w->next_publish);
	if (worker_is_caught_up(w, received) && now >= w->expire_after)
		worker_expire(w, w->hand ? w->hand->until : now);
	worker_wind_down(w, now);
	return received || sent;
}

// Told to stop: what was still going on ends here.
static void worker_halt(struct worker *w, uint64_t now)
{
	for (uint32_t i = 0; i < w->item_count; i++)
		if (!w->items[i].ended)
			item_end(w, &w->items[i], now);
	burst_free(w->spare, w->spare_count);
}

int worker_loop(void *arg)
{
	struct worker *w = arg;
	uint64_t now = clock_now(), before;
	uint32_t phase;
	bool worked;

	worker_begin(w);
	while ((phase = atomic_load_explicit(w->phase, memory_order_acquire)) != PHASE_STOP) {
		if (phase == PHASE_DRAIN && now < w->stop_at)
			w->stop_at = now;
		worked = worker_pass(w, now);
		if (w->yields && !worked)
			sched_yield();
		before = w->sleeps && !worked ? idle_sleep(w, now) : now;
		now = clock_now();
		worker_account(w, before, now, worked);
	}
	worker_halt(w, now);
	return 0;
}

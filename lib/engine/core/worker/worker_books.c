// SPDX-License-Identifier: BSD-3-Clause
// Counts the transactions and replies that do not end well.
// Path: hot. The worker's own thread.
#include "engine/core/worker/worker_internal.h"
#include "io/burst.h"

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
	case EVIDENCE_ANSWERED: // counted where it ends
	case EVIDENCE_STEP:
	case EVIDENCE_REASONS:
		break;
	}
	return &l->stray;
}

void worker_book_gap(struct worker_item *it, struct gap *gaps, uint64_t from, uint64_t to)
{
	const struct event_times *e = it->events;

	for (uint32_t i = 0; e && i < e->count && to > e->at[i]; i++) {
		if (from >= e->at[i + 1] || to - from <= gaps[i].to - gaps[i].from)
			continue;
		gaps[i] = (struct gap){from, to};
		if (gaps != it->gaps)
			continue;
		hist_clear(&it->waited[i]);
		it->earlier_than = to;
	}
}

void worker_book_waited(struct worker_item *it, uint64_t due, uint64_t now)
{
	for (uint32_t i = 0; i < it->events->count; i++)
		if (due < it->gaps[i].to)
			hist_add(&it->waited[i], now - due);
}

void worker_keep(struct worker_item *it, enum evidence_reason why, uint32_t slot,
	const struct rte_mbuf *answer, uint64_t now)
{
	struct frame f;

	if (answer)
		frame_parse(rte_pktmbuf_mtod(answer, const uint8_t *), answer->pkt_len, &f);
	evidence_keep(it, why, slot, answer ? &f : NULL, now);
}

void worker_book(struct worker_item *it, bool judged, enum evidence_reason why, uint32_t slot,
	const struct rte_mbuf *answer, uint64_t now)
{
	++*cell_of(&it->books.ledger[judged], why);
	if (it->evidence)
		worker_keep(it, why, slot, answer, now);
}

void worker_book_elsewhere(struct worker_item *it, bool judged, const struct proto_ends *ends)
{
	struct item_elsewhere *e = &it->elsewhere;

	if (e->from.len == 0) {
		e->from.len = ends->addr_len;
		memcpy(e->from.bytes, ends->src, ends->addr_len);
		e->port = ends->src_port;
	}
	if (e->port == ends->src_port && e->from.len == ends->addr_len &&
		addr_bytes_equal(e->from.bytes, ends->src, ends->addr_len))
		e->same[judged]++;
	else
		e->rest[judged]++;
}

void worker_book_malformed(
	struct worker_item *it, const struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	if (it->malformed && !it->evidence)
		return;
	it->ctx.counters = it->shadow;
	if (t && it->proto->reason)
		it->note = it->proto->reason(&it->ctx, t, buf, len);
	if (!it->malformed)
		it->malformed = it->note ? it->note : "cut short, or no reply of this protocol";
}

void worker_book_late(struct worker_item *it, bool judged, const struct txn_place *at,
	const struct rte_mbuf *answer, uint64_t now)
{
	struct frame f;

	it->books.ledger[judged].late++;
	if (!it->evidence || !answer)
		return;
	frame_parse(rte_pktmbuf_mtod(answer, const uint8_t *), answer->pkt_len, &f);
	evidence_late(it, judged, at, &f, now);
}

void worker_book_earlier(struct worker_item *it, uint64_t due, uint64_t now, bool failed)
{
	struct earlier_books *b = &it->books.earlier;
	uint64_t from = it->interval_from - it->interval;
	uint32_t back = 0;

	if (it->waited && !failed)
		worker_book_waited(it, due, now);
	if (due >= it->interval_from)
		return;
	for (; back < EARLIER - 1 && due < from; back++)
		from -= it->interval;
	b->answered[back] += !failed;
	b->failed[back] += failed;
	b->time[back] += now - due;
}

void worker_book_lost(struct worker_item *it, uint32_t slot, uint64_t now)
{
	const struct txn_slot *s = &it->txns.slots[slot];

	if (it->steps && s->judged)
		it->steps[s->step].lost++;
	worker_book(it, s->judged, EVIDENCE_LOST, slot, NULL, now);
}

void worker_book_apart(struct worker_item *it, uint32_t slot, enum txn_state how)
{
	const struct txn_slot *s = &it->txns.slots[slot];

	if (it->steps && s->judged)
		it->steps[s->step].no_reply++;
	it->books.ledger[s->judged].no_reply++;
	txn_give(&it->txns, slot, how);
}

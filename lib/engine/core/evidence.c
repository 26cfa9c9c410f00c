// SPDX-License-Identifier: BSD-3-Clause
// Copying packets into the worker's ring. Nothing in here runs unless a transaction fails and a
// capture file is configured. Path: hot. Worker's thread.
#include "engine/core/evidence.h"

#include <string.h>

#include "engine/core/worker.h"

const char *const evidence_reasons[] = {"lost", "late", "stray", "failed", "malformed", NULL};

// The time of the last message of the slot's transaction; false: no longer known, or its client may
// have begun another one.
static bool sent_at(const struct worker_item *it, const struct txn_slot *s, uint64_t *tick)
{
	if (it->router && s->state != TXN_FLYING)
		return false;
	if (s->state != TXN_TAKEN && s->state != TXN_FLYING && s->state != TXN_LOST)
		return false;
	*tick = s->state == TXN_LOST ? txn_lost_sent(s) : s->time;
	return true;
}

static void keep(const struct evidence *e, struct capture_slot *to, uint64_t time,
	const char *comment, uint32_t len)
{
	to->packet = (struct capture_packet){.time = time,
		.comments = {comment},
		.interface = e->interface,
		.len = len < CAPTURE_BYTES ? len : CAPTURE_BYTES,
		.wire_len = len};
}

// As it was `age` ago: a message may tell the time.
static void keep_query(
	struct worker_item *it, uint32_t slot, const char *comment, uint64_t time, uint64_t age)
{
	const struct evidence *e = it->evidence;
	struct capture_slot *to = capture_at(e->ring);
	uint32_t now_ms = it->ctx.now_ms, len;
	struct txn_place place;

	it->ctx.now_ms -= clock_ms(age, e->ms_scale);
	len = worker_again(it, slot, 0, to->bytes, CAPTURE_BYTES);
	it->ctx.now_ms = now_ms;
	txn_place(&it->txns, slot, &place);
	keep(e, to, time, comment, len);
	to->packet.outbound = true;
	to->packet.id = e->first_id + place.seq;
	capture_commit(e->ring);
}

// Padding of the frame is left out: its length is that of the datagram.
static void keep_answer(
	const struct evidence *e, const struct frame *f, const char *comment, uint64_t now)
{
	struct capture_slot *to = capture_at(e->ring);
	uint32_t len = (uint32_t)(f->payload + f->payload_len - f->eth);

	keep(e, to, now, comment, len);
	memcpy(to->bytes, f->eth, to->packet.len);
	capture_commit(e->ring);
}

// The limit is touched last: packets without room do not count against it.
static bool admit(const struct evidence *e, uint64_t packets)
{
	if (capture_room(e->ring) < packets) {
		e->ring->dropped += packets;
		return false;
	}
	return atomic_fetch_sub_explicit(e->left, 1, memory_order_relaxed) > 0;
}

void evidence_keep(struct worker_item *it, enum evidence_reason why, uint32_t slot,
	const struct frame *answer, uint64_t now)
{
	const struct evidence *e = it->evidence;
	struct txn_slot *s = slot == TXN_NONE ? NULL : &it->txns.slots[slot];
	uint64_t sent = 0;
	bool measured = s ? s->judged : now >= it->pace.measure;
	bool query = s && sent_at(it, s, &sent) && (!s->kept || why == EVIDENCE_LOST);

	if (!e->comments[why] || !measured || !admit(e, (uint64_t)query + (answer != NULL)))
		return;
	if (query) {
		keep_query(it, slot, e->comments[why], sent, now > sent ? now - sent : 0);
		s->kept = 1;
	}
	if (answer)
		keep_answer(e, answer, e->comments[why], now);
}

// SPDX-License-Identifier: BSD-3-Clause
// Copies packets into the worker's ring. Nothing in here runs unless a capture file is configured,
// and a transaction fails or all are wanted. Path: hot. Worker's thread.
#include "engine/core/worker/evidence.h"

#include <string.h>

#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_message.h"
#include "engine/core/worker/worker_state.h"

const char *const evidence_reasons[] = {
	"lost", "late", "stray", "failed", "malformed", "answered", "step", NULL};

// Finds the tick of the slot's last message. Returns false if nothing was sent, or if its client
// may have begun another transaction.
static bool sent_at(const struct worker_item *it, const struct txn_slot *s, uint64_t *tick)
{
	*tick = s->time;
	return s->state == TXN_FLYING || (s->state == TXN_TAKEN && !it->router);
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

// Captures the query of a slot or, with TXN_NONE, of a place, as `age` ticks ago: it may have a
// time.
static void keep_query(struct worker_item *it, uint32_t slot, const struct txn_place *at,
	const char *comment, uint64_t time, uint64_t age)
{
	const struct evidence *e = it->evidence;
	struct capture_slot *to = capture_at(e->ring);
	uint64_t now_ms = it->ctx.now_ms;
	uint32_t len;

	it->ctx.now_ms -= clock_ms(age, e->ms_scale);
	len = slot == TXN_NONE ? worker_first(it, at, to->bytes, CAPTURE_BYTES)
	                       : worker_again(it, slot, 0, to->bytes, CAPTURE_BYTES);
	it->ctx.now_ms = now_ms;
	keep(e, to, time, comment, len);
	to->packet.outbound = true;
	to->packet.id = e->first_id + at->seq;
	capture_commit(e->ring);
}

// Puts a message that came over TLS into a segment of its own, as its query is: records can be read
// only with all before them. seq: of the transaction. Returns the length of the frame.
static uint32_t answer_again(
	const struct worker_item *it, const struct frame *f, uint64_t seq, uint8_t *to)
{
	const struct worker_conns *wc = it->conns;
	const struct tcp_segment s = {.seq = (uint32_t)seq << WORKER_SEQ_SHIFT,
		.ack = 1,
		.window = UINT16_MAX,
		.flags = TCP_PSH | TCP_ACK,
		.scale = TCP_NO_SCALE};
	struct frame_path path = {.dst.len = f->addr_len,
		.dst_port = f->dst_port,
		.vlan_count = f->vlan_count,
		.tcp = true};
	uint32_t front = conn_front(it->proto->framed), len = wc->read_len, room;
	struct frame_template t;
	uint8_t *tcp;

	memcpy(path.src_mac, f->eth + 6, 6);
	memcpy(path.dst_mac, f->eth, 6);
	memcpy(path.vlans, f->vlans, sizeof(path.vlans));
	memcpy(path.dst.bytes, f->dst, f->addr_len);
	frame_template_build(&t, &path);
	room = CAPTURE_BYTES - t.len - front;
	len = len < room ? len : room;
	tcp = to + t.len - TCP_HEADER_LEN;
	tcp_header(&s, tcp);
	if (front)
		bytes_put_be16(tcp + TCP_HEADER_LEN, (uint16_t)wc->read_len);
	memcpy(tcp + TCP_HEADER_LEN + front, wc->read, len);
	return frame_stamp_tcp(&t, to, f->src, f->src_port, TCP_HEADER_LEN + front + len);
}

// Captures a reply, without the padding of its frame.
static void keep_answer(const struct worker_item *it, const struct frame *f, uint64_t seq,
	const char *comment, uint64_t now)
{
	const struct evidence *e = it->evidence;
	struct capture_slot *to = capture_at(e->ring);
	uint32_t len = (uint32_t)(f->payload + f->payload_len - f->eth);
	bool again = it->conns && it->conns->read;

	if (again)
		len = answer_again(it, f, seq, to->bytes);
	keep(e, to, now, comment, len);
	to->packet.comments[1] = it->note;
	if (!again)
		memcpy(to->bytes, f->eth, to->packet.len);
	capture_commit(e->ring);
}

// Checks the limit last: packets without room do not count against it.
static bool admit(const struct evidence *e, uint64_t packets)
{
	if (capture_room(e->ring) < packets) {
		e->ring->dropped += packets;
		return false;
	}
	return atomic_fetch_sub_explicit(e->left, 1, memory_order_relaxed) > 0;
}

static struct evidence_sent *sent_of(const struct evidence *e, uint64_t seq)
{
	return &e->sent[rand_hash(seq) % EVIDENCE_SENT];
}

// Remembers a loss that was not captured: a late reply may capture the query.
static void remember_sent(const struct worker_item *it, const struct txn_slot *s, uint64_t tick)
{
	if (it->evidence->sent)
		*sent_of(it->evidence, s->k) = (struct evidence_sent){s->k, tick};
}

void evidence_keep(struct worker_item *it, enum evidence_reason why, uint32_t slot,
	const struct frame *answer, uint64_t now)
{
	const struct evidence *e = it->evidence;
	struct txn_slot *s = slot == TXN_NONE ? NULL : &it->txns.slots[slot];
	uint64_t sent = 0;
	bool measured = s ? s->judged : now >= it->pace.measure;
	bool query = s && sent_at(it, s, &sent) && (!s->kept || why == EVIDENCE_LOST);
	bool wanted;
	struct txn_place at;

	wanted = measured && e->comments[why] && admit(e, (uint64_t)query + (answer != NULL));
	if (wanted && query) {
		txn_place(&it->txns, slot, &at);
		keep_query(it, slot, &at, e->comments[why], sent, now > sent ? now - sent : 0);
		s->kept = 1;
	}
	if (wanted && answer)
		keep_answer(it, answer, s ? s->k : 0, e->comments[why], now);
	if (why == EVIDENCE_LOST && measured && !s->kept)
		remember_sent(it, s, sent);
}

void evidence_late(struct worker_item *it, bool measured, const struct txn_place *at,
	const struct frame *answer, uint64_t now)
{
	const struct evidence *e = it->evidence;
	const char *comment = e->comments[EVIDENCE_LATE];
	struct evidence_sent *sent = e->sent ? sent_of(e, at->seq) : NULL;
	bool query = sent && sent->tick && sent->seq == at->seq;

	if (!comment || !measured || !admit(e, (uint64_t)query + 1))
		return;
	if (query) {
		keep_query(it, TXN_NONE, at, comment, sent->tick, now - sent->tick);
		sent->tick = 0;
	}
	keep_answer(it, answer, at->seq, comment, now);
}

// SPDX-License-Identifier: BSD-3-Clause
// A message is a row of `streams` from quic_write on, or from the first octet of a request, until
// ngtcp2 has closed the stream and its events were taken. Rows of a connection are in the order of
// writing, so those without a stream are the last ones.
// Path: hot. The thread that owns the connections.
#include "quic/message.h"

#include <string.h>

#include "base/bytes.h"
#include "quic/quic_internal.h"

#define LENGTH   2u // octets in front of a message
#define VECTORS  8u // of a stream in a packet: QUIC_MTU_MOST octets in blocks
#define TAG_BITS 22 // of the number of a row in the tag of a request

static struct quic_stream *stream_at(const struct quics *q, uint32_t s)
{
	return &q->memory->streams[s];
}

static uint32_t number_of(const struct quics *q, const struct quic_stream *s)
{
	return (uint32_t)(s - q->memory->streams);
}

// The data of a stream that ngtcp2 keeps for us.
static void *handle_of(const struct quics *q, const struct quic_stream *s)
{
	return (void *)(uintptr_t)(number_of(q, s) + 1);
}

static struct quic_stream *of_handle(const struct quic_row *r, void *handle)
{
	return handle ? stream_at(r->q, (uint32_t)(uintptr_t)handle - 1) : NULL;
}

// --- queues

static void queue_send(struct quic_row *r, struct quic_stream *s)
{
	uint32_t n = number_of(r->q, s);

	if (s->flags & (STREAM_SENDS | STREAM_BLOCKED))
		return;
	s->flags |= STREAM_SENDS;
	s->send_next = NONE;
	if (r->send_first == NONE)
		r->send_first = n;
	else
		stream_at(r->q, r->send_last)->send_next = n;
	r->send_last = n;
}

static void queue_event(struct quic_row *r, struct quic_stream *s)
{
	uint32_t n = number_of(r->q, s);

	if (s->flags & STREAM_EVENT)
		return;
	s->flags |= STREAM_EVENT;
	s->event_next = NONE;
	if (r->event_first == NONE)
		r->event_first = n;
	else
		stream_at(r->q, r->event_last)->event_next = n;
	r->event_last = n;
}

// Takes a stream out of the queue of sending streams. It is nearly always the first one.
static void unqueue_send(struct quic_row *r, struct quic_stream *s)
{
	uint32_t n = number_of(r->q, s), before = NONE, at = r->send_first;

	if (!(s->flags & STREAM_SENDS))
		return;
	while (at != n) {
		before = at;
		at = stream_at(r->q, at)->send_next;
	}
	if (before == NONE)
		r->send_first = s->send_next;
	else
		stream_at(r->q, before)->send_next = s->send_next;
	if (r->send_last == n)
		r->send_last = before;
	s->flags &= ~(uint32_t)STREAM_SENDS;
}

static void unqueue_event(struct quic_row *r, struct quic_stream *s)
{
	uint32_t n = number_of(r->q, s), before = NONE, at = r->event_first;

	if (!(s->flags & STREAM_EVENT))
		return;
	while (at != n) {
		before = at;
		at = stream_at(r->q, at)->event_next;
	}
	if (before == NONE)
		r->event_first = s->event_next;
	else
		stream_at(r->q, before)->event_next = s->event_next;
	if (r->event_last == n)
		r->event_last = before;
	s->flags &= ~(uint32_t)STREAM_EVENT;
}

// --- rows

static struct quic_stream *stream_take(struct quic_row *r)
{
	struct quics *q = r->q;
	struct quic_memory *m = q->memory;
	uint32_t n = m->stream_free;
	uint16_t generation;
	struct quic_stream *s;

	if (n == NONE) {
		q->counts.no_memory++;
		return NULL;
	}
	s = &m->streams[n];
	m->stream_free = s->next;
	generation = (uint16_t)(s->generation + 1);
	*s = (struct quic_stream){.id = -1, .c = row_number(r), .next = NONE, .prev = r->last};
	s->generation = generation;
	chain_init(&s->out);
	chain_init(&s->in);
	if (r->last == NONE)
		r->first = n;
	else
		stream_at(q, r->last)->next = n;
	r->last = n;
	return s;
}

static void stream_give(struct quic_row *r, struct quic_stream *s)
{
	struct quics *q = r->q;
	uint32_t n = number_of(q, s);

	unqueue_send(r, s);
	unqueue_event(r, s);
	if (r->conn && s->in.len)
		ngtcp2_conn_extend_max_offset(r->conn, s->in.len);
	chain_drop(q, &s->out, s->out.len);
	chain_drop(q, &s->in, s->in.len);
	if (s->flags & STREAM_OPEN)
		r->open_count--;
	if (r->wait == n)
		r->wait = s->next;
	if (s->prev == NONE)
		r->first = s->next;
	else
		stream_at(q, s->prev)->next = s->next;
	if (s->next == NONE)
		r->last = s->prev;
	else
		stream_at(q, s->next)->prev = s->prev;
	s->c = NONE;
	s->next = q->memory->stream_free;
	q->memory->stream_free = n;
}

// The owner is done with it.
static void stream_answered(struct quic_row *r, struct quic_stream *s)
{
	if (s->flags & STREAM_OPEN)
		r->open_count--;
	s->flags &= ~(uint32_t)STREAM_OPEN;
}

static void stream_settle(struct quic_row *r, struct quic_stream *s)
{
	if ((s->flags & (STREAM_GONE | STREAM_EVENT)) == STREAM_GONE)
		stream_give(r, s);
}

void streams_free(struct quic_row *r)
{
	while (r->first != NONE)
		stream_give(r, stream_at(r->q, r->first));
}

// The peer may have messages that ngtcp2 has sent; the others are kept for quic_unheard.
void streams_lost(struct quic_row *r)
{
	struct quic_stream *s;
	uint32_t next;

	for (uint32_t n = r->first; n != NONE; n = next) {
		s = stream_at(r->q, n);
		next = s->next;
		unqueue_send(r, s);
		if (!(s->flags & STREAM_GIVEN) && !r->q->server)
			continue;
		s->flags |= STREAM_GONE;
		stream_settle(r, s);
	}
}

// --- octets that leave

void streams_open(struct quic_row *r)
{
	struct quics *q = r->q;
	struct quic_stream *s;

	while (r->wait != NONE && (!q->streams || r->live < q->streams) &&
		ngtcp2_conn_get_streams_bidi_left(r->conn)) {
		s = stream_at(q, r->wait);
		if (ngtcp2_conn_open_bidi_stream(r->conn, &s->id, handle_of(q, s)) != 0) {
			s->id = -1;
			return;
		}
		q->counts.streams++;
		r->live++;
		if (!(r->flags & ROW_COMPLETED)) {
			s->flags |= STREAM_EARLY;
			q->counts.early_sent++;
		}
		r->wait = s->next;
		queue_send(r, s);
	}
}

uint32_t stream_next(struct quic_row *r, ngtcp2_vec *vec, size_t *count, bool *fin)
{
	struct quics *q = r->q;
	uint32_t n = r->send_first, b, skip, left, part;
	struct quic_stream *s;

	*count = 0;
	if (n == NONE)
		return NONE;
	s = stream_at(q, n);
	left = s->out.len - s->sent;
	b = s->out.first;
	skip = s->out.skip + s->sent;
	for (; b != NONE && skip >= BLOCK_DATA; skip -= BLOCK_DATA)
		b = q->memory->blocks[b].next;
	for (; left && *count < VECTORS; skip = 0) {
		part = BLOCK_DATA - skip < left ? BLOCK_DATA - skip : left;
		vec[(*count)++] = (ngtcp2_vec){q->memory->blocks[b].data + skip, part};
		left -= part;
		b = q->memory->blocks[b].next;
	}
	*fin = left == 0 && s->flags & STREAM_FIN;
	return n;
}

void stream_sent(struct quic_row *r, uint32_t n, size_t len, bool fin)
{
	struct quic_stream *s = stream_at(r->q, n);

	s->sent += (uint32_t)len;
	s->flags |= STREAM_GIVEN;
	// The end is sent with the last octet, or not at all yet.
	if (s->sent == s->out.len && (fin || !(s->flags & STREAM_FIN)))
		unqueue_send(r, s);
}

void stream_blocked(struct quic_row *r, uint32_t n)
{
	struct quic_stream *s = stream_at(r->q, n);

	unqueue_send(r, s);
	s->flags |= STREAM_BLOCKED;
	r->q->counts.blocked++;
}

void stream_dead(struct quic_row *r, uint32_t n)
{
	unqueue_send(r, stream_at(r->q, n));
}

bool quic_write(struct quics *q, uint32_t c, uint32_t tag, const uint8_t *bytes, uint32_t len)
{
	struct quic_row *r = row_at(q, c);
	uint8_t front[LENGTH];
	struct quic_stream *s;

	if (r->state != ROW_LIVE || r->flags & ROW_SHUT)
		return false;
	s = stream_take(r);
	if (!s)
		return false;
	s->tag = tag;
	s->flags = STREAM_FIN | STREAM_OPEN;
	r->open_count++;
	bytes_put_be16(front, (uint16_t)len);
	if (!chain_add(q, &s->out, front, LENGTH) || !chain_add(q, &s->out, bytes, len)) {
		stream_give(r, s);
		return false;
	}
	if (r->wait == NONE)
		r->wait = number_of(q, s);
	if (r->flags & (ROW_COMPLETED | ROW_EARLY))
		streams_open(r);
	q->counts.held += s->id < 0;
	return true;
}

// --- requests

static uint32_t tag_of(const struct quics *q, const struct quic_stream *s)
{
	return (uint32_t)s->generation << TAG_BITS | number_of(q, s);
}

// The stream of a request of a connection, if it is still there.
static struct quic_stream *of_tag(const struct quics *q, uint32_t c, uint32_t tag)
{
	uint32_t n = tag & ((1u << TAG_BITS) - 1);
	struct quic_stream *s;

	if (n >= q->memory->stream_count)
		return NULL;
	s = stream_at(q, n);
	return s->c == c && tag_of(q, s) == tag ? s : NULL;
}

bool quic_answer(
	struct quics *q, uint32_t c, uint32_t tag, const uint8_t *bytes, uint32_t len, bool last)
{
	struct quic_row *r = row_at(q, c);
	struct quic_stream *s = of_tag(q, c, tag);
	uint8_t front[LENGTH];
	uint32_t before;

	if (r->state != ROW_LIVE || !s || s->flags & (STREAM_GONE | STREAM_FIN | STREAM_STOPPED))
		return true;
	before = s->out.len;
	bytes_put_be16(front, (uint16_t)len);
	if (!chain_add(q, &s->out, front, LENGTH) || !chain_add(q, &s->out, bytes, len)) {
		if (before == s->sent)
			quic_refuse(q, c, tag, QUIC_INTERNAL_ERROR);
		else
			r->flags |= ROW_MEMORY;
		return false;
	}
	if (last) {
		s->flags |= STREAM_FIN;
		stream_answered(r, s);
	}
	queue_send(r, s);
	return true;
}

void quic_refuse(struct quics *q, uint32_t c, uint32_t tag, uint64_t code)
{
	struct quic_row *r = row_at(q, c);
	struct quic_stream *s = of_tag(q, c, tag);

	if (r->state != ROW_LIVE || !s || s->flags & STREAM_GONE)
		return;
	unqueue_send(r, s);
	stream_answered(r, s);
	s->flags |= STREAM_STOPPED | STREAM_TOLD;
	if (compat_shutdown_stream(r->conn, s->id, code) != 0)
		r->flags |= ROW_MEMORY;
}

// --- the client's messages

static struct quic_stream *find_tag(struct quic_row *r, uint32_t tag)
{
	struct quic_stream *s;

	// The oldest first: it times out first.
	for (uint32_t n = r->first; n != NONE; n = s->next) {
		s = stream_at(r->q, n);
		if (s->tag == tag && s->flags & STREAM_OPEN)
			return s;
	}
	return NULL;
}

void quic_cancel(struct quics *q, uint32_t c, uint32_t tag)
{
	struct quic_row *r = row_at(q, c);
	struct quic_stream *s = r->state == ROW_FREE ? NULL : find_tag(r, tag);

	if (!s)
		return;
	stream_answered(r, s);
	if (!(s->flags & STREAM_GIVEN) && s->id < 0) {
		stream_give(r, s);
		return;
	}
	s->flags |= STREAM_CANCELLED;
	if (!q->cancel || !r->conn)
		return;
	unqueue_send(r, s);
	if (compat_shutdown_stream(r->conn, s->id, QUIC_REQUEST_CANCELLED) != 0)
		r->flags |= ROW_MEMORY;
}

bool quic_unheard(struct quics *q, uint32_t c, uint32_t *tag)
{
	struct quic_row *r = row_at(q, c);
	struct quic_stream *s;
	bool open;

	while (r->state != ROW_LIVE && r->state != ROW_FREE && r->first != NONE) {
		s = stream_at(q, r->first);
		open = s->flags & STREAM_OPEN;
		*tag = s->tag;
		stream_give(r, s);
		if (open)
			return true;
	}
	return false;
}

// --- callbacks of ngtcp2

int on_stream_open(ngtcp2_conn *conn, int64_t id, void *of)
{
	struct quic_row *r = of;
	struct quic_stream *s = stream_take(r);

	if (!s) {
		r->flags |= ROW_MEMORY;
		return NGTCP2_ERR_CALLBACK_FAILURE;
	}
	s->id = id;
	s->tag = tag_of(r->q, s);
	s->flags = STREAM_OPEN | STREAM_GIVEN;
	r->open_count++;
	r->q->counts.streams++;
	return ngtcp2_conn_set_stream_user_data(conn, id, handle_of(r->q, s));
}

int on_stream_data(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t offset,
	const uint8_t *octets, size_t len, void *of, void *handle)
{
	struct quic_row *r = of;
	struct quic_stream *s = of_handle(r, handle);

	(void)conn;
	(void)id;
	(void)offset;
	if (!s)
		return NGTCP2_ERR_CALLBACK_FAILURE;
	if (!chain_add(r->q, &s->in, octets, (uint32_t)len)) {
		r->flags |= ROW_MEMORY;
		return NGTCP2_ERR_CALLBACK_FAILURE;
	}
	if (r->q->server && !(r->flags & ROW_COMPLETED))
		s->flags |= STREAM_EARLY;
	if (flags & NGTCP2_STREAM_DATA_FLAG_FIN)
		s->flags |= STREAM_IN_FIN;
	queue_event(r, s);
	return 0;
}

int on_stream_close(
	ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t code, void *of, void *handle)
{
	struct quic_row *r = of;
	struct quic_stream *s = of_handle(r, handle);

	if (r->q->server && !ngtcp2_conn_is_local_stream(conn, id) && !r->q->faults.no_credit)
		ngtcp2_conn_extend_max_streams_bidi(conn, 1);
	if (!s)
		return 0;
	unqueue_send(r, s);
	s->flags |= STREAM_GONE;
	r->live -= !r->q->server;
	// STOP_SENDING of the peer is not reported otherwise.
	if (flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET &&
		!(s->flags & (STREAM_WAS_RESET | STREAM_STOPPED | STREAM_CANCELLED))) {
		s->flags |= STREAM_STOPPED | STREAM_STOP_EVENT;
		s->code = code;
		queue_event(r, s);
	}
	stream_settle(r, s);
	return 0;
}

int on_stream_reset(
	ngtcp2_conn *conn, int64_t id, uint64_t size, uint64_t code, void *of, void *handle)
{
	struct quic_row *r = of;
	struct quic_stream *s = of_handle(r, handle);

	(void)conn;
	(void)id;
	(void)size;
	if (!s)
		return 0;
	s->flags |= STREAM_RESET | STREAM_WAS_RESET;
	s->code = code;
	queue_event(r, s);
	return 0;
}

int on_acked(ngtcp2_conn *conn, int64_t id, uint64_t offset, uint64_t len, void *of, void *handle)
{
	struct quic_row *r = of;
	struct quic_stream *s = of_handle(r, handle);

	(void)conn;
	(void)id;
	(void)offset;
	if (!s || len > s->sent)
		return 0;
	chain_drop(r->q, &s->out, (uint32_t)len);
	s->sent -= (uint32_t)len;
	return 0;
}

int on_stream_window(ngtcp2_conn *conn, int64_t id, uint64_t most, void *of, void *handle)
{
	struct quic_row *r = of;
	struct quic_stream *s = of_handle(r, handle);

	(void)conn;
	(void)id;
	(void)most;
	if (!s || !(s->flags & STREAM_BLOCKED))
		return 0;
	s->flags &= ~(uint32_t)STREAM_BLOCKED;
	queue_send(r, s);
	return 0;
}

// ngtcp2 has forgotten all streams: their messages wait again, in their order.
int on_early_refused(ngtcp2_conn *conn, void *of)
{
	struct quic_row *r = of;
	struct quic_stream *s;
	uint32_t next;

	(void)conn;
	r->flags &= (uint16_t)~ROW_EARLY;
	for (uint32_t n = r->first; n != NONE; n = next) {
		s = stream_at(r->q, n);
		next = s->next;
		if (s->id < 0)
			break;
		unqueue_send(r, s);
		if (s->flags & STREAM_CANCELLED) {
			stream_give(r, s);
			continue;
		}
		s->id = -1;
		s->sent = 0;
		s->flags &= (uint16_t) ~(STREAM_EARLY | STREAM_GIVEN | STREAM_BLOCKED);
		r->q->counts.early_again++;
	}
	r->wait = r->first;
	r->live = 0;
	return 0;
}

// --- events

// Takes the next message of a stream. Returns false if it is incomplete.
static bool message_take(struct quic_row *r, struct quic_stream *s, uint32_t *len)
{
	struct quics *q = r->q;
	uint8_t *at = q->memory->message;

	if (s->in.len < LENGTH)
		return false;
	chain_copy(q, &s->in, at, LENGTH);
	*len = bytes_be16(at);
	if (s->in.len < LENGTH + *len)
		return false;
	chain_copy(q, &s->in, at, LENGTH + *len);
	chain_drop(q, &s->in, LENGTH + *len);
	if (!r->conn)
		return true;
	ngtcp2_conn_extend_max_offset(r->conn, LENGTH + *len);
	if (!(s->flags & (STREAM_IN_FIN | STREAM_GONE)) &&
		ngtcp2_conn_extend_max_stream_offset(r->conn, s->id, LENGTH + *len) != 0)
		r->flags |= ROW_MEMORY;
	return true;
}

// A server's faults at a request. Returns true if the owner does not get it.
static bool request_fault(struct quic_row *r, struct quic_stream *s)
{
	struct quics *q = r->q;
	const struct quic_faults *f = &q->faults;

	r->requests++;
	if (f->forget_after && r->requests >= f->forget_after) {
		r->flags |= ROW_FORGET;
		return true;
	}
	if (f->close_after && r->requests >= f->close_after) {
		r->flags |= ROW_SHUT;
		r->shut_code = f->close_code;
		return true;
	}
	if (!is_likely(q, f->reset))
		return false;
	quic_refuse(q, row_number(r), s->tag, f->reset_code);
	return true;
}

// The next event of a stream: 1 and it is in q; 0: there is none, the stream leaves the queue.
static int stream_event(struct quic_row *r, struct quic_stream *s, uint32_t *len)
{
	struct quics *q = r->q;
	bool late = s->flags & STREAM_CANCELLED;

	*len = 0;
	q->tag = s->tag;
	q->code = s->code;
	if (s->flags & STREAM_WRONG)
		return 0;
	if (message_take(r, s, len)) {
		q->last = s->flags & STREAM_IN_FIN && s->in.len == 0;
		q->early_message = s->flags & STREAM_EARLY;
		q->wrong = *len == 0 ? QUIC_ZERO : QUIC_EXTRA;
		if (*len == 0 || (q->server && s->flags & STREAM_HEARD))
			goto wrong;
		s->flags |= STREAM_HEARD;
		if (q->last) {
			s->flags |= STREAM_TOLD;
			if (!q->server)
				stream_answered(r, s);
		}
		if (q->server && request_fault(r, s))
			return -1;
		q->event = late ? QUIC_LATE : QUIC_MESSAGE;
		return 1;
	}
	*len = 0;
	if (s->flags & STREAM_RESET) {
		s->flags &= ~(uint32_t)STREAM_RESET;
		s->flags |= STREAM_TOLD;
		q->event = QUIC_RESET;
		stream_answered(r, s);
		return !late;
	}
	if (s->flags & STREAM_STOP_EVENT) {
		s->flags &= ~(uint32_t)STREAM_STOP_EVENT;
		q->event = QUIC_STOPPED;
		stream_answered(r, s);
		return !late;
	}
	if (!(s->flags & STREAM_IN_FIN) || s->flags & STREAM_TOLD)
		return 0;
	s->flags |= STREAM_TOLD;
	q->wrong = s->in.len ? QUIC_CUT : QUIC_EMPTY;
	if (s->in.len || !(s->flags & STREAM_HEARD))
		goto wrong;
	q->event = QUIC_ENDED;
	if (!q->server)
		stream_answered(r, s);
	return !late;
wrong:
	*len = 0;
	s->flags |= STREAM_WRONG;
	q->event = QUIC_WRONG;
	stream_answered(r, s);
	return !late;
}

static bool octets_event(
	struct quic_row *r, uint16_t flag, enum quic_event event, struct chain *ch, uint32_t *len)
{
	if (!(r->flags & flag))
		return false;
	r->flags &= (uint16_t)~flag;
	r->q->event = event;
	*len = ch->len;
	chain_copy(r->q, ch, r->q->memory->message + LENGTH, ch->len);
	chain_drop(r->q, ch, ch->len);
	return true;
}

bool quic_message(struct quics *q, uint32_t c, const uint8_t **bytes, uint32_t *len)
{
	struct quic_row *r = row_at(q, c);
	struct quic_stream *s;
	int got;

	*bytes = q->memory->message + LENGTH;
	*len = 0;
	if (r->state == ROW_FREE)
		return false;
	if (r->flags & ROW_READY_EVENT) {
		r->flags &= (uint16_t)~ROW_READY_EVENT;
		q->event = QUIC_READY;
		return true;
	}
	while (r->event_first != NONE && !(q->server && r->flags & (ROW_SHUT | ROW_FORGET))) {
		s = stream_at(q, r->event_first);
		got = stream_event(r, s, len);
		if (got > 0)
			return true;
		if (got < 0)
			continue;
		unqueue_event(r, s);
		stream_settle(r, s);
	}
	if (octets_event(r, ROW_TOKEN_EVENT, QUIC_TOKEN, &r->token, len) ||
		octets_event(r, ROW_TICKET_EVENT, QUIC_TICKET, &r->ticket, len))
		return true;
	if (!(r->flags & ROW_CLOSED_EVENT))
		return false;
	r->flags &= (uint16_t)~ROW_CLOSED_EVENT;
	q->event = QUIC_CLOSED;
	return true;
}

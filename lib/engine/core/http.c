// SPDX-License-Identifier: BSD-3-Clause
// Path: hot | cold (https_bytes, https_init). The thread that owns the connections.
#include "engine/core/http_internal.h"

#include "base/rand.h"

#define ALIGN         64
#define STREAMS_FIRST 100 // that a client opens before it knows the limit

static size_t aligned(size_t n)
{
	return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

// Octets of the table that the peer may fill. A client sends requests before it knows the settings
// of a server, and uses the whole of the table that all have at first.
static uint32_t table_of(uint16_t header_table, bool server)
{
	return server ? HPACK_TABLE : header_table;
}

static size_t conn_size(const struct https_shape *s)
{
	return sizeof(struct http_conn) +
	       hpack_bytes(table_of(s->header_table, s->server), s->server);
}

size_t https_bytes(const struct https_shape *s)
{
	return aligned(s->count * sizeof(uint32_t)) + aligned(s->live * conn_size(s)) +
	       aligned(s->streams * sizeof(struct http_stream)) + aligned(HTTP_OUT_ROOM) +
	       aligned(HTTP_BODY_MOST + 1) + aligned(2 * HPACK_TEXT);
}

void https_init(struct https *h, void *memory, const struct https_shape *s)
{
	uint8_t *at = memory;

	*h = (struct https){.of = memory,
		.conn_bytes = conn_size(s),
		.conn_free = s->live ? 0 : CONN_NONE,
		.stream_free = s->streams ? 0 : CONN_NONE,
		.stream_left = s->streams,
		.stream_reserve = s->streams / 4,
		.header_table = s->header_table,
		.bytes = https_bytes(s)};
	memset(h->of, 0xff, s->count * sizeof(uint32_t));
	at += aligned(s->count * sizeof(uint32_t));
	h->conns = at;
	at += aligned(s->live * conn_size(s));
	h->streams = (struct http_stream *)at;
	at += aligned(s->streams * sizeof(struct http_stream));
	h->out = at;
	h->body = at + aligned(HTTP_OUT_ROOM);
	h->text = h->body + aligned(HTTP_BODY_MOST + 1);
	for (uint32_t i = 0; i < s->live; i++)
		http_state_at(h, i)->next = i + 1 < s->live ? i + 1 : CONN_NONE;
	for (uint32_t i = 0; i < s->streams; i++)
		h->streams[i].next = i + 1 < s->streams ? i + 1 : CONN_NONE;
}

bool http_on(struct conns *cs, uint32_t c)
{
	struct https *h = cs->https;
	uint32_t i = h->conn_free;
	struct http_conn *hc;

	secure_on(cs, c);
	if (i == CONN_NONE)
		return false;
	hc = http_state_at(h, i);
	h->conn_free = hc->next;
	h->of[c] = i;
	*hc = (struct http_conn){.first = CONN_NONE,
		.last = CONN_NONE,
		.next = 1,
		.most = STREAMS_FIRST,
		.window = H2_WINDOW,
		.stream_window = H2_WINDOW,
		.block = TCP_NONE,
		.goaway = H2_STREAM_LAST,
		.resized = -1,
		.encoding = H2_FIRST};
	hpack_init(
		http_table_of(hc), table_of(h->header_table, http_is_server(h)), http_is_server(h));
	cs->secure->all[c].read.flags |= SECURE_HTTP;
	return true;
}

// --- streams

uint32_t *http_link_of(struct https *h, struct http_conn *hc, uint32_t id)
{
	uint32_t *at = &hc->first;

	while (*at != CONN_NONE && h->streams[*at].id != id)
		at = &h->streams[*at].next;
	return *at == CONN_NONE ? NULL : at;
}

struct http_stream *http_stream_add(struct https *h, struct http_conn *hc)
{
	uint32_t i = h->stream_free;
	struct http_stream *s;

	if (i == CONN_NONE)
		return NULL;
	s = &h->streams[i];
	h->stream_free = s->next;
	h->stream_left--;
	*s = (struct http_stream){.next = CONN_NONE, .body = TCP_NONE};
	if (hc->last == CONN_NONE)
		hc->first = i;
	else
		h->streams[hc->last].next = i;
	hc->last = i;
	hc->held++;
	return s;
}

void http_stream_open(struct http_conn *hc, struct http_stream *s, uint32_t id)
{
	s->id = id;
	s->window = hc->stream_window;
	hc->held--;
	hc->open++;
}

void http_stream_end(struct conns *cs, struct http_conn *hc, uint32_t *at)
{
	struct https *h = cs->https;
	uint32_t i = *at;
	struct http_stream *s = &h->streams[i];

	tcp_chain_drop(&cs->host, &s->body);
	hc->waiting -= (s->flags & STREAM_SENDS) != 0;
	hc->open -= s->id != 0;
	hc->held -= s->id == 0;
	*at = s->next;
	if (hc->last == i) // `next` is the first member
		hc->last = at == &hc->first ? CONN_NONE
		                            : (uint32_t)((struct http_stream *)at - h->streams);
	s->next = h->stream_free;
	h->stream_free = i;
	h->stream_left++;
}

void http_forget(struct conns *cs, uint32_t c)
{
	struct https *h = cs->https;
	struct http_conn *hc = http_state_of(cs, c);

	if (!hc)
		return;
	while (hc->first != CONN_NONE)
		http_stream_end(cs, hc, &hc->first);
	tcp_chain_drop(&cs->host, &hc->block);
	hc->next = h->conn_free;
	h->conn_free = h->of[c];
	h->of[c] = CONN_NONE;
}

bool http_waits(const struct conns *cs, uint32_t c)
{
	const struct http_conn *hc = cs->https ? http_state_of(cs, c) : NULL;

	return hc && hc->waiting;
}

// --- frames sent

void http_frame_send(struct conns *cs, uint32_t c, enum h2_type type, uint8_t flags, uint32_t id,
	const uint8_t *content, uint32_t len)
{
	uint8_t frame[H2_HEAD + 32];

	h2_put_head(frame, len, type, flags, id);
	if (len)
		memcpy(frame + H2_HEAD, content, len);
	secure_write(cs, c, frame, H2_HEAD + len);
}

void http_frame_send_32(
	struct conns *cs, uint32_t c, enum h2_type type, uint32_t id, uint32_t value)
{
	uint8_t content[4];

	bytes_put_be32(content, value);
	http_frame_send(cs, c, type, 0, id, content, sizeof(content));
}

static uint8_t *put_setting(uint8_t *at, enum h2_setting which, uint32_t value)
{
	bytes_put_be16(at, (uint16_t)which);
	bytes_put_be32(at + 2, value);
	return at + 6;
}

void http_begin(struct conns *cs, struct http_conn *hc, uint32_t c)
{
	struct https *h = cs->https;
	uint8_t settings[24], *at = settings;

	hc->flags |= HTTP_BEGUN;
	if (!http_is_server(h))
		secure_write(cs, c, (const uint8_t *)H2_PREFACE, H2_PREFACE_LEN);
	at = http_is_server(h) ? put_setting(at, H2_MAX_CONCURRENT_STREAMS, h->streams_most)
	                       : put_setting(at, H2_ENABLE_PUSH, 0);
	at = put_setting(at, H2_INITIAL_WINDOW_SIZE, h->window);
	if (h->header_table != HPACK_TABLE)
		at = put_setting(at, H2_HEADER_TABLE_SIZE, h->header_table);
	http_frame_send(cs, c, H2_SETTINGS, 0, 0, settings, (uint32_t)(at - settings));
	if (h->window > H2_WINDOW)
		http_frame_send_32(cs, c, H2_WINDOW_UPDATE, 0, h->window - H2_WINDOW);
}

void http_conn_error(struct conns *cs, struct http_conn *hc, uint32_t c, enum h2_error why)
{
	uint8_t content[8];

	if (cs->https->counts) {
		cs->https->counts->bad_frame++;
		cs->https->counts->error_sent[why]++;
	}
	bytes_put_be32(content, http_is_server(cs->https) && hc->next > 1 ? hc->next - 2 : 0);
	bytes_put_be32(content + 4, why);
	http_frame_send(cs, c, H2_GOAWAY, 0, 0, content, sizeof(content));
	secure_flush(cs, c);
	hc->flags |= HTTP_LEAVING;
	cs->secure->all[c].read.flags |= SECURE_BROKEN;
}

void http_shut(struct conns *cs, uint32_t c)
{
	struct http_conn *hc = http_state_of(cs, c);
	uint8_t content[8] = {0};

	if (hc && !(hc->flags & HTTP_LEAVING) && hc->flags & HTTP_BEGUN) {
		hc->flags |= HTTP_LEAVING;
		bytes_put_be32(content, hc->answered);
		http_frame_send(cs, c, H2_GOAWAY, 0, 0, content, sizeof(content));
	}
	secure_shut(cs, c);
}

// Sends as much of a content as both windows allow. Returns whether all of it was sent.
static bool content_flush(struct conns *cs, struct http_conn *hc, uint32_t c, struct http_stream *s)
{
	struct https *h = cs->https;

	while (s->body != TCP_NONE) {
		uint32_t len = tcp_chain_len(&cs->host, s->body);
		int32_t allowed = hc->window < s->window ? hc->window : s->window;
		bool all;

		if (allowed <= 0)
			return false;
		len = len < (uint32_t)allowed ? len : (uint32_t)allowed;
		len = len < H2_FRAME ? len : H2_FRAME;
		tcp_chain_peek(&cs->host, s->body, h->out + H2_HEAD, len);
		tcp_chain_consume(&cs->host, &s->body, len);
		all = s->body == TCP_NONE;
		h2_put_head(h->out, len, H2_DATA, all ? H2_END_STREAM : 0, s->id);
		if (!secure_write(cs, c, h->out, H2_HEAD + len)) {
			tcp_abort(&cs->host, &cs->all[c].tcp);
			return false;
		}
		hc->window -= (int32_t)len;
		s->window -= (int32_t)len;
	}
	return true;
}

void http_contents_flush(struct conns *cs, struct http_conn *hc, uint32_t c)
{
	struct https *h = cs->https;

	for (uint32_t *at = &hc->first; *at != CONN_NONE && hc->waiting;) {
		struct http_stream *s = &h->streams[*at];

		if (s->flags & STREAM_SENDS && content_flush(cs, hc, c, s)) {
			hc->waiting--;
			s->flags &= (uint8_t)~STREAM_SENDS;
			if (http_is_server(h)) {
				http_stream_end(cs, hc, at);
				continue;
			}
		}
		at = &s->next;
	}
}

// Sends a HEADERS frame of head octets at h->out, and a content. Returns false without memory.
static bool message_send(struct conns *cs, struct http_conn *hc, uint32_t c, struct http_stream *s,
	uint32_t head, const uint8_t *bytes, uint32_t len)
{
	struct https *h = cs->https;
	int32_t allowed = hc->window < s->window ? hc->window : s->window;

	if (len <= H2_FRAME && (int32_t)len <= allowed && !hc->waiting) {
		h2_put_head(h->out + head, len, H2_DATA, H2_END_STREAM, s->id);
		memcpy(h->out + head + H2_HEAD, bytes, len);
		hc->window -= (int32_t)len;
		return secure_write(cs, c, h->out, head + H2_HEAD + len);
	}
	if (!secure_write(cs, c, h->out, head) || !tcp_chain_add(&cs->host, &s->body, bytes, len))
		return false;
	if (content_flush(cs, hc, c, s))
		return true;
	if (h->counts)
		h->counts->flow_blocked++;
	hc->waiting++;
	s->flags |= STREAM_SENDS;
	return true;
}

static void encoding_next(struct http_conn *hc)
{
	hc->resized = -1;
	if (hc->encoding == H2_FIRST)
		hc->encoding = H2_INDEXED;
}

// Sends the request of a stream that was just opened. Returns false without memory, or if the
// message is too long.
static bool request_send(struct conns *cs, struct http_conn *hc, uint32_t c, struct http_stream *s,
	const uint8_t *bytes, uint32_t len)
{
	struct https *h = cs->https;
	uint32_t head = h2_request_write(h->request, (enum h2_encoding)hc->encoding, hc->resized,
		hc->next, bytes, len, h->out, HTTP_OUT_ROOM);

	if (head == 0)
		return false;
	http_stream_open(hc, s, hc->next);
	if (hc->measured == 0 && s->flags & STREAM_MEASURED)
		hc->measured = hc->next;
	hc->next += 2;
	encoding_next(hc);
	h->counts->header_bytes += head - H2_HEAD;
	if (h->request->get ? secure_write(cs, c, h->out, head)
			    : message_send(cs, hc, c, s, head, bytes, len))
		return true;
	tcp_abort(&cs->host, &cs->all[c].tcp); // the peer's table would miss the fields
	return false;
}

// Opens a stream for a message, or lets the message wait for one. Returns false without memory, or
// if the message is too long.
static bool request_take_up(
	struct conns *cs, struct http_conn *hc, uint32_t c, const uint8_t *bytes, uint32_t len)
{
	struct https *h = cs->https;
	bool waits = hc->open >= hc->most || hc->held;
	struct http_stream *s;
	uint32_t *at;

	if (waits && h2_request_write(h->request, H2_PLAIN, HPACK_TABLE, hc->next, bytes, len,
			     h->out, HTTP_OUT_ROOM) == 0)
		return false; // it would be too long later
	if (!(hc->flags & HTTP_BEGUN))
		http_begin(cs, hc, c);
	if (hc->next > H2_STREAM_LAST)
		return false;
	s = http_stream_add(h, hc);
	if (!s)
		return false;
	s->tag = cs->stream.tag;
	s->flags = cs->stream.measured ? STREAM_MEASURED : 0;
	h->counts->streams_limited += waits;
	if (waits ? tcp_chain_add(&cs->host, &s->body, bytes, len)
		  : request_send(cs, hc, c, s, bytes, len))
		return true;
	for (at = &hc->first; &h->streams[*at] != s;)
		at = &h->streams[*at].next;
	http_stream_end(cs, hc, at);
	return false;
}

void http_held_send(struct conns *cs, struct http_conn *hc, uint32_t c)
{
	struct https *h = cs->https;

	if (hc->flags & HTTP_LEAVING)
		return;
	for (uint32_t i = hc->first; i != CONN_NONE && hc->held && hc->open < hc->most;
		i = h->streams[i].next) {
		struct http_stream *s = &h->streams[i];
		uint32_t len;

		if (s->id)
			continue;
		len = tcp_chain_peek(&cs->host, s->body, h->body, HTTP_BODY_MOST);
		tcp_chain_drop(&cs->host, &s->body);
		if (!request_send(cs, hc, c, s, h->body, len))
			return;
	}
}

void http_status_send(
	struct conns *cs, struct http_conn *hc, uint32_t c, uint32_t *at, uint32_t status)
{
	struct https *h = cs->https;
	uint32_t id = h->streams[*at].id;
	uint32_t head = h2_answer_write(
		h->answer, H2_PLAIN, hc->resized, id, status, 0, h->out, HTTP_OUT_ROOM);

	hc->resized = -1;
	secure_write(cs, c, h->out, head);
	http_stream_end(cs, hc, at);
}

// Draws whether a request has a fault of this share.
static bool is_turn(struct https *h, uint32_t share)
{
	h->random = rand_hash(h->random + share);
	return (uint32_t)h->random < share;
}

static bool answer_send(
	struct conns *cs, struct http_conn *hc, uint32_t c, const uint8_t *bytes, uint32_t len)
{
	struct https *h = cs->https;
	uint32_t *at = http_link_of(h, hc, cs->stream.stream), head;
	struct http_stream *s;
	bool done;

	if (!at) // the client has cancelled it
		return true;
	s = &h->streams[*at];
	hc->answered = s->id > hc->answered ? s->id : hc->answered;
	if (h->faults.reset && is_turn(h, h->faults.reset)) {
		http_frame_send_32(cs, c, H2_RST_STREAM, s->id, H2_INTERNAL_ERROR);
		http_stream_end(cs, hc, at);
		return true;
	}
	if (h->faults.refused && is_turn(h, h->faults.refused)) {
		http_status_send(cs, hc, c, at, h->faults.refusal);
		return true;
	}
	if (h->faults.untyped && is_turn(h, h->faults.untyped)) {
		static const struct h2_answer untyped;

		head = h2_answer_write(
			&untyped, H2_PLAIN, hc->resized, s->id, 200, len, h->out, HTTP_OUT_ROOM);
		hc->resized = -1;
	} else {
		head = h2_answer_write(h->answer, (enum h2_encoding)hc->encoding, hc->resized,
			s->id, 200, len, h->out, HTTP_OUT_ROOM);
		encoding_next(hc);
	}
	done = message_send(cs, hc, c, s, head, bytes, len);
	if (done && !(s->flags & STREAM_SENDS))
		http_stream_end(cs, hc, at);
	return done;
}

bool http_write(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len)
{
	struct http_conn *hc = http_state_of(cs, c);

	if (!hc)
		return http_is_server(cs->https);
	return http_is_server(cs->https) ? answer_send(cs, hc, c, bytes, len)
	                                 : request_take_up(cs, hc, c, bytes, len);
}

void http_cancel(struct conns *cs, uint32_t c, uint32_t tag)
{
	struct https *h = cs->https;
	struct http_conn *hc = http_state_of(cs, c);
	uint32_t *at;

	if (!hc)
		return;
	for (at = &hc->first; *at != CONN_NONE && h->streams[*at].tag != tag;)
		at = &h->streams[*at].next;
	if (*at == CONN_NONE)
		return;
	if (h->streams[*at].id) {
		h->counts->cancelled++;
		http_frame_send_32(cs, c, H2_RST_STREAM, h->streams[*at].id, H2_CANCEL);
	}
	http_stream_end(cs, hc, at);
	http_held_send(cs, hc, c);
}

bool http_unheard(struct conns *cs, uint32_t c, uint32_t *tag)
{
	struct https *h = cs->https;
	struct http_conn *hc = http_state_of(cs, c);

	if (!hc)
		return false;
	for (uint32_t *at = &hc->first; *at != CONN_NONE; at = &h->streams[*at].next)
		if (h->streams[*at].id > hc->goaway || h->streams[*at].id == 0) {
			*tag = h->streams[*at].tag;
			h->counts->goaway_refused++;
			http_stream_end(cs, hc, at);
			return true;
		}
	return false;
}

void http_end(struct conns *cs, uint32_t c)
{
	http_forget(cs, c);
	secure_forget(cs, c);
}

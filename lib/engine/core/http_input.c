// SPDX-License-Identifier: BSD-3-Clause
// The frames that a peer of HTTP/2 sends. Path: hot. The thread that owns the connections.
#include "engine/core/http_internal.h"

#define BLOCK_MOST    (2 * H2_FRAME) // octets of a header block in several frames
#define QUEUED_MOST   (4 * H2_FRAME) // octets that may wait when a frame asks for an answer
#define OWED_MOST     1000           // such frames, while more octets wait and the peer reads none
#define SETTINGS_MOST 32             // of a frame: each may change all streams
// Frames that bring nothing: so many at once, and one more in each IDLE_US.
#define IDLE_MOST 1000
#define IDLE_US   1000

// A frame.
struct arrived {
	uint32_t type, flags, id, len;
	const uint8_t *content;
	const uint8_t **message; // of the caller of http_message
	uint32_t *message_len;
};

static bool event(
	struct conns *cs, enum stream_event what, const struct http_stream *s, struct arrived *a)
{
	cs->stream.event = what;
	cs->stream.tag = s ? s->tag : 0;
	cs->stream.stream = s ? s->id : 0;
	if (s)
		cs->stream.measured = s->flags & STREAM_MEASURED;
	*a->message = cs->https->body;
	*a->message_len = 0;
	return true;
}

// The end of an answer to a message that was cancelled. Path: client.
static bool late(struct conns *cs, const struct http_conn *hc, struct arrived *a)
{
	cs->stream.measured = hc->measured && a->id >= hc->measured;
	return a->flags & H2_END_STREAM && event(cs, STREAM_LATE, NULL, a);
}

// Removes the padding. Returns false if it is longer than the frame.
static bool unpad(struct arrived *a)
{
	uint32_t pad;

	if (!(a->flags & H2_PADDED))
		return true;
	if (a->len < 1 || (pad = a->content[0]) > a->len - 1)
		return false;
	a->content++;
	a->len -= 1 + pad;
	return true;
}

// The answer to a stream violates the protocol.
static bool stream_error(
	struct conns *cs, struct http_conn *hc, uint32_t c, uint32_t *at, struct arrived *a)
{
	struct https *h = cs->https;

	http_frame_send_32(cs, c, H2_RST_STREAM, h->streams[*at].id, H2_PROTOCOL_ERROR);
	event(cs, STREAM_WRONG, &h->streams[*at], a);
	cs->stream.wrong = "its stream violates HTTP/2";
	if (h->counts) {
		h->counts->bad_frame++;
		h->counts->error_sent[H2_PROTOCOL_ERROR]++;
	}
	http_stream_end(cs, hc, at);
	return !http_is_server(h);
}

// Takes the content of a stream: its last part is `bytes`.
static void content_take(struct conns *cs, struct http_stream *s, const uint8_t *bytes,
	uint32_t len, struct arrived *a)
{
	struct https *h = cs->https;
	uint32_t before;

	if (len)
		*a->message = bytes;
	*a->message_len = len;
	if (s->body == TCP_NONE)
		return;
	before = tcp_chain_peek(&cs->host, s->body, h->body, HTTP_BODY_MOST);
	if (len)
		memcpy(h->body + before, bytes, len);
	*a->message = h->body;
	*a->message_len = before + len;
}

// Does the content differ from the length that was announced (RFC 9113 section 8.1.1)? Its last
// part has `len` octets.
static bool length_differs(const struct conns *cs, const struct http_stream *s, uint32_t len)
{
	if (s->body != TCP_NONE)
		len += tcp_chain_len(&cs->host, s->body);
	return s->length && s->length - 1 != len;
}

// The answer comes before the content that it answers, which is not wanted then. Path: client.
static void content_cut(struct conns *cs, struct http_conn *hc, struct http_stream *s)
{
	tcp_chain_drop(&cs->host, &s->body);
	s->flags = (uint8_t)((s->flags & ~STREAM_SENDS) | STREAM_CUT);
	hc->waiting--;
}

// An answer is complete. Path: client.
static bool answer_take(struct conns *cs, struct http_conn *hc, uint32_t c, uint32_t *at,
	const uint8_t *bytes, uint32_t len, struct arrived *a)
{
	struct https *h = cs->https;
	struct http_stream *s = &h->streams[*at];
	bool is_good = s->status == 200 && s->flags & STREAM_TYPED;

	if (s->status == 200 && length_differs(cs, s, len))
		return stream_error(cs, hc, c, at, a);
	event(cs, is_good ? STREAM_MESSAGE : STREAM_REFUSED, s, a);
	cs->stream.wrong =
		s->status == 200 ? "its answer has a wrong type" : "its answer has an HTTP error";
	if (s->flags & STREAM_SENDS)
		content_cut(cs, hc, s);
	if (s->flags & STREAM_CUT) // or the server would wait for the rest
		http_frame_send_32(cs, c, H2_RST_STREAM, s->id, H2_CANCEL);
	content_take(cs, s, bytes, len, a);
	h->counts->status[h2_status_place(s->status)]++;
	h->counts->wrong_type += s->status == 200 && !is_good;
	http_stream_end(cs, hc, at);
	return true;
}

// A request is complete. Path: server.
static bool request_take(struct conns *cs, struct http_conn *hc, uint32_t c, uint32_t *at,
	const uint8_t *bytes, uint32_t len, struct arrived *a)
{
	struct https *h = cs->https;
	struct http_stream *s = &h->streams[*at];

	if (s->status == HPACK_POST && length_differs(cs, s, len))
		return stream_error(cs, hc, c, at, a);
	event(cs, STREAM_MESSAGE, s, a);
	content_take(cs, s, bytes, len, a);
	tcp_chain_drop(&cs->host, &s->body);
	s->flags |= STREAM_ENDED;
	if (++hc->heard == h->faults.goaway) {
		uint8_t content[8] = {0};

		bytes_put_be32(content, s->id);
		http_frame_send(cs, c, H2_GOAWAY, 0, 0, content, sizeof(content));
		hc->flags |= HTTP_LEAVING;
		hc->goaway = s->id;
	}
	return true;
}

static bool content_end(struct conns *cs, struct http_conn *hc, uint32_t c, uint32_t *at,
	const uint8_t *bytes, uint32_t len, struct arrived *a)
{
	return http_is_server(cs->https) ? request_take(cs, hc, c, at, bytes, len, a)
	                                 : answer_take(cs, hc, c, at, bytes, len, a);
}

// Is the id of a stream that neither end has opened?
static bool is_idle(const struct http_conn *hc, uint32_t id)
{
	return id == 0 || id % 2 == 0 || id >= hc->next;
}

// Gives octets back to the peer's window when half of it was used. Returns false if the peer sent
// more than it holds.
static bool window_give(struct conns *cs, struct http_conn *hc, uint32_t c, uint32_t len)
{
	uint32_t most = cs->https->window > H2_WINDOW ? cs->https->window : H2_WINDOW;

	hc->taken += len;
	if (hc->taken > most)
		return false;
	if (hc->taken > most / 2) {
		http_frame_send_32(cs, c, H2_WINDOW_UPDATE, 0, hc->taken);
		hc->taken = 0;
	}
	return true;
}

static bool take_data(struct conns *cs, struct http_conn *hc, uint32_t c, struct arrived *a)
{
	struct https *h = cs->https;
	uint32_t *at = http_link_of(h, hc, a->id), whole = a->len;
	struct http_stream *s;
	bool fits = window_give(cs, hc, c, whole);

	if (!fits || is_idle(hc, a->id) || !unpad(a)) {
		http_conn_error(cs, hc, c, fits ? H2_PROTOCOL_ERROR : H2_FLOW_CONTROL_ERROR);
		return false;
	}
	if (!at)
		return !http_is_server(h) && late(cs, hc, a);
	s = &h->streams[*at];
	if (s->status == 0 || s->flags & STREAM_ENDED)
		return stream_error(cs, hc, c, at, a);
	if (s->flags & STREAM_SENDS)
		content_cut(cs, hc, s);
	if (tcp_chain_len(&cs->host, s->body) + a->len > HTTP_BODY_MOST)
		return stream_error(cs, hc, c, at, a);
	if (a->flags & H2_END_STREAM)
		return content_end(cs, hc, c, at, a->content, a->len, a);
	if (!tcp_chain_add(&cs->host, &s->body, a->content, a->len))
		return stream_error(cs, hc, c, at, a);
	// The window of a stream holds the longest message; padding must not exhaust it.
	s->taken += whole;
	if (s->taken > H2_WINDOW / 2) {
		http_frame_send_32(cs, c, H2_WINDOW_UPDATE, a->id, s->taken);
		s->taken = 0;
	}
	return false;
}

// The fields of a header block that matter.
struct fields {
	uint32_t status, method, length;
	bool typed;
	bool is_ours;         // server: the path is the right one
	uint32_t message_len; // server: octets of the path's message, in https.body
};

// Finds the message in the path of a request. Path: server.
static void path_take(const struct https *h, const struct hpack_field *f, struct fields *to)
{
	uint32_t path = h->path_len, variable = h->variable_len;
	const uint8_t *at = f->text + path, *end = f->text + f->len;

	to->is_ours = f->len >= path && memcmp(f->text, h->path, path) == 0 &&
	              (f->len == path || *at == (variable ? h->variable[-1] : '?'));
	while (to->is_ours && at < end) { // each parameter follows "?" or "&"
		const uint8_t *from = ++at;

		while (at < end && *at != '&')
			at++;
		if ((size_t)(at - from) >= variable && memcmp(from, h->variable, variable) == 0)
			to->message_len = h2_base64url_read(from + variable,
				(uint32_t)((size_t)(at - from) - variable), h->body,
				HTTP_BODY_MOST);
	}
}

// Reads a header block. Returns false if it is wrong.
static bool block_read(struct https *h, struct http_conn *hc, const uint8_t *bytes, uint32_t len,
	struct fields *to)
{
	struct hpack_block b = {.table = http_table_of(hc),
		.at = bytes,
		.end = bytes + len,
		.media = h->media,
		.media_len = h->media_len,
		.scratch = h->text};
	struct hpack_field f;
	int got;

	*to = (struct fields){0};
	if (h->counts)
		h->counts->header_bytes_received += len;
	while ((got = hpack_next(&b, &f)) == 1) {
		if (f.name == HPACK_STATUS)
			to->status = f.code;
		else if (f.name == HPACK_CONTENT_TYPE)
			to->typed = f.code;
		else if (f.name == HPACK_METHOD)
			to->method = f.code;
		else if (f.name == HPACK_LENGTH)
			to->length = f.code;
		else if (f.name == HPACK_PATH && http_is_server(h))
			path_take(h, &f, to);
	}
	return got == 0;
}

// The header block of an answer, or its trailers. Path: client.
static bool answer_begin(struct conns *cs, struct http_conn *hc, uint32_t c, const struct fields *f,
	struct arrived *a)
{
	struct https *h = cs->https;
	uint32_t *at = http_link_of(h, hc, a->id);
	bool ends = a->flags & H2_END_STREAM;
	struct http_stream *s;

	if (is_idle(hc, a->id)) {
		http_conn_error(cs, hc, c, H2_PROTOCOL_ERROR);
		return false;
	}
	if (!at)
		return late(cs, hc, a);
	s = &h->streams[*at];
	if (s->status == 0 && f->status / 100 == 1 && !ends)
		return false; // the final one follows
	if (s->status ? !ends : f->status < 200)
		return stream_error(cs, hc, c, at, a);
	if (s->status == 0) {
		s->status = (uint16_t)f->status;
		s->length = f->length;
		s->flags |= f->typed ? STREAM_TYPED : 0;
	}
	return ends && answer_take(cs, hc, c, at, NULL, 0, a);
}

// The status that refuses a request; 0: it is good. Path: server.
static uint32_t refusal_of(const struct fields *f, const struct arrived *a)
{
	if (!f->is_ours)
		return 404;
	if (f->method == HPACK_METHOD_OTHER)
		return 405;
	if (f->method == HPACK_GET)
		return f->message_len ? 0 : 400;
	if (!f->typed)
		return 415;
	return a->flags & H2_END_STREAM ? 400 : 0;
}

// Does it have many streams while few are left for others? Path: server.
static bool takes_all(const struct https *h, const struct http_conn *hc)
{
	return h->stream_left < h->stream_reserve && hc->open > h->streams_most / 2;
}

// The header block of a request, or its trailers. Path: server.
static bool request_begin(struct conns *cs, struct http_conn *hc, uint32_t c,
	const struct fields *f, struct arrived *a)
{
	struct https *h = cs->https;
	uint32_t *at = http_link_of(h, hc, a->id), status;
	struct http_stream *s;

	if (at && a->flags & H2_END_STREAM && !(h->streams[*at].flags & STREAM_ENDED))
		return request_take(cs, hc, c, at, NULL, 0, a);
	if (at || a->id % 2 == 0 || a->id < hc->next) {
		http_conn_error(cs, hc, c, H2_PROTOCOL_ERROR);
		return false;
	}
	hc->next = a->id + 2;
	if (a->id > hc->goaway)
		return false;
	if (takes_all(h, hc)) {
		http_conn_error(cs, hc, c, H2_ENHANCE_YOUR_CALM);
		return false;
	}
	status = refusal_of(f, a);
	s = hc->open < h->streams_most ? http_stream_add(h, hc) : NULL;
	if ((!s || status) && cs->all[c].tcp.queued > QUEUED_MOST) { // it reads no refusals
		http_conn_error(cs, hc, c, H2_ENHANCE_YOUR_CALM);
		return false;
	}
	if (!s) {
		http_frame_send_32(cs, c, H2_RST_STREAM, a->id, H2_REFUSED_STREAM);
		return false;
	}
	http_stream_open(hc, s, a->id);
	s->status = (uint16_t)f->method;
	s->length = f->length;
	at = http_link_of(h, hc, a->id);
	if (status) {
		http_status_send(cs, hc, c, at, status);
		if (!(a->flags & H2_END_STREAM)) // RFC 9113 section 8.1: the rest is not needed
			http_frame_send_32(cs, c, H2_RST_STREAM, a->id, H2_NO_ERROR);
		return false;
	}
	if (f->method != HPACK_GET)
		return false;
	if (a->flags & H2_END_STREAM)
		return request_take(cs, hc, c, at, h->body, f->message_len, a);
	if (!tcp_chain_add(&cs->host, &s->body, h->body, f->message_len))
		return stream_error(cs, hc, c, at, a);
	return false;
}

static bool take_block(struct conns *cs, struct http_conn *hc, uint32_t c, struct arrived *a)
{
	struct https *h = cs->https;
	struct fields f;

	if (!block_read(h, hc, a->content, a->len, &f)) {
		http_conn_error(cs, hc, c, H2_COMPRESSION_ERROR);
		return false;
	}
	return http_is_server(h) ? request_begin(cs, hc, c, &f, a) : answer_begin(cs, hc, c, &f, a);
}

// Takes a part of a header block, and reads the block when it is complete.
static bool take_headers(struct conns *cs, struct http_conn *hc, uint32_t c, struct arrived *a)
{
	struct https *h = cs->https;
	uint32_t before;

	if (a->type == H2_HEADERS) {
		if (a->id == 0 || !unpad(a) || (a->flags & H2_HAS_PRIORITY && a->len < 5)) {
			http_conn_error(cs, hc, c, H2_PROTOCOL_ERROR);
			return false;
		}
		if (a->flags & H2_HAS_PRIORITY) {
			a->content += 5;
			a->len -= 5;
		}
		if (a->flags & H2_END_HEADERS)
			return take_block(cs, hc, c, a);
		hc->block_of = a->id;
		hc->block_flags = (uint8_t)a->flags;
	} else if (hc->block_of == 0) {
		http_conn_error(cs, hc, c, H2_PROTOCOL_ERROR);
		return false;
	}
	before = tcp_chain_len(&cs->host, hc->block);
	if (before + a->len > BLOCK_MOST ||
		!tcp_chain_add(&cs->host, &hc->block, a->content, a->len)) {
		http_conn_error(cs, hc, c, H2_ENHANCE_YOUR_CALM);
		return false;
	}
	if (!(a->flags & H2_END_HEADERS))
		return false;
	a->flags = hc->block_flags;
	a->len = tcp_chain_peek(&cs->host, hc->block, h->out, BLOCK_MOST);
	a->content = h->out;
	tcp_chain_drop(&cs->host, &hc->block);
	hc->block_of = 0;
	return take_block(cs, hc, c, a);
}

static bool take_reset(struct conns *cs, struct http_conn *hc, uint32_t c, struct arrived *a)
{
	struct https *h = cs->https;
	uint32_t *at = http_link_of(h, hc, a->id), code;

	if (a->len != 4 || is_idle(hc, a->id)) {
		http_conn_error(cs, hc, c, a->len != 4 ? H2_FRAME_SIZE_ERROR : H2_PROTOCOL_ERROR);
		return false;
	}
	if (!at)
		return false;
	code = bytes_be32(a->content);
	event(cs, STREAM_RESET, &h->streams[*at], a);
	cs->stream.may_repeat = code == H2_REFUSED_STREAM;
	http_stream_end(cs, hc, at);
	if (h->counts)
		h->counts->rst_stream[h2_error_place(code)]++;
	return !http_is_server(h);
}

// The peer's table for our fields has another size.
static void table_resize(struct https *h, struct http_conn *hc, uint32_t size)
{
	uint32_t ours = http_is_server(h) ? h->answer->table : h->request->table;

	// The smallest of several sizes has to be announced, and a table may stay smaller than
	// allowed.
	if (size < ours) {
		hc->encoding = H2_PLAIN;
		hc->resized = 0;
	} else if (size < HPACK_TABLE && hc->encoding != H2_PLAIN &&
		   (hc->resized < 0 || size < (uint32_t)hc->resized)) {
		hc->resized = (int32_t)size;
	}
}

// Applies a setting of the peer. Returns H2_NO_ERROR, or why it is wrong.
static enum h2_error setting_take(
	struct https *h, struct http_conn *hc, uint32_t which, uint32_t value)
{
	int32_t more;

	switch (which) {
	case H2_HEADER_TABLE_SIZE:
		table_resize(h, hc, value);
		break;
	case H2_ENABLE_PUSH:
		if (value > http_is_server(h))
			return H2_PROTOCOL_ERROR;
		break;
	case H2_MAX_CONCURRENT_STREAMS:
		hc->most = value;
		break;
	case H2_INITIAL_WINDOW_SIZE:
		if (value > H2_WINDOW_MOST)
			return H2_FLOW_CONTROL_ERROR;
		more = (int32_t)value - hc->stream_window;
		hc->stream_window = (int32_t)value;
		for (uint32_t i = hc->first; i != CONN_NONE; i = h->streams[i].next)
			if (__builtin_add_overflow(
				    h->streams[i].window, more, &h->streams[i].window))
				return H2_FLOW_CONTROL_ERROR;
		break;
	case H2_MAX_FRAME_SIZE:
		if (value < H2_FRAME || value > 0xffffff)
			return H2_PROTOCOL_ERROR;
		break;
	default: // RFC 9113 section 6.5.2: unknown ones are ignored
		break;
	}
	return H2_NO_ERROR;
}

static void take_settings(struct conns *cs, struct http_conn *hc, uint32_t c, struct arrived *a)
{
	enum h2_error wrong = H2_NO_ERROR;

	if (a->id)
		wrong = H2_PROTOCOL_ERROR;
	else if (a->flags & H2_ACK ? a->len != 0 : a->len % 6 != 0)
		wrong = H2_FRAME_SIZE_ERROR;
	else if (a->len > SETTINGS_MOST * 6)
		wrong = H2_ENHANCE_YOUR_CALM;
	for (uint32_t n = 0; n < a->len && !wrong; n += 6)
		wrong = setting_take(
			cs->https, hc, bytes_be16(a->content + n), bytes_be32(a->content + n + 2));
	if (wrong) {
		http_conn_error(cs, hc, c, wrong);
		return;
	}
	if (a->flags & H2_ACK)
		return;
	hc->flags |= HTTP_SETTLED;
	http_frame_send(cs, c, H2_SETTINGS, H2_ACK, 0, NULL, 0);
	http_contents_flush(cs, hc, c);
}

static void take_window(struct conns *cs, struct http_conn *hc, uint32_t c, struct arrived *a)
{
	struct https *h = cs->https;
	uint32_t *at = a->id ? http_link_of(h, hc, a->id) : NULL, more;
	int32_t *window = a->id == 0 ? &hc->window : at ? &h->streams[*at].window : NULL;

	more = a->len == 4 ? bytes_be32(a->content) & H2_WINDOW_MOST : 0;
	if (more == 0 || (a->id && is_idle(hc, a->id))) {
		http_conn_error(cs, hc, c, a->len == 4 ? H2_PROTOCOL_ERROR : H2_FRAME_SIZE_ERROR);
		return;
	}
	if (window && __builtin_add_overflow(*window, (int32_t)more, window)) {
		http_conn_error(cs, hc, c, H2_FLOW_CONTROL_ERROR);
		return;
	}
	http_contents_flush(cs, hc, c);
}

static bool take_goaway(struct conns *cs, struct http_conn *hc, uint32_t c, struct arrived *a)
{
	struct https *h = cs->https;
	uint32_t last, code;

	if (a->len < 8 || a->id) {
		http_conn_error(cs, hc, c, a->id ? H2_PROTOCOL_ERROR : H2_FRAME_SIZE_ERROR);
		return false;
	}
	if (http_is_server(h))
		return false;
	last = bytes_be32(a->content) & H2_STREAM_LAST;
	code = bytes_be32(a->content + 4);
	hc->goaway = last < hc->goaway ? last : hc->goaway;
	h->counts->goaway[h2_error_place(code)] += !(hc->flags & HTTP_LEAVING);
	hc->flags |= HTTP_LEAVING;
	return event(cs, STREAM_LEAVING, NULL, a);
}

static void take_ping(struct conns *cs, struct http_conn *hc, uint32_t c, struct arrived *a)
{
	if (a->len != 8 || a->id)
		http_conn_error(cs, hc, c, a->id ? H2_PROTOCOL_ERROR : H2_FRAME_SIZE_ERROR);
	else if (!(a->flags & H2_ACK))
		http_frame_send(cs, c, H2_PING, H2_ACK, 0, a->content, 8);
}

// Does the peer read nothing, and ask for more and more answers? They would fill the memory.
static bool reads_nothing(struct http_conn *hc, const struct tcp *t, uint32_t type)
{
	if (type != H2_SETTINGS && type != H2_PING)
		return false;
	if (t->una != hc->una || t->queued <= QUEUED_MOST)
		hc->owed = 0;
	hc->una = t->una;
	return ++hc->owed > OWED_MOST;
}

static bool brings_nothing(const struct arrived *a)
{
	switch (a->type) {
	case H2_HEADERS:
	case H2_RST_STREAM:
	case H2_WINDOW_UPDATE:
	case H2_GOAWAY:
		return false;
	case H2_DATA:
		return a->len == 0 && !(a->flags & H2_END_STREAM);
	default:
		return true;
	}
}

// Does a client keep us busy with frames that bring nothing?
static bool never_rests(struct conns *cs, struct http_conn *hc, const struct arrived *a)
{
	uint64_t now = cs->host.now;

	if (!http_is_server(cs->https) || !brings_nothing(a))
		return false;
	hc->calm = (hc->calm > now ? hc->calm : now) + IDLE_US;
	return hc->calm > now + IDLE_MOST * IDLE_US;
}

// Handles a frame. Returns whether it brought an event.
static bool frame_take(struct conns *cs, struct http_conn *hc, uint32_t c, struct arrived *a)
{
	bool in_block = hc->block_of != 0;

	if ((in_block && (a->type != H2_CONTINUATION || a->id != hc->block_of)) ||
		(!(hc->flags & HTTP_SETTLED) && a->type != H2_SETTINGS)) {
		http_conn_error(cs, hc, c, H2_PROTOCOL_ERROR);
		return false;
	}
	if (reads_nothing(hc, &cs->all[c].tcp, a->type) || never_rests(cs, hc, a)) {
		http_conn_error(cs, hc, c, H2_ENHANCE_YOUR_CALM);
		return false;
	}
	switch (a->type) {
	case H2_DATA:
		return take_data(cs, hc, c, a);
	case H2_HEADERS:
	case H2_CONTINUATION:
		return take_headers(cs, hc, c, a);
	case H2_RST_STREAM:
		return take_reset(cs, hc, c, a);
	case H2_GOAWAY:
		return take_goaway(cs, hc, c, a);
	case H2_SETTINGS:
		take_settings(cs, hc, c, a);
		return false;
	case H2_WINDOW_UPDATE:
		take_window(cs, hc, c, a);
		return false;
	case H2_PING:
		take_ping(cs, hc, c, a);
		return false;
	case H2_PUSH_PROMISE:
		http_conn_error(cs, hc, c, H2_PROTOCOL_ERROR);
		return false;
	default: // PRIORITY, and types that are not known
		return false;
	}
}

// The framing of HTTP/2; a frame that is too long is cut behind its head.
static uint32_t frame_whole(const uint8_t *bytes, uint32_t len)
{
	uint32_t whole;

	if (len < H2_HEAD)
		return 0;
	whole = h2_len(bytes);
	return H2_HEAD + (whole <= H2_FRAME ? whole : 0);
}

static uint32_t preface_whole(const uint8_t *bytes, uint32_t len)
{
	(void)bytes;
	(void)len;
	return H2_PREFACE_LEN;
}

// Reads the preface of a client. Returns false if it is incomplete, or wrong.
static bool greet(struct conns *cs, struct http_conn *hc, uint32_t c)
{
	const uint8_t *bytes;
	uint32_t len;

	cs->framed = preface_whole;
	if (!secure_message(cs, c, &bytes, &len))
		return false;
	if (memcmp(bytes, H2_PREFACE, H2_PREFACE_LEN) != 0) {
		http_conn_error(cs, hc, c, H2_PROTOCOL_ERROR);
		return false;
	}
	hc->flags |= HTTP_GREETED;
	http_begin(cs, hc, c);
	return true;
}

static bool event_next(
	struct conns *cs, struct http_conn *hc, uint32_t c, const uint8_t **message, uint32_t *len)
{
	struct arrived a = {.message = message, .message_len = len};
	const uint8_t *frame;
	uint32_t n;

	if (http_is_server(cs->https) && !(hc->flags & HTTP_GREETED) && !greet(cs, hc, c))
		return false;
	cs->framed = frame_whole;
	while (!(secure_flags(cs, c) & SECURE_BROKEN) && secure_message(cs, c, &frame, &n)) {
		a.type = frame[3];
		a.flags = frame[4];
		a.id = bytes_be32(frame + 5) & H2_STREAM_LAST;
		a.content = frame + H2_HEAD;
		a.len = n - H2_HEAD;
		if (!(hc->flags & HTTP_BEGUN)) // a server may speak before there is a message
			http_begin(cs, hc, c);
		if (a.len != h2_len(frame))
			http_conn_error(cs, hc, c, H2_FRAME_SIZE_ERROR);
		else if (frame_take(cs, hc, c, &a))
			return true;
	}
	cs->host.view_len = 0;
	return false;
}

static bool http_message(struct conns *cs, uint32_t c, const uint8_t **message, uint32_t *len)
{
	struct http_conn *hc = http_state_of(cs, c);
	conn_framing framed = cs->framed;
	uint32_t fixed = cs->fixed;
	bool found;

	if (!hc) {
		cs->host.view_len = 0;
		return false;
	}
	cs->fixed = 0;
	found = event_next(cs, hc, c, message, len);
	if (!found && hc->held)
		http_held_send(cs, hc, c);
	cs->framed = framed;
	cs->fixed = fixed;
	return found;
}

const struct channel http_channel = {.on = http_on,
	.message = http_message,
	.write = http_write,
	.flush = secure_flush,
	.cancel = http_cancel,
	.unheard = http_unheard,
	.shut = http_shut,
	.forget = http_end};

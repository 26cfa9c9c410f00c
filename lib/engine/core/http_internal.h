// SPDX-License-Identifier: BSD-3-Clause
// The state of HTTP/2, for http.c, which keeps streams and sends, and http_input.c, which takes
// frames. Path: hot. The thread that owns the connections.
#pragma once

#include "engine/core/http.h"
#include "engine/core/secure.h"

#define HTTP_BODY_MOST 65535u         // octets of a message
#define HTTP_OUT_ROOM  (3 * H2_FRAME) // of https.out

enum http_flag {
	HTTP_SETTLED = 1, // the peer's settings came
	HTTP_BEGUN = 2,   // ours were sent
	HTTP_GREETED = 4, // server: the client's preface came
	HTTP_LEAVING = 8, // GOAWAY was sent, or received
};
enum stream_flag {
	STREAM_TYPED = 1,     // the answer has the right type
	STREAM_SENDS = 2,     // its content waits for a window
	STREAM_ENDED = 4,     // the peer sends no more
	STREAM_CUT = 8,       // our content will not be sent to its end
	STREAM_MEASURED = 16, // client: its message is of the measured part
};

struct http_stream {
	uint32_t next; // of the connection, or free
	uint32_t id;   // 0: the message waits for the peer's limit of streams
	uint32_t tag;
	uint32_t body;   // chain: received so far, waiting for a window, or the message that waits
	int32_t window;  // octets that the peer takes
	uint32_t taken;  // octets received that were not given back to the peer's window
	uint32_t length; // content-length of the peer's message, plus 1; 0: not announced
	uint16_t status; // client: of the answer; 0: not known yet. Server: enum hpack_method
	uint8_t flags;   // enum stream_flag
};

// Its table follows.
struct http_conn {
	uint64_t calm;         // server: us; frames that bring nothing move it on
	uint32_t first, last;  // streams, in the order of their opening
	uint32_t next;         // id of the next stream; server: the lowest that it may have
	uint32_t open, most;   // streams; most: that the peer allows
	uint32_t held;         // messages that wait for it, behind the open streams
	uint32_t measured;     // client: the first stream of the measured part; 0: none yet
	int32_t window;        // octets that the peer takes, over all streams
	int32_t stream_window; // of a new stream
	uint32_t taken;        // octets received that were not given back to the peer's window
	uint32_t block;        // chain: parts of a header block
	uint32_t block_of;     // its stream; 0: there is none
	uint32_t goaway;       // last stream that the server handles
	uint32_t heard;        // server: requests
	uint32_t answered;     // server: the last stream that has an answer
	uint32_t owed, una; // frames that ask for an answer, while the peer reads nothing; tcp.una
	int32_t resized;    // size of our table at the peer, to be announced; -1: none
	uint32_t waiting;   // streams with STREAM_SENDS
	uint8_t block_flags;
	uint8_t flags;    // enum http_flag
	uint8_t encoding; // enum h2_encoding
};

static inline struct http_conn *http_state_at(const struct https *h, uint32_t i)
{
	return (struct http_conn *)(h->conns + i * h->conn_bytes);
}

static inline struct http_conn *http_state_of(const struct conns *cs, uint32_t c)
{
	const struct https *h = cs->https;

	return h->of[c] == CONN_NONE ? NULL : http_state_at(h, h->of[c]);
}

static inline struct hpack *http_table_of(struct http_conn *hc)
{
	return (struct hpack *)(hc + 1);
}

static inline bool http_is_server(const struct https *h)
{
	return h->answer != NULL;
}

// Returns where the number of a stream is linked; NULL: there is no such stream.
uint32_t *http_link_of(struct https *h, struct http_conn *hc, uint32_t id);
// Adds a stream that has no id yet. Returns NULL without memory.
struct http_stream *http_stream_add(struct https *h, struct http_conn *hc);
void http_stream_open(struct http_conn *hc, struct http_stream *s, uint32_t id);
// at: where it is linked.
void http_stream_end(struct conns *cs, struct http_conn *hc, uint32_t *at);

// Send a frame with a short content.
void http_frame_send(struct conns *cs, uint32_t c, enum h2_type type, uint8_t flags, uint32_t id,
	const uint8_t *content, uint32_t len);
void http_frame_send_32(
	struct conns *cs, uint32_t c, enum h2_type type, uint32_t id, uint32_t value);
// Sends our preface, settings, and the window of the connection.
void http_begin(struct conns *cs, struct http_conn *hc, uint32_t c);
// Answers a stream with a status alone, and ends it.
void http_status_send(
	struct conns *cs, struct http_conn *hc, uint32_t c, uint32_t *at, uint32_t status);
// The peer violated the protocol: the connection carries no more.
void http_conn_error(struct conns *cs, struct http_conn *hc, uint32_t c, enum h2_error why);
// Send contents that waited for a window, and messages that waited for the limit of streams.
void http_contents_flush(struct conns *cs, struct http_conn *hc, uint32_t c);
void http_held_send(struct conns *cs, struct http_conn *hc, uint32_t c);

// The channel's functions. http_write is for the message cs->stream.tag, or the stream
// cs->stream.stream; a server's answer to a stream that is gone is dropped.
bool http_on(struct conns *cs, uint32_t c);
bool http_write(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len);
void http_cancel(struct conns *cs, uint32_t c, uint32_t tag);
bool http_unheard(struct conns *cs, uint32_t c, uint32_t *tag);
void http_shut(struct conns *cs, uint32_t c);
void http_end(struct conns *cs, uint32_t c);

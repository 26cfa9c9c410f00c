// SPDX-License-Identifier: BSD-3-Clause
// Path: hot. The worker's own thread.
#include "engine/core/worker/worker_rude.h"

#include "engine/core/secure.h"
#include "engine/core/worker/worker_conn.h"

#define TURN_US      5000 // between two turns of a client
#define LATER_US     1000 // until a turn that found none left in its pass
#define TURN_BYTES   2048 // written in a turn, and the rest of a request
#define QUEUED       1024 // octets that wait for the server: no turn
#define STREAMS_MOST 1000 // unless the server allows fewer
#define SETTING      6    // octets
#define FLAGS_AT     4    // of a frame
#define FIELD_VALUE  60

uint32_t worker_rude_framed(const uint8_t *bytes, uint32_t len)
{
	(void)bytes;
	return len;
}

// --- frames ---

// Puts the request of the next stream. without: flags that it lacks; then it has no content.
static uint32_t put_request(
	struct worker_behave *b, struct conn *of, uint8_t without, uint8_t *to, uint32_t room)
{
	const uint8_t *message = b->cs.message + CONN_LENGTH;
	uint32_t len = worker_conn_uncounted(b->wc, &b->cs, b->asked++);
	uint32_t stream = 2 * of->asked + 1, head;

	if (len == 0)
		return 0;
	head = h2_request_write(b->request, H2_PLAIN, -1, stream, message, len, to, room);
	if (head == 0)
		return 0;
	to[FLAGS_AT] &= (uint8_t)~without;
	if (b->request->get || without)
		return head;
	if (H2_HEAD + len > room - head)
		return 0;
	h2_put_head(to + head, len, H2_DATA, H2_END_STREAM, stream);
	memcpy(to + head + H2_HEAD, message, len);
	return head + H2_HEAD + len;
}

static uint32_t put_cancelled(struct worker_behave *b, struct conn *of, uint8_t *to, uint32_t room)
{
	uint32_t len = put_request(b, of, 0, to, room);

	if (len == 0 || room - len < H2_HEAD + 4)
		return 0;
	h2_put_head(to + len, 4, H2_RST_STREAM, 0, 2 * of->asked + 1);
	bytes_put_be32(to + len + H2_HEAD, H2_CANCEL);
	return len + H2_HEAD + 4;
}

static uint32_t put_settings(uint8_t *to, uint32_t room)
{
	if (room < 2 * H2_HEAD + 8)
		return 0;
	h2_put_head(to, 0, H2_SETTINGS, 0, 0);
	h2_put_head(to + H2_HEAD, 8, H2_PING, 0, 0);
	memset(to + 2 * H2_HEAD, 0, 8);
	return 2 * H2_HEAD + 8;
}

// A further field of the header block of the first stream.
static uint32_t put_field(uint8_t *to, uint32_t room)
{
	static const uint8_t field[] = {0, 1, 'a', FIELD_VALUE}; // literal, enters no table

	if (room < H2_HEAD + sizeof(field) + FIELD_VALUE)
		return 0;
	h2_put_head(to, sizeof(field) + FIELD_VALUE, H2_CONTINUATION, 0, 1);
	memcpy(to + H2_HEAD, field, sizeof(field));
	memset(to + H2_HEAD + sizeof(field), 'a', FIELD_VALUE);
	return H2_HEAD + sizeof(field) + FIELD_VALUE;
}

// Puts the next frames of a client. Returns their length; 0: there are none, or they exceed room.
static uint32_t put(struct worker_behave *b, struct conn *of, uint8_t *to, uint32_t room)
{
	switch (b->kinds[of->seat]) {
	case TCP_H2_STREAMS_OPEN:
		return of->asked < of->open ? put_request(b, of, H2_END_STREAM, to, room) : 0;
	case TCP_H2_WINDOW_ZERO:
		return of->asked < of->open ? put_request(b, of, 0, to, room) : 0;
	case TCP_H2_RAPID_RESET:
		return put_cancelled(b, of, to, room);
	case TCP_H2_SETTINGS_FLOOD:
		return put_settings(to, room);
	case TCP_H2_CONTINUATION_FLOOD:
		return of->asked ? put_field(to, room)
		                 : put_request(b, of, H2_END_STREAM | H2_END_HEADERS, to, room);
	default:
		return 0;
	}
}

// --- a client's life ---

void worker_rude_turn(struct worker_behave *b, uint32_t c)
{
	struct conn *of = &b->cs.all[c];
	uint32_t now = (uint32_t)b->cs.host.now, len = 0, n;

	of->since = 0;
	if (!tcp_is_open(&of->tcp))
		return;
	of->since = now + (b->turns ? TURN_US : LATER_US);
	if (b->turns == 0 || of->tcp.queued > QUEUED)
		return;
	b->turns--;
	while (len < TURN_BYTES && (n = put(b, of, b->frames + len, BEHAVE_FRAMES - len))) {
		len += n;
		of->asked++;
	}
	if (len)
		secure_write(&b->cs, c, b->frames, len);
	else
		of->since = 0;
}

void worker_rude_begin(struct worker_behave *b, uint32_t c)
{
	uint8_t out[H2_PREFACE_LEN + H2_HEAD + SETTING] = {0}, *at = out;
	uint32_t len = b->kinds[b->cs.all[c].seat] == TCP_H2_WINDOW_ZERO ? SETTING : 0;

	memcpy(at, H2_PREFACE, H2_PREFACE_LEN);
	at += H2_PREFACE_LEN;
	h2_put_head(at, len, H2_SETTINGS, 0, 0);
	bytes_put_be16(at + H2_HEAD, H2_INITIAL_WINDOW_SIZE);
	secure_write(&b->cs, c, out, H2_PREFACE_LEN + H2_HEAD + len);
	worker_rude_hear(b, c); // it may have come with the end of the handshake
}

// Returns the number of streams that the server's first octets, its settings, allow.
static uint16_t streams_allowed(const uint8_t *frame, uint32_t len)
{
	uint32_t most = STREAMS_MOST, end = 0;

	if (len >= H2_HEAD && frame[3] == H2_SETTINGS)
		end = H2_HEAD + h2_len(frame) < len ? H2_HEAD + h2_len(frame) : len;
	for (uint32_t n = H2_HEAD; n + SETTING <= end; n += SETTING)
		if (bytes_be16(frame + n) == H2_MAX_CONCURRENT_STREAMS &&
			bytes_be32(frame + n + 2) < most)
			most = bytes_be32(frame + n + 2);
	return (uint16_t)most;
}

void worker_rude_hear(struct worker_behave *b, uint32_t c)
{
	struct conns *cs = &b->cs;
	struct conn *of = &cs->all[c];
	const uint8_t *bytes;
	uint8_t ack[H2_HEAD];
	uint32_t len;

	if (!(of->flags & CONN_HEARD)) {
		if (!secure_message(cs, c, &bytes, &len))
			return;
		of->flags |= CONN_HEARD;
		of->open = streams_allowed(bytes, len);
		h2_put_head(ack, 0, H2_SETTINGS, H2_ACK, 0);
		if (b->kinds[of->seat] != TCP_H2_PREFACE_ONLY)
			secure_write(cs, c, ack, H2_HEAD);
		worker_rude_turn(b, c);
		if (of->since)
			conn_wake(cs, c, of->since);
	}
	tcp_consume(&cs->host, &of->tcp, tcp_unread(&cs->host, &of->tcp));
}

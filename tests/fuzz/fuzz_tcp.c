// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection in any state: segments near its window or of any bytes, with sends, reads,
// ends and timeouts in between. The first bytes choose how it opens and how much memory there is,
// and whether the peer is well-behaved: then all segments are cut from one stream, and what is
// delivered must be that stream. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/tcp.h"
#include "unit/net/tcp_check.h"

#define BLOCKS      64
#define STREAM      6000 // bytes of a well-behaved peer; then FIN
#define OUTPUTS     1000 // more from one call never end
#define LEN_MOST    2000
#define QUEUED_MOST 12000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum reading {
	READ_ALL,
	READ_HALF,
	READ_LATER,
};

struct play {
	const uint8_t *at, *end; // of the input
	struct tcp_host host;
	struct tcp_counters counters;
	struct tcp t;
	uint32_t iss, irs;
	uint32_t sent, read; // bytes of the two streams
	uint32_t edge;
	bool has_edge;
	bool wild; // the peer may send anything
	enum reading reading;
};

static struct tcp_block blocks[BLOCKS];

static void require(bool holds)
{
	if (!holds)
		abort();
}

static uint8_t byte_of_ours(uint32_t i)
{
	return (uint8_t)(i * 5 >> 2);
}

static uint8_t byte_of_theirs(uint32_t i)
{
	return (uint8_t)(i * 7 >> 3);
}

static uint8_t next8(struct play *p)
{
	return p->at < p->end ? *p->at++ : 0;
}

static uint16_t next16(struct play *p)
{
	uint8_t high = next8(p);

	return (uint16_t)(high << 8 | next8(p));
}

// --- what was sent ---

static void check_segment(const struct play *p, const struct tcp_segment *s)
{
	uint8_t header[TCP_HEADER_MAX], bytes[UINT16_MAX];
	struct tcp_segment parsed;

	require(tcp_header_len(s) <= TCP_HEADER_MAX);
	tcp_header(s, header);
	require(tcp_parse(header, tcp_header_len(s), &parsed));
	require(parsed.seq == s->seq && parsed.ack == s->ack && parsed.flags == s->flags);
	require(parsed.mss == s->mss && parsed.scale == s->scale && parsed.window == s->window);
	require(s->len <= p->t.mss && (s->len == 0 || s->from == s->seq));
	tcp_copy(&p->host, &p->t, s, bytes);
	for (uint32_t i = 0; i < s->len; i++)
		require(bytes[i] == byte_of_ours(s->seq - p->iss - 1 + i));
}

static void send_all(struct play *p)
{
	struct tcp_segment s;

	for (int i = 0; tcp_output(&p->host, &p->t, &s); i++) {
		check_segment(p, &s);
		require(i < OUTPUTS);
	}
}

static void check(struct play *p)
{
	require(tcp_check(&p->host, &p->t) == NULL);
	if (p->t.state == TCP_CLOSED || p->t.state == TCP_SYN_SENT) {
		p->has_edge = false;
		return;
	}
	require(!p->has_edge || !tcp_before(p->t.edge, p->edge));
	p->edge = p->t.edge;
	p->has_edge = true;
}

// --- what was received ---

static void check_bytes(struct play *p, const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		require(p->wild || bytes[i] == byte_of_theirs(p->read + i));
	p->read += len;
	require(p->wild || p->read <= STREAM);
}

static void read_some(struct play *p, uint32_t len)
{
	uint8_t bytes[LEN_MOST];
	uint32_t n = tcp_peek(&p->host, &p->t, bytes, len < LEN_MOST ? len : LEN_MOST);

	check_bytes(p, bytes, n);
	tcp_consume(&p->host, &p->t, n);
}

static void read_view(struct play *p)
{
	const struct tcp_host *h = &p->host;
	uint32_t now = p->reading == READ_ALL    ? h->view_len
	               : p->reading == READ_HALF ? h->view_len / 2
	                                         : 0;

	require(tcp_unread(h, &p->t) == 0);
	check_bytes(p, h->view, now);
	if (now < h->view_len && !tcp_keep(&p->host, &p->t, h->view_len - now))
		tcp_abort(&p->host, &p->t);
}

static void after(struct play *p, uint32_t events)
{
	if (events & TCP_DATA && p->host.view_len)
		read_view(p);
	else if (events & TCP_DATA && p->reading != READ_LATER)
		read_some(p, p->reading == READ_ALL ? UINT32_MAX : 100);
	if (events & TCP_ENDED && p->t.state != TCP_CLOSED && !p->wild)
		require(p->read + tcp_unread(&p->host, &p->t) == STREAM);
	require(!(events & TCP_GONE) == (p->t.state != TCP_CLOSED) || !(events & TCP_GONE));
}

static void input(struct play *p, const struct tcp_segment *s)
{
	struct tcp_segment reset;
	uint32_t events = tcp_input(&p->host, &p->t, s);

	if (events & TCP_STRANGE && tcp_reset_for(s, &reset))
		check_segment(p, &reset);
	after(p, events);
}

static void input_bytes(struct play *p)
{
	uint32_t len = next8(p);
	struct tcp_segment s;

	len = (uint32_t)(p->end - p->at) < len ? (uint32_t)(p->end - p->at) : len;
	if (tcp_parse(p->at, len, &s))
		input(p, &s);
	p->at += len;
}

// A number near one that matters.
static uint32_t near(struct play *p, const uint32_t *places, uint32_t count)
{
	uint8_t choice = next8(p);
	uint32_t place = places[(choice & 7) % count];

	switch (choice >> 6) {
	case 0:
		return place;
	case 1:
		return place + (uint32_t)(int8_t)next8(p);
	case 2:
		return place + (uint32_t)(int16_t)(next16(p) % 4096) - 1024;
	}
	return p->wild ? place + ((uint32_t)next16(p) << 16) : place;
}

// The bytes of the segment are the peer's at its number. That peer says FIN at the end only.
static void cut_from_stream(const struct play *p, struct tcp_segment *s, uint8_t *bytes)
{
	uint32_t from;

	if (s->flags & TCP_SYN)
		s->seq = p->irs;
	from = s->seq + !!(s->flags & TCP_SYN) - p->irs - 1;
	if (!p->wild) {
		if ((int32_t)from > STREAM)
			s->len = 0;
		else if ((int32_t)(from + s->len) > STREAM)
			s->len = STREAM - from;
		if (from + s->len != STREAM)
			s->flags &= (uint8_t)~TCP_FIN;
	}
	for (uint32_t i = 0; i < s->len; i++)
		bytes[i] = byte_of_theirs(from + i);
}

static void input_near(struct play *p)
{
	const struct tcp *t = &p->t;
	uint32_t rcv = t->state == TCP_SYN_SENT ? p->irs : t->rcv;
	const uint32_t seqs[] = {rcv, rcv, t->edge, rcv - 1, t->edge - 1, p->irs};
	const uint32_t acks[] = {t->max, t->una, t->nxt, t->max, t->una + 1, t->max + 1};
	uint8_t bytes[LEN_MOST];
	uint8_t flags = next8(p), more = next8(p);
	struct tcp_segment s = {.flags = flags & 31, .data = bytes, .scale = TCP_NO_SCALE};

	if (flags & 32) // most have an acknowledgement alone
		s.flags = TCP_ACK;
	if (!p->wild && t->state != TCP_SYN_SENT && t->state != TCP_SYN_RECEIVED)
		s.flags &= (uint8_t)~TCP_RST;
	s.seq = near(p, seqs, 6);
	s.ack = near(p, acks, 6);
	s.window = more & 1 ? next8(p) : more & 2 ? next16(p) : UINT16_MAX;
	s.len = more & 4 ? next16(p) % LEN_MOST : more & 8 ? next8(p) : 0;
	s.stamped = more & 16;
	s.value = t->recent + (more & 32 ? (uint32_t)(int8_t)next8(p) : 0);
	if (s.flags & TCP_SYN && more & 64)
		s.scale = next8(p) % 15;
	if (s.flags & TCP_SYN && more & 128)
		s.mss = next16(p);
	cut_from_stream(p, &s, bytes);
	input(p, &s);
}

// --- what the user and the clock do ---

static void send_some(struct play *p, uint32_t len)
{
	uint8_t bytes[LEN_MOST];

	if (!tcp_is_open(&p->t) || p->t.queued > QUEUED_MOST)
		return;
	for (uint32_t i = 0; i < len; i++)
		bytes[i] = byte_of_ours(p->sent + i);
	if (tcp_send(&p->host, &p->t, bytes, len))
		p->sent += len;
}

static void wait_until(struct play *p, bool deadline)
{
	uint32_t at, wait = (uint32_t)next16(p) * 16;

	if (deadline && tcp_deadline(&p->t, &at) && !tcp_before(at, (uint32_t)p->host.now))
		wait = at - (uint32_t)p->host.now;
	p->host.now += wait;
	after(p, tcp_timeout(&p->host, &p->t));
}

static void handshake(struct play *p, bool ours)
{
	struct tcp_segment s = {.seq = p->irs, .scale = TCP_NO_SCALE, .window = 4000};
	uint8_t options = next8(p);

	s.mss = options & 1 ? 1000 : 0;
	s.stamped = options & 2;
	s.scale = options & 4 ? options >> 4 & 7 : TCP_NO_SCALE;
	if (ours) {
		tcp_open(&p->host, &p->t, p->iss, 1460);
		s.flags = TCP_SYN | TCP_ACK;
		s.ack = p->iss + 1;
	} else {
		s.flags = TCP_SYN;
		tcp_accept(&p->host, &p->t, p->iss, 1460, &s);
		s = (struct tcp_segment){.seq = p->irs + 1,
			.ack = p->iss + 1,
			.flags = TCP_ACK,
			.window = 4000,
			.stamped = s.stamped};
	}
	if (options & 8) // it stays half open
		return;
	send_all(p);
	input(p, &s);
	require(p->t.state == TCP_ESTABLISHED);
}

static void begin(struct play *p)
{
	uint8_t choice = next8(p);

	p->wild = choice & 1;
	p->host.window = choice & 2 ? 1000 : choice & 4 ? 200000 : 6000;
	p->host.stamps = choice & 8;
	tcp_host_init(&p->host, blocks, choice & 16 ? 3 : BLOCKS);
	p->iss = choice & 32 ? UINT32_MAX - 500 : 1000;
	p->irs = choice & 64 ? UINT32_MAX - 900 : 7000;
	handshake(p, choice & 128);
}

static void turn(struct play *p)
{
	uint8_t choice = next8(p);

	switch (choice & 15) {
	case 7:
		if (p->wild)
			input_bytes(p);
		break;
	case 8:
		send_some(p, next16(p) % LEN_MOST);
		break;
	case 9:
		read_some(p, next16(p));
		break;
	case 10:
		p->reading = next8(p) % 3;
		break;
	case 11:
		if (next8(p) & 1)
			tcp_shut(&p->t);
		break;
	case 12:
		if (next8(p) == 77)
			tcp_abort(&p->host, &p->t);
		break;
	case 13:
	case 14:
		wait_until(p, choice & 64);
		break;
	default:
		input_near(p);
	}
	check(p);
	if (choice & 16)
		return; // several come at once
	send_all(p);
	check(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct play p = {.at = data, .end = data + size};

	p.host = (struct tcp_host){.now = (1ull << 32) - 100000,
		.rto_first = 1000000,
		.rto_least = 200000,
		.rto_most = 60000000,
		.ack_delay = 40000,
		.time_wait = 1000000,
		.syn_tries = 4,
		.tries = 6,
		.counters = &p.counters};
	begin(&p);
	while (p.at < p.end)
		turn(&p);
	tcp_drop(&p.host, &p.t);
	require(p.host.used == 0);
	return 0;
}

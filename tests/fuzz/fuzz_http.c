// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes HTTP/2 of a connection at either end, above a layer of TLS that passes plaintext: frames
// of any kind and octets as they come, between messages, answers, cancellations and ends of
// connections. What is sent is a sequence of whole frames, each message has one end, counts agree
// with lists, and all memory comes back. Path: cold.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/http_internal.h"
#include "net/tcp.h"
#include "net/tcp_stream.h"

#define CONNS     2
#define STREAMS   24
#define BLOCKS    2048
#define TAGS      256
#define OPS       400
#define BODY_MOST (HTTP_BODY_MOST + H2_FRAME)
#define MEDIA     "application/dns-message"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// An end. waits: messages without an outcome, by tag; or, of a server, requests without an answer.
struct end {
	struct conns cs;
	struct http_counters counts;
	struct tls_counters tls;
	bool server;
	uint32_t c;
	bool waits[TAGS];
	uint32_t asked[STREAMS], asked_count;
	uint32_t tag;
	bool begun; // its preface was sent
};

struct input {
	const uint8_t *at, *end;
};

static struct end ends[2];
static struct h2_request requests[2];
static struct h2_answer answer;
static uint8_t sent[1 << 22];

static void require(bool holds)
{
	if (!holds)
		abort();
}

static uint8_t next(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static void *zeroed(size_t size)
{
	void *memory = aligned_alloc(64, (size + 63) & ~(size_t)63);

	require(memory);
	memset(memory, 0, size);
	return memory;
}

static uint32_t gone(struct conns *cs, uint32_t c)
{
	(void)cs;
	(void)c;
	return 0;
}

static const struct conn_owner owner = {.gone = gone};

static void end_make(struct end *e, bool server)
{
	const struct conns_shape shape = {
		.count = CONNS, .places = CONNS, .blocks = BLOCKS, .window = 65535};
	const struct secures_shape secures = {.count = CONNS, .live = CONNS, .seats = 1};
	const struct https_shape https = {.count = CONNS,
		.live = CONNS,
		.streams = STREAMS,
		.header_table = server ? 0 : 4096,
		.server = server};
	const struct field_list none = {0};
	struct h2_request_wanted wanted = {
		.authority = "dns.example", .path = "/q{?dns}", .media = MEDIA, .headers = &none};

	if (e->cs.all)
		return;
	conns_init(&e->cs, zeroed(conns_bytes(&shape)), &shape, 0, 0);
	e->cs.owner = &owner;
	e->cs.secure = zeroed(sizeof(struct secures));
	secures_init(e->cs.secure, zeroed(secures_bytes(&secures)), &secures);
	e->cs.secure->bursts = true; // plaintext waits for the next record
	e->cs.secure->counts = &e->tls;
	e->cs.https = zeroed(sizeof(struct https));
	https_init(e->cs.https, zeroed(https_bytes(&https)), &https);
	e->cs.https->media = MEDIA;
	e->cs.https->media_len = sizeof(MEDIA) - 1;
	e->cs.https->window = H2_WINDOW;
	e->server = server;
	h2_answer_build(MEDIA, &answer);
	for (int get = 0; get < 2; get++) {
		wanted.get = get;
		require(h2_request_build(&wanted, &requests[get]) == NULL);
	}
}

static void conn_open(struct end *e)
{
	struct conns *cs = &e->cs;

	e->c = conn_take(cs, 0);
	require(e->c != CONN_NONE);
	tcp_open(&cs->host, &cs->all[e->c].tcp, 1, 1460);
	cs->all[e->c].tcp.state = TCP_ESTABLISHED;
	require(conn_on(cs, e->c, CHANNEL_HTTP));
	cs->secure->all[e->c].read.flags |= SECURE_BEGUN | SECURE_OPEN;
	cs->secure->all[e->c].write.id = 1;
	memset(e->waits, 0, sizeof(e->waits));
	e->asked_count = 0;
	e->begun = e->server;
}

// Takes the octets that wait to be sent: whole frames, behind a client's preface.
static void take_sent(struct end *e)
{
	uint32_t *chain = &e->cs.secure->all[e->c].write.chain;
	uint32_t len = tcp_chain_peek(&e->cs.host, *chain, sent, sizeof(sent)), at = 0;

	tcp_chain_drop(&e->cs.host, chain);
	require(len < sizeof(sent));
	if (len && !e->begun) {
		require(len >= H2_PREFACE_LEN && memcmp(sent, H2_PREFACE, H2_PREFACE_LEN) == 0);
		require(sent[H2_PREFACE_LEN + 3] == H2_SETTINGS);
		at = H2_PREFACE_LEN;
		e->begun = true;
	}
	while (at < len) {
		uint32_t n;

		require(len - at >= H2_HEAD);
		n = h2_len(sent + at);
		require(n <= H2_FRAME && n <= len - at - H2_HEAD &&
			sent[at + 3] <= H2_CONTINUATION);
		at += H2_HEAD + n;
	}
}

static void check(struct end *e)
{
	struct https *h = e->cs.https;
	struct http_conn *hc = http_state_of(&e->cs, e->c);
	uint32_t open = 0, held = 0, waiting = 0, last = CONN_NONE, free = 0, outcomes = 0;

	for (uint32_t i = h->stream_free; i != CONN_NONE; i = h->streams[i].next)
		free++;
	for (uint32_t i = hc ? hc->first : CONN_NONE; i != CONN_NONE; i = h->streams[i].next) {
		const struct http_stream *s = &h->streams[i];

		open += s->id != 0;
		held += s->id == 0;
		waiting += (s->flags & STREAM_SENDS) != 0;
		require(tcp_chain_len(&e->cs.host, s->body) <= BODY_MOST);
		require(s->id < hc->next);
		require(e->server || e->waits[s->tag]);
		last = i;
	}
	require(free + open + held == STREAMS);
	if (!hc)
		return;
	require(hc->open == open && hc->held == held && hc->waiting == waiting);
	require(hc->last == last);
	require(tcp_chain_len(&e->cs.host, hc->block) <= 2 * H2_FRAME);
	require(tcp_chain_len(&e->cs.host, e->cs.secure->all[e->c].read.chain) <=
		2 * (H2_HEAD + H2_FRAME) + UINT16_MAX);
	for (uint32_t tag = 0; tag < TAGS; tag++)
		outcomes += e->waits[tag];
	require(e->server || outcomes == open + held);
}

// Forgets the connection: all memory comes back.
static void conn_end(struct end *e)
{
	struct conns *cs = &e->cs;

	tcp_abort(&cs->host, &cs->all[e->c].tcp);
	conn_forget(cs, e->c);
	check(e);
	require(cs->host.used == 0);
	conn_touch(cs, e->c);
	cs->ready_count = cs->ready_first = 0;
	cs->all[e->c].flags = 0;
	// As conn_give, whose caller sends.
	cs->at[0] = cs->all[e->c].chain;
	cs->all[e->c].chain = cs->free;
	cs->free = e->c;
	cs->used--;
}

static void unheard(struct end *e)
{
	uint32_t tag;

	while (conn_unheard(&e->cs, e->c, &tag)) {
		require(tag < TAGS && e->waits[tag]);
		e->waits[tag] = false;
	}
}

static void take_event(struct end *e, const uint8_t *message, uint32_t len)
{
	static volatile uint8_t sink;
	uint8_t sum = 0;

	require(len <= HTTP_BODY_MOST && message);
	for (uint32_t i = 0; i < len; i++)
		sum += message[i];
	sink = sum;
	(void)sink;
	if (e->server) {
		require(e->cs.stream.event == STREAM_MESSAGE && e->cs.stream.stream % 2 == 1);
		require(e->asked_count < STREAMS);
		e->asked[e->asked_count++] = e->cs.stream.stream;
		return;
	}
	if (e->cs.stream.event == STREAM_LEAVING) {
		unheard(e);
		return;
	}
	if (e->cs.stream.event == STREAM_LATE)
		return;
	require(e->cs.stream.tag < TAGS && e->waits[e->cs.stream.tag]);
	e->waits[e->cs.stream.tag] = false;
}

// Gives octets to the connection, as the content of a record.
static void arrive(struct end *e, const uint8_t *bytes, uint32_t len)
{
	struct conns *cs = &e->cs;
	const uint8_t *message;
	uint8_t *exact = malloc(len + 1); // the sanitizer watches its end

	require(exact);
	memcpy(exact, bytes, len);
	cs->secure->plain = exact;
	cs->secure->plain_len = len;
	cs->secure->plain_of = e->c;
	cs->framed = NULL;
	// A server answers until it has as many requests as this model notes.
	while (cs->all[e->c].tcp.state != TCP_CLOSED && conn_message(cs, e->c, &message, &len))
		take_event(e, message, len);
	require(cs->framed == NULL && cs->host.view_len == 0);
	cs->secure->plain_of = CONN_NONE;
	free(exact);
}

static void arrive_frame(struct end *e, struct input *in)
{
	static uint8_t frame[H2_HEAD + H2_FRAME + 64];
	uint8_t type = next(in), flags = next(in), stream = next(in), how = next(in);
	uint32_t len = how & 0x80 ? (how & 0x7fu) << 8 : how, n = 0;

	len = len <= H2_FRAME ? len : H2_FRAME + 1;
	h2_put_head(frame, len, (enum h2_type)(type & 0x80 ? type : type % 10), flags,
		stream == 255 ? H2_STREAM_LAST : stream);
	while (n < len && in->at < in->end && (len < 128 || n < 256))
		frame[H2_HEAD + n++] = *in->at++;
	memset(frame + H2_HEAD + n, 0, len - n);
	arrive(e, frame, H2_HEAD + len);
}

// Writes a message, whose octets are arbitrary.
static void write_message(struct end *e, struct input *in)
{
	struct conns *cs = &e->cs;
	uint8_t size = next(in);
	uint32_t len = size & 0x80 ? ((uint32_t)size & 0x7f) << 9 : 1u + size;

	len = len ? len : 1;
	if (!e->server) {
		if (cs->https->of[e->c] == CONN_NONE || cs->https->stream_free == CONN_NONE ||
			e->waits[e->tag % TAGS])
			return;
		cs->stream.tag = e->tag % TAGS;
		e->waits[e->tag % TAGS] = conn_write(cs, e->c, len);
		e->tag++;
	} else if (e->asked_count) {
		uint32_t k = next(in) % e->asked_count;

		cs->stream.stream = e->asked[k];
		e->asked[k] = e->asked[--e->asked_count];
		if (!conn_write(cs, e->c, len))
			tcp_abort(&cs->host, &cs->all[e->c].tcp);
	}
}

static void step(struct end *e, struct input *in)
{
	struct conns *cs = &e->cs;
	struct tcp *t = &cs->all[e->c].tcp;
	uint32_t len, tag;

	switch (next(in) % 8) {
	case 0:
		len = next(in);
		len = len < (size_t)(in->end - in->at) ? len : (uint32_t)(in->end - in->at);
		arrive(e, in->at, len);
		in->at += len;
		break;
	case 1:
	case 2:
	case 3:
		arrive_frame(e, in);
		break;
	case 4:
	case 5:
		write_message(e, in);
		break;
	case 6:
		tag = next(in);
		if (!e->server && e->waits[tag]) {
			conn_cancel(cs, e->c, tag);
			e->waits[tag] = false;
		} else if (tag == 255) {
			conn_shut(cs, e->c);
		}
		break;
	case 7:
		t->queued = next(in) * 1024u;
		t->una += next(in);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	uint8_t role = next(&in);
	struct end *e = &ends[role & 1];
	struct https *h;

	end_make(e, role & 1);
	h = e->cs.https;
	h->counts = e->server ? NULL : &e->counts;
	h->request = e->server ? NULL : &requests[role >> 1 & 1];
	h->answer = e->server ? &answer : NULL;
	h->path = "/q";
	h->variable = &"?dns="[1];
	h->path_len = 2;
	h->variable_len = 4;
	h->streams_most = 4 + (role >> 2 & 7);
	h->random = role;
	h->faults = (struct http_faults){.goaway = role & 0x20 ? 3 : 0, .refusal = 503};
	if (role & 0x40)
		h->faults.refused = h->faults.untyped = h->faults.reset = UINT32_MAX / 4;
	e->tag = 0;
	conn_open(e);
	if (e->server && role & 0x80)
		arrive(e, (const uint8_t *)H2_PREFACE, H2_PREFACE_LEN);
	for (uint32_t n = 0; n < OPS && in.at < in.end; n++) {
		step(e, &in);
		check(e);
		if (e->cs.all[e->c].tcp.state == TCP_CLOSED)
			break;
		take_sent(e);
		if (secure_flags(&e->cs, e->c) & SECURE_BROKEN)
			break;
	}
	conn_end(e);
	return 0;
}

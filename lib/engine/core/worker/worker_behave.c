// SPDX-License-Identifier: BSD-3-Clause
// The behaviours as a table, and the clients that follow it; see worker_behave.h. Path: hot. The
// worker's own thread.
#include "engine/core/worker/worker_behave.h"

#include "base/clock.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_internal.h"
#include "engine/core/worker/worker_rude.h"

#define TICK_US    100000 // between two turns of a client that goes_on
#define READ_BYTES 16     // read by a slow reader in that time
#define AGAIN      10     // handshakes that begin at a turn
#define QUEUED     1024   // bytes of messages that a slow reader keeps queued
#define JUNK       64     // words of 8 octets

// The event after which a client reacts to no segment.
enum mute_after { MUTE_NEVER, MUTE_SYN, MUTE_OPEN, MUTE_ANSWER };

// The first octets of a client over TLS.
enum hello { HELLO_NONE, HELLO_WHOLE, HELLO_OCTETS, HELLO_JUNK, HELLO_SHAKE };

enum on_answer { ANSWER_READ, ANSWER_KEEP, ANSWER_RESET, ANSWER_SHUT };

static const struct behaviour {
	enum mute_after mute;
	enum on_answer answer;
	uint8_t ask;   // messages sent as soon as the connection is open
	bool part;     // their last byte is not sent
	bool bytewise; // segments of one byte
	bool goes_on;  // asks again at its turns
	enum hello hello;
	bool again; // begins another one, after it
	bool rude;  // after it; see worker_rude.h
} behaviours[TCP_BEHAVIOUR_COUNT] = {
	[TCP_SYN_ONLY] = {.mute = MUTE_SYN},
	[TCP_MUTE] = {.mute = MUTE_OPEN},
	[TCP_PART] = {.ask = 1, .part = true},
	[TCP_NO_ACK] = {.ask = 1, .mute = MUTE_OPEN},
	[TCP_SLOW_READER] = {.ask = 1, .goes_on = true, .answer = ANSWER_KEEP},
	[TCP_BYTEWISE] = {.ask = 1, .goes_on = true, .bytewise = true},
	[TCP_RESETTER] = {.ask = 16, .answer = ANSWER_RESET},
	[TCP_NO_FIN] = {.ask = 1, .mute = MUTE_ANSWER},
	[TCP_NO_LAST_ACK] = {.ask = 1, .answer = ANSWER_SHUT, .mute = MUTE_ANSWER},
	[TCP_TLS_HELLO_ONLY] = {.hello = HELLO_WHOLE},
	[TCP_TLS_HELLO_PART] = {.hello = HELLO_OCTETS, .goes_on = true},
	[TCP_TLS_HANDSHAKE_ONLY] = {.hello = HELLO_SHAKE},
	[TCP_TLS_RENEGOTIATE] = {.hello = HELLO_SHAKE, .again = true},
	[TCP_TLS_JUNK] = {.hello = HELLO_JUNK},
	[TCP_H2_PREFACE_ONLY] = {.hello = HELLO_SHAKE, .rude = true},
	[TCP_H2_STREAMS_OPEN] = {.hello = HELLO_SHAKE, .rude = true},
	[TCP_H2_RAPID_RESET] = {.hello = HELLO_SHAKE, .rude = true},
	[TCP_H2_SETTINGS_FLOOD] = {.hello = HELLO_SHAKE, .rude = true},
	[TCP_H2_WINDOW_ZERO] = {.hello = HELLO_SHAKE, .rude = true},
	[TCP_H2_CONTINUATION_FLOOD] = {.hello = HELLO_SHAKE, .rude = true},
};

static uint8_t kind_of(const struct worker_behave *b, const struct conn *of)
{
	return b->kinds[of->seat];
}

static struct behave_counters *counts_of(struct worker_behave *b, uint64_t now)
{
	return &b->counts[now >= b->wc->it->pace.measure];
}

// --- asking ---

static bool ask_once(struct worker_behave *b, uint32_t c, bool part)
{
	struct conns *cs = &b->cs;
	uint32_t front = conn_front(b->wc->it->proto->framed), len;

	len = worker_conn_uncounted(b->wc, cs, b->asked++);
	if (len == 0)
		return false;
	bytes_put_be16(cs->message, (uint16_t)len);
	return tcp_send(
		&cs->host, &cs->all[c].tcp, cs->message + CONN_LENGTH - front, front + len - part);
}

static void ask(struct worker_behave *b, uint32_t c, uint32_t messages)
{
	struct tcp *t = &b->cs.all[c].tcp;
	const struct behaviour *does = &behaviours[kind_of(b, &b->cs.all[c])];
	bool keeps = does->answer == ANSWER_KEEP;

	for (uint32_t n = 0; tcp_is_open(t) && (keeps ? t->queued < QUEUED : n < messages); n++)
		if (!ask_once(b, c, does->part))
			return;
}

// Sends the next len octets of ClientHello.
static void greet(struct worker_behave *b, uint32_t c, uint32_t len)
{
	struct conn *of = &b->cs.all[c];
	uint32_t left = b->hello_len - of->asked;

	len = len < left ? len : left;
	if (len && tcp_is_open(&of->tcp) &&
		tcp_send(&b->cs.host, &of->tcp, b->hello + of->asked, len))
		of->asked += len;
}

static void junk(struct worker_behave *b, uint32_t c)
{
	uint64_t words[JUNK];

	for (uint32_t i = 0; i < JUNK; i++)
		words[i] = rand_hash(b->asked * JUNK + i);
	b->asked++;
	tcp_send(&b->cs.host, &b->cs.all[c].tcp, (const uint8_t *)words, sizeof(words));
}

static void begin_tls(struct worker_behave *b, uint32_t c, enum hello hello, uint64_t now)
{
	if (hello != HELLO_NONE && b->wc->it->proto->preface && b->wc->preface_outside)
		worker_conn_preface(b->wc, &b->cs, c);
	switch (hello) {
	case HELLO_NONE:
		return;
	case HELLO_WHOLE:
		greet(b, c, b->hello_len);
		return;
	case HELLO_OCTETS:
		greet(b, c, 1);
		return;
	case HELLO_JUNK:
		junk(b, c);
		return;
	case HELLO_SHAKE:
		secure_on(&b->cs, c);
		if (behaviours[kind_of(b, &b->cs.all[c])].rude && b->wc->it->proto->preface &&
			!b->wc->preface_outside)
			worker_conn_preface(b->wc, &b->cs, c);
		secure_begin(&b->cs, c, 0, now);
		return;
	}
}

// --- a client's life ---

static void leave(struct worker_behave *b, uint32_t c)
{
	struct conn *of = &b->cs.all[c];

	if (of->flags & CONN_MUTE) {
		tcp_drop(&b->cs.host, &of->tcp);
		of->tcp.state = TCP_CLOSED;
		of->tcp.flags = 0;
	} else {
		tcp_abort(&b->cs.host, &of->tcp);
	}
	conn_touch(&b->cs, c);
}

static void begin(struct worker_behave *b, uint32_t client, uint64_t now)
{
	struct worker_conns *wc = b->wc;
	uint32_t row = b->row_first + b->next_row, c;
	struct conn *of;

	if (b->conn_of[client] != CONN_NONE)
		leave(b, b->conn_of[client]);
	b->next_row = b->next_row + 1 < b->row_count ? b->next_row + 1 : 0;
	c = b->conn_of[client] = conn_take(&b->cs, row);
	if (c == CONN_NONE) {
		counts_of(b, now)->no_memory++;
		return;
	}
	of = &b->cs.all[c];
	of->row = row;
	of->seat = client;
	of->since = of->asked = of->open = 0;
	tcp_open(&b->cs.host, &of->tcp,
		tcp_iss(&b->cs.host, rand_hash(wc->secret ^ ((uint64_t)row << 16))), wc->mss);
	counts_of(b, now)->opened[kind_of(b, of)]++;
	conn_touch(&b->cs, c); // before it is mute: the SYN is sent
	if (behaviours[kind_of(b, of)].mute == MUTE_SYN)
		of->flags |= CONN_MUTE;
}

static void begin_due(struct worker_behave *b, uint64_t now)
{
	if (b->next_at == 0)
		b->next_at = b->wc->w->times.start;
	for (uint32_t n = 0; n < BURST_MAX && !b->ended && txn_since(now, b->next_at) >= 0; n++) {
		begin(b, b->turn, now);
		b->turn = b->turn + 1 < b->client_count ? b->turn + 1 : 0;
		b->next_at += b->gap;
	}
}

uint16_t worker_behave_tx(struct worker_behave *b, uint64_t now)
{
	struct worker *w = b->wc->w;

	conns_clock(&b->cs, now);
	b->turns = RUDE_TURNS;
	conns_expire(&b->cs);
	begin_due(b, now);
	if (b->cs.secure)
		secure_pass(&b->cs);
	return conns_send(&b->cs, &w->wire, &w->tx_no_mbuf);
}

void worker_behave_end(struct worker_behave *b, uint64_t now)
{
	b->ended = true;
	for (uint32_t client = 0; client < b->client_count; client++)
		if (b->conn_of[client] != CONN_NONE)
			leave(b, b->conn_of[client]);
}

// --- segments from the server ---

static void opened(struct worker_behave *b, uint32_t c, uint64_t now)
{
	struct conn *of = &b->cs.all[c];
	const struct behaviour *does = &behaviours[kind_of(b, of)];

	of->flags |= CONN_OPENED;
	counts_of(b, now)->established[kind_of(b, of)]++;
	if (does->bytewise)
		of->tcp.mss = 1;
	if (does->ask && b->wc->it->proto->preface)
		worker_conn_preface(b->wc, &b->cs, c);
	ask(b, c, does->ask);
	begin_tls(b, c, does->hello, now);
	if (does->goes_on) {
		of->since = (uint32_t)b->cs.host.now + TICK_US;
		conn_wake(&b->cs, c, of->since);
	}
}

static void answered(struct worker_behave *b, uint32_t c, uint64_t now)
{
	struct tcp_host *h = &b->cs.host;
	struct conn *of = &b->cs.all[c];
	uint32_t len = h->view_len;
	const uint8_t *message;

	counts_of(b, now)->received_bytes[kind_of(b, of)] += len;
	switch (behaviours[kind_of(b, of)].answer) {
	case ANSWER_KEEP:
		if (len && !tcp_keep(h, &of->tcp, len))
			tcp_abort(h, &of->tcp);
		return;
	case ANSWER_RESET:
		tcp_abort(h, &of->tcp);
		return;
	case ANSWER_SHUT:
		tcp_shut(&of->tcp);
		break;
	case ANSWER_READ:
		break;
	}
	if (b->cs.secure && secure_flags(&b->cs, c)) {
		if (behaviours[kind_of(b, of)].rude && secure_flags(&b->cs, c) & SECURE_OPEN) {
			worker_rude_hear(b, c);
			return;
		}
		while (secure_message(&b->cs, c, &message, &len))
			continue;
		return;
	}
	tcp_consume(h, &of->tcp, tcp_unread(h, &of->tcp));
}

static void ended(struct worker_behave *b, struct conn *of, uint32_t events, uint64_t now)
{
	struct behave_counters *n = counts_of(b, now);

	n->reset[kind_of(b, of)] += events & (TCP_BROKEN | TCP_REFUSED) && !(of->flags & CONN_TOLD);
	n->closed[kind_of(b, of)] += events & TCP_ENDED && !(of->flags & CONN_TOLD);
	of->flags |= CONN_TOLD;
}

// Handles a segment for a mute client: it is counted, and a reset ends the client.
static void unheard(struct worker_behave *b, uint32_t c, const struct tcp_segment *s, uint64_t now)
{
	struct conn *of = &b->cs.all[c];

	if (s->flags & TCP_SYN && !(of->flags & CONN_OPENED)) {
		of->flags |= CONN_OPENED;
		counts_of(b, now)->established[kind_of(b, of)]++;
	}
	if (s->flags & TCP_RST) {
		ended(b, of, TCP_BROKEN, now);
		leave(b, c);
	} else if (s->flags & TCP_FIN) {
		ended(b, of, TCP_ENDED, now);
	}
}

static bool is_mute(const struct behaviour *does, uint32_t events)
{
	return (does->mute == MUTE_OPEN && events & TCP_OPENED) ||
	       (does->mute == MUTE_ANSWER && events & TCP_DATA);
}

static void heard(struct worker_behave *b, uint32_t c, const struct tcp_segment *s, uint64_t now)
{
	struct conn *of = &b->cs.all[c];
	uint32_t events = tcp_input(&b->cs.host, &of->tcp, s);

	if (events & TCP_OPENED)
		opened(b, c, now);
	if (events & TCP_DATA)
		answered(b, c, now);
	if (events & (TCP_ENDED | TCP_GONE))
		ended(b, of, events, now);
	if (events & TCP_ENDED)
		tcp_shut(&of->tcp);
	conn_touch(&b->cs, c); // before it is mute: segments due now are sent
	if (is_mute(&behaviours[kind_of(b, of)], events))
		of->flags |= CONN_MUTE;
}

void worker_behave_rx(
	struct worker_behave *b, uint32_t row, const struct tcp_segment *s, uint64_t now)
{
	uint32_t c = b->cs.at[row & b->cs.at_mask];

	while (c != CONN_NONE && b->cs.all[c].row != row)
		c = b->cs.all[c].chain;
	if (c == CONN_NONE || b->cs.all[c].tcp.state == TCP_CLOSED)
		return; // its client is gone, and sends no reset
	b->cs.segments_in++;
	conns_clock(&b->cs, now);
	if (b->cs.all[c].flags & CONN_MUTE)
		unheard(b, c, s, now);
	else
		heard(b, c, s, now);
}

// --- as owner of its connections ---

static void head_of(struct conns *cs, uint32_t c, struct conn_head *out)
{
	const struct worker_behave *b = cs->of;

	worker_conn_head(b->wc, cs->all[c].row, out);
}

// Renegotiation (RFC 5246 section 7.4.1): a server may refuse it, and TLS 1.3 has none.
static void begin_again(struct worker_behave *b, uint32_t c)
{
	for (uint32_t n = 0; n < AGAIN && tcp_is_open(&b->cs.all[c].tcp); n++)
		if (!secure_handshake(
			    &b->cs, c, b->hello + RECORD_HEADER, b->hello_len - RECORD_HEADER))
			return;
}

static void turn(struct worker_behave *b, uint32_t c)
{
	struct conn *of = &b->cs.all[c];
	uint32_t unread = tcp_unread(&b->cs.host, &of->tcp);

	tcp_consume(&b->cs.host, &of->tcp, unread < READ_BYTES ? unread : READ_BYTES);
	if (behaviours[kind_of(b, of)].hello)
		greet(b, c, 1);
	else
		ask(b, c, 1);
}

static void expired(struct conns *cs, uint32_t c, uint32_t events)
{
	struct worker_behave *b = cs->of;
	struct conn *of = &cs->all[c];

	if (of->flags & CONN_MUTE && !(events & TCP_GONE))
		return; // a mute client retransmits nothing
	if (of->since && !tcp_before((uint32_t)cs->host.now, of->since)) {
		of->since = (uint32_t)cs->host.now + TICK_US;
		if (behaviours[kind_of(b, of)].rude)
			worker_rude_turn(b, c);
		else if (behaviours[kind_of(b, of)].again)
			begin_again(b, c);
		else
			turn(b, c);
	}
	if (of->since)
		conn_wake(cs, c, of->since);
	conn_touch(cs, c);
}

static uint32_t gone(struct conns *cs, uint32_t c)
{
	struct worker_behave *b = cs->of;
	uint32_t client = cs->all[c].seat;

	if (b->conn_of[client] == c)
		b->conn_of[client] = CONN_NONE;
	return cs->all[c].row;
}

static void shaken(struct conns *cs, uint32_t c, const struct crew_seat *seat, int how)
{
	struct worker_behave *b = cs->of;
	uint8_t kind = kind_of(b, &cs->all[c]);

	(void)seat;
	if (how != SECURE_DONE)
		return;
	counts_of(b, clock_time(cs->secure->clock))->shaken[kind]++;
	if (behaviours[kind].rude)
		worker_rude_begin(b, c);
	if (behaviours[kind].again) {
		cs->all[c].since = (uint32_t)cs->host.now + 1;
		conn_wake(cs, c, cs->all[c].since);
	}
}

const struct conn_owner worker_behave_owner = {
	.head = head_of,
	.expired = expired,
	.gone = gone,
	.shaken = shaken,
};

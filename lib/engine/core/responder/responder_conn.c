// SPDX-License-Identifier: BSD-3-Clause
// The embedded server's connections: accepts them, answers each message with the faults of the
// settings, and closes them when the peer does or the settings require it. Path: hot. The
// responder's own thread.
#include "base/clock.h"
#include "engine/core/http.h"
#include "engine/core/responder/responder.h"
#include "engine/core/responder/responder_internal.h"
#include "engine/core/secure.h"
#include "io/burst.h"
#include "net/transport_server.h"

#define LINGER_US         2000000 // that the client has to close a connection that we closed
#define MORE_QUEUED       65536   // bytes that a reply of several messages may queue
#define INTERNAL_ERROR    80      // alerts
#define HANDSHAKE_FAILURE 40
#define MORE_SEEN         16 // replies of several messages that a pass continues

enum responder_conn_flag {
	OPEN = 1,    // it is counted in responder_conns.open
	ENDED = 2,   // the client sends no more
	OVER = 4,    // its last request was received
	BEGUN = 16,  // its preface was received
	LINGERS = 8, // `at` is the deadline for the client to close
	HELLO = 32   // the first octets of its handshake came, which has a fault
};

static struct responder *responder_of(struct conns *cs)
{
	return cs->of;
}

static uint8_t len_of(const struct responder_conns *rc, const struct conn *of)
{
	return rc->ways.all[of->way].addr_len;
}

static uint32_t way_to(struct responder *r, const struct frame *f)
{
	return responder_way(&r->conns->ways, &r->wire, f, true);
}

static uint32_t conn_find(struct responder *r, const struct frame *f, uint32_t own, uint32_t place)
{
	const struct conns *cs = &r->conns->cs;
	uint32_t c = cs->at[place & cs->at_mask];

	for (; c != CONN_NONE; c = cs->all[c].chain) {
		const struct conn *of = &cs->all[c];

		if (of->peer_port == f->src_port && of->own_port == f->dst_port && of->own == own &&
			len_of(r->conns, of) == f->addr_len &&
			addr_bytes_equal(of->peer, f->src, f->addr_len))
			return c;
	}
	return c;
}

// --- the end of a connection ---

static void set_open(struct responder_conns *rc, uint32_t n)
{
	rc->open = n;
	atomic_store_explicit(&rc->counts.open, n, memory_order_relaxed);
}

// Sets the client's deadline to `wait` microseconds from now.
static void give_until(struct responder *r, uint32_t c, uint32_t wait)
{
	struct responder_conn *m = &r->conns->all[c];

	m->at = (uint32_t)r->conns->cs.host.now + wait;
	conn_wake(&r->conns->cs, c, m->at);
}

static void conn_close(struct responder *r, uint32_t c)
{
	struct responder_conn *m = &r->conns->all[c];

	m->flags |= OVER | LINGERS;
	conn_shut(&r->conns->cs, c);
	give_until(r, c, LINGER_US);
}

// Closes a connection whose last request was answered, or resets it when the client has all
// replies.
static void conn_finish(struct responder *r, uint32_t c)
{
	struct conns *cs = &r->conns->cs;
	struct tcp *t = &cs->all[c].tcp;

	if (!r->conns->resets) {
		responder_count(&r->conns->counts.closed_after, 1);
		conn_close(r, c);
	} else if (t->queued == 0) {
		responder_count(&r->conns->counts.reset_after, 1);
		tcp_abort(&cs->host, t);
	}
}

static bool is_secured_port(const struct responder_protocol *p, uint16_t port)
{
	return port == p->tls_port || port == p->https_port;
}

// The client ended a handshake that it had begun.
static void handshake_lost(struct responder_conns *rc, uint32_t c)
{
	const struct secure *s = &rc->cs.secure->all[c];

	if (s->write.flags || s->read.flags & SECURE_WANTS)
		responder_count(&rc->counts.tls_failed, 1);
	secure_lost(&rc->cs, c);
}

// Ends the connection if it is over and nothing is left to send. To be called after each event that
// may end it.
static void conn_settle(struct responder *r, uint32_t c)
{
	struct responder_conns *rc = r->conns;
	struct responder_conn *m = &rc->all[c];
	struct tcp *t = &rc->cs.all[c].tcp;
	bool closed;

	if (m->held == 0 && m->more == 0 && tcp_is_open(t)) {
		if (m->flags & ENDED && !secure_holds_end(&rc->cs, c))
			conn_shut(&rc->cs, c);
		else if (m->flags & OVER && !http_waits(&rc->cs, c))
			conn_finish(r, c);
	}
	closed = t->state == TCP_CLOSED || t->state == TCP_TIME_WAIT;
	if (secure_is_shaking(&rc->cs, c) &&
		(closed || (m->flags & ENDED && !secure_holds_end(&rc->cs, c))))
		handshake_lost(rc, c);
	if (rc->cs.https && closed)
		http_forget(&rc->cs, c);
	if (m->flags & OPEN && closed) {
		m->flags &= (uint16_t)~OPEN;
		set_open(rc, rc->open - 1);
	}
	conn_touch(&rc->cs, c);
}

// --- answers ---

static bool is_secured(const struct conns *cs, uint32_t c)
{
	return (secure_flags(cs, c) & (SECURE_OPEN | SECURE_BROKEN)) == SECURE_OPEN;
}

// Applies the first fault of TLS whose turn it is to the next message. Returns false if an alert
// takes its place.
static bool record_spoil(struct responder *r, uint32_t c)
{
	struct conns *cs = &r->conns->cs;
	uint64_t turns = is_secured(cs, c) ? faults_draw(&r->faults, FAULTS_OF_RECORDS) : 0;
	uint32_t fault = turns ? (uint32_t)__builtin_ctzll(turns) : 0;

	if (turns == 0 || (fault == FAULT_KEY_UPDATE && cs->secure->all[c].write.tls12))
		return true;
	faults_count(&r->faults, fault);
	cs->secure->corrupt = fault == FAULT_RECORD_CORRUPT;
	cs->secure->split = fault == FAULT_RECORD_SPLIT;
	if (fault == FAULT_KEY_UPDATE)
		secure_key_update(cs, c);
	if (fault != FAULT_ALERT)
		return true;
	secure_alert(cs, c, INTERNAL_ERROR);
	r->conns->all[c].flags |= ENDED;
	return false;
}

// Writes the reply at cs->message. Returns false without memory, and resets the connection.
static bool message_write(struct responder *r, uint32_t c, uint32_t len)
{
	struct conns *cs = &r->conns->cs;

	for (uint32_t i = 0; i < r->protocol_count; i++) // a held-back reply may be of another
		if (r->protocols[i].port == cs->all[c].own_port ||
			r->protocols[i].tls_port == cs->all[c].own_port)
			cs->framed = r->protocols[i].proto->framed;
	if (cs->secure && r->faults.active && !record_spoil(r, c))
		return true;
	if (conn_write(cs, c, len))
		return true;
	tcp_abort(&cs->host, &cs->all[c].tcp);
	return false;
}

// Like message_write, but at tick `leave`. Returns false without memory or a buffer.
static bool message_send(
	struct responder *r, uint32_t c, uint32_t len, uint64_t leave, uint64_t now)
{
	const struct held head = {
		.conn = c, .number = r->conns->all[c].number, .stream = r->conns->cs.stream.stream};
	struct rte_mbuf *m;

	if (leave <= now && r->faults.delay.held == 0)
		return message_write(r, c, len);
	m = responder_hold(r, r->conns->cs.message + CONN_LENGTH, len, &head);
	if (!m)
		return false;
	if (!delay_put(&r->faults.delay, responder_as_held(m), leave, now)) {
		r->tx_no_mbuf++;
		responder_free_message(responder_as_held(m));
		return message_write(r, c, len);
	}
	r->conns->all[c].held++;
	return true;
}

void responder_conn_send(struct responder *r, const struct held *head, uint32_t len)
{
	struct responder_conns *rc = r->conns;
	uint32_t c = head->conn;
	bool there = rc->all[c].number == head->number;

	rc->cs.stream.stream = head->stream;
	rc->all[c].held -= there;
	if (!there || !tcp_is_open(&rc->cs.all[c].tcp) || !message_write(r, c, len))
		responder_count(&rc->counts.unsent, 1);
	if (!there)
		return;
	if (rc->idle_us && !(rc->all[c].flags & LINGERS))
		give_until(r, c, rc->idle_us);
	conn_settle(r, c);
}

// Sends the reply at cs->message, or a further message of it, with a fault. *sent counts it.
static void message_answer(struct responder *r, const struct responder_protocol *p, uint32_t c,
	uint32_t len, uint64_t leave, uint64_t now, _Atomic uint64_t *sent)
{
	struct conns *cs = &r->conns->cs;
	uint32_t extra = 0;

	if (r->faults.active)
		len = responder_spoil_message(r, p, cs->message + CONN_LENGTH, len, &extra);
	if (len == PROTO_NO_ANSWER)
		return;
	if (!message_send(r, c, len, leave, now)) {
		responder_count(&r->counts.no_buffer, 1);
		return;
	}
	responder_count(sent, 1);
	if (extra == 0 || !tcp_is_open(&cs->all[c].tcp))
		return;
	memcpy(cs->message + CONN_LENGTH, r->conns->request, extra);
	message_send(r, c, extra, leave, now);
}

static void answer_one(struct responder *r, struct responder_protocol *p, uint32_t c,
	const uint8_t *message, uint32_t len, uint64_t now)
{
	struct responder_conns *rc = r->conns;
	uint64_t leave = now;
	uint32_t n = 0, more = 0;

	responder_count(&r->counts.received, 1);
	if (r->faults.active && !faults_admit(&r->faults, now, &leave))
		return;
	if (rc->accept == TRANSPORT_ANSWER) {
		// The message may be in the memory that the reply is written to.
		memcpy(rc->request, message, len);
		p->ctx.stream = true;
		p->ctx.more = 0;
		n = p->server->answer(&p->ctx, rc->request, len, rc->cs.message + CONN_LENGTH,
			CONN_MESSAGE_MAX - CONN_LENGTH);
		p->ctx.stream = false;
		more = p->ctx.more;
	}
	if (more && secure_flags(&rc->cs, c) & SECURE_HTTP) { // an answer is one message there
		p->ctx.more = more;
		p->server->more(&p->ctx, NULL, 0, NULL, CONN_MESSAGE_MAX - CONN_LENGTH);
	} else if (more) {
		rc->more[rc->more_count++] = (struct responder_more){p, c, rc->all[c].number, more};
		rc->all[c].more++;
	}
	if (n)
		message_answer(r, p, c, n, leave, now, &r->counts.answered);
	else
		responder_count(&r->counts.ignored, 1);
}

// Makes the next message of a reply, if its connection takes one now, and then sets *made. Returns
// false if the reply is complete.
static bool go_on(struct responder *r, struct responder_more *of, uint64_t now, bool *made)
{
	struct responder_conns *rc = r->conns;
	struct responder_conn *m = &rc->all[of->conn];
	struct tcp *t = &rc->cs.all[of->conn].tcp;
	struct responder_protocol *p = of->protocol;
	bool there = m->number == of->number, is_open = there && tcp_is_open(t);
	uint32_t len;

	if (is_open && (m->held || t->queued > MORE_QUEUED || rc->cs.host.used > rc->more_blocks))
		return true;
	p->ctx.more = of->more;
	p->ctx.now_ms = clock_ms(now - r->start, r->ms_scale);
	len = p->server->more(&p->ctx, NULL, 0, is_open ? rc->cs.message + CONN_LENGTH : NULL,
		CONN_MESSAGE_MAX - CONN_LENGTH);
	of->more = is_open ? p->ctx.more : 0;
	m->more -= there && of->more == 0;
	if (len && is_open) {
		message_answer(r, p, of->conn, len, now, now, &rc->counts.further);
		*made = true;
	}
	if (there && of->more == 0 && rc->idle_us && !(m->flags & LINGERS))
		give_until(r, of->conn, rc->idle_us);
	if (there)
		conn_settle(r, of->conn);
	return of->more != 0;
}

bool responder_go_on(struct responder *r, uint64_t now)
{
	struct responder_conns *rc = r->conns;
	bool made = false;

	for (uint32_t n = 0; n < MORE_SEEN && rc->more_count; n++) {
		uint32_t i = rc->more_turn < rc->more_count ? rc->more_turn : 0;

		rc->more_turn = i + 1;
		if (go_on(r, &rc->more[i], now, &made))
			continue;
		rc->more[i] = rc->more[--rc->more_count];
		rc->more_turn = i;
	}
	return made;
}

// Reads the preface of a connection, or its part within TLS. Returns false if it is incomplete, or
// wrong.
static bool preface_read(struct responder *r, struct responder_protocol *p, uint32_t c)
{
	struct responder_conns *rc = r->conns;
	struct conns *cs = &rc->cs;
	const uint8_t *bytes;
	uint32_t len, result;

	cs->framed = p->preface;
	cs->fixed = 0;
	if (!(secure_flags(cs, c) ? secure_message(cs, c, &bytes, &len)
				  : conn_message(cs, c, &bytes, &len)))
		return false;
	r->conns->all[c].flags |= BEGUN;
	p->ctx.stream = p->ctx.begins = true;
	result = p->server->answer(&p->ctx, bytes, len, rc->request, sizeof(rc->request));
	p->ctx.stream = p->ctx.begins = false;
	if (result != PROTO_RESET)
		return true;
	tcp_abort(&cs->host, &cs->all[c].tcp);
	return false;
}

// Answers the received messages; discards messages after the last one.
static void answer_all(struct responder *r, struct responder_protocol *p, uint32_t c, uint64_t now)
{
	struct responder_conns *rc = r->conns;
	struct conns *cs = &rc->cs;
	struct responder_conn *m = &rc->all[c];
	const uint8_t *message;
	uint32_t len;

	if (p->preface && !(m->flags & BEGUN) && !preface_read(r, p, c)) {
		m->flags |= secure_is_over(cs, c) ? ENDED : 0;
		return;
	}
	cs->framed = p->proto->framed;
	cs->fixed = p->request_len;
	while (cs->all[c].tcp.state != TCP_CLOSED && conn_message(cs, c, &message, &len)) {
		if (m->flags & OVER)
			continue;
		if (++m->asked >= rc->per_conn)
			m->flags |= OVER;
		answer_one(r, p, c, message, len, now);
	}
	if (secure_is_over(cs, c))
		m->flags |= ENDED;
	if (rc->idle_us && !(m->flags & LINGERS))
		give_until(r, c, rc->idle_us);
}

// A handshake is over: messages may have come with its last octets.
static void shaken(struct conns *cs, uint32_t c, const struct crew_seat *seat, int how)
{
	struct responder *r = responder_of(cs);
	struct responder_conn_counts *counts = &r->conns->counts;
	uint64_t now = clock_time(r->clock);

	responder_count(&counts->tls_full, how == SECURE_DONE && !seat->facts->resumed);
	responder_count(&counts->tls_resumed, how == SECURE_DONE && seat->facts->resumed);
	responder_count(&counts->tls_early, how == SECURE_DONE && seat->facts->early);
	responder_count(&counts->tls_failed, how != SECURE_DONE);
	if (how != SECURE_DONE)
		r->conns->all[c].flags |= ENDED;
	for (uint32_t i = 0; how == SECURE_DONE && i < r->protocol_count; i++)
		if (is_secured_port(&r->protocols[i], cs->all[c].own_port)) {
			r->protocols[i].ctx.now_ms = clock_ms(now - r->start, r->ms_scale);
			answer_all(r, &r->protocols[i], c, now);
		}
	conn_settle(r, c);
}

// --- faults of handshakes ---

static enum tls_fault handshake_fault(struct responder_conns *rc)
{
	uint64_t random = rand_next(&rc->rand);

	for (uint32_t i = 1; i < TLS_FAULT_COUNT; i++)
		if (random < rc->tls_below[i])
			return (enum tls_fault)i;
	return TLS_FAULT_NONE;
}

// TCP is ready: on the ports of TLS a handshake begins, unless a fault takes its place.
static void handshake_begin(
	struct responder *r, const struct responder_protocol *p, uint32_t c, uint64_t now)
{
	struct responder_conn *m = &r->conns->all[c];
	struct conns *cs = &r->conns->cs;
	uint16_t port = cs->all[c].own_port;

	if (!is_secured_port(p, port))
		return;
	if (!conn_on(cs, c, port == p->https_port ? CHANNEL_HTTP : CHANNEL_TLS)) {
		tcp_abort(&cs->host, &cs->all[c].tcp);
		return;
	}
	m->fault = r->conns->tls_fails ? handshake_fault(r->conns) : TLS_FAULT_NONE;
	if (m->fault == TLS_FAULT_NONE || m->fault >= TLS_FAULT_OF_SETTINGS)
		secure_begin(cs, c, m->fault, now);
}

static void discard(struct conns *cs, uint32_t c)
{
	cs->host.view_len = 0;
	tcp_consume(&cs->host, &cs->all[c].tcp, tcp_unread(&cs->host, &cs->all[c].tcp));
}

// The first octets of a connection over TLS came: a preface in front of it is read before the
// handshake begins, and is not expected within. Returns whether octets of the handshake follow.
static bool preface_passed(
	struct responder *r, struct responder_protocol *p, uint32_t c, uint64_t now)
{
	struct conns *cs = &r->conns->cs;
	struct tcp_host *h = &cs->host;
	struct tcp *t = &cs->all[c].tcp;
	uint8_t first = 0;

	if (h->view_len)
		first = h->view[0];
	else
		tcp_peek(h, t, &first, 1);
	if (first != RECORD_HANDSHAKE && !preface_read(r, p, c))
		return false;
	handshake_begin(r, p, c, now);
	return h->view_len || tcp_unread(h, t);
}

// Octets of a handshake with a fault came. Returns whether they are to be read.
static bool handshake_spoil(struct responder *r, uint32_t c)
{
	static const uint8_t alert[] = {21, 3, 3, 0, 2, 2, HANDSHAKE_FAILURE};
	struct responder_conns *rc = r->conns;
	struct responder_conn *m = &rc->all[c];
	struct tcp *t = &rc->cs.all[c].tcp;
	struct tcp_host *h = &rc->cs.host;
	bool first = !(m->flags & HELLO);

	m->flags |= HELLO;
	responder_count(&rc->tls_faults[m->fault], first);
	switch ((enum tls_fault)m->fault) {
	case TLS_FAULT_ALERT:
		if (first && tcp_is_open(t))
			tcp_send(h, t, alert, sizeof(alert));
		m->flags |= ENDED;
		discard(&rc->cs, c);
		return false;
	case TLS_FAULT_SILENT:
		discard(&rc->cs, c);
		return false;
	case TLS_FAULT_RESET:
		tcp_abort(h, t);
		return false;
	case TLS_FAULT_SLOW:
		if (first)
			give_until(r, c, rc->tls_slow_us);
		if (h->view_len && !tcp_keep(h, t, h->view_len))
			tcp_abort(h, t);
		return false;
	case TLS_FAULT_NONE:
	case TLS_FAULT_NO_ALPN:
	case TLS_FAULT_WRONG_ALPN:
	case TLS_FAULT_HELLO_RETRY:
	case TLS_FAULT_NO_TICKET:
	case TLS_FAULT_TICKET_REFUSED:
	case TLS_FAULT_COUNT:
		break;
	}
	m->fault = TLS_FAULT_NONE;
	return true;
}

// Octets came. Returns whether they are messages, or of a handshake.
static bool stream_begins(
	struct responder *r, struct responder_protocol *p, uint32_t c, uint64_t now)
{
	struct conns *cs = &r->conns->cs;

	if (p->preface && is_secured_port(p, cs->all[c].own_port) && !secure_flags(cs, c) &&
		!preface_passed(r, p, c, now))
		return false;
	return !r->conns->all[c].fault || handshake_spoil(r, c);
}

// A slow handshake begins, with the octets that came so far.
static void handshake_late(struct responder *r, uint32_t c)
{
	struct conns *cs = &r->conns->cs;
	struct responder_conn *m = &r->conns->all[c];
	const uint8_t *message;
	uint32_t len;

	m->fault = TLS_FAULT_NONE;
	m->at = 0;
	if (!tcp_is_open(&cs->all[c].tcp))
		return;
	secure_begin(cs, c, TLS_FAULT_NONE, clock_time(r->clock));
	secure_message(cs, c, &message, &len);
	if (r->conns->idle_us)
		give_until(r, c, r->conns->idle_us);
}

// --- the beginning of a connection ---

static void conn_begin(struct responder_conns *rc, uint32_t c)
{
	rc->all[c] = (struct responder_conn){.number = ++rc->numbers, .flags = OPEN};
	set_open(rc, rc->open + 1);
}

// Returns the size of a segment in the largest packet.
static uint16_t mss_of(const struct responder *r, const struct frame *f)
{
	return (uint16_t)(r->conns->packet - FRAME_TCP_LEN -
			  (f->addr_len == 4 ? FRAME_IPV4_LEN : FRAME_IPV6_LEN));
}

static uint32_t conn_accept(struct responder *r, const struct frame *f, uint32_t own,
	uint32_t place, const struct tcp_segment *s)
{
	struct conns *cs = &r->conns->cs;
	bool room = r->conns->open < r->conns->most;
	uint32_t way = way_to(r, f), c = way < CONN_WAYS && room ? conn_take(cs, place) : CONN_NONE;
	struct conn *of;

	if (c == CONN_NONE)
		return c;
	of = &cs->all[c];
	responder_ends(of, f, own, way);
	conn_begin(r->conns, c);
	tcp_accept(&cs->host, &of->tcp, tcp_iss(&cs->host, rand_hash(r->conns->secret ^ place)),
		mss_of(r, f), s);
	return c;
}

static void refuse(struct responder *r, const struct frame *f, const struct tcp_segment *s)
{
	struct conn_head head;
	uint32_t way = way_to(r, f);

	if (way == CONN_WAYS)
		return;
	head.t = r->conns->ways.all[way];
	frame_template_aim_tcp(&head.t, f->eth + 6, f->src, f->src_port);
	memcpy(head.src, f->dst, f->addr_len);
	head.src_port = f->dst_port;
	conns_refuse(&r->conns->cs, &r->wire, &head, s);
}

static bool begins(const struct tcp_segment *s)
{
	return (s->flags & (TCP_SYN | TCP_ACK | TCP_RST)) == TCP_SYN;
}

// Handles a segment without a connection: accepts, refuses or drops it.
static void segment_without(struct responder *r, const struct frame *f, uint32_t own,
	uint32_t place, const struct tcp_segment *s)
{
	struct responder_conn_counts *counts = &r->conns->counts;
	uint32_t c = CONN_NONE;

	if (begins(s) && r->conns->accept == TRANSPORT_DROP) {
		responder_count(&counts->dropped, 1);
		return;
	}
	if (begins(s) && r->conns->accept == TRANSPORT_REFUSE) {
		responder_count(&counts->refused, 1);
	} else if (begins(s)) {
		c = conn_accept(r, f, own, place, s);
		responder_count(&counts->full, c == CONN_NONE);
		if (c == CONN_NONE && r->conns->drops)
			return;
	}
	if (c == CONN_NONE)
		refuse(r, f, s);
	else
		conn_touch(&r->conns->cs, c);
}

static void count_events(struct responder *r, uint32_t c, uint32_t events)
{
	struct responder_conn_counts *counts = &r->conns->counts;
	struct responder_conn *m = &r->conns->all[c];

	if (!(events & (TCP_OPENED | TCP_ENDED | TCP_BROKEN | TCP_TIMED_OUT)))
		return;
	responder_count(&counts->accepted, (events & TCP_OPENED) != 0);
	responder_count(&counts->reset, (events & (TCP_BROKEN | TCP_TIMED_OUT)) != 0);
	if (events & TCP_OPENED && r->conns->idle_us)
		give_until(r, c, r->conns->idle_us);
	if (events & TCP_ENDED)
		m->flags |= ENDED;
}

void responder_segment(
	struct responder *r, struct responder_protocol *p, const struct frame *f, uint64_t now)
{
	struct conns *cs = &r->conns->cs;
	uint32_t own = responder_own(r, f), place, c, events;
	struct tcp_segment s;

	if (own > UINT16_MAX || !tcp_parse(f->payload, f->payload_len, &s)) {
		r->wire.counters.bad_frame++;
		return;
	}
	cs->segments_in++;
	if (!p) {
		responder_count(&r->conns->counts.refused, begins(&s));
		refuse(r, f, &s);
		return;
	}
	place = responder_place(f->src, f->addr_len, f->src_port, own << 16 | f->dst_port);
	c = conn_find(r, f, own, place);
	if (c == CONN_NONE) {
		segment_without(r, f, own, place, &s);
		return;
	}
	if (r->conns->open < r->conns->most &&
		tcp_reopen(&cs->host, &cs->all[c].tcp, mss_of(r, f), &s)) {
		conn_forget(cs, c);
		conn_begin(r->conns, c);
		conn_touch(cs, c);
		return;
	}
	events = tcp_input(&cs->host, &cs->all[c].tcp, &s);
	if (events & TCP_STRANGE)
		refuse(r, f, &s);
	count_events(r, c, events);
	if (events & TCP_OPENED && cs->secure && !p->preface)
		handshake_begin(r, p, c, now);
	if (events & TCP_DATA && stream_begins(r, p, c, now))
		answer_all(r, p, c, now);
	conn_settle(r, c);
}

static void head_of(struct conns *cs, uint32_t c, struct conn_head *out)
{
	const struct responder *r = responder_of(cs);
	const struct conn *of = &cs->all[c];

	out->t = r->conns->ways.all[of->way];
	frame_template_aim_tcp(&out->t, out->t.bytes, of->peer, of->peer_port);
	responder_own_address(r, of->own, out->src);
	out->src_port = of->own_port;
}

// Handles a connection past its deadline: it is idle, or the client has not closed it.
static void conn_late(struct responder *r, uint32_t c)
{
	struct conns *cs = &r->conns->cs;
	struct responder_conn *m = &r->conns->all[c];
	struct tcp *t = &cs->all[c].tcp;

	if (m->flags & LINGERS && t->state == TCP_FIN_WAIT_2) {
		tcp_abort(&cs->host, t);
	} else if (m->flags & LINGERS) {
		if (t->state != TCP_CLOSED && t->state != TCP_TIME_WAIT)
			give_until(r, c, LINGER_US);
	} else if (m->held || m->more) {
		give_until(r, c, r->conns->idle_us);
	} else if (tcp_is_open(t) && !(m->flags & (OVER | ENDED))) {
		responder_count(&r->conns->counts.closed_idle, 1);
		conn_close(r, c);
	}
}

static void expired(struct conns *cs, uint32_t c, uint32_t events)
{
	struct responder *r = responder_of(cs);
	struct responder_conn *m = &r->conns->all[c];
	uint32_t now = (uint32_t)cs->host.now;
	bool slow = m->fault == TLS_FAULT_SLOW && m->flags & HELLO && !(m->flags & LINGERS);
	bool waits = slow || m->flags & LINGERS || (r->conns->idle_us && m->at);

	count_events(r, c, events);
	if (waits && tcp_before(now, m->at))
		conn_wake(cs, c, m->at);
	else if (slow)
		handshake_late(r, c);
	else if (waits)
		conn_late(r, c);
	conn_settle(r, c);
}

static uint32_t gone(struct conns *cs, uint32_t c)
{
	const struct responder *r = responder_of(cs);
	const struct conn *of = &cs->all[c];

	r->conns->all[c].number = 0; // no held-back reply belongs to it any more
	return responder_place(of->peer, len_of(r->conns, of), of->peer_port,
		(uint32_t)of->own << 16 | of->own_port);
}

static enum conn_fate fate_of(struct conns *cs)
{
	static const enum conn_fate fates[] = {[FAULT_LOSS] = CONN_FATE_LOST,
		[FAULT_DUPLICATE] = CONN_FATE_TWICE,
		[FAULT_REORDER] = CONN_FATE_LATER,
		[FAULT_CORRUPT_CHECKSUM] = CONN_FATE_DAMAGED};
	struct responder *r = responder_of(cs);
	uint64_t turns = r->faults.active ? faults_draw(&r->faults, FAULTS_OF_SEGMENTS) : 0;

	if (turns == 0)
		return CONN_FATE_NONE;
	faults_count(&r->faults, (uint32_t)__builtin_ctzll(turns));
	return fates[__builtin_ctzll(turns)];
}

const struct conn_owner responder_conn_owner = {
	.fate = fate_of,
	.head = head_of,
	.expired = expired,
	.gone = gone,
	.shaken = shaken,
};

void responder_conns_halt(struct responder *r)
{
	struct conns *cs = &r->conns->cs;

	for (uint32_t c = 0; c < cs->count && cs->used; c++) {
		if (cs->all[c].tcp.state == TCP_CLOSED)
			continue;
		tcp_abort(&cs->host, &cs->all[c].tcp);
		conn_touch(cs, c);
		if (cs->ready_count >= r->wire.burst &&
			conns_send(cs, &r->wire, &r->tx_no_mbuf) == 0)
			break;
	}
	conns_send(cs, &r->wire, &r->tx_no_mbuf);
	conns_halt(cs);
}

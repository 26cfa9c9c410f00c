// SPDX-License-Identifier: BSD-3-Clause
// The states of a TCP connection: what a segment, the clock and the user change, and what is to be
// sent then. tcp.h is the contract. Path: hot. The thread that owns the host.
#include "net/tcp_internal.h"

#define DUPLICATES   3  // acknowledgements, RFC 5681
#define FIRST_WINDOW 10 // segments, RFC 6928
#define CWND_MOST    (1u << 24)
#define MSS_DEFAULT  536 // RFC 9293 section 3.7.1
#define MSS_LEAST    64
#define STAMPS_LEN   12u
#define STAMP_SHIFT  10 // a tick of timestamps is about a millisecond
#define BACKOFF_MOST 16 // doublings of the timeout

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t now_of(const struct tcp_host *h)
{
	return (uint32_t)h->now;
}

uint32_t tcp_iss(const struct tcp_host *h, uint64_t hash)
{
	return (uint32_t)(h->now >> 2) + (uint32_t)(hash ^ hash >> 32);
}

// --- timers ---

static uint32_t rto_of(const struct tcp_host *h, const struct tcp *t)
{
	uint32_t rto = h->rto_first;
	uint32_t backs = t->backoff;

	if (t->srtt) {
		rto = (t->srtt >> 3) + t->rttvar;
		rto = rto < h->rto_least ? h->rto_least : rto;
	}
	while (backs-- && rto < h->rto_most)
		rto *= 2;
	return least(rto, h->rto_most);
}

static void back_off(struct tcp *t)
{
	if (t->backoff < BACKOFF_MOST)
		t->backoff++;
}

static void timer_set(const struct tcp_host *h, struct tcp *t, uint32_t wait)
{
	t->timer = now_of(h) + wait;
	t->flags |= TCP_F_TIMER;
}

static void timer_stop(struct tcp *t)
{
	t->flags &= (uint16_t)~TCP_F_TIMER;
}

bool tcp_deadline(const struct tcp *t, uint32_t *at)
{
	if (!(t->flags & (TCP_F_TIMER | TCP_F_ACK_LATER)))
		return false;
	*at = t->timer;
	if (!(t->flags & TCP_F_TIMER) ||
		(t->flags & TCP_F_ACK_LATER && tcp_before(t->ack_at, t->timer)))
		*at = t->ack_at;
	return true;
}

// RFC 6298 section 2.
static void rtt_take(struct tcp *t, uint32_t rtt)
{
	uint32_t mean = t->srtt >> 3, off;

	rtt = rtt ? rtt : 1;
	t->backoff = 0; // not before: Karn's rule, RFC 6298 section 5
	if (t->srtt == 0) {
		t->srtt = rtt << 3;
		t->rttvar = rtt << 1;
		return;
	}
	off = rtt > mean ? rtt - mean : mean - rtt;
	t->rttvar = t->rttvar - (t->rttvar >> 2) + off;
	t->srtt = t->srtt - mean + rtt;
}

// --- begin and end ---

static void set_up(struct tcp_host *h, struct tcp *t, uint32_t iss, uint16_t mss)
{
	*t = (struct tcp){.una = iss,
		.nxt = iss,
		.max = iss,
		.mss = mss,
		.cwnd = (uint32_t)FIRST_WINDOW * mss,
		.ssthresh = UINT16_MAX,
		.tx_head = TCP_NONE,
		.tx_tail = TCP_NONE,
		.rx_head = TCP_NONE};
	while (t->recv_scale < 14 && h->window >> t->recv_scale > UINT16_MAX)
		t->recv_scale++;
	if (h->stamps)
		t->flags |= TCP_F_STAMPS;
}

void tcp_open(struct tcp_host *h, struct tcp *t, uint32_t iss, uint16_t mss)
{
	set_up(h, t, iss, mss);
	t->send_scale = TCP_NO_SCALE;
	t->state = TCP_SYN_SENT;
}

// What the peer's SYN says about the connection. Our own, if it was sent, had this window.
static void take_syn(const struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	uint32_t mss = s->mss ? s->mss : MSS_DEFAULT;

	t->rcv = s->seq + 1;
	t->edge = t->rcv + least(h->window, UINT16_MAX);
	t->mss = (uint16_t)least(t->mss, mss < MSS_LEAST ? MSS_LEAST : mss);
	t->cwnd = least(t->cwnd, (uint32_t)FIRST_WINDOW * t->mss);
	t->send_scale = s->scale;
	if (s->scale == TCP_NO_SCALE)
		t->send_scale = t->recv_scale = 0;
	if (!s->stamped)
		t->flags &= (uint16_t)~TCP_F_STAMPS;
	t->recent = s->value;
	t->peer_window = s->window;
	t->window_seq = s->seq;
}

void tcp_accept(struct tcp_host *h, struct tcp *t, uint32_t iss, uint16_t mss,
	const struct tcp_segment *syn)
{
	set_up(h, t, iss, mss);
	t->flags = TCP_F_STAMPS;
	take_syn(h, t, syn);
	if (syn->scale == TCP_NO_SCALE)
		t->send_scale = TCP_NO_SCALE; // so that ours is not offered
	t->state = TCP_SYN_RECEIVED;
}

static uint32_t gone(struct tcp_host *h, struct tcp *t, uint32_t event)
{
	tcp_drop(h, t);
	t->state = TCP_CLOSED;
	t->flags = 0;
	return event;
}

void tcp_abort(struct tcp_host *h, struct tcp *t)
{
	bool known =
		t->state != TCP_CLOSED && t->state != TCP_SYN_SENT && t->state != TCP_TIME_WAIT;

	gone(h, t, 0);
	if (known)
		t->flags = TCP_F_RST;
}

// The user has closed: the state that follows from the one in which the peer's FIN left us.
static void leave_open(struct tcp *t)
{
	if (t->state == TCP_ESTABLISHED)
		t->state = TCP_FIN_WAIT_1;
	else if (t->state == TCP_CLOSE_WAIT)
		t->state = TCP_LAST_ACK;
}

void tcp_shut(struct tcp *t)
{
	if (!tcp_is_open(t))
		return;
	t->flags |= TCP_F_FIN;
	leave_open(t);
}

static void enter_time_wait(struct tcp_host *h, struct tcp *t)
{
	t->state = TCP_TIME_WAIT;
	timer_set(h, t, h->time_wait);
}

// --- to be sent ---

// The number of a segment without bytes is beyond all that was sent, even while that is sent again:
// the peer ignores an acknowledgement with an old one. It also ignores one beyond its window, where
// a probe is.
static uint32_t seq_of_ack(const struct tcp *t)
{
	bool fin = t->flags & TCP_F_FIN && t->max - t->una > t->queued; // it needs no room
	uint32_t end = t->una + t->peer_window + fin;

	return tcp_before(end, t->max) ? end : t->max;
}

// Acknowledgement, window and timestamps. The right edge never moves back, nor by little: RFC 9293
// section 3.8.6.2.2.
static void fill(struct tcp_host *h, struct tcp *t, uint8_t flags, struct tcp_segment *out)
{
	uint32_t edge = t->rcv + tcp_window_free(h, t), window;

	*out = (struct tcp_segment){.seq = seq_of_ack(t), .flags = flags, .scale = TCP_NO_SCALE};
	if (t->flags & TCP_F_STAMPS) {
		out->stamped = true;
		out->value = (uint32_t)(h->now >> STAMP_SHIFT);
		out->echo = t->recent;
	}
	if (flags & TCP_ACK)
		out->ack = t->rcv;
	if (!(flags & TCP_SYN) && tcp_before(t->edge, edge) &&
		edge - t->edge >= least(t->mss, h->window / 2))
		t->edge = edge;
	window = t->edge - t->rcv;
	if (!(flags & TCP_SYN)) // whose window is not scaled
		window >>= t->recv_scale;
	out->window = (uint16_t)least(window, UINT16_MAX);
	t->flags &= (uint16_t) ~(TCP_F_ACK_NOW | TCP_F_ACK_LATER);
}

static bool output_syn(struct tcp_host *h, struct tcp *t, struct tcp_segment *out)
{
	bool answer = t->state == TCP_SYN_RECEIVED;

	fill(h, t, answer ? TCP_SYN | TCP_ACK : TCP_SYN, out);
	if (!answer) {
		out->window = (uint16_t)least(h->window, UINT16_MAX);
		if (!h->stamps)
			out->stamped = false;
	}
	out->seq = t->una;
	out->mss = t->mss;
	if (!answer || t->send_scale != TCP_NO_SCALE)
		out->scale = t->recv_scale;
	if (t->max == t->una && !(t->flags & TCP_F_TIMED) && t->tries == 0) {
		t->flags |= TCP_F_TIMED;
		t->timed_seq = t->una;
		t->timed_at = now_of(h);
	}
	t->nxt = t->una + 1;
	t->max = t->nxt;
	timer_set(h, t, rto_of(h, t));
	return true;
}

// A segment of the stream, len bytes from seq on, and FIN if it is the last one.
static bool output_bytes(
	struct tcp_host *h, struct tcp *t, uint32_t seq, uint32_t len, struct tcp_segment *out)
{
	uint32_t end = seq + len;
	bool all = end == t->una + t->queued, fin = all && t->flags & TCP_F_FIN;

	fill(h, t, (uint8_t)(TCP_ACK | (all && len ? TCP_PSH : 0) | (fin ? TCP_FIN : 0)), out);
	out->seq = out->from = seq;
	out->len = len;
	end += fin;
	if (tcp_before(t->nxt, end))
		t->nxt = end;
	if (!(t->flags & (TCP_F_TIMED | TCP_F_RECOVER)) && seq == t->max) {
		t->flags |= TCP_F_TIMED;
		t->timed_seq = seq;
		t->timed_at = now_of(h);
	}
	if (tcp_before(t->max, end))
		t->max = end;
	if (!(t->flags & TCP_F_TIMER))
		timer_set(h, t, rto_of(h, t));
	return true;
}

static uint32_t payload_of(const struct tcp *t)
{
	return t->mss - (t->flags & TCP_F_STAMPS ? STAMPS_LEN : 0);
}

// The next segment of the stream that the peer's window and ours allow.
static bool output_stream(struct tcp_host *h, struct tcp *t, struct tcp_segment *out)
{
	uint32_t sent = t->nxt - t->una, mss = payload_of(t);
	uint32_t window = least(t->peer_window, t->cwnd);
	uint32_t room = window > sent ? window - sent : 0;
	uint32_t waits = t->queued > sent ? t->queued - sent : 0;
	uint32_t len = least(least(waits, mss), room);

	if (waits == 0 && (!(t->flags & TCP_F_FIN) || sent > t->queued))
		return false;
	if (len == waits || len == mss) // RFC 9293 section 3.8.6.2.1: whole segments, or all
		return output_bytes(h, t, t->nxt, len, out);
	if (sent == 0 && len)
		return output_bytes(h, t, t->nxt, len, out);
	if (sent == 0 && !(t->flags & TCP_F_TIMER)) {
		h->counters->zero_window++;
		timer_set(h, t, rto_of(h, t));
	}
	return false;
}

bool tcp_output(struct tcp_host *h, struct tcp *t, struct tcp_segment *out)
{
	uint16_t flags = t->flags;

	if (flags & TCP_F_RST) {
		fill(h, t, TCP_RST | TCP_ACK, out);
		t->flags = 0;
		return true;
	}
	if (t->state == TCP_CLOSED)
		return false;
	if (tcp_syn_waits(t)) {
		if (t->nxt == t->una)
			return output_syn(h, t, out);
	} else if (flags & TCP_F_RESEND) {
		t->flags &= (uint16_t)~TCP_F_RESEND;
		return output_bytes(h, t, t->una,
			least(least(t->queued, payload_of(t)), t->peer_window ? t->peer_window : 1),
			out);
	} else if (flags & TCP_F_PROBE) {
		t->flags &= (uint16_t)~TCP_F_PROBE;
		return output_bytes(h, t, t->una, least(t->queued, 1), out);
	} else if (output_stream(h, t, out)) {
		return true;
	}
	if (!(t->flags & TCP_F_ACK_NOW))
		return false;
	fill(h, t, TCP_ACK, out);
	return true;
}

bool tcp_reset_for(const struct tcp_segment *s, struct tcp_segment *out)
{
	if (s->flags & TCP_RST)
		return false;
	*out = (struct tcp_segment){.flags = TCP_RST, .scale = TCP_NO_SCALE};
	if (s->flags & TCP_ACK) {
		out->seq = s->ack;
		return true;
	}
	out->flags |= TCP_ACK;
	out->ack = s->seq + s->len + !!(s->flags & TCP_SYN) + !!(s->flags & TCP_FIN);
	return true;
}

// --- received ---

// RFC 9293 section 3.10.7.4: is any of the segment in the window? Without bytes it may be at the
// end of the window, where a peer is that has filled it, or behind a FIN there. Of one that probes
// a closed window, the acknowledgement is taken.
static bool is_acceptable(const struct tcp *t, const struct tcp_segment *s)
{
	uint32_t window = t->edge - t->rcv;
	uint32_t len = s->len + !!(s->flags & TCP_SYN) + !!(s->flags & TCP_FIN);
	uint32_t first = s->seq - t->rcv, last = first + len - 1;

	if (len == 0 || window == 0)
		return first <= window + 1;
	return first < window || last < window;
}

static void challenge(struct tcp_host *h, struct tcp *t)
{
	h->counters->challenged++;
	t->flags |= TCP_F_ACK_NOW;
}

static uint32_t input_reset(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	if (s->seq == t->rcv)
		return gone(h, t, t->state == TCP_TIME_WAIT ? TCP_DONE : TCP_BROKEN);
	challenge(h, t);
	return 0;
}

static void round_trip(const struct tcp_host *h, struct tcp *t, uint32_t ack)
{
	if (!(t->flags & TCP_F_TIMED) || !tcp_before(t->timed_seq, ack))
		return;
	t->flags &= (uint16_t)~TCP_F_TIMED;
	rtt_take(t, now_of(h) - t->timed_at);
}

static bool acks_syn(const struct tcp *t, const struct tcp_segment *s)
{
	return s->ack == t->una + 1 && t->max != t->una;
}

// The handshake is complete.
static uint32_t opened(const struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	round_trip(h, t, s->ack);
	if (t->tries) // RFC 5681 section 3.1
		t->cwnd = t->mss;
	if (t->send_scale == TCP_NO_SCALE)
		t->send_scale = t->recv_scale = 0;
	t->una = t->nxt = s->ack;
	t->state = TCP_ESTABLISHED;
	t->tries = t->backoff = 0;
	timer_stop(t);
	t->peer_window = (uint32_t)s->window << (s->flags & TCP_SYN ? 0 : t->send_scale);
	t->window_seq = s->seq;
	if (t->flags & TCP_F_FIN)
		leave_open(t);
	return TCP_OPENED;
}

static uint32_t input_data(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s);

static uint32_t input_syn_sent(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	bool acks = s->flags & TCP_ACK;
	struct tcp_segment rest = *s;
	uint32_t events = 0;

	if (acks && !acks_syn(t, s))
		return TCP_STRANGE;
	if (s->flags & TCP_RST)
		return acks ? gone(h, t, TCP_REFUSED) : 0;
	if (!(s->flags & TCP_SYN))
		return 0;
	take_syn(h, t, s);
	t->flags |= TCP_F_ACK_NOW;
	if (!acks) { // both opened at once
		t->state = TCP_SYN_RECEIVED;
		t->nxt = t->una;
		t->flags &= (uint16_t)~TCP_F_TIMED;
		if (s->scale == TCP_NO_SCALE)
			t->send_scale = TCP_NO_SCALE;
		return 0;
	}
	events = opened(h, t, s);
	if (s->len == 0 && !(s->flags & TCP_FIN))
		return events;
	rest.seq++;
	rest.flags &= (uint8_t)~TCP_SYN;
	return events | input_data(h, t, &rest);
}

// The SYN that we have answered comes again: our answer was lost. With an acknowledgement, both
// opened at once, and it is the peer's answer (RFC 9293 section 3.5, figure 8).
static uint32_t input_syn_again(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	if (s->flags & TCP_ACK) {
		if (!acks_syn(t, s))
			return TCP_STRANGE;
		t->flags |= TCP_F_ACK_NOW;
		return opened(h, t, s);
	}
	h->counters->repeated++;
	t->nxt = t->una;
	t->flags &= (uint16_t)~TCP_F_TIMED; // Karn's rule
	return 0;
}

static void resend_first(struct tcp_host *h, struct tcp *t)
{
	h->counters->fast_retransmitted++;
	t->flags |= TCP_F_RESEND;
	t->flags &= (uint16_t)~TCP_F_TIMED;
}

static void halve(struct tcp *t)
{
	uint32_t flight = (t->max - t->una) / 2, few = 2u * t->mss;

	flight = flight < few ? few : flight;
	t->ssthresh = (uint16_t)least(flight >> 10 ? flight >> 10 : 1, UINT16_MAX);
}

static void duplicate(struct tcp_host *h, struct tcp *t)
{
	if (t->dupacks < UINT8_MAX)
		t->dupacks++;
	if (t->dupacks != DUPLICATES || t->flags & TCP_F_RECOVER)
		return;
	halve(t);
	t->cwnd = least(t->cwnd, (uint32_t)t->ssthresh << 10);
	t->cwnd = t->cwnd < t->mss ? t->mss : t->cwnd;
	resend_first(h, t);
	t->flags |= TCP_F_RECOVER;
	t->timed_seq = t->max;
}

// New bytes were acknowledged.
static void grow(struct tcp *t, uint32_t acked)
{
	uint32_t more = least(acked, t->mss);

	if (t->cwnd >= (uint32_t)t->ssthresh << 10) // RFC 5681's mss * mss / cwnd, not above it
		more = ((uint32_t)t->mss * more) >> (32 - __builtin_clz(t->cwnd));
	if (t->cwnd < CWND_MOST)
		t->cwnd += more ? more : 1;
}

static void recovered(struct tcp_host *h, struct tcp *t)
{
	if (!(t->flags & TCP_F_RECOVER))
		return;
	if (tcp_before(t->una, t->timed_seq)) { // RFC 6582: the next hole
		resend_first(h, t);
		return;
	}
	t->flags &= (uint16_t)~TCP_F_RECOVER;
}

// true: our FIN was acknowledged by it.
static bool acknowledged(struct tcp_host *h, struct tcp *t, uint32_t ack)
{
	uint32_t acked = ack - t->una, bytes = least(acked, t->queued);
	bool fin = t->flags & TCP_F_FIN && acked > t->queued;

	round_trip(h, t, ack);
	t->una = ack;
	t->queued -= bytes;
	tcp_stream_drop(h, t, ack);
	if (tcp_before(t->nxt, ack))
		t->nxt = ack;
	t->tries = t->dupacks = 0;
	grow(t, acked);
	t->flags &= (uint16_t) ~(TCP_F_RESEND | TCP_F_PROBE);
	recovered(h, t);
	if (fin)
		t->flags &= (uint16_t)~TCP_F_FIN;
	timer_stop(t);
	if (t->una != t->max)
		timer_set(h, t, rto_of(h, t));
	return fin;
}

static void input_window(struct tcp *t, const struct tcp_segment *s, bool newer)
{
	uint32_t window = (uint32_t)s->window << t->send_scale;

	if (!newer && tcp_before(s->seq, t->window_seq))
		return;
	if (t->peer_window == 0)
		t->tries = 0; // an answer, so that the peer is probed further
	if (t->peer_window == 0 && window && t->queued) { // the timer was the probes'
		t->nxt = t->una;
		t->backoff = 0;
		t->flags &= (uint16_t)~TCP_F_PROBE;
		timer_stop(t);
	}
	t->peer_window = window;
	t->window_seq = s->seq;
}

// false: the segment is to be dropped.
static bool input_ack(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s, bool *fin)
{
	bool same = s->window && (uint32_t)s->window << t->send_scale == t->peer_window;
	uint32_t una = t->una;

	*fin = false;
	if (tcp_before(t->max, s->ack)) {
		challenge(h, t);
		return false;
	}
	if (tcp_before(una, s->ack))
		*fin = acknowledged(h, t, s->ack);
	else if (s->ack == una && s->len == 0 && same && t->max != una &&
		 !(s->flags & (TCP_FIN | TCP_SYN)))
		duplicate(h, t);
	if (!tcp_before(s->ack, una))
		input_window(t, s, tcp_before(una, s->ack));
	return true;
}

// Our FIN was acknowledged.
static uint32_t finished(struct tcp_host *h, struct tcp *t)
{
	if (t->state == TCP_FIN_WAIT_1)
		t->state = TCP_FIN_WAIT_2;
	else if (t->state == TCP_CLOSING)
		enter_time_wait(h, t);
	else if (t->state == TCP_LAST_ACK)
		return gone(h, t, TCP_DONE);
	return 0;
}

static uint32_t peer_finished(struct tcp_host *h, struct tcp *t)
{
	t->rcv++;
	if (tcp_before(t->edge, t->rcv)) // FIN needs no room
		t->edge = t->rcv;
	t->flags |= TCP_F_PEER_FIN | TCP_F_ACK_NOW;
	if (t->state == TCP_ESTABLISHED)
		t->state = TCP_CLOSE_WAIT;
	else if (t->state == TCP_FIN_WAIT_1)
		t->state = TCP_CLOSING;
	else if (t->state == TCP_FIN_WAIT_2)
		enter_time_wait(h, t);
	return TCP_ENDED;
}

static void delay_ack(const struct tcp_host *h, struct tcp *t)
{
	if (h->ack_delay == 0 ||
		t->flags & TCP_F_ACK_LATER) { // each second segment, RFC 1122 section 4.2.3.2
		t->flags |= TCP_F_ACK_NOW;
		return;
	}
	t->flags |= TCP_F_ACK_LATER;
	t->ack_at = now_of(h) + h->ack_delay;
}

// Bytes and FIN that came in their turn, with nothing stored before or behind them.
static uint32_t take_view(
	struct tcp_host *h, struct tcp *t, const uint8_t *data, uint32_t len, bool fin)
{
	h->view = data;
	h->view_len = len;
	t->rcv += len;
	if (len)
		delay_ack(h, t);
	return (len ? TCP_DATA : 0) | (fin ? peer_finished(h, t) : 0);
}

// Bytes and FIN with others stored before or behind them, or not in their turn.
static uint32_t take_stored(struct tcp_host *h, struct tcp *t, uint32_t seq, const uint8_t *data,
	uint32_t len, bool fin)
{
	uint32_t before = t->rcv;
	bool stored = tcp_store(h, t, seq, data, len, fin);

	t->flags |= TCP_F_ACK_NOW;
	if (!stored && seq == t->rcv) {
		// What is in its turn goes first, or blocks with what is not would stop the stream.
		tcp_forget(h, t, t->rcv);
		if (t->rx_head == TCP_NONE)
			return take_view(h, t, data, len, fin);
		tcp_store(h, t, seq, data, len, fin);
	}
	t->rcv = tcp_stored_until(h, t, t->rcv, &fin);
	return (t->rcv != before ? TCP_DATA : 0) | (fin ? peer_finished(h, t) : 0);
}

// The rest of the work for a segment: its bytes, as far as they are new and in the window.
static uint32_t input_data(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	uint32_t skip = tcp_before(s->seq, t->rcv) ? t->rcv - s->seq : 0;
	bool fin = s->flags & TCP_FIN;
	uint32_t seq = s->seq + skip, len, room = t->edge - t->rcv;

	if (s->len == 0 && !fin)
		return 0;
	if (t->state != TCP_ESTABLISHED && t->state != TCP_FIN_WAIT_1 && t->state != TCP_FIN_WAIT_2)
		return 0;
	if (skip > s->len || (skip == s->len && !fin)) {
		h->counters->repeated++;
		t->flags |= TCP_F_ACK_NOW;
		return 0;
	}
	len = s->len - skip;
	if (seq - t->rcv + len > room) { // the rest comes again
		len = room > seq - t->rcv ? room - (seq - t->rcv) : 0;
		fin = false;
		t->flags |= TCP_F_ACK_NOW;
	}
	if (seq == t->rcv && t->rx_head == TCP_NONE)
		return take_view(h, t, s->data + skip, len, fin);
	if (seq != t->rcv)
		h->counters->out_of_order++;
	return take_stored(h, t, seq, s->data + skip, len, fin);
}

static bool is_too_old(const struct tcp *t, const struct tcp_segment *s)
{
	return t->flags & TCP_F_STAMPS && s->stamped && tcp_before(s->value, t->recent);
}

// A segment out of the window, or an old one: say where we are.
static uint32_t input_odd(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	if (s->flags & TCP_RST)
		return 0;
	if (s->len || s->flags & (TCP_SYN | TCP_FIN))
		h->counters->repeated++;
	if (t->state == TCP_TIME_WAIT && s->flags & TCP_FIN)
		timer_set(h, t, h->time_wait);
	t->flags |= TCP_F_ACK_NOW;
	return 0;
}

static uint32_t input_open(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	uint32_t events = 0;
	bool fin;

	if (t->state == TCP_SYN_RECEIVED) {
		if (!acks_syn(t, s))
			return TCP_STRANGE;
		events = opened(h, t, s);
	}
	if (!input_ack(h, t, s, &fin))
		return events;
	if (fin)
		events |= finished(h, t);
	if (t->state == TCP_CLOSED)
		return events;
	return events | input_data(h, t, s);
}

uint32_t tcp_input(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	h->view_len = 0;
	if (t->state == TCP_CLOSED)
		return TCP_STRANGE;
	if (t->state == TCP_SYN_SENT)
		return input_syn_sent(h, t, s);
	if (t->state == TCP_SYN_RECEIVED && s->seq + 1 == t->rcv &&
		(s->flags & (TCP_SYN | TCP_RST)) == TCP_SYN)
		return input_syn_again(h, t, s);
	if (!is_acceptable(t, s) || (is_too_old(t, s) && !(s->flags & TCP_RST)))
		return input_odd(h, t, s);
	if (s->flags & TCP_RST)
		return input_reset(h, t, s);
	if (s->flags & TCP_SYN) {
		challenge(h, t);
		return 0;
	}
	if (!(s->flags & TCP_ACK))
		return 0;
	if (s->stamped && !tcp_before(t->rcv, s->seq))
		t->recent = s->value;
	return input_open(h, t, s);
}

// --- the clock ---

static uint32_t give_up(struct tcp_host *h, struct tcp *t)
{
	bool known = t->state != TCP_SYN_SENT;
	uint32_t event = gone(h, t, TCP_TIMED_OUT);

	if (known)
		t->flags = TCP_F_RST;
	return event;
}

// The timer of what was sent: send it again, or give up.
static uint32_t sent_timeout(struct tcp_host *h, struct tcp *t)
{
	uint8_t most = tcp_syn_waits(t) ? h->syn_tries : h->tries;

	if (t->tries + 1 >= most)
		return give_up(h, t);
	t->tries++;
	back_off(t);
	if (tcp_syn_waits(t)) {
		h->counters->syn_retransmitted++;
	} else {
		h->counters->retransmitted++;
		halve(t);
		t->cwnd = t->mss;
	}
	t->nxt = t->una;
	t->dupacks = 0;
	t->flags &= (uint16_t) ~(TCP_F_TIMED | TCP_F_RECOVER | TCP_F_RESEND);
	return 0;
}

uint32_t tcp_timeout(struct tcp_host *h, struct tcp *t)
{
	uint32_t now = now_of(h);

	if (t->flags & TCP_F_ACK_LATER && !tcp_before(now, t->ack_at)) {
		t->flags &= (uint16_t)~TCP_F_ACK_LATER;
		t->flags |= TCP_F_ACK_NOW;
	}
	if (!(t->flags & TCP_F_TIMER) || tcp_before(now, t->timer))
		return 0;
	timer_stop(t);
	if (t->state == TCP_TIME_WAIT)
		return gone(h, t, TCP_DONE);
	if (t->una != t->max && (t->peer_window || t->queued == 0 || tcp_syn_waits(t)))
		return sent_timeout(h, t);
	if (t->queued == 0)
		return 0;
	// The peer's window is closed. It is probed as long as there are answers.
	if (t->tries >= h->tries)
		return give_up(h, t);
	t->tries++;
	back_off(t);
	t->flags &= (uint16_t)~TCP_F_TIMED;
	t->flags |= TCP_F_PROBE;
	return 0;
}

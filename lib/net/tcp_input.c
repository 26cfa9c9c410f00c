// SPDX-License-Identifier: BSD-3-Clause
// A segment that a TCP connection receives: RFC 9293 section 3.10.7, in its order, with the checks
// of RFC 5961. tcp.h is the contract. Path: hot. The thread that owns the host.
#include "net/tcp.h"
#include "net/tcp_internal.h"

#define CHALLENGES      1000 // in a turn; Linux: net.ipv4.tcp_challenge_ack_limit
#define CHALLENGE_SHIFT 20   // a turn is about a second
#define RTO_SYN_LOST    3000000

// RFC 9293 section 3.10.7.4: is any of the segment in the window? A segment without bytes may be at
// the end of the window, if the peer has filled it, or behind a FIN there. If it probes a closed
// window, its acknowledgement is taken.
static bool is_acceptable(const struct tcp *t, const struct tcp_segment *s)
{
	uint32_t window = t->edge - t->rcv;
	uint32_t len = s->len + !!(s->flags & TCP_SYN) + !!(s->flags & TCP_FIN);
	uint32_t first = s->seq - t->rcv, last = first + len - 1;

	if (len == 0 || window == 0)
		return first <= window + 1;
	return first < window || last < window;
}

// RFC 5961 section 7: two ends that disagree could answer each other for ever.
static bool may_challenge(struct tcp_host *h)
{
	uint32_t turn = (uint32_t)(h->now >> CHALLENGE_SHIFT);

	if (h->challenge_turn != turn)
		h->challenges = 0;
	h->challenge_turn = turn;
	return h->challenges++ < CHALLENGES;
}

static void challenge(struct tcp_host *h, struct tcp *t)
{
	if (!may_challenge(h))
		return;
	h->counters->challenged++;
	t->flags |= TCP_F_ACK_NOW;
}

static uint32_t input_reset(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	if (s->seq == t->rcv)
		return tcp_gone(h, t, t->state == TCP_TIME_WAIT ? TCP_DONE : TCP_BROKEN);
	challenge(h, t);
	return 0;
}

static void round_trip(const struct tcp_host *h, struct tcp *t, uint32_t ack)
{
	if (!(t->flags & TCP_F_TIMED) || !tcp_before(t->timed_seq, ack))
		return;
	t->flags &= (uint16_t)~TCP_F_TIMED;
	tcp_rtt_take(t, tcp_now(h) - t->timed_at);
}

static bool acks_syn(const struct tcp *t, const struct tcp_segment *s)
{
	return s->ack == t->una + 1 && t->max != t->una;
}

// The handshake is complete.
static uint32_t opened(const struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	round_trip(h, t, s->ack);
	if (t->tries) { // RFC 5681 section 3.1, and RFC 6298 section 5.7
		t->cwnd = t->mss;
		t->rttvar = RTO_SYN_LOST;
	}
	if (t->send_scale == TCP_NO_SCALE)
		t->send_scale = t->recv_scale = 0;
	t->una = t->nxt = s->ack;
	t->state = TCP_ESTABLISHED;
	t->tries = t->backoff = 0;
	tcp_timer_stop(t);
	t->peer_window = (uint32_t)s->window << (s->flags & TCP_SYN ? 0 : t->send_scale);
	t->window_seq = s->seq;
	if (t->flags & TCP_F_FIN)
		tcp_leave_open(t);
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
		return acks ? tcp_gone(h, t, TCP_REFUSED) : 0;
	if (!(s->flags & TCP_SYN))
		return 0;
	tcp_take_syn(h, t, s);
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

// Returns true if it acknowledged our FIN.
static bool acknowledged(struct tcp_host *h, struct tcp *t, uint32_t ack)
{
	uint32_t acked = ack - t->una, bytes = tcp_least(acked, t->queued);
	bool fin = t->flags & TCP_F_FIN && acked > t->queued;

	round_trip(h, t, ack);
	t->una = ack;
	t->queued -= bytes;
	tcp_stream_drop(h, t, ack);
	if (tcp_before(t->nxt, ack))
		t->nxt = ack;
	t->tries = 0;
	t->flags &= (uint16_t)~TCP_F_PROBE;
	tcp_acknowledged(h, t, acked);
	if (fin)
		t->flags &= (uint16_t)~TCP_F_FIN;
	tcp_timer_stop(t);
	if (t->una != t->max)
		tcp_timer_set(h, t, tcp_rto(h, t));
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
		tcp_timer_stop(t);
	}
	t->peer_window = window;
	t->window_seq = s->seq;
}

// Returns false if the segment is to be dropped.
static bool input_ack(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s, bool *fin)
{
	bool same = s->window && (uint32_t)s->window << t->send_scale == t->peer_window;
	uint32_t una = t->una, oldest = una - ((uint32_t)UINT16_MAX << t->send_scale);

	*fin = false;
	if (s->ack - oldest > t->max - oldest) { // RFC 5961 section 5
		challenge(h, t);
		return false;
	}
	if (tcp_before(una, s->ack))
		*fin = acknowledged(h, t, s->ack);
	else if (s->ack == una && s->len == 0 && same && t->max != una &&
		 !(s->flags & (TCP_FIN | TCP_SYN)))
		tcp_duplicate(h, t);
	if (!tcp_before(s->ack, una))
		input_window(t, s, tcp_before(una, s->ack));
	return true;
}

static void enter_time_wait(struct tcp_host *h, struct tcp *t)
{
	t->state = TCP_TIME_WAIT;
	tcp_timer_set(h, t, h->time_wait);
}

// Our FIN was acknowledged.
static uint32_t finished(struct tcp_host *h, struct tcp *t)
{
	if (t->state == TCP_FIN_WAIT_1)
		t->state = TCP_FIN_WAIT_2;
	else if (t->state == TCP_CLOSING)
		enter_time_wait(h, t);
	else if (t->state == TCP_LAST_ACK)
		return tcp_gone(h, t, TCP_DONE);
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
	t->ack_at = tcp_now(h) + h->ack_delay;
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
		// In-order bytes go first, or blocks of out-of-order bytes would stop the stream.
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

// A segment out of the window, or an old one: acknowledge the current state.
static uint32_t input_odd(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	if (s->flags & TCP_RST)
		return 0;
	if (s->len || s->flags & (TCP_SYN | TCP_FIN))
		h->counters->repeated++;
	else if (!may_challenge(h))
		return 0;
	if (t->state == TCP_TIME_WAIT && s->flags & TCP_FIN)
		tcp_timer_set(h, t, h->time_wait);
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
	// RFC 7323 section 4.3: the first of the segments that an acknowledgement is for.
	if (s->stamped && !(t->flags & (TCP_F_ACK_NOW | TCP_F_ACK_LATER)) &&
		!tcp_before(t->rcv, s->seq))
		t->recent = s->value;
	return input_open(h, t, s);
}

// SPDX-License-Identifier: BSD-3-Clause
// The segments that a TCP connection sends: SYN, the stream as far as the windows allow, probes,
// acknowledgements and resets. tcp.h is the contract. Path: hot. The thread that owns the host.
#include "net/tcp.h"
#include "net/tcp_internal.h"

#define STAMPS_LEN  12u
#define STAMP_SHIFT 10 // a tick of timestamps is about a millisecond

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
		edge - t->edge >= tcp_least(t->mss, h->window / 2))
		t->edge = edge;
	window = t->edge - t->rcv;
	if (!(flags & TCP_SYN)) // the window of a SYN is not scaled
		window >>= t->recv_scale;
	out->window = (uint16_t)tcp_least(window, UINT16_MAX);
	t->flags &= (uint16_t) ~(TCP_F_ACK_NOW | TCP_F_ACK_LATER);
}

static bool output_syn(struct tcp_host *h, struct tcp *t, struct tcp_segment *out)
{
	bool answer = t->state == TCP_SYN_RECEIVED;

	fill(h, t, answer ? TCP_SYN | TCP_ACK : TCP_SYN, out);
	if (!answer) {
		out->window = (uint16_t)tcp_least(h->window, UINT16_MAX);
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
		t->timed_at = tcp_now(h);
	}
	t->nxt = t->una + 1;
	t->max = t->nxt;
	tcp_timer_set(h, t, tcp_rto(h, t));
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
		t->timed_at = tcp_now(h);
	}
	if (tcp_before(t->max, end))
		t->max = end;
	if (!(t->flags & TCP_F_TIMER))
		tcp_timer_set(h, t, tcp_rto(h, t));
	return true;
}

static uint32_t tcp_payload(const struct tcp *t)
{
	return t->mss - (t->flags & TCP_F_STAMPS ? STAMPS_LEN : 0);
}

// Nothing is in flight: after a pause the connection restarts slowly, RFC 5681 section 4.1. The
// last segment was timed, or sent less than a round trip after a timed one.
static void restart(const struct tcp_host *h, struct tcp *t)
{
	uint32_t pause = tcp_now(h) - t->timed_at;

	if (pause > h->rto_least && pause > tcp_rto(h, t))
		t->cwnd = tcp_least(t->cwnd, TCP_FIRST_WINDOW * t->mss);
}

// The next segment of the stream that the peer's window and ours allow.
static bool output_stream(struct tcp_host *h, struct tcp *t, struct tcp_segment *out)
{
	uint32_t sent = t->nxt - t->una, mss = tcp_payload(t);
	uint32_t waits = t->queued > sent ? t->queued - sent : 0;
	uint32_t window, room, len;
	bool all;

	if (waits == 0 && (!(t->flags & TCP_F_FIN) || sent > t->queued))
		return false;
	if (t->una == t->max)
		restart(h, t);
	window = tcp_least(t->peer_window, t->cwnd);
	room = window > sent ? window - sent : 0;
	len = tcp_least(tcp_least(waits, mss), room);
	// RFC 9293 section 3.8.6.2.1: whole segments, or all; with Nagle's algorithm the last ones
	// only when nothing is on the way, or nothing follows.
	all = len == waits && (!h->nagle || sent == 0 || t->flags & TCP_F_FIN);
	if (all || len == mss)
		return output_bytes(h, t, t->nxt, len, out);
	if (sent == 0 && len)
		return output_bytes(h, t, t->nxt, len, out);
	if (sent == 0 && !(t->flags & TCP_F_TIMER)) {
		h->counters->zero_window++;
		tcp_timer_set(h, t, tcp_rto(h, t));
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
			tcp_least(tcp_least(t->queued, tcp_payload(t)),
				t->peer_window ? t->peer_window : 1),
			out);
	} else if (flags & TCP_F_PROBE) {
		t->flags &= (uint16_t)~TCP_F_PROBE;
		return output_bytes(h, t, t->una, tcp_least(t->queued, 1), out);
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

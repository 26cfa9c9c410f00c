// SPDX-License-Identifier: BSD-3-Clause
// The beginning and end of a TCP connection: by the user, after a segment, or after a timeout.
// tcp.h is the contract. Path: hot. The thread that owns the host.
#include "net/tcp.h"

#include "net/tcp_internal.h"

#define MSS_DEFAULT 536 // RFC 9293 section 3.7.1
#define MSS_LEAST   64
#define REOPEN_STEP (UINT16_MAX + 2u) // beyond all that is still on the way, as Linux has it

uint32_t tcp_iss(const struct tcp_host *h, uint64_t hash)
{
	return (uint32_t)(h->now >> 2) + (uint32_t)(hash ^ hash >> 32);
}

static void set_up(struct tcp_host *h, struct tcp *t, uint32_t iss, uint16_t mss)
{
	*t = (struct tcp){.una = iss,
		.nxt = iss,
		.max = iss,
		.mss = mss,
		.cwnd = TCP_FIRST_WINDOW * mss,
		.ssthresh = UINT16_MAX,
		.rttvar = h->rto_first, // until a round trip was measured
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

void tcp_take_syn(const struct tcp_host *h, struct tcp *t, const struct tcp_segment *s)
{
	uint32_t mss = s->mss ? s->mss : MSS_DEFAULT;

	t->rcv = s->seq + 1;
	t->edge = t->rcv + tcp_least(h->window, UINT16_MAX);
	t->mss = (uint16_t)tcp_least(t->mss, mss < MSS_LEAST ? MSS_LEAST : mss);
	t->cwnd = tcp_least(t->cwnd, TCP_FIRST_WINDOW * t->mss);
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
	tcp_take_syn(h, t, syn);
	if (syn->scale == TCP_NO_SCALE)
		t->send_scale = TCP_NO_SCALE; // so that ours is not offered
	t->state = TCP_SYN_RECEIVED;
}

bool tcp_reopen(struct tcp_host *h, struct tcp *t, uint16_t mss, const struct tcp_segment *syn)
{
	bool stamped = t->flags & TCP_F_STAMPS && syn->stamped && syn->value != t->recent;

	if (t->state != TCP_TIME_WAIT || (syn->flags & (TCP_SYN | TCP_ACK | TCP_RST)) != TCP_SYN ||
		!(stamped ? tcp_before(t->recent, syn->value) : tcp_before(t->rcv, syn->seq)))
		return false;
	tcp_drop(h, t);
	tcp_accept(h, t, t->max + REOPEN_STEP, mss, syn);
	return true;
}

uint32_t tcp_gone(struct tcp_host *h, struct tcp *t, uint32_t event)
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

	tcp_gone(h, t, 0);
	if (known)
		t->flags = TCP_F_RST;
}

void tcp_leave_open(struct tcp *t)
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
	tcp_leave_open(t);
}

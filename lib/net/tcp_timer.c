// SPDX-License-Identifier: BSD-3-Clause
// The clock of a TCP connection: round trip and timeout by RFC 6298, and the actions at a deadline.
// tcp.h is the contract. Path: hot. The thread that owns the host.
#include "net/tcp.h"
#include "net/tcp_internal.h"

#define BACKOFF_MOST 16 // doublings of the timeout

uint32_t tcp_rto(const struct tcp_host *h, const struct tcp *t)
{
	uint32_t rto = (t->srtt >> 3) + t->rttvar;
	uint32_t backs = t->backoff;

	rto = rto < h->rto_least ? h->rto_least : rto;
	while (backs-- && rto < h->rto_most)
		rto *= 2;
	return tcp_least(rto, h->rto_most);
}

static void back_off(struct tcp *t)
{
	if (t->backoff < BACKOFF_MOST)
		t->backoff++;
}

// RFC 6298 section 2.
void tcp_rtt_take(struct tcp *t, uint32_t rtt)
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

static uint32_t give_up(struct tcp_host *h, struct tcp *t)
{
	bool known = t->state != TCP_SYN_SENT;
	uint32_t event = tcp_gone(h, t, TCP_TIMED_OUT);

	if (known)
		t->flags = TCP_F_RST;
	return event;
}

// The retransmission timer: sends again, or gives up.
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
		tcp_lost(t);
	}
	t->nxt = t->una;
	t->flags &= (uint16_t)~TCP_F_TIMED;
	return 0;
}

uint32_t tcp_timeout(struct tcp_host *h, struct tcp *t)
{
	uint32_t now = tcp_now(h);

	if (t->flags & TCP_F_ACK_LATER && !tcp_before(now, t->ack_at)) {
		t->flags &= (uint16_t)~TCP_F_ACK_LATER;
		t->flags |= TCP_F_ACK_NOW;
	}
	if (!(t->flags & TCP_F_TIMER) || tcp_before(now, t->timer))
		return 0;
	tcp_timer_stop(t);
	if (t->state == TCP_TIME_WAIT)
		return tcp_gone(h, t, TCP_DONE);
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

// SPDX-License-Identifier: BSD-3-Clause
// How much a TCP connection may have on the way: slow start and congestion avoidance by RFC 5681,
// fast recovery by RFC 6582. tcp.h is the contract. Path: hot. The thread that owns the host.
#include "net/tcp_internal.h"

#define DUPLICATES 3 // acknowledgements, RFC 5681
#define CWND_MOST  (1u << 24)

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
	t->ssthresh = (uint16_t)tcp_least(flight >> 10 ? flight >> 10 : 1, UINT16_MAX);
}

void tcp_duplicate(struct tcp_host *h, struct tcp *t)
{
	if (t->flags & TCP_F_RECOVER) { // a segment has left the network
		if (t->cwnd < CWND_MOST)
			t->cwnd += t->mss;
		return;
	}
	if (t->dupacks < UINT8_MAX)
		t->dupacks++;
	if (t->dupacks != DUPLICATES || t->flags & TCP_F_TWICE)
		return;
	halve(t);
	t->cwnd = ((uint32_t)t->ssthresh << 10) + DUPLICATES * t->mss;
	resend_first(h, t);
	t->flags |= TCP_F_RECOVER;
	t->timed_seq = t->max;
}

static void grow(struct tcp *t, uint32_t acked)
{
	uint32_t more = tcp_least(acked, t->mss);

	if (t->cwnd >= (uint32_t)t->ssthresh << 10) // RFC 5681's mss * mss / cwnd, not above it
		more = ((uint32_t)t->mss * more) >> (32 - __builtin_clz(t->cwnd));
	if (t->cwnd < CWND_MOST)
		t->cwnd += more ? more : 1;
}

// RFC 6582 section 3.2, step 3.
static void recover(struct tcp_host *h, struct tcp *t, uint32_t acked)
{
	uint32_t flight = t->max - t->una;

	if (tcp_before(t->una, t->timed_seq)) { // a part: the next hole
		t->cwnd -= tcp_least(acked, t->cwnd);
		if (acked >= t->mss || t->cwnd < t->mss)
			t->cwnd += t->mss;
		resend_first(h, t);
		return;
	}
	flight = t->mss + (flight < t->mss ? t->mss : flight);
	t->cwnd = tcp_least((uint32_t)t->ssthresh << 10, flight);
	t->flags &= (uint16_t)~TCP_F_RECOVER;
	t->flags |= TCP_F_TWICE;
}

void tcp_acknowledged(struct tcp_host *h, struct tcp *t, uint32_t acked)
{
	t->dupacks = 0;
	t->flags &= (uint16_t)~TCP_F_RESEND;
	if (t->flags & TCP_F_RECOVER)
		recover(h, t, acked);
	else
		grow(t, acked);
	if (t->flags & TCP_F_TWICE && tcp_before(t->timed_seq, t->una))
		t->flags &= (uint16_t)~TCP_F_TWICE;
}

void tcp_lost(struct tcp *t)
{
	halve(t);
	t->cwnd = t->mss;
	t->dupacks = 0;
	t->flags &= (uint16_t) ~(TCP_F_TIMED | TCP_F_RECOVER | TCP_F_RESEND);
	t->flags |= TCP_F_TWICE;
	t->timed_seq = t->max;
}

// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of TCP. Calls go downward:
//   tcp_input.c, tcp_output.c    what was received, and what is sent
//   tcp_timer.c                  the clock
//   tcp.c, tcp_congestion.c      begin and end; how much may be on the way
//   tcp_stream.c                 the bytes that wait
// Path: hot. The thread that owns the host.
#pragma once

#include "net/tcp_stream.h"

#define TCP_FIRST_WINDOW 10u // segments, RFC 6928

enum tcp_private_flag {
	TCP_F_FIN = 1,       // the stream ends behind what is queued, and that is not acknowledged
	TCP_F_RST = 2,       // a reset is to be sent
	TCP_F_ACK_NOW = 4,   // an acknowledgement is due at once,
	TCP_F_ACK_LATER = 8, // or at ack_at
	TCP_F_TIMER = 16,    // `timer` is set
	TCP_F_STAMPS = 32,   // both sides have timestamps
	TCP_F_TIMED = 64,    // the round trip of timed_seq is being measured
	TCP_F_RECOVER = 128, // fast recovery, up to timed_seq
	TCP_F_RESEND = 256,  // the first unacknowledged segment is to be sent again
	TCP_F_PROBE = 512,   // a byte is to be sent into a closed window
	TCP_F_PEER_FIN = 1024,
	TCP_F_TWICE = 2048, // what is before timed_seq was sent twice: no duplicates count
};

// Does a SYN wait for its acknowledgement in front of the stream?
static inline uint32_t tcp_syn_waits(const struct tcp *t)
{
	return t->state == TCP_SYN_SENT || t->state == TCP_SYN_RECEIVED;
}

static inline uint32_t tcp_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t tcp_now(const struct tcp_host *h)
{
	return (uint32_t)h->now;
}

static inline void tcp_timer_set(const struct tcp_host *h, struct tcp *t, uint32_t wait)
{
	t->timer = tcp_now(h) + wait;
	t->flags |= TCP_F_TIMER;
}

static inline void tcp_timer_stop(struct tcp *t)
{
	t->flags &= (uint16_t)~TCP_F_TIMER;
}

// The timeout of a segment that is sent now.
uint32_t tcp_rto(const struct tcp_host *h, const struct tcp *t);
// A round trip was measured.
void tcp_rtt_take(struct tcp *t, uint32_t rtt);

// What the peer's SYN says about the connection. Our own, if it was sent, had this window.
void tcp_take_syn(const struct tcp_host *h, struct tcp *t, const struct tcp_segment *s);
// The user has closed: the state that follows from the one in which the peer's FIN left us.
void tcp_leave_open(struct tcp *t);
// Closed; returns the event.
uint32_t tcp_gone(struct tcp_host *h, struct tcp *t, uint32_t event);

// The same acknowledgement came again.
void tcp_duplicate(struct tcp_host *h, struct tcp *t);
// So many new bytes were acknowledged.
void tcp_acknowledged(struct tcp_host *h, struct tcp *t, uint32_t acked);
// Nothing was heard of a segment before its timeout.
void tcp_lost(struct tcp *t);

// Bytes up to seq are acknowledged.
void tcp_stream_drop(struct tcp_host *h, struct tcp *t, uint32_t seq);
// Store what came; what is there already stays. false: no memory.
bool tcp_store(struct tcp_host *h, struct tcp *t, uint32_t seq, const uint8_t *data, uint32_t len,
	bool fin);
// Forget what is stored from seq on: the peer sends again what was not acknowledged.
void tcp_forget(struct tcp_host *h, struct tcp *t, uint32_t seq);
// Where the bytes end that are stored from seq on without a gap; fin: the peer's FIN follows.
uint32_t tcp_stored_until(const struct tcp_host *h, const struct tcp *t, uint32_t seq, bool *fin);
// Bytes that there is room for behind those that were received.
uint32_t tcp_window_free(const struct tcp_host *h, const struct tcp *t);

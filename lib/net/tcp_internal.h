// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of TCP. Calls go downward:
//   tcp_input.c, tcp_output.c    segments received and sent
//   tcp_timer.c                  the clock
//   tcp.c, tcp_congestion.c      open and close; congestion window
//   tcp_stream.c                 the bytes that wait
// Path: hot. The thread that owns the host.
#pragma once

#include "net/tcp_stream.h"

#define TCP_FIRST_WINDOW 10u // segments, RFC 6928

enum tcp_private_flag {
	TCP_F_FIN = 1, // the stream ends after the queued bytes, and its end is not acknowledged
	TCP_F_RST = 2, // a reset is to be sent
	TCP_F_ACK_NOW = 4,   // an acknowledgement is due at once,
	TCP_F_ACK_LATER = 8, // or at ack_at
	TCP_F_TIMER = 16,    // `timer` is set
	TCP_F_STAMPS = 32,   // both sides have timestamps
	TCP_F_TIMED = 64,    // the round trip of timed_seq is being measured
	TCP_F_RECOVER = 128, // fast recovery, up to timed_seq
	TCP_F_RESEND = 256,  // the first unacknowledged segment is to be sent again
	TCP_F_PROBE = 512,   // a byte is to be sent into a closed window
	TCP_F_PEER_FIN = 1024,
	TCP_F_TWICE = 2048, // bytes before timed_seq were sent twice: duplicates do not count
};

// Does an unacknowledged SYN precede the stream?
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

// Takes the options and window of the peer's SYN.
void tcp_take_syn(const struct tcp_host *h, struct tcp *t, const struct tcp_segment *s);
// The user has closed: enters the next state, which depends on whether the peer's FIN was received.
void tcp_leave_open(struct tcp *t);
// Closed; returns the event.
uint32_t tcp_gone(struct tcp_host *h, struct tcp *t, uint32_t event);

// A duplicate acknowledgement was received.
void tcp_duplicate(struct tcp_host *h, struct tcp *t);
// `acked` new bytes were acknowledged.
void tcp_acknowledged(struct tcp_host *h, struct tcp *t, uint32_t acked);
// A segment was not acknowledged before its timeout.
void tcp_lost(struct tcp *t);

// Bytes up to seq are acknowledged.
void tcp_stream_drop(struct tcp_host *h, struct tcp *t, uint32_t seq);
// Stores received bytes; bytes stored before stay. Returns false without memory.
bool tcp_store(struct tcp_host *h, struct tcp *t, uint32_t seq, const uint8_t *data, uint32_t len,
	bool fin);
// Drops the bytes stored from seq on: the peer sends unacknowledged bytes again.
void tcp_forget(struct tcp_host *h, struct tcp *t, uint32_t seq);
// End of the bytes that are stored from seq on without a gap; fin: the peer's FIN follows.
uint32_t tcp_stored_until(const struct tcp_host *h, const struct tcp *t, uint32_t seq, bool *fin);
// Room for further bytes behind the received ones.
uint32_t tcp_window_free(const struct tcp_host *h, const struct tcp *t);

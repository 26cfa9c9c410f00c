// SPDX-License-Identifier: BSD-3-Clause
// The state of TCP connections, of the blocks that hold their bytes and of the host that shares
// them. Path: hot. The thread that owns the host. Times are in microseconds.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"

#define TCP_NONE        UINT32_MAX // no block
#define TCP_BLOCK_BYTES 240u
#define TCP_WINDOW_MAX  (1u << 30)

enum tcp_state {
	TCP_CLOSED,
	TCP_SYN_SENT,
	TCP_SYN_RECEIVED,
	TCP_ESTABLISHED,
	TCP_FIN_WAIT_1,
	TCP_FIN_WAIT_2,
	TCP_CLOSE_WAIT,
	TCP_CLOSING,
	TCP_LAST_ACK,
	TCP_TIME_WAIT,
};

// Results of a call, several at once.
enum tcp_event {
	TCP_OPENED = 1,     // the handshake is complete
	TCP_DATA = 2,       // there are new bytes to read
	TCP_ENDED = 4,      // the peer sends no more (FIN)
	TCP_REFUSED = 8,    // reset in answer to our SYN; closed
	TCP_BROKEN = 16,    // reset later; closed
	TCP_TIMED_OUT = 32, // no answer to the last retransmission; closed
	TCP_DONE = 64,      // closed in good order, no state is left
	TCP_STRANGE = 128,  // a segment that calls for a reset of its own: see tcp_reset_for
};

#define TCP_GONE (TCP_REFUSED | TCP_BROKEN | TCP_TIMED_OUT | TCP_DONE)

struct tcp_block {
	uint32_t next;
	uint32_t seq; // of its first byte
	uint16_t start, len;
	bool fin; // the peer's FIN follows
	uint8_t bytes[TCP_BLOCK_BYTES];
};

#define TCP_COUNTERS(X)                                                                            \
	X(retransmitted, "segments sent again after their timeout")                                \
	X(fast_retransmitted, "segments sent again after three duplicate acknowledgements")        \
	X(syn_retransmitted, "SYN sent again: the server did not answer the one before")           \
	X(out_of_order, "segments that came before their turn")                                    \
	X(repeated, "segments received again")                                                     \
	X(zero_window, "times that the peer closed its window")                                    \
	X(challenged, "acknowledgements of segments out of place (RFC 5961)")                      \
	X(no_block, "segments dropped for want of memory")

struct tcp_counters {
	TCP_COUNTERS(COUNTER_MEMBER)
};

// Shared by the connections of a thread.
struct tcp_host {
	struct tcp_block *blocks;
	uint32_t free;   // list of free blocks
	uint32_t used;   // blocks
	uint64_t now;    // set by the caller before a call
	uint32_t window; // bytes that a connection takes before they are read, up to TCP_WINDOW_MAX
	uint32_t rto_first, rto_least, rto_most;
	uint32_t ack_delay; // 0: each segment is acknowledged at once
	uint32_t time_wait;
	uint8_t syn_tries, tries; // transmissions of the same segment
	bool stamps;              // offer timestamps
	bool nagle;               // a short segment waits for all acknowledgements (RFC 896)
	bool reads_all;           // kept bytes count as read: the window stays open
	struct tcp_counters *counters;
	// New bytes of the last tcp_input with TCP_DATA that are in no block; no others are to be
	// read before them. If view_len is 0, read with tcp_peek.
	const uint8_t *view;
	uint32_t view_len;
	// Segments out of place that were answered in this turn of the clock, about a second.
	uint32_t challenge_turn, challenges;
};

struct tcp {
	uint32_t una, nxt, max; // sequence numbers: unacknowledged, next, beyond all that was sent
	uint32_t queued;        // bytes of the stream from una on, sent or not
	uint32_t peer_window, window_seq; // SND.WND, SND.WL1
	uint32_t cwnd;
	uint32_t rcv, edge; // RCV.NXT, and the right edge of the window that the peer knows
	uint32_t recent;    // TS.Recent
	uint32_t timed_seq; // the segment of which the round trip is measured; RFC 6582's recover
	uint32_t timed_at;
	uint32_t srtt, rttvar;  // eight and four times; srtt 0: rttvar is the timeout
	uint32_t timer, ack_at; // deadlines
	uint32_t tx_head, tx_tail, rx_head;
	uint16_t ssthresh; // in units of 1 KiB
	uint16_t mss;      // of segments to be sent, without options
	uint16_t flags;
	uint8_t state; // enum tcp_state
	uint8_t dupacks, tries;
	uint8_t backoff; // doublings of the timeout
	uint8_t send_scale, recv_scale;
};

_Static_assert(sizeof(struct tcp) <= 96, "a connection at rest has 128 bytes");

static inline bool tcp_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

// The number of the byte behind all that was given to tcp_send: una reaches it when the peer has
// acknowledged them.
static inline uint32_t tcp_end(const struct tcp *t)
{
	bool syn = t->state == TCP_SYN_SENT || t->state == TCP_SYN_RECEIVED;

	return t->una + syn + t->queued;
}

// May more be sent on it?
static inline bool tcp_is_open(const struct tcp *t)
{
	return t->state == TCP_SYN_SENT || t->state == TCP_SYN_RECEIVED ||
	       t->state == TCP_ESTABLISHED || t->state == TCP_CLOSE_WAIT;
}

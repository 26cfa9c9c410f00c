// SPDX-License-Identifier: BSD-3-Clause
// TCP (RFC 9293) for a test client and its responder: one connection as a state machine on parsed
// segments. The caller finds the connection, writes and reads headers below TCP, and keeps the
// clock. Round trip and retransmission by RFC 6298, congestion by RFC 5681 and 6582, options by
// RFC 7323. Not here: urgent data, selective acknowledgement.
// Bytes that wait are in blocks of a pool that connections share, so one at rest has none.
// Path: hot. The thread that owns the host. Times are in microseconds.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/counter.h"

#define TCP_HEADER_LEN  20u
#define TCP_HEADER_MAX  60
#define TCP_NONE        UINT32_MAX // no block
#define TCP_NO_SCALE    UINT8_MAX
#define TCP_BLOCK_BYTES 240u
#define TCP_WINDOW_MAX  (1u << 30)

enum tcp_flag {
	TCP_FIN = 1,
	TCP_SYN = 2,
	TCP_RST = 4,
	TCP_PSH = 8,
	TCP_ACK = 16,
};

// A segment that was received, or is to be sent.
struct tcp_segment {
	uint32_t seq, ack;
	uint16_t window;      // as on the wire
	uint8_t flags;        // enum tcp_flag
	uint8_t scale;        // of SYN; TCP_NO_SCALE: the option is absent
	uint16_t mss;         // of SYN; 0: the option is absent
	bool stamped;         // it has the option of timestamps
	uint32_t value, echo; // of that
	uint32_t len;
	const uint8_t *data; // received: len bytes
	uint32_t from;       // to be sent: sequence number of its first byte, for tcp_copy
};

// From a TCP header and all behind it. false: truncated, or with options that do not fit.
bool tcp_parse(const uint8_t *bytes, uint32_t len, struct tcp_segment *out);
// Length of the header that tcp_write writes: up to TCP_HEADER_MAX.
uint32_t tcp_header_len(const struct tcp_segment *s);
// Write the header, the ports and the checksum left zero.
void tcp_header(const struct tcp_segment *s, uint8_t *to);

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

// What a call brought about: several at once.
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

// What connections of a thread share.
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
	bool reads_all;           // what is kept counts as read: the window stays open
	struct tcp_counters *counters;
	// Of the last tcp_input with TCP_DATA: new bytes that are in no block, and no others are to
	// be read before them. len 0: read by tcp_read.
	const uint8_t *view;
	uint32_t view_len;
	// Segments out of place that were answered in this turn of the clock, about a second.
	uint32_t challenge_turn, challenges;
};

// memory: count blocks, the caller's.
void tcp_host_init(struct tcp_host *h, struct tcp_block *memory, uint32_t count);

struct tcp {
	uint32_t una, nxt, max; // sequence numbers: unacknowledged, next, beyond all that were sent
	uint32_t queued;        // bytes of the stream from una on, sent or not
	uint32_t peer_window, window_seq; // SND.WND, SND.WL1
	uint32_t cwnd;
	uint32_t rcv, edge; // RCV.NXT, and the right edge of the window that the peer knows
	uint32_t recent;    // TS.Recent
	uint32_t timed_seq; // the segment whose round trip is measured; RFC 6582's recover
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

// A new connection: mss is what a packet of this path can carry. iss: by RFC 6528, see tcp_iss.
void tcp_open(struct tcp_host *h, struct tcp *t, uint32_t iss, uint16_t mss);
// The same for a SYN that was received.
void tcp_accept(struct tcp_host *h, struct tcp *t, uint32_t iss, uint16_t mss,
	const struct tcp_segment *syn);
// A SYN for a connection in TIME-WAIT: begin a new one in its place, if it is none that was delayed
// (RFC 6191). false: nothing was changed; it is for tcp_input.
bool tcp_reopen(struct tcp_host *h, struct tcp *t, uint16_t mss, const struct tcp_segment *syn);
// An initial sequence number of a connection whose four-tuple and secret have this hash.
uint32_t tcp_iss(const struct tcp_host *h, uint64_t hash);

// Is there anything to be sent? Repeat it until it says no. false: `out` is unchanged.
bool tcp_output(struct tcp_host *h, struct tcp *t, struct tcp_segment *out);
// Bytes of a segment that tcp_output made.
void tcp_copy(
	const struct tcp_host *h, const struct tcp *t, const struct tcp_segment *s, uint8_t *to);
// The answer to a segment for which there is no connection. false: none is due.
bool tcp_reset_for(const struct tcp_segment *s, struct tcp_segment *out);

// A segment was received: enum tcp_event. After TCP_GONE the state is TCP_CLOSED, and nothing is
// held.
uint32_t tcp_input(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s);
// The deadline has come: enum tcp_event.
uint32_t tcp_timeout(struct tcp_host *h, struct tcp *t);
// Is there a deadline? Then it is *at.
bool tcp_deadline(const struct tcp *t, uint32_t *at);

// Append to the stream of a connection for which tcp_is_open. false: no memory; nothing was
// appended.
bool tcp_send(struct tcp_host *h, struct tcp *t, const uint8_t *bytes, uint32_t len);
// Nothing more is sent: FIN after all that waits.
void tcp_shut(struct tcp *t);
// End at once; RST is what tcp_output says next, if there is a peer that knows of the connection.
void tcp_abort(struct tcp_host *h, struct tcp *t);
// Give back all that is held.
void tcp_drop(struct tcp_host *h, struct tcp *t);

// Keep the last len bytes of h->view for later. false: no memory; they were acknowledged, so that
// the connection has to be aborted.
bool tcp_keep(struct tcp_host *h, struct tcp *t, uint32_t len);
// Bytes that may be read.
uint32_t tcp_unread(const struct tcp_host *h, const struct tcp *t);
// Copy the next bytes without consuming them: as many as there are, up to len.
uint32_t tcp_peek(const struct tcp_host *h, const struct tcp *t, uint8_t *to, uint32_t len);
// Consume bytes that were read: len is at most tcp_unread.
void tcp_consume(struct tcp_host *h, struct tcp *t, uint32_t len);

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

// SPDX-License-Identifier: BSD-3-Clause
// TCP (RFC 9293) for a test client and its responder: one connection as a state machine on parsed
// segments. The caller finds the connection, writes and reads headers below TCP, and keeps the
// clock. Round trip and retransmission by RFC 6298, congestion by RFC 5681 and 6582, options by
// RFC 7323. Not here: urgent data, selective acknowledgement.
// Bytes that wait are in blocks of a pool that connections share, so one at rest has none.
// Path: hot. The thread that owns the host. Times are in microseconds.
#pragma once

#include "net/tcp_stream.h"

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
// The answer to a segment for which there is no connection. false: none is due.
bool tcp_reset_for(const struct tcp_segment *s, struct tcp_segment *out);

// A segment was received: enum tcp_event. After TCP_GONE the state is TCP_CLOSED, and nothing is
// held.
uint32_t tcp_input(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s);
// The deadline has come: enum tcp_event.
uint32_t tcp_timeout(struct tcp_host *h, struct tcp *t);
// Is there a deadline? Then it is *at.
bool tcp_deadline(const struct tcp *t, uint32_t *at);

// Nothing more is sent: FIN after all that waits.
void tcp_shut(struct tcp *t);
// End at once; RST is what tcp_output says next, if there is a peer that knows of the connection.
void tcp_abort(struct tcp_host *h, struct tcp *t);

// SPDX-License-Identifier: BSD-3-Clause
// TCP (RFC 9293) for a test client and its responder: one connection as a state machine on parsed
// segments. The caller finds the connection, writes and reads headers below TCP, and keeps the
// clock. Round trip and retransmission by RFC 6298, congestion by RFC 5681 and 6582, options by
// RFC 7323. Not here: urgent data, selective acknowledgement.
// Bytes that wait are in blocks of a pool that connections share, so one at rest has none.
// Path: hot. The thread that owns the host. Times are in microseconds.
#pragma once

#include "net/tcp_stream.h"

// Opens a connection. mss: most bytes of a segment on this path. iss: initial sequence number by
// RFC 6528, see tcp_iss.
void tcp_open(struct tcp_host *h, struct tcp *t, uint32_t iss, uint16_t mss);
// Like tcp_open, for a received SYN.
void tcp_accept(struct tcp_host *h, struct tcp *t, uint32_t iss, uint16_t mss,
	const struct tcp_segment *syn);
// Takes a SYN for a connection in TIME-WAIT: begins a new connection in its place unless the SYN
// was delayed (RFC 6191). Returns false if nothing was changed; the SYN is then for tcp_input.
bool tcp_reopen(struct tcp_host *h, struct tcp *t, uint16_t mss, const struct tcp_segment *syn);
// The initial sequence number of a connection. hash: of its four-tuple and a secret.
uint32_t tcp_iss(const struct tcp_host *h, uint64_t hash);

// Makes the next segment to be sent. Repeat until it returns false, which leaves `out` unchanged.
bool tcp_output(struct tcp_host *h, struct tcp *t, struct tcp_segment *out);
// The answer to a segment without a connection. Returns false if none is due.
bool tcp_reset_for(const struct tcp_segment *s, struct tcp_segment *out);

// Takes a received segment. Returns enum tcp_event. After TCP_GONE the state is TCP_CLOSED, and no
// block is held.
uint32_t tcp_input(struct tcp_host *h, struct tcp *t, const struct tcp_segment *s);
// To be called at the deadline. Returns enum tcp_event.
uint32_t tcp_timeout(struct tcp_host *h, struct tcp *t);
// Is there a deadline? It is written to *at.
bool tcp_deadline(const struct tcp *t, uint32_t *at);

// Ends the stream: FIN follows the bytes that wait.
void tcp_shut(struct tcp *t);
// Closes at once. The next tcp_output gives RST if the peer knows the connection.
void tcp_abort(struct tcp_host *h, struct tcp *t);

// SPDX-License-Identifier: BSD-3-Clause
// The part of worker_conn.c that worker_quic.c needs. Path: hot. The worker's own thread.
#pragma once

#include "engine/core/worker/worker_conn.h"

#define SINCE_SHIFT 4 // of ticks, as conn.since has them

static inline struct conn *conn_at(struct worker_conns *wc, uint32_t c)
{
	return &wc->cs.all[c];
}

static inline bool conn_is_measured(const struct worker_conns *wc, uint64_t now)
{
	return now >= wc->it->pace.measure;
}

static inline struct conn_counters *counts_of(struct worker_conns *wc, uint64_t now)
{
	return &wc->books.counts[conn_is_measured(wc, now)];
}

// Sets the clock and the counters of the connections.
void worker_conn_clock(struct worker_conns *wc, uint64_t now);
// Returns the connection of a row; CONN_NONE: there is none.
uint32_t worker_conn_of_row(const struct worker_conns *wc, uint32_t row);
// Counts a connection as opened, and the time that it took.
void worker_conn_is_open(struct worker_conns *wc, uint32_t c, uint64_t now);
// Counts a connection as closed.
void worker_conn_not_open(struct worker_conns *wc, struct conn *of);
// Ends the requests on a connection, and frees its seat.
void worker_conn_leave(struct worker_conns *wc, uint32_t c);
// The server takes no more messages on this connection: the unheard ones leave it.
void worker_conn_leaving(struct worker_conns *wc, uint32_t c, uint64_t now);
// All messages of a connection without a reply have none.
void worker_conn_lose(struct worker_conns *wc, uint32_t c, uint64_t now);
// Writes the messages that wait at the seat, as far as its connection takes them.
void worker_conn_seat(struct worker_conns *wc, uint32_t seat, uint64_t now);
// For conn_owner.
void worker_conn_head_of(struct conns *cs, uint32_t c, struct conn_head *out);
void worker_conn_expired(struct conns *cs, uint32_t c, uint32_t events);
uint32_t worker_conn_gone(struct conns *cs, uint32_t c);
// Handles an event of a stream.
void worker_conn_stream(struct worker_conns *wc, uint32_t c, const struct rte_mbuf *m,
	const uint8_t *message, uint32_t len, uint64_t now);

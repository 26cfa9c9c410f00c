// SPDX-License-Identifier: BSD-3-Clause
// The connections of an item on a worker. A transaction belongs to a seat, by its number. A seat
// has one connection at a time, opened when a message is due there. A message waits at its seat
// while the pipeline of the connection is full. In an open loop it counts as sent meanwhile, as it
// is the server that has to answer, and is lost if its turn does not come within its timeout; then
// the timeout of its answer begins. In a closed loop it is due when its turn comes.
//
// Without seats, messages travel over UDP. A transaction whose reply is truncated continues over a
// connection of its own, whose seat is the number of its slot. Path: hot | cold (the struct is
// filled by the plan). The worker's own thread.
#pragma once

#include "engine/core/conn.h"
#include "engine/core/secure.h"
#include "engine/core/worker/worker_state.h"
#include "engine/core/worker/worker_behave.h"

struct conn_seat {
	uint32_t conn;    // CONN_NONE: none
	uint32_t waiting; // number of the seat's last transactions that were not written yet, if
	                  // they are still in flight
};

// Times of a handshake of TLS, in ticks: from the server's acceptance to our Finished, and of these
// the tester's computations and its waits to begin them.
enum tls_time { TLS_FULL, TLS_RESUMED, TLS_OWN, TLS_QUEUED, TLS_TIMES };

// Counters of the measured part, by the time of each event.
struct conn_books {
	struct conn_counters counts[2]; // [0]: warm-up
	uint64_t open;                  // open now: accepted by the server, closed by neither side
	struct tcp_counters tcp;        // warm-up included
	struct tls_counters tls[2];     // as counts
	struct http_counters http[2];   // likewise
	struct quic_outcomes quic[2];   // likewise
	struct quic_counters datagrams; // warm-up included
	struct hist handshake;          // ticks from the opening to the server's acceptance
	struct hist first;              // ticks from the opening to the first answer
	struct hist tls_times[TLS_TIMES];
};

struct worker_conns {
	struct conns cs;
	// ctlplane: wo before the launch, dataplane: ro
	struct worker *w;
	struct worker_item *it;
	struct frame_template frame;
	uint32_t seat_count; // txns.clients; 0: each connection is for a truncated answer
	uint32_t client_count;
	struct recip by_client; // a row is port * client_count + client
	uint32_t per_conn;      // messages
	uint32_t pipeline;
	uint64_t open_gap;    // ticks between two openings, open: pool and rate; 0: on demand only
	bool replaces;        // open: rate
	bool again;           // messages of a closed connection are sent again
	bool preface_outside; // of TLS
	bool silent;          // messages may have no reply
	// Opens a connection that was just taken. Returns false without memory. NULL: over TCP.
	bool (*open)(struct worker_conns *wc, uint32_t c, uint64_t now);
	bool connects; // there are no messages: the acceptance of a connection is the reply
	uint16_t mss;
	uint64_t late;     // ticks that a message may wait for the tester's part of a handshake
	uint64_t patience; // ticks that connections have to end after the last transaction
	uint64_t secret;   // for initial sequence numbers
	uint32_t row_end;  // rows from here on belong to `behave`
	struct worker_behave *behave; // NULL: no misbehaving clients
	// dataplane: rw
	uint64_t came; // tick at which the current segment arrived
	const uint8_t
		*read; // with evidence, over TLS: the message that is being judged; NULL: none
	uint32_t read_len;
	uint64_t prefaces;  // written so far
	uint32_t idle_us;   // 0: never; the server may shorten it
	uint64_t open_at;   // tick of the next opening by open_gap; 0: the run has not begun
	uint32_t open_seat; // seat to examine next
	uint64_t waiting;   // messages at their seats
	uint64_t quiet_at;  // tick from which nothing was in flight; 0: not yet
	struct conn_books books;
	uint32_t left; // connections that the end of the run reset
	struct conn_seat *seats;
	// By seat, with `silent`: number of written transactions from the oldest silent one on.
	uint32_t *silent_at;
	uint32_t *of_slot; // the connection of each transaction in flight; CONN_NONE: UDP
	uint32_t *end_of;  // of silent messages: sequence number behind the message
	uint32_t *rows;    // a ring of free rows
	uint32_t row_mask, row_first, row_count;
};

extern const struct conn_owner worker_conn_owner;

// Makes the headers of segments from the address and port of a row.
static inline void worker_conn_head(
	const struct worker_conns *wc, uint32_t row, struct conn_head *out)
{
	const struct worker_item *it = wc->it;
	uint32_t port = (uint32_t)recip_div(&wc->by_client, row);

	out->t = wc->frame;
	addr_list_nth_bytes(it->sources, row - port * wc->client_count, out->src);
	out->src_port = it->ports[port];
}

// Writes the preface of a connection of `cs`. Returns false without memory.
static inline bool worker_conn_preface(struct worker_conns *wc, struct conns *cs, uint32_t c)
{
	struct proto_ctx *ctx = &wc->it->ctx;
	uint32_t len = wc->it->proto->preface(ctx, wc->prefaces, cs->message, CONN_MESSAGE_MAX);

	wc->prefaces++;
	if (cs->secure && !wc->preface_outside)
		return len == 0 || secure_preface(cs, c, cs->message, len);
	return len == 0 || tcp_send(&cs->host, &cs->all[c].tcp, cs->message, len);
}

// Makes a message like the load's, which the item does not count, at cs->message + CONN_LENGTH.
// Returns its length; 0: there is none.
static inline uint32_t worker_conn_uncounted(
	struct worker_conns *wc, struct conns *cs, uint64_t seq)
{
	struct worker_item *it = wc->it;
	struct proto_txn t = {.seq = seq, .key = it->keyless ? 0 : (uint32_t)seq & UINT16_MAX};
	uint32_t len;

	it->ctx.counters = it->shadow;
	it->ctx.stream = true;
	len = proto_request(
		it->proto, &it->ctx, &t, cs->message + CONN_LENGTH, CONN_MESSAGE_MAX - CONN_LENGTH);
	it->ctx.stream = false;
	return len;
}

// Writes the messages that are due, and sends. Returns the number of packets that the device took.
uint16_t worker_conn_tx(struct worker *w, struct worker_item *it, uint64_t until);
// Handles a segment for a port and address of the item, which arrived at `came`.
void worker_conn_rx(struct worker *w, struct worker_item *it, const struct txn_place *to,
	const struct rte_mbuf *m, const struct frame *f, uint64_t now, uint64_t came);
// Handles the loss of a transaction in flight, whose slot is free by now.
void worker_conn_lost(struct worker_item *it, uint32_t slot);
// Ends the item: connections that have nothing to do are closed. Messages of an open loop that wait
// at their seats are still written when their turn comes; in a closed loop they were not due yet.
void worker_conn_end(struct worker_item *it, uint64_t now);
// For an item that has ended, with no transaction in flight: have all connections ended, or had the
// time to?
bool worker_conn_over(struct worker_item *it, uint64_t now);
// In PHASE_STOP: resets the remaining connections.
void worker_conn_halt(struct worker *w, struct worker_item *it);

// SPDX-License-Identifier: BSD-3-Clause
// Misbehaving clients (net/transport.h), in addition to the load of an item: their connections have
// a table, source ports and counters of their own, and no transaction. They start one after the
// other, and each starts anew at a fixed period. They send messages of the protocol, or the start
// of TLS, and read replies as bytes only. Path: hot | cold (the struct is filled by the plan). The
// worker's own thread.
#pragma once

#include "engine/core/conn.h"
#include "engine/core/worker/worker_state.h"
#include "net/h2.h"
#include "net/transport.h"

struct behave_counters {
	BEHAVE_COUNTERS(BEHAVE_MEMBER)
	uint64_t no_memory;
};

struct worker_conns;

#define BEHAVE_HELLO  4096u
#define BEHAVE_FRAMES 16384u

struct worker_behave {
	struct conns cs;
	// ctlplane: wo before the launch, dataplane: ro
	struct worker_conns *wc;
	const uint8_t *kinds; // by client: enum tcp_behaviour
	uint32_t client_count;
	uint32_t row_first, row_count; // more than twice as many as clients, used in turn
	uint64_t gap;                  // ticks between the starts of two clients
	uint8_t hello[BEHAVE_HELLO];   // ClientHello of them all
	uint32_t hello_len;
	const struct h2_request *request; // NULL: the item does not use HTTP/2
	// dataplane: rw
	uint32_t *conn_of; // by client; CONN_NONE: it has none
	uint32_t turn;     // the client that starts next
	uint64_t next_at;  // tick at which it starts; 0: the run has not begun
	uint32_t next_row; // below row_count
	uint64_t asked;    // number of the next message
	uint8_t turns;     // left in this pass for clients of HTTP/2
	bool ended;
	struct behave_counters counts[2]; // as conn_books
	struct tls_counters tls;          // in no result
	uint8_t frames[BEHAVE_FRAMES];    // being written
};

extern const struct conn_owner worker_behave_owner;

// Starts the clients that are due, and sends. Returns the number of packets that the device took.
uint16_t worker_behave_tx(struct worker_behave *b, uint64_t now);
// Handles a segment from the server to a row of a client.
void worker_behave_rx(
	struct worker_behave *b, uint32_t row, const struct tcp_segment *s, uint64_t now);
// Ends all clients; none starts any more.
void worker_behave_end(struct worker_behave *b, uint64_t now);

// SPDX-License-Identifier: BSD-3-Clause
// Clients that do their worst (net/transport.h), beside those of an item's load: their connections
// have a table, source ports and counters of their own, and no transaction. They begin one after
// the other, each anew after the same time. Their messages are those of the protocol; answers are
// read as bytes only. Path: hot | cold (the struct is filled by the plan). The worker's own thread.
#pragma once

#include "engine/core/conn.h"
#include "engine/core/worker/worker_state.h"
#include "net/transport.h"

struct behave_counters {
	BEHAVE_COUNTERS(BEHAVE_MEMBER)
	uint64_t no_memory;
};

struct worker_conns;

struct worker_behave {
	struct conns cs;
	// ctlplane: wo before the launch, dataplane: ro
	struct worker_conns *wc;
	const uint8_t *kinds; // of each client: enum tcp_behaviour
	uint32_t client_count;
	uint32_t row_first, row_count; // more than twice as many as clients: used in turn
	uint64_t gap;                  // ticks between two that begin
	// dataplane: rw
	uint32_t *conn_of; // of each client; CONN_NONE: it has none
	uint32_t turn;     // the client that begins next
	uint64_t next_at;  // and when; 0: the run has not begun
	uint32_t next_row; // below row_count
	uint64_t asked;    // messages: the number of the next one
	bool ended;
	struct behave_counters counts[2]; // as conn_books
};

extern const struct conn_owner worker_behave_owner;

// Begin those that are due, and send. Returns the number of packets that the device took.
uint16_t worker_behave_tx(struct worker_behave *b, uint64_t now);
// A segment from the server for one of their rows.
void worker_behave_rx(
	struct worker_behave *b, uint32_t row, const struct tcp_segment *s, uint64_t now);
// They leave, and none begins any more.
void worker_behave_end(struct worker_behave *b, uint64_t now);

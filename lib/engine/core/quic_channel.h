// SPDX-License-Identifier: BSD-3-Clause
// QUIC of the connections of a thread, in place of TCP: datagrams in and out, and messages of
// streams. A connection of QUIC belongs to a struct conn, which has its place, deadline and queue.
// Both ends. Path: hot | cold (the names). The thread that owns the connections.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/conn.h"
#include "engine/core/counters.h"
#include "quic/conn.h"
#include "quic/message.h"
#include "quic/packet.h"

// For the next connection of a seat, or of all seats.
struct quic_kept {
	uint16_t session_len, token_len; // 0: none
	uint8_t session[QUIC_SESSION_MOST];
	uint8_t token[QUIC_TOKEN_MOST];
};

struct quic_conns {
	struct quics q;
	// Set by the owner before the launch.
	uint32_t *at;                 // by connection: its number in q; QUIC_NONE: none
	struct quic_kept *kept;       // NULL: nothing is kept
	uint32_t kept_count;          // 1: all seats share it
	uint64_t tickets;             // received since the owner looked
	bool tokens;                  // they are kept, too
	struct quic_outcomes *counts; // and at each pass
	void *memory, *own;           // of q; of `at` and `kept`
	size_t memory_bytes, own_bytes;
};

const char *quic_version_name(uint32_t i);     // 3 of them
const char *quic_error_place_name(uint32_t i); // QUIC_ERRORS + 1 of them
uint32_t quic_error_place(uint64_t code);

// The time of a connection's functions in quic/.
uint64_t quic_channel_now(const struct conns *cs);
// Opens the connection of QUIC that belongs to c, which was just taken. kept: place of its session.
// Returns false without memory.
bool quic_channel_open(struct conns *cs, uint32_t c, const struct quic_path *path, uint32_t kept);
// Ends c at once, without a word to the server.
void quic_channel_abort(struct conns *cs, uint32_t c);
// Finds the connection of a datagram by its ID. Returns CONN_NONE if there is none.
uint32_t quic_channel_find(struct conns *cs, const uint8_t *bytes, uint32_t len,
	const struct addr *remote, uint16_t remote_port);
// Hands a datagram over. Returns false if the connection has ended.
bool quic_channel_input(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len);
void quic_channel_forget(struct conns *cs, uint32_t c);
// Writes the next datagram. Returns its length; 0: none is due.
uint32_t quic_channel_output(struct conns *cs, uint32_t c, uint8_t *out);
// The next deadline in microseconds. Returns false if there is none.
bool quic_channel_deadline(const struct conns *cs, uint32_t c, uint32_t *at);
// Handles deadlines. A connection that is over is closed.
void quic_channel_expire(struct conns *cs, uint32_t c);

// Facts of the connection that `message` has reported as opened or closed.
static inline const struct quic_facts *quic_channel_facts(const struct conns *cs, uint32_t c)
{
	return quic_facts(&cs->quic->q, cs->quic->at[c]);
}

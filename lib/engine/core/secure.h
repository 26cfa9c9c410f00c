// SPDX-License-Identifier: BSD-3-Clause
// TLS of the connections of a thread, between their messages (conn_message, conn_write) and TCP:
// records in both directions, plaintext that waits for keys, and the way of handshakes through the
// crew. A connection at rest keeps its keys only.
// Path: hot | cold (secures_bytes, secures_init). The thread that owns the connections.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypt/record.h"
#include "engine/core/conn.h"
#include "engine/core/counters.h"
#include "engine/core/crew.h"

enum secure_flag {
	SECURE_ON = 1,      // the connection uses TLS
	SECURE_OPEN = 2,    // the handshake is done
	SECURE_CLOSED = 4,  // the peer announced the end (close_notify)
	SECURE_BROKEN = 8,  // the handshake failed, or a record was wrong
	SECURE_SHUT = 16,   // we announced the end
	SECURE_ENDED = 32,  // the peer's FIN came, before all octets of the handshake were read
	SECURE_WANTS = 64,  // it waits for a seat
	SECURE_BEGUN = 128, // TCP is ready
	SECURE_HTTP = 256,  // messages travel by HTTP/2 (http.h)
	SECURE_PART = 512,  // a handshake message began, whose rest is in further records
};

#define SECURE_SECRET 32u // octets of a secret that each connection has room for
#define SECURE_REST   (KEYS_SECRET_MOST - SECURE_SECRET)

// TLS of a connection. read.flags: enum secure_flag. read.chain: part of a message. write.chain:
// plaintext that waits. write.flags: its seat plus 1; 0: none. A record touches one cache line, for
// its way, and the flags in `read`.
struct secure {
	_Alignas(64) struct record_way read;
	struct record_way write;
	union {
		uint8_t secrets[2][SECURE_SECRET]; // of `read` and `write`, TLS 1.3; see `rests`
		struct {                           // before the handshake is done
			uint32_t next, prev;       // in the list of connections without a seat
			uint32_t store;            // where its ticket is, and belongs
			uint32_t deadline;         // microseconds, as the host's clock
			uint64_t began;            // tick
			uint32_t preface;          // its octets in write.chain
		} early;
	};
};

_Static_assert(sizeof(struct secure) == 192, "with its struct conn, 320 bytes at rest");

// The last octets of the secrets of a connection whose suite has SHA-384.
struct secure_rest {
	uint8_t of[2][SECURE_REST];
};

enum secure_list { SECURE_FREE, SECURE_IDLE, SECURE_DUE, SECURE_BUSY, SECURE_KEPT, SECURE_LISTS };

// How a handshake ended: for conn_owner.shaken.
enum secure_outcome {
	SECURE_DONE,
	SECURE_FAILED, // at either end; see the facts
	SECURE_OTHER,  // the peer did not select the protocol that is needed
	SECURE_LOST,   // the peer ended the connection
	SECURE_NO_MEMORY,
};

// A handshake message of which a part came, after the handshake. Its octets are not needed.
struct secure_part {
	uint32_t conn;   // CONN_NONE: unused
	uint32_t have;   // octets
	uint8_t head[5]; // the first ones
};

#define SECURE_PARTS 64u // at a time

struct secure_ends {
	uint32_t first, last;
};

struct secures {
	struct secure *all; // by connection
	// Set by the owner before the launch.
	const struct hand_setup *setup;         // client
	const struct hand_setup *const *setups; // server: by `store`, and likewise with HTTP/2
	const struct hand_setup *const *setups_http;
	struct tls_counters *counts; // and at each pass
	bool server, bursts, close_notify;
	bool split, corrupt;         // faults of the next message
	char alpn[16];               // that the peer should select; "": none
	bool alpn_needed;            // a handshake without it fails
	uint32_t timeout_us;         // of handshakes; 0: none
	struct crew_session **store; // tickets; NULL: none are kept
	const struct clock *clock;
	struct crew_line *lines; // to the crew, one for each of its threads
	uint32_t line_count;     // 0: there is no crew
	uint32_t stored;
	struct secure_rest *rests; // by connection; NULL: no suite has SHA-384
	size_t rests_bytes;
	bool shared; // its only entry is for all connections
	// Private to secure.c.
	struct record_cache *cache;
	uint8_t *record, *opened, *gathered; // being sealed; being read; to be sealed
	const uint8_t *plain;                // within `opened`, not yet read
	uint32_t plain_len, plain_of;
	struct crew_seat *seats;
	uint32_t seat_count;
	struct secure_ends lists[SECURE_LISTS]; // of seats, by enum secure_list
	struct secure_ends wanting;             // connections
	uint32_t seats_in[SECURE_LISTS], want_count;
	struct crew_session *garbage;
	struct secure_part parts[SECURE_PARTS];
	uint32_t ids; // of keys, given so far
	size_t bytes; // of all tables, from `all` on
};

struct secures_shape {
	uint32_t count;  // connections
	uint32_t live;   // of these, usually open at a time
	uint32_t seats;  // handshakes at a time
	uint32_t stored; // tickets
	bool sha384;     // a suite with it is possible: see `rests`
};

size_t secures_bytes(const struct secures_shape *shape);
// memory: secures_bytes zeroed bytes, aligned to 64, owned by the caller.
void secures_init(struct secures *ss, void *memory, const struct secures_shape *shape);
// At the end. Path: cold.
void secures_free(struct secures *ss);

// For a connection that is being opened: it uses TLS.
void secure_on(struct conns *cs, uint32_t c);
// Begins the handshake when TCP is ready. store: where its ticket belongs.
void secure_begin(struct conns *cs, uint32_t c, uint32_t store, uint64_t now);
// For a connection that is freed, or begins anew.
void secure_forget(struct conns *cs, uint32_t c);
// As conn_message and conn_write; bytes: without the length in front, unless it is part of them.
bool secure_message(struct conns *cs, uint32_t c, const uint8_t **message, uint32_t *len);
bool secure_write(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len);
// Octets in front of the first message, in a record of their own. To be called before the
// handshake.
bool secure_preface(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len);
// Seals the messages that wait, if there are keys. Returns false without memory.
bool secure_flush(struct conns *cs, uint32_t c);
// Announces the end of the connection, before TCP's.
void secure_shut(struct conns *cs, uint32_t c);
// Faults of a connection whose handshake is done: a fatal alert, and a change of our key.
void secure_alert(struct conns *cs, uint32_t c, uint8_t which);
void secure_key_update(struct conns *cs, uint32_t c);
// Sends a message of a handshake that nobody expects. Returns false without memory or keys.
bool secure_handshake(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len);

// Work of a pass: handshakes. Returns whether any was done.
bool secure_pass(struct conns *cs);
// Is there such work?
bool secure_is_due(const struct secures *ss);
// For `expired`: is the handshake past its deadline? It has failed then.
bool secure_times_out(struct conns *cs, uint32_t c);
// Does its handshake wait for the tester's own computation, rather than for the peer?
bool secure_waits_for_us(const struct conns *cs, uint32_t c);
// The connection has ended: so has its handshake, if it was in progress.
void secure_lost(struct conns *cs, uint32_t c);
// Is the peer's FIN to wait, because octets of the handshake were not read yet? `shaken` comes
// later then.
bool secure_holds_end(struct conns *cs, uint32_t c);

static inline uint32_t secure_flags(const struct conns *cs, uint32_t c)
{
	return cs->secure ? cs->secure->all[c].read.flags : 0;
}

// Is its handshake in progress?
static inline bool secure_is_shaking(const struct conns *cs, uint32_t c)
{
	return (secure_flags(cs, c) & (SECURE_BEGUN | SECURE_OPEN | SECURE_BROKEN)) == SECURE_BEGUN;
}

// The time at which `expired` has to see it, while the handshake is in progress.
static inline uint32_t secure_deadline(const struct conns *cs, uint32_t c)
{
	return cs->secure->all[c].early.deadline;
}

// Did the peer, or an error, end the stream above TCP?
static inline bool secure_is_over(const struct conns *cs, uint32_t c)
{
	return secure_flags(cs, c) & (SECURE_CLOSED | SECURE_BROKEN);
}

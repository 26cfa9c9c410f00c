// SPDX-License-Identifier: BSD-3-Clause
// QUIC connections as a whole: opening, accepting and finding them, their facts and their end.
// Path: hot. The thread that owns them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "quic/quic.h"

// Opens a connection (client). `of`: the owner's number of it, quic_of. session, token: of
// QUIC_TICKET and QUIC_TOKEN of earlier connections to this server; NULL: none. Both are copied. A
// token should be optional: Knot 3.4 confuses it with a token of Retry, and the connection ends
// with TRANSPORT_PARAMETER_ERROR (QUIC_END_PROTOCOL, code 8). Returns QUIC_NONE without memory.
uint32_t quic_open(struct quics *q, const struct quic_path *path, uint32_t of,
	const uint8_t *session, uint32_t session_len, const uint8_t *token, uint32_t token_len,
	uint64_t now);

enum quic_found {
	QUIC_FOUND,   // of connection *c
	QUIC_FOREIGN, // of the worker with number *c
	QUIC_NEW,     // server: see quic_accept
	QUIC_STRAY,   // of no connection: see quic_stray
	QUIC_GARBAGE, // no QUIC: to be dropped
};
// Finds the connection of a datagram by its connection ID. A client gives a datagram that is not
// found to the connection of its local port, if there is one: a stateless reset looks like any.
// remote: its source, NULL is not compared; a datagram from elsewhere is a stray, for nothing
// migrates here.
enum quic_found quic_find(struct quics *q, const uint8_t *bytes, uint32_t len,
	const struct addr *remote, uint16_t remote_port, uint32_t *c);
// Takes the first datagram of a new connection (server). *c: the connection, which has read it;
// QUIC_NONE: none was made. Returns the octets of a datagram to be sent to the client, at `out`
// with QUIC_MTU_MOST octets of room: Retry or Version Negotiation; 0: none.
uint32_t quic_accept(struct quics *q, const struct quic_path *path, const uint8_t *bytes,
	uint32_t len, uint8_t ecn, uint64_t now, uint8_t *out, uint32_t *c);
// Writes a stateless reset for a stray (server). Returns its length; 0: none is due.
uint32_t quic_stray(struct quics *q, const uint8_t *bytes, uint32_t len, uint8_t *out);

// Does the connection live, or can it become alive: not closed, not over?
bool quic_alive(const struct quics *q, uint32_t c);
// Is its handshake done?
bool quic_is_ready(const struct quics *q, uint32_t c);
// May messages leave now: is it ready, or takes early data?
bool quic_carries(const struct quics *q, uint32_t c);
// Messages that were written and not yet answered, cancelled or ended.
uint32_t quic_open_count(const struct quics *q, uint32_t c);
uint32_t quic_of(const struct quics *q, uint32_t c);
void quic_set_of(struct quics *q, uint32_t c, uint32_t of);
const struct quic_path *quic_path(const struct quics *q, uint32_t c);
const struct quic_facts *quic_facts(const struct quics *q, uint32_t c);
const struct quic_end *quic_end(const struct quics *q, uint32_t c);

// Closes a connection with an application error: CONNECTION_CLOSE is the next datagram. Nothing
// else leaves from now on, and QUIC_CLOSED does not come. It stays for three PTOs (RFC 9000
// section 10.2), until quic_expire returns false; the port should rest as long.
void quic_shut(struct quics *q, uint32_t c, uint64_t code);
// Frees a connection at once, without a word to the peer.
void quic_forget(struct quics *q, uint32_t c);

// Starts a key update. Returns false if the handshake or the last update is not confirmed yet.
bool quic_update_keys(struct quics *q, uint32_t c, uint64_t now);

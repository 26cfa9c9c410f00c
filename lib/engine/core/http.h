// SPDX-License-Identifier: BSD-3-Clause
// HTTP/2 of the connections of a thread, between their messages (conn_message, conn_write) and TLS:
// a message and its answer have a stream. Both ends. State is kept for connections that are open,
// and for streams that are.
// Path: hot | cold (https_bytes, https_init). The thread that owns the connections.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/conn.h"
#include "engine/core/counters.h"
#include "net/h2.h"
#include "net/hpack.h"

struct http_stream;
struct http_conn;

// Shares of requests that a server treats badly, of 2^32.
struct http_faults {
	uint32_t refused, untyped, reset; // status `refusal`; without a type; RST_STREAM
	uint32_t refusal;
	uint32_t goaway; // GOAWAY after so many requests of a connection; 0: never
};

struct https {
	// Set by the owner before the launch.
	const struct h2_request *request; // client
	const struct h2_answer *answer;   // server
	const char *media;                // type of messages
	const char *path;                 // server: in front of its parameters
	const char *variable;             // the parameter with a message, and "="; behind its "?"
	uint32_t media_len, path_len, variable_len;
	uint32_t window;       // of streams and connections that we give
	uint32_t streams_most; // server: of a connection
	uint16_t header_table;
	struct http_faults faults;
	uint64_t random;              // state of the faults
	struct http_counters *counts; // client: and at each pass
	// Private to http.c.
	uint32_t *of; // the state of each connection; CONN_NONE: it has none
	uint8_t *conns;
	size_t conn_bytes;
	uint32_t conn_free;
	struct http_stream *streams;
	uint32_t stream_free, stream_left; // the first of the free ones; their number
	uint32_t stream_reserve;           // server: below that, they are short
	uint8_t *out, *body, *text;
	size_t bytes; // of all tables, from `of` on
};

struct https_shape {
	uint32_t count;   // connections
	uint32_t live;    // of these, open at a time
	uint32_t streams; // open at a time, over all of them
	uint16_t header_table;
	bool server;
};

size_t https_bytes(const struct https_shape *shape);
// memory: https_bytes zeroed bytes, aligned to 64, owned by the caller. header_table is set.
void https_init(struct https *h, void *memory, const struct https_shape *shape);

// For a connection that carries no more; see also http_channel. May be called again.
void http_forget(struct conns *cs, uint32_t c);
// Do contents wait for the peer's windows?
bool http_waits(const struct conns *cs, uint32_t c);

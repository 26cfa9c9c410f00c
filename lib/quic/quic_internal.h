// SPDX-License-Identifier: BSD-3-Clause
// The state of QUIC connections, shared by the files of lib/quic. They call each other downwards:
// conn > packet > message, shake > quic. Path: hot. The thread that owns the connections.
#pragma once

#include <netinet/in.h>

#include <ngtcp2/ngtcp2.h>

#include "base/rand.h"
#include "crypt/hand_messages.h"
#include "quic/compat.h"
#include "quic/pool.h"
#include "quic/quic.h"
#include "quic/seal.h"

#define NONE       UINT32_MAX
#define BLOCK_DATA (QUIC_BLOCK - 4u)
#define KEPT_MOST  16u   // datagrams of a connection while its job is away
#define JOB_INPUT  8192u // octets of messages of TLS

// Octets in blocks; the first one may be used up partly.
struct chain {
	uint32_t first, last; // NONE: none
	uint32_t skip;        // octets of the first block that were taken
	uint32_t len;
};

struct block {
	uint32_t next;
	uint8_t data[BLOCK_DATA];
};

enum stream_flag {
	STREAM_SENDS = 1,     // in the queue of those with octets to send
	STREAM_BLOCKED = 2,   // waits for the peer's window of the stream
	STREAM_FIN = 4,       // our octets are complete
	STREAM_GIVEN = 8,     // ngtcp2 has got some of them
	STREAM_IN_FIN = 16,   // the peer's octets are complete
	STREAM_EVENT = 32,    // in the queue of those with events
	STREAM_GONE = 64,     // ngtcp2 has closed it
	STREAM_RESET = 128,   // by the peer: `code`
	STREAM_STOPPED = 256, // by the peer: `code`
	STREAM_CANCELLED = 512,
	STREAM_HEARD = 1024,  // a message was returned
	STREAM_TOLD = 2048,   // and that it was the last one
	STREAM_EARLY = 4096,  // server: came as early data; client: sent so
	STREAM_OPEN = 8192,   // counted in open_count
	STREAM_WRONG = 16384, // was reported
	STREAM_STOP_EVENT = 32768,
	STREAM_WAS_RESET = 65536,
};

// A message and its answers, or a request and its answers.
struct quic_stream {
	int64_t id; // -1: none yet
	uint32_t c;
	uint32_t tag;
	uint32_t next, prev; // of the connection, in the order of writing; next: also of free ones
	uint32_t send_next, event_next;
	struct chain out; // not acknowledged
	uint32_t sent;    // octets of it that ngtcp2 has
	struct chain in;  // not taken
	uint32_t flags;
	uint16_t generation;
	uint64_t code;
};

enum row_state { ROW_FREE, ROW_LIVE, ROW_CLOSING, ROW_DRAINING };

enum row_flag {
	ROW_READY_EVENT = 1,
	ROW_CLOSED_EVENT = 2,
	ROW_TOKEN_EVENT = 4,
	ROW_TICKET_EVENT = 8,
	ROW_EARLY = 16,        // early keys are there, and were not refused
	ROW_SHUT = 32,         // quic_shut, not sent yet
	ROW_CLOSE_SEND = 64,   // the packet with CONNECTION_CLOSE is to be sent (again)
	ROW_RESET = 128,       // a stateless reset came
	ROW_FORGET = 256,      // a fault: to be forgotten by the next quic_output
	ROW_MEMORY = 512,      // blocks or streams were exhausted
	ROW_JOB_AWAY = 1024,   // its job is due or in the crew
	ROW_COMPLETED = 2048,  // ngtcp2 knows that TLS is done
	ROW_PARAMETERS = 4096, // the peer's transport parameters came
	ROW_FINISHED = 8192,   // a datagram was sent since TLS was done
};

struct quic_row {
	struct quics *q;
	ngtcp2_conn *conn; // NULL unless ROW_LIVE
	ngtcp2_mem mem;    // its allocations, from `share`
	struct pool_share share;
	struct hand *hand;
	const struct hand_setup *setup;
	uint32_t generation;
	uint32_t next; // free one, or in the list of the same place of `initials`
	uint16_t flags;
	uint8_t state;
	uint8_t initial_len; // server: of `initial`; 0: not in the table of initials
	uint32_t of;
	uint32_t cids; // issued so far
	uint32_t first, last, wait;
	uint32_t send_first, send_last, event_first, event_last;
	uint32_t open_count;
	uint32_t live; // client: streams that ngtcp2 has
	uint32_t requests;
	uint32_t job;  // seat; NONE
	uint32_t hits; // datagrams while closing
	uint32_t key_calls;
	uint64_t deadline; // closing or draining
	uint64_t shut_code;
	uint64_t now;       // of the current call
	struct chain close; // the packet to close with
	struct chain token, ticket;
	struct chain kept; // datagrams: length in two octets, ECN, octets
	uint32_t kept_count;
	uint8_t initial[NGTCP2_MAX_CIDLEN]; // server: the first connection ID of the client
	struct quic_path path;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} local, remote;
	struct quic_facts facts;
	struct quic_end end;
};

// A step of TLS: its input, a copy; and of its output, the items of `hand`, and a session.
struct quic_job {
	uint32_t c, generation; // of the connection
	uint32_t next;          // due ones, or free ones
	bool begins, ends;      // creates the session of GnuTLS, or frees it
	bool tickets;           // a client wants one
	const struct clock *clock;
	const struct hand_setup *setup;
	struct hand *hand;
	enum hand_state state;
	uint32_t parameters_len, session_len, in_len;
	uint64_t given, waited, ticks;
	uint8_t parameters[256];
	uint8_t session[QUIC_SESSION_MOST]; // to resume; later the new one
	uint8_t in[JOB_INPUT];              // level, length in two octets, octets; again and again
};

struct quic_memory {
	struct pool pool;
	struct quic_row *rows;
	struct quic_stream *streams;
	struct block *blocks;
	struct quic_job *jobs; // the last one is for jobs that are done at once
	uint32_t *initials;    // server: connections by the first connection ID of their client
	uint32_t initials_mask;
	uint32_t count, stream_count, job_count;
	uint32_t row_free, stream_free, block_free, job_free;
	uint32_t job_first, job_last; // due
	struct perm cids;
	uint8_t secret[32]; // of tokens and resets
	struct rand random;
	uint8_t message[QUIC_MESSAGE_MOST + 2];
};

static inline struct quic_row *row_at(const struct quics *q, uint32_t c)
{
	return &q->memory->rows[c];
}

static inline uint32_t row_number(const struct quic_row *r)
{
	return (uint32_t)(r - r->q->memory->rows);
}

// --- quic.c

uint32_t row_take(struct quics *q);
void row_give(struct quic_row *r);
// The octets of a connection are exhausted: it fails, or the message does.
bool chain_add(struct quics *q, struct chain *ch, const uint8_t *octets, uint32_t len);
// Drops octets from the front.
void chain_drop(struct quics *q, struct chain *ch, uint32_t len);
// Copies len octets from the front; they stay.
void chain_copy(const struct quics *q, const struct chain *ch, uint8_t *out, uint32_t len);
static inline void chain_init(struct chain *ch)
{
	*ch = (struct chain){NONE, NONE, 0, 0};
}
static inline bool is_likely(struct quics *q, uint32_t share)
{
	return share && (uint32_t)rand_next(&q->memory->random) < share;
}
// Parts of a connection ID of ours: worker, row, generation, number.
uint64_t cid_make(const struct quics *q, const struct quic_row *r, uint32_t number);
struct quic_row *cid_row(const struct quics *q, const uint8_t *cid, uint32_t *worker);
void reset_token(const struct quics *q, const uint8_t *cid, uint8_t *out);
// HMAC of a text with the secret of this thread, 16 octets.
void secret_mac(const struct quics *q, const uint8_t *text, size_t len, uint8_t out[16]);

// --- message.c

// Opens streams for messages that wait, as many as the peer allows.
void streams_open(struct quic_row *r);
// Fills vectors with the octets to send of the next stream; *fin: its end is among them. Returns
// the stream, or NONE.
uint32_t stream_next(struct quic_row *r, ngtcp2_vec *vec, size_t *count, bool *fin);
// Its octets were taken by ngtcp2; all: it has none left.
void stream_sent(struct quic_row *r, uint32_t s, size_t len, bool fin);
void stream_blocked(struct quic_row *r, uint32_t s);
// Nothing more can be sent on it.
void stream_dead(struct quic_row *r, uint32_t s);
// Frees the streams of a connection.
void streams_free(struct quic_row *r);
// The connection ended: no stream is known to ngtcp2 any more.
void streams_lost(struct quic_row *r);
int on_stream_data(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t offset,
	const uint8_t *octets, size_t len, void *of, void *stream);
int on_stream_open(ngtcp2_conn *conn, int64_t id, void *of);
int on_stream_close(
	ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t code, void *of, void *stream);
int on_stream_reset(
	ngtcp2_conn *conn, int64_t id, uint64_t size, uint64_t code, void *of, void *stream);
int on_acked(ngtcp2_conn *conn, int64_t id, uint64_t offset, uint64_t len, void *of, void *stream);
int on_stream_window(ngtcp2_conn *conn, int64_t id, uint64_t max, void *of, void *stream);
int on_early_refused(ngtcp2_conn *conn, void *of);

// --- shake.c

// Begins TLS of a client. Returns false without memory. Without `deferred` its first step is taken,
// and waits for on_client_initial.
bool shake_begin(struct quic_row *r, const uint8_t *session, uint32_t len);
// Sends a job with new input on its way.
void shake_due(struct quic_row *r);
// Frees the session of a job without a connection, by another job, and its seat.
void job_end(struct quics *q, struct quic_job *job);
// Takes the outcome of a job. Returns 0, or an error of ngtcp2.
int shake_take(struct quic_row *r, struct quic_job *job);
// Frees the session of GnuTLS and the seat.
void shake_end(struct quic_row *r);
int on_client_initial(ngtcp2_conn *conn, void *of);
int on_server_initial(ngtcp2_conn *conn, const ngtcp2_cid *dcid, void *of);
int on_crypto(ngtcp2_conn *conn, ngtcp2_encryption_level level, uint64_t offset,
	const uint8_t *octets, size_t len, void *of);
int on_retry(ngtcp2_conn *conn, const ngtcp2_pkt_hd *hd, void *of);
int on_version(ngtcp2_conn *conn, uint32_t version, const ngtcp2_cid *dcid, void *of);
int on_update_key(ngtcp2_conn *conn, uint8_t *rx_secret, uint8_t *tx_secret,
	ngtcp2_crypto_aead_ctx *rx, uint8_t *rx_iv, ngtcp2_crypto_aead_ctx *tx, uint8_t *tx_iv,
	const uint8_t *rx_now, const uint8_t *tx_now, size_t len, void *of);
void on_key_gone(ngtcp2_conn *conn, ngtcp2_crypto_aead_ctx *ctx, void *of);
void on_header_key_gone(ngtcp2_conn *conn, ngtcp2_crypto_cipher_ctx *ctx, void *of);

// --- packet.c

// ngtcp2 failed with rv: ends the connection, with a packet if one is due.
void row_fail(struct quic_row *r, int rv);
// Frees a connection without a word to the peer.
void row_forget(struct quic_row *r);

// SPDX-License-Identifier: BSD-3-Clause
// QUIC connections of a thread that carry messages with their length in front, a stream for each
// (RFC 9000, 9001, 9250), client or server, by ngtcp2: settings, events, outcomes and memory.
// Path: cold. The thread that owns the connections.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/clock.h"
#include "crypt/hand.h"

// The owner has the clock, the datagrams and the addresses. It finds the connection of a datagram
// (conn.h: quic_find), hands it over (packet.h: quic_input), takes messages and events (message.h:
// quic_message), then datagrams to send (packet.h: quic_output), and calls again at the deadline
// (packet.h: quic_expire). Times are nanoseconds of a clock of the owner that never steps back and
// begins above 0.
//
// All memory is the owner's, given once; when it is exhausted, a connection or message fails with a
// reason, and nothing grows. GnuTLS allocates memory for a handshake, until its end or the ticket
// that a client waits for (`tickets`); then its session is freed. With a crew (`deferred`), the
// thread never calls GnuTLS: see shake.h.
//
// There is no pacing: an open loop decides when messages leave, and congestion control how many
// octets are on the way.

#define QUIC_NONE         UINT32_MAX // no connection
#define QUIC_CID          8          // octets of the connection IDs that we issue
#define QUIC_WORKERS      1024u      // number of `worker` at most
#define QUIC_CONNS        (1u << 22) // of a thread at most
#define QUIC_MTU_LEAST    1200u      // octets of a datagram, without the headers of UDP and IP
#define QUIC_MTU_MOST     1452u
#define QUIC_MESSAGE_MOST 65535u // octets of a message, without its length
#define QUIC_TOKEN_MOST   512u   // octets of a token that is kept
#define QUIC_SESSION_MOST 4096u  // octets of a session that is kept

#define QUIC_V1 1u // RFC 9000; the other one is quic_version_2()

// Application errors of DNS (RFC 9250 section 4.3), which end a stream or a connection.
enum quic_error {
	QUIC_NO_ERROR,
	QUIC_INTERNAL_ERROR,
	QUIC_PROTOCOL_ERROR,
	QUIC_REQUEST_CANCELLED,
	QUIC_EXCESSIVE_LOAD,
	QUIC_UNSPECIFIED_ERROR,
	QUIC_ERRORS
};
const char *quic_error_name(uint64_t code); // "other" for any other

enum quic_congestion { QUIC_CUBIC, QUIC_RENO, QUIC_BBR };

// The result of quic_message, in quics.event.
enum quic_event {
	QUIC_READY,   // the handshake is done: quic_facts. Only now early data was accepted or not
	QUIC_MESSAGE, // client: an answer to `tag`; server: the request `tag`. `last`: no more
	              // of it
	QUIC_ENDED,   // the stream of `tag` ended behind the messages of which none was `last`
	QUIC_RESET,   // the peer reset the stream of `tag` with `code`
	QUIC_STOPPED, // the peer takes no more of our message `tag`, with `code`
	QUIC_WRONG,   // the stream of `tag` violates RFC 9250 section 4.2: `fault`
	QUIC_LATE,    // client: an answer to a message that was cancelled
	QUIC_TOKEN,   // client: a token for connections to this address, in the message
	QUIC_TICKET,  // client: a session to resume, in the message
	QUIC_CLOSED,  // the connection has ended, and carries no more: quic_end
};

enum quic_wrong {
	QUIC_EMPTY, // a stream without a message
	QUIC_CUT,   // it ended within a message
	QUIC_EXTRA, // server: more than one message
	QUIC_ZERO,  // a message of length 0
};
const char *quic_wrong_name(enum quic_wrong wrong);

// How a connection ended.
enum quic_end_kind {
	QUIC_END_NONE,        // it has not
	QUIC_END_APPLICATION, // the peer closed it: `code` of enum quic_error
	QUIC_END_TRANSPORT,   // the peer closed it for an error of QUIC (RFC 9000 section 20.1)
	QUIC_END_ALERT,       // the peer closed it for an alert of TLS
	QUIC_END_IDLE,        // nothing came for the idle timeout
	QUIC_END_RESET,       // stateless reset: the peer does not know it
	QUIC_END_VERSION,     // the server speaks none of our versions
	QUIC_END_TIMEOUT,     // of the handshake
	QUIC_END_REFUSED,     // we refused the certificate: facts.tls.refused
	QUIC_END_TLS,         // we closed it for another alert of TLS: facts.tls.wrong
	QUIC_END_PROTOCOL,    // we closed it for an error of the peer: `code` of QUIC
	QUIC_END_MEMORY,      // memory is exhausted
	QUIC_END_SHUT,        // quic_shut
	QUIC_ENDS
};
const char *quic_end_name(uint32_t kind);

struct quic_end {
	enum quic_end_kind kind;
	uint64_t code;   // or the alert
	char reason[64]; // text of the peer or of ngtcp2, printable; "": none
};

struct quic_path {
	struct addr local, remote;
	uint16_t local_port, remote_port;
};

// The outcome of a handshake, as far as it went.
struct quic_facts {
	uint32_t version;       // 0: none yet
	bool early_offered;     // messages could go before the handshake
	bool early;             // they were accepted
	bool retried;           // a Retry came (client), or was answered (server)
	bool with_token;        // server: the client had a token of NEW_TOKEN
	bool upgraded;          // version negotiation within the handshake (RFC 9368)
	bool preferred_refused; // the server's preferred address, which we do not use
	uint32_t key_updates;   // of either end, but for the last one until packets follow it
	uint64_t began_ns;      // quic_open, or the first Initial
	uint64_t first_ns;      // the peer's first octets of TLS, or its Retry; 0: none
	uint64_t done_ns;       // the handshake was done; 0: not yet
	uint64_t confirmed_ns;  // and both ends know it (RFC 9001 section 4.1.2); 0: not yet
	uint64_t ticks;         // of the CPU, in TLS; 0 without quics.clock
	uint64_t waited;        // ticks in which jobs waited for the crew
	bool known;             // the fields of tls are
	struct {
		bool resumed, hello_retry;
		enum record_suite suite;
		uint32_t group, certificates, octets_of_them;
		char alpn[16];
		enum hand_refusal refused;
		int alert_sent;    // -1: none
		const char *wrong; // text, static; NULL: nothing
	} tls;
};

// Counters of a thread. One writer, as all counters.
#define QUIC_COUNTER_ROWS(X)                                                                       \
	X(datagrams_in, "datagrams of connections received")                                       \
	X(datagrams_out, "datagrams sent")                                                         \
	X(octets_in, "octets of them received")                                                    \
	X(octets_out, "octets of them sent")                                                       \
	X(streams, "streams opened, by either end")                                                \
	X(held, "messages that waited for a stream of the peer's limit")                           \
	X(blocked, "times that flow control of a stream or connection stopped a message")          \
	X(early_sent, "messages sent as early data")                                               \
	X(early_again, "messages sent again, because early data was refused")                      \
	X(moved, "datagrams from another address than the connection's: dropped")                  \
	X(strays, "datagrams without a connection")                                                \
	X(garbage, "datagrams that are no QUIC")                                                   \
	X(no_memory, "connections and messages without memory")                                    \
	X(retries_sent, "server: Retry packets")                                                   \
	X(versions_sent, "server: Version Negotiation packets")                                    \
	X(resets_sent, "server: stateless resets")                                                 \
	X(ignored, "server: Initial packets dropped by a fault, or for want of a connection")

#define QUIC_COUNTER_MEMBER(name, help) uint64_t name;
struct quic_counters {
	QUIC_COUNTER_ROWS(QUIC_COUNTER_MEMBER)
};

// A server's faults: shares of new connections or requests, of 2^32, and numbers; 0: none.
struct quic_faults {
	uint32_t retry;               // new connections that get a Retry, unless they have a token
	uint32_t version_negotiation; // that get an offer of versions which nobody has
	uint32_t drop_initial;        // whose Initial packets are dropped
	uint32_t early_refused;       // that refuse early data: `tls_no_early` is their setup
	uint32_t reset;               // requests whose stream is reset with `reset_code`
	uint64_t reset_code;
	uint32_t forget_after; // a connection is forgotten after so many requests: stateless reset
	uint32_t close_after;  // it is closed with `close_code` after so many requests
	uint64_t close_code;
	bool no_credit; // clients may open no stream
};

struct quic_job;
struct quic_memory;

struct quics {
	// Set by the owner before quics_init; faults also later.
	bool server;
	const struct hand_setup *tls;          // of settings with `quic`
	const struct hand_setup *tls_no_early; // server: for early_refused; NULL: tls
	const struct clock *clock;             // to count CPU ticks; NULL: they are not counted
	uint32_t worker, workers;              // number of this one, of all; up to QUIC_WORKERS
	uint64_t seed;        // of connection IDs, tokens and faults; of all workers
	uint32_t versions[2]; // accepted, or offered: the first one is used
	uint32_t version_count;
	uint64_t idle_ns;      // idle timeout that we announce; 0: none
	uint64_t handshake_ns; // timeout of a handshake; 0: none
	uint64_t ack_delay_ns; // at most, before we acknowledge: below 2^14 ms
	uint32_t ack_every;    // packets that are acknowledged at once; 0: ngtcp2's
	uint32_t window;       // octets that a peer may send on a connection
	uint32_t stream_window;
	// Server: streams that a client may have open. Client: that we have open at most, as some
	// servers announce more than they bear (Knot 3.4: 1 024, and it drops connections beyond
	// 10); 0: the server's limit.
	uint32_t streams;
	uint16_t mtu; // octets of our datagrams, QUIC_MTU_LEAST to QUIC_MTU_MOST
	enum quic_congestion congestion;
	bool tickets;  // client: waits for a ticket, which costs a session of GnuTLS till then
	bool cancel;   // quic_cancel asks the peer to stop, rather than only forgetting
	bool deferred; // handshakes are computed by quic_job_do
	struct quic_faults faults;
	struct quic_counters counts;
	// The event that quic_message returned.
	enum quic_event event;
	enum quic_wrong wrong;
	uint32_t tag;       // client: the owner's number of a message; server: of a request, ours
	uint64_t code;      // of QUIC_RESET and QUIC_STOPPED
	bool last;          // of QUIC_MESSAGE: the stream has ended
	bool early_message; // of QUIC_MESSAGE, server: it came before the handshake was done
	// Private.
	struct quic_memory *memory;
};

struct quics_shape {
	uint32_t count;       // connections at a time
	uint32_t streams;     // messages at a time, over all of them: held, open, or not closed yet
	uint32_t blocks;      // of QUIC_BLOCK octets, for their octets
	uint32_t jobs;        // handshakes at a time in the crew; without one 0
	uint32_t conn_octets; // of a connection in ngtcp2; 0: quics_conn_octets
	bool server;
};

#define QUIC_BLOCK 256u

// Octets that ngtcp2 takes for a connection, at most, with few streams: by its version.
uint32_t quics_conn_octets(void);
const char *quics_library(void); // "ngtcp2 0.12.1"
// The number of version 2, and whether it is a draft that only this version of ngtcp2 speaks.
uint32_t quic_version_2(void);
bool quic_version_2_is_draft(void);

size_t quics_bytes(const struct quics_shape *shape);
// memory: quics_bytes zeroed bytes, aligned to 64, owned by the caller.
void quics_init(struct quics *q, void *memory, const struct quics_shape *shape);
// Frees the sessions of GnuTLS that are left.
void quics_free(struct quics *q);
// Octets of ngtcp2 in use, and at most so far; requests that failed.
void quics_usage(const struct quics *q, uint64_t *used, uint64_t *highest, uint64_t *failed);

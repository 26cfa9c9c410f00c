// SPDX-License-Identifier: BSD-3-Clause
// The connections of one thread: a table, a timing wheel for deadlines, and a queue of connections
// with segments to send. The owner, an item of the tester or the responder, finds the connection of
// a segment and interprets the bytes.
// Connections are looked up like transactions: `at` maps a number to the chain of connections that
// share its place; the owner compares them.
// Path: hot | cold (memory, init). The thread that owns it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "engine/core/wire_state.h"
#include "io/port_state.h"
#include "net/frame.h"
#include "net/tcp.h"

#define CONN_NONE         UINT32_MAX
#define CONN_BUCKETS      8192u // of the wheel: 8.4 s per turn
#define CONN_BUCKET_SHIFT 10    // a bucket is 2^10 us
#define CONN_MESSAGE_MAX  65537 // including the length in front
#define CONN_LENGTH       2u    // bytes of the length
#define CONN_HEAD         32    // bytes that a framing may inspect

// Returns the length of the message at the start of len bytes of a stream, from 1 to 65535; it may
// exceed len. Returns 0 if more bytes are needed, which is possible below CONN_HEAD only. A NULL
// framing: each message follows its length in two bytes.
typedef uint32_t (*conn_framing)(const uint8_t *bytes, uint32_t len);

// Returns the number of bytes in front of a message.
static inline uint32_t conn_front(conn_framing framed)
{
	return framed ? 0 : CONN_LENGTH;
}

enum conn_flag {
	CONN_TIMED = 1,  // on the wheel
	CONN_READY = 2,  // in the queue `ready`
	CONN_OPENED = 4, // the handshake was completed
	CONN_HEARD = 8,  // client: a reply arrived
	CONN_OVER = 16,  // client: it takes no more requests
	CONN_LATE = 32,  // client: `since` is a deadline
	CONN_TOLD = 64,  // client: closed by the server, and counted as such
	CONN_SHUT = 128, // client of the load: closed by us, or ended
	CONN_MUTE = 128, // misbehaving client: reacts to no segment
};

struct conn {
	struct tcp tcp;
	uint32_t next, prev; // on the wheel
	uint32_t when;       // microseconds, as the host's clock
	uint32_t chain;      // next connection at the same place of `at`, or next free one
	union {
		struct {
			uint32_t row;   // number of its address and port
			uint32_t seat;  // seat, or misbehaving client, that it belongs to
			uint32_t asked; // requests so far
			uint32_t since; // when it was opened, in 16 ticks; or a deadline, us
			uint16_t open;  // requests without a reply yet
		};
		struct {
			uint8_t peer[16];
			uint16_t peer_port, own_port;
		};
	};
	uint8_t flags; // enum conn_flag
	uint8_t way;   // responder: index of its headers
	uint16_t own;  // responder: index of our address
};

_Static_assert(sizeof(struct conn) == 128, "a connection at rest has 128 bytes");

// The headers of a segment: a template with the peer's address and port, and our address and port.
struct conn_head {
	struct frame_template t;
	uint8_t src[16];
	uint16_t src_port;
};

struct conns;
struct crew_seat;
struct https;
struct quic_conns;
struct secures;

// The layers of messages above TCP. QUIC takes TCP's place, for all connections of a thread.
enum channel_kind { CHANNEL_TLS, CHANNEL_HTTP, CHANNEL_QUIC };

// The functions of a channel; NULL: nothing is to be done. Messages on a channel with streams have
// no key; struct conn_stream has their number instead.
struct channel {
	// The connection is being opened, or accepted. Returns false without memory.
	bool (*on)(struct conns *cs, uint32_t c);
	// As conn_message, and conn_write of the message at `bytes`.
	bool (*message)(struct conns *cs, uint32_t c, const uint8_t **message, uint32_t *len);
	bool (*write)(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len);
	bool (*flush)(struct conns *cs, uint32_t c); // its segments are about to be built
	// As the functions of conn.h.
	void (*cancel)(struct conns *cs, uint32_t c, uint32_t tag);
	bool (*unheard)(struct conns *cs, uint32_t c, uint32_t *tag);
	void (*shut)(struct conns *cs, uint32_t c);
	void (*forget)(struct conns *cs, uint32_t c);
};

extern const struct channel secure_channel, http_channel, quic_channel;

// The result of conn_message on a channel with streams.
enum stream_event {
	STREAM_MESSAGE, // client: an answer to the message `tag`; server: a request
	STREAM_REFUSED, // client: the answer to `tag` has an error, which the owner can read
	STREAM_RESET,   // client: the server reset the stream of `tag`
	STREAM_WRONG,   // client: the answer to `tag` violates the protocol
	STREAM_LATE,    // client: an answer to a message that was cancelled
	STREAM_OPENED,  // QUIC: the handshake is done
	STREAM_CLOSED,  // QUIC: the connection has ended
	STREAM_LEAVING, // client: the server takes no more requests; see conn_unheard
};

// The message that conn_message returned, or that is being written.
struct conn_stream {
	enum stream_event event;
	uint32_t tag;      // client: the owner's number of the message
	uint32_t stream;   // server: of the request
	bool may_repeat;   // of STREAM_RESET: the server did nothing with it
	bool measured;     // client: it is of the measured part; of STREAM_LATE, too
	const char *wrong; // of STREAM_REFUSED and STREAM_WRONG, static
};

enum conn_fate {
	CONN_FATE_NONE,
	CONN_FATE_LOST,
	CONN_FATE_TWICE,
	CONN_FATE_LATER,   // sent after the next segment
	CONN_FATE_DAMAGED, // one bit is flipped after the checksum was computed
};

struct conn_owner {
	void (*head)(struct conns *cs, uint32_t c, struct conn_head *out);
	// Called at a deadline. events: from tcp_timeout; QUIC may have messages.
	void (*expired)(struct conns *cs, uint32_t c, uint32_t events);
	// Called for a closed connection with nothing left to send, before it is freed: its place.
	uint32_t (*gone)(struct conns *cs, uint32_t c);
	// Returns the fault to apply to the next segment sent. NULL: none at all.
	enum conn_fate (*fate)(struct conns *cs);
	// Called when a handshake of TLS has ended; how: enum secure_outcome. seat: has its
	// facts. NULL: no connection uses TLS.
	void (*shaken)(struct conns *cs, uint32_t c, const struct crew_seat *seat, int how);
};

struct conns {
	struct conn *all;
	uint32_t count;
	uint32_t free; // first of a list linked by `chain`
	uint32_t used;
	uint32_t *at;
	uint32_t at_mask;
	uint32_t *buckets; // of the wheel
	uint32_t turn;     // the next bucket
	uint32_t timed;    // connections on the wheel
	uint32_t *ready;   // ring of connections with segments to send
	uint32_t ready_mask, ready_first, ready_count;
	struct tcp_host host;
	struct tcp_counters counters;
	uint64_t segments_in, segments_out;
	uint64_t start, us_scale; // the host's clock: clock_us
	const struct conn_owner *owner;
	struct secures *secure;  // NULL: no connection uses TLS
	struct https *https;     // NULL: none uses HTTP/2
	struct quic_conns *quic; // NULL: TCP
	struct conn_stream stream;
	void *of;            // the owner's data
	conn_framing framed; // set by the owner: framing of the next messages read or written
	uint32_t fixed;      // set by the owner: length of the next messages read; 0: by framed
	uint16_t out_first, out_count, spare_count;
	bool swap;                       // the next segment overtakes the last one in `out`
	struct rte_mbuf *out[BURST_MAX]; // built, not taken by the device yet
	struct rte_mbuf *spare[BURST_MAX];
	uint8_t *message; // CONN_MESSAGE_MAX bytes: received in pieces, or being written
	size_t bytes;     // of all tables, from `all` on
};

struct conns_shape {
	uint32_t count;  // connections
	uint32_t places; // of `at`; rounded up to a power of two
	uint32_t blocks; // for buffered bytes
	uint32_t window;
	uint64_t time_wait_us;
	uint32_t ack_delay_us;
	uint8_t syn_tries, tries;
	bool stamps;
	bool nagle;
};

// Returns the bytes of memory that the tables need.
size_t conns_bytes(const struct conns_shape *shape);
// memory: conns_bytes zeroed bytes, aligned to 64, owned by the caller. start: tick at which the
// clock of the connections is 0. us_scale: from clock_us_scale.
void conns_init(struct conns *cs, void *memory, const struct conns_shape *shape, uint64_t start,
	uint64_t us_scale);

// Sets the clock to tick `now`. To be called before the functions below.
void conns_clock(struct conns *cs, uint64_t now);

// Takes a free connection for a place; the caller opens it. Returns CONN_NONE if none is free.
uint32_t conn_take(struct conns *cs, uint32_t place);
// Queues a connection that may have something to send, a new deadline, or be closed. The next
// conns_send handles it, and frees it if it is closed.
static inline void conn_touch(struct conns *cs, uint32_t c)
{
	if (cs->all[c].flags & CONN_READY)
		return;
	cs->all[c].flags |= CONN_READY;
	cs->ready[(cs->ready_first + cs->ready_count++) & cs->ready_mask] = c;
}
// Fetches the cache lines of a connection that a message takes, some time before it.
void conn_fetch(const struct conns *cs, uint32_t c);
// Requests a call of `expired` at `when`, or earlier.
void conn_wake(struct conns *cs, uint32_t c, uint32_t when);

// Handles the deadlines that have passed.
void conns_expire(struct conns *cs);
// Builds and sends the waiting segments. Returns the number of packets that the device took; the
// others stay queued. Adds the number of times that no buffer was free to *no_mbuf.
uint16_t conns_send(struct conns *cs, struct wire *w, uint64_t *no_mbuf);
// Sends a segment without payload or connection. Returns false if no buffer is free, or no room.
bool conns_say(struct conns *cs, struct wire *w, const struct conn_head *head,
	const struct tcp_segment *s);
// Sends the reset, if one is due, for a segment without a connection.
void conns_refuse(struct conns *cs, struct wire *w, const struct conn_head *head,
	const struct tcp_segment *s);
// Reads the next complete message, which is valid until the next call. To be called after each
// TCP_DATA until it returns false. Without memory for an incomplete message it aborts the
// connection.
bool conn_message(struct conns *cs, uint32_t c, const uint8_t **message, uint32_t *len);
// Sends the message of len bytes at cs->message + CONN_LENGTH. Returns false without memory.
bool conn_write(struct conns *cs, uint32_t c, uint32_t len);
// Puts a connection that is being opened or accepted on TLS or HTTP/2. Returns false without
// memory.
bool conn_on(struct conns *cs, uint32_t c, enum channel_kind kind);
// Client: nobody waits for the answer to the message `tag` any more.
void conn_cancel(struct conns *cs, uint32_t c, uint32_t tag);
// Client, after STREAM_LEAVING: takes a message that the server has not begun. Returns false if
// there is none (any more).
bool conn_unheard(struct conns *cs, uint32_t c, uint32_t *tag);
// Forgets everything above TCP of a connection.
void conn_forget(struct conns *cs, uint32_t c);
// Ends a connection at once.
void conn_abort(struct conns *cs, uint32_t c);
// Ends the stream: FIN follows the bytes that wait.
void conn_shut(struct conns *cs, uint32_t c);

// Returns the length of the first message, including its length field. If it exceeds len, the
// message is incomplete.
static inline uint32_t conn_whole(
	const struct conns *cs, conn_framing framed, const uint8_t *bytes, uint32_t len)
{
	uint32_t whole = 0;

	if (framed && len)
		whole = cs->fixed ? cs->fixed : framed(bytes, len);
	if (!framed && len >= CONN_LENGTH)
		whole = CONN_LENGTH + bytes_be16(bytes);
	return whole ? whole : UINT32_MAX;
}

// At the end: frees the spare buffers and the packets that the device has not taken.
void conns_halt(struct conns *cs);

// SPDX-License-Identifier: BSD-3-Clause
// The connections of one thread: a table of them, a timing wheel for their deadlines, and a queue
// of those that have segments to send. Its owner, the tester's item or the responder, finds the
// connection of a segment, and knows what the bytes mean.
// A connection is found by an index, as a transaction is: `at` leads from a number, of which many
// may share a place, to a chain of candidates that the owner compares.
// Path: hot | cold (memory, init). The thread that owns it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/wire.h"
#include "io/burst.h"
#include "net/frame.h"
#include "net/tcp.h"

#define CONN_NONE         UINT32_MAX
#define CONN_BUCKETS      8192u // of the wheel: a turn is 8.4 s
#define CONN_BUCKET_SHIFT 10    // of microseconds
#define CONN_MESSAGE_MAX  65537 // with its length in front
#define CONN_LENGTH       2u    // bytes of that
#define CONN_HEAD         32    // bytes that a framing may ask for

// Length of the message at the start of len bytes of a stream, from 1 up to 65535; it may be more
// than len. 0: so few bytes, below CONN_HEAD, do not tell. NULL: a message has its length in front
// of it, in two bytes.
typedef uint32_t (*conn_framing)(const uint8_t *bytes, uint32_t len);

// Bytes in front of a message.
static inline uint32_t conn_front(conn_framing framed)
{
	return framed ? 0 : CONN_LENGTH;
}

enum conn_flag {
	CONN_TIMED = 1,  // it is on the wheel
	CONN_READY = 2,  // it is in the queue of those that send
	CONN_OPENED = 4, // the handshake was complete
	CONN_HEARD = 8,  // client: an answer came
	CONN_OVER = 16,  // client: nothing more is asked on it
	CONN_LATE = 32,  // client: `since` is a deadline
	CONN_TOLD = 64,  // client: the server closed it, and that was counted
	CONN_SHUT = 128, // client of the load: we have closed it, or it has ended
	CONN_MUTE = 128, // client that does its worst: it reacts to no segment
};

struct conn {
	struct tcp tcp;
	uint32_t next, prev; // on the wheel
	uint32_t when;       // microseconds, as the host's clock
	uint32_t chain;      // the next one at the same place of `at`, or of the free ones
	union {
		struct {
			uint32_t row;   // of its address and port
			uint32_t seat;  // whose it is
			uint32_t asked; // messages so far
			uint32_t since; // sixteenths of a tick: when it was opened; idle: deadline
			uint16_t open;  // of them, those without an answer
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

// Headers of a segment: a template for the peer's address and port, and what is ours.
struct conn_head {
	struct frame_template t;
	uint8_t src[16];
	uint16_t src_port;
};

struct conns;

enum conn_fate {
	CONN_FATE_NONE,
	CONN_FATE_LOST,
	CONN_FATE_TWICE,
	CONN_FATE_LATER,   // it leaves behind the next one
	CONN_FATE_DAMAGED, // one bit of it is wrong, its checksum is not
};

struct conn_owner {
	void (*head)(struct conns *cs, uint32_t c, struct conn_head *out);
	// Its deadline has come, and tcp_timeout said this.
	void (*expired)(struct conns *cs, uint32_t c, uint32_t events);
	// It is closed and all is sent: its place, for conn_take has it next.
	uint32_t (*gone)(struct conns *cs, uint32_t c);
	// What befalls the next segment on its way out. NULL: nothing.
	enum conn_fate (*fate)(struct conns *cs);
};

struct conns {
	struct conn *all;
	uint32_t count;
	uint32_t free; // list by chain
	uint32_t used;
	uint32_t *at;
	uint32_t at_mask;
	uint32_t *buckets; // of the wheel
	uint32_t turn;     // the next bucket
	uint32_t timed;    // connections on the wheel
	uint32_t *ready;   // a ring of those that send
	uint32_t ready_mask, ready_first, ready_count;
	struct tcp_host host;
	struct tcp_counters counters;
	uint64_t segments_in, segments_out;
	uint64_t start, us_scale; // the host's clock: clock_us
	const struct conn_owner *owner;
	void *of;            // the owner's
	conn_framing framed; // the owner's: of messages that are read or written next
	uint32_t fixed;      // the owner's, with framed: length of those that are read next; 0:
	                     // framed knows it
	uint16_t out_first, out_count, spare_count;
	bool swap;                       // the last segment in `out` leaves behind the next one
	struct rte_mbuf *out[BURST_MAX]; // built, not taken by the device yet
	struct rte_mbuf *spare[BURST_MAX];
	uint8_t *message; // CONN_MESSAGE_MAX bytes: one that came in pieces, or is being written
	size_t bytes;     // of all tables, from `all` on
};

struct conns_shape {
	uint32_t count;  // connections
	uint32_t places; // of `at`; rounded up to a power of two
	uint32_t blocks; // for bytes that wait
	uint32_t window;
	uint64_t time_wait_us;
	uint32_t ack_delay_us;
	uint8_t syn_tries, tries;
	bool stamps;
	bool nagle;
};

// Bytes of memory that the tables take.
size_t conns_bytes(const struct conns_shape *shape);
// memory: conns_bytes zeroed bytes, aligned to 64, the caller's. start: tick at which the clock of
// the connections is 0; us_scale: of clock_us_scale.
void conns_init(struct conns *cs, void *memory, const struct conns_shape *shape, uint64_t start,
	uint64_t us_scale);

// The tick is `now`: to be called before the others.
void conns_clock(struct conns *cs, uint64_t now);

// A new connection at a place, to be opened. CONN_NONE: there is none.
uint32_t conn_take(struct conns *cs, uint32_t place);
// Something happened to it: it may have something to send, another deadline, or be closed. The next
// conns_send sees to it; of one that is closed the memory is free then.
void conn_touch(struct conns *cs, uint32_t c);
// Call `expired` at a time of the owner's, or before.
void conn_wake(struct conns *cs, uint32_t c, uint32_t when);

// Look at the deadlines that have come.
void conns_expire(struct conns *cs);
// Build and send the segments that wait. Returns the number of packets that the device took; those
// that it did not take wait on. *no_mbuf: times that there was no buffer.
uint16_t conns_send(struct conns *cs, struct wire *w, uint64_t *no_mbuf);
// Send a segment without bytes, and without a connection. false: there is no buffer, or no room.
bool conns_say(struct conns *cs, struct wire *w, const struct conn_head *head,
	const struct tcp_segment *s);
// The answer to a segment without a connection.
void conns_refuse(struct conns *cs, struct wire *w, const struct conn_head *head,
	const struct tcp_segment *s);
// The next message that was received whole: valid until the next call. To be called until false
// after each TCP_DATA. false: there is none; without memory for a part of one the connection is
// aborted.
bool conn_message(struct conns *cs, uint32_t c, const uint8_t **message, uint32_t *len);
// Send the message of len bytes at cs->message + CONN_LENGTH. false: no memory.
bool conn_write(struct conns *cs, uint32_t c, uint32_t len);

// At the end: packets that were built and not taken by the device.
void conns_halt(struct conns *cs);

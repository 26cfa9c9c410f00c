// SPDX-License-Identifier: BSD-3-Clause
// Faults of the responder (responder.faults), and their counters. One table lists the faults of the
// wire, then the protocols' own. At most one fault is applied to a reply: the first in table order
// whose turn it is and that is possible. Outage and capacity are decided before; stall and delay
// apply to the remaining replies. Path: hot (admit, draw, spoil, count) | cold (the rest). The
// responder's thread.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/rand.h"
#include "engine/core/delay.h"
#include "net/frame.h"
#include "proto/proto.h"

#define FAULTS_MAX 64

enum fault {
	// Not in the table: they have sections of their own.
	FAULT_OUTAGE,       // requests dropped
	FAULT_CAPACITY,     // requests dropped
	FAULT_QUEUED,       // replies that waited for capacity
	FAULT_STALLED,      // replies that waited for the end of a stall
	FAULT_SECOND_DELAY, // replies with the second delay of two_point
	// The table, in order of precedence.
	FAULT_LOSS,
	FAULT_DUPLICATE,
	FAULT_REORDER,
	FAULT_CORRUPT,
	FAULT_CORRUPT_CHECKSUM,
	FAULT_TRUNCATE,
	FAULT_WRONG_PORT,
	FAULT_WRONG_ADDRESS,
	FAULT_FRAGMENT_LOSS, // of replies in fragments
	FAULT_FRAGMENT_DUPLICATE,
	FAULT_FRAGMENT_REORDER,
	FAULT_FRAGMENT_OVERLAP,
	FAULT_RECORD_CORRUPT, // of replies over TLS
	FAULT_RECORD_SPLIT,
	FAULT_KEY_UPDATE,
	FAULT_ALERT,
	FAULT_OF_PROTOCOL, // first fault of the protocols
};

// The faults of a reply over a connection, by segment and by message. The rest of the table does
// not apply: a segment from another port or address is not of the connection, and none is
// fragmented.
#define FAULTS_OF_SEGMENTS                                                                         \
	(1ull << FAULT_LOSS | 1ull << FAULT_DUPLICATE | 1ull << FAULT_REORDER |                    \
		1ull << FAULT_CORRUPT_CHECKSUM)
#define FAULTS_OF_MESSAGES                                                                         \
	(1ull << FAULT_CORRUPT | 1ull << FAULT_TRUNCATE | UINT64_MAX << FAULT_OF_PROTOCOL)

// The faults of a message over TLS.
#define FAULTS_OF_RECORDS                                                                          \
	(1ull << FAULT_RECORD_CORRUPT | 1ull << FAULT_RECORD_SPLIT | 1ull << FAULT_KEY_UPDATE |    \
		1ull << FAULT_ALERT)

// Faults that need frames, which the kernel makes if it owns the link.
#define FAULTS_OF_FRAMES                                                                           \
	(1ull << FAULT_CORRUPT_CHECKSUM | 1ull << FAULT_WRONG_PORT | 1ull << FAULT_WRONG_ADDRESS | \
		1ull << FAULT_FRAGMENT_LOSS | 1ull << FAULT_FRAGMENT_DUPLICATE |                   \
		1ull << FAULT_FRAGMENT_REORDER | 1ull << FAULT_FRAGMENT_OVERLAP)

const char *faults_label(uint32_t i); // i < FAULTS_MAX; "" if there is none
const char *faults_help(uint32_t i);  // of the table

// Fills in the protocol's faults, by their place in the table.
void faults_of_protocol(const struct proto_server *s, const struct proto_fault *rows[FAULTS_MAX]);

struct fault_gate {
	// Occurs when 64 random bits are below this; 0: never. The management thread may change it.
	_Atomic uint64_t below;
	uint64_t every, left; // occurs when left reaches 0; every 0: never
};

enum delay_kind { DELAY_BY_CONSTANT, DELAY_BY_SPAN, DELAY_BY_QUANTILE, DELAY_BY_CHOICE };

struct faults {
	// ctlplane: wo before the launch, dataplane: ro
	bool active;
	enum delay_kind kind;
	uint64_t first;           // constant, least, or first delay
	uint64_t span;            // of the uniform delay
	uint64_t second;          // delay
	uint64_t second_below;    // share of the second delay, times 2^64
	const uint64_t *quantile; // [FAULTS_QUANTILES]
	uint64_t gap, max_wait;   // of capacity; gap 0: unlimited
	uint64_t drop_gap,
		max_debt;       // cost of a dropped request, and its limit
	uint64_t off_at, on_at; // of the outage, from the origin; equal: no outage
	struct recip stall_every;
	uint64_t stall_for; // 0: none
	uint64_t on;        // gates in use, a bit each
	// dataplane: rw
	struct fault_gate gates[FAULTS_MAX];
	struct rand rand;
	uint64_t origin;  // tick of the first request; 0: none yet
	uint64_t free_at; // tick from which there is capacity for the next reply
	struct delay delay;
	_Atomic uint64_t counts[FAULTS_MAX]; // enum fault; ctlplane: ro at any time
};

#define FAULTS_QUANTILE_BITS 14
#define FAULTS_QUANTILES     (1u << FAULTS_QUANTILE_BITS)

void faults_free(struct faults *f);

static inline void faults_count(struct faults *f, uint32_t fault)
{
	uint64_t n = atomic_load_explicit(&f->counts[fault], memory_order_relaxed);

	atomic_store_explicit(&f->counts[fault], n + 1, memory_order_relaxed);
}

// Admits a request received at `now`, and sets *leave to the tick at which its reply is sent.
// Returns false if the request is dropped (and counted).
bool faults_admit(struct faults *f, uint64_t now, uint64_t *leave);

// Draws for the next reply, message or segment. Returns the faults of `among` whose turn it is, a
// bit each.
uint64_t faults_draw(struct faults *f, uint64_t among);

// A reply to be sent: its payload is complete, its headers are not.
struct fault_answer {
	struct frame_template t;
	uint8_t *data; // of the frame; the payload starts at t.len
	uint32_t len;  // of the payload
	uint32_t room; // for the payload
	uint8_t src[16];
	uint16_t src_port;
	bool damaged; // flip the bit once the checksum is complete
};

// Applies a fault of the table to the bytes of a reply. row: the protocol's, NULL for a fault of
// the wire. Returns false, and changes nothing, if the fault is not possible with this reply. Loss,
// duplicates, reordering and extra messages leave the bytes alone.
bool faults_spoil(
	uint32_t fault, const struct proto_fault *row, struct fault_answer *a, uint64_t random);

// Flips the lowest bit of the byte in the middle of the payload.
void faults_flip(const struct fault_answer *a);

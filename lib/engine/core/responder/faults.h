// SPDX-License-Identifier: BSD-3-Clause
// Faults of the responder on demand (responder.faults), and their counters. One table of faults:
// those of the wire, then the protocols' own. At most one of the table befalls an answer: the first
// in table order that is its turn and possible. Outage and capacity are judged before, stall and
// delay apply to what is left. Path: hot (admit, draw, spoil, count) | cold (the rest). The
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
	// No table entries: they have sections of their own.
	FAULT_OUTAGE,       // requests dropped
	FAULT_CAPACITY,     // requests dropped
	FAULT_QUEUED,       // answers that waited for capacity
	FAULT_STALLED,      // answers that waited for the end of a stall
	FAULT_SECOND_DELAY, // answers with the second delay of two_point
	// The table, in order of precedence.
	FAULT_LOSS,
	FAULT_DUPLICATE,
	FAULT_REORDER,
	FAULT_CORRUPT,
	FAULT_CORRUPT_CHECKSUM,
	FAULT_TRUNCATE,
	FAULT_WRONG_PORT,
	FAULT_WRONG_ADDRESS,
	FAULT_FRAGMENT_LOSS, // of replies that leave in fragments
	FAULT_FRAGMENT_DUPLICATE,
	FAULT_FRAGMENT_REORDER,
	FAULT_FRAGMENT_OVERLAP,
	FAULT_OF_PROTOCOL, // the first of those
};

// Of an answer over a connection: the faults of its segments, and those of the message. The rest of
// the table cannot befall it: no segment of another port or address is of the connection, and none
// is fragmented.
#define FAULTS_OF_SEGMENTS                                                                         \
	(1ull << FAULT_LOSS | 1ull << FAULT_DUPLICATE | 1ull << FAULT_REORDER |                    \
		1ull << FAULT_CORRUPT_CHECKSUM)
#define FAULTS_OF_MESSAGES                                                                         \
	(1ull << FAULT_CORRUPT | 1ull << FAULT_TRUNCATE | UINT64_MAX << FAULT_OF_PROTOCOL)

// Of what a kernel makes where it has the link.
#define FAULTS_OF_FRAMES                                                                           \
	(1ull << FAULT_CORRUPT_CHECKSUM | 1ull << FAULT_WRONG_PORT | 1ull << FAULT_WRONG_ADDRESS | \
		1ull << FAULT_FRAGMENT_LOSS | 1ull << FAULT_FRAGMENT_DUPLICATE |                   \
		1ull << FAULT_FRAGMENT_REORDER | 1ull << FAULT_FRAGMENT_OVERLAP)

const char *faults_label(uint32_t i); // of any i < FAULTS_MAX; "" where there is none
const char *faults_help(uint32_t i);  // of the table

// Fill the protocol's faults by their place in the table.
void faults_of_protocol(const struct proto_server *s, const struct proto_fault *rows[FAULTS_MAX]);

struct fault_gate {
	// Happens when 64 random bits are below; 0: never. The management thread may change it.
	_Atomic uint64_t below;
	uint64_t every, left; // happens when left has come down to 0; every 0: never
};

enum delay_kind { DELAY_BY_CONSTANT, DELAY_BY_SPAN, DELAY_BY_QUANTILE, DELAY_BY_CHOICE };

struct faults {
	// ctlplane: wo before the launch, dataplane: ro
	bool active;
	enum delay_kind kind;
	uint64_t first;           // constant, least, or first delay
	uint64_t span;            // of the uniform delay
	uint64_t second;          // delay
	uint64_t second_below;    // share of the second delay, of 2^64
	const uint64_t *quantile; // [FAULTS_QUANTILES]
	uint64_t gap, max_wait;   // of capacity; gap 0: unlimited
	uint64_t drop_gap,
		max_debt;       // cost of a dropped request, and its limit
	uint64_t off_at, on_at; // of the outage, from the origin; equal: none
	struct recip stall_every;
	uint64_t stall_for; // 0: none
	uint64_t on;        // gates in use, a bit each
	// dataplane: rw
	struct fault_gate gates[FAULTS_MAX];
	struct rand rand;
	uint64_t origin;  // tick of the first request; 0: none came
	uint64_t free_at; // when capacity is there for the next answer
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

// A request that came at `now`: false when it is dropped (and counted), otherwise when its answer
// leaves.
bool faults_admit(struct faults *f, uint64_t now, uint64_t *leave);

// The next reply, message or segment: those of the faults `among` whose turn it is, a bit each.
uint64_t faults_draw(struct faults *f, uint64_t among);

// An answer on its way to the wire: the payload is there, headers are not yet.
struct fault_answer {
	struct frame_template t;
	uint8_t *data; // of the frame; the payload starts at t.len
	uint32_t len;  // of the payload
	uint32_t room; // for the payload
	uint8_t src[16];
	uint16_t src_port;
	bool damaged; // flip the bit once the checksum is complete
};

// Apply a fault of the table to bytes. row: of the protocol, NULL for the wire's. false: it is
// not possible with this answer, which was not changed. Loss, duplicates, reordering and extra
// messages leave the bytes alone.
bool faults_spoil(
	uint32_t fault, const struct proto_fault *row, struct fault_answer *a, uint64_t random);

// The lowest bit of the byte in the middle of the payload.
void faults_flip(const struct fault_answer *a);

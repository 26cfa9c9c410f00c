// SPDX-License-Identifier: BSD-3-Clause
// Chooses the packets of the capture file: the query and the reply of measured transactions that
// failed, or of all, each with the reason. The query is rebuilt from its slot. For a loss that is
// not captured, only the tick of the send is kept: a late reply may still capture the query. Not
// here: the file and its thread (io/port/capture.h), and the settings (run/evidence_log.h).
// Path: hot (evidence_keep, evidence_late). Worker's thread.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "io/port/capture.h"
#include "net/frame.h"

enum evidence_reason {
	EVIDENCE_LOST,
	EVIDENCE_LATE,
	EVIDENCE_STRAY,
	EVIDENCE_FAILED,
	EVIDENCE_MALFORMED,
	EVIDENCE_ANSWERED, // in time; of several messages the last one
	EVIDENCE_STEP,     // in time, and the transaction continues
	EVIDENCE_REASONS,
};

extern const char *const evidence_reasons[]; // names, NULL-terminated

// The send of a lost transaction whose query is not in the file; a late reply may capture it.
struct evidence_sent {
	uint64_t seq, tick; // tick 0: unused
};

#define EVIDENCE_SENT (1u << 16) // entries

struct worker_item;
struct txn_place;

// The capture of one item on one worker. ctlplane: wo before the launch, dataplane: ro.
struct evidence {
	struct capture_ring *ring; // the worker's
	_Atomic int64_t *left;     // transactions that may still be kept, over all workers
	uint16_t interface;
	uint64_t first_id;                      // of its queries
	uint64_t ms_scale;                      // of clock_ms
	const char *comments[EVIDENCE_REASONS]; // NULL: not wanted
	struct evidence_sent *sent;             // [EVIDENCE_SENT]; NULL: not needed
};

// Captures a reply, and the query of a slot (TXN_NONE: none), whose state is still that at the time
// of the reason. answer: the packet received at `now` (NULL: none).
void evidence_keep(struct worker_item *it, enum evidence_reason why, uint32_t slot,
	const struct frame *answer, uint64_t now);

// Captures a late reply to a lost transaction, and its query if the time of its send is known.
void evidence_late(struct worker_item *it, bool measured, const struct txn_place *at,
	const struct frame *answer, uint64_t now);

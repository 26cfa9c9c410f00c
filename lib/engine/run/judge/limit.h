// SPDX-License-Identifier: BSD-3-Clause
// The limit of a run's rate: nothing, this box, the wire, the server, or undecided, as others
// disturbed the box. A judgement of figures alone by bounds that no setting moves: tolerance
// (validity:) decides whether a run may be used, and not who was at fault. Path: cold. Management
// thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// From here on, disturbance by others cannot be distinguished from limits of the server.
#define LIMIT_DISTURBED 0.05 // share of the time
#define LIMIT_LATE_NS   1e7  // send lag, 99th percentile

// Figures of a traffic item, with its workers' and its port's part.
struct limit_facts {
	bool open_rate;      // load.rate with a number: the schedule sets the pace
	uint64_t sent, lost; // of the measured part
	uint64_t open;       // transactions in flight at the end of sending,
	uint64_t grown;      // growth of open since half-way; 0: unknown
	uint64_t sent_since; // since half-way
	double sent_per_s;
	uint64_t no_slot;     // sends held back: no free transaction slot
	double busy;          // share of the time that the worker had work to do
	double link_used;     // share of the link's speed, 0: unknown
	uint64_t tx_refused;  // by a peer in shared memory: the server's own receive queue
	uint64_t due, unsent; // unsent: because of the tester alone
	double late_ns;       // send lag, 99th percentile
	uint64_t dropped;     // received packets that the tester lost
	double disturbed;     // share of the time for which it, or the embedded server, had no CPU
	double harmed;        // the part of it that may have changed the measurement
	double box;           // use of all CPUs, if another server is on this box; else 0
};

enum limit { LIMIT_NONE, LIMIT_SERVER, LIMIT_UNDECIDED, LIMIT_TESTER, LIMIT_WIRE };

// Has the box been too busy with other things to distinguish its own part from the server's?
bool limit_is_disturbed(const struct limit_facts *f);

// If there are two limits, the later one is reported.
enum limit limit_of(const struct limit_facts *f);
const char *limit_name(enum limit l);

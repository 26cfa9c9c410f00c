// SPDX-License-Identifier: BSD-3-Clause
// The limit of a run's rate: nothing, this box, the wire, or the server. A judgement of
// figures alone, so that each kind of limit can be tested without a run. Path: cold. Management
// thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Of one traffic item, with its worker's and its port's part.
struct limit_facts {
	bool open_rate;      // load.rate with a number: the schedule sets the pace
	uint64_t sent, lost; // of the measured part
	uint64_t open;       // transactions in flight at the end of sending,
	uint64_t grown;      // those of them beyond as many as half-way; 0: half-way is not known
	uint64_t sent_since; // half-way
	double sent_per_s;
	uint64_t queued;     // unsent: their connections waited for the server
	uint64_t no_slot;    // sends held back: no free transaction slot
	double busy;         // share of the time that the worker had work to do
	double link_used;    // share of the link's speed, 0: unknown
	uint64_t tx_refused; // by a peer in shared memory: the server's own receive queue
};

enum limit { LIMIT_NONE, LIMIT_SERVER, LIMIT_TESTER, LIMIT_WIRE };

// The later of two limits is the one to name.
enum limit limit_of(const struct limit_facts *f);
const char *limit_name(enum limit l);

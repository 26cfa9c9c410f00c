// SPDX-License-Identifier: BSD-3-Clause
// The slow part of TLS: handshakes and tickets, by a library that allocates memory. A
// seat carries one handshake, and goes back and forth between the thread of the connection, which
// moves octets, and the crew, which computes. A job takes 20 us to 300 us, so the crew should have
// CPUs of its own; without one, a worker does one job a pass.
// Path: cold. One thread at a time for each seat.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "crypt/hand.h"

#define CREW_INPUT 4096u

enum crew_job {
	CREW_STEP,   // octets of the peer, and its answer
	CREW_TICKET, // a record that has a ticket
	CREW_END     // forget the handshake
};

// To resume with. Owned by the thread of the connections; freed by the crew.
struct crew_session {
	struct crew_session *next; // to be freed as well
	uint32_t refs, len;
	uint8_t data[];
};

struct crew_seat {
	// For the thread of the connection.
	uint32_t conn;       // CONN_NONE: none any more
	uint32_t next, prev; // in its list
	uint8_t list;        // enum secure_list
	bool offered;        // it offered a ticket
	uint32_t store;      // where its ticket belongs
	uint64_t began;      // tick at which TCP was ready
	// The job.
	uint8_t job; // enum crew_job
	const struct hand_setup *setup;
	struct crew_session *session; // of a first step: to resume with; NULL: none
	struct crew_session *garbage; // to be freed
	uint32_t in_len;
	// Its outcome.
	struct hand *hand;
	const struct hand_facts *facts; // NULL: out of memory
	enum hand_state state;
	uint32_t taken, out_len;
	const uint8_t *out;          // until the next job
	struct crew_session *ticket; // a new one; NULL: none
	uint64_t ticks;              // of the crew's time, for all of its steps
	uint8_t in[CREW_INPUT];
};

void crew_do(struct crew_seat *s);

// SPDX-License-Identifier: BSD-3-Clause
// The slow part of TLS: handshakes and tickets, by a library that allocates memory. A
// seat carries one handshake, and goes back and forth between the thread of the connection, which
// moves octets, and the crew, which computes. A job takes 20 us to 300 us, so the crew should have
// CPUs of its own; without one, a worker does one job a pass.
// Path: cold | hot (crew_line_waiting, crew_line_give, crew_line_back). One thread at a time for
// each seat.
#pragma once

#include <stdatomic.h>
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
	uint32_t early_most; // octets of early data that it allows
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
	const struct clock *clock;
	const struct hand_setup *setup;
	struct crew_session *session; // of a first step: to resume with; NULL: none
	struct crew_session *garbage; // to be freed
	uint32_t in_len;
	uint32_t early_len; // client: octets of early data, at `in` for a first step; server: taken
	// Its outcome.
	struct hand *hand;
	const struct hand_facts *facts; // NULL: out of memory
	enum hand_state state;
	uint32_t taken, out_len;
	const uint8_t *out;          // until the next job
	const uint8_t *early;        // server: early data; likewise
	struct crew_session *ticket; // a new one; NULL: none
	uint64_t given;              // tick at which the current job was due
	uint64_t waited, ticks;      // of all steps: before the crew began, and of its time
	uint8_t in[CREW_INPUT];
};

void crew_do(struct crew_seat *s);

// The way from a thread with connections to a thread of the crew and back: numbers of seats, done
// in their order. It has room for all seats.
struct crew_line {
	struct crew_seat *seats;
	uint32_t *numbers;
	uint32_t mask;
	uint32_t taken;                          // back from the crew, by the connections' thread
	_Alignas(64) _Atomic uint32_t given;     // by the connections' thread
	_Alignas(64) _Atomic uint32_t completed; // by the crew
};

static inline uint32_t crew_line_waiting(const struct crew_line *l)
{
	return atomic_load_explicit(&l->given, memory_order_relaxed) - l->taken;
}

static inline void crew_line_give(struct crew_line *l, uint32_t seat)
{
	uint32_t n = atomic_load_explicit(&l->given, memory_order_relaxed);

	l->numbers[n & l->mask] = seat;
	atomic_store_explicit(&l->given, n + 1, memory_order_release);
}

// Takes the next seat whose job is done. Returns false if there is none.
static inline bool crew_line_back(struct crew_line *l, uint32_t *seat)
{
	if (l->taken == atomic_load_explicit(&l->completed, memory_order_acquire))
		return false;
	*seat = l->numbers[l->taken++ & l->mask];
	return true;
}

#define CREW_LINES 1024u // of a thread

struct crew_thread {
	struct crew_line *lines[CREW_LINES];
	uint32_t line_count;
	_Atomic bool over;
};

// Does the jobs of its lines until `over`.
void crew_loop(struct crew_thread *t);

// SPDX-License-Identifier: BSD-3-Clause
// The clocks of a fleet's boxes: the report of an agent about its own, and the offset from the
// coordinator's, from exchanges over NATS or from the daemons that keep both clocks (chrony, PTP).
// Path: cold. Main thread | the thread of libnats (fleet_clock_tell).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define FLEET_CLOCK_TEXT 64

// CLOCK_REALTIME.
int64_t fleet_clock_ns(void);

// The report of one box about its clock, by CLOCK_REALTIME.
struct fleet_clock_told {
	int64_t asked_ns; // by the clock of the requester
	int64_t ns;
	int64_t error_ns; // that the kernel states for it (adjtimex), -1: nothing keeps it
};

// Writes the report as a text, now. question: the text of the request, with its time. Returns the
// length.
size_t fleet_clock_tell(char text[FLEET_CLOCK_TEXT], const char *question);
// Returns false if the text is malformed.
bool fleet_clock_read(const char *text, struct fleet_clock_told *told);
// Returns the error of this box's own clock; -1: nothing keeps it.
int64_t fleet_clock_error(void);

// The exchanges with an agent. The shortest one counts: the others waited somewhere.
struct fleet_clock {
	unsigned count;
	int64_t delay_ns;   // there and back, of the shortest
	int64_t offset_ns;  // of the shortest: the agent's clock less ours
	int64_t error_ns;   // that the agent's kernel states, -1: none
	int64_t slowest_ns; // there and back, of the longest
};

void fleet_clock_start(struct fleet_clock *c);
// came_ns: by our clock.
void fleet_clock_add(struct fleet_clock *c, const struct fleet_clock_told *told, int64_t came_ns);

struct fleet_offset {
	int64_t ns;         // the agent's clock less ours
	int64_t within_ns;  // it is right within this
	const char *source; // "nats" or "kernel"
};

// The daemons that keep both clocks count if they state the smaller error, and if the exchanges do
// not contradict it. own_error_ns: of our clock.
struct fleet_offset fleet_clock_offset(const struct fleet_clock *c, int64_t own_error_ns);

// How far apart the first messages of the parts were. Zeroed before the first fleet_skew_add.
struct fleet_skew {
	unsigned count; // parts that sent anything
	int64_t first_ns, last_ns;
	int64_t within_ns[2]; // the two largest, for the worst pair of parts
};

// sent_ns: by the clock of the part; 0: it sent nothing, and is left out.
void fleet_skew_add(struct fleet_skew *s, int64_t sent_ns, const struct fleet_offset *clock);
// Sets start_skew_ns and start_skew_within_ns; null: fewer than two parts sent anything. known: the
// offsets of the clocks were measured.
void fleet_skew_put(const struct fleet_skew *s, bool known, json_t *fleet);

// Returns the milliseconds from the order to begin until all begin, so that it reaches each agent
// in time although a box may be busy. slowest_ns: the longest way there and back.
unsigned fleet_clock_lead_ms(unsigned agents, int64_t slowest_ns);

// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the coordinator only. fleet.c finds and claims agents, fleet_run.c takes a
// run through its course, with fleet_begin.c, fleet_intervals.c and fleet_end.c; fleet_part.c keeps
// the messages of an agent. Path: cold. Main thread.
#pragma once

#include <stdio.h>

#include "engine/run/judge/stop.h"
#include "fleet/coordinator/fleet.h"
#include "fleet/fleet_clock.h"
#include "fleet/fleet_result.h"
#include "fleet/fleet_talk.h"

#define FLEET_ORDERS  64
#define FLEET_TICK_MS 20

// An agent, and its part of the run.
struct fleet_part {
	struct fleet *fleet;
	char name[TALK_NAME];
	uint64_t number; // from 1
	json_t *facts;
	char inbox[TALK_SUBJECT];       // for its clock
	char order_inbox[TALK_SUBJECT]; // for its acknowledgement of an order
	struct fleet_clock clock;
	struct fleet_offset offset; // when the run began

	uint64_t have; // octets of its events
	char *line;    // the last one, as far as received
	size_t len, room;
	uint64_t heard_ms;
	bool claimed;

	// Lines for its child that it has not taken yet; the first is on its way.
	char *orders[FLEET_ORDERS];
	uint64_t order_number; // of the first one, from 0
	unsigned order_count, order_tries;
	uint64_t order_ms; // when it was sent last

	bool up, over;     // its child
	char trouble[512]; // "": none. Else the reason why it takes no further part
	int trouble_code;

	// of this run
	bool ready, started, ended;
	int64_t started_ns;   // by its clock
	int64_t sent_ns;      // its first message, by its clock; 0: none
	double hz;            // of its ticks
	json_t *begin;        // its description of the run
	json_t *intervals;    // not merged yet
	uint64_t number_last; // of the latest interval
	uint64_t interval_ms; // time of that interval
	FILE *kept;           // the lines of the run
	char path[64];        // of that file
};

struct fleet {
	struct bus *bus;
	const struct fleet_wanted *wanted;
	const struct config *config;   // of the file
	const struct run_options *run; // its hooks and signals
	struct arena *arena;           // of the results
	char id[TALK_NAME];
	struct fleet_part *parts;
	unsigned count;
	json_t *found; // facts of all agents
	uint64_t beat_ms;

	// of this run
	uint64_t number;
	const struct config *now; // its settings
	struct stop stop;
	char *stopped; // the rule of a stop
	double stopped_s, stopped_value;
	int64_t start_ns;  // when its schedule begins, by our clock
	int told;          // the urgency of the stop that was sent to the agents; -1: none
	uint64_t stop_ms;  // when
	json_t *documents; // "fleet" and "parts" of each run, by its number
};

// --- fleet_part.c ---

// Handles a piece of its events.
void fleet_part_hear(void *ctx, const struct bus_message *m);
// Handles a report of its clock.
void fleet_part_hear_clock(void *ctx, const struct bus_message *m);
void fleet_part_ask_clock(struct fleet_part *p);
// Prepares for a new run: discards all of the last one.
void fleet_part_begin(struct fleet_part *p);
void fleet_part_forget(struct fleet_part *p);
// Sends a line to its child, and owns it. Does not wait: an agent that does not take it is in
// trouble after some seconds (fleet_tick).
void fleet_part_tell(struct fleet_part *p, json_t *order);
void fleet_part_taken(void *ctx, const struct bus_message *m);
void fleet_part_trouble(struct fleet_part *p, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
// Opens the document of its run: from its box, or made of its events until it was lost. Returns 0,
// or -errno.
int fleet_part_book(struct fleet_part *p, struct document_reader *out);
// Handles messages for some milliseconds, sends beats, and finds agents that became silent.
void fleet_tick(struct fleet *f, unsigned ms);

// --- fleet_parts.c ---

// Returns the first part in trouble, or NULL.
struct fleet_part *fleet_troubled(const struct fleet *f);
bool fleet_are_all(const struct fleet *f, bool (*is_so_far)(const struct fleet_part *p));
// A part whose process ended before its run is in trouble, so the others end at once, too.
void fleet_find_gone(struct fleet *f);
// Waits until is_so_far holds for all parts; false: a trouble, an interrupt, or ms have passed.
bool fleet_wait(struct fleet *f, bool (*is_so_far)(const struct fleet_part *p), unsigned ms,
	const char *what);
bool fleet_takes_orders(const struct fleet_part *p);
// Sends an order with this member to all parts that take orders, and owns value.
void fleet_tell_all(struct fleet *f, const char *member, json_t *value);
// Returns the time that an order needs to reach all parts.
unsigned fleet_lead_ms(const struct fleet *f);

// --- fleet_begin.c ---

// Begins a run with these settings in all parts. Returns 0, or an exit code if a part could not.
int fleet_begin(struct fleet *f, char *const *texts, unsigned count, struct arena *a);
// After the run: a part whose clock was set, or ran away, meanwhile is in trouble.
void fleet_check_clocks(struct fleet *f);

// --- fleet_intervals.c ---

// Hands out the sums of all intervals that have arrived from every part.
void fleet_pass_intervals(struct fleet *f);

// --- fleet_end.c ---

// Returns the exit code; *out is the sum of the results of all parts, and lives in a.
int fleet_finish(struct fleet *f, struct arena *a, struct result *out);

// --- fleet_run.c ---

int fleet_once(
	void *ctx, const struct config *c, char *const *texts, unsigned count, struct result *out);

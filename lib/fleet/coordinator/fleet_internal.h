// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the coordinator only. fleet.c finds and claims agents, fleet_run.c takes a
// run through its course, with fleet_begin.c, fleet_intervals.c and fleet_end.c; fleet_part.c keeps
// what one agent sends. Path: cold. Main thread.
#pragma once

#include <stdio.h>

#include "engine/run/judge/stop.h"
#include "fleet/coordinator/fleet.h"
#include "fleet/fleet_clock.h"
#include "fleet/fleet_result.h"
#include "fleet/fleet_talk.h"

#define FLEET_ORDERS  64
#define FLEET_TICK_MS 20

// An agent, and the part of the run that it has.
struct fleet_part {
	struct fleet *fleet;
	char name[TALK_NAME];
	uint64_t number; // from 1
	json_t *facts;
	char inbox[TALK_SUBJECT];       // for its clock
	char order_inbox[TALK_SUBJECT]; // for its word that it took an order
	struct fleet_clock clock;
	struct fleet_offset offset; // when the run began

	uint64_t have; // octets of its events
	char *line;    // the last one, as far as it came
	size_t len, room;
	uint64_t heard_ms;
	bool claimed;

	// Lines for its child that it has not taken yet; the first one is on its way.
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
	json_t *begin;        // what it knew when it began
	json_t *intervals;    // that were not merged yet
	uint64_t number_last; // of an interval that came
	uint64_t interval_ms; // when
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

// A piece of its events came.
void fleet_part_hear(void *ctx, const struct bus_message *m);
// Its clock came.
void fleet_part_hear_clock(void *ctx, const struct bus_message *m);
void fleet_part_ask_clock(struct fleet_part *p);
// A new run: all of the last one is forgotten.
void fleet_part_begin(struct fleet_part *p);
void fleet_part_forget(struct fleet_part *p);
// A line for its child, which is owned. Does not wait: an agent that does not take it is in trouble
// after some seconds (fleet_tick).
void fleet_part_tell(struct fleet_part *p, json_t *order);
void fleet_part_taken(void *ctx, const struct bus_message *m);
void fleet_part_trouble(struct fleet_part *p, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
// The document of its run, from its box, or from the events it sent until it was lost. 0, or
// -errno.
int fleet_part_book(struct fleet_part *p, struct document_reader *out);
// Handle messages for some milliseconds, send beats, and find agents that have become silent.
void fleet_tick(struct fleet *f, unsigned ms);

// --- fleet_parts.c ---

// The first part with a trouble, NULL: none.
struct fleet_part *fleet_troubled(const struct fleet *f);
bool fleet_are_all(const struct fleet *f, bool (*is_so_far)(const struct fleet_part *p));
// A part whose process ended before its run is in trouble, and so the others end at once, too.
void fleet_find_gone(struct fleet *f);
// Until each part is so far, one has a trouble, or the user interrupts. false: it is not.
bool fleet_wait(struct fleet *f, bool (*is_so_far)(const struct fleet_part *p), unsigned ms,
	const char *what);
bool fleet_takes_orders(const struct fleet_part *p);
// An order with this member for all parts that take orders. value is owned.
void fleet_tell_all(struct fleet *f, const char *member, json_t *value);
// Time for an order to reach all parts.
unsigned fleet_lead_ms(const struct fleet *f);

// --- fleet_begin.c ---

// 0, or an exit code: the parts have begun a run with these settings, or one could not.
int fleet_begin(struct fleet *f, char *const *texts, unsigned count, struct arena *a);
// After the run: was a clock set, or did it run away, meanwhile? Then its part is in trouble.
void fleet_check_clocks(struct fleet *f);

// --- fleet_intervals.c ---

// Hand out the sums of all intervals that have arrived from every part.
void fleet_pass_intervals(struct fleet *f);

// --- fleet_end.c ---

// The exit code; *out is the sum of the results of all parts, and lives in a.
int fleet_finish(struct fleet *f, struct arena *a, struct result *out);

// --- fleet_run.c ---

int fleet_once(
	void *ctx, const struct config *c, char *const *texts, unsigned count, struct result *out);

// SPDX-License-Identifier: BSD-3-Clause
// The load of an item: its settings, their errors, and the sizes of tables and buffers that follow.
// Not here: the schedule itself (schedule.h). Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/field.h"

enum load_arrivals { ARRIVALS_CONSTANT, ARRIVALS_POISSON };

struct ramp_settings {
	double from, to; // per second
	uint64_t over_ns;
	uint64_t hold_ns; // UINT64_MAX: until the end
};

struct load_step {
	double rate;
	uint64_t for_ns;
};

struct wave_settings {
	double mean, amplitude; // per second
	uint64_t period_ns;
};

struct burst_settings {
	uint64_t size;
	uint64_t every_ns;
};

struct storm_settings {
	uint64_t clients;
	uint64_t within_ns;
};

struct replay_settings {
	const char *file;
	double speed;
	const char *filter; // NULL: every packet
};

// The pace that a protocol sets itself (struct proto_terms), as expected in one run. Set by
// config_fit, not a setting.
struct load_own {
	double (*begun)(const void *settings, double until_s); // NULL: none
	const void *settings;
	double peak; // per second
	uint64_t at_once;
	// For an item that follows another one:
	const struct load_settings *after; // NULL: none
	double each;                       // expected transactions per transaction of that item
	uint64_t every_ns;                 // time until a place of at_once is used again
};

struct load_settings {
	// Exactly one is set; the others are 0 or NULL.
	double rate; // per second; INFINITY: max
	double more; // added to a constant rate by the protocol (config_fit); not a setting
	struct field_list changes; // of rate, as steps, by events (events_fit); not a setting
	struct ramp_settings *ramp;
	struct field_list steps; // struct load_step
	struct wave_settings *wave;
	struct burst_settings *burst;
	struct storm_settings *storm;
	struct replay_settings *replay;
	uint64_t outstanding;
	struct load_own own; // in place of the above

	int32_t arrivals; // enum load_arrivals
	uint64_t ramp_up_ns;
	uint64_t start_at_ns, stop_at_ns; // of the measured part; stop UINT64_MAX: its end
	uint64_t total;                   // 0: no limit
	uint64_t max_outstanding;         // 0: no limit
	uint64_t slots;                   // UINT64_MAX: enough for the load
	uint64_t catch_up_ns;             // UINT64_MAX, or 0 without a file: all
};

extern const struct field_section load_section;

// Errors go to d. duration_ns: of the measured part.
void load_check(const struct load_settings *l, uint64_t duration_ns, struct diag *d);

// Does the protocol determine when transactions begin?
bool load_is_own(const struct load_settings *l);

// Open loop: the schedule sets the pace, not the replies or the tester.
bool load_is_open(const struct load_settings *l);

// Returns successive rates: of steps, or of a rate that events change. count 0: none.
const struct field_list *load_steps(const struct load_settings *l);

// Is nothing sent before the measured part?
bool load_skips_warmup(const struct load_settings *l);

// Does the load have an end of its own (a total, a storm, a replay)? total: the total was reached.
bool load_is_work(const struct load_settings *l, bool total);

// Returns the highest rate of sends per second, for bursts the average. INFINITY: max; 0: closed
// loop, or unknown until the file is read.
double load_peak(const struct load_settings *l);

struct load_span {
	uint64_t hold_ns; // for load_begun and load_slots
	uint64_t warmup_ns, duration_ns;
};

// Returns the transactions begun within hold_ns, at most. A closed loop counts as rate: max.
uint64_t load_begun(const struct load_settings *l, const struct load_span *span);

// Returns the transactions that the schedule makes due from the start of the run, warm-up included,
// until until_s. INFINITY: a closed loop, or rate: max; NAN: a replay, whose file is read later.
double load_due(const struct load_settings *l, const struct load_span *span, double until_s);

// Returns the transactions that the run begins, at most. UINT64_MAX: unknown, as for load_due.
uint64_t load_whole(const struct load_settings *l, const struct load_span *span);

// Returns the transactions that can be in flight at once, each for at most hold_ns.
uint64_t load_slots(const struct load_settings *l, const struct load_span *span);

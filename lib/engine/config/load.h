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

// What a protocol foresees of its own pace (struct proto.paces), in one run; by config_fit, no
// setting.
struct load_own {
	double (*begun)(const void *settings, double until_s); // NULL: it has none
	const void *settings;
	double peak; // per second
	uint64_t at_once;
	// Of an item that follows another one.
	const struct load_settings *after; // NULL: none
	double each;                       // transactions for one of that item, as foreseen
	uint64_t every_ns;                 // one of those in at_once may be followed by the next
};

struct load_settings {
	// Exactly one of these; the others are 0 or NULL.
	double rate; // per second; INFINITY: max
	double more; // on top of a constant one, by the protocol (config_fit); no setting
	struct field_list changes; // of rate, as steps; by events (events_fit), no setting
	struct ramp_settings *ramp;
	struct field_list steps; // struct load_step
	struct wave_settings *wave;
	struct burst_settings *burst;
	struct storm_settings *storm;
	struct replay_settings *replay;
	uint64_t outstanding;
	struct load_own own; // or none of them

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

// The protocol says when transactions begin.
bool load_is_own(const struct load_settings *l);

// Open loop: the schedule sets the pace, not the replies or the tester.
bool load_is_open(const struct load_settings *l);

// Rates one after the other: of steps, or of a rate that events change. count 0: it has none.
const struct field_list *load_steps(const struct load_settings *l);

// Nothing is sent before the measured part.
bool load_skips_warmup(const struct load_settings *l);

// The load has an end of its own (a total, a storm, a replay). total: was it
// reached?
bool load_is_work(const struct load_settings *l, bool total);

// Sends per second at the most, of bursts on average; INFINITY: max; 0: closed loop, or not known
// before the file is read.
double load_peak(const struct load_settings *l);

struct load_span {
	uint64_t hold_ns; // for load_begun and load_slots
	uint64_t warmup_ns, duration_ns;
};

// Transactions that are begun within hold_ns, at the most. A closed loop counts as rate: max.
uint64_t load_begun(const struct load_settings *l, const struct load_span *span);

// Transactions that are due from the start of the run, warm-up included, until until_s, by the
// schedule. INFINITY: a closed loop, or rate: max; NAN: a replay, whose file is read later.
double load_due(const struct load_settings *l, const struct load_span *span, double until_s);

// Transactions that the run begins, at the most. UINT64_MAX: nobody knows, as load_due has it.
uint64_t load_whole(const struct load_settings *l, const struct load_span *span);

// Transactions that can be in flight at once, when each is for hold_ns at the most.
uint64_t load_slots(const struct load_settings *l, const struct load_span *span);

// SPDX-License-Identifier: BSD-3-Clause
// Settings of responder.faults, and struct faults from them. Path: cold. Management thread.
#pragma once

#include "base/diag.h"
#include "base/field.h"
#include "engine/core/responder/faults.h"

struct fault_settings {
	double share;   // 0: not given
	uint64_t every; // 0: not given
};

struct uniform_settings {
	uint64_t min_ns, max_ns;
};

struct two_point_settings {
	uint64_t first_ns, second_ns;
	double share_of_second;
};

struct delay_settings {
	uint64_t constant_ns;
	struct uniform_settings *uniform;
	uint64_t exponential_ns; // mean
	struct two_point_settings *two_point;
};

struct capacity_settings {
	double rate;
	uint64_t queue;
	double drop_cost;
};

struct stall_settings {
	uint64_t every_ns, for_ns;
};

struct outage_settings {
	uint64_t off_at_ns, on_at_ns;
};

struct faults_settings {
	struct fault_settings *fault[FAULTS_MAX]; // by fault of the table; NULL: none
	struct delay_settings *delay;
	struct capacity_settings *capacity;
	struct stall_settings *stall;
	struct outage_settings *outage;
};

// The rows; complete after faults_settings_prepare.
extern struct field_section faults_section;

// Gives each fault of the table its row. May be called again.
void faults_settings_prepare(void);

void faults_check(const struct faults_settings *s, struct diag *d);

// Return the longest time that a reply is held back, and the number of packets held back at `rate`
// replies per second: the mean for the exponential delay, the maximum for the others.
uint64_t faults_longest_ns(const struct faults_settings *s);
uint64_t faults_held(const struct faults_settings *s, double rate);

// Sets the share of a fault of the table that has one, from now on.
void faults_set_share(struct faults *f, uint32_t fault, double share);

// f must be zeroed. s NULL: no faults. packets: how many can be held back. Returns 0 or -ENOMEM.
int faults_init(struct faults *f, const struct faults_settings *s, const struct clock *c,
	uint64_t seed, uint32_t packets);

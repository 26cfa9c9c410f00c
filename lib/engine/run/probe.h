// SPDX-License-Identifier: BSD-3-Clause
// Figures of the server's side during the run (dut.probe): a command, repeated by a thread of its
// own, so a slow one delays nothing. Path: cold. Management thread | the
// probe's thread.
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "engine/config/config.h"
#include "engine/result/result.h"

struct probe;

// Run the command now and then every `every_ns`. NULL: no memory or thread, which was logged.
struct probe *probe_start(const struct probe_settings *s, uint64_t every_ns);

// Let the last one end, and no more. The samples between the ticks from and to go into r (its
// intervals included), which is complete otherwise. NULL allowed.
void probe_stop(struct probe *p, const struct clock *c, uint64_t from, uint64_t to, struct arena *a,
	struct result *r);

// One line of pairs: "key=value" with a number. false: it is none. name has room for 64.
#define PROBE_NAME_SIZE 64
#define PROBE_PAIRS_MAX 64
struct probe_pair {
	char name[PROBE_NAME_SIZE];
	double value;
};
// Pairs of the text: how many; other lines are passed over.
uint32_t probe_parse_pairs(const char *text, struct probe_pair out[PROBE_PAIRS_MAX]);

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

// The measured part, in ticks.
struct probe_span {
	uint64_t from, to;
};

// The newest figures since the last call, not later than the tick `until`; NULL: none. They live in
// a. The older ones count in r->dut only.
const struct result_dut_interval *probe_take(
	struct probe *p, const struct probe_span *measured, uint64_t until, struct arena *a);

// Let the last one end, and no more. Sums it up in r, which is complete otherwise. p NULL allowed.
void probe_stop(
	struct probe *p, const struct probe_span *measured, struct arena *a, struct result *r);

// A line "key=value" with a number.
#define PROBE_NAME_SIZE 64
#define PROBE_PAIRS_MAX 64
struct probe_pair {
	char name[PROBE_NAME_SIZE];
	double value;
};
// Pairs of the text: how many; lines without a number after a "=" are passed over. 0: none, or one
// that has no room here (*why is static text).
uint32_t probe_parse_pairs(
	const char *text, struct probe_pair out[PROBE_PAIRS_MAX], const char **why);

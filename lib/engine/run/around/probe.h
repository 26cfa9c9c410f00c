// SPDX-License-Identifier: BSD-3-Clause
// Figures of the server's side during the run (dut.probe), from a command that a thread of its own
// repeats, so that a slow one delays nothing. Path: cold. Management thread | the probe's thread.
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "engine/config/config.h"
#include "engine/result/result.h"

struct probe;

// Runs the command now and then every `every_ns`. NULL: no memory or thread (logged).
struct probe *probe_start(const struct probe_settings *s, uint64_t every_ns);

// The measured part, in ticks.
struct probe_span {
	uint64_t from, to;
};

// Returns the newest figures since the last call, not later than the tick `until`; NULL: none. They
// live in a. Older figures count in r->dut only.
const struct result_dut_interval *probe_take(
	struct probe *p, const struct probe_span *measured, uint64_t until, struct arena *a);

// Waits for the last command, and sums up in r, which is complete otherwise. p may be NULL.
void probe_stop(
	struct probe *p, const struct probe_span *measured, struct arena *a, struct result *r);

// A line "key=value" with a number.
#define PROBE_NAME_SIZE 64
#define PROBE_PAIRS_MAX 64
struct probe_pair {
	char name[PROBE_NAME_SIZE];
	double value;
};
// Parses the pairs of the text and returns their number; lines without a number after a "=" are
// skipped. 0: no pair, or a pair without room here (*why is static text).
uint32_t probe_parse_pairs(
	const char *text, struct probe_pair out[PROBE_PAIRS_MAX], const char **why);

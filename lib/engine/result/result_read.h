// SPDX-License-Identifier: BSD-3-Clause
// Sections of the result from the JSON that was made of them, by the same rows. Path: cold. Any
// thread.
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "engine/result/result.h"

// A section of the result (result_section, result_interval_section, ...) from its object. Counters
// of a protocol are found by its name, histograms stay text. Absent members are as in
// stats/json_read.h; members that no row knows are skipped. 0, or -EINVAL: *why names the place and
// the reason. All of it lives in a.
int result_read(const struct counter_section *s, const json_t *o, void *out, struct arena *a,
	const char **why);

// A line of an interval, with the members that only a line has; *warmup: it is one of the warm-up.
int result_read_line(const json_t *line, struct result_interval *out, bool *warmup, struct arena *a,
	const char **why);

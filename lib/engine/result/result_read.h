// SPDX-License-Identifier: BSD-3-Clause
// Reads sections of the result back from their JSON, by the same rows. Path: cold. Any thread.
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "engine/result/result.h"

// Reads a section of the result (result_section, result_interval_section, ...) from its object.
// Counters of a protocol are found by its name, histograms stay text. Absent members: see
// stats/json_read.h; members without a row are skipped. Returns 0, or -EINVAL with the place and
// the reason in *why. All of it lives in a.
int result_read(const struct counter_section *s, const json_t *o, void *out, struct arena *a,
	const char **why);

// Reads the line of an interval, with the members of lines. *warmup: it belongs to the warm-up.
int result_read_line(const json_t *line, struct result_interval *out, bool *warmup, struct arena *a,
	const char **why);

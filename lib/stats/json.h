// SPDX-License-Identifier: BSD-3-Clause
// Figures to JSON by rows (base/counter.h). Knows types, never a counter. Path: cold. Management
// thread.
#pragma once

#include <jansson.h>

#include "base/counter.h"

// A new object with every row, in order of the rows; the caller owns it. Numbers are as by
// stats_number; a u64 above INT64_MAX becomes a real.
json_t *stats_json(const struct counter_section *section, const void *data);

// A number for this name: whole nanoseconds if the name ends in "_ns", null for NaN and infinity,
// else a real. The caller owns it.
json_t *stats_number(const char *name, double x);

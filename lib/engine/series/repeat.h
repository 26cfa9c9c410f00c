// SPDX-License-Identifier: BSD-3-Clause
// Runs that are repeated until a figure is known well enough, as netperf's -i and -I: the mean, how
// far it may be off, and whether that is near enough. Path: cold. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/field.h"

enum repeat_figure { REPEAT_RATE, REPEAT_P99 };

extern const char *const repeat_figures[]; // by enum repeat_figure, NULL-terminated

struct repeat_settings {
	uint64_t min, max;
	double confidence;
	double width; // of the whole interval, as a share of the mean
	uint64_t rest_ns;
	struct field_list of; // int32_t: enum repeat_figure
};

extern const struct field_section repeat_section;

struct spread {
	uint32_t count;
	double mean, stddev; // of the sample
	double low, high;    // around the mean with the confidence asked for
	double median, min, max;
};

// Of count >= 1 values; the interval is infinite with a single one.
struct spread spread_of(const double *values, uint32_t count, double confidence);

// Is the interval no wider than `width` of the mean?
bool spread_within(const struct spread *s, double width);

// SPDX-License-Identifier: BSD-3-Clause
// Repeats of a run until a figure is known, as netperf's -i and -I: the mean, its confidence
// interval, and whether the interval is narrow enough. Path: cold. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct spread {
	uint32_t count;
	double mean, stddev; // of the sample
	double low, high;    // around the mean with the confidence asked for
	double median, min, max;
	double p10, p25, p75, p90; // between two values in proportion
};

// Returns the spread of count >= 1 values; the interval of a single value is infinite.
struct spread spread_of(const double *values, uint32_t count, double confidence);

// Is the interval no wider than `width` of the mean?
bool spread_within(const struct spread *s, double width);

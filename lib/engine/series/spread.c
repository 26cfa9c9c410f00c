// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of a few values. Path: cold. Any thread.
#include "engine/series/spread.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/student.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

// Returns the value below which that share of the sorted ones lies: least 0, greatest 1.
static double quantile(const double *sorted, uint32_t count, double share)
{
	double at = share * (count - 1);
	uint32_t low = (uint32_t)at, high = low + 1 < count ? low + 1 : low;

	return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

static void quantiles(struct spread *s, const double *values, uint32_t count)
{
	double *sorted = malloc(count * sizeof(*sorted));

	if (!sorted)
		abort(); // memory: none
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_value);
	s->p10 = quantile(sorted, count, 0.1);
	s->p25 = quantile(sorted, count, 0.25);
	s->median = quantile(sorted, count, 0.5);
	s->p75 = quantile(sorted, count, 0.75);
	s->p90 = quantile(sorted, count, 0.9);
	free(sorted);
}

struct spread spread_of(const double *values, uint32_t count, double confidence)
{
	struct spread s = {.count = count, .min = INFINITY, .max = -INFINITY};
	double squares = 0, half = INFINITY;

	for (uint32_t i = 0; i < count; i++) {
		s.mean += values[i] / count;
		s.min = fmin(s.min, values[i]);
		s.max = fmax(s.max, values[i]);
	}
	for (uint32_t i = 0; i < count; i++)
		squares += (values[i] - s.mean) * (values[i] - s.mean);
	if (count > 1) {
		s.stddev = sqrt(squares / (count - 1));
		half = student_quantile(confidence, count - 1) * s.stddev / sqrt(count);
	}
	s.low = s.mean - half;
	s.high = s.mean + half;
	quantiles(&s, values, count);
	return s;
}

bool spread_within(const struct spread *s, double width)
{
	return s->count > 1 && s->high - s->low <= width * fabs(s->mean);
}

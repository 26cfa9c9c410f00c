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

static double median_of(const double *values, uint32_t count)
{
	double *sorted = malloc(count * sizeof(*sorted)), out = NAN;

	if (!sorted)
		return out;
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_value);
	out = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
	free(sorted);
	return out;
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
	s.median = median_of(values, count);
	return s;
}

bool spread_within(const struct spread *s, double width)
{
	return s->count > 1 && s->high - s->low <= width * fabs(s->mean);
}

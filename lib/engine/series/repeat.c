// SPDX-License-Identifier: BSD-3-Clause
// The rows of run.repeat, and the arithmetic of a few values. Path: cold. Any thread.
#include "engine/series/repeat.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/student.h"

#define AT(type, member) .offset = offsetof(struct type, member)

const char *const repeat_figures[] = {[REPEAT_RATE] = "rate", [REPEAT_P99] = "p99", NULL};

static const struct field repeat_fields[] = {
	{"min", "runs at least", FIELD_COUNT, AT(repeat_settings, min), .def = "3", .min = 2,
		.max = 1000},
	{"max", "runs at most", FIELD_COUNT, AT(repeat_settings, max), .def = "10", .min = 2,
		.max = 1000},
	{"confidence", "that the interval holds the truth", FIELD_PERCENT,
		AT(repeat_settings, confidence), .def = "99%", .min = 0.5, .max = 0.9999},
	{"width", "of the whole interval as a share of the mean; wider: another run", FIELD_PERCENT,
		AT(repeat_settings, width), .def = "5%", .min = 0.0001, .max = 10},
	{"rest", "between runs", FIELD_DURATION, AT(repeat_settings, rest_ns), .def = "1s",
		.max = 1e13},
	{"of", "figures that have to be known: answered rate, 99th percentile", FIELD_ENUM,
		.list = true, AT(repeat_settings, of), .names = repeat_figures, .def = "rate"},
};

const struct field_section repeat_section = {"repeat",
	"run again until the result is known well enough", FIELD_ROWS(repeat_fields),
	sizeof(struct repeat_settings)};

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

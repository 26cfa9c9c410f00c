// SPDX-License-Identifier: BSD-3-Clause
// Means, Welch's interval and their words. Path: cold. Main thread.
#include "change.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/student.h"
#include "engine/series/repeat.h"
#include "stats/text.h"

static double square(double x)
{
	return x * x;
}

// Welch's interval: the two need not have the same variance.
static double half_interval(const struct spread *a, const struct spread *b, double confidence)
{
	double va = square(a->stddev) / a->count, vb = square(b->stddev) / b->count;
	double freedom;

	if (va + vb == 0)
		return 0;
	freedom = square(va + vb) / (square(va) / (a->count - 1) + square(vb) / (b->count - 1));
	return student_quantile(confidence, (unsigned)fmax(1, floor(freedom))) * sqrt(va + vb);
}

static struct change change_of(const struct figures *from, const struct figure *a,
	const struct figures *to, const struct figure *b)
{
	struct change c = {a->value, b->value, NAN};
	struct spread x, y;

	if (a->repeats) {
		x = spread_of(a->repeats, from->repeats, from->confidence);
		c.a = x.mean;
	}
	if (b->repeats) {
		y = spread_of(b->repeats, to->repeats, to->confidence);
		c.b = y.mean;
	}
	if (a->repeats && b->repeats && isfinite(c.a) && isfinite(c.b))
		c.half = half_interval(&x, &y, fmin(from->confidence, to->confidence));
	return c;
}

struct change change_at(
	const struct figures *from, const struct figures *to, const char *item, const char *path)
{
	const struct figure nothing = {.value = figures_nothing(path)};
	const struct figure *a = figures_find(from, item, path), *b = figures_find(to, item, path);

	return change_of(from, a ? a : &nothing, to, b ? b : &nothing);
}

bool change_is_noise(const struct change *c)
{
	return !isnan(c->half) && fabs(c->b - c->a) <= c->half;
}

const char *change_value_text(double v, const char *unit, char *buf, size_t room)
{
	if (isinf(v))
		snprintf(buf, room, "lost");
	else
		stats_format(v, *unit ? unit : NULL, buf, room);
	return buf;
}

const char *change_difference_text(double a, double b, const char *unit, char *buf, size_t room)
{
	if (!isfinite(a) || !isfinite(b))
		snprintf(buf, room, "%s",
			isfinite(a)               ? "worse"
			: isinf(a) && isfinite(b) ? "better"
						  : "-");
	else if (strcmp(unit, "1") == 0)
		snprintf(buf, room, "%+.3g pt", 100 * (b - a));
	else if (a == 0)
		snprintf(buf, room, "%s", b == 0 ? "0 %" : "new");
	else
		snprintf(buf, room, "%+.3g %%", 100 * (b - a) / a);
	return buf;
}

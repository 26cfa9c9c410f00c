// SPDX-License-Identifier: BSD-3-Clause
// The incomplete beta function by its continued fraction (Abramowitz and Stegun 26.5.8), and the
// quantile by halving. Path: cold. Any thread.
#include "base/student.h"

#include <math.h>

#define TERMS    500
#define HALVINGS 200
#define TINY     1e-300

static double not_nothing(double x)
{
	return fabs(x) < TINY ? TINY : x;
}

// The fraction itself, from its front (Lentz); converges fast for x < (a + 1) / (a + b + 2).
static double fraction(double x, double a, double b)
{
	double c = 1, d = 1 / not_nothing(1 - (a + b) * x / (a + 1)), value = d;

	for (int m = 1; m <= TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double before = value;

		d = 1 / not_nothing(1 + even * d);
		c = not_nothing(1 + even / c);
		value *= c * d;
		d = 1 / not_nothing(1 + odd * d);
		c = not_nothing(1 + odd / c);
		value *= c * d;
		if (fabs(value - before) <= 1e-15 * fabs(value))
			break;
	}
	return value;
}

double student_beta(double x, double a, double b)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * fraction(x, a, b) / a;
	return 1 - front * fraction(1 - x, b, a) / b;
}

double student_outside(double t, unsigned freedom)
{
	return student_beta(freedom / (freedom + t * t), 0.5 * freedom, 0.5);
}

double student_quantile(double confidence, unsigned freedom)
{
	double low = 0, high = 1;

	while (student_outside(high, freedom) > 1 - confidence)
		high *= 2;
	for (int i = 0; i < HALVINGS && high - low > 1e-13 * high; i++) {
		double t = 0.5 * (low + high);

		if (student_outside(t, freedom) > 1 - confidence)
			low = t;
		else
			high = t;
	}
	return 0.5 * (low + high);
}

// SPDX-License-Identifier: BSD-3-Clause
// Student's t distribution: the width of a confidence interval in standard errors. Path: cold. Any
// thread.
#pragma once

// Two-sided quantile: standard errors on either side of the mean for `confidence` (between 0 and 1)
// and `freedom` degrees of freedom, at least 1. Good to ten digits.
double student_quantile(double confidence, unsigned freedom);

// The probability of a distance above t >= 0 standard errors from the mean, both sides together.
double student_outside(double t, unsigned freedom);

// The regularised incomplete beta function I_x(a, b), a and b above 0, x in 0..1.
double student_beta(double x, double a, double b);

// SPDX-License-Identifier: BSD-3-Clause
// Against the published tables of Student's t (two-sided) and known values of the incomplete beta
// function. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include <cmocka.h>

#include "base/student.h"

// cmocka's own takes not-a-number for equal.
#define assert_near(value, wanted, off) assert_true(fabs((value) - (wanted)) <= (off))

static void quantiles_are_those_of_the_tables(void **state)
{
	static const struct {
		double confidence;
		unsigned freedom;
		double t;
	} rows[] = {
		{0.5, 1, 1.0},
		{0.9, 1, 6.314},
		{0.95, 1, 12.706},
		{0.99, 1, 63.657},
		{0.999, 1, 636.619},
		{0.95, 2, 4.303},
		{0.99, 2, 9.925},
		{0.9, 4, 2.132},
		{0.95, 4, 2.776},
		{0.95, 9, 2.262},
		{0.99, 9, 3.250},
		{0.95, 29, 2.045},
		{0.99, 29, 2.756},
		{0.95, 120, 1.980},
		{0.99, 120, 2.617},
		{0.95, 1000000, 1.960},
		{0.999, 1000000, 3.291},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_near(student_quantile(rows[i].confidence, rows[i].freedom), rows[i].t,
			rows[i].t > 100 ? 0.00052 : 0.00051);
}

static void beta_has_its_closed_forms(void **state)
{
	for (double x = 0.05; x < 1; x += 0.05) {
		assert_near(student_beta(x, 1, 1), x, 1e-13);
		assert_near(student_beta(x, 3, 1), x * x * x, 1e-13);
		assert_near(student_beta(x, 1, 4), 1 - pow(1 - x, 4), 1e-13);
		assert_near(student_beta(x, 0.5, 0.5), 2 / M_PI * asin(sqrt(x)), 1e-12);
		assert_near(student_beta(x, 2.5, 7), 1 - student_beta(1 - x, 7, 2.5), 1e-13);
	}
	assert_near(student_beta(0, 2, 3), 0, 0);
	assert_near(student_beta(1, 2, 3), 1, 0);
	assert_near(student_beta(-1e-9, 2, 3), 0, 0); // a rounding error away
	assert_near(student_beta(1 + 1e-9, 2, 3), 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_those_of_the_tables),
		cmocka_unit_test(beta_has_its_closed_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

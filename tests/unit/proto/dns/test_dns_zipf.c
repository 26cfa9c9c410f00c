// SPDX-License-Identifier: BSD-3-Clause
// The alias table has exactly the weights that it was made of. Path: tests only.

#include "dns_fixture.h"

#include <math.h>

#include "proto/dns/client/dns_zipf.h"

// Computes the probability of each index from the table.
static double *weights_of(const struct dns_alias *table, uint32_t count)
{
	double *w = calloc(count, sizeof(*w));

	for (uint32_t i = 0; i < count; i++) {
		double keep = table[i].keep / 0x1p32;

		assert_true(table[i].other < count);
		w[i] += keep / count;
		w[table[i].other] += (1 - keep) / count;
	}
	return w;
}

static void check(uint32_t count, double exponent)
{
	struct dns_alias *table = dns_zipf_build(count, exponent);
	double *w = weights_of(table, count);
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += pow(i + 1, -exponent);
	for (uint32_t i = 0; i < count; i++)
		assert_true(fabs(w[i] - pow(i + 1, -exponent) / sum) < 1e-8);
	free(w);
	free(table);
}

static void the_table_has_the_weights_of_zipf(void **state)
{
	check(1, 1);
	check(2, 1);
	check(1000, 1);
	check(1000, 0.9);
	check(10000, 0.01);
	check(1000, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_has_the_weights_of_zipf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// Does the confidence interval contain the true value as often as promised, even if runs end as
// soon as it is narrow enough? Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include <cmocka.h>

#include "base/rand.h"
#include "engine/config/series_settings.h"
#include "engine/series/spread.h"

// cmocka's own check treats NaN as equal.
#define assert_near(value, wanted, off) assert_true(fabs((value) - (wanted)) <= (off))

#define TRUTH 40000.0

static double uniform(struct rand *r)
{
	return (double)(rand_next(r) >> 11) * 0x1p-53;
}

static double normal(struct rand *r)
{
	return sqrt(-2 * log(1 - uniform(r))) * cos(2 * M_PI * uniform(r));
}

// Repeats like run.repeat, on a server whose rate has this noise (relative).
static struct spread repeat(const struct repeat_settings *s, double noise, uint64_t seed)
{
	struct rand rand = {rand_hash(seed)};
	double values[64];
	struct spread spread = {0};

	for (uint32_t n = 1; n <= s->max; n++) {
		values[n - 1] = TRUTH * (1 + noise * normal(&rand));
		spread = spread_of(values, n, s->confidence);
		if (n >= s->min && spread_within(&spread, s->width))
			break;
	}
	return spread;
}

static uint32_t holds_truth(const struct repeat_settings *s, double noise, uint32_t searches)
{
	uint32_t n = 0;

	for (uint64_t seed = 1; seed <= searches; seed++) {
		struct spread spread = repeat(s, noise, seed);

		n += spread.low <= TRUTH && spread.high >= TRUTH;
	}
	return n;
}

static void the_interval_holds_the_truth_as_often_as_it_says(void **state)
{
	const struct repeat_settings fixed = {10, 10, 0.95, 0.0001, 0, {0}},
				     early = {5, 30, 0.95, 0.05, 0, {0}};

	assert_in_range(holds_truth(&fixed, 0.03, 100), 90, 100);
	assert_in_range(holds_truth(&fixed, 0.03, 10000), 9450, 9550);
	assert_in_range(holds_truth(&early, 0.03, 100), 90, 100);
	assert_in_range(holds_truth(&early, 0.03, 10000), 9000, 9600);
}

static void a_steady_server_needs_the_fewest_runs(void **state)
{
	const struct repeat_settings s = {3, 10, 0.99, 0.05, 0, {0}};

	assert_int_equal(repeat(&s, 0.0001, 1).count, 3);
	assert_int_equal(repeat(&s, 0.3, 1).count, 10);
}

// Worked by hand: 1, 2, 3, 4, 10.
static void the_figures_of_five_values(void **state)
{
	const double values[] = {3, 10, 1, 4, 2};
	struct spread s = spread_of(values, 5, 0.95);

	assert_near(s.mean, 4, 1e-12);
	assert_near(s.stddev, sqrt(12.5), 1e-12);
	assert_near(s.median, 3, 0);
	assert_near(s.min, 1, 0);
	assert_near(s.max, 10, 0);
	assert_near(s.p10, 1.4, 1e-12);
	assert_near(s.p25, 2, 1e-12);
	assert_near(s.p75, 4, 1e-12);
	assert_near(s.p90, 7.6, 1e-12);
	assert_near(s.high - s.mean, 2.776445 * sqrt(12.5 / 5), 1e-5);
	assert_near(s.mean - s.low, s.high - s.mean, 1e-12);
	assert_false(spread_within(&s, 1));
	assert_true(spread_within(&s, 2.2));
}

static void one_value_says_nothing_about_the_next(void **state)
{
	const double one = 7, two[] = {7, 9};
	struct spread s = spread_of(&one, 1, 0.95);

	assert_near(s.mean, 7, 0);
	assert_true(isinf(s.high) && isinf(s.low));
	assert_false(spread_within(&s, 10));
	assert_near(spread_of(two, 2, 0.95).median, 8, 0);
	assert_near(s.p10, 7, 0);
	assert_near(s.p90, 7, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interval_holds_the_truth_as_often_as_it_says),
		cmocka_unit_test(a_steady_server_needs_the_fewest_runs),
		cmocka_unit_test(the_figures_of_five_values),
		cmocka_unit_test(one_value_says_nothing_about_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

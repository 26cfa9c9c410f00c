// SPDX-License-Identifier: BSD-3-Clause
// /proc/stat of a box with two CPUs, and what is none. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "engine/run/cpu.h"

// cmocka's own takes not-a-number for equal.
#define assert_near(value, wanted, off) assert_true(fabs((value) - (wanted)) <= (off))

#define BEFORE                                                                                     \
	"cpu  100 10 50 800 40 5 5 0 3 0\n"                                                        \
	"cpu0 50 5 25 400 20 3 2 0 3 0\n"                                                          \
	"cpu1 50 5 25 400 20 2 3 0 0 0\n"                                                          \
	"intr 12345 0 0\n"
#define AFTER                                                                                      \
	"cpu  160 10 70 880 50 9 11 20 3 0\n"                                                      \
	"cpu0 60 5 35 470 25 3 2 10 3 0\n"                                                         \
	"cpu1 100 5 35 415 25 6 9 10 0 0\n"

// Of 200 ticks, 20 were stolen: they are not used, and were not idle.
static void shares_are_of_the_time_between_two_readings(void **state)
{
	struct cpu_times a, b;
	struct result_cpu_use u;

	assert_true(cpu_parse(BEFORE, &a));
	assert_true(cpu_parse(AFTER, &b));
	assert_int_equal(a.cpus, 2);
	u = cpu_use(&a, &b);
	assert_near(u.used, 90.0 / 200, 1e-12); // guests are in user already
	assert_near(u.user, 60.0 / 200, 1e-12);
	assert_near(u.system, 20.0 / 200, 1e-12);
	assert_near(u.irq, 4.0 / 200, 1e-12);
	assert_near(u.softirq, 6.0 / 200, 1e-12);
	assert_near(u.steal, 20.0 / 200, 1e-12);
	assert_int_equal(u.busiest, 1);
	assert_near(u.busiest_used, 0.7, 1e-12);
	u = cpu_use(&a, &a);
	assert_true(isnan(u.used) && isnan(u.steal) && isnan(u.busiest_used));
}

static void a_counter_that_goes_back_gives_no_share_below_0(void **state)
{
	struct cpu_times a, b;

	assert_true(cpu_parse("cpu 10 0 10 10 50 0 0 0\ncpu0 1 1 1 1\n", &a));
	assert_true(cpu_parse("cpu 20 0 10 20 40 0 0 0\ncpu0 1 1 1 1\n", &b));
	assert_near(cpu_use(&a, &b).used, 1, 0);
	assert_true(isnan(cpu_use(&a, &b).busiest_used));
}

// netperf's: utilisation x CPUs / rate.
static void demand_is_cpu_time_over_transactions(void **state)
{
	assert_near(cpu_demand_us(0.5, 4, 100000), 20, 1e-9);
	assert_true(isnan(cpu_demand_us(0.5, 4, 0)));
}

static void other_texts_are_refused(void **state)
{
	static const char *const texts[] = {"", "cpu", "cpu \n", "cpu  1 2 3\ncpu0 1\n",
		"cpu  1 2 3 4\n", "cpu  1 2 -3 4\ncpu0 1\n", "cpu  1 2 inf 4\ncpu0 1\n",
		"cpu  nan 2 3 4\ncpu0 1\n", "cpux 1 2 3 4\ncpu0 1\n", "Permission denied\n"};
	struct cpu_times t;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(cpu_parse(texts[i], &t));
	assert_true(cpu_parse("cpu  1 2 3 4\ncpu0 1 2 3 4", &t)); // an old kernel's
}

static void this_box_has_cpus(void **state)
{
	struct cpu_times t;

	assert_true(cpu_read(&t));
	assert_true(t.cpus >= 1 && t.all[0] > 0 && t.each[0].total >= t.each[0].used);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_of_the_time_between_two_readings),
		cmocka_unit_test(a_counter_that_goes_back_gives_no_share_below_0),
		cmocka_unit_test(demand_is_cpu_time_over_transactions),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(this_box_has_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

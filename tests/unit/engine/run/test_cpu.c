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
	"cpu  160 10 70 900 50 10 10 0 3 0\n"                                                      \
	"cpu0 0 0 0 0 0 0 0 0 0 0\n"                                                               \
	"cpu1 0 0 0 0 0 0 0 0 0 0\n"

static void busy_is_all_but_idle_and_waiting(void **state)
{
	struct cpu_times a, b;

	assert_true(cpu_parse(BEFORE, &a));
	assert_true(cpu_parse(AFTER, &b));
	assert_int_equal(a.cpus, 2);
	assert_near(a.total, 1010, 0);
	assert_near(a.busy, 170, 0); // guests are in user already
	assert_near(cpu_used(&a, &b), 90.0 / 200, 1e-12);
	assert_true(isnan(cpu_used(&a, &a)));
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
	assert_true(t.cpus >= 1 && t.total >= t.busy && t.busy > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_is_all_but_idle_and_waiting),
		cmocka_unit_test(demand_is_cpu_time_over_transactions),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(this_box_has_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

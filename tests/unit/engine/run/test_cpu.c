// SPDX-License-Identifier: BSD-3-Clause
// /proc/stat of a box with two CPUs, and invalid ones. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <math.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/run/around/cpu.h"

// cmocka's own check treats NaN as equal.
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

static void a_process_is_known_by_its_line_whatever_its_name(void **state)
{
	struct cpu_user u;

	assert_true(cpu_user_parse(
		"42 (a) b\x1b(c) R 1 42 42 0 -1 4194560 1 0 0 0 123 77 9 9 20 0 1 0", &u));
	assert_int_equal(u.pid, 42);
	assert_string_equal(u.name, "a)?b?(c");
	assert_int_equal(u.ticks, 200);
	assert_true(cpu_user_parse(
		"7 (a name that is longer) S 1 7 7 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0", &u));
	assert_int_equal(strlen(u.name), 15);
	assert_false(cpu_user_parse("7 (a S 1", &u));
	assert_false(cpu_user_parse("7 (a) S 1 7", &u));
	assert_false(cpu_user_parse("", &u));
}

static void the_busiest_are_named_with_their_shares(void **state)
{
	static struct cpu_users a, b; // in ticks of a hundredth of a second, over two seconds
	char text[200];

	a = (struct cpu_users){.count = 2, .all = {{1, "old", 1000}, {2, "self", 0}}};
	b = (struct cpu_users){.count = 6,
		.at_ns = 2000000000,
		.all = {{1, "old", 1020}, {2, "self", 200}, {3, "new", 180}, {4, "idle", 9},
			{5, "cc1", 100}, {6, "knotd", 60}}};
	cpu_busiest(&a, &b, 2, text, sizeof(text));
	assert_string_equal(text, "new (pid 3) 90 %, cc1 (pid 5) 50 %, knotd (pid 6) 30 %");
	a.all[0].ticks = 2000; // another process has its number now
	b.all[0].ticks = 190;
	cpu_busiest(&a, &b, 2, text, sizeof(text));
	assert_string_equal(text, "old (pid 1) 95 %, new (pid 3) 90 %, cc1 (pid 5) 50 %");
	b.count = 2;
	b.all[0].ticks = 9;
	cpu_busiest(&a, &b, 2, text, sizeof(text));
	assert_string_equal(text, "");
}

static void this_test_is_among_the_processes(void **state)
{
	static struct cpu_users now;

	cpu_users_read(&now);
	for (unsigned i = 0; i < now.count; i++)
		if (now.all[i].pid == getpid())
			return;
	fail_msg("%u processes, without this one", now.count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_of_the_time_between_two_readings),
		cmocka_unit_test(a_counter_that_goes_back_gives_no_share_below_0),
		cmocka_unit_test(demand_is_cpu_time_over_transactions),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(this_box_has_cpus),
		cmocka_unit_test(a_process_is_known_by_its_line_whatever_its_name),
		cmocka_unit_test(the_busiest_are_named_with_their_shares),
		cmocka_unit_test(this_test_is_among_the_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

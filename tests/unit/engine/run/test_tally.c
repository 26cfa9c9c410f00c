// SPDX-License-Identifier: BSD-3-Clause
// Counters as nstat, ethtool, unbound-control and Kea print them, and their differences.
// Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <math.h>

#include <cmocka.h>

#include "engine/run/around/tally.h"

static struct arena *arena;

static void assert_counters(const char *text, uint32_t count, const char *name, double value)
{
	struct counter_list l = tally_parse(text, arena);
	const struct result_dut_counter *c = l.items;

	assert_int_equal(l.count, count);
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(c[i].name, name) == 0) {
			assert_true(c[i].difference == value);
			return;
		}
	assert_int_equal(count, 0);
}

static void lines_of_the_usual_programs_are_understood(void **state)
{
	assert_counters("#kernel\nUdpInErrors                     7                  0.0\n"
			"UdpRcvbufErrors                 40016              0.0\n",
		2, "UdpRcvbufErrors", 40016);
	assert_counters("NIC statistics:\n     rx_packets: 12\n     peer_ifindex: 3\n", 2,
		"rx_packets", 12);
	assert_counters("thread0.num.queries=5\ntime.up=1.5", 2, "time.up", 1.5);
	assert_counters("drops -3\n", 1, "drops", -3);
	assert_counters(" {\"arguments\":{\"pkt4-ack-sent\":[[9,\"t\"]]}}", 1,
		"arguments.pkt4-ack-sent", 9);
}

static void lines_without_a_number_are_passed_over(void **state)
{
	assert_counters("", 0, "", 0);
	assert_counters("hello\nworld peace\n=4\nx=\n5\nnan=nan\nbig=inf\na=1\n", 1, "a", 1);
	assert_counters("{not json}", 0, "", 0);
}

static double difference(const struct result *r, const char *name)
{
	const struct result_dut_counter *c = r->dut->counters.items;

	for (uint32_t i = 0; i < r->dut->counters.count; i++)
		if (strcmp(c[i].name, name) == 0)
			return c[i].difference;
	return NAN;
}

static void differences_are_between_both_readings(void **state)
{
	const struct counters_settings s = {
		"n=$(cat $F 2>/dev/null || echo 0); echo $((n + 5)) > $F; echo same 3; "
		"test $n = 0 && echo gone 1; echo n=$n; test $n = 0 || echo new 1",
		5000000000};
	const struct clock c = {.hz = 1e9};
	struct result r = {0};
	struct tally *t;
	char file[] = "/tmp/test_tally.XXXXXX";

	close(mkstemp(file));
	unlink(file);
	setenv("F", file, 1);
	t = tally_start(&s, &c, arena);
	assert_non_null(t);
	while (!tally_is_ready(t))
		;
	tally_stop(t, arena, &r);
	unlink(file);
	assert_null(r.dut->counters_error);
	assert_int_equal(r.dut->counters.count, 2);
	assert_true(difference(&r, "n") == 5);
	assert_true(difference(&r, "same") == 0);
	assert_true(r.dut->counters_s > 0);
	assert_true(isnan(r.dut->use.used));
}

static void a_command_that_fails_is_said(void **state)
{
	static const struct {
		const char *command, *why;
	} cases[] = {{"exit 3", "exit status 3"}, {"echo hello", "it prints no counters"},
		{"sleep 9", "no end after 0.05 s"}};
	const struct clock c = {.hz = 1e9};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct counters_settings s = {cases[i].command, 50000000};
		struct result_dut dut = {.command = "probe"};
		struct result r = {.dut = &dut};

		tally_stop(tally_start(&s, &c, arena), arena, &r);
		assert_string_equal(dut.counters_error, cases[i].why);
		assert_int_equal(dut.counters.count, 0);
		assert_string_equal(dut.command, "probe");
	}
	tally_stop(NULL, arena, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_the_usual_programs_are_understood),
		cmocka_unit_test(lines_without_a_number_are_passed_over),
		cmocka_unit_test(differences_are_between_both_readings),
		cmocka_unit_test(a_command_that_fails_is_said),
	};
	int rc;

	arena = arena_new();
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	arena_free(arena);
	return rc;
}

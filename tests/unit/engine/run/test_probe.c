// SPDX-License-Identifier: BSD-3-Clause
// Lines of key=value, as probes print them, and as they do not. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "engine/run/probe.h"

// cmocka's own takes not-a-number for equal.
#define assert_near(value, wanted, off) assert_true(fabs((value) - (wanted)) <= (off))

static struct probe_pair pairs[PROBE_PAIRS_MAX];

static void pairs_are_read_and_the_rest_is_passed_over(void **state)
{
	assert_int_equal(probe_parse_pairs("qps=17\nhello\ncache.hits=1.5e3 of all\n=4\nx=\n"
					   "y=z\nneg=-2\ninf=inf\nnan=nan\nlast=9",
				 pairs),
		4);
	assert_string_equal(pairs[0].name, "qps");
	assert_near(pairs[0].value, 17, 0);
	assert_string_equal(pairs[1].name, "cache.hits");
	assert_near(pairs[1].value, 1500, 0);
	assert_string_equal(pairs[2].name, "neg");
	assert_near(pairs[2].value, -2, 0);
	assert_string_equal(pairs[3].name, "last");
}

// A number on the next line is not this line's.
static void a_value_ends_with_its_line(void **state)
{
	assert_int_equal(probe_parse_pairs("a=\n5\nb=1", pairs), 1);
	assert_string_equal(pairs[0].name, "b");
}

static void there_is_no_end_of_lines_but_one_of_pairs(void **state)
{
	char text[PROBE_PAIRS_MAX * 8 + 64] = "", line[32];
	char name[PROBE_NAME_SIZE + 8];

	for (int i = 0; i < PROBE_PAIRS_MAX + 5; i++) {
		snprintf(line, sizeof(line), "k%d=%d\n", i % 10, i);
		strcat(text, line);
	}
	assert_int_equal(probe_parse_pairs(text, pairs), PROBE_PAIRS_MAX);
	memset(name, 'a', sizeof(name));
	strcpy(name + PROBE_NAME_SIZE, "=1");
	assert_int_equal(probe_parse_pairs(name, pairs), 0);
	strcpy(name + PROBE_NAME_SIZE - 1, "=1");
	assert_int_equal(probe_parse_pairs(name, pairs), 1);
	assert_int_equal(probe_parse_pairs("", pairs), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_read_and_the_rest_is_passed_over),
		cmocka_unit_test(a_value_ends_with_its_line),
		cmocka_unit_test(there_is_no_end_of_lines_but_one_of_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// The numbers of JSON documents and their names. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "stats/flatten.h"

static char all[4096];

static void note(void *ctx, const char *name, double value)
{
	size_t len = strlen(all);

	snprintf(all + len, sizeof(all) - len, "%s=%g ", name, value);
}

static const char *flat(const char *text)
{
	all[0] = '\0';
	stats_flatten(text, note, NULL);
	return all;
}

static void numbers_have_the_names_on_their_way(void **state)
{
	assert_string_equal(
		flat("{\"a\":{\"b\":1,\"c\":\"x\"},\"d\":2.5,\"e\":true}"), "a.b=1 d=2.5 ");
}

// As Kea answers statistic-get-all.
static void the_first_of_an_array_has_the_name_of_it(void **state)
{
	assert_string_equal(
		flat("[{\"arguments\":{\"pkt4-received\":[[125,\"2026-01-01\"],[124,\"-\"]],"
		     "\"x\":[]},\"result\":0}]"),
		"arguments.pkt4-received=125 arguments.pkt4-received.1=124 result=0 ");
}

static void what_is_no_document_has_no_numbers(void **state)
{
	char deep[300] = "";

	assert_string_equal(flat("{\"a\":1"), "");
	assert_string_equal(flat("5"), "");
	assert_string_equal(flat("[]"), "");
	for (int i = 0; i < 40; i++)
		strcat(deep, "{\"a\":");
	strcat(deep, "1");
	for (int i = 0; i < 40; i++)
		strcat(deep, "}");
	assert_string_equal(flat(deep), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_the_names_on_their_way),
		cmocka_unit_test(the_first_of_an_array_has_the_name_of_it),
		cmocka_unit_test(what_is_no_document_has_no_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

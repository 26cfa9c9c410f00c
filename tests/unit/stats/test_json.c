// SPDX-License-Identifier: BSD-3-Clause
// The JSON document's promises for every type of row.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sample.h"
#include "stats/json.h"

static void assert_json(const struct sample *s, const char *expected)
{
	json_t *o = stats_json(&sample_section, s);
	char *text = json_dumps(o, JSON_COMPACT);

	assert_string_equal(text, expected);
	free(text);
	json_decref(o);
}

static void every_type_is_written_in_order_of_the_rows(void **state)
{
	struct sample s = sample_full();
	struct sample_part maybe = {.name = "m", .lost = 9};

	s.maybe = &maybe;
	s.loss = 0.25;
	assert_json(&s,
		"{\"name\":\"s\",\"sent\":1234567,\"loss\":0.25,\"rate\":20000.0,\"known\":true,"
		"\"inside\":{\"lost\":5,\"p99_ns\":0},"
		"\"maybe\":{\"name\":\"m\",\"lost\":9,\"p99_ns\":0},"
		"\"parts\":[{\"name\":\"a\",\"lost\":1,\"p99_ns\":1000},"
		"{\"name\":\"a.b\",\"lost\":2,\"p99_ns\":null}],"
		"\"reasons\":[\"first\",\"second\"],"
		"\"dns\":{\"rcode\":{\"NOERROR\":7,\"SERV.FAIL\":12345},\"truncated\":0}}");
}

static void what_is_absent_is_left_out_and_lists_are_empty(void **state)
{
	struct sample s = {0};

	s.own.section = &sample_own_section;
	assert_json(&s, "{\"sent\":0,\"loss\":0.0,\"rate\":0.0,\"known\":false,"
			"\"inside\":{\"lost\":0,\"p99_ns\":0},\"parts\":[],\"reasons\":[]}");
}

static void numbers_beyond_json_become_null_or_real(void **state)
{
	struct sample s = {.sent = UINT64_MAX, .loss = NAN, .rate = -INFINITY};
	json_t *o = stats_json(&sample_section, &s);

	assert_true(json_is_real(json_object_get(o, "sent")));
	assert_true(json_real_value(json_object_get(o, "sent")) == 18446744073709551615.0);
	assert_true(json_is_null(json_object_get(o, "loss")));
	assert_true(json_is_null(json_object_get(o, "rate")));
	json_decref(o);
}

static void nanoseconds_are_whole(void **state)
{
	static const struct {
		const char *name;
		double value;
		const char *text;
	} rows[] = {{"p99_ns", 1499.5, "1500"}, {"p99_ns", 0.4, "0"}, {"p99_ns", -2.6, "-3"},
		{"p99_ns", NAN, "null"}, {"p99_ns", INFINITY, "null"}, {"p99_ns", 1e19, "1e19"},
		{"loss", 2, "2.0"}, {"ns_per_transaction", 27.25, "27.25"}, {"_ns", 1.5, "1.5"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *v = stats_number(rows[i].name, rows[i].value);
		char *text = json_dumps(v, JSON_ENCODE_ANY);

		assert_string_equal(text, rows[i].text);
		free(text);
		json_decref(v);
	}
}

static void text_that_is_not_utf8_is_made_so(void **state)
{
	struct sample s = {.name = "a\xff\"b"};
	json_t *o = stats_json(&sample_section, &s);

	assert_string_equal(json_string_value(json_object_get(o, "name")), "a?\"b");
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_written_in_order_of_the_rows),
		cmocka_unit_test(what_is_absent_is_left_out_and_lists_are_empty),
		cmocka_unit_test(numbers_beyond_json_become_null_or_real),
		cmocka_unit_test(nanoseconds_are_whole),
		cmocka_unit_test(text_that_is_not_utf8_is_made_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

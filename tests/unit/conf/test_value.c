// SPDX-License-Identifier: BSD-3-Clause
// Values under their rows: words, ranges, omitted ones.
#include "fixture.h"

#include <math.h>

#include "conf/types.h"
#include "conf/value.h"

static struct arena *a;

static int setup(void **state)
{
	a = arena_new();
	return 0;
}

static int teardown(void **state)
{
	arena_free(a);
	return 0;
}

static void a_word_stands_for_the_most(void **state)
{
	const struct field rate = {.type = FIELD_RATE, .word = "max", .min = 1, .max = 10};
	const struct field drain = {.type = FIELD_DURATION, .word = "auto", .min = 1, .max = 10};
	const struct field text = {.type = FIELD_STRING, .word = "auto"};
	uint64_t ns = 0;
	double v = 0;
	const char *s = NULL;

	assert_null(value_parse(&rate, "max", &v, a));
	assert_true(isinf(v));
	assert_string_equal(value_format(&rate, &v, true, a).text, "max");
	assert_true(value_format(&rate, &v, true, a).is_text);
	assert_null(value_parse(&drain, "auto", &ns, a));
	assert_int_equal(ns, UINT64_MAX);
	assert_string_equal(value_format(&drain, &ns, false, a).text, "auto");
	assert_null(value_parse(&text, "auto", &s, a));
	assert_string_equal(s, "auto");
	assert_non_null(value_parse(&rate, "auto", &v, a));
}

static void errors_leave_the_value(void **state)
{
	const struct field count = {.type = FIELD_COUNT, .min = 5, .max = 10};
	uint64_t n = 7;

	assert_string_equal(value_parse(&count, "11", &n, a), "\"11\" is out of range (5 to 10)");
	assert_string_equal(
		value_parse(&count, "x", &n, a), "\"x\" is not a count (like 500, 100k or 1.5M)");
	assert_int_equal(n, 7);
	assert_null(value_parse(&count, "5", &n, a));
	assert_null(value_parse(&count, "10", &n, a));
	assert_int_equal(n, 10);
}

static void ranges_are_told_in_the_unit(void **state)
{
	const struct field none = {.type = FIELD_COUNT};
	const struct field open = {.type = FIELD_RATE, .min = 1000, .max = INFINITY};
	const struct field time = {.type = FIELD_DURATION, .min = 1e6, .max = 3600e9};
	const struct field size = {.type = FIELD_SIZE, .max = 1 << 20};

	assert_null(value_range(&none, a));
	assert_string_equal(value_range(&open, a), "at least 1k");
	assert_string_equal(value_range(&time, a), "1ms to 1h");
	assert_string_equal(value_range(&size, a), "0B to 1MiB");
}

static void numbers_are_plain_for_programs(void **state)
{
	const struct field count = {.type = FIELD_COUNT}, rate = {.type = FIELD_RATE};
	const struct field flag = {.type = FIELD_BOOL}, time = {.type = FIELD_DURATION};
	const uint64_t n = 100000;
	const double r = 20000;
	const bool yes = true;

	assert_string_equal(value_format(&count, &n, true, a).text, "100000");
	assert_false(value_format(&count, &n, true, a).is_text);
	assert_string_equal(value_format(&count, &n, false, a).text, "100k");
	assert_string_equal(value_format(&rate, &r, true, a).text, "20000");
	assert_false(value_format(&rate, &r, true, a).is_text);
	assert_string_equal(value_format(&rate, &r, false, a).text, "20k");
	assert_string_equal(value_format(&flag, &yes, true, a).text, "true");
	assert_false(value_format(&flag, &yes, true, a).is_text);
	assert_string_equal(value_format(&time, &n, true, a).text, "100us");
	assert_true(value_format(&time, &n, true, a).is_text);
}

static void zero_that_the_row_forbids_is_absent(void **state)
{
	const struct field forbidden = {.type = FIELD_COUNT, .min = 1};
	const struct field allowed = {.type = FIELD_COUNT, .max = 9};
	const struct field_bytes empty = {(const uint8_t *)"", 0}, none = {0};
	const struct field hex = {.type = FIELD_HEX}, text = {.type = FIELD_STRING};
	const struct field addr = {.type = FIELD_ADDR}, range = {.type = FIELD_ADDR_RANGE};
	const struct field prefix = {.type = FIELD_PREFIX},
			   word = {.type = FIELD_ENUM, .names = sample_modes};
	const struct addr_range zeros = {0};
	const struct addr_prefix no_prefix = {0};
	const uint64_t zero = 0;
	const int32_t beyond = 3;
	const char *null = NULL;

	assert_null(value_format(&forbidden, &zero, false, a).text);
	assert_string_equal(value_format(&allowed, &zero, false, a).text, "0");
	assert_null(value_format(&text, &null, false, a).text);
	assert_null(value_format(&addr, &zeros.first, false, a).text);
	assert_null(value_format(&range, &zeros, false, a).text);
	assert_null(value_format(&prefix, &no_prefix, false, a).text);
	assert_null(value_format(&hex, &none, false, a).text);
	assert_string_equal(value_format(&hex, &empty, false, a).text, "");
	assert_null(value_format(&word, &beyond, false, a).text);
}

static void a_type_is_text_or_not_and_may_be_a_list_in_one_word(void **state)
{
	static const struct {
		enum field_type type;
		const char *text;
		bool is_text, splits; // as value_format gives programs; "a, b" is a list of two
	} rows[] = {
		{FIELD_BOOL, "false", false, false},
		{FIELD_COUNT, "5", false, false},
		{FIELD_RATE, "0.5", false, false},
		{FIELD_DURATION, "20ms", true, false},
		{FIELD_SIZE, "64KiB", true, false},
		{FIELD_PERCENT, "0.1%", true, false},
		{FIELD_SHARE, "0.1%", true, false},
		{FIELD_SHARE, "2.5/s", true, false},
		{FIELD_STRING, "a, b", true, false},
		{FIELD_ENUM, "slow", true, false},
		{FIELD_ADDR, "2001:db8::1", true, true},
		{FIELD_HOST, "2001:db8::1", true, true},
		{FIELD_HOST, "ns1.example.net", true, true},
		{FIELD_ADDR_RANGE, "198.18.0.2-198.18.0.9", true, true},
		{FIELD_PREFIX, "2001:db8::1/64", true, true},
		{FIELD_RANGE, "4-7", true, true},
		{FIELD_MAC, "02:00:00:00:00:01", true, true},
		{FIELD_HEX, "00ff12", true, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct field f = {.type = rows[i].type, .names = sample_modes};
		_Alignas(8) char value[TYPE_SIZE_MAX] = {0};
		struct value_text text;

		assert_null(value_parse(&f, rows[i].text, value, a));
		text = value_format(&f, value, true, a);
		assert_string_equal(text.text, rows[i].text);
		assert_int_equal(text.is_text, rows[i].is_text);
		assert_int_equal(value_splits(&f), rows[i].splits);
	}
}

static void what_is_allowed_names_the_word(void **state)
{
	const struct field rate = {.type = FIELD_RATE, .word = "max"};
	const struct field mode = {.type = FIELD_ENUM, .names = sample_modes};
	const struct field text = {.type = FIELD_STRING};

	assert_string_equal(value_allowed(&rate, a), "a rate (like 500, 20k or 1.5M) or max");
	assert_string_equal(value_allowed(&mode, a), "one of fast, slow, null");
	assert_string_equal(value_allowed(&text, a), "a text");
}

static void names_and_words_are_read_in_any_case(void **state)
{
	const struct field rate = {.type = FIELD_RATE, .word = "max", .min = 1, .max = 10};
	const struct field mode = {.type = FIELD_ENUM, .names = sample_modes};
	const struct field flag = {.type = FIELD_BOOL};
	int32_t m = -1;
	bool b = false;
	double v = 0;

	assert_null(value_parse(&mode, "SLOW", &m, a));
	assert_int_equal(m, 1);
	assert_null(value_parse(&rate, "Max", &v, a));
	assert_true(isinf(v));
	assert_null(value_parse(&flag, "True", &b, a));
	assert_true(b);
	assert_null(value_parse(&flag, "FALSE", &b, a));
	assert_false(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_stands_for_the_most),
		cmocka_unit_test(names_and_words_are_read_in_any_case),
		cmocka_unit_test(errors_leave_the_value),
		cmocka_unit_test(ranges_are_told_in_the_unit),
		cmocka_unit_test(numbers_are_plain_for_programs),
		cmocka_unit_test(zero_that_the_row_forbids_is_absent),
		cmocka_unit_test(a_type_is_text_or_not_and_may_be_a_list_in_one_word),
		cmocka_unit_test(what_is_allowed_names_the_word),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

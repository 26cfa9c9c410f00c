// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units: exact values, errors with the allowed units, shortest text back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/rand.h"
#include "conf/units.h"

typedef int parse_whole(const char *text, uint64_t *out, const char **what);
typedef int parse_real(const char *text, double *out, const char **what);

struct whole_row {
	const char *text;
	uint64_t value;
};

struct real_row {
	const char *text;
	double value;
};

static void assert_whole(parse_whole *parse, const struct whole_row *rows)
{
	for (; rows->text; rows++) {
		const char *what = NULL;
		uint64_t v = 77;

		if (parse(rows->text, &v, &what) != 0)
			fail_msg("%s is refused", rows->text);
		assert_int_equal(v, rows->value);
	}
}

static void assert_real(parse_real *parse, const struct real_row *rows)
{
	for (; rows->text; rows++) {
		const char *what = NULL;
		double v = 77;

		if (parse(rows->text, &v, &what) != 0)
			fail_msg("%s is refused", rows->text);
		assert_true(v == rows->value);
	}
}

static void assert_whole_refused(parse_whole *parse, const char *const *texts, const char *allowed)
{
	for (; *texts; texts++) {
		const char *what = NULL;
		uint64_t v = 77;

		if (parse(*texts, &v, &what) != -EINVAL)
			fail_msg("%s is taken", *texts);
		assert_int_equal(v, 77);
		assert_string_equal(what, allowed);
	}
}

static void assert_real_refused(parse_real *parse, const char *const *texts, const char *allowed)
{
	for (; *texts; texts++) {
		const char *what = NULL;
		double v = 77;

		if (parse(*texts, &v, &what) != -EINVAL)
			fail_msg("%s is taken", *texts);
		assert_true(v == 77);
		assert_string_equal(what, allowed);
	}
}

static void rates_take_k_m_and_g(void **state)
{
	static const struct real_row good[] = {{"0", 0}, {"500", 500}, {"20k", 20000},
		{"1.5M", 1500000}, {"0.1", 0.1}, {"0.5k", 500}, {"1.1k", 1100}, {"2G", 2e9},
		{"0.3", 0.3}, {"99999999999999999999", 1e20}, {NULL, 0}};
	static const char *const bad[] = {"", "50q", "20K", "1e5", "-1", "+1", " 1", "1 ", "1 k",
		".5", "5.", "0x10", "010", "00", "1..5", "1.5.5", "k", "max", "nan", "inf", "1kk",
		"20k/s", "1,000", "100000000000000000000", "1m", NULL};

	assert_real(units_parse_rate, good);
	assert_real_refused(units_parse_rate, bad, "a rate (like 500, 20k or 1.5M)");
}

static void counts_are_whole(void **state)
{
	static const struct whole_row good[] = {{"0", 0}, {"7", 7}, {"100k", 100000},
		{"1.5M", 1500000}, {"1.5k", 1500}, {"10.0", 10}, {"2G", 2000000000},
		{"18446744073709551615", UINT64_MAX}, {NULL, 0}};
	static const char *const bad[] = {"", "1.5", "1.2345k", "-1", "0x10", "010", "1e5", "10K",
		"18446744073709551616", "18446744073709551615k", "1s", "one", NULL};

	assert_whole(units_parse_count, good);
	assert_whole_refused(units_parse_count, bad, "a count (like 500, 100k or 1.5M)");
}

static void durations_need_a_unit(void **state)
{
	static const struct whole_row good[] = {{"0", 0}, {"0s", 0}, {"0.0", 0}, {"1ns", 1},
		{"250us", 250000}, {"20ms", 20000000}, {"1.5ms", 1500000}, {"10s", 10000000000},
		{"5m", 300000000000}, {"2h", 7200000000000}, {"1d", 86400000000000},
		{"0.5h", 1800000000000}, {"0.000001s", 1000},
		{"18446744073709551615ns", UINT64_MAX}, {NULL, 0}};
	static const char *const bad[] = {"", "10", "1", "1.5ns", "10 s", "10S", "10sec", "-1s",
		"s", "1h30m", "01s", "1e3s", "213504d", "auto", "10µs", NULL};

	assert_whole(units_parse_duration, good);
	assert_whole_refused(
		units_parse_duration, bad, "a duration with its unit (like 250us, 20ms or 10s)");
}

static void sizes_are_binary(void **state)
{
	static const struct whole_row good[] = {{"0", 0}, {"0B", 0}, {"1500B", 1500},
		{"64KiB", 65536}, {"512MiB", 536870912}, {"1.5GiB", 1610612736}, {"0.5KiB", 512},
		{NULL, 0}};
	static const char *const bad[] = {"", "64", "64K", "64KB", "64kB", "64kib", "1.5B",
		"0.3KiB", "-1B", "17179869184GiB", "1TiB", "KiB", NULL};

	assert_whole(units_parse_size, good);
	assert_whole_refused(units_parse_size, bad, "a size with its unit (like 64KiB or 512MiB)");
}

static void percentages_are_the_nearest_share(void **state)
{
	static const struct real_row good[] = {{"0", 0}, {"0%", 0}, {"0.1%", 0.001}, {"100%", 1},
		{"33.3%", 0.333}, {"0.07%", 0.0007}, {"250%", 2.5}, {NULL, 0}};
	static const char *const bad[] = {
		"", "1", "0.1", "%", "-1%", "1%%", "1 %", "1e-3%", "01%", NULL};

	assert_real(units_parse_percent, good);
	assert_real_refused(units_parse_percent, bad, "a percentage with its sign (like 0.1%)");
}

static void texts_are_the_shortest(void **state)
{
	char buf[UNITS_TEXT_SIZE];

	assert_string_equal(units_format_rate(0, buf, sizeof(buf)), "0");
	assert_string_equal(units_format_rate(500, buf, sizeof(buf)), "500");
	assert_string_equal(units_format_rate(20000, buf, sizeof(buf)), "20k");
	assert_string_equal(units_format_rate(1500000, buf, sizeof(buf)), "1.5M");
	assert_string_equal(units_format_rate(1500, buf, sizeof(buf)), "1500");
	assert_string_equal(units_format_rate(1234567, buf, sizeof(buf)), "1234567");
	assert_string_equal(units_format_rate(0.1, buf, sizeof(buf)), "0.1");
	assert_string_equal(units_format_rate(1e21, buf, sizeof(buf)), "1000000000000G");
	assert_string_equal(units_format_plain(20000, buf, sizeof(buf)), "20000");
	assert_string_equal(units_format_plain(1e19, buf, sizeof(buf)), "10000000000000000000");
	assert_string_equal(units_format_plain(1e21, buf, sizeof(buf)), "1e+21");
	assert_string_equal(units_format_plain(0.25, buf, sizeof(buf)), "0.25");
	assert_string_equal(units_format_count(100000, buf, sizeof(buf)), "100k");
	assert_string_equal(units_format_count(1500, buf, sizeof(buf)), "1500");
	assert_string_equal(units_format_count(0, buf, sizeof(buf)), "0");
	assert_string_equal(units_format_duration(0, buf, sizeof(buf)), "0s");
	assert_string_equal(units_format_duration(250000, buf, sizeof(buf)), "250us");
	assert_string_equal(units_format_duration(100000000, buf, sizeof(buf)), "100ms");
	assert_string_equal(units_format_duration(1500000000, buf, sizeof(buf)), "1.5s");
	assert_string_equal(units_format_duration(90000000000, buf, sizeof(buf)), "90s");
	assert_string_equal(units_format_duration(7200000000000, buf, sizeof(buf)), "2h");
	assert_string_equal(
		units_format_duration(UINT64_MAX, buf, sizeof(buf)), "18446744073709551615ns");
	assert_string_equal(units_format_size(65536, buf, sizeof(buf)), "64KiB");
	assert_string_equal(units_format_size(1000, buf, sizeof(buf)), "1000B");
	assert_string_equal(units_format_size(0, buf, sizeof(buf)), "0B");
	assert_string_equal(units_format_percent(0.001, buf, sizeof(buf)), "0.1%");
	assert_string_equal(units_format_percent(0.333, buf, sizeof(buf)), "33.3%");
	assert_string_equal(units_format_percent(0, buf, sizeof(buf)), "0%");
	assert_string_equal(units_format_percent(2.5, buf, sizeof(buf)), "250%");
	assert_string_equal(units_format_percent(1e21, buf, sizeof(buf)), "1e+23%");
}

static uint64_t number_like(struct rand *r)
{
	static const uint64_t steps[] = {
		1, 10, 1000, 1024, 1000000, 1u << 20, 1000000000, 60000000000, 3600000000000};
	uint64_t v = rand_next(r) >> rand_scale(rand_next(r), 64);

	return v / steps[rand_scale(rand_next(r), 9)] * steps[rand_scale(rand_next(r), 9)];
}

static void every_whole_number_comes_back(void **state)
{
	struct rand r = {11};
	char buf[UNITS_TEXT_SIZE];
	const char *what;

	for (unsigned i = 0; i < 20000; i++) {
		uint64_t v = i < 5 ? UINT64_MAX - i : number_like(&r), back = 0;

		assert_int_equal(
			units_parse_count(units_format_count(v, buf, sizeof(buf)), &back, &what),
			0);
		assert_int_equal(back, v);
		assert_int_equal(units_parse_duration(
					 units_format_duration(v, buf, sizeof(buf)), &back, &what),
			0);
		assert_int_equal(back, v);
		assert_int_equal(
			units_parse_size(units_format_size(v, buf, sizeof(buf)), &back, &what), 0);
		assert_int_equal(back, v);
	}
}

static void every_usual_double_comes_back(void **state)
{
	struct rand r = {12};
	char buf[UNITS_TEXT_SIZE];
	const char *what;

	for (unsigned i = 0; i < 20000; i++) {
		double v = (double)(rand_next(&r) >> rand_scale(rand_next(&r), 60)) /
		           (double)(i % 7 ? 1 << i % 20 : 1000),
		       share = v / 1e21 + 0.001, back = 0;

		assert_int_equal(
			units_parse_rate(units_format_rate(v, buf, sizeof(buf)), &back, &what), 0);
		assert_true(back == v);
		assert_int_equal(units_parse_percent(units_format_percent(share, buf, sizeof(buf)),
					 &back, &what),
			0);
		assert_true(back == share);
	}
}

static void odd_doubles_do_not_break_the_text(void **state)
{
	static const double odd[] = {INFINITY, NAN, -1, 1e300, 1e-300, 5e-324, 1e30, 123e-19};
	char buf[32];

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_true(strlen(units_format_rate(odd[i], buf, sizeof(buf))) < sizeof(buf));
		assert_true(strlen(units_format_plain(odd[i], buf, sizeof(buf))) > 0);
		assert_true(strlen(units_format_percent(odd[i], buf, sizeof(buf))) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_take_k_m_and_g),
		cmocka_unit_test(counts_are_whole),
		cmocka_unit_test(durations_need_a_unit),
		cmocka_unit_test(sizes_are_binary),
		cmocka_unit_test(percentages_are_the_nearest_share),
		cmocka_unit_test(texts_are_the_shortest),
		cmocka_unit_test(every_whole_number_comes_back),
		cmocka_unit_test(every_usual_double_comes_back),
		cmocka_unit_test(odd_doubles_do_not_break_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

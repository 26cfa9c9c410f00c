// SPDX-License-Identifier: BSD-3-Clause
// Numbers and rows as text for people.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sample.h"
#include "stats/text.h"

static void assert_format(double value, const char *unit, const char *expected)
{
	char buf[32];

	assert_ptr_equal(stats_format(value, unit, buf, sizeof(buf)), buf);
	assert_string_equal(buf, expected);
}

static void times_get_the_unit_that_fits(void **state)
{
	assert_format(0, "ns", "0 ns");
	assert_format(37.2, "ns", "37.2 ns");
	assert_format(812, "ns", "812 ns");
	assert_format(12345, "ns", "12.3 us");
	assert_format(1.2e6, "ns", "1.20 ms");
	assert_format(2.5e9, "ns", "2.50 s");
	assert_format(3.6e12, "ns", "3600 s");
	assert_format(10, "s", "10.0 s");
}

static void rounding_never_leaves_a_thousand_of_the_smaller_unit(void **state)
{
	assert_format(999.4, "ns", "999 ns");
	assert_format(999.6, "ns", "1.00 us");
	assert_format(999999, "ns", "1.00 ms");
	assert_format(9.999e6, "ns", "10.0 ms");
	assert_format(99.99e6, "ns", "100 ms");
	assert_format(999.5, "ns", "1.00 us");
	assert_format(99.95, "ns", "100 ns");
	assert_format(9.995, "ns", "10.0 ns");
}

static void rates_and_ratios_read_as_people_write_them(void **state)
{
	assert_format(0, "per_s", "0 /s");
	assert_format(500, "per_s", "500 /s");
	assert_format(20000, "per_s", "20.0 k/s");
	assert_format(1.5e6, "per_s", "1.50 M/s");
	assert_format(0, "1", "0 %");
	assert_format(0.0025, "1", "0.25 %");
	assert_format(1, "1", "100 %");
}

static void a_small_ratio_is_never_printed_as_zero(void **state)
{
	assert_format(5e-6, "1", "0.00050 %");
	assert_format(1e-9, "1", "0.00000010 %");
}

static void counts_are_grouped_by_thousands(void **state)
{
	assert_format(0, NULL, "0");
	assert_format(999, NULL, "999");
	assert_format(1000, NULL, "1 000");
	assert_format(1234567, NULL, "1 234 567");
	assert_format(123456, "packets", "123 456");
	assert_format(-1234, NULL, "-1 234");
	assert_format(18446744073709551615.0, NULL, "18 446 744 073 709 551 616");
}

static void what_is_no_number_is_said_so(void **state)
{
	assert_format(NAN, "ns", "-");
	assert_format(INFINITY, "ns", "inf");
	assert_format(-INFINITY, NULL, "-inf");
	assert_format(1e300, NULL, "1e+300");
}

static void assert_rows(const struct sample *s, unsigned indent, const char *expected)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	stats_text(&sample_section, s, indent, f);
	fclose(f);
	assert_string_equal(text, expected);
	free(text);
}

static void rows_are_lines_indented_by_depth(void **state)
{
	struct sample s = sample_full();

	assert_rows(&s, 1,
		" name                        s\n"
		" sent                        1 234 567\n"
		" loss                        0.25 %\n"
		" rate                        20.0 k/s\n"
		" known                       yes\n"
		" inside\n"
		"   lost                        5\n"
		" parts\n"
		"   name                        a\n"
		"   lost                        1\n"
		"   p99_ns                      1.00 us\n"
		"   name                        a.b\n"
		"   lost                        2\n"
		"   p99_ns                      inf\n"
		" reasons                     first\n"
		" reasons                     second\n"
		" dns\n"
		"   rcode.NOERROR               7\n"
		"   rcode.SERV.FAIL             12 345\n");
}

static void rows_that_are_zero_or_absent_are_not_printed(void **state)
{
	static const struct sample_own nothing;
	struct sample s = {0};

	assert_rows(&s, 0, "");
	assert_false(stats_any(&sample_section, &s));
	s.own = (struct counter_choice){&sample_own_section, &nothing};
	assert_rows(&s, 0, "");
	assert_false(stats_any(&sample_section, &s));
	s.known = true;
	assert_true(stats_any(&sample_section, &s));
}

static void the_reference_has_every_path(void **state)
{
	static const char *const paths[] = {"x.sent ", "x.loss ", "x.inside.lost ",
		"x.maybe.p99_ns ", "x.parts.NAME.lost ", "x.reasons ", "x.* "};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	stats_document(&sample_section, "x.", f);
	stats_document(&sample_own_section, "x.dns.", f);
	fclose(f);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_non_null(strstr(text, paths[i]));
	assert_non_null(strstr(text, "x.dns.rcode.LABEL "));
	assert_non_null(strstr(text, "(LABEL: NOERROR, FORMERR, SERV.FAIL, NXDOMAIN)"));
	free(text);
}

static void the_reference_shows_four_labels(void **state)
{
	static const char *const expected[] = {"", " (LABEL: NOERROR)",
		" (LABEL: NOERROR, FORMERR)", " (LABEL: NOERROR, FORMERR, SERV.FAIL)",
		" (LABEL: NOERROR, FORMERR, SERV.FAIL, NXDOMAIN)",
		" (LABEL: NOERROR, FORMERR, SERV.FAIL, NXDOMAIN, ...)"};

	for (uint32_t length = 0; length < 6; length++) {
		struct counter row = sample_own_rows[0];
		const struct counter_section section = {"dns", "a protocol", &row, 1, 0};
		char *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);

		row.length = length;
		stats_document(&section, "", f);
		fclose(f);
		assert_string_equal(strstr(text, "RCODE") + strlen("RCODE"),
			strcat(strcpy((char[80]){0}, expected[length]), "\n"));
		free(text);
	}
}

static void a_template_has_figures_with_their_units(void **state)
{
	static const struct {
		const char *template, *text;
	} cases[] = {
		{"{name}: {sent} sent, loss {loss}, {rate}\n",
			"s: 1 234 567 sent, loss 0.25 %, 20.0 k/s\n"},
		{"[{inside.lost:4}|{inside.lost:-4}|{sent:%.3g}]", "[   5|5   |1.23e+06]"},
		{"{own.rcode.NOERROR}{nothing}", "--"},
		{"{dns.rcode.NOERROR}, {inside.name}", "7, -"},
		{"<a {inside.lost}>< b {maybe.lost}>< c {inside.name}>< d {dns.truncated}>", "a 5"},
		{"<{?known}{maybe.lost} lost><{!known}, no><{!maybe.lost}, none>", "0 lost, none"},
	};
	struct sample s = sample_full();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);

		stats_print((struct stats_figures){&sample_section, &s}, cases[i].template, f);
		fclose(f);
		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

static void a_template_is_printed_for_each_element(void **state)
{
	struct sample s = sample_full();
	struct stats_figures in = {&sample_section, &s};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	stats_print_list(in, "parts", "{name} {lost} {p99_ns};", f);
	stats_print(stats_element(in, "parts", 1), " {name}", f);
	stats_print(stats_inside(in, "inside"), " {lost}", f);
	fclose(f);
	assert_string_equal(text, "a 1 1.00 us;a.b 2 lost; a.b 5");
	assert_null(stats_element(in, "parts", 2).data);
	assert_null(stats_inside(in, "maybe").data);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_get_the_unit_that_fits),
		cmocka_unit_test(rounding_never_leaves_a_thousand_of_the_smaller_unit),
		cmocka_unit_test(rates_and_ratios_read_as_people_write_them),
		cmocka_unit_test(a_small_ratio_is_never_printed_as_zero),
		cmocka_unit_test(counts_are_grouped_by_thousands),
		cmocka_unit_test(what_is_no_number_is_said_so),
		cmocka_unit_test(rows_are_lines_indented_by_depth),
		cmocka_unit_test(rows_that_are_zero_or_absent_are_not_printed),
		cmocka_unit_test(a_template_has_figures_with_their_units),
		cmocka_unit_test(a_template_is_printed_for_each_element),
		cmocka_unit_test(the_reference_has_every_path),
		cmocka_unit_test(the_reference_shows_four_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

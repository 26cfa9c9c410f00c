// SPDX-License-Identifier: BSD-3-Clause
// The names that a criterion may use, and the values found.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample.h"
#include "stats/lookup.h"

static void assert_found(const struct sample *s, const char *path, double value, const char *unit)
{
	struct stats_value v = {-1, "none"};

	assert_int_equal(stats_lookup(&sample_section, s, path, &v), 0);
	assert_true(v.value == value);
	if (unit)
		assert_string_equal(v.unit, unit);
	else
		assert_null(v.unit);
}

static void assert_unknown(const struct sample *s, const char *path)
{
	struct stats_value v;

	assert_int_equal(stats_lookup(&sample_section, s, path, &v), -ENOENT);
}

static void figures_are_found_with_their_unit(void **state)
{
	struct sample s = sample_full();

	assert_found(&s, "sent", 1234567, NULL);
	assert_found(&s, "loss", 0.0025, "1");
	assert_found(&s, "rate", 20000, "per_s");
	assert_found(&s, "known", 1, NULL);
	assert_found(&s, "inside.lost", 5, NULL);
}

static void list_items_are_found_by_name_even_with_dots(void **state)
{
	struct sample s = sample_full();

	assert_found(&s, "parts.a.lost", 1, NULL);
	assert_found(&s, "parts.a.b.lost", 2, NULL);
	assert_found(&s, "parts.a.b.p99_ns", INFINITY, "ns");
	assert_unknown(&s, "parts.c.lost");
	assert_unknown(&s, "parts.a");
}

static void labels_are_found_below_the_name_of_the_choice(void **state)
{
	struct sample s = sample_full();

	assert_found(&s, "dns.rcode.NOERROR", 7, "packets");
	assert_found(&s, "dns.rcode.SERV.FAIL", 12345, "packets");
	assert_found(&s, "dns.rcode.NXDOMAIN", 0, "packets");
	assert_unknown(&s, "dns.rcode.YXDOMAIN");
	assert_unknown(&s, "dns.rcode");
	assert_unknown(&s, "own.truncated");
	assert_unknown(&s, "dhcp4.truncated");
}

static void what_is_known_and_absent_is_0(void **state)
{
	struct sample s = {0};

	assert_found(&s, "maybe.lost", 0, NULL);
	assert_unknown(&s, "dns.truncated");
	s.own.section = &sample_own_section;
	assert_found(&s, "dns.truncated", 0, NULL);
	assert_found(&s, "dns.rcode.NOERROR", 0, "packets");
}

static void paths_that_name_no_figure_are_unknown(void **state)
{
	static const char *const paths[] = {"", ".", "sent.", "sent.x", "sen", "sentx", "name",
		"reasons", "inside", "inside.", "inside.name", "..", "parts", "parts.", "dns",
		"dns."};
	struct sample s = sample_full();

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_unknown(&s, paths[i]);
}

struct seen {
	const struct sample *s;
	unsigned count;
};

static void see(void *ctx, const char *path)
{
	struct seen *seen = ctx;
	struct stats_value v;

	assert_int_equal(stats_lookup(&sample_section, seen->s, path, &v), 0);
	seen->count++;
}

static void every_path_that_is_told_can_be_looked_up(void **state)
{
	struct sample s = sample_full();
	struct seen seen = {&s, 0};
	const struct stats_paths to = {see, &seen, arena_new()};

	stats_paths(&sample_section, &s, "", &to);
	assert_int_equal(seen.count, 4 + 2 + 2 + 2 * 2 + 5);
	arena_free(to.a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_path_that_is_told_can_be_looked_up),
		cmocka_unit_test(figures_are_found_with_their_unit),
		cmocka_unit_test(list_items_are_found_by_name_even_with_dots),
		cmocka_unit_test(labels_are_found_below_the_name_of_the_choice),
		cmocka_unit_test(what_is_known_and_absent_is_0),
		cmocka_unit_test(paths_that_name_no_figure_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

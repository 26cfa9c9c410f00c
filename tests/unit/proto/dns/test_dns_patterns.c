// SPDX-License-Identifier: BSD-3-Clause
// Inline names: patterns expanded in order, random characters in their places. Path: tests only.

#include "dns_fixture.h"

#include <errno.h>

#include "base/log.h"
#include "proto/dns/client/dns_patterns.h"

struct loaded {
	struct dns_queries q;
	struct diag *d;
	int ret;
};

static struct loaded load(const char *line)
{
	struct loaded l = {.d = diag_new()};
	struct field_list names = {&line, 1};

	l.ret = dns_queries_load_names(&l.q, &fixture_form, &names, l.d);
	return l;
}

static void unload(struct loaded *l)
{
	dns_queries_free(&l->q);
	diag_free(l->d);
}

static const uint8_t *entry(const struct loaded *l, uint32_t i)
{
	assert_true(i < l->q.count);
	return l->q.blob + l->q.offsets[i];
}

static void assert_name(const struct loaded *l, uint32_t i, const char *text)
{
	uint8_t wire[DNS_NAME_MAX];
	struct dns_text_error e;
	int len = dns_name_from_text(text, strlen(text), wire, &e);

	assert_int_equal(l->q.offsets[i + 1] - l->q.offsets[i], len + DNS_ENTRY_HEAD + 4);
	assert_memory_equal(entry(l, i) + DNS_ENTRY_HEAD, wire, (size_t)len);
}

static void assert_refused(const char *line, const char *what)
{
	struct loaded l = load(line);

	assert_int_equal(l.ret, -EINVAL);
	assert_diag_has(l.d, what);
	unload(&l);
}

static void the_first_and_the_last_type_are_types(void **state)
{
	static const char *const lines[] = {"a TYPE0", "a TYPE65535"};

	for (uint32_t i = 0; i < 2; i++) {
		struct loaded l = load(lines[i]);

		assert_int_equal(l.ret, 0);
		assert_memory_equal(
			entry(&l, 0) + DNS_ENTRY_HEAD + 3, i ? "\xff\xff\0\1" : "\0\0\0\1", 4);
		unload(&l);
	}
	assert_refused("a TYPE65536", "not a type");
}

static void a_name_without_patterns_is_one_query(void **state)
{
	struct loaded l = load("www.example.com A");

	assert_int_equal(l.ret, 0);
	assert_int_equal(l.q.count, 1);
	assert_name(&l, 0, "www.example.com");
	unload(&l);
}

static void ranges_count_with_both_ends(void **state)
{
	struct loaded l = load("h{8-11}.example A");

	assert_int_equal(l.q.count, 4);
	assert_name(&l, 0, "h8.example");
	assert_name(&l, 1, "h9.example");
	assert_name(&l, 3, "h11.example");
	unload(&l);
}

static void leading_zeros_are_kept(void **state)
{
	struct loaded l = load("h{000-120}.example A");

	assert_int_equal(l.q.count, 121);
	assert_name(&l, 0, "h000.example");
	assert_name(&l, 7, "h007.example");
	assert_name(&l, 120, "h120.example");
	unload(&l);
	l = load("{0-10} A");
	assert_name(&l, 0, "0");
	assert_name(&l, 10, "10");
	unload(&l);
}

static void several_ranges_give_every_combination_the_last_fastest(void **state)
{
	struct loaded l = load("{1-2}.{5-7}.x{0-1} MX");

	assert_int_equal(l.q.count, 12);
	assert_name(&l, 0, "1.5.x0");
	assert_name(&l, 1, "1.5.x1");
	assert_name(&l, 2, "1.6.x0");
	assert_name(&l, 6, "2.5.x0");
	assert_name(&l, 11, "2.7.x1");
	unload(&l);
}

static void random_characters_are_found_again_in_wire_form(void **state)
{
	struct loaded l = load("a\\046b.{random:12}-x.example A");

	assert_int_equal(l.q.count, 1);
	assert_name(&l, 0, "a\\046b.aaaaaaaaaaaa-x.example");
	assert_int_equal(entry(&l, 0)[0], 5); // 3 a . b, 14
	assert_int_equal(entry(&l, 0)[1], 12);
	assert_int_equal(l.q.random_lens, 1u << 12);
	unload(&l);
	l = load("{random:40}{3-4} A");
	assert_int_equal(l.q.count, 2);
	assert_int_equal(entry(&l, 1)[0], 1);
	assert_int_equal(entry(&l, 1)[1], 40);
	assert_int_equal(l.q.random_lens, 1u << 12);
	unload(&l);
	l = load("{random:3} A");
	assert_int_equal(l.q.random_lens, 1u << 3);
	unload(&l);
}

static void an_escaped_brace_is_text(void **state)
{
	struct loaded l = load("a\\{0-9} A");

	assert_int_equal(l.q.count, 1);
	assert_name(&l, 0, "a\\{0-9}");
	unload(&l);
}

static void what_is_no_pattern_is_refused(void **state)
{
	assert_refused("h{} A", "not a pattern");
	assert_refused("h{5} A", "not a pattern");
	assert_refused("h{5-} A", "not a pattern");
	assert_refused("h{-5} A", "not a pattern");
	assert_refused("h{9-5} A", "not a pattern");
	assert_refused("h{1-2x} A", "not a pattern");
	assert_refused("h{1-99999999999} A", "not a pattern");
	assert_refused("h{random} A", "not a pattern");
	assert_refused("h{random:} A", "not a pattern");
	assert_refused("h{random:0} A", "not a pattern");
	assert_refused("h{random:64} A", "not a pattern");
	assert_refused("h{1-2 A", "open brace");
	assert_refused("{random:3}{random:3} A", "only one");
}

static void what_is_no_line_is_refused(void **state)
{
	assert_refused("", "no name");
	assert_refused("; comment", "no name");
	assert_refused("www.example.com", "no type");
	assert_refused("www.example.com AAA", "not a type");
	assert_refused("www.example.com CH", "no type after the class");
	assert_refused("www.example.com A X", "a word after the type");
	assert_refused("www..com A", "empty label");
}

static void what_is_too_long_or_too_much_is_refused(void **state)
{
	char line[1200] = "";

	assert_refused("{0-99999}{0-99999} A", "100 million");
	assert_refused("{0-999999999} A", "100 million");
	assert_refused("x{random:63} A", "63 octets");
	for (int i = 0; i < 120; i++)
		strcat(line, "{1-2}");
	strcat(line, " A");
	assert_refused(line, "100 million");
	line[0] = 0;
	for (int i = 0; i < 200; i++)
		strcat(line, "{1-1}");
	strcat(line, " A");
	assert_refused(line, "too many patterns");
	memset(line, 'x', sizeof(line));
	strcpy(line + sizeof(line) - 3, " A");
	assert_refused(line, "255 octets");
}

static void every_bad_line_is_told(void **state)
{
	const char *lines[] = {"a A", "b", "c {", "d A"};
	struct field_list names = {lines, 4};
	struct dns_queries q = {0};
	struct diag *d = diag_new();

	assert_int_equal(dns_queries_load_names(&q, &fixture_form, &names, d), -EINVAL);
	assert_int_equal(diag_count(d), 2);
	assert_diag_has(d, "\"b\": no type");
	dns_queries_free(&q);
	diag_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_and_the_last_type_are_types),
		cmocka_unit_test(a_name_without_patterns_is_one_query),
		cmocka_unit_test(ranges_count_with_both_ends),
		cmocka_unit_test(leading_zeros_are_kept),
		cmocka_unit_test(several_ranges_give_every_combination_the_last_fastest),
		cmocka_unit_test(random_characters_are_found_again_in_wire_form),
		cmocka_unit_test(an_escaped_brace_is_text),
		cmocka_unit_test(what_is_no_pattern_is_refused),
		cmocka_unit_test(what_is_no_line_is_refused),
		cmocka_unit_test(what_is_too_long_or_too_much_is_refused),
		cmocka_unit_test(every_bad_line_is_told),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

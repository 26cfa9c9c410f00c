// SPDX-License-Identifier: BSD-3-Clause
// Errors find the line that filled the memory, are in order, and none is repeated.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/diag.h"

static void expect(struct diag *d, const char *wanted)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	diag_print(d, out);
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
}

struct inner {
	int a, b;
};

struct outer {
	int x;
	struct inner inner;
};

static void an_error_takes_the_innermost_mark(void **state)
{
	struct diag *d = diag_new();
	struct outer o;

	diag_mark(d, &o, sizeof(o), "f.yaml", 1, 1, "");
	diag_mark(d, &o.inner, sizeof(o.inner), "f.yaml", 3, 5, "inner");
	diag_mark(d, &o.inner.b, sizeof(o.inner.b), "f.yaml", 4, 7, "inner.b");
	diag_error(d, &o.inner.b, NULL, "too big (%d)", 7);
	diag_error(d, &o.inner.a, "a", "is missing");
	diag_error(d, &o.inner, NULL, "odd");
	diag_error(d, &o.x, "x", "is missing");
	diag_error(d, &o.x, NULL, "the whole");
	diag_error(d, d, NULL, "nowhere");
	diag_error(d, d, "key", "nowhere");
	assert_int_equal(diag_count(d), 7);
	expect(d, "nowhere\n"
		  "key: nowhere\n"
		  "f.yaml:1:1: x: is missing\n"
		  "f.yaml:1:1: the whole\n"
		  "f.yaml:3:5: inner.a: is missing\n"
		  "f.yaml:3:5: inner: odd\n"
		  "f.yaml:4:7: inner.b: too big (7)\n");
	diag_free(d);
}

// A struct and its first member have one address, so the key decides which of them is meant.
static void a_key_is_looked_for_in_its_section(void **state)
{
	struct diag *d = diag_new();
	struct outer o;

	diag_mark_section(d, &o, sizeof(o), "f.yaml", 1, 1, "");
	diag_mark(d, &o.x, sizeof(o.x), "f.yaml", 2, 4, "x");
	diag_mark_section(d, &o.inner, sizeof(o.inner), "f.yaml", 3, 5, "inner");
	diag_mark(d, &o.inner.a, sizeof(o.inner.a), "f.yaml", 4, 7, "inner.a");
	diag_error(d, &o, "", "the whole");
	diag_error(d, &o, "x", "own line");
	diag_error(d, &o, "y", "not there");
	diag_error(d, &o.inner, "", "inner");
	diag_error(d, &o.inner, "a", "by the struct");
	diag_error(d, &o.inner.a, "a", "by the member");
	diag_error(d, &o.inner.b, "b", "not in the file");
	diag_error(d, &o.inner, NULL, "innermost");
	expect(d, "f.yaml:1:1: the whole\n"
		  "f.yaml:1:1: y: not there\n"
		  "f.yaml:2:4: x: own line\n"
		  "f.yaml:3:5: inner: inner\n"
		  "f.yaml:3:5: inner.b: not in the file\n"
		  "f.yaml:4:7: inner.a: by the struct\n"
		  "f.yaml:4:7: inner.a: by the member\n"
		  "f.yaml:4:7: inner.a: innermost\n");
	diag_free(d);
}

static void of_marks_of_one_size_the_last_counts(void **state)
{
	struct diag *d = diag_new();
	struct {
		int only;
	} s;

	diag_mark(d, &s, sizeof(s), "f.yaml", 1, 1, "s");
	diag_mark(d, &s.only, sizeof(s.only), "f.yaml", 2, 3, "s.only");
	diag_error(d, &s.only, NULL, "bad");
	expect(d, "f.yaml:2:3: s.only: bad\n");
	diag_free(d);
}

static void memory_beyond_a_mark_is_not_covered(void **state)
{
	struct diag *d = diag_new();
	char bytes[8];

	diag_mark(d, bytes + 2, 4, "f.yaml", 1, 1, "p");
	assert_null(diag_file(d, bytes + 1));
	assert_string_equal(diag_file(d, bytes + 2), "f.yaml");
	assert_string_equal(diag_file(d, bytes + 5), "f.yaml");
	assert_null(diag_file(d, bytes + 6));
	diag_free(d);
}

static void a_key_beyond_its_section_is_not_taken(void **state)
{
	struct diag *d = diag_new();
	char bytes[8];

	diag_mark_section(d, bytes, 4, "f.yaml", 1, 1, "");
	diag_mark(d, bytes + 4, 4, "f.yaml", 2, 2, "x");
	diag_error(d, bytes, "x", "is missing");
	expect(d, "f.yaml:1:1: x: is missing\n");
	diag_free(d);
}

static void the_command_line_is_not_a_file(void **state)
{
	struct diag *d = diag_new();
	int x;

	diag_mark(d, &x, sizeof(x), "--set dir/x=1", 0, 0, "x");
	assert_null(diag_file(d, &x));
	diag_error(d, &x, NULL, "bad");
	expect(d, "--set dir/x=1: x: bad\n");
	diag_free(d);
}

static void errors_come_by_file_line_and_column(void **state)
{
	struct diag *d = diag_new();

	diag_error_at(d, "b.yaml", 9, 1, NULL, "third");
	diag_error_at(d, "a.yaml", 1, 1, NULL, "fifth");
	diag_error_at(d, "b.yaml", 9, 2, "p.q", "fourth");
	diag_error_at(d, "b.yaml", 2, 5, "p", "second");
	diag_error_at(d, "b.yaml", 0, 0, NULL, "first");
	diag_error_at(d, "a.yaml", 1, 1, NULL, "earlier word, later in time");
	expect(d, "b.yaml: first\n"
		  "b.yaml:2:5: p: second\n"
		  "b.yaml:9:1: third\n"
		  "b.yaml:9:2: p.q: fourth\n"
		  "a.yaml:1:1: fifth\n"
		  "a.yaml:1:1: earlier word, later in time\n");
	diag_free(d);
}

static void the_same_error_comes_once(void **state)
{
	struct diag *d = diag_new();
	char name[] = "f.yaml";

	diag_error_at(d, name, 2, 1, "p", "bad %d", 1);
	diag_error_at(d, "f.yaml", 2, 1, "p", "bad %d", 1);
	diag_error_at(d, "f.yaml", 2, 1, "p", "bad %d", 2);
	diag_error_at(d, "f.yaml", 2, 1, NULL, "bad 1");
	assert_int_equal(diag_count(d), 3);
	diag_free(d);
}

static void marks_and_texts_outlive_the_callers(void **state)
{
	struct diag *d = diag_new();
	char file[] = "f.yaml", path[] = "p";
	int x;

	diag_mark(d, &x, sizeof(x), file, 1, 2, path);
	file[0] = path[0] = 'X';
	diag_error(d, &x, NULL, "bad");
	expect(d, "f.yaml:1:2: p: bad\n");
	diag_free(d);
}

static void an_error_in_a_text_is_at_its_character(void **state)
{
	struct diag *d = diag_new();
	char plain, quoted, set;

	diag_mark(d, &plain, 1, "f.yaml", 1, 5, "a");
	diag_mark(d, &quoted, 1, "f.yaml", 2, 5, "b");
	diag_mark_quoted(d);
	diag_mark(d, &set, 1, "--set c", 0, 0, "c");
	diag_error_in(d, &plain, 3, "bad");
	diag_error_in(d, &quoted, 3, "bad");
	diag_error_in(d, &set, 3, "bad");
	expect(d, "f.yaml:1:8: a: bad\nf.yaml:2:9: b: bad\n--set c: c: bad\n");
	diag_free(d);
}

static void a_path_in_a_file_is_relative_to_its_folder(void **state)
{
	struct diag *d = diag_new();
	struct arena *a = arena_new();
	const char *near = "q.txt", *far = "/q.txt", *set = "r.txt", *piped = "s.txt";

	diag_mark(d, &near, sizeof(near), "dir/f.yaml", 1, 5, "a");
	diag_mark(d, &far, sizeof(far), "dir/f.yaml", 2, 5, "b");
	diag_mark(d, &set, sizeof(set), "--set c/d", 0, 0, "c");
	assert_string_equal(diag_path(d, &near, a), "dir/q.txt");
	assert_string_equal(diag_path(d, &far, a), "/q.txt");
	assert_string_equal(diag_path(d, &set, a), "r.txt");
	diag_mark(d, &piped, sizeof(piped), "/dev/fd/63", 1, 5, "d");
	assert_string_equal(diag_path(d, &piped, a), "s.txt");
	arena_free(a);
	diag_free(d);
}

static void many_errors_are_counted_but_not_all_kept(void **state)
{
	struct diag *d = diag_new();
	char *text = NULL;
	size_t len;
	FILE *out;

	for (unsigned i = 0; i < 1500; i++)
		diag_error_at(d, "f.yaml", i + 1, 1, NULL, "bad");
	assert_int_equal(diag_count(d), 1500);
	out = open_memstream(&text, &len);
	diag_print(d, out);
	fclose(out);
	assert_non_null(strstr(text, "f.yaml:1000:1: bad\nand 500 more errors\n"));
	free(text);
	diag_free(d);
}

static void errors_of_the_box_are_told_from_those_of_the_file(void **state)
{
	struct diag *d = diag_new();

	diag_of_box(d);
	assert_false(diag_all_of_box(d));
	diag_error_at(d, "a", 1, 1, NULL, "no such host");
	assert_false(diag_all_of_box(d));
	diag_of_box(d);
	assert_true(diag_all_of_box(d));
	diag_error_at(d, "a", 2, 1, NULL, "wrong");
	assert_false(diag_all_of_box(d));
	diag_free(d);
}

static void nothing_prints_as_nothing(void **state)
{
	struct diag *d = diag_new();

	expect(d, "");
	assert_int_equal(diag_count(d), 0);
	diag_free(d);
	diag_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_takes_the_innermost_mark),
		cmocka_unit_test(a_key_is_looked_for_in_its_section),
		cmocka_unit_test(of_marks_of_one_size_the_last_counts),
		cmocka_unit_test(memory_beyond_a_mark_is_not_covered),
		cmocka_unit_test(a_key_beyond_its_section_is_not_taken),
		cmocka_unit_test(the_command_line_is_not_a_file),
		cmocka_unit_test(errors_come_by_file_line_and_column),
		cmocka_unit_test(the_same_error_comes_once),
		cmocka_unit_test(marks_and_texts_outlive_the_callers),
		cmocka_unit_test(an_error_in_a_text_is_at_its_character),
		cmocka_unit_test(a_path_in_a_file_is_relative_to_its_folder),
		cmocka_unit_test(many_errors_are_counted_but_not_all_kept),
		cmocka_unit_test(errors_of_the_box_are_told_from_those_of_the_file),
		cmocka_unit_test(nothing_prints_as_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// The accepted and refused parts of YAML, and that a bad file gives an error and never a crash.
#include "fixture.h"

#include <unistd.h>

#include "conf/conf_internal.h"

static void lines_and_columns_are_those_of_an_editor(void **state)
{
	const struct node *n;
	struct fixture f;

	fixture_parse(&f, "# comment\nrun:\n  seed: 7\ncriteria:\n  - a\n  - \"b\"\n");
	assert_non_null(f.tree);
	n = node_find(node_find(f.tree->root, "run"), "seed");
	assert_int_equal(n->line, 3);
	assert_int_equal(n->col, 9);
	assert_int_equal(n->key_line, 3);
	assert_int_equal(n->key_col, 3);
	n = node_find(f.tree->root, "criteria")->last;
	assert_int_equal(n->line, 6);
	assert_int_equal(n->col, 5);
	assert_int_equal(n->index, 1);
	assert_true(n->quoted);
	fixture_end(&f);
}

static void paths_name_items_by_name_else_by_index(void **state)
{
	const struct node *list;
	struct fixture f;

	fixture_parse(&f,
		"traffic: [{load: {rate: 1}, name: q}, {load: 2}, [{name: \"\"}], {name: [x]}]\n");
	list = node_find(f.tree->root, "traffic");
	assert_string_equal(node_path(f.tree->root, f.a), "");
	assert_string_equal(node_path(list->first->first->first, f.a), "traffic.q.load.rate");
	assert_string_equal(node_path(list->first->next->first, f.a), "traffic[1].load");
	assert_string_equal(node_path(list->first->next->next->first, f.a), "traffic[2][0]");
	assert_string_equal(node_path(list->last, f.a), "traffic[3]");
	fixture_end(&f);
}

static void keys_given_twice_are_errors_beside_all_others(void **state)
{
	assert_load_errors("cpu: x\nrun: {seed: 1, seed: 2}\ncpu: 5\ncriteria: []\n\"cpu\": 6\n",
		"f.yaml:1:6: cpu: \"x\" is not a number or a range (like 4 or 4-7)\n"
		"f.yaml:2:16: run.seed: is given twice (first in line 2)\n"
		"f.yaml:3:1: cpu: is given twice (first in line 1)\n"
		"f.yaml:5:1: cpu: is given twice (first in line 1)\n");
}

static void anchors_aliases_and_tags_are_refused(void **state)
{
	assert_load_errors("run: &a {seed: x}\n"
			   "cpu: *a\n"
			   "criteria: [!!str a, &b c, *b, b]\n"
			   "own: !own 5\n",
		"f.yaml:1:1: run: has an anchor (\"&...\"), which is not supported\n"
		"f.yaml:1:16: run.seed: \"x\" is not a count (like 500, 100k or 1.5M)\n"
		"f.yaml:2:1: cpu: is an alias (\"*...\"), which is not supported\n"
		"f.yaml:3:12: criteria[0]: has a tag (\"!...\"), which is not supported\n"
		"f.yaml:3:21: criteria[1]: has an anchor (\"&...\"), which is not supported\n"
		"f.yaml:3:27: criteria[2]: is an alias (\"*...\"), which is not supported\n"
		"f.yaml:4:1: own: has a tag (\"!...\"), which is not supported\n");
}

static void items_that_are_refused_are_in_no_list(void **state)
{
	struct fixture f;

	fixture_load(&f, "criteria: [!!str a, &b c, *b, d]\n");
	assert_int_equal(f.s.criteria.count, 2);
	assert_string_equal(((char **)f.s.criteria.items)[0], "c");
	assert_string_equal(((char **)f.s.criteria.items)[1], "d");
	fixture_end(&f);
}

static void one_document_only(void **state)
{
	assert_load_errors("---\ncpu: 1\n...\n", "");
	assert_load_errors("cpu: 1\n---\ncpu: 2\n",
		"f.yaml:2:1: a second document (\"---\") is not supported\n");
}

static void keys_are_plain_words(void **state)
{
	assert_load_errors("? [a]\n: b\n", "f.yaml:1:3: a key must be a plain word\n");
	assert_load_errors("? {a: b}\n: b\n", "f.yaml:1:3: a key must be a plain word\n");
	assert_load_errors("*a : b\n", "f.yaml:1:1: a key must be a plain word\n");
	assert_load_errors("\"\": b\n", "f.yaml:1:1: a key is missing before \":\"\n");
	assert_load_errors(
		"&x a: b\n", "f.yaml:1:1: a key with an anchor or a tag is not supported\n");
	assert_load_errors("\"a\\0b\": b\n", "f.yaml:1:1: a key is missing before \":\"\n");
}

static void nul_characters_do_not_cut_a_value(void **state)
{
	assert_load_errors(
		"criteria: [\"a\\0b\"]\n", "f.yaml:1:12: criteria[0]: has a NUL character in it\n");
}

static void the_root_is_a_mapping(void **state)
{
	static const char empty[] = "f.yaml:1:1: nothing in this file (keys and values expected)\n";

	assert_load_errors("", empty);
	assert_load_errors("# comment\n", empty);
	assert_load_errors("---\n", empty);
	assert_load_errors(
		"\n- a\n", "f.yaml:2:1: not a mapping (lines of \"key: value\" expected)\n");
	assert_load_errors(
		"hello\n", "f.yaml:1:1: not a mapping (lines of \"key: value\" expected)\n");
}

static void syntax_errors_have_a_place(void **state)
{
	assert_load_errors(
		"run:\n  seed: 1\n cpu: 2\n", "f.yaml:3:2: not YAML: did not find expected key\n");
	assert_load_errors(
		"run: {seed: 1\n", "f.yaml:2:1: not YAML: did not find expected ',' or '}'\n");
	assert_load_errors("run: a: b\n",
		"f.yaml:1:7: not YAML: mapping values are not allowed in this context\n");
	assert_load_errors("\trun: 1\n",
		"f.yaml:1:1: not YAML: found character that cannot start any token\n");
}

static void bad_bytes_have_a_place(void **state)
{
	struct fixture f;
	const char *problem;

	fixture_load(&f, "cpu: 1\nrun: \xff\n");
	assert_null(f.tree);
	assert_int_equal(diag_count(f.d), 1);
	fixture_end(&f);
	problem = "f.yaml:2:6: not YAML: invalid leading UTF-8 octet\n";
	assert_load_errors("cpu: 1\nrun: \xff\n", problem);
}

static void depth_is_limited(void **state)
{
	char text[400], wanted[100];

	memset(text, '[', sizeof(text));
	memcpy(text, "cpu: ", 5);
	text[sizeof(text) - 1] = 0;
	snprintf(wanted, sizeof(wanted), "f.yaml:1:37: nested deeper than 32 levels\n");
	assert_load_errors(text, wanted);
}

static void the_number_of_keys_is_limited(void **state)
{
	struct fixture f;
	char text[4096];
	size_t len = 0;

	for (unsigned i = 0; i < 201; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "k%u: %u\n", i, i);
	fixture_parse(&f, text);
	assert_null(f.tree);
	assert_errors(&f, "f.yaml:201:1: more than 200 keys in one mapping\n");
	fixture_end(&f);
}

static void every_prefix_of_a_file_is_survived(void **state)
{
	static const char text[] = "run: {seed: 7, drain: auto}\n"
				   "traffic:\n  - name: \"q\\n\"\n    server: 1.2.3.4\n"
				   "    dns: {lines: [a, 'b', &c d, *e, !f g], option: 00ff}\n"
				   "criteria: >\n  x\n  y\n";

	for (size_t len = 0; len < sizeof(text); len++) {
		// On the heap, so that a read beyond the end is seen.
		char *copy = malloc(len + 1);
		struct arena *a = arena_new();
		struct diag *d = diag_new();
		struct sample s = {0};
		struct conf_tree *t;

		memcpy(copy, text, len);
		t = conf_parse_text("f.yaml", copy, len, a, d);
		if (t)
			conf_apply(t, &sample_section, &s, a, d);
		else
			assert_true(diag_count(d) > 0);
		diag_free(d);
		arena_free(a);
		free(copy);
	}
}

static void files_are_read_whole_or_named(void **state)
{
	char path[] = "/tmp/test_tree_XXXXXX";
	struct arena *a = arena_new();
	struct fixture f = {.a = a, .d = diag_new()};
	int fd = mkstemp(path);
	char comment[70000];

	memset(comment, '#', sizeof(comment));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, comment, sizeof(comment)), (ssize_t)sizeof(comment));
	assert_int_equal(write(fd, "\ncpu: 5\n", 8), 8);
	close(fd);
	f.tree = conf_parse_file(path, f.a, f.d);
	unlink(path);
	assert_non_null(f.tree);
	assert_string_equal(node_find(f.tree->root, "cpu")->text, "5");
	assert_null(conf_parse_file("/nonexistent/x.yaml", f.a, f.d));
	assert_null(conf_parse_file("/", f.a, f.d));
	assert_errors(&f, "/nonexistent/x.yaml: cannot read it: No such file or directory\n"
			  "/: cannot read it: Is a directory\n");
	fixture_end(&f);
}

static void a_file_of_16_mib_is_too_large(void **state)
{
	char path[] = "/tmp/test_tree_XXXXXX", wanted[100];
	struct fixture f = {.a = arena_new(), .d = diag_new()};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 16 << 20), 0);
	close(fd);
	assert_null(conf_parse_file(path, f.a, f.d));
	unlink(path);
	snprintf(wanted, sizeof(wanted), "%s: cannot read it: File too large\n", path);
	assert_errors(&f, wanted);
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_columns_are_those_of_an_editor),
		cmocka_unit_test(paths_name_items_by_name_else_by_index),
		cmocka_unit_test(keys_given_twice_are_errors_beside_all_others),
		cmocka_unit_test(anchors_aliases_and_tags_are_refused),
		cmocka_unit_test(items_that_are_refused_are_in_no_list),
		cmocka_unit_test(one_document_only),
		cmocka_unit_test(keys_are_plain_words),
		cmocka_unit_test(nul_characters_do_not_cut_a_value),
		cmocka_unit_test(the_root_is_a_mapping),
		cmocka_unit_test(syntax_errors_have_a_place),
		cmocka_unit_test(bad_bytes_have_a_place),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(the_number_of_keys_is_limited),
		cmocka_unit_test(every_prefix_of_a_file_is_survived),
		cmocka_unit_test(files_are_read_whole_or_named),
		cmocka_unit_test(a_file_of_16_mib_is_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// Orders on standard input: lines in pieces, too long lines, and early ends. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "process/orders.h"

static int kept, pipe_end;
static struct order_reader reader;
static char *lines[8]; // that were refused, as those without a verb are
static unsigned first, count;
static const char *why;
static json_t *taken; // the value and the line of the last order with a verb

static void note_refused(void *ctx, const char *line, const char *reason)
{
	assert_ptr_equal(ctx, &reader);
	lines[count++ % 8] = strdup(line);
	why = reason;
}

static const char *take(void *ctx, const json_t *value, const json_t *line)
{
	assert_ptr_equal(ctx, &reader);
	json_decref(taken);
	taken = json_pack("[O,O]", value, line);
	return json_is_null(value) ? "null" : NULL;
}

static const struct order_verb none[] = {{0}}, two[] = {{"order", take}, {"stop", take}, {0}};

// The next whole line that has arrived, until the call after the next; NULL: none.
static const char *next_line(void)
{
	static char *line;

	orders_read(&reader);
	free(line);
	line = first < count ? lines[first++ % 8] : NULL;
	return line;
}

static int open_input(void **state)
{
	int ends[2];

	kept = dup(STDIN_FILENO);
	assert_int_equal(pipe(ends), 0);
	assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
	close(ends[0]);
	pipe_end = ends[1];
	interrupt_count = 0;
	reader = (struct order_reader){.wanted = true,
		.size = ORDER_SIZE,
		.verbs = none,
		.refused = note_refused,
		.ctx = &reader};
	first = count = 0;
	return 0;
}

static int close_input(void **state)
{
	orders_close(&reader);
	assert_null(reader.line);
	if (pipe_end >= 0)
		close(pipe_end);
	assert_true(dup2(kept, STDIN_FILENO) >= 0);
	close(kept);
	interrupt_count = 0;
	return 0;
}

static void type(const char *text, size_t len)
{
	assert_int_equal(write(pipe_end, text, len), len);
}

static void lines_come_in_pieces(void **state)
{
	assert_null(next_line());
	type("a\n\n\nb", 5);
	assert_string_equal(next_line(), "a");
	assert_null(next_line());
	type("c\nd\n", 4);
	assert_string_equal(next_line(), "bc");
	assert_string_equal(next_line(), "d");
	assert_null(next_line());
}

static void a_reader_that_wants_none_leaves_the_input_alone(void **state)
{
	char there[2];

	reader.wanted = false;
	type("a\n", 2);
	assert_null(next_line());
	assert_int_equal(read(STDIN_FILENO, there, sizeof(there)), 2);
}

static void an_octet_that_is_none_is_a_space(void **state)
{
	type("a\0b\n", 4);
	assert_string_equal(next_line(), "a b");
}

static void a_line_that_is_too_long_is_passed_over(void **state)
{
	reader.size = 4;
	type("abc\nabcd\nabcdefghij\nxyz\n", 24);
	assert_string_equal(next_line(), "abc");
	assert_string_equal(next_line(), "xyz");
	assert_null(next_line());
}

static void a_long_line_has_room(void **state)
{
	char text[5 * ORDER_SIZE];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\n';
	reader.size = ORDER_SIZE_MAX;
	type(text, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_string_equal(next_line(), text);
	type("y\n", 2);
	assert_string_equal(next_line(), "y");
}

static void the_end_of_input_is_one_interrupt(void **state)
{
	type("a\nhalf", 6);
	close(pipe_end);
	pipe_end = -1;
	assert_string_equal(next_line(), "a");
	assert_null(next_line());
	assert_true(reader.over);
	assert_int_equal(interrupt_count, 1);
	interrupt_count = 0;
	assert_null(next_line());
	assert_int_equal(interrupt_count, 0);
}

static void an_interrupt_before_the_end_counts_once(void **state)
{
	interrupt_count = 2;
	close(pipe_end);
	pipe_end = -1;
	assert_null(next_line());
	assert_int_equal(interrupt_count, 2);
}

static void a_line_is_the_order_of_its_member_and_a_setting_alone_is_one_too(void **state)
{
	static const struct {
		const char *line, *taken, *why; // NULL: none
	} rows[] = {
		{"{\"stop\": 1}\n", "[1,{\"stop\":1}]", NULL},
		{"{\"x\": 1, \"order\": \"a=b\"}\n", "[\"a=b\",{\"x\":1,\"order\":\"a=b\"}]", NULL},
		{"a=b {\n", "[\"a=b {\",{\"order\":\"a=b {\"}]", NULL},
		{"{\"order\": null}\n", "[null,{\"order\":null}]", "null"},
		{"{\"once\": []}\n", NULL, "no such order (docs/fleet.md lists them)"},
		{"{\"order\": \n", NULL, "no such order (docs/fleet.md lists them)"},
	};

	reader.verbs = two;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text;
		bool refused;

		json_decref(taken);
		taken = NULL;
		type(rows[i].line, strlen(rows[i].line));
		refused = next_line();
		assert_int_equal(refused, rows[i].why != NULL);
		if (refused)
			assert_string_equal(why, rows[i].why);
		text = json_dumps(taken, JSON_COMPACT);
		assert_int_equal(text != NULL, rows[i].taken != NULL);
		if (text)
			assert_string_equal(text, rows[i].taken);
		free(text);
	}
	json_decref(taken);
	taken = NULL;
}

static void an_order_has_a_setting_and_perhaps_a_time(void **state)
{
	static const struct {
		const char *line, *setting;
		uint64_t at_ns;
		bool good;
	} rows[] = {
		{"{\"order\": \"a=b\"}", "a=b", 0, true},
		{"{\"order\": \"a=b\", \"at_ns\": 7}", "a=b", 7, true},
		{"{\"order\": \"a=b\", \"at_ns\": 0}", "a=b", 0, false},
		{"{\"order\": \"a=b\", \"at_ns\": -1}", "a=b", UINT64_MAX, false},
		{"{\"order\": \"a=b\", \"at_ns\": \"7\"}", "a=b", 0, false},
		{"{\"order\": 1}", NULL, 0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *line = json_loads(rows[i].line, 0, NULL);
		const char *setting, *reason;
		uint64_t at_ns;

		reason = order_setting(json_object_get(line, "order"), line, &setting, &at_ns);
		assert_int_equal(reason == NULL, rows[i].good);
		assert_int_equal(at_ns, rows[i].at_ns);
		assert_int_equal(setting != NULL, rows[i].setting != NULL);
		if (setting)
			assert_string_equal(setting, rows[i].setting);
		json_decref(line);
	}
}

// This would never end if the pending input did not end it.
static void waiting_ends_with_input(void **state)
{
	type("a", 1);
	orders_wait(60000);
	orders_wait(0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_input, close_input)
	const struct CMUnitTest tests[] = {
		T(lines_come_in_pieces),
		T(a_reader_that_wants_none_leaves_the_input_alone),
		T(an_octet_that_is_none_is_a_space),
		T(a_line_that_is_too_long_is_passed_over),
		T(a_long_line_has_room),
		T(the_end_of_input_is_one_interrupt),
		T(an_interrupt_before_the_end_counts_once),
		T(a_line_is_the_order_of_its_member_and_a_setting_alone_is_one_too),
		T(an_order_has_a_setting_and_perhaps_a_time),
		T(waiting_ends_with_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

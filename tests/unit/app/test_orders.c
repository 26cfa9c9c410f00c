// SPDX-License-Identifier: BSD-3-Clause
// Orders on standard input: lines that come in pieces, that are too long or end early. Path: cold.
// Test.
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

static int open_input(void **state)
{
	int ends[2];

	kept = dup(STDIN_FILENO);
	assert_int_equal(pipe(ends), 0);
	assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
	close(ends[0]);
	pipe_end = ends[1];
	interrupt_count = 0;
	reader = (struct order_reader){.wanted = true, .size = ORDER_SIZE};
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
	assert_null(orders_next(&reader));
	type("a\n\n\nb", 5);
	assert_string_equal(orders_next(&reader), "a");
	assert_null(orders_next(&reader));
	type("c\nd\n", 4);
	assert_string_equal(orders_next(&reader), "bc");
	assert_string_equal(orders_next(&reader), "d");
	assert_null(orders_next(&reader));
}

static void a_reader_that_wants_none_leaves_the_input_alone(void **state)
{
	char there[2];

	reader.wanted = false;
	type("a\n", 2);
	assert_null(orders_next(&reader));
	assert_int_equal(read(STDIN_FILENO, there, sizeof(there)), 2);
}

static void an_octet_that_is_none_is_a_space(void **state)
{
	type("a\0b\n", 4);
	assert_string_equal(orders_next(&reader), "a b");
}

static void a_line_that_is_too_long_is_passed_over(void **state)
{
	reader.size = 4;
	type("abc\nabcd\nabcdefghij\nxyz\n", 24);
	assert_string_equal(orders_next(&reader), "abc");
	assert_string_equal(orders_next(&reader), "xyz");
	assert_null(orders_next(&reader));
}

static void a_long_line_has_room(void **state)
{
	char text[5 * ORDER_SIZE];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\n';
	reader.size = ORDER_SIZE_MAX;
	type(text, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_string_equal(orders_next(&reader), text);
	type("y\n", 2);
	assert_string_equal(orders_next(&reader), "y");
}

static void the_end_of_input_is_one_interrupt(void **state)
{
	type("a\nhalf", 6);
	close(pipe_end);
	pipe_end = -1;
	assert_string_equal(orders_next(&reader), "a");
	assert_int_equal(interrupt_count, 0);
	assert_null(orders_next(&reader));
	assert_true(reader.over);
	assert_int_equal(interrupt_count, 1);
	interrupt_count = 0;
	assert_null(orders_next(&reader));
	assert_int_equal(interrupt_count, 0);
}

static void an_interrupt_before_the_end_counts_once(void **state)
{
	interrupt_count = 2;
	close(pipe_end);
	pipe_end = -1;
	assert_null(orders_next(&reader));
	assert_int_equal(interrupt_count, 2);
}

// Would never end if what is there did not end it.
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
		T(waiting_ends_with_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

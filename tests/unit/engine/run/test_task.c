// SPDX-License-Identifier: BSD-3-Clause
// A command that runs beside the run: its end, its time, and its end by a second interrupt.
// Path: cold. Test.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "engine/run/around/task.h"

static const struct clock counter; // of the CPU

static void the_start_does_not_wait_for_the_end(void **state)
{
	char text[64] = "";
	struct task *t = task_start(&counter, "test", "read x; sleep 0.1; echo hello; exit 4", text,
		sizeof(text), 5000000000);
	struct task_end end;

	assert_non_null(t);
	assert_false(task_is_over(t));
	task_end(t, &end);
	assert_int_equal(end.rc, 4);
	assert_string_equal(end.outcome, "exit status 4");
	assert_string_equal(text, "hello\n");
	assert_true(end.ended > end.began);
}

static void a_second_interrupt_ends_it(void **state)
{
	struct task *t = task_start(&counter, "test", "sleep 60", NULL, 0, 60000000000);
	struct task_end end;

	interrupt_count = 2;
	task_end(t, &end);
	interrupt_count = 0;
	assert_int_equal(end.rc, -ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_start_does_not_wait_for_the_end),
		cmocka_unit_test(a_second_interrupt_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

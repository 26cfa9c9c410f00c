// SPDX-License-Identifier: BSD-3-Clause
// Commands around a run: their environment, their times, and failed or interrupted ones.
// Path: cold. Test.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/interrupt.h"
#include "captured.h"
#include "process/hooks.h"

#define TOLD                                                                                       \
	"echo $DDIPERF_RUN_ID,$DDIPERF_RUN_NAME,$DDIPERF_RESULT,$DDIPERF_STATUS,"                  \
	"$DDIPERF_EXIT_CODE"

static struct config config;
static struct hooks hooks;

static int set_up(void **state)
{
	config = (struct config){.run.name = "evening", .hooks.timeout_ns = 60000000000};
	hooks = (struct hooks){.config = &config, .id = "0123"};
	interrupt_count = 0;
	return 0;
}

static int start(void *ctx)
{
	return hooks_start(&hooks);
}

static int stop(void *status)
{
	return hooks_stop(&hooks, 1, status);
}

// Checks the word that TOLD has written to a file.
static void assert_told(const char *path, const char *expected)
{
	char text[128] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	unlink(path);
	assert_string_equal(text, expected);
}

static void commands_know_the_run_and_its_end(void **state)
{
	char path[] = "/tmp/ddiperf-hooks.XXXXXX", command[256];

	close(mkstemp(path));
	snprintf(command, sizeof(command), TOLD " > %s", path);
	config.hooks.start = config.hooks.stop = command;
	assert_int_equal(capture_output(start, NULL), 0);
	assert_string_equal(captured, "");
	assert_int_equal(hooks.state, HOOKS_STARTED);
	assert_told(path, "0123,evening,,,\n");
	hooks.json = "out.json";
	assert_int_equal(capture_output(stop, "fail"), 0);
	assert_int_equal(hooks.state, HOOKS_STOPPED);
	assert_told(path, "0123,evening,out.json,fail,1\n");
	hooks.state = HOOKS_STARTED;
	config.run.name = NULL;
	assert_int_equal(capture_output(stop, NULL), 0);
	assert_told(path, "0123,,out.json,,1\n");
}

static void a_stop_is_due_once_and_after_a_start(void **state)
{
	config.hooks.stop = "exit 3";
	assert_int_equal(capture_output(stop, NULL), 0);
	assert_int_equal(hooks.state, HOOKS_IDLE);
	assert_int_equal(capture_output(start, NULL), 0);
	assert_int_equal(capture_output(stop, NULL), -EIO);
	assert_captured("ddiperf: hooks.stop: exit 3: exit status 3\n");
	assert_int_equal(capture_output(stop, NULL), 0);
	assert_string_equal(captured, "");
}

static void a_start_that_fails_needs_no_stop(void **state)
{
	config.hooks.start = "exit 7";
	assert_int_equal(capture_output(start, NULL), -EIO);
	assert_captured("ddiperf: hooks.start: exit 7: exit status 7\n");
	assert_int_equal(hooks.state, HOOKS_IDLE);
	config.hooks.timeout_ns = 50000000;
	config.hooks.start = "exec sleep 60";
	assert_true(capture_output(start, NULL) < 0);
	assert_captured("hooks.start: exec sleep 60: no end after 0.05 s\n");
	assert_int_equal(hooks.state, HOOKS_IDLE);
}

static void an_interrupt_of_before_does_not_end_a_hook(void **state)
{
	interrupt_count = 1;
	config.hooks.start = "true";
	assert_int_equal(capture_output(start, NULL), 0);
	assert_int_equal(hooks.state, HOOKS_STARTED);
}

static void any_command_of_a_file_counts(void **state)
{
	const struct config none = {0}, cases[] = {
						{.hooks.start = "a"},
						{.hooks.stop = "a"},
						{.dut.probe = (void *)&none},
						{.dut.counters = (void *)&none},
						{.events.count = 1},
					};

	assert_false(hooks_any_command(&none));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(hooks_any_command(&cases[i]));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		T(commands_know_the_run_and_its_end),
		T(a_stop_is_due_once_and_after_a_start),
		T(a_start_that_fails_needs_no_stop),
		T(an_interrupt_of_before_does_not_end_a_hook),
		T(any_command_of_a_file_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

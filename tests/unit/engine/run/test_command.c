// SPDX-License-Identifier: BSD-3-Clause
// Commands that end, fail, hang, print too much, or leave children behind. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "engine/run/around/command.h"

static char out[64];

static int run(const char *text, uint64_t timeout_ms)
{
	const struct command_run c = {
		.text = text, .out = out, .room = sizeof(out), .timeout_ns = timeout_ms * 1000000};

	return command_run(&c);
}

static double elapsed_s(int (*what)(const char *, uint64_t), const char *text, uint64_t ms, int *rc)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	*rc = what(text, ms);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

static void it_says_what_was_printed_and_how_it_ended(void **state)
{
	assert_int_equal(run("echo a b; exit 7", 20000), 7);
	assert_string_equal(out, "a b\n");
	assert_int_equal(run("true", 20000), 0);
	assert_string_equal(out, "");
	assert_int_equal(run("/nonexistent/command 2>/dev/null", 20000), 127);
	assert_int_equal(run("kill -9 $$", 20000), -EINTR);
}

static void it_reads_nothing_and_inherits_no_file(void **state)
{
	assert_int_equal(run("cat", 20000), 0);
	assert_string_equal(out, "");
	assert_int_equal(run("ls /proc/self/fd | wc -l", 20000), 0);
	assert_true(atoi(out) <= 4); // 0, 1, 2 and the folder
}

static void what_hangs_is_killed_with_its_children(void **state)
{
	int rc;

	assert_true(elapsed_s(run, "sleep 30", 200, &rc) < 10);
	assert_int_equal(rc, -ETIMEDOUT);
	assert_true(elapsed_s(run, "sleep 30 & sleep 30 & wait", 200, &rc) < 10);
	assert_int_equal(rc, -ETIMEDOUT);
	assert_true(elapsed_s(run, "exec >&-; sleep 30", 200, &rc) < 10);
	assert_int_equal(rc, -ETIMEDOUT);
}

static void what_prints_too_much_is_refused(void **state)
{
	assert_int_equal(run("yes", 20000), -E2BIG);
}

// A variable that is set again exists once, and its name is everything before the "=".
static void the_environment_is_ours_and_more(void **state)
{
	char *const env[] = {"DDIPERF_TEST=x y", "DDIPERF_OURS=new", NULL};
	const struct command_run c = {
		.text = "echo \"$DDIPERF_TEST $DDIPERF_OURS $DDIPERF_OURS_TOO\"; "
			"tr '\\0' '\\n' </proc/$$/environ | grep -c ^DDIPERF_OURS=",
		.more_env = env,
		.out = out,
		.room = sizeof(out),
		.timeout_ns = 20000000000};

	setenv("DDIPERF_OURS", "old", 1);
	setenv("DDIPERF_OURS_TOO", "kept", 1);
	assert_int_equal(command_run(&c), 0);
	assert_string_equal(out, "x y new kept\n1\n");
}

static void outcomes_have_words(void **state)
{
	const struct command_run c = {.timeout_ns = 1500000000, .room = 65};
	char buf[64];

	assert_string_equal(command_outcome(&c, 3, buf, sizeof(buf)), "exit status 3");
	assert_string_equal(
		command_outcome(&c, -ETIMEDOUT, buf, sizeof(buf)), "no end after 1.5 s");
	assert_string_equal(
		command_outcome(&c, -E2BIG, buf, sizeof(buf)), "it prints more than 64 octets");
	assert_string_equal(command_outcome(&c, -EINTR, buf, sizeof(buf)), "killed by a signal");
	assert_string_equal(
		command_outcome(&c, -ENOMEM, buf, sizeof(buf)), "Cannot allocate memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_what_was_printed_and_how_it_ended),
		cmocka_unit_test(it_reads_nothing_and_inherits_no_file),
		cmocka_unit_test(what_hangs_is_killed_with_its_children),
		cmocka_unit_test(what_prints_too_much_is_refused),
		cmocka_unit_test(the_environment_is_ours_and_more),
		cmocka_unit_test(outcomes_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

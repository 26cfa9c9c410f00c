// SPDX-License-Identifier: BSD-3-Clause
// Interrupts, crashes and a lack of memory in a process of its own: what it answers, its last
// words and its exit code. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>

#include "base/arena.h"
#include "base/interrupt.h"
#include "process/signals.h"

#define INTERRUPTED                                                                                \
	"ddiperf: interrupted: ending in order (once more: without waiting for replies)\n"
#define AGAIN "ddiperf: interrupted again: ending without waiting for replies\n"
#define THIRD "ddiperf: interrupted for the third time: giving up whatever does not end now\n"

int __wrap_nanosleep(const struct timespec *t, struct timespec *rest);

// The time for an orderly end is over at once.
int __wrap_nanosleep(const struct timespec *t, struct timespec *rest)
{
	return 0;
}

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(99);
}

static void on_fatal_end(int code)
{
	char text[64], name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	snprintf(text, sizeof(text), "last words %d%s\n", code,
		strcmp(name, "last-words") == 0 ? " of the other thread" : "");
	say(text);
}

static void restore(void)
{
	say("restored\n");
}

static char said[4096];

// The exit code of a process that does so.
static int do_alone(void (*act)(void))
{
	static const int interrupts[] = {SIGINT, SIGTERM, SIGHUP};
	int pipes[2], status;
	size_t len = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], STDERR_FILENO);
		signal(SIGSEGV, SIG_DFL); // not a sanitizer's
		for (size_t i = 0; i < sizeof(interrupts) / sizeof(interrupts[0]); i++)
			signal(interrupts[i], SIG_DFL); // a job in the background ignores some
		alarm(20);
		interrupt_count = 0;
		signals_catch(on_fatal_end, restore);
		act();
		_exit(50 + (int)interrupt_count);
	}
	close(pipes[1]);
	while ((got = read(pipes[0], said + len, sizeof(said) - 1 - len)) > 0)
		len += (size_t)got;
	said[len] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void wait_forever(void)
{
	for (;;)
		pause();
}

static void interrupt_twice(void)
{
	raise(SIGINT);
	raise(SIGTERM);
}

static void interrupt_thrice(void)
{
	interrupt_twice();
	raise(SIGHUP);
	wait_forever();
}

static void interrupts_are_counted_and_answered(void **state)
{
	assert_int_equal(do_alone(interrupt_twice), 52);
	assert_string_equal(said, INTERRUPTED AGAIN);
}

static void the_third_interrupt_ends_it(void **state)
{
	assert_int_equal(do_alone(interrupt_thrice), 130);
	assert_string_equal(
		said, INTERRUPTED AGAIN THIRD "restored\nlast words 130 of the other thread\n");
}

static void be_over(void)
{
	signals_over();
	interrupt_thrice();
}

static void an_end_in_progress_is_not_told_again(void **state)
{
	assert_int_equal(do_alone(be_over), 130);
	assert_string_equal(said, INTERRUPTED AGAIN THIRD "restored\n");
}

static void crash(void)
{
	raise(SIGSEGV);
}

static void a_crash_has_last_words(void **state)
{
	if (unit_emulated()) // has a handler of its own, and sometimes no second thread after it
		skip();
	assert_int_equal(do_alone(crash), 6);
	assert_string_equal(said, "ddiperf: internal error: Segmentation fault\nrestored\nlast "
				  "words 6 of the other thread\n");
}

static void exhaust(void)
{
	arena_exhausted();
}

static void a_lack_of_memory_has_last_words(void **state)
{
	assert_int_equal(do_alone(exhaust), 3);
	assert_non_null(strstr(said, "restored\nlast words 3\n"));
}

static void ask(void)
{
	bool before = signals_state_wanted(), first, second;

	raise(SIGUSR1);
	first = signals_state_wanted();
	second = signals_state_wanted();
	_exit(!before && first && !second ? 0 : 1);
}

static void a_question_is_heard_once(void **state)
{
	assert_int_equal(do_alone(ask), 0);
	assert_string_equal(said, "");
}

static void hang_up(void)
{
	signal(SIGHUP, SIG_IGN);
	signals_catch(on_fatal_end, restore);
	raise(SIGHUP);
	raise(SIGINT);
}

static void without_a_terminal_a_hangup_is_none(void **state)
{
	assert_int_equal(do_alone(hang_up), 51); // nohup
	assert_string_equal(said, INTERRUPTED);
}

static void stop(void)
{
	signal(SIGTSTP, SIG_IGN);
	signals_catch(on_fatal_end, restore);
	raise(SIGTSTP);
}

static void a_stop_that_is_ignored_stays_so(void **state)
{
	assert_int_equal(do_alone(stop), 50);
	assert_string_equal(said, "");
}

static void count_only(void)
{
	signals_count();
	for (int i = 0; i < 5; i++)
		raise(i % 2 ? SIGINT : SIGHUP);
}

static void a_child_only_counts(void **state)
{
	assert_int_equal(do_alone(count_only), 55);
	assert_string_equal(said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupts_are_counted_and_answered),
		cmocka_unit_test(the_third_interrupt_ends_it),
		cmocka_unit_test(an_end_in_progress_is_not_told_again),
		cmocka_unit_test(a_crash_has_last_words),
		cmocka_unit_test(a_lack_of_memory_has_last_words),
		cmocka_unit_test(a_question_is_heard_once),
		cmocka_unit_test(without_a_terminal_a_hangup_is_none),
		cmocka_unit_test(a_stop_that_is_ignored_stays_so),
		cmocka_unit_test(a_child_only_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

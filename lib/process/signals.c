// SPDX-License-Identifier: BSD-3-Clause
// A handler that counts and answers, and a thread that waits for the third signal or a crash.
// Path: cold. Main thread | the thread of the emergency exit.
#include "process/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "engine/run/run.h"
#include "io/host/privileges.h"

#define ORDERLY_S   2  // from the third signal, for an orderly end
#define FATAL_END_S 10 // from a crash, for the emergency exit

static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

#define CRASHES (sizeof(crashes) / sizeof(crashes[0]))

static struct {
	void (*on_fatal_end)(int code);
	pthread_t main;
	int stderr_fd; // the user's; standard error is captured while a driver starts
	sem_t wake;
	atomic_bool third, follow;
	atomic_int crash;      // signal of the crash
	bool waiting;          // a thread waits to run the emergency exit
	_Atomic uint64_t keep; // capabilities of the main thread; set by each run of a series
	atomic_flag speaking;  // emergency exit: started, or no longer needed
	atomic_bool halted;    // the main thread
	atomic_bool state_wanted;
	void (*restore)(void);
} signals = {.speaking = ATOMIC_FLAG_INIT};

static void answer(int count)
{
	static const char *const answers[] = {
		"ddiperf: interrupted: ending in order (once more: without waiting for replies)\n",
		"ddiperf: interrupted again: ending without waiting for replies\n",
		"ddiperf: interrupted for the third time: giving up whatever does not end now\n",
	};
	const char *text = answers[count - 1];
	ssize_t written = write(signals.stderr_fd, text, strlen(text));

	(void)written;
}

// Exit without the emergency exit.
static void leave(int code)
{
	signals.restore();
	_exit(code);
}

static void on_signal(int number)
{
	int before = errno;

	while (atomic_load(&signals.halted))
		pause();
	if (interrupt_count == 3)
		leave(EXIT_INTERRUPTED);
	interrupt_count++;
	answer(interrupt_count);
	if (interrupt_count == 3) {
		atomic_store(&signals.third, true);
		sem_post(&signals.wake);
	}
	errno = before;
}

// The main thread may be anywhere meanwhile, and stays halted there.
static void speak(int code)
{
	if (atomic_flag_test_and_set(&signals.speaking))
		leave(code); // no memory for the emergency exit
	if (!pthread_equal(pthread_self(), signals.main)) {
		atomic_store(&signals.halted, true);
		pthread_kill(signals.main, SIGINT);
	}
	signals.restore();
	dup2(signals.stderr_fd, STDERR_FILENO);
	signals.on_fatal_end(code);
	_exit(code);
}

static void on_no_words(int number)
{
	leave(EXIT_INTERNAL);
}

// The crashed thread may hold locks, so another thread runs the emergency exit, with a time limit.
static void on_crash(int number)
{
	char text[96];
	int none = 0, len;
	ssize_t written;

	if (!atomic_compare_exchange_strong(&signals.crash, &none, number))
		leave(EXIT_INTERNAL);
	len = snprintf(text, sizeof(text), "ddiperf: internal error: %s\n", sigdescr_np(number));
	written = write(signals.stderr_fd, text, (size_t)len);
	(void)written;
	alarm(FATAL_END_S);
	if (!signals.waiting)
		speak(EXIT_INTERNAL);
	sem_post(&signals.wake);
	while (true)
		pause();
}

static void on_no_memory(void)
{
	speak(EXIT_ENVIRONMENT);
}

static void *wait_for_third(void *arg)
{
	while (!atomic_load(&signals.third) && !atomic_load(&signals.crash)) {
		sem_wait(&signals.wake);
		if (atomic_exchange(&signals.follow, false))
			privileges_keep(signals.keep);
	}
	if (atomic_load(&signals.crash))
		speak(EXIT_INTERNAL);
	nanosleep(&(struct timespec){.tv_sec = ORDERLY_S}, NULL);
	speak(EXIT_INTERRUPTED);
	return arg;
}

// The thread blocks all signals except its own crash.
static void start_waiting(void)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	for (size_t i = 0; i < CRASHES; i++)
		sigdelset(&all, crashes[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, wait_for_third, NULL) == 0) {
		signals.waiting = true;
		pthread_setname_np(thread, "last-words");
		pthread_detach(thread);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Keeps a sanitizer's handlers.
static void catch_crashes(void)
{
	struct sigaction action = {.sa_handler = on_crash}, before;

	signal(SIGALRM, on_no_words);
	for (size_t i = 0; i < CRASHES; i++)
		if (sigaction(crashes[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(crashes[i], &action, NULL);
}

static void on_question(int number)
{
	atomic_store(&signals.state_wanted, true);
}

// Ctrl-Z: the terminal is restored for the shell.
static void on_stop(int number)
{
	signals.restore();
	kill(getpid(), SIGSTOP);
}

bool signals_state_wanted(void)
{
	return atomic_exchange(&signals.state_wanted, false);
}

void signals_catch(void (*on_fatal_end)(int code), void (*restore)(void))
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal}, before;

	signals.on_fatal_end = on_fatal_end;
	signals.restore = restore;
	signals.main = pthread_self();
	signals.stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	sem_init(&signals.wake, 0, 0);
	start_waiting();
	arena_when_exhausted(on_no_memory);
	sigaction(SIGTSTP, &(struct sigaction){.sa_handler = on_stop, .sa_flags = SA_RESTART},
		&before);
	if (before.sa_handler == SIG_IGN)
		signal(SIGTSTP, SIG_IGN);
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_question, .sa_flags = SA_RESTART},
		NULL);
	catch_crashes();
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaction(numbers[i], NULL, &before);
		if (numbers[i] == SIGHUP && before.sa_handler == SIG_IGN)
			continue; // nohup
		sigaction(numbers[i], &action, NULL);
	}
}

void signals_over(void)
{
	atomic_flag_test_and_set(&signals.speaking);
}

void signals_follow(void)
{
	signals.keep = capabilities_now();
	atomic_store(&signals.follow, true);
	sem_post(&signals.wake);
}

static void on_count(int number)
{
	interrupt_count++;
}

void signals_count(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_count};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
}

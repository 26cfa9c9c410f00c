// SPDX-License-Identifier: BSD-3-Clause
// Which of several runs is watched, and what is said when it cannot be. Each run is a thread of
// the test with a socket. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include <pthread.h>

#include "captured.h"
#include "engine/run/run.h"
#include "io/driver/state.h"
#include "run/commands.h"

static struct {
	char dir[64];
	struct run {
		uint64_t pid;
		int listener;
		const char *lines;
		pthread_t thread;
	} runs[4];
	uint32_t count;
	struct options options;
} x;

int __wrap_state_directory(char *dir, size_t room);
void __wrap_state_leave_directory(const char *dir);
uint32_t __wrap_state_sockets(const char *dir, uint64_t *pids, uint32_t room);

int __wrap_state_directory(char *dir, size_t room)
{
	snprintf(dir, room, "%s", x.dir);
	return 0;
}

void __wrap_state_leave_directory(const char *dir)
{
}

// The first one is of a process that has died.
uint32_t __wrap_state_sockets(const char *dir, uint64_t *pids, uint32_t room)
{
	pids[0] = 9;
	for (uint32_t i = 0; i < x.count; i++)
		pids[i + 1] = x.runs[i].pid;
	return x.count + 1;
}

static int begin(void **state)
{
	memset(&x, 0, sizeof(x));
	strcpy(x.dir, "/tmp/ddiperf-test-XXXXXX");
	assert_non_null(mkdtemp(x.dir));
	return 0;
}

static int end(void **state)
{
	char command[100];

	for (uint32_t i = 0; i < x.count; i++) {
		shutdown(x.runs[i].listener, SHUT_RDWR);
		pthread_join(x.runs[i].thread, NULL);
		close(x.runs[i].listener);
	}
	snprintf(command, sizeof(command), "rm -rf %s", x.dir);
	return system(command);
}

// Tells its lines in two pieces to each who comes, and is gone.
static void *be_a_run(void *ctx)
{
	const struct run *r = ctx;
	size_t len = strlen(r->lines);
	int fd;

	while ((fd = accept(r->listener, NULL, NULL)) >= 0) {
		send(fd, r->lines, len / 2, MSG_NOSIGNAL);
		send(fd, r->lines + len / 2, len - len / 2, MSG_NOSIGNAL);
		close(fd);
	}
	return NULL;
}

static void start(uint64_t pid, const char *lines)
{
	struct run *r = &x.runs[x.count++];
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	*r = (struct run){.pid = pid, .lines = lines};
	state_socket(x.dir, pid, name.sun_path, sizeof(name.sun_path));
	r->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(r->listener, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(r->listener, 4), 0);
	assert_int_equal(pthread_create(&r->thread, NULL, be_a_run, r), 0);
}

static int watch(void *run)
{
	x.options.operand = run;
	return cmd_watch(&x.options);
}

static void assert_watched(char *run, int code, const char *said)
{
	assert_int_equal(capture_output(watch, run), code);
	assert_string_equal(captured, said);
}

#define BEGIN(number, name, id)                                                                    \
	"{\"begin\":" number ",\"result\":{\"run\":{\"name\":\"" name "\",\"id\":\"" id "\"}}}\n"
#define END   "{\"end\":1,\"result\":{\"verdict\":{\"status\":\"pass\"}}}\n"
#define TRIAL "{\"trial\":2,\"rate\":5000,\"loss\":0.01,\"verdict\":\"good\",\"answer\":4000}\n"

static void without_a_run_nothing_is_watched(void **state)
{
	assert_watched(NULL, EXIT_ENVIRONMENT,
		"ddiperf: watch: no test is running (you can watch only your own)\n");
}

static void the_only_run_needs_no_name(void **state)
{
	static const char said[] = "run 1: one, a-1\n"
				   "trial 2: 5 000, loss 1.00 %: good; answer so far 4 000\n"
				   "the run has ended: pass\n";

	start(101, BEGIN("1", "one", "a-1") "nonsense\n" TRIAL END);
	assert_watched(NULL, EXIT_PASS, said);
	assert_watched("a-", EXIT_PASS, said);
}

static void a_run_that_is_gone_has_no_end(void **state)
{
	start(101, BEGIN("1", "one", "a-1"));
	assert_int_equal(capture_output(watch, NULL), EXIT_ENVIRONMENT);
	assert_captured("run 1: one, a-1\n");
	assert_captured("ddiperf: watch: the run is gone\n");
	assert_null(strstr(captured, "has ended"));
}

static void one_of_several_is_named(void **state)
{
	start(101, BEGIN("1", "one", "a-1") END);
	start(102, BEGIN("4", "two", "a-2") END);
	start(103, "");
	assert_watched("102", EXIT_PASS, "run 4: two, a-2\nthe run has ended: pass\n");
	assert_watched("a-2", EXIT_PASS, "run 4: two, a-2\nthe run has ended: pass\n");
	assert_watched("101", EXIT_PASS, "run 1: one, a-1\nthe run has ended: pass\n");
	assert_int_equal(capture_output(watch, NULL), EXIT_CONFIG);
	assert_captured("ddiperf: watch: 3 tests are running; name one (process, id, name):\n");
	assert_captured("       101  a-1                                   one\n");
	assert_captured("       102  a-2                                   two\n");
	assert_captured("       103  (begins)");
	assert_int_equal(capture_output(watch, "a-"), EXIT_CONFIG);
	assert_captured("ddiperf: watch: a- is the id of 2 runs:\n");
	assert_int_equal(capture_output(watch, "10"), EXIT_CONFIG);
	assert_captured(
		"ddiperf: watch: no such run: 10; these are running (process, id, name):\n");
	assert_captured("       102  a-2");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(without_a_run_nothing_is_watched),
		TEST(the_only_run_needs_no_name),
		TEST(a_run_that_is_gone_has_no_end),
		TEST(one_of_several_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

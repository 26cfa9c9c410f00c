// SPDX-License-Identifier: BSD-3-Clause
// The counters of a responder over HTTP: only current ones, only for clients with the token, and
// not without end. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "engine/run/around/peer.h"
#include "run/control.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static struct fixture {
	char token[32], path[64], address[80];
	struct control_settings settings;
	struct control control;
} x;

static int begin(void **state)
{
	FILE *f;

	x = (struct fixture){.token = "/tmp/ddiperf-test-XXXXXX"};
	f = fdopen(mkstemp(x.token), "w");
	fputs(TOKEN "\n", f);
	fclose(f);
	snprintf(x.path, sizeof(x.path), "%s.sock", x.token);
	snprintf(x.address, sizeof(x.address), "unix:%s", x.path);
	x.settings = (struct control_settings){.address = x.address, .token = x.token};
	return 0;
}

static int end(void **state)
{
	unlink(x.token);
	return 0;
}

static int ask(const char *method, const char *path, const char *token)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(at.sun_path, x.path);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	dprintf(fd,
		"%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: "
		"close\r\n\r\n",
		method, path, token);
	return fd;
}

// Reads an HTTP answer, headers included, into text. Returns its status.
static unsigned answer(int fd, char *text, size_t room)
{
	size_t len = 0;
	unsigned status = 0;
	ssize_t n;

	while ((n = read(fd, text + len, room - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(fd);
	assert_int_equal(sscanf(text, "HTTP/1.1 %u", &status), 1);
	return status;
}

static void tell_when_asked(uint64_t received)
{
	for (int ms = 0; ms < 10000 && !control_is_asked(&x.control); ms++)
		poll(NULL, 0, 1);
	assert_true(control_is_asked(&x.control));
	control_tell(&x.control, &(struct result_responder){.received = received});
	assert_false(control_is_asked(&x.control));
}

static void who_knows_the_token_has_the_counters_of_now(void **state)
{
	static const struct {
		const char *method, *path, *token;
		unsigned status;
	} rows[] = {{"GET", CONTROL_PATH, TOKEN "s", 401}, {"GET", CONTROL_PATH, "", 401},
		{"GET", CONTROL_PATH "/", TOKEN, 404}, {"GET", "/", TOKEN, 404},
		{"POST", CONTROL_PATH, TOKEN, 404}};
	char text[100000], number[40];

	assert_int_equal(control_open(&x.control, &x.settings), 0);
	assert_false(control_is_asked(&x.control));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(answer(ask(rows[i].method, rows[i].path, rows[i].token), text,
					 sizeof(text)),
			rows[i].status);
		assert_false(control_is_asked(&x.control));
	}
	for (uint64_t n = 1234567; n < 1234570; n++) {
		int fd = ask("GET", CONTROL_PATH, TOKEN);

		tell_when_asked(n);
		assert_int_equal(answer(fd, text, sizeof(text)), 200);
		assert_non_null(strstr(text, "application/json"));
		snprintf(number, sizeof(number), "%llu", (unsigned long long)n);
		assert_non_null(strstr(text, number));
		control_tell(&x.control, &(struct result_responder){.received = 7777777}); // late
	}
	assert_int_equal(access(x.path, F_OK), 0);
	control_close(&x.control);
	assert_int_equal(access(x.path, F_OK), -1);
	assert_false(control_is_asked(&x.control));
}

static void a_question_waits_for_a_while(void **state)
{
	char text[1000];
	int fd;

	assert_int_equal(control_open(&x.control, &x.settings), 0);
	assert_int_equal(answer(ask("GET", CONTROL_PATH, TOKEN), text, sizeof(text)), 503);
	assert_non_null(strstr(text, "not now"));
	assert_false(control_is_asked(&x.control));
	fd = ask("GET", CONTROL_PATH, TOKEN);
	while (!control_is_asked(&x.control))
		poll(NULL, 0, 1);
	control_close(&x.control); // ends the wait
	close(fd);
}

static void without_settings_nothing_is_open(void **state)
{
	struct control second;

	assert_int_equal(control_open(&x.control, NULL), 0);
	assert_false(control_is_asked(&x.control));
	control_close(&x.control);
	assert_int_equal(control_open(&x.control, &x.settings), 0);
	assert_true(control_open(&second, &x.settings) < 0); // it is taken
	assert_int_equal(access(x.path, F_OK), 0);
	control_close(&x.control);
	chmod(x.token, 0644);
	assert_int_equal(control_open(&x.control, &x.settings), -EINVAL);
	assert_int_equal(access(x.path, F_OK), -1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(who_knows_the_token_has_the_counters_of_now),
		TEST(a_question_waits_for_a_while),
		TEST(without_settings_nothing_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

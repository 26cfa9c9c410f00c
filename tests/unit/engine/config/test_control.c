// SPDX-License-Identifier: BSD-3-Clause
// Endpoints that only this host reaches, and files of tokens. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "engine/config/control.h"

static void only_this_host_reaches_the_place(void **state)
{
	static const char *const right[] = {
		"127.0.0.1:9", "127.9.9.9:9", "[::1]:9", "9", "unix:/run/x.sock"};
	static const char *const wrong[] = {"0.0.0.0:9", "198.18.0.1:9", "[::]:9",
		"[2001:db8::1]:9", "[::ffff:127.0.0.1]:9", "unix:", "127.0.0.1", "host:9", ""};
	struct control_place place;
	char text[200];

	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		const char *what = NULL;

		assert_int_equal(control_place(right[i], &place, &what), 0);
		assert_true(place.len > 0);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *what = NULL;

		assert_int_not_equal(control_place(wrong[i], &place, &what), 0);
		assert_non_null(what);
	}
	memset(text, 'x', sizeof(text));
	memcpy(text, "unix:", 5);
	text[sizeof(text) - 1] = '\0';
	assert_int_not_equal(control_place(text, &place, &(const char *){NULL}), 0);
}

static int token_of(const char *content, mode_t mode, char out[CONTROL_TOKEN_SIZE])
{
	char name[] = "/tmp/ddiperf-token-XXXXXX";
	int fd = mkstemp(name), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	fchmod(fd, mode);
	close(fd);
	rc = control_token("x.token", name, out);
	unlink(name);
	return rc;
}

static void a_token_is_the_first_line_of_a_file_of_ones_own(void **state)
{
	char token[CONTROL_TOKEN_SIZE], text[200];

	assert_int_equal(token_of("0123456789abcdef\nmore\n", 0600, token), 0);
	assert_string_equal(token, "0123456789abcdef");
	assert_int_equal(token_of("0123456789abcdef", 0400, token), 0);
	assert_int_not_equal(token_of("0123456789abcdef\n", 0640, token), 0);
	assert_int_not_equal(token_of("0123456789abcdef\n", 0604, token), 0);
	assert_int_not_equal(token_of("0123456789abcde\n", 0600, token), 0);
	assert_int_not_equal(token_of("0123456789 bcdef\n", 0600, token), 0);
	assert_int_not_equal(token_of("", 0600, token), 0);
	memset(text, 'x', sizeof(text));
	text[127] = '\0';
	assert_int_equal(token_of(text, 0600, token), 0);
	text[127] = 'x';
	text[199] = '\0';
	assert_int_not_equal(token_of(text, 0600, token), 0);
	assert_int_not_equal(control_token("x.token", "/nowhere/to/be/found", token), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_this_host_reaches_the_place),
		cmocka_unit_test(a_token_is_the_first_line_of_a_file_of_ones_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

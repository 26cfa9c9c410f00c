// SPDX-License-Identifier: BSD-3-Clause
// Lines on stderr: complete, also from several threads, and only of the requested level.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define THREADS 4
#define LINES   50

static char text[64 << 10];

// Returns the output of fn on stderr, through a pipe that is large enough for all of it.
static const char *captured(void (*fn)(void))
{
	int saved = dup(STDERR_FILENO), ends[2];
	ssize_t len;

	assert_int_equal(pipe(ends), 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	close(ends[1]);
	fn();
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	len = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	text[len > 0 ? len : 0] = 0;
	return text;
}

static void one_of_each(void)
{
	log_error("e%d", 1);
	log_warning("w");
	log_note("n");
	log_debug("d");
}

static void from_the_wire(void)
{
	log_error("%s", "\x1b]0;x\a\r\nddiperf: ok\t\x7f");
	log_warning("%s", "\xc2\x9b"
			  "31m \x9b"
			  "1m \xff \xc3");
	log_note("%s", "K\xc3\xb6ln \xe2\x82\xac \xf0\x9f\x90\xa7");
}

static void control_characters_do_not_reach_a_terminal(void **state)
{
	char error[64];

	assert_string_equal(captured(from_the_wire),
		"ddiperf: ?]0;x???ddiperf: ok??\n"
		"ddiperf: warning: ??31m ?1m ? ?\n"
		"ddiperf: K\xc3\xb6ln \xe2\x82\xac \xf0\x9f\x90\xa7\n");
	log_take_error(error, sizeof(error));
	assert_string_equal(error, "?]0;x???ddiperf: ok??");
}

static void levels_choose_what_is_said(void **state)
{
	log_set_level(LOG_QUIET);
	assert_string_equal(captured(one_of_each), "ddiperf: e1\nddiperf: warning: w\n");
	assert_false(log_is_verbose());
	log_set_level(LOG_NORMAL);
	assert_string_equal(
		captured(one_of_each), "ddiperf: e1\nddiperf: warning: w\nddiperf: n\n");
	log_set_level(LOG_VERBOSE);
	assert_true(log_is_verbose());
	assert_string_equal(captured(one_of_each),
		"ddiperf: e1\nddiperf: warning: w\nddiperf: n\nddiperf: d\n");
	log_set_level(LOG_NORMAL);
}

static void advice(void)
{
	log_error("raise dhcp4.clients, or set again: true, or lower load.slots");
	log_warning("dhcp4.clients of a timeout");
}

static void settings_are_named_as_the_user_gave_them(void **state)
{
	static const char *const words[][2] = {
		{"raise dhcp4.clients, or set again: true", "raise -R"}, {"dhcp4.clients", "-R"},
		{"load.slots", "-q"}, {NULL, NULL}};
	char small[8];

	log_set_words(words);
	assert_string_equal(captured(advice),
		"ddiperf: raise -R, or lower -q\nddiperf: warning: -R of a timeout\n");
	assert_string_equal(log_in_words("12345load.slots", small, sizeof(small)), "12345-q");
	assert_string_equal(log_in_words("123456load.slots", small, sizeof(small)), "123456-");
	log_set_words(NULL);
	assert_string_equal(log_in_words("load.slots", small, sizeof(small)), "load.sl");
}

static void a_very_long_line(void)
{
	char line[5000];

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = 0;
	log_error("%s", line);
}

static void a_long_line_is_cut_and_still_ends(void **state)
{
	size_t len = strlen(captured(a_very_long_line));

	assert_in_range(len, 1000, 4096);
	assert_string_equal(text + len - 5, "x...\n");
	assert_ptr_equal(strchr(text, '\n'), text + len - 1);
}

static int line_len;

static void a_line_of_this_length(void)
{
	log_error("%0*d", line_len, 7);
}

static void a_line_is_cut_only_when_it_does_not_fit(void **state)
{
	size_t longest = 0;

	for (line_len = 2000; line_len < 2100; line_len++) {
		size_t len = strlen(captured(a_line_of_this_length));
		bool cut = len > 4 && strcmp(text + len - 4, "...\n") == 0;

		assert_int_equal(text[len - 1], '\n');
		if (!cut)
			assert_int_equal(len, 9 + line_len + 1);
		else if (longest == 0)
			longest = len;
		assert_int_equal(cut, line_len >= 2038);
	}
	assert_int_equal(longest, 2047);
}

static void *talk(void *arg)
{
	for (unsigned i = 0; i < LINES; i++)
		log_error("%s", (const char *)arg);
	return NULL;
}

static void talk_at_once(void)
{
	static char words[THREADS][64];
	pthread_t ids[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		memset(words[i], (int)('a' + i), sizeof(words[i]) - 1);
		assert_int_equal(pthread_create(&ids[i], NULL, talk, words[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
}

static void lines_of_threads_do_not_mix(void **state)
{
	unsigned lines = 0;
	char *rest = NULL;

	captured(talk_at_once);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		assert_memory_equal(line, "ddiperf: ", 9);
		assert_int_equal(strlen(line), 9 + 63);
		assert_int_equal(strspn(line + 9, (char[]){line[9], 0}), 63);
		lines++;
	}
	assert_int_equal(lines, THREADS * LINES);
}

static void two_errors(void)
{
	log_error("first");
	log_error("second %d", 2);
	log_warning("no error");
}

static void the_last_error_is_there_once(void **state)
{
	char last[8];

	captured(two_errors);
	log_take_error(last, sizeof(last));
	assert_string_equal(last, "second "); // as much as there is room for
	log_take_error(last, sizeof(last));
	assert_string_equal(last, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_characters_do_not_reach_a_terminal),
		cmocka_unit_test(levels_choose_what_is_said),
		cmocka_unit_test(settings_are_named_as_the_user_gave_them),
		cmocka_unit_test(a_long_line_is_cut_and_still_ends),
		cmocka_unit_test(a_line_is_cut_only_when_it_does_not_fit),
		cmocka_unit_test(lines_of_threads_do_not_mix),
		cmocka_unit_test(the_last_error_is_there_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

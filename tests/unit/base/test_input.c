// SPDX-License-Identifier: BSD-3-Clause
// Lines of files and of standard input, the files that are refused, and a series that reads the
// same bytes each time. Path: cold. Test.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/input.h"
#include "base/interrupt.h"
#include "lib/diag_text.h"

static char folder[] = "/tmp/ddiperf-test-XXXXXX", path[64], other[64];

static int setup(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	unlink(other);
	return rmdir(folder);
}

static void write_to(const char *name, const char *text, size_t len)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static char seen[256];
static unsigned count, stop_at;

static int each(void *to, char *line, size_t len, unsigned number)
{
	assert_ptr_equal(to, seen);
	assert_int_equal(number, ++count);
	assert_int_equal(line[len], '\0');
	if (strlen(seen) + len + 2 < sizeof(seen))
		sprintf(seen + strlen(seen), "%s|", line);
	return number == stop_at;
}

static int lines_of(const char *name, struct inputs *in, char **errors)
{
	struct diag *d = diag_new();
	int rc;

	seen[0] = '\0';
	count = 0;
	diag_set_inputs(d, in);
	rc = input_lines(name, NULL, each, seen, d);
	*errors = diag_text(d);
	diag_free(d);
	return rc;
}

static void expect_lines(const char *name, struct inputs *in, const char *lines)
{
	char *errors;

	assert_int_equal(lines_of(name, in, &errors), 0);
	assert_string_equal(seen, lines);
	assert_string_equal(errors, "");
	free(errors);
}

static void expect_refused(const char *name, struct inputs *in, const char *why)
{
	char *errors;

	assert_int_equal(lines_of(name, in, &errors), -EINVAL);
	if (!strstr(errors, why))
		fail_msg("expected \"%s\" in: %s", why, errors);
	free(errors);
}

static void lines_have_no_newline_and_the_last_one_needs_none(void **state)
{
	static const struct {
		const char *text, *lines;
	} cases[] = {
		{"", ""}, {"\n", "|"}, {"a", "a|"}, {"a\nb\n", "a|b|"}, {"a\r\n\nb", "a\r||b|"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_to(path, cases[i].text, strlen(cases[i].text));
		expect_lines(path, NULL, cases[i].lines);
	}
	stop_at = 1;
	expect_lines(path, NULL, "a\r|");
	stop_at = 0;
}

static void a_line_of_1_mib_is_read_and_no_longer_one(void **state)
{
	char *text = malloc(INPUT_LINE_MAX + 2);
	char *errors;

	memset(text, 'x', INPUT_LINE_MAX);
	memcpy(text, "a\n", 2);
	text[INPUT_LINE_MAX + 1] = '\n';
	text[INPUT_LINE_MAX] = 'x';
	write_to(path, text, INPUT_LINE_MAX + 2); // 1 MiB - 1 and its newline
	assert_int_equal(lines_of(path, NULL, &errors), 0);
	assert_int_equal(count, 2);
	free(errors);
	text[INPUT_LINE_MAX + 1] = 'x';
	write_to(path, text, INPUT_LINE_MAX + 2);
	expect_refused(path, NULL, ":2:1: the line is longer than 1 MiB");
	free(text);
}

static void what_is_no_text_is_refused(void **state)
{
	expect_refused(folder, NULL, "Is a directory");
	expect_refused("/nonexistent/file", NULL, "No such file");
	write_to(path, "good\nb\0d\n", 9);
	expect_refused(path, NULL, ":2:2: holds a NUL octet");
	write_to(path,
		"\xff\xfe"
		"a\0\n\0",
		6);
	expect_refused(path, NULL, ":1:1: is UTF-16 (iconv");
}

static void a_byte_order_mark_is_no_part_of_the_first_line(void **state)
{
	write_to(path,
		"\xef\xbb\xbf"
		"a\n\xef\xbb\xbf"
		"b\n",
		10);
	expect_lines(path, NULL,
		"a|\xef\xbb\xbf"
		"b|");
}

static void compressed_files_are_named_with_the_way_to_read_them(void **state)
{
	static const struct {
		const char *begin, *why;
	} cases[] = {{"\x1f\x8b\x08 more octets", "compressed by gzip (zcat /"},
		{"\xfd"
		 "7zXZ\xff octets",
			"compressed by xz (xzcat /"},
		{"\x28\xb5\x2f\xfd more octets", "compressed by zstd (zstdcat /"},
		{"\x04\x22\x4d\x18 more octets", "compressed by lz4 (lz4cat /"},
		{"BZh91AY&SY octets", "compressed by bzip2 (bzcat /"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_to(path, cases[i].begin, strlen(cases[i].begin));
		expect_refused(path, NULL, cases[i].why);
	}
	write_to(path, "BZh9.example A\n", 15);
	expect_lines(path, NULL, "BZh9.example A|");
}

// The writer comes after the reader, and writes twice.
static void a_pipe_is_read_to_its_end_once_a_series(void **state)
{
	struct inputs *in = inputs_new();
	char pipe[80];
	pid_t writer;

	expect_lines("/dev/null", NULL, "");
	snprintf(pipe, sizeof(pipe), "%s/pipe", folder);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	writer = fork();
	if (writer == 0) {
		int fd;

		usleep(50000);
		fd = open(pipe, O_WRONLY);
		_exit(write(fd, "a\nb", 3) != 3 || usleep(50000) || write(fd, "c\n", 2) != 2);
	}
	expect_lines(pipe, in, "a|bc|");
	expect_lines(pipe, in, "a|bc|");
	assert_int_equal(waitpid(writer, NULL, 0), writer);
	unlink(pipe);
	inputs_free(in);
}

// Nobody ever writes.
static void a_wait_for_a_pipe_can_be_interrupted(void **state)
{
	char pipe[80];

	snprintf(pipe, sizeof(pipe), "%s/pipe", folder);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	interrupt_count = 1;
	expect_refused(pipe, NULL, "Interrupted");
	interrupt_count = 0;
	unlink(pipe);
}

static void a_series_reads_the_same_bytes_each_time(void **state)
{
	struct inputs *in = inputs_new();
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 5}};

	write_to(path, "one\n", 4);
	expect_lines(path, in, "one|");
	write_to(other, "two\n", 4);
	assert_int_equal(rename(other, path), 0); // another file has the name now
	expect_lines(path, in, "one|");
	expect_lines(path, NULL, "two|");
	inputs_free(in);
	in = inputs_new();
	expect_lines(path, in, "two|");
	write_to(path, "six\n", 4); // the same file has other bytes
	utimensat(AT_FDCWD, path, times, 0);
	expect_refused(path, in, "has changed since the first run read it");
	inputs_free(in);
}

static void standard_input_is_read_once_and_given_as_often_as_asked(void **state)
{
	struct inputs *in = inputs_new();
	int saved = dup(STDIN_FILENO), ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "a\nb", 3), 3);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	expect_lines("-", in, "a|b|");
	expect_lines("-", in, "a|b|");
	expect_lines("-", NULL, "");
	dup2(saved, STDIN_FILENO);
	close(saved);
	inputs_free(in);
}

static void standard_input_serves_one_setting(void **state)
{
	static const char settings[2][2] = {"-", "-"};
	struct inputs *in = inputs_new();
	struct diag *d = diag_new();
	int saved = dup(STDIN_FILENO), fd;

	write_to(path, "a\n", 2);
	fd = open(path, O_RDONLY);
	dup2(fd, STDIN_FILENO);
	close(fd);
	diag_set_inputs(d, in);
	diag_mark(d, settings[0], 2, "f.yaml", 3, 1, "traffic.one.dns.queries");
	diag_mark(d, settings[1], 2, "f.yaml", 7, 1, "traffic.two.dns.queries");
	for (int i = 0; i < 2; i++) {
		fd = input_open("-", settings[0], d);
		assert_true(fd >= 0);
		close(fd);
	}
	assert_int_equal(input_open("-", settings[1], d), -1);
	assert_diag_has(d, "f.yaml:7:1: traffic.two.dns.queries: -: traffic.one.dns.queries reads "
			   "standard input already");
	dup2(saved, STDIN_FILENO);
	close(saved);
	diag_free(d);
	inputs_free(in);
}

// A file with holes, a terminal, and a stream that the configuration came from.
static void standard_input_that_cannot_be_read_is_refused(void **state)
{
	int saved = dup(STDIN_FILENO), fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), leader;

	assert_int_equal(ftruncate(fd, INPUT_STANDARD_MAX + 1), 0);
	dup2(fd, STDIN_FILENO);
	expect_refused("-", NULL, "a stream of more than 1 GiB");
	assert_int_equal(ftruncate(fd, 0), 0);
	close(fd);
	assert_int_equal(getchar(), EOF);
	expect_refused("-", NULL, "was read before, as the configuration");
	clearerr(stdin);
	expect_lines("-", NULL, "");
	leader = posix_openpt(O_RDWR | O_NOCTTY);
	assert_int_equal(unlockpt(leader), 0);
	fd = open(ptsname(leader), O_RDWR | O_NOCTTY);
	dup2(fd, STDIN_FILENO);
	close(fd);
	expect_refused("-", NULL, "is a terminal (redirect it");
	dup2(saved, STDIN_FILENO);
	close(saved);
	close(leader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_have_no_newline_and_the_last_one_needs_none),
		cmocka_unit_test(a_line_of_1_mib_is_read_and_no_longer_one),
		cmocka_unit_test(what_is_no_text_is_refused),
		cmocka_unit_test(a_byte_order_mark_is_no_part_of_the_first_line),
		cmocka_unit_test(compressed_files_are_named_with_the_way_to_read_them),
		cmocka_unit_test(a_pipe_is_read_to_its_end_once_a_series),
		cmocka_unit_test(a_wait_for_a_pipe_can_be_interrupted),
		cmocka_unit_test(a_series_reads_the_same_bytes_each_time),
		cmocka_unit_test(standard_input_is_read_once_and_given_as_often_as_asked),
		cmocka_unit_test(standard_input_serves_one_setting),
		cmocka_unit_test(standard_input_that_cannot_be_read_is_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

// SPDX-License-Identifier: BSD-3-Clause
// Send times from a text file: valid lines, refused lines and their place, and that time begins
// with the first. Path: cold. Test.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "engine/config/load.h"
#include "engine/plan/replay.h"
#include "lib/diag_text.h"

struct fixture {
	struct arena *a;
	struct diag *d;
	struct timestamps t;
	char path[64], *errors;
	int rc;
};

static void begin(struct fixture *f, const void *content, size_t len, const char *filter)
{
	struct replay_settings s = {.file = f->path, .speed = 1, .filter = filter};
	int fd;

	*f = (struct fixture){.a = arena_new(), .d = diag_new()};
	strcpy(f->path, "/tmp/ddiperf-replay-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, len), (ssize_t)len);
	close(fd);
	f->rc = replay_read(&f->t, &s, f->a, f->d);
	unlink(f->path);
	f->errors = diag_text(f->d);
}

static void end(struct fixture *f)
{
	free(f->errors);
	timestamps_free(&f->t);
	diag_free(f->d);
	arena_free(f->a);
}

static void expect_times(const char *text, const uint64_t *ns, uint64_t count)
{
	struct fixture f;

	begin(&f, text, strlen(text), NULL);
	assert_string_equal(f.errors, "");
	assert_int_equal(f.rc, 0);
	assert_int_equal(f.t.count, count);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(f.t.ns[i], ns[i]);
	end(&f);
}

static void times_are_seconds_to_the_nanosecond_from_the_first(void **state)
{
	expect_times("0\n1\n2.5\n", (const uint64_t[]){0, 1000000000, 2500000000}, 3);
	expect_times("7.25\n7.25\n8\n", (const uint64_t[]){0, 0, 750000000}, 3);
	expect_times("1.\n1.000000001\n1.0000000029\n", (const uint64_t[]){0, 1, 2}, 3);
	expect_times("9999999999\n", (const uint64_t[]){0}, 1);
	expect_times("1700000000.5\n1700000000.75", (const uint64_t[]){0, 250000000}, 2);
}

static void what_follows_a_time_is_not_looked_at(void **state)
{
	expect_times("1 a query\n2\tx\n3#y\n4;z\n5\r\n",
		(const uint64_t[]){0, 1000000000, 2000000000, 3000000000, 4000000000}, 5);
	expect_times("# a comment\n; another\n\n   \t\n \t 5\n\r\n6\n",
		(const uint64_t[]){0, 1000000000}, 2);
}

static void expect_error(const char *text, const char *part, unsigned count)
{
	struct fixture f;

	begin(&f, text, strlen(text), NULL);
	assert_int_equal(f.rc, -EINVAL);
	assert_int_equal(diag_count(f.d), count);
	if (!strstr(f.errors, part))
		fail_msg("expected \"%s\" in:\n%s", part, f.errors);
	end(&f);
}

static void a_line_that_is_no_time_is_an_error_at_its_place(void **state)
{
	expect_error("1\nx\n", ":2:1: \"x\" is not a time in seconds", 1);
	expect_error("  -1\n", ":1:3: \"-1\" is not a time", 1);
	expect_error(".5\n", "is not a time", 1);
	expect_error("1.5x\n", "is not a time", 1);
	expect_error("1,5\n", "is not a time", 1);
	expect_error("10000000000\n", "is not a time", 1);
	expect_error("99999999999999999999\n", "is not a time", 1);
}

static void time_does_not_go_back(void **state)
{
	expect_error("1\n2\n1.9\n2\n", ":3:1: goes back in time", 1);
}

static void ten_bad_lines_are_listed(void **state)
{
	const char *const ten = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
	char text[64];

	expect_error(ten, ":10:1: \"j\"", 10);
	snprintf(text, sizeof(text), "%sk\n", ten);
	expect_error(text, "and 1 more bad lines", 11);
	snprintf(text, sizeof(text), "5\n%s4\n", ten);
	expect_error(text, "and 1 more bad lines", 11);
}

static void a_file_without_a_time_is_an_error(void **state)
{
	expect_error("", "no time in it", 1);
	expect_error("# none\n", "no time in it", 1);
}

static void a_file_that_is_not_there_is_an_error(void **state)
{
	struct replay_settings s = {.file = "/nosuch/file", .speed = 1};
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	struct timestamps t = {0};

	assert_int_equal(replay_read(&t, &s, a, d), -EINVAL);
	assert_int_equal(diag_count(d), 1);
	diag_free(d);
	arena_free(a);
}

static void a_filter_needs_packets(void **state)
{
	struct fixture f;

	begin(&f, "1\n", 2, "udp");
	assert_int_equal(f.rc, -EINVAL);
	assert_non_null(strstr(f.errors, "is for files of packets"));
	end(&f);
}

// The packets of a capture file, out of order.
static void packets_are_sorted(void **state)
{
	static const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, figures, length, link;
		struct {
			uint32_t s, us, length, full;
			uint8_t data[16];
		} packets[3];
	} file = {0xa1b2c3d4, 2, 4, 0, 0, 65535, 1,
		{{12, 0, 16, 16, {0}}, {10, 500000, 16, 16, {0}}, {11, 0, 16, 16, {0}}}};
	struct fixture f;

	begin(&f, &file, sizeof(file), NULL);
	assert_string_equal(f.errors, "");
	assert_int_equal(f.t.count, 3);
	assert_int_equal(f.t.ns[0], 0);
	assert_int_equal(f.t.ns[1], 500000000);
	assert_int_equal(f.t.ns[2], 1500000000);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_seconds_to_the_nanosecond_from_the_first),
		cmocka_unit_test(what_follows_a_time_is_not_looked_at),
		cmocka_unit_test(a_line_that_is_no_time_is_an_error_at_its_place),
		cmocka_unit_test(time_does_not_go_back),
		cmocka_unit_test(ten_bad_lines_are_listed),
		cmocka_unit_test(a_file_without_a_time_is_an_error),
		cmocka_unit_test(a_file_that_is_not_there_is_an_error),
		cmocka_unit_test(a_filter_needs_packets),
		cmocka_unit_test(packets_are_sorted),
	};

	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// Times of the packets in a capture file: all, or the packets that pass a filter; invalid and
// truncated files are refused.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/packet_file.h"
#include "net/timestamps.h"

static char path[64];
static bool no_memory;

void *reallocarray(void *old, size_t count, size_t size)
{
	return no_memory ? NULL : realloc(old, count * size);
}

static int make_file(void **state)
{
	strcpy(path, "/tmp/ddiperf-timestamps.XXXXXX");
	return close(mkstemp(path));
}

static int remove_file(void **state)
{
	return unlink(path);
}

static void write_file(const void *data, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static int opened(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

struct file {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, snapshot, link;
	struct {
		uint32_t s, fraction, captured, len;
		uint8_t frame[16];
	} packets[3];
};

// Nanoseconds, Ethernet: ARP, IPv4, ARP.
static const struct file file = {0xa1b23c4d, 2, 4, 0, 0, 65535, 1,
	{{1700000000, 5, 16, 16, {[12] = 0x08, 0x06}},
		{1700000001, 999999999, 16, 16, {[12] = 0x08, 0x00, 0x45}},
		{1700000002, 0, 16, 16, {[12] = 0x08, 0x06}}}};

static void a_filter_chooses_the_packets(void **state)
{
	static const struct {
		const char *filter;
		uint64_t count, ns[3];
	} cases[] = {
		{NULL, 3, {1700000000000000005, 1700000001999999999, 1700000002000000000}},
		{"arp", 2, {1700000000000000005, 1700000002000000000}},
		{"ip", 1, {1700000001999999999}},
		{"ip6", 0},
	};

	write_file(&file, sizeof(file));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct timestamps t = {0};
		struct arena *a = arena_new();
		const char *why = NULL;

		assert_int_equal(timestamps_read(&t, opened(), cases[i].filter, a, &why), 0);
		assert_int_equal(t.count, cases[i].count);
		for (uint64_t k = 0; k < t.count; k++)
			assert_int_equal(t.ns[k], cases[i].ns[k]);
		timestamps_free(&t);
		assert_null(t.ns);
		arena_free(a);
	}
}

static void microseconds_count_as_such(void **state)
{
	struct file usual = file;
	struct timestamps t = {0};
	struct arena *a = arena_new();
	const char *why = NULL;

	usual.magic = 0xa1b2c3d4;
	usual.packets[1].fraction = 7;
	write_file(&usual, sizeof(usual));
	assert_int_equal(timestamps_read(&t, opened(), NULL, a, &why), 0);
	assert_int_equal(t.ns[0], 1700000000000005000);
	assert_int_equal(t.ns[1], 1700000001000007000);
	timestamps_free(&t);
	arena_free(a);
}

static void a_bad_file_or_filter_is_refused_with_a_reason(void **state)
{
	static const struct {
		size_t len;
		const char *filter;
	} cases[] = {{0, NULL}, {sizeof(file), "no such"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct timestamps t = {0};
		struct arena *a = arena_new();
		const char *why = NULL;

		write_file(&file, cases[i].len);
		assert_int_equal(timestamps_read(&t, opened(), cases[i].filter, a, &why), -EINVAL);
		assert_non_null(why);
		assert_true(*why);
		timestamps_free(&t);
		arena_free(a);
	}
}

static void a_file_that_ends_within_a_packet_is_read_up_to_there(void **state)
{
	struct timestamps t = {0};
	struct arena *a = arena_new();
	const char *why = NULL;

	write_file(&file, sizeof(file) - 1);
	assert_int_equal(timestamps_read(&t, opened(), NULL, a, &why), 0);
	assert_int_equal(t.count, sizeof(file.packets) / sizeof(file.packets[0]) - 1);
	assert_non_null(why);
	timestamps_free(&t);
	arena_free(a);
}

static void a_packet_file_is_known_by_its_first_four_bytes(void **state)
{
	static const struct {
		uint32_t magic;
		size_t len;
		bool known;
	} cases[] = {
		{0xa1b2c3d4, 4, true},
		{0xd4c3b2a1, 4, true},
		{0xa1b23c4d, 4, true},
		{0x4d3cb2a1, 4, true},
		{0x0a0d0d0a, 4, true},
		{0x0a0d0d0a, 3, false},
		{0xa1b2c3d5, 4, false},
		{0, 4, false},
	};
	int fd;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_file(&cases[i].magic, cases[i].len);
		fd = opened();
		assert_int_equal(packet_file_is(fd), cases[i].known);
		assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
		close(fd);
	}
}

static void any_number_of_times_is_kept_in_order(void **state)
{
	struct timestamps t = {0};

	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(timestamps_add(&t, 3 * i), 0);
	assert_int_equal(t.count, 100000);
	assert_true(t.room >= t.count);
	for (uint64_t i = 0; i < t.count; i++)
		assert_int_equal(t.ns[i], 3 * i);
	timestamps_free(&t);
	assert_int_equal(t.count, 0);
}

static void want_of_memory_is_told(void **state)
{
	struct timestamps t = {0};
	struct arena *a = arena_new();
	const char *why = NULL;

	write_file(&file, sizeof(file));
	no_memory = true;
	assert_int_equal(timestamps_read(&t, opened(), NULL, a, &why), -ENOMEM);
	no_memory = false;
	assert_string_equal(why, "not enough memory");
	assert_int_equal(t.count, 0);
	timestamps_free(&t);
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_filter_chooses_the_packets),
		cmocka_unit_test(microseconds_count_as_such),
		cmocka_unit_test(a_bad_file_or_filter_is_refused_with_a_reason),
		cmocka_unit_test(a_file_that_ends_within_a_packet_is_read_up_to_there),
		cmocka_unit_test(a_packet_file_is_known_by_its_first_four_bytes),
		cmocka_unit_test(any_number_of_times_is_kept_in_order),
		cmocka_unit_test(want_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}

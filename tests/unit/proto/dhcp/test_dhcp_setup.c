// SPDX-License-Identifier: BSD-3-Clause
// What set-up does for both families: shares of workers in relays, files line by line.
// Path: tests only.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "dhcp_file_fixture.h"
#include "proto/dhcp/client/dhcp_lines.h"
#include "proto/dhcp/client/dhcp_addresses.h"
#include "proto/dhcp/client/dhcp_work.h"

#define RELAYS 5

// Each is somebody's, and nobody's twice where there are enough of them.
static void check_relays(uint32_t workers)
{
	uint32_t seen[RELAYS] = {0};

	for (uint32_t i = 0; i < workers; i++) {
		const struct proto_env env = {.worker = i, .workers = workers};
		const struct dhcp_course course = {0};
		struct dhcp_work w;

		assert_int_equal(dhcp_work_open(&w, &course, &env, 20 * workers,
					 sizeof(struct dhcp_client), RELAYS),
			0);
		for (uint32_t client = 0; client < 20; client++) {
			uint32_t relay = dhcp_work_relay(&w, client);

			assert_in_range(relay, 0, RELAYS - 1);
			seen[relay] |= 1u << i;
		}
		dhcp_work_close(&w);
	}
	for (uint32_t i = 0; i < RELAYS; i++)
		assert_true(seen[i] && (workers > RELAYS || (seen[i] & (seen[i] - 1)) == 0));
}

static void every_relay_is_used_and_shared_only_by_more_workers(void **state)
{
	for (uint32_t workers = 1; workers <= 2 * RELAYS; workers++)
		check_relays(workers);
}

static int hex_line(void *to, char *line, const char **what)
{
	uint8_t bytes[4];
	int len = dhcp_hex_read(line, bytes, sizeof(bytes));

	*what = len == -ENOSPC ? "too long" : "bad";
	if (len < 0)
		return -EINVAL;
	return dhcp_rows_add(to, bytes) ? ((struct dhcp_rows *)to)->count == 3 : -ENOMEM;
}

static int lines_read(const char *text, struct dhcp_rows *rows, struct diag *d)
{
	const char *path = file_of(text);
	int ret = dhcp_lines_read(path, NULL, hex_line, rows, d);

	unlink(path);
	return ret;
}

static void lines_are_read_until_there_are_enough(void **state)
{
	struct dhcp_rows rows = {.size = 4};
	struct diag *d = diag_new();
	const void *twice;
	void *sorted;

	assert_int_equal(
		lines_read("# x\n\n 01:02 03 04 \r\nffFF0000\n01020304\nnonsense", &rows, d), 0);
	assert_int_equal(rows.count, 3);
	assert_memory_equal(rows.items, "\1\2\3\4\xff\xff\0\0\1\2\3\4", 12);
	sorted = dhcp_rows_sort(&rows, &twice);
	assert_memory_equal(sorted, "\1\2\3\4\1\2\3\4\xff\xff\0\0", 12);
	assert_memory_equal(twice, "\1\2\3\4", 4);
	assert_int_equal(diag_count(d), 0);
	free(sorted);
	free(rows.items);
	diag_free(d);
}

static void ten_bad_lines_are_listed_and_the_others_counted(void **state)
{
	struct dhcp_rows rows = {.size = 4};
	struct diag *d = diag_new();
	char *text = calloc(1, 65536);

	for (uint32_t i = 0; i < 12; i++)
		strcat(text, "0\n");
	assert_int_equal(lines_read(text, &rows, d), -EINVAL);
	assert_int_equal(diag_count(d), 11);
	diag_free(d);
	d = diag_new();
	memset(text, '0', 65535); // as long a line as it is
	assert_int_equal(lines_read(text, &rows, d), -EINVAL);
	assert_int_equal(diag_count(d), 1);
	free(text);
	free(rows.items);
	diag_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_relay_is_used_and_shared_only_by_more_workers),
		cmocka_unit_test(lines_are_read_until_there_are_enough),
		cmocka_unit_test(ten_bad_lines_are_listed_and_the_others_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// Asking whether a path can be written leaves no trace. Path: cold. Test.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

static char folder[] = "/tmp/ddiperf-test-XXXXXX", path[64], link_path[64];

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	snprintf(link_path, sizeof(link_path), "%s/link", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	unlink(link_path);
	return rmdir(folder);
}

static void what_is_there_stays_as_it_is(void **state)
{
	struct stat st;
	FILE *f = fopen(path, "w");

	(void)state;
	fputs("an earlier one", f);
	fclose(f);
	assert_int_equal(file_check_writable(path), 0);
	stat(path, &st);
	assert_int_equal(st.st_size, 14);
	unlink(path);
}

static void what_is_not_there_is_not_there_afterwards(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(file_check_writable(path), 0);
	assert_int_not_equal(stat(path, &st), 0);
	assert_int_equal(symlink(path, link_path), 0);
	assert_int_equal(file_check_writable(link_path), 0);
	assert_int_equal(lstat(link_path, &st), 0);
	assert_int_not_equal(stat(link_path, &st), 0);
}

static void what_cannot_be_written_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(file_check_writable("/nonexistent/file"), -ENOENT);
	assert_int_equal(file_check_writable("/tmp"), -EISDIR);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(file_check_writable(path), -ENXIO); // nobody reads it
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_stays_as_it_is),
		cmocka_unit_test(what_is_not_there_is_not_there_afterwards),
		cmocka_unit_test(what_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

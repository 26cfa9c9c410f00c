// SPDX-License-Identifier: BSD-3-Clause
// Asking whether a path can be written leaves no trace; a draft replaces a file at once, whenever
// its writer is killed. Path: cold. Test.
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static void the_first_line_has_no_newline(void **state)
{
	FILE *f = fopen(path, "w");
	char line[8] = "before";

	(void)state;
	assert_string_equal(file_first_line(link_path, line, sizeof(line)), "");
	fputs("one\ntwo\n", f);
	fclose(f);
	assert_ptr_equal(file_first_line(path, line, sizeof(line)), line);
	assert_string_equal(line, "one");
	assert_string_equal(file_first_line(path, line, 3), "on");
	assert_int_equal(truncate(path, 0), 0);
	assert_string_equal(file_first_line(path, line, sizeof(line)), "");
	unlink(path);
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
	unlink(link_path);
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

#define OLD    "an earlier one\n"
#define LINES  10000
#define LINE   "line %05d of the new one\n"
#define LENGTH (LINES * 25)

static void write_old(const char *to)
{
	FILE *f = fopen(to, "w");

	assert_non_null(f);
	fputs(OLD, f);
	assert_int_equal(fclose(f), 0);
}

static int write_new(const char *to)
{
	struct file_draft d;
	int rc = file_draft_open(to, &d);

	if (rc < 0)
		return rc;
	for (int i = 0; i < LINES; i++)
		fprintf(d.f, LINE, i);
	return file_draft_commit(&d);
}

static bool is_old(const char *at)
{
	char text[64] = "";
	FILE *f = fopen(at, "r");
	size_t len;

	assert_non_null(f);
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	return len == strlen(OLD) && strcmp(text, OLD) == 0;
}

static bool is_new(const char *at)
{
	char line[64], expected[64];
	FILE *f = fopen(at, "r");
	int i = 0;

	assert_non_null(f);
	for (; fgets(line, sizeof(line), f); i++) {
		snprintf(expected, sizeof(expected), LINE, i);
		assert_string_equal(line, expected);
	}
	fclose(f);
	return i == LINES;
}

// Files in the folder but for . and ..; all but keep are removed.
static int files(const char *keep)
{
	DIR *d = opendir(folder);
	struct dirent *entry;
	int count = 0;

	assert_non_null(d);
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.') {
			count++;
			if (keep && strcmp(entry->d_name, keep) != 0)
				unlinkat(dirfd(d), entry->d_name, 0);
		}
	closedir(d);
	return count;
}

// Kill a writer when it enters or leaves its n-th system call. Did it end before that?
static bool killed_at(int n)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(write_new(path) < 0);
	}
	assert_true(child > 0);
	for (int i = 0; i <= n; i++) {
		assert_int_equal(waitpid(child, &status, 0), child);
		if (WIFEXITED(status))
			return true;
		ptrace(i == n ? PTRACE_KILL : PTRACE_SYSCALL, child, NULL, NULL);
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	return false;
}

static void a_writer_killed_anywhere_leaves_the_old_file_or_the_new_one(void **state)
{
	int n = 0, old = 0;
	bool ended = false;

	(void)state;
	if (unit_emulated())
		skip();
	for (; !ended; n++) {
		write_old(path);
		ended = killed_at(n);
		if (is_old(path))
			old++;
		else
			assert_true(is_new(path));
		files("file");
	}
	assert_true(is_new(path));
	assert_true(old > 2 * LENGTH / 8192 && old < n); // each write is a call
	unlink(path);
}

static void a_draft_takes_mode_and_owner_of_what_it_replaces(void **state)
{
	struct stat st;

	(void)state;
	write_old(path);
	assert_int_equal(chmod(path, 0640), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(path, 12345, 54321), 0);
	assert_int_equal(write_new(path), 0);
	stat(path, &st);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(st.st_uid, geteuid() == 0 ? 12345 : geteuid());
	if (geteuid() == 0)
		assert_int_equal(st.st_gid, 54321);
	assert_true(is_new(path));
	unlink(path);
	umask(027);
	assert_int_equal(write_new(path), 0);
	umask(022);
	stat(path, &st);
	assert_int_equal(st.st_mode & 07777, 0640);
	unlink(path);
}

static void a_private_draft_is_its_owners(void **state)
{
	struct file_draft d;
	struct stat st;

	(void)state;
	for (int old = 0; old < 2; old++) {
		if (old)
			write_old(path);
		if (old)
			assert_int_equal(chmod(path, 0644), 0);
		assert_int_equal(file_draft_open(path, &d), 0);
		file_draft_make_private(&d);
		assert_int_equal(fstat(d.fd, &st), 0); // from the first byte on
		assert_int_equal(st.st_mode & 07777, 0600);
		assert_int_equal(file_draft_commit(&d), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		unlink(path);
	}
	assert_int_equal(file_draft_open("/dev/null", &d), 0);
	file_draft_make_private(&d); // a device is not a result
	assert_int_equal(file_draft_commit(&d), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
}

static void a_draft_goes_where_a_link_points(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(symlink("file", link_path), 0);
	assert_int_equal(write_new(link_path), 0); // to a file that is not there yet
	assert_int_equal(lstat(link_path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_true(is_new(path));
	write_old(path);
	assert_int_equal(write_new(link_path), 0);
	assert_true(is_new(path));
	assert_int_equal(files(NULL), 2);
	unlink(path);
	unlink(link_path);
	assert_int_equal(symlink("link", link_path), 0);
	assert_int_equal(write_new(link_path), -ELOOP);
	unlink(link_path);
}

static void a_draft_that_fails_or_is_abandoned_leaves_the_file_as_it_is(void **state)
{
	struct rlimit before;
	struct file_draft d;

	(void)state;
	write_old(path);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, before.rlim_max});
	assert_int_equal(write_new(path), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_true(is_old(path));
	assert_int_equal(file_draft_open(path, &d), 0);
	fputs("not this", d.f);
	file_draft_abandon(&d);
	assert_true(is_old(path));
	assert_int_equal(file_draft_check(path), 0);
	assert_true(is_old(path));
	assert_int_equal(files(NULL), 1);
	unlink(path);
	assert_int_equal(file_draft_check(path), 0);
	assert_int_equal(files(NULL), 0);
}

static void the_last_moments_leave_no_draft(void **state)
{
	struct file_draft first, second;

	(void)state;
	write_old(path);
	file_drafts_remove();
	assert_int_equal(file_draft_open(path, &first), 0);
	assert_int_equal(file_draft_open(path, &second), 0);
	assert_int_equal(files(NULL), 3);
	file_drafts_remove();
	assert_int_equal(files(NULL), 1);
	assert_true(is_old(path));
	file_draft_abandon(&first);
	file_draft_abandon(&second);
	assert_int_equal(write_new(path), 0);
	file_drafts_remove();
	assert_true(is_new(path));
	unlink(path);
}

static void a_draft_says_why_it_cannot_be(void **state)
{
	struct file_draft d;

	(void)state;
	assert_int_equal(write_new("/nonexistent/file"), -ENOENT);
	assert_int_equal(file_draft_check("/nonexistent/file"), -ENOENT);
	assert_int_equal(file_draft_check(""), -ENOENT);
	assert_int_equal(file_draft_check("/tmp"), -EISDIR);
	assert_int_equal(file_draft_check("/dev/full"), 0); // shows when it is written
	assert_int_equal(write_new("/dev/full"), -ENOSPC);
	assert_true(file_error_of_box(-ENOSPC) && file_error_of_box(-EROFS));
	assert_false(file_error_of_box(-ENOENT) || file_error_of_box(0));
	assert_int_equal(write_new("/dev/null"), 0);
	assert_int_equal(file_draft_open("/dev/full", &d), 0);
	fputs("not this", d.f);
	file_draft_abandon(&d);
	if (geteuid() == 0)
		return; // may write everything
	write_old(path);
	chmod(path, 0444);
	assert_int_equal(file_draft_check(path), -EACCES);
	unlink(path);
}

static void a_copy_is_whole_and_replaces_nothing(void **state)
{
	static const int sizes[] = {0, 1, 65535, 65536, 65537, 200000};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		FILE *f = fopen(path, "w");
		struct stat s;

		for (int n = 0; n < sizes[i]; n++)
			putc(n / 251, f);
		fclose(f);
		assert_int_equal(file_copy(path, link_path), 0);
		assert_int_equal(file_copy(path, link_path), -EEXIST);
		assert_int_equal(stat(link_path, &s), 0);
		assert_int_equal(s.st_size, sizes[i]);
		f = fopen(link_path, "r");
		for (int n = 0; n < sizes[i]; n++)
			assert_int_equal(getc(f), n / 251 % 256);
		fclose(f);
		unlink(link_path);
	}
	unlink(path);
	assert_int_equal(file_copy(path, link_path), -ENOENT);
	assert_int_equal(access(link_path, F_OK), -1);
	assert_int_equal(file_copy(folder, link_path), -EISDIR);
	unlink(link_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_line_has_no_newline),
		cmocka_unit_test(what_is_there_stays_as_it_is),
		cmocka_unit_test(what_is_not_there_is_not_there_afterwards),
		cmocka_unit_test(what_cannot_be_written_is_an_error),
		cmocka_unit_test(a_writer_killed_anywhere_leaves_the_old_file_or_the_new_one),
		cmocka_unit_test(a_draft_takes_mode_and_owner_of_what_it_replaces),
		cmocka_unit_test(a_private_draft_is_its_owners),
		cmocka_unit_test(a_draft_goes_where_a_link_points),
		cmocka_unit_test(a_draft_that_fails_or_is_abandoned_leaves_the_file_as_it_is),
		cmocka_unit_test(the_last_moments_leave_no_draft),
		cmocka_unit_test(a_draft_says_why_it_cannot_be),
		cmocka_unit_test(a_copy_is_whole_and_replaces_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

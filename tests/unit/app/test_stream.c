// SPDX-License-Identifier: BSD-3-Clause
// The lines of a run on their way: to readers of a socket who join, are slow and leave, into a
// file, and beside the document with a disk that is full. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "captured.h"
#include "document/interval_file.h"
#include "follow/stream.h"

static struct {
	char dir[64], to[128]; // "unix:PATH"
	struct stream *stream;
	struct run_events_follower f;
	int reader; // reads all in each pause
	size_t total;
	unsigned pauses;
} x;

int __wrap_poll(struct pollfd *fds, nfds_t count, int ms);
int __real_poll(struct pollfd *fds, nfds_t count, int ms);

// A pause takes no time.
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms)
{
	ssize_t got;

	if (count)
		return __real_poll(fds, count, ms);
	x.pauses++;
	while (x.reader && (got = read(x.reader, captured, sizeof(captured))) > 0)
		x.total += (size_t)got;
	return 0;
}

static int begin(void **state)
{
	memset(&x, 0, sizeof(x));
	strcpy(x.dir, "/tmp/ddiperf-test-XXXXXX");
	assert_non_null(mkdtemp(x.dir));
	snprintf(x.to, sizeof(x.to), "unix:%s/socket", x.dir);
	return 0;
}

static int end(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", x.dir);
	return system(command);
}

static int open_stream(void *to)
{
	int rc = stream_open("lines:", to, true, NULL, &x.stream);

	if (rc == 0)
		x.f = stream_follower(x.stream);
	return rc;
}

static void put(json_t *line)
{
	x.f.line(x.f.ctx, line);
	json_decref(line);
}

static void put_number(int n)
{
	put(json_pack("{s:i}", "n", n));
}

static int join(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(name.sun_path, x.to + strlen("unix:"));
	if (connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0)
		return fd;
	close(fd);
	return -1;
}

// All that has come; captured has it.
static ssize_t hear(int fd)
{
	ssize_t got = read(fd, captured, sizeof(captured) - 1);

	captured[got > 0 ? got : 0] = '\0';
	return got;
}

static void assert_heard(int fd, const char *lines)
{
	hear(fd);
	assert_string_equal(captured, lines);
}

// Who joins late gets what the next lines need: the begin of the run, and of the trial.
static void readers_join_and_leave(void **state)
{
	int first, second;

	assert_int_equal(open_stream(x.to), 0);
	first = join();
	put(json_pack("{s:i}", "begin", 1));
	put(json_pack("{s:i}", "trial", 1));
	put_number(1);
	assert_heard(first, "{\"begin\":1}\n{\"trial\":1}\n{\"n\":1}\n");
	second = join();
	put_number(2);
	assert_heard(first, "{\"n\":2}\n");
	assert_heard(second, "{\"begin\":1}\n{\"trial\":1}\n{\"n\":2}\n");
	close(second);
	put(json_pack("{s:i}", "trial", 2));
	put_number(3);
	second = join();
	x.f.tick(x.f.ctx);
	assert_heard(second, "{\"begin\":1}\n{\"trial\":2}\n");
	close(second);
	put(json_pack("{s:i}", "begin", 2)); // the trial is of the run before
	second = join();
	x.f.tick(x.f.ctx);
	assert_heard(second, "{\"begin\":2}\n");
	hear(first);
	x.f.close(x.f.ctx);
	assert_int_equal(hear(first), 0);
	assert_int_equal(join(), -1);
	assert_int_equal(access(x.to + strlen("unix:"), F_OK), -1);
	close(first);
	close(second);
}

static int put_long(void *count)
{
	static char text[100001];

	memset(text, 'x', sizeof(text) - 1);
	for (size_t i = 0; i < (size_t)count; i++)
		put(json_pack("{s:s}", "text", text));
	return 0;
}

// One that is behind by more than 1 MiB; the others get each line.
static void a_slow_reader_is_dropped(void **state)
{
	int slow, slower, good;
	size_t total = 0;
	ssize_t got;

	assert_int_equal(open_stream(x.to), 0);
	slow = join();
	good = join();
	for (int i = 0; i < 10; i++) {
		capture_output(put_long, (void *)1);
		assert_string_equal(captured, ""); // 1 MB behind, in part in the socket
		while ((got = hear(good)) > 0)
			total += (size_t)got;
	}
	slower = join();
	capture_output(put_long, (void *)20);
	assert_string_equal(captured, "ddiperf: warning: lines: a reader was too slow and is "
				      "dropped, and so will be others\n");
	close(good);
	while ((got = hear(slow)) > 0)
		;
	assert_int_equal(got, 0);
	assert_int_equal(total, 10 * strlen("{\"text\":\"\"}\n") + 10 * 100000);
	x.f.close(x.f.ctx);
	close(slow);
	close(slower);
}

// What is pending goes out when there is room, and for a fifth of a second at the end.
static void what_is_pending_is_sent_later(void **state)
{
	const size_t all = 6 * (strlen("{\"text\":\"\"}\n") + 100000);
	ssize_t got;

	for (int reads = 1; reads >= 0; reads--) {
		int fd;

		assert_int_equal(open_stream(x.to), 0);
		fd = join();
		put_long((void *)6); // more than a socket takes
		got = hear(fd);
		assert_true(got > 0);
		x.total = (size_t)got;
		x.pauses = 0;
		x.f.tick(x.f.ctx);
		x.reader = reads ? fd : 0;
		x.f.close(x.f.ctx);
		while ((got = hear(fd)) > 0)
			x.total += (size_t)got;
		assert_int_equal(x.total == all, reads);
		assert_true(reads ? x.pauses > 0 && x.pauses < 20 : x.pauses == 20);
		close(fd);
	}
	x.reader = 0;
}

static void a_reader_too_many_is_closed(void **state)
{
	int fds[17];

	assert_int_equal(open_stream(x.to), 0);
	for (int i = 0; i < 17; i++) {
		fds[i] = join();
		x.f.tick(x.f.ctx);
	}
	put_number(1);
	for (int i = 0; i < 16; i++)
		assert_heard(fds[i], "{\"n\":1}\n");
	assert_int_equal(hear(fds[16]), 0);
	close(fds[3]);
	put_number(2);
	put_number(3); // its place is known to be free
	close(fds[16]);
	fds[16] = join();
	put_number(4);
	assert_heard(fds[16], "{\"n\":4}\n");
	x.f.close(x.f.ctx);
	for (int i = 0; i < 17; i++)
		if (i != 3)
			close(fds[i]);
}

static void a_socket_is_left_or_in_use(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct stream *first;
	struct stat st;
	char path[200];
	int fd;

	assert_int_equal(open_stream(x.to), 0);
	assert_int_equal(stat(x.to + strlen("unix:"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	first = x.stream;
	assert_int_equal(capture_output(open_stream, x.to), -EADDRINUSE);
	assert_captured("ddiperf: lines: unix:");
	fd = join();
	assert_true(fd >= 0);
	close(fd);
	x.f.close(first);
	strcpy(path, x.to + strlen("unix:"));
	fclose(fopen(path, "w")); // no socket
	assert_int_equal(capture_output(open_stream, x.to), -EADDRINUSE);
	unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(name.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd); // left by a process that is dead
	assert_int_equal(open_stream(x.to), 0);
	x.f.close(x.f.ctx);
	memset(path, 'a', sizeof(path));
	memcpy(path, "unix:", 5);
	path[5 + 108] = '\0';
	assert_int_equal(capture_output(open_stream, path), -ENAMETOOLONG);
	path[5 + 107] = '\0';
	assert_int_equal(open_stream(path), 0);
	x.f.close(x.f.ctx);
}

static int put_three(void *ctx)
{
	for (int i = 0; i < 3; i++)
		put_number(i);
	return 0;
}

static int open_silently(void *ctx)
{
	return stream_open(NULL, "/nowhere/file", false, NULL, &x.stream);
}

static void a_file_that_is_full_lacks_lines(void **state)
{
	bool incomplete = false;
	char path[100];
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/file", x.dir);
	assert_int_equal(stream_open("lines:", path, true, &incomplete, &x.stream), 0);
	x.f = stream_follower(x.stream);
	assert_int_equal(capture_output(put_three, NULL), 0);
	x.f.close(x.f.ctx);
	assert_false(incomplete);
	f = fopen(path, "r");
	captured[fread(captured, 1, 99, f)] = '\0';
	fclose(f);
	assert_string_equal(captured, "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stream_open("lines:", "/dev/full", false, &incomplete, &x.stream), 0);
	x.f = stream_follower(x.stream);
	capture_output(put_three, NULL);
	assert_string_equal(
		captured, "ddiperf: lines: No space left on device; it will lack lines\n");
	assert_true(incomplete);
	x.f.close(x.f.ctx);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(stream_open("lines:", path, false, NULL, &x.stream), 0);
	x.f = stream_follower(x.stream);
	x.f.close(x.f.ctx);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644); // as it was
	assert_int_equal(stream_open("lines:", path, true, NULL, &x.stream), 0);
	x.f = stream_follower(x.stream);
	x.f.close(x.f.ctx);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(capture_output(open_silently, NULL), -ENOENT);
	assert_string_equal(captured, "");
	assert_null(x.stream);
}

// --- the file of intervals

static struct interval_file p;

static int open_file(void *document)
{
	return interval_file_open(&p, document);
}

static int write_line(void *ctx)
{
	json_t *line = json_pack("{s:i}", "n", 7);

	interval_file_line(&p, line);
	json_decref(line);
	return 0;
}

static int leave(void *ctx)
{
	interval_file_leave(&p);
	return 0;
}

static const char *beside(const char *name)
{
	static char path[100];

	snprintf(path, sizeof(path), "%s/%s", x.dir, name);
	return path;
}

static void intervals_are_beside_the_document(void **state)
{
	static const char *const unnamed[] = {NULL, "-", "/dev/null"};
	char document[100], message[200];
	struct stat st;

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(open_file((void *)unnamed[i]), 0);
		assert_null(p.path);
		write_line(NULL);
		assert_int_equal(p.size, 8);
		interval_file_close(&p, true);
	}
	strcpy(document, beside("out"));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(open_file(document), 0);
		assert_string_equal(p.path, beside("out.part"));
		assert_int_equal(stat(p.path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		interval_file_close(&p, i == 1);
		assert_int_equal(access(beside("out.part"), F_OK), i - 1);
		fclose(fopen(document, "w")); // it is there the second time
	}
	assert_int_equal(open_file(document), 0);
	capture_output(leave, NULL);
	assert_string_equal(captured, "");
	assert_int_equal(access(beside("out.part"), F_OK), -1); // empty
	interval_file_close(&p, false);
	assert_int_equal(open_file(document), 0);
	write_line(NULL);
	capture_output(leave, NULL);
	snprintf(message, sizeof(message), "ddiperf: the intervals of the run are in %s.part\n",
		document);
	assert_string_equal(captured, message);
	interval_file_close(&p, true);
	assert_int_equal(stat(beside("out.part"), &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(capture_output(open_file, "/nowhere/out"), -ENOENT);
	assert_captured("/nowhere/out.part: No such file or directory");
	interval_file_close(&p, false);
}

static void a_full_disk_moves_the_intervals(void **state)
{
	char document[100], text[20] = "";

	strcpy(document, beside("out"));
	assert_int_equal(symlink("/dev/full", beside("out.part")), 0);
	assert_int_equal(open_file(document), 0);
	capture_output(write_line, NULL);
	assert_captured("out.part: No space left on device; the intervals of the run are kept in a "
			"temporary file");
	assert_true(p.filled);
	write_line(NULL);
	assert_null(p.path);
	assert_int_equal(p.error, 0);
	assert_int_equal(p.size, 16);
	assert_int_equal(pread(fileno(p.f), text, sizeof(text), 0), 16);
	assert_string_equal(text, "{\"n\":7}\n{\"n\":7}\n");
	assert_int_equal(access(beside("out.part"), F_OK), -1);
	interval_file_close(&p, true);
}

// The lines that were written stay, and the run goes on without the others.
static void where_no_disk_has_room_intervals_are_lacking(void **state)
{
	struct rlimit all, few;
	char document[100], text[9] = "";

	strcpy(document, beside("out"));
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(open_file(i ? document : NULL), 0);
		write_line(NULL);
		few = (struct rlimit){12, all.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
		write_line(NULL);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
		assert_int_equal(p.error, -EFBIG);
		assert_int_equal(p.size, 8);
		assert_int_equal(pread(fileno(p.f), text, 8, 0), 8);
		assert_string_equal(text, "{\"n\":7}\n");
		capture_output(write_line, NULL);
		assert_string_equal(captured, ""); // it was told
		assert_true(p.filled);
		interval_file_close(&p, false);
	}
	signal(SIGXFSZ, SIG_DFL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(readers_join_and_leave),
		TEST(a_slow_reader_is_dropped),
		TEST(what_is_pending_is_sent_later),
		TEST(a_reader_too_many_is_closed),
		TEST(a_socket_is_left_or_in_use),
		TEST(a_file_that_is_full_lacks_lines),
		TEST(intervals_are_beside_the_document),
		TEST(a_full_disk_moves_the_intervals),
		TEST(where_no_disk_has_room_intervals_are_lacking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

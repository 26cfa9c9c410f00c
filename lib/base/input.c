// SPDX-License-Identifier: BSD-3-Clause
// Opens the files that runs read, once per series, and splits text into lines. Path: cold. One
// thread at a time.
#include "base/input.h"
#include "base/arena.h"
#include "base/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct kept {
	struct kept *next;
	int fd;
	struct stat first;   // when it was opened
	const char *setting; // that reads it
	char path[];
};

struct inputs {
	struct kept *files;
};

struct inputs *inputs_new(void)
{
	return calloc(1, sizeof(struct inputs));
}

void inputs_free(struct inputs *in)
{
	struct kept *k;

	while (in && (k = in->files)) {
		in->files = k->next;
		close(k->fd);
		free((char *)k->setting);
		free(k);
	}
	free(in);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static ssize_t read_some(int fd, char *buf, size_t room)
{
	ssize_t n;

	do
		n = read(fd, buf, room);
	while (n < 0 && errno == EINTR && !interrupt_count);
	if (interrupt_count)
		return -EINTR;
	return n < 0 ? -errno : n;
}

// Waits for bytes or the end of a stream: a FIFO without a writer yet has neither. 0 or -errno.
static int wait_for_bytes(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int ready = 0;

	while (ready == 0 && !interrupt_count) {
		ready = poll(&p, 1, 100); // a signal just before it is not waited for
		if (ready < 0 && errno != EINTR)
			return -errno;
		ready = ready < 0 ? 0 : ready;
	}
	return ready ? 0 : -EINTR;
}

static long long left_in(int fd)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size - at : 0;
}

static ssize_t write_all(int fd, const char *buf, size_t len)
{
	ssize_t one = 0;

	for (size_t done = 0; done < len; done += (size_t)one) {
		one = write(fd, buf + done, len - done);
		if (one < 0)
			return -errno;
	}
	return (ssize_t)len;
}

// Copies input that can be read only once. Returns a descriptor or -errno.
static int copy_stream(int from)
{
	long long left = INPUT_STANDARD_MAX;
	int fd = memfd_create("input", MFD_CLOEXEC);
	char buf[65536];
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = left_in(from) > left ? -EFBIG : 1;
	while (n > 0) {
		n = wait_for_bytes(from);
		n = n ? n : read_some(from, buf, sizeof(buf));
		left -= n > 0 ? n : 0;
		n = left < 0 ? -EFBIG : n;
		if (n > 0)
			n = write_all(fd, buf, (size_t)n);
	}
	if (n == 0)
		return fd;
	close(fd);
	return (int)n;
}

// A descriptor, or -errno. Does not wait here for the writer of a FIFO, where an interrupt could
// not end the wait.
static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), copy;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	copy = S_ISDIR(st.st_mode) ? -EISDIR : isatty(fd) ? -ENOTTY : copy_stream(fd);
	close(fd);
	return copy;
}

// A descriptor, or -errno. The file with the settings may have been standard input.
static int open_standard(void)
{
	if (isatty(STDIN_FILENO))
		return -ENOTTY;
	return feof(stdin) ? -EBUSY : copy_stream(STDIN_FILENO);
}

static const char *error_text(int error)
{
	switch (-error) {
	case ENOTTY:
		return "is a terminal (redirect it: ddiperf ... < FILE)";
	case EBUSY:
		return "was read before, as the configuration (name a file)";
	case EFBIG:
		return "is a stream of more than 1 GiB, which memory would have to hold (name a "
		       "regular file)";
	}
	return strerror(-error);
}

static int input_fail(const char *path, const void *setting, int error, struct diag *d)
{
	diag_error(d, setting, NULL, "%s: %s", input_name(path), error_text(error));
	return -1;
}

// Magic octets of compressed formats, which file names do not identify reliably, and the command
// that unpacks to standard output.
static const struct {
	const char *name, *command, *magic;
	size_t len;
} packed[] = {
	{"gzip", "zcat", "\x1f\x8b\x08", 3},
	{"xz", "xzcat",
		"\xfd"
		"7zXZ",
		5},
	{"zstd", "zstdcat", "\x28\xb5\x2f\xfd", 4},
	{"bzip2", "bzcat", "BZh", 3},
	{"lz4", "lz4cat", "\x04\x22\x4d\x18", 4},
};

static int refuse_packed(int fd, const char *path, const void *setting, struct diag *d)
{
	bool standard = strcmp(path, "-") == 0;
	char begin[10];

	if (pread(fd, begin, sizeof(begin), 0) != sizeof(begin))
		return 0;
	for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
		if (memcmp(begin, packed[i].magic, packed[i].len) != 0)
			continue;
		if (packed[i].magic[0] == 'B' && memcmp(begin + 4, "1AY&SY", 6) != 0)
			continue;
		diag_error(d, setting, NULL,
			standard ? "%s: compressed by %s (%s FILE | ddiperf ...)"
				 : "%s: compressed by %s (%s %s | ddiperf ... with - as the file)",
			input_name(path), packed[i].name, packed[i].command, path);
		return -1;
	}
	return 0;
}

static struct kept *kept_of(const struct inputs *in, const char *path)
{
	struct kept *k = in ? in->files : NULL;

	while (k && strcmp(k->path, path) != 0)
		k = k->next;
	return k;
}

static int keep(struct inputs *in, const char *path, const char *setting, int fd)
{
	struct kept *k = calloc(1, sizeof(*k) + strlen(path) + 1);
	int own, err;

	if (!k)
		arena_exhausted();
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0 || fstat(own, &k->first) < 0) {
		err = -errno;
		if (own >= 0)
			close(own);
		free(k);
		return err;
	}
	strcpy(k->path, path);
	k->setting = strdup(setting);
	if (!k->setting)
		arena_exhausted();
	k->fd = own;
	k->next = in->files;
	in->files = k;
	return 0;
}

int input_open(const char *path, const void *setting, struct diag *d)
{
	const char *name = diag_setting(d, setting);
	bool standard = strcmp(path, "-") == 0;
	struct inputs *in = diag_inputs(d);
	const struct kept *k = kept_of(in, path);
	struct stat now;
	int fd, rc;

	if (!k) {
		fd = standard ? open_standard() : open_file(path);
		if (fd < 0)
			return input_fail(path, setting, fd, d);
		if (refuse_packed(fd, path, setting, d) < 0) {
			close(fd);
			return -1;
		}
		rc = in ? keep(in, path, name, fd) : 0;
		if (rc < 0) {
			close(fd);
			return input_fail(path, setting, rc, d);
		}
	} else if (standard && strcmp(k->setting, name) != 0) {
		diag_error(d, setting, NULL,
			"-: %s reads standard input already (name a file for one of the two)",
			k->setting);
		return -1;
	} else {
		if (fstat(k->fd, &now) < 0 || !is_same(&now, &k->first)) {
			diag_error(d, setting, NULL,
				"%s: has changed since the first run read it: all runs of a series "
				"must read the same content",
				path);
			return -1;
		}
		fd = fcntl(k->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return input_fail(path, setting, -errno, d);
	}
	if (lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	close(fd);
	return input_fail(path, setting, -errno, d);
}

const char *input_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

struct lines {
	const char *path;
	input_line each;
	void *to;
	struct diag *d;
	unsigned number;
	char *buf;   // INPUT_LINE_MAX + 1
	bool octets; // NUL among them
};

static int lines_bad(struct lines *l, size_t col, const char *what)
{
	diag_error_at(l->d, input_name(l->path), l->number, (unsigned)col, NULL, "%s", what);
	return -EINVAL;
}

// The byte order mark of UTF-8 is not part of the first word; UTF-16 has NUL octets.
static int line_give(struct lines *l, char *line, size_t len)
{
	static const char mark[] = "\xef\xbb\xbf";
	const char *nul = memchr(line, '\0', len);

	l->number++;
	line[len] = '\0';
	if (l->number == 1 && nul &&
		(memcmp(line, "\xff\xfe", 2) == 0 || memcmp(line, "\xfe\xff", 2) == 0))
		return lines_bad(l, 1, "is UTF-16 (iconv -f UTF-16 -t ASCII FILE)");
	if (l->number == 1 && strncmp(line, mark, strlen(mark)) == 0) {
		line += strlen(mark);
		len -= strlen(mark);
	}
	return nul && !l->octets ? lines_bad(l, (size_t)(nul - line) + 1, INPUT_NUL)
	                         : l->each(l->to, line, len, l->number);
}

// Pass on the complete lines of the buffer, at the end of the file also the rest; *used: octets.
static int lines_give(struct lines *l, size_t have, bool end, size_t *used)
{
	int rc = 0;

	*used = 0;
	while (rc == 0 && *used < have) {
		char *line = l->buf + *used, *newline = memchr(line, '\n', have - *used);
		size_t len = newline ? (size_t)(newline - line) : have - *used;

		if (!newline && !end)
			break;
		rc = line_give(l, line, len);
		*used += len + (newline != NULL);
	}
	return rc;
}

static int lines_read(struct lines *l, int fd)
{
	size_t have = 0, used;
	ssize_t n;
	int rc;

	do {
		n = read_some(fd, l->buf + have, INPUT_LINE_MAX - have);
		if (n < 0)
			return (int)n;
		have += (size_t)n;
		rc = lines_give(l, have, n == 0, &used);
		if (rc)
			return rc;
		if (used == 0 && have == INPUT_LINE_MAX) {
			l->number++;
			return lines_bad(l, 1, "the line is longer than 1 MiB");
		}
		have -= used;
		memmove(l->buf, l->buf + used, have);
	} while (n != 0);
	return 0;
}

static int lines_of(const char *path, const void *setting, struct lines l, struct diag *d)
{
	int fd = input_open(path, setting, d), rc;
	struct stat before, after;

	if (fd < 0)
		return -EINVAL;
	l.buf = malloc(INPUT_LINE_MAX + 1);
	rc = l.buf && fstat(fd, &before) == 0 ? lines_read(&l, fd) : -ENOMEM;
	if (rc >= 0 && (fstat(fd, &after) < 0 || !is_same(&before, &after))) {
		diag_error(d, setting, NULL, "%s: changed while it was read", input_name(path));
		rc = -EINVAL;
	} else if (rc < 0 && rc != -EINVAL && rc != -ENOMEM) {
		input_fail(path, setting, rc, d);
		rc = -EINVAL;
	}
	free(l.buf);
	close(fd);
	return rc < 0 ? rc : 0;
}

int input_lines(const char *path, const void *setting, input_line each, void *to, struct diag *d)
{
	return lines_of(
		path, setting, (struct lines){.path = path, .each = each, .to = to, .d = d}, d);
}

int input_octet_lines(
	const char *path, const void *setting, input_line each, void *to, struct diag *d)
{
	return lines_of(path, setting,
		(struct lines){.path = path, .each = each, .to = to, .d = d, .octets = true}, d);
}

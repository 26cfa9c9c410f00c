// SPDX-License-Identifier: BSD-3-Clause
// Opens the files that runs read, once per series, and splits text into lines. Path: cold. One
// thread at a time.
#include "base/input.h"
#include "base/arena.h"
#include "base/interrupt.h"

#include <errno.h>
#include <fcntl.h>
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

static long long standard_size(void)
{
	off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	struct stat st;

	return fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size - at : 0;
}

// A copy of standard input, which can be read once only. A descriptor or -errno.
static int copy_standard(void)
{
	long long left = INPUT_STANDARD_MAX;
	int fd = memfd_create("input", MFD_CLOEXEC);
	char buf[65536];
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = standard_size() > left ? -EFBIG : 0;
	while (n >= 0 && (n = read_some(STDIN_FILENO, buf, sizeof(buf))) > 0) {
		left -= n;
		n = left < 0 ? -EFBIG : n;
		for (ssize_t done = 0, one; n > 0 && done < n; done += one) {
			one = write(fd, buf + done, (size_t)(n - done));
			if (one < 0) {
				n = -errno;
				break;
			}
		}
	}
	if (n == 0)
		return fd;
	close(fd);
	return (int)n;
}

// A descriptor, or -errno. Opening a pipe would wait for its writer.
static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return S_ISDIR(st.st_mode) ? -EISDIR : -ESPIPE;
}

// A descriptor, or -errno. The file with the settings may have been standard input.
static int open_standard(void)
{
	if (isatty(STDIN_FILENO))
		return -ENOTTY;
	return feof(stdin) ? -EBUSY : copy_standard();
}

static const char *error_text(int error)
{
	switch (-error) {
	case ESPIPE:
		return "not a regular file (or - for standard input)";
	case ENOTTY:
		return "standard input is a terminal (redirect it: ddiperf ... < FILE)";
	case EBUSY:
		return "standard input was read before, as the configuration (name a file)";
	case EFBIG:
		return "standard input is larger than 1 GiB (name a file)";
	}
	return strerror(-error);
}

static int input_fail(const char *path, const void *setting, int error, struct diag *d)
{
	diag_error(d, setting, NULL, "%s: %s", path, error_text(error));
	return -1;
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
		fd = standard ? open_standard() : open_regular(path);
		if (fd < 0)
			return input_fail(path, setting, fd, d);
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
				"read the same",
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

struct lines {
	const char *path;
	input_line each;
	void *to;
	struct diag *d;
	unsigned number;
	char *buf; // INPUT_LINE_MAX + 1
};

static int lines_bad(struct lines *l, size_t col, const char *what)
{
	diag_error_at(l->d, l->path, l->number, (unsigned)col, NULL, "%s", what);
	return -EINVAL;
}

static int line_give(struct lines *l, char *line, size_t len)
{
	const char *nul = memchr(line, '\0', len);

	l->number++;
	line[len] = '\0';
	return nul ? lines_bad(l, (size_t)(nul - line) + 1, "holds a NUL octet: not a text")
	           : l->each(l->to, line, len, l->number);
}

// The complete lines of the buffer, at the end of the file the rest too; *used: octets of them.
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

int input_lines(const char *path, const void *setting, input_line each, void *to, struct diag *d)
{
	struct lines l = {path, each, to, d, 0, NULL};
	int fd = input_open(path, setting, d), rc;
	struct stat before, after;

	if (fd < 0)
		return -EINVAL;
	l.buf = malloc(INPUT_LINE_MAX + 1);
	rc = l.buf && fstat(fd, &before) == 0 ? lines_read(&l, fd) : -ENOMEM;
	if (rc >= 0 && (fstat(fd, &after) < 0 || !is_same(&before, &after))) {
		diag_error(d, setting, NULL, "%s: changed while it was read", path);
		rc = -EINVAL;
	} else if (rc < 0 && rc != -EINVAL && rc != -ENOMEM) {
		input_fail(path, setting, rc, d);
		rc = -EINVAL;
	}
	free(l.buf);
	close(fd);
	return rc < 0 ? rc : 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "follow/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

#define READERS     16
#define PENDING_MAX (1u << 20) // octets that a reader may be behind
#define LAST_MS     200        // for readers to take the last line

struct stream_reader {
	int fd;
	char *text; // not sent yet
	size_t len;
};

struct stream {
	const char *option;
	char *path;   // of the socket; NULL: a file
	FILE *f;      // NULL: a socket
	int listener; // of the socket
	struct stream_reader readers[READERS];
	unsigned count;
	char *begin, *trial; // lines for readers who join now; NULL: none
	bool told;           // an error, or a dropped reader
	bool *incomplete;    // NULL: nobody asks
};

// --- a file ---

static int open_file(struct stream *s, const char *to, bool is_private)
{
	mode_t mode = is_private ? 0600 : 0666;
	struct stat st;
	int fd;

	if (strcmp(to, "-") == 0) {
		s->f = stdout;
		return 0;
	}
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	if (is_private && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		fchmod(fd, mode);
	s->f = fdopen(fd, "w");
	return s->f ? 0 : -errno;
}

static void fail_file(struct stream *s, const char *what)
{
	if (!s->told)
		log_error("%s %s%s", s->option, strerror(errno ? errno : EIO), what);
	s->told = true;
	if (s->incomplete)
		*s->incomplete = true;
}

static void put_file(struct stream *s, const char *text)
{
	errno = 0;
	if (!s->told && (fprintf(s->f, "%s\n", text) < 0 || fflush(s->f) != 0))
		fail_file(s, "; it will lack lines");
}

// --- a socket ---

// Is there a socket that nobody listens on?
static bool is_left_over(const struct sockaddr_un *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool refused = connect(fd, (const struct sockaddr *)name, sizeof(*name)) < 0 &&
	               errno == ECONNREFUSED;
	struct stat st;

	close(fd);
	return refused && lstat(name->sun_path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int bind_private(int fd, const struct sockaddr_un *name, bool is_private)
{
	mode_t before = umask(0);
	int rc;

	umask(is_private ? 0177 : before);
	rc = bind(fd, (const struct sockaddr *)name, sizeof(*name)) < 0 ? -errno : 0;
	umask(before);
	return rc;
}

static int listen_on(struct stream *s, const char *path, bool is_private)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int rc;

	if (strlen(path) >= sizeof(name.sun_path))
		return -ENAMETOOLONG;
	strcpy(name.sun_path, path);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0)
		return -errno;
	rc = bind_private(s->listener, &name, is_private);
	if (rc == -EADDRINUSE && is_left_over(&name)) {
		unlink(path);
		rc = bind_private(s->listener, &name, is_private);
	}
	if (rc == 0)
		s->path = strdup(path);
	if (rc == 0 && listen(s->listener, READERS) < 0)
		rc = -errno;
	return rc;
}

static void drop(struct stream *s, unsigned i)
{
	close(s->readers[i].fd);
	free(s->readers[i].text);
	s->readers[i] = s->readers[--s->count];
}

// Told once, for the first of them.
static void drop_slow(struct stream *s, unsigned i)
{
	drop(s, i);
	if (!s->told && s->option)
		log_warning("%s a reader was too slow and is dropped, and so will be others",
			s->option);
	s->told = true;
}

// As much as the reader takes. false: it is gone.
static bool flush_reader(struct stream_reader *r)
{
	while (r->len) {
		ssize_t sent = send(r->fd, r->text, r->len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EAGAIN || errno == EINTR;
		r->len -= (size_t)sent;
		memmove(r->text, r->text + sent, r->len);
	}
	return true;
}

// false: it takes no more.
static bool queue(struct stream_reader *r, const char *line)
{
	size_t len = strlen(line);
	char *more;

	if (r->len && r->len + len + 1 > PENDING_MAX)
		return false;
	more = realloc(r->text, r->len + len + 1);
	if (!more)
		return false;
	r->text = more;
	memcpy(more + r->len, line, len);
	more[r->len + len] = '\n';
	r->len += len + 1;
	return true;
}

static void flush_all(struct stream *s)
{
	for (unsigned i = s->count; i-- > 0;)
		if (!flush_reader(&s->readers[i]))
			drop(s, i);
}

// With what it needs to understand the next lines. A reader too many is closed at once.
static void join_all(struct stream *s)
{
	int fd;

	while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct stream_reader r = {.fd = fd};

		if (s->count == READERS) {
			close(fd);
			continue;
		}
		if (s->begin)
			queue(&r, s->begin);
		if (s->trial)
			queue(&r, s->trial);
		s->readers[s->count++] = r;
	}
}

static void remember(struct stream *s, const json_t *line, const char *text)
{
	bool begin = json_object_get(line, LINE_BEGIN), trial = json_object_get(line, LINE_TRIAL);

	if (begin || trial) {
		free(s->trial);
		s->trial = trial ? strdup(text) : NULL;
	}
	if (begin) {
		free(s->begin);
		s->begin = strdup(text);
	}
}

static void put_socket(struct stream *s, const char *text)
{
	for (unsigned i = s->count; i-- > 0;)
		if (!queue(&s->readers[i], text))
			drop_slow(s, i);
	flush_all(s);
}

static void stream_tick(void *ctx)
{
	struct stream *s = ctx;

	if (s->f)
		return;
	join_all(s);
	flush_all(s);
}

static void stream_line(void *ctx, const json_t *line)
{
	struct stream *s = ctx;
	char *text;

	stream_tick(s);
	text = run_events_text(line);
	if (s->f)
		put_file(s, text);
	else
		put_socket(s, text);
	remember(s, line, text);
	free(text);
}

static bool any_pending(const struct stream *s)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->readers[i].len)
			return true;
	return false;
}

static void close_socket(struct stream *s)
{
	for (int ms = 0; any_pending(s) && ms < LAST_MS; ms += 10) {
		poll(NULL, 0, 10);
		flush_all(s);
	}
	while (s->count)
		drop(s, s->count - 1);
	if (s->listener >= 0)
		close(s->listener);
	if (s->path)
		unlink(s->path);
}

static void stream_close(void *ctx)
{
	struct stream *s = ctx;

	if (s->f && s->f != stdout && fclose(s->f) != 0)
		fail_file(s, "");
	if (!s->f)
		close_socket(s);
	free(s->begin);
	free(s->trial);
	free(s->path);
	free(s);
}

int stream_open(
	const char *option, const char *to, bool is_private, bool *incomplete, struct stream **out)
{
	struct stream *s = calloc(1, sizeof(*s));
	bool is_socket = strncmp(to, STREAM_UNIX, strlen(STREAM_UNIX)) == 0;
	int rc = -ENOMEM;

	if (s) {
		*s = (struct stream){.option = option, .listener = -1, .incomplete = incomplete};
		rc = is_socket ? listen_on(s, to + strlen(STREAM_UNIX), is_private)
		               : open_file(s, to, is_private);
	}
	if (rc < 0 && option)
		log_error("%s %s: %s", option, to, strerror(-rc));
	if (rc < 0 && s)
		stream_close(s);
	*out = rc < 0 ? NULL : s;
	return rc;
}

struct run_events_follower stream_follower(struct stream *s)
{
	return (struct run_events_follower){stream_line, stream_tick, stream_close, s};
}

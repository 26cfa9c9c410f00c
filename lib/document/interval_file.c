// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "document/interval_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"

// Does the document replace a file, or become a new one?
static bool has_name(const char *document)
{
	struct stat st;

	return document && strcmp(document, "-") != 0 &&
	       (stat(document, &st) != 0 || S_ISREG(st.st_mode));
}

int interval_file_open(struct interval_file *p, const char *document)
{
	char *path = NULL;

	*p = (struct interval_file){0};
	if (has_name(document) && asprintf(&path, "%s" INTERVAL_FILE_SUFFIX, document) < 0)
		arena_exhausted();
	p->path = path;
	p->f = p->path ? fopen(p->path, "w+e") : tmpfile();
	if (p->f) {
		fchmod(fileno(p->f), 0600); // it has the commands of the user
		return 0;
	}
	p->error = -errno;
	log_error("%s: %s", p->path ? p->path : "a file for the intervals of the run",
		strerror(errno));
	p->path = NULL;
	free(path);
	return p->error;
}

static bool copy_whole_lines(const struct interval_file *p, FILE *to)
{
	char octets[65536];
	ssize_t count = 0;

	for (off_t at = 0; at < p->size; at += count) {
		off_t left = p->size - at;

		count = pread(fileno(p->f), octets,
			left < (off_t)sizeof(octets) ? (size_t)left : sizeof(octets), at);
		if (count <= 0 || fwrite(octets, 1, (size_t)count, to) != (size_t)count)
			return false;
	}
	return fflush(to) == 0;
}

// The disk of the result is full: moves the intervals to the folder of temporary files, and so
// frees room for the result.
static bool move_away(struct interval_file *p, int error)
{
	FILE *to = p->path ? tmpfile() : NULL;

	if (!to || !copy_whole_lines(p, to)) {
		if (to)
			fclose(to);
		return false;
	}
	log_warning("%s: %s; the intervals of the run are kept in a temporary file", p->path,
		strerror(error));
	unlink(p->path);
	free(p->path);
	fclose(p->f);
	p->path = NULL;
	p->f = to;
	return true;
}

static bool put_line(struct interval_file *p, const json_t *line)
{
	if (json_dumpf(line, p->f, JSON_COMPACT | JSON_REAL_PRECISION(15)) != 0 ||
		fputc('\n', p->f) < 0 || fflush(p->f) != 0)
		return false;
	p->size = ftello(p->f);
	return true;
}

void interval_file_line(void *ctx, const json_t *line)
{
	struct interval_file *p = ctx;

	int error;

	errno = 0;
	if (p->error || put_line(p, line)) {
		p->filled = true;
		return;
	}
	error = errno ? errno : EIO;
	if (move_away(p, error) && put_line(p, line)) {
		p->filled = true;
		return;
	}
	p->error = -error;
	log_error("%s: %s; the result will lack intervals",
		p->path ? p->path : "the file of the run's intervals", strerror(-p->error));
}

void interval_file_leave(const struct interval_file *p)
{
	if (p->path && p->filled)
		log_error("the intervals of the run are in %s", p->path);
	else if (p->path)
		unlink(p->path);
}

void interval_file_close(struct interval_file *p, bool keep)
{
	if (p->path && !keep)
		unlink(p->path);
	if (p->f)
		fclose(p->f);
	free(p->path);
	*p = (struct interval_file){0};
}

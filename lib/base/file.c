// SPDX-License-Identifier: BSD-3-Clause
// Tests a path by opening it; replaces a file by a draft beside it. Path: cold. One thread at a
// time.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define LINKS_MAX 40 // as the kernel follows

static struct file_draft *drafts; // that have a file

const char *file_first_line(const char *path, char *line, size_t room)
{
	FILE *f = fopen(path, "re");

	if (!f || !fgets(line, (int)room, f))
		line[0] = '\0';
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

int file_check_writable(const char *path)
{
	bool is_new = access(path, F_OK) < 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
	char target[PATH_MAX];

	if (fd < 0)
		return -errno;
	close(fd);
	if (is_new && realpath(path, target))
		unlink(target); // and not a link to it
	return 0;
}

bool file_error_of_box(int err)
{
	return err == -EIO || err == -ENOMEM || err == -ENOSPC || err == -EDQUOT ||
	       err == -EMFILE || err == -ENFILE || err == -EROFS;
}

static ssize_t on_write(void *cookie, const char *bytes, size_t len)
{
	struct file_draft *d = cookie;
	size_t done = 0;

	while (done < len && !d->error) {
		ssize_t n = write(d->fd, bytes + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR) // do not cut a document because of a signal
			d->error = -errno;
	}
	return (ssize_t)done;
}

// The name behind all links; the file may not exist yet. out has PATH_MAX bytes.
static int follow_links(const char *path, char *out)
{
	char next[PATH_MAX], link[PATH_MAX];

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(out, path);
	for (int i = 0; i < LINKS_MAX; i++) {
		ssize_t len = readlink(out, link, sizeof(link) - 1);
		char *slash = strrchr(out, '/');

		if (len < 0)
			return errno == EINVAL || errno == ENOENT ? 0 : -errno;
		link[len] = '\0';
		if (link[0] == '/' || !slash)
			slash = out;
		else
			slash++;
		if (snprintf(next, sizeof(next), "%.*s%s", (int)(slash - out), out, link) >=
			(int)sizeof(next))
			return -ENAMETOOLONG;
		strcpy(out, next);
	}
	return -ELOOP;
}

// Takes owner, group and mode of the file to be replaced. If owner or group cannot be set, it keeps
// this process's, and the group gets no rights.
static void take_mode_and_owner(int fd, const struct stat *old)
{
	mode_t mode = old->st_mode & 07777;

	if (fchown(fd, old->st_uid, old->st_gid) < 0 && fchown(fd, (uid_t)-1, old->st_gid) < 0)
		mode &= ~(mode_t)(S_ISUID | S_ISGID | S_IRWXG);
	fchmod(fd, mode);
}

static int open_beside(struct file_draft *d)
{
	char target[PATH_MAX];
	struct stat old;
	mode_t mask;
	bool exists;

	snprintf(target, sizeof(target), "%s", d->target);
	exists = stat(target, &old) == 0;
	if (exists && access(target, W_OK) < 0)
		return -errno;
	if (asprintf(&d->temp, "%s.XXXXXX", target) < 0) {
		d->temp = NULL;
		return -ENOMEM;
	}
	d->fd = mkostemp(d->temp, O_CLOEXEC);
	if (d->fd < 0)
		return -errno;
	d->next = drafts;
	drafts = d;
	if (exists) {
		take_mode_and_owner(d->fd, &old);
	} else {
		mask = umask(0);
		umask(mask);
		fchmod(d->fd, 0666 & ~mask);
	}
	return 0;
}

static int open_target(const char *path, struct file_draft *d)
{
	char target[PATH_MAX];
	struct stat st;
	int rc;

	if (!*path)
		return -ENOENT;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		d->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return d->fd < 0 ? -errno : 0;
	}
	rc = follow_links(path, target);
	if (rc < 0)
		return rc;
	d->target = strdup(target);
	return d->target ? open_beside(d) : -ENOMEM;
}

static void draft_end(struct file_draft *d)
{
	for (struct file_draft **at = &drafts; *at; at = &(*at)->next)
		if (*at == d) {
			*at = d->next;
			break;
		}
	if (d->fd >= 0)
		close(d->fd);
	if (d->temp && d->fd >= 0)
		unlink(d->temp);
	free(d->temp);
	free(d->target);
	*d = (struct file_draft){.fd = -1};
}

int file_draft_open(const char *path, struct file_draft *d)
{
	int rc;

	*d = (struct file_draft){.fd = -1};
	rc = open_target(path, d);
	if (rc == 0) {
		d->f = fopencookie(d, "w", (cookie_io_functions_t){.write = on_write});
		rc = d->f ? 0 : -ENOMEM;
	}
	if (rc < 0)
		draft_end(d);
	return rc;
}

void file_draft_make_private(const struct file_draft *d)
{
	if (d->target)
		fchmod(d->fd, 0600);
}

// Some file systems cannot sync a folder, and some folders cannot be opened.
static int sync_folder(const char *file)
{
	char folder[PATH_MAX], *slash;
	int fd, rc;

	snprintf(folder, sizeof(folder), "%s", file);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? 0 : -errno;
	rc = fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP ? -errno : 0;
	close(fd);
	return rc;
}

static int replace(struct file_draft *d)
{
	if (fsync(d->fd) < 0 && errno != EINVAL && errno != ENOTSUP)
		return -errno;
	if (rename(d->temp, d->target) < 0)
		return -errno;
	free(d->temp);
	d->temp = NULL; // the file no longer exists
	return sync_folder(d->target);
}

int file_draft_commit(struct file_draft *d)
{
	int rc = fclose(d->f) != 0 ? -errno : 0;

	if (d->error || rc == 0)
		rc = d->error;
	if (rc == 0 && d->target)
		rc = replace(d);
	draft_end(d);
	return rc;
}

void file_draft_abandon(struct file_draft *d)
{
	d->error = -ECANCELED; // nothing more is written, not even to a device
	fclose(d->f);
	draft_end(d);
}

void file_drafts_remove(void)
{
	for (const struct file_draft *d = drafts; d; d = d->next)
		if (d->temp)
			unlink(d->temp);
}

int file_draft_check(const char *path)
{
	struct file_draft d = {.fd = -1};
	struct stat st;
	int rc;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return access(path, W_OK) < 0 ? -errno : 0;
	rc = open_target(path, &d);
	draft_end(&d);
	return rc;
}

int file_append(int fd, off_t size, const char *text, size_t len)
{
	ssize_t done = len ? write(fd, text, len) : 0;
	int rc = done < 0 ? -errno : (size_t)done < len ? -ENOSPC : 0;

	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	if (rc < 0 && ftruncate(fd, size) < 0)
		log_warning("a part of a line stays at the end of a file");
	return rc;
}

int file_copy(const char *from, const char *to)
{
	char part[65536];
	FILE *in = fopen(from, "re"), *out = in ? fopen(to, "wxe") : NULL;
	int rc = in && out ? 0 : -errno;
	size_t len;

	while (rc == 0 && (len = fread(part, 1, sizeof(part), in)) > 0)
		if (fwrite(part, 1, len, out) != len)
			rc = -errno;
	if (rc == 0 && ferror(in))
		rc = -errno;
	if (in)
		fclose(in);
	if (out && fclose(out) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

int file_make_folders(const char *path)
{
	char part[PATH_MAX];

	snprintf(part, sizeof(part), "%s", path);
	for (char *at = part + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(part, 0777);
		*at = '/';
	}
	return mkdir(part, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

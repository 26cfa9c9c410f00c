// SPDX-License-Identifier: BSD-3-Clause
// Settings to JSON by a visitor, and an atomic write. Path: cold. Main thread.
#include "document.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/schema.h"
#include "stats/json.h"

#define DEPTH_MAX 32

struct nest {
	json_t *open[DEPTH_MAX]; // borrowed, but for the first
	unsigned depth;          // of the innermost
};

static void nest_put(struct nest *n, const char *key, json_t *value)
{
	json_t *in = n->open[n->depth];

	if (key && json_is_object(in))
		json_object_set_new(in, key, value);
	else
		json_array_append_new(in, value);
}

static void on_begin(void *ctx, const char *key, bool is_list)
{
	struct nest *n = ctx;
	json_t *inner = is_list ? json_array() : json_object();

	if (n->depth + 1 == DEPTH_MAX)
		abort(); // rows nest by their types, a handful deep
	nest_put(n, key, inner);
	n->open[++n->depth] = inner;
}

static void on_end(void *ctx)
{
	struct nest *n = ctx;

	n->depth--;
}

static json_t *string_of(const char *text)
{
	json_t *s = json_string(text);

	return s ? s : json_string("(not UTF-8)");
}

static void on_value(void *ctx, const char *key, const char *text, bool is_text)
{
	json_t *value = is_text ? NULL : json_loads(text, JSON_DECODE_ANY, NULL);

	nest_put(ctx, key, value ? value : string_of(text));
}

json_t *document_settings(const struct field_section *section, const void *settings)
{
	struct nest nest = {.open = {json_object()}};
	struct conf_visitor visitor = {on_begin, on_end, on_value, &nest};

	conf_visit(section, settings, &visitor);
	return nest.open[0];
}

json_t *document_result(const struct result *r, const struct config *c)
{
	json_t *document = stats_json(&result_section, r);

	if (c)
		json_object_set_new(document, "config", document_settings(config_section(), c));
	return document;
}

char *document_text(const json_t *document)
{
	char *body = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15)), *text;

	if (!body || asprintf(&text, "%s\n", body) < 0)
		abort();
	free(body);
	return text;
}

static int fail_write(const char *option, const char *path, int error)
{
	log_error("%s %s: %s", option, path, strerror(error));
	return -error;
}

// A pipe or a device, which a rename must not replace.
static bool is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

// Make a file in the folder of path, with the permissions of any new file. temp gets its name,
// target the name of the file that it will replace.
static int open_beside(const char *path, char *target, char *temp)
{
	mode_t mask;
	int fd;

	if (!*path)
		return -ENOENT;
	mask = umask(0);
	umask(mask);
	if (!realpath(path, target))
		snprintf(target, PATH_MAX, "%s", path);
	if (snprintf(temp, PATH_MAX, "%s.XXXXXX", target) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = mkstemp(temp);
	if (fd < 0)
		return -errno;
	fchmod(fd, 0666 & ~mask);
	return fd;
}

int document_check(const char *option, const char *path)
{
	char target[PATH_MAX], temp[PATH_MAX];
	struct stat st;
	int fd;

	if (strcmp(path, "-") == 0)
		return 0;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return fail_write(option, path, EISDIR);
	if (is_special(path))
		return access(path, W_OK) == 0 ? 0 : fail_write(option, path, errno);
	fd = open_beside(path, target, temp);
	if (fd < 0)
		return fail_write(option, path, -fd);
	close(fd);
	unlink(temp);
	return 0;
}

static int write_and_close(FILE *f, const char *text)
{
	bool ok = fputs(text, f) >= 0;
	int error = errno;

	if (fclose(f) != 0 && ok)
		return -errno;
	return ok ? 0 : -error;
}

static int write_beside(const char *path, const char *text)
{
	char target[PATH_MAX], temp[PATH_MAX];
	int fd = open_beside(path, target, temp), rc;

	if (fd < 0)
		return fd;
	rc = write_and_close(fdopen(fd, "w"), text);
	if (rc == 0 && rename(temp, target) < 0)
		rc = -errno;
	if (rc < 0)
		unlink(temp);
	return rc;
}

int document_write(const char *option, const char *text, const char *path)
{
	FILE *f;
	int rc;

	if (strcmp(path, "-") == 0) {
		rc = fputs(text, stdout) < 0 || fflush(stdout) != 0 ? -EIO : 0;
	} else if (is_special(path)) {
		f = fopen(path, "w");
		rc = f ? write_and_close(f, text) : -errno;
	} else {
		rc = write_beside(path, text);
	}
	return rc < 0 ? fail_write(option, path, -rc) : 0;
}

int document_write_json(const char *option, const json_t *document, const char *path)
{
	char *text = document_text(document);
	int rc = document_write(option, text, path);

	free(text);
	return rc;
}

// SPDX-License-Identifier: BSD-3-Clause
// Files of the folder: list, read, write, delete, and check. Path: cold. Threads of libmicrohttpd.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "web/api.h"
#include "process/child.h"
#include "web/runs_ports.h"

#define CHECK_MS 20000
#define ERRORS   100

struct http_reply api_list_files(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	char path[RUNS_PATH];
	json_t *list = json_array();
	struct dirent **found = NULL;
	struct stat st;
	int count = scandir(runs_path(a->runs, path, "files"), &found, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		const char *name = found[i]->d_name;

		if (name[0] != '.' && stat(runs_path(a->runs, path, "files/%s", name), &st) == 0 &&
			S_ISREG(st.st_mode))
			json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "name", name,
							    "size", (json_int_t)st.st_size,
							    "changed", (json_int_t)st.st_mtime));
		free(found[i]);
	}
	free(found);
	return http_json(MHD_HTTP_OK, json_pack("{s:o}", "files", list));
}

struct http_reply api_get_file(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	char path[RUNS_PATH];

	snprintf(path, sizeof(path), "files/%s", r->names[0]);
	return http_file("text/plain; charset=utf-8", runs_read(a->runs, path));
}

// Writes to a draft first. 0 or -errno.
static int write_file(const char *draft, const struct http_request *r)
{
	FILE *f = fopen(draft, "we");
	int rc = f ? 0 : -errno;

	if (f && r->len && fwrite(r->body, 1, r->len, f) != r->len)
		rc = -errno;
	if (f && fclose(f) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

// A name private to this thread, hidden by a '.'.
static void name_draft(const struct http_request *r, const char *kind, char buf[64])
{
	snprintf(buf, 64, ".%s-%zx.yaml", kind, (size_t)r >> 4);
}

struct http_reply api_put_file(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	char draft[RUNS_PATH], path[RUNS_PATH], name[64];
	int rc;

	name_draft(r, "put", name);
	runs_path(a->runs, draft, "files/%s", name);
	rc = write_file(draft, r);
	if (rc == 0 && rename(draft, runs_path(a->runs, path, "files/%s", r->names[0])) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(draft);
		return http_error(MHD_HTTP_INTERNAL_SERVER_ERROR, "the file was not written: %s",
			strerror(-rc));
	}
	return http_json(MHD_HTTP_OK,
		json_pack("{s:s, s:I}", "name", r->names[0], "size", (json_int_t)r->len));
}

struct http_reply api_delete_file(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	char path[RUNS_PATH];

	if (unlink(runs_path(a->runs, path, "files/%s", r->names[0])) < 0)
		return http_error(MHD_HTTP_NOT_FOUND, "there is no such file");
	return http_json(MHD_HTTP_OK, json_pack("{s:s}", "deleted", r->names[0]));
}

// --- check

// "NAME:12:3: text", or "ddiperf: text" if it has no place.
static json_t *error_of(const char *line, const char *name)
{
	unsigned row = 0, column = 0;
	int len = 0;

	if (strncmp(line, name, strlen(name)) == 0)
		line += strlen(name);
	if (sscanf(line, ":%u:%u: %n", &row, &column, &len) < 2 || len == 0)
		len = strncmp(line, "ddiperf: ", 9) == 0 ? 9 : *line == ':' ? 2 : 0;
	return json_pack("{s:i, s:i, s:o}", "line", (int)row, "column", (int)column, "text",
		json_string(line + len));
}

static json_t *read_errors(int fd, const char *name)
{
	FILE *f = fdopen(fd, "r");
	json_t *list = json_array(), *one;
	char line[4096];

	while (f && fgets(line, sizeof(line), f) && json_array_size(list) < ERRORS) {
		line[strcspn(line, "\n")] = '\0';
		one = error_of(line, name);
		if (json_object_get(one, "text"))
			json_array_append_new(list, one);
	}
	if (f)
		fclose(f);
	return list;
}

json_t *api_errors_of(
	const struct api *a, const char *name, const char *const *more, unsigned count)
{
	char folder[RUNS_PATH];
	const char *argv[RUNS_MORE + 8] = {"ddiperf", "check", "--confined"};
	unsigned n = 3;
	int fd, code;

	if (runs_is_campaign(runs_path(a->runs, folder, "files/%s", name))) {
		argv[1] = "campaign";
		argv[n++] = "--dump"; // after the check of all runs
	}
	if (runs_allow_commands(a->runs))
		argv[n++] = "--allow-commands";
	for (unsigned i = 0; i < count; i++)
		argv[n++] = more[i];
	argv[n++] = name;
	code = child_read(&(struct child){(char *const *)argv, runs_path(a->runs, folder, "files"),
				  -1, -1, -1},
		CHILD_ERR, CHECK_MS, &fd);
	if (code < 0)
		return NULL;
	if (code == 0) {
		close(fd);
		return json_array(); // the rest are warnings
	}
	return read_errors(fd, name);
}

struct http_reply api_check(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	char name[64], draft[RUNS_PATH];
	json_t *errors = NULL;
	int rc;

	name_draft(r, "check", name);
	rc = write_file(runs_path(a->runs, draft, "files/%s", name), r);
	if (rc == 0)
		errors = api_errors_of(a, name, NULL, 0);
	unlink(draft);
	if (!errors)
		return http_error(MHD_HTTP_INTERNAL_SERVER_ERROR, "it could not be checked%s%s",
			rc ? ": " : " in time", rc ? strerror(-rc) : "");
	return http_json(MHD_HTTP_OK,
		json_pack("{s:b, s:o}", "ok", json_array_size(errors) == 0, "errors", errors));
}

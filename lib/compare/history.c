// SPDX-License-Identifier: BSD-3-Clause
// Entries from results, and their lines in a file. Path: cold. Main thread.
#include "compare/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "crypt/digest.h"

#define NAMED_MAX 8 // damaged lines that are named; the others are counted

// --- entries

// Copies members that the source has.
static json_t *copy_members(const json_t *from, const char *const *names)
{
	json_t *out = json_object();

	for (; *names; names++)
		if (json_object_get(from, *names))
			json_object_set_new(
				out, *names, json_deep_copy(json_object_get(from, *names)));
	return out;
}

static json_t *copy_all(const json_t *list, const char *const *names)
{
	json_t *out = json_array();
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) json_array_append_new(out, copy_members(one, names));
	return out;
}

static json_t *traffic_entry(const json_t *item)
{
	static const char *const members[] = {"name", "protocol", "sent", "failed", "lost", "loss",
		"due_per_s", "sent_per_s", "answered_per_s", NULL};
	json_t *out = copy_members(item, members), *response;

	response = json_deep_copy(document_at(item, "latency.response"));
	if (json_is_object(response)) {
		json_object_del(response, "histogram");
		json_object_set_new(out, "latency", json_pack("{s:o}", "response", response));
	} else {
		json_decref(response);
	}
	return out;
}

// Notes, labels, criteria and files of output do not change the measurement.
static json_t *test_sha256(const json_t *config)
{
	static const char *const of_run[] = {"id", "note", "labels"};
	static const char *const of_all[] = {"output", "criteria"};
	json_t *copy = json_deep_copy(config), *run = json_object_get(copy, "run");
	char hex[DIGEST_HEX] = "", *text;

	for (size_t i = 0; i < sizeof(of_run) / sizeof(of_run[0]); i++)
		json_object_del(run, of_run[i]);
	for (size_t i = 0; i < sizeof(of_all) / sizeof(of_all[0]); i++)
		json_object_del(copy, of_all[i]);
	text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
	if (text)
		digest_sha256_hex(text, strlen(text), hex);
	free(text);
	json_decref(copy);
	return json_string(hex);
}

json_t *history_entry(const struct document_reader *b)
{
	static const char *const of_run[] = {
		"id", "name", "started", "version", "note", "labels", "config_sha256", NULL};
	static const char *const of_host[] = {"cpu", "kernel", "dpdk", "driver", NULL};
	static const char *const of_search[] = {"method", "variable", "answer", NULL};
	static const char *const of_goal[] = {"goal", "answer", "limited_by", NULL};
	const json_t *document = b->document, *search = document_at(document, "search"), *item;
	json_t *out = json_object(), *run = copy_members(document_at(document, "run"), of_run);
	json_t *traffic = json_array();
	size_t i;

	if (document_at(document, "config"))
		json_object_set_new(
			run, "test_sha256", test_sha256(document_at(document, "config")));
	json_object_set_new(run, "host", copy_members(document_at(document, "run.host"), of_host));
	json_object_set_new(out, "schema", json_string(HISTORY_SCHEMA));
	json_object_set_new(out, "run", run);
	json_object_set_new(out, "verdict",
		json_pack("{s:s}", "status", document_text(document, "verdict.status")));
	json_array_foreach(document_at(document, "traffic"), i, item)
		json_array_append_new(traffic, traffic_entry(item));
	json_object_set_new(out, "traffic", traffic);
	if (json_is_object(search)) {
		json_t *found = copy_members(search, of_search);

		json_object_set_new(
			found, "goals", copy_all(document_at(search, "goals"), of_goal));
		json_object_set_new(out, "search", found);
	}
	return out;
}

// --- reading

// Returns the entry of a line; NULL: it is damaged, with the reason in e.
static json_t *parse_line(const char *line, size_t len, json_error_t *e)
{
	json_t *entry = json_loadb(line, len, 0, e);

	if (!entry)
		return NULL;
	if (strcmp(document_text(entry, "schema"), HISTORY_SCHEMA) == 0 &&
		*document_text(entry, "run.id"))
		return entry;
	json_decref(entry);
	snprintf(e->text, sizeof(e->text), "no run of the schema " HISTORY_SCHEMA);
	return NULL;
}

// Returns NULL if there are lines, but none of a history.
static json_t *read_entries(const char *file, FILE *f)
{
	json_t *entries = json_array(), *entry;
	unsigned number = 0, damaged = 0;
	char *line = NULL;
	size_t room = 0;
	json_error_t e;
	ssize_t len;

	while ((len = getline(&line, &room, f)) >= 0) {
		number++;
		if (line[strspn(line, " \t\r\n")] == '\0' && strlen(line) == (size_t)len)
			continue;
		entry = parse_line(line, (size_t)len, &e);
		if (entry)
			json_array_append_new(entries, entry);
		else if (damaged++ < NAMED_MAX)
			log_warning("%s:%u: damaged line, left out: %s", file, number, e.text);
	}
	free(line);
	if (damaged > NAMED_MAX)
		log_warning("%s: %u more damaged lines, left out", file, damaged - NAMED_MAX);
	if (damaged == 0 || json_array_size(entries))
		return entries;
	log_error("%s: not a history (name a file written by ddiperf report --append)", file);
	json_decref(entries);
	return NULL;
}

json_t *history_read(const char *file)
{
	FILE *f = fopen(file, "re");
	json_t *entries = NULL;

	if (f)
		entries = read_entries(file, f);
	if (!f || ferror(f)) {
		log_error("%s: %s", file, strerror(errno));
		json_decref(entries);
		entries = NULL;
	}
	if (f)
		fclose(f);
	return entries;
}

// --- appending

// Writes lines of the results that entries lacks. Returns -EINVAL if a result has no id.
static int put_lines(const char *file, json_t *entries, struct document_reader *const readers[],
	unsigned count, FILE *lines)
{
	for (unsigned i = 0; i < count; i++) {
		json_t *entry = history_entry(readers[i]);
		const char *id = document_text(entry, "run.id");
		bool known = document_named(entries, "run.id", id) != NULL;

		if (!*id)
			log_error("report: %s: no run.id, so a history cannot distinguish it from "
				  "others",
				readers[i]->file);
		else if (known)
			log_note("report: %s: run %s is in %s already, not appended again",
				readers[i]->file, id, file);
		if (!*id || known) {
			bool refused = !*id;

			json_decref(entry);
			if (refused)
				return -EINVAL;
			continue;
		}
		json_dumpf(entry, lines, JSON_COMPACT | JSON_REAL_PRECISION(15));
		fputc('\n', lines);
		json_array_append_new(entries, entry);
	}
	return 0;
}

// f: the file, locked. A last line that another program left without a newline gets one.
static int append_locked(const char *file, FILE *f, off_t size,
	struct document_reader *const readers[], unsigned count)
{
	json_t *entries = read_entries(file, f);
	char *text = NULL, last = '\n';
	size_t len = 0;
	FILE *lines = entries ? open_memstream(&text, &len) : NULL;
	int rc = !entries ? -EINVAL : !lines ? -ENOMEM : 0;

	if (rc == 0 && size > 0 && pread(fileno(f), &last, 1, size - 1) == 1 && last != '\n')
		fputc('\n', lines);
	if (rc == 0)
		rc = put_lines(file, entries, readers, count, lines);
	if (lines && fclose(lines) != 0 && rc == 0)
		rc = -ENOMEM;
	if (rc == 0 && len > 1) {
		rc = file_append(fileno(f), size, text, len);
		if (rc < 0)
			log_error("report: --append %s: %s", file, strerror(-rc));
	}
	free(text);
	json_decref(entries);
	return rc;
}

int history_append(const char *file, struct document_reader *const readers[], unsigned count)
{
	int fd = open(file, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666), rc = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct stat st;

	if (!f || flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
		rc = -errno;
	else if (!S_ISREG(st.st_mode))
		rc = -ENOTSUP;
	if (rc < 0)
		log_error("report: --append %s: %s", file,
			rc == -ENOTSUP ? "not a regular file" : strerror(-rc));
	else
		rc = append_locked(file, f, st.st_size, readers, count);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return rc;
}

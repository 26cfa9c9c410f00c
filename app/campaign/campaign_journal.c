// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes the lines of a campaign's file. Path: cold. Main thread.
#include "campaign/campaign_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "document/document_reader.h"

#define SCHEMA      "ddiperf-campaign/1"
#define ATTEMPT_MAX 10000 // interrupted attempts count too

static const char *path_of(const struct campaign_journal *j)
{
	return j->campaign->settings.output.jsonl;
}

static int fail(const struct campaign_journal *j, int rc)
{
	log_error("output.jsonl: %s: %s", path_of(j), strerror(-rc));
	return rc;
}

static int put(struct campaign_journal *j, const json_t *line)
{
	char *json = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(15));
	char *text = arena_printf(j->arena, "%s\n", json);
	struct stat st;
	int rc;

	free(json);
	rc = fstat(j->fd, &st) < 0 ? -errno : file_append(j->fd, st.st_size, text, strlen(text));
	return rc < 0 ? fail(j, rc) : 0;
}

// Add a run from its line; false: the line is not from this campaign.
static bool take(struct campaign_journal *j, const json_t *line)
{
	const struct campaign *c = j->campaign;
	struct campaign_run r = {.counts = json_is_true(json_object_get(line, "counts")),
		.reason = arena_strdup(j->arena, document_text(line, "reason"))};
	const char *status = document_text(line, "status"), *op = document_text(line, "operation");
	double cell = document_number(line, "cell"), repeat = document_number(line, "repeat"),
	       attempt = document_number(line, "attempt");

	while (r.operation < c->operation_count && strcmp(c->operations[r.operation], op) != 0)
		r.operation++;
	if (r.operation == c->operation_count || !(cell >= 0 && cell < c->cell_count) ||
		!(repeat >= 1 && repeat <= 1e6) || !(attempt >= 1 && attempt <= ATTEMPT_MAX))
		return false;
	r.cell = (uint32_t)cell;
	r.repeat = (uint32_t)repeat - 1;
	r.pass = (uint32_t)attempt;
	r.invalid = strcmp(status, "invalid") == 0;
	r.failed = strcmp(status, "fail") == 0;
	r.values = arena_zalloc(j->arena, (c->settings.columns.count + 1) * sizeof(double));
	for (uint32_t i = 0; i < c->settings.columns.count; i++) {
		const json_t *value =
			json_object_get(json_object_get(line, "figures"), c->columns[i].name);

		r.values[i] = json_is_number(value) ? json_number_value(value) : NAN;
	}
	if (j->count == j->room) {
		struct campaign_run *more =
			arena_zalloc(j->arena, (2 * j->room + 64) * sizeof(*more));

		if (j->count)
			memcpy(more, j->runs, j->count * sizeof(*more));
		j->runs = more;
		j->room = 2 * j->room + 64;
	}
	j->runs[j->count++] = r;
	return true;
}

int journal_add(struct campaign_journal *j, const json_t *line)
{
	int rc = put(j, line);

	if (rc == 0)
		take(j, line);
	return rc;
}

static int refuse(const struct campaign_journal *j, unsigned number, const char *why)
{
	log_error("%s:%u: %s", path_of(j), number, why);
	return -EINVAL;
}

static int check_heading(const struct campaign_journal *j, const json_t *line)
{
	if (strcmp(document_text(line, "schema"), SCHEMA) != 0)
		return refuse(j, 1, "not the file of a campaign (take another output.jsonl)");
	if (strcmp(document_text(line, "sha256"), j->campaign->sha256) != 0)
		return refuse(j, 1,
			"its runs were made with other settings (take another output.jsonl, or "
			"remove it)");
	return 0;
}

// *whole: length of all complete lines.
static int read_lines(struct campaign_journal *j, FILE *f, off_t *whole)
{
	char *text = NULL;
	size_t room = 0;
	unsigned number = 0;
	ssize_t len;
	int rc = 0;

	*whole = 0;
	while (rc == 0 && (len = getline(&text, &room, f)) > 0 && text[len - 1] == '\n') {
		json_t *line = json_loadb(text, (size_t)len, 0, NULL);

		number++;
		*whole += len;
		if (!json_is_object(line))
			rc = refuse(j, number, "damaged line");
		else if (number == 1)
			rc = check_heading(j, line);
		else if (!take(j, line))
			rc = refuse(j, number, "not a run of this campaign");
		json_decref(line);
	}
	if (rc == 0 && ferror(f))
		rc = fail(j, -errno);
	free(text);
	return rc;
}

static int begin(struct campaign_journal *j)
{
	json_t *line = json_pack("{s:s, s:s, s:s, s:s}", "schema", SCHEMA, "campaign",
		j->campaign->settings.name, "version", DDIPERF_VERSION, "sha256",
		j->campaign->sha256);
	int rc = line ? put(j, line) : fail(j, -EILSEQ);

	json_decref(line);
	return rc;
}

static int read_all(struct campaign_journal *j)
{
	int copy = fcntl(j->fd, F_DUPFD_CLOEXEC, 0), rc;
	FILE *f = copy < 0 ? NULL : fdopen(copy, "r");
	off_t whole;

	if (!f)
		return fail(j, -errno);
	rc = read_lines(j, f, &whole);
	fclose(f);
	if (rc == 0 && ftruncate(j->fd, whole) < 0)
		rc = fail(j, -errno);
	return rc == 0 && whole == 0 ? begin(j) : rc;
}

int journal_open(struct campaign_journal *j, const struct campaign *c, struct arena *a)
{
	struct stat st;
	int rc = 0;

	*j = (struct campaign_journal){.campaign = c, .arena = a};
	j->fd = open(path_of(j), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
	if (j->fd < 0 || fstat(j->fd, &st) < 0)
		rc = fail(j, -errno);
	else if (!S_ISREG(st.st_mode))
		rc = fail(j, -ENOTSUP);
	else if (flock(j->fd, LOCK_EX | LOCK_NB) < 0)
		rc = errno == EWOULDBLOCK ? refuse(j, 1, "another campaign writes this file")
		                          : fail(j, -errno);
	else
		rc = read_all(j);
	if (rc < 0)
		journal_close(j);
	return rc;
}

void journal_close(struct campaign_journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
}

// --- known runs

static const struct campaign_run *find_in_pass(const struct campaign_journal *j, uint32_t cell,
	uint32_t repeat, uint32_t operation, uint32_t pass)
{
	for (uint32_t i = 0; i < j->count; i++) {
		const struct campaign_run *r = &j->runs[i];

		if (r->cell == cell && r->repeat == repeat && r->operation == operation &&
			r->pass == pass && r->counts)
			return r;
	}
	return NULL;
}

static bool is_whole(
	const struct campaign_journal *j, uint32_t cell, uint32_t repeat, uint32_t pass)
{
	const struct campaign *c = j->campaign;

	for (uint32_t i = 0; i < c->operation_count; i++)
		if (campaign_operation_of(c, &c->cells[cell], i) &&
			!find_in_pass(j, cell, repeat, i, pass))
			return false;
	return true;
}

struct campaign_attempts journal_attempts(
	const struct campaign_journal *j, uint32_t cell, uint32_t repeat)
{
	struct campaign_attempts out = {.reason = ""};

	for (uint32_t i = 0; i < j->count; i++) {
		const struct campaign_run *r = &j->runs[i];

		if (r->cell != cell || r->repeat != repeat)
			continue;
		if (r->pass > out.begun)
			out.begun = r->pass;
		if (r->invalid) { // the last run of its attempt
			out.invalid++;
			out.reason = r->reason;
		}
	}
	return out;
}

const struct campaign_run *journal_find(
	const struct campaign_journal *j, uint32_t cell, uint32_t repeat, uint32_t operation)
{
	uint32_t begun = journal_attempts(j, cell, repeat).begun;

	for (uint32_t pass = 1; pass <= begun; pass++)
		if (is_whole(j, cell, repeat, pass))
			return find_in_pass(j, cell, repeat, operation, pass);
	return NULL;
}

bool journal_has(const struct campaign_journal *j, uint32_t cell, uint32_t repeat)
{
	const struct campaign *c = j->campaign;

	for (uint32_t i = 0; i < c->operation_count; i++)
		if (journal_find(j, cell, repeat, i))
			return true;
	return false;
}

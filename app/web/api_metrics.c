// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Threads of libmicrohttpd.
#include "web/api_metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "web/api.h"
#include "format/format_writers.h"
#include "follow/followed_run.h"

struct api_metered {
	char id[RUNS_ID_SIZE];
	FILE *lines; // NULL: none yet
	struct followed_run followed;
};

static void forget(struct api_metered *r)
{
	if (r->lines)
		fclose(r->lines);
	followed_forget(&r->followed);
	free(r);
}

// Remove ended runs and add new ones.
static void update(struct api_metrics *m, const struct runs_ids *now)
{
	struct api_metered *before[RUNS_ACTIVE_MAX];
	unsigned old = m->count;

	memcpy(before, m->runs, sizeof(before));
	m->count = 0;
	for (unsigned i = 0; i < now->count; i++) {
		struct api_metered *r = NULL;

		for (unsigned k = 0; k < old; k++)
			if (before[k] && strcmp(before[k]->id, now->id[i]) == 0) {
				r = before[k];
				before[k] = NULL;
			}
		if (!r) {
			r = calloc(1, sizeof(*r));
			if (!r)
				abort();
			strcpy(r->id, now->id[i]);
		}
		m->runs[m->count++] = r;
	}
	for (unsigned k = 0; k < old; k++)
		if (before[k])
			forget(before[k]);
}

// Read the complete lines added since the last call.
static void read_lines(const struct runs *runs, struct api_metered *r)
{
	char path[128], *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (!r->lines) {
		snprintf(path, sizeof(path), "runs/%s/live.jsonl", r->id);
		int fd = runs_read(runs, path);

		r->lines = fd >= 0 ? fdopen(fd, "r") : NULL;
	}
	while (r->lines && (len = getline(&line, &room, r->lines)) > 0) {
		if (line[len - 1] != '\n') {
			fseek(r->lines, -len, SEEK_CUR);
			break;
		}
		json_t *one = json_loadb(line, (size_t)len, 0, NULL);

		if (one)
			followed_line(&r->followed, r->id, one);
		json_decref(one);
	}
	if (r->lines)
		clearerr(r->lines);
	free(line);
}

struct http_reply api_metrics(void *ctx, struct http_request *request)
{
	struct api *a = ctx;
	struct api_metrics *m = &a->metrics;
	struct prometheus_run known[RUNS_ACTIVE_MAX];
	struct runs_ids now;
	unsigned count = 0;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return http_error(MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory");
	pthread_mutex_lock(&m->lock);
	runs_active(a->runs, &now);
	update(m, &now);
	for (unsigned i = 0; i < m->count; i++) {
		struct api_metered *r = m->runs[i];

		read_lines(a->runs, r);
		if (!r->followed.reader.document)
			continue;
		running_sum_put(&r->followed.sum);
		known[count++] =
			(struct prometheus_run){r->id, &r->followed.reader, r->followed.newest};
	}
	prometheus_write_live(known, count, f);
	pthread_mutex_unlock(&m->lock);
	fclose(f);
	return http_text(PROMETHEUS_TYPE, text, len);
}

void api_metrics_close(struct api_metrics *m)
{
	for (unsigned i = 0; i < m->count; i++)
		forget(m->runs[i]);
	m->count = 0;
}

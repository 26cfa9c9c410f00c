// SPDX-License-Identifier: BSD-3-Clause
// Server-sent events: the lines of a run (run_events.h) from the first one, then new ones, and
// finally its state. The lines are in a file, so a reader may be late and slow without delaying
// others. Path: cold. Threads of libmicrohttpd, one for each reader.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "web/api.h"
#include "document/document_reader.h"

#define PART    65536
#define WAIT_MS 100
#define PING_MS 3000 // detects a reader that is gone

struct follower {
	const struct api *api;
	char id[HTTP_NAME_SIZE];
	int fd;               // of the lines; -1: none yet
	unsigned long number; // of the line being sent
	unsigned long from;   // first line wanted
	bool at_begin, over;
	unsigned silent_ms;
	char *line; // incomplete line of the file
	size_t len;
	char *out; // to be sent
	size_t out_len, out_at;
};

static void put(struct follower *f, const char *head, const char *text, size_t len)
{
	size_t before = strlen(head);
	char *more = realloc(f->out, f->out_len + before + len + 2);

	if (!more)
		abort();
	f->out = more;
	memcpy(more + f->out_len, head, before);
	memcpy(more + f->out_len + before, text, len);
	f->out_len += before + len;
	memcpy(more + f->out_len, "\n\n", 2);
	f->out_len += 2;
}

// Read complete lines of the file that are wanted. false: no more for now.
static bool read_more(struct follower *f)
{
	char path[128], *end, *more;
	ssize_t got;

	if (f->fd < 0) {
		snprintf(path, sizeof(path), "runs/%s/live.jsonl", f->id);
		f->fd = runs_read(f->api->runs, path);
	}
	more = realloc(f->line, f->len + PART);
	if (!more)
		abort();
	f->line = more;
	got = f->fd < 0 ? 0 : read(f->fd, f->line + f->len, PART);
	if (got <= 0)
		return false;
	f->len += (size_t)got;
	while ((end = memchr(f->line, '\n', f->len))) {
		size_t len = (size_t)(end - f->line);
		char head[48];

		f->number++;
		snprintf(head, sizeof(head), "id: %lu\ndata: ", f->number);
		if (f->number >= f->from)
			put(f, head, f->line, len);
		f->len -= len + 1;
		memmove(f->line, end + 1, f->len);
	}
	return true;
}

static void put_end(struct follower *f)
{
	json_t *state = runs_state(f->api->runs, f->id);
	char *text = json_dumps(state, JSON_COMPACT);

	if (text)
		put(f, "event: end\ndata: ", text, strlen(text));
	free(text);
	json_decref(state);
	f->over = true;
}

static bool goes_on(const struct follower *f)
{
	json_t *state = runs_state(f->api->runs, f->id);
	bool running = strcmp(document_text(state, "status"), "running") == 0;

	json_decref(state);
	return running;
}

// Wait until there is something to send.
static void wait_for_more(struct follower *f)
{
	// When the end is noted, all earlier output is already in the file.
	bool running = goes_on(f), more = read_more(f);

	if (!more && !running) {
		put_end(f);
		return;
	}
	if (more)
		return;
	poll(NULL, 0, WAIT_MS);
	f->silent_ms += WAIT_MS;
	if (f->silent_ms >= PING_MS)
		put(f, ": ", "", 0);
}

static ssize_t give(void *ctx, uint64_t at, char *buf, size_t max)
{
	struct follower *f = ctx;
	size_t len;

	while (f->out_at == f->out_len) {
		f->out_len = f->out_at = 0;
		if (f->over || runs_are_over(f->api->runs))
			return MHD_CONTENT_READER_END_OF_STREAM;
		wait_for_more(f);
	}
	f->silent_ms = 0;
	len = f->out_len - f->out_at < max ? f->out_len - f->out_at : max;
	memcpy(buf, f->out + f->out_at, len);
	f->out_at += len;
	return (ssize_t)len;
}

static void leave(void *ctx)
{
	struct follower *f = ctx;

	if (f->fd >= 0)
		close(f->fd);
	free(f->line);
	free(f->out);
	free(f);
}

struct http_reply api_follow(void *ctx, struct http_request *r)
{
	const char *from = http_query(r, "from");
	const struct api *a = ctx;
	json_t *state = runs_state(a->runs, r->names[0]);
	struct http_reply reply = {.code = MHD_HTTP_OK};
	struct follower *f;

	if (!state)
		return http_error(MHD_HTTP_NOT_FOUND, "there is no run %s", r->names[0]);
	json_decref(state);
	f = calloc(1, sizeof(*f));
	if (!f)
		return reply;
	*f = (struct follower){.api = a, .fd = -1, .from = from ? strtoul(from, NULL, 10) : 0};
	strcpy(f->id, r->names[0]);
	reply.response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PART, give, f, leave);
	if (reply.response) {
		MHD_add_response_header(
			reply.response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
		MHD_add_response_header(reply.response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
		MHD_add_response_header(reply.response, "X-Content-Type-Options", "nosniff");
	} else {
		leave(f);
	}
	return reply;
}

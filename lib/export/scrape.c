// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread | the thread of libmicrohttpd.
#include "export/scrape.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "format/format_writers.h"
#include "http/serve.h"

#define OPTION      "output.prometheus"
#define PATH        "/metrics"
#define CONNECTIONS 16
#define RENDER_NS   200000000ull // at most so often a new text

int scrape_open(struct scrape *s, const char *place)
{
	struct serve_place p = {.fd = -1};
	int rc = serve_listen(place, &p);

	*s = (struct scrape){.lock = PTHREAD_MUTEX_INITIALIZER, .fd = p.fd};
	if (rc < 0)
		log_error(OPTION ": %s: %s (does another run listen there? Port 0 takes any free "
				 "one)",
			place, strerror(-rc));
	else if (p.local)
		log_note(OPTION ": http://%s" PATH, p.text);
	else
		log_warning(OPTION ": http://%s" PATH
				   " can be reached from other hosts: anyone there can read "
				   "the figures of the run, and its command line",
			p.text);
	return rc;
}

// --- the thread ---

static enum MHD_Result answer(void *ctx, struct MHD_Connection *c, const char *path,
	const char *method, const char *version, const char *data, size_t *size, void **request)
{
	static const char not_found[] = "not here: the figures are at " PATH "\n";
	static const char not_allowed[] = "GET is all that there is\n";
	struct scrape *s = ctx;
	struct MHD_Response *r;
	unsigned code = MHD_HTTP_OK;
	enum MHD_Result queued;

	if (strcmp(path, PATH) != 0) {
		code = MHD_HTTP_NOT_FOUND;
		r = MHD_create_response_from_buffer(
			sizeof(not_found) - 1, (void *)not_found, MHD_RESPMEM_PERSISTENT);
	} else if (strcmp(method, MHD_HTTP_METHOD_GET) != 0) {
		code = MHD_HTTP_METHOD_NOT_ALLOWED;
		r = MHD_create_response_from_buffer(
			sizeof(not_allowed) - 1, (void *)not_allowed, MHD_RESPMEM_PERSISTENT);
	} else {
		pthread_mutex_lock(&s->lock);
		r = MHD_create_response_from_buffer(s->len, s->text, MHD_RESPMEM_MUST_COPY);
		pthread_mutex_unlock(&s->lock);
	}
	if (!r)
		return MHD_NO;
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_GET);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
		code == MHD_HTTP_OK ? PROMETHEUS_TYPE : "text/plain");
	queued = MHD_queue_response(c, code, r);
	MHD_destroy_response(r);
	return queued;
}

// --- the text ---

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void render(struct scrape *s)
{
	char *text = NULL, *before;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		abort();
	running_sum_put(&s->followed.sum);
	prometheus_write_live(
		&(struct prometheus_run){NULL, &s->followed.reader, s->followed.newest}, 1, f);
	if (fclose(f) != 0)
		abort();
	pthread_mutex_lock(&s->lock);
	before = s->text;
	s->text = text;
	s->len = len;
	pthread_mutex_unlock(&s->lock);
	free(before);
	s->changed = false;
	s->rendered_ns = now_ns();
}

void scrape_line(void *ctx, const json_t *line)
{
	struct scrape *s = ctx;
	enum followed_change change = followed_line(&s->followed, OPTION, line);

	s->changed |= change != FOLLOWED_SAME;
	if (change != FOLLOWED_PHASE)
		return;
	render(s);
	if (s->daemon)
		return;
	// The main thread is on the management CPU by now, and so is a thread of its.
	s->daemon = serve_start(&(struct serve_daemon){
		.fd = s->fd, .connections = CONNECTIONS, .answer = answer, .ctx = s});
	if (!s->daemon)
		log_warning(OPTION ": no thread can answer, so there are no metrics");
}

void scrape_tick(void *ctx)
{
	struct scrape *s = ctx;

	if (s->changed && now_ns() - s->rendered_ns >= RENDER_NS)
		render(s);
}

void scrape_close(void *ctx)
{
	struct scrape *s = ctx;

	if (s->daemon)
		MHD_stop_daemon(s->daemon); // closes the socket too
	else
		close(s->fd);
	followed_forget(&s->followed);
	free(s->text);
	pthread_mutex_destroy(&s->lock);
}

// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread | the thread of libmicrohttpd.
#include "run/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "http/http.h"
#include "http/serve.h"
#include "stats/json.h"

#define OPTION      "responder.control"
#define CONNECTIONS 4
#define WAIT_S      2 // for the main thread

// --- the socket ---

static int listen_at(struct control *c, const struct control_place *p)
{
	c->fd = serve_bind(&p->addr, p->len);
	if (c->fd >= 0 && p->addr.ss_family == AF_UNIX)
		c->path = strdup(((const struct sockaddr_un *)&p->addr)->sun_path);
	return c->fd < 0 ? c->fd : 0;
}

// --- the thread ---

// The current counters, or NULL if the run is over.
static char *counters(struct control *c)
{
	struct timespec end;
	char *text;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_S;
	pthread_mutex_lock(&c->lock);
	free(c->text); // an answer that came too late
	c->text = NULL;
	c->asked = true;
	while (!c->text && !c->over)
		if (pthread_cond_timedwait(&c->told, &c->lock, &end) == ETIMEDOUT)
			break;
	text = c->text;
	c->text = NULL;
	c->asked = false;
	pthread_mutex_unlock(&c->lock);
	return text;
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *connection, const char *path,
	const char *method, const char *version, const char *data, size_t *size, void **request)
{
	static char refused[] = "the token is wrong\n", not_here[] = "not here\n",
		    not_now[] = "not now\n";
	struct control *c = ctx;
	unsigned code = MHD_HTTP_OK;
	struct MHD_Response *r;
	char *text = NULL;
	enum MHD_Result queued;

	if (!http_may(connection, c->token)) {
		code = MHD_HTTP_UNAUTHORIZED;
		text = refused;
	} else if (strcmp(path, CONTROL_PATH) != 0 || strcmp(method, MHD_HTTP_METHOD_GET) != 0) {
		code = MHD_HTTP_NOT_FOUND;
		text = not_here;
	} else {
		text = counters(c);
		code = text ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
	}
	r = code == MHD_HTTP_OK
	            ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE)
	            : MHD_create_response_from_buffer(strlen(text ? text : not_now),
			      text ? text : not_now, MHD_RESPMEM_PERSISTENT);
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
		code == MHD_HTTP_OK ? "application/json" : "text/plain");
	queued = MHD_queue_response(connection, code, r);
	MHD_destroy_response(r);
	return queued;
}

// --- the main thread ---

int control_open(struct control *c, const struct control_settings *s)
{
	struct control_place place;
	const char *what;
	int rc;

	*c = (struct control){
		.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
	if (!s)
		return 0;
	if (control_token(OPTION ".token", s->token, c->token) < 0)
		return -EINVAL; // logged
	rc = control_place(s->address, &place, &what);
	if (rc == 0)
		rc = listen_at(c, &place);
	if (rc == 0) {
		c->daemon = serve_start(&(struct serve_daemon){
			.fd = c->fd, .connections = CONNECTIONS, .answer = answer, .ctx = c});
		rc = c->daemon ? 0 : -EAGAIN;
	}
	if (rc < 0) {
		log_error(OPTION ": %s: %s", s->address, strerror(-rc));
		control_close(c);
	}
	return rc;
}

bool control_is_asked(struct control *c)
{
	bool asked;

	if (!c->daemon)
		return false;
	pthread_mutex_lock(&c->lock);
	asked = c->asked && !c->text;
	pthread_mutex_unlock(&c->lock);
	return asked;
}

void control_tell(struct control *c, const struct result_responder *r)
{
	json_t *counters = stats_json(&result_responder_section, r);
	char *text = json_dumps(counters, JSON_COMPACT);

	json_decref(counters);
	pthread_mutex_lock(&c->lock);
	free(c->text);
	c->text = text;
	pthread_cond_signal(&c->told);
	pthread_mutex_unlock(&c->lock);
}

void control_close(struct control *c)
{
	pthread_mutex_lock(&c->lock);
	c->over = true;
	pthread_cond_signal(&c->told);
	pthread_mutex_unlock(&c->lock);
	if (c->daemon)
		MHD_stop_daemon(c->daemon); // closes the socket too
	else if (c->fd >= 0)
		close(c->fd);
	if (c->path)
		unlink(c->path);
	free((char *)c->path);
	free(c->text);
	*c = (struct control){.fd = -1};
}

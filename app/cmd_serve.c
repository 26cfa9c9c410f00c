// SPDX-License-Identifier: BSD-3-Clause
// ddiperf serve: a folder of runs behind an HTTP interface and a page. Path: cold. Main thread.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "commands.h"
#include "engine/config/control.h"
#include "serve.h"
#include "signals.h"

#define TICK_MS 20

static const char *default_dir(struct arena *a)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && *state)
		return arena_printf(a, "%s/ddiperf", state);
	return arena_printf(a, "%s/.local/state/ddiperf", home && *home ? home : "/root");
}

// Who reaches the place, and may that be?
static bool may_serve(const struct options *o, const struct serve_place *p)
{
	if (p->local || o->token || o->tls_clients)
		return true;
	log_error("serve: %s is not of this host alone: all that reach it could start runs (give "
		  "--token FILE or --tls-clients CA, or listen at 127.0.0.1 and come by ssh -L)",
		p->text);
	return false;
}

static int serve(const struct options *o, struct serve_place *p, const char *token,
	const struct serve_tls *tls)
{
	struct api api = {.version = DDIPERF_VERSION, .metrics.lock = PTHREAD_MUTEX_INITIALIZER};
	struct http http = {.fd = p->fd,
		.routes = api_routes,
		.token = token,
		.host = o->host,
		.tls = tls,
		.ctx = &api};
	const char *dir = o->dir ? o->dir : default_dir(o->arena);
	int code = EXIT_PASS;

	if (runs_open(dir, o->commands, &api.runs) < 0)
		return EXIT_ENVIRONMENT;
	if (http_start(&http) < 0) {
		log_error("serve: nobody can answer (too few threads?)");
		code = EXIT_ENVIRONMENT;
	} else {
		log_note("serve: %s://%s, folder %s", tls ? "https" : "http", p->text, dir);
	}
	while (code == EXIT_PASS && !interrupt_count) {
		poll(NULL, 0, TICK_MS);
		runs_tick(api.runs);
	}
	runs_end(api.runs);
	http_stop(&http);
	api_metrics_close(&api.metrics);
	runs_close(api.runs);
	return code;
}

int cmd_serve(const struct options *o)
{
	const char *place = o->listen ? o->listen : "127.0.0.1:8080";
	char token[CONTROL_TOKEN_SIZE];
	struct serve_place p;
	struct serve_tls tls = {0};
	int rc, code = EXIT_CONFIG;

	if (o->token && control_token(o->token, token) < 0)
		return EXIT_CONFIG; // logged
	if (!o->tls_cert != !o->tls_key || (o->tls_clients && !o->tls_cert)) {
		log_error("serve: TLS needs --tls-cert and --tls-key");
		return EXIT_CONFIG;
	}
	if (o->tls_cert && serve_tls_load(o->tls_cert, o->tls_key, o->tls_clients, &tls) < 0)
		return EXIT_CONFIG; // logged
	rc = serve_listen(place, &p);
	if (rc < 0) {
		log_error("serve: --listen %s: %s", place, strerror(-rc));
		code = rc == -EINVAL ? EXIT_CONFIG : EXIT_ENVIRONMENT;
	} else if (may_serve(o, &p)) {
		signals_count();
		code = serve(o, &p, o->token ? token : NULL, o->tls_cert ? &tls : NULL);
	}
	serve_tls_free(&tls);
	return code;
}

// SPDX-License-Identifier: BSD-3-Clause
// ddiperf serve: a folder of runs behind an HTTP interface and a page. Path: cold. Main thread.
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "web/api.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "run/commands.h"
#include "engine/config/control.h"
#include "io/host/privileges.h"
#include "http/serve.h"
#include "process/signals.h"

#define TICK_MS         20
#define FLEET_ARGUMENTS 11

// Who can reach the address, and is that allowed?
static bool may_serve(const struct options *o, const struct serve_place *p)
{
	if (o->token || o->tls_clients || p->own)
		return true;
	if (p->local && (o->local_users || !capabilities_now()))
		return true;
	if (p->local) {
		log_error(
			"serve: each user of this host reaches %s, and runs have the "
			"capabilities of this process: give --token FILE, listen at unix:PATH, or "
			"allow it (--allow-local-users)",
			p->text);
		return false;
	}
	log_error("serve: other hosts can reach %s and could start runs (give --token FILE or "
		  "--tls-clients CA, or listen at 127.0.0.1 and come by ssh -L)",
		p->text);
	return false;
}

// Absolute, because runs have their own working directories.
static const char *absolute(const struct options *o, const char *file)
{
	char path[PATH_MAX];

	return file && realpath(file, path) ? arena_strdup(o->arena, path) : file;
}

// The arguments of a run on the fleet, and our identity for its NATS server.
static void prepare_fleet(const struct options *o, const char *arguments[], struct bus_settings *s)
{
	*s = (struct bus_settings){.url = o->fleet,
		.creds = absolute(o, o->creds),
		.ca = absolute(o, o->ca),
		.cert = absolute(o, o->cert),
		.key = absolute(o, o->key),
		.name = "ddiperf serve"};
	const char *const pairs[][2] = {{"--fleet", s->url}, {"--creds", s->creds}, {"--ca", s->ca},
		{"--cert", s->cert}, {"--key", s->key}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (pairs[i][1]) {
			*arguments++ = pairs[i][0];
			*arguments++ = pairs[i][1];
		}
	*arguments = NULL;
}

static int serve(
	const struct options *o, struct serve_place *p, const char *token, struct serve_tls *tls)
{
	const char *fleet[FLEET_ARGUMENTS];
	struct bus_settings bus;
	struct api api = {.version = DDIPERF_VERSION, .metrics.lock = PTHREAD_MUTEX_INITIALIZER};
	struct http http = {.fd = p->fd,
		.routes = api_routes,
		.token = token,
		.host = o->host,
		.tls = tls,
		.ctx = &api};
	const char *dir = o->dir ? o->dir : command_state_dir("ddiperf", o->arena);
	int rc, code = EXIT_PASS;

	if (runs_open(dir, o->commands, &api.runs) < 0)
		return EXIT_ENVIRONMENT;
	prepare_fleet(o, fleet, &bus);
	api.fleet = fleet;
	rc = o->fleet ? agent_list_open(&bus, &api.roster) : 0;
	if (rc < 0) { // logged
		code = rc == -EINVAL || rc == -EACCES ? EXIT_CONFIG : EXIT_ENVIRONMENT;
	} else if (http_start(&http) < 0) {
		log_error("serve: the HTTP server could not be started (too few threads?)");
		code = EXIT_ENVIRONMENT;
	} else {
		log_note("serve: %s%s, folder %s",
			p->own ? ""
			: tls  ? "https://"
			       : "http://",
			p->text, dir);
	}
	while (code == EXIT_PASS && !interrupt_count) {
		poll(NULL, 0, TICK_MS);
		runs_tick(api.runs);
		http_tick(&http);
		if (tls)
			serve_tls_tick(tls);
	}
	runs_end(api.runs);
	http_stop(&http);
	if (p->own)
		unlink(p->text + strlen(SERVE_UNIX));
	agent_list_close(api.roster);
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

	if (o->token && control_token("serve: --token", o->token, token) < 0)
		return EXIT_CONFIG; // logged
	if (!o->tls_cert != !o->tls_key || (o->tls_clients && !o->tls_cert)) {
		log_error("serve: TLS needs --tls-cert and --tls-key");
		return EXIT_CONFIG;
	}
	if (o->tls_cert && serve_tls_load(o->tls_cert, o->tls_key, o->tls_clients, &tls) < 0)
		return EXIT_CONFIG; // logged
	rc = serve_listen(place, &p);
	if (rc < 0) {
		log_error("serve: --listen %s: %s", place,
			rc == -EINVAL ? "not a place to listen at (like 127.0.0.1:8080, "
					"[::1]:8080, 8080 or unix:PATH)"
				      : strerror(-rc));
		code = rc == -EINVAL ? EXIT_CONFIG : EXIT_ENVIRONMENT;
	} else if (may_serve(o, &p)) {
		signals_count();
		code = serve(o, &p, o->token ? token : NULL, o->tls_cert ? &tls : NULL);
	}
	serve_tls_free(&tls);
	return code;
}

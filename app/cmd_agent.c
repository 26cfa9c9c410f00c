// SPDX-License-Identifier: BSD-3-Clause
// ddiperf agent: this box takes part in the runs of a fleet. Path: cold. Main thread.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/agent/agent.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "run/commands.h"
#include "fleet/fleet_talk.h"
#include "io/host/privileges.h"
#include "process/signals.h"

#define TICK_MS 5

// The host's name up to its first dot.
static const char *default_name(struct arena *a)
{
	char host[64] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	return arena_strdup(a, host);
}

// A folder per name, so that several agents of a user on one box keep their runs apart.
static const char *default_dir(const char *name, struct arena *a)
{
	return arena_printf(a, "%s/%s", command_state_dir("ddiperf-agent", a), name);
}

int cmd_agent(const struct options *o)
{
	const char *name = o->name ? o->name : default_name(o->arena);
	const struct bus_settings place = {.url = o->nats ? o->nats : "nats://127.0.0.1:4222",
		.creds = o->creds,
		.ca = o->ca,
		.cert = o->cert,
		.key = o->key,
		.name = "ddiperf agent",
		.demanding = capabilities_now() && !o->local_users};
	const struct agent_settings s = {.name = name,
		.labels = o->labels ? o->labels : "",
		.dir = o->dir ? o->dir : default_dir(name, o->arena),
		.assignments = o->assignments,
		.assignment_count = o->assignment_count,
		.commands = o->commands};
	struct agent *a;
	struct bus *b;
	int rc;

	if (!talk_is_name(s.name)) {
		log_error("agent: --name %s: up to %d letters, digits, - and _ are allowed", s.name,
			TALK_NAME - 1);
		return EXIT_CONFIG;
	}
	rc = bus_open(&place, &b);
	if (rc < 0)
		return rc == -EINVAL || rc == -EACCES ? EXIT_CONFIG : EXIT_ENVIRONMENT;
	signals_count();
	rc = agent_open(b, &s, &a);
	if (rc == 0)
		log_note("agent %s waits at %s", s.name, bus_place(b));
	while (rc == 0 && !interrupt_count) {
		rc = bus_is_closed(b) ? -ENOTCONN : 0;
		bus_tick(b, TICK_MS);
		agent_tick(a);
	}
	agent_end(a);
	bus_close(b);
	agent_free(a);
	return rc < 0 ? EXIT_ENVIRONMENT : EXIT_PASS;
}

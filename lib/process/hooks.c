// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "process/hooks.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "engine/run/around/command.h"

struct hook {
	const char *name; // "start" or "stop"
	const char *text; // the command; NULL: none
	int exit_code;    // of the run; -1: the run has not begun
	const char *status;
};

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

// 0, or -errno after an error, which was logged; -ECANCELED: interrupted.
static int run_hook(const struct hooks *of, struct hook *h)
{
	char text[3][PATH_MAX + 64], more[2][64];
	char *env[6] = {text[0], text[1], text[2]};
	int before = interrupt_count, rc;
	struct command_run c = {.text = h->text,
		.more_env = env,
		.timeout_ns = of->config->hooks.timeout_ns,
		.interrupt = interrupt_escalate,
		.ctx = &before};
	char outcome[96];

	if (!h->text)
		return 0;
	snprintf(text[0], sizeof(text[0]), "DDIPERF_RUN_ID=%s", of->id);
	snprintf(text[1], sizeof(text[1]), "DDIPERF_RUN_NAME=%s",
		text_or_empty(of->config->run.name));
	snprintf(text[2], sizeof(text[2]), "DDIPERF_RESULT=%s", text_or_empty(of->json));
	if (h->exit_code >= 0) {
		env[3] = more[0];
		env[4] = more[1];
		snprintf(more[0], sizeof(more[0]), "DDIPERF_STATUS=%s", text_or_empty(h->status));
		snprintf(more[1], sizeof(more[1]), "DDIPERF_EXIT_CODE=%d", h->exit_code);
	}
	rc = command_run(&c);
	if (rc == 0)
		return 0;
	log_error("hooks.%s: %s: %s", h->name, h->text,
		command_outcome(&c, rc, outcome, sizeof(outcome)));
	return rc < 0 ? rc : -EIO;
}

int hooks_start(struct hooks *h)
{
	struct hook start = {"start", h->config->hooks.start, -1, NULL};
	int rc;

	h->state = HOOKS_STARTED;
	rc = run_hook(h, &start);
	if (rc < 0 && rc != -ECANCELED)
		h->state = HOOKS_IDLE;
	return rc;
}

int hooks_stop(struct hooks *h, int code, const char *status)
{
	struct hook stop = {"stop", h->config->hooks.stop, code, status};

	if (h->state != HOOKS_STARTED)
		return 0;
	h->state = HOOKS_STOPPED;
	return run_hook(h, &stop);
}

bool hooks_any_command(const struct config *c)
{
	return c->hooks.start || c->hooks.stop || c->dut.probe || c->dut.counters ||
	       c->events.count;
}

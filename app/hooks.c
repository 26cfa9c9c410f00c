// SPDX-License-Identifier: BSD-3-Clause
// One hook: its environment, and what its exit status means. Path: cold. Main thread.
#include "hooks.h"

#include "base/log.h"
#include "engine/run/command.h"

static const char *text_or_none(const char *text)
{
	return text ? text : "";
}

int hook_run(const char *which, const char *text, const struct hook *h, struct arena *a)
{
	char *env[6] = {
		arena_printf(a, "DDIPERF_RUN_ID=%s", text_or_none(h->id)),
		arena_printf(a, "DDIPERF_RUN_NAME=%s", text_or_none(h->name)),
		arena_printf(a, "DDIPERF_RESULT=%s", text_or_none(h->result)),
	};
	struct command_run c = {.text = text, .more_env = env, .timeout_ns = h->timeout_ns};
	char outcome[96];
	int rc;

	if (!text)
		return 0;
	if (h->exit_code >= 0) {
		env[3] = arena_printf(a, "DDIPERF_STATUS=%s", text_or_none(h->status));
		env[4] = arena_printf(a, "DDIPERF_EXIT_CODE=%d", h->exit_code);
	}
	rc = command_run(&c);
	if (rc == 0)
		return 0;
	log_error(
		"hooks.%s: %s: %s", which, text, command_outcome(&c, rc, outcome, sizeof(outcome)));
	return -1;
}

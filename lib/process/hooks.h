// SPDX-License-Identifier: BSD-3-Clause
// The commands of the file before and after a run: hooks.start and hooks.stop. Path: cold. Main
// thread | the thread of the emergency exit, which only stops.
#pragma once

#include <stdbool.h>

#include "engine/config/config.h"

enum hooks_state { HOOKS_IDLE, HOOKS_STARTED, HOOKS_STOPPED }; // STARTED: stop is due

struct hooks {
	const struct config *config;
	const char *id;   // of the run
	const char *json; // the result document; NULL: none
	enum hooks_state state;
};

// The state must be zeroed. 0, or -errno after an error, which was logged: the stop hook is then
// not due, except after -ECANCELED: interrupted.
int hooks_start(struct hooks *h);

// Run the stop hook once, if a start hook succeeded or was interrupted. code: the exit code;
// status: of the verdict, NULL: none. Returns as hooks_start.
int hooks_stop(struct hooks *h, int code, const char *status);

// Does the file contain commands? They may include passwords, and the result includes them.
bool hooks_any_command(const struct config *c);

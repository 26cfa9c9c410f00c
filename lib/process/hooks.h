// SPDX-License-Identifier: BSD-3-Clause
// The commands of the file before and after a run: hooks.start and hooks.stop. Path: cold. Main
// thread | the thread of the last words, which only stops.
#pragma once

#include <stdbool.h>

#include "engine/config/config.h"

enum hooks_state { HOOKS_IDLE, HOOKS_STARTED, HOOKS_STOPPED }; // the stop is due between them

struct hooks {
	const struct config *config;
	const char *id;   // of the run
	const char *json; // the result document; NULL: none
	enum hooks_state state;
};

// Begin with a zeroed state. 0, or -errno after an error, which was logged: the stop hook is not
// due then, unless it is -ECANCELED: interrupted.
int hooks_start(struct hooks *h);

// It follows every start hook that did its work, and one that was interrupted in it; once. code:
// the exit code; status: of the verdict, NULL: none. Returns as hooks_start.
int hooks_stop(struct hooks *h, int code, const char *status);

// Does the file have commands? They may hold passwords, and the result has them.
bool hooks_any_command(const struct config *c);

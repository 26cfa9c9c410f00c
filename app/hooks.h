// SPDX-License-Identifier: BSD-3-Clause
// Commands of the user before and after a run (hooks:), which are told what it is by their
// environment: DDIPERF_RUN_ID, DDIPERF_RUN_NAME, DDIPERF_RESULT (the file of --json), and
// afterwards DDIPERF_STATUS and DDIPERF_EXIT_CODE. Path: cold. Main thread.
#pragma once

#include "engine/config/config.h"

struct hook {
	const char *id, *name;
	const char *result; // NULL: none
	const char *status; // of the verdict; NULL: none
	int exit_code;      // of the run; -1: before it
	uint64_t timeout_ns;
};

// 0, or -1 after an error, which was logged. text NULL: nothing to do. which: "start" or "stop".
int hook_run(const char *which, const char *text, const struct hook *h, struct arena *a);

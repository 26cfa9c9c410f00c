// SPDX-License-Identifier: BSD-3-Clause
// A command of the user beside the run: a thread of its own waits for its end, so it delays
// nothing. Not here: repeated ones (probe.h). Path: cold. Management thread | the task's thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct task;

// Begins now. text and out stay the caller's until task_end. out: as in struct command_run. NULL:
// no memory or thread (logged with `what`).
struct task *task_start(const struct clock *c, const char *what, const char *text, char *out,
	size_t room, uint64_t timeout_ns);

struct task_end {
	uint64_t began, ended; // ticks of its clock
	int rc;                // as command_run
	char outcome[96];      // in words
};

bool task_is_over(const struct task *t);

// Waits for its end; a second interrupt of the user kills it. Frees t.
void task_end(struct task *t, struct task_end *out);

// SPDX-License-Identifier: BSD-3-Clause
// Shell commands of the user: probes and hooks. Spawned, never forked: the packet memory of this
// process is not copied. Path: cold. Management thread | the probe's thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct command_run {
	const char *text;      // for /bin/sh -c
	char *const *more_env; // "NAME=value", NULL-terminated; NULL: none
	char *out;             // its output, NUL-terminated; NULL: to standard error
	size_t room;
	uint64_t timeout_ns; // then it is killed with all that it started
	// Called every few milliseconds: a signal for the command and all that it started; 0: none.
	// It is sent when the value changes. NULL: never called.
	int (*interrupt)(void *ctx);
	void *ctx;
};

// Returns the exit status 0..255, or -errno: -ETIMEDOUT, -ECANCELED (interrupted, however it
// ended), -EINTR (killed by another signal), -E2BIG (printed more than fits).
int command_run(const struct command_run *c);

// Describes the outcome in words: "exit status 7", "no end after 2 s". room >= 64.
const char *command_outcome(const struct command_run *c, int rc, char *buf, size_t room);

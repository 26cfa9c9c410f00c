// SPDX-License-Identifier: BSD-3-Clause
// This program as a child process: a run, a check, a report. Spawned, never forked: other threads
// continue. Path: cold. Any thread.
#pragma once

#include <sys/types.h>

struct child {
	char *const *argv;  // "ddiperf", the command and its arguments, NULL-terminated
	const char *folder; // working directory
	int in, out, err;   // -1: /dev/null
};

// Start in its own process group, so that it does not get the terminal's interrupts: we pass them
// on. 0, or -errno.
int child_start(const struct child *c, pid_t *pid);

// Wait until it has ended, for at most ms; then kill it. Returns the exit code, or -errno
// (-ETIMEDOUT; -EINTR: killed by a signal).
int child_wait(pid_t pid, unsigned ms);

enum child_output { CHILD_OUT, CHILD_ERR, CHILD_BOTH };

// Start and wait, with this output in a file in memory, which belongs to the caller and is rewound.
// Returns the exit code, or -errno, without a file.
int child_read(const struct child *c, enum child_output output, unsigned ms, int *file);

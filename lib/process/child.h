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

// In a process group of its own, so that the interrupt of a terminal is ours to pass on. 0, or
// -errno.
int child_start(const struct child *c, pid_t *pid);

// Wait until it has ended, for at most so long; then it is killed. The exit code, or -errno
// (-ETIMEDOUT; -EINTR: a signal killed it).
int child_wait(pid_t pid, unsigned ms);

// Both, with its output (err: that of errors, else the other) in a file of memory, which is the
// caller's and stands at its begin. The exit code, or -errno, and then there is no file.
int child_read(const struct child *c, int err, unsigned ms, int *file);

// SPDX-License-Identifier: BSD-3-Clause
// The output of a function, standard output and standard error together, as text.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char captured[64 << 10];

// Runs fn(ctx) and returns its result; captured holds its output.
static int capture_output(int (*fn)(void *ctx), void *ctx)
{
	const int file = memfd_create("output", 0), out = dup(STDOUT_FILENO);
	const int err = dup(STDERR_FILENO);
	ssize_t len;
	int rc;

	assert_true(file >= 0 && out >= 0 && err >= 0);
	fflush(stdout);
	assert_true(dup2(file, STDOUT_FILENO) >= 0 && dup2(file, STDERR_FILENO) >= 0);
	rc = fn(ctx);
	fflush(stdout);
	assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0);
	close(out);
	close(err);
	len = pread(file, captured, sizeof(captured) - 1, 0);
	close(file);
	captured[len > 0 ? len : 0] = '\0';
	return rc;
}

#define assert_captured(fragment)                                                                  \
	do {                                                                                       \
		if (!strstr(captured, fragment))                                                   \
			fail_msg("\"%s\" is not in: %s", fragment, captured);                      \
	} while (0)

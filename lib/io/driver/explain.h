// SPDX-License-Identifier: BSD-3-Clause
// Start-up errors as one message with a remedy. DPDK and its drivers print many lines on stdout and
// stderr: those are captured while they start, and translated. Path: cold.
// Management thread.
#pragma once

#include <stddef.h>

#include "io/port_state.h"

// Set the text of e and return err.
int io_fail(struct io_error *e, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
// Like io_fail, behind "port lan (af_xdp, veth0): ".
int port_fail(struct io_error *e, const struct port_settings *p, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

// Captures the output to fds 1 and 2 between begin and end. The text of end is the
// caller's to free, never NULL; with --verbose it is also shown. Captures do not nest.
struct capture {
	int memory, saved_out, saved_err;
};

void capture_begin(struct capture *c);
char *capture_end(struct capture *c);

// Sets e from the captured text: cause and remedy of a known error, otherwise the last useful line.
// p NULL: the error concerns no single port. err: result of the failed call; the text may imply a
// more precise error. Returns the final error. Modifies `said`.
int explain(struct io_error *e, const struct port_settings *p, int err, char *said);

// SPDX-License-Identifier: BSD-3-Clause
// One run from a checked configuration to a result: start, tick, drain, stop. Several can follow
// one another on the same ports, which are opened once per process (EAL starts once). Path: cold.
// Management thread.
#pragma once

#include "engine/run/run_options.h"

// Read the input of the configuration and report its errors, without touching a port. 0, or -errno
// with errors in d.
int run_check(const struct config *c, struct arena *a, struct diag *d);

// A UUID.
const char *run_make_id(struct arena *a);

struct run;

// Bring the ports up for o->config. 0, or an exit code, with the reason logged; run_close is due in
// any case.
int run_open(const struct run_options *o, struct arena *a, struct run **out);

// Run c (o->config, or derived from it by config_derive: the same ports and protocols) with d, the
// source of its settings. Tables, counters and the embedded responder are new each time. Returns as
// run_execute; out lives in the arena of run_open.
int run_once(struct run *r, const struct config *c, struct diag *d, struct result *out);

// 0, or EXIT_ENVIRONMENT when leases could not be written to their file (logged).
int run_close(struct run *r);

// All of it. Returns the exit code, which is also in out->verdict. When the environment or the
// configuration stops the run before it has started, the reason was logged and out->verdict.status
// is NULL: there is no result. Everything in out lives in a.
int run_execute(const struct run_options *o, struct arena *a, struct result *out);

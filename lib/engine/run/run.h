// SPDX-License-Identifier: BSD-3-Clause
// One run from a checked configuration to a result: start, tick, drain, stop. Several can follow
// one another on the same ports, which are opened once per process (EAL starts once). Path: cold.
// Management thread.
#pragma once

#include "engine/run/run_options.h"

// Reads the input of the configuration and reports its errors, without touching a port. Returns 0,
// or -errno with errors in d.
int run_check(const struct config *c, struct arena *a, struct diag *d);

// Returns a new UUID.
const char *run_make_id(struct arena *a);

struct run;

// Brings the ports up for o->config. Returns 0, or an exit code, with the reason logged. Call
// run_close in any case.
int run_open(const struct run_options *o, struct arena *a, struct run **out);

// Runs c (o->config, or derived from it by config_derive: the same ports and protocols) with d, the
// source of its settings. Tables, counters and the embedded responder are new each time. Returns
// like run_execute; out lives in the arena of run_open.
int run_once(struct run *r, const struct config *c, struct diag *d, struct result *out);

// Returns 0, or EXIT_ENVIRONMENT if leases could not be written to their file (logged).
int run_close(struct run *r);

// Does all of this. Returns the exit code, which is also in out->verdict. If the environment or the
// configuration stops the run before it has started, the reason was logged and out->verdict.status
// is NULL: there is no result. Everything in out lives in a.
int run_execute(const struct run_options *o, struct arena *a, struct result *out);

// SPDX-License-Identifier: BSD-3-Clause
// What run and respond share: load the file, catch signals, execute, report, write the result. One
// per process. Path: cold. Main thread.
#pragma once

#include "engine/run/run.h"
#include "options.h"

// NULL after errors, which were printed. *d knows where each setting came from; the caller frees
// it, also after errors.
const struct config *session_config(const struct options *o, struct diag **d);

// Returns the exit code of the run; respond: only play the responder, where an interrupt is the
// normal end.
int session_run(const struct options *o, const struct config *c, struct diag *d, bool respond);

// run --dry-run, run --self-check.
int session_dry_run(const struct options *o, const struct config *c, struct diag *d);
int session_self_check(const struct options *o, const struct config *c, struct diag *d);

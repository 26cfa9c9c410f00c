// SPDX-License-Identifier: BSD-3-Clause
// A run led by another process (run --led): orders on standard input and events on standard output,
// as JSON objects, one per line. The ports are brought up once; each order to run is a plain run on
// them that begins at an ordered time. Searches and repeats are up to the leader. docs/fleet.md
// describes the lines. Path: cold. Main thread.
#pragma once

#include "engine/config/config.h"
#include "line/options.h"

// c: the file of o, d: its diagnostics. Returns the exit code.
int run_child(const struct options *o, const struct config *c, struct diag *d);

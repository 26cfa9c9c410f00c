// SPDX-License-Identifier: BSD-3-Clause
// ddiperf list agents: the agents present, with their boxes and clocks. Path: cold. Main thread.
#pragma once

#include "base/arena.h"
#include "nats/bus.h"

// json: file to write the list to instead of a table, "-": standard output, NULL: a table. Returns
// the exit code.
int fleet_list(const struct bus_settings *s, const char *json, struct arena *a);

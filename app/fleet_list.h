// SPDX-License-Identifier: BSD-3-Clause
// ddiperf list agents: who is there, on which box and with which clock. Path: cold. Main thread.
#pragma once

#include "options.h"

// The exit code. o->fleet is there.
int fleet_list(const struct options *o);

// SPDX-License-Identifier: BSD-3-Clause
// ddiperf compare --history: the gate of the last runs of a history. Path: cold. Main thread.
#pragma once

#include "line/options.h"

// ddiperf compare --history. The exit code.
int compare_history(const struct options *o);

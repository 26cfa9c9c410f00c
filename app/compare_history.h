// SPDX-License-Identifier: BSD-3-Clause
// ddiperf compare --history: gates the last runs of a history. Path: cold. Main thread.
#pragma once

#include "line/options.h"

// Returns the exit code.
int compare_history(const struct options *o);

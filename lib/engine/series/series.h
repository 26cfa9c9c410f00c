// SPDX-License-Identifier: BSD-3-Clause
// Several runs in a row on the same ports: the trials of a search, or the repeats of a run. Each is
// the file with a few more settings, so that every rule of the file holds for it. Path: cold.
// Management thread.
#pragma once

#include "engine/run/run.h"

// Like run_execute, with the search or the repeats of the file. out is then a trial at the answer,
// or the median repeat, with all trials or repeats in it.
int series_execute(const struct run_options *o, struct arena *a, struct result *out);

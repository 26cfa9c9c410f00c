// SPDX-License-Identifier: BSD-3-Clause
// Several runs in a row on the same ports: the trials of a search, or the repeats of a run. Each is
// the file with a few more settings, so that every rule of the file holds for it. Path: cold.
// Management thread.
#pragma once

#include "engine/run/run.h"

// Would the file be right with the variable at both ends of the search, and as its shortest trial?
// 0, or -EINVAL with errors in d.
int series_check(const struct config *c, struct arena *a, struct diag *d);

// The longest or the shortest trial of a search at its highest load, as a run. NULL: it has errors,
// in d.
const struct config *series_trial(
	const struct config *c, bool longest, struct arena *a, struct diag *d);

// The file with the variable of its search at its highest value, for which the ports are brought
// up. NULL: it has errors, in d.
const struct config *series_greatest(const struct config *c, struct arena *a, struct diag *d);

// As run_execute, with the search or the repeats of the file. out is then a trial at the answer, or
// the median repeat, with all trials or repeats in it.
int series_execute(const struct run_options *o, struct arena *a, struct result *out);

// SPDX-License-Identifier: BSD-3-Clause
// Single runs of a search, as configurations. Path: cold. Management thread.
#pragma once

#include "engine/config/config.h"

// Is the file valid with the variable at both ends of the search, and as its shortest trial?
// Returns 0, or -EINVAL with errors in d.
int series_check(const struct config *c, struct arena *a, struct diag *d);

// Returns the longest or the shortest trial of a search at its highest load, as a run; NULL with
// errors in d.
const struct config *series_trial(
	const struct config *c, bool longest, struct arena *a, struct diag *d);

// Returns the file with the variable of its search at its highest value, for which the ports are
// brought up; NULL with errors in d.
const struct config *series_greatest(const struct config *c, struct arena *a, struct diag *d);

// SPDX-License-Identifier: BSD-3-Clause
// Intervals as lines for scripts, while the run is in progress: --interval-format. Path: cold. Main
// thread.
#pragma once

#include <stdio.h>

#include "engine/config/config.h"
#include "follow/run_events.h"

struct interval_format {
	const char *text; // "json", or text with figures as {t_s} or {traffic.queries.p99_ns}
	FILE *out;
	bool told; // about a figure that no interval has
};

// Is it well-formed? Returns 0, or -EINVAL with the reason logged.
int interval_format_check(const char *text);
// Does it name only figures that intervals of such a run have? Likewise.
int interval_format_check_names(const char *text, const struct config *c);

// A line for each interval of the measured part, except the rest at its end. f stays the caller's.
struct run_events_follower interval_format_follower(struct interval_format *f);

// SPDX-License-Identifier: BSD-3-Clause
// The runs of a campaign: commands around them, each run as a process of its own, attempts. Path:
// cold. Main thread.
#pragma once

#include "campaign/campaign_journal.h"

struct campaign_runner {
	const struct campaign *campaign;
	struct campaign_journal *journal;
	struct arena *arena;
	bool quiet;
	// For each cell and repeat, set here: why there are no values; NULL: there are, or it was
	// not tried.
	const char **why;
	bool stop_failed; // of a point, which was logged
};

// All repeats that the journal lacks. 0, or -errno: -ECANCELED (interrupted), -EINVAL (the campaign
// is wrong, which was logged), another one if the journal cannot be written (logged).
int campaign_execute(struct campaign_runner *r);

static inline const char **campaign_why(
	const struct campaign_runner *r, uint32_t cell, uint32_t repeat)
{
	return &r->why[cell * r->campaign->settings.repeats + repeat];
}

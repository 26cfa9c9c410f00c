// SPDX-License-Identifier: BSD-3-Clause
// The runs of a campaign: commands around them, a process for each run, attempts. Path: cold. Main
// thread.
#pragma once

#include "campaign/campaign_journal.h"
#include "process/orders.h"

struct campaign_runner {
	const struct campaign *campaign;
	struct campaign_journal *journal;
	struct arena *arena;
	bool quiet;
	struct order_reader orders; // from standard input, if wanted
	// Called before each run, and before a server is started: running is the beginning of the
	// run's line in the journal, without an operation while the server starts.
	void (*on_step)(void *ctx, const json_t *running);
	void *ctx;
	// By cell and repeat, set here: why there are no values; NULL: there are, or the repeat was
	// not tried, or is not over.
	const char **why;
	bool stop_failed; // stopping a point failed, which was logged
};

// Execute all repeats missing from the journal. 0, or -errno: -ECANCELED (interrupted), -EINVAL
// (the campaign is invalid, which was logged), others if the journal cannot be written (logged).
int campaign_execute(struct campaign_runner *r);

static inline const char **campaign_why(
	const struct campaign_runner *r, uint32_t cell, uint32_t repeat)
{
	return &r->why[cell * r->campaign->settings.repeats + repeat];
}

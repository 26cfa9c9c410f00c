// SPDX-License-Identifier: BSD-3-Clause
// The document of a run that was killed, from its intervals (part.h): counts are their sums, and
// percentiles of response latencies come from their histograms. Figures that intervals do not have
// are left out. Path: cold. Main thread.
#pragma once

#include "document/book.h"

#define RESCUE_ITEMS 256 // of traffic, with percentiles

struct rescue {
	struct book *book;
	struct hist *sums[RESCUE_ITEMS];
	double last_s;
};

// The document of b is what was known when the run began; it becomes the result, by each interval
// in turn.
void rescue_begin(struct rescue *r, struct book *b);
void rescue_add(struct rescue *r, const json_t *interval);
// Rates and percentiles of all intervals so far; more may follow.
void rescue_sum_up(struct rescue *r);
// Sums up for the last time, with a verdict if there is none.
void rescue_end(struct rescue *r);
void rescue_forget(struct rescue *r); // instead: the document is not wanted any more

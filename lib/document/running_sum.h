// SPDX-License-Identifier: BSD-3-Clause
// The result of a run so far, from its intervals: of a killed run (interval_file.h), or of a run in
// progress, from its lines (run_events.h). Counts are sums, gauges are of the newest interval, and
// percentiles come from the histograms of response latencies. Figures that intervals do not have
// are left out. Path: cold. Any thread, one at a time.
#pragma once

#include <jansson.h>

#include "document/document_reader.h"
#include "engine/result/result_fold.h"

struct running_sum {
	json_t *document; // the run's description at its begin, and its result; the reader's
	const char *file; // as messages call it
	struct arena *arena;
	struct result_interval sum;
	double hz;   // of its histograms
	bool begun;  // an interval was added
	bool warned; // about an unreadable interval
};

// Turns the document of b into the result, by each interval in turn.
void running_sum_begin(struct running_sum *s, struct document_reader *b);
void running_sum_add(struct running_sum *s, const json_t *interval);
// Writes the figures of all intervals so far into the document; more may follow.
void running_sum_put(struct running_sum *s);
// Like running_sum_put, for the last time; adds a verdict if there is none.
void running_sum_end(struct running_sum *s);
void running_sum_forget(struct running_sum *s); // instead: the document is not wanted any more

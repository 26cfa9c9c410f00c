// SPDX-License-Identifier: BSD-3-Clause
// The document of a run that was killed, from its intervals (interval_file.h): counts are their
// sums, and percentiles of response latencies come from their histograms. Figures that intervals do
// not have are left out. Path: cold. Main thread.
#pragma once

#include "document/document_reader.h"

#define PARTIAL_RESULT_ITEMS 256 // of traffic, with percentiles

struct partial_result {
	struct document_reader *reader;
	struct hist *sums[PARTIAL_RESULT_ITEMS];
	double last_s;
};

// The document of b is what was known when the run began; it becomes the result, by each interval
// in turn.
void partial_result_begin(struct partial_result *r, struct document_reader *b);
void partial_result_add(struct partial_result *r, const json_t *interval);
// Rates and percentiles of all intervals so far; more may follow.
void partial_result_sum_up(struct partial_result *r);
// Sums up for the last time, with a verdict if there is none.
void partial_result_end(struct partial_result *r);
void partial_result_forget(
	struct partial_result *r); // instead: the document is not wanted any more

// SPDX-License-Identifier: BSD-3-Clause
// The names of netperf's omni output, as rows: each is a figure of the result in netperf's unit, or
// unavailable in ddiperf. Path: cold. Main thread.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "base/arena.h"

// The sources of the texts, all borrowed.
struct netperf {
	const json_t *document;
	const json_t *flat; // walk_flat_document of it, with texts
	char units;         // of THROUGHPUT, as netperf's -f: G, M, K, g, m, k or x; 0: by the test
	struct arena *arena;
};

// A rate over all items. If they get replies: transactions per second, or the bits of both
// directions. If all go one way: bits or messages sent.
struct netperf_rate {
	double value;
	const char *unit;
};

struct netperf_rate netperf_throughput(const json_t *document, char units);

// Does the name have a figure? of_item: a figure of each item of traffic.
bool netperf_has(const char *name, bool of_item);
// Does netperf have it, and ddiperf no figure for it?
bool netperf_lacks(const char *name);
// Returns the figure; "": this result does not have it. item: "traffic.NAME." of the item.
const char *netperf_text(const struct netperf *n, const char *name, const char *item);
// Returns the i-th name that has a figure; NULL behind the last one.
const char *netperf_name(unsigned i);

// Writes a line for each name that has a figure.
void netperf_list(FILE *out);

// SPDX-License-Identifier: BSD-3-Clause
// Latency objects of a document that become one: of several intervals, or of several boxes. Path:
// cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/hist.h"

// Is it such an object?
bool distribution_is(const json_t *object);

// All but percentiles and the histogram; {0}: of nothing.
struct distribution {
	double count, mean, squares; // the latter: of the distances from the mean
	double min, max;
};
void distribution_add(struct distribution *d, const json_t *from);
// Its members of to.
void distribution_put(const struct distribution *d, json_t *to);

// Percentiles above that share which are not known (hist_knows) become null, in all distributions
// of the document or the line.
void distribution_blank(json_t *in, double above);

// Percentiles and histogram of h, in ticks of hz; `above` lost ones rank above all values.
void distribution_finish(json_t *to, const struct hist *h, uint64_t above, double hz);

// SPDX-License-Identifier: BSD-3-Clause
// The verdict on a run from those of its parts and from its criteria, which hold for the sums.
// Path: cold. Main thread.
#pragma once

#include <jansson.h>

#include "engine/config/config.h"

// Of one item of a document or of an interval: the figure of a criterion (condition.h). false: the
// item has no such figure.
struct condition;
bool merge_figure(const struct condition *k, const char *protocol, const json_t *item, double *out);

// Of all items.
double merge_total(const json_t *items, const char *name);

// sum: the merged document, without verdict. parts: those of the parts, in order; numbers: theirs.
// missing: reasons why parts are missing. c: the configuration of the whole.
json_t *merge_verdict(const struct config *c, const json_t *sum, json_t *const *parts,
	const uint64_t *numbers, unsigned count, json_t *missing, struct arena *a);

// A reason of the tester's side that only those who made the run know: it says nothing about the
// server. interrupted: by the user too, and that is its status then.
void merge_invalidate(json_t *verdict, const char *reason, bool interrupted);
// The run had stop rules for the sum, and this one ended it; NULL: none did.
void merge_stop(json_t *verdict, const char *rule, double at_s);

// SPDX-License-Identifier: BSD-3-Clause
// Stop rules: conditions (condition.h) that end a run as soon as they hold, checked at the end of
// each interval of the measured part. Path: cold. Management thread.
#pragma once

#include "engine/config/condition.h"

struct stop_rule {
	struct condition condition;
	double *held_s; // per item: for how long it has held without a break
	double *sum;    // per item: of a counter without a time
};

struct stop {
	const struct config *config;
	struct stop_rule *rules;
	uint32_t count;
};

// Starts with the rules of the file, and load.max_outstanding of each item: in a fleet, its share.
void stop_start(struct stop *s, const struct config *c, struct arena *a);

// Returns NULL, or the rule that holds after this interval, with its figure in *value.
const char *stop_check(
	struct stop *s, const struct result_interval *i, struct arena *a, double *value);

// SPDX-License-Identifier: BSD-3-Clause
// One figure by its dotted name: "latency.response.p99_ns", "dns.rcode.SERVFAIL". For criteria and
// searches. Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "base/counter.h"

struct stats_value {
	double value;
	const char *unit; // as in struct counter, may be NULL
	bool gauge;       // as in struct counter
};

// 0, or -ENOENT: no such row, or a label that the array can never have. A known label or optional
// section that is absent gives 0. COUNTER_LIST items are addressed by their "name" row
// ("steps.request-ack.lost").
int stats_lookup(const struct counter_section *section, const void *data, const char *path,
	struct stats_value *out);

// Every path that stats_lookup would find, one after the other; the text lives as long as a.
struct stats_paths {
	void (*each)(void *ctx, const char *path);
	void *ctx;
	struct arena *a;
};
void stats_paths(const struct counter_section *section, const void *data, const char *prefix,
	const struct stats_paths *to);

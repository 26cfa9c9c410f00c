// SPDX-License-Identifier: BSD-3-Clause
// A result document (--json) read back as a flat list of figures. The file may hold anything: a
// file that is no result is refused with a reason, unknown members are left out. Path: cold. Main
// thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/nearest.h"

struct figure {
	const char *item; // of traffic, or "search"
	const char *path; // "latency.response.p99_ns", "dns.rcode.SERVFAIL"
	// Rates and latencies as they are; INFINITY: a rank among the lost transactions. Loss and
	// counts as shares of the requests sent. Answers of a search; 0: none.
	double value;
	double *repeats; // of each repeat; NULL: a single run
	bool repeated;   // in one repeat at least
};

// A setting of the run: "traffic.queries.load.rate", and its value as in the document.
struct figures_setting {
	const char *path, *value;
};

struct figures {
	const char *file;
	const char *name, *version, *started, *status; // "" if missing in the document
	double confidence;                             // of the repeats; 0: a single run
	uint32_t repeats;
	struct figure *list;
	uint32_t count;
	struct figures_setting *settings; // without name, notes, criteria and output
	uint32_t setting_count;
};

// Returns 0, or -EINVAL with the reason logged.
int figures_load(const char *file, struct arena *a, struct figures *out);
// Like figures_load, from a document; file is its name in messages.
int figures_read(const char *file, const json_t *document, struct arena *a, struct figures *out);

const struct figure *figures_find(const struct figures *f, const char *item, const char *path);

bool figures_has_item(const struct figures *f, const char *item);
// Is figure i the first of its item?
bool figures_is_new_item(const struct figures *f, uint32_t i);

// Returns the full path of p50, p99, mean, max or rate; any other name is a path already.
const char *figures_full_name(const char *name);

// Offers every short name and path as a suggestion.
void figures_try_names(const struct figures *f, struct nearest *nearest);

// Returns "ns", "per_s", "1", or "" for answers of a search, by the path.
const char *figures_unit(const char *path);

// Formats a value for readers like stats_shown, or as "lost".
const char *figures_text(double v, const char *unit);

// Returns the value of a figure that a result lacks: a counter is 0, a time is unknown (NAN).
double figures_absent(const char *path);

// One figure in A and B.
struct figures_change {
	double a, b; // means where there are repeats
	double half; // half width of the interval of B - A; NAN: a single run
};

// A figure that only one result has: a counter is 0 in the other, a time is unknown (NAN).
struct figures_change figures_change(
	const struct figures *from, const struct figures *to, const char *item, const char *path);

// Finds the first setting from *at on that differs, or that only one has; *at: behind it. Returns
// false if there is no more. The texts of a result without the setting are NULL.
bool figures_differ(const struct figures *a, const struct figures *b, uint32_t *at,
	struct figures_setting *in_a, struct figures_setting *in_b);

// Does the noise of the repeats explain the change? false for single runs, whose noise is unknown.
bool figures_change_is_noise(const struct figures_change *c);

// Does a table of changes have this figure? Protocol counters have a dot in their path and are
// neither a latency nor a step.
bool figures_is_shown(const char *path);

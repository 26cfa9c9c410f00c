// SPDX-License-Identifier: BSD-3-Clause
// What searches and repeats share. For series*.c only. Path: cold. Management thread.
#pragma once

#include "engine/series.h"

struct series {
	const struct run_options *options;
	const struct config *config; // of the file
	struct arena *arena;
	struct run *run;
};

// The configuration of one run; texts: count assignments. NULL after errors, which were printed. *d
// is to be freed after the run.
const struct config *series_derive(
	const struct series *s, char *const *texts, unsigned count, struct diag **d);

// One run with those settings; the exit code. out->verdict.status NULL: it did not begin.
int series_run(const struct series *s, char *const *texts, unsigned count, struct result *out);

// Wait between runs; false: interrupted.
bool series_rest(const struct series *s, uint64_t ns);

void series_note(const struct series *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

// Put a reason before those that are there.
void series_reason(const struct series *s, struct result_verdict *v, const char *text);

// "run.seed=12": the n-th run's own, so that runs differ, and late answers to one are none to the
// next.
char *series_seed(const struct series *s, uint64_t n);
// "variable=12500".
char *series_value(const struct config *c, double value, struct arena *a);

int series_search(struct series *s, struct result *out);
int series_repeat(struct series *s, struct result *out);

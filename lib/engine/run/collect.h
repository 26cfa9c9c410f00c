// SPDX-License-Identifier: BSD-3-Clause
// From the workers' counters to the result: sums, differences, percentiles, rates, and the checks
// of the ledger. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan.h"
#include "engine/result/result.h"

// Everything since the last snapshot that was taken.
struct collect_state {
	struct item_books *before; // per item
	uint64_t *due_before;      // per item
	uint64_t taken;            // snapshots
	uint64_t at_before;        // tick
};

// A histogram of ticks as figures; lost: number of samples that rank above all. Without samples
// NAN.
struct latency collect_latency(const struct clock *c, const struct hist *h, uint64_t lost);

// The next interval, when every worker has published it: true. t_s and length_s are from the
// snapshot's own times.
bool collect_interval(const struct plan *p, struct collect_state *s, struct arena *a,
	struct result_interval *out, bool *warmup);

// The share of a port's packets, by the last snapshots, that the right worker received; -1: no
// packet came.
double collect_home(const struct plan *p, uint32_t port);

// After the workers have ended: the interval since the last snapshot (the drain).
void collect_last_interval(const struct plan *p, struct collect_state *s, struct arena *a,
	struct result_interval *out);

void collect_start(const struct plan *p, struct collect_state *s, struct arena *a);

// After the workers have ended: items, ports, workers, responder.
void collect_result(const struct plan *p, struct arena *a, struct result *out);

// Totals of the responder, also while it runs, without the protocols' own counters.
void collect_responder(const struct plan *p, struct result_responder *out);

// due = sent + unsent and sent = answered + failed + lost + in_flight, in total and summed over the
// intervals. NULL, or the law that is broken.
const char *collect_check(const struct plan *p, const struct result *r, struct arena *a);

// --- between collect.c and collect_intervals.c: sums over an item's workers ---

void collect_books_clear(struct item_books *b);

void collect_books_add(struct item_books *sum, const struct item_books *b);

// Transactions due in the measured part, of all workers. After they have ended.
uint64_t collect_books_due(const struct plan_item *i);

// In ns; INFINITY among the lost, which rank above all that were measured; NAN: there was nothing.
double collect_books_percentile(
	const struct clock *c, const struct hist *h, double share, uint64_t lost);

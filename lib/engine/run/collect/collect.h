// SPDX-License-Identifier: BSD-3-Clause
// From the workers' counters to the result: sums, differences, percentiles, rates, and the checks
// of the ledger. Path: cold. Management thread.
#pragma once

#include <math.h>

#include "engine/plan/plan.h"
#include "engine/result/result.h"
#include "engine/run/collect/timeline.h"

// The sums of the counters of an item's workers.
struct item_sums {
	struct item_books books;
	struct step_books *steps; // [proto_steps(proto)]; NULL: there is only one
	struct conn_books *conns; // NULL: no connections
	void *counters[2];        // the protocol's, as item_books.ledger
	struct server_books servers[SERVERS_MAX];
};

// Returns the CPU that a worker is bound to; NAN: the kernel chooses.
static inline double collect_cpu(const struct worker *w)
{
	return w->cpu == LCORE_ANY_CPU ? NAN : w->cpu;
}

// Returns the figures of a histogram of ticks; NAN without samples. lost: number of samples that
// rank above all.
struct latency collect_latency(const struct clock *c, const struct hist *h, uint64_t lost);

// Likewise, with output.percentiles.
struct latency collect_distribution(
	const struct plan *p, const struct hist *h, uint64_t lost, struct arena *a);

// Returns the tick of the first message of all items; 0: nothing was sent.
uint64_t collect_first_sent(const struct plan *p);

// Call after the workers have ended: items, ports, workers, responder.
void collect_result(const struct plan *p, struct arena *a, struct result *out);

// Totals of the responder, also while it runs, without the protocols' own counters.
void collect_responder(const struct plan *p, struct result_responder *out);
// Likewise, with the counters of its protocols, which live in a.
void collect_responder_whole(const struct plan *p, struct arena *a, struct result_responder *out);
// Likewise, while its workers run, by asking them. Returns false if one had no CPU for a second.
bool collect_responder_running(const struct plan *p, struct arena *a, struct result_responder *out);

// Checks that due = sent + unsent and sent = answered + failed + lost + no_reply + in_flight, in
// total and over the intervals; and that response latencies are as many as service latencies, and
// no shorter in sum and maximum. Returns NULL, or the law that is broken.
const char *collect_check(
	const struct plan *p, const struct timeline *t, const struct result *r, struct arena *a);

// --- sums over an item's workers, for collect_intervals.c ---

// Returns sums of 0 for items of up to that many steps and bytes of counters. steps is NULL below
// 2. conns: they may have connections.
struct item_sums collect_sums_of(uint32_t steps, size_t counters, bool conns, struct arena *a);

void collect_sums_clear(struct item_sums *s, const struct proto *proto);

// steps and banks as in struct worker_item, conns as in struct item_snapshot.
void collect_sums_add(struct item_sums *s, const struct proto *proto, const struct item_books *b,
	const struct step_books *steps, const struct conn_books *conns, void *const banks[2]);

// books: of SERVERS_MAX servers, of a worker.
void collect_servers_add(struct item_sums *s, const struct server_books *books);
// bank: index of conn_books.tls.
const struct result_tls *collect_tls(
	const struct plan *p, const struct conn_books *sum, int bank, struct arena *a);
const struct result_http *collect_http(const struct conn_books *sum, int bank, struct arena *a);
const struct result_quic *collect_quic(const struct conn_books *sum, int bank, struct arena *a);
// Returns the address of a server of the item.
const char *collect_server_name(const struct plan_item *i, uint32_t server, struct arena *a);

// Sums up the counters of an item's workers. Call after they have ended.
void collect_sums_all(struct item_sums *s, const struct plan_item *i);

// Returns the steps that were ever used, with the figures of s: struct result_step.
struct counter_list collect_steps(const struct plan *p, const struct proto *proto,
	const struct item_sums *ever, const struct item_sums *s, struct arena *a);

// Returns the snapshot of a worker that was taken last.
static inline const struct worker_snapshot *collect_snapshot(const struct worker *w)
{
	return &w->snapshots[w->reading];
}

// Returns the transactions due in the measured part, of all workers. Call after they have ended.
uint64_t collect_due(const struct plan_item *i);

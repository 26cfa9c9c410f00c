// SPDX-License-Identifier: BSD-3-Clause
// What a transaction costs the tester's worker and nothing else: worker and responder take turns on
// one thread, over the ring ports of a configuration file, and only the worker's turns are timed.
// No cache line travels between two CPUs. Path: tests only.
//
//   bench_worker FILE [TRANSACTIONS]
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "engine/config/config_load.h"
#include "engine/plan/plan.h"

#define ROUNDS 15 // the best of them counts

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "bench_worker: %s\n", what);
	exit(1);
}

static struct plan *prepare(const char *file, struct arena *a)
{
	struct diag *d = diag_new();
	const struct config *c = config_load(file, NULL, 0, a, d);
	struct plan *p = arena_zalloc(a, sizeof(*p));
	struct io_error e = {""};

	diag_print(d, stderr);
	require(c && c->responder && plan_read_input(p, c, false, a, d) == 0, "bad file");
	require(plan_start(p, false, a, &e) == 0, e.text);
	require(io_start(&c->host, &p->lcores, p->port_settings, p->port_count, &e) == 0, e.text);
	require(port_start_all(p->port_settings, p->port_count, p->ports, &e) == 0, e.text);
	require(plan_build(p, a) == 0, "no plan");
	for (uint32_t i = 0; i < p->items[0].path_count; i++)
		plan_address(&p->items[0], i, p->ports[p->responder_port].mac);
	diag_free(d);
	return p;
}

static uint64_t answered(const struct worker_item *it)
{
	return it->books.ledger[0].answered + it->books.ledger[1].answered;
}

// Kept apart, so that a profiler can be told to look at this only.
static __attribute__((noinline)) uint64_t turn(struct worker *w)
{
	uint64_t before = clock_now();

	worker_pass(w, before);
	return clock_now() - before;
}

// Ticks of the worker's turns for so many transactions, each; clock: what a reading takes.
static double round_of(struct plan *p, uint64_t transactions, double clock)
{
	struct worker_item *it = p->items[0].run;
	uint64_t first = answered(it), ticks = 0, turns = 0, done;

	while ((done = answered(it) - first) < transactions) {
		ticks += turn(p->items[0].worker);
		responder_pass(&p->responders[0]);
		turns++;
	}
	return ((double)ticks - clock * (double)turns) / (double)done;
}

static double clock_cost(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t before = clock_now(), span = clock_now() - before;

		least = span < least ? span : least;
	}
	return (double)least;
}

int main(int argc, char **argv)
{
	struct arena *a = arena_new();
	uint64_t transactions = argc > 2 ? strtoull(argv[2], NULL, 10) : 200000;
	double best = 1e300, clock = clock_cost();
	struct plan *p;

	require(argc > 1, "which file?");
	log_set_level(LOG_QUIET);
	p = prepare(argv[1], a);
	plan_schedule(p, clock_now());
	worker_begin(p->items[0].worker);
	for (int i = 0; i < (transactions ? ROUNDS : 0); i++) {
		double ticks = round_of(p, transactions, clock);

		best = ticks < best ? ticks : best;
	}
	printf("%.1f ns/transaction\n", clock_ns(&p->clock, 1000) * best / 1000);
	port_stop_all(p->ports, p->port_count);
	plan_free(p);
	io_stop();
	arena_free(a);
	return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// What a transaction costs the tester's worker and nothing else: worker and responder take turns on
// one thread, over the ring ports of a configuration file, and only the worker's turns are timed.
// No cache line travels between two CPUs. Path: tests only.
//
// Exit code 1 when nothing is answered for some seconds: then the file has no more transactions, or
// the worker is slower than their timeout.
//
//   bench_worker FILE [TRANSACTIONS [SECONDS]]
//
// With --count the clock is set and advances by PASS_NS from pass to pass, so each execution does
// the same work: one round to warm up, and one whose turns a profiler counts in counted_turn
// (tests/bench/costs).
//
//   bench_worker --count FILE TRANSACTIONS
//
// With --keys in front of FILE, connections of TLS get their keys by two short messages instead of
// a handshake of some 300 us at either end: a million can be opened.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/driver/eal.h"
#include "io/port/port.h"
#include "base/log.h"
#include "base/rand.h"
#include "crypt/keys.h"
#include "engine/core/crew.h"
#include "engine/core/responder/responder.h"
#include "engine/core/worker/worker.h"
#include "engine/config/config_load.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_start.h"

#define ROUNDS  15   // the best of them counts
#define PASS_NS 5000 // about as long as a full burst takes

static uint64_t set_tick = 1000000000;

// --- keys without a handshake

#define GREETING 9 // octets: who sends it, and a number that the keys are made from

enum { OF_CLIENT = 'c', OF_SERVER = 's' };

static bool only_keys;

void __real_crew_do(struct crew_seat *s); // NOLINT: the linker's name
void __wrap_crew_do(struct crew_seat *s);

static void secret_fill(uint8_t *secret, uint64_t number)
{
	for (uint32_t i = 0; i < KEYS_SECRET_MOST; i++)
		secret[i] = (uint8_t)rand_hash(number + ((uint64_t)i << 32));
}

// The library is left out: the client greets, the server answers, and both have keys.
static void greet(struct crew_seat *s)
{
	static struct hand_facts f;
	static uint8_t out[GREETING];
	static uint64_t last;
	bool begins = s->in_len == 0, is_server = !begins && s->in[0] == OF_CLIENT;
	uint64_t number;

	f = (struct hand_facts){.alpn = "h2", .alert_received = -1, .alert_sent = -1};
	s->facts = &f;
	s->out = out;
	s->taken = begins ? 0 : GREETING;
	s->out_len = begins || is_server ? GREETING : 0;
	s->state = begins ? HAND_RUNNING : HAND_DONE;
	if (begins) {
		number = ++last;
		memcpy(out + 1, &number, sizeof(number));
	} else {
		memcpy(out, s->in, GREETING);
		memcpy(&number, out + 1, sizeof(number));
		secret_fill(f.read_secret, 2 * number + is_server);
		secret_fill(f.write_secret, 2 * number + !is_server);
		keys_way(&f.read, RECORD_AES_128_GCM, f.read_secret, 1);
		keys_way(&f.write, RECORD_AES_128_GCM, f.write_secret, 1);
	}
	out[0] = is_server ? OF_SERVER : OF_CLIENT;
}

void __wrap_crew_do(struct crew_seat *s)
{
	if (!only_keys)
		__real_crew_do(s);
	else if (s->job == CREW_STEP)
		greet(s);
}

// Of a round.
struct work {
	uint64_t transactions;
	double patience_s; // without an answered transaction
	uint64_t (*turn)(struct worker *w);
};

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "bench_worker: %s\n", what);
	exit(1);
}

static struct plan *prepare(const char *file, bool count, struct arena *a)
{
	struct diag *d = diag_new();
	const struct config *c = config_load(file, NULL, 0, a, d);
	struct plan *p = arena_zalloc(a, sizeof(*p));
	struct io_error e = {""};

	diag_print(d, stderr);
	require(c && c->responder && plan_read_input(p, c, false, a, d) == 0, "bad file");
	if (count)
		p->clock = (struct clock){.hz = 1e9, .set = &set_tick};
	require(plan_start(p, false, a, &e) == 0, e.text);
	require(io_start(&c->host, &p->lcores, p->port_settings, p->port_count, &e) == 0, e.text);
	require(port_start_all(p->port_settings, p->port_count, p->ports, &e) == 0, e.text);
	require(plan_build(p, a) == 0, "no plan");
	require(!count || p->clock.set == &set_tick, "the plan does not keep a set clock");
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
	uint64_t before = clock_time(w->clock);

	worker_pass(w, before);
	return clock_time(w->clock) - before;
}

static __attribute__((noinline)) uint64_t counted_turn(struct worker *w)
{
	return turn(w);
}

static void give_up(const struct worker_item *it, uint64_t done, const struct work *work)
{
	const struct ledger *l = it->books.ledger;

	fprintf(stderr,
		"bench_worker: no reply for %g s, after %" PRIu64 " of %" PRIu64
		" transactions of a round; in all %" PRIu64 " sent, %" PRIu64 " lost. "
		"Ask for fewer, or give the file more clients, a longer run or a longer timeout\n",
		work->patience_s, done, work->transactions, l[0].sent + l[1].sent,
		l[0].lost + l[1].lost);
	exit(1);
}

// Ticks of the worker's turns for each transaction of a round; clock: what a reading takes.
static double round_of(struct plan *p, const struct work *work, double clock)
{
	struct worker_item *it = p->items[0].run;
	uint64_t first = answered(it), ticks = 0, turns = 0, done, last = UINT64_MAX, until = 0;
	uint64_t patience = clock_ticks(&p->clock, (uint64_t)(work->patience_s * 1e9));

	while ((done = answered(it) - first) < work->transactions) {
		if (done != last)
			until = clock_time(&p->clock) + patience;
		else if (clock_time(&p->clock) > until)
			give_up(it, done, work);
		last = done;
		ticks += work->turn(p->items[0].worker);
		responder_pass(&p->responders[0]);
		set_tick += PASS_NS;
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

// Transactions of the round that is counted.
static uint64_t count(struct plan *p, struct work work)
{
	uint64_t before;

	for (int i = 0; i < (only_keys ? 2 : 1); i++) // the first one may open connections
		round_of(p, &work, 0);
	before = answered(p->items[0].run);
	work.turn = counted_turn;
	round_of(p, &work, 0);
	return answered(p->items[0].run) - before;
}

static void measure(struct plan *p, const struct work *work)
{
	double best = 1e300, clock = clock_cost();

	for (int i = 0; i < (work->transactions ? ROUNDS : 0); i++) {
		double ticks = round_of(p, work, clock);

		best = ticks < best ? ticks : best;
	}
	printf("%.1f ns/transaction, %" PRIu64 " transactions\n",
		clock_ns(&p->clock, 1000) * best / 1000, answered(p->items[0].run));
}

int main(int argc, char **argv)
{
	bool counts = argc > 1 && strcmp(argv[1], "--count") == 0;
	struct arena *a = arena_new();
	struct plan *p;
	struct work work;

	argc -= counts;
	argv += counts;
	only_keys = argc > 1 && strcmp(argv[1], "--keys") == 0;
	argc -= only_keys;
	argv += only_keys;
	require(argc > 1, "which file?");
	work = (struct work){argc > 2 ? strtoull(argv[2], NULL, 10) : 200000,
		argc > 3 ? strtod(argv[3], NULL) : 10, turn};
	log_set_level(LOG_QUIET);
	p = prepare(argv[1], counts, a);
	plan_schedule(p, clock_time(&p->clock));
	worker_begin(p->items[0].worker);
	if (counts)
		printf("%" PRIu64 " transactions\n", count(p, work));
	else
		measure(p, &work);
	port_stop_all(p->ports, p->port_count);
	plan_free(p);
	io_stop();
	arena_free(a);
	return 0;
}

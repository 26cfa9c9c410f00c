// SPDX-License-Identifier: BSD-3-Clause
// Sends packets through both ends of the pair and back, on the CPU of the tester's worker, with its
// buffers, calls and clock readings. The last ones are turned round on the responder's CPU.
// Path: cold. The workers' threads, and the management thread around them.
#include "engine/run/around/tester_delay.h"

#include <sched.h>
#include <stdatomic.h>

#include "io/burst.h"
#include "io/driver/settings.h"
#include "engine/run/collect/collect.h"
#include "io/driver/launch.h"

#define ROUNDS 8192 // of each kind
#define WARM   256  // of them, before it counts

struct probe {
	const struct worker *tester, *peer;
	uint64_t limit; // ticks for each kind
	bool across;    // the peer turns round by itself, elsewhere
	_Atomic bool over;
	struct hist single, burst, apart;
};

static uint16_t tester_take(const struct worker *w, struct rte_mbuf **pkts)
{
	return burst_rx(w->wire.port, w->wire.queue, pkts, w->wire.burst);
}

static void give(const struct worker *w, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t sent = burst_tx(w->wire.port, w->wire.queue, pkts, n);

	burst_free(pkts + sent, n - sent);
}

static uint16_t tester_turn_round(const struct worker *peer)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t n = tester_take(peer, pkts);

	if (n)
		give(peer, pkts, n);
	return n;
}

// A burst there and back. Returns false without buffers, or if the time is over.
static bool round_trip(const struct probe *p, uint16_t size, uint64_t until, struct hist *h)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint64_t begin, now;

	if (!burst_alloc(p->tester->wire.tx_pool, pkts, size))
		return false;
	begin = now = clock_now();
	give(p->tester, pkts, size);
	for (uint16_t back = 0, n; back < size; back += n) {
		if (!p->across)
			tester_turn_round(p->peer);
		n = tester_take(p->tester, pkts);
		now = clock_now();
		if (n == 0 && now > until)
			return false;
		if (n == 0 && p->tester->yields)
			sched_yield();
		for (uint16_t i = 0; i < n; i++)
			hist_add(h, now - begin);
		burst_free(pkts, n);
	}
	return now <= until;
}

static void probe_kind(const struct probe *p, uint16_t size, struct hist *h)
{
	uint64_t until = clock_now() + p->limit;

	hist_clear(h);
	for (int i = 0; i < ROUNDS && round_trip(p, size, until, h); i++)
		if (i == WARM)
			hist_clear(h);
}

static int probe_alone(void *arg)
{
	struct probe *p = arg;

	probe_kind(p, 1, &p->single);
	probe_kind(p, p->tester->wire.burst, &p->burst);
	return 0;
}

static int probe_across(void *arg)
{
	struct probe *p = arg;

	probe_kind(p, 1, &p->apart);
	return 0;
}

static int peer_loop(void *arg)
{
	struct probe *p = arg;

	while (!atomic_load_explicit(&p->over, memory_order_acquire))
		if (tester_turn_round(p->peer) == 0 && p->peer->yields)
			sched_yield();
	return 0;
}

static uint32_t worker_of(const struct plan *p, const struct worker *w)
{
	return (uint32_t)(w - p->workers);
}

static void run_alone(const struct plan *p, struct probe *probe)
{
	launch_loop(worker_of(p, probe->tester), probe_alone, probe);
	launch_wait(worker_of(p, probe->tester));
}

static void run_across(const struct plan *p, struct probe *probe)
{
	probe->across = true;
	launch_loop(worker_of(p, probe->peer), peer_loop, probe);
	launch_loop(worker_of(p, probe->tester), probe_across, probe);
	launch_wait(worker_of(p, probe->tester));
	atomic_store_explicit(&probe->over, true, memory_order_release);
	launch_wait(worker_of(p, probe->peer));
}

// Frees packets that were still on their way when the time was over.
static void tester_sweep(const struct worker *w)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t n;

	while ((n = tester_take(w, pkts)) > 0)
		burst_free(pkts, n);
	rte_eth_stats_reset(w->wire.port);
}

struct result_tester_delay *tester_delay_measure(struct plan *p, struct arena *a)
{
	int dut = p->responder_port;
	int tester = dut < 0 ? -1 : port_ring_peer(p->port_settings, p->port_count, (unsigned)dut);
	struct result_tester_delay *out;
	struct probe *probe;

	if (tester < 0)
		return NULL;
	probe = arena_zalloc(a, sizeof(*probe));
	probe->tester = &p->workers[p->first_worker[tester]];
	probe->peer = &p->workers[p->first_worker[dut]];
	probe->limit = clock_ticks(&p->clock, TESTER_DELAY_NS / 3);
	run_alone(p, probe);
	run_across(p, probe);
	tester_sweep(probe->peer);
	tester_sweep(probe->tester);
	out = arena_zalloc(a, sizeof(*out));
	*out = (struct result_tester_delay){
		.port = p->port_settings[tester].name,
		.burst_size = probe->tester->wire.burst,
		.single = collect_latency(&p->clock, &probe->single, 0),
		.burst = collect_latency(&p->clock, &probe->burst, 0),
		.apart = collect_latency(&p->clock, &probe->apart, 0),
	};
	return out;
}

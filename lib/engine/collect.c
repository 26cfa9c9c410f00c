// SPDX-License-Identifier: BSD-3-Clause
// Reading the workers' books. While they run, only snapshots are read; afterwards everything.
// Path: cold. Management thread.
#include "engine/collect.h"

#include <math.h>
#include <stdlib.h>

#include "io/driver.h"

static double item_percentile(
	const struct clock *c, const struct hist *h, double share, uint64_t lost)
{
	uint64_t v = hist_percentile(h, share, lost);

	return v == UINT64_MAX ? INFINITY : clock_ns(c, v);
}

struct latency collect_latency(const struct clock *c, const struct hist *h, uint64_t lost)
{
	struct latency l = {.count = h->count};

	if (h->count == 0 && lost == 0)
		return l;
	l.min_ns = h->count ? clock_ns(c, h->min) : 0;
	l.max_ns = h->count ? clock_ns(c, h->max) : 0;
	l.mean_ns = hist_mean(h) * 1e9 / c->hz;
	l.stddev_ns = hist_stddev(h) * 1e9 / c->hz;
	l.p50_ns = item_percentile(c, h, 0.5, lost);
	l.p90_ns = item_percentile(c, h, 0.9, lost);
	l.p99_ns = item_percentile(c, h, 0.99, lost);
	l.p999_ns = item_percentile(c, h, 0.999, lost);
	l.p9999_ns = item_percentile(c, h, 0.9999, lost);
	return l;
}

void collect_start(const struct plan *p, struct collect_state *s, struct arena *a)
{
	*s = (struct collect_state){
		.before = arena_zalloc(a, (p->item_count + 1) * sizeof(*s->before)),
		.due_before = arena_zalloc(a, (p->item_count + 1) * sizeof(*s->due_before)),
	};
	for (uint32_t i = 0; i < p->item_count; i++)
		hist_clear(&s->before[i].response);
	if (p->item_count)
		s->at_before = p->items[0].worker->times.start;
}

static struct result_interval_item interval_item(const struct plan *p, const struct plan_item *i,
	const struct item_books *now, const struct item_books *before, int bank,
	struct hist *scratch)
{
	const struct ledger *l = &now->ledger[bank], *m = &before->ledger[bank];
	struct result_interval_item out = {
		.name = i->settings->name,
		.sent = l->sent - m->sent,
		.answered = l->answered - m->answered,
		.failed = l->failed - m->failed,
		.lost = l->lost - m->lost,
		.no_reply = l->no_reply - m->no_reply,
	};

	if (bank == 0)
		return out;
	hist_difference(scratch, &now->response, &before->response);
	out.p50_ns = item_percentile(&p->clock, scratch, 0.5, out.lost);
	out.p99_ns = item_percentile(&p->clock, scratch, 0.99, out.lost);
	out.max_ns = scratch->count ? clock_ns(&p->clock, scratch->max) : 0;
	return out;
}

// One item's part of an interval that ends at `at`; the books become the new "before".
static struct result_interval_item interval_step(const struct plan *p, struct collect_state *s,
	uint32_t n, const struct item_books *books, uint64_t due, int bank, struct hist *scratch)
{
	struct result_interval_item out =
		interval_item(p, &p->items[n], books, &s->before[n], bank, scratch);

	out.due = due - s->due_before[n];
	s->before[n] = *books;
	s->due_before[n] = due;
	return out;
}

static uint64_t due_until(const struct item_snapshot *snap, uint64_t at, int bank)
{
	uint64_t until = at < snap->ended_at ? at : snap->ended_at;

	return snap->books.ledger[bank].due + pace_backlog(&snap->pace, until);
}

static uint64_t due_in_all(const struct worker_item *run)
{
	struct pace pace = run->pace;

	pace.left = run->left_over;
	return run->books.ledger[1].due + pace_backlog(&pace, run->ended_at);
}

static bool all_published(const struct plan *p, uint64_t n)
{
	for (uint32_t i = 0; i < p->item_count; i++)
		if (atomic_load_explicit(&p->items[i].worker->published, memory_order_acquire) < n)
			return false;
	return p->item_count > 0;
}

// The worker's newest snapshot becomes the reader's. Nobody else takes the mark of a new one away.
static void take_snapshot(struct worker *w)
{
	if (atomic_load_explicit(&w->handed, memory_order_relaxed) & SNAPSHOT_NEW)
		w->reading =
			atomic_exchange_explicit(&w->handed, w->reading, memory_order_acq_rel) &
			~SNAPSHOT_NEW;
}

static const struct worker_snapshot *snapshot_of(const struct plan_item *i)
{
	return &i->worker->snapshots[i->worker->reading];
}

bool collect_interval(const struct plan *p, struct collect_state *s, struct arena *a,
	struct result_interval *out, bool *warmup)
{
	const struct run_times *t;
	struct result_interval_item *items;
	struct hist *scratch;
	uint64_t at = 0;
	int bank = 1;

	if (!all_published(p, s->taken + 1))
		return false;
	t = &p->items[0].worker->times;
	items = arena_zalloc(a, p->item_count * sizeof(*items));
	scratch = malloc(sizeof(*scratch));
	for (uint32_t i = 0; i < p->port_count; i++)
		take_snapshot(&p->workers[i]);
	for (uint32_t i = 0; i < p->item_count && scratch; i++) {
		const struct plan_item *item = &p->items[i];
		const struct item_snapshot *snap =
			&snapshot_of(item)->items[item->run - item->worker->items];

		at = snapshot_of(item)->at;
		bank = at > t->measure;
		items[i] = interval_step(
			p, s, i, &snap->books, due_until(snap, at, bank), bank, scratch);
		if (at == t->measure)
			s->due_before[i] = 0;
	}
	free(scratch);
	s->taken = snapshot_of(&p->items[0])->number;
	*warmup = bank == 0;
	*out = (struct result_interval){
		.t_s = (double)(at - (*warmup ? t->start : t->measure)) / p->clock.hz,
		.length_s = (double)(at - s->at_before) / p->clock.hz,
		.traffic = {items, p->item_count},
	};
	s->at_before = at;
	return true;
}

void collect_last_interval(
	const struct plan *p, struct collect_state *s, struct arena *a, struct result_interval *out)
{
	const struct run_times *t = &p->items[0].worker->times;
	struct result_interval_item *items = arena_zalloc(a, p->item_count * sizeof(*items));
	struct hist *scratch = malloc(sizeof(*scratch));
	uint64_t at = clock_now();

	for (uint32_t i = 0; i < p->item_count && scratch; i++) {
		const struct worker_item *run = p->items[i].run;

		items[i] = interval_step(p, s, i, &run->books, due_in_all(run), 1, scratch);
	}
	free(scratch);
	*out = (struct result_interval){
		.t_s = at > t->measure ? (double)(at - t->measure) / p->clock.hz : 0,
		.length_s = (double)(at - s->at_before) / p->clock.hz,
		.traffic = {items, p->item_count},
	};
}

static double measured_s(const struct plan *p)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < p->item_count; i++) {
		const struct plan_item *item = &p->items[i];
		uint64_t measure = item->worker->times.measure;

		if (item->run->ended_at > measure && item->run->ended_at - measure > last)
			last = item->run->ended_at - measure;
	}
	return (double)last / p->clock.hz;
}

static struct counter_list steps_result(
	const struct plan *p, const struct worker_item *run, struct arena *a)
{
	struct result_step *out = arena_zalloc(a, run->proto->step_count * sizeof(*out));
	uint32_t n = 0;

	for (uint32_t i = 0; run->steps && i < run->proto->step_count; i++) {
		const struct step_books *b = &run->steps[i];

		if (b->sent == 0)
			continue;
		out[n++] = (struct result_step){run->proto->steps[i].name, b->sent, b->answered,
			b->failed, b->lost, b->no_reply,
			{collect_latency(&p->clock, &b->response, b->lost),
				collect_latency(&p->clock, &b->service, 0)}};
	}
	return (struct counter_list){out, n};
}

static struct result_item item_result(
	const struct plan *p, const struct plan_item *i, double seconds, struct arena *a)
{
	const struct worker_item *run = i->run;
	const struct ledger *l = &run->books.ledger[1];
	struct result_item out = {
		.name = i->settings->name,
		.protocol = run->proto->name,
		.port = i->port->settings->name,
		.loop = run->pace.kind == PACE_OUTSTANDING ? "closed" : "open",
		.ledger = *l,
		.counters = {run->proto->counters, run->banks[1]},
	};

	out.ledger.due = due_in_all(run);
	out.unsent = out.ledger.due - l->sent;
	out.in_flight = l->sent - l->answered - l->failed - l->lost - l->no_reply;
	out.steps = steps_result(p, run, a);
	out.loss = l->sent ? (double)l->lost / (double)l->sent : 0;
	if (seconds > 0) {
		out.due_per_s = (double)out.ledger.due / seconds;
		out.sent_per_s = (double)l->sent / seconds;
		out.answered_per_s = (double)l->answered / seconds;
	}
	out.latency.response = collect_latency(&p->clock, &run->books.response, l->lost);
	out.latency.service = collect_latency(&p->clock, &run->service, 0);
	out.send_lag = collect_latency(&p->clock, &run->lag, 0);
	out.longest_gap_ns = clock_ns(&p->clock, run->longest_gap);
	out.no_slot = run->no_slot[1];
	return out;
}

// What a ring has no room for never left its sender: the embedded server's, and so the drops of the
// port that asked.
static uint64_t missed_on_ring(const struct plan *p, uint32_t n)
{
	int peer = port_ring_peer(p->port_settings, p->port_count, n);

	return peer >= 0 && peer == p->responder_port ? p->responder.tx_refused : 0;
}

static struct result_port port_result(const struct plan *p, uint32_t n, struct arena *a)
{
	struct port *port = &p->ports[n];
	const struct worker *w = &p->workers[n];
	bool dut = (int32_t)n == p->responder_port;
	struct wire_counters *other = arena_zalloc(a, sizeof(*other));
	struct port_counters c;

	*other = dut ? p->responder.wire.counters : w->wire.counters;
	port_read_counters(port, &c);
	return (struct result_port){
		.name = port->settings->name,
		.driver = port->driver->name,
		.device = port->settings->device,
		.rx_packets = c.rx_packets,
		.tx_packets = c.tx_packets,
		.rx_missed = c.rx_missed + missed_on_ring(p, n),
		.rx_missed_known = c.rx_missed_known,
		.rx_no_mbuf = c.rx_no_mbuf,
		.tx_refused = dut ? p->responder.tx_refused : w->tx_refused,
		.tx_no_mbuf = dut ? p->responder.tx_no_mbuf : w->tx_no_mbuf,
		.other = other,
		.rx_bytes = c.rx_bytes,
		.tx_bytes = c.tx_bytes,
	};
}

static struct result_worker worker_result(const struct plan *p, uint32_t n, double seconds)
{
	const struct worker *w = &p->workers[n];
	uint64_t completed = 0;
	double busy = (double)w->busy[1] / p->clock.hz;

	for (uint32_t i = 0; i < w->item_count; i++) {
		const struct ledger *l = &w->items[i].books.ledger[1];

		completed += l->answered + l->failed + l->lost + l->no_reply;
	}
	return (struct result_worker){
		.port = p->ports[n].settings->name,
		.cpu = w->cpu,
		.busy = seconds > 0 ? fmin(busy / seconds, 1) : 0,
		.ns_per_transaction = completed ? busy * 1e9 / (double)completed : 0,
		.gaps_over_1ms = w->stalls,
		.stolen_s = (double)w->stolen / p->clock.hz,
		.max_gap_ns = clock_ns(&p->clock, w->passes.max),
		.passes = collect_latency(&p->clock, &w->passes, 0),
	};
}

void collect_responder(const struct plan *p, struct arena *a, struct result_responder *out)
{
	const struct responder *r = &p->responder;
	struct result_responder_protocol *list =
		arena_zalloc(a, (r->protocol_count + 1) * sizeof(*list));

	for (uint32_t i = 0; i < r->protocol_count; i++)
		list[i] = (struct result_responder_protocol){r->protocols[i].proto->name,
			{r->protocols[i].proto->answered, r->protocols[i].ctx.counters}};
	*out = (struct result_responder){
		.port = p->ports[p->responder_port].settings->name,
		.received = atomic_load_explicit(&r->counts.received, memory_order_relaxed),
		.answered = atomic_load_explicit(&r->counts.answered, memory_order_relaxed),
		.ignored = atomic_load_explicit(&r->counts.ignored, memory_order_relaxed),
		.no_buffer = atomic_load_explicit(&r->counts.no_buffer, memory_order_relaxed),
		.waiting = atomic_load_explicit(&r->counts.waiting, memory_order_relaxed),
		.protocols = {list, r->protocol_count},
	};
	for (uint32_t i = 0; i < FAULTS_MAX; i++)
		out->faults[i] = atomic_load_explicit(&r->faults.counts[i], memory_order_relaxed);
}

void collect_result(const struct plan *p, struct arena *a, struct result *out)
{
	struct result_item *items = arena_zalloc(a, (p->item_count + 1) * sizeof(*items));
	struct result_port *ports = arena_zalloc(a, p->port_count * sizeof(*ports));
	struct result_worker *workers = arena_zalloc(a, p->port_count * sizeof(*workers));
	double seconds = measured_s(p);

	out->run.measured_s = seconds;
	for (uint32_t i = 0; i < p->item_count; i++)
		items[i] = item_result(p, &p->items[i], seconds, a);
	out->traffic = (struct counter_list){items, p->item_count};
	out->workers = (struct counter_list){workers, 0};
	for (uint32_t i = 0; i < p->port_count; i++) {
		ports[i] = port_result(p, i, a);
		if ((int32_t)i != p->responder_port)
			workers[out->workers.count++] = worker_result(p, i, seconds);
	}
	out->ports = (struct counter_list){ports, p->port_count};
	if (p->responder_port < 0)
		return;
	out->responder = arena_zalloc(a, sizeof(*out->responder));
	collect_responder(p, a, out->responder);
}

static void interval_sums(const struct result *r, uint32_t item, struct ledger *sum)
{
	const struct result_interval *intervals = r->intervals.items;

	for (uint32_t i = 0; i < r->intervals.count; i++) {
		const struct result_interval_item *it = intervals[i].traffic.items;

		sum->due += it[item].due;
		sum->sent += it[item].sent;
		sum->answered += it[item].answered;
		sum->failed += it[item].failed;
		sum->lost += it[item].lost;
		sum->no_reply += it[item].no_reply;
	}
}

const char *collect_check(const struct plan *p, const struct result *r, struct arena *a)
{
	const struct result_item *items = r->traffic.items;

	for (uint32_t i = 0; i < r->traffic.count; i++) {
		const struct ledger *l = &items[i].ledger;
		struct ledger sum = {0};

		if (l->due < l->sent || l->sent < l->answered + l->failed + l->lost + l->no_reply)
			return arena_printf(a,
				"traffic.%s: the ledger does not add up: due %llu, sent %llu, "
				"answered %llu, failed %llu, lost %llu",
				items[i].name, (unsigned long long)l->due,
				(unsigned long long)l->sent, (unsigned long long)l->answered,
				(unsigned long long)l->failed, (unsigned long long)l->lost);
		// What is in flight by the ledger is what the table says; the warm-up's may be
		// among it.
		if (items[i].in_flight > p->items[i].run->txns.in_flight)
			return arena_printf(a,
				"traffic.%s: %llu in flight by the ledger, %llu by the table",
				items[i].name, (unsigned long long)items[i].in_flight,
				(unsigned long long)p->items[i].run->txns.in_flight);
		interval_sums(r, i, &sum);
		if (sum.due != l->due || sum.sent != l->sent || sum.answered != l->answered ||
			sum.failed != l->failed || sum.lost != l->lost ||
			sum.no_reply != l->no_reply)
			return arena_printf(a,
				"traffic.%s: the intervals do not add up to the total "
				"(due %llu/%llu, sent %llu/%llu, answered %llu/%llu)",
				items[i].name, (unsigned long long)sum.due,
				(unsigned long long)l->due, (unsigned long long)sum.sent,
				(unsigned long long)l->sent, (unsigned long long)sum.answered,
				(unsigned long long)l->answered);
	}
	return NULL;
}

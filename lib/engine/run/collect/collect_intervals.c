// SPDX-License-Identifier: BSD-3-Clause
// Intervals. While the workers run, an interval is made from one snapshot of each worker, all of
// the same number. The last one is made from the counters after the workers have ended. Path: cold.
// Management thread.
#include "engine/run/collect/collect.h"

#include <math.h>
#include <string.h>

#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_servers.h"
#include "engine/result/result_fold.h"
#include "engine/run/collect/collect_intervals.h"

void collect_start(const struct plan *p, struct collect_state *s, struct arena *a)
{
	uint32_t steps = 0;
	size_t counters = 0;
	bool conns = false;

	*s = (struct collect_state){
		.before = arena_zalloc(a, (p->item_count + 1) * sizeof(*s->before)),
		.due_before = arena_zalloc(a, (p->item_count + 1) * sizeof(*s->due_before)),
	};
	for (uint32_t i = 0; i < p->item_count; i++) {
		const struct proto *proto = p->items[i].run->proto;

		s->before[i] = collect_sums_of(
			proto_steps(proto), proto->counters->size, p->items[i].run->conns, a);
		conns |= p->items[i].run->conns != NULL;
		collect_sums_clear(&s->before[i], proto);
		steps = proto_steps(proto) > steps ? proto_steps(proto) : steps;
		counters = proto->counters->size > counters ? proto->counters->size : counters;
	}
	collect_box_start(p, &s->box, a);
	s->now = collect_sums_of(steps, counters, conns, a);
	s->since = collect_sums_of(steps, counters, conns, a);
	if (p->item_count)
		s->at_before = p->items[0].worker->times.start;
}

static void step_since(
	struct step_books *to, const struct step_books *now, const struct step_books *before)
{
	counter_difference(to, now, before, offsetof(struct step_books, response));
	hist_difference(&to->response, &now->response, &before->response);
	hist_difference(&to->service, &now->service, &before->service);
}

// All except the open ones, which are a level.
static void conns_since(
	struct conn_books *to, const struct conn_books *now, const struct conn_books *before)
{
	counter_difference(to, now, before, offsetof(struct conn_books, handshake));
	to->open = now->open;
	hist_difference(&to->handshake, &now->handshake, &before->handshake);
	hist_difference(&to->first, &now->first, &before->first);
	for (int i = 0; i < TLS_TIMES; i++)
		hist_difference(&to->tls_times[i], &now->tls_times[i], &before->tls_times[i]);
}

// s->since = s->now - before; then before becomes s->now.
static void sums_since(struct collect_state *s, struct item_sums *before, const struct proto *proto)
{
	struct item_books *to = &s->since.books;
	const struct item_books *now = &s->now.books, *then = &before->books;

	counter_difference(to->ledger, now->ledger, then->ledger, sizeof(to->ledger));
	counter_difference(to->counts, now->counts, then->counts, sizeof(to->counts));
	counter_difference(&to->earlier, &now->earlier, &then->earlier, sizeof(to->earlier));
	hist_difference(&to->response, &now->response, &then->response);
	hist_difference(&to->service, &now->service, &then->service);
	hist_difference(&to->lag, &now->lag, &then->lag);
	before->books = *now;
	for (uint32_t n = 0; before->steps && n < proto_steps(proto); n++) {
		step_since(&s->since.steps[n], &s->now.steps[n], &before->steps[n]);
		before->steps[n] = s->now.steps[n];
	}
	if (before->conns) {
		conns_since(s->since.conns, s->now.conns, before->conns);
		*before->conns = *s->now.conns;
	}
	counter_difference(
		s->since.servers, s->now.servers, before->servers, sizeof(s->now.servers));
	memcpy(before->servers, s->now.servers, sizeof(s->now.servers));
	for (int bank = 0; bank < 2; bank++) {
		counter_difference(s->since.counters[bank], s->now.counters[bank],
			before->counters[bank], proto->counters->size);
		memcpy(before->counters[bank], s->now.counters[bank], proto->counters->size);
	}
}

#define FROM_LEDGER(member, help) to->member = l->member;
#define FROM_COUNTS(member, help) to->member = c->member;

static uint64_t open_in(const struct ledger *l)
{
	return l->sent - l->answered - l->failed - l->lost - l->no_reply;
}

// Counts the replies that came in the interval, except to requests of earlier intervals.
static void interval_by_due(const struct plan *p, const struct item_books *since, struct arena *a,
	struct result_interval_item *out)
{
	const struct earlier_books *e = &since->earlier;
	struct result_earlier found[EARLIER], *earlier;
	uint64_t time = 0, count;

	out->by_due.answered = out->answered;
	out->by_due.failed = out->failed;
	for (uint32_t i = 0; i < EARLIER; i++) {
		if (e->answered[i] + e->failed[i] == 0)
			continue;
		found[out->earlier_count++] = (struct result_earlier){
			i + 1, e->answered[i], e->failed[i], clock_ns(&p->clock, e->time[i])};
		out->by_due.answered -= e->answered[i];
		out->by_due.failed -= e->failed[i];
		time += e->time[i];
	}
	earlier = arena_zalloc(a, (out->earlier_count + 1) * sizeof(*earlier));
	memcpy(earlier, found, out->earlier_count * sizeof(*earlier));
	out->earlier = earlier;
	count = out->by_due.answered + out->by_due.failed;
	time = (uint64_t)since->response.sum - time;
	out->by_due.mean_ns = count ? clock_ns(&p->clock, time) / (double)count : NAN;
}

// The figures that only the measured part has.
static void interval_latencies(const struct plan *p, const struct proto *proto,
	const struct collect_state *s, struct arena *a, struct result_interval_item *out)
{
	const struct item_books *since = &s->since.books;

	out->latency.response = collect_distribution(p, &since->response, out->lost, a);
	out->latency.service = collect_distribution(p, &since->service, 0, a);
	out->send_lag = collect_distribution(p, &since->lag, 0, a);
	out->latency.response.histogram = result_histogram(&since->response, a);
	out->p50_ns = out->latency.response.p50_ns;
	out->p99_ns = out->latency.response.p99_ns;
	out->max_ns = out->latency.response.max_ns;
	out->steps = collect_steps(p, proto, &s->now, &s->since, a);
	interval_by_due(p, since, a, out);
}

static void interval_counts(
	struct result_interval_item *to, const struct item_books *since, int bank)
{
	const struct ledger *l = &since->ledger[bank];
	const struct item_counters *c = &since->counts[bank];

	LEDGER_COUNTERS(FROM_LEDGER, COUNTER_SKIP, COUNTER_SKIP) // core/counters.h
	ITEM_COUNTERS(FROM_COUNTS, COUNTER_SKIP)                 // core/counters.h
}

static void interval_tcp(struct result_interval_connections *to, const struct tcp_counters *from)
{
	TCP_COUNTERS(COUNTER_ADD) // net/tcp.h
}

static const struct result_interval_connections *interval_connections(const struct plan *p,
	const struct plan_item *i, const struct conn_books *since, int bank, struct arena *a)
{
	struct result_interval_connections *to = arena_zalloc(a, sizeof(*to));
	const struct conn_counters *from = &since->counts[bank];

	CONN_COUNTERS(COUNTER_ADD) // core/counters.h
	interval_tcp(to, &since->tcp);
	to->open = since->open;
	to->handshake = collect_distribution(p, &since->handshake, 0, a);
	to->first_answer = collect_distribution(p, &since->first, 0, a);
	to->tls = i->settings->facts.tls ? collect_tls(p, since, bank, a) : NULL;
	to->http = i->settings->facts.https ? collect_http(since, bank, a) : NULL;
	to->quic = i->settings->facts.quic ? collect_quic(since, bank, a) : NULL;
	return to;
}

static struct counter_list interval_servers(
	const struct plan_item *i, const struct item_sums *since, struct arena *a)
{
	uint32_t count = i->run->servers ? i->run->servers->count : 0;
	struct result_interval_server *out = count ? arena_zalloc(a, count * sizeof(*out)) : NULL;

	for (uint32_t n = 0; n < count; n++) {
		const struct server_books *from = &since->servers[n];
		struct result_interval_server *to = &out[n];

		to->name = collect_server_name(i, n, a);
		SERVER_COUNTERS(COUNTER_ADD) // core/servers.h
	}
	return (struct counter_list){out, count};
}

// Returns an item's part of an interval, from s->now; this becomes the new "before".
static struct result_interval_item interval_item(const struct plan *p, struct collect_state *s,
	uint32_t n, uint64_t due, int bank, struct arena *a)
{
	const struct proto *proto = p->items[n].run->proto;
	const struct item_books *now = &s->now.books;
	struct result_interval_item out = {.name = p->items[n].settings->name};
	void *counters = arena_zalloc(a, proto->counters->size);
	uint64_t ended;

	sums_since(s, &s->before[n], proto);
	interval_counts(&out, &s->since.books, bank);
	out.due = due - s->due_before[n];
	s->due_before[n] = due;
	out.in_flight = open_in(&now->ledger[0]) + open_in(&now->ledger[1]) * (bank == 1);
	ended = out.answered + out.failed + out.lost;
	out.loss = ended ? (double)out.lost / (double)ended : 0;
	memcpy(counters, s->since.counters[bank], proto->counters->size);
	out.counters = (struct counter_choice){proto->counters, counters};
	if (p->items[n].run->conns)
		out.connections = interval_connections(p, &p->items[n], s->since.conns, bank, a);
	out.servers = interval_servers(&p->items[n], &s->since, a);
	if (bank == 1)
		interval_latencies(p, proto, s, a, &out);
	return out;
}

static uint64_t due_until(const struct item_snapshot *snap, uint64_t at, int bank)
{
	uint64_t until = at < snap->ended_at ? at : snap->ended_at;

	return snap->books.ledger[bank].due +
	       (bank == 1 ? pace_missed(&snap->pace, until) : pace_backlog(&snap->pace, until));
}

static void interval_rates(struct result_interval_item *items, uint32_t count, double length_s)
{
	for (uint32_t i = 0; i < count && length_s > 0; i++) {
		items[i].due_per_s = (double)items[i].due / length_s;
		items[i].sent_per_s = (double)items[i].sent / length_s;
		items[i].answered_per_s = (double)items[i].answered / length_s;
	}
}

// The reader takes the worker's newest snapshot. No other thread clears the mark of a new one.
static void take_snapshot(struct worker *w)
{
	if (atomic_load_explicit(&w->handed, memory_order_relaxed) & SNAPSHOT_NEW)
		w->reading =
			atomic_exchange_explicit(&w->handed, w->reading, memory_order_acq_rel) &
			~SNAPSHOT_NEW;
}

// Takes a snapshot of at least that number and returns its number, or 0 if there is none yet.
static uint64_t reach_snapshot(struct worker *w, uint64_t number)
{
	if (collect_snapshot(w)->number >= number)
		return collect_snapshot(w)->number;
	if (atomic_load_explicit(&w->published, memory_order_acquire) < number)
		return 0;
	take_snapshot(w);
	return collect_snapshot(w)->number;
}

// Takes the snapshots of all workers for the same interval: the next one, or a later one if some
// workers have published more. Returns false if some are missing yet; the others stay taken.
static bool line_up(const struct plan *p, uint64_t taken)
{
	uint64_t number = taken + 1, before;

	do {
		before = number;
		for (uint32_t i = 0; i < p->item_count; i++)
			for (uint32_t k = 0; k < p->items[i].worker_count; k++) {
				uint64_t got = reach_snapshot(&p->items[i].worker[k], number);

				if (got == 0)
					return false;
				number = got > number ? got : number;
			}
	} while (number != before);
	return p->item_count > 0;
}

// Sums up the counters of an item's workers at the snapshots. Returns the due transactions.
static uint64_t sum_snapshots(
	const struct plan_item *i, uint64_t at, int bank, struct item_sums *sum)
{
	const struct proto *proto = i->run->proto;
	uint64_t due = 0;

	collect_sums_clear(sum, proto);
	for (uint32_t k = 0; k < i->worker_count; k++) {
		const struct item_snapshot *snap =
			&collect_snapshot(&i->worker[k])->items[i->place];

		collect_sums_add(sum, proto, &snap->books, snap->steps, snap->conns, snap->banks);
		collect_servers_add(sum, snap->servers);
		due += due_until(snap, at, bank);
	}
	return due;
}

// The counters of the measured part start at 0, even if no snapshot was taken at its start.
static void leave_warmup(struct collect_state *s, uint32_t item, const struct run_times *t)
{
	if (s->at_before <= t->measure)
		s->due_before[item] = 0;
}

// Rounds to whole microseconds: the rate of the clock is measured, so further digits are noise.
static double seconds_of(const struct plan *p, uint64_t ticks)
{
	return round(1e6 * (double)ticks / p->clock.hz) / 1e6;
}

static double interval_length(
	const struct plan *p, const struct collect_state *s, const struct run_times *t, uint64_t at)
{
	uint64_t from = s->at_before < t->measure && at > t->measure ? t->measure : s->at_before;

	return seconds_of(p, at - from);
}

bool collect_interval(const struct plan *p, struct collect_state *s, struct arena *a,
	struct result_interval *out, bool *warmup)
{
	const struct run_times *t;
	struct result_interval_item *items;
	uint64_t at;
	int bank;

	if (!line_up(p, s->taken))
		return false;
	t = &p->items[0].worker->times;
	at = collect_snapshot(p->items[0].worker)->at;
	bank = at > t->measure;
	items = arena_zalloc(a, p->item_count * sizeof(*items));
	for (uint32_t i = 0; i < p->item_count; i++) {
		uint64_t due = sum_snapshots(&p->items[i], at, bank, &s->now);

		if (bank == 1)
			leave_warmup(s, i, t);
		items[i] = interval_item(p, s, i, due, bank, a);
	}
	s->taken = collect_snapshot(p->items[0].worker)->number;
	*warmup = bank == 0;
	*out = (struct result_interval){
		.t_s = seconds_of(p, at - (*warmup ? t->start : t->measure)),
		.length_s = interval_length(p, s, t, at),
		.traffic = {items, p->item_count},
	};
	out->number = s->taken;
	out->ended_ns = clock_wall_ns(&p->clock, at);
	interval_rates(items, p->item_count, out->length_s);
	collect_box(p, &s->box, false, a, out);
	s->at_before = at;
	return true;
}

double collect_home(const struct plan *p, uint32_t port)
{
	uint64_t received = 0, given = 0;

	for (uint32_t i = p->first_worker[port]; i < p->first_worker[port + 1]; i++) {
		received += collect_snapshot(&p->workers[i])->received;
		given += collect_snapshot(&p->workers[i])->handed_over;
	}
	return received ? 1 - (double)given / (double)received : -1;
}

void collect_last_interval(
	const struct plan *p, struct collect_state *s, struct arena *a, struct result_interval *out)
{
	const struct run_times *t = &p->items[0].worker->times;
	struct result_interval_item *items = arena_zalloc(a, p->item_count * sizeof(*items));
	uint64_t at = clock_time(&p->clock);

	for (uint32_t i = 0; i < p->item_count; i++) {
		leave_warmup(s, i, t);
		collect_sums_all(&s->now, &p->items[i]);
		items[i] = interval_item(p, s, i, collect_due(&p->items[i]), 1, a);
	}
	*out = (struct result_interval){
		.t_s = at > t->measure ? seconds_of(p, at - t->measure) : 0,
		.length_s = interval_length(p, s, t, at),
		.traffic = {items, p->item_count},
	};
	out->number = s->taken + 1;
	out->last = true;
	out->ended_ns = clock_wall_ns(&p->clock, at);
	interval_rates(items, p->item_count, out->length_s);
	collect_box(p, &s->box, true, a, out);
}

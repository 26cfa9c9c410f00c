// SPDX-License-Identifier: BSD-3-Clause
// Intervals. While the workers run, an interval is made from one snapshot of each worker, all of
// the same number. The last one is made from the counters after the workers have ended. Path: cold.
// Management thread.
#include "engine/run/collect.h"

#include <math.h>
#include <stdlib.h>

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

static uint64_t open_in(const struct ledger *l)
{
	return l->sent - l->answered - l->failed - l->lost - l->no_reply;
}

#define SINCE(member, help) .member = l->member - m->member,

static struct result_interval_item interval_item(const struct plan *p, const struct plan_item *i,
	const struct item_books *now, const struct item_books *before, int bank,
	struct hist *scratch)
{
	const struct ledger *l = &now->ledger[bank], *m = &before->ledger[bank];
	struct result_interval_item out = {
		.name = i->settings->name,
		.in_flight = open_in(&now->ledger[0]) + open_in(l) * (bank == 1),
		LEDGER_COUNTERS(SINCE, COUNTER_SKIP, COUNTER_SKIP) // core/counters.h
	};
	uint64_t ended = out.answered + out.failed + out.lost;

	out.loss = ended ? (double)out.lost / (double)ended : 0;

	if (bank == 0)
		return out;
	hist_difference(scratch, &now->response, &before->response);
	out.p50_ns = collect_books_percentile(&p->clock, scratch, 0.5, out.lost);
	out.p99_ns = collect_books_percentile(&p->clock, scratch, 0.99, out.lost);
	out.max_ns = scratch->count ? clock_ns(&p->clock, scratch->max) : NAN;
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

static void interval_rates(struct result_interval_item *items, uint32_t count, double length_s)
{
	for (uint32_t i = 0; i < count && length_s > 0; i++) {
		items[i].due_per_s = (double)items[i].due / length_s;
		items[i].answered_per_s = (double)items[i].answered / length_s;
	}
}

// The worker's newest snapshot becomes the reader's. No other thread clears the mark of a new one.
static void take_snapshot(struct worker *w)
{
	if (atomic_load_explicit(&w->handed, memory_order_relaxed) & SNAPSHOT_NEW)
		w->reading =
			atomic_exchange_explicit(&w->handed, w->reading, memory_order_acq_rel) &
			~SNAPSHOT_NEW;
}

static const struct worker_snapshot *snapshot_of(const struct worker *w)
{
	return &w->snapshots[w->reading];
}

// A snapshot of at least that number becomes the reader's: its number, or 0 when there is none yet.
static uint64_t reach_snapshot(struct worker *w, uint64_t number)
{
	if (snapshot_of(w)->number >= number)
		return snapshot_of(w)->number;
	if (atomic_load_explicit(&w->published, memory_order_acquire) < number)
		return 0;
	take_snapshot(w);
	return snapshot_of(w)->number;
}

// Take the snapshots of all workers for the same interval: the next one, or a later one if some
// workers have published more. false: some are missing yet; those that were taken stay.
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

// An item's counters of one interval over all its workers. Returns the due transactions.
static uint64_t sum_snapshots(
	const struct plan_item *i, uint64_t at, int bank, struct item_books *sum)
{
	uint64_t due = 0;

	collect_books_clear(sum);
	for (uint32_t k = 0; k < i->worker_count; k++) {
		const struct item_snapshot *snap = &snapshot_of(&i->worker[k])->items[i->place];

		collect_books_add(sum, &snap->books);
		due += due_until(snap, at, bank);
	}
	return due;
}

struct scratch {
	struct hist difference;
	struct item_books sum;
};

// The counters of the measured part start at 0, also when no snapshot was taken at its start.
static void leave_warmup(struct collect_state *s, uint32_t item, const struct run_times *t)
{
	if (s->at_before <= t->measure)
		s->due_before[item] = 0;
}

static double interval_length(
	const struct plan *p, const struct collect_state *s, const struct run_times *t, uint64_t at)
{
	uint64_t from = s->at_before < t->measure && at > t->measure ? t->measure : s->at_before;

	return (double)(at - from) / p->clock.hz;
}

bool collect_interval(const struct plan *p, struct collect_state *s, struct arena *a,
	struct result_interval *out, bool *warmup)
{
	const struct run_times *t;
	struct result_interval_item *items;
	struct scratch *scratch;
	uint64_t at;
	int bank;

	if (!line_up(p, s->taken))
		return false;
	t = &p->items[0].worker->times;
	at = snapshot_of(p->items[0].worker)->at;
	bank = at > t->measure;
	items = arena_zalloc(a, p->item_count * sizeof(*items));
	scratch = malloc(sizeof(*scratch));
	for (uint32_t i = 0; i < p->item_count && scratch; i++) {
		uint64_t due = sum_snapshots(&p->items[i], at, bank, &scratch->sum);

		if (bank == 1)
			leave_warmup(s, i, t);
		items[i] = interval_step(p, s, i, &scratch->sum, due, bank, &scratch->difference);
	}
	free(scratch);
	s->taken = snapshot_of(p->items[0].worker)->number;
	*warmup = bank == 0;
	*out = (struct result_interval){
		.t_s = (double)(at - (*warmup ? t->start : t->measure)) / p->clock.hz,
		.length_s = interval_length(p, s, t, at),
		.traffic = {items, p->item_count},
	};
	interval_rates(items, p->item_count, out->length_s);
	s->at_before = at;
	return true;
}

double collect_home(const struct plan *p, uint32_t port)
{
	uint64_t received = 0, given = 0;

	for (uint32_t i = p->first_worker[port]; i < p->first_worker[port + 1]; i++) {
		received += snapshot_of(&p->workers[i])->received;
		given += snapshot_of(&p->workers[i])->given;
	}
	return received ? 1 - (double)given / (double)received : -1;
}

void collect_last_interval(
	const struct plan *p, struct collect_state *s, struct arena *a, struct result_interval *out)
{
	const struct run_times *t = &p->items[0].worker->times;
	struct result_interval_item *items = arena_zalloc(a, p->item_count * sizeof(*items));
	struct scratch *scratch = malloc(sizeof(*scratch));
	uint64_t at = clock_now();

	for (uint32_t i = 0; i < p->item_count && scratch; i++) {
		const struct plan_item *item = &p->items[i];

		leave_warmup(s, i, t);
		collect_books_clear(&scratch->sum);
		for (uint32_t k = 0; k < item->worker_count; k++)
			collect_books_add(&scratch->sum, &plan_run(item, k)->books);
		items[i] = interval_step(
			p, s, i, &scratch->sum, collect_books_due(item), 1, &scratch->difference);
	}
	free(scratch);
	*out = (struct result_interval){
		.t_s = at > t->measure ? (double)(at - t->measure) / p->clock.hz : 0,
		.length_s = interval_length(p, s, t, at),
		.traffic = {items, p->item_count},
	};
	interval_rates(items, p->item_count, out->length_s);
}

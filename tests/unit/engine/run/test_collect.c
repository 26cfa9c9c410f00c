// SPDX-License-Identifier: BSD-3-Clause
// From the counters of one worker to intervals and totals: differences, sums and the laws of the
// ledger, with counters beyond 32 bits. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "proto/table.h"
#include "engine/run/collect/collect.h"
#include "engine/run/collect/collect_intervals.h"
#include "engine/core/worker/worker.h"
#include "io/driver/driver.h"

#define SECOND 1000000000ull // a tick is a nanosecond
#define START  (7 * SECOND)
#define BIG    ((1ull << 32) - 1000)

struct fixture {
	struct arena *a;
	struct config config;
	struct plan plan;
	struct plan_item item;
	struct worker worker;
	struct worker_item run;
	struct item_settings settings;
	struct port_settings port_settings;
	struct port port;
	struct item_snapshot snapshot;
	struct collect_state state;
	struct result_interval intervals[8];
	struct result result;
};

// One item at 1000 per second; the measured part begins at START.
static struct fixture *fixture_new(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->a = arena_new();
	f->settings.name = "q";
	f->port_settings.name = "lan";
	f->port.settings = &f->port_settings;
	f->item = (struct plan_item){.settings = &f->settings,
		.port = &f->port,
		.worker = &f->worker,
		.worker_count = 1,
		.run = &f->run};
	f->plan.items = &f->item;
	f->plan.item_count = 1;
	f->plan.responder_port = -1;
	f->plan.config = &f->config;
	f->plan.clock.hz = SECOND;
	f->worker.items = &f->run;
	f->worker.item_count = 1;
	f->worker.snapshots[0].items = &f->snapshot;
	f->worker.times = (struct run_times){.start = START, .measure = START, .interval = SECOND};
	f->settings.facts.proto = f->run.proto = protos[0];
	f->run.begun_at = START;
	// A thousand per second: the k-th is due at START + (k + 1/2) ms.
	f->run.pace = (struct pace){.kind = PACE_RATE,
		.steady = true,
		.of = 1,
		.next = START + 500000,
		.gap = 1000000,
		.stop = PACE_NEVER,
		.left = UINT64_MAX,
		.measure = START};
	hist_clear(&f->run.books.response);
	hist_clear(&f->run.books.service);
	hist_clear(&f->run.books.lag);
	collect_start(&f->plan, &f->state, f->a);
	f->result.intervals.items = f->intervals;
	return f;
}

static void fixture_end(struct fixture *f)
{
	arena_free(f->a);
	free(f);
}

static struct result_interval_item item_of(const struct result_interval *i)
{
	return *(const struct result_interval_item *)i->traffic.items;
}

// The worker reaches the end of the n-th second.
static struct result_interval_item publish(struct fixture *f, uint64_t n)
{
	struct result_interval *out = &f->intervals[f->result.intervals.count++];
	bool warmup;

	f->snapshot = (struct item_snapshot){.pace = f->run.pace,
		.ended_at = UINT64_MAX,
		.books = f->run.books,
		.steps = f->run.steps,
		.banks = {f->run.banks[0], f->run.banks[1]}};
	f->worker.snapshots[0].at = START + n * SECOND;
	f->worker.snapshots[0].number = n;
	f->worker.published = n;
	assert_true(collect_interval(&f->plan, &f->state, f->a, out, &warmup));
	assert_false(warmup);
	return item_of(out);
}

// Counts `due` sends, all answered except `lost`, and advances the schedule.
static void work(struct fixture *f, uint64_t due, uint64_t lost)
{
	struct ledger *l = &f->run.books.ledger[1];

	l->due += due;
	l->sent += due;
	l->lost += lost;
	l->answered += due - lost;
	f->run.pace.next += due * 1000000;
}

static const char *check(struct fixture *f)
{
	struct timeline *t = arena_zalloc(f->a, sizeof(*t));

	timeline_start(t, f->plan.config, f->a);
	for (uint32_t i = 0; i < f->result.intervals.count; i++)
		timeline_add(t, &f->intervals[i]);
	return collect_check(&f->plan, t, &f->result, f->a);
}

static const char *finish(struct fixture *f, uint64_t ended_at)
{
	f->run.ended = true;
	f->run.ended_at = ended_at;
	f->run.left_over = f->run.pace.left;
	f->run.pace.left = 0;
	collect_last_interval(
		&f->plan, &f->state, f->a, &f->intervals[f->result.intervals.count++]);
	collect_result(&f->plan, f->a, &f->result);
	return check(f);
}

static struct result_item total(const struct fixture *f)
{
	return *(const struct result_item *)f->result.traffic.items;
}

// Sets counters as if the run had lasted long before its first interval.
static void age(struct fixture *f)
{
	struct ledger *l = &f->run.books.ledger[1];

	l->due = l->sent = l->answered = f->state.due_before[0] = BIG;
	f->state.before[0].books = f->run.books;
	f->state.at_before = START + 1;
}

static void intervals_are_differences_across_32_bits(void **state)
{
	struct fixture *f = fixture_new();
	struct result_interval_item i;

	age(f);
	for (uint64_t n = 1; n <= 3; n++) {
		work(f, 1000, n);
		i = publish(f, n);
		assert_int_equal(i.due, 1000);
		assert_int_equal(i.sent, 1000);
		assert_int_equal(i.answered, 1000 - n);
		assert_int_equal(i.lost, n);
	}
	fixture_end(f);
}

static void intervals_add_up_to_totals_beyond_32_bits(void **state)
{
	struct fixture *f = fixture_new();

	work(f, 1000, 0);
	publish(f, 1);
	work(f, BIG * 4, 1ull << 33);
	f->run.pace.next = START + 2 * SECOND; // of the schedule, not of the counters
	publish(f, 2);
	assert_null(finish(f, START + 2 * SECOND));
	assert_true(total(f).ledger.due == 1000 + BIG * 4);
	assert_true(total(f).ledger.lost == 1ull << 33);
	assert_true(total(f).unsent == 0 && total(f).in_flight == 0);
	fixture_end(f);
}

static void what_was_due_and_not_sent_is_counted_to_the_last_one(void **state)
{
	struct fixture *f = fixture_new();
	struct result_interval_item i;

	work(f, 400, 0);
	i = publish(f, 1);
	assert_int_equal(i.due, 1000);
	assert_int_equal(i.sent, 400);
	work(f, 600, 0);
	i = publish(f, 2);
	assert_int_equal(i.due, 1000);
	assert_int_equal(i.sent, 600);
	assert_null(finish(f, START + 3 * SECOND));
	assert_int_equal(total(f).ledger.due, 3000);
	assert_int_equal(total(f).unsent, 2000);
	assert_int_equal(item_of(&f->intervals[2]).due, 1000);
	fixture_end(f);
}

// 0.1 and not 0.0999999997: a result shows no digits caused by the measured rate of the clock.
static void times_of_intervals_are_whole_microseconds(void **state)
{
	struct fixture *f = fixture_new();
	char text[32];

	f->plan.clock.hz = 10 * (SECOND + 3);
	for (uint64_t n = 1; n <= 3; n++) {
		work(f, 1000, 0);
		publish(f, n);
		assert_true(f->intervals[n - 1].t_s == (double)n / 10);
		assert_true(f->intervals[n - 1].length_s == 0.1);
	}
	finish(f, START + 3 * SECOND);
	snprintf(text, sizeof(text), "%.6f", f->intervals[3].t_s);
	assert_true(f->intervals[3].t_s == strtod(text, NULL));
	fixture_end(f);
}

static void latencies_of_an_interval_are_its_own(void **state)
{
	struct fixture *f = fixture_new();
	struct hist *h = &f->run.books.response;
	struct result_interval_item i;

	h->bucket[hist_bucket(100)] = h->count = 3ull << 32;
	h->min = h->max = 100;
	work(f, 1000, 0);
	i = publish(f, 1);
	assert_true(i.p50_ns == 100);
	for (int k = 0; k < 1000; k++)
		hist_add(h, 5000);
	work(f, 1000, 0);
	i = publish(f, 2);
	assert_true(i.p50_ns > 4950 && i.p50_ns < 5050 && i.max_ns == 5000);
	i = publish(f, 3);
	assert_true(isnan(i.p50_ns) && isnan(i.p99_ns) && isnan(i.max_ns));
	fixture_end(f);
}

static void a_ledger_that_is_off_by_one_is_told(void **state)
{
	struct fixture *f = fixture_new();

	work(f, BIG * 3, 0);
	f->run.pace.next = START + SECOND;
	publish(f, 1);
	f->run.books.ledger[1].answered++;
	assert_non_null(strstr(finish(f, START + SECOND), "does not add up"));
	fixture_end(f);

	f = fixture_new();
	work(f, BIG * 3, 0);
	f->run.pace.next = START + SECOND;
	publish(f, 1);
	f->state.before[0].books.ledger[1].sent++;
	assert_non_null(strstr(finish(f, START + SECOND), "intervals do not add up"));
	fixture_end(f);
}

static void an_interval_has_all_figures_of_its_time(void **state)
{
	static const char *const names[] = {"first", "second", NULL};
	struct fixture *f = fixture_new();
	struct proto stepped = *protos[0];
	struct step_books steps[2] = {0};
	const struct result_step *s;
	struct result_interval_item i;
	uint64_t *banks[2];

	stepped.steps = names;
	f->settings.facts.proto = f->run.proto = &stepped;
	for (int n = 0; n < 2; n++) {
		banks[n] = calloc(1, stepped.counters->size);
		hist_clear(&steps[n].response);
		hist_clear(&steps[n].service);
		f->run.banks[n] = banks[n];
	}
	f->run.steps = steps;
	collect_start(&f->plan, &f->state, f->a);
	for (uint64_t n = 1; n <= 2; n++) {
		work(f, 1000, 3);
		f->run.books.ledger[1].late += n;
		f->run.books.counts[1].no_slot += 2 * n;
		banks[1][0] += 5 * n;
		banks[0][0] += 1;
		hist_add(&f->run.books.response, 1000 * n);
		hist_add(&f->run.books.service, 100 * n);
		hist_add(&f->run.books.lag, 10 * n);
		steps[1].sent += 7 * n;
		hist_add(&steps[1].response, 40 * n);
		i = publish(f, n);
		assert_int_equal(i.late, n);
		assert_int_equal(i.no_slot, 2 * n);
		assert_int_equal(*(const uint64_t *)i.counters.data, 5 * n);
		assert_true(i.latency.response.count == 1 && i.latency.service.count == 1);
		assert_in_range(i.latency.service.max_ns, 100 * n - 1, 100 * n + 1);
		assert_in_range(i.send_lag.max_ns, 10 * n, 10 * n);
		assert_true(i.p50_ns == i.latency.response.p50_ns);
		assert_true(i.sent_per_s == 1000);
		assert_int_equal(i.steps.count, 1);
		s = i.steps.items;
		assert_string_equal(s->name, "second");
		assert_int_equal(s->sent, 7 * n);
		assert_in_range(s->latency.response.max_ns, 40 * n, 40 * n);
	}
	free(banks[0]);
	free(banks[1]);
	fixture_end(f);
}

static struct result_by_due due_in(const struct fixture *f, uint32_t interval)
{
	return ((const struct result_interval_item *)f->intervals[interval].traffic.items)->by_due;
}

static struct result_earlier earlier_of(const struct fixture *f, uint32_t interval, uint32_t n)
{
	const struct result_interval_item i = item_of(&f->intervals[interval]);

	assert_true(n < i.earlier_count);
	return i.earlier[n];
}

static void replies_to_earlier_requests_are_told_apart(void **state)
{
	struct fixture *f = fixture_new();
	struct item_books *b = &f->run.books;

	for (uint64_t n = 1; n <= 3; n++) {
		work(f, 1000, 0);
		b->ledger[1].answered -= n == 1 ? 100 : 0; // 60 come in the third, 40 never
		b->ledger[1].answered += n == 3 ? 60 : 0;
		b->earlier.answered[1] += n == 3 ? 60 : 0;
		b->earlier.time[1] += n == 3 ? 60 * 2 * SECOND : 0;
		for (int i = 0; i < 100; i++)
			hist_add(&b->response, SECOND / 4);
		for (int i = 0; i < 60 && n == 3; i++)
			hist_add(&b->response, 2 * SECOND);
		publish(f, n);
	}
	assert_int_equal(due_in(f, 0).answered, 900);
	assert_int_equal(due_in(f, 1).answered, 1000);
	assert_int_equal(due_in(f, 2).answered, 1000);
	assert_true(fabs(due_in(f, 0).mean_ns - 25e9 / 900) < 10);
	assert_true(fabs(due_in(f, 2).mean_ns - 25e9 / 1000) < 10);
	assert_int_equal(item_of(&f->intervals[1]).earlier_count, 0);
	assert_int_equal(item_of(&f->intervals[2]).earlier_count, 1);
	assert_int_equal(earlier_of(f, 2, 0).back, 2);
	assert_int_equal(earlier_of(f, 2, 0).answered, 60);
	assert_true(fabs(earlier_of(f, 2, 0).time_ns - 120e9) < 10);
	assert_int_equal(f->intervals[2].number, 3);
	fixture_end(f);
}

// Two workers of an item, each with three snapshots as in a run.
struct pair {
	struct fixture *f;
	struct worker workers[2];
	struct worker_item runs[2];
	struct item_snapshot snapshots[2][SNAPSHOTS];
};

static struct pair *pair_new(void)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->f = fixture_new();
	for (int w = 0; w < 2; w++) {
		p->runs[w] = p->f->run;
		p->runs[w].pace.next += (uint64_t)w * 1000000; // every other send
		p->runs[w].pace.gap = 2 * 1000000;
		p->workers[w] = p->f->worker;
		p->workers[w].items = &p->runs[w];
		p->workers[w].handed = 1;
		p->workers[w].reading = 2;
		for (int s = 0; s < SNAPSHOTS; s++)
			p->workers[w].snapshots[s].items = &p->snapshots[w][s];
	}
	p->f->item.worker = p->workers;
	p->f->item.worker_count = 2;
	p->f->item.run = &p->runs[0];
	return p;
}

// Both are workers of the fixture's port.
static void pair_on_a_port(struct pair *p)
{
	static uint32_t first[] = {0, 2};
	struct plan *plan = &p->f->plan;

	plan->ports = &p->f->port;
	plan->port_settings = &p->f->port_settings;
	plan->port_count = 1;
	plan->workers = p->workers;
	plan->worker_count = 2;
	plan->first_worker = first;
}

static void pair_end(struct pair *p)
{
	fixture_end(p->f);
	free(p);
}

// A worker reaches the end of the n-th second, and has sent this number more.
static void worker_publishes(struct pair *p, int worker, uint64_t n, uint64_t sent)
{
	struct worker *w = &p->workers[worker];
	struct worker_item *run = &p->runs[worker];
	struct worker_snapshot *s = &w->snapshots[w->filling];
	struct ledger *l = &run->books.ledger[1];

	l->due += sent;
	l->sent += sent;
	l->answered += sent;
	for (uint64_t i = 0; i < sent; i++) {
		pace_pop(&run->pace, UINT64_MAX);
		hist_add(&run->books.response, worker ? 3000 : 1000);
	}
	*s->items = (struct item_snapshot){
		.pace = run->pace, .ended_at = UINT64_MAX, .books = run->books};
	s->at = START + n * SECOND;
	s->number = n;
	w->filling = ~SNAPSHOT_NEW & atomic_exchange(&w->handed, w->filling | SNAPSHOT_NEW);
	w->published = n;
}

static bool next_interval(struct pair *p, struct result_interval_item *out)
{
	struct result_interval i;
	bool warmup;

	if (!collect_interval(&p->f->plan, &p->f->state, p->f->a, &i, &warmup))
		return false;
	*out = item_of(&i);
	return true;
}

static void workers_are_put_together(void **state)
{
	struct pair *p = pair_new();
	struct result_interval_item i = {0};

	worker_publishes(p, 0, 1, 500);
	assert_false(next_interval(p, &i));
	worker_publishes(p, 1, 1, 400);
	assert_true(next_interval(p, &i));
	assert_int_equal(i.due, 1000);
	assert_int_equal(i.sent, 900);
	assert_int_equal(i.answered, 900);
	assert_true(i.p50_ns < 1010 && i.p99_ns > 2900 && i.max_ns == 3000);
	assert_false(next_interval(p, &i));
	pair_end(p);
}

static void one_is_ahead(int ahead)
{
	struct pair *p = pair_new();
	struct result_interval_item i;

	worker_publishes(p, ahead, 1, 500);
	worker_publishes(p, ahead, 2, 500);
	worker_publishes(p, !ahead, 1, 500);
	assert_false(next_interval(p, &i)); // the first second of the first worker is gone
	worker_publishes(p, ahead, 3, 500);
	worker_publishes(p, !ahead, 2, 500);
	assert_true(next_interval(p, &i));
	assert_int_equal(i.sent, 2000);
	assert_int_equal(i.due, 2000);
	worker_publishes(p, !ahead, 3, 500);
	assert_true(next_interval(p, &i));
	assert_int_equal(i.sent, 1000);
	assert_int_equal(p->f->state.taken, 3);
	pair_end(p);
}

static void a_worker_that_is_ahead_is_not_put_together_with_one_that_is_behind(void **state)
{
	one_is_ahead(0);
	one_is_ahead(1);
}

static void a_snapshot_missed_at_the_end_of_the_warmup_costs_nothing(void **state)
{
	struct fixture *f = fixture_new();
	struct result_interval i;
	bool warmup;

	f->worker.times.start = f->state.at_before = START - 2 * SECOND;
	f->run.books.ledger[0] = (struct ledger){.due = 1000, .sent = 1000, .answered = 1000};
	f->snapshot = (struct item_snapshot){
		.pace = f->run.pace, .ended_at = UINT64_MAX, .books = f->run.books};
	f->worker.snapshots[0].at = START - SECOND;
	f->worker.snapshots[0].number = 1;
	f->worker.published = 1;
	assert_true(collect_interval(&f->plan, &f->state, f->a, &i, &warmup) && warmup);
	work(f, 1000, 0);
	f->run.books.ledger[0].due = f->run.books.ledger[0].sent = 2000;
	f->run.books.ledger[0].answered = 2000;
	assert_int_equal(publish(f, 3).due, 3000); // not at START, but three seconds later
	assert_true(f->intervals[0].t_s == 3 && f->intervals[0].length_s == 3);
	assert_null(finish(f, START + 3 * SECOND));
	fixture_end(f);
}

static void an_interval_has_its_part_of_ports_and_workers(void **state)
{
	struct pair *p = pair_new();
	struct plan *plan = &p->f->plan;
	struct result_interval i;
	const struct result_interval_worker *w;
	const struct result_interval_port *port;
	bool warmup;

	p->f->port.driver = &drivers[0];
	pair_on_a_port(p);
	collect_start(plan, &p->f->state, p->f->a);
	for (uint64_t n = 1; n <= 3; n++) {
		for (int k = 0; k < 2; k++) {
			p->workers[k].tx_refused += n;
			p->workers[k].received += 10 * n;
			p->workers[k].busy[1] += SECOND / 8 * n;
			p->workers[k].wire.counters.fragments += 2 * n;
			if (n < 3) {
				worker_read(&p->workers[k],
					&p->workers[k].snapshots[p->workers[k].filling]);
				worker_publishes(p, k, n, 500);
			}
		}
		p->f->port.before.rx_packets -= 100 * n; // as many more came
		if (n < 3)
			assert_true(collect_interval(plan, &p->f->state, p->f->a, &i, &warmup));
		else
			collect_last_interval(plan, &p->f->state, p->f->a, &i);
		assert_int_equal(i.ports.count, 1);
		assert_int_equal(i.workers.count, 2);
		port = i.ports.items;
		assert_int_equal(port->rx_packets, 100 * n);
		assert_int_equal(port->tx_refused, 2 * n);
		assert_int_equal(port->other->fragments, 4 * n);
		w = i.workers.items;
		assert_int_equal(w[1].received, 10 * n);
		if (n < 3)
			assert_in_range(1000 * w[1].busy, 125 * n - 1, 125 * n + 1);
		assert_null(i.responder);
	}
	pair_end(p);
}

static void ports_and_workers_have_the_figures_of_devices_and_of_the_hand_over(void **state)
{
	struct pair *p = pair_new();
	struct plan *plan = &p->f->plan;
	struct handoff *hands = calloc(2, sizeof(*hands));
	const struct result_worker *w;
	const struct result_port *port;

	assert_non_null(hands);
	hands[0].handed_over = hands[1].taken_over = 3;
	hands[1].hand_over_full = 2;
	for (int i = 0; i < 2; i++) {
		p->workers[i].hand = &hands[i];
		p->workers[i].busy[0] = SECOND;
		p->workers[i].received = 10;
		p->runs[i].ended_at = START + 2 * SECOND;
	}
	p->workers[0].busy[1] = SECOND / 2;
	p->workers[1].busy[1] = 3 * SECOND;
	p->f->port.driver = &drivers[0];
	// A device's counters start at their values before the run.
	p->f->port.before = (struct port_counters){
		.rx_packets = -(uint64_t)7, .tx_bytes = -(uint64_t)80, .tx_errors = -(uint64_t)1};
	pair_on_a_port(p);
	collect_result(plan, p->f->a, &p->f->result);

	port = p->f->result.ports.items;
	assert_int_equal(port->handed_over, 3);
	assert_int_equal(port->hand_over_full, 2);
	assert_int_equal(port->rx_packets, 7);
	assert_int_equal(port->tx_packets, 0);
	assert_int_equal(port->tx_bytes, 80);
	assert_int_equal(port->tx_errors, 1);
	w = p->f->result.workers.items;
	assert_int_equal(w[0].handed_over, 3);
	assert_int_equal(w[0].taken_over, 0);
	assert_int_equal(w[1].handed_over, 0);
	assert_int_equal(w[1].taken_over, 3);
	assert_int_equal(w[1].received, 10);
	assert_true(w[0].busy == 0.25 && w[1].busy == 1);
	free(hands);
	pair_end(p);
}

// Three intervals of a second each: in the warm-up, up to the measured part, and in it.
static void an_interval_is_of_the_warmup_up_to_the_measured_part(void **state)
{
	static const struct {
		uint64_t at; // seconds after the start of the warm-up
		bool warmup;
		double t_s, length_s, due_per_s;
		uint64_t in_flight;
	} rows[] = {
		{0, true, 0, 0, 0, 3},
		{1, true, 1, 1, 1000, 3},
		{2, true, 2, 1, 0, 3},
		{3, false, 1, 1, 1000, 3 + 5},
		{4, false, 2, 1, 1000, 3 + 5},
	};
	struct fixture *f = fixture_new();
	uint64_t begin = f->worker.times.start = f->state.at_before = START - 2 * SECOND;

	f->run.books.ledger[0] = (struct ledger){.due = 1000, .sent = 10, .answered = 7};
	f->run.books.ledger[1] = (struct ledger){.due = 8, .sent = 8, .answered = 3};
	f->run.pace.next = START + 8500000;
	for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct result_interval i;
		bool warmup;

		f->snapshot = (struct item_snapshot){
			.pace = f->run.pace, .ended_at = UINT64_MAX, .books = f->run.books};
		if (rows[n].at == 0)
			f->snapshot.books.ledger[0].due = 0;
		f->worker.snapshots[0].at = begin + rows[n].at * SECOND;
		f->worker.snapshots[0].number = n + 1;
		f->worker.published = n + 1;
		assert_true(collect_interval(&f->plan, &f->state, f->a, &i, &warmup));
		assert_int_equal(warmup, rows[n].warmup);
		assert_true(i.t_s == rows[n].t_s && i.length_s == rows[n].length_s);
		assert_true(item_of(&i).due_per_s == rows[n].due_per_s);
		assert_int_equal(item_of(&i).in_flight, rows[n].in_flight);
	}
	fixture_end(f);
}

static void without_items_there_are_no_intervals(void **state)
{
	struct fixture *f = fixture_new();
	struct result_interval i;
	bool warmup;

	f->plan.item_count = 0;
	assert_false(collect_interval(&f->plan, &f->state, f->a, &i, &warmup));
	fixture_end(f);
}

static void packets_at_home_are_those_that_were_not_handed_over(void **state)
{
	static const uint64_t rows[][2] = {{100, 20}, {300, 30}, {50, 50}, {0, 0}, {9, 3}};
	static struct worker workers[5];
	uint32_t first[] = {0, 2, 3, 4};
	struct plan p = {.workers = workers, .first_worker = first, .port_count = 3};

	for (int i = 0; i < 5; i++) {
		workers[i].reading = 2;
		workers[i].snapshots[2].received = rows[i][0];
		workers[i].snapshots[2].handed_over = rows[i][1];
	}
	assert_true(collect_home(&p, 0) == 0.875);
	assert_true(collect_home(&p, 1) == 0);
	assert_true(collect_home(&p, 2) == -1);
}

// --- the result beside the ledger ---

// The device's counts since the run began, multiplied by n on the n-th port.
static struct port_counters before(uint64_t n)
{
	return (struct port_counters){.rx_packets = -100 * n,
		.tx_packets = -200 * n,
		.rx_missed = -3 * n,
		.rx_no_mbuf = -4 * n};
}

// Two workers on the port of an item, and one responder at the other end of the ring, followed by
// an unrelated worker.
struct box {
	struct fixture *f;
	struct worker workers[4];
	struct worker_item runs[2];
	struct handoff hands[2];
	struct responder responders[2];
	struct port_settings settings[2];
	struct port ports[2];
	uint32_t first[3];
};

static struct box *box_new(void)
{
	struct box *b = calloc(1, sizeof(*b));
	struct plan *p;

	assert_non_null(b);
	b->f = fixture_new();
	p = &b->f->plan;
	for (uint32_t i = 0; i < 4; i++) {
		b->workers[i] = (struct worker){.port = i >= 2, .number = i % 2, .cpu = 10 + i};
		b->workers[i].tx_refused = 1u << i;
		b->workers[i].tx_no_mbuf = 100u << i;
		b->workers[i].wire.counters.fragments = 1000u << i;
		hist_clear(&b->workers[i].passes);
	}
	for (uint32_t i = 0; i < 2; i++) {
		b->runs[i] = b->f->run;
		b->runs[i].ended_at = START + 2 * SECOND;
		b->workers[i].items = &b->runs[i];
		b->workers[i].item_count = 1;
		b->workers[i].times = b->f->worker.times;
		b->settings[i] = (struct port_settings){
			.name = i ? "dut" : "lan", .device = i ? "lan" : "dut"};
		while (strcmp(driver_of(&b->settings[i])->name, "ring") != 0)
			b->settings[i].driver++;
		b->ports[i] = (struct port){.settings = &b->settings[i],
			.driver = driver_of(&b->settings[i]),
			.before = before(i + 1)};
		b->responders[i].tx_refused = 5 + i;
		b->responders[i].tx_no_mbuf = 6;
		b->responders[i].wire.counters.fragments = 7;
	}
	b->f->item.worker = b->workers;
	b->f->item.worker_count = 2;
	b->f->item.run = b->runs;
	b->f->item.port = b->ports;
	b->first[1] = 2;
	b->first[2] = 3;
	p->workers = b->workers;
	p->worker_count = 3;
	p->first_worker = b->first;
	p->ports = b->ports;
	p->port_settings = b->settings;
	p->port_count = 2;
	p->responders = b->responders;
	p->responder_count = 1;
	p->responder_port = 1;
	return b;
}

static void box_end(struct box *b)
{
	fixture_end(b->f);
	free(b);
}

static void a_port_has_the_counters_of_its_device_and_workers(void **state)
{
	struct box *b = box_new();
	const struct result_port *lan, *dut;

	b->hands[0] = (struct handoff){.handed_over = 7, .hand_over_full = 2};
	b->hands[1] = (struct handoff){.handed_over = 70, .hand_over_full = 20};
	b->workers[0].hand = &b->hands[0];
	b->workers[1].hand = &b->hands[1];
	collect_result(&b->f->plan, b->f->a, &b->f->result);
	assert_int_equal(b->f->result.ports.count, 2);
	lan = b->f->result.ports.items;
	dut = lan + 1;
	assert_string_equal(lan->name, "lan");
	assert_string_equal(lan->driver, "ring");
	assert_string_equal(lan->device, "dut");
	assert_int_equal(lan->rx_packets, 100);
	assert_int_equal(lan->tx_packets, 200);
	assert_int_equal(lan->rx_missed, 3 + 5); // the responder's, the ring was full
	assert_int_equal(dut->rx_missed, 6);
	assert_int_equal(lan->rx_no_mbuf, 4);
	assert_int_equal(lan->handed_over, 77);
	assert_int_equal(lan->hand_over_full, 22);
	assert_int_equal(dut->handed_over, 0);
	assert_int_equal(lan->tx_refused, 1 + 2);
	assert_int_equal(lan->tx_no_mbuf, 100 + 200);
	assert_int_equal(dut->tx_refused, 5); // the responder's, not its empty worker's
	assert_int_equal(dut->tx_no_mbuf, 6);
	assert_int_equal(lan->other->fragments, 1000 + 2000);
	assert_int_equal(dut->other->fragments, 7);
	box_end(b);
}

static void a_ring_to_another_port_loses_no_replies(void **state)
{
	struct box *b = box_new();
	const struct result_port *ports;

	b->f->plan.responder_port = -1;
	collect_result(&b->f->plan, b->f->a, &b->f->result);
	ports = b->f->result.ports.items;
	assert_int_equal(ports[0].rx_missed, 3);
	assert_int_equal(ports[1].rx_missed, 6);
	assert_null(b->f->result.responder);
	assert_int_equal(b->f->result.workers.count, 3);
	box_end(b);
}

static void the_responders_counters_are_those_of_all_its_workers(void **state)
{
	struct box *b = box_new();
	const struct result_responder *r;

	b->f->plan.responder_count = 2;
	for (uint32_t i = 0; i < 2; i++) {
		struct responder_counts *c = &b->responders[i].counts;

		c->received = 10 + i;
		c->answered = 20 + i;
		c->ignored = 30 + i;
		c->no_buffer = 40 + i;
		c->waiting = 50 + i;
		c->gaps_over_1ms = 60 + i;
		c->stolen = (i + 1) * SECOND;
		c->max_gap = 1000 - i; // the longest, not the sum
		b->responders[i].faults.counts[FAULTS_MAX - 1] = 70 + i;
	}
	collect_result(&b->f->plan, b->f->a, &b->f->result);
	r = b->f->result.responder;
	assert_string_equal(r->port, "dut");
	assert_int_equal(r->received, 21);
	assert_int_equal(r->answered, 41);
	assert_int_equal(r->ignored, 61);
	assert_int_equal(r->no_buffer, 81);
	assert_int_equal(r->waiting, 101);
	assert_int_equal(r->gaps_over_1ms, 121);
	assert_true(r->stolen_s == 3 && r->max_gap_ns == 1000);
	assert_int_equal(r->faults[FAULTS_MAX - 1], 141);
	assert_int_equal(r->protocols.count, 0);
	assert_int_equal(
		((const struct result_port *)b->f->result.ports.items)->rx_missed, 3 + 5 + 6);
	box_end(b);
}

// The workers of responders that are asked: each tells after so many pauses.
static struct {
	struct responder *all;
	unsigned count, pauses, after[2];
} asked;

int __wrap_nanosleep(const struct timespec *t, struct timespec *rest);

int __wrap_nanosleep(const struct timespec *t, struct timespec *rest)
{
	asked.pauses++;
	for (unsigned i = 0; i < asked.count; i++)
		if (asked.pauses == asked.after[i])
			asked.all[i].told = asked.all[i].asked;
	return 0;
}

// Up to 10 000 pauses in all.
static void responders_that_run_are_asked(void **state)
{
	static const struct {
		unsigned after[2], pauses;
		bool told;
	} rows[] = {{{3, 5}, 5, true}, {{5, 3}, 5, true}, {{1, 10000}, 10000, true},
		{{10001, 1}, 10000, false}, {{1, 10001}, 10000, false}};
	struct box *b = box_new();
	struct result_responder out;

	b->f->plan.responder_count = 2;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		asked.all = b->responders;
		asked.count = 2;
		asked.pauses = 0;
		memcpy(asked.after, rows[i].after, sizeof(asked.after));
		b->responders[0].counts.received = 30;
		b->responders[1].counts.received = 40;
		out = (struct result_responder){.received = 1};
		assert_int_equal(
			collect_responder_running(&b->f->plan, b->f->a, &out), rows[i].told);
		assert_int_equal(asked.pauses, rows[i].pauses);
		assert_int_equal(out.received, rows[i].told ? 70 : 1);
		for (int k = 0; k < 2; k++)
			b->responders[k].told = b->responders[k].asked;
	}
	box_end(b);
}

static void a_worker_has_its_share_of_the_time_and_of_the_work(void **state)
{
	struct box *b = box_new();
	const struct result_worker *w;

	b->hands[0] = (struct handoff){.handed_over = 7, .taken_over = 9};
	b->workers[0].hand = &b->hands[0];
	b->workers[0].busy[1] = SECOND / 2;
	b->workers[0].gaps_over_1ms = 4;
	b->workers[0].stolen = SECOND / 4;
	b->workers[0].slept = SECOND / 8;
	b->workers[0].received = 44;
	hist_add(&b->workers[0].passes, 90);
	hist_add(&b->workers[0].passes, 10);
	b->workers[1].busy[1] = 3 * SECOND; // beyond the end
	b->runs[0].books.ledger[1] = (struct ledger){
		.due = 99, .sent = 60, .answered = 10, .failed = 15, .lost = 5, .no_reply = 20};
	collect_result(&b->f->plan, b->f->a, &b->f->result);
	assert_true(b->f->result.run.measured_s == 2);
	assert_int_equal(b->f->result.workers.count, 2);
	w = b->f->result.workers.items;
	assert_string_equal(w[0].port, "lan");
	assert_int_equal(w[0].cpu, 10);
	assert_int_equal(w[1].cpu, 11);
	assert_true(w[0].busy == 0.25 && w[1].busy == 1);
	assert_true(w[0].ns_per_transaction == 1e7 && w[1].ns_per_transaction == 0);
	assert_true(w[0].max_gap_ns == 90 && w[0].passes.min_ns == 10);
	assert_int_equal(w[0].handed_over, 7);
	assert_int_equal(w[0].taken_over, 9);
	assert_int_equal(w[1].handed_over + w[1].taken_over, 0);
	assert_int_equal(w[0].gaps_over_1ms, 4);
	assert_true(w[0].stolen_s == 0.25 && w[0].slept_s == 0.125);
	assert_int_equal(w[0].received, 44);
	b->runs[0].ended_at = b->runs[1].ended_at = START; // interrupted before
	collect_result(&b->f->plan, b->f->a, &b->f->result);
	w = b->f->result.workers.items;
	assert_true(b->f->result.run.measured_s == 0 && w[1].busy == 0);
	box_end(b);
}

static void an_item_has_the_sums_of_its_workers(void **state)
{
	struct box *b = box_new();
	struct worker_item *r = b->runs;
	struct result_item i;

	r[0].books.ledger[1] = (struct ledger){
		.due = 60, .sent = 50, .answered = 20, .failed = 4, .lost = 10, .no_reply = 6};
	r[1].books.ledger[1] = (struct ledger){.due = 50, .sent = 50, .answered = 50};
	r[0].pace.next = r[1].pace.next = PACE_NEVER;
	r[0].books.counts[1].no_slot = 3;
	r[1].books.counts[1].no_slot = 30;
	r[0].books.longest_gap = 500;
	r[1].books.longest_gap = 400;
	r[1].ended_at = START + 4 * SECOND;
	r[0].last_answer = START + 5 * SECOND;
	r[1].last_answer = START + 3 * SECOND;
	hist_add(&r[0].books.service, 100);
	hist_add(&r[1].books.service, 300);
	hist_add(&r[1].books.lag, 50);
	hist_add(&r[0].books.response, 700);
	collect_result(&b->f->plan, b->f->a, &b->f->result);
	i = total(b->f);
	assert_true(b->f->result.run.measured_s == 4);
	assert_string_equal(i.name, "q");
	assert_string_equal(i.port, "lan");
	assert_string_equal(i.loop, "open");
	assert_int_equal(i.ledger.due, 110);
	assert_int_equal(i.ledger.sent, 100);
	assert_int_equal(i.unsent, 10);
	assert_int_equal(i.in_flight, 10);
	assert_true(i.loss == 10.0 / 94); // of the transactions that a reply decides
	assert_int_equal(i.no_slot, 33);
	assert_true(i.longest_gap_ns == 500);
	assert_true(i.sending_s == 4 && i.last_answer_s == 5);
	assert_true(i.due_per_s == 27.5 && i.sent_per_s == 25 && i.answered_per_s == 17.5);
	assert_int_equal(i.latency.service.count, 2);
	assert_true(i.latency.service.min_ns == 100 && i.latency.service.max_ns == 300);
	assert_true(i.latency.service.mean_ns == 200);
	assert_int_equal(i.send_lag.count, 1);
	assert_true(isinf(i.latency.response.p50_ns)); // ten of eleven are lost
	assert_int_equal(i.steps.count, 0);
	r[0].pace.kind = PACE_OUTSTANDING;
	collect_result(&b->f->plan, b->f->a, &b->f->result);
	assert_string_equal(total(b->f).loop, "closed");
	box_end(b);
}

// A load with an end is done with its last reply.
static void work_is_as_fast_as_its_last_answer(void **state)
{
	static const struct {
		uint64_t total, left, last_answer_s;
		double answered_per_s;
	} rows[] = {
		{0, 0, 5, 25},
		{100, 0, 5, 20},
		{100, 0, 3, 25},
		{100, 1, 5, 25},
	};
	struct box *b = box_new();

	for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		b->f->settings.load.total = rows[n].total;
		for (uint32_t k = 0; k < 2; k++) {
			b->runs[k].books.ledger[1] =
				(struct ledger){.due = 50, .sent = 50, .answered = 50};
			b->runs[k].ended_at = START + 4 * SECOND;
			b->runs[k].pace.next = PACE_NEVER;
		}
		b->runs[0].left_over = rows[n].left;
		b->runs[1].last_answer = START + rows[n].last_answer_s * SECOND;
		collect_result(&b->f->plan, b->f->a, &b->f->result);
		assert_true(total(b->f).answered_per_s == rows[n].answered_per_s);
	}
	box_end(b);
}

// Nothing was due, and nothing arrived.
static void an_item_before_its_turn_has_no_rates(void **state)
{
	struct fixture *f = fixture_new();

	f->run.ended_at = START;
	f->run.pace.next = PACE_NEVER;
	collect_result(&f->plan, f->a, &f->result);
	assert_true(total(f).due_per_s == 0 && total(f).answered_per_s == 0);
	assert_true(total(f).loss == 0 && isnan(total(f).latency.response.p50_ns));
	assert_true(isnan(total(f).latency.service.min_ns));
	fixture_end(f);
}

static void more_in_flight_than_in_the_tables_is_told(void **state)
{
	struct fixture *f = fixture_new();

	work(f, 1000, 0);
	publish(f, 1);
	f->run.books.ledger[1].answered -= 2;
	f->state.before[0].books.ledger[1].answered -= 2; // lost from the intervals too
	((struct result_interval_item *)f->intervals[0].traffic.items)->answered -= 2;
	f->run.txns.in_flight = 2;
	assert_null(finish(f, START + SECOND));
	f->run.txns.in_flight = 1;
	assert_string_equal(check(f), "traffic.q: 2 in flight by the ledger, 1 by the table");
	fixture_end(f);
}

// Response latency begins earlier than service latency.
static void a_service_latency_above_the_response_latency_is_told(void **state)
{
	static const char *const names[] = {"first", "second", NULL};
	struct fixture *f = fixture_new();
	struct step_books *steps = calloc(2, sizeof(*steps));
	struct proto proto = *f->run.proto;

	work(f, 2, 0);
	publish(f, 1);
	finish(f, START + SECOND);
	hist_add(&f->run.books.response, 700);
	hist_add(&f->run.books.service, 700);
	assert_null(check(f));
	hist_add(&f->run.books.response, 500);
	hist_add(&f->run.books.service, 501);
	assert_string_equal(
		check(f), "traffic.q: response and service latencies contradict each other");
	f->run.books.response.sum += 100; // not the longest
	hist_add(&f->run.books.response, 600);
	hist_add(&f->run.books.service, 701);
	assert_non_null(check(f));
	hist_add(&f->run.books.response, 800);
	assert_non_null(check(f)); // one more than the other
	hist_add(&f->run.books.service, 1);
	assert_null(check(f));
	proto.steps = names;
	f->settings.facts.proto = f->run.proto = &proto;
	f->run.steps = steps;
	for (int i = 0; i < 2; i++) {
		hist_clear(&steps[i].response);
		hist_clear(&steps[i].service);
	}
	assert_null(check(f));
	hist_add(&steps[1].response, 29);
	hist_add(&steps[1].service, 121);
	assert_non_null(check(f));
	free(steps);
	fixture_end(f);
}

static void chosen_percentiles_reach_from_the_least_to_the_greatest(void **state)
{
	static double percents[] = {5, 10, 99.9, 100};
	static const double values[] = {1, 2, 20, 20};
	struct fixture *f = fixture_new();
	const struct result_percentile *chosen;
	struct latency l;

	f->config.output.percentiles = (struct field_list){percents, 4};
	for (uint64_t i = 1; i <= 20; i++)
		hist_add(&f->run.books.response, i);
	l = collect_distribution(&f->plan, &f->run.books.response, 0, f->a);
	chosen = l.percentiles.items;
	for (uint32_t i = 0; i < 4; i++)
		assert_float_equal(chosen[i].value_ns, values[i], 1e-9);
	assert_string_equal(chosen[3].name, "p100");
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_latency_above_the_response_latency_is_told),
		cmocka_unit_test(a_snapshot_missed_at_the_end_of_the_warmup_costs_nothing),
		cmocka_unit_test(intervals_are_differences_across_32_bits),
		cmocka_unit_test(intervals_add_up_to_totals_beyond_32_bits),
		cmocka_unit_test(what_was_due_and_not_sent_is_counted_to_the_last_one),
		cmocka_unit_test(times_of_intervals_are_whole_microseconds),
		cmocka_unit_test(latencies_of_an_interval_are_its_own),
		cmocka_unit_test(a_ledger_that_is_off_by_one_is_told),
		cmocka_unit_test(an_interval_has_all_figures_of_its_time),
		cmocka_unit_test(replies_to_earlier_requests_are_told_apart),
		cmocka_unit_test(workers_are_put_together),
		cmocka_unit_test(an_interval_has_its_part_of_ports_and_workers),
		cmocka_unit_test(
			ports_and_workers_have_the_figures_of_devices_and_of_the_hand_over),
		cmocka_unit_test(
			a_worker_that_is_ahead_is_not_put_together_with_one_that_is_behind),
		cmocka_unit_test(an_interval_is_of_the_warmup_up_to_the_measured_part),
		cmocka_unit_test(without_items_there_are_no_intervals),
		cmocka_unit_test(packets_at_home_are_those_that_were_not_handed_over),
		cmocka_unit_test(a_port_has_the_counters_of_its_device_and_workers),
		cmocka_unit_test(a_ring_to_another_port_loses_no_replies),
		cmocka_unit_test(the_responders_counters_are_those_of_all_its_workers),
		cmocka_unit_test(responders_that_run_are_asked),
		cmocka_unit_test(a_worker_has_its_share_of_the_time_and_of_the_work),
		cmocka_unit_test(an_item_has_the_sums_of_its_workers),
		cmocka_unit_test(work_is_as_fast_as_its_last_answer),
		cmocka_unit_test(an_item_before_its_turn_has_no_rates),
		cmocka_unit_test(chosen_percentiles_reach_from_the_least_to_the_greatest),
		cmocka_unit_test(more_in_flight_than_in_the_tables_is_told),
	};

	return cmocka_run_group_tests_name("collect", tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// From the books of one worker to intervals and totals: differences, sums and the laws of the
// ledger, with counters that have passed 32 bits. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "engine/run/collect.h"
#include "io/driver.h"

#define SECOND 1000000000ull // a tick is a nanosecond
#define START  (7 * SECOND)
#define BIG    ((1ull << 32) - 1000)

struct fixture {
	struct arena *a;
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

// One item at 1000 a second; the measured part begins at START.
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
	f->plan.clock.hz = SECOND;
	f->worker.items = &f->run;
	f->worker.item_count = 1;
	f->worker.snapshots[0].items = &f->snapshot;
	f->worker.times = (struct run_times){.start = START, .measure = START, .interval = SECOND};
	f->run.proto = protos[0];
	f->run.begun_at = START;
	// A thousand a second: the k-th is due at START + (k + 1/2) ms.
	f->run.pace = (struct pace){.kind = PACE_RATE,
		.steady = true,
		.of = 1,
		.next = START + 500000,
		.gap = 1000000,
		.stop = PACE_NEVER,
		.left = UINT64_MAX,
		.measure = START};
	hist_clear(&f->run.books.response);
	hist_clear(&f->run.service);
	hist_clear(&f->run.lag);
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

// The worker has come to the end of the n-th second.
static struct result_interval_item publish(struct fixture *f, uint64_t n)
{
	struct result_interval *out = &f->intervals[f->result.intervals.count++];
	bool warmup;

	f->snapshot = (struct item_snapshot){
		.pace = f->run.pace, .ended_at = UINT64_MAX, .books = f->run.books};
	f->worker.snapshots[0].at = START + n * SECOND;
	f->worker.snapshots[0].number = n;
	f->worker.published = n;
	assert_true(collect_interval(&f->plan, &f->state, f->a, out, &warmup));
	assert_false(warmup);
	return item_of(out);
}

// So many were due and sent, all but the lost were answered; the schedule has gone on.
static void work(struct fixture *f, uint64_t due, uint64_t lost)
{
	struct ledger *l = &f->run.books.ledger[1];

	l->due += due;
	l->sent += due;
	l->lost += lost;
	l->answered += due - lost;
	f->run.pace.next += due * 1000000;
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
	return collect_check(&f->plan, &f->result, f->a);
}

static struct result_item total(const struct fixture *f)
{
	return *(const struct result_item *)f->result.traffic.items;
}

// As if the run had gone on for long before its first interval.
static void age(struct fixture *f)
{
	struct ledger *l = &f->run.books.ledger[1];

	l->due = l->sent = l->answered = f->state.due_before[0] = BIG;
	f->state.before[0] = f->run.books;
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
	f->run.pace.next = START + 2 * SECOND; // of the schedule, not of what is counted
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
	f->state.before[0].ledger[1].sent++;
	assert_non_null(strstr(finish(f, START + SECOND), "intervals do not add up"));
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

static void pair_end(struct pair *p)
{
	fixture_end(p->f);
	free(p);
}

// A worker comes to the end of the n-th second, having sent so many more.
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

static void ports_and_workers_have_the_figures_of_devices_and_of_the_hand_over(void **state)
{
	struct pair *p = pair_new();
	struct plan *plan = &p->f->plan;
	struct handoff *hands = calloc(2, sizeof(*hands));
	const struct result_worker *w;
	const struct result_port *port;
	uint32_t first[] = {0, 2};

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
	// A device's counters are as they were when the run began, plus those of the run.
	p->f->port.before = (struct port_counters){
		.rx_packets = -(uint64_t)7, .tx_bytes = -(uint64_t)80, .tx_errors = -(uint64_t)1};
	plan->ports = &p->f->port;
	plan->port_settings = &p->f->port_settings;
	plan->port_count = 1;
	plan->workers = p->workers;
	plan->worker_count = 2;
	plan->first_worker = first;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_snapshot_missed_at_the_end_of_the_warmup_costs_nothing),
		cmocka_unit_test(intervals_are_differences_across_32_bits),
		cmocka_unit_test(intervals_add_up_to_totals_beyond_32_bits),
		cmocka_unit_test(what_was_due_and_not_sent_is_counted_to_the_last_one),
		cmocka_unit_test(latencies_of_an_interval_are_its_own),
		cmocka_unit_test(a_ledger_that_is_off_by_one_is_told),
		cmocka_unit_test(workers_are_put_together),
		cmocka_unit_test(
			ports_and_workers_have_the_figures_of_devices_and_of_the_hand_over),
		cmocka_unit_test(
			a_worker_that_is_ahead_is_not_put_together_with_one_that_is_behind),
	};

	return cmocka_run_group_tests_name("collect", tests, NULL, NULL);
}

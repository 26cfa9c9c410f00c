// SPDX-License-Identifier: BSD-3-Clause
// Searches against servers that are formulas: their capacity is known, so the answer can be judged.
// Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "base/rand.h"
#include "engine/series/search.h"
#include "engine/series/search_ramp.h"

// cmocka's own check treats NaN as equal.
#define assert_near(value, wanted, off) assert_true(fabs((value) - (wanted)) <= (off))

#define ROOM      1200
#define INTERVALS 600
#define TIMEOUT   1.3 // intervals of a ramp

// A server: its capacity per second, the rest of it far beyond the limit, and its random loss.
struct server {
	double capacity;
	double collapse; // share of the capacity lost for each capacity of overload
	double loss;
	double noise;    // relative, of the capacity, per trial
	double pause;    // share of the trials in which it stands still for a while
	double limit;    // of the tester: above, trials are invalid
	uint32_t bad_at; // the trial with this number is invalid
	struct rand rand;
};

struct fixture {
	struct search_settings settings;
	struct search_goal goals[2];
	struct search_trial trials[ROOM];
	struct search search;
	double time_s;
	uint32_t ramps;
};

static double uniform(struct rand *r)
{
	return (double)(rand_next(r) >> 11) * 0x1p-53;
}

static double normal(struct rand *r)
{
	return sqrt(-2 * log(1 - uniform(r))) * cos(2 * M_PI * uniform(r));
}

static double answered(struct server *v, double load)
{
	double capacity = v->capacity * (1 + v->noise * normal(&v->rand));

	if (load <= capacity)
		return load;
	return capacity * fmax(0.05, 1 - v->collapse * (load - capacity) / capacity);
}

static struct search_trial serve(struct server *v, double load, uint64_t length_ns)
{
	double sent = load * 1e-9 * (double)length_ns;
	double share = fmax(0, v->loss + sqrt(v->loss / sent) * normal(&v->rand));
	double out = answered(v, load) * (1 - share);

	if (v->pause > 0 && uniform(&v->rand) < v->pause)
		out *= 0.8;
	return (struct search_trial){.load = load,
		.length_ns = length_ns,
		.loss = 1 - out / load,
		.latency_ns[GOAL_P99] = load > 0.9 * v->capacity ? 5e6 : 1e5,
		.answered_per_s = out,
		.invalid = v->limit > 0 && load > v->limit};
}

static void prepare(struct fixture *f, enum search_method method)
{
	memset(f, 0, sizeof(*f));
	f->goals[0] = (struct search_goal){.loss = 0.005, .failed = 1, .exceed = 0.5};
	f->goals[1] = (struct search_goal){.loss = 0.1, .failed = 1, .exceed = 0.5};
	f->settings = (struct search_settings){
		.method = method,
		.from = 1000,
		.to = 200000,
		.goals = {f->goals, 1},
		.width = 0.01,
		.trial_ns = method == SEARCH_BISECT ? 4000000000 : 1000000000,
		.final_ns = 8000000000,
		.sum_ns = 24000000000,
		.verify = 1,
		.attempts = 3,
		.steps = 100,
	};
	f->search = (struct search){.settings = &f->settings, .trials = f->trials};
}

// Losses spread over an interval are noticed a timeout later, in two other intervals.
static void lose(struct ramp_interval *series, uint32_t i, double lost)
{
	double later = TIMEOUT - floor(TIMEOUT);

	series[i + (uint32_t)TIMEOUT].lost += (1 - later) * lost;
	series[i + (uint32_t)TIMEOUT + 1].lost += later * lost;
}

// An interval of a ramp that offers this load to v; sends beyond the tester's limit wait.
static void ask(struct server *v, struct ramp_interval *series, uint32_t i, double load)
{
	double length_s = series[i].length_s;
	bool slow = v->limit > 0 && load > v->limit;
	struct search_trial t = serve(v, slow ? v->limit : load, (uint64_t)(1e9 * length_s));

	series[i].due = load * length_s;
	series[i].sent = series[i].asked = t.load * length_s;
	series[i].answered = t.answered_per_s * length_s;
	series[i].p99_ns = t.latency_ns[GOAL_P99];
	lose(series, i, t.loss * series[i].sent);
}

// One ramp, as in the engine: judged at every interval, ended when that is enough.
static void run_ramp(struct fixture *f, struct server *v, bool (*spoil)(struct search_trial *))
{
	const struct search_settings *s = &f->settings;
	static struct ramp_interval series[INTERVALS];
	double length_s = 1e-9 * (double)s->trial_ns;
	struct ramp r = {.settings = s,
		.intervals = series,
		.timeout_s = TIMEOUT * length_s,
		.late_s = 0.01};
	struct search_trial *out = f->trials;

	memset(series, 0, sizeof(series));
	f->search.going = true;
	while (!r.over) {
		uint32_t i = r.count++, n;
		double at = ((double)i + 0.5) / (double)s->steps;

		series[i].t_s = (i + 1) * length_s;
		series[i].length_s = length_s;
		if (i < s->steps)
			ask(v, series, i, s->from + (s->to - s->from) * at);
		n = ramp_trials(&r, f->ramps, out);
		for (uint32_t k = 0; spoil && k < n; k++)
			spoil(&out[k]);
		f->search.count = n;
		r.over = i > s->steps + TIMEOUT || search_enough(&f->search);
		f->time_s += length_s;
	}
	f->search.going = false;
	f->ramps++;
}

static struct search_answer find(struct fixture *f, struct server *v)
{
	struct search_step step;

	for (;;) {
		step = search_next(&f->search);
		if (step.done || f->search.count == ROOM)
			break;
		assert_true(step.load >= f->settings.from && step.load <= f->settings.to);
		if (step.ramp) {
			run_ramp(f, v, NULL);
			continue;
		}
		f->trials[f->search.count] = serve(v, step.load, step.length_ns);
		f->trials[f->search.count].invalid |= f->search.count + 1 == v->bad_at;
		f->search.count++;
		f->time_s += 1e-9 * (double)step.length_ns;
	}
	assert_true(step.done);
	assert_true(f->search.count < 200);
	return search_answer(&f->search, 0);
}

// Returns how many of 20 seeded searches end within `tolerance` of the capacity. verify: for
// bisections.
static uint32_t found_with(
	enum search_method method, struct server like, double tolerance, uint64_t verify)
{
	struct rand rand = {42};
	struct fixture f;
	uint32_t n = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct server v = like;
		struct search_answer a;

		v.rand.state = rand_hash(seed);
		v.capacity = method == SEARCH_RAMP ? 50000 + 100000 * uniform(&rand)
		                                   : 5000 * pow(30, uniform(&rand));
		prepare(&f, method);
		f.settings.verify = verify;
		a = find(&f, &v);
		if (fabs(a.load - v.capacity) <= tolerance * v.capacity)
			n++;
	}
	return n;
}

static uint32_t found(enum search_method method, struct server like, double tolerance)
{
	return found_with(method, like, tolerance, 1);
}

static const struct server flat = {.noise = 0.001}, collapsing = {.collapse = 2, .noise = 0.001},
			   lossy = {.loss = 0.003, .noise = 0.001}, noisy = {.noise = 0.005};

static void bisection_finds_a_capacity(void **state)
{
	assert_int_equal(found(SEARCH_BISECT, flat, 0.02), 20);
	assert_int_equal(found(SEARCH_BISECT, collapsing, 0.02), 20);
	assert_true(found(SEARCH_BISECT, lossy, 0.02) >= 19);
	assert_true(found(SEARCH_BISECT, noisy, 0.02) >= 19);
}

// One trial in ten fails at any load.
static void bisection_verifies_what_bounds_the_answer(void **state)
{
	const struct server pausing = {.pause = 0.1};

	assert_true(found_with(SEARCH_BISECT, pausing, 0.02, 0) < 16);
	assert_true(found_with(SEARCH_BISECT, pausing, 0.02, 1) >= 18);
	assert_int_equal(found_with(SEARCH_BISECT, pausing, 0.02, 3), 20);
}

// The trial at the answer fails when it is long: once is chance, twice is not.
static void bisection_verifies_its_confirmation(void **state)
{
	struct server v = {.capacity = 30000};
	struct fixture f;
	double load;

	prepare(&f, SEARCH_BISECT);
	load = find(&f, &v).load;
	assert_near(f.trials[f.search.count - 1].load, load, 0);
	f.trials[f.search.count - 1].loss = 0.1;
	assert_near(find(&f, &v).load, load, 0);
	assert_int_equal(f.trials[f.search.count - 1].length_ns, f.settings.final_ns);
	f.trials[f.search.count - 1].loss = 0.1;
	assert_true(find(&f, &v).load < load);
	assert_near(search_answer(&f.search, 0).upper, load, 0);
}

// A tester that fails the long trial after it passed the short one.
static void bisection_ends_when_the_tester_cannot_confirm(void **state)
{
	struct server v = {.capacity = 30000};
	struct fixture f;
	double load;

	prepare(&f, SEARCH_BISECT);
	find(&f, &v);
	load = f.trials[f.search.count - 1].load;
	f.trials[f.search.count - 1].invalid = true;
	for (int i = 1; i < 3; i++) {
		assert_near(search_next(&f.search).load, load, 0);
		f.trials[f.search.count] = serve(&v, load, f.settings.final_ns);
		f.trials[f.search.count++].invalid = true;
	}
	assert_true(find(&f, &v).load < load);
	assert_true(search_answer(&f.search, 0).tester);
}

static void mlr_finds_a_capacity(void **state)
{
	assert_int_equal(found(SEARCH_MLR, flat, 0.02), 20);
	assert_int_equal(found(SEARCH_MLR, collapsing, 0.02), 20);
	assert_true(found(SEARCH_MLR, lossy, 0.02) >= 19);
	assert_true(found(SEARCH_MLR, noisy, 0.02) >= 19);
}

static void a_ramp_comes_within_a_step_of_the_capacity(void **state)
{
	struct server v = {.capacity = 80000};
	struct fixture f;
	struct search_answer a;

	prepare(&f, SEARCH_RAMP);
	f.settings.from = 2000;
	a = find(&f, &v);
	assert_true(fabs(a.load - v.capacity) <= 0.05 * v.capacity);
	assert_true(fabs(a.throughput - v.capacity) <= 0.05 * v.capacity);
	assert_true(found(SEARCH_RAMP, noisy, 0.05) >= 19);
	assert_true(found(SEARCH_RAMP, lossy, 0.05) >= 19);
	assert_int_equal(found(SEARCH_RAMP, collapsing, 0.05), 20);
	assert_near(search_shape(&f.search).knee, a.load * 0.9, 4000);
}

static bool spoil_two(struct search_trial *t)
{
	if (t->load > 20000 && t->load < 24000)
		t->loss = 0.2;
	return true;
}

static void one_bad_moment_does_not_end_a_ramp(void **state)
{
	struct server v = {.capacity = 80000};
	struct fixture f;

	prepare(&f, SEARCH_RAMP);
	run_ramp(&f, &v, spoil_two);
	assert_true(search_next(&f.search).done);
	assert_true(search_answer(&f.search, 0).load > 75000);
	assert_near(f.trials[10].loss, 0.2, 0);
	assert_near(f.trials[11].loss, 0.2, 0);
}

// With a timeout longer than an interval, losses belong to earlier sends.
static void losses_of_a_ramp_belong_to_where_they_were_sent(void **state)
{
	struct server v = {.capacity = 60000};
	struct fixture f;
	uint32_t i = 0;

	prepare(&f, SEARCH_RAMP);
	find(&f, &v);
	for (; f.trials[i].load < 58000; i++)
		assert_near(f.trials[i].loss, 0, 1e-9);
	for (; i < f.search.count; i++)
		if (f.trials[i].load > 62000)
			assert_near(f.trials[i].loss, 1 - 60000 / f.trials[i].load, 0.01);
}

// Not before a collapse would be noticed, and not long after.
static void a_ramp_ends_when_it_is_enough(void **state)
{
	struct server v = {.capacity = 40000, .collapse = 2};
	struct fixture f;
	double last;

	prepare(&f, SEARCH_RAMP);
	find(&f, &v);
	last = f.trials[f.search.count - 1].load;
	assert_true(last >= 1.5 * 40000 && last <= 1.6 * 40000 + 2000);
	assert_true(search_shape(&f.search).collapse_load < last);
	assert_near(search_shape(&f.search).peak_per_s, 40000, 2000);
}

static void a_ramp_of_a_tester_that_fell_behind_is_made_again(void **state)
{
	struct server v = {.capacity = 1e6, .limit = 50000};
	struct fixture f;

	prepare(&f, SEARCH_RAMP);
	find(&f, &v);
	assert_int_equal(f.ramps, 3);
	prepare(&f, SEARCH_RAMP);
	run_ramp(&f, &v, NULL);
	assert_false(search_next(&f.search).done);
	v.limit = 0;
	find(&f, &v);
	assert_int_equal(f.ramps, 2);
	assert_false(search_answer(&f.search, 0).tester);
}

static void one_bad_moment_of_the_tester_does_not_end_a_ramp(void **state)
{
	struct fixture f;

	prepare(&f, SEARCH_RAMP);
	f.search.going = true;
	for (int i = 0; i < 5; i++)
		f.trials[f.search.count++] = (struct search_trial){.load = 1000 + 100 * i,
			.answered_per_s = 1000,
			.invalid = i == 2 || i == 4};
	assert_false(search_enough(&f.search));
	assert_near(search_answer(&f.search, 0).load, 1300, 0);
	assert_false(search_answer(&f.search, 0).tester);
	f.trials[3].invalid = true;
	assert_true(search_enough(&f.search));
}

static void a_rule_that_ends_a_ramp_bounds_the_answer(void **state)
{
	struct server v = {.capacity = 1e6};
	struct fixture f;

	prepare(&f, SEARCH_RAMP);
	find(&f, &v);
	f.search.count = 50;
	f.search.cut_at = f.trials[49].load;
	assert_near(search_answer(&f.search, 0).load, f.trials[49].load, 0);
	assert_near(search_answer(&f.search, 0).upper, f.trials[49].load, 0);
}

static void what_a_queue_gives_back_is_no_throughput(void **state)
{
	static const double answered[] = {1000, 500, 2500, 1600};
	struct fixture f;

	prepare(&f, SEARCH_RAMP);
	for (int i = 0; i < 4; i++)
		f.trials[f.search.count++] = (struct search_trial){
			.load = 1000 + 100 * i, .answered_per_s = answered[i]};
	assert_near(search_answer(&f.search, 0).throughput, (1200 + 1300) / 2.0, 0);
	f.trials[3].loss = 0.5;
	f.trials[3].answered_per_s = 650;
	assert_near(search_answer(&f.search, 0).load, 1200, 0);
	assert_near(search_answer(&f.search, 0).throughput, (1000 + 500 + 1200) / 3.0, 0);
}

static void the_throughput_of_a_ramp_is_a_mean_of_neighbours(void **state)
{
	static const struct {
		uint32_t count;
		double answered[4], throughput;
	} rows[] = {
		{1, {1000}, 1000},
		{3, {1000, 900, 500}, (1000 + 900) / 2.0},
		{4, {100, 1000, 500, 500}, (1000 + 500 + 500) / 3.0},
	};

	for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct fixture f;

		prepare(&f, SEARCH_RAMP);
		for (uint32_t i = 0; i < rows[n].count; i++)
			f.trials[f.search.count++] = (struct search_trial){
				.load = 1000 + 100 * i, .answered_per_s = rows[n].answered[i]};
		assert_near(search_answer(&f.search, 0).throughput, rows[n].throughput, 1e-9);
	}
}

// Two bad trials at the end bound the answer when no more follow.
static void a_ramp_that_goes_on_may_recover(void **state)
{
	struct fixture f;

	prepare(&f, SEARCH_RAMP);
	for (uint32_t i = 0; i < 5; i++)
		f.trials[f.search.count++] =
			(struct search_trial){.load = 1000 + 100 * i, .loss = i < 3 ? 0 : 0.5};
	f.search.going = true;
	assert_true(isinf(search_answer(&f.search, 0).upper));
	f.search.going = false;
	assert_near(search_answer(&f.search, 0).upper, 1300, 0);
}

// Intervals of a second at 1000 per second, with sends or replies missing.
static void intervals_become_trials_when_their_losses_are_known(void **state)
{
	static const struct {
		uint32_t count;
		double due[5], sent[5], asked[5]; // from the second one on: the first is a guard
		bool over, cut;
		uint32_t trials, invalid;
	} rows[] = {
#define ALL {0, 1000, 1000, 1000, 1000}
		{3, ALL, ALL, ALL, false, false, 2, 0},
		{3, ALL, ALL, ALL, true, false, 3, 0},
		{3, ALL, ALL, ALL, true, true, 2, 0},
		// The drain is no trial, nor is an interval cut short before it.
		{3, {0, 1000, 1000, 0}, ALL, ALL, true, false, 2, 0},
		{3, {0, 1000, 1000, 0}, ALL, ALL, true, true, 1, 0},
		{2, {0}, ALL, ALL, true, true, 0, 0},
		{0, ALL, ALL, ALL, true, true, 0, 0},
		{3, ALL, ALL, {0, 1000, 0, 1000}, true, false, 2, 0},
		// 64 sends may wait, and the sends of 10 ms.
		{3, ALL, {0, 1000, 926, 1000}, ALL, true, false, 3, 0},
		{3, ALL, {0, 1000, 925, 1000}, ALL, true, false, 3, 2},
#undef ALL
	};

	for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		struct ramp_interval series[5];
		struct fixture f;
		struct ramp r = {.settings = &f.settings,
			.intervals = series + 1,
			.count = rows[n].count,
			.timeout_s = 1,
			.late_s = 0.01,
			.over = rows[n].over,
			.cut = rows[n].cut};
		uint32_t count, invalid = 0;

		prepare(&f, SEARCH_RAMP);
		for (uint32_t i = 0; i < 5; i++)
			series[i] = (struct ramp_interval){.t_s = i,
				.length_s = 1,
				.due = rows[n].due[i],
				.sent = rows[n].sent[i],
				.asked = rows[n].asked[i]};
		count = ramp_trials(&r, 0, f.trials);
		for (uint32_t i = 0; i < count && i < 5; i++)
			invalid += f.trials[i].invalid;
		assert_int_equal(count, rows[n].trials);
		assert_int_equal(invalid, rows[n].invalid);
	}
}

// No load above four times the capacity, and each below four times the best so far.
static void a_search_from_the_lowest_value_rises_to_the_answer(void **state)
{
	for (enum search_method method = SEARCH_BISECT; method <= SEARCH_MLR; method++) {
		for (double capacity = 1200; capacity < 200000; capacity *= 3) {
			struct server v = {.capacity = capacity};
			struct fixture f;
			double best = 0;

			prepare(&f, method);
			f.settings.start = SEARCH_LOWEST;
			assert_near(find(&f, &v).load, capacity, 0.02 * capacity);
			assert_near(f.trials[0].load, 1000, 0);
			for (uint32_t i = 0; i < f.search.count; i++) {
				assert_true(f.trials[i].load <= fmax(1000, 4 * best));
				if (f.trials[i].load <= capacity)
					best = fmax(best, f.trials[i].load);
			}
		}
	}
}

static void a_search_that_rises_ends_at_the_highest_value(void **state)
{
	for (enum search_method method = SEARCH_BISECT; method <= SEARCH_MLR; method++) {
		struct server v = {.capacity = 1e9};
		struct fixture f;

		prepare(&f, method);
		f.settings.start = SEARCH_LOWEST;
		assert_near(find(&f, &v).load, 200000, 0);
		v.capacity = 500; // not even the lowest
		prepare(&f, method);
		f.settings.start = SEARCH_LOWEST;
		assert_true(isnan(find(&f, &v).load));
		assert_near(f.trials[f.search.count - 1].load, 1000, 0);
	}
}

static void every_goal_has_its_answer(void **state)
{
	for (enum search_method m = SEARCH_BISECT; m <= SEARCH_RAMP; m++) {
		struct server v = {.capacity = 40000};
		struct fixture f;
		double second;

		prepare(&f, m);
		f.settings.goals.count = 2;
		find(&f, &v);
		second = search_answer(&f.search, 1).load;
		assert_near(second, 40000 / 0.9, m == SEARCH_RAMP ? 2100 : 900);
		assert_near(search_answer(&f.search, 1).throughput, 40000, 2000);
		assert_true(search_answer(&f.search, 0).load < second);
	}
}

static void latency_is_a_limit_as_well(void **state)
{
	for (enum search_method m = SEARCH_BISECT; m <= SEARCH_RAMP; m++) {
		struct server v = {.capacity = 40000};
		struct fixture f;

		prepare(&f, m);
		f.goals[0].latency_ns[GOAL_P99] = 1000000;
		assert_near(find(&f, &v).load, 36000, m == SEARCH_RAMP ? 2200 : 720);
	}
}

static void a_server_that_never_meets_the_goal_has_no_answer(void **state)
{
	for (enum search_method m = SEARCH_BISECT; m <= SEARCH_RAMP; m++) {
		struct server v = {.capacity = 40000, .loss = 0.02};
		struct fixture f;

		prepare(&f, m);
		assert_true(isnan(find(&f, &v).load));
		assert_false(search_answer(&f.search, 0).tester);
	}
}

static void a_server_that_meets_it_everywhere_has_no_upper_bound(void **state)
{
	for (enum search_method m = SEARCH_BISECT; m <= SEARCH_RAMP; m++) {
		struct server v = {.capacity = 1e6};
		struct fixture f;
		struct search_answer a;

		prepare(&f, m);
		a = find(&f, &v);
		assert_near(a.load, 200000, m == SEARCH_RAMP ? 1000 : 0);
		assert_true(isinf(a.upper));
	}
}

static void the_testers_own_limit_is_said_to_be_that(void **state)
{
	for (enum search_method m = SEARCH_BISECT; m <= SEARCH_RAMP; m++) {
		struct server v = {.capacity = 1e6, .limit = 50000};
		struct fixture f;
		struct search_answer a;

		prepare(&f, m);
		a = find(&f, &v);
		assert_true(a.tester);
		assert_near(a.load, 50000, m == SEARCH_RAMP ? 2100 : 1000);
	}
}

// At any point of the search.
static void an_invalid_trial_is_repeated_and_counts_for_nothing(void **state)
{
	for (enum search_method m = SEARCH_BISECT; m <= SEARCH_MLR; m++) {
		struct server v = {.capacity = 40000};
		struct fixture f;
		double expected;

		prepare(&f, m);
		expected = find(&f, &v).load;
		for (uint32_t n = f.search.count; n > 0; n--) {
			struct search_answer a;

			prepare(&f, m);
			v.bad_at = n;
			a = find(&f, &v);
			assert_near(a.load, expected, 0);
			assert_false(a.tester);
			assert_near(f.trials[n].load, f.trials[n - 1].load, 0);
		}
	}
}

static void a_confirmation_that_fails_moves_the_answer_down(void **state)
{
	struct server v = {.capacity = 40000};
	struct fixture f;
	double first;

	prepare(&f, SEARCH_BISECT);
	first = find(&f, &v).load;
	assert_int_equal(f.trials[f.search.count - 1].length_ns, f.settings.final_ns);
	f.trials[f.search.count - 1].loss = 0.01;
	assert_false(search_next(&f.search).done);
	assert_true(search_answer(&f.search, 0).load < first);
	v.capacity = 39000;
	assert_near(find(&f, &v).load, 39000, 800);
}

// Two of three full trials decide; a single bad one does not.
static void mlr_is_not_misled_by_one_bad_trial(void **state)
{
	struct server v = {.capacity = 40000};
	struct search_answer a;
	struct fixture f;
	uint32_t full = 0;

	prepare(&f, SEARCH_MLR);
	for (struct search_step step; !(step = search_next(&f.search)).done;) {
		struct search_trial *t = &f.trials[f.search.count++];

		*t = serve(&v, step.load, step.length_ns);
		if (step.length_ns == f.settings.final_ns && t->loss == 0 && full++ == 0)
			t->loss = 0.2;
	}
	a = search_answer(&f.search, 0);
	assert_true(full >= 2);
	assert_near(a.load, 40000, 600);
	assert_near(a.throughput, a.load, 1);
}

static void mlr_ends_with_long_trials_and_begins_with_short_ones(void **state)
{
	struct server v = {.capacity = 40000};
	struct fixture f;
	uint32_t full = 0;

	prepare(&f, SEARCH_MLR);
	find(&f, &v);
	assert_int_equal(f.trials[0].length_ns, f.settings.trial_ns);
	for (uint32_t i = 0; i < f.search.count; i++)
		full += f.trials[i].length_ns == f.settings.final_ns;
	assert_in_range(full, 4, 8); // two at each bound, and a few between
}

static void peak_and_collapse_are_named(void **state)
{
	struct server v = {.capacity = 40000, .collapse = 2};
	struct search_shape shape;
	struct fixture f;

	prepare(&f, SEARCH_BISECT);
	find(&f, &v);
	shape = search_shape(&f.search);
	assert_near(shape.peak_per_s, 40000, 800);
	assert_true(shape.collapse_load > shape.peak_load);
	assert_true(shape.collapse_per_s < 0.9 * shape.peak_per_s);
	v.collapse = 0;
	f.search.count = 0;
	find(&f, &v);
	assert_true(isnan(search_shape(&f.search).collapse_load));
}

static void a_count_is_never_a_fraction(void **state)
{
	for (enum search_method m = SEARCH_BISECT; m <= SEARCH_MLR; m++) {
		struct server v = {.capacity = 7.5};
		struct fixture f;

		prepare(&f, m);
		f.settings.from = 1;
		f.settings.to = 64;
		f.search.whole = true;
		assert_near(find(&f, &v).load, 7, 0);
		for (uint32_t i = 0; i < f.search.count; i++)
			assert_near(f.trials[i].load, round(f.trials[i].load), 0);
	}
}

static void add(struct fixture *f, struct search_trial t)
{
	f->trials[f->search.count++] = t;
}

static void refusals_count_as_loss_and_have_a_limit_of_their_own(void **state)
{
	const struct search_goal both = {.loss = 0.01, .failed = 1},
				 strict = {.loss = 0.01, .failed = 0.001};
	struct search_trial t = {.loss = 0.006, .failed = 0.003};

	assert_true(search_met(&both, &t));
	assert_false(search_met(&strict, &t));
	t.failed = 0.005;
	assert_false(search_met(&both, &t));
}

static void a_trial_that_a_rule_stopped_meets_no_goal(void **state)
{
	struct search_goal goal = {.loss = 0.01, .failed = 1};
	struct search_trial trial = {.load = 1000, .answered_per_s = 1000};
	(void)state;

	assert_true(search_met(&goal, &trial));
	trial.stopped = true;
	assert_false(search_met(&goal, &trial));
}

static void a_load_is_given_up_after_so_many_invalid_trials_in_a_row(void **state)
{
	struct search_trial invalid = {.load = 200000, .length_ns = 1000000000, .invalid = true};
	struct search_trial good = {.load = 200000, .length_ns = 1000000000};
	struct fixture f;

	prepare(&f, SEARCH_MLR);
	for (int i = 0; i < 2; i++)
		add(&f, invalid);
	assert_near(search_next(&f.search).load, 200000, 0);
	add(&f, good); // of full length only for the first phase
	add(&f, invalid);
	add(&f, invalid);
	assert_false(search_answer(&f.search, 0).tester);
	add(&f, invalid);
	assert_true(search_answer(&f.search, 0).tester);
}

// By hand: in three trials of 8 s, half of 24 s ends in the second best.
static void conditional_throughput_is_that_of_the_quantile(void **state)
{
	static const double losses[] = {0.004, 0, 0.002};
	struct fixture f;

	prepare(&f, SEARCH_MLR);
	for (int i = 0; i < 3; i++)
		add(&f, (struct search_trial){.load = 40000,
				.length_ns = 8000000000,
				.loss = losses[i],
				.answered_per_s = 40000 * (1 - losses[i])});
	assert_near(search_answer(&f.search, 0).load, 40000, 0);
	assert_near(search_answer(&f.search, 0).throughput, 40000 * 0.998, 1e-6);
	f.goals[0].exceed = 0.1;
	assert_near(search_answer(&f.search, 0).throughput, 40000 * 0.996, 1e-6);
}

static void short_bad_trials_count_as_far_as_they_outweigh_good_ones(void **state)
{
	struct search_trial t = {.load = 40000, .length_ns = 1000000000};
	struct fixture f;

	prepare(&f, SEARCH_MLR);
	f.settings.sum_ns = f.settings.final_ns;
	for (int i = 0; i < 17; i++) {
		t.loss = i % 2 ? 0 : 0.3; // 9 bad, 8 good
		add(&f, t);
	}
	t.loss = 0;
	t.length_ns = f.settings.final_ns;
	add(&f, t);
	assert_near(search_answer(&f.search, 0).load, 40000, 0);
	t.length_ns = 1000000000;
	t.loss = 0.3;
	for (int i = 0; i < 8; i++)
		add(&f, t);
	assert_true(isnan(search_answer(&f.search, 0).load));
}

static void one_bad_trial_is_no_collapse(void **state)
{
	static const double answered[] = {1000, 2000, 3000, 2000, 2990, 2980, 2000, 1900};
	struct fixture f;

	prepare(&f, SEARCH_RAMP);
	for (int i = 0; i < 8; i++)
		add(&f, (struct search_trial){
				.load = 1000 * (i + 1), .answered_per_s = answered[i]});
	assert_near(search_shape(&f.search).collapse_load, 7000, 0);
	f.search.count = 6;
	assert_true(isnan(search_shape(&f.search).collapse_load));
	f.trials[4].answered_per_s = 3000;
	assert_near(search_shape(&f.search).peak_load, 3000, 0); // the first that reached it
}

static void the_knee_is_where_latency_leaves_its_level_for_good(void **state)
{
	static const double p99[] = {1e5, 2e5, 1e5, 1e5, 9e5, 1.5e5, 2.9e5, 3.1e5, 5e5, 4e5};
	struct fixture f;

	prepare(&f, SEARCH_RAMP);
	for (int i = 9; i >= 0; i--)
		add(&f, (struct search_trial){
				.load = 1000 * (i + 1), .latency_ns[GOAL_P99] = p99[i]});
	assert_near(search_shape(&f.search).knee, 7000, 0);
	for (int i = 0; i < 4; i++) // more of a load are not more loads
		add(&f, (struct search_trial){.load = 500, .latency_ns[GOAL_P99] = i ? 9e5 : 1e4});
	assert_near(search_shape(&f.search).knee, 2000, 0);
	f.search.trials = f.trials + 4; // without the last four
	f.search.count = 6;
	assert_true(isnan(search_shape(&f.search).knee));
}

// In trials, and in seconds of measuring for mlr.
static void a_search_takes_no_longer_than_it_has_to(void **state)
{
	struct server v = {.capacity = 40000};
	struct fixture f;

	prepare(&f, SEARCH_BISECT);
	f.settings.from = 1;
	f.settings.to = 1e6;
	find(&f, &v);
	assert_in_range(f.search.count, 8, 15);
	prepare(&f, SEARCH_MLR);
	find(&f, &v);
	assert_true(f.search.count <= 19 && f.time_s <= 73);
	v.capacity = 199000;
	prepare(&f, SEARCH_MLR);
	find(&f, &v);
	assert_true(f.search.count <= 13 && f.time_s <= 64);
}

static void without_trials_nothing_is_known(void **state)
{
	struct fixture f;

	prepare(&f, SEARCH_MLR);
	assert_true(isnan(search_answer(&f.search, 0).load));
	assert_true(isnan(search_shape(&f.search).peak_load));
	assert_false(search_next(&f.search).done);
}

// Trials of a disturbed box: trials that met the goal count nevertheless, the others are repeated.
static void a_disturbed_trial_counts_only_if_it_met_the_goal(void **state)
{
	struct fixture f;
	struct search_trial t = {.load = 200000, .length_ns = 8000000000, .undecided = true};

	prepare(&f, SEARCH_BISECT);
	f.search.count = 1;
	f.trials[0] = t;
	assert_near(search_answer(&f.search, 0).load, 200000, 0);
	f.trials[0].loss = 0.5;
	assert_true(isnan(search_answer(&f.search, 0).load));
	assert_true(isinf(search_answer(&f.search, 0).upper));
	for (; f.search.count < f.settings.attempts; f.search.count++)
		f.trials[f.search.count] = f.trials[0];
	assert_near(search_answer(&f.search, 0).upper, 200000, 0);
	assert_true(search_answer(&f.search, 0).tester && search_answer(&f.search, 0).undecided);
	f.trials[2].undecided = false;
	f.trials[2].invalid = true; // the last one decides on the name
	assert_true(search_answer(&f.search, 0).tester && !search_answer(&f.search, 0).undecided);
	f.trials[2].invalid = false; // and here a server that failed
	assert_false(search_answer(&f.search, 0).tester);
}

static void trials_that_are_spoilt_at_any_load_end_a_search(void **state)
{
	struct fixture f;

	prepare(&f, SEARCH_MLR);
	for (uint32_t i = 0; i < 6; i++) {
		// The first three: a tester too slow for that load. The others: as often as any
		// load is attempted.
		assert_false(search_is_spoilt(&f.search));
		f.trials[f.search.count++] = (struct search_trial){.load = i < 3 ? 200000 : 100000,
			.loss = 0.5,
			.invalid = i < 2,
			.undecided = i >= 2,
			.crowded = true};
	}
	assert_true(search_is_spoilt(&f.search));
	for (uint32_t i = 3; i < 6; i++)
		f.trials[i].load = 100001;
	assert_false(search_is_spoilt(&f.search));
	for (uint32_t i = 3; i < 6; i++)
		f.trials[i].load = 100000;
	f.trials[1].crowded = false; // a trial disturbed by the load itself
	assert_false(search_is_spoilt(&f.search));
	f.trials[1].crowded = true;
	f.trials[1].invalid = false; // a trial with a result
	assert_false(search_is_spoilt(&f.search));
	f.trials[1].invalid = true;
	f.search.count = 3;
	for (uint32_t i = 0; i < 3; i++)
		f.trials[i].load = f.settings.from; // there is no lower load
	assert_true(search_is_spoilt(&f.search));
	f.settings.method = SEARCH_RAMP;
	assert_false(search_is_spoilt(&f.search));
}

// The estimate is the time of the trials for a capacity in the middle of the known range.
static void the_time_that_is_left_is_that_of_the_trials_to_come(void **state)
{
	struct server v = {.capacity = 100500};
	struct fixture f;
	double said, took = 0;

	prepare(&f, SEARCH_BISECT);
	f.settings.warmup_ns = 500000000;
	f.settings.settle_ns = 1000000000;
	said = search_left_s(&f.search);
	for (struct search_step step = search_next(&f.search); !step.done;
		step = search_next(&f.search)) {
		f.trials[f.search.count++] = serve(&v, step.load, step.length_ns);
		took += 1e-9 * (double)step.length_ns + 1.5;
	}
	assert_near(said, took, 1e-6);
	assert_near(search_left_s(&f.search), 0, 0);
	f.settings.method = SEARCH_RAMP;
	assert_true(isnan(search_left_s(&f.search)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bisection_finds_a_capacity),
		cmocka_unit_test(bisection_verifies_what_bounds_the_answer),
		cmocka_unit_test(bisection_verifies_its_confirmation),
		cmocka_unit_test(bisection_ends_when_the_tester_cannot_confirm),
		cmocka_unit_test(mlr_finds_a_capacity),
		cmocka_unit_test(a_ramp_comes_within_a_step_of_the_capacity),
		cmocka_unit_test(one_bad_moment_does_not_end_a_ramp),
		cmocka_unit_test(losses_of_a_ramp_belong_to_where_they_were_sent),
		cmocka_unit_test(a_ramp_ends_when_it_is_enough),
		cmocka_unit_test(a_ramp_of_a_tester_that_fell_behind_is_made_again),
		cmocka_unit_test(one_bad_moment_of_the_tester_does_not_end_a_ramp),
		cmocka_unit_test(a_rule_that_ends_a_ramp_bounds_the_answer),
		cmocka_unit_test(what_a_queue_gives_back_is_no_throughput),
		cmocka_unit_test(the_throughput_of_a_ramp_is_a_mean_of_neighbours),
		cmocka_unit_test(a_ramp_that_goes_on_may_recover),
		cmocka_unit_test(intervals_become_trials_when_their_losses_are_known),
		cmocka_unit_test(a_search_from_the_lowest_value_rises_to_the_answer),
		cmocka_unit_test(a_search_that_rises_ends_at_the_highest_value),
		cmocka_unit_test(every_goal_has_its_answer),
		cmocka_unit_test(latency_is_a_limit_as_well),
		cmocka_unit_test(a_server_that_never_meets_the_goal_has_no_answer),
		cmocka_unit_test(a_server_that_meets_it_everywhere_has_no_upper_bound),
		cmocka_unit_test(the_testers_own_limit_is_said_to_be_that),
		cmocka_unit_test(an_invalid_trial_is_repeated_and_counts_for_nothing),
		cmocka_unit_test(a_confirmation_that_fails_moves_the_answer_down),
		cmocka_unit_test(mlr_is_not_misled_by_one_bad_trial),
		cmocka_unit_test(mlr_ends_with_long_trials_and_begins_with_short_ones),
		cmocka_unit_test(peak_and_collapse_are_named),
		cmocka_unit_test(a_count_is_never_a_fraction),
		cmocka_unit_test(a_disturbed_trial_counts_only_if_it_met_the_goal),
		cmocka_unit_test(trials_that_are_spoilt_at_any_load_end_a_search),
		cmocka_unit_test(the_time_that_is_left_is_that_of_the_trials_to_come),
		cmocka_unit_test(refusals_count_as_loss_and_have_a_limit_of_their_own),
		cmocka_unit_test(a_trial_that_a_rule_stopped_meets_no_goal),
		cmocka_unit_test(a_load_is_given_up_after_so_many_invalid_trials_in_a_row),
		cmocka_unit_test(conditional_throughput_is_that_of_the_quantile),
		cmocka_unit_test(short_bad_trials_count_as_far_as_they_outweigh_good_ones),
		cmocka_unit_test(one_bad_trial_is_no_collapse),
		cmocka_unit_test(the_knee_is_where_latency_leaves_its_level_for_good),
		cmocka_unit_test(a_search_takes_no_longer_than_it_has_to),
		cmocka_unit_test(without_trials_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

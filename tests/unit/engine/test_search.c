// SPDX-License-Identifier: BSD-3-Clause
// Searches against servers that are formulas: what they can do is known, so the answer is judged.
// Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "base/rand.h"
#include "engine/search.h"

#define ROOM 1200

// A server: what it can do per second, what of that remains far beyond it, what it loses at random.
struct server {
	double capacity;
	double collapse; // share of the capacity lost for each capacity of overload
	double loss;
	double noise;    // relative, of the capacity, per trial
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

	return (struct search_trial){.load = load,
		.length_ns = length_ns,
		.loss = 1 - out / load,
		.p99_ns = load > 0.9 * v->capacity ? 5e6 : 1e5,
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
		.attempts = 3,
		.steps = 100,
	};
	f->search = (struct search){.settings = &f->settings, .trials = f->trials};
}

static struct search_answer find(struct fixture *f, struct server *v)
{
	struct search_step step;

	for (;;) {
		step = search_next(&f->search);
		if (step.done || f->search.count == ROOM)
			break;
		assert_true(step.load >= f->settings.from && step.load <= f->settings.to);
		f->trials[f->search.count] = serve(v, step.load, step.length_ns);
		f->trials[f->search.count].invalid |= f->search.count + 1 == v->bad_at;
		f->search.count++;
		f->time_s += 1e-9 * (double)step.length_ns;
	}
	assert_true(step.done);
	assert_true(f->search.count < 200);
	return search_answer(&f->search, 0);
}

// How many of 20 seeded searches end within `tolerance` of the capacity.
static uint32_t found(enum search_method method, struct server like, double tolerance)
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
		a = find(&f, &v);
		if (fabs(a.load - v.capacity) <= tolerance * v.capacity)
			n++;
	}
	return n;
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
	assert_float_equal(search_shape(&f.search).knee, a.load * 0.9, 4000);
}

static void one_bad_step_does_not_end_a_ramp(void **state)
{
	struct server v = {.capacity = 80000};
	struct fixture f;

	prepare(&f, SEARCH_RAMP);
	find(&f, &v);
	f.search.count = 0;
	for (struct search_step step; !(step = search_next(&f.search)).done;) {
		f.trials[f.search.count] = serve(&v, step.load, step.length_ns);
		if (f.search.count == 7)
			f.trials[7].loss = 0.2;
		f.search.count++;
	}
	assert_true(search_answer(&f.search, 0).load > 75000);
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
		assert_float_equal(second, 40000 / 0.9, m == SEARCH_RAMP ? 2100 : 900);
		assert_float_equal(search_answer(&f.search, 1).throughput, 40000, 2000);
		assert_true(search_answer(&f.search, 0).load < second);
	}
}

static void latency_is_a_limit_as_well(void **state)
{
	for (enum search_method m = SEARCH_BISECT; m <= SEARCH_RAMP; m++) {
		struct server v = {.capacity = 40000};
		struct fixture f;

		prepare(&f, m);
		f.goals[0].p99_ns = 1000000;
		assert_float_equal(find(&f, &v).load, 36000, m == SEARCH_RAMP ? 2200 : 720);
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
		assert_float_equal(a.load, 200000, 0);
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
		assert_float_equal(a.load, 50000, m == SEARCH_RAMP ? 2100 : 1000);
	}
}

// In any place of the search.
static void an_invalid_trial_is_repeated_and_counts_for_nothing(void **state)
{
	for (enum search_method m = SEARCH_BISECT; m <= SEARCH_RAMP; m++) {
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
			assert_float_equal(a.load, expected, 0);
			assert_false(a.tester);
			assert_float_equal(f.trials[n].load, f.trials[n - 1].load, 0);
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
	assert_float_equal(find(&f, &v).load, 39000, 800);
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
	assert_float_equal(a.load, 40000, 600);
	assert_float_equal(a.throughput, a.load, 1);
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
	assert_float_equal(shape.peak_per_s, 40000, 800);
	assert_true(shape.collapse_load > shape.peak_load);
	assert_true(shape.collapse_per_s < 0.9 * shape.peak_per_s);
	v.collapse = 0;
	f.search.count = 0;
	find(&f, &v);
	assert_true(isnan(search_shape(&f.search).collapse_load));
}

static void a_count_is_never_a_fraction(void **state)
{
	for (enum search_method m = SEARCH_BISECT; m <= SEARCH_RAMP; m++) {
		struct server v = {.capacity = 7.5};
		struct fixture f;

		prepare(&f, m);
		f.settings.from = 1;
		f.settings.to = 64;
		f.settings.steps = 64;
		f.search.whole = true;
		assert_float_equal(find(&f, &v).load, 7, 0);
		for (uint32_t i = 0; i < f.search.count; i++)
			assert_float_equal(f.trials[i].load, round(f.trials[i].load), 0);
	}
}

static void without_trials_nothing_is_known(void **state)
{
	struct fixture f;

	prepare(&f, SEARCH_MLR);
	assert_true(isnan(search_answer(&f.search, 0).load));
	assert_true(isnan(search_shape(&f.search).peak_load));
	assert_false(search_next(&f.search).done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bisection_finds_a_capacity),
		cmocka_unit_test(mlr_finds_a_capacity),
		cmocka_unit_test(a_ramp_comes_within_a_step_of_the_capacity),
		cmocka_unit_test(one_bad_step_does_not_end_a_ramp),
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
		cmocka_unit_test(without_trials_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

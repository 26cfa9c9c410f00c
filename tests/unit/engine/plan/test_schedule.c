// SPDX-License-Identifier: BSD-3-Clause
// Load shapes: every due time follows the formula of the shape, for 10^7 sends and without drift;
// workers share a shape without changing it; sends due and not taken are counted exactly; random
// arrivals are Poisson's. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/plan/schedule.h"

#define HZ    2599999713.0L
#define START 987654321ull
#define MANY  10000000ull
#define S     1000000000ull
#define BOUND (1e-9L * SCHEDULE_ERROR_NS * HZ + 2) // ticks

static const struct pace_share alone = {0, 1};

static void build(struct schedule *s, struct load_settings l, uint64_t lead_ns)
{
	const struct schedule_base base = {.hz = (double)HZ, .lead_ns = lead_ns, .seed = 7};

	if (l.stop_at_ns == 0)
		l.stop_at_ns = UINT64_MAX;
	assert_int_equal(schedule_build(s, &l, &base), 0);
}

static struct pace start(const struct schedule *s, struct pace_share share)
{
	struct pace p = {.left = UINT64_MAX, .measure = START};

	pace_start(&p, s, START, share);
	return p;
}

// Returns the ticks from the start to the k-th send.
typedef long double (*formula)(uint64_t k);

// Takes every send, as a drift adds up; no send may be due before the previous one. The formula
// costs more than the send, so it checks both ends and, between them, each 997th: all places of a
// burst in turn. Returns the pace after the last one; its schedule is freed.
static struct pace assert_follows(struct schedule *s, formula due, uint64_t sends)
{
	struct pace p = start(s, alone);
	uint64_t last = 0;

	for (uint64_t k = 0; k < sends; k++) {
		uint64_t tick = pace_pop(&p, 0);

		if (tick < last)
			fail_msg("send %llu is due before the last one", (unsigned long long)k);
		last = tick;
		if (k % 997 != 0 && k > 1000 && k < sends - 1000)
			continue;
		if (fabsl((long double)(tick - START) - due(k)) > BOUND)
			fail_msg("send %llu is due at %llu and not at %.1Lf", (unsigned long long)k,
				(unsigned long long)(tick - START), due(k));
	}
	assert_int_equal(pace_over(&p, 0), p.next == PACE_NEVER);
	schedule_free(s);
	return p;
}

// --- each shape against its formula -------------------------------------------------------------

// From 0 to 400 k/s in 40 s, 8 x 10^6 sends, then at that rate: N = r t^2 / (2 T).
static struct ramp_settings ramp = {0, 400000, 40 * S, UINT64_MAX};

static long double ramp_due(uint64_t k)
{
	long double n = (long double)k + 0.5L;

	if (n < 8e6L)
		return HZ * sqrtl(2 * n * 40 / 400000);
	return HZ * (40 + (n - 8e6L) / 400000);
}

static void a_ramp_grows_evenly_and_holds(void **state)
{
	struct schedule s;

	build(&s, (struct load_settings){.ramp = &ramp}, 0);
	assert_follows(&s, ramp_due, MANY);
}

// resperf's: sent(t) = m t^2 / (2 r) while t < r, then m r / 2 + m (t - r).
static void a_ramp_sends_what_resperf_sends(void **state)
{
	struct ramp_settings like = {0, 100000, 60 * S, UINT64_MAX};
	struct schedule s;
	struct pace p;

	build(&s, (struct load_settings){.ramp = &like}, 0);
	p = start(&s, alone);
	assert_int_equal(pace_backlog(&p, START + (uint64_t)(30 * HZ)), 750000);
	assert_int_equal(pace_backlog(&p, START + (uint64_t)(60 * HZ)), 3000000);
	assert_int_equal(pace_backlog(&p, START + (uint64_t)(61 * HZ)), 3100000);
	schedule_free(&s);
}

static long double ramp_from_due(uint64_t k)
{
	long double n = (long double)k + 0.5L - 2000, slope = 99000.0L / 10;

	if (n < 0)
		return HZ * (n + 2000) / 1000;
	return HZ * (2 + (-1000 + sqrtl(1000 * 1000 + 2 * slope * n)) / slope);
}

static void a_ramp_is_led_up_to_at_its_first_rate(void **state)
{
	struct ramp_settings from = {1000, 100000, 10 * S, 0};
	struct schedule s;

	build(&s, (struct load_settings){.ramp = &from}, 2 * S);
	assert_follows(&s, ramp_from_due, 2000 + 505000);
}

static struct load_step steps[] = {
	{333333, 3 * S}, {0, 2 * S}, {1000000, 4 * S}, {7, 5 * S}, {5000000, S}};

static long double steps_due(uint64_t k)
{
	long double n = (long double)k + 0.5L, time = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		long double length = 1e-9L * (long double)steps[i].for_ns;
		long double sends = length * (long double)steps[i].rate;

		if (n < sends)
			return HZ * (time + n / (long double)steps[i].rate);
		n -= sends;
		time += length;
	}
	return INFINITY;
}

static void steps_follow_each_other_and_end(void **state)
{
	const uint64_t all = 999999 + 4000000 + 35 + 5000000;
	struct load_settings l = {.steps = {steps, 5}};
	struct schedule s;
	struct pace p;

	build(&s, l, 0);
	p = start(&s, alone);
	assert_int_equal(pace_backlog(&p, PACE_NEVER), all);
	p = assert_follows(&s, steps_due, all);
	assert_true(p.next == PACE_NEVER);
}

static struct wave_settings wave = {500000, 400000, 3 * S};

// N = m t + a P / (2 pi) (1 - cos(2 pi t / P)), solved by bisection.
static long double wave_due(uint64_t k)
{
	const long double turn = 2 * acosl(-1), period = 3, sends = 1500000;
	long double n = fmodl((long double)k + 0.5L, sends), low = 0, high = period;

	for (int i = 0; i < 64; i++) {
		long double t = (low + high) / 2;
		long double sum =
			500000 * t + 400000 * period / turn * (1 - cosl(turn * t / period));

		*(sum > n ? &high : &low) = t;
	}
	return HZ * (floorl(((long double)k + 0.5L) / sends) * period + low);
}

static void a_wave_rises_and_falls_without_drift(void **state)
{
	struct load_settings l = {.wave = &wave};
	struct schedule s;
	struct pace p;

	build(&s, l, 0);
	assert_follows(&s, wave_due, MANY);
	// Every wave holds the mean times its period, after a year too.
	build(&s, l, 0);
	p = start(&s, alone);
	assert_int_equal(pace_backlog(&p, START + (uint64_t)(3 * HZ)), 1500000);
	assert_int_equal(pace_backlog(&p, START + (uint64_t)(30000000 * HZ)), 15000000000000);
	schedule_free(&s);
}

static void a_wave_that_touches_zero_goes_on(void **state)
{
	struct wave_settings low = {1000, 1000, S};
	struct schedule s;
	struct pace p;

	build(&s, (struct load_settings){.wave = &low}, 500000000);
	p = start(&s, alone);
	assert_int_equal(pace_backlog(&p, START + (uint64_t)(0.5L * HZ)), 500);
	assert_int_equal(pace_backlog(&p, START + (uint64_t)(3.5L * HZ)), 3500);
	schedule_free(&s);
}

static void a_wave_without_amplitude_is_a_constant_rate(void **state)
{
	struct wave_settings flat = {1000, 0, S};
	struct schedule s;
	struct pace p;

	build(&s, (struct load_settings){.wave = &flat}, 0);
	p = start(&s, alone);
	for (uint64_t k = 0; k < 5000; k++)
		assert_true(fabsl((long double)(pace_pop(&p, 0) - START) -
				    HZ * ((long double)k + 0.5L) / 1000) < 2);
	schedule_free(&s);
}

static long double burst_due(uint64_t k)
{
	return HZ * ((long double)(k / 13) + 0.5L) * 0.007L;
}

static void bursts_are_due_at_once_and_at_even_times(void **state)
{
	struct burst_settings burst = {13, 7000000};
	struct schedule s;

	build(&s, (struct load_settings){.burst = &burst}, 0);
	assert_follows(&s, burst_due, MANY);
}

static long double storm_due(uint64_t k)
{
	return HZ * ((long double)k + 0.5L) * 60 / (long double)MANY;
}

static void a_storm_is_everyone_once(void **state)
{
	struct storm_settings storm = {MANY, 60 * S}, at_once = {1000, 0};
	struct schedule s;
	struct pace p;

	build(&s, (struct load_settings){.storm = &storm}, 0);
	p = start(&s, alone);
	assert_int_equal(pace_backlog(&p, PACE_NEVER), MANY);
	assert_follows(&s, storm_due, MANY);
	build(&s, (struct load_settings){.storm = &at_once}, 0);
	p = start(&s, alone);
	for (int k = 0; k < 1000; k++)
		assert_int_equal(pace_pop(&p, 0), START);
	assert_true(p.next == PACE_NEVER);
	schedule_free(&s);
}

static void a_replay_keeps_to_its_times_at_any_speed(void **state)
{
	const uint64_t times[] = {0, 1, 1, 1000000000, 86400000000000};
	const struct schedule_base base = {
		.hz = 1e9, .times_ns = times, .times_count = sizeof(times) / sizeof(times[0])};
	const double speeds[] = {1, 2, 0.5};

	for (size_t i = 0; i < 3; i++) {
		struct replay_settings replay = {"", speeds[i], NULL};
		struct load_settings l = {.replay = &replay, .stop_at_ns = UINT64_MAX};
		struct schedule s;
		struct pace p;

		assert_int_equal(schedule_build(&s, &l, &base), 0);
		p = start(&s, alone);
		assert_int_equal(pace_backlog(&p, START + 1), speeds[i] == 2 ? 3 : 1);
		assert_int_equal(pace_backlog(&p, PACE_NEVER), 5);
		for (size_t k = 0; k < 5; k++)
			assert_int_equal(
				pace_pop(&p, 0), START + (uint64_t)((double)times[k] / speeds[i]));
		assert_true(p.next == PACE_NEVER);
		schedule_free(&s);
	}
}

static void nothing_is_due_from_the_stop_on(void **state)
{
	struct burst_settings burst = {10, 10000000};
	struct load_settings all[] = {{.rate = 1000}, {.ramp = &ramp}, {.wave = &wave},
		{.burst = &burst}, {.rate = 1000, .arrivals = ARRIVALS_POISSON}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct schedule s;
		struct pace p;
		uint64_t n = 0, last = 0, backlog;

		all[i].stop_at_ns = 500000000;
		build(&s, all[i], 0);
		p = start(&s, alone);
		backlog = pace_backlog(&p, PACE_NEVER);
		for (; p.next != PACE_NEVER; n++)
			last = pace_pop(&p, 0);
		assert_true(n > 400 && last < START + (uint64_t)(HZ / 2) && n == backlog);
		schedule_free(&s);
	}
}

// --- shared by workers ---------------------------------------------------------------------------

static struct load_settings mixed_shape(int i)
{
	static struct ramp_settings steep = {100, 50000, S, S};
	static struct wave_settings quick = {3000, 3000, 100000000};
	static struct burst_settings burst = {7, 3000000};
	static struct storm_settings storm = {5003, S};
	const struct load_settings all[] = {{.rate = 33333}, {.ramp = &steep},
		{.steps = {steps, 5}}, {.wave = &quick}, {.burst = &burst}, {.storm = &storm},
		{.rate = 5000, .arrivals = ARRIVALS_POISSON},
		{.wave = &quick, .arrivals = ARRIVALS_POISSON}};

	return all[i];
}

#define SHAPES 8

static void workers_together_send_what_one_would(void **state)
{
	for (int i = 0; i < SHAPES; i++)
		for (uint32_t n = 1; n <= 5; n++) {
			struct pace one, many[5];
			struct schedule s;

			build(&s, mixed_shape(i), 0);
			one = start(&s, alone);
			for (uint32_t w = 0; w < n; w++)
				many[w] = start(&s, (struct pace_share){w, n});
			for (uint64_t k = 0; k < 20000; k++) {
				uint64_t due = one.next;

				assert_true(many[k % n].next == due);
				if (due == PACE_NEVER)
					break;
				pace_pop(&one, 0);
				pace_pop(&many[k % n], 0);
			}
			schedule_free(&s);
		}
}

static void the_backlog_is_what_would_be_taken(void **state)
{
	for (int i = 0; i < SHAPES; i++)
		for (uint32_t n = 1; n <= 3; n++) {
			struct schedule s;
			struct pace p, popped;
			uint64_t taken = 0;

			build(&s, mixed_shape(i), 10000000);
			p = popped = start(&s, (struct pace_share){n - 1, n});
			for (uint64_t at = START; at < START + (uint64_t)(2 * HZ); at += 30654321) {
				for (; popped.next < at; taken++)
					pace_pop(&popped, 0);
				assert_int_equal(pace_backlog(&p, at), taken);
				if (popped.next != PACE_NEVER)
					assert_int_equal(
						pace_backlog(&p, popped.next + 1) > taken, 1);
			}
			p.left = 3;
			assert_int_equal(pace_backlog(&p, PACE_NEVER - 1), 3);
			schedule_free(&s);
		}
}

static void what_is_dropped_is_what_would_have_been_taken(void **state)
{
	for (int i = 0; i < SHAPES; i++)
		for (uint64_t at = START; at < START + (uint64_t)(2 * HZ); at += 530654321) {
			struct schedule s;
			struct pace p, popped, missed;
			uint64_t dropped = 0, taken = 0, later = at + (uint64_t)(HZ / 3);

			build(&s, mixed_shape(i), 10000000);
			p = popped = missed = start(&s, (struct pace_share){1, 3});
			p.left = popped.left = missed.left = 1000;
			p.measure = popped.measure = missed.measure = at;
			for (; popped.next < at; taken++)
				pace_pop(&popped, 0);
			assert_int_equal(pace_missed(&missed, later), pace_backlog(&popped, later));
			assert_int_equal(pace_missed(&missed, at), 0);
			assert_int_equal(pace_missed(&missed, START + (at - START) / 2), 0);
			missed.left = 3;
			assert_true(pace_missed(&missed, later) <= 3);
			while (p.next < at)
				dropped += pace_drop(&p, at);
			assert_int_equal(dropped, taken);
			assert_int_equal(pace_drop(&p, at), 0);
			assert_int_equal(p.left, 1000);
			for (int k = 0; k < 500 && p.next != PACE_NEVER; k++)
				assert_int_equal(pace_pop(&p, 0), pace_pop(&popped, 0));
			schedule_free(&s);
		}
}

static void many_random_ones_are_dropped_by_and_by(void **state)
{
	struct schedule s;
	struct pace p;
	uint64_t n = 0, all;
	int calls = 0;

	build(&s, (struct load_settings){.rate = 2e5, .arrivals = ARRIVALS_POISSON}, 0);
	p = start(&s, alone);
	all = pace_backlog(&p, START + (uint64_t)HZ);
	for (; p.next < START + (uint64_t)HZ; calls++)
		n += pace_drop(&p, START + (uint64_t)HZ);
	assert_int_equal(n, all);
	assert_int_equal(calls, 4);
	schedule_free(&s);
}

// Waves of one and a half sends and of a whole number of ticks: every third send is due at a seam.
static void a_send_at_the_seam_of_two_waves_is_due_at_its_tick(void **state)
{
	const struct schedule_base base = {.hz = 1e9};
	struct wave_settings short_ones = {3, 2, 500000000};
	struct load_settings l = {.wave = &short_ones, .stop_at_ns = UINT64_MAX};
	struct schedule s;
	struct pace p, popped;

	assert_int_equal(schedule_build(&s, &l, &base), 0);
	p = popped = start(&s, alone);
	for (uint64_t k = 0; k < 30; k++) {
		assert_int_equal(pace_backlog(&p, popped.next), k);
		assert_int_equal(pace_backlog(&p, popped.next + 1), k + 1);
		if (k % 3 == 1)
			assert_int_equal(popped.next, START + (2 * k + 1) / 3 * 500000000);
		pace_pop(&popped, 0);
	}
	schedule_free(&s);
}

static void absurd_rates_have_a_backlog_too(void **state)
{
	struct ramp_settings slow = {0.001, 0.002, S, UINT64_MAX};
	struct ramp_settings fast = {0, 1e9, 3600 * S, UINT64_MAX};
	struct schedule s;
	struct pace p;

	build(&s, (struct load_settings){.ramp = &slow}, 0);
	p = start(&s, alone);
	assert_int_equal(pace_backlog(&p, START + (1ull << 62)), // 56 years
		(uint64_t)(((long double)(1ull << 62) / HZ - 1) * 0.002L + 0.0015L + 0.5L));
	assert_true(pace_backlog(&p, UINT64_MAX) < 1ull << 62);
	schedule_free(&s);
	build(&s, (struct load_settings){.ramp = &fast}, 0);
	p = start(&s, alone);
	assert_int_equal(pace_backlog(&p, START + (uint64_t)(3600 * HZ)), 1800000000000);
	schedule_free(&s);
}

// --- random arrivals -----------------------------------------------------------------------------

static int compare(const void *a, const void *b)
{
	const double *l = a, *r = b;

	return *l < *r ? -1 : *l > *r;
}

// Kolmogorov and Smirnov: the largest distance from the exponential distribution, at 0.1 %.
static void gaps_of_random_arrivals_are_exponential(void **state)
{
	const size_t n = 1000000;
	double *gaps = calloc(n, sizeof(*gaps)), worst = 0;
	struct schedule s;
	struct pace p;
	uint64_t last = START;

	build(&s, (struct load_settings){.rate = 1000, .arrivals = ARRIVALS_POISSON}, 0);
	p = start(&s, alone);
	for (size_t k = 0; k < n; k++) {
		uint64_t due = pace_pop(&p, 0);

		gaps[k] = (double)(due - last) / (double)HZ * 1000;
		last = due;
	}
	qsort(gaps, n, sizeof(*gaps), compare);
	for (size_t k = 0; k < n; k++) {
		double off = 1 - exp(-gaps[k]) - (double)k / (double)n;

		worst = fmax(worst, fmax(fabs(off), fabs(off - 1 / (double)n)));
	}
	assert_true(worst < 1.95 / sqrt((double)n));
	free(gaps);
	schedule_free(&s);
}

// Counts in windows of 10 ms have the variance of their mean.
static double dispersion(struct pace *p, uint64_t window, size_t windows, double *mean)
{
	double sum = 0, squares = 0;
	uint64_t end = START;

	for (size_t i = 0; i < windows; i++) {
		double n = 0;

		for (end += window; p->next < end; n++)
			pace_pop(p, 0);
		sum += n;
		squares += n * n;
	}
	*mean = sum / (double)windows;
	return (squares / (double)windows - *mean * *mean) / *mean;
}

static void random_arrivals_have_the_dispersion_of_poisson(void **state)
{
	struct schedule s;
	struct pace p;
	double mean, index;

	build(&s, (struct load_settings){.rate = 20000, .arrivals = ARRIVALS_POISSON}, 0);
	p = start(&s, alone);
	index = dispersion(&p, (uint64_t)(HZ / 100), 10000, &mean);
	assert_true(fabs(index - 1) < 0.05);
	assert_true(fabs(mean / 200 - 1) < 5 / sqrt(200.0 * 10000));
	schedule_free(&s);
	build(&s, (struct load_settings){.rate = 20000}, 0);
	p = start(&s, alone);
	assert_true(dispersion(&p, (uint64_t)(HZ / 100), 5000, &mean) < 0.01);
	schedule_free(&s);
}

static void the_same_seed_gives_the_same_arrivals(void **state)
{
	struct load_settings l = {
		.rate = 1000, .arrivals = ARRIVALS_POISSON, .stop_at_ns = UINT64_MAX};
	struct schedule_base base = {.hz = 1e9, .seed = 1};
	struct schedule s[3];
	struct pace p[3];
	unsigned same = 0;

	for (int i = 0; i < 3; i++) {
		base.seed = 1 + i / 2;
		assert_int_equal(schedule_build(&s[i], &l, &base), 0);
		p[i] = start(&s[i], alone);
	}
	for (int k = 0; k < 1000; k++) {
		uint64_t due = pace_pop(&p[0], 0);

		assert_true(pace_pop(&p[1], 0) == due);
		same += pace_pop(&p[2], 0) == due;
	}
	assert_true(same < 10);
	for (int i = 0; i < 3; i++)
		schedule_free(&s[i]);
}

// Clients are counted by the formula, and taken by the schedule.
static void the_formula_of_a_load_counts_what_its_schedule_sends(void **state)
{
	static struct ramp_settings rising = {100, 900, 3 * S, 1 * S};
	static struct wave_settings swinging = {500, 300, 7 * S / 2};
	static struct burst_settings burst = {64, S / 9};
	static struct storm_settings storm = {3000, 2 * S};
	static struct load_step list[] = {{300, S}, {0, S}, {800, 2 * S}};
	const struct load_settings shapes[] = {{.rate = 500}, {.ramp = &rising},
		{.wave = &swinging}, {.burst = &burst}, {.storm = &storm}, {.steps = {list, 3}}};
	const struct load_span span = {.warmup_ns = 2 * S, .duration_ns = 9 * S};

	for (uint32_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct load_settings l = shapes[i];
		uint64_t lead_ns = load_skips_warmup(&l) ? 0 : span.warmup_ns, sends = 0;
		struct schedule s;
		struct pace p;

		l.stop_at_ns = 8 * S;
		build(&s, l, lead_ns);
		p = start(&s, alone);
		for (double t = 0.3; t < 11; t += 0.7) {
			double of = t - (lead_ns ? 0 : 2), ticks = (double)HZ * of;
			double due = load_due(&l, &span, t);

			while (of > 0 && p.next - START < (uint64_t)ticks && p.next != PACE_NEVER &&
				++sends)
				pace_pop(&p, UINT64_MAX - 1);
			if (fabs(due - (double)sends) > 1 + (l.storm ? 1 : 0))
				fail_msg("shape %u, %g s: %g by the formula, %llu by the schedule",
					i, t, due, (unsigned long long)sends);
		}
		assert_true(load_whole(&l, &span) >= sends);
		schedule_free(&s);
	}
}

static void a_total_and_chance_count_in_the_number_of_a_run(void **state)
{
	const struct load_span span = {.warmup_ns = 1 * S, .duration_ns = 10 * S};
	struct load_settings l = {.rate = 500, .stop_at_ns = UINT64_MAX};

	assert_int_equal(load_whole(&l, &span), 5500);
	l.total = 100; // of the measured part
	assert_int_equal(load_whole(&l, &span), 600);
	l.total = 0;
	l.arrivals = ARRIVALS_POISSON;
	assert_int_equal(load_whole(&l, &span), 5945);
	l = (struct load_settings){.rate = INFINITY};
	assert_int_equal(load_whole(&l, &span), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ramp_grows_evenly_and_holds),
		cmocka_unit_test(a_ramp_sends_what_resperf_sends),
		cmocka_unit_test(a_ramp_is_led_up_to_at_its_first_rate),
		cmocka_unit_test(steps_follow_each_other_and_end),
		cmocka_unit_test(a_wave_rises_and_falls_without_drift),
		cmocka_unit_test(a_wave_that_touches_zero_goes_on),
		cmocka_unit_test(a_wave_without_amplitude_is_a_constant_rate),
		cmocka_unit_test(bursts_are_due_at_once_and_at_even_times),
		cmocka_unit_test(a_storm_is_everyone_once),
		cmocka_unit_test(a_replay_keeps_to_its_times_at_any_speed),
		cmocka_unit_test(nothing_is_due_from_the_stop_on),
		cmocka_unit_test(workers_together_send_what_one_would),
		cmocka_unit_test(the_backlog_is_what_would_be_taken),
		cmocka_unit_test(what_is_dropped_is_what_would_have_been_taken),
		cmocka_unit_test(many_random_ones_are_dropped_by_and_by),
		cmocka_unit_test(a_send_at_the_seam_of_two_waves_is_due_at_its_tick),
		cmocka_unit_test(absurd_rates_have_a_backlog_too),
		cmocka_unit_test(gaps_of_random_arrivals_are_exponential),
		cmocka_unit_test(random_arrivals_have_the_dispersion_of_poisson),
		cmocka_unit_test(the_same_seed_gives_the_same_arrivals),
		cmocka_unit_test(the_formula_of_a_load_counts_what_its_schedule_sends),
		cmocka_unit_test(a_total_and_chance_count_in_the_number_of_a_run),
	};

	return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}

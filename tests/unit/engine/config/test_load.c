// SPDX-License-Identifier: BSD-3-Clause
// Load shapes: which combinations are refused, the highest rate of a shape, and the transaction
// slots that it needs, each at the boundary. Path: cold. Test.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/config/load.h"

#define SECOND 1000000000ull
#define NO_END .stop_at_ns = UINT64_MAX, .slots = UINT64_MAX

static struct ramp_settings ramp = {0, 500, 2 * SECOND, UINT64_MAX};
static struct wave_settings wave = {300, 200, SECOND};
static struct burst_settings burst = {100, SECOND / 10};
static struct storm_settings storm = {5000, 2 * SECOND};
static struct replay_settings replay = {"times", 1, NULL};
static struct load_step steps[] = {{100, SECOND}, {700, 2 * SECOND}, {0, 3 * SECOND}};

static struct load_settings with_steps(uint32_t count)
{
	return (struct load_settings){.steps = {steps, count}, NO_END};
}

static void only_a_number_of_sends_a_second_is_an_open_loop(void **state)
{
	const struct load_settings open = {.rate = 5}, max = {.rate = INFINITY};
	const struct load_settings closed = {.outstanding = 1}, replayed = {.replay = &replay};

	assert_true(load_is_open(&open));
	assert_true(load_is_open(&replayed));
	assert_false(load_is_open(&max));
	assert_false(load_is_open(&closed));
}

static void a_load_with_a_start_or_an_end_of_its_own_sends_nothing_in_the_warmup(void **state)
{
	const struct load_settings plain = {.rate = 5}, later = {.rate = 5, .start_at_ns = 1};
	const struct load_settings once = {.storm = &storm}, file = {.replay = &replay};

	assert_false(load_skips_warmup(&plain));
	assert_true(load_skips_warmup(&later));
	assert_true(load_skips_warmup(&once));
	assert_true(load_skips_warmup(&file));
}

static void a_load_is_work_when_its_total_was_reached_or_its_shape_has_an_end(void **state)
{
	const struct load_settings plain = {.rate = 5}, total = {.rate = 5, .total = 1};
	const struct load_settings once = {.storm = &storm}, file = {.replay = &replay};

	assert_false(load_is_work(&plain, true));
	assert_false(load_is_work(&total, false));
	assert_true(load_is_work(&total, true));
	assert_true(load_is_work(&once, false));
	assert_true(load_is_work(&file, false));
}

static void the_peak_is_the_fastest_moment_of_a_shape(void **state)
{
	struct storm_settings half = {5000, SECOND / 2}, one = {5000, SECOND};
	const struct load_settings rate = {.rate = 20}, with_ramp = {.ramp = &ramp};
	const struct load_settings with_wave = {.wave = &wave}, with_burst = {.burst = &burst};
	const struct load_settings with_storm = {.storm = &storm}, at_once = {.storm = &half};
	const struct load_settings in_one = {.storm = &one}, closed = {.outstanding = 7};
	const struct load_settings one_step = with_steps(1), all_steps = with_steps(3);

	assert_true(load_peak(&rate) == 20);
	assert_true(load_peak(&with_ramp) == 500);
	assert_true(load_peak(&with_wave) == 500);
	assert_true(load_peak(&with_burst) == 1000);
	assert_true(load_peak(&with_storm) == 2500);
	assert_true(load_peak(&at_once) == 5000); // limited to the sends of one second
	assert_true(load_peak(&in_one) == 5000);
	assert_true(load_peak(&one_step) == 100);
	assert_true(load_peak(&all_steps) == 700);
	assert_true(load_peak(&closed) == 0);
}

static uint64_t slots(struct load_settings l, uint64_t hold_ns, uint64_t duration_ns)
{
	const struct load_span span = {hold_ns, SECOND, duration_ns};

	return load_slots(&l, &span);
}

#define OPEN(...)  ((struct load_settings){__VA_ARGS__, NO_END})
#define NEED(a, n) assert_int_equal(slots(a, 3 * SECOND, 3600 * SECOND), n)

static void an_open_loop_needs_its_peak_for_as_long_as_a_slot_is_held(void **state)
{
	struct storm_settings held = {5000, 3 * SECOND}, longer = {6000, 3 * SECOND + 1};

	NEED(OPEN(.rate = 1000), 3150 + 256);
	NEED(OPEN(.rate = 1000, .arrivals = ARRIVALS_POISSON), 3150 + 336 + 256); // 6 sigma
	NEED(OPEN(.burst = &burst), 3150 + 200 + 256);                            // two bursts more
	NEED(OPEN(.storm = &held), 5000 + 256);   // each client once, all in flight
	NEED(OPEN(.storm = &longer), 6299 + 256); // clients a second for 3 s, 5 % more
	NEED(((struct load_settings){.rate = 1000, .slots = 77}), 77);
}

static void a_closed_loop_needs_what_it_may_have_in_flight(void **state)
{
	NEED(OPEN(.outstanding = 1), 1);
	NEED(OPEN(.outstanding = 512, .total = 5), 512);
	NEED(((struct load_settings){.outstanding = 512, .slots = 77}), 77);
}

// Ten million per second while a slot is held; the run, the warm-up and a total are limits.
static void without_a_limit_the_slots_are_those_of_the_fastest_worker(void **state)
{
	NEED(OPEN(.rate = INFINITY), 16000000 + 1024); // no more than that without being asked
	assert_int_equal(slots(OPEN(.rate = INFINITY), SECOND / 10, SECOND), 1000000 + 1024);
	assert_int_equal(slots(OPEN(.rate = INFINITY), SECOND, SECOND / 10), 10000000 + 1024);
	assert_int_equal(slots(OPEN(.rate = INFINITY, .total = 5000), 3 * SECOND, SECOND),
		10000000 + 5000 + 1024);
}

static unsigned errors_of(struct load_settings l, uint64_t duration_ns)
{
	struct diag *d = diag_new();
	unsigned n;

	load_check(&l, duration_ns, d);
	n = diag_count(d);
	diag_free(d);
	return n;
}

#define RIGHT(...) assert_int_equal(errors_of(OPEN(__VA_ARGS__), 10 * SECOND), 0)
#define WRONG(...) assert_int_equal(errors_of(OPEN(__VA_ARGS__), 10 * SECOND), 1)

static void a_load_starts_and_stops_within_the_run(void **state)
{
	RIGHT(.rate = 5, .start_at_ns = 10 * SECOND - 1);
	WRONG(.rate = 5, .start_at_ns = 10 * SECOND);
	WRONG(.rate = 5, .start_at_ns = 11 * SECOND);
	assert_int_equal(errors_of((struct load_settings){.rate = 5, .stop_at_ns = 10 * SECOND},
				 10 * SECOND),
		0);
	assert_int_equal(errors_of((struct load_settings){.rate = 5, .stop_at_ns = 10 * SECOND + 1},
				 10 * SECOND),
		1);
	assert_int_equal(errors_of((struct load_settings){.rate = 5,
					   .start_at_ns = SECOND,
					   .stop_at_ns = SECOND + 1},
				 10 * SECOND),
		0);
	assert_int_equal(errors_of(
				 (struct load_settings){
					 .rate = 5, .start_at_ns = SECOND, .stop_at_ns = SECOND},
				 10 * SECOND),
		1);
}

static void a_shape_ends_with_the_run_or_before(void **state)
{
	struct ramp_settings all = {0, 5, 10 * SECOND, UINT64_MAX}, held = {0, 5, SECOND, 0};
	struct storm_settings wide = {5, 10 * SECOND};

	RIGHT(.ramp = &all);
	WRONG(.ramp = &all, .start_at_ns = 1);
	held.hold_ns = 9 * SECOND;
	RIGHT(.ramp = &held);
	held.hold_ns++;
	WRONG(.ramp = &held);
	RIGHT(.storm = &wide);
	wide.within_ns++;
	WRONG(.storm = &wide);
	assert_int_equal(errors_of(with_steps(3), 6 * SECOND), 0);
	assert_int_equal(errors_of(with_steps(3), 6 * SECOND - 1), 1);
	// Not twice, when it starts after the end.
	WRONG(.ramp = &all, .start_at_ns = 11 * SECOND);
}

static void a_shape_has_a_sense(void **state)
{
	struct ramp_settings level = {5, 5, SECOND, 0}, up = {4.9, 5, SECOND, 0};
	struct wave_settings deep = {5, 5, SECOND}, below = {5, 5.1, SECOND};
	struct load_step pauses[] = {{0, SECOND}, {0, SECOND}};

	WRONG(.ramp = &level);
	RIGHT(.ramp = &up);
	RIGHT(.wave = &deep);
	WRONG(.wave = &below);
	WRONG(.steps = {pauses, 2});
	RIGHT(.steps = {steps, 3});
}

static void random_arrivals_need_a_rate_and_a_slow_start_a_closed_loop(void **state)
{
	RIGHT(.rate = 5, .arrivals = ARRIVALS_POISSON);
	RIGHT(.ramp = &ramp, .arrivals = ARRIVALS_POISSON);
	RIGHT(.steps = {steps, 2}, .arrivals = ARRIVALS_POISSON);
	RIGHT(.wave = &wave, .arrivals = ARRIVALS_POISSON);
	WRONG(.rate = INFINITY, .arrivals = ARRIVALS_POISSON);
	WRONG(.burst = &burst, .arrivals = ARRIVALS_POISSON);
	WRONG(.storm = &storm, .arrivals = ARRIVALS_POISSON);
	WRONG(.replay = &replay, .arrivals = ARRIVALS_POISSON);
	WRONG(.outstanding = 5, .arrivals = ARRIVALS_POISSON);
	RIGHT(.outstanding = 5, .ramp_up_ns = 1);
	WRONG(.rate = 5, .ramp_up_ns = 1);
}

static void there_is_one_shape_exactly(void **state)
{
	WRONG(.total = 5);
	WRONG(.rate = 5, .outstanding = 5);
	WRONG(.rate = 5, .ramp = &ramp);
	WRONG(.wave = &wave, .steps = {steps, 1});
	WRONG(.burst = &burst, .storm = &storm, .replay = &replay);
}

// The settings that a section or a list stands for, by their rows.
static const struct field *row(const char *name)
{
	for (uint32_t i = 0; i < load_section.count; i++)
		if (strcmp(load_section.fields[i].name, name) == 0)
			return &load_section.fields[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void shapes_are_optional_sections_and_steps_a_list_of_them(void **state)
{
	const char *const shapes[] = {"ramp", "wave", "burst", "storm", "replay"};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		assert_true(row(shapes[i])->optional);
		assert_false(row(shapes[i])->list || row(shapes[i])->required);
	}
	assert_true(row("steps")->list);
	assert_false(row("steps")->optional || row("steps")->required);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_number_of_sends_a_second_is_an_open_loop),
		cmocka_unit_test(
			a_load_with_a_start_or_an_end_of_its_own_sends_nothing_in_the_warmup),
		cmocka_unit_test(a_load_is_work_when_its_total_was_reached_or_its_shape_has_an_end),
		cmocka_unit_test(the_peak_is_the_fastest_moment_of_a_shape),
		cmocka_unit_test(an_open_loop_needs_its_peak_for_as_long_as_a_slot_is_held),
		cmocka_unit_test(a_closed_loop_needs_what_it_may_have_in_flight),
		cmocka_unit_test(without_a_limit_the_slots_are_those_of_the_fastest_worker),
		cmocka_unit_test(a_load_starts_and_stops_within_the_run),
		cmocka_unit_test(a_shape_ends_with_the_run_or_before),
		cmocka_unit_test(a_shape_has_a_sense),
		cmocka_unit_test(random_arrivals_need_a_rate_and_a_slow_start_a_closed_loop),
		cmocka_unit_test(there_is_one_shape_exactly),
		cmocka_unit_test(shapes_are_optional_sections_and_steps_a_list_of_them),
	};

	return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}

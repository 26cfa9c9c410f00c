// SPDX-License-Identifier: BSD-3-Clause
// The calibrated clock agrees with the kernel's raw one, also after a refinement.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <time.h>

#include "base/clock.h"

static uint64_t raw_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Far looser than the contract, since a test machine may be suspended between two readings.
static void calibration_agrees_with_the_raw_clock(void **state)
{
	struct clock c;
	double drift_ns;
	uint64_t ns;

	clock_calibrate(&c, 20);
	assert_true(c.hz > 1e6 && c.hz < 1e11);
	do
		ns = raw_ns() - c.anchor_ns;
	while (ns < 100000000);
	drift_ns = clock_ns(&c, clock_now() - c.anchor_tsc) - (double)ns;
	assert_true(fabs(drift_ns) < 1e6);
}

static void calibration_takes_about_the_time_asked_for(void **state)
{
	uint64_t start = raw_ns(), took;
	struct clock c;

	clock_calibrate(&c, 30);
	took = raw_ns() - start;
	assert_in_range(took, 30000000, 500000000);
}

static void refining_keeps_the_anchor_and_the_rate(void **state)
{
	struct clock c, before;

	clock_calibrate(&c, 20);
	before = c;
	while (raw_ns() - c.anchor_ns < 60000000)
		;
	clock_refine(&c);
	assert_int_equal(c.anchor_tsc, before.anchor_tsc);
	assert_int_equal(c.anchor_ns, before.anchor_ns);
	assert_true(fabs(c.hz / before.hz - 1) < 1e-3);
}

static void ticks_and_nanoseconds_are_inverse(void **state)
{
	const struct clock c = {.hz = 2.5e9};

	assert_int_equal(clock_ticks(&c, 1000), 2500);
	assert_true(clock_ns(&c, 2500) == 1000);
}

// The wall clock may be set in between, and this thread may wait for a CPU.
static void a_time_of_the_wall_is_a_tick_and_back(void **state)
{
	const uint64_t set = 0;
	struct clock c;
	uint64_t tick, ns;

	clock_calibrate(&c, 20);
	tick = clock_now();
	for (int ms = -1000; ms <= 1000; ms += 500) {
		uint64_t at = tick + (uint64_t)(int64_t)(1e-3 * ms * c.hz);

		ns = clock_wall_ns(&c, at);
		assert_true(fabs(clock_ns(&c, clock_wall_tick(&c, ns)) - clock_ns(&c, at)) < 1e7);
		assert_true(fabs((double)ns - (double)clock_wall_ns(&c, tick) - 1e6 * ms) < 1e7);
	}
	c.set = &set;
	c.hz = 2.5e9;
	assert_int_equal(clock_wall_tick(&c, clock_wall_ns(&c, 1000000)), 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calibration_agrees_with_the_raw_clock),
		cmocka_unit_test(calibration_takes_about_the_time_asked_for),
		cmocka_unit_test(refining_keeps_the_anchor_and_the_rate),
		cmocka_unit_test(ticks_and_nanoseconds_are_inverse),
		cmocka_unit_test(a_time_of_the_wall_is_a_tick_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

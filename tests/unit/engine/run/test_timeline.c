// SPDX-License-Identifier: BSD-3-Clause
// The summary of a run's intervals: sums, and growth between half and end of the measured part, of
// a few intervals and of more than there is room for. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/run/collect/timeline.h"

static struct config config;
static struct arena *arena;
static struct timeline timeline;

static int setup(void **state)
{
	arena = arena_new();
	config = (struct config){.traffic = {NULL, 0}};
	timeline_start(&timeline, &config, arena);
	return 0;
}

static int teardown(void **state)
{
	arena_free(arena);
	return 0;
}

// Adds a second with some sends, one in ten of which stays open.
static void add(uint64_t n, uint64_t sent)
{
	struct result_interval_item item = {
		.due = sent + 1, .sent = sent, .answered = sent - sent / 10, .lost = 0};
	struct result_interval i = {.t_s = (double)n, .length_s = 1, .traffic = {&item, 1}};

	timeline_add(&timeline, &i);
}

static void intervals_are_summed_up(void **state)
{
	for (uint64_t n = 1; n <= 10; n++)
		add(n, 100);
	assert_int_equal(timeline.items[0].sum.due, 1010);
	assert_int_equal(timeline.items[0].sum.sent, 1000);
	assert_int_equal(timeline.items[0].sum.answered, 900);
	assert_int_equal(timeline.intervals, 10);
}

static void growth_is_from_half_of_the_measured_part(void **state)
{
	struct timeline_growth g;

	for (uint64_t n = 1; n <= 10; n++)
		add(n, 100);
	g = timeline_growth(&timeline, 0, 8); // the last two are the drain
	assert_int_equal(g.sent, 400);
	assert_int_equal(g.open, 80);
	assert_int_equal(g.grown, 40);
	g = timeline_growth(&timeline, 0, 8 - 1e-6); // by a clock whose rate was measured
	assert_int_equal(g.sent, 400);
	g = timeline_growth(&timeline, 0, 0.5);
	assert_int_equal(g.sent, 0);
	assert_int_equal(g.grown, 0);
	g = timeline_growth(&timeline, 0, 1.5); // nothing is known of its first half
	assert_int_equal(g.open, 10);
	assert_int_equal(g.grown, 0);
}

static void memory_does_not_grow_with_the_run(void **state)
{
	const uint64_t week = 604800;
	struct timeline_growth g;

	for (uint64_t n = 1; n <= week; n++)
		add(n, 100);
	assert_int_equal(timeline.items[0].sum.sent, 100 * week);
	assert_true(timeline.items[0].count <= TIMELINE_POINTS);
	assert_true(timeline.items[0].count >= TIMELINE_POINTS / 2);
	g = timeline_growth(&timeline, 0, (double)week);
	// By one kept interval at either end.
	assert_in_range(g.sent, 50 * week * 0.995, 50 * week * 1.005);
	assert_in_range(g.grown, 5 * week * 0.995, 5 * week * 1.005);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(intervals_are_summed_up),
		TEST(growth_is_from_half_of_the_measured_part),
		TEST(memory_does_not_grow_with_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

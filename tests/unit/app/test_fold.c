// SPDX-License-Identifier: BSD-3-Clause
// Intervals of many boxes as one: counts and histograms are added, whatever the clocks of the boxes
// and the order of their items. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/result/result_read.h"
#include "engine/result/result_fold.h"
#include "stats/json.h"

#define PARTS 1024

static struct {
	unsigned count;
	double hz[PARTS];
} m;
static json_t *parts[PARTS];
static json_t *sum;

static void add_part(double hz, json_t *interval)
{
	assert_non_null(interval);
	m.hz[m.count] = hz;
	parts[m.count++] = interval;
}

static void fold(enum fold_over over)
{
	struct arena *a = arena_new();
	const struct result_fold f = {over, a, a, m.hz[0]};
	struct result_interval all = {0};

	for (unsigned k = 0; k < m.count; k++) {
		struct result_interval one = {0};
		struct arena *of_one = arena_new();
		const char *why;

		assert_int_equal(
			result_read(&result_interval_section, parts[k], &one, of_one, &why), 0);
		result_fold_interval(&f, &all, &one, m.hz[k], k == 0);
		arena_free(of_one);
	}
	result_derive_interval(&f, &all);
	json_decref(sum);
	sum = stats_json(&result_interval_section, &all);
	arena_free(a);
}

static void merge(void)
{
	fold(FOLD_OVER_BOXES);
}

static json_t *item(const char *name, int sent)
{
	return json_pack("{s:s, s:i}", "name", name, "sent", sent);
}

static json_t *latency_of(const char *histogram, int count)
{
	return json_pack("{s:i, s:f, s:f, s:f, s:f, s:s}", "count", count, "min_ns", 500.0,
		"mean_ns", 500.0, "stddev_ns", 0.0, "max_ns", 1e9, "histogram", histogram);
}

static json_t *timed(const char *histogram, int count)
{
	return json_pack("{s:[{s:s, s:o}]}", "traffic", "name", "q", "send_lag",
		latency_of(histogram, count));
}

static const json_t *at(size_t i, const char *member)
{
	return json_object_get(json_array_get(json_object_get(sum, "traffic"), i), member);
}

static const char *histogram(void)
{
	return json_string_value(json_object_get(at(0, "send_lag"), "histogram"));
}

// 1000 ticks of 2 GHz are 1500 of 3 GHz.
static void boxes_with_one_clock_are_added_before_their_ticks_are_others(void **state)
{
	char plain[32], other[32];

	snprintf(plain, sizeof(plain), "%u:3", hist_bucket(1000));
	snprintf(other, sizeof(other), "%u:5", hist_bucket(1500));
	add_part(2e9, timed(plain, 3));
	add_part(3e9, timed(other, 5));
	add_part(2e9 + 100, timed(plain, 3));
	add_part(3e9 - 100, timed(other, 5));
	add_part(5e9, timed("", 0));
	merge();
	snprintf(plain, sizeof(plain), "%u:16", hist_bucket(1000));
	assert_string_equal(histogram(), plain);
	assert_int_equal(json_integer_value(json_object_get(at(0, "send_lag"), "count")), 16);
}

static void assert_no_histogram(double hz)
{
	m.hz[1] = hz;
	merge();
	assert_null(histogram());
	assert_true(json_is_null(json_object_get(at(0, "send_lag"), "p50_ns")));
}

static void the_histogram_of_an_unknown_clock_is_not_left_out_in_silence(void **state)
{
	add_part(2e9, timed("1000:1", 1));
	add_part(2e9, timed("1000:1", 1));
	merge();
	assert_string_equal(histogram(), "1000:2");
	assert_no_histogram(0);
	assert_no_histogram(-1);
	assert_no_histogram(NAN);
	assert_no_histogram(INFINITY);
}

static void a_sum_beyond_all_counts_stays_the_largest(void **state)
{
	for (int i = 0; i < 3; i++)
		add_part(2e9,
			json_pack("{s:[{s:s, s:I}]}", "traffic", "name", "q", "sent", INT64_MAX));
	merge();
	assert_true(json_number_value(at(0, "sent")) == 0x1p64);
}

static void items_are_found_by_their_names_in_any_order(void **state)
{
	add_part(1, json_pack("{s:[o,o]}", "traffic", item("a", 1), item("b", 10)));
	add_part(1,
		json_pack("{s:[o,o,o]}", "traffic", item("b", 20), item("c", 300), item("a", 2)));
	add_part(1,
		json_pack("{s:[o,o,o]}", "traffic", item("a", 4), item("c", 500), item("d", 7000)));
	merge();
	assert_int_equal(json_array_size(json_object_get(sum, "traffic")), 4);
	assert_int_equal(json_integer_value(at(0, "sent")), 7);
	assert_int_equal(json_integer_value(at(1, "sent")), 30);
	assert_int_equal(json_integer_value(at(2, "sent")), 800);
	assert_int_equal(json_integer_value(at(3, "sent")), 7000);
}

static void there_can_be_a_thousand_boxes(void **state)
{
	while (m.count < 1000)
		add_part(2e9, timed("1000:1", 1));
	merge();
	assert_string_equal(histogram(), "1000:1000");
}

static json_t *interval_over_time(int sent, int in_flight, double rate, const char *histogram)
{
	return json_pack("{s:[{s:s, s:i, s:i, s:f, s:{s:o}}], s:[{s:s, s:i, s:f}]}", "traffic",
		"name", "q", "sent", sent, "in_flight", in_flight, "sent_per_s", rate, "latency",
		"response", latency_of(histogram, 1), "workers", "port", "lan", "number", 1, "cpu",
		3.0);
}

// Counts add up, and of levels the newest counts; a rate follows from the sums, not from its
// interval alone.
static void over_time_levels_are_the_newest_and_rates_unknown(void **state)
{
	const json_t *worker;

	add_part(2e9, interval_over_time(10, 5, 100, "1000:1"));
	add_part(2e9, interval_over_time(20, 2, 200, "1010:1"));
	fold(FOLD_OVER_TIME);
	assert_int_equal(json_integer_value(at(0, "sent")), 30);
	assert_int_equal(json_integer_value(at(0, "in_flight")), 2);
	assert_true(json_is_null(at(0, "sent_per_s")));
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(at(0, "latency"), "response"), "histogram")),
		"1000:1 10:1");
	assert_int_equal(json_array_size(json_object_get(sum, "workers")), 1);
	worker = json_array_get(json_object_get(sum, "workers"), 0);
	assert_true(json_number_value(json_object_get(worker, "cpu")) == 3);
	assert_null(json_object_get(worker, "part"));
}

// Over boxes, levels and rates are sums.
static void over_boxes_levels_and_rates_add_up(void **state)
{
	add_part(2e9, interval_over_time(10, 5, 100, "1000:1"));
	add_part(2e9, interval_over_time(20, 2, 200, "1010:1"));
	fold(FOLD_OVER_BOXES);
	assert_int_equal(json_integer_value(at(0, "sent")), 30);
	assert_int_equal(json_integer_value(at(0, "in_flight")), 7);
	assert_true(json_number_value(at(0, "sent_per_s")) == 300);
}

// The replies to requests of two snapshots before the first are of three before the second, in
// whatever order the two are added.
static void earlier_replies_keep_their_places_in_time(void **state)
{
	struct arena *a = arena_new();
	const struct result_fold f = {FOLD_OVER_BOXES, a, a, 1e9};
	const struct result_earlier one[] = {{2, 5, 1, 100}, {3, 1, 0, 50}},
				    other[] = {{3, 7, 0, 70}};
	struct result_interval_item items[] = {{.name = "q", .earlier = one, .earlier_count = 2},
		{.name = "q", .earlier = other, .earlier_count = 1}};
	struct result_interval parts_of[] = {{.number = 8, .traffic = {&items[0], 1}},
		{.number = 9, .traffic = {&items[1], 1}}},
			       all = {0};
	const struct result_interval_item *of;

	for (unsigned first = 0; first < 2; first++) {
		memset(&all, 0, sizeof(all));
		result_fold_interval(&f, &all, &parts_of[first], 1e9, true);
		result_fold_interval(&f, &all, &parts_of[1 - first], 1e9, false);
		of = all.traffic.items;
		assert_int_equal(all.number, 9);
		assert_int_equal(of->earlier_count, 2);
		assert_int_equal(of->earlier[0].back, 3);
		assert_int_equal(of->earlier[0].answered, 12);
		assert_true(of->earlier[0].time_ns == 170);
		assert_int_equal(of->earlier[1].back, 4);
		assert_int_equal(of->earlier[1].answered, 1);
	}
	arena_free(a);
}

static int setup(void **state)
{
	memset(&m, 0, sizeof(m));
	return 0;
}

static int teardown(void **state)
{
	while (m.count)
		json_decref(parts[--m.count]);
	json_decref(sum);
	sum = NULL;
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(boxes_with_one_clock_are_added_before_their_ticks_are_others),
		TEST(the_histogram_of_an_unknown_clock_is_not_left_out_in_silence),
		TEST(a_sum_beyond_all_counts_stays_the_largest),
		TEST(items_are_found_by_their_names_in_any_order),
		TEST(there_can_be_a_thousand_boxes),
		TEST(over_time_levels_are_the_newest_and_rates_unknown),
		TEST(over_boxes_levels_and_rates_add_up),
		TEST(earlier_replies_keep_their_places_in_time),
	};

	return cmocka_run_group_tests_name("app/fold", tests, NULL, NULL);
}

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

#include "engine/result/result.h"
#include "merge/merge.h"

static struct merge m;
static json_t *parts[MERGE_PARTS];
static json_t *sum;

static void add_part(double hz, json_t *interval)
{
	assert_non_null(interval);
	m.part[m.count] = m.count + 1;
	m.hz[m.count] = hz;
	parts[m.count++] = interval;
}

static void merge(void)
{
	sum = merge_objects(&m, &result_interval_section, parts);
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
	json_decref(sum);
	m.hz[1] = hz;
	merge();
	assert_null(histogram());
	assert_null(json_object_get(at(0, "send_lag"), "p50_ns"));
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

static void a_sum_beyond_all_counts_is_no_other_number(void **state)
{
	for (int i = 0; i < 3; i++)
		add_part(2e9,
			json_pack("{s:[{s:s, s:I}]}", "traffic", "name", "q", "sent", INT64_MAX));
	merge();
	assert_true(json_number_value(at(0, "sent")) == 3 * 0x1p63);
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
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(boxes_with_one_clock_are_added_before_their_ticks_are_others),
		TEST(the_histogram_of_an_unknown_clock_is_not_left_out_in_silence),
		TEST(a_sum_beyond_all_counts_is_no_other_number),
		TEST(items_are_found_by_their_names_in_any_order),
		TEST(there_can_be_a_thousand_boxes),
	};

	return cmocka_run_group_tests_name("app/merge", tests, NULL, NULL);
}

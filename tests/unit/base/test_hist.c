// SPDX-License-Identifier: BSD-3-Clause
// Histograms against sorted arrays: percentiles, lost samples above, sums beyond 64 bits,
// differences.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/rand.h"

#define SAMPLES 20000

static uint64_t sorted[SAMPLES];
static struct hist h, other, merged;

static int compare(const void *a, const void *b)
{
	uint64_t l = *(const uint64_t *)a, r = *(const uint64_t *)b;

	return l < r ? -1 : l > r;
}

static uint64_t small_value(struct rand *r)
{
	return rand_scale(rand_next(r), 300);
}

static uint64_t even_value(struct rand *r)
{
	return 1000 + rand_scale(rand_next(r), 1000000);
}

static uint64_t exponential_value(struct rand *r)
{
	return (uint64_t)(-log((double)(rand_next(r) >> 11) * 0x1p-53 + 1e-18) * 50000);
}

static uint64_t log_even_value(struct rand *r)
{
	return rand_next(r) >> (22 + rand_scale(rand_next(r), 42));
}

static uint64_t two_peaks_value(struct rand *r)
{
	return rand_next(r) & 1 ? 1000 + rand_scale(rand_next(r), 20)
	                        : 90000000 + rand_scale(rand_next(r), 1000);
}

static uint64_t constant_value(struct rand *r)
{
	return 123456789;
}

static uint64_t (*const distributions[])(struct rand *r) = {small_value, even_value,
	exponential_value, log_even_value, two_peaks_value, constant_value};

#define DISTRIBUTIONS (sizeof(distributions) / sizeof(distributions[0]))

static void fill(uint64_t (*value)(struct rand *), uint64_t seed)
{
	struct rand r = {seed};

	hist_clear(&h);
	for (unsigned i = 0; i < SAMPLES; i++) {
		sorted[i] = value(&r);
		hist_add(&h, sorted[i]);
	}
	qsort(sorted, SAMPLES, sizeof(sorted[0]), compare);
}

static void assert_near(uint64_t got, uint64_t want)
{
	assert_true(fabs((double)got - (double)want) <= (double)want * 0.008);
}

static void percentiles_are_within_a_bucket_of_the_sorted_ones(void **state)
{
	static const unsigned per_10000[] = {1, 100, 2500, 5000, 9000, 9900, 9990, 9999, 10000};

	for (size_t d = 0; d < DISTRIBUTIONS; d++) {
		fill(distributions[d], d);
		for (size_t i = 0; i < sizeof(per_10000) / sizeof(per_10000[0]); i++) {
			uint64_t rank = (uint64_t)per_10000[i] * SAMPLES / 10000;

			assert_near(
				hist_percentile(&h, per_10000[i] / 10000.0, 0), sorted[rank - 1]);
		}
	}
}

static void lost_samples_take_the_upper_ranks(void **state)
{
	const uint64_t above = SAMPLES / 4; // so a share of 0.8 is the last one known

	fill(exponential_value, 7);
	assert_near(hist_percentile(&h, 0.4, above), sorted[SAMPLES / 2 - 1]);
	assert_near(hist_percentile(&h, 0.8, above), sorted[SAMPLES - 1]);
	assert_int_equal(hist_percentile(&h, 0.80005, above), UINT64_MAX);
	assert_int_equal(hist_percentile(&h, 1, above), UINT64_MAX);
	assert_int_equal(hist_percentile(&h, 1, 1), UINT64_MAX);
}

static void the_rank_is_the_smallest_that_covers_the_share(void **state)
{
	hist_clear(&h);
	for (unsigned i = 1; i <= 100; i++)
		hist_add(&h, i);
	for (unsigned i = 1; i <= 100; i++)
		assert_int_equal(hist_percentile(&h, i / 100.0, 0), i);
	assert_int_equal(hist_percentile(&h, 0, 0), 1);
	assert_int_equal(hist_percentile(&h, 0.501, 0), 51);
	assert_int_equal(hist_percentile(&h, NAN, 0), 1);
	assert_int_equal(hist_percentile(&h, 7, 0), 100);
}

// At least one sample lies beyond the share; the median is always known.
static void a_share_is_known_when_a_sample_lies_beyond_it(void **state)
{
	static const struct {
		double share, least;
	} rows[] = {{0, 0}, {0.5, 0}, {0.51, 3}, {0.9, 10}, {0.95, 20}, {0.99, 100}, {0.999, 1000},
		{0.9999, 10000}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_true(hist_knows(rows[i].least, rows[i].share));
		assert_true(rows[i].least == 0 || !hist_knows(rows[i].least - 1, rows[i].share));
	}
}

static void an_empty_histogram_has_figures_too(void **state)
{
	hist_clear(&h);
	assert_int_equal(hist_percentile(&h, 0.5, 0), 0);
	assert_int_equal(hist_percentile(&h, 0.5, 3), UINT64_MAX);
	assert_true(hist_mean(&h) == 0 && hist_stddev(&h) == 0);
	assert_int_equal(h.min, UINT64_MAX);
	assert_int_equal(h.max, 0);
}

static void buckets_join_without_gap_and_hold_their_values(void **state)
{
	assert_int_equal(hist_bucket_low(0), 0);
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		uint64_t low = hist_bucket_low(i), high = hist_bucket_high(i);

		assert_true(low < high);
		assert_int_equal(hist_bucket(low), i);
		assert_int_equal(hist_bucket(high - 1), i);
		if (i + 1 < HIST_BUCKETS) {
			assert_int_equal(high, hist_bucket_low(i + 1));
			assert_true(high - low <= 1 || (double)(high - low) / (double)low < 0.0079);
		}
	}
	assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
}

static void values_beyond_the_top_keep_their_maximum(void **state)
{
	hist_clear(&h);
	hist_add(&h, 5);
	hist_add(&h, UINT64_C(1) << 50);
	assert_int_equal(h.max, UINT64_C(1) << 50);
	assert_int_equal(hist_percentile(&h, 1, 0), UINT64_C(1) << 50);
	hist_add(&h, UINT64_MAX);
	assert_int_equal(h.max, UINT64_MAX);
}

static void assert_sum(const struct hist *of, uint64_t high, uint64_t low)
{
	assert_int_equal((uint64_t)(of->sum >> 64), high);
	assert_int_equal((uint64_t)of->sum, low);
}

static void the_sum_is_128_bits_wide(void **state)
{
	hist_clear(&h);
	for (unsigned i = 0; i < 5; i++)
		hist_add(&h, UINT64_MAX);
	hist_add(&h, 5);
	assert_sum(&h, 5, 0);
	assert_true(fabs(hist_mean(&h) / (5 * 0x1p64 / 6) - 1) < 1e-12);
	hist_clear(&other);
	hist_merge(&other, &h);
	hist_add(&other, UINT64_MAX);
	hist_merge(&other, &other);
	assert_sum(&other, 11, UINT64_MAX - 1);
	hist_difference(&merged, &other, &h);
	assert_sum(&merged, 6, UINT64_MAX - 1);
	h.sum += 7; // of the smaller one, now with a borrow
	other.sum -= UINT64_MAX - 7;
	hist_difference(&merged, &other, &h);
	assert_sum(&merged, 5, UINT64_MAX);
}

// As if so many samples of one value had come.
static void add_many(struct hist *to, uint64_t value, uint64_t n)
{
	hist_sum sum = to->sum + (hist_sum)value * n;

	hist_add(to, value); // for min and max
	to->bucket[hist_bucket(value)] += n - 1;
	to->count += n - 1;
	to->sum = sum;
}

static void more_than_32_bits_of_samples_are_counted(void **state)
{
	const uint64_t many = 3ull << 40;

	hist_clear(&h);
	add_many(&h, 100, many - 1);
	add_many(&h, 7000000000, many);
	add_many(&h, 9000000000000, 1);
	assert_true(h.count == 2 * many);
	assert_int_equal(hist_percentile(&h, 0.4999, 0), 100);
	assert_near(hist_percentile(&h, 0.5001, 0), 7000000000);
	assert_int_equal(hist_percentile(&h, 1, 0), 9000000000000);
	assert_near(hist_percentile(&h, 0.3, 4 * many), 7000000000);
	assert_int_equal(hist_percentile(&h, 0.3334, 4 * many), UINT64_MAX);
	assert_true(fabs(hist_mean(&h) - 3500000050) < 10);
	assert_true(fabs(hist_stddev(&h) / 3500000000 - 1) < 0.01);
	other = h;
	hist_merge(&h, &other);
	assert_true(h.count == 4 * many);
	assert_true(fabs(hist_mean(&h) / hist_mean(&other) - 1) < 1e-12);
	hist_add(&h, 5000);
	hist_difference(&merged, &h, &other);
	assert_true(merged.count == 2 * many + 1);
	merged = h;
	hist_add(&h, 6000);
	hist_difference(&merged, &h, &merged);
	assert_int_equal(merged.count, 1);
	assert_true(merged.sum == 6000);
	assert_near(hist_percentile(&merged, 0.5, 0), 6000);
}

static void merging_equals_adding_to_one(void **state)
{
	struct rand r = {3};

	hist_clear(&h);
	hist_clear(&other);
	hist_clear(&merged);
	for (unsigned i = 0; i < 5000; i++) {
		uint64_t v = log_even_value(&r);

		hist_add(i % 3 ? &h : &other, v);
		hist_add(&merged, v);
	}
	hist_merge(&h, &other);
	assert_memory_equal(&h, &merged, sizeof(h));
}

static void a_run_of_values_equals_adding_them_one_by_one(void **state)
{
	static const uint64_t values[] = {5, 5, 5, 0, 0, 9, 1ull << 50, 1ull << 50, 9, 5};
	static struct hist one_by_one, in_runs;

	for (size_t n = 0; n <= sizeof(values) / sizeof(*values); n++) {
		struct hist_run run = {0};

		hist_clear(&one_by_one);
		hist_clear(&in_runs);
		for (size_t i = 0; i < n; i++) {
			hist_add(&one_by_one, values[i]);
			hist_run_add(&in_runs, &run, values[i]);
		}
		hist_run_end(&in_runs, &run);
		assert_memory_equal(&one_by_one, &in_runs, sizeof(in_runs));
	}
}

static void a_difference_is_what_came_in_between(void **state)
{
	struct rand r = {4};

	hist_clear(&h);
	hist_clear(&other);
	for (unsigned i = 0; i < 1000; i++)
		hist_add(&h, log_even_value(&r));
	merged = h;
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t v = even_value(&r);

		hist_add(&h, v);
		hist_add(&other, v);
	}
	hist_difference(&merged, &h, &merged);
	assert_int_equal(merged.count, 1000);
	assert_int_equal(merged.sum, other.sum);
	assert_memory_equal(merged.bucket, other.bucket, sizeof(merged.bucket));
	assert_int_equal(merged.min, hist_bucket_low(hist_bucket(other.min)));
	assert_int_equal(merged.max, hist_bucket_high(hist_bucket(other.max)) - 1);
	hist_difference(&merged, &h, &h);
	hist_clear(&other);
	assert_memory_equal(&merged, &other, sizeof(merged));
}

static void a_histogram_in_print_has_its_buckets_by_their_gaps(void **state)
{
	static const uint64_t values[] = {0, 127, 128, 130, 130, 256, 1000000, UINT64_MAX};
	char text[256], part[8];
	size_t len;

	hist_clear(&h);
	assert_int_equal(hist_print(&h, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		hist_add(&h, values[i]);
	len = hist_print(&h, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	// 1000000 is in the octave of 2^19: 244 of 128..255, 12 octaves above the first
	assert_string_equal(text, "0:1 127:1 1:1 2:2 126:1 1524:1 2827:1");
	assert_int_equal(hist_print(&h, part, sizeof(part)), len);
	assert_string_equal(part, "0:1 127");
	assert_int_equal(hist_print(&h, NULL, 0), len);
}

static void what_was_printed_is_read_with_the_same_buckets(void **state)
{
	static const uint64_t values[] = {0, 127, 128, 130, 130, 256, 1000000, UINT64_MAX};
	char text[256];

	hist_clear(&h);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		hist_add(&h, values[i]);
	hist_print(&h, text, sizeof(text));
	assert_true(hist_read(&merged, text));
	assert_int_equal(merged.count, h.count);
	assert_memory_equal(merged.bucket, h.bucket, sizeof(h.bucket));
	assert_int_equal(merged.min, 0);
	assert_true(merged.max >= hist_bucket_low(HIST_BUCKETS - 1));
	assert_true(hist_read(&merged, "130:5 2:7"));
	assert_int_equal(hist_percentile(&merged, 0.4, 0), 130);
	assert_int_equal(hist_percentile(&merged, 0.5, 0), 132);
	assert_true((uint64_t)merged.sum == 5 * 130 + 7 * 132);
	assert_true(hist_read(&merged, ""));
	assert_int_equal(merged.count, 0);
}

#define LONG_BUCKETS 300
#define LONG_ROUNDS  2000

// Long enough to be read many octets at a time; some gaps and counts have more digits than usual.
static size_t long_text(struct rand *r, char *text, size_t room)
{
	hist_clear(&h);
	for (uint32_t bucket = 0, i = 0; i < LONG_BUCKETS && bucket < HIST_BUCKETS; i++) {
		h.bucket[bucket] =
			1 + (rand_next(r) >> (rand_next(r) % 8 ? 54 + rand_next(r) % 10 : 12));
		h.count += h.bucket[bucket];
		bucket += 1 + (uint32_t)(rand_next(r) % 8 ? 0 : rand_next(r) % 200);
	}
	return hist_print(&h, text, room);
}

static bool add_one_by_one(struct hist *to, const char *text)
{
	uint32_t bucket = HIST_NONE;
	uint64_t times;

	while (*text) {
		if (!hist_next(&text, &bucket, &times, UINT64_MAX - to->count))
			return false;
		to->bucket[bucket] += times;
		to->count += times;
	}
	return true;
}

// Whole, or with an octet that is another one; in memory that ends with the text.
static void text_is_added_at_once_as_one_by_one(void **state)
{
	static const char others[] = "0123456789 :;/x";
	static char text[LONG_BUCKETS * 32];
	static struct hist one, many;
	struct rand r = {7};
	unsigned whole = 0;

	for (unsigned n = 0; n < LONG_ROUNDS; n++) {
		size_t len = long_text(&r, text, sizeof(text));
		char *copy = malloc(len + 1);
		bool right;

		assert_non_null(copy);
		memcpy(copy, text, len + 1);
		if (n % 2)
			copy[rand_next(&r) % len] = others[rand_next(&r) % (sizeof(others) - 1)];
		hist_clear(&one);
		hist_clear(&many);
		right = add_one_by_one(&one, copy);
		assert_int_equal(hist_add_text(&many, copy, len), right);
		assert_int_equal(one.count, many.count);
		assert_memory_equal(one.bucket, many.bucket, sizeof(one.bucket));
		whole += right;
		free(copy);
	}
	assert_true(whole > LONG_ROUNDS / 2 && whole < LONG_ROUNDS);
	many.count = UINT64_MAX - 1;
	assert_false(hist_add_text(&many, "1:2", 3));
}

static void damaged_text_is_no_histogram(void **state)
{
	static const char *const texts[] = {":", "1", "1:", "1:0", "1:2 ", "1:2 0:3", "1:2  3:4",
		"-1:2", "1:-2", "1:2,3:4", " 1:2", "1:2x", "4608:1", "1:2 4607:1",
		"99999999999999999999:1", "1:18446744073709551616", "1:18446744073709551615 1:1"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (hist_read(&merged, texts[i]))
			fail_msg("taken: %s", texts[i]);
	assert_true(hist_read(&merged, "4607:1"));
	assert_int_equal(HIST_BUCKETS, 4608);
}

static void mean_is_exact_and_deviation_close(void **state)
{
	for (size_t d = 0; d < DISTRIBUTIONS; d++) {
		double sum = 0, squares = 0, mean, stddev;

		fill(distributions[d], d);
		for (unsigned i = 0; i < SAMPLES; i++)
			sum += (double)sorted[i];
		mean = sum / SAMPLES;
		for (unsigned i = 0; i < SAMPLES; i++)
			squares += ((double)sorted[i] - mean) * ((double)sorted[i] - mean);
		stddev = sqrt(squares / (SAMPLES - 1));
		assert_true(fabs(hist_mean(&h) - mean) <= mean * 1e-9);
		assert_true(fabs(hist_stddev(&h) - stddev) <= stddev * 0.01);
	}
}

static void deviation_is_that_of_a_sample(void **state)
{
	hist_clear(&h);
	hist_add(&h, 10);
	assert_true(hist_stddev(&h) == 0);
	hist_add(&h, 14);
	assert_true(fabs(hist_stddev(&h) - sqrt(8)) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_of_values_equals_adding_them_one_by_one),
		cmocka_unit_test(percentiles_are_within_a_bucket_of_the_sorted_ones),
		cmocka_unit_test(lost_samples_take_the_upper_ranks),
		cmocka_unit_test(the_rank_is_the_smallest_that_covers_the_share),
		cmocka_unit_test(a_share_is_known_when_a_sample_lies_beyond_it),
		cmocka_unit_test(an_empty_histogram_has_figures_too),
		cmocka_unit_test(buckets_join_without_gap_and_hold_their_values),
		cmocka_unit_test(values_beyond_the_top_keep_their_maximum),
		cmocka_unit_test(the_sum_is_128_bits_wide),
		cmocka_unit_test(more_than_32_bits_of_samples_are_counted),
		cmocka_unit_test(merging_equals_adding_to_one),
		cmocka_unit_test(a_difference_is_what_came_in_between),
		cmocka_unit_test(a_histogram_in_print_has_its_buckets_by_their_gaps),
		cmocka_unit_test(what_was_printed_is_read_with_the_same_buckets),
		cmocka_unit_test(text_is_added_at_once_as_one_by_one),
		cmocka_unit_test(damaged_text_is_no_histogram),
		cmocka_unit_test(mean_is_exact_and_deviation_close),
		cmocka_unit_test(deviation_is_that_of_a_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// The page of results: text of a result stays within the JSON, long series keep their extremes,
// changes between results, and nearly empty documents. tests/page looks at it in a browser.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/page.h"

#define SCHEMA "\"schema\": \"ddiperf-result/1\""
#define ITEM   "{\"name\": \"q\", \"protocol\": \"p\", \"sent\": 100, \"lost\": 0"

static char file[32];

static int make_file(void **state)
{
	strcpy(file, "/tmp/ddiperf-page.XXXXXX");
	close(mkstemp(file));
	return 0;
}

static int remove_file(void **state)
{
	return unlink(file);
}

static void open_text(struct document_reader *b, const char *text)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(reader_open(b, file), 0);
}

// The page; the caller frees it.
static char *page_of(struct document_reader *const readers[], unsigned count)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(page_write(readers, count, NULL, f), 0);
	assert_int_equal(fclose(f), 0);
	assert_true(size > strlen(page_head) + strlen(page_tail));
	return text;
}

// The data of the page, with its text in *raw; the caller frees both.
static json_t *data_of(struct document_reader *const readers[], unsigned count, char **raw)
{
	char *page = page_of(readers, count);
	json_t *data;

	assert_memory_equal(page, page_head, strlen(page_head));
	*raw = strndup(
		page + strlen(page_head), strlen(page) - strlen(page_head) - strlen(page_tail));
	free(page);
	data = json_loads(*raw, 0, NULL);
	assert_non_null(data);
	return data;
}

static json_t *data_of_text(const char *text, char **raw)
{
	struct document_reader b, *const readers[] = {&b};
	json_t *data;

	open_text(&b, text);
	data = data_of(readers, 1, raw);
	reader_close(&b);
	return json_object_get(data, "results") ? data : NULL;
}

static const json_t *first(const json_t *data)
{
	return json_array_get(json_object_get(data, "results"), 0);
}

// The values of a column whose place ends in `name`.
static const json_t *column(const json_t *data, const char *name)
{
	const json_t *columns = document_at(first(data), "series.columns"), *pair;
	size_t i;

	json_array_foreach(columns, i, pair)
	{
		const json_t *place = json_array_get(pair, 0);
		size_t last = json_array_size(place) - 1;

		if (strcmp(json_string_value(json_array_get(place, last)), name) == 0)
			return json_array_get(pair, 1);
	}
	return NULL;
}

static void text_of_a_result_cannot_leave_the_data(void **state)
{
	char *raw;
	json_t *data = data_of_text("{" SCHEMA ", \"run\": {\"name\": \"</script><script>alert(1)"
				    "</script><!--\", \"<b>\": 1}}",
		&raw);

	assert_null(strchr(raw, '<'));
	assert_string_equal(document_text(first(data), "document.run.name"),
		"</script><script>alert(1)</script><!--");
	free(raw);
	json_decref(data);
}

static void a_result_without_nearly_all_has_a_page(void **state)
{
	static const char *const texts[] = {"{" SCHEMA "}",
		"{" SCHEMA ", \"run\": 7, \"traffic\": {}, \"workers\": 3, \"intervals\": \"x\"}",
		"{" SCHEMA
		", \"traffic\": [7, {}, {\"name\": 3, \"latency\": []}], \"repeats\": [1], "
		"\"intervals\": [{}, 3, {\"t_s\": \"x\", \"traffic\": 4}, {\"t_s\": 1, "
		"\"traffic\": "
		"[[], {\"latency\": {\"response\": {\"histogram\": \"1:\"}}}]}]}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *raw;
		json_t *data = data_of_text(texts[i], &raw);

		assert_true(json_is_array(document_at(first(data), "series.columns")));
		free(raw);
		json_decref(data);
	}
}

// count intervals with a rate of 1000; one, in the middle, has 7 only, and the next has 9000.
static char *long_result(unsigned count)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fputs("{" SCHEMA ", \"run\": {\"host\": {\"tsc_hz\": 1e9}}, \"traffic\": [" ITEM
	      ", \"p\": {\"rcode\": {\"GOOD\": 100, \"BAD\": 3, \"C\": 2, \"D\": 2, \"E\": 2, "
	      "\"F\": "
	      "2, \"G\": 1, \"H\": 1}}}], \"intervals\": [",
		f);
	for (unsigned i = 1; i <= count; i++)
		fprintf(f,
			"%s{\"t_s\": %u, \"length_s\": 2, \"traffic\": [{\"due_per_s\": %u, "
			"\"loss\": "
			"%s, \"p\": {\"rcode\": {\"GOOD\": 20, \"G\": 4, \"H\": 6}}, \"latency\": "
			"{\"response\": {\"p99_ns\": %s, \"histogram\": \"%u:5\"}}}]}",
			i > 1 ? "," : "", i,
			i == count / 2       ? 7
			: i == count / 2 + 1 ? 9000
					     : 1000,
			i % 2 ? "0" : "0.5", i % 2 ? "1234567" : "null", i == 1 ? 17 : 16);
	fputs("]}", f);
	fclose(f);
	return text;
}

static void every_interval_is_a_point(void **state)
{
	char *text = long_result(4), *raw;
	json_t *data = data_of_text(text, &raw);
	const json_t *due = column(data, "due_per_s"),
		     *p99 = column(data, "latency.response.p99_ns");

	assert_int_equal(json_array_size(due), 4);
	assert_int_equal(json_integer_value(json_array_get(due, 1)), 7);
	assert_int_equal(json_integer_value(json_array_get(due, 2)), 9000);
	assert_int_equal(json_integer_value(json_array_get(p99, 0)), 1235000);
	// A rank among the lost is above all values.
	assert_string_equal(json_string_value(json_array_get(p99, 1)), "lost");
	assert_int_equal(json_integer_value(json_array_get(column(data, "GOOD"), 0)), 10);
	// G and H are the seventh and eighth label.
	assert_null(column(data, "G"));
	assert_int_equal(json_integer_value(json_array_get(column(data, "others"), 0)), 5);
	// Buckets 16 and 17 are one on the map.
	assert_string_equal(
		json_string_value(json_array_get(
			json_array_get(
				json_array_get(document_at(first(data), "series.heat"), 0), 0),
			1)),
		"1:5");
	free(raw);
	free(text);
	json_decref(data);
}

static void a_long_series_keeps_its_extremes_in_their_order(void **state)
{
	char *text = long_result(30000), *raw;
	json_t *data = data_of_text(text, &raw);
	const json_t *due = column(data, "due_per_s"), *t = column(data, "t_s");
	size_t low = 0, high = 0;

	assert_in_range(json_array_size(due), 1000, 8000);
	assert_int_equal(json_array_size(t), json_array_size(due));
	assert_int_equal(json_integer_value(json_array_get(t, json_array_size(t) - 1)), 30000);
	for (size_t i = 0; i < json_array_size(due); i++) {
		low = json_integer_value(json_array_get(due, i)) == 7 ? i : low;
		high = json_integer_value(json_array_get(due, i)) == 9000 ? i : high;
	}
	assert_true(low > 0 && low < high);
	assert_in_range(strlen(raw), 1000, 800000);
	free(raw);
	free(text);
	json_decref(data);
}

static void changes_are_those_of_compare(void **state)
{
	struct document_reader a, b, *const readers[] = {&a, &b};
	char *raw;
	json_t *data;
	const json_t *changes, *one;

	open_text(&a, "{" SCHEMA ", \"traffic\": [" ITEM ", \"answered_per_s\": 50}]}");
	open_text(&b, "{" SCHEMA ", \"traffic\": [" ITEM ", \"answered_per_s\": 40}]}");
	data = data_of(readers, 2, &raw);
	assert_null(json_object_get(first(data), "changes"));
	changes = json_object_get(json_array_get(json_object_get(data, "results"), 1), "changes");
	assert_int_equal(json_array_size(changes), 1);
	one = json_array_get(changes, 0);
	assert_string_equal(document_text(one, "path"), "answered_per_s");
	assert_true(document_number(one, "a") == 50 && document_number(one, "b") == 40);
	assert_true(json_is_null(json_object_get(one, "half")));
	free(raw);
	json_decref(data);
	reader_close(&a);
	reader_close(&b);
}

static void a_full_disk_is_an_error(void **state)
{
	struct document_reader b, *const readers[] = {&b};
	FILE *f = fopen("/dev/full", "w");

	assert_non_null(f);
	open_text(&b, "{" SCHEMA "}");
	assert_int_equal(page_write(readers, 1, NULL, f), -EIO);
	reader_close(&b);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_a_result_cannot_leave_the_data),
		cmocka_unit_test(a_result_without_nearly_all_has_a_page),
		cmocka_unit_test(every_interval_is_a_point),
		cmocka_unit_test(a_long_series_keeps_its_extremes_in_their_order),
		cmocka_unit_test(changes_are_those_of_compare),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}

// SPDX-License-Identifier: BSD-3-Clause
// A result read back: its intervals in turn, members that are missing, files that are no result.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "document/document_reader.h"

#include "captured.h"

static char file[32];
static struct document_reader reader;

static void write_file(const char *text)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int make_file(void **state)
{
	strcpy(file, "/tmp/ddiperf-reader.XXXXXX");
	close(mkstemp(file));
	return 0;
}

static int remove_file(void **state)
{
	return unlink(file);
}

static void intervals_come_in_turn_and_again(void **state)
{
	write_file("{\"schema\": \"ddiperf-result/1\", \"intervals\": [{\"t_s\": 1}, 7, {\"t_s\": "
		   "2}]}");
	assert_int_equal(reader_open(&reader, file), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(document_number(reader_next(&reader), "t_s") == 1);
		assert_true(document_number(reader_next(&reader), "t_s") == 2);
		assert_null(reader_next(&reader));
		reader_rewind(&reader);
	}
	assert_null(document_at(reader.document, "intervals"));
	reader_close(&reader);
}

static void a_member_that_is_not_there_has_no_value(void **state)
{
	write_file("{\"schema\": \"ddiperf-result/1\", \"run\": {\"name\": \"x\", \"seed\": 3}}");
	assert_int_equal(reader_open(&reader, file), 0);
	assert_string_equal(document_text(reader.document, "run.name"), "x");
	assert_true(document_number(reader.document, "run.seed") == 3);
	assert_true(isnan(document_number(reader.document, "run.name")));
	assert_true(isnan(document_number(reader.document, "run.seed.more")));
	assert_string_equal(document_text(reader.document, "run.seed"), "");
	assert_string_equal(document_text(reader.document, "nothing.here"), "");
	assert_true(reader_tick_hz(&reader) == 0);
	assert_null(reader_next(&reader));
	reader_close(&reader);
}

static void a_histogram_has_the_exact_ends_of_its_latency(void **state)
{
	const json_t *latency;
	struct hist h;

	write_file("{\"schema\": \"ddiperf-result/1\", \"run\": {\"host\": {\"tsc_hz\": 2e9}},"
		   "\"good\": {\"min_ns\": 500.5, \"mean_ns\": 600, \"max_ns\": 700,"
		   "\"histogram\": \"384:3\"}, \"bad\": {\"histogram\": \"x\"}, \"none\": {}}");
	assert_int_equal(reader_open(&reader, file), 0);
	latency = document_at(reader.document, "good");
	assert_true(reader_histogram(&reader, latency, &h));
	assert_int_equal(h.count, 3);
	assert_int_equal(h.min, 1001);
	assert_int_equal(h.max, 1400);
	assert_true((uint64_t)h.sum == 3600);
	assert_false(reader_histogram(&reader, document_at(reader.document, "bad"), &h));
	assert_int_equal(h.count, 0);
	assert_false(reader_histogram(&reader, document_at(reader.document, "none"), &h));
	reader_close(&reader);
}

static void other_files_are_refused(void **state)
{
	static const char *const texts[] = {
		"", "{", "[]", "{}", "{\"schema\": 1}", "{\"schema\": \"ddiperf-result/2\"}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_file(texts[i]);
		assert_true(reader_open(&reader, file) < 0);
	}
	assert_true(reader_open(&reader, "/nonexistent/file") < 0);
}

static void a_pipe_is_read_like_a_file(void **state)
{
	static const char *const texts[] = {
		"{\"schema\": \"ddiperf-result/1\",\n\"intervals\": [{\"t_s\": 1}]}",
		"{\"begin\": 1, \"result\": {\"schema\": \"ddiperf-result/1\"}}\n{\"t_s\": 1}\n"};
	char path[32];
	int ends[2];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(pipe(ends), 0);
		assert_true(write(ends[1], texts[i], strlen(texts[i])) > 0);
		close(ends[1]);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
		assert_int_equal(reader_open(&reader, path), 0);
		assert_true(document_number(reader_next(&reader), "t_s") == 1);
		assert_null(reader_next(&reader));
		reader_close(&reader);
		close(ends[0]);
	}
}

static int open_book(void *path)
{
	return reader_open(&reader, path);
}

static void what_is_no_document_is_called_so(void **state)
{
	assert_int_equal(capture_output(open_book, (char *)"/tmp"), -EINVAL);
	assert_captured("/tmp: Is a directory\n");
	write_file("");
	assert_int_equal(capture_output(open_book, file), -EINVAL);
	assert_captured(": the file is empty\n");
	write_file("figures");
	assert_int_equal(capture_output(open_book, file), -EINVAL);
	assert_captured(":1:7: not JSON: ");
}

#define BEGIN(n) "{\"begin\": " n ", \"result\": {}}\n"
#define LINE(n, t, due, more)                                                                      \
	"{\"number\": " n ", \"t_s\": " t                                                          \
	", \"traffic\": [{\"name\": \"q\", \"by_due\": " due more "}]}\n"
#define DUE(answered, mean) "{\"answered\": " answered ", \"failed\": 0, \"mean_ns\": " mean "}"

static struct document_reader of_lines(const char *text, uint64_t run)
{
	FILE *f;

	write_file(text);
	f = fopen(file, "r");
	assert_non_null(f);
	reader_of_run(&reader, json_object(), f, run);
	return reader;
}

static void close_lines(void)
{
	FILE *f = reader.part;

	reader_close(&reader);
	fclose(f);
}

static double due(const json_t *interval, const char *path)
{
	const json_t *item = json_array_get(json_object_get(interval, "traffic"), 0);

	assert_null(json_object_get(item, "earlier"));
	assert_null(json_object_get(interval, "number"));
	return document_number(json_object_get(item, "by_due"), path);
}

static void late_replies_go_back_to_the_interval_of_their_requests(void **state)
{
	const json_t *i;

	// Number 1 was missed: two snapshots in one.
	of_lines(BEGIN("1") LINE("2", "2", DUE("900", "10"), "") LINE(
			 "3", "3", DUE("0", "null"), "") LINE("4", "4", DUE("1000", "25"),
			 ", \"earlier\": [{\"back\": 1, \"answered\": 1, \"failed\": 1, "
			 "\"time_ns\": 400}, {\"back\": 3, \"answered\": 60, \"failed\": 0, "
			 "\"time_ns\": 960}, {\"back\": 128, \"answered\": 40, \"failed\": "
			 "0, \"time_ns\": 40}]"),
		1);
	for (int again = 0; again < 2; again++) {
		i = reader_next(&reader);
		assert_true(due(i, "answered") == 1000);
		assert_true(due(i, "mean_ns") == 10);
		i = reader_next(&reader);
		assert_true(due(i, "answered") == 1 && due(i, "failed") == 1);
		assert_true(due(i, "mean_ns") == 200);
		i = reader_next(&reader);
		assert_true(due(i, "answered") == 1000 && due(i, "mean_ns") == 25);
		assert_null(reader_next(&reader));
		reader_rewind(&reader);
	}
	close_lines();
}

static void a_reply_goes_back_as_far_as_replies_are_told_apart(void **state)
{
	static char text[40000];
	char *at = text + sprintf(text, BEGIN("1"));
	const json_t *i;

	for (int n = 1; n <= 200; n++)
		at += sprintf(at,
			"{\"number\": %d, \"t_s\": %d, \"traffic\": [{\"by_due\": {\"answered\": "
			"5}%s}]}\n",
			n, n, n == 150 ? ", \"earlier\": [{\"back\": 128, \"answered\": 7}]" : "");
	of_lines(text, 1);
	for (int n = 1; n <= 200; n++) {
		i = reader_next(&reader);
		assert_true(document_number(i, "t_s") == n);
		assert_true(due(i, "answered") == (n == 150 - 128 ? 12 : 5));
	}
	assert_null(reader_next(&reader));
	close_lines();
}

static void intervals_are_those_of_one_run(void **state)
{
	of_lines(BEGIN("1") LINE("1", "1", "{}", "") BEGIN("2") LINE("1", "10", "{}", "")
			 LINE("2", "11", "{}", "") BEGIN("3") LINE("1", "20", "{}", ""),
		2);
	assert_true(document_number(reader_next(&reader), "t_s") == 10);
	assert_true(document_number(reader_next(&reader), "t_s") == 11);
	assert_null(reader_next(&reader));
	close_lines();
}

// Lines of the warm-up, of trials and of the end are no intervals of the result; the end has the
// verdict, which a run that was killed gets from its reader.
static void a_file_of_lines_is_a_result(void **state)
{
	static const char lines[] =
		"{\"begin\": 1, \"result\": {\"schema\": \"ddiperf-result/1\", \"run\": {}}}\n"
		"{\"trial\": 1, \"rate\": 5, \"verdict\": null}\n"
		"{\"number\": 1, \"warmup\": true, \"t_s\": 9, \"traffic\": []}\n" LINE(
			"2", "1", "{}", "") "{\"last\": true, \"number\": 3, \"t_s\": 2, "
					    "\"traffic\": [{\"name\": \"q\"}]}\n";
	static const char end[] =
		"{\"end\": 1, \"result\": {\"verdict\": {\"status\": \"fail\"}}}\n";
	char text[1024];
	const json_t *last;

	for (int ended = 0; ended < 2; ended++) {
		snprintf(text, sizeof(text), "%s%s", lines, ended ? end : "");
		write_file(text);
		assert_int_equal(reader_open(&reader, file), 0);
		assert_string_equal(document_text(reader.document, "verdict.status"),
			ended ? "fail" : "interrupted");
		assert_true(document_number(reader.document, "run.measured_s") == 2);
		assert_true(document_number(reader_next(&reader), "t_s") == 1);
		last = reader_next(&reader);
		assert_true(document_number(last, "t_s") == 2);
		assert_null(json_object_get(last, "last"));
		assert_null(reader_next(&reader));
		reader_close(&reader);
	}
}

// A kill leaves a part of a line; lines can hold anything.
static void lines_end_where_they_are_damaged(void **state)
{
	of_lines(BEGIN("1") LINE("1", "1", "{}", "") "{\"number\": 2, \"t_", 1);
	assert_true(document_number(reader_next(&reader), "t_s") == 1);
	assert_null(reader_next(&reader));
	close_lines();
	of_lines(
		BEGIN("1") "{\"traffic\": [{\"earlier\": [{}, 7, {\"back\": -9, \"answered\": 1}], "
			   "\"by_due\": 3}, 4]}\n"
			   "{\"traffic\": 5}\n[]\n",
		1);
	assert_non_null(reader_next(&reader));
	assert_non_null(reader_next(&reader));
	assert_null(reader_next(&reader));
	close_lines();
}

static void the_document_is_printed_with_its_intervals(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *again;

	of_lines(BEGIN("1") LINE("1", "1", "{}", "") LINE("2", "2", "{}", ""), 1);
	json_object_set_new(reader.document, "schema", json_string("x"));
	assert_int_equal(reader_print(&reader, out), 0);
	fclose(out);
	again = json_loads(text, 0, NULL);
	assert_string_equal(document_text(again, "schema"), "x");
	assert_int_equal(json_array_size(json_object_get(again, "intervals")), 2);
	json_decref(again);
	free(text);
	close_lines();
}

static void a_run_that_was_killed_has_the_sums_of_its_intervals(void **state)
{
	static const char begin[] =
		"{\"begin\": 1, \"result\": {\"schema\": \"ddiperf-result/1\", \"run\": {\"name\": "
		"\"x\", \"host\": {\"tsc_hz\": 1e9}}}}\n";
	static const char line[] =
		"{\"number\": %d, \"t_s\": %d, \"traffic\": [{\"name\": \"q\", \"sent\": 100, "
		"\"lost\": "
		"10, \"in_flight\": %d, \"loss\": 0.1, \"p99_ns\": 5, \"dns\": {\"rcode\": "
		"{\"NOERROR\": "
		"90}}, \"latency\": {\"response\": {\"count\": 2, \"min_ns\": %d, \"mean_ns\": %d, "
		"\"stddev_ns\": 0, \"max_ns\": %d, \"histogram\": \"%d:2\"}}}], \"ports\": "
		"[{\"name\": "
		"\"lan\", \"rx_packets\": 90}], \"workers\": [{\"port\": \"lan\", \"cpu\": 1, "
		"\"stolen_s\": "
		"0.5, \"busy\": 0.9}], \"responder\": {\"received\": 5, \"waiting\": %d}}\n";
	char text[4096], *at = text + sprintf(text, "%s", begin);
	const json_t *q;

	for (int n = 1; n <= 4; n++)
		at += sprintf(at, line, n, n, n, 10 * n, 10 * n, 10 * n, 10 * n, n);
	strcpy(at, "{\"number\": 5, \"t_s\"");
	write_file(text);
	assert_int_equal(reader_open(&reader, file), 0);
	assert_string_equal(document_text(reader.document, "verdict.status"), "interrupted");
	assert_string_equal(document_text(reader.document, "run.name"), "x");
	assert_true(document_number(reader.document, "run.measured_s") == 4);
	q = json_array_get(document_at(reader.document, "traffic"), 0);
	assert_true(document_number(q, "sent") == 400 && document_number(q, "lost") == 40);
	assert_true(document_number(q, "in_flight") == 4);
	assert_true(document_number(q, "loss") == 0.1);
	assert_true(document_number(q, "sent_per_s") == 100);
	assert_true(document_number(q, "dns.rcode.NOERROR") == 360);
	assert_true(isnan(document_number(q, "p99_ns")));
	assert_true(document_number(q, "latency.response.count") == 8);
	assert_true(document_number(q, "latency.response.min_ns") == 10);
	assert_true(document_number(q, "latency.response.mean_ns") == 25);
	assert_true(document_number(q, "latency.response.stddev_ns") == round(sqrt(1000. / 7)));
	// 8 replies and 40 lost: the half is lost.
	assert_true(isnan(document_number(q, "latency.response.p50_ns")));
	assert_string_equal(document_text(q, "latency.response.histogram"), "10:2 10:2 10:2 10:2");
	q = json_array_get(document_at(reader.document, "ports"), 0);
	assert_true(document_number(q, "rx_packets") == 360);
	q = json_array_get(document_at(reader.document, "workers"), 0);
	assert_true(document_number(q, "cpu") == 1 && document_number(q, "stolen_s") == 2);
	assert_true(isnan(document_number(q, "busy")));
	q = document_at(reader.document, "responder");
	assert_true(document_number(q, "received") == 20 && document_number(q, "waiting") == 4);
	for (int n = 1; n <= 4; n++)
		assert_true(document_number(reader_next(&reader), "t_s") == n);
	assert_null(reader_next(&reader));
	reader_close(&reader);
}

// More than a count can hold is the most that it can; a line with a count that is none is left out.
static void sums_of_a_run_that_was_killed_do_not_wrap(void **state)
{
	const json_t *q;

	write_file("{\"begin\": 1, \"result\": {\"schema\": \"ddiperf-result/1\"}}\n"
		   "{\"traffic\": [{\"name\": \"q\", \"sent\": 9223372036854775807}]}\n"
		   "{\"traffic\": [{\"name\": \"q\", \"sent\": 9223372036854775807}]}\n"
		   "{\"traffic\": [{\"name\": \"q\", \"failed\": 3, \"lost\": -1}]}\n"
		   "{\"traffic\": [{\"name\": \"q\", \"sent\": 9223372036854775807}]}\n");
	assert_int_equal(reader_open(&reader, file), 0);
	q = json_array_get(document_at(reader.document, "traffic"), 0);
	assert_true(document_number(q, "sent") == 0x1p64);
	assert_true(document_number(q, "failed") == 0);
	reader_close(&reader);
}

static void a_template_computes_from_left_to_right(void **state)
{
	json_t *in = json_loads("{\"name\": \"q\", \"sent\": 8, \"inside\": {\"a\": 1, \"b\": 3}, "
				"\"is\": true, \"none\": null}",
		0, NULL);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	document_fill(in,
		"{name:%-3s}{sent} {inside.a + inside.b * 100 / sent:%.1f}% {sent - 10} {sent / "
		"none}"
		"<, {none} none>< and {inside.a}><{?is}, {none}><{!is} never>",
		f);
	fclose(f);
	assert_string_equal(text, "q  8 50.0% -2 0 and 1, 0");
	assert_ptr_equal(document_named(NULL, "name", "q"), NULL);
	free(text);
	json_decref(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_come_in_turn_and_again),
		cmocka_unit_test(a_member_that_is_not_there_has_no_value),
		cmocka_unit_test(a_histogram_has_the_exact_ends_of_its_latency),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(a_pipe_is_read_like_a_file),
		cmocka_unit_test(what_is_no_document_is_called_so),
		cmocka_unit_test(sums_of_a_run_that_was_killed_do_not_wrap),
		cmocka_unit_test(late_replies_go_back_to_the_interval_of_their_requests),
		cmocka_unit_test(a_reply_goes_back_as_far_as_replies_are_told_apart),
		cmocka_unit_test(a_template_computes_from_left_to_right),
		cmocka_unit_test(intervals_are_those_of_one_run),
		cmocka_unit_test(a_file_of_lines_is_a_result),
		cmocka_unit_test(lines_end_where_they_are_damaged),
		cmocka_unit_test(the_document_is_printed_with_its_intervals),
		cmocka_unit_test(a_run_that_was_killed_has_the_sums_of_its_intervals),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}

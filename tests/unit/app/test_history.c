// SPDX-License-Identifier: BSD-3-Clause
// Histories: the judgement against values computed elsewhere, the runs that it includes, lines in
// and out of a file, and damaged ones. transcripts/ has the commands.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "captured.h"
#include "compare/history.h"
#include "compare/trend.h"

#define RATE "answered_per_s"
#define P99  "latency.response.p99_ns"

static char file[32];

static int make_file(void **state)
{
	strcpy(file, "/tmp/ddiperf-history.XXXXXX");
	close(mkstemp(file));
	return 0;
}

static int remove_file(void **state)
{
	return unlink(file);
}

static bool is_near(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-7 * fabs(wanted) + 1e-9;
}

// mpmath with 30 digits: Student's t by betainc, the quantile by findroot.
static void limits_are_those_of_the_t_distribution(void **state)
{
	static const double rates[] = {
		50000, 50400, 49800, 50100, 49600, 50300, 49900, 50200, 49700, 50000};
	static const double times[] = {100e3, 110e3, 95e3, 105e3, 120e3};
	static const double losses[] = {0.001, 0.002, 0.0015, 0.0012};
	static const struct {
		const char *path;
		const double *past;
		unsigned count;
		double value, confidence;
		unsigned together;
		double mean, bound, sure;
		bool worse;
	} rows[] = {
		{RATE, rates, 10, 49000, 0.99, 1, 50000, 49235.951, 0.99751191, true},
		{RATE, rates, 10, 49000, 0.99, 4, 50000, 49000.8347, 0.99004765, true},
		{RATE, rates, 10, 48500, 0.99, 4, 50000, 49000.8347, 0.99927708, true},
		{RATE, rates, 10, 51000, 0.99, 1, 50000, 49235.951, 0, false},
		{RATE, rates, 3, 44000, 0.99, 4, 50066.66667, 45096.51796, 0.99327164, true},
		{RATE, rates, 3, 48000, 0.99, 1, 50066.66667, 47609.80199, 0.98603912, false},
		{P99, times, 5, 130e3, 0.95, 1, 105656.7791, 130284.043, 0.94873394, false},
		{P99, times, 5, 150e3, 0.95, 1, 105656.7791, 130284.043, 0.98826674, true},
		{P99, times, 5, 150e3, 0.99, 4, 105656.7791, 183155.1006, 0.95306694, false},
		{P99, times, 5, 200e3, 0.99, 4, 105656.7791, 183155.1006, 0.99419615, true},
		{"loss", losses, 4, 0.003, 0.99, 2, 0.001425, 0.004265257892, 0.95211063, false},
		{"loss", losses, 4, 0.005, 0.99, 2, 0.001425, 0.004265257892, 0.99479909, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct trend_figure f = {.item = "q", .path = rows[i].path, .value = rows[i].value};

		f.count = rows[i].count;
		memcpy(f.past, rows[i].past, f.count * sizeof(f.past[0]));
		trend_judge(&f, rows[i].confidence, rows[i].together);
		if (!is_near(f.mean, rows[i].mean) || !is_near(f.bound, rows[i].bound) ||
			(rows[i].sure && !is_near(f.confidence, rows[i].sure)) ||
			f.worse != rows[i].worse)
			fail_msg("row %zu: mean %.10g, bound %.10g, confidence %.10g, %d", i,
				f.mean, f.bound, f.confidence, f.worse);
	}
}

// Without any spread, the least difference that matters decides.
static void small_differences_are_none(void **state)
{
	static const struct {
		const char *path;
		double past, value;
		bool worse;
	} rows[] = {
		{RATE, 1000, 990.1, false},
		{RATE, 1000, 989.9, true},
		{RATE, 1000, 2000, false},
		{P99, 1e6, 1.0099e6, false},
		{P99, 1e6, 1.0101e6, true},
		{P99, 1e6, 1e3, false},
		{"loss", 0, 0.00009, false},
		{"loss", 0, 0.00011, true},
		{"loss", 0.5, 0.4, false},
		{"search.answer.g", 1000, 989, true},
		{"search.answer.g", 1000, 991, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct trend_figure f = {.item = "q",
			.path = rows[i].path,
			.value = rows[i].value,
			.past = {rows[i].past, rows[i].past, rows[i].past},
			.count = 3};

		trend_judge(&f, 0.99, 1);
		if (f.worse != rows[i].worse)
			fail_msg("row %zu: bound %.10g", i, f.bound);
		assert_true(!f.worse || f.confidence == 1);
	}
}

static json_t *entry_of(const char *id, const char *more, const char *item)
{
	char text[1024];
	json_t *out;

	snprintf(text, sizeof(text),
		"{\"schema\": \"" HISTORY_SCHEMA "\", \"run\": {\"id\": \"%s\", \"name\": \"n\", "
		"\"started\": \"s%s\", \"config_sha256\": \"c\", \"host\": {\"cpu\": \"x\"}%s}, "
		"\"verdict\": {\"status\": \"pass\"}, \"traffic\": [{\"name\": \"q\", %s}]}",
		id, id, more, item);
	out = json_loads(text, 0, NULL);
	assert_non_null(out);
	return out;
}

static void set(json_t *entry, const char *object, const char *key, const char *text)
{
	json_object_set_new(json_object_get(entry, object), key, json_string(text));
}

// Runs 0 to 14 with the rate 1000 + n, changed by number.
static json_t *fifteen(void (*change)(json_t *entry, unsigned n))
{
	json_t *entries = json_array();
	char id[16], item[64];

	for (unsigned n = 0; n < 15; n++) {
		snprintf(id, sizeof(id), "%u", n);
		snprintf(item, sizeof(item), "\"answered_per_s\": %u", 1000 + n);
		json_array_append_new(entries, entry_of(id, "", item));
		if (change)
			change(json_array_get(entries, n), n);
	}
	return entries;
}

static struct trend trend(
	json_t *entries, json_t *entry, struct arena *a, unsigned runs, unsigned others)
{
	struct trend t;

	trend_of(entries, entry, 0.99, a, &t);
	if (t.runs != runs || t.others != others)
		fail_msg("%u runs, %u others", t.runs, t.others);
	assert_int_equal(t.count, 4);
	assert_string_equal(t.figures[0].path, RATE);
	assert_int_equal(t.figures[0].count, runs);
	return t;
}

static void make_some_different(json_t *entry, unsigned n)
{
	static const char *const statuses[] = {"invalid", "interrupted", "unreachable", "fail"};

	if (n < 2)
		set(entry, "run", "name", "another");
	else if (n < 5)
		set(entry, "run", "config_sha256", "d");
	else if (n < 9)
		set(entry, "verdict", "status", statuses[n - 5]);
	else if (n == 9)
		set(json_object_get(entry, "run"), "host", "cpu", "y");
}

static void the_last_ten_like_it_are_compared(void **state)
{
	struct arena *a = arena_new();
	json_t *entry = entry_of("new", "", "\"answered_per_s\": 900"), *entries = fifteen(NULL);
	struct trend t = trend(entries, entry, a, 10, 0);

	assert_true(t.figures[0].past[0] == 1014 && t.figures[0].past[9] == 1005);
	assert_string_equal(t.first, "s5");
	assert_string_equal(t.last, "s14");
	assert_true(t.judged == 1 && t.figures[0].worse && !t.figures[1].judged);
	json_decref(entry);

	// A run that the history has is compared with those before it.
	entry = json_deep_copy(json_array_get(entries, 4));
	t = trend(entries, entry, a, 4, 0);
	assert_true(t.figures[0].past[0] == 1003);
	json_decref(entries);

	entries = fifteen(make_some_different);
	set(entry, "run", "id", "new");
	t = trend(entries, entry, a, 7, 6);
	assert_int_equal(t.boxes, 1);
	json_decref(entries);
	json_decref(entry);
	arena_free(a);
}

static void three_runs_are_enough(void **state)
{
	for (unsigned runs = 2; runs <= 3; runs++) {
		struct arena *a = arena_new();
		json_t *entries = fifteen(NULL),
		       *entry = json_deep_copy(json_array_get(entries, runs));
		struct trend t = trend(entries, entry, a, runs, 0);

		assert_int_equal(t.judged, runs == 3);
		assert_int_equal(t.figures[0].judged, runs == 3);
		json_decref(entries);
		json_decref(entry);
		arena_free(a);
	}
}

// A result without its configuration has the hash of all of it only.
static void a_test_is_known_by_either_hash(void **state)
{
	static const struct {
		const char *past, *now; // hashes of the test
		bool same;
	} rows[] = {{"t", "t", true}, {"t", "u", false}, {"t", "", true}, {"", "t", true},
		{"", "", true}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena *a = arena_new();
		json_t *entry = entry_of("new", "", "\"answered_per_s\": 900");
		json_t *entries = fifteen(NULL), *one;
		size_t n;

		json_array_foreach(entries, n, one) set(one, "run", "test_sha256", rows[i].past);
		set(entry, "run", "test_sha256", rows[i].now);
		trend(entries, entry, a, rows[i].same ? TREND_RUNS : 0, rows[i].same ? 0 : 15);
		json_decref(entries);
		json_decref(entry);
		arena_free(a);
	}
}

// Notes, labels, criteria and files change the configuration, but not the test.
static void the_test_is_the_configuration_without_its_words(void **state)
{
	static const struct {
		const char *config;
		bool same;
	} rows[] = {
		{"{\"run\": {\"seed\": 1, \"labels\": [\"a\"]}, \"traffic\": [1]}", true},
		{"{\"run\": {\"seed\": 1, \"note\": \"b\", \"id\": \"i\"}, \"traffic\": [1], "
		 "\"output\": {\"csv\": \"f\"}, \"criteria\": [\"x\"]}",
			true},
		{"{\"traffic\": [1], \"run\": {\"seed\": 1}}", true},
		{"{\"run\": {\"seed\": 2}, \"traffic\": [1]}", false},
		{"{\"run\": {\"seed\": 1}, \"traffic\": [2]}", false},
	};
	char first[80] = "";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct document_reader b;
		json_t *document = json_object(), *entry;

		json_object_set_new(document, "config", json_loads(rows[i].config, 0, NULL));
		reader_take(&b, "x", document);
		entry = history_entry(&b);
		assert_int_equal(strlen(document_text(entry, HISTORY_TEST)), 64);
		if (i == 0)
			strcpy(first, document_text(entry, HISTORY_TEST));
		assert_int_equal(
			strcmp(first, document_text(entry, HISTORY_TEST)) == 0, rows[i].same);
		json_decref(entry);
		reader_close(&b);
	}
}

static void a_rank_among_the_lost_is_worse_than_any_number(void **state)
{
	static const char number[] = "\"lost\": 0, \"latency\": {\"response\": {\"p99_ns\": 1e6}}";
	static const char lost[] = "\"lost\": 5, \"latency\": {\"response\": {\"p99_ns\": null}}";
	static const struct {
		const char *past, *now;
		bool judged, worse;
	} rows[] = {{number, number, true, false}, {number, lost, true, true},
		{lost, lost, false, false}, {lost, number, false, false},
		{number, "\"lost\": 0", false, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena *a = arena_new();
		json_t *entries = json_array(), *entry = entry_of("new", "", rows[i].now);
		const struct trend_figure *f;
		struct trend t;

		for (int n = 0; n < 5; n++)
			json_array_append_new(
				entries, entry_of(n ? "a" : "b", "", n ? number : rows[i].past));
		trend_of(entries, entry, 0.99, a, &t);
		f = &t.figures[3];
		assert_string_equal(f->path, P99);
		if (f->judged != rows[i].judged || f->worse != rows[i].worse)
			fail_msg("row %zu: %d %d", i, f->judged, f->worse);
		json_decref(entries);
		json_decref(entry);
		arena_free(a);
	}
}

// --- files

static void book_of_id(struct document_reader *b, const char *id)
{
	char text[256];

	snprintf(text, sizeof(text),
		"{\"run\": {\"id\": \"%s\", \"name\": \"n\"}, \"traffic\": [{\"name\": \"q\", "
		"\"latency\": {\"response\": {\"p99_ns\": 3, \"histogram\": \"1:1\"}}}, 7]}",
		id);
	reader_take(b, "result", json_loads(text, 0, NULL));
}

struct appending {
	const char *path;
	const char *ids[3];
};

static int append(void *ctx)
{
	const struct appending *p = ctx;
	struct document_reader list[3], *readers[3];
	unsigned count = 0;
	int rc;

	for (; count < 3 && p->ids[count]; count++) {
		readers[count] = &list[count];
		book_of_id(readers[count], p->ids[count]);
	}
	rc = history_append(p->path, readers, count);
	while (count)
		reader_close(readers[--count]);
	return rc;
}

static int read_all(void *ctx)
{
	json_t *entries = history_read(ctx);
	int count = entries ? (int)json_array_size(entries) : -1;

	json_decref(entries);
	return count;
}

static void write_text(const char *text)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void a_run_is_appended_once(void **state)
{
	struct appending two = {file, {"a", "b"}}, again = {file, {"b", "c", "c"}};

	write_text("");
	assert_int_equal(capture_output(append, &two), 0);
	assert_string_equal(captured, "");
	assert_int_equal(capture_output(append, &again), 0);
	assert_captured("run b is in /tmp/ddiperf-history.");
	assert_captured("run c is in");
	assert_int_equal(capture_output(read_all, file), 3);
	assert_string_equal(captured, "");
}

static void *append_in_thread(void *ctx)
{
	assert_int_equal(append(ctx), 0);
	return NULL;
}

static bool waits_for_a_lock(void)
{
	char line[128], number[32];
	bool found = false;
	FILE *f = fopen("/proc/locks", "r");

	assert_non_null(f);
	snprintf(number, sizeof(number), " %d ", getpid());
	while (fgets(line, sizeof(line), f))
		found = found || (strstr(line, "-> FLOCK") && strstr(line, number));
	fclose(f);
	return found;
}

static int append_beside_another(void *ctx)
{
	const int other = open(file, O_RDWR | O_APPEND);
	const char line[] = "{\"schema\": \"" HISTORY_SCHEMA "\", \"run\": {\"id\": \"b\"}}\n";
	struct stat st;
	pthread_t thread;

	assert_true(other >= 0 && flock(other, LOCK_EX) == 0);
	assert_int_equal(pthread_create(&thread, NULL, append_in_thread, ctx), 0);
	while (!waits_for_a_lock())
		usleep(1000);
	assert_true(fstat(other, &st) == 0 && st.st_size == 0);
	assert_int_equal(write(other, line, strlen(line)), strlen(line));
	assert_int_equal(flock(other, LOCK_UN), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(other);
	return 0;
}

static void one_waits_until_another_has_appended(void **state)
{
	struct appending two = {file, {"b", "c"}};

	write_text("");
	capture_output(append_beside_another, &two);
	assert_captured("run b is in");
	assert_int_equal(capture_output(read_all, file), 2);
}

static void a_full_disk_leaves_the_file_as_it_was(void **state)
{
	struct appending two = {file, {"a", "b"}}, more = {file, {"c"}};
	struct rlimit all, few;
	struct stat before, after;

	signal(SIGXFSZ, SIG_IGN);
	write_text("");
	assert_int_equal(capture_output(append, &two), 0);
	assert_int_equal(stat(file, &before), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	few = (struct rlimit){(rlim_t)before.st_size + 60, all.rlim_max}; // less than a line
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	assert_int_equal(capture_output(append, &more), -ENOSPC);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_captured("No space left");
	assert_int_equal(stat(file, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	assert_int_equal(capture_output(read_all, file), 2);
}

static void damaged_lines_are_named_and_left_out(void **state)
{
	struct appending one = {file, {"z"}};
	json_t *entries;
	char *text;

	// The last line was cut short: the next one begins on a line of its own.
	write_text(
		"{\"schema\": \"" HISTORY_SCHEMA "\", \"run\": {\"id\": \"a\"}}\n\n{\"sch\nnull\n"
		"{\"schema\": \"ddiperf-history/2\", \"run\": {\"id\": \"a\"}}\n"
		"{\"schema\": \"" HISTORY_SCHEMA "\", \"run\": {\"id\": 7}}\n{\"schema\": \"dd");
	assert_int_equal(capture_output(append, &one), 0);
	assert_int_equal(capture_output(read_all, file), 2);
	for (unsigned line = 3; line < 8; line++) {
		char begin[80];

		snprintf(begin, sizeof(begin), "%s:%u: damaged line, left out: ", file, line);
		assert_captured(begin);
	}
	assert_captured(":5: damaged line, left out: no run of the schema " HISTORY_SCHEMA);
	entries = history_read(file);
	assert_string_equal(document_text(json_array_get(entries, 1), "run.id"), "z");
	text = json_dumps(entries, 0);
	assert_null(strstr(text, "histogram"));
	free(text);
	json_decref(entries);
}

static void what_is_no_history_stays_as_it_is(void **state)
{
	struct appending one = {file, {"z"}}, anonymous = {file, {"y", ""}};
	struct appending elsewhere = {"/nowhere/x", {"z"}}, device = {"/dev/null", {"z"}};
	char text[32] = "";
	FILE *f;

	write_text("{\n\"schema\": 1\n}\n");
	assert_int_equal(capture_output(append, &one), -EINVAL);
	assert_captured("not a history");
	assert_int_equal(capture_output(read_all, file), -1);
	f = fopen(file, "r");
	assert_int_equal(fread(text, 1, sizeof(text), f), 16);
	fclose(f);
	write_text("");
	assert_int_equal(capture_output(append, &anonymous), -EINVAL);
	assert_captured("no run.id");
	assert_int_equal(capture_output(read_all, file), 0);
	assert_int_equal(capture_output(append, &elsewhere), -ENOENT);
	assert_int_equal(capture_output(append, &device), -ENOTSUP);
	assert_int_equal(capture_output(read_all, (char *)"/nowhere/x"), -1);
	assert_captured("/nowhere/x: No such file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_those_of_the_t_distribution),
		cmocka_unit_test(small_differences_are_none),
		cmocka_unit_test(the_last_ten_like_it_are_compared),
		cmocka_unit_test(three_runs_are_enough),
		cmocka_unit_test(a_test_is_known_by_either_hash),
		cmocka_unit_test(the_test_is_the_configuration_without_its_words),
		cmocka_unit_test(a_rank_among_the_lost_is_worse_than_any_number),
		cmocka_unit_test(a_run_is_appended_once),
		cmocka_unit_test(one_waits_until_another_has_appended),
		cmocka_unit_test(a_full_disk_leaves_the_file_as_it_was),
		cmocka_unit_test(damaged_lines_are_named_and_left_out),
		cmocka_unit_test(what_is_no_history_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}

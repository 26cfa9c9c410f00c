// SPDX-License-Identifier: BSD-3-Clause
// ddiperf compare: the judgement of --fail-on at its bounds, noise of repeats, and the words of the
// table. Documents have only the members that a case needs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "captured.h"
#include "run/commands.h"

static char files[2][32]; // A and B

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int make_files(void **state)
{
	for (int i = 0; i < 2; i++) {
		strcpy(files[i], "/tmp/ddiperf-compare.XXXXXX");
		close(mkstemp(files[i]));
	}
	return 0;
}

static int remove_files(void **state)
{
	unlink(files[0]);
	unlink(files[1]);
	return 0;
}

struct comparison {
	char *margins[3];
	bool quiet;
};

static int run_compare(void *ctx)
{
	struct comparison *c = ctx;
	struct options o = {.operands = (char *[]){files[0], files[1]},
		.operand_count = 2,
		.margins = c->margins,
		.quiet = c->quiet,
		.arena = arena_new()};
	int code;

	while (c->margins[o.margin_count])
		o.margin_count++;
	code = cmd_compare(&o);
	arena_free(o.arena);
	return code;
}

// The exit code of comparing A and B; the output is captured.
static int compared(const char *a, const char *b, const char *margin, bool quiet)
{
	struct comparison c = {{(char *)margin}, quiet};

	write_file(files[0], a);
	write_file(files[1], b);
	return capture_output(run_compare, &c);
}

// A result with these members of its only item, and these of the document.
static const char *document(const char *item, const char *more)
{
	static char texts[2][2048];
	static unsigned next;
	char *text = texts[next++ % 2];

	snprintf(text, sizeof(texts[0]),
		"{\"schema\": \"ddiperf-result/1\", \"run\": {\"name\": \"n\", \"version\": \"1\","
		" \"started\": \"today\"}%s, \"traffic\": [{\"name\": \"q\", \"sent\": 1000, %s}]}",
		more, item);
	return text;
}

#define P99(value)  "\"lost\": 0, \"latency\": {\"response\": {\"p99_ns\": " #value "}}"
#define P99_LOST    "\"lost\": 20, \"latency\": {\"response\": {\"p99_ns\": null}}"
#define RATE(value) "\"answered_per_s\": " #value
#define LOSS(value) "\"loss\": " #value
#define FAILED(n)   "\"failed\": " #n

static void a_margin_is_exceeded_beyond_its_bound(void **state)
{
	static const struct {
		const char *a, *b, *margin;
		int code;
	} cases[] = {
		{P99(100000), P99(105000), "p99:+5%", EXIT_PASS},
		{P99(100000), P99(105001), "p99:+5%", EXIT_FAIL},
		{P99(100000), P99(50000), "p99:+5%", EXIT_PASS},
		{P99(100000), P99(95000), "p99:-5%", EXIT_PASS},
		{P99(100000), P99(94999), "p99:-5%", EXIT_FAIL},
		{P99(100000), P99(200000), "p99:-5%", EXIT_PASS},
		{P99(100000), P99(105000), "p99:+5us", EXIT_PASS},
		{P99(100000), P99(105001), "p99:+5us", EXIT_FAIL},
		{P99(100000), P99(105001), "traffic.q.p99:+5us", EXIT_FAIL},
		{P99(100000), P99(105001), "latency.response.p99_ns:+5us", EXIT_FAIL},
		{P99(100000), P99_LOST, "p99:+500%", EXIT_FAIL},
		{P99_LOST, P99(100000), "p99:+0%", EXIT_PASS},
		{P99_LOST, P99_LOST, "p99:+0%", EXIT_PASS},
		{P99(100000), P99_LOST, "p99:-0%", EXIT_PASS},
		{P99(100000), P99(null), "p99:+0%", EXIT_FAIL},
		{RATE(1000), RATE(980), "rate:-2%", EXIT_PASS},
		{RATE(1000), RATE(979.9), "rate:-2%", EXIT_FAIL},
		{RATE(1000), RATE(1020), "rate:+2%", EXIT_PASS},
		{RATE(1000), RATE(1020.1), "rate:+2%", EXIT_FAIL},
		{RATE(1000), RATE(980), "rate:-20", EXIT_PASS},
		{RATE(1000), RATE(979), "rate:-20", EXIT_FAIL},
		{LOSS(0.25), LOSS(0.375), "loss:+12.5%", EXIT_PASS},
		{LOSS(0.25), LOSS(0.376), "loss:+12.5%", EXIT_FAIL},
		{FAILED(0), FAILED(125), "failed:+12.5%", EXIT_PASS},
		{FAILED(0), FAILED(126), "failed:+12.5%", EXIT_FAIL},
		{FAILED(3) ", \"dns\": {\"rcode\": {\"X\": 0}}", FAILED(3), "dns.rcode.X:+0%",
			EXIT_PASS},
		{FAILED(3), FAILED(3) ", \"dns\": {\"rcode\": {\"X\": 1}}", "dns.rcode.X:+0%",
			EXIT_FAIL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int quiet = 0; quiet < 2; quiet++) {
			int code = compared(document(cases[i].a, ""), document(cases[i].b, ""),
				cases[i].margin, quiet);

			if (code != cases[i].code)
				fail_msg("%s, %s -> %s: %d: %s", cases[i].margin, cases[i].a,
					cases[i].b, code, captured);
			assert_captured(code == EXIT_PASS ? "PASS: B" : "FAIL: B");
			assert_int_equal(strncmp(captured, "PASS", 4) == 0 ||
						 strncmp(captured, "FAIL", 4) == 0,
				quiet);
		}
}

static void a_margin_without_sense_is_refused(void **state)
{
	static const struct {
		const char *margin, *message;
	} cases[] = {
		{"p99", "the margin is missing"},
		{"p99:5%", "the sign is missing"},
		{"p99:+5q", "\"5q\" is not a duration"},
		{"p99:+", "\"\" is not"},
		{"rate:-x", "\"x\" is not a rate"},
		{"loss:+5", "\"5\" is not a percentage"},
		{"p98:+5%", "no such figure (did you mean p90?)"},
		{"nothing.like.it:+5%", "no such figure in these results"},
		{"traffic.other.p99:+5%", "no such figure"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(compared(document(P99(1), ""), document(P99(1), ""),
					 cases[i].margin, false),
			EXIT_CONFIG);
		assert_captured(cases[i].message);
	}
}

static void noise_of_repeats_excuses_a_change(void **state)
{
	static const char repeats[] =
		", \"confidence\": {\"confidence\": 0.95}, \"repeats\": ["
		"{\"traffic\": [{\"name\": \"q\", \"sent\": 1000, \"answered_per_s\": %g}]},"
		"{\"traffic\": [{\"name\": \"q\", \"sent\": 1000, \"answered_per_s\": %g}]},"
		"{\"traffic\": [{\"name\": \"q\", \"sent\": 1000, \"answered_per_s\": %g}]}]";
	static const struct {
		double a[3], b[3];
		int code;
		const char *text;
	} cases[] = {
		{{900, 1000, 1100}, {800, 900, 1000}, EXIT_PASS, "within noise"},
		{{999, 1000, 1001}, {899, 900, 901}, EXIT_FAIL, "-10 %"},
		{{1000, 1000, 1000}, {999, 999, 999}, EXIT_FAIL, "+- 0"},
	};
	char a[1024], b[1024];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(a, sizeof(a), repeats, cases[i].a[0], cases[i].a[1], cases[i].a[2]);
		snprintf(b, sizeof(b), repeats, cases[i].b[0], cases[i].b[1], cases[i].b[2]);
		assert_int_equal(
			compared(document(RATE(5), a), document(RATE(5), b), "rate:-0%", false),
			cases[i].code);
		assert_captured(cases[i].text);
		assert_captured("today, , repeated");
	}
	assert_null(strstr(captured, "within noise"));
}

static void a_run_without_a_verdict_on_its_server_is_not_judged(void **state)
{
	static const char *const texts[] = {"invalid", "interrupted", "unreachable"};
	char more[64];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(more, sizeof(more), ", \"verdict\": {\"status\": \"%s\"}", texts[i]);
		assert_int_equal(
			compared(document(RATE(1), more), document(RATE(1), ""), "rate:-0%", false),
			EXIT_INVALID);
		assert_captured(texts[i]);
		assert_int_equal(
			compared(document(RATE(1), ""), document(RATE(1), more), "rate:-0%", false),
			EXIT_INVALID);
		assert_int_equal(
			compared(document(RATE(1), more), document(RATE(1), more), NULL, false),
			EXIT_PASS);
	}
	assert_int_equal(compared(document(RATE(1), ", \"verdict\": {\"status\": \"fail\"}"),
				 document(RATE(1), ""), "rate:-0%", false),
		EXIT_PASS);
}

static void an_item_or_a_search_is_a_subject_of_its_own(void **state)
{
	static const char search[] =
		", \"search\": {\"goals\": [{\"goal\": \"g\", \"answer\": %d}, "
		"{\"goal\": \"h\", \"answer\": 7}]}";
	char a[256], b[256], other[2048], *name;

	snprintf(a, sizeof(a), search, 40000);
	snprintf(b, sizeof(b), search, 38000);
	assert_int_equal(
		compared(document(RATE(1), a), document(RATE(1), b), "search.answer:-6%", false),
		EXIT_PASS);
	assert_captured("search.answer.h");
	assert_int_equal(
		compared(document(RATE(1), a), document(RATE(1), b), "search.answer:-4%", false),
		EXIT_FAIL);
	strcpy(other, document(RATE(1), ""));
	name = strstr(other, "\"q\"");
	name[1] = 'z';
	assert_int_equal(compared(document(RATE(1), ""), other, "rate:+0%", false), EXIT_FAIL);
	assert_captured("q: only in A");
	assert_captured("z: only in B");
}

static void a_change_is_shown_in_the_words_of_its_unit(void **state)
{
	static const struct {
		const char *a, *b, *text; // a line of the table, its spaces as one
	} cases[] = {
		{P99(100000), P99(110000), "latency.response.p99_ns 100 us 110 us +10 %"},
		{P99(100000), P99_LOST, "latency.response.p99_ns 100 us lost worse"},
		{P99_LOST, P99(100000), "latency.response.p99_ns lost 100 us better"},
		{P99(100000), P99(null), "latency.response.p99_ns 100 us - worse"},
		{P99(null), P99(100000), "latency.response.p99_ns - 100 us -"},
		{RATE(0), RATE(1000), "answered_per_s 0 /s 1.00 k/s new"},
		{RATE(0), RATE(0), "answered_per_s 0 /s 0 /s 0 %"},
		{LOSS(0), LOSS(0.003), "loss 0 % 0.30 % +0.3 pt"},
		{FAILED(10), FAILED(5), "failed 1.00 % 0.50 % -0.5 pt"},
	};
	char line[4096];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = 0;

		assert_int_equal(
			compared(document(cases[i].a, ""), document(cases[i].b, ""), NULL, false),
			EXIT_PASS);
		for (const char *c = captured; *c && len + 1 < sizeof(line); c++)
			if (*c != ' ' || c[1] != ' ')
				line[len++] = *c;
		line[len] = '\0';
		if (!strstr(line, cases[i].text))
			fail_msg("\"%s\" is not in: %s", cases[i].text, line);
	}
}

static void the_table_shows_figures_that_matter(void **state)
{
	static const char item[] =
		"\"answered\": 7, \"due_per_s\": 7, \"loss\": 0.1, \"failed\": 0, "
		"\"latency\": {\"response\": {\"p50_ns\": 1, \"min_ns\": 1}, "
		"\"service\": {\"p99_ns\": 1, \"mean_ns\": 1}}, \"send_lag\": {\"p50_ns\": 1}, "
		"\"steps\": [{\"name\": \"offer\", \"sent\": 5, \"lost\": 5}], "
		"\"dns\": {\"truncated\": 3, \"never\": 0, \"reply_bytes\": 4}";
	static const char *const shown[] = {"loss", "failed", "latency.response.p50_ns",
		"latency.service.p99_ns", "steps.offer.lost", "dns.truncated"};
	static const char *const hidden[] = {"answered ", "due_per_s", "min_ns", "service.mean_ns",
		"send_lag", "steps.offer.sent", "dns.never", "reply_bytes"};

	assert_int_equal(compared(document(item, ""), document(item, ""), NULL, false), EXIT_PASS);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		assert_captured(shown[i]);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (strstr(captured, hidden[i]))
			fail_msg("%s is in: %s", hidden[i], captured);
}

static void a_file_that_is_no_result_is_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"{", "not JSON"},
		{"{}", "not a result of ddiperf"},
		{"{\"schema\": \"ddiperf-result/2\"}", "not a result of ddiperf"},
		{"{\"schema\": \"ddiperf-result/1\"}", "no traffic in this result"},
		{"{\"schema\": \"ddiperf-result/1\", \"traffic\": []}", "no traffic"},
		{"{\"schema\": \"ddiperf-result/1\", \"traffic\": [3, {\"name\": \"\"}]}",
			"no figures in its traffic"},
		{"{\"schema\": \"ddiperf-result/1\", \"traffic\": [{\"name\": \"q\", \"sent\": 1, "
		 "\"a\": {\"a\": {\"a\": {\"a\": {\"a\": {\"a\": {\"a\": {\"a\": {\"lost\": "
		 "1}}}}}}}}}]}",
			"more figures than can be compared (20000, in 8 levels)"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			compared(document(RATE(1), ""), cases[i].text, NULL, false), EXIT_CONFIG);
		assert_captured(cases[i].message);
		assert_captured(files[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_margin_is_exceeded_beyond_its_bound),
		cmocka_unit_test(a_margin_without_sense_is_refused),
		cmocka_unit_test(noise_of_repeats_excuses_a_change),
		cmocka_unit_test(a_run_without_a_verdict_on_its_server_is_not_judged),
		cmocka_unit_test(an_item_or_a_search_is_a_subject_of_its_own),
		cmocka_unit_test(a_change_is_shown_in_the_words_of_its_unit),
		cmocka_unit_test(the_table_shows_figures_that_matter),
		cmocka_unit_test(a_file_that_is_no_result_is_refused),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}

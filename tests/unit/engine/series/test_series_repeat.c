// SPDX-License-Identifier: BSD-3-Clause
// Repeats: how many runs are needed, which of them count, which one represents all, and early ends.
// The test plays the runs. Path: cold. Test.
#include "played.h"

#define REPEAT(more) PLAYED_HEAD "run: {seed: 40, repeat: {rest: 0s, " more "}}\n"

static const struct result_repeat *repeat(uint32_t n)
{
	assert_true(n < played.out.repeats.count);
	return &((const struct result_repeat *)played.out.repeats.items)[n];
}

static void steady(const struct config *c, uint32_t n, struct played_run *r)
{
	r->answered = 1000 + n;
}

static void slow_at_first(const struct config *c, uint32_t n, struct played_run *r)
{
	r->answered = n < 2 ? 100 : 1000;
}

static void runs_at_first_are_left_out(void **state)
{
	assert_int_equal(
		played_series(REPEAT("skip: 2, min: 3, max: 9"), slow_at_first), EXIT_PASS);
	assert_int_equal(played.runs, 5);
	assert_int_equal(played.out.confidence->runs, 3);
	assert_int_equal(played.out.confidence->skipped, 2);
	assert_int_equal(played.out.repeats.count, 3);
	assert_int_equal(repeat(0)->seed, 42);
	assert_true(played.out.confidence->reached);
}

static const struct result_spread *figure(const char *name)
{
	const struct result_spread *s = played.out.confidence->figures.items;

	for (uint32_t i = 0; i < played.out.confidence->figures.count; i++)
		if (strcmp(s[i].figure, name) == 0)
			return &s[i];
	return NULL;
}

static void busier(const struct config *c, uint32_t n, struct played_run *r)
{
	r->answered = 1000;
	r->cpu_used = n % 2 ? 0.2 : 0.8;
}

static void the_cpu_of_a_run_is_a_figure_too(void **state)
{
	played_series(REPEAT("min: 2, max: 4"), busier);
	assert_int_equal(played.runs, 2);
	assert_null(figure("cpu.used")->item);
	assert_null(figure("dut.used"));
	assert_float_equal(figure("cpu.used")->mean, 0.5, 1e-9);
	assert_float_equal(repeat(1)->cpu_used, 0.2, 1e-9);
	assert_true(isnan(repeat(1)->dut_used));
	played_teardown(state);
	played_setup(state);
	played_series(REPEAT("min: 2, max: 4, of: [rate, cpu]"), busier);
	assert_int_equal(played.runs, 4);
	assert_false(figure("cpu.used")->reached);
	assert_true(figure("answered_per_s")->reached);
}

static void wild(const struct config *c, uint32_t n, struct played_run *r)
{
	const uint64_t rates[] = {500, 1500, 900, 2000, 100};

	r->answered = rates[n % 5];
}

static void a_steady_rate_is_known_after_the_least_number_of_runs(void **state)
{
	assert_int_equal(played_series(REPEAT("min: 4, max: 9"), steady), EXIT_PASS);
	assert_int_equal(played.runs, 4);
	assert_int_equal(played.opened, 1);
	assert_int_equal(played.closed, 1);
	assert_int_equal(played.notes, 4);
	assert_string_equal(played.out.verdict.status, "pass");
	assert_int_equal(played.out.verdict.reasons.count, 0);
	assert_true(played.out.confidence->reached);
	assert_int_equal(played.out.confidence->runs, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(repeat(i)->seed, 40 + i);
}

static void a_wild_rate_is_run_until_the_most(void **state)
{
	assert_int_equal(played_series(REPEAT("min: 2, max: 5"), wild), EXIT_PASS);
	assert_int_equal(played.runs, 5);
	assert_false(played.out.confidence->reached);
	assert_true(played_says("after 5 runs the mean is not known within 5 % at 99 %"));
	// The median represents all: 100 500 900 1500 2000.
	assert_int_equal(played.out.run.seed, 42);
}

static void wild_latency(const struct config *c, uint32_t n, struct played_run *r)
{
	r->p99_ns = n % 2 ? 1e6 : 9e6;
}

static void only_figures_that_are_asked_for_have_to_be_known(void **state)
{
	played_series(REPEAT("min: 2, max: 5"), wild_latency);
	assert_int_equal(played.runs, 2);
	played_teardown(state);
	played_setup(state);
	played_series(REPEAT("min: 2, max: 5, of: [rate, p99]"), wild_latency);
	assert_int_equal(played.runs, 5);
	played_teardown(state);
	played_setup(state);
	played_series(REPEAT("min: 2, max: 5, of: p99"), wild);
	assert_int_equal(played.runs, 2);
}

static void few(const struct config *c, uint32_t n, struct played_run *r)
{
	r->sent = r->answered = 99;
}

static void a_p99_of_few_replies_is_not_known(void **state)
{
	const struct result_spread *p99;

	played_series(REPEAT("min: 2, max: 4, of: [rate, p99]"), few);
	assert_int_equal(played.runs, 4);
	assert_false(played.out.confidence->reached);
	p99 = figure("latency.response.p99_ns");
	assert_true(isnan(p99->mean) && isnan(p99->min) && isnan(p99->max) && isnan(p99->low));
	assert_false(p99->reached);
	assert_true(figure("answered_per_s")->reached);
}

static void ends_of_intervals_are_figures_that_can_be(void **state)
{
	played_series(REPEAT("min: 2, max: 5"), wild);
	assert_float_equal(figure("answered_per_s")->low, 0, 0);
	assert_true(figure("answered_per_s")->high > 2000);
	played_teardown(state);
	played_setup(state);
	played_series(REPEAT("min: 2, max: 2"), busier);
	assert_float_equal(figure("cpu.used")->low, 0, 0);
	assert_float_equal(figure("cpu.used")->high, 1, 0);
}

static void without_latency(const struct config *c, uint32_t n, struct played_run *r)
{
	r->p99_ns = NAN;
}

static void what_is_never_answered_has_no_latency_to_be_known(void **state)
{
	played_series(REPEAT("min: 2, max: 5, of: [rate, p99]"), without_latency);
	assert_int_equal(played.runs, 2);
	assert_true(played.out.confidence->reached);
}

static void second_fails(const struct config *c, uint32_t n, struct played_run *r)
{
	if (n != 1)
		return;
	r->code = EXIT_FAIL;
	r->status = "fail";
	r->reason = "criterion not met: loss <= 1%";
}

static void a_repeat_that_fails_counts_and_fails_them_all(void **state)
{
	assert_int_equal(played_series(REPEAT("min: 3, max: 5"), second_fails), EXIT_FAIL);
	assert_int_equal(played.runs, 3);
	assert_string_equal(played.out.verdict.status, "fail");
	assert_true(played_says("repeat 2: criterion not met: loss <= 1%"));
	assert_int_equal(played.out.verdict.reasons.count, 1);
}

static void invalid(struct played_run *r)
{
	r->code = EXIT_INVALID;
	r->status = "invalid";
	r->reason = "the tester was late";
}

static void two_of_three_invalid(const struct config *c, uint32_t n, struct played_run *r)
{
	if (n % 3 != 2)
		invalid(r);
}

static void an_invalid_run_does_not_count(void **state)
{
	assert_int_equal(played_series(REPEAT("min: 2, max: 3"), two_of_three_invalid), EXIT_PASS);
	assert_int_equal(played.runs, 6);
	assert_int_equal(played.out.repeats.count, 2);
	assert_int_equal(repeat(0)->seed, 42);
	assert_int_equal(repeat(1)->seed, 45);
}

static void invalid_after_two(const struct config *c, uint32_t n, struct played_run *r)
{
	if (n >= 2)
		invalid(r);
}

static void three_invalid_runs_in_a_row_end_it(void **state)
{
	assert_int_equal(played_series(REPEAT("min: 3, max: 9"), invalid_after_two), EXIT_INVALID);
	assert_int_equal(played.runs, 5);
	assert_string_equal(played.out.verdict.status, "invalid");
	assert_true(played_says("ended by run 5, after 2 that count"));
	assert_true(played_says("the tester was late"));
	assert_int_equal(played.out.confidence->runs, 2);
}

static void always_invalid(const struct config *c, uint32_t n, struct played_run *r)
{
	invalid(r);
}

static void without_a_run_that_counts_the_last_one_is_the_result(void **state)
{
	assert_int_equal(played_series(REPEAT("min: 2, max: 9"), always_invalid), EXIT_INVALID);
	assert_int_equal(played.runs, 3);
	assert_int_equal(played.out.run.seed, 42);
	assert_null(played.out.confidence);
	assert_int_equal(played.out.verdict.reasons.count, 1);
}

static void interrupted_after_two(const struct config *c, uint32_t n, struct played_run *r)
{
	r->signal = n == 1;
	r->answered = n ? 5000 : 100;
}

static void a_signal_between_runs_ends_it_with_those_that_count(void **state)
{
	assert_int_equal(
		played_series(REPEAT("min: 3, max: 9"), interrupted_after_two), EXIT_INTERRUPTED);
	assert_int_equal(played.runs, 2);
	assert_string_equal(played.out.verdict.status, "interrupted");
	assert_int_equal(played.out.verdict.exit_code, EXIT_INTERRUPTED);
	assert_true(played_says("interrupted, after 2 runs that count"));
}

static void invalid_and_interrupted(const struct config *c, uint32_t n, struct played_run *r)
{
	invalid(r);
	r->signal = true;
}

static void a_signal_after_an_invalid_run_is_the_verdict(void **state)
{
	assert_int_equal(
		played_series(REPEAT("min: 2, max: 2"), invalid_and_interrupted), EXIT_INTERRUPTED);
	assert_int_equal(played.runs, 1);
	assert_string_equal(played.out.verdict.status, "interrupted");
	assert_int_equal(played.out.verdict.exit_code, EXIT_INTERRUPTED);
}

static int not_begun; // exit code of the second run

static void second_does_not_begin(const struct config *c, uint32_t n, struct played_run *r)
{
	if (n == 1) {
		r->code = not_begun;
		r->status = NULL;
	}
}

static void a_run_that_does_not_begin_ends_it(void **state)
{
	static const struct {
		int code;
		const char *why;
	} rows[] = {
		{EXIT_CONFIG, "run 2 could not begin because of the configuration, after 1 that"},
		{EXIT_ENVIRONMENT, "run 2 could not begin, after 1 that count: see the message"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		not_begun = rows[i].code;
		assert_int_equal(played_series(REPEAT("min: 3, max: 9"), second_does_not_begin),
			rows[i].code);
		assert_string_equal(played.out.verdict.status, "invalid");
		assert_int_equal(played.out.verdict.exit_code, rows[i].code);
		assert_true(played_says(rows[i].why));
		assert_int_equal(played.out.run.seed, 40);
		played_teardown(state);
		played_setup(state);
	}
	played_load(REPEAT("min: 3"));
}

static void ports_that_do_not_come_up_are_closed_again(void **state)
{
	played.open_code = EXIT_ENVIRONMENT;
	assert_int_equal(played_series(REPEAT("min: 2"), steady), EXIT_ENVIRONMENT);
	assert_int_equal(played.runs, 0);
	assert_int_equal(played.closed, 1);
	assert_null(played.out.verdict.status);
}

static void what_cannot_be_kept_is_the_exit_code_of_a_series_that_passed(void **state)
{
	played.close_code = EXIT_ENVIRONMENT;
	assert_int_equal(played_series(REPEAT("min: 2"), steady), EXIT_ENVIRONMENT);
	played_teardown(state);
	played_setup(state);
	played.close_code = EXIT_ENVIRONMENT;
	assert_int_equal(played_series(REPEAT("min: 2"), second_fails), EXIT_FAIL);
}

// x.pcapng of the second run is x-2.pcapng.
static void each_run_has_a_capture_file_of_its_own(void **state)
{
	static const struct {
		const char *file, *first, *second;
	} rows[] = {
		{"out/x.pcapng", "out/x-1.pcapng", "out/x-2.pcapng"},
		{"o.ut/x", "o.ut/x-1", "o.ut/x-2"}, {".x", ".x-1", ".x-2"},
		{"a''b.c.d", "a'b.c-1.d", "a'b.c-2.d"}, // as YAML has an apostrophe
	};
	char text[1024];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), REPEAT("min: 2") "output: {capture: {file: '%s'}}\n",
			rows[i].file);
		played_series(text, steady);
		assert_string_equal(repeat(0)->capture, rows[i].first);
		assert_string_equal(repeat(1)->capture, rows[i].second);
		played_teardown(state);
		played_setup(state);
	}
	played_series(REPEAT("min: 2"), steady);
	assert_null(repeat(0)->capture);
}

static void every_item_has_a_spread_of_each_figure(void **state)
{
	const struct result_spread *s;

	played_series(PLAYED_HEAD "  - {name: r, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS
				  "}\n"
				  "run: {repeat: {min: 2, rest: 0s}}\n",
		steady);
	assert_int_equal(played.out.confidence->figures.count, 4);
	s = played.out.confidence->figures.items;
	assert_string_equal(s[0].item, "q");
	assert_string_equal(s[3].item, "r");
	assert_string_equal(s[0].figure, "answered_per_s");
	assert_string_equal(s[1].figure, "latency.response.p99_ns");
	assert_true(s[0].min == 1000 && s[0].max == 999 + played.runs && s[0].reached);
}

static void without_repeats_it_is_one_run(void **state)
{
	assert_int_equal(played_series(PLAYED_HEAD, steady), 77);
	assert_int_equal(played.opened, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED_TEST(a_steady_rate_is_known_after_the_least_number_of_runs),
		PLAYED_TEST(runs_at_first_are_left_out),
		PLAYED_TEST(the_cpu_of_a_run_is_a_figure_too),
		PLAYED_TEST(a_wild_rate_is_run_until_the_most),
		PLAYED_TEST(a_p99_of_few_replies_is_not_known),
		PLAYED_TEST(ends_of_intervals_are_figures_that_can_be),
		PLAYED_TEST(only_figures_that_are_asked_for_have_to_be_known),
		PLAYED_TEST(what_is_never_answered_has_no_latency_to_be_known),
		PLAYED_TEST(a_repeat_that_fails_counts_and_fails_them_all),
		PLAYED_TEST(an_invalid_run_does_not_count),
		PLAYED_TEST(three_invalid_runs_in_a_row_end_it),
		PLAYED_TEST(without_a_run_that_counts_the_last_one_is_the_result),
		PLAYED_TEST(a_signal_between_runs_ends_it_with_those_that_count),
		PLAYED_TEST(a_signal_after_an_invalid_run_is_the_verdict),
		PLAYED_TEST(a_run_that_does_not_begin_ends_it),
		PLAYED_TEST(ports_that_do_not_come_up_are_closed_again),
		PLAYED_TEST(what_cannot_be_kept_is_the_exit_code_of_a_series_that_passed),
		PLAYED_TEST(each_run_has_a_capture_file_of_its_own),
		PLAYED_TEST(every_item_has_a_spread_of_each_figure),
		PLAYED_TEST(without_repeats_it_is_one_run),
	};

	return cmocka_run_group_tests_name("series_repeat", tests, NULL, NULL);
}

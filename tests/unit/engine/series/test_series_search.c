// SPDX-License-Identifier: BSD-3-Clause
// A search from its first trial to its verdict, against servers and testers that the test plays.
// Path: cold. Test.
#include "played.h"

#define SEARCH(more)                                                                               \
	PLAYED_HEAD                                                                                \
	"search: {variable: traffic.q.load.rate, from: 1k, to: 20k, settle: 0s, width: 5%, "       \
	"goals: [{loss: 1%}]" more "}\n"

static double rate_of(const struct config *c)
{
	return ((const struct item_settings *)c->traffic.items)[0].load.rate;
}

static const struct result_goal *goal(void)
{
	return played.out.search->goals.items;
}

static const struct result_trial *trial(uint32_t n)
{
	assert_true(n < played.out.search->trials.count);
	return &((const struct result_trial *)played.out.search->trials.items)[n];
}

static void lose(struct played_run *r)
{
	r->lost = 500;
	r->answered = 500;
}

// Up to 5000 a second nothing is lost.
static void server(const struct config *c, uint32_t n, struct played_run *r)
{
	if (rate_of(c) > 5000)
		lose(r);
}

static void the_answer_is_the_highest_load_without_loss(void **state)
{
	assert_int_equal(played_series(SEARCH(""), server), EXIT_PASS);
	assert_string_equal(played.out.verdict.status, "pass");
	assert_string_equal(played.out.verdict.limited_by, "server");
	assert_string_equal(goal()->limited_by, "server");
	assert_true(goal()->answer <= 5000 && goal()->answer > 4700);
	assert_true(goal()->upper > 5000 && goal()->upper < 5300);
	assert_true(isnan(goal()->repeats_met));
	assert_int_equal(played.out.search->trials.count, played.runs);
	assert_int_equal(played.opened, 1);
	assert_int_equal(played.closed, 1);
	// The run at the answer represents the search, and passes.
	assert_int_equal(((const struct result_item *)played.out.traffic.items)[0].ledger.lost, 0);
	for (uint32_t i = 0; i < played.runs; i++) {
		assert_true(trial(i)->rate == rate_of(played.config[i]));
		assert_string_equal(trial(i)->verdict, trial(i)->rate > 5000 ? "fail" : "pass");
		assert_int_equal(trial(i)->goals_met, trial(i)->rate <= 5000);
		assert_true(
			trial(i)->duration_s == 1e-9 * (double)played.config[i]->run.duration_ns);
		assert_int_equal(played.config[i]->run.warmup_ns, 500000000);
	}
}

// Ports are brought up for the greatest load.
static void ports_have_room_for_the_highest_value(void **state)
{
	played_load(SEARCH(""));
	played.open_code = EXIT_ENVIRONMENT;
	assert_int_equal(
		series_execute(&played.options, played.l.a, &played.out), EXIT_ENVIRONMENT);
	assert_int_equal(played.runs, 0);
	assert_int_equal(played.closed, 1);
	assert_null(played.out.verdict.status);
}

static void perfect(const struct config *c, uint32_t n, struct played_run *r)
{
}

static void a_server_that_can_all_of_it_passes_with_a_remark(void **state)
{
	assert_int_equal(played_series(SEARCH(""), perfect), EXIT_PASS);
	assert_string_equal(goal()->limited_by, "range");
	assert_string_equal(played.out.verdict.limited_by, "none");
	assert_true(goal()->answer == 20000);
	assert_true(isinf(goal()->upper));
	assert_true(played_says("met up to 20.0 k/s, the end of the search"));
}

static void poor(const struct config *c, uint32_t n, struct played_run *r)
{
	lose(r);
}

static void a_server_that_cannot_do_the_least_fails(void **state)
{
	assert_int_equal(played_series(SEARCH(""), poor), EXIT_FAIL);
	assert_string_equal(played.out.verdict.status, "fail");
	assert_true(isnan(goal()->answer));
	assert_true(played_says("not even met at 1.00 k/s"));
}

static void weak_tester(const struct config *c, uint32_t n, struct played_run *r)
{
	if (rate_of(c) > 5000) {
		r->code = EXIT_INVALID;
		r->status = "invalid";
		r->reason = "the tester was late";
	}
}

static void a_tester_at_its_limit_makes_the_search_invalid(void **state)
{
	assert_int_equal(played_series(SEARCH(""), weak_tester), EXIT_INVALID);
	assert_string_equal(played.out.verdict.status, "invalid");
	assert_string_equal(played.out.verdict.limited_by, "tester");
	assert_string_equal(goal()->limited_by, "tester");
	assert_true(goal()->answer <= 5000 && goal()->answer > 4700);
	assert_true(played_says("is the tester's own limit"));
	for (uint32_t i = 0; i < played.runs; i++) {
		bool weak = trial(i)->rate > 5000;

		assert_string_equal(trial(i)->verdict, weak ? "invalid" : "pass");
		assert_int_equal(trial(i)->goals_met, !weak);
	}
}

static void no_tester(const struct config *c, uint32_t n, struct played_run *r)
{
	r->code = EXIT_INVALID;
	r->status = "invalid";
	r->reason = "the tester was late";
}

static void a_tester_that_cannot_do_the_least_finds_nothing(void **state)
{
	assert_int_equal(played_series(SEARCH(""), no_tester), EXIT_INVALID);
	assert_true(isnan(goal()->answer));
	assert_true(played_says("nothing was found within the tester's own limit"));
}

static void stopping(const struct config *c, uint32_t n, struct played_run *r)
{
	if (rate_of(c) > 5000) {
		r->code = EXIT_FAIL;
		r->status = "fail";
		r->stopped = "in_flight > 5";
		r->reason = "stopped";
	}
}

// Whatever was answered: a rule of the user defines it as too much.
static void a_trial_that_a_rule_stopped_is_too_much(void **state)
{
	assert_int_equal(played_series(SEARCH(""), stopping), EXIT_PASS);
	assert_true(goal()->answer <= 5000 && goal()->answer > 4700);
}

static void late(const struct config *c, uint32_t n, struct played_run *r)
{
	if (rate_of(c) > 5000) {
		r->answered = 980;
		r->in_flight = 20;
	}
}

static void what_is_in_flight_at_the_end_is_lost(void **state)
{
	played_series(SEARCH(""), late);
	assert_true(goal()->answer <= 5000 && goal()->answer > 4700);
}

static void silent(const struct config *c, uint32_t n, struct played_run *r)
{
	r->code = EXIT_UNREACHABLE;
	r->status = "unreachable";
	r->sent = r->answered = 0;
}

static void a_server_that_is_not_there_is_not_searched(void **state)
{
	assert_int_equal(played_series(SEARCH(""), silent), EXIT_UNREACHABLE);
	assert_int_equal(played.runs, 1);
}

static void silent_above(const struct config *c, uint32_t n, struct played_run *r)
{
	if (rate_of(c) > 5000 && n == 0)
		lose(r);
	else if (rate_of(c) > 5000)
		silent(c, n, r);
}

// A server that replied before and is silent now was overloaded.
static void a_server_that_falls_silent_has_had_too_much(void **state)
{
	assert_int_equal(played_series(SEARCH(""), silent_above), EXIT_PASS);
	assert_true(goal()->answer <= 5000 && goal()->answer > 4700);
}

static void mute(const struct config *c, uint32_t n, struct played_run *r)
{
	r->code = EXIT_UNREACHABLE;
	r->status = "unreachable";
	r->answered = 0;
	r->lost = r->sent;
}

// Its address exists, but no load is answered: that is the verdict of the last run.
static void a_server_that_answers_no_load_is_unreachable(void **state)
{
	assert_int_equal(played_series(SEARCH(""), mute), EXIT_UNREACHABLE);
	assert_true(played.runs > 1);
	assert_string_equal(played.out.verdict.status, "unreachable");
	assert_true(isnan(goal()->answer));
}

static void absent(const struct config *c, uint32_t n, struct played_run *r)
{
	mute(c, n, r);
	r->sent = r->lost = 0;
}

// No host has its address, so nothing is sent and there is no search.
static void a_server_that_is_not_there_is_unreachable_at_once(void **state)
{
	assert_int_equal(played_series(SEARCH(""), absent), EXIT_UNREACHABLE);
	assert_int_equal(played.runs, 1);
	assert_string_equal(played.out.verdict.status, "unreachable");
	assert_false(played_says("a trial could not be started"));
}

static void interrupted(const struct config *c, uint32_t n, struct played_run *r)
{
	server(c, n, r);
	r->signal = n == 2;
}

static void a_signal_ends_it_with_what_is_known(void **state)
{
	assert_int_equal(played_series(SEARCH(""), interrupted), EXIT_INTERRUPTED);
	assert_int_equal(played.runs, 3);
	assert_string_equal(played.out.verdict.status, "interrupted");
	assert_true(played_says("interrupted after 3 trials"));
}

static void broken_second(const struct config *c, uint32_t n, struct played_run *r)
{
	server(c, n, r);
	if (n == 1) {
		r->code = EXIT_INTERNAL;
		r->status = "invalid";
	}
}

static void no_box_second(const struct config *c, uint32_t n, struct played_run *r)
{
	server(c, n, r);
	if (n == 1) {
		r->code = EXIT_ENVIRONMENT;
		r->status = NULL;
	}
}

static void a_trial_that_breaks_or_does_not_begin_ends_it(void **state)
{
	assert_int_equal(played_series(SEARCH(""), broken_second), EXIT_INTERNAL);
	assert_int_equal(played.runs, 2);
	assert_int_equal(played.out.search->trials.count, 1);
	assert_true(played_says("a trial ended with an internal error"));
	played_teardown(state);
	played_setup(state);
	assert_int_equal(played_series(SEARCH(""), no_box_second), EXIT_ENVIRONMENT);
	assert_int_equal(played.runs, 2);
	assert_true(played_says("a trial could not be started"));
}

// --- repeats at the answer ---

#define REPEATED "run: {repeat: {min: 3, max: 3, rest: 0s, width: 1000%}}\n"

static uint32_t trials_before; // runs of the search itself
static uint32_t bad_repeats;

static void doubtful(const struct config *c, uint32_t n, struct played_run *r)
{
	server(c, n, r);
	if (n >= trials_before && n < trials_before + bad_repeats)
		lose(r);
}

static int repeated(void **state, uint32_t bad)
{
	played_series(SEARCH(""), server);
	trials_before = played.runs;
	bad_repeats = bad;
	played_teardown(state);
	played_setup(state);
	return played_series(SEARCH("") REPEATED, doubtful);
}

static void repeats_bear_the_answer_out(void **state)
{
	assert_int_equal(repeated(state, 0), EXIT_PASS);
	assert_int_equal(played.runs, trials_before + 3);
	assert_true(goal()->repeats_met == 3);
	assert_int_equal(played.out.repeats.count, 3);
	assert_int_equal(played.out.search->trials.count, trials_before);
	assert_true(rate_of(played.config[trials_before]) == goal()->answer);
	assert_int_equal(played.config[trials_before]->run.duration_ns, 10000000000);
	assert_false(played_says("repeats"));
}

static void most_of_the_repeats_decide(void **state)
{
	assert_int_equal(repeated(state, 1), EXIT_PASS);
	assert_true(goal()->repeats_met == 2);
	assert_true(played_says("the answer met the goal in 2 of 3 repeats"));
	played_teardown(state);
	played_setup(state);
	assert_int_equal(repeated(state, 2), EXIT_FAIL);
	assert_string_equal(played.out.verdict.status, "fail");
	assert_true(played_says("the answer met the goal in 1 of 3 repeats"));
}

static void an_answer_that_is_not_there_is_not_repeated(void **state)
{
	assert_int_equal(played_series(SEARCH("") REPEATED, poor), EXIT_FAIL);
	assert_int_equal(played.out.search->trials.count, played.runs);
	assert_int_equal(played.out.repeats.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED_TEST(the_answer_is_the_highest_load_without_loss),
		PLAYED_TEST(ports_have_room_for_the_highest_value),
		PLAYED_TEST(a_server_that_can_all_of_it_passes_with_a_remark),
		PLAYED_TEST(a_server_that_cannot_do_the_least_fails),
		PLAYED_TEST(a_tester_at_its_limit_makes_the_search_invalid),
		PLAYED_TEST(a_tester_that_cannot_do_the_least_finds_nothing),
		PLAYED_TEST(a_trial_that_a_rule_stopped_is_too_much),
		PLAYED_TEST(what_is_in_flight_at_the_end_is_lost),
		PLAYED_TEST(a_server_that_is_not_there_is_not_searched),
		PLAYED_TEST(a_server_that_falls_silent_has_had_too_much),
		PLAYED_TEST(a_server_that_answers_no_load_is_unreachable),
		PLAYED_TEST(a_server_that_is_not_there_is_unreachable_at_once),
		PLAYED_TEST(a_signal_ends_it_with_what_is_known),
		PLAYED_TEST(a_trial_that_breaks_or_does_not_begin_ends_it),
		PLAYED_TEST(repeats_bear_the_answer_out),
		PLAYED_TEST(most_of_the_repeats_decide),
		PLAYED_TEST(an_answer_that_is_not_there_is_not_repeated),
	};

	return cmocka_run_group_tests_name("series_search", tests, NULL, NULL);
}

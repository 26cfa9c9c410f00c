// SPDX-License-Identifier: BSD-3-Clause
// A search by one ramp: its intervals become trials during the run, it ends when enough is known,
// and a tester fell behind at a known rate. The test plays the run. Path: cold. Test.
#include "played.h"

#define STEPS 20
#define RAMP(more)                                                                                 \
	PLAYED_HEAD                                                                                \
	"search: {variable: traffic.q.load.rate, method: ramp, from: 1k, to: 20k, settle: 0s, "    \
	"trial: 1s, steps: 20, goals: [{loss: 1%}]" more "}\n"

static struct result_interval_item series[STEPS + 1];
static struct result_interval intervals[STEPS + 1];
static uint32_t count;  // intervals of the last run
static double too_much; // rate above which half is lost
static double too_fast; // rate above which the tester sends half
static uint32_t ends_after;
static double drain_s; // end of the last interval
static struct played_run outcome;

// Intervals of 1 s from 1k to 20k, as long as more are requested.
static void ramp(const struct config *c, uint32_t n, struct played_run *r)
{
	const struct run_hooks *h = &played.opened_with->hooks;

	for (count = 0; count < ends_after && !h->enough(h->ctx); count++) {
		uint64_t due = 1475 + 950 * count;
		uint64_t sent = due > too_fast ? due / 2 : due;
		uint64_t lost = due > too_much ? sent / 2 : 0;

		series[count] = (struct result_interval_item){.name = "q",
			.due = due,
			.sent = sent,
			.answered = sent - lost,
			.lost = lost,
			.p50_ns = 1e6,
			.p99_ns = 1e6};
		intervals[count] = (struct result_interval){
			.t_s = count + 1, .length_s = 1, .traffic = {&series[count], 1}};
		h->interval(h->ctx, &intervals[count], false);
		h->kept(h->ctx, &intervals[count]);
		if (count == 0)
			h->note(h->ctx, "a note of the run");
	}
	series[count] = (struct result_interval_item){.name = "q"}; // the drain
	intervals[count] = (struct result_interval){
		.t_s = count + drain_s, .length_s = 0.5, .traffic = {&series[count], 1}};
	h->kept(h->ctx, &intervals[count]);
	*r = outcome;
}

static int setup(void **state)
{
	played_setup(state);
	too_much = too_fast = 1e9;
	ends_after = STEPS;
	drain_s = 1.5;
	outcome = (struct played_run){.status = "pass", .sent = 1000, .answered = 1000};
	return 0;
}

static const struct result_goal *goal(void)
{
	return played.out.search->goals.items;
}

static const struct result_trial *trials(void)
{
	return played.out.search->trials.items;
}

static void a_ramp_is_one_run_with_all_rates(void **state)
{
	const struct item_settings *item;

	assert_int_equal(played_series(RAMP(""), ramp), EXIT_PASS);
	item = played.config[0]->traffic.items;
	assert_int_equal(played.runs, 1);
	assert_true(item->load.rate == 0);
	assert_true(item->load.ramp->from == 1000 && item->load.ramp->to == 20000);
	assert_int_equal(played.config[0]->run.duration_ns, 20000000000);
	assert_string_equal(played.out.search->method, "ramp");
	assert_int_equal(played.out.search->trials.count, STEPS);
	assert_true(trials()[0].rate == 1475 && trials()[STEPS - 1].rate == 19525);
	assert_string_equal(goal()->limited_by, "range");
	assert_true(goal()->answer == 19525);
	assert_int_equal(played.notes, 1);
}

// A loss belongs to the previous second (the timeout): from 9075 on; 8125 was the last to pass.
static void it_ends_beyond_the_rate_at_which_the_goal_breaks_for_good(void **state)
{
	too_much = 10000;
	outcome = (struct played_run){
		.status = "fail", .code = EXIT_FAIL, .sent = 1000, .lost = 500, .reason = "loss"};
	assert_int_equal(played_series(RAMP(""), ramp), EXIT_PASS);
	assert_string_equal(goal()->limited_by, "server");
	assert_true(goal()->answer == 8125);
	assert_true(goal()->upper == 9075);
	assert_true(count > 12 && count < STEPS);
	assert_string_equal(played.out.verdict.status, "pass");
	assert_false(played_says("beyond the answer"));
}

// The server's limit was found before, so the tester's is irrelevant.
static void a_tester_that_falls_behind_beyond_the_answer_is_forgiven(void **state)
{
	too_much = 8000;
	too_fast = 10000;
	outcome = (struct played_run){
		.status = "invalid", .code = EXIT_INVALID, .sent = 1000, .reason = "late"};
	assert_int_equal(played_series(RAMP(""), ramp), EXIT_PASS);
	assert_string_equal(played.out.verdict.status, "pass");
	assert_string_equal(goal()->limited_by, "server");
	assert_true(played_says("beyond the answer: late"));
}

// Nothing is in flight any more, so losses are known before the timeout.
static void a_short_drain_leaves_no_interval_out(void **state)
{
	drain_s = 0.5;
	played_series(RAMP(""), ramp);
	assert_int_equal(played.out.search->trials.count, STEPS);
}

static void a_rule_that_ends_the_ramp_is_a_bound(void **state)
{
	ends_after = 6;
	outcome = (struct played_run){.status = "fail",
		.code = EXIT_FAIL,
		.sent = 1000,
		.stopped = "in_flight > 5",
		.reason = "stopped"};
	assert_int_equal(played_series(RAMP(""), ramp), EXIT_PASS);
	// The interval in which it was stopped is no trial.
	assert_int_equal(played.out.search->trials.count, 5);
	assert_true(goal()->upper == trials()[4].rate);
	assert_string_equal(goal()->limited_by, "server");
}

static void a_run_that_is_invalid_for_another_reason_says_nothing(void **state)
{
	outcome = (struct played_run){
		.status = "invalid", .code = EXIT_INVALID, .sent = 1000, .reason = "dropped"};
	assert_int_equal(played_series(RAMP(", attempts: 2"), ramp), EXIT_INVALID);
	assert_int_equal(played.runs, 2);
	assert_string_equal(goal()->limited_by, "tester");
	assert_true(isnan(goal()->answer));
	assert_int_equal(played.out.search->trials.count, 2 * STEPS);
	for (uint32_t i = 0; i < 2 * STEPS; i++)
		assert_string_equal(trials()[i].verdict, "invalid");
}

// Intervals before the tester fell behind count.
static void a_tester_that_falls_behind_does_so_at_a_rate(void **state)
{
	too_fast = 10000;
	outcome = (struct played_run){
		.status = "invalid", .code = EXIT_INVALID, .sent = 1000, .reason = "late"};
	assert_int_equal(played_series(RAMP(", attempts: 1"), ramp), EXIT_INVALID);
	assert_string_equal(goal()->limited_by, "tester");
	assert_true(goal()->answer == 9075);
	assert_true(goal()->upper == 10025);
}

static void a_signal_ends_the_ramp_with_what_is_known(void **state)
{
	ends_after = 6;
	outcome.code = EXIT_INTERRUPTED;
	outcome.status = "interrupted";
	outcome.signal = true;
	assert_int_equal(played_series(RAMP(""), ramp), EXIT_INTERRUPTED);
	assert_int_equal(played.runs, 1);
	assert_string_equal(goal()->limited_by, "none");
	assert_true(played_says("interrupted after"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, played_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_ramp_is_one_run_with_all_rates),
		TEST(it_ends_beyond_the_rate_at_which_the_goal_breaks_for_good),
		TEST(a_tester_that_falls_behind_beyond_the_answer_is_forgiven),
		TEST(a_short_drain_leaves_no_interval_out),
		TEST(a_rule_that_ends_the_ramp_is_a_bound),
		TEST(a_run_that_is_invalid_for_another_reason_says_nothing),
		TEST(a_tester_that_falls_behind_does_so_at_a_rate),
		TEST(a_signal_ends_the_ramp_with_what_is_known),
	};

	return cmocka_run_group_tests_name("series_ramp", tests, NULL, NULL);
}

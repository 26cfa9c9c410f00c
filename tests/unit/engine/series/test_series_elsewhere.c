// SPDX-License-Identifier: BSD-3-Clause
// Searches, repeats and single runs made by another process: no port is opened here, and the answer
// is the capacity of the runs there. Path: cold. Test.
#include "played.h"

#define CAPACITY 7300.0
#define SEARCH(more)                                                                               \
	PLAYED_HEAD                                                                                \
	"search: {variable: traffic.q.load.rate, from: 1k, to: 20k, settle: 0s, width: 2%, "       \
	"goals: [{loss: 0.1%}]" more "}\n"

static struct {
	struct run_options const *options;
	char rate[64], seed[64]; // of the settings of the last run
	unsigned count;
	uint32_t opened, runs, closed;
	int open_code, close_code;
	uint64_t seeds[PLAYED_MAX];
} there;

static int open_there(void *ctx, const struct run_options *o, struct arena *a)
{
	assert_ptr_equal(ctx, &there);
	assert_ptr_equal(a, played.l.a);
	there.options = o;
	there.opened++;
	return there.open_code;
}

static int close_there(void *ctx)
{
	there.closed++;
	return there.close_code;
}

// Queries beyond the capacity are lost.
static void answer(const struct config *c, double rate, double s, struct result *out)
{
	struct played_run r = {.status = "pass", .p99_ns = 1e6};

	r.sent = (uint64_t)(rate * s);
	r.answered = (uint64_t)(fmin(rate, CAPACITY) * s);
	r.lost = r.sent - r.answered;
	played_result(c, &r, out);
}

static void play_ramp(const struct config *c)
{
	const struct ramp_settings *ramp =
		((const struct item_settings *)c->traffic.items)->load.ramp;
	const struct run_hooks *h = &there.options->hooks;
	double over_s = 1e-9 * (double)ramp->over_ns, length_s = 1e-9 * (double)c->run.interval_ns;

	for (double t = 0; t < over_s && !h->enough(h->ctx); t += length_s) {
		double rate = ramp->from + (ramp->to - ramp->from) * (t + length_s / 2) / over_s;
		struct result_interval_item item = {.name = "q"};
		struct result_interval i = {
			.t_s = t + length_s, .length_s = length_s, .traffic = {&item, 1}};

		item.due = item.sent = (uint64_t)(rate * length_s);
		item.answered = (uint64_t)(fmin(rate, CAPACITY) * length_s);
		item.lost = item.sent - item.answered;
		h->kept(h->ctx, &i);
	}
}

static int once_there(
	void *ctx, const struct config *c, char *const *texts, unsigned count, struct result *out)
{
	const struct item_settings *item = c->traffic.items;

	assert_ptr_equal(ctx, &there);
	there.count = count;
	if (count) {
		snprintf(there.rate, sizeof(there.rate), "%s", texts[0]);
		snprintf(there.seed, sizeof(there.seed), "%s", texts[count - 1]);
	}
	there.seeds[there.runs++] = c->run.seed;
	if (item->load.ramp)
		play_ramp(c);
	answer(c, item->load.ramp ? CAPACITY : item->load.rate, 1e-9 * (double)c->run.duration_ns,
		out);
	return EXIT_PASS;
}

static const struct run_elsewhere elsewhere = {open_there, once_there, close_there, &there};

static int execute(const char *text)
{
	played_load(text);
	played.options.elsewhere = &elsewhere;
	return series_execute(&played.options, played.l.a, &played.out);
}

static void assert_nothing_was_run_here(void)
{
	assert_int_equal(played.opened + played.runs + played.closed, 0);
	assert_int_equal(there.opened, 1);
	assert_int_equal(there.closed, 1);
}

static void assert_capacity_found(double width)
{
	const struct result_goal *goal = played.out.search->goals.items;

	assert_nothing_was_run_here();
	assert_true(fabs(goal->answer / CAPACITY - 1) <= width);
	assert_string_equal(goal->limited_by, "server");
	assert_string_equal(played.out.verdict.status, "pass");
}

static void a_search_finds_the_capacity_of_what_is_elsewhere(void **state)
{
	assert_int_equal(execute(SEARCH("")), EXIT_PASS);
	assert_capacity_found(0.02);
	assert_int_equal(played.out.search->trials.count, there.runs);
	// The settings of a trial are sent, and each trial has its own seed.
	assert_non_null(strstr(there.rate, "traffic.q.load.rate="));
	assert_non_null(strstr(there.seed, "run.seed="));
	for (uint32_t i = 1; i < there.runs; i++)
		assert_int_equal(there.seeds[i], there.seeds[0] + i);
}

static void a_ramp_elsewhere_ends_when_enough_is_known(void **state)
{
	assert_int_equal(execute(SEARCH(", method: ramp, trial: 1s, steps: 100")), EXIT_PASS);
	assert_int_equal(there.runs, 1);
	// The timeout gives the time from the cause of a loss.
	assert_capacity_found(0.05);
}

static void repeats_are_made_elsewhere(void **state)
{
	assert_int_equal(execute("run: {repeat: {min: 3, max: 3}}\n" PLAYED_HEAD), EXIT_PASS);
	assert_nothing_was_run_here();
	assert_int_equal(there.runs, 3);
	assert_int_equal(played.out.repeats.count, 3);
}

static void a_single_run_is_the_file_as_it_is(void **state)
{
	assert_int_equal(execute(PLAYED_HEAD), EXIT_PASS);
	assert_nothing_was_run_here();
	assert_int_equal(there.runs, 1);
	assert_int_equal(there.count, 0);
	assert_int_equal(there.seeds[0], played.l.config->run.seed);
}

static void what_does_not_come_up_elsewhere_is_closed_there(void **state)
{
	there.open_code = EXIT_ENVIRONMENT;
	played_load(PLAYED_HEAD);
	played.options.elsewhere = &elsewhere;
	assert_int_equal(
		series_execute(&played.options, played.l.a, &played.out), EXIT_ENVIRONMENT);
	assert_nothing_was_run_here();
	assert_int_equal(there.runs, 0);
	assert_null(played.out.verdict.status);
}

// A failure to save files there sets the code of a run that passed.
static void an_error_of_the_end_is_no_pass(void **state)
{
	there.close_code = EXIT_ENVIRONMENT;
	played_load(PLAYED_HEAD);
	played.options.elsewhere = &elsewhere;
	assert_int_equal(
		series_execute(&played.options, played.l.a, &played.out), EXIT_ENVIRONMENT);
	assert_string_equal(played.out.verdict.status, "pass");
}

static int setup(void **state)
{
	memset(&there, 0, sizeof(there));
	return played_setup(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, played_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_search_finds_the_capacity_of_what_is_elsewhere),
		TEST(a_ramp_elsewhere_ends_when_enough_is_known),
		TEST(repeats_are_made_elsewhere),
		TEST(a_single_run_is_the_file_as_it_is),
		TEST(what_does_not_come_up_elsewhere_is_closed_there),
		TEST(an_error_of_the_end_is_no_pass),
	};

	return cmocka_run_group_tests_name("series_elsewhere", tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// The rules of search: and run.repeat:, and whether the file is valid with the variable at both
// ends.
// Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/schema.h"
#include "engine/config/config_load.h"
#include "engine/series/series_internal.h"
#include "engine/series/series_run.h"
#include "lib/diag_text.h"

#define HEAD                                                                                       \
	"ports:\n"                                                                                 \
	"  - {name: lan, driver: ring, device: dut, addresses: [198.18.0.1/24]}\n"                 \
	"  - {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/24]}\n"                 \
	"responder: {port: dut, dns: {}}\n"                                                        \
	"traffic:\n"                                                                               \
	"  - {name: q, server: 198.18.0.2, load: {rate: 1k}, dns: {names: [\"a.example A\"]}}\n"

#define RATE "variable: traffic.q.load.rate, "
#define SPAN "from: 1k, to: 20k, "
#define GOAL "goals: [{loss: 1%}]"

// Returns all messages of a check of the text.
static char *errors_of(const char *text)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	const struct config *c = config_load_text("t.yaml", text, strlen(text), a, d);
	char *out;

	if (c)
		series_check(c, a, d);
	out = diag_text(d);
	diag_free(d);
	arena_free(a);
	return out;
}

static void expect(const char *section, const char *part)
{
	char text[2048], *errors;

	snprintf(text, sizeof(text), HEAD "%s\n", section);
	errors = errors_of(text);
	if (part ? !strstr(errors, part) : *errors)
		fail_msg("%s: expected \"%s\" in:\n%s", section, part ? part : "", errors);
	free(errors);
}

static void a_right_search_has_no_errors(void **state)
{
	expect("search: {" RATE SPAN GOAL "}", NULL);
	expect("search: {variable: \"traffic[0].load.rate\", " SPAN GOAL "}", NULL);
}

static void a_variable_that_is_not_there_names_the_nearest(void **state)
{
	expect("search: {variable: traffic.q.load.rat, " SPAN GOAL "}",
		"t.yaml:7:20: search.variable: \"traffic.q.load.rat\": there is no \"rat\" (did "
		"you "
		"mean \"rate\"?)");
	expect("search: {variable: trafic.q.load.rate, " SPAN GOAL "}",
		"did you mean \"traffic\"?");
	expect("search: {variable: traffic.x.load.rate, " SPAN GOAL "}",
		"traffic has no item \"x\" (there are: q)");
	expect("search: {variable: \"traffic[1].load.rate\", " SPAN GOAL "}", "no item \"[1]\"");
	expect("search: {variable: traffic.q.load, " SPAN GOAL "}", "a section, not a value");
	expect("search: {variable: traffic, " SPAN GOAL "}", "traffic has no item \"\"");
	expect("search: {variable: traffic.q.load.rate.x, " SPAN GOAL "}", "nothing inside");
	expect("search: {variable: traffic.q.dns.edsn, " SPAN GOAL "}", "did you mean \"edns\"?");
}

static void a_variable_that_is_no_number_is_an_error(void **state)
{
	expect("search: {variable: traffic.q.server, " SPAN GOAL "}", "is not a number");
	expect("search: {variable: traffic.q.timeout, " SPAN GOAL "}", "is not a number");
	expect("search: {variable: traffic.q.dns.names, " SPAN GOAL "}", "is not a number");
	expect("search: {variable: run.seed, " SPAN GOAL "}", "does not change the load");
	expect("search: {variable: traffic.q.load.slots, " SPAN GOAL "}",
		"\"traffic.q.load.slots\" does not change the load (use load.rate");
	expect("search: {variable: traffic.q.load.max_outstanding, " SPAN GOAL "}",
		"does not change the load");
	expect("search: {variable: traffic.q.server_port, " SPAN GOAL "}",
		"does not change the load");
	expect("search: {variable: traffic.q.dns.expect.min_answers, " SPAN GOAL "}",
		"does not change the load");
	expect("search: {variable: traffic.q.load.outstanding, from: 1.5, to: 9, " GOAL "}",
		"whole numbers");
	expect("search: {variable: traffic.q.load.outstanding, from: 1, to: 9.5, " GOAL "}",
		"whole numbers");
	expect("search: {" RATE "from: 1.5, to: 9.5, " GOAL "}", NULL);
}

static void a_search_needs_room_and_goals(void **state)
{
	expect("search: {" RATE "from: 20k, to: 20k, " GOAL "}",
		"t.yaml:7:47: search.from: is not below to");
	expect("search: {" RATE "from: 20.001k, to: 20k, " GOAL "}", "is not below to");
	expect("search: {" RATE SPAN "goals: []}", "search.goals: no goal to meet");
	expect("search: {" RATE SPAN "}", "goals");
	expect("search: {" RATE SPAN "trial: 5s, final: 1s, " GOAL "}", "shorter than a trial");
	expect("search: {" RATE SPAN "trial: 5s, final: 5s, " GOAL "}", NULL);
	expect("search: {" RATE SPAN "method: ramp, trial: 5s, final: 1s, " GOAL "}", NULL);
	expect("search: {" RATE SPAN "method: bisects, " GOAL "}", "bisects");
}

// With the variable at its ends, the file is valid, or refused before anything is sent.
static void the_file_is_checked_at_both_ends(void **state)
{
	expect("search: {variable: traffic.q.load.rate, from: 1k, to: 1G, " GOAL "}", NULL);
	expect("search: {variable: traffic.q.load.outstanding, from: 1, to: 9, " GOAL "}",
		"closed loop and open loop at once");
	expect("search: {variable: traffic.q.dns.edns.size, from: 1k, to: 70k, " GOAL "}",
		"\"70000\" is out of range");
}

static void a_search_can_be_had_with_repeats_and_captures(void **state)
{
	expect("run: {repeat: {min: 2}}\nsearch: {" RATE SPAN GOAL "}", NULL);
	expect("output: {capture: {file: x.pcapng}}\nsearch: {" RATE SPAN GOAL "}", NULL);
	expect("output: {capture: {file: x.pcapng}}\nrun: {repeat: {}}", NULL);
	expect("run: {repeat: {min: 5, max: 4}}", "run.repeat.min: more than max");
	expect("run: {repeat: {confidence: 100%}}", "confidence");
	expect("run: {repeat: {of: [loss]}}", "loss");
}

// Only the rate of an item can grow within a run; a run with all rates meets no criterion.
static void a_ramp_is_of_a_rate_and_has_no_criteria(void **state)
{
#define RAMP "method: ramp, "
	expect("search: {" RAMP RATE SPAN GOAL "}", NULL);
	expect("search: {" RAMP "variable: traffic.q.load.outstanding, from: 1, to: 9, " GOAL "}",
		"t.yaml:7:34: search.variable: \"traffic.q.load.outstanding\" is not the rate of "
		"an item");
	expect("criteria: [loss <= 1%]\nsearch: {" RAMP RATE SPAN GOAL "}",
		"t.yaml:7:12: criteria[0]: a ramp has no single rate");
	expect("criteria: [loss <= 1%]\nrun: {repeat: {}}\nsearch: {" RAMP RATE SPAN GOAL "}",
		NULL);
	expect("stop: [loss > 5% for 1s]\nsearch: {trial: 2s, " RAMP RATE SPAN GOAL "}",
		"stop[0]: \"loss > 5% for 1s\": shorter than an interval");
}

// The ramp replaces the rate, and is removed again.
static void a_ramp_leaves_the_file_as_it_was(void **state)
{
	const char *text = HEAD "search: {" RAMP RATE SPAN "trial: 50ms, steps: 40, " GOAL "}\n";
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	const struct config *c = config_load_text("t.yaml", text, strlen(text), a, d), *t;
	const struct item_settings *item;
	char *texts[SERIES_RAMP_MAX];

	t = config_derive(c, texts, series_ramp(c, a, texts), a, d);
	assert_non_null(t);
	item = t->traffic.items;
	assert_float_equal(item->load.rate, 0, 0);
	assert_float_equal(item->load.ramp->from, 1000, 0);
	assert_float_equal(item->load.ramp->to, 20000, 0);
	assert_int_equal(item->load.ramp->over_ns, 2000000000);
	assert_int_equal(t->run.duration_ns, 2000000000);
	assert_int_equal(t->run.interval_ns, 50000000);
	t = config_derive(c, texts, series_at(c, 5000, a, texts), a, d);
	assert_non_null(t);
	item = t->traffic.items;
	assert_float_equal(item->load.rate, 5000, 0);
	assert_null(item->load.ramp);
	assert_int_equal(t->run.interval_ns, c->run.interval_ns);
	diag_free(d);
	arena_free(a);
}

// A search changes the file like --set, and the file itself stays unchanged.
static void a_trial_is_the_file_with_a_setting_more(void **state)
{
	const char *text = HEAD "search: {" RATE SPAN GOAL "}\n";
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	const struct config *c = config_load_text("t.yaml", text, strlen(text), a, d), *t;
	const struct item_settings *before = c->traffic.items, *after;
	char *texts[] = {"traffic.q.load.rate=12345.678", "run.duration=1500000ns"};
	const char *what;
	const void *place;

	t = config_derive(c, texts, 2, a, d);
	assert_non_null(t);
	after = t->traffic.items;
	assert_float_equal(after->load.rate, 12345.678, 1e-9);
	assert_int_equal(t->run.duration_ns, 1500000);
	assert_float_equal(before->load.rate, 1000, 0);
	assert_non_null(conf_find(config_section(), t, "traffic.q.load.rate", &place, a, &what));
	assert_ptr_equal(place, &after->load.rate);
	t = config_derive(c, texts, 1, a, d);
	assert_non_null(t);
	assert_int_equal(t->run.duration_ns, c->run.duration_ns);
	assert_non_null(series_trial(c, true, a, d));
	t = config_derive(c, texts, 1, a, d);
	assert_non_null(t->search);
	diag_free(d);
	arena_free(a);
}

// The search of a variable in a file of the items q and q2.
static const struct config *searching(
	const char *variable, const char *more, struct arena *a, struct diag *d)
{
	const char *text = arena_printf(a,
		HEAD "  - {name: q2, server: 198.18.0.2, load: {rate: 1k}, dns: {names: "
		     "[\"a.example A\"]}}\nsearch: {variable: \"%s\", " SPAN "%s%s}\n",
		variable, GOAL, more);
	const struct config *c = config_load_text("t.yaml", text, strlen(text), a, d);

	diag_print(d, stderr);
	assert_non_null(c);
	return c;
}

static void a_search_concerns_the_item_of_its_variable(void **state)
{
	static const struct {
		const char *variable;
		bool of[2];
	} rows[] = {
		{"traffic.q.load.rate", {true, false}},
		{"traffic.q2.load.rate", {false, true}},
		{"traffic[0].load.rate", {true, false}},
		{"traffic[1].load.rate", {false, true}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena *a = arena_new();
		struct diag *d = diag_new();
		const struct config *c = searching(rows[i].variable, "", a, d);

		for (uint32_t n = 0; n < 2; n++)
			assert_int_equal(series_concerns(c, n), rows[i].of[n]);
		diag_free(d);
		arena_free(a);
	}
}

// After a search by a ramp, the run at the answer has no ramp any more.
static void a_value_is_written_as_it_is_searched_for(void **state)
{
	static const struct {
		const char *variable, *more;
		double value;
		uint32_t count;
		const char *text;
	} rows[] = {
		{"traffic.q.load.rate", "", 1500, 1, "traffic.q.load.rate=1500"},
		{"traffic.q.load.rate", "", 0.5, 1, "traffic.q.load.rate=0.500"},
		{"traffic.q.load.rate", ", method: ramp", 1500, 3, "traffic.q.load.rate=1500"},
		{"traffic.q.dns.edns.size", "", 1500, 1, "traffic.q.dns.edns.size=1500"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena *a = arena_new();
		struct diag *d = diag_new();
		const struct config *c = searching(rows[i].variable, rows[i].more, a, d);
		char *texts[SERIES_RAMP_MAX];

		assert_int_equal(series_at(c, rows[i].value, a, texts), rows[i].count);
		assert_string_equal(texts[0], rows[i].text);
		diag_free(d);
		arena_free(a);
	}
}

static volatile sig_atomic_t signals;
static uint32_t naps, signal_at; // nap with a signal; 0: none
static uint64_t slept_ns;

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);

int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	slept_ns += (uint64_t)t->tv_nsec;
	signals = ++naps == signal_at;
	return 0;
}

static void a_rest_ends_with_its_time_or_a_signal(void **state)
{
	static const struct {
		uint64_t ms;
		int signals;
		uint32_t signal_at, naps;
		uint64_t slept_ms;
		bool rested;
	} rows[] = {
		{0, 0, 0, 0, 0, true},
		{0, 1, 0, 0, 0, false},
		{50, 0, 0, 3, 50, true},
		{40, 0, 0, 2, 40, true},
		{50, 1, 0, 0, 0, false},
		{50, 0, 2, 2, 40, false},
	};
	const struct run_options options = {.signals = &signals};
	const struct series s = {.options = &options};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		naps = 0;
		slept_ns = 0;
		signals = rows[i].signals;
		signal_at = rows[i].signal_at;
		assert_int_equal(series_rest(&s, rows[i].ms * 1000000), rows[i].rested);
		assert_int_equal(naps, rows[i].naps);
		assert_int_equal(slept_ns, rows[i].slept_ms * 1000000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_search_has_no_errors),
		cmocka_unit_test(a_variable_that_is_not_there_names_the_nearest),
		cmocka_unit_test(a_variable_that_is_no_number_is_an_error),
		cmocka_unit_test(a_search_needs_room_and_goals),
		cmocka_unit_test(the_file_is_checked_at_both_ends),
		cmocka_unit_test(a_search_can_be_had_with_repeats_and_captures),
		cmocka_unit_test(a_ramp_is_of_a_rate_and_has_no_criteria),
		cmocka_unit_test(a_ramp_leaves_the_file_as_it_was),
		cmocka_unit_test(a_trial_is_the_file_with_a_setting_more),
		cmocka_unit_test(a_search_concerns_the_item_of_its_variable),
		cmocka_unit_test(a_value_is_written_as_it_is_searched_for),
		cmocka_unit_test(a_rest_ends_with_its_time_or_a_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

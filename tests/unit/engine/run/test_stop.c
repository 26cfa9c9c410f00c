// SPDX-License-Identifier: BSD-3-Clause
// Stop rules over invented intervals: how long a rule has to hold, which item it applies to, and
// which figures are sums over the run or of the interval. Path: cold. Test.
#include "../loaded.h"
#include "engine/run/judge/stop.h"

#define ITEM(name, load)                                                                           \
	"  - {name: " name ", server: 198.18.0.2, load: {rate: 1k" load "}, " LOADED_DNS "}\n"
#define TWO LOADED_PORTS "traffic:\n" ITEM("a", "") ITEM("b", "")

struct fixture {
	struct loaded l;
	struct stop stop;
	double value;
};

static void begin(struct fixture *f, const char *text, const char *rules)
{
	char whole[2048];

	snprintf(whole, sizeof(whole), "%sstop: [%s]\n", text, rules);
	*f = (struct fixture){.l = loaded_from(whole), .value = -1};
	stop_start(&f->stop, f->l.config, f->l.a);
}

static void end(struct fixture *f)
{
	loaded_free(&f->l);
}

// Checks an interval of this length. Returns the rule that holds, or "".
static const char *pass_for(struct fixture *f, double length_s, struct result_interval_item a,
	struct result_interval_item b)
{
	struct result_interval_item items[] = {a, b};
	const struct result_interval i = {.length_s = length_s, .traffic = {items, 2}};
	const char *rule;

	items[0].name = "a";
	items[1].name = "b";
	rule = stop_check(&f->stop, &i, f->l.a, &f->value);
	return rule ? rule : "";
}

#define NONE          ((struct result_interval_item){0})
#define OF(...)       ((struct result_interval_item){__VA_ARGS__})
#define PASS(a, b)    assert_string_equal(pass_for(&f, 1, a, b), "")
#define STOP(a, b, r) assert_string_equal(pass_for(&f, 1, a, b), r)

static void a_rule_holds_for_its_time_without_a_break(void **state)
{
	struct fixture f;

	begin(&f, TWO, "\"traffic.a.loss > 5% for 3s\"");
	PASS(OF(.loss = 0.06), NONE);
	PASS(OF(.loss = 0.06), NONE);
	PASS(OF(.loss = 0.05), NONE); // not more: all over again
	PASS(OF(.loss = 0.06), NONE);
	PASS(OF(.loss = 0.07), NONE);
	STOP(OF(.loss = 0.08), NONE, "traffic.a.loss > 5% for 3s");
	assert_true(f.value == 0.08);
	end(&f);
}

// Measured in ticks, an interval of one second may be a little shorter.
static void a_time_is_reached_by_intervals_that_are_a_little_short(void **state)
{
	struct fixture f;

	begin(&f, TWO, "\"traffic.a.loss > 5% for 2s\"");
	assert_string_equal(pass_for(&f, 0.99995, OF(.loss = 1), NONE), "");
	assert_string_equal(
		pass_for(&f, 0.99995, OF(.loss = 1), NONE), "traffic.a.loss > 5% for 2s");
	end(&f);
	begin(&f, TWO, "\"traffic.a.loss > 5% for 2s\"");
	assert_string_equal(pass_for(&f, 0.99, OF(.loss = 1), NONE), "");
	assert_string_equal(pass_for(&f, 0.99, OF(.loss = 1), NONE), "");
	end(&f);
}

static void a_rule_without_a_name_holds_for_one_item_or_the_other(void **state)
{
	struct fixture f;

	begin(&f, TWO, "\"loss > 5% for 2s\"");
	PASS(OF(.loss = 1), NONE);
	PASS(NONE, OF(.loss = 1));
	STOP(NONE, OF(.loss = 1), "traffic.b.loss > 5% for 2s");
	end(&f);
	begin(&f, TWO, "\"loss > 5%\"");
	STOP(OF(.loss = 0.5), OF(.loss = 0.7), "traffic.a.loss > 5%"); // the first of both
	assert_true(f.value == 0.5);
	end(&f);
}

static void a_rule_with_a_name_is_blind_to_other_items(void **state)
{
	struct fixture f;

	begin(&f, TWO, "\"traffic.b.loss > 5%\"");
	PASS(OF(.loss = 1), NONE);
	STOP(NONE, OF(.loss = 1), "traffic.b.loss > 5%");
	end(&f);
}

// Without a time a counter is the sum so far; with one it is the interval's.
static void a_counter_is_summed_up_over_the_run(void **state)
{
	static const struct {
		const char *rule;
		struct result_interval_item i;
	} rows[] = {
		{"traffic.a.due > 7", {.due = 4}},
		{"traffic.a.sent > 7", {.sent = 4}},
		{"traffic.a.answered > 7", {.answered = 4}},
		{"traffic.a.failed > 7", {.failed = 4}},
		{"traffic.a.lost > 7", {.lost = 4}},
		{"traffic.a.no_reply > 7", {.no_reply = 4}},
	};
	struct fixture f;
	char text[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "\"%s\"", rows[i].rule);
		begin(&f, TWO, text);
		PASS(rows[i].i, rows[i].i);
		STOP(rows[i].i, rows[i].i, rows[i].rule);
		assert_true(f.value == 8);
		end(&f);
		snprintf(text, sizeof(text), "\"%s for 1s\"", rows[i].rule);
		begin(&f, TWO, text);
		PASS(rows[i].i, rows[i].i);
		PASS(rows[i].i, rows[i].i);
		end(&f);
	}
}

static void what_is_in_flight_is_no_sum(void **state)
{
	struct fixture f;

	begin(&f, TWO, "\"traffic.a.in_flight > 7\"");
	PASS(OF(.in_flight = 7), NONE);
	PASS(OF(.in_flight = 7), NONE);
	STOP(OF(.in_flight = 8), NONE, "traffic.a.in_flight > 7");
	end(&f);
}

static void unanswered_is_sent_and_nothing_came(void **state)
{
	struct fixture f;

	begin(&f, TWO, "unanswered for 1s");
	PASS(NONE, NONE); // nothing sent
	PASS(OF(.sent = 9, .answered = 1), NONE);
	PASS(OF(.sent = 9, .failed = 1), NONE);
	PASS(OF(.answered = 1, .in_flight = 1), NONE);
	STOP(OF(.sent = 1), NONE, "traffic.a.unanswered for 1s");
	STOP(OF(.lost = 1), NONE, "traffic.a.unanswered for 1s");
	STOP(NONE, OF(.in_flight = 1), "traffic.b.unanswered for 1s");
	assert_true(f.value == 0);
	end(&f);
}

// A bound on transactions in flight is a rule of its item, after the file's rules.
static void a_bound_on_what_is_in_flight_is_a_rule(void **state)
{
	struct fixture f;

	begin(&f, LOADED_PORTS "traffic:\n" ITEM("a", "") ITEM("b", ", max_outstanding: 50"),
		"\"failed > 3\"");
	assert_int_equal(f.stop.count, 2);
	PASS(OF(.in_flight = 51), OF(.in_flight = 50));
	STOP(NONE, OF(.in_flight = 51), "traffic.b.in_flight > 50");
	assert_true(f.value == 51);
	STOP(NONE, OF(.failed = 4, .in_flight = 51), "traffic.b.failed > 3");
	assert_true(f.value == 4);
	end(&f);
}

// The shares of all parts add up to the bound, and none is 0.
static void parts_of_a_fleet_share_the_bound(void **state)
{
	static const struct {
		const char *fleet;
		uint64_t most;
	} parts[] = {
		{"{agents: 4, part: 0}", 50},
		{"{agents: 4, part: 1}", 13},
		{"{agents: 4, part: 2}", 13},
		{"{agents: 4, part: 3}", 12},
		{"{agents: 4, part: 4}", 12},
		{"{agents: 2, weights: [1, 3], part: 1}", 13},
		{"{agents: 60, part: 60}", 1},
	};

	for (size_t n = 0; n < sizeof(parts) / sizeof(parts[0]); n++) {
		char text[512], rule[64];
		struct fixture f;

		snprintf(text, sizeof(text),
			"fleet: %s\n" LOADED_PORTS "traffic:\n" ITEM("a", "")
				ITEM("b", ", max_outstanding: 50"),
			parts[n].fleet);
		begin(&f, text, "");
		snprintf(rule, sizeof(rule), "traffic.b.in_flight > %llu",
			(unsigned long long)parts[n].most);
		PASS(OF(.in_flight = 51), OF(.in_flight = parts[n].most));
		STOP(NONE, OF(.in_flight = parts[n].most + 1), rule);
		end(&f);
	}
}

// The time of later rules continues to run when one stops the run.
static void a_rule_is_looked_at_behind_one_that_holds(void **state)
{
	struct fixture f;

	begin(&f, TWO, "\"traffic.a.loss > 90%\", \"traffic.a.loss > 5% for 2s\"");
	STOP(OF(.loss = 1), NONE, "traffic.a.loss > 90%");
	STOP(OF(.loss = 0.5), NONE, "traffic.a.loss > 5% for 2s");
	end(&f);
}

static void the_only_item_needs_no_name(void **state)
{
	const struct result_interval_item item = {.name = "a", .failed = 4};
	const struct result_interval i = {.length_s = 1, .traffic = {&item, 1}};
	struct fixture f;

	begin(&f, LOADED_PORTS "traffic:\n" ITEM("a", ""), "\"failed > 3\"");
	assert_string_equal(stop_check(&f.stop, &i, f.l.a, &f.value), "failed > 3");
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_holds_for_its_time_without_a_break),
		cmocka_unit_test(a_time_is_reached_by_intervals_that_are_a_little_short),
		cmocka_unit_test(a_rule_without_a_name_holds_for_one_item_or_the_other),
		cmocka_unit_test(a_rule_with_a_name_is_blind_to_other_items),
		cmocka_unit_test(a_counter_is_summed_up_over_the_run),
		cmocka_unit_test(what_is_in_flight_is_no_sum),
		cmocka_unit_test(unanswered_is_sent_and_nothing_came),
		cmocka_unit_test(a_bound_on_what_is_in_flight_is_a_rule),
		cmocka_unit_test(parts_of_a_fleet_share_the_bound),
		cmocka_unit_test(a_rule_is_looked_at_behind_one_that_holds),
		cmocka_unit_test(the_only_item_needs_no_name),
	};

	return cmocka_run_group_tests_name("stop", tests, NULL, NULL);
}

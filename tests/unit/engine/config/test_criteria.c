// SPDX-License-Identifier: BSD-3-Clause
// Criteria against invented results: which item, interval and step a criterion applies to, and its
// outcome when figures are missing. Path: cold. Test.
#include <math.h>

#include "../loaded.h"
#include "engine/config/criteria.h"

#define TWO                                                                                        \
	LOADED_PORTS "traffic:\n"                                                                  \
		     "  - {name: q, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS "}\n"       \
		     "  - name: leases\n"                                                          \
		     "    server: 198.18.0.2\n"                                                    \
		     "    load: {rate: 10}\n"                                                      \
		     "    dhcp4: {clients: 10, relay: {addresses: [198.18.0.64]}}\n"
#define ONE                                                                                        \
	LOADED_PORTS "traffic: [{name: q, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS "}]"  \
		     "\n"
#define INTERVALS 4

struct fixture {
	struct loaded l;
	struct result_item items[2];
	struct result_interval_item series[INTERVALS][2];
	struct result_interval intervals[INTERVALS];
	struct result r;
	struct counter_list judged;
};

static const struct result_criterion *judge(struct fixture *f, uint32_t n)
{
	const struct result_interval *intervals = f->r.intervals.items;
	struct criteria k;

	criteria_start(&k, f->l.config, f->l.a);
	for (uint32_t i = 0; i < f->r.intervals.count; i++)
		criteria_interval(&k, &intervals[i]);
	f->judged = criteria_judge(&k, &f->r, f->l.a);
	assert_true(n < f->judged.count);
	return &((const struct result_criterion *)f->judged.items)[n];
}

// A config with one criterion, and a result in which everything was answered.
static void begin(struct fixture *f, const char *text, const char *criterion)
{
	char whole[2048];

	snprintf(whole, sizeof(whole), "%scriteria: [\"%s\"]\n", text, criterion);
	*f = (struct fixture){.l = loaded_from(whole)};
	for (uint32_t i = 0; i < f->l.config->traffic.count; i++) {
		const struct item_settings *s = f->l.config->traffic.items;
		const struct proto *proto = s[i].facts.proto;

		f->items[i] = (struct result_item){.name = s[i].name,
			.ledger = {.due = 100, .sent = 100, .answered = 100},
			.latency.response.p99_ns = 1e6,
			.counters = {proto->counters, arena_zalloc(f->l.a, proto->counters->size)}};
	}
	for (uint32_t n = 0; n < INTERVALS; n++)
		f->intervals[n] = (struct result_interval){.t_s = n + 1,
			.length_s = 1,
			.traffic = {f->series[n], f->l.config->traffic.count}};
	f->r.traffic = (struct counter_list){f->items, f->l.config->traffic.count};
}

static void end(struct fixture *f)
{
	loaded_free(&f->l);
}

static void a_criterion_without_a_name_is_about_each_item(void **state)
{
	struct fixture f;

	begin(&f, TWO, "lost <= 3");
	f.items[1].ledger.lost = 4;
	assert_true(judge(&f, 0)->pass);
	assert_string_equal(judge(&f, 0)->expression, "traffic.q.lost <= 3");
	assert_false(judge(&f, 1)->pass);
	assert_true(judge(&f, 1)->value == 4);
	assert_string_equal(judge(&f, 1)->expression, "traffic.leases.lost <= 3");
	assert_int_equal(f.judged.count, 2);
	f.items[1].ledger.lost = 3;
	assert_true(judge(&f, 1)->pass);
	end(&f);
}

static void a_criterion_with_a_name_is_about_that_item(void **state)
{
	struct fixture f;

	begin(&f, TWO, "traffic.leases.lost <= 3");
	f.items[0].ledger.lost = 4;
	assert_true(judge(&f, 0)->pass);
	assert_string_equal(judge(&f, 0)->expression, "traffic.leases.lost <= 3");
	assert_int_equal(f.judged.count, 1);
	end(&f);
}

static void with_one_item_the_expression_is_that_of_the_file(void **state)
{
	struct fixture f;

	begin(&f, ONE, "p99 <= 2ms");
	assert_string_equal(judge(&f, 0)->expression, "p99 <= 2ms");
	assert_string_equal(judge(&f, 0)->unit, "ns");
	assert_true(judge(&f, 0)->pass);
	f.items[0].latency.response.p99_ns = INFINITY;
	assert_false(judge(&f, 0)->pass);
	end(&f);
}

static void a_count_against_a_percentage_is_a_share(void **state)
{
	struct fixture f;

	begin(&f, ONE, "failed <= 5%");
	f.items[0].ledger.failed = 5;
	assert_true(judge(&f, 0)->pass);
	f.items[0].ledger.failed = 6;
	assert_false(judge(&f, 0)->pass);
	assert_true(judge(&f, 0)->value == 0.06);
	assert_string_equal(judge(&f, 0)->unit, "1");
	f.items[0].ledger.sent = 0;
	assert_true(judge(&f, 0)->value == 0);
	end(&f);
	begin(&f, ONE, "max(interval.failed) <= 50%");
	f.series[0][0] = (struct result_interval_item){
		.name = "q", .due = 10, .answered = 2, .failed = 4, .lost = 2};
	f.r.intervals = (struct counter_list){f.intervals, 1};
	assert_true(judge(&f, 0)->value == 0.5 && judge(&f, 0)->pass);
	end(&f);
}

static void a_figure_of_one_protocol_is_no_criterion_of_another(void **state)
{
	struct fixture f;

	begin(&f, TWO, "dns.rcode.SERVFAIL == 0");
	assert_true(judge(&f, 0)->pass);
	assert_int_equal(f.judged.count, 1);
	end(&f);
}

// A step without messages has counts of 0, and fails every bound on a latency.
static void a_step_that_never_came_was_not_lost_and_was_not_fast(void **state)
{
	struct fixture f;

	begin(&f, TWO, "steps.request-ack.lost == 0");
	assert_true(judge(&f, 0)->pass);
	assert_true(judge(&f, 0)->value == 0);
	assert_string_equal(judge(&f, 0)->expression, "traffic.leases.steps.request-ack.lost == 0");
	assert_int_equal(f.judged.count, 1);
	end(&f);
	begin(&f, TWO, "steps.request-ack.p99 <= 1s");
	assert_false(judge(&f, 0)->pass);
	assert_true(isnan(judge(&f, 0)->value));
	end(&f);
}

// An item whose messages get no reply has no latencies: only a criterion that names it fails.
static void what_nothing_answers_has_no_latency_unless_it_is_asked_for(void **state)
{
	struct fixture f;

	begin(&f, TWO, "p99 <= 2ms");
	f.items[0].ledger = (struct ledger){.due = 9, .sent = 9, .no_reply = 9};
	f.items[0].latency.response.p99_ns = NAN;
	assert_string_equal(judge(&f, 0)->expression, "traffic.leases.p99 <= 2ms");
	assert_int_equal(f.judged.count, 1);
	f.items[0].ledger.no_reply = 8;
	assert_false(judge(&f, 0)->pass);
	assert_int_equal(f.judged.count, 2);
	f.items[0].ledger = (struct ledger){0}; // not even sent: that is no reason to pass
	assert_false(judge(&f, 0)->pass);
	assert_int_equal(f.judged.count, 2);
	end(&f);
	begin(&f, TWO, "traffic.q.p99 <= 2ms");
	f.items[0].ledger = (struct ledger){.due = 9, .sent = 9, .no_reply = 9};
	f.items[0].latency.response.p99_ns = NAN;
	assert_false(judge(&f, 0)->pass);
	end(&f);
}

static void set_lost(struct fixture *f, uint32_t count, const uint64_t *lost)
{
	f->r.intervals = (struct counter_list){f->intervals, count};
	for (uint32_t n = 0; n < count; n++)
		f->series[n][0] = (struct result_interval_item){.name = "q",
			.due = 10,
			.lost = lost[n],
			.latency.response.p99_ns = lost[n] ? 1e6 : NAN};
}

// The last interval is incomplete and does not count.
static void a_fold_is_over_the_whole_intervals(void **state)
{
	static const struct {
		const char *criterion;
		double value, without_second;
	} rows[] = {
		{"max(interval.lost) <= 0", 5, 3},
		{"min(interval.lost) <= 0", 1, 1},
		{"mean(interval.lost) <= 0", 3, 2},
	};
	const uint64_t lost[] = {3, 5, 1, 90};
	struct fixture f;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(&f, ONE, rows[i].criterion);
		set_lost(&f, 4, lost);
		assert_true(judge(&f, 0)->value == rows[i].value);
		assert_string_equal(judge(&f, 0)->expression, rows[i].criterion);
		f.series[1][0].due = 0; // nothing to be answered in it
		assert_true(judge(&f, 0)->value == rows[i].without_second);
		end(&f);
	}
}

static void the_only_interval_of_a_run_counts(void **state)
{
	const uint64_t lost[] = {7, 90};
	struct fixture f;

	begin(&f, ONE, "max(interval.lost) <= 0");
	set_lost(&f, 1, lost);
	assert_true(judge(&f, 0)->value == 7);
	set_lost(&f, 2, lost);
	assert_true(judge(&f, 0)->value == 7);
	set_lost(&f, 0, lost);
	assert_true(isnan(judge(&f, 0)->value));
	assert_false(judge(&f, 0)->pass);
	end(&f);
}

static void an_interval_without_the_figure_is_not_in_the_mean(void **state)
{
	const uint64_t lost[] = {0, 2, 0, 0};
	struct fixture f;

	begin(&f, ONE, "mean(interval.p99) <= 1ms");
	set_lost(&f, 4, lost);
	assert_true(judge(&f, 0)->value == 1e6);
	assert_true(judge(&f, 0)->pass);
	end(&f);
	begin(&f, ONE, "min(interval.p99) <= 1ms");
	set_lost(&f, 4, lost);
	assert_true(judge(&f, 0)->value == 1e6);
	end(&f);
}

static void a_fold_names_the_item_in_front(void **state)
{
	struct fixture f;

	begin(&f, TWO, "max(interval.lost) <= 0");
	assert_string_equal(judge(&f, 1)->expression, "traffic.leases: max(interval.lost) <= 0");
	end(&f);
}

static void a_stop_rule_that_held_is_the_last_criterion_and_fails(void **state)
{
	struct fixture f;

	begin(&f, TWO, "lost <= 3");
	f.r.verdict.stopped = "traffic.q.loss > 5% for 1s";
	f.r.verdict.stopped_value = 0.25;
	assert_false(judge(&f, 2)->pass);
	assert_int_equal(f.judged.count, 3);
	assert_string_equal(judge(&f, 2)->expression, "no stop: traffic.q.loss > 5% for 1s");
	assert_true(judge(&f, 2)->value == 0.25);
	assert_string_equal(judge(&f, 2)->unit, "1");
	f.r.verdict.stopped = "the user's own words";
	assert_null(judge(&f, 2)->unit);
	end(&f);
}

static void expect_errors(const char *text, unsigned n, const char *part)
{
	struct loaded l = loaded_try(text);

	assert_int_equal(diag_count(l.d), n);
	if (part)
		assert_diag_has(l.d, part);
	loaded_free(&l);
}

static void each_condition_that_is_wrong_is_an_error_at_its_place(void **state)
{
	expect_errors(ONE "criteria: [\"lost <= 1\", \"lots <= 1\", \"lost < x\"]\n", 2,
		"t.yaml:6:26: criteria[1]: \"lots <= 1\": no figure");
	expect_errors(
		ONE "stop: [\"lost > 1 for 1ms\", \"lost <= 1\"]\n", 1, "t.yaml:6:22: stop[0]");
	expect_errors(
		ONE "stop: [\"max(interval.lost) > 1\"]\n", 1, "a stop rule at each interval");
	expect_errors(ONE "criteria: [\"lost > 1 for 1s\"]\n", 1, "only a stop rule");
	expect_errors(LOADED_PORTS "criteria: [nonsense]\nstop: [nonsense]\n", 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_criterion_without_a_name_is_about_each_item),
		cmocka_unit_test(a_criterion_with_a_name_is_about_that_item),
		cmocka_unit_test(with_one_item_the_expression_is_that_of_the_file),
		cmocka_unit_test(a_count_against_a_percentage_is_a_share),
		cmocka_unit_test(a_figure_of_one_protocol_is_no_criterion_of_another),
		cmocka_unit_test(a_step_that_never_came_was_not_lost_and_was_not_fast),
		cmocka_unit_test(what_nothing_answers_has_no_latency_unless_it_is_asked_for),
		cmocka_unit_test(a_fold_is_over_the_whole_intervals),
		cmocka_unit_test(the_only_interval_of_a_run_counts),
		cmocka_unit_test(an_interval_without_the_figure_is_not_in_the_mean),
		cmocka_unit_test(a_fold_names_the_item_in_front),
		cmocka_unit_test(a_stop_rule_that_held_is_the_last_criterion_and_fails),
		cmocka_unit_test(each_condition_that_is_wrong_is_an_error_at_its_place),
	};

	return cmocka_run_group_tests_name("criteria", tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// The language of criteria and stop rules: valid conditions are parsed as intended, errors are
// reported at their column with the name that was probably meant; and stop rules over intervals.
// Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/table.h"
#include "engine/config/config_load.h"
#include "engine/config/criteria.h"
#include "engine/run/judge/stop.h"

static const char file[] =
	"run: {duration: 10s, interval: 1s}\n"
	"ports:\n"
	"  - {name: lan, driver: ring, device: dut, addresses: [198.18.0.1/24]}\n"
	"  - {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/24]}\n"
	"responder: {port: dut, dns: {}}\n"
	"traffic:\n"
	"  - {name: q, server: 198.18.0.2, load: {rate: 1k}, dns: {names: [\"a.b A\"]}}\n"
	"  - name: leases.v4\n"
	"    server: 198.18.0.2\n"
	"    load: {rate: 1k, max_outstanding: 500}\n"
	"    dhcp4: {clients: 10, relay: {addresses: [198.18.0.64]}}\n";

struct fixture {
	struct arena *a;
	struct diag *d;
	const struct config *c;
};

static int setup(void **state)
{
	static struct fixture f;

	f.a = arena_new();
	f.d = diag_new();
	f.c = config_load_text("t.yaml", file, sizeof(file) - 1, f.a, f.d);
	diag_print(f.d, stderr);
	*state = &f;
	return f.c ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	diag_free(f->d);
	arena_free(f->a);
	return 0;
}

static struct condition parsed(struct fixture *f, const char *text, enum condition_use use)
{
	struct condition_error e;
	struct condition k;

	if (!condition_parse(f->c, text, use, f->a, &k, &e))
		fail_msg("\"%s\": %zu: %s", text, e.at, e.what);
	return k;
}

static void conditions_are_taken_apart(void **state)
{
	struct condition k = parsed(*state, "  p99<=2ms ", CONDITION_VERDICT);

	assert_string_equal(k.figure, "latency.response.p99_ns");
	assert_true(k.op == OP_LE && k.limit == 2e6 && !k.item && !k.interval);
	k = parsed(*state, "traffic.leases.v4.steps.request-ack.p99 < 20ms", CONDITION_VERDICT);
	assert_string_equal(k.item, "leases.v4");
	assert_string_equal(k.figure, "steps.request-ack.latency.response.p99_ns");
	k = parsed(*state, "min(traffic.q.interval.answered_per_s) >= 1k", CONDITION_VERDICT);
	assert_true(k.interval && k.fold == FOLD_MIN && k.op == OP_GE && k.limit == 1000);
	k = parsed(*state, "mean( interval.p50 ) == 1us", CONDITION_VERDICT);
	assert_string_equal(k.figure, "latency.response.p50_ns");
	k = parsed(*state, "max(interval.latency.service.p999_ns) < 1s", CONDITION_VERDICT);
	assert_true(k.interval && k.limit == 1e9);
	k = parsed(*state, "loss > 5% for 3s", CONDITION_STOP);
	assert_true(k.interval && k.limit == 0.05 && k.for_ns == 3000000000 && !k.total);
	k = parsed(*state, "traffic.q.failed > 100", CONDITION_STOP);
	assert_true(k.total && k.limit == 100 && k.for_ns == 0);
	k = parsed(*state, "traffic.q.unanswered for 2s", CONDITION_STOP);
	assert_true(k.unanswered && k.for_ns == 2000000000 && strcmp(k.item, "q") == 0);
	k = parsed(*state, "dns.rcode.SERVFAIL > 1% for 3s", CONDITION_STOP);
	assert_true(k.share && k.limit == 0.01 && strcmp(k.unit, "1") == 0);
	k = parsed(*state, "traffic.leases.v4.steps.request-ack.lost > 7", CONDITION_STOP);
	assert_true(k.total && !k.share && k.limit == 7);
	k = parsed(*state, "longest_gap_ns <= 1s", CONDITION_VERDICT);
	assert_true(k.limit == 1e9);
}

static void criteria_choose_the_percentiles_that_they_name(void **state)
{
	struct fixture *f = *state;
	struct config *c = arena_zalloc(f->a, sizeof(*c));
	static const double chosen[] = {75};
	static const char *const texts[] = {"p95 <= 5ms", "queries.p975 < 1s", "p99 <= 1s",
		"steps.request-ack.p05 <= 1s", "p95 >= 1us", "max(interval.p99) <= 1s",
		"p100 <= 9s", "p950 <= 1s", "p00 <= 1s", "p75 <= 1s", "loss <= 5%", "xp96 <= 1s",
		"p"};
	static const double wanted[] = {75, 95, 97.5, 5, 100};
	const double *found;

	*c = *f->c;
	c->output.percentiles = (struct field_list){(void *)(uintptr_t)chosen, 1};
	c->criteria = (struct field_list){(void *)(uintptr_t)texts, sizeof(texts) / sizeof(*texts)};
	condition_name_percentiles(c, f->a);
	found = c->output.percentiles.items;
	assert_int_equal(c->output.percentiles.count, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_true(found[i] == wanted[i]);
}

static void chosen_percentiles_have_names(void **state)
{
	static const double percents[] = {95, 99.999, 5, 97.5, 100, 10};
	static const char *const names[] = {"p95", "p99999", "p05", "p975", "p100", "p10"};
	struct fixture *f = *state;
	struct config *c = arena_zalloc(f->a, sizeof(*c));
	struct condition_error e;
	const struct config *before = f->c;
	const struct result_percentile *list;
	struct condition k;

	assert_false(condition_parse(f->c, "p95 <= 1ms", CONDITION_VERDICT, f->a, &k, &e));
	*c = *f->c;
	c->output.percentiles = (struct field_list){(void *)(uintptr_t)percents, 6};
	list = condition_percentiles(c, f->a).items;
	for (int i = 0; i < 6; i++)
		assert_string_equal(list[i].name, names[i]);
	f->c = c;
	k = parsed(f, "p95 <= 1ms", CONDITION_VERDICT);
	assert_string_equal(k.figure, "latency.response.percentiles.p95.value_ns");
	assert_string_equal(k.unit, "ns");
	k = parsed(f, "max(interval.p99999) <= 1ms", CONDITION_VERDICT);
	k = parsed(f, "steps.request-ack.p05 > 1ms for 1s", CONDITION_STOP);
	assert_string_equal(
		k.figure, "steps.request-ack.latency.response.percentiles.p05.value_ns");
	f->c = (struct config *)(uintptr_t)before;
}

static void what_is_wrong_is_told_at_its_column(void **state)
{
	static const struct {
		const char *text;
		enum condition_use use;
		size_t at;
		const char *what;
	} rows[] = {
		{"lsos <= 1%", CONDITION_VERDICT, 0, "did you mean \"loss\"?"},
		{"p98 <= 1ms", CONDITION_VERDICT, 0, "did you mean \"p9"},
		{"traffic.q.lost_ <= 1", CONDITION_VERDICT, 10, "did you mean \"lost\"?"},
		{"send_lag.p99 <= 1ms", CONDITION_VERDICT, 0, "mean \"send_lag.p99_ns\"?"},
		{"longest_gap <= 1s", CONDITION_VERDICT, 0, "mean \"longest_gap_ns\"?"},
		{"dns.rcode.SERVFIAL == 0", CONDITION_VERDICT, 0, "\"dns.rcode.SERVFAIL\"?"},
		{"steps.request-akc.p99 < 1s", CONDITION_VERDICT, 0, "\"steps.request-ack.p99\"?"},
		{"traffic.q.steps.request-ack.p99 < 1s", CONDITION_VERDICT, 10, "no "},
		{"traffic.leases.loss <= 1%", CONDITION_VERDICT, 8, "no such traffic item"},
		{"loss ! 5%", CONDITION_VERDICT, 9, "no operator"},
		{"loss = 5%", CONDITION_VERDICT, 5, "no operator"},
		{"loss <= 5", CONDITION_VERDICT, 8, "\"5\" is not a percentage"},
		{"loss <=", CONDITION_VERDICT, 7, "no value"},
		{"<= 5", CONDITION_VERDICT, 0, "no figure"},
		{"traffic.q <= 5", CONDITION_VERDICT, 9, "no figure (like traffic.q.loss)"},
		{"", CONDITION_VERDICT, 0, "no operator"},
		{"interval.loss <= 1%", CONDITION_VERDICT, 0, "which interval?"},
		{"max(loss) <= 1%", CONDITION_VERDICT, 4, "max() is of intervals"},
		{"max(interval.by_due.failed) <= 1", CONDITION_VERDICT, 13, "only after the run"},
		{"by_due.answered < 1 for 2s", CONDITION_STOP, 0, "only after the run"},
		{"max(interval.loss <= 1%", CONDITION_VERDICT, 17, "\")\" is missing"},
		{"max(interval.p98) <= 1ms", CONDITION_VERDICT, 13, "did you mean \"p"},
		{"loss <= 1% for 3s", CONDITION_VERDICT, 11, "only a stop rule"},
		{"loss > 5% for 3", CONDITION_STOP, 14, "\"3\" is not a duration"},
		{"loss > 5% for 100ms", CONDITION_STOP, 14, "shorter than an interval"},
		{"loss > 5% for 20s", CONDITION_STOP, 14, "longer than the run"},
		{"unanswered", CONDITION_STOP, 10, "for how long?"},
		{"unanswered > 5 for 1s", CONDITION_STOP, 10, "no value to compare"},
		{"silence for 2s", CONDITION_STOP, 7, "no operator"},
		{"dns.rcode.SERVFIAL > 1", CONDITION_STOP, 0, "\"dns.rcode.SERVFAIL\"?"},
		{"sending_s > 1", CONDITION_STOP, 0, "no figure"},
		{"answered_per_s > 1%", CONDITION_STOP, 17, "\"1%\" is not a rate"},
		{"max(interval.loss) > 1%", CONDITION_STOP, 0, "looks back"},
	};
	struct fixture *f = *state;
	struct condition_error e;
	struct condition k;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(condition_parse(f->c, rows[i].text, rows[i].use, f->a, &k, &e));
		if (e.at != rows[i].at || !strstr(e.what, rows[i].what))
			fail_msg("\"%s\": %zu: %s", rows[i].text, e.at, e.what);
	}
}

// The stop rules of the file, replaced by these.
static struct stop rules(struct fixture *f, const char *const *texts, uint32_t count)
{
	struct config *c = arena_zalloc(f->a, sizeof(*c));
	struct stop s;

	*c = *f->c;
	c->stop = (struct field_list){(void *)(uintptr_t)texts, count};
	stop_start(&s, c, f->a);
	return s;
}

static const char *next(struct stop *s, struct fixture *f, struct result_interval_item q,
	struct result_interval_item leases)
{
	struct result_interval_item items[] = {q, leases};
	const struct result_interval i = {.length_s = 1, .traffic = {items, 2}};
	double value;

	items[0].name = "q";
	items[1].name = "leases.v4";
	return stop_check(s, &i, f->a, &value);
}

static const struct result_interval_item fine = {.sent = 100, .answered = 100};

static void a_condition_has_to_hold_for_its_time_without_a_break(void **state)
{
	static const char *const texts[] = {"loss > 5% for 3s"};
	const struct result_interval_item bad = {.sent = 100, .lost = 10, .loss = 0.1};
	struct stop s = rules(*state, texts, 1);

	for (int i = 0; i < 5; i++) {
		assert_null(next(&s, *state, fine, bad));
		assert_null(next(&s, *state, bad, bad));
		assert_null(next(&s, *state, bad, fine));
	}
	assert_string_equal(next(&s, *state, bad, fine), "traffic.q.loss > 5% for 3s");
}

static void counters_are_summed_up_and_gauges_are_not(void **state)
{
	static const char *const texts[] = {"traffic.q.failed > 100"};
	const struct result_interval_item some = {
		.sent = 60, .answered = 10, .failed = 50, .in_flight = 300};
	const struct result_interval_item many = {.sent = 60, .answered = 60, .in_flight = 501};
	struct stop s = rules(*state, texts, 1);

	assert_null(next(&s, *state, some, some));
	assert_null(next(&s, *state, some, some));
	assert_string_equal(next(&s, *state, some, some), "traffic.q.failed > 100");
	s = rules(*state, texts, 0);
	assert_null(next(&s, *state, many, some));
	assert_string_equal(next(&s, *state, many, many), "traffic.leases.v4.in_flight > 500");
}

static void a_counter_against_a_percentage_is_a_share_of_those_that_ended(void **state)
{
	static const char *const texts[] = {"traffic.q.failed > 25% for 2s"};
	const struct result_interval_item at = {.answered = 60, .failed = 25, .lost = 15};
	const struct result_interval_item above = {.answered = 59, .failed = 26, .lost = 15};
	const struct result_interval_item idle = {0};
	struct stop s = rules(*state, texts, 1);

	assert_null(next(&s, *state, above, fine));
	assert_null(next(&s, *state, at, fine));
	assert_null(next(&s, *state, above, fine));
	assert_null(next(&s, *state, idle, fine));
	assert_null(next(&s, *state, above, fine));
	assert_string_equal(next(&s, *state, above, fine), texts[0]);
}

// A step without messages in an interval has counts of 0.
static void figures_of_steps_and_protocols_stop_a_run(void **state)
{
	static const char *const texts[] = {
		"steps.request-ack.answered < 5 for 1s", "dns.rcode.SERVFAIL > 10"};
	struct fixture *f = *state;
	const struct result_step few[] = {{.name = "request-ack", .answered = 4}};
	struct result_interval_item leases = fine, q = fine;
	uint64_t rcode[64] = {0};
	struct stop s = rules(f, texts, 2);

	assert_string_equal(
		next(&s, f, q, leases), "traffic.leases.v4.steps.request-ack.answered < 5 for 1s");
	leases.steps = (struct counter_list){few, 1};
	assert_non_null(next(&s, f, q, leases));
	leases.steps.items = &(const struct result_step){.name = "request-ack", .answered = 5};
	assert_null(next(&s, f, q, leases));
	q.counters = (struct counter_choice){protos[0]->counters, rcode};
	for (size_t i = 0; i < sizeof(rcode) / sizeof(rcode[0]); i++)
		rcode[i] = 5; // whichever of them counts SERVFAIL
	assert_null(next(&s, f, q, leases));
	assert_null(next(&s, f, q, leases));
	assert_string_equal(next(&s, f, q, leases), "traffic.q.dns.rcode.SERVFAIL > 10");
}

static void silence_is_no_answer_while_something_was_asked(void **state)
{
	static const char *const texts[] = {"unanswered for 2s"};
	const struct result_interval_item idle = {0}, asked = {.sent = 5}, waits = {.in_flight = 5};
	struct stop s = rules(*state, texts, 1);

	for (int i = 0; i < 5; i++)
		assert_null(next(&s, *state, fine, idle));
	assert_null(next(&s, *state, fine, asked));
	assert_string_equal(next(&s, *state, fine, waits), "traffic.leases.v4.unanswered for 2s");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(conditions_are_taken_apart),
		TEST(criteria_choose_the_percentiles_that_they_name),
		TEST(chosen_percentiles_have_names),
		TEST(what_is_wrong_is_told_at_its_column),
		TEST(a_condition_has_to_hold_for_its_time_without_a_break),
		TEST(counters_are_summed_up_and_gauges_are_not),
		TEST(a_counter_against_a_percentage_is_a_share_of_those_that_ended),
		TEST(figures_of_steps_and_protocols_stop_a_run),
		TEST(silence_is_no_answer_while_something_was_asked),
	};

	return cmocka_run_group_tests_name("condition", tests, NULL, NULL);
}

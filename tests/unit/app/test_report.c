// SPDX-License-Identifier: BSD-3-Clause
// The parts of a report that depend on events: each is present only if it matters. The whole of an
// ordinary report is in tests/golden.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/report.h"
#include "stats/text.h"

static char *printed;

// The report of a result; the caller frees printed.
static void print(const struct result *result)
{
	struct report r;
	size_t len;

	report_init(&r, open_memstream(&printed, &len), false);
	report_result(&r, result);
	fclose(r.out);
}

static void assert_printed(const struct result *result, const char *fragment, bool expected)
{
	print(result);
	if (!strstr(printed, fragment) == expected)
		fail_msg("\"%s\" is %sin: %s", fragment, expected ? "not " : "", printed);
	free(printed);
}

static void a_latency_says_when_it_is_none(void **state)
{
	static const struct {
		double ns;
		bool any;
		const char *text;
	} cases[] = {
		{1500, true, "1.50 us"},
		{0, true, "0 ns"},
		{INFINITY, true, "lost"},
		{INFINITY, false, "lost"},
		{1500, false, "-"},
	};
	char buf[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(
			stats_time(cases[i].ns, cases[i].any, buf, sizeof(buf)), cases[i].text);
}

static void a_criterion_shows_its_value_in_its_unit(void **state)
{
	static const struct {
		struct result_criterion criterion;
		const char *text;
	} cases[] = {
		{{.value = NAN, .unit = "ns"}, "not seen"},
		{{.value = INFINITY, .unit = "ns"}, "lost"},
		{{.value = 2.1e6, .unit = "ns"}, "2.10 ms"},
		{{.value = 0.0025, .unit = "1"}, "0.25 %"},
		{{.value = 1234}, "1 234"},
		{{.value = 20000, .unit = "per_s"}, "20.0 k/s"},
	};
	char buf[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(report_criterion_value(&cases[i].criterion, buf, sizeof(buf)),
			cases[i].text);
}

static void a_limit_is_named_for_a_run_that_ended(void **state)
{
	static const struct {
		struct result_verdict verdict;
		const char *text; // NULL: none
	} cases[] = {
		{{"pass", .limited_by = "none"}, "limited by nothing"},
		{{"invalid", .limited_by = "tester", .invalid_by = "tester"},
			"limited by the tester"},
		{{"fail", .limited_by = "wire"}, "limited by the wire"},
		{{"fail", .limited_by = "server"}, "limited by the server"},
		{{"invalid", .limited_by = "none", .invalid_by = "load"}, "limited by the load"},
		{{"unreachable", .limited_by = "server"}, NULL},
		{{"interrupted", .limited_by = "server"}, NULL},
		{{"pass", .limited_by = NULL}, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct result r = {.verdict = cases[i].verdict};

		assert_printed(&r, cases[i].text ? cases[i].text : "limited by", cases[i].text);
		if (cases[i].text && strstr(cases[i].text, "load"))
			assert_printed(&r, "limited by nothing", false);
	}
}

static void the_last_line_sums_up_all_items(void **state)
{
	static const struct {
		struct ledger ledger;
		const char *text;
	} cases[] = {
		{{0}, "DONE: no criteria, so nothing was judged (nothing was sent)"},
		{{.sent = 5, .answered = 5}, "(10 requests sent, all answered in time)"},
		{{.sent = 5, .answered = 4, .no_reply = 1},
			"10 requests sent, 8 answered in time, 2 need no reply)"},
		{{.sent = 5, .answered = 4, .lost = 1},
			"10 requests sent, 8 answered in time, 2 lost (20.0 %))"},
		{{.sent = 5, .answered = 4, .failed = 1},
			"10 requests sent, 8 answered in time, 2 failed)"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result_item items[2] = {
			{.name = "a", .protocol = "dns", .port = "p", .loop = "open"}};
		struct result r = {.verdict = {"done"}, .traffic = {items, 2}};

		items[0].ledger = cases[i].ledger;
		items[1] = items[0];
		assert_printed(&r, cases[i].text, true);
	}
}

static void a_port_is_shown_when_it_lost_packets_or_the_run_did_not_pass(void **state)
{
	static const struct {
		struct result_port port;
		const char *status, *text;
		bool shown;
	} cases[] = {
		{{.rx_packets = 9}, "pass", "port p", false},
		{{.rx_packets = 9}, "fail", "port p (ring): 9 packets received, 0 sent\n", true},
		{{.rx_missed = 2}, "pass", "  2 packets dropped by the device", true},
		{{.rx_no_mbuf = 2}, "pass", "  2 packets dropped: no free buffer", true},
		{{.tx_refused = 2}, "pass", "  2 times the device took", true},
		{{.tx_no_mbuf = 2}, "pass", "  2 times no buffer", true},
		{{.hand_over_full = 2}, "pass", "  2 packets lost between workers", true},
		{{.hand_over_full = 2}, "pass", "packets dropped", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result_port port = cases[i].port;
		const struct result r = {.verdict = {cases[i].status}, .ports = {&port, 1}};

		port.name = "p";
		port.driver = "ring";
		assert_printed(&r, cases[i].text, cases[i].shown);
	}
}

static void sharing_is_shown_for_several_workers_that_received(void **state)
{
	const struct result_worker workers[] = {{.port = "p", .received = 30},
		{.port = "q", .received = 5}, {.port = "p", .received = 10}};
	const struct result_port port = {.name = "p", .driver = "ring", .handed_over = 10};
	struct result r = {.verdict = {"pass"}, .ports = {&port, 1}, .workers = {workers, 3}};

	assert_printed(&r,
		"port p: of 40 packets for its 2 workers, 75.0 % arrived at the right one, "
		"25.0 % were handed over",
		true);
	r.workers.count = 2;
	assert_printed(&r, "workers", false);
}

static void the_testers_own_delay_names_the_worst_worker_of_its_port(void **state)
{
	const struct result_worker workers[] = {
		{.port = "p", .passes = {.count = 1, .p50_ns = 10, .p99_ns = 100, .max_ns = 1000}},
		{.port = "p",
			.passes = {.count = 100, .p50_ns = 20, .p99_ns = 200, .max_ns = 2000}},
		{.port = "q", .passes = {.count = 1, .p50_ns = 30, .p99_ns = 300, .max_ns = 3000}}};
	struct result_tester_delay delay = {
		.port = "p", .single = {.count = 99, .p50_ns = 5, .p99_ns = 6}};
	struct result r = {.verdict = {"pass"}, .workers = {workers, 3}};

	assert_printed(&r, "tester itself", false);
	r.run.tester_delay = &delay;
	assert_printed(&r,
		"adds p50 5.00 ns, p99 - to every latency; a pass of its loop took p50 "
		"20.0 ns, p99 200 ns, max 2.00 us",
		true);
}

static void a_capture_says_what_is_missing_in_it(void **state)
{
	static const struct {
		struct result_capture capture;
		const char *text;
	} cases[] = {
		{{"f", 3}, "3 packets of failing transactions in f\n"},
		{{"f", 3, 2}, "in f; 2 left out"},
		{{"f", 3, 0, true, false}, "in f; the limit of transactions was reached\n"},
		{{"f", 3, 0, false, true}, "in f; the file is incomplete"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result_capture c = cases[i].capture;
		const struct result r = {.verdict = {"pass"}, .capture = &c};

		assert_printed(&r, cases[i].text, true);
	}
}

static void cpu_time_of_both_boxes_and_the_probe(void **state)
{
	struct result_cpu cpu = {.cpus = 4,
		.use = {.used = 0.5,
			.user = 0.375,
			.system = 0.125,
			.busiest_used = 1,
			.busiest = 3},
		.us_per_transaction = 1.5};
	const struct result_worker workers[] = {{.cpu = 2, .ns_per_transaction = 50, .busy = 0.125},
		{.cpu = 3, .ns_per_transaction = 40, .busy = 0.25}};
	const struct result_dut_figure figure = {"queue", 7};
	struct result_dut dut = {.command = "cat",
		.samples = 8,
		.failures = 2,
		.cpus = 2,
		.use = {.used = NAN},
		.us_per_transaction = NAN,
		.figures = {&figure, 1}};
	struct result r = {.verdict = {"pass"}};

	assert_printed(&r, "cpu (", false);
	r.cpu = &cpu;
	assert_printed(&r,
		"  tester's box 50.0 % of 4 CPUs (user 37.5 %, system 12.5 %), busiest CPU 3 with "
		"100 %\n",
		true);
	assert_printed(&r, "worker ", false);
	r.workers = (struct counter_list){workers, 2};
	assert_printed(&r,
		"  worker       busiest on CPU 3: 40.0 ns of work for each transaction, 25.0 % of "
		"its "
		"time (room for 4 times the load)\n",
		true);
	r.dut = &dut;
	assert_printed(&r, "server's box", false);
	assert_printed(&r, "  probe        queue 7\n  probe        failed 2 times of 10\n", true);
	dut.use = (struct result_cpu_use){.used = 0.25, .steal = 0.5, .busiest_used = 0.3};
	assert_printed(&r,
		"  server's box 25.0 % of 2 CPUs (stolen by the host 50.0 %), busiest CPU 0 with "
		"30.0 %\n",
		true);
	assert_printed(&r, "of CPU for each reply", false);
	dut.us_per_transaction = 1.5;
	assert_printed(&r, "  server       1.50 us of CPU for each reply\n", true);
}

static void a_search_answers_in_the_last_line(void **state)
{
	struct result_goal goal = {"loss <= 1%", 40000, 41000, 39990, "server", NAN};
	struct result_peak peak = {50000, 45000};
	struct result_search search = {.method = "bisect",
		.variable = "rate",
		.answer = 40000,
		.goals = {&goal, 1},
		.knee = NAN};
	struct result r = {.verdict = {"pass"}, .search = &search};

	assert_printed(&r, "PASS: 40 000 is the highest rate found that meets loss <= 1%\n", true);
	assert_printed(&r, "knee", false);
	assert_printed(&r, "peak", false);
	goal.limited_by = "range";
	assert_printed(&r, "meets loss <= 1%, but the server's own limit was not reached\n", true);
	goal.answer = NAN;
	search.peak = search.collapse = &peak;
	search.knee = 30000;
	assert_printed(&r, "PASS: no rate was found that meets loss <= 1%\n", true);
	assert_printed(&r, "  peak       45.0 k/s answered at 50 000\n", true);
	assert_printed(&r, "  collapse   45.0 k/s answered at 50 000\n", true);
	assert_printed(&r, "  knee       p99 leaves its level above 30 000\n", true);
	assert_printed(&r, "        none       41 000     40.0 k/s  range\n", true);
}

static void repeats_show_times_as_times_and_wide_intervals(void **state)
{
	const struct result_spread figures[] = {{"q", "answered_per_s", 1000, 1, 999, 1001, 1000,
							998, 1002, 998.4, 999, 1001, 1002, true},
		{"q", "latency.p99_ns", 1000, 1, -INFINITY, INFINITY, 1000, 998, 1002, 998.4, 999,
			1001, 1002, false},
		{NULL, "cpu.used", 0.5, 0.1, 0.4, 0.6, 0.5, 0.4, 0.6, 0.4, 0.45, 0.55, 0.6, true}};
	struct result_confidence c = {.runs = 3, .confidence = 0.95, .figures = {figures, 3}};
	const struct result r = {.verdict = {"pass"}, .confidence = &c};

	assert_printed(&r, "repeats: 3, intervals hold the mean with 95 % confidence\n", true);
	assert_printed(&r, "    1.00 k/s", true);
	assert_printed(&r, "     1.00 us         any         any", true);
	assert_printed(&r, "1.00 us  wider than asked for\n", true);
	assert_printed(&r, "/s  wider", false);
	assert_printed(
		&r, "              cpu.used                      50.00 %     10.00 %", false);
	assert_printed(&r,
		"              cpu.used                      50.0 %      40.0 %      60.0 %", true);
	c.skipped = 1;
	assert_printed(&r, "repeats: 3 (the first 1 left out), intervals hold", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_latency_says_when_it_is_none),
		cmocka_unit_test(a_criterion_shows_its_value_in_its_unit),
		cmocka_unit_test(a_limit_is_named_for_a_run_that_ended),
		cmocka_unit_test(the_last_line_sums_up_all_items),
		cmocka_unit_test(a_port_is_shown_when_it_lost_packets_or_the_run_did_not_pass),
		cmocka_unit_test(sharing_is_shown_for_several_workers_that_received),
		cmocka_unit_test(the_testers_own_delay_names_the_worst_worker_of_its_port),
		cmocka_unit_test(a_capture_says_what_is_missing_in_it),
		cmocka_unit_test(cpu_time_of_both_boxes_and_the_probe),
		cmocka_unit_test(a_search_answers_in_the_last_line),
		cmocka_unit_test(repeats_show_times_as_times_and_wide_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

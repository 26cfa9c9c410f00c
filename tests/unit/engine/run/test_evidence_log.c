// SPDX-License-Identifier: BSD-3-Clause
// Rings, texts and numbers that output.capture gives to workers and items, and the summary of the
// file at the end. Path: cold. Test.
#include "../planned.h"

#include <errno.h>
#include <unistd.h>

#include "engine/run/around/evidence_log.h"

// Two workers on each port of a pair; an item on either pair, the second one with retransmissions.
#define TEXT(capture)                                                                              \
	"ports:\n"                                                                                 \
	"  - {name: lan, driver: ring, device: dut, addresses: [198.18.0.1/24], cpus: [1, 2]}\n"   \
	"  - {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/24], cpus: [3, 4]}\n"   \
	"responder: {port: dut, dns: {}, dhcp4: {pool: 198.18.0.100-198.18.0.199}}\n"              \
	"traffic:\n"                                                                               \
	"  - {name: q, server: 198.18.0.2, timeout: 3s, load: {rate: 1k}, " LOADED_DNS "}\n"       \
	"  - {name: l, port: lan, timeout: 1s, load: {rate: 1k}, dhcp4: {clients: 10, "            \
	"retransmit: {}}}\n" capture

static char path[64];
static struct planned *p;
static struct capture_source started;

struct capture *__real_capture_start(const struct capture_source *s);
struct capture *__wrap_capture_start(const struct capture_source *s);

struct capture *__wrap_capture_start(const struct capture_source *s)
{
	started = *s;
	return __real_capture_start(s);
}

static int setup(void **state)
{
	strcpy(path, "/tmp/ddiperf-evidence-XXXXXX");
	close(mkstemp(path));
	memset(&started, 0, sizeof(started));
	return 0;
}

static int teardown(void **state)
{
	return unlink(path);
}

static struct evidence_log *begin(const char *file, const char *settings)
{
	char text[2048];
	struct evidence_log *log;

	snprintf(text, sizeof(text), TEXT("output: {capture: {file: %s%s}}\n"), file, settings);
	p = planned_build(text);
	assert_int_equal(evidence_log_start(&p->plan, p->l.a, &log), 0);
	assert_non_null(log);
	return log;
}

static struct result_capture finish(struct evidence_log *log)
{
	struct result_capture out;

	evidence_log_stop(log, &out);
	planned_free(p);
	return out;
}

static const struct evidence *evidence(uint32_t item, uint32_t worker)
{
	return plan_run(&p->plan.items[item], worker)->evidence;
}

static void without_the_setting_nothing_is_captured(void **state)
{
	struct evidence_log *log = (struct evidence_log *)1;

	p = planned_build(TEXT(""));
	assert_int_equal(evidence_log_start(&p->plan, p->l.a, &log), 0);
	assert_null(log);
	assert_null(evidence(0, 0));
	planned_free(p);
}

static void a_responder_alone_captures_nothing(void **state)
{
	struct evidence_log *log = (struct evidence_log *)1;

	p = planned_start(TEXT("output: {capture: {file: /tmp/never.pcapng}}\n"), true);
	assert_int_equal(evidence_log_start(&p->plan, p->l.a, &log), 0);
	assert_null(log);
	assert_null(started.path);
	planned_free(p);
}

static void a_ring_holds_twice_the_limit_within_bounds(void **state)
{
	static const struct {
		const char *limit;
		uint32_t size;
	} rows[] = {{"1", 64}, {"32", 64}, {"33", 128}, {"100", 256}, {"2048", 4096},
		{"2049", 4096}, {"1000000", 4096}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char settings[64];
		struct evidence_log *log;

		snprintf(settings, sizeof(settings), ", limit: %s", rows[i].limit);
		log = begin(path, settings);
		assert_int_equal(evidence(0, 0)->ring->count, rows[i].size);
		assert_int_equal(*evidence(0, 0)->left, atoi(rows[i].limit));
		finish(log);
	}
}

static void each_worker_has_a_ring_and_the_responder_none(void **state)
{
	struct evidence_log *log = begin(path, "");

	assert_int_equal(started.ring_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		bool tester = p->plan.workers[i].item_count > 0;

		assert_int_equal(started.rings[i].count, tester ? 2048 : 0);
		assert_int_equal(started.rings[i].slots != NULL, tester);
	}
	assert_ptr_equal(evidence(0, 0)->ring, &started.rings[0]);
	assert_ptr_equal(evidence(0, 1)->ring, &started.rings[1]);
	assert_ptr_equal(evidence(1, 1)->ring, &started.rings[1]);
	assert_ptr_equal(evidence(0, 0)->left, evidence(1, 1)->left);
	finish(log);
}

static void packets_have_numbers_names_and_times(void **state)
{
	struct evidence_log *log = begin(path, "");

	assert_true(evidence(0, 0)->first_id == 1ull << 48);
	assert_true(evidence(0, 1)->first_id == (1ull << 48 | 1ull << 44));
	assert_true(evidence(1, 1)->first_id == (2ull << 48 | 1ull << 44));
	assert_int_equal(evidence(0, 0)->interface, 0);
	assert_true(evidence(0, 0)->ms_scale == clock_ms_scale(&p->plan.clock));
	assert_string_equal(started.path, path);
	assert_int_equal(started.interface_count, 2);
	assert_string_equal(started.interfaces[0], "lan");
	assert_string_equal(started.interfaces[1], "dut");
	assert_true(started.clock.hz == 1e9);
	// A late reply: four times the longest timeout, which is the first item's, and a second.
	assert_true(started.reach_ns == 13000000000);
	finish(log);
}

static void each_wanted_reason_has_its_comment(void **state)
{
	static const struct {
		const char *when;
		const char *comments[2][EVIDENCE_REASONS];
	} rows[] = {
		{", when: [lost, late, stray, failed, malformed]",
			{{"q: lost: no reply within 3 s",
				 "q: late: answered after the timeout of 3 s",
				 "q: stray: belongs to no transaction of that address and port",
				 "q: failed: refused, or rejected by the checks of the item",
				 "q: malformed: the reply does not parse"},
				{"l: lost: no reply to any of its attempts",
					"l: late: answered after the wait for it",
					"l: stray: belongs to no transaction of that address and "
					"port",
					"l: failed: refused, or rejected by the checks of the item",
					"l: malformed: the reply does not parse"}}},
		{", when: [late, failed]",
			{{NULL, "q: late: answered after the timeout of 3 s", NULL,
				 "q: failed: refused, or rejected by the checks of the item"},
				{NULL, "l: late: answered after the wait for it", NULL,
					"l: failed: refused, or rejected by the checks of the "
					"item"}}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct evidence_log *log = begin(path, rows[i].when);

		for (uint32_t item = 0; item < 2; item++)
			for (uint32_t n = 0; n < EVIDENCE_REASONS; n++) {
				const char *wanted = rows[i].comments[item][n];
				const char *comment = evidence(item, 1)->comments[n];

				assert_int_equal(!comment, !wanted);
				if (wanted)
					assert_string_equal(comment, wanted);
			}
		finish(log);
	}
}

static void a_file_that_cannot_be_opened_stops_it(void **state)
{
	struct evidence_log *log = (struct evidence_log *)1;

	p = planned_build(TEXT("output: {capture: {file: /nonexistent/x.pcapng}}\n"));
	assert_int_equal(evidence_log_start(&p->plan, p->l.a, &log), -ENOENT);
	assert_null(log);
	assert_null(evidence(0, 0));
	planned_free(p);
}

static void the_end_says_what_is_in_the_file(void **state)
{
	struct evidence_log *log = begin(path, ", limit: 2");
	struct result_capture out;

	capture_at(evidence(0, 0)->ring)->packet = (struct capture_packet){.len = 60};
	capture_commit(evidence(0, 0)->ring);
	evidence(0, 0)->ring->dropped = 3;
	evidence(0, 1)->ring->dropped = 4;
	*evidence(0, 0)->left = 0; // all of it, and no more was asked for
	evidence_log_stop(log, &out);
	assert_string_equal(out.file, path);
	planned_free(p);
	assert_int_equal(out.packets, 1);
	assert_int_equal(out.dropped, 7);
	assert_false(out.limit_reached);
	assert_false(out.incomplete);
	log = begin(path, "");
	*evidence(0, 0)->left = -1;
	out = finish(log);
	assert_true(out.limit_reached);
	assert_int_equal(out.packets, 0);
}

static void a_file_that_is_full_is_incomplete(void **state)
{
	assert_true(finish(begin("/dev/full", "")).incomplete);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_the_setting_nothing_is_captured),
		TEST(a_responder_alone_captures_nothing),
		TEST(a_ring_holds_twice_the_limit_within_bounds),
		TEST(each_worker_has_a_ring_and_the_responder_none),
		TEST(packets_have_numbers_names_and_times),
		TEST(each_wanted_reason_has_its_comment),
		TEST(a_file_that_cannot_be_opened_stops_it),
		TEST(the_end_says_what_is_in_the_file),
		TEST(a_file_that_is_full_is_incomplete),
	};

	return cmocka_run_group_tests_name("evidence_log", tests, NULL, NULL);
}

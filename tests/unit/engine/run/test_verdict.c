// SPDX-License-Identifier: BSD-3-Clause
// When a run is invalid, and which limit it reached. Invented figures, judged without a run.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/run/run.h"
#include "engine/run/judge/verdict.h"
#include "io/driver/driver.h"

#define HZ 2.5e9

static const struct counter some_rows[] = {
	{.name = "other", .help = COUNTER_STRAY("of another"), .type = COUNTER_U64, .offset = 8},
	{.name = "blind", .help = "not looked at", .type = COUNTER_U64}};
static const struct counter_section some_counters = {
	.name = "some", COUNTER_ROWS(some_rows), .size = 16, .fault = "blind"};
static const struct proto some = {.name = "some", .counters = &some_counters};

// A valid run of 2 s with one item on one port. Each struct is followed by another with every
// fault, which is not part of the run.
struct fixture {
	struct config config;
	struct item_settings item;
	struct port_settings port, more_port;
	struct port started;
	struct worker worker, more_worker;
	struct worker_item run, more_run;
	uint64_t counters[2][2], more_counters[2][2]; // by bank: blind, other
	struct plan_item plan_item, more_plan_item;
	struct plan plan;
	struct result_item result_item, more_result_item;
	struct result_port result_port, more_result_port;
	struct result_worker result_worker, more_result_worker;
	struct result result;
	struct arena *arena;
};

static struct counter_list criteria; // replaces the file's criteria, unless it is empty

struct counter_list __real_criteria_judge(
	const struct criteria *k, const struct result *r, struct arena *a);
struct counter_list __wrap_criteria_judge(
	const struct criteria *k, const struct result *r, struct arena *a);

struct counter_list __wrap_criteria_judge(
	const struct criteria *k, const struct result *r, struct arena *a)
{
	return criteria.count ? criteria : __real_criteria_judge(k, r, a);
}

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	f.arena = arena_new();
	f.config.validity = (struct validity_settings){
		.unsent = 0.001, .send_lag_p99_ns = 10000000, .stolen = 0.1, .clock = 0.001};
	f.port.name = "lan";
	f.started.settings = &f.port;
	f.plan_item = (struct plan_item){.settings = &f.item,
		.port = &f.started,
		.worker = &f.worker,
		.worker_count = 1,
		.run = &f.run};
	f.worker.items = &f.run;
	f.worker.item_count = 1;
	f.plan = (struct plan){.config = &f.config,
		.clock.hz = HZ,
		.port_settings = &f.port,
		.ports = &f.started,
		.port_count = 1,
		.workers = &f.worker,
		.worker_count = 1,
		.responder_port = -1,
		.items = &f.plan_item,
		.item_count = 1};
	f.result_item = (struct result_item){.name = "queries",
		.port = "lan",
		.ledger = {.due = 2000, .sent = 2000, .answered = 2000},
		.sent_per_s = 1000};
	f.result_port = (struct result_port){.name = "lan", .rx_packets = 2000};
	f.result_worker = (struct result_worker){.port = "lan", .cpu = 1};
	f.result = (struct result){.run.measured_s = 2,
		.traffic = {&f.result_item, 1},
		.ports = {&f.result_port, 1},
		.workers = {&f.result_worker, 1}};
	f.more_worker = (struct worker){.items = &f.more_run,
		.item_count = 1,
		.tx_no_mbuf = 1000,
		.tx_refused = 2000,
		.wire.counters.fragments = 1};
	f.more_run.books.counts[1].no_client = 50;
	f.item.facts.proto = f.run.proto = f.more_run.proto = &some;
	for (int bank = 0; bank < 2; bank++) {
		f.run.banks[bank] = f.counters[bank];
		f.more_run.banks[bank] = f.more_counters[bank];
		f.more_counters[bank][0] = 7;
	}
	f.more_run.txns.count = 512;
	f.more_plan_item = f.plan_item;
	f.more_result_item = (struct result_item){.name = "more",
		.port = "more",
		.ledger = {.due = 9, .sent = 9, .answered = 1, .lost = 8}};
	f.more_result_port = (struct result_port){.name = "more", .rx_missed = 9};
	f.more_result_worker = (struct result_worker){.port = "more", .stolen_s = 2};
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	criteria.count = 0;
	arena_free(f->arena);
	return 0;
}

// Makes the timeline of the intervals in the result.
static const struct timeline *timeline(struct fixture *f)
{
	const struct result_interval *intervals = f->result.intervals.items;
	struct timeline *t = arena_zalloc(f->arena, sizeof(*t));

	timeline_start(t, &f->config, f->arena);
	for (uint32_t i = 0; i < f->result.intervals.count; i++)
		timeline_add(t, &intervals[i]);
	return t;
}

static int reach(struct fixture *f)
{
	return verdict_reach(&f->plan, timeline(f), NULL, false, f->arena, &f->result);
}

static bool says(const struct fixture *f, const char *words)
{
	const char *const *texts = f->result.verdict.reasons.items;

	for (uint32_t i = 0; i < f->result.verdict.reasons.count; i++)
		if (strstr(texts[i], words))
			return true;
	return false;
}

static void assert_invalid(struct fixture *f, const char *words)
{
	assert_int_equal(reach(f), EXIT_INVALID);
	assert_string_equal(f->result.verdict.status, "invalid");
	assert_string_equal(f->result.verdict.limited_by, "tester");
	assert_string_equal(f->result.verdict.invalid_by, "tester");
	assert_true(says(f, words));
}

// Others had its CPU: the run is unusable, and no fault of tester or server.
static void assert_disturbed(struct fixture *f, const char *limit, const char *words)
{
	assert_int_equal(reach(f), EXIT_INVALID);
	assert_string_equal(f->result.verdict.status, "invalid");
	assert_string_equal(f->result.verdict.limited_by, limit);
	assert_string_equal(f->result.verdict.invalid_by, "disturbance");
	assert_true(says(f, words));
}

static void a_run_without_a_fault_passes(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reach(f), EXIT_PASS);
	assert_string_equal(f->result.verdict.status, "done"); // without criteria
	assert_string_equal(f->result.verdict.limited_by, "none");
	assert_null(f->result.verdict.invalid_by);
	assert_int_equal(f->result.verdict.reasons.count, 0);
}

static void replies_that_were_dropped_say_why_if_that_explains_the_loss(void **state)
{
	uint64_t counts[2] = {0, 9};
	struct fixture *f = *state;

	f->result_item.ledger =
		(struct ledger){.due = 20, .sent = 20, .answered = 11, .lost = 9, .stray = 9};
	f->result_item.counters = (struct counter_choice){&some_counters, counts};
	reach(f);
	assert_true(says(f, "queries: 9 replies were dropped (some.other): of another"));
	counts[1] = 1;
	reach(f);
	assert_false(says(f, "were dropped"));
}

static void a_load_that_nobody_can_make_is_no_fault_of_the_tester(void **state)
{
	struct fixture *f = *state;

	f->run.books.counts[1].no_client = 300;
	f->result_item.unsent = 301;
	f->result_item.ledger.sent = f->result_item.ledger.answered = 1699;
	assert_int_equal(reach(f), EXIT_INVALID);
	assert_string_equal(f->result.verdict.invalid_by, "load");
	assert_string_equal(f->result.verdict.limited_by, "none");
	assert_true(says(f, "queries: 301 of 2000 that were due were not sent"));
	assert_true(says(f, "300 not sent: no client was free for them, the first"));
	f->result_item.unsent = 303; // three that somebody could have made
	assert_invalid(f, "300 not sent: no client was free");
	f->result_item.unsent = 301;
	f->result_item.send_lag.p99_ns = 2e7;
	assert_invalid(f, "the tester sent late");
	f->result_item.send_lag.p99_ns = 0;
	f->result_worker.stolen_s = 0.21;
	assert_disturbed(f, "none", "was descheduled");
}

// Messages of bound clients cannot be sent before a client is bound.
static void the_first_of_a_mix_find_no_bound_client(void **state)
{
	static const struct {
		uint64_t unsent, none, no_bound, yet;
		int code;
		const char *by, *says, *silent_about;
	} rows[] = {
		{30, 30, 30, 30, EXIT_PASS, NULL, NULL, "not sent"},
		{32, 30, 30, 30, EXIT_PASS, NULL, NULL, "not sent"},
		{33, 30, 30, 30, EXIT_INVALID, "tester", "30 not sent: no client was bound",
			"free"},
		{30, 30, 30, 20, EXIT_INVALID, "load",
			"30 not sent: no client was bound and idle for them: more of", "free"},
		{30, 30, 0, 0, EXIT_INVALID, "load", "30 not sent: no client was free", "bound"},
		{30, 30, 10, 10, EXIT_INVALID, "load", "20 not sent: no client was free", "tester"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f->run.books.counts[1].no_client = rows[i].none;
		f->run.books.counts[1].no_bound = rows[i].no_bound;
		f->run.books.counts[1].no_bound_yet = rows[i].yet;
		f->result_item.unsent = rows[i].unsent;
		f->result_item.ledger.sent = f->result_item.ledger.answered = 2000 - rows[i].unsent;
		assert_int_equal(reach(f), rows[i].code);
		assert_string_equal(
			f->result.verdict.invalid_by ? f->result.verdict.invalid_by : "",
			rows[i].by ? rows[i].by : "");
		assert_true(!rows[i].says || says(f, rows[i].says));
		assert_false(says(f, rows[i].silent_about));
	}
}

// Its slots and keys are used up by lost transactions.
static void a_closed_loop_without_an_answer_waits_for_the_server(void **state)
{
	struct fixture *f = *state;

	f->run.pace.kind = PACE_OUTSTANDING;
	f->result_item.no_slot = 9;
	f->result_item.ledger = (struct ledger){.due = 9, .sent = 9, .lost = 9};
	assert_int_equal(reach(f), EXIT_UNREACHABLE);
	assert_false(says(f, "slots"));
	f->run.books.ledger[0].answered = 1;
	reach(f);
	assert_true(says(f, "slots"));
}

// All that could be sent was due in the warm-up.
static void a_server_that_was_silent_in_the_warmup_is_unreachable(void **state)
{
	struct fixture *f = *state;

	f->result_item.ledger = (struct ledger){.due = 9};
	f->result_item.unsent = 9;
	f->run.books.ledger[0] = (struct ledger){.due = 5, .sent = 5, .lost = 5};
	assert_int_equal(reach(f), EXIT_UNREACHABLE);
	assert_true(says(f, "nothing answered: 5 sent, no reply of any kind"));
	f->run.books.ledger[0].answered = 1;
	assert_invalid(f, "nothing was sent in the measured part");
}

static void a_message_that_waits_for_answers_to_others_is_lost_by_the_server(void **state)
{
	struct result_connections connections = {.pipeline_full = 500, .pipeline_lost = 300};
	struct fixture *f = *state;

	f->result_item.connections = &connections;
	f->result_item.ledger.lost = 310;
	f->result_item.ledger.answered = f->result_item.ledger.sent - 310;
	assert_int_equal(reach(f), EXIT_PASS);
	assert_string_equal(f->result.verdict.limited_by, "server");
	assert_true(says(f, "queries: 300 of the 310 lost messages still waited behind others"));
}

static void a_connection_without_memory_is_no_fault_of_the_tester(void **state)
{
	static const struct {
		uint64_t unsent, no_memory;
		const char *by;
	} rows[] = {{300, 300, "load"}, {303, 300, "tester"}};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct result_connections connections = {.no_memory = rows[i].no_memory};

		f->result_item.connections = &connections;
		f->result_item.unsent = rows[i].unsent;
		f->result_item.ledger.sent = f->result_item.ledger.answered = 2000 - rows[i].unsent;
		assert_int_equal(reach(f), EXIT_INVALID);
		assert_string_equal(f->result.verdict.invalid_by, rows[i].by);
		assert_true(says(f, "queries: 300 of them had no memory"));
	}
}

static void a_load_without_anything_due_is_no_fault_of_the_tester(void **state)
{
	struct fixture *f = *state;

	f->result_item.ledger = (struct ledger){0};
	f->result_item.sent_per_s = 0;
	assert_int_equal(reach(f), EXIT_INVALID);
	assert_string_equal(f->result.verdict.invalid_by, "load");
	assert_true(says(f, "queries: nothing was due in the measured part"));
}

static void a_worker_without_its_cpu_makes_the_run_invalid(void **state)
{
	struct fixture *f = *state;

	f->result_worker.stolen_s = 0.19;
	assert_int_equal(reach(f), EXIT_PASS);
	f->result_worker.stolen_s = 0.21;
	assert_disturbed(f, "none", "worker on CPU 1 was descheduled for 210 ms");
	f->result_worker.stolen_s = 2.1;
	assert_disturbed(f, "none", "worker on CPU 1 was descheduled for 2.10 s of 2 s");
	f->config.validity.stolen = 1;
	assert_int_equal(reach(f), EXIT_PASS);
}

static void a_worker_that_sleeps_and_sends_on_time_is_no_fault(void **state)
{
	struct result_criterion missed = {.expression = "p99 <= 1ms", .pass = false};
	struct fixture *f = *state;

	f->result_worker.stolen_s = 0.9;
	f->result_worker.slept_s = 1;
	f->result_item.send_lag.p99_ns = 1e7;
	assert_int_equal(reach(f), EXIT_PASS);
	f->result_item.send_lag.p99_ns = 1.1e7;
	assert_disturbed(f, "none", "worker on CPU 1 was descheduled for 900 ms");
	f->result_item.send_lag.p99_ns = NAN; // few sends
	f->result_item.send_lag.max_ns = 1e7;
	assert_int_equal(reach(f), EXIT_PASS);
	f->result_item.send_lag.max_ns = 1.1e7;
	assert_disturbed(f, "none", "worker on CPU 1 was descheduled for 900 ms");
	assert_true(verdict_stole(&f->config, &f->result));
	f->result_item.send_lag.max_ns = 0;
	assert_false(verdict_stole(&f->config, &f->result));
	f->result_worker.slept_s = 0.8; // it was awake and without its CPU
	assert_disturbed(f, "none", "worker on CPU 1 was descheduled for 900 ms");
	assert_true(verdict_stole(&f->config, &f->result));
	f->result_worker.idle = "poll";
	assert_disturbed(f, "none", "worker on CPU 1 was descheduled for 900 ms");
	f->result_worker.idle = "sleep"; // its latencies are too high, if anything
	assert_int_equal(reach(f), EXIT_PASS);
	assert_true(says(f, "everything was sent on time; latencies include the time"));
	criteria = (struct counter_list){&missed, 1}; // by others, or by the server
	assert_disturbed(f, "none", "worker on CPU 1 was descheduled for 900 ms");
	criteria = (struct counter_list){NULL, 0};
	f->result_item.send_lag.max_ns = 1.1e7;
	assert_disturbed(f, "none", "worker on CPU 1 was descheduled for 900 ms");
}

static void few_late_sends_have_no_percentile(void **state)
{
	struct fixture *f = *state;

	f->result_item.send_lag = (struct latency){.count = 99, .p99_ns = 2e7};
	assert_disturbed(
		f, "none", "queries: the tester sent late: at most 20.0 ms (more than 10.0 ms)");
	f->result_item.send_lag.count = 100;
	assert_disturbed(f, "none", "queries: the tester sent late: 99th percentile 20.0 ms");
}

static void a_responder_without_its_cpu_makes_the_run_invalid(void **state)
{
	struct fixture *f = *state;
	struct result_responder responder = {.port = "dut", .stolen_s = 0.19};

	f->plan.responder_count = 1;
	f->result.responder = &responder;
	assert_int_equal(reach(f), EXIT_PASS);
	responder.stolen_s = 0.21;
	assert_disturbed(f, "none", "port dut: the responder was descheduled for 210 ms of 2 s");
	f->plan.responder_count = 2;
	assert_int_equal(reach(f), EXIT_PASS);
	f->config.validity.stolen = 1;
	responder.stolen_s = 4.1;
	assert_int_equal(reach(f), EXIT_PASS);
}

static void loss_while_the_responder_had_no_cpu_is_no_servers(void **state)
{
	struct fixture *f = *state;
	struct result_responder responder = {.port = "dut", .max_gap_ns = 50e6};

	f->plan.responder_count = 1;
	f->result.responder = &responder;
	f->item.timeout_ns = 50000000;
	assert_int_equal(reach(f), EXIT_PASS);
	f->result_item.ledger.answered -= 3;
	f->result_item.ledger.lost = 3;
	assert_invalid(f, "queries: 3 lost, but the responder was descheduled for 50.0 ms");
	f->config.validity.stolen = 1;
	assert_int_equal(reach(f), EXIT_PASS);
	f->config.validity.stolen = 0.1;
	f->item.timeout_ns = 50000001;
	assert_int_equal(reach(f), EXIT_PASS);
}

static void a_clock_that_jumps_makes_the_run_invalid(void **state)
{
	struct fixture *f = *state;

	f->result.run.host.clock_deviation = 0.0009;
	assert_int_equal(reach(f), EXIT_PASS);
	f->result.run.host.clock_deviation = 0.0011;
	f->result.run.host.clock_jump_ns = 1.1e6;
	assert_invalid(f, "the clock jumped: ticks and the kernel's clocks disagree by 1.10 ms");
}

static void an_address_that_another_host_has_makes_the_run_invalid(void **state)
{
	struct fixture *f = *state;
	struct wire_counters other = {.address_conflicts = 3}, none = {0};
	struct responder responder = {.wire.conflict = {{16, {0x20, 0x01, [15] = 5}},
					      {2, 0, 0, 0, 0, 8}, .overrides = true}};

	f->more_worker.port = 1;
	f->plan.worker_count = 2;
	f->more_worker.wire.conflict.addr = (struct addr){4, {198, 18, 0, 99}};
	f->worker.wire.conflict =
		(struct neigh_claim){{4, {198, 18, 0, 1}}, {2, 0, 0, 0, 0, 9}, .overrides = true};
	f->result_port.other = &none; // of the time before the run
	assert_int_equal(reach(f), EXIT_PASS);
	f->result_port.other = &other;
	assert_invalid(f,
		"port lan: the host 02:00:00:00:00:09 also uses 198.18.0.1, an address of "
		"the tester (3 ARP or ND packets)");
	f->worker.wire.conflict.addr.len = 0; // of no worker on this port
	assert_int_equal(reach(f), EXIT_PASS);
	f->more_worker.port = 0;
	f->plan.worker_count = 2;
	assert_invalid(f, "also uses 198.18.0.99, an address");
	f->plan.worker_count = 1;
	f->plan.responder_port = 0;
	f->plan.responders = &responder;
	assert_invalid(f, "the host 02:00:00:00:00:08 also uses 2001::5");
}

static void a_link_that_was_down_makes_the_run_invalid(void **state)
{
	struct fixture *f = *state;

	f->result_port.link_downs = 2;
	f->result_port.link_down_s = 0.25;
	assert_invalid(f, "port lan: the link was down 2 times, 0.25 s");
	f->config.validity.link_down_ns = 250000000;
	assert_int_equal(reach(f), EXIT_PASS);
}

static void a_link_that_an_event_takes_down_is_no_fault(void **state)
{
	struct fixture *f = *state;
	struct event_settings events[] = {{.name = "a", .link = EVENT_LINK_NONE},
		{.name = "b", .link = EVENT_LINK_DOWN, .port = "more"}};

	f->config.events = (struct field_list){events, 2};
	f->result_port.link_downs = 1;
	f->result_port.link_down_s = 9;
	assert_invalid(f, "port lan: the link was down 1 times, 9 s"); // of another port
	events[1].port = "lan";
	assert_int_equal(reach(f), EXIT_PASS);
	events[1].port = NULL; // the only one
	assert_int_equal(reach(f), EXIT_PASS);
	events[1].link = EVENT_LINK_NONE;
	assert_invalid(f, "port lan: the link was down 1 times, 9 s");
}

static void what_the_port_dropped_makes_the_run_invalid(void **state)
{
	struct fixture *f = *state;

	f->result_port.rx_missed = 1;
	assert_invalid(f, "rx_missed 1");
	f->result_port.rx_missed = 0;
	f->result_port.rx_no_mbuf = 3;
	assert_invalid(f, "rx_no_mbuf 3");
	f->result_port.rx_no_mbuf = 0;
	f->result_port.hand_over_full = 1;
	assert_invalid(f, "hand_over_full 1");
}

static void what_the_device_took_and_did_not_send_makes_the_run_invalid(void **state)
{
	struct fixture *f = *state;

	f->result_port.tx_given = 1392;
	f->result_port.tx_packets = 307;
	assert_invalid(f, "port lan: the device took 1392 packets and sent 307 (");
	f->plan.responder_port = 0; // a server that does not send is the tester's own
	assert_invalid(f, "took 1392 packets");
	f->plan.responder_port = -1;
	f->result_port.tx_given = 1000;
	f->result_port.tx_packets = 999;
	f->config.validity.dropped = 0.001;
	assert_int_equal(reach(f), EXIT_PASS);
	f->result_port.tx_packets = 998;
	assert_invalid(f, "took 1000 packets and sent 998");
	f->result_port.tx_packets = 1010; // ARP, ND and ping too
	assert_int_equal(reach(f), EXIT_PASS);
	f->result_port.tx_packets = 0;
	f->started.sockets = (struct sockets *)f; // the kernel counts those
	assert_int_equal(reach(f), EXIT_PASS);
	f->started.sockets = NULL;
}

static void answers_that_the_tester_dropped_are_no_unreachable_server(void **state)
{
	struct fixture *f = *state;

	f->result_item.ledger = (struct ledger){.due = 2000, .sent = 2000, .lost = 2000};
	assert_int_equal(reach(f), EXIT_UNREACHABLE);
	f->result_port.rx_no_mbuf = 2000;
	assert_invalid(f, "rx_no_mbuf 2000");
}

static void what_the_embedded_servers_port_dropped_is_the_servers_loss(void **state)
{
	struct fixture *f = *state;

	f->plan.responder_port = 0;
	f->result_port.rx_missed = 10;
	assert_int_equal(reach(f), EXIT_PASS);
}

static void a_schedule_that_was_missed_says_what_was_in_the_way(void **state)
{
	struct fixture *f = *state;

	f->result_item.ledger.due = 2100;
	f->result_item.unsent = 100;
	f->result_item.no_slot = 7;
	f->worker.tx_refused = 8;
	f->worker.tx_no_mbuf = 9;
	assert_invalid(f, "did not send 100 of 2100");
	assert_true(says(f, "transaction slots were in use"));
	assert_true(says(f, "the device took less than a burst, 8 times"));
	assert_true(says(f, "no packet buffer to send from, 9 times"));
}

static void a_closed_loop_that_waited_for_slots_is_invalid(void **state)
{
	struct fixture *f = *state;

	f->result_item.no_slot = 1;
	f->run.pace.kind = PACE_MAX; // rate: max is limited by the tester itself
	assert_int_equal(reach(f), EXIT_PASS);
	f->run.pace.kind = PACE_OUTSTANDING;
	f->run.books.ledger[1].answered = 2000;
	assert_invalid(f, "raise load.slots");
}

static void a_full_wire_is_named_although_the_run_is_invalid(void **state)
{
	struct fixture *f = *state;

	f->result_item.ledger.due = 2100;
	f->result_item.unsent = 100;
	f->result_port.link_used = 0.97;
	assert_int_equal(reach(f), EXIT_INVALID);
	assert_string_equal(f->result.verdict.limited_by, "wire");
}

static void answers_that_fall_behind_show_in_the_intervals(void **state)
{
	struct fixture *f = *state;
	struct result_interval_item series[4] = {
		{.sent = 500, .answered = 490},
		{.sent = 500, .answered = 450},
		{.sent = 500, .answered = 300},
		{.sent = 500, .answered = 300},
	};
	struct result_interval intervals[4];

	for (uint32_t i = 0; i < 4; i++)
		intervals[i] =
			(struct result_interval){0.5 * (i + 1), 0.5, .traffic = {&series[i], 1}};
	f->result.intervals = (struct counter_list){intervals, 4};
	f->run.pace.kind = PACE_RATE;
	reach(f);
	assert_string_equal(f->result.verdict.limited_by, "server");
	for (uint32_t i = 0; i < 4; i++)
		series[i].answered = 500 - (i == 0);
	reach(f);
	assert_string_equal(f->result.verdict.limited_by, "none");
}

// At each bound a run is valid, beyond it it is invalid.
static void a_bound_is_the_last_value_that_is_allowed(void **state)
{
	struct fixture *f = *state;

	f->result_item.unsent = 2;
	assert_int_equal(reach(f), EXIT_PASS);
	f->result_item.unsent = 3;
	assert_invalid(f, "did not send 3 of 2000");
	f->result_item.unsent = 0;
	f->result_item.send_lag.p99_ns = 1e7;
	assert_int_equal(reach(f), EXIT_PASS);
	f->result_item.send_lag.p99_ns = 1e7 + 1;
	assert_disturbed(f, "none", "the tester sent late");
	f->result_item.send_lag.p99_ns = NAN; // nothing was timed
	assert_int_equal(reach(f), EXIT_PASS);
	f->config.validity.dropped = 0.01;
	f->result_port.rx_packets = 1980;
	f->result_port.rx_missed = 20;
	assert_int_equal(reach(f), EXIT_PASS);
	f->result_port.rx_missed = 21;
	assert_invalid(f, "dropped 21 received packets");
	f->result_port.rx_missed = 0;
	f->config.validity.link_down_ns = 1000000000;
	f->result_port.link_downs = 1;
	f->result_port.link_down_s = 1;
	assert_int_equal(reach(f), EXIT_PASS);
	f->result_port.link_down_s = 1.001;
	assert_invalid(f, "the link was down 1 times");
	f->result_port.link_downs = 0;
	f->result.run.host.clock_deviation = 0.001;
	assert_int_equal(reach(f), EXIT_PASS);
}

// The worst comes first: a broken ledger, the user, an unreachable server, the tester, a rule of
// the file.
static void the_worst_is_the_verdict(void **state)
{
	struct fixture *f = *state;

	f->result.verdict.stopped = "loss > 5%";
	assert_int_equal(reach(f), EXIT_FAIL);
	assert_string_equal(f->result.verdict.status, "fail");
	f->result_item.send_lag.p99_ns = 2e7;
	assert_int_equal(reach(f), EXIT_INVALID);
	f->result_item.ledger.answered = 0;
	f->result_item.ledger.lost = 2000;
	assert_int_equal(reach(f), EXIT_UNREACHABLE);
	assert_string_equal(f->result.verdict.status, "unreachable");
	assert_true(says(f, "nothing answered: 2000 sent"));
	assert_int_equal(verdict_reach(&f->plan, timeline(f), NULL, true, f->arena, &f->result),
		EXIT_INTERRUPTED);
	assert_string_equal(f->result.verdict.status, "interrupted");
	assert_int_equal(verdict_reach(&f->plan, timeline(f), "books", true, f->arena, &f->result),
		EXIT_INTERNAL);
	assert_string_equal(f->result.verdict.status, "invalid");
	assert_true(says(f, "internal error: books"));
}

// Packets that answer no query are no reply, and messages without replies are no requests.
static void a_server_is_unreachable_when_nothing_was_answered(void **state)
{
	static const struct {
		struct ledger l;
		int code;
	} rows[] = {
		{{.due = 9, .sent = 9, .lost = 9}, EXIT_UNREACHABLE},
		{{.due = 9, .sent = 9, .lost = 8, .failed = 1}, EXIT_PASS},
		{{.due = 9, .sent = 9, .lost = 9, .late = 1}, EXIT_UNREACHABLE},
		{{.due = 9, .sent = 9, .lost = 9, .duplicate = 1}, EXIT_UNREACHABLE},
		{{.due = 9, .sent = 9, .lost = 9, .stray = 1}, EXIT_UNREACHABLE},
		{{.due = 9, .sent = 9, .lost = 9, .malformed = 1}, EXIT_UNREACHABLE},
		{{.due = 9, .sent = 9, .no_reply = 9}, EXIT_PASS},
		{{.due = 9, .sent = 9, .no_reply = 8, .lost = 1}, EXIT_UNREACHABLE},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f->result_item.ledger = rows[i].l;
		assert_int_equal(reach(f), rows[i].code);
	}
	assert_false(says(f, "what came"));
	f->result_item.ledger =
		(struct ledger){.due = 9, .sent = 9, .lost = 9, .late = 4, .stray = 3};
	reach(f);
	assert_true(says(f, "9 sent, and all replies were late (4; a longer timeout?), stray (3:"));
	f->result_item.ledger = rows[0].l;
	f->worker.wire.counters.icmp_errors[ICMP_PORT_UNREACHABLE] = 3;
	assert_int_equal(reach(f), EXIT_UNREACHABLE);
	assert_true(says(f, "ICMP port unreachable (3 times)"));
	assert_true(says(f, "and on this port?"));
	assert_false(says(f, "a firewall"));
	assert_false(says(f, "fragments"));
	f->worker.wire.counters.fragments = 2;
	reach(f);
	assert_true(says(f, "2 IP fragments"));
	f->worker.wire.counters.address_conflicts = 1; // another host may have got the replies
	assert_int_equal(reach(f), EXIT_PASS);
}

// Without any reply, the counters of connections describe the server.
static void connections_say_how_a_server_is_silent(void **state)
{
	static struct worker_conns wc;
	static const struct {
		struct conn_counters warmup, measured;
		const char *says, *silent_about;
	} rows[] = {
		{{0}, {.opened = 5, .established = 5},
			"the server accepts connections and never answers (5 accepted)", "SYN"},
		{{.opened = 5, .established = 5}, {0},
			"the server accepts connections and never answers (5 accepted)", "SYN"},
		{{.opened = 1, .established = 1},
			{.opened = 9, .established = 9, .closed = 6, .reset = 2},
			"closes them without an answer (10 accepted, 6 closed, 2 reset)", "never"},
		{{0}, {.opened = 5, .refused = 5},
			"5 connections refused: no server listens on that port", "accepts"},
		{{0}, {.opened = 5, .established = 2}, "no answer to 3 connections", "refused"},
		{{0}, {0}, "nothing answered: 9 sent, no reply of any kind", "connections"},
		{{0}, {0}, "Does a firewall drop the packets", "connections"},
	};
	struct fixture *f = *state;

	f->run.conns = &wc;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f->result_item.ledger = (struct ledger){.due = 9, .sent = 9, .lost = 9};
		wc.books.counts[0] = rows[i].warmup;
		wc.books.counts[1] = rows[i].measured;
		assert_int_equal(reach(f), EXIT_UNREACHABLE);
		assert_true(says(f, rows[i].says));
		assert_false(says(f, rows[i].silent_about));
		f->result_item.ledger.answered = 1;
		f->result_item.ledger.lost = 8;
		assert_int_equal(reach(f), EXIT_PASS);
	}
}

// A fault of the run shows as the sum over the item's workers, and no others.
static void causes_are_summed_up_over_the_workers(void **state)
{
	static const struct {
		uint32_t workers;
		const char *words[4];
	} rows[] = {
		{1, {"to send from, 9 times", "burst, 8 times", "all 256 trans", ": 7 not sent"}},
		{2, {"to send from, 1009 times", "burst, 2008 times", "all 768 trans",
			    ": 57 not sent"}},
	};
	struct fixture *f = *state;

	f->result_item.ledger.due = 2100;
	f->result_item.unsent = 100;
	f->result_item.no_slot = 7;
	f->worker.tx_refused = 8;
	f->worker.tx_no_mbuf = 9;
	f->run.books.counts[1].no_client = 7;
	f->run.txns.count = 256;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f->plan_item.worker_count = rows[i].workers;
		assert_invalid(f, "did not send 100 of 2100");
		for (uint32_t k = 0; k < 4; k++)
			assert_true(says(f, rows[i].words[k]));
	}
}

// The first other place is named with the replies of all workers, the rest is a number.
static void replies_from_elsewhere_are_summed_up_over_the_workers(void **state)
{
	static const struct {
		struct item_elsewhere first, more;
		const char *words;
	} rows[] = {
		{{{4, {198, 18, 0, 7}}, 53, {1, 2}, {0}}, {{4, {198, 18, 0, 7}}, 53, {0, 3}, {0}},
			"queries: 5 replies came from 198.18.0.7; the server asked is 198.18.0.2: "
			"they are strays"},
		{{{4, {198, 18, 0, 7}}, 54, {0, 2}, {0, 1}},
			{{4, {198, 18, 0, 7}}, 54, {0, 3}, {0, 2}},
			"queries: 5 replies came from 198.18.0.7 port 54 (and 3 from elsewhere); "
			"the server asked is 198.18.0.2 port 53"},
		{{{4, {198, 18, 0, 7}}, 53, {0, 2}, {0}},
			{{4, {198, 18, 0, 8}}, 53, {0, 3}, {0, 1}},
			"queries: 2 replies came from 198.18.0.7 (and 4 from elsewhere); the"},
		{{{4, {198, 18, 0, 7}}, 53, {0, 2}, {0}}, {{4, {198, 18, 0, 7}}, 54, {0, 3}, {0}},
			"queries: 2 replies came from 198.18.0.7 (and 3 from elsewhere); the"},
		{{{0}, 0, {0}, {0}}, {{4, {198, 18, 0, 8}}, 53, {0, 3}, {0}},
			"queries: 3 replies came from 198.18.0.8; the"},
	};
	struct fixture *f = *state;

	f->item.name = "queries";
	f->plan_item.worker_count = 2;
	f->run.server = (struct addr){4, {198, 18, 0, 2}};
	f->run.server_port = 53;
	f->result_item.ledger =
		(struct ledger){.due = 20, .sent = 20, .answered = 11, .lost = 9, .stray = 9};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f->run.elsewhere = rows[i].first;
		f->more_run.elsewhere = rows[i].more;
		reach(f);
		assert_true(says(f, rows[i].words));
	}
	f->run.elsewhere = f->more_run.elsewhere =
		(struct item_elsewhere){{4, {198, 18, 0, 7}}, 53, {4, 0}, {2, 0}};
	reach(f);
	assert_false(says(f, "replies came from")); // in the warm-up
	f->run.server.len = 0;
	f->run.elsewhere = rows[0].first;
	reach(f);
	assert_true(says(
		f, "queries: 2 replies came from 198.18.0.7 port 53, and servers have port 53: "));
}

static void a_cause_without_an_effect_is_no_reason(void **state)
{
	struct fixture *f = *state;

	f->worker.tx_refused = f->worker.tx_no_mbuf = 8;
	f->run.books.counts[1].no_client = 2;
	f->result_item.unsent = 2;
	assert_int_equal(reach(f), EXIT_PASS);
	assert_int_equal(f->result.verdict.reasons.count, 0);
}

static void the_load_is_at_fault_up_to_the_bounds_of_the_tester(void **state)
{
	struct fixture *f = *state;

	f->run.books.counts[1].no_client = 300;
	f->result_item.unsent = 302; // two more than that are allowed
	f->result_item.send_lag.p99_ns = 1e7;
	assert_int_equal(reach(f), EXIT_INVALID);
	assert_string_equal(f->result.verdict.invalid_by, "load");
}

// Independent of the criteria.
static void a_fault_that_the_protocol_counts_is_invalid(void **state)
{
	struct fixture *f = *state;

	for (int bank = 0; bank < 2; bank++) {
		f->counters[bank][1] = 9;
		assert_int_equal(reach(f), EXIT_PASS);
	}
	f->counters[0][0] = 1; // of the warm-up
	assert_int_equal(reach(f), EXIT_INVALID);
	assert_string_equal(f->result.verdict.invalid_by, "tester");
	assert_true(says(f, "queries: some.blind is 1, warm-up included: not looked at"));
	f->counters[1][0] = 2;
	assert_int_equal(reach(f), EXIT_INVALID);
	assert_true(says(f, "queries: some.blind is 3, warm-up included: not looked at"));
}

static void every_reason_is_told_and_in_full(void **state)
{
	struct result_criterion list[200];
	struct fixture *f = *state;
	char expression[200][1000];

	for (int i = 0; i < 200; i++) {
		memset(expression[i], 'a', 998);
		expression[i][998] = (char)('!' + i % 90);
		expression[i][999] = '\0';
		list[i] = (struct result_criterion){.expression = expression[i]};
	}
	criteria = (struct counter_list){list, 200};
	assert_int_equal(reach(f), EXIT_FAIL);
	assert_int_equal(f->result.verdict.reasons.count, 200);
	for (int i = 0; i < 200; i++)
		assert_true(says(f, expression[i]));
}

static void a_criterion_that_is_not_met_fails_the_run(void **state)
{
	struct result_criterion list[] = {{.expression = "a < 1", .pass = true},
		{.expression = "b < 1", .pass = false}, {.expression = "c < 1", .pass = true}};
	struct fixture *f = *state;

	criteria = (struct counter_list){list, 3};
	assert_int_equal(reach(f), EXIT_FAIL);
	assert_int_equal(f->result.verdict.reasons.count, 1);
	assert_true(says(f, "criterion not met: b < 1"));
	list[1].pass = true;
	assert_int_equal(reach(f), EXIT_PASS);
	// The last criterion comes from a rule, which has its own reason.
	list[2].pass = false;
	f->result.verdict.stopped = "loss > 5%";
	assert_int_equal(reach(f), EXIT_FAIL);
	assert_int_equal(f->result.verdict.reasons.count, 1);
	assert_true(says(f, "stopped 0 s after"));
}

// In flight half-way and at the end of sending: the end of an interval decides where it belongs.
static void growth_is_from_half_way_to_the_end(void **state)
{
	static const struct {
		double last_s;
		uint64_t answered[5]; // of 500, and of none in the last interval
		const char *limit;
	} rows[] = {
		{2.5, {500, 470, 500, 500, 0}, "none"}, // at 1 s already
		{2.5, {500, 500, 470, 500, 0}, "server"},
		{2.5, {500, 500, 500, 470, 30}, "server"}, // after the end
		{2.002, {500, 500, 500, 470, 30}, "none"}, // a tick is calibrated
		{2.003, {500, 500, 500, 470, 30}, "server"},
		{2.5, {470, 530, 500, 500, 0}, "none"},
	};
	struct fixture *f = *state;

	f->run.pace.kind = PACE_RATE;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct result_interval_item series[5];
		struct result_interval intervals[5];

		for (uint32_t k = 0; k < 5; k++) {
			series[k] = (struct result_interval_item){
				.sent = k < 4 ? 500 : 0, .answered = rows[i].answered[k]};
			intervals[k] =
				(struct result_interval){k < 4 ? 0.5 * (k + 1) : rows[i].last_s,
					0.5, .traffic = {&series[k], 1}};
		}
		f->result.intervals = (struct counter_list){intervals, 5};
		reach(f);
		assert_string_equal(f->result.verdict.limited_by, rows[i].limit);
	}
}

static int32_t driver_number(const char *name)
{
	for (int32_t i = 0; drivers[i].name; i++)
		if (strcmp(drivers[i].name, name) == 0)
			return i;
	fail_msg("no driver %s", name);
	return -1;
}

// A full ring is the server's receive queue; a worker that is always busy is a limit of its own,
// and so is the busiest of several.
static void a_closed_loop_is_limited_by_its_server_or_by_a_worker(void **state)
{
	static const struct {
		bool ring;
		uint32_t workers;
		double measured_s;
		uint64_t refused;
		double busy, more_busy; // shares of 2 s
		const char *limit;
	} rows[] = {
		{false, 1, 2, 0, 0.9, 1, "server"},
		{false, 1, 2, 0, 0.91, 0, "tester"},
		{false, 2, 2, 0, 0.5, 0.91, "tester"},
		{false, 2, 2, 0, 0.91, 0.5, "tester"},
		{false, 1, 2, 3, 0.91, 0, "tester"}, // refused by a device
		{true, 1, 2, 0, 0.91, 0, "tester"},
		{true, 1, 2, 3, 0.91, 0, "server"},
		{true, 2, 2, 0, 0.91, 0, "server"}, // the other one was refused
		{false, 1, 0, 0, 0.91, 0, "server"},
	};
	struct fixture *f = *state;

	f->run.pace.kind = PACE_MAX;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		// The other end of the ring is the first port.
		f->port = (struct port_settings){.name = "dut", .device = "lan"};
		f->more_port = (struct port_settings){.name = "lan", .device = "dut"};
		f->port.driver = f->more_port.driver =
			driver_number(rows[i].ring ? "ring" : "null");
		f->plan.port_count = 2;
		f->worker.port = 1;
		f->result.ports.count = 2;
		f->more_result_port.rx_missed = 0;
		f->more_counters[0][0] = f->more_counters[1][0] = 0;
		f->plan_item.worker_count = rows[i].workers;
		f->result.run.measured_s = rows[i].measured_s;
		f->worker.tx_refused = rows[i].refused;
		f->worker.busy[1] = (uint64_t)(rows[i].busy * 2 * HZ);
		f->more_worker.busy[1] = (uint64_t)(rows[i].more_busy * 2 * HZ);
		reach(f);
		assert_string_equal(f->result.verdict.limited_by, rows[i].limit);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_run_without_a_fault_passes),
		TEST(a_load_that_nobody_can_make_is_no_fault_of_the_tester),
		TEST(the_first_of_a_mix_find_no_bound_client),
		TEST(a_closed_loop_without_an_answer_waits_for_the_server),
		TEST(a_server_that_was_silent_in_the_warmup_is_unreachable),
		TEST(a_message_that_waits_for_answers_to_others_is_lost_by_the_server),
		TEST(a_connection_without_memory_is_no_fault_of_the_tester),
		TEST(a_load_without_anything_due_is_no_fault_of_the_tester),
		TEST(a_worker_without_its_cpu_makes_the_run_invalid),
		TEST(few_late_sends_have_no_percentile),
		TEST(replies_that_were_dropped_say_why_if_that_explains_the_loss),
		TEST(a_responder_without_its_cpu_makes_the_run_invalid),
		TEST(a_worker_that_sleeps_and_sends_on_time_is_no_fault),
		TEST(loss_while_the_responder_had_no_cpu_is_no_servers),
		TEST(a_clock_that_jumps_makes_the_run_invalid),
		TEST(an_address_that_another_host_has_makes_the_run_invalid),
		TEST(a_link_that_was_down_makes_the_run_invalid),
		TEST(a_link_that_an_event_takes_down_is_no_fault),
		TEST(what_the_port_dropped_makes_the_run_invalid),
		TEST(what_the_device_took_and_did_not_send_makes_the_run_invalid),
		TEST(answers_that_the_tester_dropped_are_no_unreachable_server),
		TEST(what_the_embedded_servers_port_dropped_is_the_servers_loss),
		TEST(a_schedule_that_was_missed_says_what_was_in_the_way),
		TEST(a_closed_loop_that_waited_for_slots_is_invalid),
		TEST(a_full_wire_is_named_although_the_run_is_invalid),
		TEST(answers_that_fall_behind_show_in_the_intervals),
		TEST(a_bound_is_the_last_value_that_is_allowed),
		TEST(the_worst_is_the_verdict),
		TEST(a_server_is_unreachable_when_nothing_was_answered),
		TEST(connections_say_how_a_server_is_silent),
		TEST(causes_are_summed_up_over_the_workers),
		TEST(replies_from_elsewhere_are_summed_up_over_the_workers),
		TEST(a_cause_without_an_effect_is_no_reason),
		TEST(the_load_is_at_fault_up_to_the_bounds_of_the_tester),
		TEST(a_fault_that_the_protocol_counts_is_invalid),
		TEST(every_reason_is_told_and_in_full),
		TEST(a_criterion_that_is_not_met_fails_the_run),
		TEST(growth_is_from_half_way_to_the_end),
		TEST(a_closed_loop_is_limited_by_its_server_or_by_a_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// The figures of a run that never was: 100 000 queries answered but for three, and a closed loop
// that is fine.
#include "sample.h"

#include <math.h>

struct own_counters {
	uint64_t rcode[4];
	uint64_t truncated, octets;
};

static const char *rcode_label(uint32_t i)
{
	static const char *const labels[] = {"NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN"};

	return labels[i];
}

static const struct counter own_rows[] = {
	{"rcode", "answers by RCODE", NULL, COUNTER_ARRAY, offsetof(struct own_counters, rcode),
		.length = 4, .label = rcode_label},
	{"truncated", "answers with TC", NULL, COUNTER_U64,
		offsetof(struct own_counters, truncated)},
	{"octets", "octets of answers", NULL, COUNTER_U64, offsetof(struct own_counters, octets)},
};

static const struct counter_section own_section = {
	"dns", "DNS", COUNTER_ROWS(own_rows), sizeof(struct own_counters)};

static const struct own_counters queries_own = {{99990, 0, 6, 2}, 1, 4912345};
static const struct own_counters probes_own = {{500, 0, 0, 0}, 0, 24000};
static const struct wire_counters lan_other = {.neighbour_answered = 3};

#define SPREAD(n, base)                                                                            \
	{                                                                                          \
		(n), (base), 1.25 * (base), 0.5 * (base), 1.2 * (base), 1.5 * (base),              \
			2.0 * (base), 4.0 * (base), 8.0 * (base), 16.0 * (base)                    \
	}

static const struct result_heard heard[] = {
	{"192.0.2.1", "192.0.2.1", 700, 650, 2},
	{"00030001020000000001", NULL, 3, 0, 12345},
};

static const struct result_server servers[] = {
	{"192.0.2.53", .sent = 60000, .answered = 50000, .failed = 2, .lost = 9998, .share = 0.5,
		.longest_gap_ns = 1.25e9},
	{"192.0.2.54", .sent = 50000, .answered = 49995, .lost = 3, .share = 0.49995,
		.longest_gap_ns = 2.5e6},
};

static const struct result_foreseen probes_foreseen = {501.5, -0.003};

static const struct result_item items[] = {
	{
		.name = "queries",
		.protocol = "dns",
		.port = "lan",
		.loop = "open",
		.ledger = {100001, 100000, 99995, 2, 3, 1, 1, 4, 1},
		.unsent = 1,
		.loss = 0.00003,
		.due_per_s = 50000.5,
		.sent_per_s = 50000,
		.answered_per_s = 49997.5,
		.sending_s = 2,
		.last_answer_s = 2.0021,
		.latency = {{99995, 41200, 61000, 9000, 58000, 83000, 121000, 1.4e6, INFINITY,
				    2.1e6},
			SPREAD(99995, 40000.0)},
		.send_lag = SPREAD(100000, 120.0),
		.servers = {servers, 2},
		.servers_heard = {heard, 2},
		.counters = {&own_section, &queries_own},
	},
	{
		.name = "probes",
		.protocol = "dns",
		.port = "lan",
		.loop = "closed",
		.ledger = {500, 500, 500, 0, 0, 0, 0, 0, 0},
		.due_per_s = 250,
		.sent_per_s = 250,
		.answered_per_s = 250,
		.sending_s = 2,
		.last_answer_s = 1.9999,
		.latency = {SPREAD(500, 51000.0), SPREAD(500, 50000.0)},
		.foreseen = &probes_foreseen,
		.counters = {&own_section, &probes_own},
	},
};

static struct result_steer_probe lan_probe = {16, 13, 2, 1, 1};

static const struct result_port ports[] = {
	{"lan", "af_packet", "veth0", "veth", .rx_packets = 100502, .tx_packets = 100500,
		.rx_no_mbuf = 2, .tx_refused = 7, .other = &lan_other, .steering = "hash",
		.steering_probe = &lan_probe},
	{"dut", "ring", .rx_packets = 100500, .tx_packets = 100502, .rx_missed_known = true,
		.steering = "pair"},
};

static const struct result_worker workers[] = {
	{"lan", 1, .busy = 0.4375, .ns_per_transaction = 141.5},
	{"dut", 2, .busy = 0.25},
};

static const struct result_percentile first_p95[] = {{"p95", 90000}};

static const struct result_step first_steps[] = {
	{"ask", .sent = 50000, .answered = 49993, .failed = 2, .lost = 3},
};

static const struct result_interval_server first_servers[] = {
	{"192.0.2.53", .sent = 50000, .answered = 49993, .failed = 2, .lost = 3},
	{"192.0.2.54"},
};

static const struct result_event_server servers_after[] = {
	{"192.0.2.53", 1.25e9, NAN, INFINITY, .answered = 12, .lost = 9998},
	{"192.0.2.54", .answered = 49995, .lost = 3},
};

static const struct result_event_item items_after[] = {
	{"queries", 1.11e8, 1.12e8, 0.2, .lost = 5, .failed = 1, .max_ns = 2.25e8,
		.waited = {110, 1e6, 5e7, 2e7, 5.5e7, 9e7, 1.1e8, 1.11e8, 1.115e8, 1.12e8,
			{first_p95, 1}, "1500:110"},
		.servers = {servers_after, 2}},
	{"probes", 4e6, NAN, 0, .max_ns = NAN},
};

static const struct result_event events[] = {
	{"kill primary", "run", 0.5, 0.5001, 0.012, 0, "exit status 0", false, {items_after, 2}},
	{"too late", "link", 1.75, NAN, NAN, NAN, "not reached", false},
};

static const char *const names_in_first[] = {"kill primary"};

static const struct result_interval_item first_second[] = {
	{"queries", .due = 50000, .sent = 50000, .answered = 49993, .failed = 2, .lost = 3,
		.duplicate = 1, .p50_ns = 58000, .p99_ns = 121000, .max_ns = INFINITY,
		.in_flight = 2, .loss = 0.00006, .due_per_s = 50000, .sent_per_s = 50000,
		.answered_per_s = 49993,
		.latency.response = {49995, 31000, 60100, 1e4, 58000, 88000, 121000, 350000,
			INFINITY, INFINITY, {first_p95, 1}, "1500:40000 12:9993 1:2"},
		.by_due = {49995, 2, 61000}, .steps = {first_steps, 1},
		.servers = {first_servers, 2}, .counters = {&own_section, &queries_own}},
	{"probes", .due = 250, .sent = 250, .answered = 250, .p50_ns = 61200, .p99_ns = 102000,
		.max_ns = 816000, .due_per_s = 250, .sent_per_s = 250, .answered_per_s = 250},
};

static const struct result_interval_item last_second[] = {
	{"queries", .due = 50001, .sent = 50000, .answered = 50002, .p50_ns = 57500,
		.p99_ns = 119000, .max_ns = 2.1e6, .due_per_s = 50001, .sent_per_s = 50000,
		.answered_per_s = 50002},
	{"probes", .due = 250, .sent = 250, .answered = 250, .p50_ns = 61100, .p99_ns = 101000,
		.max_ns = 640000, .due_per_s = 250, .sent_per_s = 250, .answered_per_s = 250},
};

static const struct result_interval_port first_port = {
	"lan", .rx_packets = 50251, .tx_packets = 50250, .tx_refused = 3, .other = &lan_other};

static const struct result_interval_worker first_worker = {"lan", 1, .busy = 0.4375};

static struct result_interval_responder first_answers = {.received = 50251, .answered = 50250};

static const struct result_interval intervals[] = {
	{1, 1, 1700000001000000000, .events = {names_in_first, 1}, .traffic = {first_second, 2},
		.ports = {&first_port, 1}, .workers = {&first_worker, 1},
		.responder = &first_answers},
	{2, 1, 1700000002000000000, .traffic = {last_second, 2}},
};

static const struct result_responder_protocol answered[] = {
	{"dns", {&own_section, &probes_own}},
};

static struct result_responder responder = {
	.port = "dut",
	.received = 100502,
	.answered = 100500,
	.ignored = 2,
	.protocols = {answered, 1},
	.gaps_over_1ms = 3,
	.stolen_s = 0.0187,
	.max_gap_ns = 1.43e7,
};

static const char *const reasons[] = {
	"criterion not met: traffic.queries.p9999 <= 2ms",
	"criterion not met: traffic.queries.dns.rcode.SERVFAIL == 0",
};

static const struct result_criterion criteria[] = {
	{"loss <= 0.1%", 0.00003, true, "1"},
	{"traffic.queries.p9999 <= 2ms", INFINITY, false, "ns"},
	{"traffic.queries.dns.rcode.SERVFAIL == 0", 6, false, NULL},
	{"traffic.probes.p99 <= 2ms", 102000, true, "ns"},
	{"traffic.probes.answered >= 100", 500, true, NULL},
};

static const char *const labels[] = {"rack=1", "site=lab"};

struct result sample_result(void)
{
	return (struct result){
		.schema = "ddiperf-result/1",
		.run = {"00000000-1111-4222-8333-444444444444", "sample", "0.0.0",
			"2024-02-29T12:34:56.789Z", "ddiperf run 'a file.yaml' --json out.json",
			.note = "before the upgrade", .labels = {labels, 2},
			.config_sha256 = "0123456789abcdef", .measured_s = 2,
			.measured_from_ns = 1709210097789000000,
			.first_sent_ns = 1709210096789000250, .seed = 1,
			.host = {"A CPU", "6.1.0", "DPDK 22.11", "af_packet, ring", 2.4e9,
				"pages"}},
		.verdict = {"fail", 1, "server", NULL, NULL, {reasons, 2}, {criteria, 5}},
		.traffic = {items, 2},
		.events = {events, 2},
		.ports = {ports, 2},
		.workers = {workers, 2},
		.responder = &responder,
		.intervals = {intervals, 2},
	};
}

// SPDX-License-Identifier: BSD-3-Clause
// The result of a run, as structs and rows; the JSON document and the tables are walks over these
// rows. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/counter.h"
#include "base/hist.h"
#include "engine/core/responder/faults.h"
#include "engine/core/counters.h"
#include "engine/core/servers.h"
#include "engine/core/wire_counters.h"
#include "io/handoff.h"
#include "io/port_state.h"
#include "net/tcp.h"
#include "net/transport.h"

// A percentile of output.percentiles: "p95", "p99999" is 99.999, "p05" is 5.
struct result_percentile {
	const char *name;
	double value_ns;
};

struct latency {
	uint64_t count;
	double min_ns, mean_ns, stddev_ns;
	double p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns;
	struct counter_list percentiles; // struct result_percentile
	const char *histogram;           // as hist_print; NULL: empty, or not kept
	struct hist *hist;               // of a sum, until it is finished; NULL: unknown
};

struct result_latencies {
	struct latency response; // from the due time; lost ones rank above the timeout
	struct latency service;  // from the last send
};

// A message and its reply within an exchange of several.
struct result_step {
	const char *name;
	STEP_COUNTERS(COUNTER_MEMBER)
	struct result_latencies latency;
};

// The wait of an item that follows another one: from the happening at the client to the reply that
// shows it.
struct result_mark {
	const char *name;
	struct latency latency;
};

// Counters of misbehaving clients, by behaviour.
struct result_behave {
	BEHAVE_COUNTERS(BEHAVE_MEMBER)
	uint64_t no_memory;
};

// HTTP/2 of connections.
struct result_http {
	struct http_counters counts;
};

// QUIC of connections.
struct result_quic {
	struct quic_outcomes counts;
	struct quic_counters datagrams;
};

// TLS of connections.
struct result_tls {
	struct tls_counters counts;
	double resumed_share; // of the handshakes completed
	struct latency full_time, resumed_time, own, queued;
};

// Figures of an item over connections.
struct result_connections {
	CONN_COUNTERS(COUNTER_MEMBER)
	TCP_COUNTERS(COUNTER_MEMBER)
	uint64_t segments_sent, segments_received; // warm-up included, as TCP_COUNTERS
	uint64_t left;                             // open when the run ended
	struct latency handshake, first_answer;
	const struct result_tls *tls;       // NULL: they are not over TLS
	const struct result_http *http;     // NULL: they do not use HTTP/2
	const struct result_quic *quic;     // NULL: they do not use QUIC
	const struct result_behave *behave; // NULL: no such clients
};

// Figures of a server, of an item with several.
struct result_server {
	const char *name; // its address
	SERVER_COUNTERS(COUNTER_MEMBER)
	double share; // of the answered transactions
	double longest_gap_ns;
};

// A server that replied, as its messages name it.
struct result_heard {
	const char *name;
	const char *address; // of its first reply; NULL: unknown
	uint64_t offers, answers, refusals;
};

// A server in an interval, of an item with several.
struct result_interval_server {
	const char *name;
	SERVER_COUNTERS(COUNTER_MEMBER)
};

// The forecast for an item whose clients decide when they begin.
struct result_foreseen {
	double due;
	double off; // excess of transactions due, as a share of it
};

struct result_item {
	const char *name, *protocol, *port;
	const char *server;      // its address; NULL: clients broadcast
	const char *server_name; // NULL: the file gives the address
	const char *loop;        // "open" or "closed"
	const char *input;       // part of its input file that was used; NULL: all
	uint64_t clients;        // 0: the protocol has none
	struct ledger ledger;
	LEDGER_COUNTERS(COUNTER_SKIP, COUNTER_MEMBER, COUNTER_MEMBER)
	double loss; // lost / (sent - no_reply)
	double due_per_s, sent_per_s, answered_per_s;
	double request_bps, reply_bps;   // messages alone, without headers
	double sending_s, last_answer_s; // both from the start of the item's measured part
	struct result_latencies latency;
	struct latency send_lag;
	struct counter_list steps;                    // struct result_step, only used ones
	struct counter_list marks;                    // struct result_mark, only used ones
	struct counter_list servers;                  // struct result_server, if it has several
	struct counter_list servers_heard;            // struct result_heard
	const struct result_connections *connections; // NULL: it has none
	const struct result_foreseen *foreseen;       // NULL: a load determined it
	struct counter_choice counters;               // the protocol's
	ITEM_COUNTERS(COUNTER_MEMBER, COUNTER_SKIP)
	double longest_gap_ns;
};

// Queries of a port's workers before the run.
struct result_steer_probe {
	uint64_t sent;
	uint64_t home, elsewhere; // replies by queue: the sender's, or another
	uint64_t unanswered;      // until the run began
	uint64_t late;            // replies during the run
};

struct result_port {
	const char *name, *driver, *device;
	const char *nic; // the card or interface as its driver names itself; NULL: none
	PORT_COUNTERS(COUNTER_MEMBER)
	bool rx_missed_known; // false: unknown for this driver
	HANDOFF_COUNTERS(COUNTER_MEMBER, COUNTER_SKIP, COUNTER_MEMBER)
	QUEUE_COUNTERS(COUNTER_MEMBER)
	const struct wire_counters *other; // packets that belong to no item; NULL: none
	uint64_t link_bps;                 // 0: unknown
	double link_used;                  // share of it, while the measured part was sent
	uint64_t link_downs;
	double link_down_s;
	const char *steering;                      // how replies reach their workers
	const char *caveat;                        // of its driver; NULL: none
	struct result_steer_probe *steering_probe; // NULL: not probed
};

struct result_worker {
	const char *port;
	uint64_t number;
	double cpu; // NAN: any
	const char *idle;
	double ns_per_transaction;
	PASS_COUNTERS(COUNTER_MEMBER, COUNTER_SECONDS_MEMBER, COUNTER_NS_MEMBER)
	WORKER_COUNTERS(COUNTER_MEMBER, COUNTER_SECONDS_MEMBER, COUNTER_SHARE_MEMBER)
	struct latency passes;
	const char *arrival;
	struct latency *wake; // NULL: no stamps
	HANDOFF_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER, COUNTER_SKIP)
	uint64_t part; // of a fleet; 0: no fleet
};

// Shares of the time of all CPUs of a box. X(member, help)
#define CPU_SHARES(X)                                                                              \
	X(used, "share of all CPUs in use, by everything on the box, without stolen time")         \
	X(user, "share in programs, polling workers too")                                          \
	X(system, "share in the kernel for programs")                                              \
	X(irq, "share in interrupts")                                                              \
	X(softirq, "share in the kernel's network path and other softirqs")                        \
	X(steal, "share that the host of a virtual machine took")                                  \
	X(busiest_used, "share in use of the busiest CPU alone")

#define CPU_SHARE_MEMBER(member, help) double member;

struct result_cpu_use {
	CPU_SHARES(CPU_SHARE_MEMBER)
	uint64_t busiest; // number of that CPU
};

// The tester's box in the measured part.
struct result_cpu {
	const char *method;
	uint64_t cpus;
	struct result_cpu_use use;
	double us_per_transaction;
};

struct result_dut_figure {
	const char *name;
	double value;
};

// A counter of dut.counters.
struct result_dut_counter {
	const char *name;
	double difference;
};

// The server's machine in an interval.
struct result_dut_interval {
	struct counter_list figures; // struct result_dut_figure
};

struct result_dut {
	const char *command, *format;
	uint64_t samples, failures;
	uint64_t cpus;
	struct result_cpu_use use;    // NAN: unknown
	double us_per_transaction;    // NAN: unknown
	struct counter_list figures;  // struct result_dut_figure: the newest, of format pairs
	struct counter_list counters; // struct result_dut_counter
	double counters_s;            // between both readings; NAN: fewer than two
	const char *counters_error;   // NULL: none
};

// Replies by the interval in which their requests were due, until the end of that interval.
struct result_by_due {
	uint64_t answered, failed;
	double mean_ns; // of their response latencies
};

// Replies to requests that were due `back` snapshots before.
struct result_earlier {
	uint64_t back;
	uint64_t answered, failed;
	double time_ns; // sum of their response latencies
};

// Connections of an item in an interval.
struct result_interval_connections {
	CONN_COUNTERS(COUNTER_MEMBER)
	uint64_t open; // at its end
	TCP_COUNTERS(COUNTER_MEMBER)
	struct latency handshake, first_answer;
	const struct result_tls *tls;   // NULL: they are not over TLS
	const struct result_http *http; // NULL: they do not use HTTP/2
	const struct result_quic *quic; // NULL: they do not use QUIC
};

struct result_interval_item {
	const char *name;
	LEDGER_COUNTERS(COUNTER_MEMBER, COUNTER_SKIP, COUNTER_SKIP)
	double p50_ns, p99_ns, max_ns; // response
	uint64_t in_flight;            // at its end
	double loss;                   // of transactions that ended in it
	double due_per_s, sent_per_s, answered_per_s;
	struct result_latencies latency; // of replies that came in it
	struct latency send_lag;
	struct counter_list steps;   // struct result_step, only used ones
	struct counter_list servers; // struct result_interval_server, if it has several
	const struct result_interval_connections *connections; // NULL: it has none
	ITEM_COUNTERS(COUNTER_MEMBER, COUNTER_SKIP)
	struct counter_choice counters; // the protocol's
	struct result_by_due by_due;
	const struct result_earlier *earlier; // not yet counted in by_due
	uint32_t earlier_count;
};

struct result_interval_port {
	const char *name;
	PORT_COUNTERS(COUNTER_MEMBER)
	HANDOFF_COUNTERS(COUNTER_MEMBER, COUNTER_SKIP, COUNTER_MEMBER)
	QUEUE_COUNTERS(COUNTER_MEMBER)
	const struct wire_counters *other;
};

struct result_interval_worker {
	const char *port;
	uint64_t number;
	double cpu; // NAN: any
	PASS_COUNTERS(COUNTER_MEMBER, COUNTER_SECONDS_MEMBER, COUNTER_SKIP)
	WORKER_COUNTERS(COUNTER_MEMBER, COUNTER_SECONDS_MEMBER, COUNTER_SHARE_MEMBER)
	HANDOFF_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER, COUNTER_SKIP)
	uint64_t part;  // of a fleet; 0: no fleet
	bool unstamped; // the kernel does not stamp its packets; false: it does, or unknown
};

struct result_responder_conns {
	RESPONDER_CONN_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER)
};

struct result_interval_responder {
	RESPONDER_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER)
	struct result_responder_conns conns;
	const struct result_responder_conns *connections; // conns; NULL: none were expected
};

struct result_interval {
	double t_s, length_s;       // end of the interval, from the start of the measured part
	uint64_t ended_ns;          // that end by the wall clock, since 1970
	uint64_t number;            // of its snapshots
	struct counter_list events; // const char *: names of the events in it
	bool last;                  // the rest after the last whole interval
	struct counter_list traffic;
	struct counter_list ports;                   // struct result_interval_port
	struct counter_list workers;                 // struct result_interval_worker
	struct result_interval_responder *responder; // NULL: none
	const struct result_dut_interval *dut;       // NULL: no sample in it
};

// A server of an item with several, from an event to the next one.
struct result_event_server {
	const char *name;
	double longest_gap_ns, first_answer_ns, regained_s; // as for the item
	uint64_t answered, lost;
};

// An item, from an event to the next one.
struct result_event_item {
	const char *name;
	double longest_gap_ns, first_answer_ns;
	double regained_s; // INFINITY: never; NAN: nothing was answered before
	uint64_t lost, failed;
	double max_ns;
	struct latency waited;       // response, of transactions due before the end of that gap
	struct counter_list servers; // struct result_event_server
};

struct result_event {
	const char *name, *action;
	double at_s, began_s;       // from the start of the measured part; NAN: not reached
	double took_s, exit_status; // of its command; NAN: it has none, or it did not end by itself
	const char *outcome;
	bool failed;
	struct counter_list traffic; // struct result_event_item
};

struct result_host {
	const char *cpu, *kernel, *dpdk, *driver;
	double tsc_hz;
	const char *memory;
	double clock_deviation;
	double clock_jump_ns;
};

// Delays of packets sent there and back before the run.
struct result_tester_delay {
	const char *port;
	uint64_t burst_size;
	struct latency single, burst, apart;
};

struct result_run {
	const char *id, *name, *version, *started, *command;
	const char *note;           // NULL: none
	struct counter_list labels; // const char *, "key=value"
	const char *config_sha256;  // of the text of ddiperf check --dump
	double measured_s;
	uint64_t measured_from_ns; // start of the measured part by the wall clock, since 1970
	uint64_t first_sent_ns;    // likewise, of the warm-up too; 0: nothing was sent
	uint64_t seed;
	struct result_host host;
	struct result_tester_delay *tester_delay; // NULL: not measured
};

struct result_criterion {
	const char *expression;
	double value;
	bool pass;
	const char *unit; // of the value, as struct counter has it
};

struct result_verdict {
	const char *status; // pass fail invalid unreachable interrupted
	uint64_t exit_code;
	const char *limited_by;       // none server undecided tester wire
	const char *invalid_by;       // tester disturbance load; NULL: valid
	const char *cause;            // of that, a sentence; NULL: only the reasons
	struct counter_list reasons;  // const char *
	struct counter_list criteria; // struct result_criterion
	const char *stopped;          // the rule that ended the run; NULL: none
	double stopped_s;             // when, from the start of the measured part
	double stopped_value;         // its figure then
	double disturbed;             // share of the time, of the most disturbed item
	double harmed;                // its part that may have changed the figures
};

struct result_responder {
	const char *port;
	RESPONDER_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBER)
	struct result_responder_conns conns;
	const struct result_responder_conns *connections; // conns; NULL: none were expected
	PASS_COUNTERS(COUNTER_MEMBER, COUNTER_SECONDS_MEMBER, COUNTER_NS_MEMBER)
	struct counter_list protocols;              // struct result_responder_protocol
	uint64_t faults[FAULTS_MAX];                // by faults_label
	uint64_t handshake_faults[TLS_FAULT_COUNT]; // by tls_fault_name
};

struct result_responder_protocol {
	const char *name;
	struct counter_choice counters;
};

// Counters of a responder in another process (dut.control), over the run and its warm-up.
struct result_peer {
	uint64_t sent, received, answered, replies;
	double loss_there, loss_back;  // NAN: transactions have several messages
	struct counter_list protocols; // struct result_responder_protocol
};

struct result_capture {
	const char *file;
	uint64_t packets, dropped;
	bool limit_reached, incomplete;
};

// --- of several runs: a search or repeats ---

struct result_trial {
	double rate; // value of the variable
	double duration_s;
	double loss, failed;                            // of sent; lost alone, failed alone
	double p50_ns, p90_ns, p95_ns, p99_ns, p999_ns; // p95 if a goal names it
	double answered_per_s;
	const char *verdict; // pass: every goal is met; fail; invalid: because of the tester
	uint64_t goals_met;
	uint64_t seed;
	const char *capture; // file; NULL: none
};

struct result_goal {
	const char *goal;
	double answer; // value of the variable; NAN: even the lowest is too much
	double upper;  // lowest value that was too much; INFINITY: none
	double answered_per_s;
	const char *limited_by; // server, undecided, tester, range
	double repeats_met;     // repeats at the answer; NAN: there were none
};

struct result_peak {
	double rate, answered_per_s;
};

struct result_search {
	const char *method, *variable;
	double answer;                // of the first goal
	struct counter_list goals;    // struct result_goal
	struct result_peak *peak;     // NULL: nothing was answered
	struct result_peak *collapse; // NULL: none seen
	double knee;                  // NAN: none seen
	struct counter_list trials;   // struct result_trial
};

// A figure of an item over all repeats.
struct result_spread {
	const char *item, *figure;
	double mean, stddev, low, high, median, min, max, p10, p25, p75, p90;
	bool reached; // no wider than asked for
};

struct result_repeat {
	double cpu_used, dut_used; // NAN: unknown
	uint64_t seed;
	const char *verdict;
	const char *capture;         // file; NULL: none
	struct counter_list traffic; // struct result_item
};

struct result_confidence {
	uint64_t runs, skipped;
	double confidence, width;
	bool reached;
	struct counter_list figures; // struct result_spread
};

// An order of the user to a run in progress.
struct result_order {
	const char *set;
	double at_s;      // from the start of the measured part
	uint64_t from_ns; // Unix time from which it holds; 0: never
};

// Router solicitations of an item before its first message, on the VLANs of a path.
struct result_router {
	const char *item, *port, *vlans;
	uint64_t asked;
	bool heard;     // an advertisement
	double took_ns; // NAN: none came
	const char *router;
	bool managed, other;
	uint64_t hop_limit, lifetime_s;
	struct counter_list prefixes; // struct result_prefix
};

struct result_prefix {
	const char *prefix;
	bool on_link, autonomous;
	uint64_t valid_s, preferred_s;
};

struct result {
	const char *schema;
	uint64_t number; // of its run, from 1: run_hooks.begin
	struct result_run run;
	struct result_verdict verdict;
	struct counter_list traffic;          // struct result_item
	struct counter_list events;           // struct result_event
	struct counter_list orders;           // struct result_order
	struct counter_list routers;          // struct result_router
	struct counter_list ports;            // struct result_port
	struct counter_list workers;          // struct result_worker
	struct result_responder *responder;   // NULL: none
	struct result_capture *capture;       // NULL: none
	struct result_cpu *cpu;               // NULL: unknown
	struct result_dut *dut;               // NULL: no probe, no counters
	struct result_peer *peer;             // NULL: not asked
	struct result_search *search;         // NULL: none
	struct result_confidence *confidence; // of repeats; NULL: a single run
	struct counter_list repeats;          // struct result_repeat
	struct counter_list intervals;        // struct result_interval; handed out: run_hooks.kept
};

extern const struct counter_section result_section;
extern const struct counter_section result_item_section;
extern const struct counter_section result_interval_item_section;
extern const struct counter_section result_interval_section;
extern const struct counter_section latency_section;
extern const struct counter_section by_due_section;
extern const struct counter_section result_criterion_section;
extern const struct counter_section result_trial_section;
extern const struct counter_section result_earlier_section;
extern const struct counter_section result_responder_section;
extern const struct counter_section result_responder_protocol_section;

// Returns the answered rate of all items together.
static inline double result_answered_per_s(const struct result *r)
{
	const struct result_item *items = r->traffic.items;
	double sum = 0;

	for (uint32_t i = 0; i < r->traffic.count; i++)
		sum += items[i].answered_per_s;
	return sum;
}

// SPDX-License-Identifier: BSD-3-Clause
// The rows of the result. Adding a figure is a member and a row; no printer changes.
// Path: cold. Management thread.
#include "engine/result/result.h"

#include "engine/core/quic_channel.h"

#define AT(of, member) .offset = offsetof(struct of, member)
#define COUNT(of, member, text)                                                                    \
	{                                                                                          \
		.name = #member, .help = text, .type = COUNTER_U64, AT(of, member)                 \
	}
// Not a count: a setting, a number or a level.
#define GAUGE(of, member, text)                                                                    \
	{                                                                                          \
		.name = #member, .help = text, .type = COUNTER_U64, AT(of, member), .gauge = true  \
	}
#define SECONDS_GAUGE(of, member, text)                                                            \
	{                                                                                          \
		.name = #member, .help = text, .unit = "s", .type = COUNTER_U64, AT(of, member),   \
		.gauge = true                                                                      \
	}
#define FLAG(of, member, text)                                                                     \
	{                                                                                          \
		.name = #member, .help = text, .type = COUNTER_BOOL, AT(of, member)                \
	}
// A level: the amount of something at a time.
#define LEVEL(of, member, text)                                                                    \
	{                                                                                          \
		.name = #member, .help = text, .type = COUNTER_U64, AT(of, member), .gauge = true, \
		.level = true                                                                      \
	}
#define TEXT(of, member, text)                                                                     \
	{                                                                                          \
		.name = #member, .help = text, .type = COUNTER_STRING, AT(of, member)              \
	}
// The key of an element of a list.
#define NAME(of, member, text)                                                                     \
	{                                                                                          \
		.name = #member, .help = text, .type = COUNTER_STRING, AT(of, member), .key = true \
	}
#define NUMBER(of, member, text)                                                                   \
	{                                                                                          \
		.name = #member, .help = text, .type = COUNTER_U64, AT(of, member), .gauge = true, \
		.key = true                                                                        \
	}
#define REAL(of, member, unit_, text)                                                              \
	{                                                                                          \
		.name = #member, .help = text, .unit = unit_, .type = COUNTER_F64, AT(of, member)  \
	}
// A time of a table: ticks in the worker, seconds or nanoseconds here.
#define SECONDS(of, member, text)                                                                  \
	{                                                                                          \
		.name = #member "_s", .help = text, .unit = "s", .type = COUNTER_F64,              \
		AT(of, member##_s), .sum = true                                                    \
	}
#define NANOSECONDS(of, member, text)                                                              \
	{                                                                                          \
		.name = #member "_ns", .help = text, .unit = "ns", .type = COUNTER_F64,            \
		AT(of, member##_ns)                                                                \
	}
#define SECTION(name, rows, type, help)                                                            \
	static const struct counter_section rows##_section = {                                     \
		name, help, COUNTER_ROWS(rows), sizeof(struct type)}

static const struct counter percentile_rows[] = {
	TEXT(result_percentile, name, "its name: p95; p99999 is 99.999, p05 is 5"),
	NANOSECONDS(result_percentile, value, "its value"),
};
SECTION("percentiles", percentile_rows, result_percentile, "one of output.percentiles");

static const struct counter latency_rows[] = {
	COUNT(latency, count, "transactions timed"),
	{"min_ns", "shortest", "ns", COUNTER_F64, AT(latency, min_ns)},
	{"mean_ns", "arithmetic mean", "ns", COUNTER_F64, AT(latency, mean_ns)},
	{"stddev_ns", "standard deviation of the sample", "ns", COUNTER_F64,
		AT(latency, stddev_ns)},
	{"p50_ns", "50th percentile", "ns", COUNTER_F64, AT(latency, p50_ns)},
	{"p90_ns", "90th percentile", "ns", COUNTER_F64, AT(latency, p90_ns)},
	{"p99_ns", "99th percentile", "ns", COUNTER_F64, AT(latency, p99_ns)},
	{"p999_ns", "99.9th percentile", "ns", COUNTER_F64, AT(latency, p999_ns)},
	{"p9999_ns", "99.99th percentile", "ns", COUNTER_F64, AT(latency, p9999_ns)},
	{"max_ns", "longest", "ns", COUNTER_F64, AT(latency, max_ns)},
	{"percentiles", "those of output.percentiles", NULL, COUNTER_LIST, AT(latency, percentiles),
		.section = &percentile_rows_section, .optional = true},
	TEXT(latency, histogram,
		"buckets in use, GAP:COUNT each; their edges: docs/measurement/result.md"),
};
const struct counter_section latency_section = {
	"latency", "a distribution of times", COUNTER_ROWS(latency_rows), sizeof(struct latency)};

static const struct counter latencies_rows[] = {
	{"response", "from the due time to the reply; lost transactions rank above the timeout",
		NULL, COUNTER_SECTION, AT(result_latencies, response), .section = &latency_section},
	{"service", "from the last send to the reply", NULL, COUNTER_SECTION,
		AT(result_latencies, service), .section = &latency_section},
};
SECTION("latency", latencies_rows, result_latencies, "latencies of answered transactions");

#define STEP_ROW(member, text) COUNT(result_step, member, text),
static const struct counter step_rows[] = {
	NAME(result_step, name, "name of the step"),
	STEP_COUNTERS(STEP_ROW) // core/counters.h
	{"latency", "latencies of answered messages", NULL, COUNTER_SECTION,
		AT(result_step, latency), .section = &latencies_rows_section},
};
SECTION("steps", step_rows, result_step, "a message and its reply within an exchange");

static const struct counter mark_rows[] = {
	NAME(result_mark, name, "the event waited for"),
	{"latency", "from the event of the followed item to the first reply that shows it", NULL,
		COUNTER_SECTION, AT(result_mark, latency), .section = &latency_section},
};
SECTION("marks", mark_rows, result_mark, "events that an item with `after` waited for");

#define BEHAVE_ROW(member_, text)                                                                  \
	{.name = #member_,                                                                         \
		.help = text,                                                                      \
		.type = COUNTER_ARRAY,                                                             \
		AT(result_behave, member_),                                                        \
		.length = TCP_BEHAVIOUR_COUNT,                                                     \
		.label = tcp_behaviour_name},
static const struct counter behave_rows[] = {
	BEHAVE_COUNTERS(BEHAVE_ROW) // core/counters.h
	COUNT(result_behave, no_memory, "connections not started: out of memory"),
};
SECTION("behave", behave_rows, result_behave, "misbehaving clients, by behaviour");

#define TLS_ROW(member_, text)                                                                     \
	{.name = #member_, .help = text, .type = COUNTER_U64, AT(result_tls, counts.member_)},
#define TLS_ARRAY_ROW(member_, length_, label_, text)                                              \
	{.name = #member_,                                                                         \
		.help = text,                                                                      \
		.type = COUNTER_ARRAY,                                                             \
		AT(result_tls, counts.member_),                                                    \
		.length = length_,                                                                 \
		.label = label_},
static const struct counter tls_rows[] = {
	TLS_COUNTERS(TLS_ROW) // core/counters.h
	TLS_NAMED(TLS_ARRAY_ROW) REAL(
		result_tls, resumed_share, "1", "share of the completed handshakes that resumed"),
	{"full_time", "of a full handshake: from the server's acceptance to our Finished", NULL,
		COUNTER_SECTION, AT(result_tls, full_time), .section = &latency_section},
	{"resumed_time", "of a resumed one", NULL, COUNTER_SECTION, AT(result_tls, resumed_time),
		.section = &latency_section},
	{"own", "the tester's own part of either: its computations", NULL, COUNTER_SECTION,
		AT(result_tls, own), .section = &latency_section},
	{"queued", "likewise: until the worker or the crew began to compute it", NULL,
		COUNTER_SECTION, AT(result_tls, queued), .section = &latency_section},
};
SECTION("tls", tls_rows, result_tls, "TLS of the connections");
#define TLS_SECTION(of)                                                                            \
	{                                                                                          \
		"tls", "their TLS; absent: they are not over TLS", NULL, COUNTER_SECTION,          \
			AT(of, tls), .section = &tls_rows_section, .optional = true                \
	}

#define HTTP_ROW(member_, text)                                                                    \
	{.name = #member_, .help = text, .type = COUNTER_U64, AT(result_http, counts.member_)},
#define HTTP_ARRAY_ROW(member_, length_, label_, text)                                             \
	{.name = #member_,                                                                         \
		.help = text,                                                                      \
		.type = COUNTER_ARRAY,                                                             \
		AT(result_http, counts.member_),                                                   \
		.length = length_,                                                                 \
		.label = label_},
static const struct counter http_rows[] = {HTTP_COUNTERS(HTTP_ROW) // core/counters.h
	HTTP_NAMED(HTTP_ARRAY_ROW)};
SECTION("http", http_rows, result_http, "HTTP/2 of the connections");
#define HTTP_SECTION(of)                                                                           \
	{                                                                                          \
		"http", "their HTTP/2; absent: they do not use it", NULL, COUNTER_SECTION,         \
			AT(of, http), .section = &http_rows_section, .optional = true              \
	}

#define QUIC_ROW(member_, text)                                                                    \
	{.name = #member_, .help = text, .type = COUNTER_U64, AT(result_quic, counts.member_)},
#define QUIC_ARRAY_ROW(member_, length_, label_, text)                                             \
	{.name = #member_,                                                                         \
		.help = text,                                                                      \
		.type = COUNTER_ARRAY,                                                             \
		AT(result_quic, counts.member_),                                                   \
		.length = length_,                                                                 \
		.label = label_},
#define DATAGRAM_ROW(member_, text)                                                                \
	{.name = #member_, .help = text, .type = COUNTER_U64, AT(result_quic, datagrams.member_)},
static const struct counter quic_rows[] = {QUIC_OUTCOMES(QUIC_ROW)   // core/counters.h
	QUIC_NAMED(QUIC_ARRAY_ROW) QUIC_COUNTER_ROWS(DATAGRAM_ROW)}; // quic/quic.h
SECTION("quic", quic_rows, result_quic, "QUIC of the connections");
#define QUIC_SECTION(of)                                                                           \
	{                                                                                          \
		"quic", "their QUIC; absent: they do not use it", NULL, COUNTER_SECTION,           \
			AT(of, quic), .section = &quic_rows_section, .optional = true              \
	}

#define CONNECTIONS_ROW(member, text) COUNT(result_connections, member, text),
static const struct counter connections_rows[] = {
	CONN_COUNTERS(CONNECTIONS_ROW) // core/counters.h
	LEVEL(result_connections, left, "connections that were open when the run ended"),
	{"handshake", "from the first SYN to the server's acceptance", NULL, COUNTER_SECTION,
		AT(result_connections, handshake), .section = &latency_section},
	{"first_answer", "from the first SYN to the first answer", NULL, COUNTER_SECTION,
		AT(result_connections, first_answer), .section = &latency_section},
	COUNT(result_connections, segments_sent, "segments sent, warm-up included"),
	COUNT(result_connections, segments_received, "segments received, warm-up included"),
	TCP_COUNTERS(CONNECTIONS_ROW) // net/tcp.h
	TLS_SECTION(result_connections),
	HTTP_SECTION(result_connections),
	QUIC_SECTION(result_connections),
	{"behave", "misbehaving clients; absent: none", NULL, COUNTER_SECTION,
		AT(result_connections, behave), .section = &behave_rows_section, .optional = true},
};
SECTION("connections", connections_rows, result_connections, "connections of an item");

#define SERVER_ROW(member, text) COUNT(result_server, member, text),
static const struct counter server_rows[] = {
	NAME(result_server, name, "its address"),
	SERVER_COUNTERS(SERVER_ROW) // core/servers.h
	REAL(result_server, share, "1", "share of the item's answered transactions"),
	NANOSECONDS(result_server, longest_gap,
		"longest time in which it was asked and gave no valid reply"),
};
SECTION("servers", server_rows, result_server, "a server of an item with several");

static const struct counter heard_rows[] = {
	NAME(result_heard, name,
		"its identifier: option 54, or the DUID; others: of those beyond the first 16"),
	TEXT(result_heard, address, "where its first reply came from"),
	COUNT(result_heard, offers, "OFFER or ADVERTISE messages"),
	COUNT(result_heard, answers, "ACK and REPLY messages, and other replies"),
	COUNT(result_heard, refusals, "NAK messages, or those whose status is a refusal"),
};
SECTION("servers_heard", heard_rows, result_heard, "a server that replied");

static const struct counter foreseen_rows[] = {
	REAL(result_foreseen, due, NULL,
		"transactions expected to be due until the end of sending"),
	REAL(result_foreseen, off, "1", "excess of those due over this forecast, as a share of it"),
};
SECTION("foreseen", foreseen_rows, result_foreseen,
	"forecast of an item whose clients start the transactions");

#define ITEM_ROW(member, text)       COUNT(result_item, member, text),
#define ITEM_LEVEL_ROW(member, text) LEVEL(result_item, member, text),
#define LEDGER_ROW(member_, text)                                                                  \
	{.name = #member_, .help = text, .type = COUNTER_U64, AT(result_item, ledger.member_)},
static const struct counter item_rows[] = {
	NAME(result_item, name, "name of the item"),
	TEXT(result_item, protocol, "protocol spoken"),
	TEXT(result_item, port, "port used"),
	TEXT(result_item, server, "address of the server; absent: clients broadcast"),
	TEXT(result_item, server_name, "its host name; absent: the file gives the address"),
	TEXT(result_item, loop, "open or closed: a closed loop waits for the server"),
	TEXT(result_item, input, "used and left-out parts of its input file; absent: all used"),
	GAUGE(result_item, clients, "clients that the item has; 0: its protocol has none"),
	LEDGER_COUNTERS(LEDGER_ROW, ITEM_ROW, ITEM_LEVEL_ROW) // core/counters.h
	{"loss", "lost over sent, without no_reply", "1", COUNTER_F64, AT(result_item, loss)},
	{"due_per_s", "scheduled rate, over sending_s", "per_s", COUNTER_F64,
		AT(result_item, due_per_s)},
	{"sent_per_s", "sent rate, over sending_s", "per_s", COUNTER_F64,
		AT(result_item, sent_per_s)},
	{"answered_per_s",
		"answered rate, over sending_s; of a load that ends by itself until the last "
		"reply",
		"per_s", COUNTER_F64, AT(result_item, answered_per_s)},
	{"request_bps", "rate of data in messages sent, without headers, over sending_s", "per_s",
		COUNTER_F64, AT(result_item, request_bps)},
	{"reply_bps", "rate of data in replies, without headers, over the time of answered_per_s",
		"per_s", COUNTER_F64, AT(result_item, reply_bps)},
	{"sending_s", "from the start of the item's measured part to its end of sending", "s",
		COUNTER_F64, AT(result_item, sending_s)},
	{"last_answer_s", "from the start of the item's measured part to the last reply", "s",
		COUNTER_F64, AT(result_item, last_answer_s)},
	{"latency", "latencies of answered transactions", NULL, COUNTER_SECTION,
		AT(result_item, latency), .section = &latencies_rows_section},
	{"send_lag", "actual send minus due time", NULL, COUNTER_SECTION, AT(result_item, send_lag),
		.section = &latency_section},
	{"steps", "the messages of exchanges of several", NULL, COUNTER_LIST,
		AT(result_item, steps), .section = &step_rows_section},
	{"marks", "events that an item with `after` waited for; absent: none", NULL, COUNTER_LIST,
		AT(result_item, marks), .section = &mark_rows_section, .optional = true},
	{"servers", "its servers; empty: it has only one, which is asked once", NULL, COUNTER_LIST,
		AT(result_item, servers), .section = &server_rows_section},
	{"servers_heard", "servers that replied, as named in their messages; absent: not named",
		NULL, COUNTER_LIST, AT(result_item, servers_heard), .section = &heard_rows_section,
		.optional = true},
	{"connections", "its connections; absent: none", NULL, COUNTER_SECTION,
		AT(result_item, connections), .section = &connections_rows_section,
		.optional = true},
	{"foreseen", "forecast, if clients start the transactions; absent: a load does", NULL,
		COUNTER_SECTION, AT(result_item, foreseen), .section = &foreseen_rows_section,
		.optional = true},
	{"longest_gap_ns", "longest time without a valid reply while sending", "ns", COUNTER_F64,
		AT(result_item, longest_gap_ns)},
	ITEM_COUNTERS(ITEM_ROW, COUNTER_SKIP) // core/counters.h
	{"protocol counters", "the protocol's own", NULL, COUNTER_CHOICE,
		AT(result_item, counters)},
};

const struct counter_section result_item_section = {
	"traffic", "an item of traffic", COUNTER_ROWS(item_rows), sizeof(struct result_item)};

static const struct counter steer_probe_rows[] = {
	COUNT(result_steer_probe, sent, "queries before the run; not in the ledger"),
	COUNT(result_steer_probe, home, "replies on the queue of the worker that sent the query"),
	COUNT(result_steer_probe, elsewhere, "replies on the queue of another worker"),
	COUNT(result_steer_probe, unanswered, "queries without a reply before the run began"),
	COUNT(result_steer_probe, late, "replies during the run; strays of no item"),
};
SECTION("steering_probe", steer_probe_rows, result_steer_probe, "queues that replies reach");

#define PORT_ROW(member, text) COUNT(result_port, member, text),
static const struct counter port_rows[] = {
	NAME(result_port, name, "name of the port"),
	TEXT(result_port, driver, "driver"),
	TEXT(result_port, device, "device"),
	TEXT(result_port, nic, "the device as its driver names it"),
	PORT_COUNTERS(PORT_ROW) // io/port_state.h
	{"rx_missed_known", "whether this driver can count rx_missed", NULL, COUNTER_BOOL,
		AT(result_port, rx_missed_known), .all = true},
	QUEUE_COUNTERS(PORT_ROW) // core/counters.h
	TEXT(result_port, steering, "method that brings replies to the worker that asked"),
	TEXT(result_port, caveat, "limitations of its driver; null: none"),
	{"steering_probe", "queues that replies to queries before the run reached", NULL,
		COUNTER_SECTION, AT(result_port, steering_probe),
		.section = &steer_probe_rows_section, .optional = true},
	HANDOFF_COUNTERS(PORT_ROW, COUNTER_SKIP, PORT_ROW) // io/handoff.h
	GAUGE(result_port, link_bps, "bits per second of the link; 0: unknown"),
	{"link_used", "share of the link that was sent on, framing included", "1", COUNTER_F64,
		AT(result_port, link_used)},
	COUNT(result_port, link_downs, "times that the link went down"),
	{"link_down_s", "how long it was down", "s", COUNTER_F64, AT(result_port, link_down_s)},
	{"other", "packets that belong to no item", NULL, COUNTER_SECTION, AT(result_port, other),
		.section = &wire_section, .optional = true},
};
SECTION("ports", port_rows, result_port, "a port");

#define WORKER_ROW(member, text)         COUNT(result_worker, member, text),
#define WORKER_SECONDS_ROW(member, text) SECONDS(result_worker, member, text),
#define WORKER_NS_ROW(member, text)      NANOSECONDS(result_worker, member, text),
#define WORKER_SHARE_ROW(member, text)   REAL(result_worker, member, "1", text),
static const struct counter worker_rows[] = {
	{"part", "the part of a fleet that it worked for; absent: the whole run", NULL, COUNTER_U64,
		AT(result_worker, part), .gauge = true, .optional = true, .key = true},
	NAME(result_worker, port, "port served"),
	NUMBER(result_worker, number, "place among the workers of that port"),
	REAL(result_worker, cpu, NULL,
		"number of the CPU that it was bound to; null: it ran on any"),
	TEXT(result_worker, idle, "how it waited: poll or sleep (host.idle)"),
	{"ns_per_transaction", "busy time over completed transactions", "ns", COUNTER_F64,
		AT(result_worker, ns_per_transaction)},
	PASS_COUNTERS(WORKER_ROW, WORKER_SECONDS_ROW, WORKER_NS_ROW) // core/counters.h
	WORKER_COUNTERS(WORKER_ROW, WORKER_SECONDS_ROW, WORKER_SHARE_ROW)
		HANDOFF_COUNTERS(WORKER_ROW, WORKER_ROW, COUNTER_SKIP) // io/handoff.h
	{"passes", "time between two passes of the loop", NULL, COUNTER_SECTION,
		AT(result_worker, passes), .section = &latency_section},
	TEXT(result_worker, arrival,
		"when a reply counts as arrived: kernel (by the kernel's stamp), burst (when the "
		"worker saw it)"),
	{"wake", "from the arrival of a packet until the worker saw it; absent: no timestamps",
		NULL, COUNTER_SECTION, AT(result_worker, wake), .section = &latency_section,
		.optional = true},
};
SECTION("workers", worker_rows, result_worker, "a worker");

#define USE_ROW(of, member, text)                                                                  \
	{#member, text, "1", COUNTER_F64, offsetof(struct of, use.member)},
#define BUSIEST_ROW(of)                                                                            \
	{"busiest", "number of the busiest CPU", NULL, COUNTER_U64,                                \
		offsetof(struct of, use.busiest), .gauge = true},
#define CPU_USE_ROW(member, text) USE_ROW(result_cpu, member, text)
#define DUT_USE_ROW(member, text) USE_ROW(result_dut, member, text)
static const struct counter cpu_rows[] = {
	{"method", "how it was measured: proc_stat", NULL, COUNTER_STRING, AT(result_cpu, method)},
	{"cpus", "CPUs of the box", NULL, COUNTER_U64, AT(result_cpu, cpus), .gauge = true},
	CPU_SHARES(CPU_USE_ROW) BUSIEST_ROW(result_cpu){"us_per_transaction",
		"service demand: used CPU time of the box per answered transaction; polling counts",
		"us", COUNTER_F64, AT(result_cpu, us_per_transaction)},
};
static const struct counter_section result_cpu_section = {"cpu",
	"the tester's box in the measured part", COUNTER_ROWS(cpu_rows), sizeof(struct result_cpu)};

static const struct counter figure_rows[] = {
	NAME(result_dut_figure, name, "name of the figure"),
	{"value", "value that the probe printed", NULL, COUNTER_F64, AT(result_dut_figure, value)},
};
static const struct counter_section figure_section = {"figures", "a figure that the probe printed",
	COUNTER_ROWS(figure_rows), sizeof(struct result_dut_figure)};

static const struct counter dut_interval_rows[] = {
	{"figures", "figures of the newest sample in the interval", NULL, COUNTER_LIST,
		AT(result_dut_interval, figures), .section = &figure_section},
};
static const struct counter_section result_dut_interval_section = {"dut",
	"the server's side in an interval", COUNTER_ROWS(dut_interval_rows),
	sizeof(struct result_dut_interval)};

static const struct counter dut_counter_rows[] = {
	NAME(result_dut_counter, name, "name of the counter"),
	{"difference", "its value after the measured part, minus the one before", NULL, COUNTER_F64,
		AT(result_dut_counter, difference)},
};
static const struct counter_section dut_counter_section = {"counters",
	"a counter that dut.counters printed", COUNTER_ROWS(dut_counter_rows),
	sizeof(struct result_dut_counter)};

static const struct counter dut_rows[] = {
	{"command", "the probe", NULL, COUNTER_STRING, AT(result_dut, command)},
	{"format", "proc_stat or pairs", NULL, COUNTER_STRING, AT(result_dut, format)},
	{"samples", "number of times the probe gave figures", NULL, COUNTER_U64,
		AT(result_dut, samples)},
	{"failures", "number of times it did not", NULL, COUNTER_U64, AT(result_dut, failures)},
	{"cpus", "CPUs of the server's box; 0: not known", NULL, COUNTER_U64, AT(result_dut, cpus),
		.gauge = true},
	CPU_SHARES(DUT_USE_ROW) BUSIEST_ROW(result_dut){"us_per_transaction",
		"service demand: its CPU time per answered transaction", "us", COUNTER_F64,
		AT(result_dut, us_per_transaction)},
	{"figures", "last figures of a probe that prints pairs", NULL, COUNTER_LIST,
		AT(result_dut, figures), .section = &figure_section},
	{"counters", "differences of the server's counters over the measured part (dut.counters)",
		NULL, COUNTER_LIST, AT(result_dut, counters), .section = &dut_counter_section},
	{"counters_s", "time between both readings", "s", COUNTER_F64, AT(result_dut, counters_s)},
	TEXT(result_dut, counters_error, "reason why there are none"),
};
static const struct counter_section result_dut_section = {
	"dut", "the machine under test", COUNTER_ROWS(dut_rows), sizeof(struct result_dut)};

static const struct counter by_due_rows[] = {
	COUNT(result_by_due, answered, "valid replies in time"),
	COUNT(result_by_due, failed, "refused, or rejected by the item's checks"),
	{"mean_ns", "mean of their response latencies", "ns", COUNTER_F64,
		AT(result_by_due, mean_ns)},
};
const struct counter_section by_due_section = {"by_due", "replies to requests that were due in it",
	COUNTER_ROWS(by_due_rows), sizeof(struct result_by_due)};

#define INTERVAL_CONN_ROW(member, text) COUNT(result_interval_connections, member, text),
static const struct counter interval_conn_rows[] = {
	CONN_COUNTERS(INTERVAL_CONN_ROW) // core/counters.h
	LEVEL(result_interval_connections, open, "open at its end: accepted and not yet closed"),
	{"handshake", "from the first SYN to the server's acceptance", NULL, COUNTER_SECTION,
		AT(result_interval_connections, handshake), .section = &latency_section},
	{"first_answer", "from the first SYN to the first answer", NULL, COUNTER_SECTION,
		AT(result_interval_connections, first_answer), .section = &latency_section},
	TCP_COUNTERS(INTERVAL_CONN_ROW) // net/tcp.h
	TLS_SECTION(result_interval_connections),
	HTTP_SECTION(result_interval_connections),
	QUIC_SECTION(result_interval_connections),
};
SECTION("connections", interval_conn_rows, result_interval_connections, "connections in it");

#define INTERVAL_SERVER_ROW(member, text) COUNT(result_interval_server, member, text),
static const struct counter interval_server_rows[] = {
	NAME(result_interval_server, name, "its address"),
	SERVER_COUNTERS(INTERVAL_SERVER_ROW) // core/servers.h
};
SECTION("servers", interval_server_rows, result_interval_server, "a server in an interval");

#define INTERVAL_ROW(member, text) COUNT(result_interval_item, member, text),
static const struct counter interval_item_rows[] = {
	NAME(result_interval_item, name, "name of the item"),
	LEDGER_COUNTERS(INTERVAL_ROW, COUNTER_SKIP, COUNTER_SKIP) // core/counters.h
	{"p50_ns", "median response latency", "ns", COUNTER_F64, AT(result_interval_item, p50_ns)},
	{"p99_ns", "99th percentile", "ns", COUNTER_F64, AT(result_interval_item, p99_ns)},
	{"max_ns", "longest", "ns", COUNTER_F64, AT(result_interval_item, max_ns)},
	LEVEL(result_interval_item, in_flight, "open at the end of the interval"),
	{"loss", "lost over all that ended in the interval", "1", COUNTER_F64,
		AT(result_interval_item, loss)},
	{"due_per_s", "scheduled rate", "per_s", COUNTER_F64, AT(result_interval_item, due_per_s)},
	{"sent_per_s", "sent rate", "per_s", COUNTER_F64, AT(result_interval_item, sent_per_s)},
	{"answered_per_s", "answered rate", "per_s", COUNTER_F64,
		AT(result_interval_item, answered_per_s)},
	{"latency", "latencies of replies that came in it", NULL, COUNTER_SECTION,
		AT(result_interval_item, latency), .section = &latencies_rows_section},
	{"send_lag", "actual send minus due time", NULL, COUNTER_SECTION,
		AT(result_interval_item, send_lag), .section = &latency_section},
	{"steps", "the messages of exchanges of several", NULL, COUNTER_LIST,
		AT(result_interval_item, steps), .section = &step_rows_section},
	{"servers", "its servers, if it has several", NULL, COUNTER_LIST,
		AT(result_interval_item, servers), .section = &interval_server_rows_section},
	{"connections", "its connections; absent: none", NULL, COUNTER_SECTION,
		AT(result_interval_item, connections), .section = &interval_conn_rows_section,
		.optional = true},
	{"by_due", "replies to requests that were due in it, whenever they came", NULL,
		COUNTER_SECTION, AT(result_interval_item, by_due), .section = &by_due_section},
	ITEM_COUNTERS(INTERVAL_ROW, COUNTER_SKIP) // core/counters.h
	{"protocol counters", "the protocol's own", NULL, COUNTER_CHOICE,
		AT(result_interval_item, counters)},
};

const struct counter_section result_interval_item_section = {"traffic", "an item in an interval",
	COUNTER_ROWS(interval_item_rows), sizeof(struct result_interval_item)};

#define PORT_PART_ROW(member, text) COUNT(result_interval_port, member, text),
static const struct counter interval_port_rows[] = {
	NAME(result_interval_port, name, "name of the port"),
	PORT_COUNTERS(PORT_PART_ROW)                                 // io/port_state.h
	QUEUE_COUNTERS(PORT_PART_ROW)                                // core/counters.h
	HANDOFF_COUNTERS(PORT_PART_ROW, COUNTER_SKIP, PORT_PART_ROW) // io/handoff.h
	{"other", "packets that belong to no item", NULL, COUNTER_SECTION,
		AT(result_interval_port, other), .section = &wire_section, .optional = true},
};
SECTION("ports", interval_port_rows, result_interval_port, "a port in an interval");

// In a line of a run, not in the document (app/live.h).
static const struct counter earlier_rows[] = {
	{"back", "how many snapshots before", NULL, COUNTER_U64, AT(result_earlier, back),
		.gauge = true},
	COUNT(result_earlier, answered, "answered requests that were due then"),
	COUNT(result_earlier, failed, "failed ones"),
	{"time_ns", "sum of their response latencies", "ns", COUNTER_F64,
		AT(result_earlier, time_ns), .sum = true},
};
const struct counter_section result_earlier_section = {"earlier",
	"replies to requests that were due N snapshots before", COUNTER_ROWS(earlier_rows),
	sizeof(struct result_earlier)};

#define WORKER_PART_ROW(member, text)         COUNT(result_interval_worker, member, text),
#define WORKER_PART_SECONDS_ROW(member, text) SECONDS(result_interval_worker, member, text),
#define WORKER_PART_SHARE_ROW(member, text)   REAL(result_interval_worker, member, "1", text),
static const struct counter interval_worker_rows[] = {
	{"part", "the part of a fleet that it worked for; absent: the whole run", NULL, COUNTER_U64,
		AT(result_interval_worker, part), .gauge = true, .optional = true, .key = true},
	NAME(result_interval_worker, port, "port served"),
	NUMBER(result_interval_worker, number, "place among the workers of that port"),
	REAL(result_interval_worker, cpu, NULL,
		"number of the CPU that it was bound to; null: it ran on any"),
	PASS_COUNTERS(WORKER_PART_ROW, WORKER_PART_SECONDS_ROW, COUNTER_SKIP) // core/counters.h
	WORKER_COUNTERS(WORKER_PART_ROW, WORKER_PART_SECONDS_ROW, WORKER_PART_SHARE_ROW)
		HANDOFF_COUNTERS(WORKER_PART_ROW, WORKER_PART_ROW, COUNTER_SKIP) // io/handoff.h
};
SECTION("workers", interval_worker_rows, result_interval_worker, "a worker in an interval");

#define RESPONDER_CONN_ROW(member, text)       COUNT(result_responder_conns, member, text),
#define RESPONDER_CONN_GAUGE_ROW(member, text) LEVEL(result_responder_conns, member, text),
static const struct counter responder_conn_rows[] = {
	RESPONDER_CONN_COUNTERS(RESPONDER_CONN_ROW, RESPONDER_CONN_GAUGE_ROW) // core/counters.h
};
SECTION("connections", responder_conn_rows, result_responder_conns, "connections to the responder");
#define RESPONDER_CONN_SECTION(of)                                                                 \
	{                                                                                          \
		"connections", "connections to it; absent: none were expected", NULL,              \
			COUNTER_SECTION, AT(of, connections),                                      \
			.section = &responder_conn_rows_section, .optional = true                  \
	}

#define RESPONDER_PART_ROW(member, text)       COUNT(result_interval_responder, member, text),
#define RESPONDER_PART_GAUGE_ROW(member, text) LEVEL(result_interval_responder, member, text),
static const struct counter interval_responder_rows[] = {
	RESPONDER_COUNTERS(RESPONDER_PART_ROW, RESPONDER_PART_GAUGE_ROW) // core/counters.h
	RESPONDER_CONN_SECTION(result_interval_responder),
};
SECTION("responder", interval_responder_rows, result_interval_responder,
	"the built-in responder in an interval");

static const struct counter event_server_rows[] = {
	NAME(result_event_server, name, "its address"),
	NANOSECONDS(result_event_server, longest_gap,
		"longest time, from 100 us on, in which it was asked and gave no valid reply, that "
		"touches the time from the event to the next one"),
	NANOSECONDS(result_event_server, first_answer, "from the event to the end of that gap"),
	REAL(result_event_server, regained_s, "s",
		"time until 99 % of its own rate of answers before the first event; 0: it did not "
		"fall"),
	COUNT(result_event_server, answered, "answered by it from the event to the next one"),
	COUNT(result_event_server, lost, "messages to it without an answer in that time"),
};
SECTION("servers", event_server_rows, result_event_server, "a server after an event");

static const struct counter event_item_rows[] = {
	NAME(result_event_item, name, "name of the item"),
	{"longest_gap_ns",
		"longest time without a valid reply, from 100 us on, that touches the time from "
		"the event to the next one",
		"ns", COUNTER_F64, AT(result_event_item, longest_gap_ns)},
	{"first_answer_ns", "from the event to the end of that gap", "ns", COUNTER_F64,
		AT(result_event_item, first_answer_ns)},
	{"regained_s",
		"from the event to the end of the first interval with 99 % of the rate of answers "
		"before the first event; 0: it did not fall",
		"s", COUNTER_F64, AT(result_event_item, regained_s)},
	COUNT(result_event_item, lost, "lost from the event to the next one"),
	COUNT(result_event_item, failed, "failed in that time"),
	{"max_ns", "longest latency of the replies in that time", "ns", COUNTER_F64,
		AT(result_event_item, max_ns)},
	{"waited",
		"response latency of the transactions that were due before the end of that gap and "
		"answered after it",
		NULL, COUNTER_SECTION, AT(result_event_item, waited), .section = &latency_section},
	{"servers", "its servers, if it has several", NULL, COUNTER_LIST,
		AT(result_event_item, servers), .section = &event_server_rows_section},
};
SECTION("traffic", event_item_rows, result_event_item, "an item after an event");

static const struct counter event_rows[] = {
	NAME(result_event, name, "name of the event"),
	TEXT(result_event, action, "run, set or link"),
	REAL(result_event, at_s, "s", "scheduled time, from the start of the measured part"),
	REAL(result_event, began_s, "s", "actual time, from the start of the measured part"),
	REAL(result_event, took_s, "s", "length of its command"),
	REAL(result_event, exit_status, NULL, "exit status of its command"),
	TEXT(result_event, outcome, "how it ended, in words"),
	{"failed", "whether its command failed", NULL, COUNTER_BOOL, AT(result_event, failed)},
	{"traffic", "the items from it to the next one", NULL, COUNTER_LIST,
		AT(result_event, traffic), .section = &event_item_rows_section},
};
SECTION("events", event_rows, result_event, "an event");

static const struct counter interval_rows[] = {
	{"t_s", "end of the interval, from the start of the measured part", "s", COUNTER_F64,
		AT(result_interval, t_s)},
	{"length_s", "length", "s", COUNTER_F64, AT(result_interval, length_s)},
	{"ended_ns", "its end by the wall clock, since 1970 (UTC)", "ns", COUNTER_U64,
		AT(result_interval, ended_ns), .gauge = true},
	{"traffic", "the items in the interval", NULL, COUNTER_LIST, AT(result_interval, traffic),
		.section = &result_interval_item_section},
	{"ports", "the tester's ports in it", NULL, COUNTER_LIST, AT(result_interval, ports),
		.section = &interval_port_rows_section},
	{"workers", "their workers in it", NULL, COUNTER_LIST, AT(result_interval, workers),
		.section = &interval_worker_rows_section},
	{"responder", "the built-in responder in it", NULL, COUNTER_SECTION,
		AT(result_interval, responder), .section = &interval_responder_rows_section,
		.optional = true},
	{"dut", "the server's side in it", NULL, COUNTER_SECTION, AT(result_interval, dut),
		.section = &result_dut_interval_section, .optional = true},
	{"events", "names of the events in it", NULL, COUNTER_STRINGS, AT(result_interval, events)},
};
const struct counter_section result_interval_section = {"intervals", "an interval of the run",
	COUNTER_ROWS(interval_rows), sizeof(struct result_interval)};

static const struct counter host_rows[] = {
	TEXT(result_host, cpu, "CPU model"),
	TEXT(result_host, kernel, "kernel release"),
	TEXT(result_host, dpdk, "DPDK version"),
	TEXT(result_host, driver, "drivers of the ports"),
	TEXT(result_host, memory, "hugepages or pages"),
	{"tsc_hz", "calibrated ticks per second", NULL, COUNTER_F64, AT(result_host, tsc_hz)},
	{"clock_deviation", "largest disagreement of ticks and kernel clocks, over the time", "1",
		COUNTER_F64, AT(result_host, clock_deviation)},
	{"clock_jump_ns", "largest disagreement, as a time", "ns", COUNTER_F64,
		AT(result_host, clock_jump_ns)},
};
SECTION("host", host_rows, result_host, "the tester's machine");

static const struct counter tester_delay_rows[] = {
	TEXT(result_tester_delay, port, "ring port that it was measured on"),
	{"single", "a packet there and back, turned round at once", NULL, COUNTER_SECTION,
		AT(result_tester_delay, single), .section = &latency_section},
	GAUGE(result_tester_delay, burst_size, "packets of a full burst"),
	{"burst", "like single, with full bursts", NULL, COUNTER_SECTION,
		AT(result_tester_delay, burst), .section = &latency_section},
	{"apart", "a packet there and back, turned round on the responder's CPU", NULL,
		COUNTER_SECTION, AT(result_tester_delay, apart), .section = &latency_section},
};
SECTION("tester_delay", tester_delay_rows, result_tester_delay,
	"delay that the tester itself adds");

static const struct counter run_rows[] = {
	TEXT(result_run, id, "UUID of the run"),
	TEXT(result_run, name, "name of the run"),
	TEXT(result_run, version, "version of the tester"),
	TEXT(result_run, started, "RFC 3339"),
	TEXT(result_run, note, "note of the user"),
	{"labels", "labels of the user, key=value", NULL, COUNTER_STRINGS, AT(result_run, labels)},
	TEXT(result_run, config_sha256,
		"SHA-256 of the effective configuration, as ddiperf check --dump prints it"),
	{"measured_s", "length of the measured part", "s", COUNTER_F64, AT(result_run, measured_s)},
	{"measured_from_ns", "start of the measured part by the wall clock, since 1970 (UTC)", "ns",
		COUNTER_U64, AT(result_run, measured_from_ns), .gauge = true},
	{"first_sent_ns",
		"first message of the load, in the warm-up too, by the wall clock, since 1970 "
		"(UTC); 0: nothing was sent",
		"ns", COUNTER_U64, AT(result_run, first_sent_ns), .gauge = true},
	GAUGE(result_run, seed, "seed"),
	TEXT(result_run, command, "command line"),
	{"host", "the tester's machine", NULL, COUNTER_SECTION, AT(result_run, host),
		.section = &host_rows_section},
	{"tester_delay",
		"delay that the tester itself adds to every latency, measured before the run", NULL,
		COUNTER_SECTION, AT(result_run, tester_delay),
		.section = &tester_delay_rows_section, .optional = true},
};
SECTION("run", run_rows, result_run, "the run");

static const struct counter criterion_rows[] = {
	TEXT(result_criterion, expression, "the condition"),
	{"value", "value of the figure", NULL, COUNTER_F64, AT(result_criterion, value)},
	{"pass", "whether it holds", NULL, COUNTER_BOOL, AT(result_criterion, pass)},
	TEXT(result_criterion, unit, "unit of value: ns, s, per_s, 1 (a ratio); none: a count"),
};
const struct counter_section result_criterion_section = {"criteria", "a condition of the verdict",
	COUNTER_ROWS(criterion_rows), sizeof(struct result_criterion)};

static const struct counter verdict_rows[] = {
	TEXT(result_verdict, status,
		"pass, done (no criteria: nothing was judged), fail, invalid, unreachable or "
		"interrupted"),
	GAUGE(result_verdict, exit_code, "exit code of the program"),
	TEXT(result_verdict, limited_by,
		"none, server, tester, wire, or undecided: others disturbed the box"),
	TEXT(result_verdict, invalid_by,
		"tester; disturbance: others had its CPU; or load: too few clients or connections "
		"were free for it"),
	TEXT(result_verdict, cause,
		"why the run is invalid, in a sentence, where time on a CPU is the cause"),
	REAL(result_verdict, disturbed, "1",
		"share of the time for which others had the CPU of a worker or of the embedded "
		"responder"),
	REAL(result_verdict, harmed, "1",
		"like disturbed, but only where it may have changed the figures: not for a worker "
		"that sent on time and whose replies the kernel timestamps"),
	{"reasons", "why, in words", NULL, COUNTER_STRINGS, AT(result_verdict, reasons)},
	{"criteria", "conditions", NULL, COUNTER_LIST, AT(result_verdict, criteria),
		.section = &result_criterion_section},
	TEXT(result_verdict, stopped, "the stop rule that ended the run"),
	{"stopped_s", "time of the stop, from the start of the measured part; 0: never", "s",
		COUNTER_F64, AT(result_verdict, stopped_s)},
};
SECTION("verdict", verdict_rows, result_verdict, "the verdict");

static const struct counter responder_protocol_rows[] = {
	NAME(result_responder_protocol, name, "protocol"),
	{"counters", "its counters", NULL, COUNTER_CHOICE, AT(result_responder_protocol, counters)},
};
const struct counter_section result_responder_protocol_section = {"protocols",
	"a protocol answered", COUNTER_ROWS(responder_protocol_rows),
	sizeof(struct result_responder_protocol)};

#define RESPONDER_ROW(member, text)         COUNT(result_responder, member, text),
#define RESPONDER_GAUGE_ROW(member, text)   LEVEL(result_responder, member, text),
#define RESPONDER_SECONDS_ROW(member, text) SECONDS(result_responder, member, text),
#define RESPONDER_NS_ROW(member, text)      NANOSECONDS(result_responder, member, text),
static const struct counter responder_rows[] = {
	TEXT(result_responder, port, "port that it answers on"),
	RESPONDER_COUNTERS(RESPONDER_ROW, RESPONDER_GAUGE_ROW)
		PASS_COUNTERS(RESPONDER_ROW, RESPONDER_SECONDS_ROW, RESPONDER_NS_ROW){"faults",
			"faults on demand, by kind", NULL, COUNTER_ARRAY,
			AT(result_responder, faults), .length = FAULTS_MAX, .label = faults_label},
	{"handshake_faults", "faults of handshakes of TLS, by kind", NULL, COUNTER_ARRAY,
		AT(result_responder, handshake_faults), .length = TLS_FAULT_COUNT,
		.label = tls_fault_name},
	RESPONDER_CONN_SECTION(result_responder),
	{"protocols", "by protocol", NULL, COUNTER_LIST, AT(result_responder, protocols),
		.section = &result_responder_protocol_section},
};
const struct counter_section result_responder_section = {"responder", "the embedded responder",
	COUNTER_ROWS(responder_rows), sizeof(struct result_responder)};

static const struct counter peer_rows[] = {
	COUNT(result_peer, sent, "transactions sent by all items, the warm-up included"),
	COUNT(result_peer, received,
		"messages that the responder received meanwhile; of a fleet, part 1 has them"),
	REAL(result_peer, loss_there, "1",
		"share of those sent that it did not receive; null: transactions of several "
		"messages, or a part of a fleet"),
	COUNT(result_peer, answered, "replies that it made"),
	COUNT(result_peer, replies, "replies received, of any kind"),
	REAL(result_peer, loss_back, "1", "share of those made that did not arrive"),
	{"protocols", "its counters by protocol", NULL, COUNTER_LIST, AT(result_peer, protocols),
		.section = &result_responder_protocol_section},
};
SECTION("peer", peer_rows, result_peer, "a responder in another process");

static const struct counter capture_rows[] = {
	TEXT(result_capture, file, "pcapng file of failing transactions"),
	COUNT(result_capture, packets, "packets written"),
	COUNT(result_capture, dropped, "packets left out because a worker's ring was full"),
	{"limit_reached", "whether there were more transactions than the limit", NULL, COUNTER_BOOL,
		AT(result_capture, limit_reached)},
	{"incomplete", "whether the file could not be written to its end", NULL, COUNTER_BOOL,
		AT(result_capture, incomplete)},
};
SECTION("capture", capture_rows, result_capture, "the capture file");

// --- of several runs: a search or repeats ---

static const struct counter trial_rows[] = {
	REAL(result_trial, rate, NULL,
		"value of the variable; of a ramp in the middle of the interval"),
	REAL(result_trial, duration_s, "s", "length of the measured part"),
	REAL(result_trial, loss, "1", "lost over sent"),
	REAL(result_trial, failed, "1", "failed over sent"),
	REAL(result_trial, p50_ns, "ns", "median of the response latency"),
	REAL(result_trial, p90_ns, "ns", "90th percentile"),
	REAL(result_trial, p95_ns, "ns", "95th percentile; null: no goal names it, or not known"),
	REAL(result_trial, p99_ns, "ns", "99th percentile"),
	REAL(result_trial, p999_ns, "ns", "99.9th percentile"),
	REAL(result_trial, answered_per_s, "per_s",
		"answered rate, until the last reply; of a ramp within the interval"),
	TEXT(result_trial, verdict,
		"pass: every goal is met; fail; invalid: because of the tester"),
	GAUGE(result_trial, goals_met, "goals that are met"),
	GAUGE(result_trial, seed, "seed of the trial; the intervals of a ramp share one"),
	TEXT(result_trial, capture, "its capture file"),
};
const struct counter_section result_trial_section = {
	"trials", "a measurement", COUNTER_ROWS(trial_rows), sizeof(struct result_trial)};

static const struct counter goal_rows[] = {
	TEXT(result_goal, goal, "bound that a load must meet"),
	REAL(result_goal, answer, NULL, "highest value of the variable that meets it"),
	REAL(result_goal, upper, NULL, "lowest value that does not; null: none up to the end"),
	REAL(result_goal, answered_per_s, "per_s",
		"answered rate there; mlr: the conditional throughput"),
	TEXT(result_goal, limited_by,
		"server, undecided, tester, range (met up to the end), or none (cut short)"),
	REAL(result_goal, repeats_met, NULL,
		"repeats at the answer that met it; null: none were made"),
};
static const struct counter_section goal_section = {
	"goals", "a goal and its answer", COUNTER_ROWS(goal_rows), sizeof(struct result_goal)};

static const struct counter peak_rows[] = {
	REAL(result_peak, rate, NULL, "value of the variable"),
	REAL(result_peak, answered_per_s, "per_s", "answered rate"),
};
static const struct counter_section peak_section = {"peak", "a load and its answered rate",
	COUNTER_ROWS(peak_rows), sizeof(struct result_peak)};

static const struct counter search_rows[] = {
	TEXT(result_search, method, "bisect, mlr or ramp"),
	TEXT(result_search, variable, "setting that was varied"),
	REAL(result_search, answer, NULL, "highest value that meets the first goal; null: none"),
	{"goals", "goals and their answers", NULL, COUNTER_LIST, AT(result_search, goals),
		.section = &goal_section},
	{"peak", "where most was answered", NULL, COUNTER_SECTION, AT(result_search, peak),
		.section = &peak_section, .optional = true},
	{"collapse", "lowest load above the peak at which at least a tenth less was answered", NULL,
		COUNTER_SECTION, AT(result_search, collapse), .section = &peak_section,
		.optional = true},
	REAL(result_search, knee, NULL,
		"last value before the 99th percentile stayed above three times its lowest"),
	{"trials", "measurements in order", NULL, COUNTER_LIST, AT(result_search, trials),
		.section = &result_trial_section},
};
static const struct counter_section result_search_section = {
	"search", "a search", COUNTER_ROWS(search_rows), sizeof(struct result_search)};

static const struct counter spread_rows[] = {
	TEXT(result_spread, item, "item of traffic; absent: the figure of a box"),
	TEXT(result_spread, figure, "figure of the item, or of the run"),
	REAL(result_spread, mean, NULL, "arithmetic mean of the runs"),
	REAL(result_spread, stddev, NULL, "standard deviation of the runs"),
	REAL(result_spread, low, NULL, "lower end of the confidence interval of the mean"),
	REAL(result_spread, high, NULL, "upper end"),
	REAL(result_spread, median, NULL, "median"),
	REAL(result_spread, min, NULL, "least"),
	REAL(result_spread, max, NULL, "greatest"),
	REAL(result_spread, p10, NULL, "10th percentile of the runs, between two in proportion"),
	REAL(result_spread, p25, NULL, "25th percentile"),
	REAL(result_spread, p75, NULL, "75th percentile"),
	REAL(result_spread, p90, NULL, "90th percentile"),
	{"reached", "whether the interval is as narrow as required", NULL, COUNTER_BOOL,
		AT(result_spread, reached)},
};
static const struct counter_section spread_section = {"figures", "a figure over all repeats",
	COUNTER_ROWS(spread_rows), sizeof(struct result_spread)};

static const struct counter confidence_rows[] = {
	GAUGE(result_confidence, runs, "valid runs"),
	GAUGE(result_confidence, skipped, "valid runs before them, left out"),
	REAL(result_confidence, confidence, "1", "confidence level of the interval"),
	REAL(result_confidence, width, "1",
		"required width of the interval, as a share of the mean"),
	{"reached", "whether every required figure is that precise", NULL, COUNTER_BOOL,
		AT(result_confidence, reached)},
	{"figures", "figures over all repeats", NULL, COUNTER_LIST, AT(result_confidence, figures),
		.section = &spread_section},
};
static const struct counter_section result_confidence_section = {"confidence",
	"how well repeats agree", COUNTER_ROWS(confidence_rows), sizeof(struct result_confidence)};

static const struct counter repeat_rows[] = {
	GAUGE(result_repeat, seed, "seed of the run"),
	TEXT(result_repeat, verdict, "pass, fail or invalid"),
	TEXT(result_repeat, capture, "its capture file"),
	REAL(result_repeat, cpu_used, "1", "share of the tester's CPUs in use"),
	REAL(result_repeat, dut_used, "1", "share of the server's CPUs in use; null: not known"),
	{"traffic", "items of traffic", NULL, COUNTER_LIST, AT(result_repeat, traffic),
		.section = &result_item_section},
};
static const struct counter_section result_repeat_section = {
	"repeats", "a run", COUNTER_ROWS(repeat_rows), sizeof(struct result_repeat)};

static const struct counter order_rows[] = {
	TEXT(result_order, set, "the setting and its new value"),
	REAL(result_order, at_s, "s",
		"time of the order, from the start of the measured part; it holds from the next "
		"interval on"),
	{"from_ns", "beginning of that interval by the wall clock, since 1970 (UTC); absent: never",
		"ns", COUNTER_U64, AT(result_order, from_ns), .gauge = true, .optional = true},
};
SECTION("orders", order_rows, result_order, "an order");

static const struct counter prefix_rows[] = {
	TEXT(result_prefix, prefix, "the prefix"),
	FLAG(result_prefix, on_link, "whether hosts find its addresses on the link"),
	FLAG(result_prefix, autonomous, "whether hosts make addresses in it"),
	SECONDS_GAUGE(result_prefix, valid_s, "its valid lifetime; 4294967295: for ever"),
	SECONDS_GAUGE(result_prefix, preferred_s, "its preferred lifetime"),
};
SECTION("prefixes", prefix_rows, result_prefix, "a prefix of a router");

static const struct counter router_rows[] = {
	TEXT(result_router, item, "the item that asked"),
	TEXT(result_router, port, "its port"),
	TEXT(result_router, vlans, "VLANs that it asked on, outermost first; or none"),
	GAUGE(result_router, asked, "router solicitations sent"),
	FLAG(result_router, heard, "whether an advertisement came"),
	NANOSECONDS(result_router, took, "from the first solicitation to the first advertisement"),
	TEXT(result_router, router, "source of the last one"),
	FLAG(result_router, managed, "its flag M: hosts get addresses from a server"),
	FLAG(result_router, other, "its flag O: hosts get other parameters from it"),
	GAUGE(result_router, hop_limit, "hop limit for hosts; 0: unspecified"),
	SECONDS_GAUGE(result_router, lifetime_s, "lifetime as a default router"),
	{"prefixes", "its prefixes, the first 4", NULL, COUNTER_LIST, AT(result_router, prefixes),
		.section = &prefix_rows_section},
};
SECTION("routers", router_rows, result_router, "routers on a link");

static const struct counter result_rows[] = {
	TEXT(result, schema, "version of this document"),
	{"run", "the run", NULL, COUNTER_SECTION, AT(result, run), .section = &run_rows_section},
	{"verdict", "the verdict", NULL, COUNTER_SECTION, AT(result, verdict),
		.section = &verdict_rows_section},
	{"traffic", "items of traffic", NULL, COUNTER_LIST, AT(result, traffic),
		.section = &result_item_section},
	{"events", "events during the run", NULL, COUNTER_LIST, AT(result, events),
		.section = &event_rows_section},
	{"orders", "load changes ordered by the user during the run", NULL, COUNTER_LIST,
		AT(result, orders), .section = &order_rows_section},
	{"routers", "answers to router solicitations before the first message", NULL, COUNTER_LIST,
		AT(result, routers), .section = &router_rows_section, .optional = true},
	{"ports", "ports", NULL, COUNTER_LIST, AT(result, ports), .section = &port_rows_section},
	{"workers", "workers", NULL, COUNTER_LIST, AT(result, workers),
		.section = &worker_rows_section},
	{"responder", "the embedded responder", NULL, COUNTER_SECTION, AT(result, responder),
		.section = &result_responder_section, .optional = true},
	{"capture", "the capture file", NULL, COUNTER_SECTION, AT(result, capture),
		.section = &capture_rows_section, .optional = true},
	{"cpu", "the tester's box in the measured part", NULL, COUNTER_SECTION, AT(result, cpu),
		.section = &result_cpu_section, .optional = true},
	{"dut", "the machine under test", NULL, COUNTER_SECTION, AT(result, dut),
		.section = &result_dut_section, .optional = true},
	{"peer", "the remote responder (dut.control)", NULL, COUNTER_SECTION, AT(result, peer),
		.section = &peer_rows_section, .optional = true},
	{"search", "the search; everything else describes a trial at its answer", NULL,
		COUNTER_SECTION, AT(result, search), .section = &result_search_section,
		.optional = true},
	{"confidence", "how well the repeats agree; everything else describes the median run", NULL,
		COUNTER_SECTION, AT(result, confidence), .section = &result_confidence_section,
		.optional = true},
	{"repeats", "the valid runs of a repeated run", NULL, COUNTER_LIST, AT(result, repeats),
		.section = &result_repeat_section},
	{"intervals", "time series", NULL, COUNTER_LIST, AT(result, intervals),
		.section = &result_interval_section},
};

const struct counter_section result_section = {
	"result", "a run's result", COUNTER_ROWS(result_rows), sizeof(struct result)};

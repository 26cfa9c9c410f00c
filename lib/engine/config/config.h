// SPDX-License-Identifier: BSD-3-Clause
// The configuration file as structs, and the rows that fill them. Const after config_load
// (config_load.h).
// Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/field.h"
#include "engine/config/control.h"
#include "engine/config/events_settings.h"
#include "engine/config/faults_settings.h"
#include "engine/config/fleet_settings.h"
#include "engine/config/load.h"
#include "engine/config/series_settings.h"
#include "engine/core/servers.h"
#include "io/port_state.h"
#include "net/transport_server.h"
#include "proto/proto.h"

#define CONFIG_MAX_ITEMS 64

struct run_settings {
	const char *name;
	const char *note;         // NULL: none
	struct field_list labels; // const char *, "key=value"
	const char *id;           // NULL: a UUID
	uint64_t warmup_ns, duration_ns;
	uint64_t drain_ns; // UINT64_MAX: until everything was answered or timed out
	uint64_t interval_ns;
	uint64_t seed;
	struct repeat_settings *repeat; // NULL: once
};

struct source_settings {
	struct field_list addresses; // struct addr_range; empty: the port's own
	struct field_list ports;     // struct field_range; empty: item_facts.ports
};

struct after_settings {
	const char *item;
	struct field_list steps; // const char *; empty: all
};

// Facts that follow from the settings of an item and its port. Filled while the configuration is
// loaded (config_resolve, config_complete), and const afterwards.
struct item_facts {
	const struct port_settings *port; // NULL: no such port, or several to choose from
	const struct proto *proto;        // the variant that the settings choose; NULL: no section
	uint32_t index;                   // in protos[]
	void *settings;                   // of the protocol; changed by its fit alone
	const struct tcp_settings *tcp;   // NULL: all messages travel in datagrams
	const struct tls_settings *tls;   // NULL: connections are not over TLS
	const struct https_settings *https; // NULL: messages do not travel by HTTPS
	const struct quic_settings *quic;   // NULL: they do not travel by QUIC
	bool stream;                        // all messages travel over connections
	uint8_t key_bits;    // of transactions: the protocol's, or 32 if messages have no key
	bool sockets;        // the port has driver: socket
	bool reuses_keys;    // the key of an answered transaction may be used again at once
	bool asks_responder; // the embedded responder is its server, or answers in its place
	uint16_t server_port;
	uint32_t asks;                        // times that a transaction asks a server, at most
	uint64_t wait_ns;                     // until a transaction is lost
	uint64_t hold_ns;                     // transaction in flight, with all messages
	const struct item_settings *followed; // the item that this one follows; NULL: none
	struct field_list *further; // struct field_host: further servers, or its protocol's
	struct fleet_share share;   // this box's part of the workers of all boxes
	// This box's part of the workers that share its source ports: the workers of all boxes if
	// each box uses the same ports on addresses of its own; only its own workers if its source
	// addresses are a part of the item's, or if the kernel chooses the ports.
	struct fleet_share ports_share;
	double ports_load; // share of the load on these ports: 1, or the box's part
	// struct addr_range: this box's part of source.addresses, or the port's addresses of the
	// server's family, or with driver: socket the address that the kernel sends from.
	struct field_list sources;
	uint64_t addresses;      // in sources
	struct field_list ports; // struct field_range: source.ports, or the default
	uint64_t port_count;     // in ports
	// Source ports that the kernel chooses, which `ports` stands for; 0: `ports` are used.
	uint32_t free_ports;
};

struct item_settings {
	const char *name;
	const char *port;             // NULL: the only one
	struct after_settings *after; // NULL: follows no item
	union {
		struct field_host host; // as in the file
		struct addr server;     // host.addr; hosts_resolve (hosts.h) fills it in for a name
	};
	uint64_t server_port;      // 0: the protocol's
	struct field_list servers; // struct field_host: further ones; of protocols without a router
	int32_t spread;            // enum server_spread
	uint64_t attempts;         // with SPREAD_STUB, of each server
	bool rotate;
	struct source_settings source;
	uint64_t timeout_ns;
	struct load_settings load;
	void **protocol;         // index as in protos[]; exactly one is not NULL
	struct item_facts facts; // not a setting
};

// The responder as a router (RFC 4861).
struct router_settings {
	bool managed, other;
	uint64_t lifetime_ns;
	struct field_list prefixes; // struct addr_prefix
};

struct responder_settings {
	const char *port;                      // NULL: the only one
	uint64_t server_port;                  // 0: each protocol's own
	void **protocol;                       // index as in protos[]; NULL: not answered
	struct faults_settings *faults;        // NULL: none
	struct transport_server_settings *tcp; // NULL: not given
	struct tls_server_settings *tls;       // NULL: not over TLS
	struct https_server_settings *https;   // NULL: not by HTTPS
	struct quic_server_settings *quic;     // NULL: not by QUIC
	struct control_settings *control;      // NULL: its counters are not served
	struct router_settings *router;        // NULL: not a router
};

// Bounds beyond which a run is invalid, because it does not measure the server.
struct validity_settings {
	double unsent; // share of due
	uint64_t send_lag_p99_ns;
	double dropped; // share of received packets that the tester lost
	double stolen;  // share of the measured time that a worker did not have its CPU
	uint64_t link_down_ns;
	double clock; // disagreement of clocks, as a share of the time
	uint64_t fleet_skew_ns;
};

struct capture_settings {
	const char *file;
	struct field_list when; // int32_t: enum evidence_reason
	uint64_t limit;         // transactions
};

// Files written from the result after the run: X(format, help) gives a member and a row.
#define OUTPUT_FILES(X)                                                                            \
	X(html, "page with charts to write, as one self-contained file")                           \
	X(csv, "CSV table of the intervals to write: one row each, one column per figure")         \
	X(jsonl,                                                                                   \
		"file or unix:SOCKET for one JSON line per interval while the run is in progress") \
	X(keyval, "file to write with every figure of the result as NAME=VALUE")                   \
	X(hdr, "HdrHistogram interval log to write")                                               \
	X(dns_metrics, "JSON lines to write, in the schema of OARC's metrics")                     \
	X(resperf, "plot data to write, as resperf -P does")                                       \
	X(openmetrics, "figures of the result to write, as OpenMetrics text")                      \
	X(junit, "JUnit XML to write, relative to the working directory: one test case per "       \
		 "criterion")
#define OUTPUT_FILE_MEMBER(format, help) const char *format; // NULL: none

struct output_settings {
	struct capture_settings *capture; // NULL: none
	OUTPUT_FILES(OUTPUT_FILE_MEMBER)
	const char *keylog;            // file; NULL: none
	const char *prometheus;        // where to listen, as addr_parse_listen; NULL: nowhere
	bool config;                   // in the result
	struct field_list percentiles; // double: of each latency, besides the fixed ones
};

// Commands before and after a run, not part of it.
struct hooks_settings {
	const char *start, *stop; // NULL: none
	uint64_t timeout_ns;
};

enum probe_format { PROBE_PROC_STAT, PROBE_PAIRS };

extern const char *const probe_formats[]; // by enum probe_format, NULL-terminated

struct probe_settings {
	const char *command;
	int32_t format; // enum probe_format
	uint64_t timeout_ns;
};

struct counters_settings {
	const char *command;
	uint64_t timeout_ns;
};

struct dut_settings {
	struct probe_settings *probe;       // NULL: none
	struct control_settings *control;   // of the responder there; NULL: none
	struct counters_settings *counters; // NULL: none
};

struct config {
	const char
		*file; // first: a section at the same address would be named instead of the whole
	struct conf_tree *tree; // its source
	struct run_settings run;
	struct host_settings host;
	struct field_list ports;    // struct port_settings
	struct field_list traffic;  // struct item_settings
	struct field_list hosts;    // struct host: the names that were looked up
	struct field_list events;   // struct event_settings
	struct field_list stop;     // const char *
	struct field_list criteria; // const char *
	struct validity_settings validity;
	struct output_settings output;
	struct dut_settings dut;
	struct hooks_settings hooks;
	struct responder_settings *responder; // NULL: none
	struct search_settings *search;       // NULL: none
	struct fleet_settings *fleet;         // NULL: this box alone
};

// The rows of the whole file.
const struct field_section *config_section(void);

// Returns the port of that name, or for NULL the only port but the responder's; NULL: none.
const struct port_settings *config_port(const struct config *c, const char *name);
const struct port_settings *config_responder_port(const struct config *c);
// Returns the UDP and TCP port at which the responder answers a protocol.
uint16_t config_responder_server_port(const struct config *c, const struct proto *proto);
// Its port for connections over TLS; 0: none.
uint16_t config_responder_tls_port(const struct config *c, const struct proto *proto);
uint16_t config_responder_https_port(const struct config *c, const struct proto *proto);
uint16_t config_responder_quic_port(const struct config *c, const struct proto *proto);
// Is the address on a subnet of the port, or is there a gateway of its family?
bool config_reaches(const struct port_settings *p, const struct addr *addr);
// Returns whether the port of the item can send to the address; if not, reports the reason at `at`.
bool config_check_way(
	const struct item_settings *i, const struct addr *addr, const void *at, struct diag *d);
// Reports source addresses that contain a server of the item, unless the kernel has both.
void config_check_range(const struct item_settings *i, const struct addr_range *r, struct diag *d);

// Fills the facts of each item that follow from settings alone; config_complete (config_load.h)
// fills the facts that need the addresses of servers.
void config_resolve(const struct config *c);

// Returns the happenings that it follows, one bit each. UINT32_MAX: *wrong is not a step of it.
uint32_t config_happenings(const struct item_settings *i, const struct proto_followed *followed,
	const char *const **wrong);
// Returns the terms of the item's protocol settings; all zero without a protocol.
struct proto_terms config_terms(const struct item_settings *i);
// Reports an error to d if the server's address (len 0: not given) is missing, or of the wrong
// family for the item.
void config_check_server(const struct item_settings *i, const struct addr *server, struct diag *d);
// Fills the fields of the protocol's environment that describe a follower.
void config_env_follower(const struct item_settings *i, struct proto_env *env);

// Returns the new connections per second at the peak of the load, at most. 0: connections are
// opened only at the start. INFINITY: unknown, because there is no rate.
double config_connection_rate(const struct item_settings *i);
// Does any of the ranges (struct field_range) contain the source port?
bool config_wants_port(const struct field_list *ranges, uint32_t port);
// Deals the source ports of a port to items. has: the ports of an item so far, as far as they
// compete with this one, or CONFIG_NOT_WANTED. give: assigns this port to it.
struct config_dealing {
	uint32_t items;
	uint64_t (*has)(void *of, uint32_t item, uint32_t port);
	void (*give)(void *of, uint32_t item, uint32_t port);
	void *of;
};

#define CONFIG_NOT_WANTED UINT64_MAX

// Gives every port to the item with the fewest so far, among the items that want it. Ports that few
// items want are dealt first, so that no item loses a port to an item with a wider choice.
void config_deal_ports(const struct config_dealing *d, struct arena *a);
// Returns the number of source ports of each item. Items that want the same ports share them, and
// an item with few others gets more of them. Items of a protocol with a router choose their own
// ports and are left out.
const uint64_t *config_source_ports(const struct config *c, struct arena *a);
// Returns the number of transactions that can be in flight at once.
uint64_t config_slots_needed(const struct config *c, const struct item_settings *i);

// Transactions whose outcome is remembered (core/txn.h): all begun within three times wait_ns, the
// longest wait for a reply. A fixed number for a closed loop, whose rate is unknown.
uint64_t config_outcomes_needed(
	const struct config *c, const struct item_settings *i, uint64_t wait_ns);

// Returns the number of keys needed. Each rests for three timeouts before it is used again, or for
// one where the key of an answered transaction needs no rest (connections). A closed loop uses the
// keys that are available, and waits when they run out.
uint64_t config_keys_needed(const struct config *c, const struct item_settings *i);

// SPDX-License-Identifier: BSD-3-Clause
// Shared by dnsperf, resperf and kxdpgun: their query files, EDNS options, and parts of their
// output. The item is named queries. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "document/document_reader.h"
#include "front/front_as.h"

extern const struct as_tool front_dnsperf, front_kxdpgun, front_resperf, front_resperf_report;

struct queries {
	struct as_run is;
	bool tcp;            // messages on connections, also over TLS
	bool tls;            // these are over TLS, also by HTTPS
	bool https;          // messages by HTTPS
	double clients;      // sockets, or connections over TCP; 0: not given
	double per_conn;     // queries per connection; 0: unlimited
	double most_per_s;   // rate; 0: unlimited
	int family;          // AF_INET or AF_INET6 from -f; 0: any
	const char *server;  // address or name; NULL: not given
	struct addr address; // of the server, after queries_finish
	char link[16];       // of the server, after queries_finish; "": none
	const char *sni;     // name sent over TLS; NULL: none
	const char *uri;     // of HTTPS; NULL: the default
	bool post;           // by HTTPS
	const char *file;    // of queries; NULL: not given; "-": standard input
	bool binary;         // contains whole messages
	bool updates;        // contains dynamic updates
	int secret;          // from -y: descriptor of a file in memory; 0: none
};

// Options that dnsperf and resperf share.
#define QUERIES_OPTIONS                                                                            \
	{'f', NULL, "FAMILY", "inet, inet6 or any", .set = queries_set_family},                    \
		{'s', NULL, "SERVER", "the server", .place = offsetof(struct queries, server)},    \
		{'p', NULL, "PORT", "its port", "traffic.queries.server_port"},                    \
		{'a', NULL, "ADDRESS", "source address", "ports.lan.addresses", FRONT_PREFIX},     \
		{'d', NULL, "FILE", "queries; default: standard input",                            \
			.place = offsetof(struct queries, file)},                                  \
		{'b', NULL, "KILOBYTES", "",                                                       \
			.ignored = "buffers are as large as the kernel allows"},                   \
		{'t', NULL, "SECONDS", "timeout of a query", .set = queries_set_timeout},          \
		{'e', NULL, NULL, "EDNS", .set = queries_set_edns},                                \
		{'E', NULL, "CODE:VALUE", "an EDNS option", .set = queries_set_option},            \
		{'D', NULL, NULL, "DO bit, with EDNS", .set = queries_set_do},                     \
		{'y', NULL, "KEY", "TSIG: [ALGORITHM:]NAME:SECRET; default: hmac-md5",             \
			.set = queries_set_key},                                                   \
		{'W', NULL, NULL, "warnings and errors to standard output"},                       \
		{'h', NULL, NULL, "this list", .set = as_show_options},                            \
	{                                                                                          \
		'H', NULL, NULL, "this list", .set = as_show_options                               \
	}

// as_option.set; the tool's struct must begin with a struct queries.
int queries_set_mode(struct as_run *r, const char *value); // udp, tcp, dot or doh
int queries_set_long(struct as_run *r, const char *value); // -O
int queries_set_family(struct as_run *r, const char *value);
int queries_set_edns(struct as_run *r, const char *value);
int queries_set_option(struct as_run *r, const char *value);
int queries_set_do(struct as_run *r, const char *value);
int queries_set_timeout(struct as_run *r, const char *value);
int queries_set_key(struct as_run *r, const char *value); // -y; wipes the secret in argv

// as_tool.begin of dnsperf and resperf.
void queries_begin(struct as_run *r);

// Set server, file and transport. A name is looked up in the family of -f. option: as typed. 0, or
// an exit code after an error, which was logged.
int queries_finish(struct as_run *r, const char *server_option, const char *file_option);
// Common first part of dnsperf's and resperf's finish: the head of the output, and the originals'
// defaults. title: of the original.
int queries_prepare(struct as_run *r, const char *title, const char *timeout);

// Count queries or messages in the file that can be sent (0: none), and warn of any others.
// Standard input and pipes are read now, and kept in memory. 0, or an exit code after an error,
// which was logged.
int queries_count(struct as_run *r, uint64_t *count);

// The command line in the original's format: words without quotes.
const char *queries_command_line(const struct as_run *r);
// "127.0.0.1:53" or "[::1]:53". begin: the line LINE_BEGIN.
const char *queries_server(const struct as_run *r, const json_t *begin);
// The item with the originals' figures: completed, lost, run_s, codes ("NOERROR 5 (100.00%),
// SERVFAIL ...") and reconnections, which replaced earlier connections. The caller owns it.
json_t *queries_figures(const struct as_run *r, const json_t *item);
// Latencies of connections as in the originals, which time both handshakes together. With TLS, the
// mean is exact; extremes and deviation assume two independent times. The caller owns it.
json_t *queries_handshakes(const json_t *item);
// Answers by HTTP status: "200: 9, 404: 1".
const char *queries_statuses(const struct as_run *r, const json_t *item);
// Explain the verdict in notes, as far as it exceeds the original's figures.
void queries_explain(const struct as_run *r, const struct document_reader *b);

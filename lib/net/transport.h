// SPDX-License-Identifier: BSD-3-Clause
// How the messages of an item travel, as settings: rows that a protocol puts among its own. It
// knows no more of a transport than that. Path: cold. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/field.h"

enum transport { TRANSPORT_UDP, TRANSPORT_TCP };
enum transport_tc { TRANSPORT_TC_COUNT, TRANSPORT_TC_TCP };
enum transport_closed { TRANSPORT_CLOSED_LOST, TRANSPORT_CLOSED_AGAIN };

// Of the connections of an item.
struct tcp_settings {
	uint64_t connections;            // open at a time, over all workers
	uint64_t queries_per_connection; // UINT64_MAX: any number
	uint64_t pipeline;               // UINT64_MAX: any number
	uint64_t idle_ns;                // UINT64_MAX: a connection stays open
	uint64_t time_wait_ns;
	uint64_t ack_delay_ns;
	uint64_t window; // bytes
	uint64_t syn_tries;
	int32_t closed; // enum transport_closed
	bool timestamps;
};

struct transport_settings {
	int32_t transport;        // enum transport
	int32_t tc;               // enum transport_tc
	struct tcp_settings *tcp; // NULL: none are given
};

extern const char *const transport_names[];
extern const char *const transport_tc_names[];
extern const struct field_section transport_tcp_section;

// The rows of a struct transport_settings at this offset of the protocol's settings.
// clang-format off
#define TRANSPORT_ROWS(at) \
	{.name = "transport", \
		.help = "how messages travel", \
		.type = FIELD_ENUM, \
		.offset = (at) + offsetof(struct transport_settings, transport), \
		.def = "udp", \
		.names = transport_names}, \
	{.name = "tc", \
		.help = "truncated answers: count them, or ask again over tcp", \
		.type = FIELD_ENUM, \
		.offset = (at) + offsetof(struct transport_settings, tc), \
		.def = "count", \
		.names = transport_tc_names}, \
	{.name = "tcp", \
		.help = "the connections of transport: tcp, or of tc: tcp", \
		.type = FIELD_SECTION, \
		.optional = true, \
		.offset = (at) + offsetof(struct transport_settings, tcp), \
		.section = &transport_tcp_section}
// clang-format on

// The settings of connections, or their defaults. NULL: there are none.
const struct tcp_settings *transport_tcp(const struct transport_settings *s);
// Errors go to d.
void transport_check(const struct transport_settings *s, struct diag *d);

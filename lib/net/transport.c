// SPDX-License-Identifier: BSD-3-Clause
// The rows of transports. Path: cold. Any thread.
#include "net/transport.h"

#define TCP(member) offsetof(struct tcp_settings, member)

#define CONNECTIONS  100
#define TIME_WAIT_NS 1000000000u
#define WINDOW       65535
#define SYN_TRIES    4

const char *const transport_names[] = {"udp", "tcp", NULL};

const char *const transport_tc_names[] = {"count", "tcp", NULL};

static const char *const closed_names[] = {"lost", "again", NULL};

static const struct field tcp_fields[] = {
	{.name = "connections",
		.help = "connections at a time",
		.type = FIELD_COUNT,
		.load = true,
		.offset = TCP(connections),
		.def = "100",
		.min = 1,
		.max = 1u << 24},
	{.name = "queries_per_connection",
		.help = "messages that a connection takes; another one follows it then",
		.type = FIELD_COUNT,
		.offset = TCP(queries_per_connection),
		.def = "any",
		.word = "any",
		.min = 1,
		.max = 1u << 30},
	{.name = "pipeline",
		.help = "messages without an answer on a connection; the next ones wait",
		.type = FIELD_COUNT,
		.load = true,
		.offset = TCP(pipeline),
		.def = "any",
		.word = "any",
		.min = 1,
		.max = 32767},
	{.name = "idle",
		.help = "a connection without a message for so long is closed",
		.type = FIELD_DURATION,
		.offset = TCP(idle_ns),
		.def = "never",
		.word = "never",
		.min = 1e6,
		.max = 1e12},
	{.name = "closed",
		.help = "messages whose connection the server closes: lost, or sent again on "
			"another",
		.type = FIELD_ENUM,
		.offset = TCP(closed),
		.def = "lost",
		.names = closed_names},
	{.name = "syn_tries",
		.help = "SYN is sent so often before a connection counts as timed out",
		.type = FIELD_COUNT,
		.offset = TCP(syn_tries),
		.def = "4",
		.min = 1,
		.max = 10},
	{.name = "time_wait",
		.help = "a port of a closed connection rests for so long (RFC 6191)",
		.type = FIELD_DURATION,
		.offset = TCP(time_wait_ns),
		.def = "1s",
		.min = 1e6,
		.max = 240e9},
	{.name = "ack_delay",
		.help = "an answer is acknowledged with the next message, or after so long; 0s: at "
			"once",
		.type = FIELD_DURATION,
		.offset = TCP(ack_delay_ns),
		.def = "0s",
		.max = 5e8},
	{.name = "window",
		.help = "receive window of a connection",
		.type = FIELD_SIZE,
		.offset = TCP(window),
		.def = "65535B",
		.min = 1024,
		.max = 1u << 30},
	{.name = "timestamps",
		.help = "offer timestamps (RFC 7323)",
		.type = FIELD_BOOL,
		.offset = TCP(timestamps),
		.def = "true"},
};

const struct field_section transport_tcp_section = {
	.name = "tcp",
	.help = "connections",
	FIELD_ROWS(tcp_fields),
	.size = sizeof(struct tcp_settings),
};

const struct tcp_settings *transport_tcp(const struct transport_settings *s)
{
	static const struct tcp_settings defaults = {.connections = CONNECTIONS,
		.queries_per_connection = UINT64_MAX,
		.pipeline = UINT64_MAX,
		.idle_ns = UINT64_MAX,
		.time_wait_ns = TIME_WAIT_NS,
		.window = WINDOW,
		.syn_tries = SYN_TRIES,
		.timestamps = true};

	if (!s || (s->transport != TRANSPORT_TCP && s->tc != TRANSPORT_TC_TCP))
		return NULL;
	return s->tcp ? s->tcp : &defaults;
}

void transport_check(const struct transport_settings *s, struct diag *d)
{
	if (s->tcp && !transport_tcp(s))
		diag_error(d, s, "tcp", "is for transport: tcp and tc: tcp");
	if (s->transport == TRANSPORT_TCP && s->tc == TRANSPORT_TC_TCP)
		diag_error(d, s, "tc", "is for transport: udp (over tcp answers are whole)");
}

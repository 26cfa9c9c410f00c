// SPDX-License-Identifier: BSD-3-Clause
// The rows of a server's connections. Path: cold. Any thread.
#include "net/transport_server.h"

#define AT(member) .offset = offsetof(struct transport_server_settings, member)

#define WINDOW 65535

static const char *const accept_names[] = {"answer", "silent", "refuse", "drop", NULL};
static const char *const full_names[] = {"refuse", "drop", NULL};

static const struct field rows[] = {
	{.name = "accept",
		.help = "answer: connections and their messages; silent: connections only; refuse: "
			"each SYN gets a reset; drop: none gets an answer",
		.type = FIELD_ENUM,
		AT(accept),
		.def = "answer",
		.names = accept_names},
	{.name = "connections",
		.help = "connections at a time, divided among the workers; auto: as many as its "
			"testers may have",
		.type = FIELD_COUNT,
		AT(connections),
		.def = "auto",
		.word = "auto",
		.min = 1,
		.max = 1u << 24},
	{.name = "full",
		.help = "a SYN beyond connections: refuse it with a reset, or drop it",
		.type = FIELD_ENUM,
		AT(full),
		.def = "refuse",
		.names = full_names},
	{.name = "idle",
		.help = "close a connection after this time without a message (RFC 7766)",
		.type = FIELD_DURATION,
		AT(idle_ns),
		.def = "never",
		.word = "never",
		.min = 1e6,
		.max = 1e12},
	{.name = "queries_per_connection",
		.help = "messages after which a connection is closed",
		.type = FIELD_COUNT,
		AT(queries_per_connection),
		.def = "any",
		.word = "any",
		.min = 1,
		.max = 1u << 30},
	{.name = "reset",
		.help = "close after queries_per_connection with a reset, when the last answer has "
			"arrived",
		.type = FIELD_BOOL,
		AT(reset),
		.def = "false"},
	{.name = "window",
		.help = "receive window of a connection",
		.type = FIELD_SIZE,
		AT(window),
		.def = "65535B",
		.min = 1024,
		.max = 1u << 30},
};

const struct field_section transport_server_section = {
	.name = "tcp",
	.help = "connections to the responder",
	FIELD_ROWS(rows),
	.size = sizeof(struct transport_server_settings),
};

const struct transport_server_settings *transport_server(const struct transport_server_settings *s)
{
	static const struct transport_server_settings defaults = {.connections = UINT64_MAX,
		.queries_per_connection = UINT64_MAX,
		.idle_ns = UINT64_MAX,
		.window = WINDOW};

	return s ? s : &defaults;
}

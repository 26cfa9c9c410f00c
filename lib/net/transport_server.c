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

#define QUIC(member) .offset = offsetof(struct quic_server_settings, member)

// clang-format off
#define QUIC_SHARE(member, text) \
	{.name = #member, .help = text, .type = FIELD_SHARE, QUIC(member), .def = "0%", .max = 1}
#define QUIC_AFTER(member, text) \
	{.name = #member, .help = text, .type = FIELD_COUNT, QUIC(member), .def = "never", .word = "never", .min = 1, .max = 1u << 30}
#define QUIC_ERROR(member, text, usual) \
	{.name = #member, .help = text, .type = FIELD_COUNT, QUIC(member), .def = usual, .max = 1u << 30}
// clang-format on

static const struct field quic_rows[] = {
	{.name = "port",
		.help = "UDP port; 0: the protocol's default",
		.type = FIELD_COUNT,
		QUIC(port),
		.def = "0",
		.max = 65535},
	{.name = "connections",
		.help = "connections at a time, of a worker; further ones are not answered",
		.type = FIELD_COUNT,
		QUIC(connections),
		.def = "1024",
		.min = 1,
		.max = 1u << 20},
	{.name = "streams",
		.help = "requests at a time on a connection",
		.type = FIELD_COUNT,
		QUIC(streams),
		.def = "100",
		.min = 1,
		.max = 32767},
	{.name = "window",
		.help = "octets that a client may send on a connection, before more are allowed",
		.type = FIELD_SIZE,
		QUIC(window),
		.def = "1MiB",
		.min = 65537,
		.max = 1u << 30},
	{.name = "idle_timeout",
		.help = "idle timeout of connections",
		.type = FIELD_DURATION,
		QUIC(idle_timeout_ns),
		.def = "30s",
		.min = 1e6,
		.max = 1e12},
	QUIC_SHARE(retry, "share of the new connections that get Retry (RFC 9000 section 8.1.2)"),
	QUIC_SHARE(version_negotiation,
		"share of the new connections that are offered versions which nobody has"),
	QUIC_SHARE(drop_initial, "share of the new connections that get no answer"),
	QUIC_SHARE(early_refused, "share of the new connections whose early data is refused"),
	QUIC_SHARE(reset, "share of the requests whose stream is reset"),
	QUIC_ERROR(reset_error, "error of these", "1"),
	QUIC_AFTER(close_after, "requests after which a connection is closed with `close_error`"),
	QUIC_ERROR(close_error, "error of that", "0"),
	QUIC_AFTER(forget_after,
		"requests after which a connection is forgotten: further packets get a stateless "
		"reset"),
	{.name = "no_credit",
		.help = "clients may open no stream",
		.type = FIELD_BOOL,
		QUIC(no_credit),
		.def = "false"},
};

const struct field_section quic_server_section = {
	.name = "quic",
	.help = "connections by QUIC, at a port of their own",
	FIELD_ROWS(quic_rows),
	.size = sizeof(struct quic_server_settings),
};

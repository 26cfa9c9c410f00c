// SPDX-License-Identifier: BSD-3-Clause
// The rows of HTTPS. Path: cold. Any thread.
#include "net/https_settings.h"

#include <string.h>

#include "net/h2.h"
#include "net/hpack.h"

#define WINDOW   1048576
#define NAME_MAX 255
#define PATH_MAX 512
#define HEADERS  16
#define STREAMS  100

static const char *const method_names[] = {"post", "get", NULL};

// The rows that both ends have, of a struct with these members.
// clang-format off
#define COMMON(of) \
	{.name = "header_table", \
		.help = "octets of the table of the peer's headers (RFC 7541 section 4)", \
		.type = FIELD_COUNT, \
		.offset = offsetof(struct of, header_table), \
		.def = "4096", \
		.max = HPACK_TABLE}, \
	{.name = "window", \
		.help = "octets that the peer may send on a stream, and on a connection", \
		.type = FIELD_SIZE, \
		.offset = offsetof(struct of, window), \
		.def = "1MiB", \
		.min = H2_WINDOW, \
		.max = H2_WINDOW_MOST}
// clang-format on

#define AT(member) .offset = offsetof(struct https_settings, member)

static const struct field client_rows[] = {
	{.name = "path",
		.help = "path of the server, with {?name} where the message of method: get goes; "
			"absent: the usual one of the protocol",
		.type = FIELD_STRING,
		AT(path),
		.min = 1,
		.max = PATH_MAX},
	{.name = "authority",
		.help = "name of the server in requests; absent: tls.name, or the server's address",
		.type = FIELD_STRING,
		AT(authority),
		.min = 1,
		.max = NAME_MAX},
	{.name = "method",
		.help = "the message as content (post), or within the path (get)",
		.type = FIELD_ENUM,
		AT(method),
		.def = "post",
		.names = method_names},
	{.name = "headers",
		.help = "further headers of each request, \"name: value\"",
		.type = FIELD_STRING,
		.list = true,
		AT(headers),
		.min = 1,
		.max = NAME_MAX},
	COMMON(https_settings),
};

const struct field_section https_section = {
	.name = "https",
	.help = "HTTP/2 of the connections",
	FIELD_ROWS(client_rows),
	.size = sizeof(struct https_settings),
};

#undef AT
#define AT(member) .offset = offsetof(struct https_server_settings, member)

static const struct field server_rows[] = {
	{.name = "port",
		.help = "TCP port; 0: the protocol's default",
		.type = FIELD_COUNT,
		AT(port),
		.def = "0",
		.max = 65535},
	{.name = "path",
		.help = "path that it answers, with {?name} where the message of GET is; absent: "
			"the usual one of the protocol",
		.type = FIELD_STRING,
		AT(path),
		.min = 1,
		.max = PATH_MAX},
	{.name = "streams",
		.help = "requests at a time on a connection (SETTINGS_MAX_CONCURRENT_STREAMS)",
		.type = FIELD_COUNT,
		AT(streams),
		.def = "100",
		.min = 1,
		.max = 32767},
	COMMON(https_server_settings),
	{.name = "refused",
		.help = "share of the requests that are refused with `status`",
		.type = FIELD_SHARE,
		AT(refused),
		.def = "0%",
		.max = 1},
	{.name = "status",
		.help = "status of these",
		.type = FIELD_COUNT,
		AT(status),
		.def = "503",
		.min = 300,
		.max = 599},
	{.name = "untyped",
		.help = "share of the answers without a content-type",
		.type = FIELD_SHARE,
		AT(untyped),
		.def = "0%",
		.max = 1},
	{.name = "reset",
		.help = "share of the requests whose stream is reset",
		.type = FIELD_SHARE,
		AT(reset),
		.def = "0%",
		.max = 1},
	{.name = "goaway",
		.help = "requests of a connection after which its end is announced (GOAWAY); "
			"further ones stay unheard",
		.type = FIELD_COUNT,
		AT(goaway),
		.def = "never",
		.word = "never",
		.min = 1,
		.max = 1u << 30},
};

const struct field_section https_server_section = {
	.name = "https",
	.help = "connections by HTTP/2 over TLS, at a port of their own",
	FIELD_ROWS(server_rows),
	.size = sizeof(struct https_server_settings),
};

const struct https_settings *https_settings_or(const struct https_settings *s)
{
	static const struct https_settings defaults = {
		.header_table = HPACK_TABLE, .window = WINDOW};

	return s ? s : &defaults;
}

static void check_path(const char *const *path, bool get, struct diag *d)
{
	const char *expression, *rest;

	if (!*path)
		return;
	if (!h2_path_split(*path, &expression, &rest))
		diag_error(d, path, NULL,
			"not a path (like /query{?name}: with at most one {?name} or {&name})");
	else if (get && !expression)
		diag_error(
			d, path, NULL, "method: get needs {?name} in it, where the message goes");
}

void https_check(const struct https_settings *s, struct diag *d)
{
	const char *const *headers = s->headers.items;

	check_path(&s->path, s->method == HTTPS_GET, d);
	if (s->headers.count > HEADERS)
		diag_error(d, &s->headers, NULL, "more than %u", HEADERS);
	for (uint32_t i = 0; i < s->headers.count; i++) {
		const char *wrong = h2_header_wrong(headers[i]);

		if (wrong)
			diag_error(d, &headers[i], NULL, "%s", wrong);
	}
}

void https_server_check(const struct https_server_settings *s, struct diag *d)
{
	check_path(&s->path, true, d);
}

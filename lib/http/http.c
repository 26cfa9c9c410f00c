// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread (start, stop) | threads of libmicrohttpd.
#include "http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "http/serve.h"

#define BEARER  "Bearer " // in any case (RFC 9110, section 11.1)
#define ALLOWED "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-" // in names

bool http_may(struct MHD_Connection *connection, const char *token)
{
	const char *given = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	size_t len, own = strlen(token);
	unsigned differs;

	if (!given || strncasecmp(given, BEARER, strlen(BEARER)) != 0)
		return false;
	given += strlen(BEARER);
	len = strlen(given);
	differs = len != own;
	for (size_t i = 0; i < own; i++)
		differs |= (unsigned)(uint8_t)token[i] ^ (uint8_t)given[i < len ? i : len];
	return differs == 0;
}

// --- replies

static struct http_reply reply(unsigned code, const char *type, struct MHD_Response *r)
{
	static const char *const headers[][2] = {
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Referrer-Policy", "no-referrer"},
		{"Cache-Control", "no-store"},
	};

	for (size_t i = 0; r && i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(r, headers[i][0], headers[i][1]);
	if (r)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	return (struct http_reply){code, r};
}

static struct http_reply reply_text(unsigned code, const char *type, char *text, size_t len)
{
	return reply(code, type, MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE));
}

struct http_reply http_text(const char *type, char *text, size_t len)
{
	return reply_text(MHD_HTTP_OK, type, text, len);
}

struct http_reply http_json(unsigned code, json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));

	json_decref(json);
	if (!text)
		return http_error(MHD_HTTP_INTERNAL_SERVER_ERROR, "no text of it");
	return reply_text(code, "application/json", text, strlen(text));
}

struct http_reply http_file(const char *type, int fd)
{
	struct stat st;

	if (fd < 0)
		return http_error(MHD_HTTP_NOT_FOUND, "there is no such file");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return http_error(MHD_HTTP_NOT_FOUND, "not a file");
	}
	return reply(MHD_HTTP_OK, type, MHD_create_response_from_fd64((uint64_t)st.st_size, fd));
}

struct http_reply http_error(unsigned code, const char *fmt, ...)
{
	char text[1024];
	json_t *error;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	error = json_string(text);
	// A name that was cut within a letter is not UTF-8.
	for (char *at = text; !error && *at; at++)
		*at = (char)((unsigned char)*at < 0x80 ? *at : '?');
	return http_json(code, json_pack("{s:o}", "error", error ? error : json_string(text)));
}

const char *http_query(const struct http_request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

json_t *http_body(const struct http_request *r)
{
	json_t *body = r->len ? json_loadb(r->body, r->len, 0, NULL) : json_object();

	if (json_is_object(body))
		return body;
	json_decref(body);
	return NULL;
}

// --- which row

static bool is_name(const char *text, size_t len)
{
	return len > 0 && len < HTTP_NAME_SIZE && !strchr(".-", text[0]) &&
	       strspn(text, ALLOWED) >= len;
}

// Does the path match the row's, and which names are in it?
static bool matches(const char *row, const char *path, struct http_request *r)
{
	unsigned names = 0;

	while (*row && *path) {
		size_t len = strcspn(path, "/");

		if (*row != '{') {
			if (*row++ != *path++)
				return false;
			continue;
		}
		if (!is_name(path, len) || names == HTTP_PARAMETERS)
			return false;
		memcpy(r->names[names], path, len);
		r->names[names++][len] = '\0';
		path += len;
		row += strcspn(row, "}") + 1;
	}
	return *row == *path;
}

// NULL: *code is the reason.
static const struct http_route *find_route(
	const struct http *h, const char *method, const char *path, struct http_request *r)
{
	const struct http_route *route;

	for (route = h->routes; route->path; route++)
		if (strcmp(route->method, method) == 0 && matches(route->path, path, r))
			return route;
	return NULL;
}

static bool is_known_path(const struct http *h, const char *path, struct http_request *r)
{
	for (const struct http_route *route = h->routes; route->path; route++)
		if (matches(route->path, path, r))
			return true;
	return false;
}

// --- the rules

// An address, localhost, or the name that the user has allowed, with any port. Any other name may
// be a foreign site's that now resolves to this server.
static bool is_host(const struct http *h, const char *given)
{
	char text[256], bytes[16];
	const char *end, *port;
	size_t len;

	if (!given)
		return false;
	end = given[0] == '[' ? strchr(given, ']') : NULL;
	if (given[0] == '[' && !end)
		return false;
	given += end != NULL;
	len = end ? (size_t)(end - given) : strcspn(given, ":");
	port = given + len + (end != NULL);
	if (len >= sizeof(text) || (*port && *port != ':') ||
		(*port && port[1 + strspn(port + 1, "0123456789")]))
		return false;
	memcpy(text, given, len);
	text[len] = '\0';
	if (end) // no name stands in brackets
		return inet_pton(AF_INET6, text, bytes) == 1;
	return inet_pton(AF_INET, text, bytes) == 1 || strcasecmp(text, "localhost") == 0 ||
	       (h->host && strcasecmp(text, h->host) == 0);
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

// Does a browser open a page?
static bool wants_page(const struct http_request *r, const char *method)
{
	const char *accept = header(r->connection, MHD_HTTP_HEADER_ACCEPT);

	return strcmp(method, MHD_HTTP_METHOD_GET) == 0 && accept && strstr(accept, "text/html");
}

// A page that leads back for browsers, the error for all others.
static struct http_reply no_such_path(const struct http_request *r, const char *method)
{
	static char page[] =
		"<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<link rel=\"icon\" href=\"data:,\">\n"
		"<title>Not found – ddiperf</title>\n"
		"<body style=\"font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; "
		"max-width: 40rem; padding: 0 1rem\">\n"
		"<h1>Not found</h1>\n<p>There is no such page. "
		"<a href=\"/\">All runs</a></p></body></html>\n";

	if (!wants_page(r, method))
		return http_error(MHD_HTTP_NOT_FOUND, "there is no such path");
	return reply(MHD_HTTP_NOT_FOUND, "text/html; charset=utf-8",
		MHD_create_response_from_buffer(strlen(page), page, MHD_RESPMEM_PERSISTENT));
}

// The reply that refuses the request; code 0: none does. The body has not been read.
static struct http_reply refuse(
	const struct http *h, struct http_request *r, const char *method, const char *path)
{
	const char *length = header(r->connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
	bool changes = strcmp(method, MHD_HTTP_METHOD_GET) != 0;

	if (!is_host(h, header(r->connection, MHD_HTTP_HEADER_HOST)))
		return http_error(MHD_HTTP_FORBIDDEN,
			"this server has another name (start it with --host NAME)");
	r->route = find_route(h, method, path, r);
	// A browser that opens a page cannot send the token.
	if (!r->route && wants_page(r, method) && !is_known_path(h, path, r))
		return no_such_path(r, method);
	if (h->token && !(r->route && r->route->open) && !http_may(r->connection, h->token))
		return http_error(MHD_HTTP_UNAUTHORIZED, "the token is wrong or missing");
	if (!r->route && is_known_path(h, path, r))
		return http_error(MHD_HTTP_METHOD_NOT_ALLOWED, "not by %.20s", method);
	if (!r->route)
		return no_such_path(r, method);
	if (changes && !header(r->connection, HTTP_HEADER))
		return http_error(
			MHD_HTTP_FORBIDDEN, "a change needs the header " HTTP_HEADER ": 1");
	// Reading a useless body could take as long as its sender likes.
	if (r->route->body_max == 0 && (header(r->connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) ||
					       (length && strtoull(length, NULL, 10))))
		return http_error(MHD_HTTP_CONTENT_TOO_LARGE, "no body belongs here");
	if (length && strtoull(length, NULL, 10) > r->route->body_max)
		return http_error(MHD_HTTP_CONTENT_TOO_LARGE, "the body is longer than %zu octets",
			r->route->body_max);
	return (struct http_reply){0};
}

// --- who is connected

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

// Under the lock, like the next functions.
static void cut(struct http_caller *c)
{
	shutdown(c->fd, SHUT_RDWR);
	c->until_ms = 0;
	c->known = true; // it has no place among the strangers any more
}

static void put_address(struct http_caller *c, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *a = info ? info->client_addr : NULL;

	memset(c->address, 0, sizeof(c->address));
	if (a && a->sa_family == AF_INET)
		memcpy(c->address, &((const struct sockaddr_in *)a)->sin_addr, 4);
	else if (a && a->sa_family == AF_INET6) // all addresses of a host share its network
		memcpy(c->address, &((const struct sockaddr_in6 *)a)->sin6_addr, 8);
}

// Room for one more stranger.
static void make_room(struct http *h, const struct http_caller *newest)
{
	struct http_caller *oldest = NULL, *oldest_there = NULL;
	unsigned count = 0, there = 0;

	for (struct http_caller *c = h->callers; c < h->callers + HTTP_CONNECTIONS; c++) {
		bool same = memcmp(c->address, newest->address, sizeof(c->address)) == 0;

		if (c->fd < 0 || c->known || c == newest)
			continue;
		count++;
		there += same;
		if (!oldest || c->began_ms < oldest->began_ms)
			oldest = c;
		if (same && (!oldest_there || c->began_ms < oldest_there->began_ms))
			oldest_there = c;
	}
	if (there >= HTTP_STRANGERS_OF_ADDRESS)
		cut(oldest_there);
	else if (count >= HTTP_STRANGERS)
		cut(oldest);
}

static struct http_caller *enter(struct http *h, struct MHD_Connection *connection, int fd)
{
	struct http_caller *c = h->callers;
	uint64_t now = now_ms();

	while (c < h->callers + HTTP_CONNECTIONS - 1 && c->fd >= 0)
		c++;
	*c = (struct http_caller){.fd = fd, .began_ms = now, .until_ms = now + HTTP_PATIENCE_MS};
	put_address(c, connection);
	make_room(h, c);
	return c;
}

static void connected(
	void *ctx, struct MHD_Connection *c, void **place, enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http_caller *caller = *place;
	struct http *h = ctx;

	pthread_mutex_lock(&h->lock);
	if (code == MHD_CONNECTION_NOTIFY_STARTED && info)
		*place = caller = enter(h, c, info->connect_fd);
	if (h->tls && caller)
		serve_tls_demand(h->tls, c, &caller->keys, code);
	if (code != MHD_CONNECTION_NOTIFY_STARTED && caller)
		caller->fd = -1; // before it is closed
	pthread_mutex_unlock(&h->lock);
}

static struct http_caller *caller_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

// ms 0: no end.
static void give_time(struct http *h, struct MHD_Connection *c, uint64_t ms, bool known)
{
	struct http_caller *caller = caller_of(c);

	pthread_mutex_lock(&h->lock);
	if (caller) {
		caller->until_ms = ms ? now_ms() + ms : 0;
		caller->known |= known;
	}
	pthread_mutex_unlock(&h->lock);
}

void http_tick(struct http *h)
{
	uint64_t now = now_ms();

	pthread_mutex_lock(&h->lock);
	for (struct http_caller *c = h->callers; c < h->callers + HTTP_CONNECTIONS; c++)
		if (c->fd >= 0 && c->until_ms && now > c->until_ms)
			cut(c);
	pthread_mutex_unlock(&h->lock);
}

// --- the thread of a connection

static enum MHD_Result send_reply(struct MHD_Connection *c, struct http_reply r)
{
	enum MHD_Result queued;

	if (!r.response)
		return MHD_NO;
	if (r.code == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r.response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	queued = MHD_queue_response(c, r.code, r.response);
	MHD_destroy_response(r.response);
	return queued;
}

static void take_body(struct http_request *r, const char *data, size_t len)
{
	char *more;

	if (r->too_long || len > r->route->body_max - r->len) {
		r->too_long = true;
		return;
	}
	more = realloc(r->body, r->len + len + 1);
	if (!more) {
		r->too_long = true;
		return;
	}
	r->body = more;
	memcpy(more + r->len, data, len);
	r->len += len;
	more[r->len] = '\0';
}

// ms, at least 1.
static uint64_t time_left(const struct http_request *r)
{
	uint64_t end = r->began_ms + HTTP_PATIENCE_MS + r->len / HTTP_BODY_RATE, now = now_ms();

	return end > now ? end - now : 1;
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *connection, const char *path,
	const char *method, const char *version, const char *data, size_t *size, void **request)
{
	struct http *h = ctx;
	struct http_request *r = *request;
	struct http_reply refused;

	if (!r) {
		*request = r = calloc(1, sizeof(*r));
		if (!r)
			return MHD_NO;
		r->connection = connection;
		r->began_ms = now_ms();
		refused = refuse(h, r, method, path);
		give_time(h, connection, HTTP_PATIENCE_MS,
			!refused.code && h->token && !r->route->open);
		return refused.code ? send_reply(connection, refused) : MHD_YES;
	}
	if (*size) {
		take_body(r, data, *size);
		*size = 0;
		give_time(h, connection, time_left(r), false);
		return MHD_YES;
	}
	give_time(h, connection, r->route->open ? HTTP_PATIENCE_MS : 0, !h->token);
	if (r->too_long)
		return send_reply(connection,
			http_error(MHD_HTTP_CONTENT_TOO_LARGE, "the body is longer than %zu octets",
				r->route->body_max));
	return send_reply(connection, r->route->answer(h->ctx, r));
}

static void completed(void *ctx, struct MHD_Connection *connection, void **request,
	enum MHD_RequestTerminationCode why)
{
	struct http_request *r = *request;

	if (r)
		free(r->body);
	free(r);
	*request = NULL;
	give_time(ctx, connection, HTTP_PATIENCE_MS, false);
}

int http_start(struct http *h)
{
	pthread_mutex_init(&h->lock, NULL);
	for (size_t i = 0; i < HTTP_CONNECTIONS; i++)
		h->callers[i].fd = -1;
	h->daemon = serve_start(&(struct serve_daemon){.fd = h->fd,
		.connections = HTTP_CONNECTIONS,
		.threads = true,
		.tls = h->tls,
		.answer = answer,
		.completed = completed,
		.connected = connected,
		.ctx = h});
	return h->daemon ? 0 : -EAGAIN;
}

void http_stop(struct http *h)
{
	if (h->daemon)
		MHD_stop_daemon(h->daemon); // closes the socket too
	else
		close(h->fd);
	h->daemon = NULL;
}

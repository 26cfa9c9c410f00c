// SPDX-License-Identifier: BSD-3-Clause
// Requests and replies of an HTTP interface with a row for each path, and the checks that each
// request must pass first: the Host header (DNS rebinding), the token, a custom header in requests
// that change something (forged requests), the length of the body. A thread of its own answers each
// connection. Path: cold. Main thread (start, stop) | threads of libmicrohttpd.
#pragma once

#include <jansson.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/serve_tls.h"

#define HTTP_HEADER      "X-Ddiperf" // any value, in all requests but GET
#define HTTP_CONNECTIONS 48
// Callers that have not shown yet that they may ask: of one address, and in all. The oldest one
// makes room for a new one, so they cannot shut others out.
#define HTTP_STRANGERS_OF_ADDRESS 16
#define HTTP_STRANGERS            32
// Limits a whole request, and a reply to a request without a token; longer bodies have more.
#define HTTP_PATIENCE_MS 20000
#define HTTP_BODY_RATE   16 // octets a ms at least
#define HTTP_PARAMETERS  2
#define HTTP_NAME_SIZE   101 // of a name in a path, with its end
#define HTTP_BODY_MAX    (1 << 20)
#define HTTP_FILE_MAX    (16 << 20)

struct http_request {
	struct MHD_Connection *connection;
	const struct http_route *route;
	// In order of the path. Letters, digits, '.', '_' and '-', not beginning with '.' or '-'.
	char names[HTTP_PARAMETERS][HTTP_NAME_SIZE];
	char *body; // NUL-terminated
	size_t len;
	bool too_long;
	uint64_t began_ms;
};

struct http_reply {
	unsigned code;
	struct MHD_Response *response;
};

struct http_query {
	const char *name, *help;
};

struct http_route {
	const char *method, *path;      // "/api/v1/runs/{id}"
	const char *summary;            // one line, no full stop
	const char *takes;              // media type of the body; NULL: none
	const char *gives;              // of the reply
	unsigned code;                  // of a reply without an error
	bool open;                      // needs no token
	size_t body_max;                // octets
	const struct http_query *query; // the row behind the last one has no name; NULL: none
	struct http_reply (*answer)(void *ctx, struct http_request *r);
};

// A connection.
struct http_caller {
	int fd;            // -1: none is in this place
	uint64_t began_ms; // of the connection
	uint64_t until_ms; // it is cut off; 0: an answer takes as long as it takes
	bool known;        // it has shown that it may ask
	uint8_t address[16];
	void *keys; // serve_tls_demand's
};

struct http {
	int fd;                          // listens
	const struct http_route *routes; // the row behind the last one has no path
	const char *token;               // NULL: none is wanted
	const char *host;                // name that clients may use; NULL: none
	struct serve_tls *tls;           // NULL: not encrypted
	void *ctx;
	// http.c's own.
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock; // of callers
	struct http_caller callers[HTTP_CONNECTIONS];
};

// 0, or -EAGAIN: no thread to answer. Sets all but the last members.
int http_start(struct http *h);
// To be called repeatedly: closes connections that need longer than HTTP_PATIENCE_MS for a request.
void http_tick(struct http *h);
void http_stop(struct http *h);

// Replies. json and text are the reply's from then on.
struct http_reply http_json(unsigned code, json_t *json);
struct http_reply http_text(const char *type, char *text, size_t len);
struct http_reply http_file(const char *type, int fd); // -1: 404
// {"error": "..."}
struct http_reply http_error(unsigned code, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

// Does the request carry the token? The comparison takes the same time for every wrong one. Any
// thread.
bool http_may(struct MHD_Connection *connection, const char *token);

// A value of the query; NULL: not given.
const char *http_query(const struct http_request *r, const char *name);
// The body as a JSON object, or NULL.
json_t *http_body(const struct http_request *r);

// The rows as an OpenAPI 3 document, but for pages. The caller owns it.
json_t *http_openapi(const struct http_route *routes, const char *title, const char *version);

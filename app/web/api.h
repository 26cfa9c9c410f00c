// SPDX-License-Identifier: BSD-3-Clause
// The HTTP interface of a folder of runs: routes (http.h), which also generate its OpenAPI
// document. Path: cold. Threads of libmicrohttpd.
#pragma once

#include "web/api_metrics.h"
#include "http/http.h"
#include "fleet/agent_list.h"
#include "web/runs.h"

#define API "/api/v1"

struct api {
	struct runs *runs;
	const char *version;
	struct api_metrics metrics;
	struct agent_list *roster; // NULL: there is no fleet
	// Arguments of a run on the fleet, in pairs; NULL-terminated.
	const char *const *fleet;
};

extern const struct http_route api_routes[]; // ctx: struct api

// --- replies, by file ---

struct http_reply api_follow(void *ctx, struct http_request *r);      // api_follow.c
struct http_reply api_metrics(void *ctx, struct http_request *r);     // api_metrics.c
struct http_reply api_list_files(void *ctx, struct http_request *r);  // api_files.c
struct http_reply api_get_file(void *ctx, struct http_request *r);    // api_files.c
struct http_reply api_put_file(void *ctx, struct http_request *r);    // api_files.c
struct http_reply api_delete_file(void *ctx, struct http_request *r); // api_files.c
struct http_reply api_check(void *ctx, struct http_request *r);       // api_files.c

// The errors that `ddiperf check` (or campaign, if it is one) reports for files/NAME with these
// arguments: an array of {line,
// column, text}, empty if there are none. NULL: the check failed to run.
json_t *api_errors_of(
	const struct api *a, const char *name, const char *const *more, unsigned count);

// SPDX-License-Identifier: BSD-3-Clause
// The rows of an HTTP interface as an OpenAPI 3 document. Path: cold. Any thread.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "http/http.h"

static json_t *parameter(const char *name, const char *in, const char *help)
{
	bool path = strcmp(in, "path") == 0;

	return json_pack("{s:s, s:s, s:b, s:s, s:{s:s}}", "name", name, "in", in, "required", path,
		"description", help, "schema", "type", "string");
}

static json_t *parameters(const struct http_route *route)
{
	json_t *list = json_array();

	for (const char *at = route->path; (at = strchr(at, '{'));) {
		char name[32];

		at++;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "}"), at);
		json_array_append_new(
			list, parameter(name, "path", "letters, digits, '.', '_' and '-'"));
	}
	for (const struct http_query *q = route->query; q && q->name; q++)
		json_array_append_new(list, parameter(q->name, "query", q->help));
	if (strcmp(route->method, MHD_HTTP_METHOD_GET) != 0)
		json_array_append_new(
			list, json_pack("{s:s}", "$ref", "#/components/parameters/Change"));
	return list;
}

static json_t *content(const char *type)
{
	bool is_json = strcmp(type, "application/json") == 0;

	return json_pack("{s:{s:{s:s}}}", type, "schema", "type", is_json ? "object" : "string");
}

static json_t *operation(const struct http_route *route)
{
	json_t *op =
		json_pack("{s:s, s:o}", "summary", route->summary, "parameters", parameters(route));
	char code[8], id[128], *to = id;

	// A name of its own: get_runs_id.
	to += snprintf(id, sizeof(id), "%s%s", route->method, route->path);
	for (char *from = to = id; *from; from++)
		if (!strchr("{}", *from))
			*to++ = (char)(strchr("/.", *from) ? '_' : *from);
	*to = '\0';
	json_object_set_new(op, "operationId", json_string(id));
	snprintf(code, sizeof(code), "%u", route->code);
	json_object_set_new(op, "responses",
		json_pack("{s:{s:s, s:o}, s:{s:s}}", code, "description", route->summary, "content",
			content(route->gives), "default", "$ref", "#/components/responses/Error"));
	if (route->takes)
		json_object_set_new(op, "requestBody",
			json_pack("{s:b, s:o}", "required", 1, "content", content(route->takes)));
	if (route->open)
		json_object_set_new(op, "security", json_array());
	return op;
}

static json_t *components(void)
{
	return json_pack("{s:{s:{s:s, s:s}}, s:{s:{s:s, s:s, s:b, s:s, s:{s:s}}},"
			 " s:{s:{s:s, s:{s:{s:{s:s, s:[s], s:{s:{s:s}}}}}}}}",
		"securitySchemes", "token", "type", "http", "scheme", "bearer", "parameters",
		"Change", "name", HTTP_HEADER, "in", "header", "required", 1, "description",
		"any value: pages elsewhere cannot send it", "schema", "type", "string",
		"responses", "Error", "description", "the request was refused", "content",
		"application/json", "schema", "type", "object", "required", "error", "properties",
		"error", "type", "string");
}

json_t *http_openapi(const struct http_route *routes, const char *title, const char *version)
{
	json_t *paths = json_object();

	for (const struct http_route *r = routes; r->path; r++) {
		json_t *path = json_object_get(paths, r->path);
		char method[16];

		if (strcmp(r->gives, "text/html") == 0)
			continue;
		if (!path) {
			path = json_object();
			json_object_set_new(paths, r->path, path);
		}
		for (size_t i = 0; i <= strlen(r->method) && i < sizeof(method); i++)
			method[i] = (char)(r->method[i] | (r->method[i] ? 0x20 : 0));
		json_object_set_new(path, method, operation(r));
	}
	return json_pack("{s:s, s:{s:s, s:s}, s:o, s:o, s:[{s:[]}]}", "openapi", "3.0.3", "info",
		"title", title, "version", version, "paths", paths, "components", components(),
		"security", "token");
}

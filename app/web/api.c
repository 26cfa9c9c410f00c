// SPDX-License-Identifier: BSD-3-Clause
// The routes, and the replies about runs. Path: cold. Threads of libmicrohttpd.
#include "web/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "document/document_reader.h"
#include "process/child.h"
#include "campaign/campaign.h"
#include "conf/schema.h"
#include "engine/config/config.h"
#include "format/format.h"
#include "compare/history.h"
#include "report/page.h"
#include "web/api_samples.h"
#include "web/runs_ports.h"

#define REPORT_MS    120000
#define LEASE_MOST_S 3600
#define CPU_MAX      32768 // octets of /proc/stat; the CPU lines come first

static struct http_reply done(const struct runs_error *e, json_t *json)
{
	if (e->code == 0)
		return http_json(MHD_HTTP_OK, json);
	json_decref(json);
	return http_error(e->code, "%s", e->text);
}

static struct http_reply get_page(void *ctx, struct http_request *r)
{
	char *text = strdup(page_serve);

	return text ? http_text("text/html; charset=utf-8", text, strlen(text))
	            : http_error(MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory");
}

static struct http_reply get_server(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;

	bool up = false;
	json_t *agents = a->roster ? agent_list_list(a->roster, &up) : json_array();

	return http_json(MHD_HTTP_OK,
		json_pack("{s:s, s:b, s:o, s:o}", "version", a->version, "allow_commands",
			runs_allow_commands(a->runs), "fleet",
			a->roster ? json_pack("{s:b}", "up", up) : json_null(), "agents", agents));
}

static struct http_reply get_cpu(void *ctx, struct http_request *r)
{
	char *text = malloc(CPU_MAX);
	FILE *f = fopen("/proc/stat", "re");
	size_t len = f && text ? fread(text, 1, CPU_MAX, f) : 0;

	if (f)
		fclose(f);
	if (len)
		return http_text("text/plain", text, len);
	free(text);
	return http_error(MHD_HTTP_NOT_FOUND, "there is no /proc/stat");
}

static struct http_reply get_openapi(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;

	return http_json(MHD_HTTP_OK, http_openapi(api_routes, "ddiperf serve", a->version));
}

static struct http_reply get_schema(void *ctx, struct http_request *r)
{
	const char *of = http_query(r, "of");
	bool campaign = of && strcmp(of, "campaign") == 0;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return http_error(MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory");
	conf_json_schema(campaign ? campaign_section() : config_section(), "ddiperf", f);
	fclose(f);
	return http_text("application/json", text, len);
}

static struct http_reply get_history(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	char path[RUNS_PATH];
	json_t *entries = NULL;

	if (access(runs_path(a->runs, path, "history.jsonl"), R_OK) == 0)
		entries = history_read(path);
	return http_json(MHD_HTTP_OK, json_pack("{s:o}", "runs", entries ? entries : json_array()));
}

// --- runs

static struct http_reply list_runs(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;

	return http_json(MHD_HTTP_OK, json_pack("{s:o}", "runs", runs_list(a->runs)));
}

static struct http_reply get_run(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	json_t *state = runs_state(a->runs, r->names[0]);

	runs_look(a->runs, r->names[0]);

	return state ? http_json(MHD_HTTP_OK, state)
	             : http_error(MHD_HTTP_NOT_FOUND, "there is no run %s", r->names[0]);
}

// The settings in the body as arguments. false: not a list of settings.
static bool read_sets(const json_t *list, const char **arguments, unsigned *count)
{
	const json_t *one;
	size_t i;

	*count = 0;
	if (list && (!json_is_array(list) || json_array_size(list) > RUNS_SETS))
		return false;
	json_array_foreach(list, i, one)
	{
		if (!json_is_string(one))
			return false;
		arguments[(*count)++] = "--set";
		arguments[(*count)++] = json_string_value(one);
	}
	return true;
}

// Arguments of a run on the agents requested in the body. NULL, or why that is not possible.
static const char *read_fleet(const struct api *a, const json_t *fleet, const char **arguments,
	unsigned *count, char number[16])
{
	const json_t *agents = json_object_get(fleet, "agents"),
		     *labels = json_object_get(fleet, "select");
	json_int_t wanted = json_integer_value(agents);

	if (!fleet)
		return NULL;
	if (!a->roster)
		return "this server has no fleet (start it with --fleet URL)";
	if (!json_is_object(fleet) || (agents && (wanted < 1 || wanted > 9999)) ||
		(labels && !json_is_string(labels)))
		return "\"fleet\" is like {\"agents\": 4, \"select\": \"rack=1\"}, or {} for all "
		       "agents";
	for (const char *const *one = a->fleet; *one; one++)
		arguments[(*count)++] = *one;
	if (agents) {
		snprintf(number, 16, "%d", (int)wanted);
		arguments[(*count)++] = "--agents";
		arguments[(*count)++] = number;
	}
	if (labels) {
		arguments[(*count)++] = "--select";
		arguments[(*count)++] = json_string_value(labels);
	}
	return NULL;
}

static bool is_file(const struct api *a, const char *name)
{
	char path[RUNS_PATH];

	return *name && !strchr(".-", name[0]) && !strchr(name, '/') &&
	       strlen(name) < HTTP_NAME_SIZE &&
	       access(runs_path(a->runs, path, "files/%s", name), R_OK) == 0;
}

static struct http_reply start(const struct api *a, const char *file, const json_t *body)
{
	const char *arguments[RUNS_MORE], *wrong;
	json_t *fleet = json_object_get(body, "fleet");
	json_int_t lease = json_integer_value(json_object_get(body, "respond"));
	char number[16], path[RUNS_PATH];
	struct runs_error e;
	unsigned count;
	json_t *errors;
	char id[RUNS_ID_SIZE] = "";

	if (!is_file(a, file))
		return http_error(MHD_HTTP_NOT_FOUND, "there is no file %.100s", file);
	if (!read_sets(json_object_get(body, "set"), arguments, &count))
		return http_error(MHD_HTTP_BAD_REQUEST,
			"\"set\" is a list of up to %d texts like run.duration=5s", RUNS_SETS);
	errors = api_errors_of(a, file, arguments, count);
	if (!errors)
		return http_error(
			MHD_HTTP_INTERNAL_SERVER_ERROR, "it could not be checked in time");
	if (json_array_size(errors))
		return http_json(MHD_HTTP_UNPROCESSABLE_CONTENT,
			json_pack("{s:s, s:o}", "error", "the file has errors", "errors", errors));
	json_decref(errors);
	wrong = read_fleet(a, fleet, arguments, &count, number);
	if (wrong)
		return http_error(MHD_HTTP_BAD_REQUEST, "%s", wrong);
	if ((fleet || lease) && runs_is_campaign(runs_path(a->runs, path, "files/%s", file)))
		return http_error(MHD_HTTP_BAD_REQUEST,
			"%s is a campaign, which runs on this host only, without \"fleet\" and "
			"\"respond\"",
			file);
	if (json_object_get(body, "respond") && (lease < 1 || lease > LEASE_MOST_S || fleet))
		return http_error(MHD_HTTP_BAD_REQUEST,
			"\"respond\" is 1 to %d seconds, after which a responder ends if its state "
			"is not requested; it cannot run on a fleet",
			LEASE_MOST_S);
	runs_start(a->runs, (unsigned)lease, file, arguments, count, fleet, id, &e);
	if (e.code)
		return http_error(e.code, "%s", e.text);
	return http_json(MHD_HTTP_CREATED, json_pack("{s:s}", "id", id));
}

static struct http_reply start_run(void *ctx, struct http_request *r)
{
	json_t *body = http_body(r);
	struct http_reply reply;

	if (!body || !json_is_string(json_object_get(body, "file")))
		reply = http_error(MHD_HTTP_BAD_REQUEST,
			"the body is JSON: {\"file\": NAME, \"set\": [], \"fleet\": {}, "
			"\"respond\": 30}, the last three as wanted");
	else
		reply = start(ctx, json_string_value(json_object_get(body, "file")), body);
	json_decref(body);
	return reply;
}

static struct http_reply stop_run(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	struct runs_error e;

	runs_stop(a->runs, r->names[0], &e);
	return done(&e, json_pack("{s:s}", "stopping", r->names[0]));
}

static struct http_reply resume_run(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	struct runs_error e;

	runs_resume(a->runs, r->names[0], &e);
	return done(&e, json_pack("{s:s}", "resumed", r->names[0]));
}

// {"set": ...} is the older form of {"order": ...}.
static struct http_reply order_run(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	json_t *body = http_body(r), *set = json_object_get(body, "set");
	struct runs_error e = {MHD_HTTP_BAD_REQUEST,
		"the body is an order: {\"order\": \"traffic.NAME.load.rate=5k\", \"at_ns\": "
		"Unix time in ns, if not at once}"};
	struct http_reply reply;

	if (set)
		json_object_set(body, "order", set);
	json_object_del(body, "set");
	if (json_is_string(json_object_get(body, "order")))
		runs_order(a->runs, r->names[0], body, &e);
	reply = done(&e, json_pack("{s:O?}", "ordered", json_object_get(body, "order")));
	json_decref(body);
	return reply;
}

static struct http_reply delete_run(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	struct runs_error e;

	runs_delete(a->runs, r->names[0], &e);
	return done(&e, json_pack("{s:s}", "deleted", r->names[0]));
}

// --- results

static struct http_reply file_of_run(
	const struct api *a, const struct http_request *r, const char *name, const char *type)
{
	char path[RUNS_PATH];

	snprintf(path, sizeof(path), "runs/%s/%s", r->names[0], name);
	return http_file(type, runs_read(a->runs, path));
}

// Is it the id of a campaign?
static bool is_campaign(const struct api *a, const struct http_request *r)
{
	json_t *state = runs_state(a->runs, r->names[0]);
	bool found = json_object_get(state, "campaign") != NULL;

	json_decref(state);
	return found;
}

static struct http_reply get_result(void *ctx, struct http_request *r)
{
	return file_of_run(
		ctx, r, is_campaign(ctx, r) ? RUNS_TABLE : "result.json", "application/json");
}

static struct http_reply get_log(void *ctx, struct http_request *r)
{
	return file_of_run(ctx, r, "log.txt", "text/plain; charset=utf-8");
}

static struct http_reply get_config(void *ctx, struct http_request *r)
{
	return file_of_run(ctx, r, "run.yaml", "text/plain; charset=utf-8");
}

static struct http_reply get_output(void *ctx, struct http_request *r)
{
	return file_of_run(ctx, r, r->names[1], "application/octet-stream");
}

static struct http_reply campaign_page(const struct api *a, const struct http_request *r)
{
	char path[RUNS_PATH], *text = NULL;
	json_t *table = json_load_file(
		runs_path(a->runs, path, "runs/%s/" RUNS_TABLE, r->names[0]), 0, NULL);
	size_t len = 0;
	FILE *f = table ? open_memstream(&text, &len) : NULL;
	json_t *data = json_pack("{s:[], s:o?}", "results", "campaign", table);

	if (f) {
		page_put(data, f);
		fclose(f);
	}
	json_decref(data);
	return text ? http_text("text/html; charset=utf-8", text, len)
	            : http_error(MHD_HTTP_NOT_FOUND, "%s has no table yet", r->names[0]);
}

// Generated for each request, by ddiperf report. The page has the trend of all runs so far.
static struct http_reply get_report(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	const char *format = http_query(r, "format");
	char folder[RUNS_PATH], result[RUNS_PATH], history[RUNS_PATH];
	const char *argv[10] = {"ddiperf", "report", "result.json", "--format"};
	bool is_page;
	int fd, code;

	format = format ? format : "html";
	is_page = strcmp(format, "html") == 0;
	argv[4] = format;
	if (is_campaign(a, r))
		return is_page ? campaign_page(a, r)
		               : http_error(MHD_HTTP_BAD_REQUEST,
					 "a campaign has its page (html) only; its files are at "
					 "files/NAME, as its output settings name them");
	runs_path(a->runs, folder, "runs/%s", r->names[0]);
	if (access(runs_path(a->runs, result, "runs/%s/result.json", r->names[0]), R_OK) < 0)
		return http_error(MHD_HTTP_NOT_FOUND, "there is no result of %s", r->names[0]);
	if (is_page && access(runs_path(a->runs, history, "history.jsonl"), R_OK) == 0) {
		argv[5] = "--history";
		argv[6] = history;
	}
	code = child_read(&(struct child){(char *const *)argv, folder, -1, -1, -1}, CHILD_OUT,
		REPORT_MS, &fd);
	if (code == 0)
		return http_file(
			is_page ? "text/html; charset=utf-8" : "text/plain; charset=utf-8", fd);
	if (code > 0)
		close(fd);
	return http_error(MHD_HTTP_BAD_REQUEST, "no such report: one of %s", format_names());
}

// Text: the output of ddiperf compare, warnings included. html: the page of both results.
static struct http_reply get_comparison(void *ctx, struct http_request *r)
{
	const struct api *a = ctx;
	const char *format = http_query(r, "format");
	bool is_page = format && strcmp(format, "html") == 0;
	char folder[RUNS_PATH], path[RUNS_PATH], results[2][HTTP_NAME_SIZE + 16];
	const char *argv[8] = {"ddiperf", is_page ? "report" : "compare", results[0], results[1]};
	int fd, code;

	if (format && !is_page && strcmp(format, "text") != 0)
		return http_error(MHD_HTTP_BAD_REQUEST, "no such comparison: one of text, html");
	for (int i = 0; i < 2; i++) {
		snprintf(results[i], sizeof(results[i]), "%s/result.json", r->names[i]);
		if (access(runs_path(a->runs, path, "runs/%s", results[i]), R_OK) < 0)
			return http_error(
				MHD_HTTP_NOT_FOUND, "there is no result of %s", r->names[i]);
	}
	if (is_page) {
		argv[4] = "--format";
		argv[5] = "html";
	}
	code = child_read(&(struct child){(char *const *)argv, runs_path(a->runs, folder, "runs"),
				  -1, -1, -1},
		is_page ? CHILD_OUT : CHILD_BOTH, REPORT_MS, &fd);
	if (code == 0)
		return http_file(
			is_page ? "text/html; charset=utf-8" : "text/plain; charset=utf-8", fd);
	if (code > 0)
		close(fd);
	return http_error(MHD_HTTP_INTERNAL_SERVER_ERROR, "the two results could not be compared");
}

// --- the routes

static const struct http_query follow_query[] = {
	{"from", "number of the first line that is wanted, from 1"}, {0}};
static const struct http_query schema_query[] = {{"of", "run or campaign; default: run"}, {0}};
static const struct http_query report_query[] = {
	{"format", "as ddiperf list formats; default: html"}, {0}};
static const struct http_query comparison_query[] = {
	{"format", "text, as ddiperf compare prints it, or html; default: text"}, {0}};

#define JSON "application/json"
#define TEXT "text/plain"
#define GET  MHD_HTTP_METHOD_GET
#define POST MHD_HTTP_METHOD_POST
#define PUT  MHD_HTTP_METHOD_PUT
#define DEL  MHD_HTTP_METHOD_DELETE

const struct http_route api_routes[] = {
	{GET, "/", "The page", NULL, "text/html", 200, true, 0, NULL, get_page},
	{GET, "/run/{id}", "The page, of a run", NULL, "text/html", 200, true, 0, NULL, get_page},
	{GET, "/file/{name}", "The page, of a file", NULL, "text/html", 200, true, 0, NULL,
		get_page},
	{GET, "/compare/{id}/{other}", "The page, of two runs compared", NULL, "text/html", 200,
		true, 0, NULL, get_page},
	{GET, "/history", "The page, of the history", NULL, "text/html", 200, true, 0, NULL,
		get_page},
	{GET, "/metrics", "Figures of all runs in progress, for Prometheus", NULL, TEXT, 200, false,
		0, NULL, api_metrics},
	{GET, API, "Version of the server, and its agents: state, box, clock", NULL, JSON, 200,
		false, 0, NULL, get_server},
	{GET, API "/cpu", "CPU time of this host so far, in the format of /proc/stat", NULL, TEXT,
		200, false, 0, NULL, get_cpu},
	{GET, API "/openapi.json", "This document", NULL, JSON, 200, true, 0, NULL, get_openapi},
	{GET, API "/schema", "JSON Schema of a configuration or of a campaign", NULL, JSON, 200,
		false, 0, schema_query, get_schema},
	{GET, API "/history", "A line of each run that has ended, oldest first", NULL, JSON, 200,
		false, 0, NULL, get_history},
	{GET, API "/files", "Files: configurations and their input", NULL, JSON, 200, false, 0,
		NULL, api_list_files},
	{GET, API "/files/{name}", "Text of a file", NULL, TEXT, 200, false, 0, NULL, api_get_file},
	{PUT, API "/files/{name}", "Write a file; it takes the place of an earlier one", TEXT, JSON,
		200, false, HTTP_FILE_MAX, NULL, api_put_file},
	{DEL, API "/files/{name}", "Delete a file", NULL, JSON, 200, false, 0, NULL,
		api_delete_file},
	{GET, API "/samples", "Sample configurations, and the input files that they need", NULL,
		JSON, 200, false, 0, NULL, api_list_samples},
	{GET, API "/samples/{name}", "Text of a sample or of its input file", NULL, TEXT, 200,
		false, 0, NULL, api_get_sample},
	{POST, API "/check",
		"Check the configuration or campaign in the body: errors with line and column",
		TEXT, JSON, 200, false, HTTP_BODY_MAX, NULL, api_check},
	{GET, API "/runs", "Runs and campaigns, the newest first", NULL, JSON, 200, false, 0, NULL,
		list_runs},
	{POST, API "/runs",
		"Start a run or the campaign of a file, with settings in place of those in it, or "
		"a run on a fleet; or its responder, until its state is no longer requested",
		JSON, JSON, 201, false, HTTP_BODY_MAX, NULL, start_run},
	{GET, API "/runs/{id}", "State of a run; of a campaign with its progress", NULL, JSON, 200,
		false, 0, NULL, get_run},
	{DEL, API "/runs/{id}", "Delete a run that has ended", NULL, JSON, 200, false, 0, NULL,
		delete_run},
	{POST, API "/runs/{id}/stop", "Stop a run; the second time without waiting for replies",
		NULL, JSON, 200, false, 0, NULL, stop_run},
	{POST, API "/runs/{id}/resume", "Continue a campaign that ended before its last run", NULL,
		JSON, 200, false, 0, NULL, resume_run},
	{POST, API "/runs/{id}/orders",
		"Change the load of a run in progress, at once or at a time", JSON, JSON, 200,
		false, HTTP_BODY_MAX, NULL, order_run},
	{GET, API "/runs/{id}/follow",
		"Lines of a run from its begin to its end, as events; of a campaign one for each "
		"run that has ended",
		NULL, "text/event-stream", 200, false, 0, follow_query, api_follow},
	{GET, API "/runs/{id}/log", "Output of a run as a terminal shows it", NULL, TEXT, 200,
		false, 0, NULL, get_log},
	{GET, API "/runs/{id}/config", "Configuration of a run, as it was written", NULL, TEXT, 200,
		false, 0, NULL, get_config},
	{GET, API "/runs/{id}/result", "Result of a run; of a campaign its table so far", NULL,
		JSON, 200, false, 0, NULL, get_result},
	{GET, API "/runs/{id}/report", "Result of a run in another format", NULL, TEXT, 200, false,
		0, report_query, get_report},
	{GET, API "/runs/{id}/compare/{other}",
		"Another run compared with this one, as ddiperf compare does", NULL, TEXT, 200,
		false, 0, comparison_query, get_comparison},
	{GET, API "/runs/{id}/files/{name}", "File that a run has written", NULL,
		"application/octet-stream", 200, false, 0, NULL, get_output},
	{0},
};

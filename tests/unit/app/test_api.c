// SPDX-License-Identifier: BSD-3-Clause
// Replies of the HTTP interface without a server: how a run is started on a fleet or as a
// responder, and the figures of runs in progress as their lines arrive. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <fcntl.h>

#include "web/api.h"

static struct {
	char dir[64];
	struct runs_ids active;
	char words[512]; // of the run that was started
	unsigned lease, starts;
	bool fleet;
	unsigned code;
	char *text; // of the last reply
	struct api api;
} x;

void __wrap_runs_active(struct runs *r, struct runs_ids *out);
int __wrap_runs_read(const struct runs *r, const char *path);
const char *__wrap_runs_path(const struct runs *r, char buf[RUNS_PATH], const char *fmt, ...);
void __wrap_runs_start(struct runs *r, unsigned lease_s, const char *file, const char *const *more,
	unsigned count, json_t *fleet, char id[RUNS_ID_SIZE], struct runs_error *e);
json_t *__wrap_api_errors_of(
	const struct api *a, const char *name, const char *const *more, unsigned count);
struct http_reply __wrap_http_json(unsigned code, json_t *json);
struct http_reply __wrap_http_text(const char *type, char *text, size_t len);
struct http_reply __wrap_http_error(unsigned code, const char *fmt, ...);

void __wrap_runs_active(struct runs *r, struct runs_ids *out)
{
	*out = x.active;
}

int __wrap_runs_read(const struct runs *r, const char *path)
{
	char whole[200];

	// The lines of run N, runs/N/live.jsonl, are file N.
	snprintf(whole, sizeof(whole), "%s/%.1s", x.dir, path + strlen("runs/"));
	return open(whole, O_RDONLY);
}

const char *__wrap_runs_path(const struct runs *r, char buf[RUNS_PATH], const char *fmt, ...)
{
	va_list ap;
	int len = snprintf(buf, RUNS_PATH, "%s/", x.dir);

	va_start(ap, fmt);
	vsnprintf(buf + len, RUNS_PATH - (size_t)len, fmt + strlen("files/"), ap);
	va_end(ap);
	return buf;
}

void __wrap_runs_start(struct runs *r, unsigned lease_s, const char *file, const char *const *more,
	unsigned count, json_t *fleet, char id[RUNS_ID_SIZE], struct runs_error *e)
{
	x.starts++;
	x.lease = lease_s;
	x.fleet = fleet != NULL;
	snprintf(x.words, sizeof(x.words), "%s", file);
	for (unsigned i = 0; i < count; i++)
		snprintf(x.words + strlen(x.words), sizeof(x.words) - strlen(x.words), " %s",
			more[i]);
	strcpy(id, "7");
	e->code = 0;
}

json_t *__wrap_api_errors_of(
	const struct api *a, const char *name, const char *const *more, unsigned count)
{
	return json_array();
}

static struct http_reply take(unsigned code, char *text)
{
	free(x.text);
	x.text = text;
	x.code = code;
	return (struct http_reply){code, NULL};
}

struct http_reply __wrap_http_json(unsigned code, json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	return take(code, text);
}

struct http_reply __wrap_http_text(const char *type, char *text, size_t len)
{
	return take(200, text);
}

struct http_reply __wrap_http_error(unsigned code, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	return take(code, text);
}

static void write_file(const char *name, const char *mode, const char *text)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", x.dir, name);
	f = fopen(path, mode);
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int begin(void **state)
{
	static const char *const fleet[] = {"--fleet", "nats://here", NULL};

	memset(&x, 0, sizeof(x));
	strcpy(x.dir, "/tmp/ddiperf-test-XXXXXX");
	assert_non_null(mkdtemp(x.dir));
	write_file("a.yaml", "w", "");
	x.api = (struct api){
		.version = "1", .metrics.lock = PTHREAD_MUTEX_INITIALIZER, .fleet = fleet};
	return 0;
}

static int end(void **state)
{
	char command[100];

	free(x.text);
	api_metrics_close(&x.api.metrics);
	snprintf(command, sizeof(command), "rm -rf %s", x.dir);
	return system(command);
}

static unsigned request(const char *method, const char *path, const char *body)
{
	const struct http_route *route = api_routes;
	struct http_request r = {.body = (char *)body, .len = strlen(body)};

	while (strcmp(route->method, method) != 0 || strcmp(route->path, path) != 0)
		assert_non_null((++route)->path);
	route->answer(&x.api, &r);
	return x.code;
}

static unsigned start(const char *more)
{
	char body[2048];

	snprintf(body, sizeof(body), "{\"file\": \"a.yaml\"%s}", more);
	return request("POST", API "/runs", body);
}

static void a_run_has_its_settings(void **state)
{
	char sets[1024] = ", \"set\": [\"a=1\"";

	assert_int_equal(start(", \"set\": [\"run.seed=1\", \"run.seed=2\"]"), 201);
	assert_string_equal(x.text, "{\"id\":\"7\"}");
	assert_string_equal(x.words, "a.yaml --set run.seed=1 --set run.seed=2");
	assert_int_equal(x.lease, 0);
	assert_false(x.fleet);
	for (int i = 1; i < RUNS_SETS; i++)
		strcat(sets, ", \"a=1\"");
	x.starts = 0;
	assert_int_equal(start(strcat(sets, "]")), 201);
	assert_int_equal(x.starts, 1);
	strcpy(sets + strlen(sets) - 1, ", \"a=1\"]");
	assert_int_equal(start(sets), 400);
	assert_int_equal(start(", \"set\": \"a=1\""), 400);
	assert_int_equal(start(", \"set\": [1]"), 400);
	assert_int_equal(request("POST", API "/runs", "{\"file\": 1}"), 400);
	assert_int_equal(request("POST", API "/runs", "[]"), 400);
	assert_int_equal(x.starts, 1);
}

static void only_files_of_the_folder_are_run(void **state)
{
	static const char *const names[] = {"", "b.yaml", "../a.yaml", ".a", "-a", "sub/a"};
	char body[64];

	write_file(".a", "w", "");
	write_file("-a", "w", "");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(body, sizeof(body), "{\"file\": \"%s\"}", names[i]);
		assert_int_equal(request("POST", API "/runs", body), 404);
	}
	assert_int_equal(x.starts, 0);
}

static void a_run_on_a_fleet_names_its_agents(void **state)
{
	static const char *const wrong[] = {"1", "{\"agents\": 0}", "{\"agents\": 10000}",
		"{\"agents\": \"2\"}", "{\"select\": 1}"};
	char more[100];

	assert_int_equal(start(", \"fleet\": {}"), 400);
	assert_string_equal(x.text, "this server has no fleet (start it with --fleet URL)");
	x.api.roster = (struct agent_list *)&x;
	assert_int_equal(start(", \"fleet\": {}"), 201);
	assert_true(x.fleet);
	assert_string_equal(x.words, "a.yaml --fleet nats://here");
	assert_int_equal(start(", \"fleet\": {\"agents\": 9999, \"select\": \"rack=1\"}"), 201);
	assert_string_equal(x.words, "a.yaml --fleet nats://here --agents 9999 --select rack=1");
	assert_int_equal(start(", \"fleet\": {\"agents\": 1}"), 201);
	assert_string_equal(x.words, "a.yaml --fleet nats://here --agents 1");
	assert_int_equal(start(""), 201);
	assert_string_equal(x.words, "a.yaml");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(more, sizeof(more), ", \"fleet\": %s", wrong[i]);
		assert_int_equal(start(more), 400);
	}
}

static void a_responder_has_a_lease(void **state)
{
	x.api.roster = (struct agent_list *)&x;
	assert_int_equal(start(", \"respond\": 1"), 201);
	assert_int_equal(x.lease, 1);
	assert_int_equal(start(", \"respond\": 3600"), 201);
	assert_int_equal(x.lease, 3600);
	assert_int_equal(start(", \"respond\": 0"), 400);
	assert_int_equal(start(", \"respond\": 3601"), 400);
	assert_int_equal(start(", \"respond\": 30, \"fleet\": {}"), 400);
	assert_int_equal(x.starts, 2);
}

static void assert_metrics(const char *part, bool there)
{
	assert_int_equal(request("GET", "/metrics", ""), 200);
	if (!strstr(x.text, part) == there)
		fail_msg("%s: %s", part, x.text);
}

#define BEGIN "{\"begin\": 1, \"result\": {\"run\": {\"host\": {\"tsc_hz\": 1e9}}}}\n"
#define SENT                                                                                       \
	"{\"number\": 1, \"t_s\": 1, \"length_s\": 1, \"traffic\": [{\"name\": \"q\", \"sent\": "
#define SERIES "ddiperf_traffic_sent_total{run=\"%s\",item=\"q\"} %d\n"

static void assert_sent(const char *run, int sent, bool there)
{
	char part[100];

	snprintf(part, sizeof(part), SERIES, run, sent);
	assert_metrics(part, there);
}

// Half a line counts when its end has arrived.
static void metrics_follow_the_lines_of_runs(void **state)
{
	x.active = (struct runs_ids){{"1", "2"}, 2};
	assert_metrics("run=\"1\"", false);
	write_file("1", "w", BEGIN SENT "5}]}\n" SENT);
	assert_sent("1", 5, true);
	assert_sent("1", 5, true);
	write_file("1", "a", "2}]}\n");
	assert_sent("1", 7, true);
	write_file("2", "w", BEGIN SENT "9}]}\nnonsense\n");
	assert_sent("2", 9, true);
	assert_sent("1", 7, true);
	x.active = (struct runs_ids){{"3", "2"}, 2};
	assert_sent("1", 7, false);
	assert_sent("2", 9, true);
	x.active.count = 0;
	assert_metrics("run=\"2\"", false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_run_has_its_settings),
		TEST(only_files_of_the_folder_are_run),
		TEST(a_run_on_a_fleet_names_its_agents),
		TEST(a_responder_has_a_lease),
		TEST(metrics_follow_the_lines_of_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

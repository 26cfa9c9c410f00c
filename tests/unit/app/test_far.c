// SPDX-License-Identifier: BSD-3-Clause
// The far end of a test: its `serve` is the test, which sees each request and chooses the answer.
// Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>

#include "base/log.h"
#include "document/document_reader.h"
#include "engine/run/around/peer.h"
#include "web/far.h"

#define STAT "cpu  %d 0 0 %d 0 0 0 0 0 0\ncpu0 %d 0 0 %d 0 0 0 0 0 0\n"

static struct {
	struct far far;
	uint64_t ms;
	int refuses;                      // errno of connections
	char asked[32768];                // methods and paths, below the API
	char last[1024];                  // the last request
	const char *whole;                // answer to anything; NULL: as a serve does
	const char *id, *log;             // of the run
	unsigned looks_ready, looks_over; // requests until it is so
	bool over;                        // at once, without a word from here
	int used, idle;                   // CPU time
} x;

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_peer_exchange(int fd, const char *request, char *answer, size_t room);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms);

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	errno = x.refuses;
	return x.refuses ? -1 : 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	*t = (struct timespec){(time_t)(x.ms / 1000), (long)(x.ms % 1000) * 1000000};
	return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int ms)
{
	x.ms += (uint64_t)ms;
	return 0;
}

// The body of the answer; *code is 200.
static const char *answer_of(const char *method, const char *path, int *code)
{
	static char text[400];
	bool run = strncmp(path, "/runs/a-1", 9) == 0;

	text[0] = '\0';
	if (strcmp(path, "/cpu") == 0) {
		snprintf(text, sizeof(text), STAT, x.used, x.idle, x.used, x.idle);
	} else if (strcmp(path, "/runs") == 0) {
		*code = 201;
		snprintf(text, sizeof(text), "{\"id\": \"%s\"}", x.id);
	} else if (run && strcmp(path + 9, "/log") == 0) {
		snprintf(text, sizeof(text), "%s", x.looks_ready && x.looks_ready-- ? "" : x.log);
	} else if (run && strcmp(path + 9, "/result") == 0) {
		return "{\"figure\": 4}";
	} else if (run && strcmp(path + 9, "/stop") == 0) {
		return "{\"stopping\": \"a-1\"}";
	} else if (run && strcmp(method, "GET") == 0) {
		bool over =
			x.over || (strstr(x.asked, "/stop") && !(x.looks_over && x.looks_over--));

		snprintf(text, sizeof(text), "{\"status\": \"%s\", \"said\": \"no port\"}",
			over ? "ended" : "running");
	} else {
		return "{}";
	}
	return text;
}

int __wrap_peer_exchange(int fd, const char *request, char *answer, size_t room)
{
	char method[8], path[100];
	int code = 200;
	const char *body;

	assert_int_equal(sscanf(request, "%7s /api/v1%99s HTTP/1.0\r\n", method, path), 2);
	snprintf(x.asked + strlen(x.asked), sizeof(x.asked) - strlen(x.asked), "%s %s\n", method,
		path);
	snprintf(x.last, sizeof(x.last), "%s", request);
	body = answer_of(method, path, &code);
	if (x.whole)
		snprintf(answer, room, "%s", x.whole);
	else
		snprintf(answer, room, "HTTP/1.1 %d OK\r\nDate: now\r\n\r\n%s", code, body);
	return 0;
}

static int begin(void **state)
{
	memset(&x, 0, sizeof(x));
	x.ms = 1000000;
	x.id = "a-1";
	x.log = "ddiperf: port far: eth0\n";
	x.far.arena = arena_new();
	x.far.at = (struct addr_server){
		.addr = {.len = 4, .bytes = {192, 0, 2, 1}}, .host = "there", .port = 8080};
	return 0;
}

static int end(void **state)
{
	arena_free(x.far.arena);
	return 0;
}

static void assert_error(const char *text)
{
	char last[512];

	log_take_error(last, sizeof(last));
	assert_string_equal(last, text);
}

static void assert_asked(const char *lines)
{
	assert_string_equal(x.asked, lines);
	x.asked[0] = '\0';
}

static void a_responder_is_started_and_ended(void **state)
{
	json_t *result;

	x.looks_ready = 2;
	assert_int_equal(far_open(&x.far, "ports: []\n", 53), 0);
	assert_asked("PUT /files/far-end-53.yaml\nPOST /runs\nGET /runs/a-1/log\nGET /runs/a-1\n"
		     "GET /runs/a-1/log\nGET /runs/a-1\nGET /runs/a-1/log\n");
	assert_int_equal(x.ms, 1000100);
	assert_string_equal(x.far.id, "a-1");
	x.looks_over = 2;
	result = far_close(&x.far);
	assert_true(document_number(result, "figure") == 4);
	json_decref(result);
	assert_asked(
		"GET /runs/a-1\nPOST /runs/a-1/stop\nGET /runs/a-1\nGET /runs/a-1\nGET /runs/a-1\n"
		"GET /runs/a-1/result\nDELETE /runs/a-1\nDELETE /files/far-end-53.yaml\n");
	assert_null(far_close(&x.far)); // once
	assert_asked("");
}

static void a_request_says_where_and_who(void **state)
{
	x.far.token = "secret";
	assert_int_equal(far_open(&x.far, "ports: []\n", 5), 0);
	assert_non_null(strstr(x.last, "\r\nHost: 192.0.2.1:8080\r\n"));
	assert_non_null(strstr(x.last, "\r\nAuthorization: Bearer secret\r\n"));
	assert_non_null(strstr(x.last, "\r\nContent-Length: 0\r\n"));
	x.far.at.addr = (struct addr){.len = 16, .bytes = {0x20, 0x01, [15] = 1}};
	x.far.token = NULL;
	far_measure(&x.far);
	assert_non_null(strstr(x.last, "\r\nHost: [2001::1]:8080\r\n"));
	assert_null(strstr(x.last, "Authorization"));
}

static void a_responder_that_does_not_begin_is_ended(void **state)
{
	x.log = "ddiperf: port near: eth0\n";
	assert_int_equal(far_open(&x.far, "", 53), -EIO);
	assert_error("there: the responder does not begin");
	assert_int_equal(x.ms, 1020000);
	assert_non_null(strstr(x.asked, "POST /runs/a-1/stop\nGET /runs/a-1\nDELETE "
					"/runs/a-1\nDELETE /files/far-end-53.yaml\n"));
	assert_string_equal(x.far.id, "");
}

static void a_responder_that_has_ended_says_why(void **state)
{
	x.log = "";
	x.over = true;
	assert_int_equal(far_open(&x.far, "", 53), -EIO);
	assert_error("there: the responder has ended: no port");
	assert_null(strstr(x.asked, "/stop"));
	assert_non_null(strstr(x.asked, "DELETE /runs/a-1\n"));
}

static void other_answers_are_errors(void **state)
{
	static const struct {
		const char *answer, *error;
	} rows[] = {
		{"nonsense", "there: not an answer of HTTP"},
		{"HTTP/1.1 200 OK\r\n", "there: not an answer of HTTP"},
		{"HTTQ/1.1 200 OK\r\n\r\n{}", "there: not an answer of HTTP"},
		{"HTTP/1.1 401 No\r\n\r\n{\"error\": \"no\"}",
			"there port 8080: another token is wanted (401)"},
		{"HTTP/1.1 409 No\r\n\r\n{\"error\": \"busy\"}", "there port 8080: busy (409)"},
		{"HTTP/1.1 200 OK\r\n\r\nnonsense",
			"there port 8080: not an answer of ddiperf serve (200)"},
	};
	static const char *const ids[] = {"", "A", "a/../b",
		"0123456789012345678901234567890123456789012345678901234567890123"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		x.whole = rows[i].answer;
		assert_int_equal(far_open(&x.far, "", 53), -EIO);
		assert_error(rows[i].error);
		assert_asked("PUT /files/far-end-53.yaml\n");
	}
	x.whole = NULL;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		x.id = ids[i];
		assert_int_equal(far_open(&x.far, "", 53), -EIO);
		assert_asked("PUT /files/far-end-53.yaml\nPOST /runs\n");
		assert_string_equal(x.far.id, "");
	}
	x.refuses = ECONNREFUSED;
	assert_int_equal(far_open(&x.far, "", 53), -EIO);
	assert_error("192.0.2.1 port 8080: Connection refused (ddiperf serve --listen 0.0.0.0:8080 "
		     "--token FILE is the far end)");
}

static void it_is_kept_by_requests(void **state)
{
	far_keep(&x.far);
	assert_asked("");
	assert_int_equal(far_open(&x.far, "", 53), 0);
	x.asked[0] = '\0';
	x.far.looked_ms = x.ms;
	x.ms += 5000;
	far_keep(&x.far);
	assert_asked("");
	x.ms++;
	far_keep(&x.far);
	assert_asked("GET /runs/a-1\n");
	far_keep(&x.far);
	assert_asked("");
}

static void two_readings_are_its_use_of_cpu(void **state)
{
	json_t *dut;

	far_measure(&x.far);
	assert_null(far_cpu(&x.far));
	far_measure(&x.far);
	assert_null(far_cpu(&x.far)); // of no time
	x.used = 30;
	x.idle = 10;
	far_measure(&x.far);
	dut = far_cpu(&x.far);
	assert_true(document_number(dut, "used") == 0.75);
	assert_true(document_number(dut, "user") == 0.75);
	assert_true(document_number(dut, "cpus") == 1);
	assert_string_equal(document_text(dut, "format"), "proc_stat");
	json_decref(dut);
	x.used = 60;
	x.whole = "HTTP/1.1 404 No\r\n\r\n" STAT;
	far_measure(&x.far);
	x.whole = "HTTP/1.1 200 OK\r\n\r\nnonsense";
	far_measure(&x.far);
	assert_true(x.far.again);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_responder_is_started_and_ended),
		TEST(a_request_says_where_and_who),
		TEST(a_responder_that_does_not_begin_is_ended),
		TEST(a_responder_that_has_ended_says_why),
		TEST(other_answers_are_errors),
		TEST(it_is_kept_by_requests),
		TEST(two_readings_are_its_use_of_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

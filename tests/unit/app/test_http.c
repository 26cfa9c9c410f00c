// SPDX-License-Identifier: BSD-3-Clause
// The rules of an HTTP server: who may ask, under which name, what a body may be, and who is cut
// off to make room. libmicrohttpd and the clock are the test's. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <time.h>

#include "http/http.h"
#include "http/serve.h"

#define MOST 64

// A connection, and the request that it makes.
struct caller {
	union MHD_ConnectionInfo fd, address, place;
	struct sockaddr_storage from;
	const char *host, *length, *encoding, *token;
	bool simple; // a header that a change needs is missing
	void *request;
	bool cut;
};

static struct {
	struct caller all[MOST];
	unsigned count, answers, code;
	uint64_t ms;
	char text[2000]; // of the reply
	struct serve_daemon daemon;
	struct http http;
} x;

struct MHD_Daemon *__wrap_serve_start(const struct serve_daemon *d);
void __wrap_MHD_stop_daemon(struct MHD_Daemon *d);
const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(
	struct MHD_Connection *c, enum MHD_ConnectionInfoType what, ...);
const char *__wrap_MHD_lookup_connection_value(
	struct MHD_Connection *c, enum MHD_ValueKind kind, const char *key);
enum MHD_Result __wrap_MHD_queue_response(
	struct MHD_Connection *c, unsigned code, struct MHD_Response *r);
struct MHD_Response *__wrap_MHD_create_response_from_buffer(
	size_t size, void *text, enum MHD_ResponseMemoryMode mode);
struct MHD_Response *__real_MHD_create_response_from_buffer(
	size_t size, void *text, enum MHD_ResponseMemoryMode mode);
int __wrap_shutdown(int fd, int how);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

struct MHD_Daemon *__wrap_serve_start(const struct serve_daemon *d)
{
	x.daemon = *d;
	return (struct MHD_Daemon *)&x;
}

void __wrap_MHD_stop_daemon(struct MHD_Daemon *d)
{
}

const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(
	struct MHD_Connection *c, enum MHD_ConnectionInfoType what, ...)
{
	struct caller *one = (struct caller *)c;

	return what == MHD_CONNECTION_INFO_CONNECTION_FD    ? &one->fd
	       : what == MHD_CONNECTION_INFO_CLIENT_ADDRESS ? &one->address
	                                                    : &one->place;
}

const char *__wrap_MHD_lookup_connection_value(
	struct MHD_Connection *c, enum MHD_ValueKind kind, const char *key)
{
	const struct caller *one = (const struct caller *)c;

	return strcmp(key, "Host") == 0                ? one->host
	       : strcmp(key, "Content-Length") == 0    ? one->length
	       : strcmp(key, "Transfer-Encoding") == 0 ? one->encoding
	       : strcmp(key, "Authorization") == 0     ? one->token
	       : strcmp(key, HTTP_HEADER) == 0         ? (one->simple ? NULL : "1")
	                                               : NULL;
}

enum MHD_Result __wrap_MHD_queue_response(
	struct MHD_Connection *c, unsigned code, struct MHD_Response *r)
{
	const char *asked = MHD_get_response_header(r, "WWW-Authenticate");

	assert_string_equal(MHD_get_response_header(r, "X-Frame-Options"), "DENY");
	assert_string_equal(MHD_get_response_header(r, "Cache-Control"), "no-store");
	assert_int_equal(asked != NULL, code == 401);
	x.code = code;
	return MHD_YES;
}

struct MHD_Response *__wrap_MHD_create_response_from_buffer(
	size_t size, void *text, enum MHD_ResponseMemoryMode mode)
{
	snprintf(x.text, sizeof(x.text), "%.*s", (int)size, (const char *)text);
	return __real_MHD_create_response_from_buffer(size, text, mode);
}

int __wrap_shutdown(int fd, int how)
{
	x.all[fd].cut = true;
	return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	*t = (struct timespec){(time_t)(x.ms / 1000), (long)(x.ms % 1000) * 1000000};
	return 0;
}

// --- the server

static struct http_reply say_body(void *ctx, struct http_request *r)
{
	x.answers++;
	return http_json(
		200, json_pack("{s:s, s:s}", "name", r->names[0], "body", r->body ? r->body : ""));
}

static const struct http_route routes[] = {
	{"GET", "/open", "", NULL, "text/plain", 200, true, 0, NULL, say_body},
	{"GET", "/a/{name}", "", NULL, "text/plain", 200, false, 0, NULL, say_body},
	{"PUT", "/a/{name}", "", NULL, "text/plain", 200, false, 10, NULL, say_body},
	{0},
};

static int begin(void **state)
{
	memset(&x, 0, sizeof(x));
	x.ms = 1000000;
	x.http = (struct http){.fd = -1, .routes = routes, .host = "tester"};
	return http_start(&x.http);
}

static int end(void **state)
{
	http_stop(&x.http);
	return 0;
}

// from: an address, or NULL for a Unix socket.
static struct caller *come(const char *from)
{
	struct caller *c = &x.all[x.count];
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&c->from;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&c->from;

	assert_true(x.count < MOST);
	c->host = "localhost:8080";
	c->fd.connect_fd = (int)x.count++;
	c->address.client_addr = (struct sockaddr *)&c->from;
	c->from.ss_family = from ? strchr(from, ':') ? AF_INET6 : AF_INET : AF_UNIX;
	if (from)
		assert_int_equal(
			inet_pton(c->from.ss_family, from,
				strchr(from, ':') ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr),
			1);
	x.daemon.connected(&x.http, (struct MHD_Connection *)c, &c->place.socket_context,
		MHD_CONNECTION_NOTIFY_STARTED);
	return c;
}

static void leave(struct caller *c)
{
	x.daemon.connected(&x.http, (struct MHD_Connection *)c, &c->place.socket_context,
		MHD_CONNECTION_NOTIFY_CLOSED);
}

static void hand(struct caller *c, const char *method, const char *path, const char *data)
{
	size_t size = strlen(data);

	x.daemon.answer(&x.http, (struct MHD_Connection *)c, path, method, "HTTP/1.1", data, &size,
		&c->request);
	assert_int_equal(size, 0);
}

// A whole request, its body in two pieces. Returns the code of the reply.
static unsigned ask(struct caller *c, const char *method, const char *path, const char *body)
{
	char first[64];

	x.code = 0;
	hand(c, method, path, "");
	if (x.code == 0 && *body) {
		snprintf(first, sizeof(first), "%.*s", (int)strlen(body) / 2, body);
		hand(c, method, path, first);
		hand(c, method, path, body + strlen(body) / 2);
	}
	if (x.code == 0)
		hand(c, method, path, "");
	x.daemon.completed(&x.http, (struct MHD_Connection *)c, &c->request,
		MHD_REQUEST_TERMINATED_COMPLETED_OK);
	return x.code;
}

static void other_names_are_refused(void **state)
{
	static const char *const good[] = {"localhost", "LOCALHOST:1", "127.0.0.1",
		"192.0.2.1:8080", "[::1]", "[2001:db8::1]:8080", "tester", "Tester:8080",
		"localhost:"};
	static const char *const bad[] = {"", "elsewhere", "[::1", "::1", "[::1]8080",
		"localhost:80x", "127.0.0.1x", "localhost.", "[::1]:8080:1", "[localhost]",
		"[tester]:8080", "[127.0.0.1]"};
	struct caller *c = come("127.0.0.1");
	char name[300];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		c->host = good[i];
		assert_int_equal(ask(c, "GET", "/open", ""), 200);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c->host = bad[i];
		assert_int_equal(ask(c, "GET", "/open", ""), 403);
		assert_string_equal(x.text,
			"{\"error\":\"this server has another name (start it with --host NAME)\"}");
	}
	c->host = NULL;
	assert_int_equal(ask(c, "GET", "/open", ""), 403);
	memset(name, 'a', sizeof(name));
	name[256] = '\0';
	c->host = name;
	assert_int_equal(ask(c, "GET", "/open", ""), 403);
	x.http.host = name;
	assert_int_equal(ask(c, "GET", "/open", ""), 403); // too long
	name[255] = '\0';
	assert_int_equal(ask(c, "GET", "/open", ""), 200);
	x.http.host = NULL;
	assert_int_equal(ask(c, "GET", "/open", ""), 403);
}

static void paths_and_methods_are_those_of_the_rows(void **state)
{
	struct caller *c = come("127.0.0.1");
	char path[200];

	assert_int_equal(ask(c, "GET", "/a/b-1.c", ""), 200);
	assert_string_equal(x.text, "{\"name\":\"b-1.c\",\"body\":\"\"}");
	assert_int_equal(ask(c, "GET", "/a/.b", ""), 404);
	assert_int_equal(ask(c, "GET", "/a/b/c", ""), 404);
	assert_int_equal(ask(c, "GET", "/a/", ""), 404);
	assert_int_equal(ask(c, "GET", "/a", ""), 404);
	assert_int_equal(ask(c, "GET", "/ope", ""), 404);
	assert_int_equal(ask(c, "GET", "/openly", ""), 404);
	snprintf(path, sizeof(path), "/a/%0*d", HTTP_NAME_SIZE - 1, 0);
	assert_int_equal(ask(c, "GET", path, ""), 200);
	snprintf(path, sizeof(path), "/a/%0*d", HTTP_NAME_SIZE, 0);
	assert_int_equal(ask(c, "GET", path, ""), 404);
	assert_int_equal(ask(c, "POST", "/a/b", ""), 405);
	assert_string_equal(x.text, "{\"error\":\"not by POST\"}");
	c->simple = true;
	assert_int_equal(ask(c, "PUT", "/a/b", ""), 403);
	assert_int_equal(ask(c, "GET", "/a/b", ""), 200);
}

static void a_body_has_a_limit(void **state)
{
	struct caller *c = come("127.0.0.1");

	assert_int_equal(ask(c, "PUT", "/a/b", "0123456789"), 200);
	assert_string_equal(x.text, "{\"name\":\"b\",\"body\":\"0123456789\"}");
	assert_int_equal(ask(c, "PUT", "/a/b", "0123456789x"), 413);
	assert_int_equal(ask(c, "PUT", "/a/b", "0123456789012345678901234567"), 413);
	c->length = "10";
	assert_int_equal(ask(c, "PUT", "/a/b", ""), 200);
	x.answers = 0;
	c->length = "11";
	assert_int_equal(ask(c, "PUT", "/a/b", ""), 413);
	assert_string_equal(x.text, "{\"error\":\"the body is longer than 10 octets\"}");
	c->length = "1";
	assert_int_equal(ask(c, "GET", "/open", ""), 413);
	assert_string_equal(x.text, "{\"error\":\"no body belongs here\"}");
	c->length = NULL;
	c->encoding = "chunked";
	assert_int_equal(ask(c, "GET", "/open", ""), 413);
	assert_int_equal(x.answers, 0);
	c->encoding = NULL;
	c->length = "0";
	assert_int_equal(ask(c, "GET", "/open", ""), 200);
}

static void a_token_opens_all_but_the_page(void **state)
{
	struct caller *c = come("127.0.0.1");

	x.http.token = "secret";
	assert_int_equal(ask(c, "GET", "/open", ""), 200);
	assert_int_equal(ask(c, "GET", "/a/b", ""), 401);
	assert_int_equal(ask(c, "GET", "/nowhere", ""), 401);
	c->token = "Bearer wrong";
	assert_int_equal(ask(c, "GET", "/a/b", ""), 401);
	c->token = "Bearer secret";
	assert_int_equal(ask(c, "GET", "/a/b", ""), 200);
	assert_int_equal(ask(c, "GET", "/nowhere", ""), 404);
}

static void errors_are_json_whatever_their_text(void **state)
{
	struct http_reply r = http_error(404, "no %s", "a\xffz\x7f");

	assert_int_equal(r.code, 404);
	assert_string_equal(x.text, "{\"error\":\"no a?z\x7f\"}");
	MHD_destroy_response(r.response);
	r = http_error(404, "no \xc3\xa9");
	assert_string_equal(x.text, "{\"error\":\"no \xc3\xa9\"}");
	MHD_destroy_response(r.response);
	r = http_file("text/plain", -1);
	assert_int_equal(r.code, 404);
	MHD_destroy_response(r.response);
}

static unsigned cuts(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < x.count; i++)
		count += x.all[i].cut;
	return count;
}

static void come_at(uint64_t ms, const char *from)
{
	x.ms = ms;
	come(from);
}

// A place each of 16 strangers: the seventeenth takes that of the first.
static void strangers_of_an_address_are_few(void **state)
{
	come_at(2000, "192.0.2.9");
	come_at(1009, "192.0.2.1");
	for (unsigned i = 1; i < HTTP_STRANGERS_OF_ADDRESS; i++)
		come_at(1000 + i, "192.0.2.1");
	assert_int_equal(cuts(), 0);
	come_at(3000, "192.0.2.1");
	assert_int_equal(cuts(), 1);
	assert_true(x.all[2].cut); // it began at 1001
	come_at(3000, "192.0.2.1");
	assert_int_equal(cuts(), 2);
	assert_true(x.all[3].cut);
	leave(&x.all[5]); // by itself
	come_at(3000, "192.0.2.1");
	assert_int_equal(cuts(), 2);
}

static void who_has_shown_a_token_is_no_stranger(void **state)
{
	struct caller *first = come("192.0.2.1");

	x.http.token = "secret";
	first->token = "Bearer secret";
	assert_int_equal(ask(first, "GET", "/a/b", ""), 200);
	for (unsigned i = 0; i < HTTP_STRANGERS_OF_ADDRESS; i++)
		come_at(1000001 + i, "192.0.2.1");
	assert_int_equal(cuts(), 0);
	assert_int_equal(ask(&x.all[1], "GET", "/open", ""), 200); // needs none, so shows none
	come("192.0.2.1");
	assert_int_equal(cuts(), 1);
	assert_true(x.all[1].cut);
}

// Without a token a whole request shows it, and not the part of one.
static void a_request_in_progress_is_a_strangers(void **state)
{
	struct caller *slow = come("192.0.2.1"), *done = come("192.0.2.1");

	assert_true(x.daemon.threads);
	hand(slow, "PUT", "/a/b", "");
	hand(slow, "PUT", "/a/b", "01");
	assert_int_equal(ask(done, "GET", "/a/b", ""), 200);
	for (unsigned i = 0; i < HTTP_STRANGERS_OF_ADDRESS; i++)
		come_at(1000001 + i, "192.0.2.1");
	assert_int_equal(cuts(), 1);
	assert_true(slow->cut);
	x.daemon.completed(&x.http, (struct MHD_Connection *)slow, &slow->request,
		MHD_REQUEST_TERMINATED_WITH_ERROR);
}

// Addresses of a network count as one.
static void strangers_are_few(void **state)
{
	char from[64];

	for (unsigned i = 0; i < HTTP_STRANGERS_OF_ADDRESS; i++) {
		snprintf(from, sizeof(from), "2001:db8:1:2::%u", i + 1);
		come_at(1000 + i, from);
	}
	assert_int_equal(cuts(), 0);
	come_at(1999, "2001:db8:1:2:3::");
	assert_int_equal(cuts(), 1);
	assert_true(x.all[0].cut);
	for (unsigned i = 0; i < HTTP_STRANGERS - HTTP_STRANGERS_OF_ADDRESS; i++) {
		snprintf(from, sizeof(from), "2001:db8:%u::1", 100 + i);
		come_at(900 + i, from);
	}
	assert_int_equal(cuts(), 1);
	come_at(3000, NULL);
	assert_int_equal(cuts(), 2);
	assert_true(x.all[17].cut); // it began at 900
}

// 20 s, and one more ms for each 16 octets of a body.
static void a_request_has_its_time(void **state)
{
	struct caller *silent = come("192.0.2.1"), *slow = come("192.0.2.1");

	hand(slow, "PUT", "/a/b", "");
	x.ms += 10000;
	hand(slow, "PUT", "/a/b", "0123");
	x.ms += 10000;
	http_tick(&x.http);
	assert_int_equal(cuts(), 0);
	x.ms++;
	http_tick(&x.http);
	assert_true(silent->cut);
	assert_true(slow->cut);
	x.daemon.completed(&x.http, (struct MHD_Connection *)slow, &slow->request,
		MHD_REQUEST_TERMINATED_WITH_ERROR);
	slow->cut = false;
	assert_int_equal(ask(slow, "GET", "/a/b", ""), 200);
	x.ms += 20000;
	http_tick(&x.http);
	assert_false(slow->cut); // its next request has its time
	x.ms++;
	http_tick(&x.http);
	assert_true(slow->cut);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(other_names_are_refused),
		TEST(paths_and_methods_are_those_of_the_rows),
		TEST(a_body_has_a_limit),
		TEST(errors_are_json_whatever_their_text),
		TEST(a_request_in_progress_is_a_strangers),
		TEST(a_token_opens_all_but_the_page),
		TEST(strangers_of_an_address_are_few),
		TEST(who_has_shown_a_token_is_no_stranger),
		TEST(strangers_are_few),
		TEST(a_request_has_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

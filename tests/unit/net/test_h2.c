// SPDX-License-Identifier: BSD-3-Clause
// Requests and answers as nghttp2 reads them, in each encoding and after each change of its table;
// templates that are wrong, and base64url in both directions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <nghttp2/nghttp2.h>

#include "base/rand.h"
#include "net/h2.h"
#include "net/hpack.h"

#define MEDIA "application/dns-message"
#define ROOM  (2 * H2_FRAME)
#define LINES 65536

static uint8_t out[ROOM], message[H2_FRAME];
static struct h2_request request;
static struct rand state;

// Reads the frame at `out`, and writes its fields as lines "name: value".
static void lines_of(
	nghttp2_hd_inflater *i, uint32_t len, uint8_t flags, uint32_t stream, char *lines)
{
	const uint8_t *at = out + H2_HEAD, *end = out + len;
	char *to = lines;

	assert_true(len > H2_HEAD);
	assert_int_equal(h2_len(out), len - H2_HEAD);
	assert_int_equal(out[3], H2_HEADERS);
	assert_int_equal(out[4], H2_END_HEADERS | flags);
	assert_int_equal(bytes_be32(out + 5), stream);
	*to = '\0';
	for (;;) {
		nghttp2_nv one;
		int events = 0;
		ssize_t n = nghttp2_hd_inflate_hd2(i, &one, &events, at, (size_t)(end - at), 1);

		assert_true(n >= 0);
		at += n;
		if (events & NGHTTP2_HD_INFLATE_FINAL)
			break;
		if (events & NGHTTP2_HD_INFLATE_EMIT)
			to += snprintf(to, (size_t)(lines + LINES - to), "%.*s: %.*s\n",
				(int)one.namelen, (const char *)one.name, (int)one.valuelen,
				(const char *)one.value);
	}
	assert_true(at == end && to < lines + LINES);
	nghttp2_hd_inflate_end_headers(i);
}

static nghttp2_hd_inflater *reader(void)
{
	nghttp2_hd_inflater *i;

	assert_int_equal(nghttp2_hd_inflate_new(&i), 0);
	return i;
}

// A plain implementation of RFC 4648 section 5.
static uint32_t base64url(const uint8_t *from, uint32_t len, char *to)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint32_t n = 0;

	for (uint32_t bit = 0; bit < 8 * len; bit += 6) {
		uint32_t v = 0;

		for (uint32_t b = bit; b < bit + 6; b++)
			v = v * 2 + (b < 8 * len ? from[b / 8] >> (7 - b % 8) & 1u : 0);
		to[n++] = digits[v];
	}
	to[n] = '\0';
	return n;
}

static void build(bool get, const char *path, const char *const *headers, uint32_t count)
{
	const struct field_list list = {.items = (void *)(uintptr_t)headers, .count = count};
	const struct h2_request_wanted wanted = {get, "dns.example:8443", path, MEDIA, &list};

	assert_null(h2_request_build(&wanted, &request));
}

static void expected(bool get, const char *before, const char *after, const char *more,
	uint32_t len, char *lines)
{
	static char text[2 * H2_FRAME];

	base64url(message, len, text);
	if (get)
		snprintf(lines, LINES,
			":method: GET\n:scheme: https\n:authority: dns.example:8443\n"
			":path: %s%s%s\naccept: " MEDIA "\n%s",
			before, text, after, more);
	else
		snprintf(lines, LINES,
			":method: POST\n:scheme: https\n:authority: dns.example:8443\n"
			":path: %s%s\naccept: " MEDIA "\ncontent-type: " MEDIA
			"\n%scontent-length: %u\n",
			before, after, more, len);
}

static void requests_are_what_nghttp2_reads(void **unused)
{
	static const char *const headers[] = {"x-note: a: b", "user-agent:ddiperf"};
	static char got[LINES], want[LINES];

	(void)unused;
	state = (struct rand){3};
	for (uint32_t round = 0; round < 60; round++) {
		bool get = round % 2, more = round & 2, at_end = round & 4;
		nghttp2_hd_inflater *i = reader();
		enum h2_encoding how = H2_FIRST;

		build(get, at_end ? "/q?a=1{&dns}" : "/dns-query{?dns}", headers, more ? 2 : 0);
		for (uint32_t n = 0; n < 20; n++) {
			uint32_t len = 1 + (uint32_t)(rand_next(&state) % (n < 18 ? 300 : 1500));
			int32_t resized = -1;
			uint32_t whole;

			if (n == 10) { // the table is too small for the fields
				assert_int_equal(nghttp2_hd_inflate_change_table_size(i, 50), 0);
				how = H2_PLAIN;
				resized = 0;
			}
			if (n == 5 && round % 3 == 0) { // smaller, but large enough
				assert_int_equal(
					nghttp2_hd_inflate_change_table_size(i, request.table), 0);
				resized = request.table;
			}
			for (uint32_t k = 0; k < len; k++)
				message[k] = (uint8_t)rand_next(&state);
			whole = h2_request_write(
				&request, how, resized, 2 * n + 1, message, len, out, ROOM);
			lines_of(i, whole, get ? H2_END_STREAM : 0, 2 * n + 1, got);
			expected(get,
				get && at_end ? "/q?a=1&dns="
				: get         ? "/dns-query?dns="
				: at_end      ? "/q?a=1"
					      : "/dns-query",
				"", more ? "x-note: a: b\nuser-agent: ddiperf\n" : "", len, want);
			assert_string_equal(got, want);
			assert_int_equal(nghttp2_hd_inflate_get_dynamic_table_size(i),
				how == H2_PLAIN ? 0 : request.table);
			how = how == H2_FIRST ? H2_INDEXED : how;
		}
		nghttp2_hd_inflate_del(i);
	}
}

static void a_request_is_as_short_as_its_table_allows(void **unused)
{
	uint32_t first, indexed, plain;

	(void)unused;
	build(false, "/dns-query", NULL, 0);
	first = h2_request_write(&request, H2_FIRST, -1, 1, message, 30, out, ROOM);
	indexed = h2_request_write(&request, H2_INDEXED, -1, 1, message, 30, out, ROOM);
	plain = h2_request_write(&request, H2_PLAIN, -1, 1, message, 30, out, ROOM);
	assert_int_equal(indexed, H2_HEAD + 2 + 4 + 5); // method, scheme; four fields; length
	assert_true(first > 80 && plain > 80);
}

static void a_request_that_is_too_long_is_none(void **unused)
{
	uint32_t len = 1, whole, last = 0;

	(void)unused;
	build(true, "/dns-query{?dns}", NULL, 0);
	while ((whole = h2_request_write(&request, H2_PLAIN, 4096, 1, message, len, out, ROOM)) !=
		0) {
		last = whole;
		len++;
	}
	assert_true(last <= H2_HEAD + H2_FRAME && last > H2_HEAD + H2_FRAME - 4);
	for (uint32_t room = 0; room < 200; room++) {
		uint8_t *exact = malloc(room + 1);

		assert_non_null(exact);
		whole = h2_request_write(&request, H2_FIRST, -1, 1, message, 30, exact, room);
		assert_true(whole <= room);
		free(exact);
	}
}

static void answers_are_what_nghttp2_reads(void **unused)
{
	static const uint32_t statuses[] = {200, 204, 304, 400, 404, 500, 503, 999, 100};
	static char got[LINES], want[LINES];
	static struct h2_answer answer;
	static const struct h2_answer untyped;

	(void)unused;
	h2_answer_build(MEDIA, &answer);
	assert_int_equal(answer.table, strlen("content-type" MEDIA) + 32);
	for (uint32_t s = 0; s < sizeof(statuses) / sizeof(statuses[0]); s++)
		for (uint32_t len = 0; len < 70000; len = len * 3 + 1) {
			nghttp2_hd_inflater *i = reader();

			for (uint32_t n = 0; n < 6; n++) {
				bool typed = n != 4 && len;
				enum h2_encoding how = n == 0 || !len ? H2_FIRST
				                       : n < 3        ? H2_INDEXED
				                                      : H2_PLAIN;
				uint32_t whole;

				if (n == 3)
					nghttp2_hd_inflate_change_table_size(i, 10);
				whole = h2_answer_write(n == 4 ? &untyped : &answer, how,
					n == 3 ? 0 : -1, 7, statuses[s], len, out, ROOM);
				lines_of(i, whole, len ? 0 : H2_END_STREAM, 7, got);
				snprintf(want, sizeof(want), ":status: %u\n%scontent-length: %u\n",
					statuses[s], typed ? "content-type: " MEDIA "\n" : "", len);
				assert_string_equal(got, want);
			}
			nghttp2_hd_inflate_del(i);
		}
}

static void templates_that_are_wrong_are_refused(void **unused)
{
	static const char *const paths[] = {
		"", "x", "/{", "/{dns}", "/{?}", "/{?a}{?b}", "/a b", "/#a"};
	static const char *const wrong[] = {
		"", "x", ":x", "X: y", "x y: z", "x: \n", "x\x7f: y", "x: \x80"};
	const struct field_list none = {0};
	struct h2_request_wanted wanted = {false, "a", NULL, MEDIA, &none};

	(void)unused;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *expression, *rest;

		assert_false(h2_path_split(paths[i], &expression, &rest));
		wanted.path = paths[i];
		assert_non_null(h2_request_build(&wanted, &request));
	}
	wanted = (struct h2_request_wanted){true, "a", "/no-variable", MEDIA, &none};
	assert_non_null(h2_request_build(&wanted, &request));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(h2_header_wrong(wrong[i]));
	assert_null(h2_header_wrong("x-note: a: b"));
}

static void headers_that_are_too_many_are_refused(void **unused)
{
	char text[256];
	const char *headers[16];
	const struct field_list list = {.items = headers, .count = 16};
	const struct h2_request_wanted wanted = {false, "a", "/", MEDIA, &list};

	(void)unused;
	memset(text, 'x', 255);
	text[5] = ':';
	text[255] = '\0';
	for (size_t i = 0; i < 16; i++)
		headers[i] = text;
	assert_non_null(h2_request_build(&wanted, &request));
}

static void base64url_of_any_length_is_read_back(void **unused)
{
	uint8_t from[260], back[260];
	char text[400];

	(void)unused;
	state = (struct rand){5};
	for (uint32_t len = 0; len < 256; len++) {
		uint32_t n;

		for (uint32_t i = 0; i < len; i++)
			from[i] = (uint8_t)rand_next(&state);
		n = base64url(from, len, text);
		assert_int_equal(h2_base64url_read((const uint8_t *)text, n, back, len), len);
		assert_memory_equal(back, from, len);
		if (len)
			assert_int_equal(
				h2_base64url_read((const uint8_t *)text, n, back, len - 1), 0);
	}
}

static void base64url_that_is_wrong_is_refused(void **unused)
{
	uint8_t to[8];

	(void)unused;
	for (uint32_t octet = 0; octet < 256; octet++) {
		uint8_t text[4] = {'A', (uint8_t)octet, 'A', 'A'};
		bool good = octet && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					    "0123456789-_",
					     (int)octet);

		assert_int_equal(h2_base64url_read(text, 4, to, 8), good ? 3 : 0);
	}
	assert_int_equal(h2_base64url_read((const uint8_t *)"A", 1, to, 8), 0);
	assert_int_equal(h2_base64url_read((const uint8_t *)"AAAAA", 5, to, 8), 0);
	assert_int_equal(h2_base64url_read((const uint8_t *)"AA==", 4, to, 8), 0);
}

static void names_and_places_agree(void **unused)
{
	(void)unused;
	for (uint32_t status = 0; status < 1100; status++) {
		const char *name = h2_status_name(h2_status_place(status));

		assert_true((uint32_t)atoi(name) == status || strcmp(name, "other") == 0);
	}
	assert_int_equal(h2_status_place(299), H2_STATUSES - 1);
	assert_string_equal(h2_status_name(h2_status_place(504)), "504");
	assert_string_equal(
		h2_error_name(h2_error_place(H2_HTTP_1_1_REQUIRED)), "http_1_1_required");
	assert_string_equal(h2_error_name(h2_error_place(14)), "other");
	assert_string_equal(h2_error_name(h2_error_place(UINT32_MAX)), "other");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_what_nghttp2_reads),
		cmocka_unit_test(a_request_is_as_short_as_its_table_allows),
		cmocka_unit_test(a_request_that_is_too_long_is_none),
		cmocka_unit_test(answers_are_what_nghttp2_reads),
		cmocka_unit_test(templates_that_are_wrong_are_refused),
		cmocka_unit_test(headers_that_are_too_many_are_refused),
		cmocka_unit_test(base64url_of_any_length_is_read_back),
		cmocka_unit_test(base64url_that_is_wrong_is_refused),
		cmocka_unit_test(names_and_places_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

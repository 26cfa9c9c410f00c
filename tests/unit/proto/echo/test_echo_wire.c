// SPDX-License-Identifier: BSD-3-Clause
// Echo messages: requests by seed, replies compared byte for byte, the server's replies with their
// faults, and the end of a message in a stream. Path: tests only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "one_message.h"
#include "base/bytes.h"
#include "net/csum.h"
#include "proto/echo/echo.h"
#include "proto/echo/echo_internal.h"

#define ROOM 2000

static struct echo_counters n;
static struct echo_server_counters sn;
static struct echo_server_plan server_plan;
static struct proto_ctx client, server;
static struct proto_facts facts;
static struct proto_txn txn;
static const struct proto *row; // of the item
static uint8_t request[ROOM], reply[ROOM];
static uint32_t request_len, reply_len;

static int fresh(void **state)
{
	memset(&n, 0, sizeof(n));
	memset(&sn, 0, sizeof(sn));
	server_plan = (struct echo_server_plan){ECHO_REPLY_MOST, UINT64_MAX};
	server = (struct proto_ctx){.shared = &server_plan, .counters = &sn};
	return 0;
}

static int over(void **state)
{
	echo_proto.teardown((void *)client.shared);
	client.shared = NULL;
	return 0;
}

// An item with these settings; its first request, and the responder's reply.
static void exchange(uint64_t size, uint64_t wanted, enum echo_test test, enum echo_fill fill)
{
	const struct echo_settings s = {
		.size = size, .reply = wanted, .test = test, .fill = (int32_t)fill};
	const struct proto_env env = {.seed = 7};

	over(NULL);
	client = (struct proto_ctx){
		.shared = echo_proto.setup(&s, &env, &facts, NULL), .counters = &n};
	assert_non_null(client.shared);
	row = proto_terms(&echo_proto, &s).row;
	row = row ? row : &echo_proto;
	txn = (struct proto_txn){.seq = 3, .key = 0x12345678};
	request_len = proto_request(&echo_proto, &client, &txn, request, sizeof(request));
	reply_len = echo_answer(&server, request, request_len, reply, sizeof(reply));
}

static enum proto_verdict judge(void)
{
	return judge_one(&echo_proto, &client, &txn, reply, reply_len);
}

static void a_request_has_a_header_and_a_fill(void **state)
{
	exchange(40, UINT64_MAX, ECHO_RR, ECHO_COUNTING);
	assert_int_equal(request_len, 40);
	assert_int_equal(bytes_be32(request + 4), 0x12345678);
	assert_int_equal(bytes_be16(request + 16), 40);
	assert_int_equal(bytes_be16(request + 18), 40);
	for (uint32_t i = 20; i < 40; i++)
		assert_int_equal(request[i], i - 20);
	assert_false(txn.silent);
	assert_int_equal(n.request_bytes, 40);
	exchange(30, UINT64_MAX, ECHO_RR, ECHO_ZEROS);
	assert_memory_equal(request + 20, "\0\0\0\0\0\0\0\0\0\0", 10);
	exchange(38, UINT64_MAX, ECHO_RR, ECHO_HEX);
	assert_memory_equal(request + 20, "0123456789abcdef01", 18);
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
	uint8_t again[ROOM];

	exchange(1000, UINT64_MAX, ECHO_RR, ECHO_RANDOM);
	proto_request(&echo_proto, &client, &txn, again, sizeof(again));
	assert_memory_equal(again, request, 1000);
	txn.seq++;
	proto_request(&echo_proto, &client, &txn, again, sizeof(again));
	assert_memory_equal(again, request, 8);
	assert_memory_not_equal(again + 8, request + 8, 8);
	assert_memory_not_equal(again + 20, request + 20, 980);
}

static void a_request_needs_room(void **state)
{
	exchange(64, UINT64_MAX, ECHO_RR, ECHO_ZEROS);
	assert_int_equal(proto_request(&echo_proto, &client, &txn, request, 63), 0);
}

static void the_sum_of_a_request_is_known_without_reading_it(void **state)
{
	for (uint64_t size = 20; size < 100; size++) {
		exchange(size, UINT64_MAX, ECHO_RR, ECHO_COUNTING);
		assert_int_equal(csum_fold(client.sum), csum_fold(csum_add(0, request, size)));
	}
	client.sum = 0;
	exchange(64, UINT64_MAX, ECHO_RR, ECHO_RANDOM);
	assert_int_equal(client.sum, 0);
}

static void replies_of_each_length_are_right(void **state)
{
	for (uint64_t size = 20; size < 80; size += 3)
		for (uint64_t wanted = 20; wanted < 300; wanted += 7) {
			exchange(size, wanted, ECHO_RR, ECHO_RANDOM);
			assert_int_equal(reply_len, wanted);
			assert_int_equal(judge(), PROTO_DONE);
		}
	assert_int_equal(sn.answered, 20 * 40);
	assert_int_equal(sn.received_bytes, n.request_bytes);
	assert_int_equal(sn.answered_bytes, n.reply_bytes);
}

static void every_byte_of_a_reply_counts(void **state)
{
	exchange(50, 230, ECHO_RR, ECHO_HEX);
	for (uint32_t i = 0; i < reply_len; i++) {
		enum proto_verdict v;

		reply[i] ^= 0x10;
		v = judge();
		reply[i] ^= 0x10;
		if (i < 4 || i == 16 || i == 17) // another protocol, or another length than it has
			assert_int_equal(v, PROTO_MALFORMED);
		else if (i < 16) // another key or cookie
			assert_int_equal(v, PROTO_STRAY);
		else
			assert_int_equal(v, PROTO_FAIL);
	}
	assert_int_equal(n.wrong_bytes, reply_len - 18);
	assert_int_equal(judge(), PROTO_DONE);
}

static void a_reply_has_the_length_that_is_wanted(void **state)
{
	exchange(64, 100, ECHO_RR, ECHO_ZEROS);
	memcpy(reply, request, request_len); // as inetd does
	reply_len = request_len;
	assert_int_equal(judge(), PROTO_FAIL);
	assert_int_equal(n.wrong_length, 1);
	reply_len = 63;
	assert_int_equal(judge(), PROTO_MALFORMED);
	reply_len = 19;
	assert_int_equal(judge(), PROTO_MALFORMED);
}

static void the_key_is_read_from_whole_messages_only(void **state)
{
	uint32_t key = 0;

	exchange(64, UINT64_MAX, ECHO_RR, ECHO_ZEROS);
	assert_true(echo_key(reply, reply_len, &key));
	assert_int_equal(key, 0x12345678);
	assert_false(echo_key(reply, reply_len - 1, &key));
	assert_false(echo_key(reply, 0, &key));
	reply[0] = 'D';
	assert_false(echo_key(reply, reply_len, &key));
}

static void a_message_one_way_wants_no_reply(void **state)
{
	exchange(64, UINT64_MAX, ECHO_STREAM, ECHO_ZEROS);
	assert_true(txn.silent);
	assert_int_equal(reply_len, 0);
	assert_int_equal(sn.one_way, 1);
	assert_int_equal(sn.received, 1);
	assert_int_equal(sn.answered, 0);
}

static void other_bytes_come_back_as_they_are(void **state)
{
	const uint8_t addr[4] = {0};
	const struct proto_ends ends = {
		.src = addr, .dst = addr, .addr_len = 4, .src_port = 7, .dst_port = 7};

	assert_int_equal(echo_answer(&server, (const uint8_t *)"hello", 5, reply, ROOM), 5);
	assert_memory_equal(reply, "hello", 5);
	assert_int_equal(sn.plain, 1);
	server.ends = &ends; // two echo servers would never stop
	assert_int_equal(echo_answer(&server, (const uint8_t *)"hello", 5, reply, ROOM), 0);
	assert_int_equal(echo_answer(&server, (const uint8_t *)"", 0, reply, ROOM), 0);
	assert_int_equal(sn.ignored, 2);
	assert_int_equal(sn.received, sn.answered + sn.ignored);
}

static void a_reply_that_does_not_fit_is_cut(void **state)
{
	exchange(64, 1800, ECHO_RR, ECHO_ZEROS);
	assert_int_equal(reply_len, ECHO_REPLY_MOST); // of a datagram
	assert_int_equal(judge(), PROTO_FAIL);
	server.stream = true;
	assert_int_equal(echo_answer(&server, request, request_len, reply, ROOM), 1800);
	assert_int_equal(echo_answer(&server, request, request_len, reply, 1000), 1000);
	assert_int_equal(sn.cut, 2);
	bytes_put_be16(request + 18, 1); // less than a header
	assert_int_equal(echo_answer(&server, request, request_len, reply, ROOM), ECHO_HEAD);
}

static void a_message_of_a_stream_ends_where_its_header_says(void **state)
{
	exchange(300, UINT64_MAX, ECHO_RR, ECHO_COUNTING);
	for (uint32_t len = 1; len < 18; len++)
		assert_int_equal(echo_framed(request, len), 0);
	for (uint32_t len = 18; len < 300; len++)
		assert_int_equal(echo_framed(request, len), 300);
	assert_int_equal(echo_framed((const uint8_t *)"d", 1), 0);
	assert_int_equal(echo_framed((const uint8_t *)"do", 2), 2);
	assert_int_equal(echo_framed((const uint8_t *)"hello", 5), 5);
	bytes_put_be16(request + 16, 19);
	assert_int_equal(echo_framed(request, 300), 300);
}

// The key is as wide as the room in the shorter of both.
static void a_message_below_the_header_begins_with_its_key(void **state)
{
	static const struct {
		uint64_t size, reply;
		uint32_t bits;
	} kinds[] = {{1, 1, 8}, {1, 5000, 8}, {64, 1, 8}, {2, 3, 16}, {100, 3, 24}, {4, 19, 32},
		{19, 400, 32}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint32_t key = 0;

		server_plan.reply = kinds[i].reply;
		server_plan.longest = ROOM;
		server.stream = true;
		exchange(kinds[i].size, kinds[i].reply < ROOM ? kinds[i].reply : ROOM, ECHO_RR,
			ECHO_COUNTING);
		if (kinds[i].reply > ROOM) {
			assert_int_equal(reply_len, 0); // there is no room for it
			continue;
		}
		assert_int_equal(row->key_bits, kinds[i].bits);
		assert_int_equal(facts.fixed, kinds[i].reply);
		assert_int_equal(request_len, kinds[i].size);
		assert_int_equal(reply_len, kinds[i].reply);
		assert_true(row->key(reply, reply_len, &key));
		assert_int_equal(key, 0x12345678 & (UINT32_MAX >> (32 - kinds[i].bits)));
		assert_false(row->key(reply, kinds[i].bits / 8 - 1, &key));
		assert_int_equal(judge(), PROTO_DONE);
	}
	assert_int_equal(sn.plain, 6);
}

static void a_reply_without_a_header_is_compared_byte_for_byte(void **state)
{
	server_plan.reply = 30;
	exchange(7, 30, ECHO_RR, ECHO_HEX);
	assert_int_equal(judge(), PROTO_DONE);
	for (uint32_t i = 4; i < reply_len; i++) { // behind the key, which led here
		reply[i] ^= 0x10;
		assert_int_equal(judge(), PROTO_FAIL);
		reply[i] ^= 0x10;
	}
	assert_int_equal(n.wrong_bytes, 26);
	reply_len = 29;
	assert_int_equal(judge(), PROTO_FAIL);
	assert_int_equal(n.wrong_length, 1);
}

static void a_responder_may_discard_messages_without_a_header(void **state)
{
	server_plan.reply = 0;
	exchange(1, UINT64_MAX, ECHO_STREAM, ECHO_ZEROS);
	assert_true(txn.silent);
	assert_int_equal(request_len, 1);
	assert_int_equal(reply_len, 0);
	assert_int_equal(sn.one_way, 1);
	assert_ptr_equal(row, &echo_proto); // nobody reads the key, so it has all its bits
}

static void a_message_says_itself_whether_it_has_a_header(void **state)
{
	server_plan.reply = 3;
	exchange(64, 100, ECHO_RR, ECHO_ZEROS);
	assert_int_equal(reply_len, 100);
	assert_ptr_equal(row, &echo_proto);
	assert_int_equal(facts.fixed, 0);
	assert_int_equal(judge(), PROTO_DONE);
}

static void faults_are_found(void **state)
{
	static const enum proto_verdict expected[] = {PROTO_FAIL, PROTO_FAIL, PROTO_STRAY};

	for (uint32_t i = 0; echo_faults[i].name; i++) {
		exchange(64, 200, ECHO_RR, ECHO_RANDOM);
		reply_len = echo_faults[i].apply(reply, reply_len, ROOM, 0x8123456789abcdef);
		assert_int_equal(judge(), expected[i]);
		assert_int_equal(echo_faults[i].apply(reply, 19, ROOM, 1), 0);
	}
	assert_int_equal(n.wrong_bytes, 1);
	assert_int_equal(n.wrong_length, 1);
	exchange(20, 20, ECHO_RR, ECHO_RANDOM); // nothing is behind the header
	assert_int_equal(echo_faults[0].apply(reply, reply_len, ROOM, 1), 0);
	assert_int_equal(echo_faults[1].apply(reply, reply_len, ROOM, 1), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, over)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_has_a_header_and_a_fill),
		TEST(the_same_seed_gives_the_same_bytes),
		TEST(a_request_needs_room),
		TEST(the_sum_of_a_request_is_known_without_reading_it),
		TEST(replies_of_each_length_are_right),
		TEST(every_byte_of_a_reply_counts),
		TEST(a_reply_has_the_length_that_is_wanted),
		TEST(the_key_is_read_from_whole_messages_only),
		TEST(a_message_one_way_wants_no_reply),
		TEST(other_bytes_come_back_as_they_are),
		TEST(a_reply_that_does_not_fit_is_cut),
		TEST(a_message_of_a_stream_ends_where_its_header_says),
		TEST(a_message_below_the_header_begins_with_its_key),
		TEST(a_reply_without_a_header_is_compared_byte_for_byte),
		TEST(a_responder_may_discard_messages_without_a_header),
		TEST(a_message_says_itself_whether_it_has_a_header),
		TEST(faults_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

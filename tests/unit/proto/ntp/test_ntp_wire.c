// SPDX-License-Identifier: BSD-3-Clause
// NTP messages: requests by seed, the check of replies field by field, the server's replies and
// their faults. Path: tests only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "one_message.h"
#include "base/bytes.h"
#include "proto/ntp/ntp.h"
#include "proto/ntp/ntp_internal.h"

static struct ntp_plan plan;
static struct ntp_server_plan server_plan;
static struct ntp_counters n;
static struct ntp_server_counters sn;
static struct proto_ctx client, server;
static struct proto_txn txn;
static uint8_t request[NTP_LEN], reply[NTP_LEN];

// Makes a request and the responder's reply to it.
static int begin(void **state)
{
	plan = (struct ntp_plan){.seed = 7, .version = 4, .poll = 6};
	server_plan = (struct ntp_server_plan){.stratum = 2};
	memset(&n, 0, sizeof(n));
	memset(&sn, 0, sizeof(sn));
	client = (struct proto_ctx){.shared = &plan, .counters = &n};
	server = (struct proto_ctx){.shared = &server_plan, .counters = &sn, .now_ms = 1500};
	txn = (struct proto_txn){.seq = 3, .key = 0x12345678};
	assert_int_equal(
		proto_request(&ntp_proto, &client, &txn, request, sizeof(request)), NTP_LEN);
	assert_int_equal(ntp_answer(&server, request, NTP_LEN, reply, sizeof(reply)), NTP_LEN);
	return 0;
}

static enum proto_verdict judge(void)
{
	return judge_one(&ntp_proto, &client, &txn, reply, NTP_LEN);
}

static void a_request_has_only_version_mode_poll_and_transmit_time(void **state)
{
	static const uint8_t zero[36];

	assert_int_equal(request[0], 4 << 3 | 3);
	assert_int_equal(request[1], 0);
	assert_int_equal(request[2], 6);
	assert_memory_equal(request + 3, zero, 36);
	assert_int_equal(bytes_be32(request + 44), 0x12345678);
	assert_true(request[40] & 0x80); // a time after 1968
	assert_int_equal(n.request_bytes, NTP_LEN);
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
	uint8_t again[NTP_LEN];

	proto_request(&ntp_proto, &client, &txn, again, sizeof(again));
	assert_memory_equal(again, request, NTP_LEN);
	txn.seq++;
	proto_request(&ntp_proto, &client, &txn, again, sizeof(again));
	assert_memory_not_equal(again + 40, request + 40, 4);
	txn.seq--;
	plan.seed++;
	proto_request(&ntp_proto, &client, &txn, again, sizeof(again));
	assert_memory_not_equal(again + 40, request + 40, 4);
}

static void a_request_needs_room(void **state)
{
	assert_int_equal(proto_request(&ntp_proto, &client, &txn, request, NTP_LEN - 1), 0);
}

static void the_key_is_read_from_replies_of_a_server_only(void **state)
{
	uint32_t key = 0;

	assert_true(ntp_key(reply, NTP_LEN, &key));
	assert_int_equal(key, 0x12345678);
	assert_false(ntp_key(reply, NTP_LEN - 1, &key));
	for (uint8_t mode = 0; mode < 8; mode++) {
		reply[0] = (uint8_t)(4 << 3 | mode);
		assert_int_equal(ntp_key(reply, NTP_LEN, &key), mode == 4);
		if (mode != 4)
			assert_int_equal(judge(), PROTO_MALFORMED);
	}
}

static void the_answer_of_the_responder_is_right(void **state)
{
	assert_int_equal(judge(), PROTO_DONE);
	assert_int_equal(n.stratum[2], 1);
	assert_int_equal(n.leap[NTP_LEAP_NONE], 1);
	assert_int_equal(n.reply_bytes, NTP_LEN);
	assert_int_equal(reply[0], 4 << 3 | 4);
	assert_int_equal(reply[2], 6);
	assert_int_equal(bytes_be32(reply + 40), 3976214401u); // 2026-01-01 00:00:01.5
	assert_int_equal(bytes_be32(reply + 44), 0x80000000u);
	assert_int_equal(judge_one(&ntp_proto, &client, &txn, reply, NTP_LEN - 1), PROTO_MALFORMED);
}

static void another_origin_is_a_stray(void **state)
{
	for (uint32_t at = 24; at < 32; at++) {
		reply[at] ^= 1;
		assert_int_equal(judge(), PROTO_STRAY);
		reply[at] ^= 1;
	}
	assert_int_equal(n.reply_bytes, 0);
}

static void kiss_codes_are_told_apart(void **state)
{
	static const char *const codes[NTP_KISSES] = {"RATE", "DENY", "RSTR", "AUTH"};

	reply[1] = 0;
	for (uint32_t i = 0; i < NTP_KISSES; i++) {
		memcpy(reply + 12, codes[i], 4);
		assert_int_equal(judge(), PROTO_FAIL);
		assert_int_equal(n.kiss[i], 1);
	}
	assert_int_equal(n.stratum[0], NTP_KISSES);
	assert_int_equal(n.unsynchronised, 0);
}

static void a_clock_that_is_not_synchronised_fails(void **state)
{
	reply[1] = 0;
	memset(reply + 12, 0, 4); // chronyd without a source
	assert_int_equal(judge(), PROTO_FAIL);
	reply[1] = 16;
	assert_int_equal(judge(), PROTO_FAIL);
	reply[1] = 200;
	assert_int_equal(judge(), PROTO_FAIL);
	reply[1] = 15;
	assert_int_equal(judge(), PROTO_DONE);
	reply[0] |= 3 << 6;
	assert_int_equal(judge(), PROTO_FAIL);
	assert_int_equal(n.unsynchronised, 4);
	assert_int_equal(n.stratum[16], 2);
	assert_int_equal(n.leap[NTP_LEAP_ALARM], 1);
}

static void version_and_transmit_time_are_checked(void **state)
{
	reply[0] = 3 << 3 | 4;
	assert_int_equal(judge(), PROTO_FAIL);
	assert_int_equal(n.bad_version, 1);
	reply[0] = 4 << 3 | 4;
	memset(reply + 40, 0, 8);
	assert_int_equal(judge(), PROTO_FAIL);
	assert_int_equal(n.no_transmit_time, 1);
	reply[47] = 1;
	assert_int_equal(judge(), PROTO_DONE);
}

static void a_reply_may_have_extension_fields(void **state)
{
	uint8_t longer[NTP_LEN + 20] = {0};

	memcpy(longer, reply, NTP_LEN);
	assert_int_equal(judge_one(&ntp_proto, &client, &txn, longer, sizeof(longer)), PROTO_DONE);
	assert_int_equal(n.reply_bytes, sizeof(longer));
}

static void the_server_answers_clients_of_versions_1_to_4(void **state)
{
	for (uint8_t first = 0; first < 64; first++) {
		bool right = (first & 7) == 3 && first >> 3 >= 1 && first >> 3 <= 4;
		uint32_t len;

		request[0] = first;
		len = ntp_answer(&server, request, NTP_LEN, reply, sizeof(reply));
		assert_int_equal(len, right ? NTP_LEN : 0);
		if (right)
			assert_int_equal(reply[0], (first & 0x38) | 4);
	}
	assert_int_equal(sn.answered, 1 + 4);
	assert_int_equal(sn.ignored, 60);
	assert_int_equal(sn.received, sn.answered + sn.ignored);
	request[0] = 4 << 3 | 3;
	assert_int_equal(ntp_answer(&server, request, NTP_LEN - 1, reply, sizeof(reply)), 0);
	assert_int_equal(ntp_answer(&server, request, NTP_LEN, reply, NTP_LEN - 1), 0);
}

static void the_server_has_the_stratum_of_its_settings(void **state)
{
	server_plan.stratum = 1;
	ntp_answer(&server, request, NTP_LEN, reply, sizeof(reply));
	assert_int_equal(judge(), PROTO_DONE);
	assert_int_equal(n.stratum[1], 1);
	assert_memory_equal(reply + 12, "LOCL", 4);
	server_plan.stratum = 16;
	ntp_answer(&server, request, NTP_LEN, reply, sizeof(reply));
	assert_int_equal(judge(), PROTO_FAIL);
	assert_int_equal(n.unsynchronised, 1);
	assert_int_equal(n.leap[NTP_LEAP_ALARM], 1);
}

static uint32_t spoil(const char *name)
{
	for (const struct proto_fault *f = ntp_faults; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f->apply(reply, NTP_LEN, sizeof(reply), 1);
	fail_msg("no fault %s", name);
	return 0;
}

static void faults_show_where_they_should(void **state)
{
	uint8_t ready[NTP_LEN];
	uint32_t key;

	memcpy(ready, reply, NTP_LEN);
	assert_int_equal(spoil("kiss"), NTP_LEN);
	assert_int_equal(judge(), PROTO_FAIL);
	assert_int_equal(n.kiss[NTP_KISS_RATE], 1);
	memcpy(reply, ready, NTP_LEN);
	assert_int_equal(spoil("unsynchronised"), NTP_LEN);
	assert_int_equal(judge(), PROTO_FAIL);
	assert_int_equal(n.unsynchronised, 1);
	memcpy(reply, ready, NTP_LEN);
	assert_int_equal(spoil("wrong_origin"), NTP_LEN);
	assert_true(ntp_key(reply, NTP_LEN, &key));
	assert_int_equal(key, txn.key);
	assert_int_equal(judge(), PROTO_STRAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, begin)
		TEST(a_request_has_only_version_mode_poll_and_transmit_time),
		TEST(the_same_seed_gives_the_same_bytes),
		TEST(a_request_needs_room),
		TEST(the_key_is_read_from_replies_of_a_server_only),
		TEST(the_answer_of_the_responder_is_right),
		TEST(another_origin_is_a_stray),
		TEST(kiss_codes_are_told_apart),
		TEST(a_clock_that_is_not_synchronised_fails),
		TEST(version_and_transmit_time_are_checked),
		TEST(a_reply_may_have_extension_fields),
		TEST(the_server_answers_clients_of_versions_1_to_4),
		TEST(the_server_has_the_stratum_of_its_settings),
		TEST(faults_show_where_they_should),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

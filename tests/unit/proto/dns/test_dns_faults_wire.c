// SPDX-License-Identifier: BSD-3-Clause
// The responder's DNS faults on real replies: each corrupts the part in its name and leaves a
// well-formed message; a reply without that part stays unchanged. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/dns/server/dns_answers.h"
#include "proto/dns/client/dns_internal.h"

// h1.example.com A 192.0.2.1, with OPT.
static const uint8_t answer[] = "\x12\x34\x85\x00\0\1\0\1\0\0\0\1"
				"\2h1\7example\3com\0\0\1\0\1"
				"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1"
				"\0\0\x29\4\xd0\0\0\0\0\0\0";
#define LEN      (sizeof(answer) - 1)
#define QUESTION 20
#define RECORD   16

static uint8_t buf[512];

static uint32_t apply(const char *name, uint64_t random)
{
	memcpy(buf, answer, LEN);
	for (const struct proto_fault *f = dns_faults; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f->apply(buf, LEN, sizeof(buf), random);
	fail_msg("no fault %s", name);
	return 0;
}

static void assert_well_formed(uint32_t len, uint16_t answers)
{
	struct dns_message m;

	assert_int_equal(dns_question_len(buf, len), QUESTION);
	assert_true(dns_message_walk(buf, len, DNS_HEADER_LEN + QUESTION, &m));
	assert_int_equal(m.answers, answers);
	assert_int_equal(m.left, 0);
	assert_true(m.has_opt);
}

static void a_wrong_id_is_never_the_right_one(void **state)
{
	const uint64_t randoms[] = {0, 1, UINT64_MAX, 1ull << 63, 0x123456789abcdef0};

	for (size_t i = 0; i < sizeof(randoms) / sizeof(randoms[0]); i++) {
		assert_int_equal(apply("wrong_id", randoms[i]), LEN);
		assert_memory_not_equal(buf, answer, 2);
		assert_memory_equal(buf + 2, answer + 2, LEN - 2);
	}
}

static void a_wrong_question_is_another_name(void **state)
{
	assert_int_equal(apply("wrong_question", 0), LEN);
	assert_well_formed(LEN, 1);
	assert_int_equal(buf[DNS_HEADER_LEN + 1], 'x');
	buf[DNS_HEADER_LEN + 1] = 'h';
	assert_memory_equal(buf, answer, LEN);
}

static void a_record_is_taken_out_and_the_rest_stays(void **state)
{
	const char *const names[] = {"rcode", "tc", "empty"};

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(apply(names[i], 0), LEN - RECORD);
		assert_well_formed(LEN - RECORD, 0);
		assert_int_equal(buf[3] & 15, i == 0 ? 2 : 0);
		assert_int_equal(buf[2] & 2, i == 1 ? 2 : 0);
	}
}

static void an_unsolicited_reply_has_another_id_and_question(void **state)
{
	assert_int_equal(apply("unsolicited", 7), LEN);
	assert_well_formed(LEN, 1);
	assert_memory_not_equal(buf, answer, 2);
	assert_memory_not_equal(buf + DNS_HEADER_LEN, answer + DNS_HEADER_LEN, QUESTION);
}

static void an_answer_without_a_record_cannot_become_empty(void **state)
{
	uint32_t bare = apply("empty", 0);

	for (const struct proto_fault *f = dns_faults; f->name; f++)
		if (strcmp(f->name, "empty") == 0)
			assert_int_equal(f->apply(buf, bare, sizeof(buf), 0), 0);
}

// Including bare error headers, which have no question.
static void no_length_is_read_beyond(void **state)
{
	uint8_t exact[LEN];

	for (const struct proto_fault *f = dns_faults; f->name; f++)
		for (uint32_t len = 0; len <= LEN; len++) {
			uint8_t *at = exact + LEN - len;

			memcpy(at, answer, len);
			assert_true(f->apply(at, len, len, 99) <= len);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_id_is_never_the_right_one),
		cmocka_unit_test(a_wrong_question_is_another_name),
		cmocka_unit_test(a_record_is_taken_out_and_the_rest_stays),
		cmocka_unit_test(an_unsolicited_reply_has_another_id_and_question),
		cmocka_unit_test(an_answer_without_a_record_cannot_become_empty),
		cmocka_unit_test(no_length_is_read_beyond),
	};

	return cmocka_run_group_tests_name("dns_faults_wire", tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// Replies that are equal for the referee, and replies that differ. Path: tests only.

#include "dns_fixture.h"

#define BYTES(text)         text, sizeof(text) - 1
#define ALL                 (DNS_COMPARED_SECTIONS | 1u << DNS_COMPARED_RCODE | 1u << DNS_COMPARED_FLAGS)
#define QUESTION            "\3www\7example\3com\0\0\1\0\1"
#define HEAD(flags, counts) "\x12\x34" flags "\0\1\0" counts
#define RECORD(type, ttl)   "\0" type "\0\1\0\0\0" ttl "\0"
#define A(last)             RECORD("\1", "\x3c") "\4\xc0\0\2" last

struct message {
	const char *bytes;
	size_t len;
};

// The digest of a message in a block of exactly its size.
static struct dns_digest digest_of(uint32_t parts, struct message in)
{
	const struct dns_referee r = {.seed = 7, .parts = parts};
	uint8_t *exact = malloc(in.len);
	uint32_t len = (uint32_t)in.len, at;
	struct dns_digest digest;
	struct dns_message m;

	assert_non_null(exact);
	memcpy(exact, in.bytes, len);
	at = DNS_HEADER_LEN + (bytes_be16(exact + 4) ? dns_question_len(exact, len) : 0);
	assert_true(dns_message_walk(exact, len, at, &m));
	dns_digest_make(&r, exact, len, at, &m, &digest);
	free(exact);
	return digest;
}

static uint32_t differs(uint32_t parts, struct message a, struct message b)
{
	struct dns_digest x = digest_of(parts, a), y = digest_of(parts, b);

	return dns_digest_differs(parts, &x, &y);
}

// One answer record of a type with this owner and these RDATA.
#define ONE(record) HEAD("\x84\0", "\1\0\0\0\0") QUESTION record

static const struct message two = {
	BYTES(HEAD("\x84\0", "\2\0\0\0\0") QUESTION "\xc0\x0c" A("\1") "\xc0\x0c" A("\2"))};

static void sets_are_equal_in_any_order_case_and_compression(void **state)
{
	const struct message other[] = {
		{BYTES(HEAD("\x84\0", "\2\0\0\0\0") QUESTION
			"\xc0\x0c" A("\2") "\xc0\x0c" A("\1"))},
		{BYTES(HEAD("\x84\0", "\2\0\0\0\0") QUESTION
			"\3wWw\7ExamplE\3COM\0" A("\1") "\3www\xc0\x10" A("\2"))},
		{BYTES("\x56\x78\x85\x90\0\1\0\2\0\0\0\0\3WWW\7example\3com\0\0\1\0\1"
		       "\xc0\x0c" A("\1") "\xc0\x0c" A("\2"))},
	};

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		assert_int_equal(differs(ALL, two, other[i]), DNS_COMPARED_COUNT);
}

static void names_in_rdata_are_names_where_they_may_be_compressed(void **state)
{
	const struct {
		struct message a, b;
		uint32_t differs;
	} cases[] = {
		{{BYTES(ONE("\xc0\x0c" RECORD("\x0f", "\1") "\7\0\x0a\2mx\xc0\x10"))}, // MX
			{BYTES(ONE(
				"\xc0\x0c" RECORD("\x0f", "\1") "\x12\0\x0a\2MX\7example\3com\0"))},
			DNS_COMPARED_COUNT},
		{{BYTES(ONE("\xc0\x0c" RECORD("\x0f", "\1") "\7\0\x0a\2mx\xc0\x10"))},
			{BYTES(ONE("\xc0\x0c" RECORD("\x0f", "\1") "\7\0\x0b\2mx\xc0\x10"))},
			DNS_COMPARED_ANSWER},
		{{BYTES(ONE("\xc0\x0c" RECORD("\x06", "\1") // SOA
			 "\x1c\2ns\xc0\x10\1h\xc0\x10\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1"))},
			{BYTES(ONE("\xc0\x0c" RECORD(
				"\x06", "\1") "\x1c\2NS\xc0\x10\1H\xc0\x10\0\0\0"
					      "\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1"))},
			DNS_COMPARED_COUNT},
		{{BYTES(ONE("\xc0\x0c" RECORD("\x23", "\1") // NAPTR
			 "\x0d\0\1\0\2\1s\1a\0\1r\xc0\x10"))},
			{BYTES(ONE("\xc0\x0c" RECORD(
				"\x23", "\1") "\x0d\0\1\0\2\1s\1a\0\1R\xc0\x10"))},
			DNS_COMPARED_COUNT},
		{{BYTES(ONE("\xc0\x0c" RECORD("\x23", "\1") "\x0d\0\1\0\2\1s\1a\0\1r\xc0\x10"))},
			{BYTES(ONE("\xc0\x0c" RECORD(
				"\x23", "\1") "\x0d\0\1\0\2\1S\1a\0\1r\xc0\x10"))},
			DNS_COMPARED_ANSWER},
		{{BYTES(ONE("\xc0\x0c" RECORD("\x10", "\1") "\3\2ab"))}, // TXT
			{BYTES(ONE("\xc0\x0c" RECORD("\x10", "\1") "\3\2aB"))},
			DNS_COMPARED_ANSWER},
		// RDATA too short for a name: octets.
		{{BYTES(ONE("\xc0\x0c" RECORD("\x05", "\1") "\3\2ab"))},
			{BYTES(ONE("\xc0\x0c" RECORD("\x05", "\1") "\3\2ab"))}, DNS_COMPARED_COUNT},
		{{BYTES(ONE("\xc0\x0c" RECORD("\x23", "\1") "\5\0\1\0\2\x09"))},
			{BYTES(ONE("\xc0\x0c" RECORD("\x23", "\1") "\5\0\1\0\2\x08"))},
			DNS_COMPARED_ANSWER},
		{{BYTES(ONE("\xc0\x0c" RECORD("\x0f", "\1") "\1\0"))},
			{BYTES(ONE("\xc0\x0c" RECORD("\x0f", "\1") "\0"))}, DNS_COMPARED_ANSWER},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(differs(ALL, cases[i].a, cases[i].b), cases[i].differs);
}

static void each_part_is_a_class_and_the_first_one_counts(void **state)
{
	const struct {
		struct message other;
		uint32_t differs;
	} cases[] = {
		{{BYTES(HEAD("\x84\3", "\2\0\0\0\0") QUESTION
			 "\xc0\x0c" A("\1") "\xc0\x0c" A("\3"))},
			DNS_COMPARED_RCODE},
		{{BYTES(HEAD("\x84\0", "\2\0\0\0\1") QUESTION "\xc0\x0c" A("\1") "\xc0\x0c" A(
			 "\2") "\0\0\x29\4\xd0\1\0\0\0\0\0")}, // upper bits of the RCODE
			DNS_COMPARED_RCODE},
		{{BYTES(HEAD("\x80\0", "\2\0\0\0\0") QUESTION
			 "\xc0\x0c" A("\1") "\xc0\x0c" A("\3"))},
			DNS_COMPARED_FLAGS},
		{{BYTES(HEAD("\x86\0", "\2\0\0\0\0") QUESTION
			 "\xc0\x0c" A("\1") "\xc0\x0c" A("\2"))},
			DNS_COMPARED_FLAGS},
		{{BYTES(HEAD("\x84\x20", "\2\0\0\0\0") QUESTION
			 "\xc0\x0c" A("\1") "\xc0\x0c" A("\2"))},
			DNS_COMPARED_FLAGS},
		{{BYTES(HEAD("\x84\0", "\1\0\1\0\0") QUESTION
			 "\xc0\x0c" A("\1") "\xc0\x0c" A("\2"))},
			DNS_COMPARED_ANSWER},
		{{BYTES(HEAD("\x84\0", "\2\0\1\0\0") QUESTION
			 "\xc0\x0c" A("\1") "\xc0\x0c" A("\2") "\xc0\x0c" A("\3"))},
			DNS_COMPARED_AUTHORITY},
		{{BYTES(HEAD("\x84\0", "\2\0\0\0\1") QUESTION
			 "\xc0\x0c" A("\1") "\xc0\x0c" A("\2") "\xc0\x0c" A("\3"))},
			DNS_COMPARED_ADDITIONAL},
		{{BYTES(HEAD("\x84\0", "\2\0\0\0\1") QUESTION "\xc0\x0c" A("\1") "\xc0\x0c" A(
			 "\2") "\0\0\x29\4\xd0\0\0\0\0\0\0")}, // OPT is no data
			DNS_COMPARED_COUNT},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(differs(ALL, two, cases[i].other), cases[i].differs);
		if (cases[i].differs < DNS_COMPARED_COUNT)
			assert_int_equal(differs(1u << cases[i].differs, two, cases[i].other),
				cases[i].differs);
	}
	assert_int_equal(
		differs(1u << DNS_COMPARED_ANSWER, two, cases[6].other), DNS_COMPARED_COUNT);
}

// A difference in owner, type, class, data or number of records makes another set.
static void upper_bits_of_the_rcode_are_upper_bits(void **state)
{
	const struct message formerr = {BYTES(HEAD("\x84\1", "\0\0\0\0\0") QUESTION)};
	const struct message badvers = {
		BYTES(HEAD("\x84\0", "\0\0\0\0\1") QUESTION "\0\0\x29\4\xd0\1\0\0\0\0\0")};

	assert_int_equal(differs(ALL, formerr, badvers), DNS_COMPARED_RCODE);
}

// The name would end in the next record.
static void a_name_ends_within_its_rdata(void **state)
{
	const struct message in = {BYTES(HEAD("\x84\0", "\2\0\0\0\0") QUESTION
		"\xc0\x0c" RECORD("\5", "\1") "\3\2ab\0" A("\1"))};
	const struct message other = {BYTES(HEAD("\x84\0", "\2\0\0\0\0") QUESTION
		"\xc0\x0c" RECORD("\5", "\1") "\3\2aB\0" A("\1"))};

	assert_int_equal(differs(ALL, in, in), DNS_COMPARED_COUNT);
	assert_int_equal(differs(ALL, in, other), DNS_COMPARED_ANSWER);
}

static void records_differ_in_any_of_their_parts(void **state)
{
	const struct message one = {BYTES(ONE("\xc0\x0c" A("\1")))};
	const struct message other[] = {
		{BYTES(ONE("\xc0\x10" A("\1")))},
		{BYTES(ONE("\xc0\x0c" RECORD("\2", "\x3c") "\4\xc0\0\2\1"))},
		{BYTES(ONE("\xc0\x0c\0\1\0\3\0\0\0\x3c\0\4\xc0\0\2\1"))},
		{BYTES(ONE("\xc0\x0c" RECORD("\1", "\x3c") "\5\xc0\0\2\1\0"))},
		{BYTES(HEAD("\x84\0", "\2\0\0\0\0") QUESTION
			"\xc0\x0c" A("\1") "\xc0\x0c" A("\1"))},
		{BYTES(HEAD("\x84\0", "\0\0\0\0\0") QUESTION)},
	};
	const struct message ttl = {BYTES(ONE("\xc0\x0c" RECORD("\1", "\x3b") "\4\xc0\0\2\1"))};

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		assert_int_equal(differs(ALL, one, other[i]), DNS_COMPARED_ANSWER);
	// A repeated record is not the same as no record.
	assert_int_equal(differs(ALL, other[4], other[5]), DNS_COMPARED_ANSWER);
	assert_int_equal(differs(ALL, one, ttl), DNS_COMPARED_COUNT);
	assert_int_equal(differs(ALL | 1u << DNS_COMPARED_TTL, one, ttl), DNS_COMPARED_ANSWER);
	assert_int_equal(differs(ALL | 1u << DNS_COMPARED_TTL, one, one), DNS_COMPARED_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_are_equal_in_any_order_case_and_compression),
		cmocka_unit_test(names_in_rdata_are_names_where_they_may_be_compressed),
		cmocka_unit_test(each_part_is_a_class_and_the_first_one_counts),
		cmocka_unit_test(upper_bits_of_the_rcode_are_upper_bits),
		cmocka_unit_test(a_name_ends_within_its_rdata),
		cmocka_unit_test(records_differ_in_any_of_their_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// Known layouts change nothing but the time of parsing. Path: tests only.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dhcp4_same.h"

#define PADDED 300

static struct dhcp4_scratch scratch;
static uint8_t bytes[PADDED];

static int scratch_clear(void **state)
{
	memset(&scratch, 0, sizeof(scratch));
	memset(bytes, 0, sizeof(bytes));
	return 0;
}

static struct writer options_begin(void)
{
	bytes[DHCP4_AT_OP] = DHCP4_REPLY_OP;
	memcpy(bytes + DHCP4_AT_COOKIE, "\x63\x82\x53\x63", 4);
	return writer_of(bytes + DHCP4_OPTIONS_AT, sizeof(bytes) - DHCP4_OPTIONS_AT);
}

// A server's message and its length; id_len: bytes of the client identifier.
static uint32_t answer(uint32_t address, const char *id, uint32_t id_len)
{
	struct writer w = options_begin();

	dhcp4_write_option_u8(&w, DHCP4_OPT_TYPE, DHCP4_ACK);
	dhcp4_write_option_be32(&w, DHCP4_OPT_SERVER_ID, address);
	dhcp4_write_option_be32(&w, DHCP4_OPT_LEASE_TIME, address + 1);
	dhcp4_write_option_be32(&w, DHCP4_OPT_T1, address + 2);
	write_u8(&w, DHCP4_OPT_PAD);
	dhcp4_write_option_be32(&w, DHCP4_OPT_T2, address + 3);
	dhcp4_write_option(&w, DHCP4_OPT_CLIENT_ID, id, id_len);
	write_u8(&w, DHCP4_OPT_END);
	return (uint32_t)(w.at - bytes);
}

// Parses a message in a block of its own size, with and without the layouts of earlier messages.
static bool parse(uint32_t len, struct dhcp4_message *m)
{
	static struct dhcp4_scratch fresh;
	struct dhcp4_message walked;
	uint8_t *block = malloc(len);
	bool right, same;

	assert_non_null(block);
	memcpy(block, bytes, len);
	memset(&fresh, 0, sizeof(fresh));
	memset(m, 0xee, sizeof(*m));
	right = dhcp4_parse(block, len, &fresh, &walked);
	same = dhcp4_parse(block, len, &scratch, m) == right;
	assert_true(same && (!right || same_message(&walked, m)));
	free(block);
	return right;
}

static bool is_learnt(uint32_t len)
{
	struct dhcp4_message m;
	uint32_t missed;

	assert_true(parse(len, &m));
	missed = scratch.layouts.missed;
	assert_true(parse(len, &m));
	return scratch.layouts.missed == missed;
}

static void values_are_those_of_each_message(void **state)
{
	struct dhcp4_message m;
	uint32_t len = answer(1000, "abc", 3);

	assert_true(is_learnt(len));
	answer(0xfffffff0, "xyz", 3);
	assert_true(parse(len, &m));
	assert_int_equal(scratch.layouts.missed, 1);
	assert_int_equal(m.server_id, 0xfffffff0);
	assert_int_equal(m.lease_time, 0xfffffff1);
	assert_int_equal(m.t1, 0xfffffff2);
	assert_int_equal(m.t2, 0xfffffff3);
}

static void what_follows_the_end_does_not_matter(void **state)
{
	uint32_t len = answer(1000, "abc", 3);
	struct dhcp4_message m;

	assert_true(is_learnt(PADDED));
	assert_true(parse(len, &m));
	memset(bytes + len, 0xee, PADDED - len);
	assert_true(parse(PADDED, &m));
	assert_int_equal(scratch.layouts.missed, 1);
}

static void every_cut_is_seen(void **state)
{
	uint32_t len = answer(1000, "abc", 3);
	struct dhcp4_message m;

	assert_true(is_learnt(len));
	for (uint32_t cut = 1; cut < len; cut++)
		parse(cut, &m);
}

static void every_bit_that_makes_another_layout_is_seen(void **state)
{
	uint32_t len = answer(1000, "abc", 3);
	struct dhcp4_message m;

	for (uint32_t bit = DHCP4_AT_COOKIE * 8; bit < PADDED * 8; bit++) {
		answer(1000, "abc", 3);
		memset(&scratch, 0, sizeof(scratch));
		assert_true(is_learnt(len));
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		parse(PADDED, &m);
		parse(len, &m);
	}
}

static void several_layouts_are_known(void **state)
{
	uint32_t len[2] = {answer(1, "abc", 3), answer(1, "abcdefgh", 8)};
	struct dhcp4_message m;

	for (uint32_t i = 0; i < 2; i++) {
		scratch.layouts.missed = 0;
		assert_int_equal(answer(1, "abcdefgh", i ? 8 : 3), len[i]);
		assert_true(is_learnt(len[i]));
	}
	scratch.layouts.missed = 0;
	for (uint32_t i = 0; i < 10; i++) {
		answer(i, "abcdefgh", i % 2 ? 8 : 3);
		assert_true(parse(len[i % 2], &m));
	}
	assert_int_equal(scratch.layouts.missed, 0);
}

static void where_no_two_are_alike_few_are_learnt(void **state)
{
	char id[40] = "";
	struct dhcp4_message m;
	uint32_t learnt = 0;

	for (uint32_t i = 1; i <= 28; i++) {
		uint32_t last = scratch.layouts.last;

		assert_true(parse(answer(i, id, i), &m));
		learnt += last != scratch.layouts.last;
	}
	assert_int_equal(scratch.layouts.missed, 28);
	assert_int_equal(learnt, 2);
}

static void split_overloaded_and_endless_messages_are_not_learnt(void **state)
{
	struct writer w = options_begin();

	dhcp4_write_option_u8(&w, DHCP4_OPT_TYPE, DHCP4_ACK);
	dhcp4_write_option(&w, DHCP4_OPT_CLIENT_ID, "abcdefghijk", 11);
	assert_false(is_learnt((uint32_t)(w.at - bytes)));
	scratch_clear(NULL);
	w = options_begin();
	dhcp4_write_option_u8(&w, DHCP4_OPT_TYPE, DHCP4_ACK);
	dhcp4_write_option(&w, DHCP4_OPT_CLIENT_ID, "abcdef", 6);
	dhcp4_write_option(&w, DHCP4_OPT_CLIENT_ID, "ghijkl", 6);
	write_u8(&w, DHCP4_OPT_END);
	assert_false(is_learnt(PADDED));
	scratch_clear(NULL);
	w = options_begin();
	dhcp4_write_option_u8(&w, DHCP4_OPT_TYPE, DHCP4_ACK);
	dhcp4_write_option_u8(&w, DHCP4_OPT_OVERLOAD, 1);
	dhcp4_write_option(&w, DHCP4_OPT_CLIENT_ID, "abcdef", 6);
	write_u8(&w, DHCP4_OPT_END);
	assert_false(is_learnt(PADDED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(values_are_those_of_each_message, scratch_clear),
		cmocka_unit_test_setup(what_follows_the_end_does_not_matter, scratch_clear),
		cmocka_unit_test_setup(every_cut_is_seen, scratch_clear),
		cmocka_unit_test_setup(every_bit_that_makes_another_layout_is_seen, scratch_clear),
		cmocka_unit_test_setup(several_layouts_are_known, scratch_clear),
		cmocka_unit_test_setup(where_no_two_are_alike_few_are_learnt, scratch_clear),
		cmocka_unit_test_setup(
			split_overloaded_and_endless_messages_are_not_learnt, scratch_clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

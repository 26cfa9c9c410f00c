// SPDX-License-Identifier: BSD-3-Clause
// Invalid messages of clients, sent on purpose, for both families: the body of the tests, which
// first define fixture_wrong, has_kept_xid and IF_CUT, the verdict on a truncated reply.
// Path: tests only.
#pragma once

#include "proto/dhcp/dhcp.h"
#include "one_message.h"

// Begins the next exchange; its message, of any form, is in f->sent.
static void wrong_next(FIXTURE *f)
{
	uint32_t room = ((const struct dhcp_plan *)f->ctx.shared)->longest;

	assert_true(fixture_begin(f));
	memset(f->sent, 0xee, sizeof(f->sent));
	f->ctx.sum = 0;
	f->sent_len = proto_request(&VERB(proto), &f->ctx, &f->txn, f->sent, room);
	assert_in_range(f->sent_len, 1, room);
	assert_int_equal(f->sent[room], 0xee);
	assert_int_equal(f->ctx.sum, 0); // the engine adds up
}

static struct dhcp_wrong_settings only(uint32_t kind)
{
	struct dhcp_wrong_settings s = {0};

	s.shares[kind] = 1;
	return s;
}

static void each_kind_is_counted_and_its_silence_too(void **state)
{
	for (uint32_t kind = 0; kind < DHCP_WRONG_COUNT; kind++) {
		struct dhcp_wrong_settings wrong = only(kind);
		FIXTURE *f = fixture_wrong(&wrong);

		for (uint32_t i = 0; i < 3; i++) { // of one client, which is free again
			wrong_next(f);
			assert_true(has_kept_xid(f, kind));
			assert_int_equal(VERB(timeout)(&f->ctx, &f->txn), PROTO_APART);
		}
		assert_int_equal(f->n.wrong_sent[kind], 3);
		assert_int_equal(f->n.wrong_unanswered[kind], 3);
		assert_int_equal(f->n.wrong_answered[kind], 0);
		fixture_end(f);
	}
}

// Whatever the client and contents of the reply.
static void any_answer_ends_the_exchange_apart(void **state)
{
	struct dhcp_wrong_settings wrong = only(DHCP_WRONG_COUNT - 1);
	FIXTURE *f = fixture_wrong(NULL);
	uint8_t offer[sizeof(f->reply)];
	uint32_t len;

	fixture_next(f);
	fixture_plan(f, FIRST_REPLY);
	fixture_compose(f);
	len = f->reply_len;
	memcpy(offer, f->reply, len);
	fixture_end(f);
	f = fixture_wrong(&wrong);
	for (uint32_t i = 0; i < 2; i++) {
		wrong_next(f);
		f->txn.key = KEY;
		assert_int_equal(judge_one(&VERB(proto), &f->ctx, &f->txn, offer, len - 3), IF_CUT);
		f->txn.key ^= 2;
		assert_int_equal(
			judge_one(&VERB(proto), &f->ctx, &f->txn, offer, len), PROTO_STRAY);
		f->txn.key ^= 2;
		assert_int_equal(
			judge_one(&VERB(proto), &f->ctx, &f->txn, offer, len), PROTO_APART);
	}
	assert_int_equal(f->n.wrong_answered[DHCP_WRONG_COUNT - 1], 2);
	assert_int_equal(f->n.received[FIRST_REPLY], 2);
	assert_int_equal(f->n.leases, 0);
	fixture_end(f);
}

static void shares_are_of_all_messages(void **state)
{
	struct dhcp_wrong_settings wrong = {.shares = {[1] = 0.1, [5] = 0.2}};
	FIXTURE *f = fixture_wrong(&wrong);
	uint32_t right = 0;

	for (uint32_t i = 0; i < 10000; i++) {
		uint64_t before = f->n.wrong_sent[1] + f->n.wrong_sent[5];

		assert_true(fixture_begin(f));
		f->sent_len =
			proto_request(&VERB(proto), &f->ctx, &f->txn, f->sent, sizeof(f->sent));
		right += f->n.wrong_sent[1] + f->n.wrong_sent[5] == before;
		VERB(timeout)(&f->ctx, &f->txn);
	}
	assert_in_range(f->n.wrong_sent[1], 900, 1100);
	assert_in_range(f->n.wrong_sent[5], 1850, 2150);
	assert_in_range(right, 6800, 7200);
	fixture_end(f);
}

static void more_than_all_messages_are_refused(void **state)
{
	struct dhcp_wrong_settings wrong = {.shares = {[1] = 0.6, [5] = 0.5}};

	REFUSED(fixture_leasing(1), "more than 100%", f->settings.is.wrong = &wrong);
}

#define WRONG_TESTS                                                                                \
	cmocka_unit_test(each_kind_is_counted_and_its_silence_too),                                \
		cmocka_unit_test(any_answer_ends_the_exchange_apart),                              \
		cmocka_unit_test(shares_are_of_all_messages),                                      \
		cmocka_unit_test(more_than_all_messages_are_refused)

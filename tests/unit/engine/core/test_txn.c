// SPDX-License-Identifier: BSD-3-Clause
// The transaction table: keys and slots are one-to-one, freed slots rest, what comes late is known
// as late. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/core/txn.h"

struct fixture {
	struct txn_table t;
	struct txn_slot *slots;
};

static void make(struct fixture *f, uint32_t count, uint32_t ports, uint32_t clients)
{
	struct txn_shape shape = {.count = count,
		.ports = ports,
		.clients = clients,
		.key_bits = 16,
		.seed = 7,
		.quarantine = 200};

	f->slots = calloc(count, sizeof(*f->slots));
	assert_int_equal(txn_init(&f->t, f->slots, &shape), 0);
}

static uint32_t send_one(struct txn_table *t, uint64_t now, struct txn_place *place)
{
	struct txn_place taken;
	uint32_t slot = txn_take(t, now, &taken);

	assert_int_not_equal(slot, TXN_NONE);
	txn_place(t, slot, place); // as it is found later
	assert_int_equal(taken.seq, place->seq);
	assert_int_equal(taken.key, place->key);
	assert_int_equal(taken.port, place->port);
	assert_int_equal(taken.client, place->client);
	txn_arm(t, slot, now);
	return slot;
}

static uint32_t take(struct txn_table *t, uint64_t now)
{
	struct txn_place place;

	return txn_take(t, now, &place);
}

static enum txn_match find(
	const struct txn_table *t, uint32_t port, uint32_t client, uint32_t key, uint32_t *slot)
{
	struct txn_place place = {port, client, key, UINT64_MAX}, held;
	enum txn_match match = txn_find(t, &place, slot);

	if (match == TXN_MATCH)
		txn_place(t, *slot, &held);
	assert_int_equal(place.seq, match == TXN_MATCH ? held.seq : UINT64_MAX);
	return match;
}

static void every_key_leads_back_to_its_slot(void **state)
{
	struct txn_place place;
	struct fixture f;
	uint32_t found;

	make(&f, 100000, 7, 3);
	for (uint32_t i = 0; i < 350000; i++) {
		uint32_t slot;

		slot = send_one(&f.t, 1000ull * (i + 1), &place);

		assert_int_equal(place.seq, i);
		assert_true(place.port < 7 && place.client < 3 && place.key <= 0xffff);
		assert_int_equal(
			find(&f.t, place.port, place.client, place.key, &found), TXN_MATCH);
		assert_int_equal(found, slot);
		txn_give(&f.t, slot, TXN_DONE, 1000ull * (i + 1));
	}
	free(f.slots);
}

static void consecutive_ones_differ_in_address_then_port_and_in_id(void **state)
{
	struct txn_place a, b;
	struct fixture f;
	int same_key = 0;

	make(&f, 1000, 4, 2);
	send_one(&f.t, 1, &a);
	for (int i = 1; i < 8; i++) {
		send_one(&f.t, 1, &b);
		assert_int_equal(b.client, i % 2);
		assert_int_equal(b.port, i / 2);
		same_key += a.key == b.key;
		a = b;
	}
	assert_int_equal(same_key, 0);
	send_one(&f.t, 1, &b);
	assert_int_equal(b.client, 0);
	assert_int_equal(b.port, 0);
	free(f.slots);
}

static void a_freed_slot_rests_for_the_quarantine(void **state)
{
	struct txn_place place;
	struct fixture f;

	make(&f, 2, 1, 1);
	send_one(&f.t, 10, &place);
	send_one(&f.t, 10, &place);
	assert_int_equal(take(&f.t, 1000), TXN_NONE); // in flight
	txn_give(&f.t, 0, TXN_DONE, 1000);
	assert_int_equal(take(&f.t, 1199), TXN_NONE); // resting
	assert_int_equal(take(&f.t, 1200), 0);
	free(f.slots);
}

static void an_answer_to_an_earlier_round_is_not_credited_to_the_new_one(void **state)
{
	struct txn_place old, new;
	struct fixture f;
	uint32_t found;

	make(&f, 4, 2, 1);
	send_one(&f.t, 1, &old);
	txn_give(&f.t, 0, TXN_LOST, 10);
	assert_int_equal(find(&f.t, old.port, old.client, old.key, &found), TXN_MATCH);
	for (int i = 1; i < 4; i++) {
		struct txn_place p;

		txn_give(&f.t, send_one(&f.t, 1, &p), TXN_DONE, 10);
	}
	assert_int_equal(send_one(&f.t, 1000, &new), 0);
	assert_int_equal(new.port, old.port);
	assert_int_not_equal(new.key, old.key);
	assert_int_equal(find(&f.t, old.port, old.client, old.key, &found), TXN_EARLIER);
	assert_int_equal(find(&f.t, new.port, new.client, new.key, &found), TXN_MATCH);
	free(f.slots);
}

static void an_earlier_key_tells_which_transaction_had_it(void **state)
{
	enum { SLOTS = 100, ROUNDS = 5 };
	struct txn_place sent[ROUNDS * SLOTS], held;
	struct fixture f;
	uint32_t found = 0;

	make(&f, SLOTS, 7, 3);
	for (uint32_t i = 0; i < ROUNDS * SLOTS; i++)
		txn_give(&f.t, send_one(&f.t, 1000ull * (i + 1), &sent[i]), TXN_DONE,
			1000ull * (i + 1));
	for (uint32_t i = 0; i < (ROUNDS - 1) * SLOTS; i++) {
		assert_int_equal(
			find(&f.t, sent[i].port, sent[i].client, sent[i].key, &found), TXN_EARLIER);
		txn_place(&f.t, found, &held);
		assert_int_equal(txn_earlier(&f.t, &held, sent[i].key), sent[i].seq);
	}
	free(f.slots);
}

// Continue in a later life: the next transaction is number round x count + slot.
static void age(struct fixture *f, uint64_t round, uint32_t slot)
{
	f->t.round = round;
	f->t.next = slot;
	f->t.at = (struct txn_spot){.client = slot % f->t.clients,
		.port = slot / f->t.clients % f->t.ports,
		.high = slot / f->t.clients / f->t.ports};
}

static void numbers_and_keys_hold_at_any_age(void **state)
{
	const uint64_t rounds[] = {
		(1ull << 32) / 1000 - 2, (1ull << 16) - 2, (1ull << 32) - 2, (1ull << 48) - 2};

	for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
		uint64_t seq = rounds[i] * 1000 + 990, now = 1ull << 50;
		struct txn_place place;
		struct fixture f;
		uint32_t found;

		make(&f, 1000, 7, 3);
		age(&f, rounds[i], 990);
		for (uint32_t n = 0; n < 4000; n++, seq++, now += 1000) {
			uint32_t slot = send_one(&f.t, now, &place);

			assert_true(place.seq == seq);
			assert_int_equal(
				find(&f.t, place.port, place.client, place.key, &found), TXN_MATCH);
			assert_int_equal(found, slot);
			txn_give(&f.t, slot, TXN_DONE, now);
		}
		free(f.slots);
	}
}

static void an_earlier_one_is_told_by_its_number_at_any_age(void **state)
{
	const uint64_t rounds[] = {0, (1ull << 16) - 2, (1ull << 32) - 2, (1ull << 48) - 2};

	for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
		struct txn_place old[1000], now;
		struct fixture f;
		uint32_t found;

		make(&f, 1000, 7, 3);
		age(&f, rounds[i], 0);
		for (uint32_t n = 0; n < 1000; n++)
			txn_give(&f.t, send_one(&f.t, 1, &old[n]), TXN_LOST, 1);
		for (uint32_t n = 0; n < 3000; n++) {
			const struct txn_place *o = &old[n % 1000];
			uint32_t slot = send_one(&f.t, 1000 * (n / 1000 + 1), &now);

			assert_int_equal(
				find(&f.t, o->port, o->client, o->key, &found), TXN_EARLIER);
			assert_int_equal(found, slot);
			assert_true(txn_earlier(&f.t, &now, o->key) == o->seq);
			txn_give(&f.t, slot, TXN_LOST, 1000 * (n / 1000 + 1));
		}
		free(f.slots);
	}
}

static void clock_readings_may_be_of_any_size(void **state)
{
	const uint64_t starts[] = {1ull << 32, 1ull << 63, UINT64_MAX - 150};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		uint64_t now = starts[i] - 50;
		struct txn_place place;
		struct fixture f;

		make(&f, 1, 1, 1);
		send_one(&f.t, now, &place);
		assert_int_equal(txn_expired(&f.t, 0, now + 99, 100), TXN_NONE);
		assert_int_equal(txn_expired(&f.t, 0, now + 100, 100), 0);
		txn_lose(&f.t, 0, now + 100);
		assert_true(txn_lost_sent(&f.slots[0]) == now);
		assert_int_equal(take(&f.t, now + 299), TXN_NONE);
		assert_int_equal(take(&f.t, now + 300), 0);
		free(f.slots);
	}
}

static void a_key_that_was_never_sent_is_no_match(void **state)
{
	struct txn_place sent[3];
	uint32_t found, matches = 0;
	struct fixture f;

	make(&f, 1000, 1, 1);
	for (int i = 0; i < 3; i++)
		send_one(&f.t, 1, &sent[i]);
	for (uint32_t key = 0; key <= 0xffff; key++)
		matches += find(&f.t, 0, 0, key, &found) != TXN_NO_MATCH;
	assert_int_equal(matches, 3);
	free(f.slots);
}

static void the_round_before_the_first_has_keys_of_its_own(void **state)
{
	enum { SLOTS = 600 };
	struct txn_place before[SLOTS], place;
	struct fixture f;
	uint32_t found;

	make(&f, SLOTS, 4, 2);
	for (uint32_t i = 0; i < SLOTS; i++) {
		txn_place(&f.t, i, &before[i]);
		assert_int_equal(
			txn_before(&f.t, before[i].port, before[i].client, before[i].key), i);
	}
	for (uint64_t i = 0; i < 20 * SLOTS; i++) {
		uint32_t slot = send_one(&f.t, 1000 * (i + 1), &place);

		assert_int_equal(txn_before(&f.t, place.port, place.client, place.key), TXN_NONE);
		assert_int_equal(find(&f.t, before[slot].port, before[slot].client,
					 before[slot].key, &found),
			TXN_NO_MATCH);
		txn_give(&f.t, slot, TXN_DONE, 1000 * (i + 1));
	}
	free(f.slots);
}

static void the_oldest_send_expires_first_and_only_after_the_timeout(void **state)
{
	struct txn_place place;
	struct fixture f;

	make(&f, 10, 1, 1);
	send_one(&f.t, 100, &place);
	send_one(&f.t, 150, &place);
	assert_int_equal(
		txn_expired(&f.t, 0, 99, 100), TXN_NONE); // a clock reading from before the send
	assert_int_equal(txn_expired(&f.t, 0, 199, 100), TXN_NONE);
	assert_int_equal(txn_expired(&f.t, 0, 200, 100), 0);
	txn_again(&f.t, 0); // sent again at 220
	txn_unlink(&f.t, &f.t.again, 0);
	txn_arm(&f.t, 0, 220);
	assert_int_equal(txn_expired(&f.t, 0, 249, 100), TXN_NONE);
	assert_int_equal(txn_expired(&f.t, 0, 250, 100), 1);
	txn_give(&f.t, 1, TXN_LOST, 250);
	assert_int_equal(txn_expired(&f.t, 0, 319, 100), TXN_NONE);
	assert_int_equal(txn_expired(&f.t, 0, 320, 100), 0);
	assert_int_equal(f.t.in_flight, 1);
	free(f.slots);
}

static void a_lost_one_still_knows_when_it_was_sent(void **state)
{
	const uint64_t sent = 0x123456789abcdef0;
	struct txn_place place;
	struct fixture f;
	uint32_t slot, other;

	make(&f, 100, 10, 1);
	slot = send_one(&f.t, sent, &place);
	other = send_one(&f.t, sent + 1, &place);
	txn_lose(&f.t, slot, sent + 50);
	assert_int_equal(f.slots[slot].state, TXN_LOST);
	assert_true(txn_lost_sent(&f.slots[slot]) == sent);
	assert_int_equal(txn_expired(&f.t, 0, sent + 100, 50), other);
	free(f.slots);
}

static void more_slots_than_keys_are_refused(void **state)
{
	struct txn_shape shape = {.count = 65537, .ports = 1, .clients = 1, .key_bits = 16};
	struct txn_table t;

	assert_int_equal(txn_init(&t, NULL, &shape), -ERANGE);
	shape.ports = 2;
	assert_int_equal(txn_init(&t, NULL, &shape), 0);
}

static void only_what_was_sent_can_have_late_answers(void **state)
{
	static const struct {
		enum txn_state state;
		bool begun, been;
	} cases[] = {{TXN_FREE, false, false}, {TXN_DONE, true, true}, {TXN_LOST, true, true},
		{TXN_TAKEN, false, false}, {TXN_TAKEN, true, true}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct txn_slot s = {.state = cases[i].state & 7, .begun = cases[i].begun};

		assert_int_equal(txn_has_been(&s), cases[i].been);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_leads_back_to_its_slot),
		cmocka_unit_test(only_what_was_sent_can_have_late_answers),
		cmocka_unit_test(consecutive_ones_differ_in_address_then_port_and_in_id),
		cmocka_unit_test(a_freed_slot_rests_for_the_quarantine),
		cmocka_unit_test(an_answer_to_an_earlier_round_is_not_credited_to_the_new_one),
		cmocka_unit_test(an_earlier_key_tells_which_transaction_had_it),
		cmocka_unit_test(numbers_and_keys_hold_at_any_age),
		cmocka_unit_test(an_earlier_one_is_told_by_its_number_at_any_age),
		cmocka_unit_test(clock_readings_may_be_of_any_size),
		cmocka_unit_test(a_key_that_was_never_sent_is_no_match),
		cmocka_unit_test(the_round_before_the_first_has_keys_of_its_own),
		cmocka_unit_test(the_oldest_send_expires_first_and_only_after_the_timeout),
		cmocka_unit_test(a_lost_one_still_knows_when_it_was_sent),
		cmocka_unit_test(more_slots_than_keys_are_refused),
	};

	return cmocka_run_group_tests_name("txn", tests, NULL, NULL);
}

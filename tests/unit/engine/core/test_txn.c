// SPDX-License-Identifier: BSD-3-Clause
// The transaction table: keys and numbers are one-to-one, slots follow the number in flight,
// outcomes are kept apart, keys rest. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/core/txn.h"

struct fixture {
	struct txn_table t;
	void *memory;
};

static void make(struct fixture *f, const struct txn_shape *shape)
{
	f->memory = calloc(1, txn_bytes(shape));
	assert_int_equal(txn_init(&f->t, f->memory, shape), 0);
}

// Three timeouts are 300 ticks.
static struct txn_shape shape_of(uint32_t count, uint32_t ports, uint32_t clients)
{
	return (struct txn_shape){.count = count,
		.ports = ports,
		.clients = clients,
		.key_bits = 16,
		.seed = 7,
		.window = 1000,
		.rest = 300};
}

static void simple(struct fixture *f, uint32_t count, uint32_t ports, uint32_t clients)
{
	const struct txn_shape shape = shape_of(count, ports, clients);

	make(f, &shape);
}

static uint32_t send_one(struct txn_table *t, uint64_t now, struct txn_place *place)
{
	uint32_t port = 0, slot = txn_take(t, now, &port);
	const struct txn_slot *taken = &t->slots[slot];

	assert_int_not_equal(slot, TXN_NONE);
	txn_place(t, slot, place); // as it is found later
	assert_int_equal(taken->k, place->seq);
	assert_int_equal(taken->key, place->key);
	assert_int_equal(port, place->port);
	assert_int_equal(taken->client, place->client);
	txn_arm(t, slot, now);
	return slot;
}

static uint32_t take(struct txn_table *t, uint64_t now)
{
	uint32_t port;

	return txn_take(t, now, &port);
}

// Finds the transaction of a reply with the key of a place.
static enum txn_match find(const struct txn_table *t, struct txn_place place, uint32_t *slot)
{
	uint64_t seq = place.seq;
	enum txn_match match;

	*slot = TXN_NONE;
	place.seq = UINT64_MAX;
	match = txn_find(t, &place, slot);
	assert_int_equal(place.seq, match == TXN_NO_MATCH ? UINT64_MAX : seq);
	assert_int_equal(*slot == TXN_NONE, match != TXN_MATCH);
	return match;
}

static void found(const struct txn_table *t, const struct txn_place *place, uint32_t expected)
{
	uint32_t slot;

	assert_int_equal(find(t, *place, &slot), expected == TXN_NONE ? TXN_EARLIER : TXN_MATCH);
	assert_int_equal(slot, expected);
}

// Continues much later: the next transaction is number k, and the last one was long ago.
static void age(struct txn_table *t, uint64_t k)
{
	uint64_t row = (uint64_t)t->ports * t->clients;

	t->issued = k;
	t->x = k % t->space;
	t->to = (struct txn_spot){.client = (uint32_t)(t->x % t->clients),
		.port = (uint32_t)(t->x / t->clients % t->ports),
		.row = t->x % row,
		.high = t->x / row,
		.mapped = perm_map(&t->perm, t->x / row)};
	t->in_part = (uint32_t)(t->x / t->part);
	t->gate = k - t->x + (t->in_part + 1) * t->part;
}

// Each port has 8 lanes: 8 transactions of all clients in a row use it, and a reply gives the lane
// by its key only.
static void consecutive_transactions_share_a_port_with_lanes(void **state)
{
	struct txn_shape shape = shape_of(3, 8 * 4, 3);
	struct fixture f;

	shape.key_bits = 13;
	shape.lane_mask = 7;
	make(&f, &shape);
	assert_true(f.t.space == 4ull * 3 << 16);
	for (uint64_t i = 0; i < 2ull * f.t.space; i++) {
		struct txn_place place;
		uint32_t slot = send_one(&f.t, 1000ull * i, &place);

		assert_int_equal(place.port / 8, i / 24 % 4);
		assert_true(place.key <= 0xffff && place.key >> 13 == place.port % 8);
		place.port = place.port / 8 * 8; // a reply's port does not give the lane
		found(&f.t, &place, slot);
		txn_give(&f.t, slot, TXN_DONE);
	}
	free(f.memory);
}

static void every_key_leads_back_to_its_slot(void **state)
{
	const uint64_t ages[] = {0, 1ull << 16, (1ull << 32) - 17, 1ull << 34, 1ull << 48};
	struct txn_place place;
	struct fixture f;

	for (size_t a = 0; a < sizeof(ages) / sizeof(*ages); a++) {
		simple(&f, 3, 7, 3);
		age(&f.t, ages[a]);
		for (uint64_t i = 0; i < 100000; i++) {
			uint32_t slot = send_one(&f.t, 1000ull * i, &place);

			assert_true(place.seq == ages[a] + i);
			assert_true(place.port < 7 && place.client < 3 && place.key <= 0xffff);
			found(&f.t, &place, slot);
			txn_give(&f.t, slot, i % 3 ? TXN_DONE : TXN_LOST);
			found(&f.t, &place, TXN_NONE);
			assert_int_equal(txn_outcome(&f.t, place.seq), i % 3 ? TXN_DONE : TXN_LOST);
		}
		free(f.memory);
	}
}

static void consecutive_ones_differ_in_address_then_port_and_in_id(void **state)
{
	struct txn_place a, b;
	struct fixture f;
	int same_key = 0;

	simple(&f, 1000, 4, 2);
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
	free(f.memory);
}

static void all_keys_of_a_lap_differ(void **state)
{
	const struct txn_shape shape = shape_of(1, 3, 2);
	static uint8_t seen[3 * 2 << 16];
	struct txn_place place;
	struct fixture f;

	memset(seen, 0, sizeof(seen));
	make(&f, &shape);
	for (uint32_t i = 0; i < sizeof(seen); i++) {
		txn_give(&f.t, send_one(&f.t, i, &place), TXN_DONE);
		assert_int_equal(seen[(place.key * 3 + place.port) * 2 + place.client]++, 0);
	}
	free(f.memory);
}

static void a_slot_is_free_as_soon_as_its_transaction_has_ended(void **state)
{
	struct txn_place place;
	struct fixture f;

	simple(&f, 2, 1, 1);
	assert_int_equal(send_one(&f.t, 10, &place), 0);
	assert_int_equal(send_one(&f.t, 10, &place), 1);
	assert_int_equal(take(&f.t, 1000), TXN_NONE); // both are in flight
	txn_give(&f.t, 0, TXN_DONE);
	assert_int_equal(f.t.in_flight, 1);
	assert_int_equal(send_one(&f.t, 1000, &place), 0);
	assert_int_equal(place.seq, 2); // no number is left out
	free(f.memory);
}

static void the_slot_that_was_used_last_is_used_next(void **state)
{
	struct txn_place place;
	struct fixture f;

	simple(&f, 100, 1, 1);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(send_one(&f.t, 1, &place), i);
	for (uint32_t i = 0; i < 1000; i++) {
		txn_give(&f.t, i % 10, TXN_DONE);
		assert_int_equal(send_one(&f.t, 1, &place), i % 10);
	}
	free(f.memory);
}

// Every 7th transaction is never answered and stays in flight; the others overtake it.
static void one_that_is_stuck_is_passed_by(void **state)
{
	enum { SLOTS = 50, STUCK = 40 };
	struct txn_place stuck[STUCK], place;
	uint32_t slots[STUCK], n = 0;
	struct fixture f;

	simple(&f, SLOTS, 5, 2);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t slot = send_one(&f.t, i, &place);

		if (i % 7 == 0 && n < STUCK) {
			stuck[n] = place;
			slots[n++] = slot;
			continue;
		}
		found(&f.t, &place, slot);
		txn_give(&f.t, slot, TXN_DONE);
		for (uint32_t k = 0; k < n; k++)
			found(&f.t, &stuck[k], slots[k]);
	}
	for (uint32_t k = n; k-- > 0;) { // the youngest first
		txn_give(&f.t, slots[k], TXN_LOST);
		found(&f.t, &stuck[k], TXN_NONE);
		assert_int_equal(txn_outcome(&f.t, stuck[k].seq), TXN_LOST);
	}
	assert_int_equal(f.t.in_flight, 0);
	free(f.memory);
}

// 2^34 transactions, in leaps: their outcomes are exact back to the last lost one.
static void outcomes_are_known_at_any_age_and_distance(void **state)
{
	enum { RUN = 5000 };
	const struct txn_shape shape = shape_of(64, 16, 1);
	static struct txn_place sent[RUN];
	struct fixture f;

	make(&f, &shape);
	for (uint64_t leap = 0; leap < 1ull << 34; leap += 1ull << 30) {
		age(&f.t, leap);
		memset(f.t.outcomes, 0, (f.t.word_mask + 1) * sizeof(*f.t.outcomes));
		f.t.lost.first = f.t.lost.count = 0;
		f.t.oldest = leap;
		for (uint32_t i = 0; i < RUN; i++)
			txn_give(&f.t, send_one(&f.t, leap + i, &sent[i]),
				i % 97 ? TXN_DONE : TXN_LOST);
		for (uint32_t i = 0; i < RUN; i++) {
			found(&f.t, &sent[i], TXN_NONE);
			assert_int_equal(
				txn_outcome(&f.t, sent[i].seq), i % 97 ? TXN_DONE : TXN_LOST);
		}
		assert_int_equal(f.t.lost.unknown, 0);
	}
	free(f.memory);
}

static void one_that_was_not_sent_has_no_outcome(void **state)
{
	struct txn_place place;
	struct fixture f;
	uint32_t slot;

	simple(&f, 4, 1, 1);
	slot = take(&f.t, 1);
	txn_place(&f.t, slot, &place);
	txn_give(&f.t, slot, TXN_FREE);
	assert_int_equal(f.t.in_flight, 0);
	found(&f.t, &place, TXN_NONE);
	assert_int_equal(txn_outcome(&f.t, place.seq), TXN_FREE);
	free(f.memory);
}

// Beyond the window, and beyond the room for lost ones, a transaction counts as lost.
static void when_too_many_were_lost_the_oldest_count_as_lost(void **state)
{
	const struct txn_shape shape = shape_of(1, 16, 1);
	uint64_t room, lost = 0;
	struct txn_place place;
	struct fixture f;

	make(&f, &shape);
	room = f.t.lost.mask + 1;
	for (uint64_t i = 0; i < 2 * room + 3000; i++) {
		lost += i % 2;
		txn_give(&f.t, send_one(&f.t, i, &place), i % 2 ? TXN_LOST : TXN_DONE);
	}
	assert_true(f.t.lost.unknown > 0 && f.t.lost.unknown < 2 * lost);
	assert_int_equal(f.t.lost.count, room);
	for (uint64_t i = 0; i < 2 * room + 3000; i++)
		assert_int_equal(
			txn_outcome(&f.t, i), i % 2 || i < f.t.lost.unknown ? TXN_LOST : TXN_DONE);
	free(f.memory);
}

static void one_that_is_lost_after_the_window_has_passed_is_known_as_lost(void **state)
{
	static const uint64_t ends[] = {5, 3, 9, 0, 7};
	struct txn_place sent[10], place;
	uint32_t slots[10];
	struct fixture f;

	simple(&f, 11, 1, 1);
	for (int i = 0; i < 10; i++)
		slots[i] = send_one(&f.t, 1, &sent[i]);
	for (int i = 0; i < 5000; i++)
		txn_give(&f.t, send_one(&f.t, 2, &place), TXN_DONE);
	for (size_t i = 0; i < 5; i++)
		txn_give(&f.t, slots[ends[i]], TXN_LOST);
	for (int i = 0; i < 10; i += 2) // 0 2 4 6 8: the remaining even ones are answered
		if (i != 0)
			txn_give(&f.t, slots[i], TXN_DONE);
	for (int i = 0; i < 10; i++)
		if (f.t.slots[slots[i]].state < TXN_TAKEN)
			assert_int_equal(txn_outcome(&f.t, sent[i].seq),
				i == 0 || i % 2 ? TXN_LOST : TXN_DONE);
	assert_int_equal(f.t.in_flight, 1);
	free(f.memory);
}

static void keys_rest_before_they_are_used_again(void **state)
{
	const struct txn_shape shape = shape_of(2, 1, 1);
	struct txn_place place;
	uint64_t now = 0, used[1 << 16], waited = 0;
	struct fixture f;

	make(&f, &shape);
	for (uint64_t i = 0; i < 5 << 16; i++, now += i % 1000 == 0) {
		while (!txn_may_take(&f.t, now)) {
			assert_int_equal(take(&f.t, now), TXN_NONE);
			now++;
			waited++;
		}
		txn_give(&f.t, send_one(&f.t, now, &place), TXN_DONE);
		if (i >> 16)
			assert_true(now - used[place.key] >= 300);
		used[place.key] = now;
	}
	// A lap takes 65 ticks by itself, and is to take 300; a part more for the last of its keys.
	assert_in_range(now, 4 * 300, 5 * 310);
	assert_true(waited > 0);
	free(f.memory);
}

// One lap and nearly all of the next, which stops before part `of` of the key space.
static void stop_at_part(struct fixture *f, uint32_t of)
{
	uint64_t last = f->t.space + of * f->t.part;

	while (f->t.issued < last) {
		assert_true(txn_may_take(&f->t, 0));
		txn_give(&f->t, send_one(&f->t, 0, &(struct txn_place){0}), TXN_DONE);
	}
}

static void keys_of_connections_rest_only_where_one_is_open_or_lost(void **state)
{
	struct txn_shape shape = shape_of(2, 3, 1); // parts of unequal length
	struct fixture f;
	uint32_t slot;

	shape.reuse = true;
	make(&f, &shape);
	for (uint64_t i = 0; i < 3 * f.t.space + 10; i++) {
		assert_true(txn_may_take(&f.t, 0));
		slot = send_one(&f.t, 0, &(struct txn_place){0});
		if (i == 5 * f.t.part) {
			txn_give(&f.t, slot, TXN_LOST);
		} else if (i == 9 * f.t.part + 1 && f.t.ended[9] == 1) {
			stop_at_part(&f, 5);
			assert_false(txn_may_take(&f.t, 299));
			assert_true(txn_may_take(&f.t, 300));
			stop_at_part(&f, 9);
			assert_false(txn_may_take(&f.t, 0));
			txn_give(&f.t, slot, TXN_DONE);
			assert_true(txn_may_take(&f.t, 0));
			i = f.t.issued - 1;
		} else {
			txn_give(&f.t, slot, TXN_DONE);
		}
	}
	assert_int_equal(f.t.in_flight, 0);
	free(f.memory);
}

static void a_lap_that_is_slow_enough_never_waits(void **state)
{
	const struct txn_shape shape = shape_of(2, 3, 1); // parts of unequal length
	struct txn_place place;
	struct fixture f;

	make(&f, &shape);
	for (uint64_t i = 0; i < 3 * f.t.space + 10; i++) {
		assert_true(txn_may_take(&f.t, i / 600));
		txn_give(&f.t, send_one(&f.t, i / 600, &place), TXN_DONE);
	}
	free(f.memory);
}

static void a_key_that_was_never_sent_is_no_match(void **state)
{
	struct txn_place sent[3];
	uint32_t slot, matches = 0;
	struct fixture f;

	simple(&f, 1000, 1, 1);
	for (int i = 0; i < 3; i++)
		send_one(&f.t, 1, &sent[i]);
	for (uint32_t key = 0; key <= 0xffff; key++) {
		struct txn_place place = {0, 0, key, 0};

		slot = TXN_NONE;
		matches += txn_find(&f.t, &place, &slot) != TXN_NO_MATCH;
	}
	assert_int_equal(matches, 3);
	free(f.memory);
}

static void the_last_keys_of_the_space_are_free_for_questions_before_the_run(void **state)
{
	struct txn_place before[5], place;
	struct fixture f;
	uint32_t slot;

	simple(&f, 1, 4, 2);
	for (uint64_t i = 0; i < 5; i++) {
		txn_place_of(&f.t, f.t.issued - (i + 1), &before[i]);
		assert_int_equal(
			txn_before(&f.t, before[i].port, before[i].client, before[i].key), i + 1);
	}
	for (uint64_t i = 0; i < f.t.space; i++) {
		uint64_t left = f.t.space - i;

		for (uint64_t n = 0; n < 5 && i % 1000 == 0; n++) {
			assert_int_equal(
				txn_before(&f.t, before[n].port, before[n].client, before[n].key),
				n + 1);
			before[n].seq = UINT64_MAX;
			assert_int_equal(find(&f.t, before[n], &slot), TXN_NO_MATCH);
		}
		txn_give(&f.t, send_one(&f.t, 1, &place), TXN_DONE);
		if (left <= 5)
			assert_int_equal(place.key, before[left - 1].key);
		assert_int_equal(txn_before(&f.t, place.port, place.client, place.key), 0);
	}
	free(f.memory);
}

static void the_oldest_send_expires_first_and_only_after_the_timeout(void **state)
{
	const uint64_t starts[] = {100, 1ull << 32, 1ull << 63, UINT64_MAX - 150};
	struct txn_place place;
	struct fixture f;

	for (size_t i = 0; i < 2 * sizeof(starts) / sizeof(*starts); i++) {
		struct txn_shape shape = shape_of(10, 1, 1);
		uint64_t at = starts[i / 2];

		shape.in_order = i % 2;
		make(&f, &shape);
		send_one(&f.t, at, &place);
		send_one(&f.t, at + 50, &place);
		// The clock was read before the send.
		assert_int_equal(txn_expired(&f.t, 0, at - 1, 100), TXN_NONE);
		assert_int_equal(txn_expired(&f.t, 0, at + 99, 100), TXN_NONE);
		assert_int_equal(txn_expired(&f.t, 0, at + 100, 100), 0);
		txn_again(&f.t, 0); // sent again at 120
		assert_int_equal(txn_first(&f.t, f.t.again), 0);
		txn_unlink(&f.t, &f.t.slots[0]);
		assert_int_equal(txn_first(&f.t, f.t.again), TXN_NONE);
		txn_arm(&f.t, 0, at + 120);
		assert_int_equal(txn_expired(&f.t, 0, at + 149, 100), TXN_NONE);
		assert_int_equal(txn_expired(&f.t, 0, at + 150, 100), 1);
		txn_give(&f.t, 1, TXN_LOST);
		assert_int_equal(txn_expired(&f.t, 0, at + 219, 100), TXN_NONE);
		assert_int_equal(txn_expired(&f.t, 0, at + 220, 100), 0);
		assert_int_equal(f.t.in_flight, 1);
		free(f.memory);
	}
}

// Blocks begin and end transactions as they would one by one: all of the tables is the same, over
// several laps of the key space.
static void a_block_leaves_the_table_as_one_by_one_does(void **state)
{
	struct txn_shape shape = shape_of(40, 3, 5);
	struct fixture one, block;
	uint64_t size, due[40];

	shape.key_bits = 6; // 960 keys
	make(&one, &shape);
	make(&block, &shape);
	size = txn_bytes(&shape);
	for (uint32_t round = 0; round < 400; round++) {
		uint32_t n = 1 + round % 17, slots[40], ports[40], ended[40], count = 0;
		enum txn_state how = round % 3 ? TXN_DONE : TXN_LOST;
		struct proto_txn *views[40];

		assert_int_equal(txn_room(&one.t, 1000 * round), txn_room(&block.t, 1000 * round));
		if (n > txn_room(&one.t, 1000 * round))
			n = (uint32_t)txn_room(&one.t, 1000 * round);
		for (uint32_t i = 0; i < n; i++)
			due[i] = 1000 * round + i;
		txn_begin_n(&block.t, n, due, round & 1, slots, ports, views);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t port, slot = txn_take(&one.t, 1000 * round, &port);

			one.t.slots[slot].due = due[i];
			one.t.slots[slot].judged = round & 1;
			assert_int_equal(slots[i], slot);
			assert_int_equal(ports[i], port);
			assert_ptr_equal(views[i], &block.t.slots[slot].view);
			txn_arm(&one.t, slot, due[i] + 1);
			txn_arm(&block.t, slot, due[i] + 1);
			if (round % 5 || i % 2)
				ended[count++] = slot;
		}
		for (uint32_t i = 0; i < count; i++)
			txn_give(&one.t, ended[i], how);
		txn_give_n(&block.t, ended, count, how);
		assert_memory_equal(one.memory, block.memory, size);
		assert_int_equal(one.t.in_flight, block.t.in_flight);
		assert_int_equal(one.t.issued, block.t.issued);
		assert_int_equal(one.t.x, block.t.x);
		if (one.t.in_flight > 20)
			for (uint32_t i = 0; i < 40; i++)
				if (one.t.slots[i].state == TXN_FLYING) {
					txn_give(&one.t, i, TXN_DONE);
					txn_give_n(&block.t, &i, 1, TXN_DONE);
				}
	}
	assert_in_range(one.t.issued, 1500, UINT32_MAX);
	free(one.memory);
	free(block.memory);
}

// A table in order expires the same transactions as one with a list of all. Some are lost and
// outlive the window of outcomes, some are sent again, some never.
static void a_table_in_order_expires_what_a_list_does(void **state)
{
	for (uint32_t seed = 0; seed < 40; seed++) {
		struct txn_shape shape = shape_of(200, 7, 3);
		struct rand random = {seed};
		struct fixture list, order;
		uint32_t again[200], again_count = 0, expired = 0;

		shape.window = seed % 2 ? 64 : 4000;
		shape.rest = 0;
		make(&list, &shape);
		shape.in_order = true;
		make(&order, &shape);
		for (uint64_t now = 1000; now < 4000; now++) {
			uint64_t r = rand_next(&random);
			uint32_t slot, port;

			for (uint32_t n = r % 4; n-- && list.t.in_flight < 200;) {
				slot = txn_take(&list.t, now, &port);
				assert_int_equal(txn_take(&order.t, now, &port), slot);
				if (rand_next(&random) % 50 == 0) { // is not sent
					txn_give(&list.t, slot, TXN_FREE);
					txn_give(&order.t, slot, TXN_FREE);
					continue;
				}
				txn_arm(&list.t, slot, now);
				txn_arm(&order.t, slot, now);
			}
			for (uint32_t n = r >> 8 & 3; n--;) {
				uint64_t what = rand_next(&random);

				slot = (uint32_t)(rand_next(&random) % 200);
				if (list.t.slots[slot].state != TXN_FLYING || what % 8 > 6)
					continue;
				if (what % 8 == 6 && again_count < 200) {
					txn_again(&list.t, slot);
					txn_again(&order.t, slot);
					again[again_count++] = slot;
				} else {
					txn_give(&list.t, slot, TXN_DONE);
					txn_give_n(&order.t, &slot, 1, TXN_DONE);
				}
			}
			while (r >> 16 & 1 && again_count) {
				slot = again[--again_count];
				txn_unlink(&list.t, &list.t.slots[slot]);
				txn_unlink(&order.t, &order.t.slots[slot]);
				if (rand_next(&random) % 4 == 0) { // cannot be sent
					txn_give(&list.t, slot, TXN_LOST);
					txn_give(&order.t, slot, TXN_LOST);
					continue;
				}
				txn_arm(&list.t, slot, now);
				txn_arm(&order.t, slot, now);
			}
			while ((slot = txn_expired(&list.t, 0, now, 300)) != TXN_NONE) {
				uint32_t other = txn_expired(&order.t, 0, now, 300);

				// Of those that were sent at once, any may be first.
				assert_int_not_equal(other, TXN_NONE);
				assert_int_equal(
					order.t.slots[other].time, list.t.slots[slot].time);
				txn_give(&list.t, other, TXN_LOST);
				txn_give(&order.t, other, TXN_LOST);
				expired++;
			}
			assert_int_equal(txn_expired(&order.t, 0, now, 300), TXN_NONE);
			assert_int_equal(order.t.in_flight, list.t.in_flight);
		}
		assert_in_range(expired, 100, 10000);
		assert_true(order.t.settled + 2000 > order.t.issued);
		free(list.memory);
		free(order.memory);
	}
}

// Its neighbours in the list may have left since.
static void one_out_of_its_list_leaves_no_trace_there(void **state)
{
	struct txn_place place;
	struct fixture f;

	simple(&f, 3, 1, 1);
	for (uint32_t i = 0; i < 3; i++)
		txn_again(&f.t, send_one(&f.t, 1, &place));
	txn_unlink(&f.t, &f.t.slots[0]);
	txn_unlink(&f.t, &f.t.slots[1]);
	txn_give(&f.t, 0, TXN_LOST); // cannot be sent
	assert_int_equal(txn_first(&f.t, f.t.again), 2);
	txn_give(&f.t, 1, TXN_LOST);
	txn_give(&f.t, 2, TXN_LOST);
	assert_int_equal(txn_first(&f.t, f.t.again), TXN_NONE);
	free(f.memory);
}

static void one_that_is_sent_after_the_window_has_passed_expires(void **state)
{
	struct txn_shape shape = shape_of(4, 1, 1);
	uint32_t late, port;
	struct fixture f;

	shape.in_order = true;
	shape.rest = 0;
	shape.window = 64;
	make(&f, &shape);
	late = txn_take(&f.t, 1, &port);
	for (uint64_t n = 0; n < 1000; n++) {
		uint32_t slot = txn_take(&f.t, 1, &port);

		txn_arm(&f.t, slot, 1);
		txn_give(&f.t, slot, TXN_DONE);
	}
	txn_arm(&f.t, late, 50);
	assert_int_equal(txn_expired(&f.t, 0, 149, 100), TXN_NONE);
	assert_int_equal(txn_expired(&f.t, 0, 150, 100), late);
	free(f.memory);
}

static void settling_has_bounded_steps(void **state)
{
	struct txn_shape shape = shape_of(8, 1, 1);
	struct txn_place place;
	uint32_t first, calls = 0;
	struct fixture f;

	shape.in_order = true;
	shape.rest = 0;
	shape.window = 1u << 20;
	make(&f, &shape);
	first = send_one(&f.t, 1, &place);
	for (uint64_t n = 0; n < 600000; n++) {
		uint32_t port, slot = txn_take(&f.t, 1, &port);

		txn_arm(&f.t, slot, 1);
		txn_give(&f.t, slot, TXN_DONE);
	}
	assert_true(txn_settle(&f.t)); // at the first one
	assert_int_equal(txn_oldest(&f.t, 0), first);
	txn_give(&f.t, first, TXN_LOST);

	while (!txn_settle(&f.t))
		calls++;
	assert_int_equal(calls, 2); // 600000 / 32 / 8192
	assert_int_equal(f.t.settled, f.t.issued);
	assert_int_equal(txn_oldest(&f.t, 0), TXN_NONE);
	free(f.memory);
}

static void a_shape_without_room_is_refused(void **state)
{
	struct txn_shape shape = {.count = 65537,
		.ports = 1,
		.clients = 1,
		.key_bits = 16,
		.more_waits = TXN_WAITS - 1};
	struct fixture f;

	f.memory = calloc(1, txn_bytes(&shape));
	assert_int_equal(txn_init(&f.t, f.memory, &shape), -ERANGE); // more slots than keys
	shape.ports = 2;
	assert_int_equal(txn_init(&f.t, f.memory, &shape), 0);
	shape.more_waits = TXN_WAITS;
	assert_int_equal(txn_init(&f.t, f.memory, &shape), -ERANGE);
	shape.more_waits = TXN_WAITS - 1;
	assert_int_equal(txn_init(&f.t, f.memory, &shape), 0);
	shape.count = 0;
	assert_int_equal(txn_init(&f.t, f.memory, &shape), -ERANGE);
	free(f.memory);
}

// All flows together may have more keys than there are numbers.
static void the_key_space_may_be_larger_than_any_counter(void **state)
{
	const struct txn_shape shape = {
		.count = 4, .ports = 60000, .clients = 1u << 20, .key_bits = 32, .seed = 3};
	struct txn_place place;
	struct fixture f;

	make(&f, &shape);
	assert_true(f.t.space <= 1ull << 56);
	for (int i = 0; i < 1000; i++) {
		uint32_t slot = send_one(&f.t, 1, &place);

		found(&f.t, &place, slot);
		txn_give(&f.t, slot, TXN_DONE);
	}
	free(f.memory);
}

static void memory_follows_what_is_in_flight(void **state)
{
	for (uint64_t n = 1; n <= 1u << 20; n *= 4) {
		const struct txn_shape closed = {
			.count = (uint32_t)n, .window = (1u << 21) - 64}; // any rate

		assert_true(txn_bytes(&closed) <= n * 72 + (1u << 20));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_leads_back_to_its_slot),
		cmocka_unit_test(consecutive_transactions_share_a_port_with_lanes),
		cmocka_unit_test(consecutive_ones_differ_in_address_then_port_and_in_id),
		cmocka_unit_test(all_keys_of_a_lap_differ),
		cmocka_unit_test(a_slot_is_free_as_soon_as_its_transaction_has_ended),
		cmocka_unit_test(the_slot_that_was_used_last_is_used_next),
		cmocka_unit_test(one_that_is_stuck_is_passed_by),
		cmocka_unit_test(outcomes_are_known_at_any_age_and_distance),
		cmocka_unit_test(one_that_was_not_sent_has_no_outcome),
		cmocka_unit_test(when_too_many_were_lost_the_oldest_count_as_lost),
		cmocka_unit_test(one_that_is_lost_after_the_window_has_passed_is_known_as_lost),
		cmocka_unit_test(keys_rest_before_they_are_used_again),
		cmocka_unit_test(keys_of_connections_rest_only_where_one_is_open_or_lost),
		cmocka_unit_test(a_lap_that_is_slow_enough_never_waits),
		cmocka_unit_test(a_key_that_was_never_sent_is_no_match),
		cmocka_unit_test(the_last_keys_of_the_space_are_free_for_questions_before_the_run),
		cmocka_unit_test(the_oldest_send_expires_first_and_only_after_the_timeout),
		cmocka_unit_test(a_block_leaves_the_table_as_one_by_one_does),
		cmocka_unit_test(a_table_in_order_expires_what_a_list_does),
		cmocka_unit_test(one_out_of_its_list_leaves_no_trace_there),
		cmocka_unit_test(one_that_is_sent_after_the_window_has_passed_expires),
		cmocka_unit_test(settling_has_bounded_steps),
		cmocka_unit_test(a_shape_without_room_is_refused),
		cmocka_unit_test(the_key_space_may_be_larger_than_any_counter),
		cmocka_unit_test(memory_follows_what_is_in_flight),
	};

	return cmocka_run_group_tests_name("txn", tests, NULL, NULL);
}

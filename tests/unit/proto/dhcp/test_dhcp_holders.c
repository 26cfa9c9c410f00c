// SPDX-License-Identifier: BSD-3-Clause
// The holder of each address: exact under churn, when leases expire, when the table is crowded, and
// when several threads hold and drop the same addresses at once. Path: tests only.

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rand.h"
#include "proto/dhcp/client/lease/dhcp_holders.h"

#define FOREVER   UINT32_MAX
#define THREADS   4
#define ADDRESSES 6 // that threads fight for
#define ROUNDS    2000000
#define FIRST     1000u

static struct dhcp_held at_address(uint32_t address)
{
	return (struct dhcp_held){address, NULL};
}

static struct dhcp_holders made(uint64_t owners, bool several)
{
	struct dhcp_holders h;

	assert_int_equal(dhcp_holders_init(&h, owners, several), 0);
	return h;
}

static void end(struct dhcp_holders *h)
{
	dhcp_holders_free(h);
}

static void assert_empty(const struct dhcp_holders *h)
{
	for (uint64_t i = 0; i < (h->line_mask + 1ull) * DHCP_HOLDERS_LINE; i++)
		assert_int_equal(h->cells[i], 0);
}

static void an_address_that_is_held_is_not_given_twice(void **state)
{
	struct dhcp_holders h = made(2, false);

	assert_int_equal(dhcp_holders_find(&h, at_address(7), 0), DHCP_NOBODY);
	assert_int_equal(dhcp_holders_hold(&h, at_address(7), 0, 100, 0), DHCP_NOBODY);
	assert_int_equal(dhcp_holders_hold(&h, at_address(7), 1, 200, 99), 0);
	assert_int_equal(dhcp_holders_find(&h, at_address(7), 99), 0);
	dhcp_holders_drop(&h, at_address(7), 1);
	assert_int_equal(dhcp_holders_find(&h, at_address(7), 99), 0);
	dhcp_holders_drop(&h, at_address(7), 0);
	assert_int_equal(dhcp_holders_hold(&h, at_address(7), 1, 200, 99), DHCP_NOBODY);
	dhcp_holders_drop(&h, at_address(7), 1);
	assert_empty(&h);
	end(&h);
}

static void an_address_whose_lease_ran_out_is_anybodys(void **state)
{
	struct dhcp_holders h = made(2, true);

	assert_int_equal(dhcp_holders_hold(&h, at_address(7), 0, 100, 0), DHCP_NOBODY);
	assert_int_equal(dhcp_holders_find(&h, at_address(7), 100), DHCP_NOBODY);
	assert_int_equal(dhcp_holders_hold(&h, at_address(7), 1, 200, 100), DHCP_NOBODY);
	assert_int_equal(dhcp_holders_find(&h, at_address(7), 100), 1);
	dhcp_holders_drop(&h, at_address(7), 0);
	assert_int_equal(dhcp_holders_find(&h, at_address(7), 100), 1);
	end(&h);
}

static void a_lease_is_renewed_and_may_never_end(void **state)
{
	struct dhcp_holders h = made(10000000, true);

	assert_int_equal(dhcp_holders_hold(&h, at_address(7), 9999999, 100, 0), DHCP_NOBODY);
	assert_int_equal(dhcp_holders_hold(&h, at_address(7), 9999999, 200, 99), DHCP_NOBODY);
	assert_int_equal(dhcp_holders_find(&h, at_address(7), 199), 9999999);
	assert_int_equal(dhcp_holders_find(&h, at_address(7), 200), DHCP_NOBODY);
	assert_int_equal(dhcp_holders_hold(&h, at_address(7), 9999999, FOREVER, 200), DHCP_NOBODY);
	assert_int_equal(dhcp_holders_find(&h, at_address(7), FOREVER - 1), 9999999);
	end(&h);
}

// Against a plain array: a random mix of holding and dropping, full at times.
static void churn(uint32_t owners, uint32_t addresses, uint32_t apart, bool several)
{
	struct dhcp_holders h = made(owners, several);
	uint32_t *holder = calloc(addresses, sizeof(*holder));
	uint32_t *held = calloc(owners, sizeof(*held)); // address + 1
	struct rand r = {42};

	assert_non_null(holder);
	assert_non_null(held);
	for (uint32_t a = 0; a < addresses; a++)
		holder[a] = DHCP_NOBODY;
	for (uint32_t step = 0; step < 300000; step++) {
		uint32_t owner = (uint32_t)rand_scale(rand_next(&r), owners);
		uint32_t a = (uint32_t)rand_scale(rand_next(&r), addresses);
		uint32_t at = FIRST + a * apart;

		assert_int_equal(dhcp_holders_find(&h, at_address(at), 0), holder[a]);
		if (held[owner]) {
			a = held[owner] - 1;
			dhcp_holders_drop(&h, at_address(FIRST + a * apart), owner);
			held[owner] = 0;
			holder[a] = DHCP_NOBODY;
		} else if (holder[a] == DHCP_NOBODY) {
			assert_int_equal(dhcp_holders_hold(&h, at_address(at), owner, FOREVER, 0),
				DHCP_NOBODY);
			held[owner] = a + 1;
			holder[a] = owner;
		} else {
			assert_int_equal(dhcp_holders_hold(&h, at_address(at), owner, FOREVER, 0),
				holder[a]);
		}
	}
	free(holder);
	free(held);
	end(&h);
}

static void the_table_is_exact_under_churn(void **state)
{
	churn(60, 90, 1, false);
	churn(60, 90, 1, true);
	churn(5, 40, 256, true);
	churn(3000, 3500, 1, false);
	churn(3000, 3500, 65536, true);
	churn(170, 100000, 40503, true);
}

// The most crowded case: a table with the fewest possible lines, and an address of each owner.
static void the_table_holds_an_address_of_every_owner(void **state)
{
	static const uint32_t apart[] = {1, 2, 3, 4, 5, 256, 65536 + 4, 40503};
	const uint32_t owners = (8u << 14) * 2 / 3;

	for (uint32_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
		struct dhcp_holders h = made(owners, i & 1);

		for (uint32_t k = 0; k < owners; k++)
			assert_int_equal(
				dhcp_holders_hold(&h, at_address(FIRST + k * apart[i]), k, 9, 0),
				DHCP_NOBODY);
		for (uint32_t k = 0; k < owners; k++)
			assert_int_equal(
				dhcp_holders_find(&h, at_address(FIRST + k * apart[i]), 0), k);
		assert_int_equal(dhcp_holders_find(&h, at_address(1), 0), DHCP_NOBODY);
		for (uint32_t k = 0; k < owners; k++)
			dhcp_holders_drop(&h, at_address(FIRST + k * apart[i]), k);
		assert_empty(&h);
		end(&h);
	}
}

// Every bit of an address and of an owner counts.
static void no_two_addresses_are_taken_for_each_other(void **state)
{
	static const uint64_t owners[] = {1, 100, 5000, 1000000};

	for (uint32_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		struct dhcp_holders h = made(owners[i], true);
		uint32_t owner = (uint32_t)owners[i] - 1;

		for (uint32_t bit = 0; bit < 32; bit++) {
			uint32_t address = 1u << bit;

			assert_int_equal(dhcp_holders_hold(&h, at_address(address), owner, 5, 0),
				DHCP_NOBODY);
			for (uint32_t other = 0; other < 32; other++)
				assert_int_equal(
					dhcp_holders_find(&h, at_address(address ^ 1u << other), 0),
					DHCP_NOBODY);
			assert_int_equal(dhcp_holders_find(&h, at_address(address), 4), owner);
			dhcp_holders_drop(&h, at_address(address), owner);
		}
		assert_empty(&h);
		end(&h);
	}
}

// Returns the n-th address with its home in the first line: the inverse of home_of.
static uint32_t crowding(uint32_t n)
{
	uint32_t inverse = 0x9e3779b1u;

	for (int i = 0; i < 5; i++)
		inverse *= 2 - 0x9e3779b1u * inverse;
	return ((n / 4 * inverse) & 0x3fffffff) << 2 | n % 4;
}

static void an_address_without_room_is_told_and_takes_nobodys_place(void **state)
{
	const uint32_t room = 256 * DHCP_HOLDERS_LINE;

	for (int several = 0; several < 2; several++) {
		struct dhcp_holders h = made(4000, several);

		for (uint32_t i = 0; i < room; i++)
			assert_int_equal(dhcp_holders_hold(&h, at_address(crowding(i)), i, 9, 0),
				DHCP_NOBODY);
		assert_int_equal(dhcp_holders_hold(&h, at_address(crowding(room)), room, 9, 0),
			DHCP_UNWATCHED);
		assert_int_equal(dhcp_holders_find(&h, at_address(crowding(room)), 0), DHCP_NOBODY);
		dhcp_holders_drop(&h, at_address(crowding(room)), room);
		for (uint32_t i = 0; i < room; i++)
			assert_int_equal(dhcp_holders_find(&h, at_address(crowding(i)), 0), i);
		dhcp_holders_drop(&h, at_address(crowding(7)), 7);
		assert_int_equal(
			dhcp_holders_hold(&h, at_address(crowding(room)), room, 9, 0), DHCP_NOBODY);
		assert_int_equal(dhcp_holders_find(&h, at_address(crowding(room)), 0), room);
		end(&h);
	}
}

// A cell has 20 to 28 bits for the time.
static void leases_run_out_in_runs_of_months_too(void **state)
{
	static const uint64_t owners[] = {2, 170, 171, 5000, 1000000};
	static const uint32_t days[] = {1, 5, 13, 25, 49, 115};

	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
		for (size_t k = 0; k < sizeof(days) / sizeof(days[0]); k++) {
			struct dhcp_holders h = made(owners[i], k & 1);
			uint32_t now_s = days[k] * 86400, end_s = now_s + 3600;

			assert_int_equal(
				dhcp_holders_hold(&h, at_address(7), 0, end_s, now_s), DHCP_NOBODY);
			assert_int_equal(
				dhcp_holders_hold(&h, at_address(7), 1, end_s, end_s - 64), 0);
			assert_int_equal(dhcp_holders_find(&h, at_address(7), end_s), DHCP_NOBODY);
			assert_int_equal(dhcp_holders_hold(&h, at_address(7), 1, FOREVER, end_s),
				DHCP_NOBODY);
			assert_int_equal(dhcp_holders_find(&h, at_address(7), FOREVER - 1), 1);
			dhcp_holders_drop(&h, at_address(7), 1);
			assert_empty(&h);
			end(&h);
		}
}

static void too_many_owners_are_refused(void **state)
{
	struct dhcp_holders h;

	assert_true(dhcp_holders_init(&h, UINT32_MAX, false) < 0);
}

// Finds addresses with identical paths through the table, so that the place of each depends on the
// others.
static void rivals_find(struct dhcp_holders *h, uint32_t rivals[ADDRESSES])
{
	uint32_t n = 0;

	for (uint32_t address = 8; n < ADDRESSES; address += 8) {
		assert_int_equal(dhcp_holders_hold(h, at_address(address), 0, 9, 0), DHCP_NOBODY);
		if (h->cells[0])
			rivals[n++] = address;
		dhcp_holders_drop(h, at_address(address), 0);
	}
}

// Few addresses, many threads: between hold and drop an address has only one holder.
struct fight {
	struct dhcp_holders *h;
	uint32_t owner;
	uint64_t held, refused, wrong;
	const uint32_t *rivals;
	uint32_t *inside;
	pthread_barrier_t *begin;
};

static void visit(struct fight *f, uint32_t a, uint32_t now_s)
{
	uint32_t other =
		dhcp_holders_hold(f->h, at_address(f->rivals[a]), f->owner, now_s + 1, now_s);

	if (other != DHCP_NOBODY) {
		f->refused++;
		f->wrong += other >= THREADS || other == f->owner;
		return;
	}
	f->held++;
	f->wrong += __atomic_fetch_add(&f->inside[a], 1, __ATOMIC_SEQ_CST) != 0;
	f->wrong += dhcp_holders_find(f->h, at_address(f->rivals[a]), now_s) != f->owner;
	__atomic_fetch_sub(&f->inside[a], 1, __ATOMIC_SEQ_CST);
	dhcp_holders_drop(f->h, at_address(f->rivals[a]), f->owner);
}

static void *fight(void *arg)
{
	struct fight *f = arg;
	struct rand r = {f->owner};

	pthread_barrier_wait(f->begin);
	for (uint32_t i = 0; i < ROUNDS; i++)
		visit(f, (uint32_t)rand_scale(rand_next(&r), ADDRESSES), 1);
	return NULL;
}

static void threads_fight_for_addresses_and_each_has_one_holder(void **state)
{
	struct dhcp_holders h = made(THREADS, true);
	struct fight fights[THREADS];
	pthread_t threads[THREADS];
	uint32_t rivals[ADDRESSES], inside[ADDRESSES] = {0};
	pthread_barrier_t begin;
	uint64_t held = 0;

	rivals_find(&h, rivals);
	pthread_barrier_init(&begin, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		fights[i] = (struct fight){&h, i, 0, 0, 0, rivals, inside, &begin};
		assert_int_equal(pthread_create(&threads[i], NULL, fight, &fights[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(fights[i].wrong, 0);
		assert_int_equal(fights[i].held + fights[i].refused, ROUNDS);
		held += fights[i].held;
	}
	pthread_barrier_destroy(&begin);
	assert_true(held > 0);
	assert_empty(&h);
	end(&h);
}

// Each thread gives every address in turn to a client of its own, simultaneously with the others:
// only one gets it.
struct race {
	struct dhcp_holders *h;
	uint32_t thread;
	pthread_barrier_t *begin;
	uint8_t *won;
};

#define RACES 2000
#define HEAT  16 // addresses between two barriers

static void *race(void *arg)
{
	struct race *r = arg;

	for (uint32_t i = 0; i < RACES; i++) {
		uint32_t owner = r->thread * RACES + i;

		if (i % HEAT == 0)
			pthread_barrier_wait(r->begin);
		r->won[i] =
			dhcp_holders_hold(r->h, at_address(FIRST + i), owner, 9, 0) == DHCP_NOBODY;
	}
	return NULL;
}

static void of_threads_that_race_for_an_address_one_gets_it(void **state)
{
	struct dhcp_holders h = made((uint64_t)THREADS * RACES, true);
	static uint8_t won[THREADS][RACES];
	struct race races[THREADS];
	pthread_t threads[THREADS];
	pthread_barrier_t begin;

	pthread_barrier_init(&begin, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		races[i] = (struct race){&h, i, &begin, won[i]};
		assert_int_equal(pthread_create(&threads[i], NULL, race, &races[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&begin);
	for (uint32_t i = 0; i < RACES; i++) {
		uint32_t winner = dhcp_holders_find(&h, at_address(FIRST + i), 0);

		assert_int_equal(won[0][i] + won[1][i] + won[2][i] + won[3][i], 1);
		assert_int_equal(winner % RACES, i);
		assert_true(won[winner / RACES][i]);
	}
	end(&h);
}

static bool is_of(const void *of, uint32_t owner, const void *key)
{
	return ((const uint32_t *)of)[owner] == *(const uint32_t *)key;
}

static void keys_of_one_hash_are_told_apart(void **state)
{
	for (int several = 0; several < 2; several++) {
		struct dhcp_holders h = made(4, several);
		const uint32_t keys[] = {10, 20, 10, 30};

		h.same = is_of;
		h.of = keys;
		for (uint32_t i = 0; i < 2; i++)
			assert_int_equal(
				dhcp_holders_hold(&h, (struct dhcp_held){7, &keys[i]}, i, 100, 0),
				DHCP_NOBODY);
		assert_int_equal(
			dhcp_holders_hold(&h, (struct dhcp_held){7, &keys[2]}, 2, 100, 0), 0);
		assert_int_equal(dhcp_holders_find(&h, (struct dhcp_held){7, &keys[1]}, 0), 1);
		assert_int_equal(
			dhcp_holders_find(&h, (struct dhcp_held){7, &keys[3]}, 0), DHCP_NOBODY);
		dhcp_holders_drop(&h, (struct dhcp_held){7, &keys[0]}, 0);
		assert_int_equal(dhcp_holders_find(&h, (struct dhcp_held){7, &keys[1]}, 0), 1);
		assert_int_equal(dhcp_holders_hold(&h, (struct dhcp_held){7, &keys[2]}, 2, 100, 0),
			DHCP_NOBODY);
		dhcp_holders_drop(&h, (struct dhcp_held){7, &keys[1]}, 1);
		dhcp_holders_drop(&h, (struct dhcp_held){7, &keys[2]}, 2);
		assert_empty(&h);
		end(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_one_hash_are_told_apart),
		cmocka_unit_test(an_address_that_is_held_is_not_given_twice),
		cmocka_unit_test(an_address_whose_lease_ran_out_is_anybodys),
		cmocka_unit_test(a_lease_is_renewed_and_may_never_end),
		cmocka_unit_test(the_table_is_exact_under_churn),
		cmocka_unit_test(the_table_holds_an_address_of_every_owner),
		cmocka_unit_test(no_two_addresses_are_taken_for_each_other),
		cmocka_unit_test(leases_run_out_in_runs_of_months_too),
		cmocka_unit_test(too_many_owners_are_refused),
		cmocka_unit_test(an_address_without_room_is_told_and_takes_nobodys_place),
		cmocka_unit_test(threads_fight_for_addresses_and_each_has_one_holder),
		cmocka_unit_test(of_threads_that_race_for_an_address_one_gets_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

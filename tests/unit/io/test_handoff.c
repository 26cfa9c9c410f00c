// SPDX-License-Identifier: BSD-3-Clause
// Rings between workers: every packet put in comes out, once and in order, packets without room are
// counted, and the time up to which all workers have looked is the least of the workers' times.
// With threads as workers. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "io/handoff.h"

#define WORKERS 3
#define PACKETS 200000ull // from each worker to each other one

struct fixture {
	struct handoff all[WORKERS];
	struct handoff_ring rings[WORKERS * WORKERS];
};

static struct fixture *fixture_new(void)
{
	struct fixture *f = aligned_alloc(64, (sizeof(*f) + 63) / 64 * 64);

	assert_non_null(f);
	memset(f, 0, sizeof(*f));
	handoff_init(f->all, f->rings, WORKERS, 10);
	return f;
}

static struct rte_mbuf *number(uint64_t n)
{
	return (struct rte_mbuf *)(uintptr_t)n; // NOLINT: is never looked into
}

static void what_is_put_arrives_with_its_time_and_in_order(void **state)
{
	struct fixture *f = fixture_new();
	struct handoff_packet out[HANDOFF_BURST];
	struct rte_mbuf *lost[HANDOFF_BURST];

	for (uint64_t i = 0; i < 40; i++)
		handoff_put(&f->all[0], 2, number(100 + i), 1000 + i);
	assert_int_equal(handoff_flush(&f->all[0], 2, lost), 0);
	assert_int_equal(handoff_flush(&f->all[0], 1, lost), 0);
	assert_int_equal(f->all[0].handed_over, 40);
	assert_int_equal(handoff_ring_take(f->all[1].from[0], out, HANDOFF_BURST), 0);
	assert_int_equal(handoff_ring_take(f->all[2].from[1], out, HANDOFF_BURST), 0);
	assert_int_equal(handoff_ring_take(f->all[2].from[0], out, HANDOFF_BURST), 40);
	for (uint64_t i = 0; i < 40; i++) {
		assert_ptr_equal(out[i].mbuf, number(100 + i));
		assert_int_equal(out[i].time, 1000 + i);
	}
	free(f);
}

static void what_finds_no_room_is_given_back_and_counted(void **state)
{
	struct fixture *f = fixture_new();
	struct rte_mbuf *lost[HANDOFF_BURST];
	uint32_t sum = 0;

	for (uint64_t i = 0; i < HANDOFF_RING + 10; i++) {
		handoff_put(&f->all[0], 1, number(i), i);
		if (i % 32 == 31)
			sum += handoff_flush(&f->all[0], 1, lost);
	}
	assert_int_equal(sum, 0);
	assert_int_equal(handoff_flush(&f->all[0], 1, lost), 10);
	assert_ptr_equal(lost[0], number(HANDOFF_RING));
	assert_ptr_equal(lost[9], number(HANDOFF_RING + 9));
	assert_int_equal(f->all[0].handed_over, HANDOFF_RING);
	assert_int_equal(f->all[0].hand_over_full, 10);
	free(f);
}

static void all_have_looked_until_the_least_of_what_they_say(void **state)
{
	struct fixture *f = fixture_new();

	handoff_tell(&f->all[0], 500);
	handoff_tell(&f->all[1], 300);
	handoff_look(&f->all[2], 600);
	assert_int_equal(f->all[2].until, 300);
	handoff_tell(&f->all[1], 590);
	handoff_look(&f->all[2], 609); // too early for another look
	assert_int_equal(f->all[2].until, 300);
	handoff_look(&f->all[2], 610);
	assert_int_equal(f->all[2].until, 500);
	handoff_tell(&f->all[0], 900);
	handoff_tell(&f->all[1], 900);
	handoff_look(&f->all[2], 700);
	assert_int_equal(f->all[2].until, 700);
	free(f);
}

// Gives packets to the other threads and takes theirs until all have arrived; a missing one shows
// as a number out of order.
static void *work(void *arg)
{
	struct handoff *h = arg;
	struct handoff_packet in[HANDOFF_BURST];
	struct rte_mbuf *lost[HANDOFF_BURST];
	uint64_t sent[WORKERS] = {0}, got[WORKERS] = {0}, wrong = 0, left;

	do {
		left = 0;
		for (uint32_t i = 0; i < WORKERS; i++) {
			if (i == h->self)
				continue;
			for (uint32_t n = 0; n < 20 && sent[i] + n < PACKETS; n++)
				handoff_put(h, i, number(sent[i] + n), sent[i] + n);
			sent[i] += h->out[i].count;
			sent[i] -= handoff_flush(h, i, lost);
			for (uint32_t n = handoff_ring_take(h->from[i], in, HANDOFF_BURST), k = 0;
				k < n; k++, got[i]++)
				wrong += in[k].time != got[i] || in[k].mbuf != number(got[i]);
			left += PACKETS - sent[i] + PACKETS - got[i];
		}
		h->taken_over = got[0] + got[1] + got[2];
		sched_yield();
	} while (left);
	return number(wrong);
}

static void workers_that_give_to_each_other_lose_nothing(void **state)
{
	struct fixture *f = fixture_new();
	pthread_t threads[WORKERS];
	void *wrong;

	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, &f->all[i]), 0);
	for (int i = 0; i < WORKERS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	for (int i = 0; i < WORKERS; i++) {
		assert_int_equal(f->all[i].handed_over, (WORKERS - 1) * PACKETS);
		assert_int_equal(f->all[i].taken_over, (WORKERS - 1) * PACKETS);
	}
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_arrives_with_its_time_and_in_order),
		cmocka_unit_test(what_finds_no_room_is_given_back_and_counted),
		cmocka_unit_test(all_have_looked_until_the_least_of_what_they_say),
		cmocka_unit_test(workers_that_give_to_each_other_lose_nothing),
	};

	return cmocka_run_group_tests_name("handoff", tests, NULL, NULL);
}

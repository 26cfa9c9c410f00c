// SPDX-License-Identifier: BSD-3-Clause
// The rules by which leases change hands and settings are refused, as tests for either family. A
// family's test includes this after its fixture and after the functions below. Path: tests only.
#pragma once

#include "base/rand.h"

#define NONE UINT32_MAX

// Defined by the family. A lease is its number within the pool; the reply gives this one, or NONE.
static uint32_t offer(struct server *v, uint8_t client);                // DISCOVER, SOLICIT
static uint32_t take(struct server *v, uint8_t client, uint32_t lease); // REQUEST of that offer
static uint32_t renew(struct server *v, uint8_t client, uint32_t lease);
static void decline_offer(struct server *v, uint8_t client); // REQUEST for another server
static void release(struct server *v, uint8_t client, uint32_t lease);
static void decline(struct server *v, uint8_t client, uint32_t lease);
// A message of this type with every option, and its length.
static uint32_t full_message(uint8_t type, uint8_t *buf, uint32_t room);

static uint32_t lease(struct server *v, uint8_t client)
{
	uint32_t offered = offer(v, client);

	assert_int_not_equal(offered, NONE);
	assert_int_equal(take(v, client, offered), offered);
	return offered;
}

static void a_client_keeps_its_lease(void **state)
{
	struct server *v = server_new();

	assert_int_equal(lease(v, 1), 0);
	assert_int_equal(lease(v, 2), 1);
	assert_int_equal(lease(v, 1), 0);
	assert_int_equal(offer(v, 2), 1);
	assert_int_equal(renew(v, 2, 1), 1); // the new offer left it bound
	server_end(v);
}

static void a_used_up_pool_makes_no_offer(void **state)
{
	struct server *v = server_new();

	for (uint8_t i = 0; i < POOL_SIZE; i++)
		assert_int_equal(lease(v, i), i);
	assert_int_equal(offer(v, 9), NONE);
	assert_int_equal(lease(v, 2), 2);
	server_end(v);
}

static void released_leases_go_to_others_oldest_first(void **state)
{
	struct server *v = server_new();

	for (uint8_t i = 0; i < POOL_SIZE; i++)
		lease(v, i);
	release(v, 2, 2);
	release(v, 1, 1);
	assert_int_equal(v->n.released, 2);
	assert_int_equal(lease(v, 8), 2);
	assert_int_equal(lease(v, 1), 1); // its own, still free
	assert_int_equal(offer(v, 2), NONE);
	server_end(v);
}

static void a_release_of_another_lease_changes_nothing(void **state)
{
	struct server *v = server_new();

	lease(v, 1);
	release(v, 1, 1);
	release(v, 2, 0);
	assert_int_equal(v->n.released, 0);
	assert_int_equal(lease(v, 2), 1);
	assert_int_equal(renew(v, 1, 0), 0);
	server_end(v);
}

static void a_declined_address_rests_for_the_lease_time(void **state)
{
	struct server *v = server_new();

	lease(v, 1);
	v->ctx.now_ms = 1000;
	decline(v, 1, 0);
	assert_int_equal(v->n.declined, 1);
	for (uint8_t i = 1; i < POOL_SIZE; i++)
		assert_int_equal(lease(v, i), i);
	v->ctx.now_ms = LEASE_S * 1000;
	assert_int_equal(offer(v, 8), NONE);
	v->ctx.now_ms += 1000;
	assert_int_equal(lease(v, 8), 1); // the oldest binding is reused before resting leases
	assert_int_equal(lease(v, 9), 2);
	assert_int_equal(lease(v, 10), 3);
	assert_int_equal(lease(v, 11), 0);
	server_end(v);
}

static void expired_leases_go_to_others_when_no_lease_is_free(void **state)
{
	struct server *v = server_new();

	for (uint8_t i = 0; i < POOL_SIZE; i++) {
		v->ctx.now_ms = 1000 * i;
		lease(v, i);
	}
	v->ctx.now_ms = LEASE_S * 1000 - 1;
	assert_int_equal(offer(v, 8), NONE);
	v->ctx.now_ms++;
	assert_int_equal(renew(v, 0, 0), 0);
	assert_int_equal(offer(v, 8), NONE); // the oldest one has been renewed
	v->ctx.now_ms += 1000;
	assert_int_equal(lease(v, 8), 1);
	assert_int_equal(v->n.expired, 1);
	assert_int_equal(renew(v, 1, 1), NONE);
	server_end(v);
}

// 2^32 ms of a run are 49 days.
static void a_lease_of_a_run_beyond_49_days_stays_its_clients(void **state)
{
	struct server *v = server_new();
	const uint64_t begun = (1ull << 32) - 5000;

	v->ctx.now_ms = begun;
	for (uint8_t i = 0; i < POOL_SIZE; i++)
		assert_int_equal(lease(v, i), i);
	v->ctx.now_ms = begun + 6000;
	assert_int_equal(offer(v, 8), NONE);
	v->ctx.now_ms = begun + LEASE_S * 1000;
	assert_int_equal(lease(v, 8), 0);
	assert_int_equal(v->n.expired, 1);
	server_end(v);
}

static void an_offer_not_accepted_is_given_to_others(void **state)
{
	struct server *v = server_new();

	for (uint8_t i = 0; i < POOL_SIZE; i++)
		assert_int_equal(offer(v, i), i);
	assert_int_equal(offer(v, 8), NONE);
	decline_offer(v, 1);
	assert_int_equal(v->n.other_server, 1);
	assert_int_equal(lease(v, 8), 1);
	decline_offer(v, 8); // a lease that is bound stays bound
	v->ctx.now_ms = DHCP_OFFER_S * 1000 - 1;
	assert_int_equal(offer(v, 9), NONE);
	v->ctx.now_ms++;
	assert_int_equal(lease(v, 9), 0);
	assert_int_equal(v->n.expired, 1);
	server_end(v);
}

static void every_nth_new_client_gets_the_address_of_another(void **state)
{
	const struct addr_range pool = {test_pool.first, 64};
	struct FAMILY(answers_settings) s = server_settings();
	uint32_t before = NONE;
	struct server *v;

	s.common.pool = LIST(&pool, 1);
	s.common.address_twice = 5;
	v = server_of(&s);
	for (uint8_t i = 1; i <= 20; i++) {
		uint32_t got = lease(v, i);

		assert_int_equal(got == before, i % 5 == 0);
		assert_int_equal(v->n.address_twice, i / 5);
		assert_int_equal(renew(v, i, got), got);
		before = got;
	}
	// Given back by one client, it still belongs to the other, and the record has its own
	// address again.
	release(v, 5, 3);
	assert_int_equal(v->n.released, 1);
	assert_int_equal(renew(v, 4, 3), 3);
	decline(v, 10, 8);
	assert_int_equal(v->n.declined, 1);
	assert_int_equal(renew(v, 9, 8), 8);
	for (uint32_t i = 20; i < 65; i++)
		assert_int_equal(lease(v, (uint8_t)(i + 1)), i - (i % 5 == 4));
	assert_int_equal(lease(v, 66), 9);
	server_end(v);
}

static void clients_bounds_the_leases_over_all_ranges(void **state)
{
	struct addr_range ranges[2] = {test_pool, {test_pool.first, 128}};
	struct FAMILY(answers_settings) s = server_settings();
	struct server *v;

	ranges[1].first.bytes[ranges[1].first.len - 1] = 128;
	s.common.pool = LIST(ranges, 2);
	s.common.clients = 6;
	v = server_of(&s);
	for (uint8_t i = 0; i < 6; i++)
		assert_int_equal(lease(v, i), i < 4 ? i : 128 - FIRST + i - 4);
	assert_int_equal(offer(v, 6), NONE);
	server_end(v);
}

// Each lease belongs to one worker, and their numbers differ by one at most.
static void every_worker_has_its_part_of_the_pool(void **state)
{
	struct addr_range ranges[3] = {test_pool, test_pool, test_pool};
	struct FAMILY(answers_settings) s = server_settings();

	for (uint32_t i = 0; i < 3; i++) {
		ranges[i].first.bytes[ranges[i].first.len - 1] = (uint8_t)(32 * (i + 1));
		ranges[i].count = i == 1 ? 1 : 6;
	}
	s.common.pool = LIST(ranges, 3);
	s.common.prefixes = LIST(NULL, 0);
	for (uint32_t workers = 1; workers <= 13; workers++) {
		uint32_t seen[128] = {0}, found[128] = {0}, all = 0;

		for (uint32_t w = 0; w < workers; w++) {
			const struct proto_env env = {.worker = w, .workers = workers};
			struct server *v = server_open(&s, &env);
			const struct dhcp_pool *p = ((struct dhcp_server *)v->ctx.own)->pools;
			dhcp_number base = p->ranges[0].first & ~(dhcp_number)0xff;
			uint32_t count = 0, got;

			for (uint32_t i = 0; i < 128; i++)
				found[i] += dhcp_pool_at(p, base + i) != NULL;
			while ((got = offer(v, (uint8_t)count)) != NONE) {
				assert_int_equal(seen[got + FIRST]++, 0);
				count++;
			}
			assert_in_range(count, 13 / workers, 13 / workers + 1);
			all += count;
			server_end(v);
		}
		assert_int_equal(all, 13);
		assert_memory_equal(found, seen, sizeof(found));
	}
	assert_refused_for(&s, 14);
}

static void wrong_ranges_are_refused(void **state)
{
	static const struct addr_range other_family = {{20 - FAMILY_LEN, {10}}, 10};
	struct addr_range many[DHCP_RANGES_MAX + 1], twice[2] = {test_pool, {test_pool.first, 2}};
	struct FAMILY(answers_settings) s = server_settings();

	s.common.pool = LIST(&other_family, 1);
	assert_refused(&s);
	twice[1].first.bytes[FAMILY_LEN - 1] += POOL_SIZE - 1;
	s.common.pool = LIST(twice, 2);
	assert_refused(&s);
	for (uint32_t i = 0; i <= DHCP_RANGES_MAX; i++) {
		many[i] = (struct addr_range){test_pool.first, 1};
		many[i].first.bytes[FAMILY_LEN - 1] = (uint8_t)i;
	}
	s.common.pool = LIST(many, DHCP_RANGES_MAX);
	server_end(server_of(&s));
	s.common.pool = LIST(many, DHCP_RANGES_MAX + 1);
	assert_refused(&s);
}

static void wrong_times_are_refused(void **state)
{
	const uint64_t second = 1000000000;
	struct FAMILY(answers_settings) s = server_settings();

	s.common.t2_ns = s.common.lease_ns + second;
	assert_refused(&s);
	s = server_settings();
	s.common.t1_ns = s.common.lease_ns - second;
	assert_refused(&s);
	s = server_settings();
	s.common.t2_ns = s.common.lease_ns / 8;
	assert_refused(&s);
}

// Any order of messages: no lease is bound twice, and every lease can be given in the end.
static void many_random_exchanges_keep_the_table_whole(void **state)
{
	const struct addr_range pool = {test_pool.first, 8};
	struct FAMILY(answers_settings) s = server_settings();
	struct rand r = {.state = 3};
	uint32_t held[32], used_up = 0;
	struct server *v;

	s.common.pool = LIST(&pool, 1);
	v = server_of(&s);
	memset(held, 0xff, sizeof(held));
	for (uint32_t step = 0; step < 20000; step++) {
		uint8_t i = (uint8_t)rand_scale(rand_next(&r), 32);
		uint32_t offered;

		if (held[i] != NONE) {
			release(v, i, held[i]);
			held[i] = NONE;
			continue;
		}
		offered = offer(v, i);
		used_up += offered == NONE;
		if (offered == NONE)
			continue;
		assert_true(offered < 8);
		for (uint32_t k = 0; k < 32; k++)
			assert_int_not_equal(held[k], offered);
		if (rand_scale(rand_next(&r), 3))
			held[i] = take(v, i, offered);
		else
			decline_offer(v, i);
	}
	assert_true(used_up > 100 && v->n.released > 1000);
	for (uint8_t i = 0; i < 32; i++)
		if (held[i] != NONE)
			assert_int_equal(renew(v, i, held[i]), held[i]);
	server_end(v);
}

static void cut_messages_and_small_rooms_do_no_harm(void **state)
{
	struct server *v = server_new();
	uint8_t buf[1024];

	for (uint8_t type = 0; type < DHCP_SERVER_TYPES; type++) {
		uint32_t len = full_message(type, buf, sizeof(buf));

		for (uint32_t cut = 0; cut < len; cut++)
			hear(v, buf, cut);
		for (v->room = 0; v->room < 400; v->room++)
			hear(v, buf, len);
		v->room = sizeof(v->out);
	}
	server_end(v);
}

static void any_byte_may_have_any_value(void **state)
{
	struct server *v = server_new();
	struct rand r = {.state = 1};
	struct proto_direction to;
	uint8_t buf[1024];

	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t len = full_message((uint8_t)(round % DHCP_SERVER_TYPES), buf, sizeof(buf));

		for (uint32_t i = 0; i < 1 + round % 4; i++) {
			uint64_t bits = rand_next(&r);
			// Mostly in the options, as lengths are there.
			uint32_t from = bits & 1 ? 0 : OPTIONS_AT;

			buf[from + rand_scale(bits, len - from)] = (uint8_t)(bits >> 8);
		}
		if (hear(v, buf, len))
			FAMILY(direct)(v->out, v->len, &to);
		FAMILY(direct)(buf, len, &to);
	}
	assert_true(v->n.answered > 1000 && v->n.malformed > 1000);
	server_end(v);
}

static void every_value_of_a_counter_has_a_label(void **state)
{
	const struct counter_section *s = FAMILY(server).counters;
	uint32_t labels = 0;

	for (const struct counter *c = s->rows; c < s->rows + s->count; c++)
		for (uint32_t i = 0; c->type == COUNTER_ARRAY && i < c->length; i++, labels++)
			assert_non_null(c->label(i));
	assert_true(labels >= 2 * DHCP_SERVER_TYPES);
}

#define SERVER_RULES                                                                               \
	cmocka_unit_test(a_client_keeps_its_lease),                                                \
		cmocka_unit_test(a_used_up_pool_makes_no_offer),                                   \
		cmocka_unit_test(released_leases_go_to_others_oldest_first),                       \
		cmocka_unit_test(a_release_of_another_lease_changes_nothing),                      \
		cmocka_unit_test(a_declined_address_rests_for_the_lease_time),                     \
		cmocka_unit_test(expired_leases_go_to_others_when_no_lease_is_free),               \
		cmocka_unit_test(a_lease_of_a_run_beyond_49_days_stays_its_clients),               \
		cmocka_unit_test(an_offer_not_accepted_is_given_to_others),                        \
		cmocka_unit_test(every_nth_new_client_gets_the_address_of_another),                \
		cmocka_unit_test(clients_bounds_the_leases_over_all_ranges),                       \
		cmocka_unit_test(every_worker_has_its_part_of_the_pool),                           \
		cmocka_unit_test(wrong_ranges_are_refused),                                        \
		cmocka_unit_test(wrong_times_are_refused),                                         \
		cmocka_unit_test(many_random_exchanges_keep_the_table_whole),                      \
		cmocka_unit_test(cut_messages_and_small_rooms_do_no_harm),                         \
		cmocka_unit_test(any_byte_may_have_any_value),                                     \
		cmocka_unit_test(every_value_of_a_counter_has_a_label)

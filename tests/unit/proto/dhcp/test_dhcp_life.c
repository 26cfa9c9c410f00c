// SPDX-License-Identifier: BSD-3-Clause
// Clients with a life: the wheel of milliseconds, the events that follow a lease and its loss, the
// shares of events, the forecast compared with the wheel, and size. Path: tests only.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "proto/dhcp/client/dhcp_life.h"
#include "proto/dhcp/v4/dhcp4_plan.h"
#include "proto/dhcp/v6/dhcp6_plan.h"

enum { START, RENEW, REBIND, REBOOT, RELEASE };

static const struct dhcp_life_exchanges v4 = {RENEW, REBIND, REBOOT, RELEASE, true};
static const struct dhcp_life_exchanges v6 = {RENEW, REBIND, REBOOT, RELEASE, false};

// Settings of these tests: T1 is 100 s, time runs ten times as fast as for clients.
static struct dhcp_life_settings usual(void)
{
	return (struct dhcp_life_settings){
		.speed = 10, .t1_ns = 100000000000, .away_ns = 20000000000, .retry_ns = 5000000000};
}

struct bench {
	struct dhcp_life_plan plan;
	struct dhcp_life life;
	struct dhcp_client *clients;
};

static struct bench *open_bench(const struct dhcp_life_settings *s,
	const struct dhcp_life_exchanges *x, uint32_t clients, const struct proto_env *env)
{
	struct bench *b = calloc(1, sizeof(*b));

	dhcp_life_plan(&b->plan, s, x, START, clients);
	assert_int_equal(dhcp_life_open(&b->life, &b->plan, env, clients, 6), 0);
	b->clients = calloc(clients, sizeof(*b->clients));
	return b;
}

static void close_bench(struct bench *b)
{
	dhcp_life_close(&b->life);
	free(b->clients);
	free(b);
}

static struct bench *made(
	const struct dhcp_life_settings *s, const struct dhcp_life_exchanges *x, uint32_t clients)
{
	const struct proto_env env = {.workers = 1, .seed = 7};

	return open_bench(s, x, clients, &env);
}

// Waits for the next client. Returns its time.
static uint64_t next(struct bench *b, uint32_t *client)
{
	for (uint64_t now = b->life.at_ms;; now++)
		for (int i = 0; i < 10000; i++) {
			uint64_t at = dhcp_life_due(&b->life, now);

			if (at != DHCP_LIFE_NEVER) {
				*client = dhcp_life_take(&b->life);
				return at;
			}
			if (b->life.at_ms == now && b->life.list == DHCP_NOBODY)
				break;
		}
}

static void a_client_is_due_when_its_time_has_come_and_not_before(void **state)
{
	static const uint64_t delays[] = {
		1, 2, 65535, 65536, 65537, 131072, 131073, 3 * 65536ull + 5, 10000000};
	const struct dhcp_life_settings s = usual();
	struct bench *b = made(&s, &v4, 9);

	for (uint32_t i = 0; i < 9; i++)
		dhcp_life_wait(&b->life, i, 0, delays[i]);
	assert_int_equal(dhcp_life_due(&b->life, 0), DHCP_LIFE_NEVER);
	assert_int_equal(dhcp_life_waiting(&b->life, 2), 1);
	assert_int_equal(dhcp_life_waiting(&b->life, 3), 2);
	for (uint32_t i = 0; i < 9; i++) {
		uint32_t client;

		assert_int_equal(next(b, &client), delays[i]);
		assert_int_equal(client, i);
	}
	assert_int_equal(b->life.list, DHCP_NOBODY);
	close_bench(b);
}

static void a_wheel_that_is_behind_loses_nobody_and_keeps_the_times(void **state)
{
	const struct dhcp_life_settings s = usual();
	struct bench *b = made(&s, &v4, 1000);
	uint32_t n = 0;

	for (uint32_t i = 0; i < 1000; i++)
		dhcp_life_wait(&b->life, i, 0, 1 + i / 2);
	assert_int_equal(dhcp_life_waiting(&b->life, 200000), 1000);
	for (int call = 0; call < 100000 && n < 1000; call++) {
		uint64_t at = dhcp_life_due(&b->life, 200000);

		if (at == DHCP_LIFE_NEVER)
			continue;
		assert_int_equal(at, 1 + n / 2);
		dhcp_life_take(&b->life);
		n++;
	}
	assert_int_equal(n, 1000);
	assert_int_equal(dhcp_life_waiting(&b->life, 200000), 0);
	close_bench(b);
}

// Makes its exchange, which takes no time and ends in this way.
static uint64_t lives(struct bench *b, uint32_t *exchange, enum dhcp_left how, bool holds)
{
	uint32_t client;
	uint64_t at = next(b, &client);
	struct dhcp_client *k = &b->clients[client];

	*exchange = k->exchange = dhcp_life_exchange(&b->life, client, k);
	k->began_ms = (uint32_t)at;
	k->holds = holds;
	if (how == DHCP_LEFT_LEASED)
		dhcp_life_lease(&b->life, client, 100, 175, 200);
	dhcp_life_left(&b->life, client, k, at, how);
	return at;
}

static void without_a_server_a_lease_is_renewed_rebound_and_lost(void **state)
{
	const struct dhcp_life_settings s = usual();
	struct bench *b = made(&s, &v4, 1);
	uint32_t exchange;

	dhcp_life_wait(&b->life, 0, 0, 1000);
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_LEASED, true), 1000);
	assert_int_equal(exchange, START);
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_LEASED, true), 11000);
	assert_int_equal(exchange, RENEW);
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_FAILED, true), 21000);
	assert_int_equal(exchange, RENEW);
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_FAILED, true), 28500); // T2
	assert_int_equal(exchange, REBIND);
	assert_true(dhcp_life_expired(&b->life, 0));
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_FAILED, false), 31000); // the end
	assert_int_equal(exchange, START);
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_LEASED, true), 31500); // retry
	assert_int_equal(exchange, START);
	assert_false(dhcp_life_expired(&b->life, 0));
	close_bench(b);
}

static void a_refused_client_starts_over_at_once(void **state)
{
	const struct dhcp_life_settings s = usual();
	struct bench *b = made(&s, &v4, 1);
	uint32_t exchange;

	dhcp_life_wait(&b->life, 0, 0, 1000);
	lives(b, &exchange, DHCP_LEFT_LEASED, true);
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_FAILED, false), 11000);
	assert_int_equal(exchange, RENEW);
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_LEASED, true), 11001);
	assert_int_equal(exchange, START);
	close_bench(b);
}

static void times_that_no_server_told_are_those_of_the_rfc(void **state)
{
	const struct dhcp_life_settings s = usual();
	struct bench *b = made(&s, &v4, 1);

	assert_false(dhcp_life_lease(&b->life, 0, 0, 0, 4000));
	assert_true(dhcp_life_lease(&b->life, 0, 0, 0, 200)); // half of it is the foreseen T1
	assert_true(dhcp_life_lease(&b->life, 0, 100, 150, 400));
	assert_false(dhcp_life_lease(&b->life, 0, 0, 0, 4000));
	assert_int_equal(b->life.of[0].t1_ms, 200000);
	assert_int_equal(b->life.of[0].t2, 56);   // 1.75 x T1 in 32nds
	assert_int_equal(b->life.of[0].ends, 64); // 2 x T1
	dhcp_life_lease(&b->life, 0, UINT32_MAX, UINT32_MAX, UINT32_MAX);
	assert_int_equal(b->life.of[0].t1_ms, UINT32_MAX);
	dhcp_life_lease(&b->life, 0, 1, 0, 1); // a lease shorter than its T2
	assert_true(b->life.of[0].t2 > 32 && b->life.of[0].ends > b->life.of[0].t2);
	close_bench(b);
}

static void shares_of_events_are_kept_exactly(void **state)
{
	struct dhcp_life_settings s = usual();
	uint32_t n[5] = {0}, exchange, leases = 0;
	struct bench *b;

	s.share[DHCP_LIFE_REBOOT] = 0.1;
	s.share[DHCP_LIFE_FORGET] = 0.05;
	s.share[DHCP_LIFE_RELEASE] = 0.2;
	b = made(&s, &v4, 1);
	dhcp_life_wait(&b->life, 0, 0, 1);
	while (leases < 1000) {
		bool gives = b->clients[0].exchange == RELEASE;

		lives(b, &exchange, gives ? DHCP_LEFT_DONE : DHCP_LEFT_LEASED, !gives);
		n[exchange]++;
		leases += !gives;
	}
	assert_in_range(n[RENEW], 645, 655);
	assert_in_range(n[REBOOT], 98, 102);
	assert_in_range(n[RELEASE], 198, 202);
	assert_in_range(n[START], 247, 253); // after losses and releases
	close_bench(b);
}

// DHCPv6: a CONFIRM gives no lease, so T1 does not change.
static void a_confirmed_lease_is_renewed_at_its_old_t1(void **state)
{
	struct dhcp_life_settings s = usual();
	uint32_t exchange;
	struct bench *b;

	s.share[DHCP_LIFE_REBOOT] = 1;
	b = made(&s, &v6, 1);
	dhcp_life_wait(&b->life, 0, 0, 1000);
	lives(b, &exchange, DHCP_LEFT_LEASED, true);
	assert_in_range(lives(b, &exchange, DHCP_LEFT_DONE, true), 1001, 10999);
	assert_int_equal(exchange, REBOOT);
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_LEASED, true), 11000);
	assert_int_equal(exchange, RENEW);
	close_bench(b);
}

static void a_client_moves_to_relays_of_its_own_worker_only(void **state)
{
	static const uint8_t homes[6] = {0, 1, 0, 1, 1, 0};
	const struct proto_env env = {.workers = 2, .homes = homes};
	struct dhcp_life_settings s = usual();
	static const uint16_t way[] = {2, 5, 0, 2};
	uint32_t exchange;
	struct bench *b;

	s.share[DHCP_LIFE_MOVE] = 1;
	b = open_bench(&s, &v4, 1, &env);
	dhcp_life_wait(&b->life, 0, 0, 1);
	lives(b, &exchange, DHCP_LEFT_LEASED, true);
	for (uint32_t i = 0; i < 4; i++) {
		lives(b, &exchange, DHCP_LEFT_LEASED, true);
		assert_int_equal(exchange, START);
		assert_int_equal(b->life.relays[0], way[i]);
	}
	close_bench(b);
}

#define CROWD 5000
#define RUN_S 60

// All exchanges of many clients with fast servers, compared with the forecast by second.
static void check_forecast(struct dhcp_life_settings *s, const struct dhcp_life_exchanges *x)
{
	static double begun[RUN_S + 1];
	struct bench *b = made(s, x, CROWD);
	uint32_t client;
	double sum = 0;
	uint64_t at;

	memset(begun, 0, sizeof(begun));
	for (uint32_t i = 0; i < CROWD; i++)
		dhcp_life_wait(&b->life, i, 0, dhcp_life_power_on_ms(&b->plan, (i + 0.5) / CROWD));
	while ((at = next(b, &client)) < 1000 * RUN_S) {
		struct dhcp_client *k = &b->clients[client];
		enum dhcp_left how = DHCP_LEFT_LEASED;

		begun[at / 1000]++;
		k->exchange = dhcp_life_exchange(&b->life, client, k);
		if (k->exchange == RELEASE || (k->exchange == REBOOT && !x->reboot_leases))
			how = DHCP_LEFT_DONE;
		k->began_ms = (uint32_t)at;
		k->holds = k->exchange != RELEASE;
		if (how == DHCP_LEFT_LEASED)
			dhcp_life_lease(&b->life, client, 100, 175, 200);
		dhcp_life_left(&b->life, client, k, at, how);
	}
	dhcp_life_foresee(s, &b->plan, RUN_S);
	for (uint32_t t = 0; t < RUN_S; t++) {
		sum += begun[t];
		// Within 1 %, and one client more or less in the first second.
		assert_true(fabs(dhcp_life_begun(s, t + 1) - sum) < 0.01 * sum + 20);
	}
	assert_true(sum > 3 * CROWD);
	close_bench(b);
}

static void the_forecast_is_what_happens(void **state)
{
	struct dhcp_life_settings s = usual();

	s.power_on_ns = 200000000000;
	check_forecast(&s, &v4);
	s.curve = DHCP_LIFE_BELL;
	check_forecast(&s, &v4);
	s.share[DHCP_LIFE_REBOOT] = 0.2;
	s.share[DHCP_LIFE_FORGET] = 0.1;
	s.share[DHCP_LIFE_RELEASE] = 0.15;
	s.share[DHCP_LIFE_MOVE] = 0.05;
	check_forecast(&s, &v4);
	check_forecast(&s, &v6);
}

static struct bench *made_called(uint32_t clients)
{
	const struct proto_env env = {.workers = 1, .seed = 7};
	const struct dhcp_life_settings s = usual();
	struct bench *b = calloc(1, sizeof(*b));

	dhcp_life_plan(&b->plan, &s, &v6, START, clients);
	b->plan.called = true;
	assert_int_equal(dhcp_life_open(&b->life, &b->plan, &env, clients, 6), 0);
	b->clients = calloc(clients, sizeof(*b->clients));
	return b;
}

static void a_client_that_is_called_acts_at_once_and_all_others_at_their_times(void **state)
{
	struct bench *b = made_called(6);
	uint32_t client;

	// The third slot of the wheel has clients 5, 4, 3, 2 and 1, another one client 0.
	dhcp_life_wait(&b->life, 0, 0, 3 + DHCP_LIFE_SLOTS);
	for (uint32_t i = 1; i < 6; i++)
		dhcp_life_wait(&b->life, i, 0, 3);
	dhcp_life_call(&b->life, 3, &b->clients[3], RENEW);
	dhcp_life_call(&b->life, 5, &b->clients[5], REBIND);
	assert_int_equal(b->clients[5].state, DHCP_IS_BUSY);
	assert_int_equal(dhcp_life_due(&b->life, 1), 1);
	assert_int_equal(dhcp_life_take(&b->life), 3);
	assert_int_equal(dhcp_life_take(&b->life), 5);
	assert_true(dhcp_life_is_called(&b->life, 5));
	assert_int_equal(dhcp_life_exchange(&b->life, 5, &b->clients[5]), REBIND);
	assert_int_equal(dhcp_life_due(&b->life, 1), DHCP_LIFE_NEVER);
	// The current list: its first and its last client.
	assert_int_equal(dhcp_life_due(&b->life, 3), 3);
	dhcp_life_call(&b->life, 4, &b->clients[4], RENEW);
	dhcp_life_call(&b->life, 1, &b->clients[1], RENEW);
	assert_int_equal(dhcp_life_take(&b->life), 4);
	assert_int_equal(dhcp_life_take(&b->life), 1);
	assert_int_equal(next(b, &client), 3);
	assert_int_equal(client, 2);
	assert_false(dhcp_life_is_called(&b->life, 2));
	assert_int_equal(next(b, &client), 3 + DHCP_LIFE_SLOTS);
	assert_int_equal(client, 0);
	close_bench(b);
}

// Each client has one turn, in the order of times; some are called before.
static void calls_at_any_time_lose_nobody(void **state)
{
	enum { MANY = 3000, SPAN = 500 };
	struct bench *b = made_called(MANY);
	uint8_t had[MANY] = {0};
	uint64_t at[MANY];
	uint32_t n = 0;

	for (uint32_t i = 0; i < MANY; i++) {
		at[i] = 1 + rand_hash(i) % SPAN;
		dhcp_life_wait(&b->life, i, 0, at[i]);
	}
	for (uint64_t now = 1; n < MANY; now++)
		for (uint64_t due; (due = dhcp_life_due(&b->life, now)) != DHCP_LIFE_NEVER; n++) {
			uint32_t client = dhcp_life_take(&b->life), other = rand_hash(n) % MANY;
			bool called = dhcp_life_is_called(&b->life, client);

			assert_false(had[client]);
			had[client] = 1;
			b->clients[client].state = DHCP_IS_BUSY;
			assert_true(called ? at[client] >= now : at[client] == due);
			if (b->clients[other].state != DHCP_IS_BUSY)
				dhcp_life_call(&b->life, other, &b->clients[other], RENEW);
			assert_true(now <= SPAN);
		}
	assert_int_equal(dhcp_life_due(&b->life, 2 * SPAN), DHCP_LIFE_NEVER);
	close_bench(b);
}

static void a_call_without_a_new_lease_leaves_the_life_as_it_was(void **state)
{
	struct bench *b = made_called(1);
	struct dhcp_client *k = &b->clients[0];
	uint32_t exchange;

	dhcp_life_wait(&b->life, 0, 0, 1000);
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_LEASED, true), 1000);
	for (enum dhcp_left how = DHCP_LEFT_DONE; how <= DHCP_LEFT_FAILED; how++) {
		dhcp_life_call(&b->life, 0, k, REBIND);
		assert_int_equal(dhcp_life_due(&b->life, 5000), 5000);
		assert_int_equal(dhcp_life_take(&b->life), 0);
		dhcp_life_left(&b->life, 0, k, 5000, how);
		assert_int_equal(k->state, DHCP_IS_BOUND);
	}
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_LEASED, true), 11000); // T1
	assert_int_equal(exchange, RENEW);
	// An exchange that gives a lease replaces the old one.
	dhcp_life_call(&b->life, 0, k, RENEW);
	assert_int_equal(dhcp_life_due(&b->life, 14000), 14000);
	assert_int_equal(dhcp_life_take(&b->life), 0);
	k->began_ms = 14000;
	dhcp_life_left(&b->life, 0, k, 14000, DHCP_LEFT_LEASED);
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_FAILED, true), 24000);
	assert_int_equal(exchange, RENEW);
	// A refusal costs the lease.
	dhcp_life_call(&b->life, 0, k, RENEW);
	assert_int_equal(dhcp_life_due(&b->life, 25000), 25000);
	assert_int_equal(dhcp_life_take(&b->life), 0);
	k->holds = false;
	dhcp_life_left(&b->life, 0, k, 25000, DHCP_LEFT_FAILED);
	assert_int_equal(lives(b, &exchange, DHCP_LEFT_LEASED, true), 25001);
	assert_int_equal(exchange, START);
	// A lease for ever has no T1.
	dhcp_life_lease(&b->life, 0, UINT32_MAX, UINT32_MAX, UINT32_MAX);
	dhcp_life_call(&b->life, 0, k, RENEW);
	dhcp_life_due(&b->life, 26000);
	dhcp_life_take(&b->life);
	dhcp_life_left(&b->life, 0, k, 26000, DHCP_LEFT_LEASED);
	dhcp_life_call(&b->life, 0, k, RENEW);
	dhcp_life_due(&b->life, 27000);
	dhcp_life_take(&b->life);
	dhcp_life_left(&b->life, 0, k, 27000, DHCP_LEFT_FAILED);
	assert_int_equal(k->exchange, RENEW);
	assert_int_equal(dhcp_life_waiting(&b->life, 60000000), 0);
	close_bench(b);
}

static void a_million_living_clients_are_of_64_bytes_each_and_of_96(void **state)
{
	const struct dhcp_life_plan stays = {0}, moves = {.moves = true}, called = {.called = true};
	uint64_t v4_all = dhcp_clients_memory(1000000, sizeof(struct dhcp4_client), false) +
	                  dhcp_life_memory(&stays, 1000000, 0) + dhcp_leases_memory(1000000, false);
	uint64_t v6_all = dhcp_clients_memory(1000000, sizeof(struct dhcp6_client), false) +
	                  dhcp_life_memory(&moves, 1000000, 64) + dhcp_leases_memory(1000000, true);
	uint64_t more =
		dhcp_life_memory(&called, 1000000, 0) - dhcp_life_memory(&stays, 1000000, 0);

	assert_true(v4_all <= 64 * 1000000);
	assert_true(v6_all <= 66 * 1000000);
	// Clients that accept RECONFIGUREs.
	assert_true(more + 1000000 * sizeof(struct dhcp6_secret) == 32 * 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_is_due_when_its_time_has_come_and_not_before),
		cmocka_unit_test(a_wheel_that_is_behind_loses_nobody_and_keeps_the_times),
		cmocka_unit_test(without_a_server_a_lease_is_renewed_rebound_and_lost),
		cmocka_unit_test(a_refused_client_starts_over_at_once),
		cmocka_unit_test(times_that_no_server_told_are_those_of_the_rfc),
		cmocka_unit_test(shares_of_events_are_kept_exactly),
		cmocka_unit_test(a_confirmed_lease_is_renewed_at_its_old_t1),
		cmocka_unit_test(a_client_moves_to_relays_of_its_own_worker_only),
		cmocka_unit_test(the_forecast_is_what_happens),
		cmocka_unit_test(
			a_client_that_is_called_acts_at_once_and_all_others_at_their_times),
		cmocka_unit_test(calls_at_any_time_lose_nobody),
		cmocka_unit_test(a_call_without_a_new_lease_leaves_the_life_as_it_was),
		cmocka_unit_test(a_million_living_clients_are_of_64_bytes_each_and_of_96),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// Exchanges of clients common to both families: tests over the fixture of a family, which also
// defines the following. Path: tests only.
//   LEASE_S, FIRST_ADDRESS: of the lease that client 0 gets
//   OTHER_SERVER(a), LEASE_OF_0(f, a): the reply is of another server, or gives the lease of client
//   0 OTHER_OFFERS: counter of offers that are not taken HAS_RAPID(f): was a message with rapid
//   commit sent? TAGGED(clients), tagged_ends: a fixture, and how the replies to its clients come
#pragma once

#include "proto/dhcp/dhcp.h"
#include "one_message.h"

#define BLOCK 6

static void assert_same_flow(const struct proto_flow *a, const struct proto_flow *b)
{
	assert_int_equal(a->path, b->path);
	assert_int_equal(a->more, b->more);
	assert_int_equal(a->src_port, b->src_port);
	assert_int_equal(a->own_mac, b->own_mac);
	assert_memory_equal(a->src, b->src, sizeof(a->src));
	if (a->own_mac)
		assert_memory_equal(a->mac, b->mac, 6);
}

// Half of the clients already have an offer.
static void a_block_of_messages_is_as_they_are_one_by_one(void **state)
{
	for (uint32_t relayed = 0; relayed < 2; relayed++) {
		FIXTURE *f = fixture_new(BLOCK);
		struct proto_txn txns[BLOCK], *views[BLOCK];
		static uint8_t bytes[BLOCK][sizeof(f->sent)];
		struct proto_flow flow, flows[BLOCK] = {0};
		struct proto_out out[BLOCK];

		f->settings.is.relay = relayed ? &f->relay.is : NULL;
		fixture_open(f);
		for (uint32_t i = 0; i < BLOCK; i++) {
			fixture_next(f);
			if (i % 2)
				assert_int_equal(fixture_answer(f, FIRST_REPLY), PROTO_AGAIN);
			txns[i] = f->txn;
			views[i] = &txns[i];
			out[i] = (struct proto_out){.buf = bytes[i]};
		}
		f->ctx.now_ms += 2500;
		VERB(request)(&f->ctx, views, flows, out, BLOCK, sizeof(bytes[0]));
		for (uint32_t i = 0; i < BLOCK; i++) {
			f->txn = txns[i];
			flow_one(&VERB(proto), &f->ctx, &f->txn, &flow);
			fixture_send(f);
			assert_same_flow(&flows[i], &flow);
			assert_int_equal(out[i].len, f->sent_len);
			assert_memory_equal(bytes[i], f->sent, f->sent_len);
			if (out[i].sum) // it is known
				assert_int_equal(csum_fold(out[i].sum),
					csum_fold(csum_add(0, f->sent, f->sent_len)));
		}
		VERB(request)(&f->ctx, views, flows, out, BLOCK, 10);
		for (uint32_t i = 0; i < BLOCK; i++)
			assert_int_equal(out[i].len, 0);
		fixture_end(f);
	}
}

static void rapid_commit_takes_two_messages_or_falls_back_to_four(void **state)
{
	FIXTURE *f = fixture_new(2);

	f->settings.is.exchange = DHCP_RAPID;
	fixture_start(f);
	assert_true(HAS_RAPID(f));
	assert_int_equal(fixture_answer(f, LAST_REPLY), PROTO_DONE);
	assert_int_equal(f->n.leases, 1);
	assert_int_equal(f->n.rapid_fallback, 0);
	fixture_next(f);
	assert_int_equal(fixture_answer(f, FIRST_REPLY), PROTO_AGAIN);
	assert_int_equal(f->txn.step, DHCP_STEP_REQUEST);
	assert_int_equal(f->n.rapid_fallback, 1);
	fixture_send(f);
	assert_false(HAS_RAPID(f));
	assert_int_equal(fixture_answer(f, LAST_REPLY), PROTO_DONE);
	assert_int_equal(f->n.leases, 2);
	fixture_end(f);
}

static void an_offer_after_the_first_is_a_duplicate(void **state)
{
	FIXTURE *f = fixture_start(fixture_new(1));

	assert_int_equal(fixture_answer(f, FIRST_REPLY), PROTO_AGAIN);
	assert_int_equal(fixture_verdict(f), PROTO_DUPLICATE); // the same bytes again
	assert_int_equal(f->n.OTHER_OFFERS, 0);
	ANSWER(f, FIRST_REPLY, PROTO_DUPLICATE, OTHER_SERVER(a));
	assert_int_equal(f->n.OTHER_OFFERS, 1);
	fixture_send(f);
	assert_int_equal(fixture_answer(f, LAST_REPLY), PROTO_DONE);
	fixture_end(f);
}

static void a_lease_that_ran_out_frees_its_client(void **state)
{
	FIXTURE *f = fixture_open(fixture_new(1));

	fixture_four_way(f);
	assert_false(fixture_begin(f));
	assert_int_equal(f->n.no_free_client, 1);
	f->ctx.now_ms = LEASE_S * 1000 - 1;
	assert_false(fixture_begin(f));
	f->ctx.now_ms++;
	assert_true(fixture_begin(f));
	assert_int_equal(f->n.expired, 1);
	fixture_end(f);
}

// Client 1 gets the lease that client 0 has forgotten: no lease is held twice.
static void the_client_with_the_oldest_lease_starts_over_when_none_is_free(void **state)
{
	FIXTURE *f = fixture_new(2);

	f->settings.is.again = true;
	fixture_open(f);
	fixture_four_way(f);
	fixture_four_way(f);
	assert_int_equal(f->n.forgotten, 0);
	for (uint32_t i = 0; i < 2; i++) {
		fixture_next(f);
		assert_int_equal(f->txn.user, i);
		assert_int_equal(f->n.forgotten, i + 1);
		assert_int_equal(held_by(f, i), 0);
	}
	assert_false(fixture_begin(f)); // both have an exchange open
	assert_int_equal(f->n.no_free_client, 1);
	f->txn.user = 1;
	fixture_send(f);
	ANSWER(f, FIRST_REPLY, PROTO_AGAIN, LEASE_OF_0(f, a));
	fixture_send(f);
	ANSWER(f, LAST_REPLY, PROTO_DONE, LEASE_OF_0(f, a));
	assert_int_equal(f->n.leases, 3);
	assert_int_equal(f->n.duplicate_address, 0);
	assert_int_equal(f->n.renewed, 0);
	fixture_next(f);
	assert_int_equal(f->txn.user, 1);
	assert_int_equal(f->n.forgotten, 3);
	fixture_end(f);
}

// A client that only requests parameters (DHCPv6) keeps its lease.
static void only_who_asks_for_a_lease_starts_over(void **state)
{
	FIXTURE *f = fixture_new(1);
	const struct dhcp_family *family;

	f->settings.is.again = true;
	fixture_open(f);
	fixture_four_way(f);
	family = worker_of(f)->is.plan->family;
	for (uint32_t e = DHCP_RAPID + 1; e < family->exchanges; e++) {
		fixture_only(f, e);
		if (family->starts[e].from == DHCP_IS_FREE)
			assert_false(fixture_begin(f));
	}
	assert_int_equal(f->n.forgotten, 0);
	fixture_only(f, DHCP_TWO_WAY);
	assert_true(fixture_begin(f));
	assert_int_equal(f->n.forgotten, 1);
	fixture_end(f);
}

// The time since the start has more than 32 bits of milliseconds after 49 days.
static void leases_of_a_run_beyond_49_days_run_out_in_time(void **state)
{
	FIXTURE *f = fixture_open(fixture_new(1));
	const uint64_t begun = (1ull << 32) - 5000;

	f->ctx.now_ms = begun;
	fixture_four_way(f);
	assert_int_equal(client_of(f, 0)->head.expires_s, begun / 1000 + LEASE_S);
	f->ctx.now_ms = (begun / 1000 + LEASE_S) * 1000 - 1;
	assert_false(fixture_begin(f));
	f->ctx.now_ms++;
	assert_true(fixture_begin(f));
	assert_int_equal(f->n.expired, 1);
	fixture_send(f);
	assert_int_equal(fixture_answer(f, FIRST_REPLY), PROTO_AGAIN);
	f->ctx.now_ms += 2000; // behind 2^32 ms as well
	fixture_send(f);
	assert_int_equal(fixture_answer(f, LAST_REPLY), PROTO_DONE);
	assert_in_range(client_of(f, 0)->head.expires_s, begun / 1000 + 2 * LEASE_S,
		begun / 1000 + 2 * LEASE_S + 2);
	fixture_end(f);
}

static void an_address_of_two_clients_fails_and_is_kept_for_the_log(void **state)
{
	FIXTURE *f = fixture_open(fixture_new(3));
	const struct dhcp_work *w = &worker_of(f)->is.work;

	fixture_four_way(f);
	for (uint32_t client = 1; client < 3; client++) {
		bool fails = client == 1; // the lease of client 0 has run out when client 2 comes

		fixture_next(f);
		ANSWER(f, FIRST_REPLY, PROTO_AGAIN, LEASE_OF_0(f, a));
		fixture_send(f);
		ANSWER(f, LAST_REPLY, fails ? PROTO_FAIL : PROTO_DONE, LEASE_OF_0(f, a));
		assert_int_equal(f->n.leases, client);
		assert_int_equal(
			client_of(f, client)->head.state, fails ? DHCP_IS_FREE : DHCP_IS_BOUND);
		assert_int_equal(client_of(f, 0)->head.state, fails ? DHCP_IS_BOUND : DHCP_IS_FREE);
		f->ctx.now_ms = LEASE_S * 1000;
	}
	assert_int_equal(f->n.duplicate_address, 1);
	assert_int_equal(w->clash_count, 1);
	assert_memory_equal(w->clashes[0].bytes, FIRST_ADDRESS, f->env.addr_len);
	assert_int_equal(w->clashes[0].holder, 0);
	assert_int_equal(w->clashes[0].taker, 1);
	fixture_end(f);
}

// Client 2 has the MAC of client 0, and hence its lease.
static void clients_with_one_mac_share_a_lease(void **state)
{
	FIXTURE *f = fixture_new(3);
	uint8_t first[DHCP_MAC_MAX], third[DHCP_MAC_MAX];

	f->settings.is.mac_count = 2;
	fixture_open(f);
	dhcp_mac_of(worker_of(f)->is.plan, 0, first);
	dhcp_mac_of(worker_of(f)->is.plan, 2, third);
	assert_memory_equal(first, f->settings.is.mac, 6);
	assert_memory_equal(first, third, 6);
	fixture_four_way(f);
	for (uint32_t client = 1; client < 3; client++) {
		fixture_next(f);
		ANSWER(f, FIRST_REPLY, PROTO_AGAIN, LEASE_OF_0(f, a));
		fixture_send(f);
		ANSWER(f, LAST_REPLY, client == 1 ? PROTO_FAIL : PROTO_DONE, LEASE_OF_0(f, a));
	}
	assert_int_equal(f->n.duplicate_address, 1);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_BOUND);
	assert_int_equal(client_of(f, 2)->head.state, DHCP_IS_BOUND);
	fixture_end(f);
}

// The table of holders is full: the lease is valid, but a second holder would not be noticed.
static void a_lease_without_room_in_the_table_is_counted(void **state)
{
	FIXTURE *f = fixture_open(fixture_new(2));
	struct dhcp_holders *h = &f->common->leases.holders;
	uint64_t cells = (h->line_mask + 1ull) * DHCP_HOLDERS_LINE;

	for (uint64_t i = 0; i < cells; i++)
		h->cells[i] = (1ull << h->until_shift) | (1ull << h->owner_shift) | 0xff;
	fixture_four_way(f);
	assert_int_equal(f->n.leases, 1);
	assert_int_equal(f->n.unwatched, 1);
	assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_BOUND);
	for (uint64_t i = 0; i < cells; i++)
		h->cells[i] = 0;
	fixture_four_way(f);
	assert_int_equal(f->n.unwatched, 1);
	assert_int_equal(f->n.duplicate_address, 0);
	fixture_end(f);
}

static void a_reply_comes_on_the_vlans_of_its_client(void **state)
{
	static const struct {
		uint16_t vlans[2];
		uint8_t count;
	} others[] = {{{0, 0}, 0}, {{200, 0}, 1}, {{7, 0}, 1}, {{200, 8}, 2}, {{7, 200}, 2}};
	struct proto_ends ends = tagged_ends;
	FIXTURE *f = TAGGED(2);

	f->vlan_ids[0] = 200;
	f->vlan_ids[1] = 7;
	f->vlans[0] = (struct dhcp_vlan_settings){{0, 0}, {f->vlan_ids, 2}};
	f->relays[0].count = 1;
	fixture_start(f);
	f->ctx.ends = &ends;
	for (uint32_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		ends.vlans = others[i].vlans;
		ends.vlan_count = others[i].count;
		assert_int_equal(fixture_answer(f, FIRST_REPLY), PROTO_STRAY);
		assert_int_equal(f->n.vlan_wrong, i + 1);
	}
	ends.vlans = (const uint16_t[]){200, 7};
	ends.vlan_count = 2;
	assert_int_equal(fixture_answer(f, FIRST_REPLY), PROTO_AGAIN);
	fixture_next(f); // client 1 has none
	assert_int_equal(fixture_answer(f, FIRST_REPLY), PROTO_STRAY);
	ends.vlan_count = 0;
	assert_int_equal(fixture_answer(f, FIRST_REPLY), PROTO_AGAIN);
	assert_int_equal(f->n.vlan_wrong, 6);
	assert_int_equal(f->n.way_wrong, 0);
	f->ctx.ends = NULL;
	fixture_end(f);
}

#define DHCP_WIRE_TESTS                                                                            \
	cmocka_unit_test(a_block_of_messages_is_as_they_are_one_by_one),                           \
		cmocka_unit_test(rapid_commit_takes_two_messages_or_falls_back_to_four),           \
		cmocka_unit_test(an_offer_after_the_first_is_a_duplicate),                         \
		cmocka_unit_test(a_lease_that_ran_out_frees_its_client),                           \
		cmocka_unit_test(the_client_with_the_oldest_lease_starts_over_when_none_is_free),  \
		cmocka_unit_test(only_who_asks_for_a_lease_starts_over),                           \
		cmocka_unit_test(leases_of_a_run_beyond_49_days_run_out_in_time),                  \
		cmocka_unit_test(an_address_of_two_clients_fails_and_is_kept_for_the_log),         \
		cmocka_unit_test(clients_with_one_mac_share_a_lease),                              \
		cmocka_unit_test(a_lease_without_room_in_the_table_is_counted),                    \
		cmocka_unit_test(a_reply_comes_on_the_vlans_of_its_client)

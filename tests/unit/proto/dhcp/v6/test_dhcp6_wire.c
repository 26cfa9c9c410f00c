// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 clients: every exchange, the contents of each message, each check of a reply with its
// counter, the holders of leases, and the times of retransmissions. Path: tests only.

#include "proto/dhcp/dhcp.h"
#include "one_message.h"
#include "dhcp6_client_fixture.h"

#define LEASE_S          4000
#define FIRST_ADDRESS    "\x20\1\x0d\xb8\0\0\0\1\0\0\0\0\0\0\0\1"
#define OTHER_SERVER(a)  ((a)->server = OTHER_DUID)
#define LEASE_OF_0(f, a) ((a)->shift = 0u - 16 * (f)->txn.user)
#define OTHER_OFFERS     other_advertises
#define HAS_RAPID(f)     (dhcp6_find_option((f)->sent, 4, (f)->sent_len, DHCP6_OPT_RAPID_COMMIT) > 0)
#define TAGGED(clients)  fixture_relay(clients, 1)

static const struct proto_ends tagged_ends = {
	.src = (const uint8_t[16]){0x20, 1, 0x0d, 0xb8, [15] = 2},
	.dst = (const uint8_t[16]){0x20, 1, 0x0d, 0xb8, [14] = 1},
	.addr_len = 16,
	.src_port = 547,
	.dst_port = 547};

#include "dhcp_wire_tests.h"

#define HAS(m, option) dhcp6_has(&(m), option)

struct has_row {
	uint32_t exchange;
	uint8_t type;
	bool server_id, oro, rapid, leases;
	uint32_t ias;
};

static void messages_have_what_the_rfc_wants(void **state)
{
	static const struct has_row rows[] = {
		{DHCP6_SARR, DHCP6_SOLICIT, false, true, false, false, 2},
		{DHCP_RAPID, DHCP6_SOLICIT, false, true, true, false, 2},
		{DHCP6_RENEWS, DHCP6_RENEW, true, true, false, true, 2},
		{DHCP6_REBINDS, DHCP6_REBIND, false, true, false, true, 2},
		{DHCP6_RELEASES, DHCP6_RELEASE, true, false, false, true, 2},
		{DHCP6_DECLINES, DHCP6_DECLINE, true, false, false, true, 1},
		{DHCP6_CONFIRMS, DHCP6_CONFIRM, false, false, false, true, 1},
		{DHCP6_INFORMS, DHCP6_INFORMATION, false, true, false, false, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct has_row *r = &rows[i];
		struct dhcp6_fixture *f = fixture_new(4);

		f->settings.lease = DHCP6_WANTS_BOTH;
		fixture_open(f);
		if (r->leases)
			fixture_sarr(f);
		fixture_only(f, r->exchange);
		fixture_next(f);
		assert_int_equal(f->m.type, r->type);
		assert_int_equal(f->m.client_id.len, DUID_LEN);
		assert_true(HAS(f->m, DHCP6_OPT_ELAPSED_TIME));
		assert_int_equal(HAS(f->m, DHCP6_OPT_SERVER_ID), r->server_id);
		assert_int_equal(HAS(f->m, DHCP6_OPT_ORO), r->oro);
		assert_int_equal(HAS(f->m, DHCP6_OPT_RAPID_COMMIT), r->rapid);
		assert_int_equal(f->m.ia_count, r->ias);
		for (uint32_t k = 0; k < f->m.ia_count; k++) {
			assert_int_equal(f->m.ias[k].lease_count, r->leases);
			assert_int_equal(f->m.ias[k].t1_s | f->m.ias[k].t2_s, 0);
		}
		fixture_end(f);
	}
}

static void a_request_has_what_was_advertised_and_an_id_of_its_own(void **state)
{
	struct dhcp6_fixture *f = fixture_new(4);
	uint32_t xid;
	uint8_t wanted[16];

	f->settings.lease = DHCP6_WANTS_BOTH;
	fixture_start(f);
	xid = f->m.xid;
	fixture_requesting(f);
	assert_int_equal(f->m.type, DHCP6_REQUEST);
	assert_int_not_equal(f->m.xid, xid);
	assert_memory_equal(f->m.server_id.data, SERVER_DUID, DUID_LEN);
	address_of(f, 0, wanted);
	assert_memory_equal(f->m.ias[0].leases[0].address, wanted, 16);
	assert_int_equal(f->m.ias[0].leases[0].valid_s, 0);
	prefix_of(f, 1, wanted);
	assert_memory_equal(f->m.ias[1].leases[0].address, wanted, 16);
	assert_int_equal(f->m.ias[1].leases[0].bits, 56);
	assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
	assert_true(held_by(f, 0));
	assert_int_equal(f->n.leases, 1);
	assert_int_equal(f->n.addresses, 1);
	assert_int_equal(f->n.prefixes, 1);
	assert_int_equal(client_of(f, 0)->head.expires_s, 4000);
	fixture_end(f);
}

static void several_ias_have_iaids_of_their_own_by_kind(void **state)
{
	struct dhcp6_fixture *f = fixture_new(1);

	f->settings.lease = DHCP6_WANTS_BOTH;
	f->settings.addresses = 3;
	f->settings.prefixes = 2;
	f->settings.iaid = 100;
	f->settings.prefix_hint = 60;
	fixture_start(f);
	assert_int_equal(f->m.ia_count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(f->m.ias[i].type, i < 3 ? DHCP6_OPT_IA_NA : DHCP6_OPT_IA_PD);
		assert_int_equal(f->m.ias[i].iaid, i < 3 ? 100 + i : 97 + i);
		assert_int_equal(f->m.ias[i].lease_count, i >= 3);
	}
	assert_int_equal(f->m.ias[4].leases[0].bits, 60);
	fixture_requesting(f);
	assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
	assert_int_equal(f->n.addresses, 3);
	assert_int_equal(f->n.prefixes, 2);
	fixture_end(f);
}

#define COUNTER(member) offsetof(struct dhcp_counters, member)

static struct dhcp6_fixture *asking(void)
{
	struct dhcp6_fixture *f = fixture_relay(4, 2);

	f->settings.lease = DHCP6_WANTS_BOTH;
	f->relay.interface_id = "port {client}";
	f->settings.expect = &f->expect;
	f->expect.prefix_length = 56;
	fixture_start(f);
	fixture_requesting(f);
	return f;
}

static uint64_t counter_at(const struct dhcp6_fixture *f, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const uint8_t *)&f->n + offset, sizeof(value));
	return value;
}

static void assert_spoilt(struct dhcp6_fixture *f, enum proto_verdict verdict)
{
	if (verdict == PROTO_STRAY)
		assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
	else
		assert_int_equal(held_by(f, 0), verdict == PROTO_DONE);
	fixture_end(f);
}

// A change to a valid reply, its verdict, and the counter of the reason.
#define SPOILT(change, verdict, counter)                                                           \
	do {                                                                                       \
		struct dhcp6_fixture *f = asking();                                                \
		uint64_t before = f->n.counter;                                                    \
                                                                                                   \
		ANSWER(f, DHCP6_REPLY, verdict, change);                                           \
		assert_true(f->n.counter > before);                                                \
		assert_spoilt(f, verdict);                                                         \
	} while (0)

static void each_wrong_reply_has_its_counter(void **state)
{
	SPOILT(a->xid_xor = 0x100, PROTO_STRAY, xid_wrong);
	SPOILT(a->no_client_id = true, PROTO_STRAY, duid_wrong);
	SPOILT(a->client_xor = 1, PROTO_STRAY, duid_wrong);
	SPOILT(a->type = DHCP6_RECONFIGURE, PROTO_STRAY, type_wrong);
	SPOILT(a->server = NULL, PROTO_FAIL, server_id_missing);
	SPOILT(a->server = OTHER_DUID, PROTO_FAIL, server_id_changed);
	SPOILT(a->status = DHCP6_UNSPEC_FAIL, PROTO_FAIL, message_status[DHCP6_UNSPEC_FAIL]);
	SPOILT(a->status = 99, PROTO_FAIL, message_status[DHCP_STATUS_BUCKETS - 1]);
	SPOILT(a->ia_status = DHCP6_NO_ADDRS_AVAIL, PROTO_FAIL, ia_status[DHCP6_NO_ADDRS_AVAIL]);
	SPOILT(a->lease_status = DHCP6_NO_BINDING, PROTO_FAIL, lease_status[DHCP6_NO_BINDING]);
	SPOILT(a->status = a->ia_status = a->lease_status = DHCP6_SUCCESS, PROTO_DONE, leases);
	SPOILT(a->without = 1, PROTO_FAIL, ia_missing);
	SPOILT(a->without = 2, PROTO_FAIL, ia_missing);
	SPOILT(a->no_lease = true, PROTO_FAIL, lease_missing);
	SPOILT(a->t1 = 2001, PROTO_FAIL, times_wrong);
	SPOILT(a->t2 = 4001, PROTO_FAIL, times_wrong);
	SPOILT(a->t1 = a->t2 = 0, PROTO_DONE, leases);
	SPOILT(a->preferred = 4001, PROTO_FAIL, lifetimes_wrong);
	SPOILT(a->valid = a->preferred = a->t1 = a->t2 = 0, PROTO_FAIL, lifetimes_wrong);
	SPOILT(a->shift = 5, PROTO_FAIL, address_changed);
	SPOILT(a->bits = 57, PROTO_FAIL, prefix_length_wrong);
	SPOILT(a->host_bit = 1, PROTO_FAIL, prefix_length_wrong);
	SPOILT(a->twice = true, PROTO_DONE, leases_unused);
	SPOILT(a->extra = true, PROTO_DONE, ias_unasked);
	SPOILT(a->hop_xor = 1, PROTO_FAIL, hop_count_wrong);
	SPOILT(a->link_xor = 1, PROTO_FAIL, link_wrong);
	SPOILT(a->peer_xor = 1, PROTO_FAIL, peer_wrong);
	SPOILT(a->interface_xor = 1, PROTO_FAIL, interface_id_wrong);
	SPOILT(a->no_interface = true, PROTO_FAIL, interface_id_wrong);
	SPOILT(a->fewer = true, PROTO_FAIL, levels_wrong);
	SPOILT(a->relay_type = DHCP6_RELAY_FORW, PROTO_FAIL, levels_wrong);
	SPOILT(a->options = 0, PROTO_DONE, parameters_missing);
}

// As many IAs as a message can have, one of them of another client.
static void an_unasked_ia_is_not_taken_for_one_beyond_the_last(void **state)
{
	struct dhcp6_fixture *f = fixture_new(1);

	f->settings.lease = DHCP6_WANTS_BOTH;
	f->settings.addresses = DHCP6_IAS_MAX / 2;
	f->settings.prefixes = DHCP6_IAS_MAX - DHCP6_IAS_MAX / 2;
	fixture_start(f);
	fixture_requesting(f);
	ANSWER(f, DHCP6_REPLY, PROTO_FAIL, a->extra = true; a->without = 1);
	assert_int_equal(f->n.ias_unasked, 1);
	assert_int_equal(f->n.ia_missing, 1);
	fixture_end(f);
}

static void a_prefix_other_than_advertised_is_told_apart(void **state)
{
	struct dhcp6_fixture *f = fixture_new(1);

	f->settings.lease = DHCP6_WANTS_PREFIXES;
	fixture_start(f);
	fixture_requesting(f);
	ANSWER(f, DHCP6_REPLY, PROTO_FAIL, a->shift = 1);
	assert_int_equal(f->n.prefix_changed, 1);
	assert_int_equal(f->n.address_changed, 0);
	fixture_end(f);
}

static void a_reply_to_a_rapid_solicit_says_that_it_is_one(void **state)
{
	struct dhcp6_fixture *f = fixture_new(1);

	f->settings.is.exchange = DHCP_RAPID;
	fixture_start(f);
	ANSWER(f, DHCP6_REPLY, PROTO_FAIL, a->rapid = false);
	assert_int_equal(f->n.rapid_commit_missing, 1);
	fixture_end(f);
}

static void only_the_accepted_server_is_asked(void **state)
{
	struct dhcp6_fixture *f = fixture_new(1);

	f->settings.accept = (struct field_bytes){(const uint8_t *)OTHER_DUID, DUID_LEN};
	fixture_start(f);
	assert_int_equal(fixture_answer(f, DHCP6_ADVERTISE), PROTO_DUPLICATE);
	assert_int_equal(f->n.other_advertises, 1);
	f->answer.server = OTHER_DUID;
	f->answer.preference = 255;
	assert_int_equal(fixture_verdict(f), PROTO_AGAIN);
	assert_int_equal(f->n.preferred, 1);
	fixture_end(f);
}

static void leases_are_renewed_confirmed_and_given_back(void **state)
{
	static const struct {
		uint32_t exchange;
		size_t counter;
		bool held;
	} rows[] = {
		{DHCP6_RENEWS, COUNTER(renewed), true},
		{DHCP6_REBINDS, COUNTER(renewed), true},
		{DHCP6_CONFIRMS, COUNTER(confirmed), true},
		{DHCP6_RELEASES, COUNTER(released), false},
		{DHCP6_DECLINES, COUNTER(declined), false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dhcp6_fixture *f = fixture_open(fixture_new(1));
		uint8_t address[16], mac[6];

		fixture_bound(f, rows[i].exchange);
		address_of(f, 0, address);
		assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
		assert_int_equal(counter_at(f, rows[i].counter), 1);
		assert_int_equal(held_by(f, 0), rows[i].held);
		assert_int_equal(dhcp6_owns(&f->ctx, address, 16, mac), rows[i].held);
		fixture_end(f);
	}
}

static void a_renewal_may_bring_another_lease_when_told_so(void **state)
{
	for (int same = 0; same < 2; same++) {
		struct dhcp6_fixture *f = fixture_new(1);
		uint8_t before[16], after[16], mac[6];

		f->settings.expect = &f->expect;
		f->expect.same_lease = same;
		fixture_open(f);
		fixture_bound(f, DHCP6_RENEWS);
		address_of(f, 0, before);
		fixture_plan(f, DHCP6_REPLY);
		f->answer.shift = 3;
		address_of(f, 0, after);
		assert_int_equal(fixture_verdict(f), same ? PROTO_FAIL : PROTO_DONE);
		assert_int_equal(f->n.address_changed, same);
		assert_int_equal(dhcp6_owns(&f->ctx, before, 16, mac), same);
		assert_int_equal(dhcp6_owns(&f->ctx, after, 16, mac), !same);
		fixture_end(f);
	}
}

static void a_refused_client_has_lost_its_leases(void **state)
{
	struct dhcp6_fixture *f = fixture_open(fixture_new(1));
	struct proto_peer server;

	fixture_bound(f, DHCP6_CONFIRMS);
	ANSWER(f, DHCP6_REPLY, PROTO_FAIL, a->status = DHCP6_NOT_ON_LINK, a->message = "moved");
	assert_true(dhcp_peer(f->ctx.shared, &f->n, 0, &server));
	assert_string_equal(server.name, "000300010200000000fe");
	assert_int_equal(server.offers, 1);
	assert_int_equal(server.answers, 1); // of the lease
	assert_int_equal(server.refusals, 1);
	assert_int_equal(f->n.refused, 1);
	assert_int_equal(f->n.message_status[DHCP6_NOT_ON_LINK], 1);
	assert_false(held_by(f, 0));
	assert_int_equal(worker_of(f)->is.work.refusals[0].count, 1);
	assert_memory_equal(worker_of(f)->is.work.refusals[0].text, "moved", 5);
	fixture_end(f);
}

static void a_lost_renewal_keeps_the_leases_and_a_lost_release_does_not(void **state)
{
	struct dhcp6_fixture *f = fixture_open(fixture_new(1));

	fixture_bound(f, DHCP6_RENEWS);
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_FAIL);
	assert_true(held_by(f, 0));
	fixture_only(f, DHCP6_RELEASES);
	fixture_next(f);
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_FAIL);
	assert_false(held_by(f, 0));
	assert_int_equal(f->n.released, 0);
	fixture_end(f);
}

static void information_is_asked_for_without_a_lease(void **state)
{
	struct dhcp6_fixture *f = fixture_new(1);

	f->settings.is.exchange = DHCP6_INFORMS;
	fixture_open(f);
	for (uint64_t i = 0; i < 2; i++) {
		fixture_next(f);
		ANSWER(f, DHCP6_REPLY, PROTO_DONE, a->options = i ? 1ull << 23 : 0);
	}
	assert_int_equal(f->n.parameters_missing, 1);
	assert_int_equal(f->n.leases, 0);
	fixture_end(f);
}

// Client 0 holds prefix 0 of 56 bits; client 1 is given another.
static enum proto_verdict second_prefix(uint8_t first, uint8_t bits, uint32_t shift, uint64_t *n)
{
	struct dhcp6_fixture *f = fixture_new(2);
	enum proto_verdict v;

	f->settings.lease = DHCP6_WANTS_PREFIXES;
	f->settings.is.exchange = DHCP_RAPID;
	fixture_start(f);
	ANSWER(f, DHCP6_REPLY, PROTO_DONE, a->bits = first);
	fixture_next(f);
	fixture_plan(f, DHCP6_REPLY);
	f->answer.bits = bits;
	f->answer.shift = shift;
	v = fixture_verdict(f);
	*n = f->n.duplicate_prefix;
	fixture_end(f);
	return v;
}

static void prefixes_that_overlap_are_duplicates(void **state)
{
	static const struct {
		uint8_t first, bits;
		uint32_t number; // of 56 bits
		bool clash;
	} rows[] = {
		{56, 56, 0, true},
		{56, 56, 1, false},
		{56, 60, 0, true},
		{56, 60, 1, false},
		{60, 56, 0, true},
		{60, 56, 1, false},
		{48, 56, 255, true},
		{48, 56, 256, false},
		{56, 48, 0, true},
		{56, 48, 256, false},
		{64, 56, 0, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t n;
		enum proto_verdict v =
			second_prefix(rows[i].first, rows[i].bits, rows[i].number - 16, &n);

		if (v != (rows[i].clash ? PROTO_FAIL : PROTO_DONE) || n != rows[i].clash)
			fail_msg("/%u, then /%u number %u", rows[i].first, rows[i].bits,
				rows[i].number);
	}
}

static void leases_lie_where_they_are_expected(void **state)
{
	struct dhcp6_fixture *f = fixture_new(2);

	f->settings.lease = DHCP6_WANTS_BOTH;
	f->pool[0] = prefix("2001:db8:0:1::/120");
	f->prefixes[0] = prefix("2001:db8:8000::/44");
	fixture_start(f);
	assert_int_equal(fixture_answer(f, DHCP6_ADVERTISE), PROTO_AGAIN);
	fixture_next(f);
	ANSWER(f, DHCP6_ADVERTISE, PROTO_FAIL, a->shift = 256);
	assert_int_equal(f->n.outside_pool, 1);
	fixture_end(f);
}

static void prefixes_lie_where_they_are_expected(void **state)
{
	struct dhcp6_fixture *f = fixture_new(1);

	f->settings.lease = DHCP6_WANTS_PREFIXES;
	f->prefixes[0] = prefix("2001:db8:9000::/44");
	fixture_start(f);
	assert_int_equal(fixture_answer(f, DHCP6_ADVERTISE), PROTO_FAIL);
	assert_int_equal(f->n.outside_prefixes, 1);
	fixture_end(f);
}

static void elapsed_time_counts_from_the_first_try(void **state)
{
	struct dhcp6_fixture *f = fixture_new(1);
	uint32_t xid;

	f->settings.is.retransmit = &f->retransmit;
	fixture_open(f);
	f->ctx.now_ms = 5000;
	fixture_begin(f);
	f->ctx.now_ms = 5020;
	fixture_send(f);
	xid = f->m.xid;
	assert_int_equal(f->m.elapsed, 0);
	f->ctx.now_ms = 6050;
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_AGAIN);
	fixture_send(f);
	assert_int_equal(f->m.elapsed, 105);
	assert_int_equal(f->m.xid, xid);
	f->ctx.now_ms = 5000 + 700000;
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_AGAIN);
	fixture_send(f);
	assert_int_equal(f->m.elapsed, 0xffff);
	fixture_requesting(f);
	assert_int_equal(f->m.elapsed, 0);
	assert_int_equal(f->n.attempt[2], 1);
	fixture_end(f);
}

static void messages_are_sent_as_often_as_told(void **state)
{
	struct dhcp6_fixture *f = fixture_new(1);
	const uint64_t *waits;
	struct proto_layout layout;
	uint64_t before = 0;

	f->settings.is.retransmit = &f->retransmit;
	fixture_open(f);
	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	waits = layout.waits.items;
	fixture_begin(f);
	for (int i = 0; i < 4; i++) {
		uint64_t wait;

		fixture_send(f);
		assert_in_range(f->txn.wait, 1, layout.waits.count);
		wait = waits[f->txn.wait - 1];
		assert_in_range(wait, 900000000ull << i, 1100000000ull << i);
		assert_true(wait > before);
		before = wait;
		assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), i < 3 ? PROTO_AGAIN : PROTO_FAIL);
	}
	assert_int_equal(f->n.retransmitted, 3);
	fixture_end(f);
}

static void the_first_wait_of_a_solicit_is_longer_than_irt(void **state)
{
	struct dhcp6_fixture *f = fixture_new(100);
	const uint64_t *waits;
	struct proto_layout layout;

	f->settings.is.retransmit = &f->retransmit;
	fixture_open(f);
	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	waits = layout.waits.items;
	for (int i = 0; i < 100; i++) {
		fixture_next(f);
		assert_true(waits[f->txn.wait - 1] > 1000000000);
	}
	fixture_end(f);
}

static void elapsed_time_is_since_the_first_try_of_each_message(void **state)
{
	static const uint32_t exchanges[] = {DHCP_TWO_WAY, DHCP_RAPID, DHCP6_RENEWS, DHCP6_REBINDS,
		DHCP6_RELEASES, DHCP6_DECLINES, DHCP6_CONFIRMS, DHCP6_INFORMS};

	for (size_t i = 0; i < sizeof(exchanges) / sizeof(exchanges[0]); i++) {
		struct dhcp6_fixture *f = fixture_new(1);

		f->settings.is.retransmit = &f->retransmit;
		fixture_open(f);
		if (dhcp6_starts[exchanges[i]].from == DHCP_IS_BOUND)
			fixture_sarr(f);
		f->ctx.now_ms += 7000;
		fixture_only(f, exchanges[i]);
		assert_true(fixture_begin(f));
		for (uint32_t elapsed = 0; elapsed < 400; elapsed += 123) {

			fixture_send(f);
			assert_int_equal(f->m.elapsed, elapsed);
			f->ctx.now_ms += 1230;
			assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn),
				elapsed < 369 ? PROTO_AGAIN : PROTO_FAIL);
		}
		fixture_end(f);
	}
}

static uint64_t wait_of_try(struct dhcp6_fixture *f, uint8_t tries)
{
	struct proto_layout layout;

	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	f->txn.tries = tries;
	fixture_send(f);
	return ((const uint64_t *)layout.waits.items)[f->txn.wait - 1];
}

static void servers_tell_how_long_waits_become(void **state)
{
	static const struct {
		uint32_t told_s, longest_s;
	} rows[] = {
		{0, 320}, {59, 320}, {60, 40}, {100, 80}, {160, 160}, {86400, 320}, {86401, 320}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dhcp6_fixture *f = fixture_new(1);

		f->retransmit.rand = 0;
		f->retransmit.solicit.irt_ns = f->retransmit.information.irt_ns = 40000000000;
		f->settings.is.retransmit = &f->retransmit;
		fixture_open(f);
		fixture_only(f, DHCP_TWO_WAY);
		assert_true(fixture_begin(f));
		assert_int_equal(wait_of_try(f, 3), 320000000000);
		f->txn.tries = 0;
		ANSWER(f, DHCP6_ADVERTISE, PROTO_FAIL,
			(a->status = DHCP6_NO_ADDRS_AVAIL, a->sol_max_rt = rows[i].told_s));
		assert_true(fixture_begin(f));
		assert_int_equal(wait_of_try(f, 3), rows[i].longest_s * 1000000000ull);
		assert_int_equal(wait_of_try(f, 0), 40000000000);
		fixture_answer(f, DHCP6_ADVERTISE);
		fixture_only(f, DHCP6_INFORMS);
		assert_true(fixture_begin(f));
		assert_int_equal(wait_of_try(f, 3), 320000000000);
		ANSWER(f, DHCP6_REPLY, PROTO_DONE, a->inf_max_rt = rows[i].told_s);
		assert_true(fixture_begin(f));
		assert_int_equal(wait_of_try(f, 3), rows[i].longest_s * 1000000000ull);
		fixture_end(f);
	}
}

static void decline_is_answered(struct dhcp6_fixture *f)
{
	assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
}

static void decline_is_lost(struct dhcp6_fixture *f)
{
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_FAIL);
}

static void after_a_decline_a_client_rests(void **state)
{
	assert_rests(DHCP6_DECLINES, false, UINT64_MAX, 0, decline_is_answered);
	assert_rests(DHCP6_DECLINES, true, UINT64_MAX, 10000, decline_is_answered);
	assert_rests(DHCP6_DECLINES, true, 0, 0, decline_is_answered);
	assert_rests(DHCP6_DECLINES, false, 1500000000, 1500, decline_is_answered);
	assert_rests(DHCP6_DECLINES, false, 1500000000, 1500, decline_is_lost);
}

static struct dhcp6_fixture *fixture_best(uint32_t exchange)
{
	struct dhcp6_fixture *f = fixture_new(1);

	f->settings.advertise = DHCP6_TAKES_BEST;
	f->settings.is.retransmit = &f->retransmit;
	fixture_open(f);
	fixture_only(f, exchange);
	fixture_next(f);
	return f;
}

static enum proto_verdict advertise(
	struct dhcp6_fixture *f, const char *server, uint8_t preference, uint32_t shift)
{
	fixture_plan(f, DHCP6_ADVERTISE);
	f->answer.server = server;
	f->answer.preference = preference;
	f->answer.shift = shift;
	return fixture_verdict(f);
}

// The server that the REQUEST names, and the leases that it requests.
static void check_requested(struct dhcp6_fixture *f, const char *server, uint32_t shift)
{
	uint8_t address[16];

	fixture_send(f);
	assert_int_equal(f->m.type, DHCP6_REQUEST);
	assert_int_equal(f->m.elapsed, 0);
	assert_memory_equal(f->m.server_id.data, server, DUID_LEN);
	f->answer.shift = shift;
	address_of(f, 0, address);
	assert_memory_equal(f->m.ias[0].leases[0].address, address, 16);
}

static void the_best_preference_of_the_first_wait_is_taken(void **state)
{
	struct dhcp6_fixture *f = fixture_best(DHCP6_SARR);

	assert_int_equal(advertise(f, SERVER_DUID, 7, 0), PROTO_KEPT);
	assert_int_equal(
		advertise(f, OTHER_DUID, 7, 1), PROTO_DUPLICATE); // the first of two equals
	assert_int_equal(advertise(f, OTHER_DUID, 254, 2), PROTO_DUPLICATE);
	assert_int_equal(advertise(f, SERVER_DUID, 253, 3), PROTO_DUPLICATE);
	ANSWER(f, DHCP6_ADVERTISE, PROTO_DUPLICATE,
		(a->preference = 255, a->ia_status = DHCP6_NO_ADDRS_AVAIL));
	f->ctx.now_ms += 1000;
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_AGAIN);
	check_requested(f, OTHER_DUID, 2);
	assert_int_equal(f->n.other_advertises, 4);
	assert_int_equal(f->n.refused, 0);
	assert_int_equal(f->n.retransmitted, 0);
	assert_int_equal(f->n.attempt[0], 1);
	ANSWER(f, DHCP6_REPLY, PROTO_DONE, a->server = OTHER_DUID, a->shift = 2);
	assert_int_equal(f->n.leases, 1);
	fixture_end(f);
}

static void preference_255_is_not_waited_with(void **state)
{
	struct dhcp6_fixture *f = fixture_best(DHCP6_SARR);

	assert_int_equal(advertise(f, SERVER_DUID, 255, 0), PROTO_AGAIN);
	check_requested(f, SERVER_DUID, 0);
	fixture_end(f);
	f = fixture_best(DHCP6_SARR);
	assert_int_equal(advertise(f, SERVER_DUID, 0, 0), PROTO_KEPT);
	assert_int_equal(advertise(f, OTHER_DUID, 255, 1), PROTO_AGAIN);
	check_requested(f, OTHER_DUID, 1);
	fixture_end(f);
}

static void of_equal_preferences_the_first_is_taken_and_its_request_sent_again(void **state)
{
	struct dhcp6_fixture *f = fixture_best(DHCP6_SARR);

	assert_int_equal(advertise(f, SERVER_DUID, 7, 0), PROTO_KEPT);
	assert_int_equal(advertise(f, OTHER_DUID, 7, 1), PROTO_DUPLICATE);
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_AGAIN);
	check_requested(f, SERVER_DUID, 0);
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_AGAIN);
	assert_int_equal(f->txn.step, DHCP6_STEP_REQUEST);
	assert_int_equal(f->txn.tries, 1);
	fixture_end(f);
}

static void after_the_first_wait_the_first_advertise_is_taken(void **state)
{
	struct dhcp6_fixture *f = fixture_best(DHCP6_SARR);

	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_AGAIN);
	assert_int_equal(f->n.retransmitted, 1);
	fixture_send(f);
	assert_int_equal(advertise(f, SERVER_DUID, 0, 0), PROTO_AGAIN);
	check_requested(f, SERVER_DUID, 0);
	fixture_end(f);
}

static void a_rapid_reply_is_taken_before_any_advertise(void **state)
{
	struct dhcp6_fixture *f = fixture_best(DHCP_RAPID);

	assert_int_equal(advertise(f, OTHER_DUID, 9, 1), PROTO_KEPT);
	assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
	assert_int_equal(f->n.leases, 1);
	assert_int_equal(f->n.attempt[0], 1);
	assert_int_equal(f->n.rapid_fallback, 0);
	fixture_only(f, DHCP6_RENEWS); // nothing is at hand any more
	fixture_next(f);
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_AGAIN);
	assert_int_equal(f->txn.step, DHCP6_STEP_RENEW);
	fixture_end(f);
}

static void tries_end_when_mrd_is_over(void **state)
{
	static const uint64_t seconds[] = {1, 2, 4, 3};
	struct dhcp6_fixture *f = fixture_new(1);

	f->retransmit.rand = 0;
	f->retransmit.confirm = (struct dhcp6_tries_settings){
		.irt_ns = 1000000000, .mrt_ns = 4000000000, .mrd_ns = 10000000000, .mrc = 9};
	f->settings.is.retransmit = &f->retransmit;
	fixture_open(f);
	fixture_bound(f, DHCP6_CONFIRMS);
	for (uint8_t i = 0; i < 4; i++) {
		assert_int_equal(wait_of_try(f, i), seconds[i] * 1000000000);
		assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), i < 3 ? PROTO_AGAIN : PROTO_FAIL);
	}
	fixture_end(f);
}

static void link_local_addresses_are_clients(void **state)
{
	struct dhcp6_fixture *f = fixture_new(300);
	uint8_t mac[6];

	f->settings.is.mac[5] = 0xf0;
	fixture_open(f);
	assert_true(dhcp6_owns(&f->ctx, v6("fe80::ff:fe00:f0").bytes, 16, mac));
	assert_memory_equal(mac, "\2\0\0\0\0\xf0", 6);
	assert_true(dhcp6_owns(&f->ctx, v6("fe80::ff:fe00:21b").bytes, 16, mac));
	assert_memory_equal(mac, "\2\0\0\0\2\x1b", 6);
	assert_false(dhcp6_owns(&f->ctx, v6("fe80::ff:fe00:21c").bytes, 16, mac));
	assert_false(dhcp6_owns(&f->ctx, v6("fe80::ff:fe00:ef").bytes, 16, mac));
	assert_false(dhcp6_owns(&f->ctx, v6("fe80::1:ff:fe00:f0").bytes, 16, mac));
	assert_false(dhcp6_owns(&f->ctx, v6("2001:db8::ff:fe00:f0").bytes, 16, mac));
	fixture_end(f);
}

static void messages_go_where_they_are_to(void **state)
{
	struct dhcp6_fixture *f = fixture_open(fixture_relay(8, 1));
	struct proto_flow flow;
	struct proto_layout layout;
	const struct proto_path *path;

	fixture_begin(f);
	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	flow_one(&dhcp6_proto, &f->ctx, &f->txn, &flow);
	path = layout.paths.items;
	assert_memory_equal(path[flow.path].dst.bytes, v6("2001:db8::2").bytes, 16);
	assert_memory_equal(flow.src, v6("2001:db8::100").bytes, 16);
	assert_int_equal(flow.src_port, 547);
	assert_false(flow.own_mac);
	fixture_end(f);
	f = fixture_open(fixture_new(8));
	fixture_begin(f);
	layout = ((const struct dhcp_plan *)f->ctx.shared)->layout;
	flow_one(&dhcp6_proto, &f->ctx, &f->txn, &flow);
	path = layout.paths.items;
	assert_memory_equal(path[flow.path].dst.bytes, v6("ff02::1:2").bytes, 16);
	assert_memory_equal(flow.src, v6("fe80::ff:fe00:0").bytes, 16);
	assert_int_equal(flow.src_port, 546);
	assert_true(flow.own_mac && layout.own_macs);
	fixture_end(f);
}

static void a_reply_with_an_option_twice_is_used(void **state)
{
	struct dhcp6_fixture *f = fixture_new(1);
	struct writer w;

	fixture_start(f);
	fixture_plan(f, DHCP6_ADVERTISE);
	fixture_compose(f);
	w = writer_of(f->reply + f->reply_len, sizeof(f->reply) - f->reply_len);
	dhcp6_write_option(&w, DHCP6_OPT_SERVER_ID, SERVER_DUID, DUID_LEN);
	w.at[-1] ^= 1;
	f->reply_len = (uint32_t)(w.at - f->reply);
	assert_int_equal(
		judge_one(&dhcp6_proto, &f->ctx, &f->txn, f->reply, f->reply_len), PROTO_MALFORMED);
	assert_non_null(strstr(dhcp6_reason(&f->ctx, &f->txn, f->reply, f->reply_len),
		"twice, with different content"));
	w.at[-1] ^= 1;
	write_u8(&w, 0); // padding
	f->reply_len++;
	assert_int_equal(
		judge_one(&dhcp6_proto, &f->ctx, &f->txn, f->reply, f->reply_len), PROTO_AGAIN);
	assert_int_equal(f->n.option_repeated, 1);
	assert_int_equal(f->n.trailing, 1);
	fixture_end(f);
}

static void replies_come_to_who_asked(void **state)
{
	struct dhcp6_fixture *f = fixture_relay(8, 1);
	const struct addr server = v6("2001:db8::2"), relay = v6("2001:db8::100"),
			  other = v6("2001:db8::3");
	struct proto_ends ends = {.src = server.bytes,
		.dst = relay.bytes,
		.addr_len = 16,
		.src_port = 547,
		.dst_port = 547};

	fixture_open(f);
	f->ctx.ends = &ends;
	fixture_next(f);
	ends.dst = other.bytes;
	assert_int_equal(fixture_answer(f, DHCP6_ADVERTISE), PROTO_STRAY);
	ends.dst = relay.bytes;
	ends.dst_port = 546;
	assert_int_equal(fixture_answer(f, DHCP6_ADVERTISE), PROTO_STRAY);
	ends.dst_port = 547;
	assert_int_equal(f->n.way_wrong, 2);
	assert_int_equal(f->n.other_source, 0);
	ends.src = other.bytes; // the DUID defines the server
	assert_int_equal(fixture_answer(f, DHCP6_ADVERTISE), PROTO_AGAIN);
	assert_int_equal(f->n.other_source, 1);
	assert_true(f->ctx.elsewhere);
	ends.src = server.bytes;
	ends.src_port = 546;
	fixture_send(f);
	assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
	assert_int_equal(f->n.other_source, 2);
	fixture_end(f);
}

static void relay_messages_nest_and_name_each_other(void **state)
{
	struct dhcp6_fixture *f = fixture_relay(8, 3);

	f->relay.interface_id = "if{client}";
	f->relay.remote_id = "r";
	f->relay.remote_enterprise = 9;
	f->relay.subscriber_id = "s{relay}";
	f->relay.client_mac = true;
	f->relay.is.port = 1547;
	fixture_start(f);
	assert_int_equal(f->e.levels, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(f->e.relays[i].hop_count, 2 - i);
		assert_int_equal(f->e.relays[i].port.data != NULL, i == 0);
		assert_int_equal(f->e.relays[i].interface_id.data != NULL, i == 2);
	}
	assert_memory_equal(f->e.relays[0].link, v6("::").bytes, 16);
	assert_memory_equal(f->e.relays[0].peer, v6("2001:db8::101").bytes, 16);
	assert_memory_equal(f->e.relays[1].peer, v6("2001:db8::102").bytes, 16);
	assert_memory_equal(f->e.relays[2].peer, v6("fe80::ff:fe00:0").bytes, 16);
	assert_memory_equal(f->e.relays[2].link, v6("2001:db8::102").bytes, 16);
	assert_memory_equal(f->e.relays[2].interface_id.data, "if0", 3);
	assert_memory_equal(f->e.relays[2].remote_id.data, "\0\0\0\x09r", 5);
	assert_memory_equal(f->e.relays[2].subscriber_id.data, "s2001:db8::100", 14);
	assert_memory_equal(f->e.relays[2].link_layer.data, "\0\1\2\0\0\0\0\0", 8);
	assert_int_equal(fixture_answer(f, DHCP6_ADVERTISE), PROTO_AGAIN);
	fixture_end(f);
}

static void a_relay_on_layer_2_leaves_the_link_to_the_next(void **state)
{
	struct dhcp6_fixture *f = fixture_relay(8, 2);

	f->relay.ldra = true;
	f->relay.link = v6("2001:db8:7::1");
	fixture_start(f);
	assert_memory_equal(f->e.relays[1].link, v6("::").bytes, 16);
	assert_memory_equal(f->e.relays[1].peer, v6("fe80::ff:fe00:0").bytes, 16);
	assert_memory_equal(f->e.relays[0].link, v6("2001:db8:7::1").bytes, 16);
	assert_memory_equal(f->e.relays[0].peer, v6("fe80::ff:fe00:0").bytes, 16);
	assert_int_equal(fixture_answer(f, DHCP6_ADVERTISE), PROTO_AGAIN);
	fixture_end(f);
}

static void a_duid_is_of_the_kind_asked_for(void **state)
{
	static const struct {
		enum dhcp6_duid kind;
		const char *hex, *bytes;
		uint8_t len, fixed; // how much of it is known
	} rows[] = {
		{DHCP6_DUID_LL, NULL, "\0\3\0\1\2\0\0\0\0\0", 10, 10},
		{DHCP6_DUID_LLT, NULL, "\0\1\0\1\x2d\0\0\0\2\0\0\0\0\0", 14, 14},
		{DHCP6_DUID_EN, NULL, "\0\2\0\0\x7e\xd9\2\0\0\0\0\0", 12, 12},
		{DHCP6_DUID_UUID, NULL, "\0\4", 18, 2},
		{DHCP6_DUID_HEX, "00ff{client:1}{mac}", "\0\xff\0\2\0\0\0\0\0", 9, 9},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dhcp6_fixture *f = fixture_new(4);

		f->settings.duid = rows[i].kind;
		f->settings.duid_hex = rows[i].hex;
		fixture_start(f);
		assert_int_equal(f->m.client_id.len, rows[i].len);
		assert_memory_equal(f->m.client_id.data, rows[i].bytes, rows[i].fixed);
		assert_int_equal(fixture_answer(f, DHCP6_ADVERTISE), PROTO_AGAIN);
		fixture_end(f);
	}
}

static void check_option(struct dhcp6_fixture *f, uint32_t begin, uint32_t end, uint16_t code,
	const char *data, uint32_t len)
{
	uint32_t at = dhcp6_find_option(f->sent, begin, end, code);

	assert_int_not_equal(at, 0);
	assert_int_equal(f->sent[at + 2] << 8 | f->sent[at + 3], len);
	assert_memory_equal(f->sent + at + 4, data, len);
}

static void options_stand_where_they_are_asked_for(void **state)
{
	struct dhcp6_fixture *f = fixture_new(4);
	struct addr dns = v6("2001:db8::53");
	uint32_t ia;

	f->options[0] = (struct dhcp6_option_settings){.code = 1000, .value.text = "x{client}"};
	f->options[1] = (struct dhcp6_option_settings){.code = 1001, .value.hex = "0102"};
	f->options[2] = (struct dhcp6_option_settings){.code = 1002, .value.address = {&dns, 1}};
	f->options[3] = (struct dhcp6_option_settings){
		.code = 1003, .in = DHCP6_IN_IA_NA, .value.hex = "{mac}"};
	f->fqdn.name = "h{client}.example.com";
	f->settings.user_class = "user";
	f->vendor = (struct dhcp6_vendor_settings){9, "vendor"};
	f->settings.vendor_class = &f->vendor;
	fixture_start(f);
	check_option(f, 4, f->sent_len, 1000, "x0", 2);
	check_option(f, 4, f->sent_len, 1001, "\1\2", 2);
	check_option(f, 4, f->sent_len, 1002, (const char *)dns.bytes, 16);
	check_option(f, 4, f->sent_len, DHCP6_OPT_FQDN, "\1\2h0\7example\3com", 17);
	check_option(f, 4, f->sent_len, DHCP6_OPT_USER_CLASS, "\0\4user", 6);
	check_option(f, 4, f->sent_len, DHCP6_OPT_VENDOR_CLASS, "\0\0\0\x09\0\6vendor", 12);
	check_option(f, 4, f->sent_len, DHCP6_OPT_ORO, "\0\x52\0\x27\0\x17", 6);
	ia = dhcp6_find_option(f->sent, 4, f->sent_len, DHCP6_OPT_IA_NA);
	check_option(f, ia + 16, ia + 4 + f->m.ias[0].whole.len, 1003, "\2\0\0\0\0\0", 6);
	fixture_end(f);
}

static void afterwards_nothing_changes(void **state)
{
	struct dhcp6_fixture *f = fixture_start(fixture_new(1));

	fixture_requesting(f);
	dhcp6_timeout(&f->ctx, &f->txn);
	f->txn.over = true;
	assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
	assert_false(held_by(f, 0));
	ANSWER(f, DHCP6_REPLY, PROTO_FAIL, a->status = DHCP6_UNSPEC_FAIL);
	assert_int_equal(worker_of(f)->is.work.clients.rings[DHCP_IS_FREE].count, 1);
	fixture_end(f);
}

static void what_is_cut_is_malformed(void **state)
{
	struct dhcp6_fixture *f = asking();

	fixture_plan(f, DHCP6_REPLY);
	fixture_compose(f);
	for (uint32_t len = 0; len < f->reply_len; len++) {
		uint8_t *cut = malloc(len + !len);
		enum proto_verdict v;

		memcpy(cut, f->reply, len);
		v = judge_one(&dhcp6_proto, &f->ctx, &f->txn, cut, len);
		assert_true(v == PROTO_MALFORMED);
		free(cut);
	}
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	fixture_end(f);
}

static void a_client_takes_no_more_than_it_should(void **state)
{
	uint64_t memory = dhcp_clients_memory(10000000, sizeof(struct dhcp6_client), true) +
	                  dhcp_leases_memory(20000000, true);

	print_message(
		"10 M clients with address and prefix: %.1f bytes each\n", (double)memory / 1e7);
	assert_true(memory <= 96 * 10000000ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DHCP_WIRE_TESTS,
		cmocka_unit_test(messages_have_what_the_rfc_wants),
		cmocka_unit_test(a_request_has_what_was_advertised_and_an_id_of_its_own),
		cmocka_unit_test(several_ias_have_iaids_of_their_own_by_kind),
		cmocka_unit_test(each_wrong_reply_has_its_counter),
		cmocka_unit_test(an_unasked_ia_is_not_taken_for_one_beyond_the_last),
		cmocka_unit_test(a_prefix_other_than_advertised_is_told_apart),
		cmocka_unit_test(a_reply_to_a_rapid_solicit_says_that_it_is_one),
		cmocka_unit_test(only_the_accepted_server_is_asked),
		cmocka_unit_test(leases_are_renewed_confirmed_and_given_back),
		cmocka_unit_test(a_renewal_may_bring_another_lease_when_told_so),
		cmocka_unit_test(a_refused_client_has_lost_its_leases),
		cmocka_unit_test(a_lost_renewal_keeps_the_leases_and_a_lost_release_does_not),
		cmocka_unit_test(information_is_asked_for_without_a_lease),
		cmocka_unit_test(prefixes_that_overlap_are_duplicates),
		cmocka_unit_test(leases_lie_where_they_are_expected),
		cmocka_unit_test(prefixes_lie_where_they_are_expected),
		cmocka_unit_test(elapsed_time_counts_from_the_first_try),
		cmocka_unit_test(messages_are_sent_as_often_as_told),
		cmocka_unit_test(the_first_wait_of_a_solicit_is_longer_than_irt),
		cmocka_unit_test(elapsed_time_is_since_the_first_try_of_each_message),
		cmocka_unit_test(servers_tell_how_long_waits_become),
		cmocka_unit_test(after_a_decline_a_client_rests),
		cmocka_unit_test(the_best_preference_of_the_first_wait_is_taken),
		cmocka_unit_test(preference_255_is_not_waited_with),
		cmocka_unit_test(
			of_equal_preferences_the_first_is_taken_and_its_request_sent_again),
		cmocka_unit_test(tries_end_when_mrd_is_over),
		cmocka_unit_test(after_the_first_wait_the_first_advertise_is_taken),
		cmocka_unit_test(a_rapid_reply_is_taken_before_any_advertise),
		cmocka_unit_test(link_local_addresses_are_clients),
		cmocka_unit_test(messages_go_where_they_are_to),
		cmocka_unit_test(a_reply_with_an_option_twice_is_used),
		cmocka_unit_test(replies_come_to_who_asked),
		cmocka_unit_test(relay_messages_nest_and_name_each_other),
		cmocka_unit_test(a_relay_on_layer_2_leaves_the_link_to_the_next),
		cmocka_unit_test(a_duid_is_of_the_kind_asked_for),
		cmocka_unit_test(options_stand_where_they_are_asked_for),
		cmocka_unit_test(afterwards_nothing_changes),
		cmocka_unit_test(what_is_cut_is_malformed),
		cmocka_unit_test(a_client_takes_no_more_than_it_should),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

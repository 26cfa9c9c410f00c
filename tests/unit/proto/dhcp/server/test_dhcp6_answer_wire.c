// SPDX-License-Identifier: BSD-3-Clause
// Replies of the DHCPv6 server to every message, relayed and direct, and their destinations.
// Path: tests only.

#include "dhcp6_server_fixture.h"
#include "dhcp_server_rules.h"

static const uint8_t elsewhere[16] = {0x20, 1, 0x0d, 0xb8, 0xff, [15] = 1};

static const uint8_t *address_of(uint32_t n)
{
	static uint8_t bytes[2][16];
	static uint32_t turn;
	uint8_t *a = bytes[turn++ % 2];

	memcpy(a, test_pool.first.bytes, 16);
	a[15] = (uint8_t)(a[15] + n);
	return a;
}

static const uint8_t *prefix_of(uint32_t n)
{
	static uint8_t a[16];

	memcpy(a, test_prefixes.addr.bytes, 16);
	a[6] = (uint8_t)(a[6] + n);
	return a;
}

static uint32_t offer(struct server *v, uint8_t client)
{
	assert_int_equal(SAY(v, SOLICIT, client, .nas = 1), DHCP6_ADVERTISE);
	return given(v, 0);
}

// Sends a message about one address, which must get a reply.
static uint32_t about(struct server *v, uint8_t type, uint8_t client, uint32_t number)
{
	const struct said c = {.type = type,
		.client = client,
		.nas = 1,
		.to_us = true,
		.address = address_of(number)};

	assert_int_equal(say(v, c), DHCP6_REPLY);
	return given(v, 0);
}

static uint32_t take(struct server *v, uint8_t client, uint32_t number)
{
	return about(v, DHCP6_REQUEST, client, number);
}

static uint32_t renew(struct server *v, uint8_t client, uint32_t number)
{
	return about(v, DHCP6_RENEW, client, number);
}

static void decline_offer(struct server *v, uint8_t client)
{
	assert_int_equal(SAY(v, REQUEST, client, .nas = 1, .to_other = true), 0);
}

static void release(struct server *v, uint8_t client, uint32_t number)
{
	about(v, DHCP6_RELEASE, client, number);
}

static void decline(struct server *v, uint8_t client, uint32_t number)
{
	about(v, DHCP6_DECLINE, client, number);
}

static uint32_t full_message(uint8_t type, uint8_t *buf, uint32_t room)
{
	const struct said c = {.type = type,
		.client = 1,
		.levels = 2,
		.nas = 2,
		.pds = 1,
		.tas = 1,
		.address = address_of(0),
		.prefix = prefix_of(0),
		.to_us = type != DHCP6_SOLICIT && type != DHCP6_REBIND && type != DHCP6_CONFIRM,
		.rapid = true,
		.relay_port = true,
		.oro = "\0\x17\0\x52",
		.oro_len = 4};

	return said_write(&c, buf, room);
}

static void a_client_gets_what_was_advertised_and_keeps_it(void **state)
{
	struct server *v = server_new();

	assert_int_equal(sarr(v, 1), 0);
	assert_int_equal(sarr(v, 2), 1);
	assert_int_equal(sarr(v, 1), 0);
	assert_memory_equal(v->m.client_id.data, "\0\3\0\1\2\0\0\0\0\1", 10);
	assert_memory_equal(v->m.server_id.data, SERVER_ID, 10);
	assert_false(dhcp6_has(&v->m, DHCP6_OPT_PREFERENCE));
	assert_false(dhcp6_has(&v->m, DHCP6_OPT_RAPID_COMMIT));
	assert_int_equal(v->m.status, DHCP6_STATUS_NONE);
	assert_int_equal(v->n.sent[DHCP6_ADVERTISE], 3);
	assert_int_equal(v->n.sent[DHCP6_REPLY], 3);
	assert_int_equal(v->n.type[DHCP6_SOLICIT], 3);
	assert_int_equal(v->n.relayed, 0);
	server_end(v);
}

static void every_ia_of_a_client_gets_a_lease_of_its_own(void **state)
{
	struct server *v = server_new();

	assert_int_equal(SAY(v, REQUEST, 1, .nas = 3, .pds = 2, .to_us = true), DHCP6_REPLY);
	assert_int_equal(v->m.ia_count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(given(v, i), i < 3 ? i : i - 3);
		assert_int_equal(v->m.ias[i].iaid, i < 3 ? i + 1 : i - 2);
	}
	assert_int_equal(SAY(v, REQUEST, 2, .nas = 2, .to_us = true), DHCP6_REPLY);
	assert_int_equal(given(v, 0), 3);
	assert_int_equal(v->m.ias[1].status, DHCP6_NO_ADDRS_AVAIL);
	assert_int_equal(v->n.status[DHCP6_NO_ADDRS_AVAIL], 1);
	server_end(v);
}

// RFC 8415 section 13.2: an address different from the IA_NA's with the same IAID; no T1, no T2.
static void temporary_addresses_are_leased_beside_the_others(void **state)
{
	struct server *v = server_new();

	assert_int_equal(SAY(v, RENEW, 1, .tas = 1, .to_us = true), DHCP6_REPLY);
	assert_int_equal(v->m.ias[0].status, DHCP6_NO_BINDING);
	assert_int_equal(SAY(v, REQUEST, 1, .tas = 1, .nas = 1, .to_us = true), DHCP6_REPLY);
	assert_int_equal(v->m.ias[1].type, DHCP6_OPT_IA_TA);
	assert_int_equal(given(v, 0), 0);
	assert_int_equal(given(v, 1), 1);
	assert_int_equal(v->m.ias[1].t1_s, 0);
	assert_int_equal(SAY(v, RENEW, 1, .tas = 1, .to_us = true), DHCP6_REPLY);
	assert_int_equal(given(v, 0), 1);
	server_end(v);
}

static void ias_beyond_the_eighth_are_counted_and_not_answered(void **state)
{
	struct server *v = server_new();

	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 10), DHCP6_ADVERTISE);
	assert_int_equal(v->m.ia_count, 8);
	assert_int_equal(v->n.ias_ignored, 2);
	server_end(v);
}

static void a_wish_is_granted_when_nobody_has_it(void **state)
{
	struct server *v = server_new();

	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1, .pds = 1, .address = address_of(2),
				 .prefix = prefix_of(3)),
		DHCP6_ADVERTISE);
	assert_int_equal(given(v, 0), 2);
	assert_int_equal(given(v, 1), 3);
	assert_int_equal(SAY(v, SOLICIT, 2, .nas = 1, .pds = 1, .address = address_of(2),
				 .prefix = prefix_of(2), .bits = 60),
		DHCP6_ADVERTISE);
	assert_int_equal(given(v, 0), 0);
	assert_int_equal(given(v, 1), 0);
	assert_int_equal(SAY(v, SOLICIT, 3, .nas = 1, .address = elsewhere), DHCP6_ADVERTISE);
	assert_int_equal(given(v, 0), 1);
	server_end(v);
}

static void rapid_commit_is_granted_when_both_want_it(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	struct server *v = server_new();

	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1, .rapid = true), DHCP6_ADVERTISE);
	server_end(v);
	s.common.rapid = true;
	v = server_of(&s);
	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1, .pds = 1, .rapid = true), DHCP6_REPLY);
	assert_true(dhcp6_has(&v->m, DHCP6_OPT_RAPID_COMMIT));
	assert_int_equal(v->n.rapid, 1);
	assert_int_equal(SAY(v, RENEW, 1, .nas = 1, .pds = 1, .to_us = true), DHCP6_REPLY);
	assert_int_equal(given(v, 0), 0); // it was bound
	assert_int_equal(SAY(v, SOLICIT, 2, .nas = 1), DHCP6_ADVERTISE);
	server_end(v);
}

static void a_preference_is_in_advertises_only(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	struct server *v;

	s.preference = 255;
	v = server_of(&s);
	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1), DHCP6_ADVERTISE);
	assert_true(dhcp6_has(&v->m, DHCP6_OPT_PREFERENCE));
	assert_int_equal(v->m.preference, 255);
	assert_int_equal(SAY(v, REQUEST, 1, .nas = 1, .to_us = true), DHCP6_REPLY);
	assert_false(dhcp6_has(&v->m, DHCP6_OPT_PREFERENCE));
	server_end(v);
}

static void an_address_of_another_link_is_refused_in_a_request(void **state)
{
	struct server *v = server_new();

	assert_int_equal(
		SAY(v, REQUEST, 1, .nas = 1, .to_us = true, .address = elsewhere), DHCP6_REPLY);
	assert_int_equal(v->m.ias[0].status, DHCP6_NOT_ON_LINK);
	assert_int_equal(v->m.ias[0].lease_count, 0);
	assert_int_equal(v->n.status[DHCP6_NOT_ON_LINK], 1);
	assert_int_equal(
		SAY(v, REQUEST, 1, .pds = 1, .to_us = true, .prefix = elsewhere), DHCP6_REPLY);
	assert_int_equal(given(v, 0), 0); // prefixes are of no link
	server_end(v);
}

static void renew_and_rebind_keep_what_is_bound(void **state)
{
	struct server *v = server_new();

	sarr(v, 1);
	assert_int_equal(SAY(v, RENEW, 1, .nas = 1, .pds = 1, .to_us = true), DHCP6_REPLY);
	assert_int_equal(given(v, 0), 0);
	assert_int_equal(given(v, 1), 0);
	assert_int_equal(v->m.ias[0].t1_s, 1250);
	assert_int_equal(
		SAY(v, REBIND, 1, .nas = 1, .pds = 1, .address = address_of(0)), DHCP6_REPLY);
	assert_int_equal(given(v, 0), 0);
	assert_int_equal(v->m.ias[0].lease_count, 1);
	server_end(v);
}

static void what_a_client_has_beside_it_is_withdrawn(void **state)
{
	struct server *v = server_new();

	sarr(v, 1);
	assert_int_equal(
		SAY(v, RENEW, 1, .nas = 1, .to_us = true, .address = address_of(1)), DHCP6_REPLY);
	assert_int_equal(given(v, 0), 0);
	assert_int_equal(v->m.ias[0].lease_count, 2);
	assert_memory_equal(v->m.ias[0].leases[1].address, address_of(1), 16);
	assert_int_equal(v->m.ias[0].leases[1].valid_s, 0);
	assert_int_equal(v->m.ias[0].leases[1].preferred_s, 0);
	server_end(v);
}

static void unknown_leases_are_no_binding_or_withdrawn(void **state)
{
	struct server *v = server_new();

	assert_int_equal(
		SAY(v, RENEW, 1, .nas = 1, .to_us = true, .address = address_of(1)), DHCP6_REPLY);
	assert_int_equal(v->m.ias[0].status, DHCP6_NO_BINDING);
	assert_int_equal(SAY(v, REBIND, 1, .nas = 1, .address = address_of(1)), DHCP6_REPLY);
	assert_int_equal(v->m.ias[0].status, DHCP6_NO_BINDING);
	assert_int_equal(SAY(v, REBIND, 1, .nas = 1, .address = elsewhere), DHCP6_REPLY);
	assert_int_equal(v->m.ias[0].status, DHCP6_STATUS_NONE);
	assert_int_equal(v->m.ias[0].lease_count, 1);
	assert_int_equal(v->m.ias[0].leases[0].valid_s, 0);
	assert_int_equal(v->m.ias[0].t1_s, 0);
	assert_int_equal(v->n.status[DHCP6_NO_BINDING], 2);
	// An offer is no binding.
	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1), DHCP6_ADVERTISE);
	assert_int_equal(SAY(v, RENEW, 1, .nas = 1, .to_us = true), DHCP6_REPLY);
	assert_int_equal(v->m.ias[0].status, DHCP6_NO_BINDING);
	server_end(v);
}

static void an_authoritative_server_takes_unknown_clients_at_their_word(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	struct server *v;

	s.common.authoritative = true;
	v = server_of(&s);
	assert_int_equal(
		SAY(v, RENEW, 1, .nas = 1, .to_us = true, .address = address_of(1)), DHCP6_REPLY);
	assert_int_equal(given(v, 0), 1);
	assert_int_equal(SAY(v, REBIND, 2, .nas = 1, .address = address_of(1)), DHCP6_REPLY);
	assert_int_equal(v->m.ias[0].status, DHCP6_NO_BINDING); // it is another's
	SAY(v, SOLICIT, 3, .nas = 1);
	assert_int_equal(
		SAY(v, RENEW, 3, .nas = 1, .to_us = true, .address = address_of(3)), DHCP6_REPLY);
	assert_int_equal(v->m.ias[0].status, DHCP6_NO_BINDING); // it was offered another one
	server_end(v);
}

static void what_is_released_is_free_and_no_binding_any_more(void **state)
{
	struct server *v = server_new();

	sarr(v, 1);
	assert_int_equal(SAY(v, RELEASE, 1, .nas = 1, .pds = 1, .to_us = true,
				 .address = address_of(0), .prefix = prefix_of(0)),
		DHCP6_REPLY);
	assert_int_equal(v->m.status, DHCP6_SUCCESS);
	assert_int_equal(v->m.ia_count, 0);
	assert_int_equal(v->n.released, 2);
	assert_int_equal(
		SAY(v, RELEASE, 1, .nas = 1, .to_us = true, .address = address_of(0)), DHCP6_REPLY);
	assert_int_equal(v->m.status, DHCP6_SUCCESS);
	assert_int_equal(v->m.ias[0].status, DHCP6_NO_BINDING);
	assert_int_equal(v->n.released, 2);
	assert_int_equal(sarr(v, 1), 0); // it is still known
	server_end(v);
}

static void addresses_that_are_not_the_clients_stay_as_they_are(void **state)
{
	struct server *v = server_new();

	sarr(v, 1);
	assert_int_equal(
		SAY(v, RELEASE, 1, .nas = 1, .to_us = true, .address = address_of(1)), DHCP6_REPLY);
	assert_int_equal(v->m.status, DHCP6_SUCCESS);
	assert_int_equal(v->m.ia_count, 0);
	assert_int_equal(v->n.released, 0);
	assert_int_equal(SAY(v, RENEW, 1, .nas = 1, .to_us = true), DHCP6_REPLY);
	assert_int_equal(given(v, 0), 0);
	server_end(v);
}

static void messages_for_another_server_get_no_reply(void **state)
{
	struct server *v = server_new();

	assert_int_equal(SAY(v, REQUEST, 5, .nas = 1, .to_other = true), 0);
	assert_int_equal(SAY(v, RENEW, 5, .nas = 1, .to_other = true), 0);
	assert_int_equal(SAY(v, INFORMATION, 5, .to_other = true), 0);
	assert_int_equal(v->n.other_server, 3);
	server_end(v);
}

static void a_prefix_cannot_be_declined(void **state)
{
	struct server *v = server_new();

	sarr(v, 1);
	assert_int_equal(SAY(v, DECLINE, 1, .nas = 1, .pds = 1, .to_us = true,
				 .address = address_of(0), .prefix = prefix_of(0)),
		DHCP6_REPLY);
	assert_int_equal(v->m.status, DHCP6_SUCCESS);
	assert_int_equal(v->n.declined, 1);
	server_end(v);
}

static void prefixes_are_shared_between_workers(void **state)
{
	const struct proto_env env = {.worker = 1, .workers = 2};
	struct dhcp6_answers_settings s = server_settings();
	struct server *v = server_open(&s, &env);

	assert_int_equal(SAY(v, SOLICIT, 1, .pds = 1), DHCP6_ADVERTISE);
	assert_int_equal(given(v, 0), 2);
	server_end(v);
}

static void prefixes_are_given_twice_on_demand(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	struct server *v;

	s.common.address_twice = s.common.prefix_twice = 2;
	v = server_of(&s);
	assert_int_equal(sarr(v, 1), 0);
	assert_int_equal(sarr(v, 2), 0);
	assert_int_equal(v->n.address_twice, 1);
	assert_int_equal(v->n.prefix_twice, 1);
	assert_int_equal(
		SAY(v, RENEW, 2, .nas = 1, .to_us = true, .address = address_of(0)), DHCP6_REPLY);
	assert_int_equal(v->m.ias[0].lease_count, 1); // not withdrawn
	server_end(v);
}

static void confirm_tells_whether_addresses_fit_the_link(void **state)
{
	struct server *v = server_new();

	assert_int_equal(SAY(v, CONFIRM, 1, .nas = 2, .address = address_of(3)), DHCP6_REPLY);
	assert_int_equal(v->m.status, DHCP6_SUCCESS);
	assert_int_equal(v->m.ia_count, 0);
	assert_int_equal(SAY(v, CONFIRM, 1, .nas = 2, .address = elsewhere), DHCP6_REPLY);
	assert_int_equal(v->m.status, DHCP6_NOT_ON_LINK);
	// Each IA counts, and no IA of an earlier message.
	SAY(v, CONFIRM, 1, .nas = 2, .address = address_of(3), .second = elsewhere);
	assert_int_equal(v->m.status, DHCP6_NOT_ON_LINK);
	SAY(v, CONFIRM, 1, .nas = 1, .address = address_of(3));
	assert_int_equal(v->m.status, DHCP6_SUCCESS);
	assert_int_equal(SAY(v, CONFIRM, 1, .nas = 1), 0);
	assert_int_equal(SAY(v, CONFIRM, 1, .pds = 1, .prefix = prefix_of(0)), 0);
	assert_int_equal(v->n.ignored, 2);
	server_end(v);
}

static void information_is_for_clients_without_a_duid_too(void **state)
{
	struct server *v = server_new();

	assert_int_equal(SAY(v, INFORMATION, 1, .no_client_id = true), DHCP6_REPLY);
	assert_null(v->m.client_id.data);
	assert_non_null(v->m.server_id.data);
	server_end(v);
}

static void messages_with_the_wrong_identifiers_are_malformed(void **state)
{
	struct server *v = server_new();

	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1, .no_client_id = true), 0);
	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1, .to_us = true), 0);
	assert_int_equal(SAY(v, REBIND, 1, .nas = 1, .to_us = true), 0);
	assert_int_equal(SAY(v, CONFIRM, 1, .nas = 1, .to_us = true), 0);
	assert_int_equal(SAY(v, REQUEST, 1, .nas = 1), 0);
	assert_int_equal(SAY(v, RENEW, 1, .nas = 1), 0);
	assert_int_equal(SAY(v, RELEASE, 1, .nas = 1), 0);
	assert_int_equal(SAY(v, DECLINE, 1, .nas = 1), 0);
	assert_int_equal(SAY(v, DECLINE, 1, .nas = 1, .to_us = true, .no_client_id = true), 0);
	assert_int_equal(SAY(v, INFORMATION, 1, .nas = 1), 0);
	assert_int_equal(v->n.malformed, 10);
	server_end(v);
}

static void what_is_not_a_clients_is_ignored(void **state)
{
	struct server *v = server_new();
	uint8_t buf[512];
	const struct said solicit = {.type = DHCP6_SOLICIT, .nas = 1, .levels = 1};
	uint32_t len;

	assert_int_equal(SAY(v, REPLY, 1, .to_us = true), 0);
	assert_int_equal(SAY(v, ADVERTISE, 1, .to_us = true), 0);
	assert_int_equal(SAY(v, RECONFIGURE, 1, .to_us = true), 0);
	assert_int_equal(say(v, (struct said){.type = DHCP6_TYPES}), 0);
	assert_int_equal(v->n.ignored, 4);
	assert_int_equal(v->n.type[0], 1);
	len = said_write(&solicit, buf, sizeof(buf));
	buf[0] = DHCP6_RELAY_REPL;
	assert_int_equal(hear(v, buf, len), 0);
	assert_int_equal(v->n.ignored, 5);
	server_end(v);
}

static void broken_messages_are_malformed(void **state)
{
	struct server *v = server_new();
	const struct said c = {.type = DHCP6_SOLICIT, .nas = 1, .levels = 2};
	uint8_t buf[512];
	uint32_t len = said_write(&c, buf, sizeof(buf));

	for (uint32_t cut = 0; cut < len; cut++)
		assert_int_equal(hear(v, buf, cut), 0);
	assert_int_equal(v->n.malformed, len);
	server_end(v);
}

static void an_answer_that_has_no_room_is_not_sent(void **state)
{
	struct server *v = server_new();
	uint32_t len;

	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1, .pds = 1, .levels = 2), DHCP6_ADVERTISE);
	len = v->len;
	for (v->room = 0; v->room < len; v->room += 7)
		assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1, .pds = 1, .levels = 2), 0);
	assert_int_equal(v->n.ignored, (len + 6) / 7);
	v->room = len;
	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1, .pds = 1, .levels = 2), DHCP6_ADVERTISE);
	server_end(v);
}

static void relays_get_their_messages_back_level_by_level(void **state)
{
	struct server *v = server_new();

	for (uint8_t levels = 1; levels <= DHCP6_LEVELS_MAX; levels++) {
		assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1, .levels = levels), DHCP6_ADVERTISE);
		assert_int_equal(v->e.levels, levels);
		for (uint8_t i = 0; i < levels; i++) {
			const struct dhcp6_relay *r = &v->e.relays[i];
			const uint8_t id[4] = {'e', 't', 'h', (uint8_t)(levels - 1 - i)};

			assert_int_equal(r->type, DHCP6_RELAY_REPL);
			assert_int_equal(r->hop_count, levels - 1 - i);
			assert_memory_equal(r->link, test_link, 16);
			assert_memory_equal(r->peer, test_peer, 16);
			assert_int_equal(r->interface_id.len, 4);
			assert_memory_equal(r->interface_id.data, id, 4);
			assert_null(r->remote_id.data);
			assert_null(r->port.data);
		}
		assert_int_equal(given(v, 0), 0);
	}
	assert_int_equal(v->n.relayed, DHCP6_LEVELS_MAX);
	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1, .levels = 1, .no_interface_id = true),
		DHCP6_ADVERTISE);
	assert_null(v->e.relays[0].interface_id.data);
	server_end(v);
}

static void answers_go_to_the_ports_of_relays_and_clients(void **state)
{
	struct server *v = server_new();
	static const uint8_t none[16];
	struct proto_direction to;

	SAY(v, SOLICIT, 1, .nas = 1);
	assert_true(dhcp6_direct(v->out, v->len, &to));
	assert_int_equal(to.dst_port, DHCP6_CLIENT_PORT);
	assert_memory_equal(to.dst, none, 16); // back to the client
	assert_memory_equal(to.mac, none, 6);
	SAY(v, SOLICIT, 1, .nas = 1, .levels = 2);
	assert_true(dhcp6_direct(v->out, v->len, &to));
	assert_int_equal(to.dst_port, DHCP6_SERVER_PORT);
	SAY(v, SOLICIT, 1, .nas = 1, .levels = 2, .relay_port = true);
	assert_non_null(v->e.relays[0].port.data);
	assert_null(v->e.relays[1].port.data);
	assert_false(dhcp6_direct(v->out, v->len, &to)); // back to the port of the request
	server_end(v);
}

static void unicast_is_refused_where_it_is_not_allowed(void **state)
{
	static const uint8_t own[16] = {0x20, 1}, group[16] = {0xff, 2};
	const struct proto_ends unicast = {.dst = own, .addr_len = 16};
	const struct proto_ends multicast = {.dst = group, .addr_len = 16};
	struct dhcp6_answers_settings s = server_settings();
	struct server *v;

	s.unicast = false;
	v = server_of(&s);
	v->ctx.ends = &multicast;
	sarr(v, 1);
	v->ctx.ends = &unicast;
	assert_int_equal(SAY(v, RENEW, 1, .nas = 1, .to_us = true), DHCP6_REPLY);
	assert_int_equal(v->m.status, DHCP6_USE_MULTICAST);
	assert_int_equal(v->m.ia_count, 0);
	assert_int_equal(v->n.status[DHCP6_USE_MULTICAST], 1);
	assert_int_equal(SAY(v, RENEW, 1, .nas = 1, .to_us = true, .levels = 1), DHCP6_REPLY);
	assert_int_equal(v->m.status, DHCP6_STATUS_NONE);
	assert_int_equal(SAY(v, SOLICIT, 1, .nas = 1), DHCP6_ADVERTISE);
	assert_int_equal(SAY(v, INFORMATION, 1, .to_us = true), DHCP6_REPLY);
	assert_int_equal(v->m.status, DHCP6_STATUS_NONE);
	server_end(v);
}

// Sends a LEASEQUERY with this option 44, from a relay. Returns the status.
static uint16_t query(struct server *v, const void *data, uint32_t len)
{
	uint8_t buf[256];
	struct writer w = writer_of(buf, sizeof(buf));

	dhcp6_write_header(&w, DHCP6_LEASEQUERY, XID);
	dhcp6_write_option(&w, DHCP6_OPT_CLIENT_ID, "\0\2\0\0\x7e\xd9r", 7);
	if (len)
		dhcp6_write_option(&w, DHCP6_OPT_LQ_QUERY, data, len);
	assert_true(hear(v, buf, (uint32_t)(w.at - buf)));
	assert_int_equal(v->m.type, DHCP6_LEASEQUERY_REPLY);
	assert_memory_equal(v->m.client_id.data, "\0\2\0\0\x7e\xd9r", 7);
	return v->m.status;
}

static uint16_t query_address(struct server *v, const uint8_t *address)
{
	uint8_t data[17 + 28] = {[0] = 1, [18] = 5, [20] = 24};

	memcpy(data + 21, address, 16);
	return query(v, data, sizeof(data));
}

static uint16_t query_client(struct server *v, uint8_t client)
{
	uint8_t data[17 + 14] = {[0] = 2, [18] = 1, [20] = 10, 0, 3, 0, 1, 2, [30] = client};

	return query(v, data, sizeof(data));
}

// Checks the data of this client: the number of its leases, and their age.
static void assert_told(const struct server *v, uint8_t client, uint32_t leases, uint32_t age_s)
{
	const uint8_t duid[10] = {0, 3, 0, 1, 2, [9] = client};
	struct dhcp6_subject s;

	assert_true(dhcp6_parse_subject(&v->m.client_data, false, &s));
	assert_int_equal(s.client_id.len, sizeof(duid));
	assert_memory_equal(s.client_id.data, duid, sizeof(duid));
	assert_int_equal(s.lease_count, leases);
	assert_int_equal(s.age_s, age_s);
	assert_int_equal(s.leases[0].valid_s, LEASE_S - age_s);
}

static struct server *server_asked(void)
{
	struct dhcp6_answers_settings s = server_settings();

	s.leasequery = true;
	return server_of(&s);
}

static void lease_queries_get_all_leases_of_a_client(void **state)
{
	struct server *v = server_asked();

	sarr(v, 1);
	sarr(v, 2);
	v->ctx.now_ms = 7000;
	assert_int_equal(query_client(v, 2), DHCP6_STATUS_NONE);
	assert_told(v, 2, 2, 7);
	assert_int_equal(query_address(v, address_of(0)), DHCP6_STATUS_NONE);
	assert_told(v, 1, 2, 7);
	release(v, 1, 0);
	assert_int_equal(query_address(v, address_of(0)), DHCP6_STATUS_NONE);
	assert_null(v->m.client_data.data);
	assert_int_equal(query_client(v, 1), DHCP6_STATUS_NONE);
	assert_told(v, 1, 1, 7); // its prefix
	assert_int_equal(query_client(v, 3), DHCP6_STATUS_NONE);
	assert_null(v->m.client_data.data);
	v->ctx.now_ms = LEASE_S * 1000;
	assert_int_equal(query_client(v, 2), DHCP6_STATUS_NONE);
	assert_null(v->m.client_data.data);
	server_end(v);
}

static void lease_queries_that_are_wrong_get_their_status(void **state)
{
	static const uint8_t by_relay[17] = {3}, bare[17] = {1};
	struct server *v = server_asked();

	assert_int_equal(query_address(v, elsewhere), DHCP6_NOT_CONFIGURED);
	assert_int_equal(query(v, by_relay, 17), DHCP6_UNKNOWN_QUERY_TYPE);
	assert_int_equal(query(v, bare, 17), DHCP6_MALFORMED_QUERY);
	assert_int_equal(query(v, bare, 16), DHCP6_MALFORMED_QUERY);
	assert_int_equal(query(v, NULL, 0), DHCP6_MALFORMED_QUERY);
	assert_int_equal(v->n.status[DHCP6_MALFORMED_QUERY], 3);
	server_end(v);
	v = server_new();
	sarr(v, 1);
	assert_int_equal(query_client(v, 1), DHCP6_NOT_ALLOWED);
	server_end(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_RULES,
		cmocka_unit_test(a_client_gets_what_was_advertised_and_keeps_it),
		cmocka_unit_test(every_ia_of_a_client_gets_a_lease_of_its_own),
		cmocka_unit_test(temporary_addresses_are_leased_beside_the_others),
		cmocka_unit_test(ias_beyond_the_eighth_are_counted_and_not_answered),
		cmocka_unit_test(a_wish_is_granted_when_nobody_has_it),
		cmocka_unit_test(rapid_commit_is_granted_when_both_want_it),
		cmocka_unit_test(a_preference_is_in_advertises_only),
		cmocka_unit_test(an_address_of_another_link_is_refused_in_a_request),
		cmocka_unit_test(renew_and_rebind_keep_what_is_bound),
		cmocka_unit_test(what_a_client_has_beside_it_is_withdrawn),
		cmocka_unit_test(unknown_leases_are_no_binding_or_withdrawn),
		cmocka_unit_test(an_authoritative_server_takes_unknown_clients_at_their_word),
		cmocka_unit_test(what_is_released_is_free_and_no_binding_any_more),
		cmocka_unit_test(addresses_that_are_not_the_clients_stay_as_they_are),
		cmocka_unit_test(messages_for_another_server_get_no_reply),
		cmocka_unit_test(a_prefix_cannot_be_declined),
		cmocka_unit_test(prefixes_are_shared_between_workers),
		cmocka_unit_test(prefixes_are_given_twice_on_demand),
		cmocka_unit_test(confirm_tells_whether_addresses_fit_the_link),
		cmocka_unit_test(information_is_for_clients_without_a_duid_too),
		cmocka_unit_test(messages_with_the_wrong_identifiers_are_malformed),
		cmocka_unit_test(what_is_not_a_clients_is_ignored),
		cmocka_unit_test(broken_messages_are_malformed),
		cmocka_unit_test(an_answer_that_has_no_room_is_not_sent),
		cmocka_unit_test(relays_get_their_messages_back_level_by_level),
		cmocka_unit_test(answers_go_to_the_ports_of_relays_and_clients),
		cmocka_unit_test(unicast_is_refused_where_it_is_not_allowed),
		cmocka_unit_test(lease_queries_get_all_leases_of_a_client),
		cmocka_unit_test(lease_queries_that_are_wrong_get_their_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

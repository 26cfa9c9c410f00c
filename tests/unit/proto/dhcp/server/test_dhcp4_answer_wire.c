// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 server message by message: every exchange, the address that each client gets, the
// destinations of replies, and no harm by any message of a client. Path: tests only.

#include "dhcp4_server_fixture.h"
#include "dhcp_server_rules.h"

// Odd clients have a client-id.
static struct said client_said(uint8_t type, uint8_t client)
{
	static char id[2];

	id[1] = (char)client;
	return (struct said){.type = type,
		.client = client,
		.client_id = client & 1 ? id : NULL,
		.client_id_len = 2};
}

static uint32_t lease_of(const struct server *v, uint8_t type)
{
	return type == DHCP4_OFFER || type == DHCP4_ACK ? v->m.yiaddr - POOL : NONE;
}

static uint32_t offer(struct server *v, uint8_t client)
{
	return lease_of(v, say(v, client_said(DHCP4_DISCOVER, client)));
}

static uint32_t take(struct server *v, uint8_t client, uint32_t number)
{
	struct said c = client_said(DHCP4_REQUEST, client);

	c.requested = POOL + number;
	c.server_id = SERVER;
	return lease_of(v, say(v, c));
}

static uint32_t renew(struct server *v, uint8_t client, uint32_t number)
{
	struct said c = client_said(DHCP4_REQUEST, client);

	c.ciaddr = POOL + number;
	return lease_of(v, say(v, c));
}

static void decline_offer(struct server *v, uint8_t client)
{
	struct said c = client_said(DHCP4_REQUEST, client);

	c.requested = 1;
	c.server_id = SERVER + 1;
	assert_int_equal(say(v, c), 0);
}

static void release(struct server *v, uint8_t client, uint32_t number)
{
	struct said c = client_said(DHCP4_RELEASE, client);

	c.ciaddr = POOL + number;
	c.server_id = SERVER;
	assert_int_equal(say(v, c), 0);
}

static void decline(struct server *v, uint8_t client, uint32_t number)
{
	struct said c = client_said(DHCP4_DECLINE, client);

	c.requested = POOL + number;
	c.server_id = SERVER;
	assert_int_equal(say(v, c), 0);
}

static uint32_t full_message(uint8_t type, uint8_t *buf, uint32_t room)
{
	const struct said c = {.type = type,
		.client = 1,
		.giaddr = RELAY,
		.requested = POOL,
		.server_id = SERVER,
		.rapid = true,
		.parameters = true,
		.client_id = CLIENT_ID,
		.client_id_len = 15,
		.relay_info = "\1\4abcd\13\4\xc6\x12\0\2\x13\0",
		.relay_info_len = 14};

	return said_write(&c, buf, room);
}

static void an_offer_mirrors_the_request(void **state)
{
	struct server *v = server_new();

	assert_int_equal(SAY(v, DISCOVER, 5, .giaddr = RELAY, .flags = DHCP4_BROADCAST,
				 .client_id = CLIENT_ID, .client_id_len = 15,
				 .relay_info = RELAY_INFO, .relay_info_len = 10),
		DHCP4_OFFER);
	assert_int_equal(v->len, 303);
	assert_int_equal(v->m.op, DHCP4_REPLY_OP);
	assert_int_equal(v->m.xid, XID);
	assert_int_equal(v->m.hops, 0);
	assert_int_equal(v->m.secs, 0);
	assert_int_equal(v->m.flags, DHCP4_BROADCAST);
	assert_int_equal(v->m.ciaddr, 0);
	assert_int_equal(v->m.yiaddr, POOL);
	assert_int_equal(v->m.giaddr, RELAY);
	assert_memory_equal(v->m.chaddr, "\2\0\0\0\0\5\0\0\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(v->m.client_id_len, 15);
	assert_memory_equal(v->m.client_id, CLIENT_ID, 15);
	assert_int_equal(v->m.relay_info_len, 10);
	assert_memory_equal(v->m.relay_info, RELAY_INFO, 10);
	assert_int_equal(v->m.relay_info[10], DHCP4_OPT_END);
	server_end(v);
}

static void only_asked_options_are_added(void **state)
{
	struct server *v = server_new();

	SAY(v, DISCOVER, 1);
	assert_false(dhcp4_has(&v->m, DHCP4_OPT_ROUTER));
	assert_false(dhcp4_has(&v->m, DHCP4_OPT_CLIENT_ID));
	assert_false(dhcp4_has(&v->m, DHCP4_OPT_RELAY_INFO));
	SAY(v, DISCOVER, 1, .parameters = true);
	assert_memory_equal(v->out + dhcp4_find_option(v->out, v->len, DHCP4_OPT_ROUTER),
		"\3\4\xc6\x12\x40\1", 6);
	assert_memory_equal(v->out + dhcp4_find_option(v->out, v->len, DHCP4_OPT_DNS),
		"\6\10\xc6\x12\0\10\xc6\x12\0\11", 10);
	assert_memory_equal(v->out + dhcp4_find_option(v->out, v->len, DHCP4_OPT_DOMAIN),
		"\17\13example.com", 13);
	server_end(v);
}

static void asked_options_give_way_to_what_must_be_echoed(void **state)
{
	char info[250] = {1, (char)248};
	struct server *v = server_new();
	uint32_t longest = 0;

	for (uint8_t len = 2; len <= 250; len++) {
		SAY(v, DISCOVER, 1, .parameters = true, .relay_info = info, .relay_info_len = len);
		assert_int_equal(v->m.relay_info_len, len);
		longest = v->len > longest ? v->len : longest;
	}
	assert_int_equal(longest, DHCP4_ANSWER_MAX);
	server_end(v);
}

static void the_client_id_is_the_identity_before_the_mac(void **state)
{
	struct server *v = server_new();

	SAY(v, DISCOVER, 1, .client_id = "\0a", .client_id_len = 2);
	assert_int_equal(v->m.yiaddr, POOL);
	SAY(v, DISCOVER, 1, .client_id = "\0b", .client_id_len = 2);
	assert_int_equal(v->m.yiaddr, POOL + 1);
	SAY(v, DISCOVER, 1);
	assert_int_equal(v->m.yiaddr, POOL + 2);
	SAY(v, DISCOVER, 9, .client_id = "\0a", .client_id_len = 2);
	assert_int_equal(v->m.yiaddr, POOL);
	server_end(v);
}

static void a_requested_address_is_given_when_it_is_free(void **state)
{
	struct server *v = server_new();

	SAY(v, DISCOVER, 1, .requested = POOL + 3);
	assert_int_equal(v->m.yiaddr, POOL + 3);
	SAY(v, DISCOVER, 2, .requested = POOL + 3);
	assert_int_equal(v->m.yiaddr, POOL);
	SAY(v, DISCOVER, 3, .requested = IP(10, 0, 0, 1));
	assert_int_equal(v->m.yiaddr, POOL + 1);
	server_end(v);
}

static void a_release_of_what_one_does_not_have_changes_nothing(void **state)
{
	struct server *v = server_new();

	dora(v, 1);
	SAY(v, RELEASE, 1, .ciaddr = POOL + 1, .server_id = SERVER);
	SAY(v, RELEASE, 2, .ciaddr = POOL, .server_id = SERVER);
	assert_int_equal(v->n.unknown_client, 2);
	SAY(v, RELEASE, 1, .ciaddr = POOL, .server_id = SERVER + 1);
	assert_int_equal(v->n.other_server, 1);
	assert_int_equal(v->n.released, 0);
	assert_int_equal(dora(v, 2), POOL + 1);
	server_end(v);
}

static void assert_nak(struct server *v, uint8_t type, bool relayed)
{
	assert_int_equal(type, DHCP4_NAK);
	assert_int_equal(v->m.yiaddr, 0);
	assert_int_equal(v->m.ciaddr, 0);
	assert_int_equal(v->m.server_id, SERVER);
	assert_int_equal(v->m.flags, relayed ? DHCP4_BROADCAST : 0);
	assert_false(dhcp4_has(&v->m, DHCP4_OPT_LEASE_TIME));
	assert_false(dhcp4_has(&v->m, DHCP4_OPT_SUBNET_MASK));
	assert_int_equal(v->len, 300);
}

static void requests_that_cannot_be_met_get_a_nak(void **state)
{
	struct server *v = server_new();

	dora(v, 1);
	dora(v, 2);
	// SELECTING: another address than the offered one, another client's, one outside the pool.
	assert_nak(v, SAY(v, REQUEST, 1, .requested = POOL + 3, .server_id = SERVER), false);
	assert_nak(v, SAY(v, REQUEST, 8, .requested = POOL, .server_id = SERVER), false);
	assert_nak(v, SAY(v, REQUEST, 8, .requested = 7, .server_id = SERVER), false);
	// INIT-REBOOT: a wrong address, one of another network; through a relay with 82.
	assert_nak(v, SAY(v, REQUEST, 1, .requested = POOL + 1), false);
	assert_nak(v, SAY(v, REQUEST, 8, .requested = 7), false);
	assert_nak(v,
		SAY(v, REQUEST, 1, .requested = POOL + 1, .giaddr = RELAY, .relay_info = RELAY_INFO,
			.relay_info_len = 10),
		true);
	assert_int_equal(v->m.relay_info_len, 10);
	// RENEWING and REBINDING.
	assert_nak(v, SAY(v, REQUEST, 1, .ciaddr = POOL + 1), false);
	assert_nak(v, SAY(v, REQUEST, 8, .ciaddr = 7), false);
	assert_int_equal(v->n.sent[DHCP4_NAK], 8);
	server_end(v);
}

static void a_right_request_is_acknowledged_in_every_state(void **state)
{
	struct server *v = server_new();

	dora(v, 1);
	assert_int_equal(SAY(v, REQUEST, 1, .requested = POOL), DHCP4_ACK); // INIT-REBOOT
	assert_int_equal(v->m.yiaddr, POOL);
	assert_int_equal(v->m.ciaddr, 0);
	assert_int_equal(SAY(v, REQUEST, 1, .ciaddr = POOL), DHCP4_ACK); // RENEWING
	assert_int_equal(v->m.yiaddr, POOL);
	assert_int_equal(v->m.ciaddr, POOL);
	assert_int_equal(v->m.lease_time, 3600);
	assert_int_equal(SAY(v, REQUEST, 1, .ciaddr = POOL, .giaddr = RELAY), DHCP4_ACK);
	assert_int_equal(v->m.giaddr, RELAY);
	server_end(v);
}

static void clients_not_known_are_left_to_others(void **state)
{
	struct dhcp4_answers_settings s = server_settings();
	struct server *v = server_new();

	assert_int_equal(SAY(v, REQUEST, 1, .requested = POOL), 0);
	assert_int_equal(SAY(v, REQUEST, 1, .ciaddr = POOL), 0);
	assert_int_equal(v->n.unknown_client, 2);
	server_end(v);
	s.common.authoritative = true;
	v = server_of(&s);
	assert_int_equal(SAY(v, REQUEST, 1, .ciaddr = POOL + 2), DHCP4_ACK);
	assert_int_equal(v->m.yiaddr, POOL + 2);
	assert_nak(v, SAY(v, REQUEST, 2, .ciaddr = POOL + 2), false);
	assert_int_equal(dora(v, 1), POOL + 2);
	server_end(v);
}

static void a_request_without_an_address_is_malformed(void **state)
{
	struct server *v = server_new();

	assert_int_equal(SAY(v, REQUEST, 1), 0);
	assert_int_equal(SAY(v, REQUEST, 1, .server_id = SERVER), 0);
	assert_int_equal(v->n.malformed, 2);
	server_end(v);
}

static void rapid_commit_is_granted_only_when_set(void **state)
{
	struct dhcp4_answers_settings s = server_settings();
	struct server *v = server_new();

	assert_int_equal(SAY(v, DISCOVER, 1, .rapid = true), DHCP4_OFFER);
	assert_false(dhcp4_has(&v->m, DHCP4_OPT_RAPID_COMMIT));
	server_end(v);
	s.common.rapid = true;
	v = server_of(&s);
	assert_int_equal(SAY(v, DISCOVER, 1), DHCP4_OFFER);
	assert_int_equal(SAY(v, DISCOVER, 2, .rapid = true), DHCP4_ACK);
	assert_true(dhcp4_has(&v->m, DHCP4_OPT_RAPID_COMMIT));
	assert_int_equal(v->m.yiaddr, POOL + 1);
	assert_int_equal(v->m.lease_time, 3600);
	assert_int_equal(v->n.rapid, 1);
	SAY(v, RELEASE, 2, .ciaddr = POOL + 1, .server_id = SERVER);
	assert_int_equal(v->n.released, 1); // it was bound
	server_end(v);
}

static void an_inform_gets_options_without_a_lease(void **state)
{
	struct server *v = server_new();

	assert_int_equal(
		SAY(v, INFORM, 1, .ciaddr = IP(198, 18, 9, 9), .parameters = true), DHCP4_ACK);
	assert_int_equal(v->m.ciaddr, IP(198, 18, 9, 9));
	assert_int_equal(v->m.yiaddr, 0);
	assert_false(dhcp4_has(&v->m, DHCP4_OPT_LEASE_TIME));
	assert_false(dhcp4_has(&v->m, DHCP4_OPT_T1));
	assert_true(dhcp4_has(&v->m, DHCP4_OPT_DNS));
	assert_int_equal(dora(v, 1), POOL);
	server_end(v);
}

static uint32_t option_be32(const struct server *v, uint8_t code)
{
	const uint8_t *p = v->out + dhcp4_find_option(v->out, v->len, code) + 2;

	return IP(p[0], p[1], p[2], p[3]);
}

static void assert_active(struct server *v, uint8_t type)
{
	assert_int_equal(type, DHCP4_LEASEACTIVE);
	assert_int_equal(v->m.ciaddr, POOL);
	assert_int_equal(v->m.yiaddr, 0);
	assert_int_equal(v->m.hlen, 6);
	assert_int_equal(v->m.htype, 1);
	assert_memory_equal(v->m.chaddr, "\2\0\0\0\0\1", 6);
	assert_int_equal(v->m.client_id_len, 15);
	assert_memory_equal(v->m.client_id, CLIENT_ID, 15);
	assert_int_equal(v->m.lease_time, 3600 - 2000);
	assert_int_equal(option_be32(v, DHCP4_OPT_CLIENT_LAST_TIME), 2000);
	assert_false(dhcp4_has(&v->m, DHCP4_OPT_T1)); // has passed
	assert_int_equal(v->m.t2, 3150 - 2000);
	assert_int_equal(v->m.server_id, SERVER);
}

static void a_lease_is_found_by_address_mac_and_client_id(void **state)
{
	struct said c = {.type = DHCP4_REQUEST,
		.client = 1,
		.requested = POOL,
		.server_id = SERVER,
		.client_id = CLIENT_ID,
		.client_id_len = 15};
	struct server *v = server_new();

	assert_int_equal(say(v, c), DHCP4_ACK);
	dora(v, 2);
	v->ctx.now_ms = 2000 * 1000;
	assert_active(
		v, SAY(v, LEASEQUERY, 0, .ciaddr = POOL, .giaddr = RELAY, .no_hardware = true));
	assert_active(v, SAY(v, LEASEQUERY, 1, .giaddr = RELAY));
	assert_active(v, SAY(v, LEASEQUERY, 0, .giaddr = RELAY, .no_hardware = true,
				 .client_id = CLIENT_ID, .client_id_len = 15));
	assert_int_equal(SAY(v, LEASEQUERY, 2, .giaddr = RELAY), DHCP4_LEASEACTIVE);
	assert_int_equal(v->m.ciaddr, POOL + 1);
	assert_false(dhcp4_has(&v->m, DHCP4_OPT_CLIENT_ID));
	server_end(v);
}

// Whichever way leases change hands, the client with a client-id is found by its hardware address.
static void a_lease_is_found_by_the_mac_of_its_last_client(void **state)
{
	struct dhcp4_answers_settings s = server_settings();
	struct rand r = {.state = 5};
	struct server *v;

	s.common.address_twice = 3;
	v = server_of(&s);
	for (uint32_t step = 0; step < 5000; step++) {
		uint8_t client = (uint8_t)(1 + 2 * rand_scale(rand_next(&r), 8));
		uint32_t got = offer(v, client);

		v->ctx.now_ms += 400 * 1000; // nine steps are a lease time
		if (got == NONE)
			continue;
		assert_int_equal(take(v, client, got), got);
		assert_int_equal(SAY(v, LEASEQUERY, client, .giaddr = RELAY), DHCP4_LEASEACTIVE);
		assert_int_equal(v->m.ciaddr, POOL + got);
		if (rand_scale(rand_next(&r), 4) == 0)
			decline(v, client, got);
		else if (rand_scale(rand_next(&r), 3) == 0)
			release(v, client, got);
		else
			continue;
		assert_int_equal(SAY(v, LEASEQUERY, client, .giaddr = RELAY), DHCP4_LEASEUNKNOWN);
	}
	assert_true(v->n.expired > 100 && v->n.address_twice > 100);
	server_end(v);
}

static void of_two_clients_with_one_mac_the_one_with_a_lease_is_found(void **state)
{
	struct dhcp4_answers_settings s = server_settings();
	struct server *v;

	s.common.address_twice = 2;
	v = server_of(&s);
	for (uint32_t i = 0; i < 2; i++) {
		const char *id = i ? "\0b" : "\0a";

		SAY(v, DISCOVER, 1, .client_id = id, .client_id_len = 2);
		assert_int_equal(SAY(v, REQUEST, 1, .client_id = id, .client_id_len = 2,
					 .requested = POOL, .server_id = SERVER),
			DHCP4_ACK);
	}
	SAY(v, RELEASE, 1, .client_id = "\0b", .client_id_len = 2, .ciaddr = POOL,
		.server_id = SERVER);
	assert_int_equal(v->n.released, 1);
	assert_int_equal(SAY(v, LEASEQUERY, 1, .giaddr = RELAY), DHCP4_LEASEACTIVE);
	assert_int_equal(v->m.ciaddr, POOL);
	server_end(v);
}

static void addresses_without_a_lease_are_unassigned_or_unknown(void **state)
{
	struct server *v = server_new();

	dora(v, 1);
	assert_int_equal(
		SAY(v, LEASEQUERY, 0, .ciaddr = POOL + 1, .giaddr = RELAY), DHCP4_LEASEUNASSIGNED);
	assert_int_equal(v->m.ciaddr, POOL + 1);
	assert_int_equal(SAY(v, LEASEQUERY, 0, .ciaddr = 9, .giaddr = RELAY), DHCP4_LEASEUNKNOWN);
	assert_int_equal(SAY(v, LEASEQUERY, 7, .giaddr = RELAY), DHCP4_LEASEUNKNOWN);
	assert_int_equal(
		SAY(v, LEASEQUERY, 1, .giaddr = RELAY, .client_id = "\0x", .client_id_len = 2),
		DHCP4_LEASEUNKNOWN);
	v->ctx.now_ms = 3600 * 1000;
	assert_int_equal(
		SAY(v, LEASEQUERY, 0, .ciaddr = POOL, .giaddr = RELAY), DHCP4_LEASEUNASSIGNED);
	assert_int_equal(SAY(v, LEASEQUERY, 1), 0); // RFC 4388: giaddr must be there
	assert_int_equal(v->n.malformed, 1);
	server_end(v);
}

static void a_server_id_set_by_the_relay_is_ours(void **state)
{
	const char *info = "\1\1a\13\4\xc6\x12\0\x63";
	struct server *v = server_new();

	assert_int_equal(
		SAY(v, DISCOVER, 1, .giaddr = RELAY, .relay_info = info, .relay_info_len = 9),
		DHCP4_OFFER);
	assert_int_equal(v->m.server_id, IP(198, 18, 0, 99));
	assert_int_equal(
		SAY(v, REQUEST, 1, .giaddr = RELAY, .requested = POOL,
			.server_id = IP(198, 18, 0, 99), .relay_info = info, .relay_info_len = 9),
		DHCP4_ACK);
	server_end(v);
}

struct direction_case {
	const char *what;
	uint32_t giaddr, ciaddr, yiaddr;
	uint16_t flags;
	uint8_t type, hlen;
	const char *relay_info;
	bool directed;
	uint32_t dst;
	uint16_t port;
	const char *mac;
};

static void answers_go_where_the_rfc_says(void **state)
{
#define CHADDR   "\2\0\0\0\0\1"
#define EVERYONE "\xff\xff\xff\xff\xff\xff"
#define BACK     "\0\0\0\0\0\0"
	static const struct direction_case cases[] = {
		{"relay", RELAY, 0, POOL, 0, DHCP4_OFFER, 6, NULL, true, RELAY, 67, BACK},
		{"relay, NAK", RELAY, 0, 0, DHCP4_BROADCAST, DHCP4_NAK, 6, NULL, true, RELAY, 67,
			BACK},
		{"relay, renewed", RELAY, POOL, POOL, 0, DHCP4_ACK, 6, NULL, true, RELAY, 67, BACK},
		{"relay with a port", RELAY, 0, POOL, 0, DHCP4_OFFER, 6, "\1\1a\x13\0", false, 0, 0,
			NULL},
		{"renewed", 0, POOL, POOL, DHCP4_BROADCAST, DHCP4_ACK, 6, NULL, true, POOL, 68,
			BACK},
		{"informed", 0, POOL, 0, 0, DHCP4_ACK, 6, NULL, true, POOL, 68, BACK},
		{"broadcast", 0, 0, POOL, DHCP4_BROADCAST, DHCP4_OFFER, 6, NULL, true, ~0u, 68,
			EVERYONE},
		{"unicast", 0, 0, POOL, 0, DHCP4_OFFER, 6, NULL, true, POOL, 68, CHADDR},
		{"no Ethernet", 0, 0, POOL, 0, DHCP4_OFFER, 8, NULL, true, ~0u, 68, EVERYONE},
		{"NAK", 0, 0, 0, 0, DHCP4_NAK, 6, NULL, true, ~0u, 68, EVERYONE},
		{"nobody", 0, 0, 0, 0, DHCP4_ACK, 6, NULL, false, 0, 0, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct direction_case *c = &cases[i];
		struct said said = {.type = c->type,
			.client = 1,
			.ciaddr = c->ciaddr,
			.giaddr = c->giaddr,
			.flags = c->flags,
			.relay_info = c->relay_info,
			.relay_info_len = 5};
		struct proto_direction to;
		uint8_t buf[512], dst[4];
		uint32_t len = said_write(&said, buf, sizeof(buf));

		put32(buf + DHCP4_AT_YIADDR, c->yiaddr);
		put32(dst, c->dst);
		buf[DHCP4_AT_HLEN] = c->hlen;
		if (dhcp4_direct(buf, len, &to) != c->directed)
			fail_msg("%s", c->what);
		if (!c->directed)
			continue;
		if (memcmp(to.dst, dst, 4) || to.dst_port != c->port || memcmp(to.mac, c->mac, 6))
			fail_msg("%s", c->what);
	}
}

static void what_is_no_request_is_not_answered(void **state)
{
	struct said c = {.type = DHCP4_DISCOVER, .client = 1};
	struct server *v = server_new();
	uint8_t buf[512];
	uint32_t len = said_write(&c, buf, sizeof(buf));

	buf[DHCP4_AT_OP] = DHCP4_REPLY_OP;
	assert_int_equal(hear(v, buf, len), 0);
	buf[DHCP4_AT_OP] = DHCP4_REQUEST_OP;
	buf[DHCP4_OPTIONS_AT + 2] = DHCP4_OFFER;
	assert_int_equal(hear(v, buf, len), 0);
	buf[DHCP4_OPTIONS_AT + 2] = DHCP4_TYPES;
	assert_int_equal(hear(v, buf, len), 0);
	assert_int_equal(v->n.ignored, 3);
	assert_int_equal(v->n.type[0], 1);
	buf[DHCP4_OPTIONS_AT] = DHCP4_OPT_PAD; // no type
	buf[DHCP4_OPTIONS_AT + 1] = DHCP4_OPT_END;
	assert_int_equal(hear(v, buf, len), 0);
	said_write(&c, buf, sizeof(buf));
	buf[DHCP4_AT_HLEN] = 17;
	assert_int_equal(hear(v, buf, len), 0);
	assert_int_equal(v->n.malformed, 2);
	server_end(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_RULES,
		cmocka_unit_test(an_offer_mirrors_the_request),
		cmocka_unit_test(only_asked_options_are_added),
		cmocka_unit_test(asked_options_give_way_to_what_must_be_echoed),
		cmocka_unit_test(the_client_id_is_the_identity_before_the_mac),
		cmocka_unit_test(a_requested_address_is_given_when_it_is_free),
		cmocka_unit_test(a_release_of_what_one_does_not_have_changes_nothing),
		cmocka_unit_test(requests_that_cannot_be_met_get_a_nak),
		cmocka_unit_test(a_right_request_is_acknowledged_in_every_state),
		cmocka_unit_test(clients_not_known_are_left_to_others),
		cmocka_unit_test(a_request_without_an_address_is_malformed),
		cmocka_unit_test(rapid_commit_is_granted_only_when_set),
		cmocka_unit_test(an_inform_gets_options_without_a_lease),
		cmocka_unit_test(a_lease_is_found_by_address_mac_and_client_id),
		cmocka_unit_test(a_lease_is_found_by_the_mac_of_its_last_client),
		cmocka_unit_test(of_two_clients_with_one_mac_the_one_with_a_lease_is_found),
		cmocka_unit_test(addresses_without_a_lease_are_unassigned_or_unknown),
		cmocka_unit_test(a_server_id_set_by_the_relay_is_ours),
		cmocka_unit_test(answers_go_where_the_rfc_says),
		cmocka_unit_test(what_is_no_request_is_not_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

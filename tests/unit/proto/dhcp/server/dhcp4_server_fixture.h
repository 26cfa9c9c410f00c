// SPDX-License-Identifier: BSD-3-Clause
// A DHCPv4 server with a small pool, messages of its clients, and its parsed replies. Path: tests
// only.
#pragma once

#include "proto/dhcp/server/dhcp4_answer.h"

#define FAMILY(name)          dhcp4_##name
#define FAMILY_LEN            4
#define FIRST                 16 // last byte of the first address
#define OPTIONS_AT            DHCP4_OPTIONS_AT
#define LEASE_S               3600
#define GIVING_BACK_IS_SILENT true
#define SERVER_REPLY                                                                               \
	struct dhcp4_scratch scratch;                                                              \
	struct dhcp4_message m;

#include "dhcp_server_fixture.h"

#define IP(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))
#define POOL           IP(198, 18, 64, 16) // first of four
#define SERVER         IP(198, 18, 0, 2)
#define RELAY          IP(198, 18, 0, 70)
#define XID            0x12345678
#define RELAY_INFO     "\1\4abcd\2\2ef"
#define CLIENT_ID      "\xff\0\0\0\1\0\3\0\1\2\0\0\0\0\1"

static const struct addr_range test_pool = {{4, {198, 18, 64, 16}}, POOL_SIZE};
static const struct addr test_router = {4, {198, 18, 64, 1}};
static const struct addr test_dns[2] = {{4, {198, 18, 0, 8}}, {4, {198, 18, 0, 9}}};

static inline struct dhcp4_answers_settings server_settings(void)
{
	return (struct dhcp4_answers_settings){
		.common.pool = {(void *)&test_pool, 1},
		.common.clients = UINT64_MAX,
		.common.lease_ns = LEASE_S * 1000000000ull,
		.common.t1_ns = UINT64_MAX,
		.common.t2_ns = UINT64_MAX,
		.server_id = {4, {198, 18, 0, 2}},
		.router = {(void *)&test_router, 1},
		.common.dns = {(void *)test_dns, 2},
		.common.domain = "example.com",
	};
}

static inline void reply_read(struct server *v)
{
	assert_true(dhcp4_parse(v->out, v->len, &v->scratch, &v->m));
}

// A message of a client; 0 or NULL: without the field.
struct said {
	uint8_t type;
	uint8_t client; // last byte of its MAC
	uint32_t ciaddr, giaddr, requested, server_id;
	uint16_t flags;
	bool rapid, parameters;
	const char *client_id, *relay_info; // texts as bytes
	uint8_t client_id_len, relay_info_len;
	bool no_hardware;
};

static inline void put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline uint32_t said_write(const struct said *c, uint8_t *buf, uint32_t room)
{
	struct writer w = writer_of(buf, room);
	uint8_t *h = write_space(&w, DHCP4_OPTIONS_AT);

	memset(h, 0, DHCP4_OPTIONS_AT);
	h[DHCP4_AT_OP] = DHCP4_REQUEST_OP;
	h[DHCP4_AT_HTYPE] = !c->no_hardware;
	h[DHCP4_AT_HLEN] = c->no_hardware ? 0 : 6;
	h[DHCP4_AT_HOPS] = c->giaddr != 0;
	h[DHCP4_AT_SECS + 1] = 3;
	put32(h + DHCP4_AT_XID, XID);
	h[DHCP4_AT_FLAGS] = (uint8_t)(c->flags >> 8);
	put32(h + DHCP4_AT_CIADDR, c->ciaddr);
	put32(h + DHCP4_AT_GIADDR, c->giaddr);
	put32(h + DHCP4_AT_COOKIE, DHCP4_COOKIE);
	if (!c->no_hardware) {
		h[DHCP4_AT_CHADDR] = 2;
		h[DHCP4_AT_CHADDR + 5] = c->client;
	}
	dhcp4_write_option_u8(&w, DHCP4_OPT_TYPE, c->type);
	if (c->requested)
		dhcp4_write_option_be32(&w, DHCP4_OPT_REQUESTED_ADDRESS, c->requested);
	if (c->server_id)
		dhcp4_write_option_be32(&w, DHCP4_OPT_SERVER_ID, c->server_id);
	if (c->parameters)
		dhcp4_write_option(&w, DHCP4_OPT_PARAMETERS, "\1\3\6\17\x2a\3", 6);
	if (c->rapid)
		dhcp4_write_option(&w, DHCP4_OPT_RAPID_COMMIT, NULL, 0);
	if (c->client_id)
		dhcp4_write_option(&w, DHCP4_OPT_CLIENT_ID, c->client_id, c->client_id_len);
	if (c->relay_info)
		dhcp4_write_option(&w, DHCP4_OPT_RELAY_INFO, c->relay_info, c->relay_info_len);
	write_u8(&w, DHCP4_OPT_END);
	assert_false(w.failed);
	return (uint32_t)(w.at - buf);
}

// Returns the type of the reply; 0: none.
static inline uint8_t say(struct server *v, struct said c)
{
	uint8_t buf[1024];

	return hear(v, buf, said_write(&c, buf, sizeof(buf))) ? v->m.type : 0;
}

#define SAY(v, type_, client_, ...)                                                                \
	say(v, (struct said){.type = DHCP4_##type_, .client = client_, ##__VA_ARGS__})

// Sends DISCOVER and REQUEST. Returns the address that the client gets.
static inline uint32_t dora(struct server *v, uint8_t client)
{
	uint32_t offered;

	assert_int_equal(SAY(v, DISCOVER, client), DHCP4_OFFER);
	offered = v->m.yiaddr;
	assert_int_equal(
		SAY(v, REQUEST, client, .requested = offered, .server_id = SERVER), DHCP4_ACK);
	assert_int_equal(v->m.yiaddr, offered);
	return offered;
}

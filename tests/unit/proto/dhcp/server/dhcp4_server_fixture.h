// SPDX-License-Identifier: BSD-3-Clause
// A DHCPv4 responder with a small pool, clients' messages for it, and its answers taken apart.
// Path: tests only.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/dhcp/server/dhcp4_answer.h"
#define IP(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))
#define POOL           IP(198, 18, 64, 16) // first of four
#define POOL_SIZE      4
#define SERVER         IP(198, 18, 0, 2)
#define RELAY          IP(198, 18, 0, 70)
#define XID            0x12345678
#define RELAY_INFO     "\1\4abcd\2\2ef"
#define CLIENT_ID      "\xff\0\0\0\1\0\3\0\1\2\0\0\0\0\1"

static const struct addr_range test_pool = {{4, {198, 18, 64, 16}}, POOL_SIZE};
static const struct addr test_router = {4, {198, 18, 64, 1}};
static const struct addr test_dns[2] = {{4, {198, 18, 0, 8}}, {4, {198, 18, 0, 9}}};

struct server {
	struct proto_ctx ctx;
	struct dhcp_answer_counters n;
	struct dhcp4_scratch scratch;
	uint8_t out[2048];
	uint32_t room, len; // of the last answer
	struct dhcp4_message m;
};

static inline struct dhcp4_answers_settings server_settings(void)
{
	return (struct dhcp4_answers_settings){
		.common.pool = {(void *)&test_pool, 1},
		.common.clients = UINT64_MAX,
		.common.lease_ns = 3600000000000,
		.common.t1_ns = UINT64_MAX,
		.common.t2_ns = UINT64_MAX,
		.server_id = {4, {198, 18, 0, 2}},
		.router = {(void *)&test_router, 1},
		.common.dns = {(void *)test_dns, 2},
		.common.domain = "example.com",
	};
}

static inline struct server *server_of(const struct dhcp4_answers_settings *s)
{
	struct server *v = calloc(1, sizeof(*v));
	const struct proto_env env = {.workers = 1, .seed = 7};
	struct diag *d = diag_new();

	v->ctx.shared = dhcp4_answers_setup(s, &env, d);
	assert_int_equal(diag_count(d), 0);
	assert_non_null(v->ctx.shared);
	assert_int_equal(dhcp4_answers_open(&v->ctx, &env), 0);
	v->ctx.counters = &v->n;
	v->room = sizeof(v->out);
	diag_free(d);
	return v;
}

static inline struct server *server_new(void)
{
	struct dhcp4_answers_settings s = server_settings();

	return server_of(&s);
}

static inline uint64_t server_outcomes(const struct dhcp_answer_counters *n)
{
	return n->answered + n->released + n->declined + n->pool_full + n->other_server +
	       n->unknown_client + n->ignored + n->malformed;
}

static inline void server_end(struct server *v)
{
	assert_int_equal(v->n.received, server_outcomes(&v->n));
	dhcp_answers_close(&v->ctx);
	dhcp_answers_teardown((void *)v->ctx.shared);
	free(v);
}

// What a client says; 0 or NULL: it does not.
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

// In blocks of exactly the size, so that a sanitizer sees every access beyond.
static inline uint32_t hear(struct server *v, const void *bytes, uint32_t len)
{
	uint8_t *exact = malloc(len ? len : 1), *out = malloc(v->room ? v->room : 1);

	memcpy(exact, bytes, len);
	v->len = dhcp4_answer(&v->ctx, exact, len, out, v->room);
	assert_true(v->len <= v->room);
	memcpy(v->out, out, v->len);
	free(exact);
	free(out);
	if (v->len)
		assert_true(dhcp4_parse(v->out, v->len, &v->scratch, &v->m));
	return v->len;
}

// The type of the answer; 0: none.
static inline uint8_t say(struct server *v, struct said c)
{
	uint8_t buf[1024];

	return hear(v, buf, said_write(&c, buf, sizeof(buf))) ? v->m.type : 0;
}

#define SAY(v, type_, client_, ...)                                                                \
	say(v, (struct said){.type = DHCP4_##type_, .client = client_, ##__VA_ARGS__})

// Discover and request: the address that it gets.
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

// SPDX-License-Identifier: BSD-3-Clause
// A DHCPv6 server with four addresses and four prefixes, messages of its clients, and its parsed
// replies. Path: tests only.
#pragma once

#include "proto/dhcp/server/dhcp6_answer.h"

#define FAMILY(name)          dhcp6_##name
#define FAMILY_LEN            16
#define FIRST                 16 // last byte of the first address
#define OPTIONS_AT            DHCP6_RELAY_LEN
#define LEASE_S               4000
#define GIVING_BACK_IS_SILENT false
#define SERVER_REPLY                                                                               \
	struct dhcp6_envelope e;                                                                   \
	struct dhcp6_message m;

#include "dhcp_server_fixture.h"

#define XID       0x123456
#define SERVER_ID "\0\3\0\1\2\0\0\0\0\2"

static const struct addr_range test_pool = {
	{16, {0x20, 1, 0x0d, 0xb8, 0, 0, 0, 1, [15] = 0x10}}, POOL_SIZE};
static const struct addr_prefix test_prefixes = {{16, {0x20, 1, 0x0d, 0xb8, 0x80}}, 54};
static const struct addr test_dns[2] = {
	{16, {0x20, 1, 0x0d, 0xb8, [15] = 0x53}}, {16, {0x20, 1, 0x0d, 0xb8, [15] = 0x54}}};
static const uint8_t test_link[16] = {0x20, 1, 0x0d, 0xb8, [15] = 1};
static const uint8_t test_peer[16] = {0xfe, 0x80, [15] = 2};

static inline struct dhcp6_answers_settings server_settings(void)
{
	return (struct dhcp6_answers_settings){
		.common.pool = {(void *)&test_pool, 1},
		.common.prefixes = {(void *)&test_prefixes, 1},
		.common.prefix_length = 56,
		.common.clients = 1000000,
		.common.lease_ns = LEASE_S * 1000000000ull,
		.common.preferred_ns = UINT64_MAX,
		.common.t1_ns = UINT64_MAX,
		.common.t2_ns = UINT64_MAX,
		.server_id = {(const uint8_t *)SERVER_ID, sizeof(SERVER_ID) - 1},
		.preference = UINT64_MAX,
		.unicast = true,
	};
}

static inline void reply_read(struct server *v)
{
	assert_true(dhcp6_unwrap(v->out, v->len, &v->e));
	assert_true(dhcp6_parse(v->e.inner, v->e.inner_len, &v->m));
}

// A message of a client; 0 or NULL: without the field.
struct said {
	uint8_t type;
	uint8_t client; // last byte of its DUID
	uint8_t levels; // of relays
	uint8_t nas, pds, tas;
	const uint8_t *address, *prefix; // in the first IA of each kind
	const uint8_t *second;           // address in the second IA_NA
	uint8_t bits;                    // of the prefix; 0: 56
	bool no_client_id;
	bool to_us, to_other; // server identifier
	bool rapid, relay_port, no_interface_id;
	bool one_interface_id; // of the outermost relay
	const char *oro;
	uint16_t oro_len;
};

static inline void said_ia(
	struct writer *w, uint16_t type, uint32_t iaid, const uint8_t *address, uint8_t bits)
{
	uint8_t *begin = dhcp6_ia_begin(w, type, iaid, 0, 0);
	const struct dhcp6_lease l = {.address = address,
		.preferred_s = 8,
		.valid_s = 9,
		.bits = bits,
		.status = DHCP6_STATUS_NONE};

	if (address)
		dhcp6_write_lease(w, dhcp6_lease_code(type), &l);
	dhcp6_option_end(w, begin);
}

static inline void said_ias(const struct said *c, struct writer *w)
{
	for (uint32_t i = 0; i < c->nas; i++)
		said_ia(w, DHCP6_OPT_IA_NA, i + 1,
			i == 0   ? c->address
			: i == 1 ? c->second
				 : NULL,
			128);
	for (uint32_t i = 0; i < c->pds; i++)
		said_ia(w, DHCP6_OPT_IA_PD, i + 1, i ? NULL : c->prefix, c->bits ? c->bits : 56);
	for (uint32_t i = 0; i < c->tas; i++)
		said_ia(w, DHCP6_OPT_IA_TA, i + 1, NULL, 128);
}

static inline void said_message(const struct said *c, struct writer *w)
{
	uint8_t duid[10] = {0, 3, 0, 1, 2, 0, 0, 0, 0, c->client};

	dhcp6_write_header(w, c->type, XID);
	if (!c->no_client_id)
		dhcp6_write_option(w, DHCP6_OPT_CLIENT_ID, duid, sizeof(duid));
	if (c->to_us)
		dhcp6_write_option(w, DHCP6_OPT_SERVER_ID, SERVER_ID, sizeof(SERVER_ID) - 1);
	if (c->to_other)
		dhcp6_write_option(w, DHCP6_OPT_SERVER_ID, "\0\3\0\1\2\0\0\0\0\3", 10);
	said_ias(c, w);
	dhcp6_write_option_be16(w, DHCP6_OPT_ELAPSED_TIME, 0);
	if (c->oro)
		dhcp6_write_option(w, DHCP6_OPT_ORO, c->oro, c->oro_len);
	if (c->rapid)
		dhcp6_write_option(w, DHCP6_OPT_RAPID_COMMIT, NULL, 0);
}

static inline uint32_t said_write(const struct said *c, uint8_t *buf, uint32_t room)
{
	struct writer w = writer_of(buf, room);
	uint8_t *begins[DHCP6_LEVELS_MAX];

	for (uint8_t i = 0; i < c->levels; i++) {
		uint8_t hop = (uint8_t)(c->levels - 1 - i), id[4] = {'e', 't', 'h', hop};

		dhcp6_write_relay(&w, DHCP6_RELAY_FORW, hop, test_link, test_peer);
		dhcp6_write_option(&w, DHCP6_OPT_REMOTE_ID, "\0\0\1\2remote", 10);
		if (!c->no_interface_id && (i == 0 || !c->one_interface_id))
			dhcp6_write_option(&w, DHCP6_OPT_INTERFACE_ID, id, 4);
		if (c->relay_port && i == 0)
			dhcp6_write_option_be16(&w, DHCP6_OPT_RELAY_PORT, 0);
		begins[i] = dhcp6_option_begin(&w, DHCP6_OPT_RELAY_MESSAGE);
	}
	said_message(c, &w);
	for (uint8_t i = c->levels; i-- > 0;)
		dhcp6_option_end(&w, begins[i]);
	assert_false(w.failed);
	return (uint32_t)(w.at - buf);
}

// Returns the type of the reply; 0: none.
static inline uint8_t say(struct server *v, struct said c)
{
	uint8_t buf[2048];

	if (!hear(v, buf, said_write(&c, buf, sizeof(buf))))
		return 0;
	assert_int_equal(v->m.xid, XID);
	return v->m.type;
}

#define SAY(v, type_, client_, ...)                                                                \
	say(v, (struct said){.type = DHCP6_##type_, .client = client_, ##__VA_ARGS__})

// Returns the number, within test_pool or test_prefixes, of the address or prefix in the i-th IA of
// the reply; UINT32_MAX: none.
static inline uint32_t given(const struct server *v, uint32_t i)
{
	const struct dhcp6_ia *ia = &v->m.ias[i];
	const uint8_t *a = ia->leases[0].address;
	uint8_t base[16];

	if (i >= v->m.ia_count || ia->lease_count == 0)
		return UINT32_MAX;
	if (ia->type != DHCP6_OPT_IA_PD) {
		memcpy(base, test_pool.first.bytes, 16);
		assert_memory_equal(a, base, 15);
		return a[15] - base[15];
	}
	memcpy(base, test_prefixes.addr.bytes, 16);
	assert_int_equal(ia->leases[0].bits, 56);
	assert_memory_equal(a, base, 6);
	assert_memory_equal(a + 7, base + 7, 9);
	return a[6];
}

// Makes a SARR for one address and one prefix. Returns the number of the address.
static inline uint32_t sarr(struct server *v, uint8_t client)
{
	uint32_t advertised;

	assert_int_equal(SAY(v, SOLICIT, client, .nas = 1, .pds = 1), DHCP6_ADVERTISE);
	advertised = given(v, 0);
	assert_int_equal(SAY(v, REQUEST, client, .nas = 1, .pds = 1, .to_us = true), DHCP6_REPLY);
	assert_int_equal(given(v, 0), advertised);
	assert_int_equal(given(v, 1), advertised);
	return advertised;
}

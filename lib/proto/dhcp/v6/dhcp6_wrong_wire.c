// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 messages that are wrong on purpose: how each kind is spoilt. The transaction ID and the
// relay messages around it are left as they are, so that an answer comes and is known. Path: hot.
// The worker that owns them.

#include "proto/dhcp/client/dhcp_wrong.h"
#include "proto/dhcp/v6/dhcp6_plan.h"

#define TYPE_UNKNOWN  200 // and above
#define DUID_TOO_LONG 200

// Another option in place of the first one with this code, or behind all of them.
static void option_set(
	uint8_t *m, struct writer *w, uint16_t code, uint16_t as, const void *data, uint16_t len)
{
	uint32_t at = dhcp6_find_option(m, DHCP6_HEADER_LEN, (uint32_t)(w->at - m), code), old = 0;
	uint8_t option[DHCP6_OPTION_LEN + DUID_TOO_LONG];

	if (at)
		old = DHCP6_OPTION_LEN + bytes_be16(m + at + 2);
	bytes_put_be16(option, as);
	bytes_put_be16(option + 2, len);
	memcpy(option + DHCP6_OPTION_LEN, data, len);
	dhcp_wrong_replace(w, at ? m + at : w->at, old, option, DHCP6_OPTION_LEN + len);
}

// In place of the first IA.
static void ia_set(uint8_t *m, struct writer *w, const void *data, uint16_t len)
{
	uint32_t all = (uint32_t)(w->at - m);
	bool prefix = !dhcp6_find_option(m, DHCP6_HEADER_LEN, all, DHCP6_OPT_IA_NA);

	option_set(m, w, prefix ? DHCP6_OPT_IA_PD : DHCP6_OPT_IA_NA, DHCP6_OPT_IA_NA, data, len);
}

static void empty(uint8_t *m, struct writer *w, uint64_t random)
{
	w->at = m + DHCP6_HEADER_LEN;
}

static void cut(uint8_t *m, struct writer *w, uint64_t random)
{
	write_be16(w, DHCP6_OPT_USER_CLASS);
	write_be16(w, UINT8_MAX);
	write_bytes(w, "cut", 3);
}

static void type(uint8_t *m, struct writer *w, uint64_t random)
{
	m[0] = (uint8_t)(TYPE_UNKNOWN + random % (256 - TYPE_UNKNOWN));
}

static void reply(uint8_t *m, struct writer *w, uint64_t random)
{
	m[0] = DHCP6_REPLY;
}

static void no_client_id(uint8_t *m, struct writer *w, uint64_t random)
{
	uint32_t at =
		dhcp6_find_option(m, DHCP6_HEADER_LEN, (uint32_t)(w->at - m), DHCP6_OPT_CLIENT_ID);

	if (at)
		dhcp_wrong_replace(w, m + at, DHCP6_OPTION_LEN + bytes_be16(m + at + 2), "", 0);
}

static void duid_empty(uint8_t *m, struct writer *w, uint64_t random)
{
	option_set(m, w, DHCP6_OPT_CLIENT_ID, DHCP6_OPT_CLIENT_ID, "", 0);
}

// DUID-EN.
static void duid_long(uint8_t *m, struct writer *w, uint64_t random)
{
	uint8_t duid[DUID_TOO_LONG] = {0, 2};

	memcpy(duid + 2, &random, sizeof(random));
	option_set(m, w, DHCP6_OPT_CLIENT_ID, DHCP6_OPT_CLIENT_ID, duid, sizeof(duid));
}

static void duid_twice(uint8_t *m, struct writer *w, uint64_t random)
{
	dhcp6_write_option(w, DHCP6_OPT_CLIENT_ID, "\0\3\0\1\2\0\0\0\0", 10);
}

static void server_id(uint8_t *m, struct writer *w, uint64_t random)
{
	option_set(m, w, DHCP6_OPT_SERVER_ID, DHCP6_OPT_SERVER_ID, "\0\3\0\1nobody", 10);
}

static void ia(uint8_t *m, struct writer *w, uint64_t random)
{
	ia_set(m, w, "\0\0\0\1", 4);
}

static void ia_address(uint8_t *m, struct writer *w, uint64_t random)
{
	static const uint8_t content[12 + DHCP6_OPTION_LEN + 10] = {
		[3] = 1, [13] = DHCP6_OPT_IA_ADDRESS, [15] = 10};

	ia_set(m, w, content, sizeof(content));
}

static void elapsed(uint8_t *m, struct writer *w, uint64_t random)
{
	option_set(m, w, DHCP6_OPT_ELAPSED_TIME, DHCP6_OPT_ELAPSED_TIME, "", 1);
}

static void oro(uint8_t *m, struct writer *w, uint64_t random)
{
	option_set(m, w, DHCP6_OPT_ORO, DHCP6_OPT_ORO, "\0\27\0", 3);
}

static void octets(uint8_t *m, struct writer *w, uint64_t random)
{
	dhcp_wrong_random(m + DHCP6_HEADER_LEN, w, random);
}

static dhcp_spoil *const spoils[DHCP_WRONG_COUNT] = {
	[DHCP6_WRONG_EMPTY] = empty,
	[DHCP6_WRONG_CUT] = cut,
	[DHCP6_WRONG_TYPE] = type,
	[DHCP6_WRONG_REPLY] = reply,
	[DHCP6_WRONG_NO_CLIENT_ID] = no_client_id,
	[DHCP6_WRONG_DUID_EMPTY] = duid_empty,
	[DHCP6_WRONG_DUID_LONG] = duid_long,
	[DHCP6_WRONG_DUID_TWICE] = duid_twice,
	[DHCP6_WRONG_SERVER_ID] = server_id,
	[DHCP6_WRONG_IA] = ia,
	[DHCP6_WRONG_IA_ADDRESS] = ia_address,
	[DHCP6_WRONG_ELAPSED] = elapsed,
	[DHCP6_WRONG_ORO] = oro,
	[DHCP6_WRONG_RANDOM] = octets,
};

void dhcp6_wrong_spoil(uint32_t kind, uint8_t *m, struct writer *w, uint64_t random)
{
	if (!w->failed)
		spoils[kind](m, w, random);
}

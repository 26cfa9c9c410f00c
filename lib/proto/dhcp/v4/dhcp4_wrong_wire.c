// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 messages that are wrong on purpose: how each kind is spoilt. Transaction ID and giaddr are
// left as they are, so that an answer comes and is known. Path: hot. The worker that owns them.

#include "proto/dhcp/client/dhcp_wrong.h"
#include "proto/dhcp/v4/dhcp4_plan.h"

#define TYPE_UNKNOWN 200 // and above
#define FIELD(at_)   (m + DHCP4_AT_##at_)

static uint8_t *option_at(uint8_t *m, const struct writer *w, uint8_t code)
{
	uint32_t at = dhcp4_find_option(m, (uint32_t)(w->at - m), code);

	return at ? m + at : NULL;
}

static void option_remove(uint8_t *m, struct writer *w, uint8_t code)
{
	uint8_t *at = option_at(m, w, code);

	if (at)
		dhcp_wrong_replace(w, at, 2u + at[1], "", 0);
}

// In front of END.
static void option_add(uint8_t *m, struct writer *w, const void *option, uint32_t len)
{
	uint8_t *end = option_at(m, w, DHCP4_OPT_END);

	if (end)
		dhcp_wrong_replace(w, end, 0, option, len);
}

static void header(uint8_t *m, struct writer *w, uint64_t random)
{
	w->at = FIELD(SECS) + random % (DHCP4_HEADER_LEN - DHCP4_AT_SECS);
}

static void cookie(uint8_t *m, struct writer *w, uint64_t random)
{
	bytes_put_be32(FIELD(COOKIE), 0);
}

static void end(uint8_t *m, struct writer *w, uint64_t random)
{
	uint8_t *at = option_at(m, w, DHCP4_OPT_END);

	if (at)
		w->at = at;
}

static void cut(uint8_t *m, struct writer *w, uint64_t random)
{
	end(m, w, random);
	write_u8(w, DHCP4_OPT_HOST_NAME);
	write_u8(w, UINT8_MAX);
	write_bytes(w, "cut", 3);
}

static void length(uint8_t *m, struct writer *w, uint64_t random)
{
	uint8_t *at = option_at(m, w, DHCP4_OPT_TYPE);

	if (at)
		dhcp_wrong_replace(w, at, 3, (const uint8_t[]){DHCP4_OPT_TYPE, 0}, 2);
}

static void type(uint8_t *m, struct writer *w, uint64_t random)
{
	uint8_t *at = option_at(m, w, DHCP4_OPT_TYPE);

	if (at)
		at[2] = (uint8_t)(TYPE_UNKNOWN + random % (256 - TYPE_UNKNOWN));
}

static void no_type(uint8_t *m, struct writer *w, uint64_t random)
{
	option_remove(m, w, DHCP4_OPT_TYPE);
}

static void hlen(uint8_t *m, struct writer *w, uint64_t random)
{
	*FIELD(HLEN) = UINT8_MAX;
}

static void nobody(uint8_t *m, struct writer *w, uint64_t random)
{
	*FIELD(HLEN) = 0;
	memset(FIELD(CHADDR), 0, DHCP4_CHADDR_LEN);
	option_remove(m, w, DHCP4_OPT_CLIENT_ID);
}

// Both fields are options, which say so again.
static void overload(uint8_t *m, struct writer *w, uint64_t random)
{
	static const uint8_t again[] = {DHCP4_OPT_OVERLOAD, 1, 3};

	option_add(m, w, again, sizeof(again));
	memcpy(FIELD(FILE), again, sizeof(again));
	memcpy(FIELD(SNAME), again, sizeof(again));
}

static void client_id(uint8_t *m, struct writer *w, uint64_t random)
{
	option_remove(m, w, DHCP4_OPT_CLIENT_ID);
	option_add(m, w, (const uint8_t[]){DHCP4_OPT_CLIENT_ID, 0}, 2);
}

static void relay_info(uint8_t *m, struct writer *w, uint64_t random)
{
	option_remove(m, w, DHCP4_OPT_RELAY_INFO);
	option_add(m, w, (const uint8_t[]){DHCP4_OPT_RELAY_INFO, 4, 1, UINT8_MAX, 'a', 'b'}, 6);
}

static void reply(uint8_t *m, struct writer *w, uint64_t random)
{
	*FIELD(OP) = DHCP4_REPLY_OP;
}

static void octets(uint8_t *m, struct writer *w, uint64_t random)
{
	dhcp_wrong_random(m + DHCP4_OPTIONS_AT, w, random);
}

static dhcp_spoil *const spoils[DHCP_WRONG_COUNT] = {
	[DHCP4_WRONG_HEADER] = header,
	[DHCP4_WRONG_COOKIE] = cookie,
	[DHCP4_WRONG_END] = end,
	[DHCP4_WRONG_CUT] = cut,
	[DHCP4_WRONG_LENGTH] = length,
	[DHCP4_WRONG_TYPE] = type,
	[DHCP4_WRONG_NO_TYPE] = no_type,
	[DHCP4_WRONG_HLEN] = hlen,
	[DHCP4_WRONG_NOBODY] = nobody,
	[DHCP4_WRONG_OVERLOAD] = overload,
	[DHCP4_WRONG_CLIENT_ID] = client_id,
	[DHCP4_WRONG_RELAY_INFO] = relay_info,
	[DHCP4_WRONG_REPLY] = reply,
	[DHCP4_WRONG_RANDOM] = octets,
};

uint32_t dhcp4_wrong_spoil(
	uint32_t kind, uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	struct writer w = writer_of(buf + len, room - len);

	spoils[kind](buf, &w, random);
	return w.failed ? 0 : (uint32_t)(w.at - buf);
}

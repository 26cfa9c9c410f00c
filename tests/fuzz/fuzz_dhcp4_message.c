// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 messages from anyone: what the parser tells must lie in the message or in the scratch, and
// agree with a look-up by hand, and what it remembers of layouts must not change what it finds. The
// first byte says whether the cookie is put right, and which
// option the rest is then written as and read back. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/v4/dhcp4_message.h"
#include "unit/proto/dhcp/v4/dhcp4_same.h"

#define PUT_COOKIE  1 // of the first byte
#define MESSAGE_MAX 65535
#define SPOILT_MAX  600 // beyond it there are no layouts, only time

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dhcp4_scratch *scratch, *fresh; // fresh: that knows no layout

static void check_inside(const void *start, size_t len, const uint8_t *p, size_t p_len)
{
	uintptr_t first = (uintptr_t)start, at = (uintptr_t)p;

	if (at < first || at - first > len || p_len > len - (at - first))
		abort();
}

static bool in_scratch(const uint8_t *p)
{
	return (uintptr_t)p - (uintptr_t)scratch < sizeof(*scratch);
}

static void check_piece(const uint8_t *buf, uint32_t len, const uint8_t *p, uint16_t p_len)
{
	if (p && in_scratch(p))
		check_inside(scratch, sizeof(*scratch), p, p_len);
	else if (p)
		check_inside(buf, len, p, p_len);
	else if (p_len)
		abort();
}

static void check_pointers(const uint8_t *buf, uint32_t len, const struct dhcp4_message *m)
{
	check_piece(buf, len, m->chaddr, m->chaddr ? DHCP4_CHADDR_LEN : 0);
	check_piece(buf, len, m->client_id, m->client_id_len);
	check_piece(buf, len, m->relay_info, m->relay_info_len);
	check_piece(buf, len, m->message, m->message_len);
	check_piece(buf, len, m->parameters, m->parameters_len);
	if (m->parameters && in_scratch(m->parameters))
		abort();
}

// An option that is in one piece lies where the look-up finds it.
static void check_place(const uint8_t *buf, uint32_t at, const uint8_t *p, uint16_t p_len)
{
	if (!p || in_scratch(p))
		return;
	if (p != buf + at + 2 || p_len != buf[at + 1])
		abort();
}

static void check_places(const uint8_t *buf, uint32_t len, const struct dhcp4_message *m)
{
	if (dhcp4_has(m, DHCP4_OPT_PAD) || dhcp4_has(m, DHCP4_OPT_END))
		abort();
	if ((dhcp4_find_option(buf, len, DHCP4_OPT_END) != 0) != m->has_end)
		abort();
	if (dhcp4_has(m, DHCP4_OPT_OVERLOAD))
		return;
	for (uint32_t code = 1; code < DHCP4_OPT_END; code++) {
		uint32_t at = dhcp4_find_option(buf, len, (uint8_t)code);

		if ((at != 0) != dhcp4_has(m, (uint8_t)code))
			abort();
		if (at && (buf[at] != code || at + 2 + buf[at + 1] > len))
			abort();
	}
	check_place(buf, dhcp4_find_option(buf, len, DHCP4_OPT_CLIENT_ID), m->client_id,
		m->client_id_len);
	check_place(buf, dhcp4_find_option(buf, len, DHCP4_OPT_RELAY_INFO), m->relay_info,
		m->relay_info_len);
	check_place(
		buf, dhcp4_find_option(buf, len, DHCP4_OPT_MESSAGE), m->message, m->message_len);
	check_place(buf, dhcp4_find_option(buf, len, DHCP4_OPT_PARAMETERS), m->parameters,
		m->parameters_len);
}

// With layouts known, of this message too, and without: the same.
static void check_same(const uint8_t *buf, uint32_t len)
{
	struct dhcp4_message walked, known;
	bool right;

	memset(&fresh->layouts, 0, sizeof(fresh->layouts));
	right = dhcp4_parse(buf, len, fresh, &walked);
	for (int again = 0; again < 2; again++) {
		scratch->layouts.missed = 0;
		if (dhcp4_parse(buf, len, scratch, &known) != right)
			abort();
		if (right && !same_message(&walked, &known))
			abort();
	}
}

// Its own layout is known: one byte makes it another.
static void check_spoilt(uint8_t *buf, uint32_t len, uint32_t random)
{
	for (uint32_t i = 0; i < 8 && len > DHCP4_AT_COOKIE; i++) {
		uint32_t at = DHCP4_AT_COOKIE + (random >> i * 3) % (len - DHCP4_AT_COOKIE);
		uint8_t was = buf[at];

		check_same(buf, len);
		buf[at] ^= (uint8_t)(1u << (random >> i & 7));
		check_same(buf, len);
		buf[at] = was;
	}
}

static void parse_message(const uint8_t *data, uint32_t len, bool put_cookie)
{
	uint8_t *buf = malloc(len + 1);
	struct dhcp4_message m;
	uint32_t xid;

	if (!buf)
		return;
	memcpy(buf, data, len);
	if (put_cookie && len >= DHCP4_OPTIONS_AT)
		memcpy(buf + DHCP4_AT_COOKIE, "\x63\x82\x53\x63", 4);
	if (dhcp4_parse(buf, len, scratch, &m)) {
		check_places(buf, len, &m);
		if (!dhcp4_xid(buf, len, m.op, &xid) || xid != m.xid)
			abort();
	}
	check_pointers(buf, len, &m);
	if (len <= SPOILT_MAX)
		check_spoilt(buf, len, m.xid ^ m.yiaddr ^ len);
	free(buf);
}

static void write_and_parse(uint8_t code, const uint8_t *data, uint32_t len)
{
	static uint8_t buf[DHCP4_OPTIONS_AT + MESSAGE_MAX * 2];
	struct writer w = writer_of(buf + DHCP4_OPTIONS_AT, sizeof(buf) - DHCP4_OPTIONS_AT);
	struct dhcp4_message m;
	bool right;

	memcpy(buf + DHCP4_AT_COOKIE, "\x63\x82\x53\x63", 4);
	dhcp4_write_option(&w, code, data, len);
	write_u8(&w, DHCP4_OPT_END);
	right = dhcp4_parse(buf, (uint32_t)(w.at - buf), scratch, &m);
	if (w.failed || right != (len <= DHCP4_OPTION_MAX))
		abort();
	if (!right)
		return;
	if (!m.has_end || (uint32_t)m.client_id_len + m.relay_info_len + m.message_len != len)
		abort();
	if (code == DHCP4_OPT_CLIENT_ID && memcmp(m.client_id, data, len) != 0)
		abort();
	if (code == DHCP4_OPT_RELAY_INFO && memcmp(m.relay_info, data, len) != 0)
		abort();
	if (code == DHCP4_OPT_MESSAGE && memcmp(m.message, data, len) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t codes[] = {
		DHCP4_OPT_CLIENT_ID, DHCP4_OPT_RELAY_INFO, DHCP4_OPT_MESSAGE};

	if (!scratch) {
		scratch = calloc(1, sizeof(*scratch));
		fresh = calloc(1, sizeof(*fresh));
	}
	if (!scratch || !fresh || size < 1 || size > MESSAGE_MAX)
		return 0;
	parse_message(data + 1, (uint32_t)size - 1, data[0] & PUT_COOKIE);
	write_and_parse(codes[(data[0] >> 1) % sizeof(codes)], data + 1, (uint32_t)size - 1);
	return 0;
}

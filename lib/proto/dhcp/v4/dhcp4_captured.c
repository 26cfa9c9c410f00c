// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 clients from captured messages. Path: cold. Management thread.

#include <string.h>

#include "proto/dhcp/client/dhcp_captured.h"
#include "proto/dhcp/v4/dhcp4_plan.h"

// Is the option specific to the client, rather than to a message or relay? `lease_time` is the
// client's, unless the setting differs.
static bool is_own(const struct dhcp4_settings *s, uint8_t code)
{
	static const uint8_t others[] = {DHCP4_OPT_REQUESTED_ADDRESS, DHCP4_OPT_OVERLOAD,
		DHCP4_OPT_TYPE, DHCP4_OPT_SERVER_ID, DHCP4_OPT_MESSAGE, DHCP4_OPT_RAPID_COMMIT,
		DHCP4_OPT_RELAY_INFO, DHCP4_OPT_CLIENT_ID}; // the last has its own column

	return !memchr(others, code, sizeof(others)) &&
	       (code != DHCP4_OPT_LEASE_TIME || s->lease_time_ns == 0);
}

static void option_take(
	const uint8_t *buf, uint32_t len, uint8_t code, uint64_t taken[4], struct writer *w)
{
	uint8_t data[DHCP4_OPTION_MAX];
	int got;

	if (taken[code >> 6] >> (code & 63) & 1)
		return;
	taken[code >> 6] |= 1ull << (code & 63);
	got = dhcp4_option_join(buf, len, code, data, sizeof(data));
	if (got >= 0)
		dhcp4_write_option(w, code, data, (uint32_t)got);
	else
		w->failed = true;
}

// In the order of the message, followed by options of the fields file and sname.
static void options_take(const struct dhcp4_settings *s, const struct dhcp4_message *m,
	const uint8_t *buf, uint32_t len, struct writer *w)
{
	struct reader r = reader_of(buf + DHCP4_OPTIONS_AT, len - DHCP4_OPTIONS_AT);
	uint64_t taken[4] = {0};

	while (reader_left(&r) > 0) {
		uint8_t code = read_u8(&r);

		if (code == DHCP4_OPT_END)
			break;
		if (code == DHCP4_OPT_PAD)
			continue;
		read_bytes(&r, read_u8(&r));
		if (is_own(s, code))
			option_take(buf, len, code, taken, w);
	}
	for (uint32_t code = 1; code < DHCP4_OPT_END; code++)
		if (dhcp4_has(m, (uint8_t)code) && is_own(s, (uint8_t)code))
			option_take(buf, len, (uint8_t)code, taken, w);
}

const char *dhcp4_captured(const struct dhcp_settings *settings, const uint8_t *buf, uint32_t len,
	struct dhcp_captured_client *out)
{
	struct dhcp4_scratch scratch = {.layouts = {.last = 0}};
	struct dhcp4_message m;
	struct writer w = writer_of(out->options.bytes, sizeof(out->options.bytes));

	if (!dhcp4_parse(buf, len, &scratch, &m))
		return "messages that do not parse";
	if (buf[DHCP4_AT_OP] != DHCP4_REQUEST_OP)
		return "replies of servers";
	if (m.type != DHCP4_DISCOVER && m.type != DHCP4_REQUEST && m.type != DHCP4_INFORM)
		return "other messages";
	if (buf[DHCP4_AT_HTYPE] != DHCP4_HTYPE_ETHERNET || buf[DHCP4_AT_HLEN] != sizeof(out->mac))
		return "hardware addresses that are not Ethernet's";
	memcpy(out->mac, buf + DHCP4_AT_CHADDR, sizeof(out->mac));
	out->has_mac = true;
	out->id.len = m.client_id ? m.client_id_len : 0;
	memcpy(out->id.bytes, m.client_id ? m.client_id : buf, out->id.len);
	options_take((const struct dhcp4_settings *)settings, &m, buf, len, &w);
	if (w.failed)
		return "with more than 1024 octets of options";
	out->options.len = (uint32_t)(w.at - out->options.bytes);
	return NULL;
}

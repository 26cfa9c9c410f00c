// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 clients from captured messages, including relayed ones. Path: cold. Management thread.

#include <string.h>

#include "proto/dhcp/client/dhcp_captured.h"
#include "proto/dhcp/v6/dhcp6_plan.h"

// Is the option specific to the client, rather than to a message, lease or relay?
static bool is_own(uint16_t code)
{
	static const uint16_t others[] = {DHCP6_OPT_CLIENT_ID, DHCP6_OPT_SERVER_ID, DHCP6_OPT_IA_NA,
		DHCP6_OPT_IA_TA, DHCP6_OPT_IA_PD, DHCP6_OPT_ELAPSED_TIME, DHCP6_OPT_RELAY_MESSAGE,
		DHCP6_OPT_AUTH, DHCP6_OPT_STATUS, DHCP6_OPT_RAPID_COMMIT,
		DHCP6_OPT_RECONFIGURE_ACCEPT};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i] == code)
			return false;
	return true;
}

static void options_take(const uint8_t *buf, uint32_t len, struct writer *w)
{
	struct reader r = reader_of(buf + DHCP6_HEADER_LEN, len - DHCP6_HEADER_LEN);

	while (reader_left(&r) >= DHCP6_OPTION_LEN) {
		uint16_t code = read_be16(&r), size = read_be16(&r);
		const uint8_t *data = read_bytes(&r, size);

		if (data && is_own(code))
			dhcp6_write_option(w, code, data, size);
	}
}

#define BIT(type) (1u << (type))

// Messages that identify a client and its requests.
static const uint32_t asking = BIT(DHCP6_SOLICIT) | BIT(DHCP6_REQUEST) | BIT(DHCP6_CONFIRM) |
                               BIT(DHCP6_RENEW) | BIT(DHCP6_REBIND) | BIT(DHCP6_INFORMATION);

const char *dhcp6_captured(const struct dhcp_settings *settings, const uint8_t *buf, uint32_t len,
	struct dhcp_captured_client *out)
{
	struct writer w = writer_of(out->options.bytes, sizeof(out->options.bytes));
	struct dhcp6_envelope e;
	struct dhcp6_message m;

	if (len > 0 && (buf[0] == DHCP6_ADVERTISE || buf[0] == DHCP6_REPLY ||
			       buf[0] == DHCP6_RECONFIGURE || buf[0] == DHCP6_RELAY_REPL))
		return "replies of servers";
	if (!dhcp6_unwrap(buf, len, &e) || !dhcp6_parse(e.inner, e.inner_len, &m))
		return "messages that do not parse";
	if (m.type >= DHCP6_TYPES || !(asking & BIT(m.type)))
		return "other messages";
	if (!m.client_id.data)
		return "without a DUID";
	out->id.len = m.client_id.len;
	memcpy(out->id.bytes, m.client_id.data, m.client_id.len);
	options_take(e.inner, e.inner_len, &w);
	if (w.failed)
		return "with more than 1024 octets of options";
	out->options.len = (uint32_t)(w.at - out->options.bytes);
	return NULL;
}

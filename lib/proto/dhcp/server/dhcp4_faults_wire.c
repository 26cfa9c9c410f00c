// SPDX-License-Identifier: BSD-3-Clause
// Faults of DHCPv4 replies: each makes the change it is named for in one finished message, and no
// other. Replies to LEASEQUERY are left alone. The choice of replies is in
// engine/core/responder/faults.h; duplicate addresses and exhausted pools are in dhcp_claim.h.
// Path: hot. The responder's thread.

#include <string.h>

#include "base/rand.h"
#include "proto/dhcp/server/dhcp4_answer.h"
#include "proto/dhcp/v4/dhcp4_message.h"

#define TYPE_AT     (DHCP4_OPTIONS_AT + 2) // option 53 comes first in replies of this server
#define NAK_OPTIONS (BIT(DHCP4_OPT_TYPE) | BIT(DHCP4_OPT_SERVER_ID) | BIT(DHCP4_OPT_CLIENT_ID))
#define BIT(n)      (1ull << (n))

// OFFER, ACK or NAK; 0: another type, or from another server.
static uint8_t type_of(const uint8_t *buf, uint32_t len)
{
	if (len <= TYPE_AT || buf[DHCP4_AT_OP] != DHCP4_REPLY_OP ||
		buf[DHCP4_OPTIONS_AT] != DHCP4_OPT_TYPE || buf[DHCP4_OPTIONS_AT + 1] != 1)
		return 0;
	return buf[TYPE_AT] == DHCP4_OFFER || buf[TYPE_AT] == DHCP4_ACK || buf[TYPE_AT] == DHCP4_NAK
	               ? buf[TYPE_AT]
	               : 0;
}

static bool gives_address(const uint8_t *buf)
{
	return bytes_be32(buf + DHCP4_AT_YIADDR) != 0;
}

static void cut(uint8_t *buf, uint32_t len, uint32_t at, uint32_t n)
{
	memmove(buf + at, buf + at + n, len - at - n);
	memset(buf + len - n, 0, n);
}

// Remove every instance of the option, padding to the old length. Returns len; 0: no such option.
static uint32_t option_remove(uint8_t *buf, uint32_t len, uint8_t code)
{
	uint32_t at = dhcp4_find_option(buf, len, code);

	if (at == 0)
		return 0;
	for (; at; at = dhcp4_find_option(buf, len, code))
		cut(buf, len, at, 2u + buf[at + 1]);
	return len;
}

// Remove all options that a NAK must not contain (RFC 2131 table 3).
static void options_strip(uint8_t *buf, uint32_t len)
{
	uint32_t at = DHCP4_OPTIONS_AT;

	while (at + 1 < len && buf[at] != DHCP4_OPT_END) {
		uint32_t n = buf[at] == DHCP4_OPT_PAD ? 1 : 2u + buf[at + 1];
		bool kept = n == 1 || buf[at] == DHCP4_OPT_RELAY_INFO ||
		            (buf[at] < 64 && (NAK_OPTIONS >> buf[at] & 1));

		if (at + n > len)
			return;
		if (kept)
			at += n;
		else
			cut(buf, len, at, n);
	}
}

// Not with rapid commit, where no address was offered.
static bool is_lease_ack(const uint8_t *buf, uint32_t len)
{
	return type_of(buf, len) == DHCP4_ACK && gives_address(buf) &&
	       dhcp4_find_option(buf, len, DHCP4_OPT_RAPID_COMMIT) == 0;
}

static uint32_t to_nak(uint8_t *buf, uint32_t len)
{
	if (!is_lease_ack(buf, len))
		return 0;
	buf[TYPE_AT] = DHCP4_NAK;
	memset(buf + DHCP4_AT_CIADDR, 0, 8); // ciaddr and yiaddr
	if (bytes_be32(buf + DHCP4_AT_GIADDR))
		buf[DHCP4_AT_FLAGS] |= DHCP4_BROADCAST >> 8;
	options_strip(buf, len);
	return len;
}

static uint32_t xid_change(uint8_t *buf, uint32_t len, uint64_t random)
{
	uint32_t change = (uint32_t)(1 + rand_scale(random, UINT32_MAX)); // never 0

	for (uint32_t i = 0; i < 4; i++)
		buf[DHCP4_AT_XID + i] ^= (uint8_t)(change >> 8 * i);
	return len;
}

static uint32_t chaddr_change(uint8_t *buf, uint32_t len, uint64_t random)
{
	uint8_t hlen = buf[DHCP4_AT_HLEN];

	if (hlen == 0 || hlen > DHCP4_CHADDR_LEN)
		return 0;
	buf[DHCP4_AT_CHADDR + hlen - 1] ^= (uint8_t)(1 + rand_scale(random, UINT8_MAX));
	return len;
}

static uint32_t address_change(uint8_t *buf, uint32_t len)
{
	if (!is_lease_ack(buf, len))
		return 0;
	buf[DHCP4_AT_YIADDR + 3] ^= 1;
	if (!gives_address(buf))
		buf[DHCP4_AT_YIADDR + 3] = 2;
	return len;
}

// Change a byte of the first sub-option that has data: well formed, but not as sent.
static uint32_t relay_info_change(uint8_t *buf, uint32_t len, uint64_t random)
{
	uint32_t at = dhcp4_find_option(buf, len, DHCP4_OPT_RELAY_INFO);
	uint32_t end = at ? at + 2 + buf[at + 1] : 0;

	for (uint32_t sub = at + 2; sub + 2 < end; sub += 2u + buf[sub + 1]) {
		if (buf[sub + 1] == 0)
			continue;
		buf[sub + 2] ^= (uint8_t)(1 + rand_scale(random, UINT8_MAX));
		return len;
	}
	return 0;
}

// X(name, extra, help, new length): the last one corrupts the len bytes of the reply in buf, and is
// 0 where that is impossible. An unsolicited reply also gets another client, if it has one.
// clang-format off
#define DHCP4_FAULTS(X) \
	X(nak, false, "a NAK instead of the ACK", to_nak(buf, len)) \
	X(no_offer, false, "OFFERs that are not sent", \
		buf[TYPE_AT] == DHCP4_OFFER ? PROTO_NO_ANSWER : 0) \
	X(wrong_xid, false, "replies with another xid", xid_change(buf, len, random)) \
	X(wrong_chaddr, false, "replies with the hardware address of another client", \
		chaddr_change(buf, len, random)) \
	X(other_address, false, "ACK or REPLY with another address than offered or renewed", \
		address_change(buf, len)) \
	X(no_server_id, false, "replies without the server identifier", \
		option_remove(buf, len, DHCP4_OPT_SERVER_ID)) \
	X(no_lease_time, false, "OFFERs and ACKs without the lease time", \
		option_remove(buf, len, DHCP4_OPT_LEASE_TIME)) \
	X(relay_info_missing, false, "relay agent information (option 82) not returned", \
		option_remove(buf, len, DHCP4_OPT_RELAY_INFO)) \
	X(relay_info_changed, false, "relay agent information (option 82) not returned as it was", \
		relay_info_change(buf, len, random)) \
	X(unsolicited, true, "one more reply, to no request, beside the right one", \
		(chaddr_change(buf, len, random), xid_change(buf, len, random)))
// clang-format on

#define FAULT_APPLY(name, extra_, help_, spoilt)                                                   \
	static uint32_t name(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)           \
	{                                                                                          \
		return type_of(buf, len) ? (spoilt) : 0;                                           \
	}

DHCP4_FAULTS(FAULT_APPLY)

const struct proto_fault dhcp4_faults[] = {DHCP4_FAULTS(DHCP_FAULT_ROW){0}};

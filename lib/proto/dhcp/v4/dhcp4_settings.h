// SPDX-License-Identifier: BSD-3-Clause
// The settings of DHCPv4 clients as structs (rows in dhcp4_fields.c), and intentionally wrong
// messages as rows. The responder's settings are in dhcp4_answer.h. Path: cold. Any thread.
#pragma once

#include "base/addr.h"
#include "proto/dhcp/client/dhcp_settings.h"

enum dhcp4_query { DHCP4_BY_ADDRESS, DHCP4_BY_MAC, DHCP4_BY_CLIENT_ID };
enum dhcp4_client_id { DHCP4_ID_NONE, DHCP4_ID_MAC, DHCP4_ID_DUID, DHCP4_ID_TEXT, DHCP4_ID_HEX };

// Deliberately malformed messages: X(number, name, help, edit). The edit changes a client's
// finished message, from m up to the writer w (dhcp4_wrong_wire.c).
// clang-format off
#define DHCP4_WRONGS(X) \
	X(DHCP4_WRONG_HEADER, "header", "messages of 8 to 235 octets: a part of the header", \
		w->at = FIELD(SECS) + random % (DHCP4_HEADER_LEN - DHCP4_AT_SECS)) \
	X(DHCP4_WRONG_COOKIE, "cookie", "no magic cookie", bytes_put_be32(FIELD(COOKIE), 0)) \
	X(DHCP4_WRONG_END, "end", "no END and nothing behind the last option", end_remove(m, w)) \
	X(DHCP4_WRONG_CUT, "cut", "an option that is longer than the message", \
		end_remove(m, w), write_bytes(w, "\x0c\xff" "cut", 5)) \
	X(DHCP4_WRONG_LENGTH, "length", "a message type (option 53) of 0 octets", \
		option_replace(m, w, DHCP4_OPT_TYPE, "\x35", 2)) \
	X(DHCP4_WRONG_TYPE, "type", "an unknown message type, from 200", \
		m[DHCP4_OPTIONS_AT + 2] = dhcp_wrong_type(random)) \
	X(DHCP4_WRONG_NO_TYPE, "no_type", "no message type, as in BOOTP", \
		option_replace(m, w, DHCP4_OPT_TYPE, "", 0)) \
	X(DHCP4_WRONG_HLEN, "hlen", "a hardware address length of 255", *FIELD(HLEN) = UINT8_MAX) \
	X(DHCP4_WRONG_NOBODY, "nobody", "neither hardware address nor client identifier", \
		*FIELD(HLEN) = 0, memset(FIELD(CHADDR), 0, DHCP4_CHADDR_LEN), \
		option_replace(m, w, DHCP4_OPT_CLIENT_ID, "", 0)) \
	X(DHCP4_WRONG_OVERLOAD, "overload", \
		"options in file and sname (option 52) that contain option 52 again", \
		option_add(m, w, OVERLOAD, 3), memcpy(FIELD(FILE), OVERLOAD, 3), \
		memcpy(FIELD(SNAME), OVERLOAD, 3)) \
	X(DHCP4_WRONG_CLIENT_ID, "client_id", "a client identifier of 0 octets", \
		option_replace(m, w, DHCP4_OPT_CLIENT_ID, "", 0), option_add(m, w, "\x3d", 2)) \
	X(DHCP4_WRONG_RELAY_INFO, "relay_info", "an option 82 that ends in a sub-option", \
		option_replace(m, w, DHCP4_OPT_RELAY_INFO, "", 0), \
		option_add(m, w, "\x52\4\1\xff" "ab", 6)) \
	X(DHCP4_WRONG_REPLY, "reply", "the op of a BOOTREPLY", *FIELD(OP) = DHCP4_REPLY_OP) \
	X(DHCP4_WRONG_RANDOM, "random", "random octets after the magic cookie", \
		dhcp_wrong_random(m + DHCP4_OPTIONS_AT, w, random))
// clang-format on

enum dhcp4_wrong { DHCP4_WRONGS(DHCP_WRONG_NUMBER) DHCP4_WRONG_COUNT };
_Static_assert(DHCP4_WRONG_COUNT == DHCP_WRONG_COUNT, "kinds of both families");

struct dhcp4_option_settings {
	const char *code; // "12", or "82.1"
	struct dhcp_value_settings value;
};

// Header fields; unset ones (UINT64_MAX, len 0, NULL) depend on the message.
struct dhcp4_header_settings {
	uint64_t flags, hops;
	struct addr ciaddr, yiaddr, siaddr, giaddr;
	const char *sname, *file; // patterns
};

struct dhcp4_relay_settings {
	struct dhcp_relay_settings is;
	uint64_t hops;
	const char *circuit_id, *remote_id, *subscriber_id; // patterns
	struct addr link_selection;
	const char *server_id_override; // NULL, "relay" or an address
	bool all;                       // all messages go through the relay
};

struct dhcp4_retransmit_settings {
	uint64_t initial_ns;
	uint64_t factor;
	uint64_t jitter_ns;
	uint64_t tries;
};

struct dhcp4_expect_settings {
	struct field_list pool; // struct addr_range
	bool same_address;
	struct field_list options; // struct dhcp_expected_settings
	struct addr next_server;   // len 0: any
	const char *boot_file;     // pattern; NULL: any
};

struct dhcp4_settings {
	struct dhcp_settings is;
	const char *chaddr; // NULL: mac
	uint64_t htype;
	int32_t client_id;
	const char *client_id_text, *client_id_hex; // patterns
	bool broadcast_flag;
	struct dhcp4_header_settings *header; // NULL: depends on the message
	struct addr_range requested_address;
	uint64_t lease_time_ns;           // 0: not requested
	int32_t query;                    // enum dhcp4_query
	struct addr_range inform_address; // count 0: informs need a lease
	struct addr accept;
	uint64_t pad;
	struct dhcp4_expect_settings *expect; // NULL: any address
};

extern const struct field_section dhcp4_settings_section;

// SPDX-License-Identifier: BSD-3-Clause
// The settings of DHCPv6 clients as structs (rows in dhcp6_fields.c), and intentionally wrong
// messages as rows. The responder's settings are in dhcp6_answer.h. Path: cold. Any thread.
#pragma once

#include "base/addr.h"
#include "proto/dhcp/client/dhcp_settings.h"
#include "proto/dhcp/v6/dhcp6_rkap.h"

enum dhcp6_lease_kind { DHCP6_WANTS_ADDRESSES, DHCP6_WANTS_PREFIXES, DHCP6_WANTS_BOTH };
enum dhcp6_duid {
	DHCP6_DUID_LL,
	DHCP6_DUID_LLT,
	DHCP6_DUID_EN,
	DHCP6_DUID_UUID,
	DHCP6_DUID_HEX,
	DHCP6_DUID_FILE
};
enum dhcp6_to { DHCP6_TO_AUTO, DHCP6_TO_SERVER, DHCP6_TO_ALL, DHCP6_TO_SERVERS };
enum dhcp6_advertise { DHCP6_TAKES_FIRST, DHCP6_TAKES_BEST };
enum dhcp6_reconfigure { DHCP6_UNCALLED, DHCP6_ACCEPTS, DHCP6_LENIENT };
enum dhcp6_query { DHCP6_BY_ADDRESS, DHCP6_BY_CLIENT_ID };
enum dhcp6_place { DHCP6_IN_MESSAGE, DHCP6_IN_IA_NA, DHCP6_IN_IA_PD, DHCP6_IN_RELAY };

// Deliberately malformed messages: X(number, name, help, edit). The edit changes a client's
// finished message, from m up to the writer w, before it is relayed (dhcp6_wrong_wire.c).
// clang-format off
#define DHCP6_WRONGS(X) \
	X(DHCP6_WRONG_EMPTY, "empty", "no option", w->at = m + DHCP6_HEADER_LEN) \
	X(DHCP6_WRONG_CUT, "cut", "an option that is longer than the message", \
		write_bytes(w, "\0\x0f\0\xff" "cut", 7)) \
	X(DHCP6_WRONG_TYPE, "type", "an unknown message type, from 200", m[0] = dhcp_wrong_type(random)) \
	X(DHCP6_WRONG_REPLY, "reply", "the message type of a REPLY", m[0] = DHCP6_REPLY) \
	X(DHCP6_WRONG_NO_CLIENT_ID, "no_client_id", "no client DUID", \
		option_replace(m, w, DHCP6_OPT_CLIENT_ID, "", 0)) \
	X(DHCP6_WRONG_DUID_EMPTY, "duid_empty", "a client DUID of 0 octets", \
		option_set(m, w, DHCP6_OPT_CLIENT_ID, "", 0)) \
	X(DHCP6_WRONG_DUID_LONG, "duid_long", "a client DUID of 200 octets", duid_long(m, w, random)) \
	X(DHCP6_WRONG_DUID_TWICE, "duid_twice", "two client DUIDs", \
		dhcp6_write_option(w, DHCP6_OPT_CLIENT_ID, "\0\3\0\1\2\0\0\0\0", 10)) \
	X(DHCP6_WRONG_SERVER_ID, "server_id", "the DUID of a nonexistent server", \
		option_set(m, w, DHCP6_OPT_SERVER_ID, "\0\3\0\1nobody", 10)) \
	X(DHCP6_WRONG_IA, "ia", "an IA of 4 octets", ia_set(m, w, "\0\0\0\1", 4)) \
	X(DHCP6_WRONG_IA_ADDRESS, "ia_address", "an address of 10 octets in an IA", \
		ia_set(m, w, short_address, sizeof(short_address))) \
	X(DHCP6_WRONG_ELAPSED, "elapsed", "an elapsed time of 1 octet", \
		option_set(m, w, DHCP6_OPT_ELAPSED_TIME, "", 1)) \
	X(DHCP6_WRONG_ORO, "oro", "an option request of 3 octets", \
		option_set(m, w, DHCP6_OPT_ORO, "\0\27\0", 3)) \
	X(DHCP6_WRONG_RANDOM, "random", "random octets after the transaction ID", \
		dhcp_wrong_random(m + DHCP6_HEADER_LEN, w, random))
// clang-format on

enum dhcp6_wrong { DHCP6_WRONGS(DHCP_WRONG_NUMBER) DHCP6_WRONG_COUNT };
_Static_assert(DHCP6_WRONG_COUNT == DHCP_WRONG_COUNT, "kinds of both families");

struct dhcp6_option_settings {
	uint64_t code;
	int32_t in; // enum dhcp6_place
	struct dhcp_value_settings value;
};

struct dhcp6_relay_settings {
	struct dhcp_relay_settings is;
	uint64_t levels;
	struct addr link; // len 0: the relay's own
	bool ldra;
	uint64_t hop_count;                                   // in the relay nearest to the client
	const char *interface_id, *remote_id, *subscriber_id; // patterns
	uint64_t remote_enterprise;
	bool client_mac;
};

struct dhcp6_vendor_settings {
	uint64_t enterprise;
	const char *text; // pattern
};

struct dhcp6_tries_settings {
	uint64_t irt_ns, mrt_ns, mrd_ns;
	uint64_t mrc;
};

struct dhcp6_retransmit_settings {
	double rand;
	struct dhcp6_tries_settings solicit, request, confirm, renew, rebind, information, release,
		decline, leasequery;
};

struct dhcp6_expect_settings {
	struct field_list pool;     // struct addr_prefix
	struct field_list prefixes; // struct addr_prefix
	uint64_t prefix_length;     // 0: any
	bool same_lease;
	struct field_list options; // struct dhcp_expected_settings
};

enum dhcp6_router_need { DHCP6_NEEDS_NOTHING, DHCP6_NEEDS_ADVERT, DHCP6_NEEDS_FLAG };

struct dhcp6_solicitation_settings {
	int32_t need; // enum dhcp6_router_need
	uint64_t interval_ns, tries;
};

struct dhcp6_settings {
	struct dhcp_settings is;
	int32_t lease; // enum dhcp6_lease_kind
	uint64_t addresses, prefixes;
	bool temporary;       // temporary addresses
	uint64_t prefix_hint; // 0: none
	uint64_t iaid;
	int32_t duid;
	const char *duid_hex, *duid_file;
	uint64_t enterprise;
	int32_t to;
	bool unicast;        // to the address in the server's option 12
	int32_t reconfigure; // enum dhcp6_reconfigure
	int32_t query;       // enum dhcp6_query
	const char *user_class;
	struct dhcp6_vendor_settings *vendor_class;
	struct field_bytes accept;
	int32_t advertise;
	struct dhcp6_expect_settings *expect;                    // NULL: any lease
	struct dhcp6_solicitation_settings *router_solicitation; // NULL: none
};

extern const struct field_section dhcp6_settings_section;

// SPDX-License-Identifier: BSD-3-Clause
// The settings of DHCPv4 clients as structs (rows in dhcp4_fields.c), and their counters as X-macro
// rows. Not here: the responder's (dhcp4_answer.h). Path: cold (settings) | hot (the counters
// themselves).
#pragma once

#include "base/addr.h"
#include "base/counter.h"
#include "proto/dhcp/client/dhcp_settings.h"

enum dhcp4_query { DHCP4_BY_ADDRESS, DHCP4_BY_MAC, DHCP4_BY_CLIENT_ID };
enum dhcp4_client_id { DHCP4_ID_NONE, DHCP4_ID_MAC, DHCP4_ID_DUID, DHCP4_ID_TEXT, DHCP4_ID_HEX };

// Messages that are wrong on purpose: X(number, name, help, edit). The edit changes the ready
// message of a client, from m up to the writer w (dhcp4_wrong_wire.c).
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
	X(DHCP4_WRONG_OVERLOAD, "overload", "options in file and sname (option 52) that say so again", \
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

// Fields of the header; those not given (UINT64_MAX, len 0, NULL) are as the message needs them.
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
	bool all;                       // of the messages go through the relay
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
	struct dhcp4_header_settings *header; // NULL: as messages need it
	struct addr_range requested_address;
	uint64_t lease_time_ns;           // 0: not asked for
	int32_t query;                    // enum dhcp4_query
	struct addr_range inform_address; // count 0: informs need a lease
	struct addr accept;
	uint64_t pad;
	struct dhcp4_expect_settings *expect; // NULL: any address
};

// As dhcp_settings.h has it. "failed": the exchange is booked as failed.
// "dropped": the message is booked as stray and the exchange waits on.
// clang-format off
#define DHCP4_COUNTERS(C, B, X, A)                                                                    \
	C(request_bytes, "bytes of DHCP messages sent")                                          \
	C(reply_bytes, "bytes of DHCP messages received as replies")                             \
	B(sent, DHCP_TYPE_BUCKETS, dhcp4_type_label, "messages sent by type")                   \
	B(received, DHCP_TYPE_BUCKETS, dhcp4_type_label, "replies received by type")            \
	B(attempt, DHCP_TRIES_MAX, dhcp_place_label, "messages answered, by try")            \
	B(server, DHCP_SERVERS_MAX, dhcp_place_label, "exchanges answered, by server")        \
	DHCP_WRONG_COUNTERS(B, dhcp4_wrong_label) \
	C(retransmitted, "messages sent again")                                                  \
	C(leases, "leases that began")                                                           \
	C(renewed, "leases that were made longer")                                               \
	C(released, "leases given back")                                                         \
	C(declined, "leases declined")                                                           \
	C(expired, "leases that ran out")                                                        \
	C(forgotten, "leases that clients forgot, to start over (again)")                        \
	C(no_free_client, "exchanges not begun: every client is busy, at rest or holds a lease")          \
	C(no_bound_client, "exchanges not begun: no client that holds a lease is idle")          \
	C(rapid_fallback, "rapid exchanges that continued in four messages")                       \
	X(other_offers, "offers of another server than the one accepted")                        \
	X(servers_beyond, "leases of servers beyond the first 16, renewed by broadcast")         \
	X(overloaded, "replies with options in file or sname (option 52)")                       \
	X(client_id_missing, "replies without the client identifier sent (RFC 6842)")            \
	C(parameters_missing, "ACKs that lack a requested parameter")                            \
	B(missing, DHCP_CODES, dhcp_code_label, "requested parameters that ACKs lack, by code") \
	X(proxy_offers, "offers of PXE proxies: without an address, of class PXEClient")         \
	X(no_end, "replies whose options do not end with option 255")                            \
	C(option_repeated, "replies with an option twice, with equal content")                   \
	C(other_source, "replies from another address or port than the request went to")         \
	C(way_wrong, COUNTER_STRAY("not to the client's address and port, or the relay's"))      \
	C(vlan_wrong, COUNTER_STRAY("on another VLAN than the client's"))                        \
	X(op_wrong, COUNTER_STRAY("not a BOOTREPLY"))                                            \
	C(xid_wrong, COUNTER_STRAY("the transaction ID is not ours"))                            \
	X(chaddr_wrong, COUNTER_STRAY("for another hardware address"))                           \
	C(type_wrong, COUNTER_STRAY("a message type that does not fit the state"))               \
	X(other_naks, COUNTER_STRAY("a NAK of another server than the one whose offer was taken")) \
	X(nak, "failed: refused with NAK")                                                       \
	X(lease_unknown, "failed: a lease that the server does not know (RFC 4388)")             \
	C(server_id_missing, "failed: no server identifier")                                     \
	C(server_id_changed, "failed: the ACK is of another server than asked")                  \
	X(client_id_wrong, "failed: another client identifier than the one sent")                \
	X(relay_info_wrong, "failed: option 82 is not echoed byte for byte, or was not sent")    \
	X(address_missing, "failed: no address in OFFER or ACK")                                 \
	C(address_changed, "failed: the ACK has another address than offered or held")           \
	C(outside_pool, "failed: the address is not in expect.pool")                             \
	C(address_unexpected, "failed: not the address of the client in address_column")         \
	C(option_unexpected, "failed: options, next server or boot file are not as in expect")   \
	X(lease_time_missing, "failed: no lease time in OFFER or ACK")                           \
	C(times_wrong, "failed: not T1 < T2 < lease time")                                       \
	C(rapid_commit_missing, "failed: an ACK to DISCOVER without option 80")                  \
	C(duplicate_address, "failed: an address that another client holds")                     \
	C(t1_unforeseen, DHCP_T1_HELP) \
	C(unwatched, DHCP_UNWATCHED_HELP)
// clang-format on

struct dhcp4_counters {
	struct dhcp_counters is;
	DHCP4_COUNTERS(DHCP_COUNTER_NONE, DHCP_COUNTER_NONE, COUNTER_MEMBER, COUNTER_MEMBERS)
};

const char *dhcp4_wrong_label(uint32_t i);
extern const struct field_section dhcp4_settings_section;

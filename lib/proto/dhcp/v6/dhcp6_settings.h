// SPDX-License-Identifier: BSD-3-Clause
// The settings of DHCPv6 clients as structs (rows in dhcp6_fields.c), and their counters as X-macro
// rows. Not here: the responder's (dhcp6_answer.h). Path: cold (settings) | hot (the counters
// themselves).
#pragma once

#include "base/addr.h"
#include "base/counter.h"
#include "proto/dhcp/client/dhcp_settings.h"
#include "proto/dhcp/v6/dhcp6_rkap.h"

#define DHCP6_STATUS_BUCKETS 13 // by status code; the last one: any other

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

// Messages that are wrong on purpose: X(number, name, help, edit). The edit changes the ready
// message of a client, from m up to the writer w, not relayed yet (dhcp6_wrong_wire.c).
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
	X(DHCP6_WRONG_SERVER_ID, "server_id", "the DUID of a server that is nobody", \
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
	uint64_t hop_count;                                   // of the nearest relay to the client
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
	bool temporary;       // addresses
	uint64_t prefix_hint; // 0: none
	uint64_t iaid;
	int32_t duid;
	const char *duid_hex, *duid_file;
	uint64_t enterprise;
	int32_t to;
	bool unicast;        // to the address that the server tells
	int32_t reconfigure; // enum dhcp6_reconfigure
	int32_t query;       // enum dhcp6_query
	const char *user_class;
	struct dhcp6_vendor_settings *vendor_class;
	struct field_bytes accept;
	int32_t advertise;
	struct dhcp6_expect_settings *expect;                    // NULL: any lease
	struct dhcp6_solicitation_settings *router_solicitation; // NULL: none
};

// As dhcp_settings.h has it. "failed": the exchange is booked as failed.
// "dropped": the message is booked as stray and the exchange waits on.
// clang-format off
#define DHCP6_COUNTERS(C, B, X, A)                                                                    \
	C(request_bytes, "bytes of DHCP messages sent, relay messages included")                 \
	C(reply_bytes, "bytes of DHCP messages received as replies, relay messages included")    \
	B(sent, DHCP_TYPE_BUCKETS, dhcp6_type_label, "messages sent by type, inside of relays") \
	B(received, DHCP_TYPE_BUCKETS, dhcp6_type_label, "replies received by type")            \
	B(attempt, DHCP_TRIES_MAX, dhcp_place_label, "messages answered, by try")            \
	B(server, DHCP_SERVERS_MAX, dhcp_place_label, "exchanges answered, by server asked") \
	A(message_status, DHCP6_STATUS_BUCKETS, dhcp6_status_label,                              \
		"replies with a status other than Success for all of the message")               \
	A(ia_status, DHCP6_STATUS_BUCKETS, dhcp6_status_label,                                   \
		"IAs in replies with a status other than Success")                               \
	A(lease_status, DHCP6_STATUS_BUCKETS, dhcp6_status_label,                                \
		"addresses and prefixes in replies with a status other than Success")            \
	DHCP_WRONG_COUNTERS(B, dhcp6_wrong_label) \
	C(retransmitted, "messages sent again")                                                  \
	C(leases, "clients that got their leases")                                               \
	X(addresses, "addresses that clients got")                                               \
	X(prefixes, "prefixes that clients got")                                                 \
	C(renewed, "clients whose leases were made longer")                                      \
	X(confirmed, "clients whose addresses were confirmed")                                   \
	C(released, "clients that gave their leases back")                                       \
	C(declined, "clients that declined their addresses")                                     \
	C(expired, "clients whose leases ran out")                                               \
	C(forgotten, "leases that clients forgot, to start over (again)")                        \
	C(no_free_client, "exchanges not begun: every client is busy, at rest or holds a lease") \
	C(no_bound_client, "exchanges not begun: no client that holds a lease is idle")          \
	C(rapid_fallback, "rapid exchanges that continued in four messages")                       \
	X(preferred, "ADVERTISEs with preference 255")                                           \
	X(other_advertises, "ADVERTISEs of another server than the one accepted")                \
	X(ias_unasked, "IAs in replies that were not requested")                                 \
	X(leases_unused, "addresses and prefixes beyond the first of an IA")                     \
	C(parameters_missing, "REPLY messages that lack a requested option")                            \
	B(missing, DHCP_CODES, dhcp_code_label, "requested options that REPLY messages lack, by code") \
	C(option_repeated, "replies with an option twice, with equal content")                   \
	X(trailing, "replies with 1 to 3 zero octets behind their last option")                  \
	C(other_source, "replies from another address or port than the request went to")         \
	C(way_wrong, COUNTER_STRAY("not to the client's address and port, or the relay's"))      \
	C(vlan_wrong, COUNTER_STRAY("on another VLAN than the client's"))                        \
	C(xid_wrong, COUNTER_STRAY("the transaction ID is not ours"))                            \
	X(duid_wrong, COUNTER_STRAY("no client DUID, or another one than sent"))                 \
	C(type_wrong, COUNTER_STRAY("a message type that does not fit the state"))               \
	X(levels_wrong, "failed: not in as many relay messages as sent")                         \
	X(hop_count_wrong, "failed: a relay message with another hop count than sent")           \
	X(link_wrong, "failed: a relay message with another link address than sent")             \
	X(peer_wrong, "failed: a relay message with another peer address than sent")             \
	X(interface_id_wrong, "failed: an interface-id that is not echoed, or was not sent")     \
	C(server_id_missing, "failed: no server DUID")                                           \
	C(server_id_changed, "failed: the REPLY is of another server than asked")                \
	X(lease_unknown, "failed: a lease that the server does not know (RFC 5007)")             \
	X(client_data_wrong, "failed: the data of another client, without its lease, or without a time") \
	X(unicast, "messages sent to the address that their server told (option 12)")            \
	X(unicast_elsewhere, "replies that told another address than server: not used")         \
	X(multicast_again, "messages sent again to all, as the server asked (UseMulticast)")    \
	A(reconfigured, DHCP_TYPE_BUCKETS, dhcp6_type_label,                                     \
		"RECONFIGUREs obeyed, by the message that they ask for")                         \
	A(reconfigure_bad, DHCP6_BADS, dhcp6_bad_label,                                          \
		"RECONFIGUREs not obeyed: another way than replies, another client's or server's DUID, no lease or key, no message to ask for, no authentication, a wrong MAC, not newer than the one before") \
	X(reconfigure_busy, "RECONFIGUREs passed over: their client was in an exchange")         \
	X(client_links, "LEASEQUERY-REPLYs that list links of the client in place of its data")  \
	X(servers_beyond, "failed: of a server beyond the first 16 of a worker")                 \
	X(refused, "failed: refused with a status code")                                         \
	X(ia_missing, "failed: a requested IA is not answered")                        \
	X(lease_missing, "failed: an IA without an address or prefix, and without a status")     \
	C(times_wrong, "failed: not T1 <= T2 <= valid lifetime")                                 \
	X(lifetimes_wrong, "failed: not preferred <= valid lifetime, or a valid one of 0")       \
	C(address_changed, "failed: another address than advertised or held")                    \
	X(prefix_changed, "failed: another prefix than advertised or held")                      \
	C(outside_pool, "failed: the address is not in expect.pool")                             \
	C(address_unexpected, "failed: not the address or prefix of the client in address_column") \
	C(option_unexpected, "failed: options are not as in expect.options")                     \
	X(outside_prefixes, "failed: the prefix is not in expect.prefixes")                      \
	X(prefix_length_wrong, "failed: not of expect.prefix_length, beyond /120, or host bits") \
	C(rapid_commit_missing, "failed: a REPLY to SOLICIT without option 14")                  \
	C(duplicate_address, "failed: an address that another client holds")                     \
	X(duplicate_prefix, "failed: a prefix that another client's overlaps")                        \
	C(t1_unforeseen, DHCP_T1_HELP) \
	C(unwatched, DHCP_UNWATCHED_HELP)
// clang-format on

struct dhcp6_counters {
	struct dhcp_counters is;
	DHCP6_COUNTERS(DHCP_COUNTER_NONE, DHCP_COUNTER_NONE, COUNTER_MEMBER, COUNTER_MEMBERS)
};

const char *dhcp6_wrong_label(uint32_t i);
extern const struct field_section dhcp6_settings_section;

// SPDX-License-Identifier: BSD-3-Clause
// Settings of clients that both families share, as structs with which the family's structs begin
// (rows in dhcp_fields.h), and all counters of clients. Path: cold (settings) | hot (the counters).
// Any thread.
#pragma once

#include "base/addr.h"
#include "base/counter.h"
#include "base/field.h"
#include "proto/dhcp/client/dhcp_life_plan.h"

#define DHCP_TRIES_MAX    16 // of one message
#define DHCP_SERVERS_MAX  16 // including the item's
#define DHCP_MIX_MAX      16 // kinds of exchanges
#define DHCP_TYPE_BUCKETS 19 // messages by type; the last bucket: any other type
#define DHCP_EXPECTED_MAX 16 // options
#define DHCP_CODES        256
#define DHCP_WRONG_COUNT  14 // kinds of intentionally wrong messages, per family

// Exchanges with the same number in both families; the families' own exchanges follow.
enum dhcp_exchange {
	DHCP_FOUR_WAY, // DORA, SARR
	DHCP_TWO_WAY,  // ends with the offer
	DHCP_RAPID,    // gets a lease in two messages
};

struct dhcp_mix_settings {
	double share[DHCP_MIX_MAX]; // by exchange; below 0: a rate, as in FIELD_SHARE
	double part[DHCP_MIX_MAX];  // rates as shares, by dhcp_fit; all 0: the load has no rate
};

struct dhcp_vlan_settings {
	struct field_range clients;
	struct field_list vlans;         // uint64_t, outermost first; or a VLAN per client:
	struct field_range outer, inner; // last 0: none
};

struct dhcp_leases_settings {
	const char *save, *load; // NULL: do not
};

// The value of an option: exactly one of the members before `messages` is given.
struct dhcp_value_settings {
	const char *text, *hex;     // patterns
	struct field_list address;  // struct addr
	struct field_list messages; // int32_t, steps of the family; empty: the default ones
};

// An option required in replies.
struct dhcp_expected_settings {
	uint64_t code;
	struct dhcp_value_settings value;
};

// Deliberately malformed messages, by kind of the family; a family's rows are X(number, name,
// help, edit).
struct dhcp_wrong_settings {
	double shares[DHCP_WRONG_COUNT];
};

#define DHCP_WRONG_NUMBER(number, ...) number,

// A raw message as hex with placeholders.
struct dhcp_raw_settings {
	int32_t message; // step of the family
	const char *hex; // pattern
};

// The waiting time that clients pretend, in the unit of the message's field.
struct dhcp_pretend_settings {
	uint64_t from;
	bool grow;
	uint64_t after_ns, for_ns; // for_ns 0: until the end
};

struct dhcp_relay_settings {
	struct field_list addresses; // struct addr_range
	struct addr from;            // len 0: each relay sends from its own
	uint64_t port;
	bool source_port;
};

struct dhcp_fqdn_settings {
	const char *name; // pattern
	bool server_update, no_update;
	bool wire; // DHCPv4 only
};

struct dhcp_settings {
	int32_t exchange;
	struct dhcp_mix_settings *mix; // NULL: only `exchange`
	uint64_t clients;              // UINT64_MAX: automatic
	uint64_t automatic;            // computed by dhcp_fit; 0: not yet
	uint64_t useful;               // usable part of the given ones, by dhcp_fit; 0: all
	bool again;
	int32_t order;                   // enum dhcp_order
	struct dhcp_life_settings *life; // NULL: a load schedules exchanges
	uint8_t mac[6];
	uint64_t mac_count; // 0: one per client
	const char *mac_file;
	const char *wire; // capture with the clients; NULL: none
	const char *client_file;
	uint64_t mac_column;               // of client_file; 0: none
	uint64_t address_column;           // of client_file; 0: none
	struct dhcp_relay_settings *relay; // first member of the family's; NULL: on a link
	struct field_list vlans;           // struct dhcp_vlan_settings
	struct field_list options;         // of the family's struct
	struct field_list raw;             // struct dhcp_raw_settings
	struct field_list parameters;      // uint64_t
	struct dhcp_fqdn_settings *fqdn;
	struct field_list servers; // struct field_host
	int32_t spread;
	void *retransmit;                      // of the family's struct; NULL: one try
	uint64_t request_timeout_ns;           // 0: the item's timeout
	uint64_t decline_rest_ns;              // UINT64_MAX: depends on retransmit
	struct dhcp_leases_settings *leases;   // NULL: none kept
	struct dhcp_wrong_settings *wrong;     // NULL: none
	struct dhcp_pretend_settings *pretend; // NULL: the real waiting time
};

static inline uint64_t dhcp_clients(const struct dhcp_settings *s)
{
	if (s->clients != UINT64_MAX)
		return s->useful && s->useful < s->clients ? s->useful : s->clients;
	return s->automatic ? s->automatic : 1;
}

// Kinds of replies. A refusal is a NAK, or a message with a failure status.
enum dhcp_peer_kind { DHCP_PEER_OFFERS, DHCP_PEER_ANSWERS, DHCP_PEER_REFUSALS, DHCP_PEER_KINDS };

#define DHCP_STATUS_BUCKETS 13 // of DHCPv6, by status code; the last one: any other code
#define DHCP_BAD_BUCKETS    8  // of RECONFIGUREs, by reason

// Counters of clients, in the order shown to users. X(member, help), A(member, length, label,
// help): rows of both families; XX(member, help of DHCPv4, of DHCPv6), AA likewise; X4, X6 and A6:
// rows of one family; R6: a row of DHCPv6 for a member listed elsewhere. DHCP_TYPE_LABEL and
// DHCP_WRONG_NAME are defined by the family. "failed": the exchange is counted as failed.
// "dropped": the message is counted as stray and the exchange continues to wait.
// clang-format off
#define DHCP_COUNTERS(X, XX, A, AA, X4, X6, A6, R6) \
	XX(request_bytes, "bytes of DHCP messages sent", \
		"bytes of DHCP messages sent, relay messages included") \
	XX(reply_bytes, "bytes of DHCP messages received as replies", \
		"bytes of DHCP messages received as replies, relay messages included") \
	AA(sent, DHCP_TYPE_BUCKETS, DHCP_TYPE_LABEL, "messages sent by type", \
		"messages sent by type, inside of relays") \
	A(received, DHCP_TYPE_BUCKETS, DHCP_TYPE_LABEL, "replies received by type") \
	A(attempt, DHCP_TRIES_MAX, dhcp_place_label, "messages answered, by try") \
	AA(server, DHCP_SERVERS_MAX, dhcp_place_label, "exchanges answered, by server", \
		"exchanges answered, by server asked") \
	A6(message_status, DHCP_STATUS_BUCKETS, dhcp6_status_label, \
		"replies with a status other than Success for all of the message") \
	A6(ia_status, DHCP_STATUS_BUCKETS, dhcp6_status_label, \
		"IAs in replies with a status other than Success") \
	A6(lease_status, DHCP_STATUS_BUCKETS, dhcp6_status_label, \
		"addresses and prefixes in replies with a status other than Success") \
	A(wrong_sent, DHCP_WRONG_COUNT, DHCP_WRONG_NAME, "sent deliberately malformed, by kind") \
	A(wrong_answered, DHCP_WRONG_COUNT, DHCP_WRONG_NAME, "of them, with an answer") \
	A(wrong_unanswered, DHCP_WRONG_COUNT, DHCP_WRONG_NAME, "of them, without an answer in time") \
	X(retransmitted, "messages sent again") \
	XX(leases, "leases that began", "clients that got their leases") \
	X6(addresses, "addresses that clients got") \
	X6(prefixes, "prefixes that clients got") \
	XX(renewed, "leases extended", "clients whose leases were extended") \
	X6(confirmed, "clients whose addresses were confirmed") \
	XX(released, "leases given back", "clients that gave their leases back") \
	XX(declined, "leases declined", "clients that declined their addresses") \
	XX(expired, "leases that ran out", "clients whose leases ran out") \
	X(forgotten, "leases that clients forgot, to start over (again)") \
	X(no_free_client, "exchanges not begun: every client is busy, at rest or holds a lease") \
	X(no_bound_client, "exchanges not begun: no client that holds a lease is idle") \
	X(rapid_fallback, "rapid exchanges that continued in four messages") \
	X4(other_offers, "offers of another server than the one accepted") \
	X4(servers_beyond, "leases of servers beyond the first 16, renewed by broadcast") \
	X4(overloaded, "replies with options in file or sname (option 52)") \
	X4(client_id_missing, "replies without the client identifier sent (RFC 6842)") \
	X6(preferred, "ADVERTISEs with preference 255") \
	X6(other_advertises, "ADVERTISEs of another server than the one accepted") \
	X6(ias_unasked, "IAs in replies that were not requested") \
	X6(leases_unused, "addresses and prefixes beyond the first of an IA") \
	XX(parameters_missing, "ACKs that lack a requested parameter", \
		"REPLY messages that lack a requested option") \
	AA(missing, DHCP_CODES, dhcp_code_label, "requested parameters that ACKs lack, by code", \
		"requested options that REPLY messages lack, by code") \
	X4(proxy_offers, "offers of PXE proxies: without an address, of class PXEClient") \
	X4(no_end, "replies whose options do not end with option 255") \
	X(option_repeated, "replies with an option twice, with equal content") \
	X6(trailing, "replies with 1 to 3 zero octets behind their last option") \
	X(other_source, "replies from another address or port than the request went to") \
	X(way_wrong, COUNTER_STRAY("not to the client's address and port, or the relay's")) \
	X(vlan_wrong, COUNTER_STRAY("on another VLAN than the client's")) \
	X4(op_wrong, COUNTER_STRAY("not a BOOTREPLY")) \
	X(xid_wrong, COUNTER_STRAY("the transaction ID is not ours")) \
	X4(chaddr_wrong, COUNTER_STRAY("for another hardware address")) \
	X6(duid_wrong, COUNTER_STRAY("no client DUID, or another one than sent")) \
	X(type_wrong, COUNTER_STRAY("a message type that does not fit the state")) \
	X4(other_naks, COUNTER_STRAY("a NAK of another server than the one whose offer was taken")) \
	X4(nak, "failed: refused with NAK") \
	X4(lease_unknown, "failed: a lease that the server does not know (RFC 4388)") \
	X6(levels_wrong, "failed: not in as many relay messages as sent") \
	X6(hop_count_wrong, "failed: a relay message with another hop count than sent") \
	X6(link_wrong, "failed: a relay message with another link address than sent") \
	X6(peer_wrong, "failed: a relay message with another peer address than sent") \
	X6(interface_id_wrong, "failed: an interface-id that is not echoed, or was not sent") \
	XX(server_id_missing, "failed: no server identifier", "failed: no server DUID") \
	XX(server_id_changed, "failed: the ACK is of another server than asked", \
		"failed: the REPLY is of another server than asked") \
	R6(lease_unknown, "failed: a lease that the server does not know (RFC 5007)") \
	X6(client_data_wrong, "failed: the data of another client, without its lease, or without a time") \
	X6(unicast, "messages sent to the unicast address given by their server (option 12)") \
	X6(unicast_elsewhere, "replies with a unicast address other than server: not used") \
	X6(multicast_again, "messages sent again to all, as the server asked (UseMulticast)") \
	A6(reconfigured, DHCP_TYPE_BUCKETS, dhcp6_type_label, \
		"RECONFIGUREs obeyed, by the message that they ask for") \
	A6(reconfigure_bad, DHCP_BAD_BUCKETS, dhcp6_bad_label, \
		"RECONFIGUREs not obeyed: another way than replies, another client's or server's DUID, no lease or key, no message to ask for, no authentication, a wrong MAC, not newer than the one before") \
	X6(reconfigure_busy, "RECONFIGUREs ignored: their client was in an exchange") \
	X6(client_links, "LEASEQUERY-REPLYs that list links of the client in place of its data") \
	R6(servers_beyond, "failed: of a server beyond the first 16 of a worker") \
	X6(refused, "failed: refused with a status code") \
	X6(ia_missing, "failed: a requested IA is not answered") \
	X6(lease_missing, "failed: an IA without an address or prefix, and without a status") \
	R6(times_wrong, "failed: not T1 <= T2 <= valid lifetime") \
	X6(lifetimes_wrong, "failed: not preferred <= valid lifetime, or a valid lifetime of 0") \
	X4(client_id_wrong, "failed: another client identifier than the one sent") \
	X4(relay_info_wrong, "failed: option 82 is not echoed byte for byte, or was not sent") \
	X4(address_missing, "failed: no address in OFFER or ACK") \
	XX(address_changed, "failed: the ACK has another address than offered or held", \
		"failed: another address than advertised or held") \
	X6(prefix_changed, "failed: another prefix than advertised or held") \
	X(outside_pool, "failed: the address is not in expect.pool") \
	XX(address_unexpected, "failed: not the address of the client in address_column", \
		"failed: not the address or prefix of the client in address_column") \
	XX(option_unexpected, "failed: options, next server or boot file are not as in expect", \
		"failed: options are not as in expect.options") \
	X4(lease_time_missing, "failed: no lease time in OFFER or ACK") \
	X4(times_wrong, "failed: not T1 < T2 < lease time") \
	X6(outside_prefixes, "failed: the prefix is not in expect.prefixes") \
	X6(prefix_length_wrong, "failed: not of expect.prefix_length, beyond /120, or host bits") \
	XX(rapid_commit_missing, "failed: an ACK to DISCOVER without option 80", \
		"failed: a REPLY to SOLICIT without option 14") \
	X(duplicate_address, "failed: an address that another client holds") \
	X6(duplicate_prefix, "failed: a prefix that another client's overlaps") \
	X(t1_unforeseen, "leases with another T1 than life.t1, which the forecast is made from") \
	X(unwatched, "leases without room in the table of holders: a second client would not be found")
// clang-format on
#define DHCP_NO_ROW(...)
#define DHCP_MEMBER(member, ...)          uint64_t member;
#define DHCP_MEMBERS(member, length, ...) uint64_t member[length];

struct dhcp_counters {
	DHCP_COUNTERS(DHCP_MEMBER, DHCP_MEMBER, DHCP_MEMBERS, DHCP_MEMBERS, DHCP_MEMBER,
		DHCP_MEMBER, DHCP_MEMBERS, DHCP_NO_ROW)
	// Replies by server (dhcp_peers.h), the last entry for all further servers; no row, because
	// the result names the servers.
	uint64_t peers[DHCP_SERVERS_MAX + 1][DHCP_PEER_KINDS];
};

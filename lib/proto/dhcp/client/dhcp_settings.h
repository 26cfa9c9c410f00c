// SPDX-License-Identifier: BSD-3-Clause
// Settings and counters that clients of both families have, as structs. Settings of a family begin
// with these; the rows that fill them are in dhcp_fields.h. Path: cold (settings) | hot (the
// counters). Any thread.
#pragma once

#include "base/addr.h"
#include "base/counter.h"
#include "base/field.h"
#include "proto/dhcp/client/dhcp_life.h"

#define DHCP_TRIES_MAX    16 // of one message
#define DHCP_SERVERS_MAX  16 // the item's and further ones
#define DHCP_MIX_MAX      16 // kinds of exchanges
#define DHCP_TYPE_BUCKETS 19 // messages by type; the last one: any other
#define DHCP_EXPECTED_MAX 16 // options
#define DHCP_CODES        256
#define DHCP_WRONG_COUNT  14 // kinds of messages that are wrong on purpose, of each family

// Both families number these exchanges alike; their other ones follow.
enum dhcp_exchange {
	DHCP_FOUR_WAY, // DORA, SARR
	DHCP_TWO_WAY,  // ends with the offer
	DHCP_RAPID,    // gets a lease in two messages
};

struct dhcp_mix_settings {
	double share[DHCP_MIX_MAX]; // by exchange; below 0: a rate, as FIELD_SHARE has it
	double part[DHCP_MIX_MAX];  // of rates: shares, by dhcp_fit; all 0: the load has no rate
};

struct dhcp_vlan_settings {
	struct field_range clients;
	struct field_list vlans;         // uint64_t, outermost first; or, of each client its own:
	struct field_range outer, inner; // last 0: none
};

struct dhcp_leases_settings {
	const char *save, *load; // NULL: not
};

// The value of an option: one of the first three is given.
struct dhcp_value_settings {
	const char *text, *hex;     // patterns
	struct field_list address;  // struct addr
	struct field_list messages; // int32_t, steps of the family; empty: the usual ones
};

// An option that replies must have.
struct dhcp_expected_settings {
	uint64_t code;
	struct dhcp_value_settings value;
};

// Messages that are wrong on purpose, by kind of the family, whose rows are
// X(number, name, help, edit).
struct dhcp_wrong_settings {
	double shares[DHCP_WRONG_COUNT];
};

#define DHCP_WRONG_NUMBER(number, ...) number,

// A whole message as hex with places.
struct dhcp_raw_settings {
	int32_t message; // step of the family
	const char *hex; // pattern
};

// The time that clients pretend to have waited, in the unit of the message's field.
struct dhcp_pretend_settings {
	uint64_t from;
	bool grow;
	uint64_t after_ns, for_ns; // for_ns 0: up to the end
};

struct dhcp_relay_settings {
	struct field_list addresses; // struct addr_range
	struct addr from;            // len 0: each sends from its own
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
	struct dhcp_mix_settings *mix; // NULL: only the exchange
	uint64_t clients;              // UINT64_MAX: automatic
	uint64_t automatic;            // the number then, by dhcp_fit; 0: not known yet
	uint64_t useful;               // of those given, by dhcp_fit; 0: all
	bool again;
	int32_t order;                   // enum dhcp_order
	struct dhcp_life_settings *life; // NULL: a load says when exchanges begin
	uint8_t mac[6];
	uint64_t mac_count; // 0: as many as clients
	const char *mac_file;
	const char *wire; // capture with the clients; NULL: none
	const char *client_file;
	uint64_t mac_column;               // of it; 0: none
	uint64_t address_column;           // likewise
	struct dhcp_relay_settings *relay; // the family's begins with it; NULL: clients on a link
	struct field_list vlans;           // struct dhcp_vlan_settings
	struct field_list options;         // of the family's struct
	struct field_list raw;             // struct dhcp_raw_settings
	struct field_list parameters;      // uint64_t
	struct dhcp_fqdn_settings *fqdn;
	struct field_list servers; // struct field_host
	int32_t spread;
	void *retransmit;                      // of the family's struct; NULL: one try
	uint64_t request_timeout_ns;           // 0: the item's timeout
	uint64_t decline_rest_ns;              // UINT64_MAX: as retransmit says
	struct dhcp_leases_settings *leases;   // NULL: none kept
	struct dhcp_wrong_settings *wrong;     // NULL: none
	struct dhcp_pretend_settings *pretend; // NULL: the time that they wait
};

static inline uint64_t dhcp_clients(const struct dhcp_settings *s)
{
	if (s->clients != UINT64_MAX)
		return s->useful && s->useful < s->clients ? s->useful : s->clients;
	return s->automatic ? s->automatic : 1;
}

// What rates of the mix add to the rate of the load, per second; 0: it has shares.
double dhcp_extra(const void *settings);

// The shares of a mix, or NULL.
static inline const double *dhcp_shares(const struct dhcp_settings *s)
{
	if (!s->mix)
		return NULL;
	return dhcp_extra(s) > 0 ? s->mix->part : s->mix->share;
}

// What servers reply. A refusal is a NAK, or a message whose status is one.
enum dhcp_peer_kind { DHCP_PEER_OFFERS, DHCP_PEER_ANSWERS, DHCP_PEER_REFUSALS, DHCP_PEER_KINDS };

// Counters that both families have; those of a family begin with them. Their rows stand in the
// order that users see among those of the family: LIST(C, B, X, A) with rows C(member, help) and
// B(member, length, label, help) for shared ones, X and A for its own (base/counter.h).
struct dhcp_counters {
	uint64_t request_bytes;
	uint64_t reply_bytes;
	uint64_t sent[DHCP_TYPE_BUCKETS];
	uint64_t received[DHCP_TYPE_BUCKETS];
	uint64_t attempt[DHCP_TRIES_MAX];
	uint64_t server[DHCP_SERVERS_MAX];
	uint64_t wrong_sent[DHCP_WRONG_COUNT];
	uint64_t wrong_answered[DHCP_WRONG_COUNT];
	uint64_t wrong_unanswered[DHCP_WRONG_COUNT];
	uint64_t retransmitted;
	uint64_t leases;
	uint64_t renewed;
	uint64_t released;
	uint64_t declined;
	uint64_t expired;
	uint64_t forgotten;
	uint64_t no_free_client;
	uint64_t no_bound_client;
	uint64_t rapid_fallback;
	uint64_t parameters_missing;
	uint64_t option_repeated;
	uint64_t other_source;
	uint64_t missing[DHCP_CODES];
	uint64_t way_wrong;
	uint64_t vlan_wrong;
	uint64_t xid_wrong;
	uint64_t type_wrong;
	uint64_t server_id_missing;
	uint64_t server_id_changed;
	uint64_t address_changed;
	uint64_t outside_pool;
	uint64_t address_unexpected;
	uint64_t option_unexpected;
	uint64_t times_wrong;
	uint64_t rapid_commit_missing;
	uint64_t duplicate_address;
	uint64_t unwatched;
	uint64_t t1_unforeseen;
	// Replies by server (dhcp_peers.h), the last place of all further ones; without a row: the
	// result names the servers.
	uint64_t peers[DHCP_SERVERS_MAX + 1][DHCP_PEER_KINDS];
};

#define DHCP_T1_HELP "leases with another T1 than life.t1, which the forecast is made from"
#define DHCP_UNWATCHED_HELP                                                                        \
	"leases without room in the table of holders: a second client would not be found"

// Messages that are wrong on purpose.
#define DHCP_WRONG_COUNTERS(B, label_)                                                             \
	B(wrong_sent, DHCP_WRONG_COUNT, label_, "sent wrong on purpose, by kind")                  \
	B(wrong_answered, DHCP_WRONG_COUNT, label_, "of them, with an answer")                     \
	B(wrong_unanswered, DHCP_WRONG_COUNT, label_, "of them, without an answer in time")

#define DHCP_COUNTER_NONE(...)
#define DHCP_COUNTER_ROW(member_, help_)                                                           \
	{.name = #member_,                                                                         \
		.help = help_,                                                                     \
		.type = COUNTER_U64,                                                               \
		.offset = offsetof(struct dhcp_counters, member_)},
#define DHCP_COUNTER_ARRAY_ROW(member_, length_, label_, help_)                                    \
	{.name = #member_,                                                                         \
		.help = help_,                                                                     \
		.type = COUNTER_ARRAY,                                                             \
		.offset = offsetof(struct dhcp_counters, member_),                                 \
		.length = length_,                                                                 \
		.label = label_},

// Labels of the numbers of tries and servers, and of option codes, in counters.
const char *dhcp_place_label(uint32_t i);
const char *dhcp_code_label(uint32_t i);

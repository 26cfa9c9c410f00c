// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 clients: kinds of messages, the compiled plan of an item, the state of a worker and of a
// client, and the reply being processed. Only for lib/proto, tests and fuzzers. Path: cold (set-up)
// | hot (the rest).
#pragma once

#include <stdatomic.h>
#include <string.h>

#include "proto/dhcp/client/dhcp_course.h"
#include "proto/dhcp/v4/dhcp4_message.h"
#include "proto/dhcp/v4/dhcp4_settings.h"

#define DHCP4_MESSAGE_MAX 1400 // bytes of a message we send
#define DHCP4_OPTION_ROOM 255  // bytes of an option we send
#define DHCP4_WRONG_MORE  8    // maximum bytes added by an intentional error
#define DHCP4_TEXTS       2    // text fields of the header: sname, file

// Content of a message (RFC 2131 table 5, RFC 4388 section 6.2).
enum dhcp4_has {
	DHCP4_HAS_CIADDR = 1 << 0,
	DHCP4_HAS_REQUESTED = 1 << 1,  // option 50
	DHCP4_HAS_SERVER_ID = 1 << 2,  // option 54
	DHCP4_HAS_WISH = 1 << 3,       // option 50 with the desired address
	DHCP4_HAS_TIME = 1 << 4,       // option 51 with the desired lease time
	DHCP4_HAS_PARAMETERS = 1 << 5, // option 55
	DHCP4_HAS_OPTIONS = 1 << 6,    // user options
	DHCP4_HAS_CHADDR = 1 << 7,
	DHCP4_HAS_SECS = 1 << 8,
	DHCP4_HAS_RAPID = 1 << 9,      // option 80
	DHCP4_HAS_CLIENT_ID = 1 << 11, // option 61
	DHCP4_IS_UNICAST = 1 << 10,    // from the leased address to the server
};

#define DHCP4_HAS_IDENTITY (DHCP4_HAS_CHADDR | DHCP4_HAS_CLIENT_ID)

// clang-format off
#define DHCP4_EXCHANGES_LIST(X) \
	X(DHCP4_DORA, "dora", DHCP4_STEP_DISCOVER, FREE, BOUND, "get a lease in four messages") \
	X(DHCP4_TWO_WAY, "discover", DHCP4_STEP_DISCOVER, FREE, FREE, "end with the offer") \
	X(DHCP4_RAPID, "rapid", DHCP4_STEP_RAPID, FREE, BOUND, "get a lease in two messages") \
	X(DHCP4_INFORMS, "inform", DHCP4_STEP_INFORM, BOUND, BOUND, "ask for parameters only") \
	X(DHCP4_RENEW, "renew", DHCP4_STEP_RENEW, BOUND, BOUND, "renew at the server of the lease") \
	X(DHCP4_REBIND, "rebind", DHCP4_STEP_REBIND, BOUND, BOUND, "renew at any server") \
	X(DHCP4_REBOOT, "reboot", DHCP4_STEP_REBOOT, BOUND, BOUND, "ask for the known address again") \
	X(DHCP4_RELEASES, "release", DHCP4_STEP_RELEASE, BOUND, FREE, "give the lease back") \
	X(DHCP4_DECLINES, "decline", DHCP4_STEP_DECLINE, BOUND, RESTING, "decline the leased address") \
	X(DHCP4_LEASEQUERIES, "leasequery", DHCP4_STEP_LEASEQUERY, BOUND, BOUND, "ask about a lease")

// Followed by the members of struct dhcp_message_kind (dhcp4_request_wire.c).
#define DHCP4_MESSAGES_LIST(X) \
	X(DHCP4_STEP_DISCOVER, "discover", "discover-offer", \
		DHCP4_DISCOVER, FULL | DHCP4_HAS_WISH, OFFERS, 0, DHCP4_OFFER) \
	X(DHCP4_STEP_REQUEST, "request", "request-ack", DHCP4_REQUEST, \
		FULL | DHCP4_HAS_REQUESTED | DHCP4_HAS_SERVER_ID | DHCP_MAKES_LEASE, DECIDES, OFFERS, \
		DHCP4_ACK) \
	X(DHCP4_STEP_RAPID, "rapid", "discover-ack", DHCP4_DISCOVER, \
		FULL | DHCP4_HAS_WISH | DHCP4_HAS_RAPID | DHCP_MAKES_LEASE, OFFERS | ACKS, 0, 0) \
	X(DHCP4_STEP_RENEW, "renew", "renew-ack", DHCP4_REQUEST, \
		FULL | DHCP4_HAS_CIADDR | DHCP4_IS_UNICAST | DHCP_MAKES_LEASE, DECIDES, 0, DHCP4_ACK) \
	X(DHCP4_STEP_REBIND, "rebind", "rebind-ack", \
		DHCP4_REQUEST, FULL | DHCP4_HAS_CIADDR | DHCP_MAKES_LEASE, DECIDES, 0, DHCP4_ACK) \
	X(DHCP4_STEP_REBOOT, "reboot", "reboot-ack", \
		DHCP4_REQUEST, FULL | DHCP4_HAS_REQUESTED | DHCP_MAKES_LEASE, DECIDES, 0, DHCP4_ACK) \
	X(DHCP4_STEP_INFORM, "inform", "inform-ack", DHCP4_INFORM, \
		(FULL & ~DHCP4_HAS_TIME) | DHCP4_HAS_CIADDR | DHCP4_IS_UNICAST, ACKS, 0, 0) \
	X(DHCP4_STEP_RELEASE, "release", "release", DHCP4_RELEASE, DHCP4_HAS_CIADDR | \
		DHCP4_HAS_SERVER_ID | DHCP4_HAS_IDENTITY | DHCP4_IS_UNICAST | DHCP_IS_SILENT, 0, 0, 0) \
	X(DHCP4_STEP_DECLINE, "decline", "decline", DHCP4_DECLINE, \
		DHCP4_HAS_REQUESTED | DHCP4_HAS_SERVER_ID | DHCP4_HAS_IDENTITY | DHCP_IS_SILENT, 0, 0, 0) \
	X(DHCP4_STEP_LEASEQUERY, "leasequery", "leasequery", DHCP4_LEASEQUERY, \
		DHCP4_HAS_CIADDR | DHCP4_HAS_PARAMETERS, LEASES_KNOWN, 0, 0)
// clang-format on

enum dhcp4_exchange { DHCP4_EXCHANGES_LIST(DHCP_ROW_NUMBER) DHCP4_EXCHANGES };
enum dhcp4_step { DHCP4_MESSAGES_LIST(DHCP_ROW_NUMBER) DHCP4_STEPS };
_Static_assert((int)DHCP4_RAPID == DHCP_RAPID && (int)DHCP4_STEP_RAPID == DHCP_STEP_RAPID, "");

extern const char *const dhcp4_exchange_names[];
extern const struct dhcp_family dhcp4_family;
extern const struct dhcp_message_kind dhcp4_kinds[DHCP4_STEPS];
extern const struct dhcp_start dhcp4_starts[DHCP4_EXCHANGES];

struct dhcp4_client {
	struct dhcp_client head;
	uint32_t address;   // current lease, host order; 0: none
	uint32_t server_id; // of the lease
	uint32_t offered;   // address of the open exchange
	uint32_t chosen;    // server identifier of the open exchange
	uint16_t secs;      // of the exchange's DISCOVER
	bool known;         // head.server is the server of the lease and has a path
};

_Static_assert(sizeof(struct dhcp4_client) == 32, "a power of two");

// A message without its client-specific parts. An offset is 0 if the message lacks the field.
struct dhcp4_template {
	bool open;                        // options and END must be appended; otherwise complete
	bool usual;                       // complete, with an Ethernet MAC, and expects a reply
	bool relayed_usual;               // usual, and sent from the relay's own address
	uint16_t len;                     // of bytes
	uint16_t room;                    // maximum length of the whole message
	uint16_t requested_at, server_at; // data of options 50 and 54
	uint16_t id_at;                   // MAC in the client identifier
	bool relayed, relay_info;         // sent through the relay; with option 82
	bool giaddr, chaddr;              // must be written
	uint16_t has;                     // enum dhcp4_has of fields to write
	uint64_t sum;                     // of bytes, as in csum_add
	uint8_t bytes[DHCP4_MESSAGE_MAX];
};

struct dhcp4_pool_range {
	uint32_t first, last;
};

// Placeholders in a raw message.
enum dhcp4_place { DHCP4_PLACE_XID, DHCP4_PLACE_SECS, DHCP4_PLACE_SERVER, DHCP4_PLACES };

// A text field of the header.
struct dhcp4_text {
	uint8_t at, len;
	struct dhcp_varying text;
};

struct dhcp4_plan {
	struct dhcp_plan is;
	struct dhcp4_template templates[DHCP4_STEPS];
	uint8_t htype, hlen; // on the wire
	enum dhcp4_client_id client_id;
	struct dhcp_varying id_text;
	bool known_server;       // the item's server has an address
	bool relay_unicast;      // renewals etc. also go through the relay
	uint16_t relay_info_len; // of the client-independent part
	uint8_t relay_info[DHCP4_OPTION_MAX];
	struct dhcp_varying_list relay_subs; // after relay_info

	uint32_t path_server; // path of the first server
	// Clients on a link: identifiers of the servers, first the item's, then servers met by
	// workers, in the order of the paths; 0: free. NULL: no message is unicast.
	_Atomic uint32_t *met;
	uint32_t named;  // bit per server known before the run
	uint32_t accept; // server identifier, 0: any
	struct dhcp_start starts[DHCP4_EXCHANGES];
	enum dhcp4_query query;
	uint32_t inform_first; // address of client 0 without a lease; 0: none
	uint32_t inform_count;
	uint32_t hint_first; // requested address of client 0; 0: none
	struct recip hint_count;
	uint16_t pad;
	uint32_t giaddr; // of all relays; 0: each uses its own
	uint32_t text_count;
	struct dhcp4_text texts[DHCP4_TEXTS];
	// Constants for usual replies (dhcp4_is_usual): their type by step, 0: none is usual; op,
	// htype and hlen in the upper bits of 64; length and htype of the client identifier, 0:
	// none is sent.
	uint8_t usual[DHCP4_STEPS];
	uint16_t usual_relayed; // bit per step whose reply comes to a relay
	uint64_t usual_head, usual_id;
	// Ports of replies to relays, and their server's address where the mask is set: as on the
	// wire.
	uint32_t usual_ports, usual_server, usual_mask;
	const struct dhcp4_pool_range *pool;
	uint32_t pool_count;           // 0: any address
	bool judged;                   // by the options or fields below
	uint32_t next_server;          // required in replies; 0: any
	struct dhcp_varying boot_file; // required in replies; code 0: any
};

struct dhcp4_worker {
	struct dhcp_worker is;
	struct dhcp4_scratch scratch;
};

static inline struct dhcp4_client *dhcp4_client_at(const struct dhcp4_worker *w, uint32_t client)
{
	return (struct dhcp4_client *)w->is.work.clients.items + client;
}

// Number of a client, unique among all items.
static inline uint32_t dhcp4_owner(const struct dhcp4_worker *w, uint32_t number)
{
	return w->is.work.owner + number;
}

struct dhcp4_self {
	const struct dhcp4_plan *p;
	struct dhcp4_client *client;
	uint64_t seed;                    // for {random}
	uint32_t number;                  // in the whole run
	uint8_t chaddr[DHCP4_CHADDR_LEN]; // padded with zeros
	uint8_t relay[4];                 // in wire format
	uint8_t address[4];               // the address of the exchange
};

static inline bool dhcp4_in_pool(const struct dhcp4_plan *p, uint32_t address)
{
	for (uint32_t i = 0; i < p->pool_count; i++)
		if (address >= p->pool[i].first && address <= p->pool[i].last)
			return true;
	return p->pool_count == 0;
}

// Drop the client's address. No effect if it has none.
static inline void dhcp4_lease_drop(struct dhcp4_worker *w, uint32_t client)
{
	struct dhcp4_client *k = dhcp4_client_at(w, client);

	if (k->address)
		dhcp_holders_drop(&w->is.common->leases.holders, dhcp4_held(k->address),
			dhcp4_owner(w, dhcp_work_number(&w->is.work, client)));
	k->address = 0;
	k->head.holds = false;
}

// Make address (not 0) the only lease of client k until then; number: its own in the run. Returns
// DHCP_NOBODY, or the owner of a running lease on it, without any change; clients that are one
// client for a server share the address. DHCP_UNWATCHED: the client holds the address, but
// duplicates go undetected.
static inline uint32_t dhcp4_lease_hold(struct dhcp4_worker *w, struct dhcp4_client *k,
	uint32_t number, uint32_t address, uint32_t until_s, uint32_t now_s)
{
	struct dhcp_holders *holders = &w->is.common->leases.holders;
	uint32_t owner = dhcp4_owner(w, number);
	uint32_t other = dhcp_holders_hold(holders, dhcp4_held(address), owner, until_s, now_s);

	if (other < DHCP_UNWATCHED && !dhcp_same_client(w->is.common, owner, other))
		return other;
	if (k->address && k->address != address)
		dhcp_holders_drop(holders, dhcp4_held(k->address), owner);
	k->address = address;
	k->head.holds = true;
	k->head.expires_s = until_s;
	return other == DHCP_UNWATCHED ? DHCP_UNWATCHED : DHCP_NOBODY;
}

// Index of a server (not 0) among those met, adding it if new. DHCP_SERVERS_MAX: no room.
static inline uint32_t dhcp4_meet(const struct dhcp4_plan *p, uint32_t server_id)
{
	for (uint32_t i = 0; i < DHCP_SERVERS_MAX; i++) {
		uint32_t met = atomic_load_explicit(&p->met[i], memory_order_relaxed);

		if (met == 0 && atomic_compare_exchange_strong_explicit(&p->met[i], &met, server_id,
					memory_order_relaxed, memory_order_relaxed))
			return i;
		if (met == server_id)
			return i;
	}
	return DHCP_SERVERS_MAX;
}

// Record the server of the lease of a client on a link. false: too many servers.
static inline bool dhcp4_server_keep(
	const struct dhcp4_plan *p, struct dhcp4_client *k, uint32_t server_id)
{
	uint32_t place = dhcp4_meet(p, server_id);

	k->known = place < DHCP_SERVERS_MAX;
	k->head.server = k->known ? (uint8_t)place : 0;
	return k->known;
}

// The server with this identifier; if unknown, the server that was asked.
static inline uint8_t dhcp4_server_of(
	const struct dhcp4_plan *p, const struct dhcp4_client *k, uint32_t server_id)
{
	uint8_t bytes[4];
	uint32_t i;

	bytes_put_be32(bytes, server_id);
	if (addr_bytes_equal(p->is.servers[0], bytes, 4))
		return 0;
	i = dhcp_server_search(&p->is, bytes, 4);
	return i < p->is.server_count ? (uint8_t)i : k->head.server;
}

// The address of a client's relay.
static inline const uint8_t *dhcp4_relay_of(
	const struct dhcp4_worker *w, uint32_t client, uint32_t number)
{
	const struct dhcp_plan *p = w->is.plan;
	uint32_t by = dhcp_relay_number(&w->is, client, number);

	return p->relays + 4 * (size_t)recip_mod32(&p->by_relay, by);
}

static inline void dhcp4_self_find(
	const struct proto_ctx *ctx, uint32_t client, struct dhcp4_self *s)
{
	const struct dhcp4_plan *p = ctx->shared;
	struct dhcp4_worker *w = ctx->own;

	s->p = p;
	s->client = dhcp4_client_at(w, client);
	s->number = dhcp_work_number(&w->is.work, client);
	dhcp_mac_of(&p->is, s->number, s->chaddr);
	memset(s->relay, 0, 4);
	if (p->is.relays)
		memcpy(s->relay, dhcp4_relay_of(w, client, s->number), 4);
	bytes_put_be32(s->address, s->client->offered);
	s->seed = w->is.work.random_salt + s->number;
}

static inline struct pattern_values dhcp4_values_of(const struct dhcp4_self *s)
{
	return (struct pattern_values){.client = s->number,
		.seed = s->seed,
		.vlans = dhcp_vlans_of(&s->p->is, s->number),
		.mac = s->chaddr,
		.relay = s->relay,
		.address = s->address};
}

// The reply being processed.
struct dhcp4_heard {
	struct dhcp_heard is;
	const uint8_t *buf;
	uint32_t len;
	struct dhcp4_self self;
	struct dhcp4_message m;
};

// Find the server that sent the reply.
DHCP_INLINE void dhcp4_peer_find(struct dhcp4_heard *h, const struct proto_ctx *ctx)
{
	const struct dhcp_plan *p = ctx->shared;
	uint8_t id[4];

	bytes_put_be32(id, h->m.server_id);
	h->is.peer = h->m.server_id ? dhcp_peer_find(p->peers, h->m.server_id, id, 4, h->is.src, 4)
	                            : DHCP_PEER_NONE;
}

// dhcp4_setup.c, dhcp4_templates.c, dhcp4_request_wire.c and dhcp4_wire.c
DHCP_VERBS_DECLARED(dhcp4)

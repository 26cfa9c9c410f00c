// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 clients: kinds of messages, the compiled plan of an item, the state of a worker and of a
// client, and the reply being processed. Only for lib/proto, tests and fuzzers. Path: cold (set-up)
// | hot (the rest).
#pragma once

#include <string.h>

#include "proto/dhcp/client/dhcp_course.h"
#include "proto/dhcp/client/dhcp_shape.h"
#include "proto/dhcp/v6/dhcp6_message.h"
#include "proto/dhcp/v6/dhcp6_settings.h"

#define DHCP6_MESSAGE_MAX  1400 // bytes of a message we send, relay messages included
#define DHCP6_TEMPLATE_MAX 1024
#define DHCP6_WRONG_MORE   204 // maximum bytes added by an intentional error
#define DHCP6_AT_ELAPSED   8   // in messages we send, where the option comes first
#define DHCP6_KEY_BITS     23  // of the 24 of a transaction ID; the last one depends on the step

// Content of a message (RFC 8415 sections 16 and 18.2).
enum dhcp6_has {
	DHCP6_HAS_SERVER_ID = 1 << 0,
	DHCP6_HAS_ADDRESSES = 1 << 1, // IA_NAs
	DHCP6_HAS_PREFIXES = 1 << 2,  // IA_PDs
	DHCP6_HAS_LEASES = 1 << 3,    // in the IAs; otherwise only hints
	DHCP6_HAS_PARAMETERS = 1 << 4,
	DHCP6_HAS_OPTIONS = 1 << 5, // user options
	DHCP6_HAS_RAPID = 1 << 6,
	DHCP6_ENDS_LEASE = 1 << 8, // as soon as it begins
};

// clang-format off
#define DHCP6_EXCHANGES_LIST(X) \
	X(DHCP6_SARR, "sarr", DHCP6_STEP_SOLICIT, FREE, BOUND, "get leases in four messages") \
	X(DHCP6_TWO_WAY, "solicit", DHCP6_STEP_SOLICIT, FREE, FREE, "end with the ADVERTISE") \
	X(DHCP6_RAPID, "rapid", DHCP6_STEP_RAPID, FREE, BOUND, "get leases in two messages") \
	X(DHCP6_RENEWS, "renew", DHCP6_STEP_RENEW, BOUND, BOUND, "renew at the server of the lease") \
	X(DHCP6_REBINDS, "rebind", DHCP6_STEP_REBIND, BOUND, BOUND, "renew at any server") \
	X(DHCP6_RELEASES, "release", DHCP6_STEP_RELEASE, BOUND, FREE, "give the leases back") \
	X(DHCP6_DECLINES, "decline", DHCP6_STEP_DECLINE, BOUND, RESTING, "decline the addresses") \
	X(DHCP6_CONFIRMS, "confirm", DHCP6_STEP_CONFIRM, BOUND, BOUND, "ask if addresses fit the link") \
	X(DHCP6_INFORMS, "information", DHCP6_STEP_INFORMATION, FREE, FREE, "ask for parameters only") \
	X(DHCP6_LEASEQUERIES, "leasequery", DHCP6_STEP_LEASEQUERY, BOUND, BOUND, \
		"ask about leases (RFC 5007)")

// Followed by the members of struct dhcp_message_kind (dhcp6_fields.c).
#define DHCP6_MESSAGES_LIST(X) \
	X(DHCP6_STEP_SOLICIT, "solicit", "solicit-advertise", \
		DHCP6_SOLICIT, FULL | IAS, ADVERTISES, 0, DHCP6_ADVERTISE) \
	X(DHCP6_STEP_REQUEST, "request", "request-reply", DHCP6_REQUEST, \
		FULL | BOUND | DHCP6_HAS_SERVER_ID | DHCP_MAKES_LEASE, REPLIES, ADVERTISES, DHCP6_REPLY) \
	X(DHCP6_STEP_RAPID, "rapid", "solicit-reply", DHCP6_SOLICIT, \
		FULL | IAS | DHCP6_HAS_RAPID | DHCP_MAKES_LEASE, ADVERTISES | REPLIES, 0, 0) \
	X(DHCP6_STEP_RENEW, "renew", "renew-reply", DHCP6_RENEW, \
		FULL | BOUND | DHCP6_HAS_SERVER_ID | DHCP_MAKES_LEASE, REPLIES, 0, DHCP6_REPLY) \
	X(DHCP6_STEP_REBIND, "rebind", "rebind-reply", \
		DHCP6_REBIND, FULL | BOUND | DHCP_MAKES_LEASE, REPLIES, 0, DHCP6_REPLY) \
	X(DHCP6_STEP_RELEASE, "release", "release-reply", \
		DHCP6_RELEASE, BOUND | DHCP6_HAS_SERVER_ID | DHCP6_ENDS_LEASE, REPLIES, 0, 0) \
	X(DHCP6_STEP_DECLINE, "decline", "decline-reply", DHCP6_DECLINE, DHCP6_HAS_ADDRESSES | \
		DHCP6_HAS_LEASES | DHCP6_HAS_SERVER_ID | DHCP6_ENDS_LEASE, REPLIES, 0, 0) \
	X(DHCP6_STEP_CONFIRM, "confirm", "confirm-reply", DHCP6_CONFIRM, \
		DHCP6_HAS_ADDRESSES | DHCP6_HAS_LEASES | DHCP6_HAS_OPTIONS, REPLIES, 0, 0) \
	X(DHCP6_STEP_INFORMATION, "information", "information-reply", \
		DHCP6_INFORMATION, FULL, REPLIES, 0, 0) \
	X(DHCP6_STEP_LEASEQUERY, "leasequery", "leasequery", \
		DHCP6_LEASEQUERY, DHCP_ASKS_ABOUT, 1u << DHCP6_LEASEQUERY_REPLY, 0, 0)
// clang-format on

enum dhcp6_exchange { DHCP6_EXCHANGES_LIST(DHCP_ROW_NUMBER) DHCP6_EXCHANGES };
enum dhcp6_step { DHCP6_MESSAGES_LIST(DHCP_ROW_NUMBER) DHCP6_STEPS };
_Static_assert((int)DHCP6_RAPID == DHCP_RAPID && (int)DHCP6_STEP_RAPID == DHCP_STEP_RAPID, "");

extern const char *const dhcp6_exchange_names[];
extern const struct dhcp_family dhcp6_family;
extern const struct dhcp_message_kind dhcp6_kinds[DHCP6_STEPS];
extern const struct dhcp_start dhcp6_starts[DHCP6_EXCHANGES];
// Destinations of clients that know no server (RFC 8415 section 7.1).
enum { DHCP6_ALL_AGENTS, DHCP6_ALL_SERVERS, DHCP6_GROUPS };
extern const struct addr dhcp6_groups[DHCP6_GROUPS + 1];

// The leases of a client (dhcp_leases.h) are its addresses and prefixes, held or advertised.
struct dhcp6_client {
	struct dhcp_client head;
	uint8_t chosen : 7;  // index of the DUID of its server
	uint8_t unicast : 1; // the server allows unicast
	uint8_t kept;        // preference + 1 of the kept ADVERTISE; 0: none is kept
	// Number of waits until they reach the limit set by a server; 0: no limit.
	uint8_t sol_waits : 7;
	uint8_t keyed : 1; // has a key from the server: struct dhcp6_secret
	uint8_t inf_waits;
};

// A client that accepts RECONFIGUREs: its key, and the number of the latest message with it.
struct dhcp6_secret {
	uint8_t key[16];
	uint64_t replay;
};

_Static_assert(sizeof(struct dhcp6_client) == 16, "a power of two");

// Placeholders in a raw message.
enum dhcp6_raw_place {
	DHCP6_PLACE_XID,
	DHCP6_PLACE_ELAPSED,
	DHCP6_PLACE_SERVER,
	DHCP6_PLACE_DUID,
	DHCP6_PLACES
};

// The head of a message: client-independent, except for transaction ID and elapsed time.
struct dhcp6_template {
	uint16_t len;
	uint16_t room; // maximum length of the whole message, relay messages included
	uint8_t bytes[DHCP6_TEMPLATE_MAX];
};

struct dhcp6_prefix {
	uint8_t bytes[16], mask[16];
};

struct dhcp6_prefix_list {
	struct dhcp6_prefix *items;
	uint32_t count; // 0: any
};

struct dhcp6_ia_plan {
	uint16_t code;
	uint32_t iaid;
};

struct dhcp6_duid_bytes {
	uint8_t len;
	uint8_t bytes[DHCP6_DUID_MAX];
};

struct dhcp6_plan {
	struct dhcp_plan is;
	struct dhcp6_template templates[DHCP6_STEPS];
	enum dhcp6_duid duid_kind;
	struct dhcp_varying duid;
	struct dhcp6_duid_bytes *duids; // from a file, by client; NULL: as follows
	uint8_t duid_mac_at;            // offset of the MAC at its end; 0: the DUID is a pattern
	uint8_t duid_head[16];          // precedes the MAC
	struct dhcp6_ia_plan ias[DHCP6_IAS_MAX];
	uint8_t prefix_hint; // 0: none
	struct dhcp_varying_list ia_na, ia_pd, relay_options;

	enum dhcp6_query query;
	bool usual; // messages differ only in struct dhcp6_places
	uint8_t levels, hop_count;
	bool ldra, own_link; // link: the relay's own address
	uint8_t link[16];
	bool source_port;  // option 135
	bool client_mac;   // option 79
	bool unicast;      // to servers with known addresses
	bool asks_unicast; // requests a server's address and uses it

	bool lenient;       // RECONFIGUREs may repeat a number
	bool takes_best;    // the best ADVERTISE within the first wait wins
	uint8_t accept_len; // of a server DUID; 0: any
	uint8_t accept[DHCP6_DUID_MAX];
	struct dhcp6_prefix_list pool, delegated;
	uint8_t prefix_length;              // 0: any
	struct proto_soliciting soliciting; // for the layout, if it has any
};

#define DHCP6_IMAGE_MAX DHCP_SHAPE_MAX

// Offsets of the client-specific fields, in a plan whose messages are usual.
struct dhcp6_places {
	uint16_t link;  // 16 bytes, 0: constant
	uint16_t peer;  // the lower 8 bytes; 0: not relayed
	uint16_t inner; // type and transaction ID, 0 without a relay
	uint16_t mac;   // in the client's DUID
	uint16_t lease; // 16 bytes of the address, 0: none
};

// A message of a step as written before, with zeros in client-specific fields.
struct dhcp6_image {
	uint16_t len; // 0: not learnt yet
	uint8_t chosen;
	uint32_t missed; // messages written without it
	struct dhcp6_places at;
	uint64_t sum; // of bytes, as in csum_add
	uint8_t bytes[DHCP6_IMAGE_MAX];
};

// An earlier valid reply: the next one equals it outside client-specific fields.
struct dhcp6_usual {
	uint16_t len; // 0: not learnt yet
	uint8_t type, chosen, preference, peer;
	uint64_t present[4]; // options of the reply, as in a message
	bool lacks;          // a requested parameter is missing
	bool unicast;        // has the server's address (option 12)
	uint32_t valid_s, t1_s, t2_s;
	uint32_t missed; // valid replies that did not match
	struct dhcp6_places at;
	struct dhcp_shape shape;
};

struct dhcp6_worker {
	struct dhcp_worker is;
	struct dhcp6_usual usual[2];                     // ADVERTISE, REPLY
	const struct dhcp6_usual *usual_of[DHCP6_STEPS]; // by step, or NULL
	struct dhcp6_image images[DHCP6_STEPS];
	struct dhcp6_duid_bytes servers[DHCP_SERVERS_MAX]; // in the order met
	uint32_t server_count;
};

static inline struct dhcp6_client *dhcp6_client_at(const struct dhcp6_worker *w, uint32_t client)
{
	return (struct dhcp6_client *)w->is.work.clients.items + client;
}

struct dhcp6_self {
	const struct dhcp6_plan *p;
	struct dhcp6_worker *w;
	struct dhcp6_client *client;
	struct dhcp_key keys[DHCP6_IAS_MAX]; // of its leases
	uint32_t lease;                      // the first lease
	const uint8_t *relay;                // the outermost relay, 16 bytes; NULL: none
	uint32_t relay_number;               // selects the relay
	const uint8_t *address;              // the first address of the exchange, or ::
	uint64_t seed;                       // for {random}
	uint32_t number;                     // in the whole run
	uint8_t mac[6];
	uint8_t duid_len;
	uint8_t duid[DHCP6_DUID_MAX];
};

// The interface identifier of the link-local address.
static inline uint64_t dhcp6_interface_id(uint64_t mac)
{
	return (mac >> 24 ^ 0x020000) << 40 | 0xfffe000000 | (mac & 0xffffff);
}

// The MAC in a link-local address; false: it contains none.
static inline bool dhcp6_link_local_mac(const uint8_t address[16], uint8_t mac[6])
{
	const uint8_t from[6] = {
		address[8] ^ 2, address[9], address[10], address[13], address[14], address[15]};
	uint8_t own[16];

	memcpy(mac, from, 6);
	addr_link_local(from, own);
	return addr_bytes_equal(address, own, 16);
}

// The relay's address by the client's relay number (dhcp_relay_number).
static inline const uint8_t *dhcp6_relay_of(const struct dhcp6_plan *p, uint32_t number)
{
	return p->is.relays + 16 * (size_t)recip_mod32(&p->is.by_relay, number);
}

// An empty list contains every address.
static inline bool dhcp6_is_in(const struct dhcp6_prefix_list *l, const uint8_t address[16])
{
	for (uint32_t i = 0; i < l->count; i++) {
		const struct dhcp6_prefix *p = &l->items[i];
		uint64_t a[2], b[2], mask[2];

		memcpy(a, address, 16);
		memcpy(b, p->bytes, 16);
		memcpy(mask, p->mask, 16);
		if (((a[0] ^ b[0]) & mask[0]) == 0 && ((a[1] ^ b[1]) & mask[1]) == 0)
			return true;
	}
	return l->count == 0;
}

// The transaction ID: the second message of an exchange has its own (RFC 8415 section 16.1).
static inline uint32_t dhcp6_xid_of(const struct proto_txn *t)
{
	return t->key << 1 | (t->step == DHCP6_STEP_REQUEST);
}

// The client's relay asks about its leases, without a relay message.
static inline bool dhcp6_asks_about(uint32_t step)
{
	return step == DHCP6_STEP_LEASEQUERY;
}

// Does this message go to the address in the server's option 12 (RFC 8415 section 18.4)?
static inline bool dhcp6_is_unicast(const struct dhcp6_client *k, uint32_t step)
{
	return k->unicast && (dhcp6_kinds[step].has & DHCP6_HAS_SERVER_ID);
}

#define DHCP6_RELAY_DUID_LEN 22
#define DHCP6_QUERY_ROOM     79 // of a lease query, without a DUID as its subject

// The DUID-EN of a querying relay: its address under the documentation enterprise number.
static inline void dhcp6_relay_duid(const struct dhcp6_self *s, uint8_t out[DHCP6_RELAY_DUID_LEN])
{
	memcpy(out, "\0\2\0\0\x7e\xd9", 6);
	memcpy(out + 6, s->relay, 16);
}

// The leases from a server.
struct dhcp6_given {
	struct dhcp_key keys[DHCP6_IAS_MAX];
	uint32_t valid_s;    // the shortest
	uint32_t t1_s, t2_s; // the earliest; 0: not given
};

// The reply being processed.
struct dhcp6_heard {
	struct dhcp_heard is;
	const struct dhcp6_usual *usual; // of a usual reply
	const uint8_t *buf;
	uint32_t len;
	struct dhcp6_self self;
	struct dhcp6_envelope envelope;
	struct dhcp6_message m;
	struct dhcp6_given given;
};

// dhcp6_setup.c, dhcp6_templates.c, dhcp6_request_wire.c and dhcp6_wire.c
DHCP_VERBS_DECLARED(dhcp6)

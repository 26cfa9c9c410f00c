// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 messages as bytes: header, options, identity associations and their contents, and relay
// messages around them (RFC 8415, RFC 9915), and lease queries (RFC 5007). Independent of clients,
// exchanges, addresses and ports. Path: hot. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define DHCP6_HEADER_LEN    4  // type and transaction ID: start of the first option
#define DHCP6_RELAY_LEN     34 // likewise for a relay message
#define DHCP6_OPTION_LEN    4  // code and length
#define DHCP6_SERVER_PORT   547
#define DHCP6_CLIENT_PORT   546
#define DHCP6_XID_MAX       0xffffffu
#define DHCP6_DUID_MIN      3 // two bytes of type plus data (RFC 8415 section 11.1)
#define DHCP6_DUID_MAX      130
#define DHCP6_IAS_MAX       8          // per message; further ones are only counted
#define DHCP6_IA_LEASES_MAX 4          // per IA; further ones are only counted
#define DHCP6_LEVELS_MAX    8          // HOP_COUNT_LIMIT (RFC 8415 section 7.6)
#define DHCP6_INFINITY      UINT32_MAX // of lifetimes, T1 and T2

// Message types: X(name, number, text). RFC 8415, 5007 and 5460.
// clang-format off
#define DHCP6_TYPE_ROWS(X) \
	X(DHCP6_SOLICIT, 1, "SOLICIT") \
	X(DHCP6_ADVERTISE, 2, "ADVERTISE") \
	X(DHCP6_REQUEST, 3, "REQUEST") \
	X(DHCP6_CONFIRM, 4, "CONFIRM") \
	X(DHCP6_RENEW, 5, "RENEW") \
	X(DHCP6_REBIND, 6, "REBIND") \
	X(DHCP6_REPLY, 7, "REPLY") \
	X(DHCP6_RELEASE, 8, "RELEASE") \
	X(DHCP6_DECLINE, 9, "DECLINE") \
	X(DHCP6_RECONFIGURE, 10, "RECONFIGURE") \
	X(DHCP6_INFORMATION, 11, "INFORMATION-REQUEST") \
	X(DHCP6_RELAY_FORW, 12, "RELAY-FORW") \
	X(DHCP6_RELAY_REPL, 13, "RELAY-REPL") \
	X(DHCP6_LEASEQUERY, 14, "LEASEQUERY") \
	X(DHCP6_LEASEQUERY_REPLY, 15, "LEASEQUERY-REPLY") \
	X(DHCP6_LEASEQUERY_DONE, 16, "LEASEQUERY-DONE") \
	X(DHCP6_LEASEQUERY_DATA, 17, "LEASEQUERY-DATA")
// clang-format on
#define DHCP6_NUMBER(name, number, text) name = number,
enum dhcp6_type { DHCP6_TYPE_ROWS(DHCP6_NUMBER) DHCP6_TYPES };

// Offsets in a relay message.
enum dhcp6_relay_at {
	DHCP6_AT_HOP_COUNT = 1,
	DHCP6_AT_LINK = 2,
	DHCP6_AT_PEER = 18,
};

enum dhcp6_option {
	DHCP6_OPT_CLIENT_ID = 1,
	DHCP6_OPT_SERVER_ID = 2,
	DHCP6_OPT_IA_NA = 3,
	DHCP6_OPT_IA_TA = 4,
	DHCP6_OPT_IA_ADDRESS = 5,
	DHCP6_OPT_ORO = 6,
	DHCP6_OPT_PREFERENCE = 7,
	DHCP6_OPT_ELAPSED_TIME = 8,
	DHCP6_OPT_RELAY_MESSAGE = 9,
	DHCP6_OPT_AUTH = 11,
	DHCP6_OPT_UNICAST = 12,
	DHCP6_OPT_STATUS = 13,
	DHCP6_OPT_RAPID_COMMIT = 14,
	DHCP6_OPT_USER_CLASS = 15,
	DHCP6_OPT_VENDOR_CLASS = 16,
	DHCP6_OPT_VENDOR_OPTIONS = 17,
	DHCP6_OPT_INTERFACE_ID = 18,
	DHCP6_OPT_RECONFIGURE_MESSAGE = 19,
	DHCP6_OPT_RECONFIGURE_ACCEPT = 20,
	DHCP6_OPT_DNS = 23,
	DHCP6_OPT_DOMAIN_LIST = 24,
	DHCP6_OPT_IA_PD = 25,
	DHCP6_OPT_IA_PREFIX = 26,
	DHCP6_OPT_REFRESH_TIME = 32, // RFC 4242
	DHCP6_OPT_REMOTE_ID = 37,    // RFC 4649
	DHCP6_OPT_SUBSCRIBER_ID = 38,
	DHCP6_OPT_FQDN = 39,
	DHCP6_OPT_LQ_QUERY = 44, // RFC 5007
	DHCP6_OPT_CLIENT_DATA = 45,
	DHCP6_OPT_CLT_TIME = 46,
	DHCP6_OPT_LQ_RELAY_DATA = 47,
	DHCP6_OPT_LQ_CLIENT_LINK = 48,
	DHCP6_OPT_RELAY_ID = 53,          // RFC 5460
	DHCP6_OPT_CLIENT_LINK_LAYER = 79, // RFC 6939
	DHCP6_OPT_SOL_MAX_RT = 82,
	DHCP6_OPT_INF_MAX_RT = 83,
	DHCP6_OPT_RELAY_PORT = 135, // RFC 8357
};

// Status codes (option 13), likewise.
// clang-format off
#define DHCP6_STATUS_ROWS(X) \
	X(DHCP6_SUCCESS, 0, "Success") \
	X(DHCP6_UNSPEC_FAIL, 1, "UnspecFail") \
	X(DHCP6_NO_ADDRS_AVAIL, 2, "NoAddrsAvail") \
	X(DHCP6_NO_BINDING, 3, "NoBinding") \
	X(DHCP6_NOT_ON_LINK, 4, "NotOnLink") \
	X(DHCP6_USE_MULTICAST, 5, "UseMulticast") \
	X(DHCP6_NO_PREFIX_AVAIL, 6, "NoPrefixAvail") \
	X(DHCP6_UNKNOWN_QUERY_TYPE, 7, "UnknownQueryType") \
	X(DHCP6_MALFORMED_QUERY, 8, "MalformedQuery") \
	X(DHCP6_NOT_CONFIGURED, 9, "NotConfigured") \
	X(DHCP6_NOT_ALLOWED, 10, "NotAllowed") \
	X(DHCP6_QUERY_TERMINATED, 11, "QueryTerminated")
// clang-format on
enum dhcp6_status {
	DHCP6_STATUS_ROWS(DHCP6_NUMBER) DHCP6_STATUSES,
	DHCP6_STATUS_NONE = 0xffff, // no status code option, which means success
};

enum dhcp6_query_type { // from the third on only over connections (RFC 5460)
	DHCP6_QUERY_BY_ADDRESS = 1,
	DHCP6_QUERY_BY_CLIENT_ID,
	DHCP6_QUERY_BY_RELAY_ID,
	DHCP6_QUERY_BY_LINK,
	DHCP6_QUERY_BY_REMOTE_ID,
};

// Data of an option within the message; data NULL: the option is absent.
struct dhcp6_bytes {
	const uint8_t *data;
	uint16_t len;
};

static inline bool dhcp6_bytes_are(
	const struct dhcp6_bytes *theirs, const uint8_t *ours, uint32_t len)
{
	return theirs->data && theirs->len == len && memcmp(theirs->data, ours, len) == 0;
}

// Notes taken by the parser.
struct dhcp6_notes {
	bool repeats;       // a singleton option appears twice, with equal content
	bool trailing;      // up to 3 zero octets after the last option
	const char *broken; // why parsing failed
};

// An address (option 5) or a prefix (option 26).
struct dhcp6_lease {
	const uint8_t *address; // 16 bytes
	uint32_t preferred_s, valid_s;
	uint16_t status; // DHCP6_STATUS_NONE: none
	uint8_t bits;    // length of the prefix; 128 for an address
};

struct dhcp6_ia {
	uint16_t type; // DHCP6_OPT_IA_NA, _IA_TA or _IA_PD
	uint16_t status;
	uint32_t iaid;
	uint32_t t1_s, t2_s;        // 0 for IA_TA, which has none
	struct dhcp6_bytes whole;   // the option's data
	struct dhcp6_bytes message; // text of the status
	uint16_t lease_count, leases_ignored;
	struct dhcp6_lease leases[DHCP6_IA_LEASES_MAX]; // lease_count of them
};

// A view into a message; pointers are valid as long as its bytes. Numbers are in host order, and 0
// if their option is absent.
struct dhcp6_message {
	uint8_t type;
	uint16_t status;
	uint16_t ia_count, ias_ignored;
	uint32_t xid;
	uint32_t elapsed; // 1/100 s
	uint32_t preference;
	uint32_t reconfigure; // message type that a RECONFIGURE requests
	uint32_t sol_max_rt_s, inf_max_rt_s, refresh_s;
	struct dhcp6_notes notes;
	uint64_t present[4];    // bit per option below 256 present at the top level
	const uint8_t *unicast; // 16 bytes, or NULL
	struct dhcp6_bytes client_id, server_id, oro, auth, status_message;
	struct dhcp6_bytes query, client_data, client_links; // RFC 5007
	struct dhcp6_ia ias[DHCP6_IAS_MAX];                  // ia_count of them
};

// The subject of a lease query (option 44), or a server's data about a client (option 45).
struct dhcp6_subject {
	uint8_t query;       // enum dhcp6_query_type; 0 in option 45
	const uint8_t *link; // 16 bytes; NULL in option 45
	struct dhcp6_bytes client_id;
	bool has_age;
	uint32_t age_s; // since the client's last transaction
	uint16_t lease_count, leases_ignored;
	struct dhcp6_lease leases[DHCP6_IAS_MAX]; // lease_count addresses and prefixes
};

// One relay message; `message` is the enclosed message.
struct dhcp6_relay {
	uint8_t type; // DHCP6_RELAY_FORW or DHCP6_RELAY_REPL
	uint8_t hop_count;
	const uint8_t *link, *peer; // 16 bytes each
	struct dhcp6_bytes message, interface_id, remote_id, subscriber_id, link_layer, port;
	struct dhcp6_notes notes;
};

// A message and the relay messages around it.
struct dhcp6_envelope {
	uint32_t levels;                             // 0: not relayed
	struct dhcp6_relay relays[DHCP6_LEVELS_MAX]; // levels of them, outermost first
	const uint8_t *inner;
	uint32_t inner_len;
};

static inline bool dhcp6_has(const struct dhcp6_message *m, uint8_t option)
{
	return m->present[option >> 6] >> (option & 63) & 1;
}

// Parse a message of a client or server. false: too short, a relay message, an option that overruns
// its container or has an invalid size (including DUIDs below 3 or above 130 bytes), a prefix
// length above 128, or a singleton option (all named here except IAs and their leases) twice with
// different content; *m then holds the part that was parsed. Skips options that are out of place,
// IAs and leases beyond the fixed numbers (counted), and zero octets after the last option, too few
// for another one.
bool dhcp6_parse(const uint8_t *buf, uint32_t len, struct dhcp6_message *m);

// Parse the data of option 44 (query), or of option 45. false: too short, or an option in it
// overruns its container, has an invalid size, or appears twice with different content.
bool dhcp6_parse_subject(const struct dhcp6_bytes *data, bool query, struct dhcp6_subject *s);

// Parse one relay message. false: too short, not a relay message, an option that overruns, repeats
// or has an invalid size, or no relay message option.
bool dhcp6_parse_relay(const uint8_t *buf, uint32_t len, struct dhcp6_relay *r);

// Remove all relay messages. false: a relay message is broken, their types differ, or there are
// more than DHCP6_LEVELS_MAX. inner is not validated, but is not a relay message.
bool dhcp6_unwrap(const uint8_t *buf, uint32_t len, struct dhcp6_envelope *e);

// Read the transaction ID of a message, possibly inside relay messages of this type. Reads only the
// path to the inner message, and its header. false: also for a RECONFIGURE, which has none.
bool dhcp6_xid(const uint8_t *buf, uint32_t len, enum dhcp6_type relay, uint32_t *xid);

void dhcp6_write_header(struct writer *w, uint8_t type, uint32_t xid);
// link and peer: 16 bytes.
void dhcp6_write_relay(struct writer *w, uint8_t type, uint8_t hop_count, const uint8_t *link,
	const uint8_t *peer);

// Enclose the bytes written between begin and end in an option; can be nested. Pass the result of
// begin to end.
uint8_t *dhcp6_option_begin(struct writer *w, uint16_t code);
void dhcp6_option_end(struct writer *w, uint8_t *begin);
// IA_NA and IA_PD; an IA_TA omits the times.
uint8_t *dhcp6_ia_begin(
	struct writer *w, uint16_t code, uint32_t iaid, uint32_t t1_s, uint32_t t2_s);
// code: option 5 (an address; bits is unused) or 26 (a prefix).
void dhcp6_write_lease(struct writer *w, uint16_t code, const struct dhcp6_lease *l);

void dhcp6_write_option(struct writer *w, uint16_t code, const void *data, uint32_t len);
void dhcp6_write_option_u8(struct writer *w, uint16_t code, uint8_t value);
void dhcp6_write_option_be16(struct writer *w, uint16_t code, uint16_t value);
void dhcp6_write_option_be32(struct writer *w, uint16_t code, uint32_t value);
void dhcp6_write_status(struct writer *w, uint16_t status, const char *text);

// The first option with this code among those between offsets begin and end in buf: offset of its
// code, 0: absent. Its data lies before end.
uint32_t dhcp6_find_option(const uint8_t *buf, uint32_t begin, uint32_t end, uint16_t code);

// The option for leases in an IA of this type: 26 in IA_PD, otherwise 5.
static inline uint16_t dhcp6_lease_code(uint16_t ia_type)
{
	return ia_type == DHCP6_OPT_IA_PD ? DHCP6_OPT_IA_PREFIX : DHCP6_OPT_IA_ADDRESS;
}

// "SOLICIT", "NoBinding" ...; NULL for an unnamed number.
const char *dhcp6_type_name(uint32_t type);
const char *dhcp6_status_name(uint32_t status);
// For counters: "RESERVED" for type 0, "other" for any other unnamed number.
const char *dhcp6_type_label(uint32_t type);
const char *dhcp6_status_label(uint32_t status);

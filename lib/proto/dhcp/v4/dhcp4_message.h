// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 messages as bytes: the fixed header (RFC 2131 section 2) and the options (RFC 2132),
// including overload (option 52) and split options (RFC 3396). Independent of clients, exchanges,
// addresses and ports. Path: hot. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "proto/dhcp/client/dhcp_shape.h"

#define DHCP4_HEADER_LEN  236 // up to the magic cookie
#define DHCP4_OPTIONS_AT  240 // start of the first option
#define DHCP4_COOKIE      0x63825363u
#define DHCP4_CHADDR_LEN  16
#define DHCP4_BROADCAST   0x8000 // of flags
#define DHCP4_SERVER_PORT 67
#define DHCP4_CLIENT_PORT 68
#define DHCP4_FILE_LEN    128
#define DHCP4_OPTION_MAX  1024 // bytes of one option, joined from its pieces

enum dhcp4_htype { // hardware types, as in ARP
	DHCP4_HTYPE_ETHERNET = 1,
	DHCP4_HTYPE_IEEE802 = 6,
	DHCP4_HTYPE_INFINIBAND = 32, // its messages have no hardware address (RFC 4390)
};

enum dhcp4_op { DHCP4_REQUEST_OP = 1, DHCP4_REPLY_OP = 2 };

// Offsets in the fixed header.
enum dhcp4_at {
	DHCP4_AT_OP = 0,
	DHCP4_AT_HTYPE = 1,
	DHCP4_AT_HLEN = 2,
	DHCP4_AT_HOPS = 3,
	DHCP4_AT_XID = 4,
	DHCP4_AT_SECS = 8,
	DHCP4_AT_FLAGS = 10,
	DHCP4_AT_CIADDR = 12,
	DHCP4_AT_YIADDR = 16,
	DHCP4_AT_SIADDR = 20,
	DHCP4_AT_GIADDR = 24,
	DHCP4_AT_CHADDR = 28,
	DHCP4_AT_SNAME = 44,
	DHCP4_AT_FILE = 108,
	DHCP4_AT_COOKIE = 236,
};

// Message types (option 53): X(name, number). RFC 2131, 3203, 4388, 6926 and 7724; the clients here
// do not take part in FORCERENEW and ACTIVELEASEQUERY.
// clang-format off
#define DHCP4_TYPE_ROWS(X) \
	X(DISCOVER, 1) X(OFFER, 2) X(REQUEST, 3) X(DECLINE, 4) X(ACK, 5) X(NAK, 6) X(RELEASE, 7) \
	X(INFORM, 8) X(FORCERENEW, 9) X(LEASEQUERY, 10) X(LEASEUNASSIGNED, 11) X(LEASEUNKNOWN, 12) \
	X(LEASEACTIVE, 13) X(BULKLEASEQUERY, 14) X(LEASEQUERYDONE, 15) X(ACTIVELEASEQUERY, 16) \
	X(LEASEQUERYSTATUS, 17)
// clang-format on
#define DHCP4_TYPE_NUMBER(name, number) DHCP4_##name = number,
enum dhcp4_type { DHCP4_TYPE_ROWS(DHCP4_TYPE_NUMBER) DHCP4_TYPES };

enum dhcp4_option {
	DHCP4_OPT_PAD = 0,
	DHCP4_OPT_SUBNET_MASK = 1,
	DHCP4_OPT_ROUTER = 3,
	DHCP4_OPT_DNS = 6,
	DHCP4_OPT_HOST_NAME = 12,
	DHCP4_OPT_DOMAIN = 15,
	DHCP4_OPT_REQUESTED_ADDRESS = 50,
	DHCP4_OPT_LEASE_TIME = 51,
	DHCP4_OPT_OVERLOAD = 52,
	DHCP4_OPT_TYPE = 53,
	DHCP4_OPT_SERVER_ID = 54,
	DHCP4_OPT_PARAMETERS = 55,
	DHCP4_OPT_MESSAGE = 56,
	DHCP4_OPT_MAX_SIZE = 57,
	DHCP4_OPT_T1 = 58,
	DHCP4_OPT_T2 = 59,
	DHCP4_OPT_VENDOR_CLASS = 60,
	DHCP4_OPT_CLIENT_ID = 61,
	DHCP4_OPT_BOOT_FILE = 67,
	DHCP4_OPT_RAPID_COMMIT = 80,
	DHCP4_OPT_FQDN = 81,
	DHCP4_OPT_RELAY_INFO = 82,
	DHCP4_OPT_CLIENT_LAST_TIME = 91,
	DHCP4_OPT_STATUS = 151, // RFC 6926, through DHCP4_OPT_STATE
	DHCP4_OPT_BASE_TIME = 152,
	DHCP4_OPT_STATE_TIME = 153,
	DHCP4_OPT_STATE = 156,
	DHCP4_OPT_END = 255,
};

// Status codes of bulk lease queries (option 151): X(name, text), from 0.
// clang-format off
#define DHCP4_STATUS_ROWS(X) \
	X(DHCP4_STATUS_SUCCESS, "Success") \
	X(DHCP4_STATUS_UNSPEC_FAIL, "UnspecFail") \
	X(DHCP4_STATUS_QUERY_TERMINATED, "QueryTerminated") \
	X(DHCP4_STATUS_MALFORMED_QUERY, "MalformedQuery") \
	X(DHCP4_STATUS_NOT_ALLOWED, "NotAllowed")
// clang-format on
#define DHCP4_STATUS_NUMBER(name, text) name,
enum dhcp4_status { DHCP4_STATUS_ROWS(DHCP4_STATUS_NUMBER) DHCP4_STATUSES };

enum dhcp4_relay_option { // of option 82
	DHCP4_RELAY_REMOTE_ID = 2,
	DHCP4_RELAY_ID = 12, // RFC 6925
};

enum dhcp4_state { DHCP4_STATE_AVAILABLE = 1, DHCP4_STATE_ACTIVE = 2 }; // option 156

// A view into a message; pointers are valid as long as its bytes.
struct dhcp4_message {
	uint8_t op, htype, hlen, hops;
	uint16_t secs, flags;
	uint32_t xid;
	uint32_t ciaddr, yiaddr, siaddr, giaddr; // host order
	const uint8_t *chaddr;                   // DHCP4_CHADDR_LEN bytes
	uint8_t type;                            // option 53; 0: none
	bool has_end;                            // the option field ends with option 255
	bool repeats;                            // an option appears twice, with equal content
	uint64_t present[4];                     // bit per option that is present
	uint32_t server_id;                      // option 54, host order; 0: none or not 4 bytes
	uint32_t lease_time, t1, t2;             // s; valid if present
	uint32_t requested;                      // option 50
	// The option in one piece, or NULL. If the message splits it, it is joined in scratch.
	const uint8_t *client_id, *relay_info, *message;
	uint16_t client_id_len, relay_info_len, message_len;
	const uint8_t *parameters; // option 55: only the first piece
	uint8_t parameters_len;
	const char *broken; // why parsing failed
};

// Layouts of earlier messages: servers usually send the same options in the same order, so most
// messages need no walk.
#define DHCP4_LAYOUTS 4 // remembered at a time

// Offsets of option data in the message; 0: the option is absent.
struct dhcp4_places {
	uint16_t type, server_id, lease_time, t1, t2, requested;
	uint16_t client_id, relay_info, message, parameters;
};

#define DHCP4_LACKS         8 // codes stored per layout
#define DHCP4_LACKS_MORE    254
#define DHCP4_LACKS_UNKNOWN 255

// Valid only for a well-formed message that ends with END and has each option once, in its options
// field. A walk would find the same options at the same offsets.
struct dhcp4_layout {
	uint32_t need;           // minimum length of a matching message, 0: unused
	struct dhcp_shape shape; // from the magic cookie through END
	struct dhcp4_places at;
	uint64_t present[4]; // as in a message
	// Does it have a server identifier and all three times, no relay information, and no client
	// identifier except with 7 bytes?
	bool usual;
	uint8_t client_id_len, relay_info_len, message_len, parameters_len;
	// Requested parameters that are missing: their number, or a constant above.
	uint8_t lacks, lack[DHCP4_LACKS];
};

struct dhcp4_layouts {
	uint32_t last;   // index of the latest match
	uint32_t missed; // messages that matched no layout
	struct dhcp4_layout items[DHCP4_LAYOUTS];
};

// Memory for parsing, one per thread, initially zero: the layouts of earlier messages, and room to
// join split options.
struct dhcp4_scratch {
	struct dhcp4_layouts layouts;
	uint8_t bytes[3][DHCP4_OPTION_MAX];
};

static inline bool dhcp4_has(const struct dhcp4_message *m, uint8_t option)
{
	return m->present[option >> 6] >> (option & 63) & 1;
}

// Parse a whole message, request or reply. false: too short, no magic cookie, an option that
// overruns its field, a fixed-size option (50-54, 58, 59) whose joined pieces have another size, 52
// above 3, a split option above DHCP4_OPTION_MAX, or broken options in a file or sname field (52);
// *m then holds the part that was parsed. A missing END is not an error. Options of the file field
// follow those of the options field, then come those of sname (RFC 3396 section 7). A second
// fixed-size option (except 52), 61 or 82 equal to the first is a repetition, not a piece: some
// servers add configured options to the ones they send anyway.
bool dhcp4_parse(
	const uint8_t *buf, uint32_t len, struct dhcp4_scratch *scratch, struct dhcp4_message *m);

static inline bool dhcp4_layout_fits(const struct dhcp4_layout *l, const uint8_t *buf, uint32_t len)
{
	return l->need - 1 < len && dhcp_shape_fits(&l->shape, buf + DHCP4_AT_COOKIE);
}

// Search all layouts.
struct dhcp4_layout *dhcp4_layout_search(struct dhcp4_layouts *k, const uint8_t *buf, uint32_t len);

// The layout of a message, usually the latest match; NULL: unknown.
static inline struct dhcp4_layout *dhcp4_layout_find(
	struct dhcp4_layouts *k, const uint8_t *buf, uint32_t len)
{
	struct dhcp4_layout *l = &k->items[k->last];

	return dhcp4_layout_fits(l, buf, len) ? l : dhcp4_layout_search(k, buf, len);
}

// Read the xid of a message that has a complete header and this op.
static inline bool dhcp4_xid(const uint8_t *buf, uint32_t len, enum dhcp4_op op, uint32_t *xid)
{
	if (len < DHCP4_HEADER_LEN || buf[DHCP4_AT_OP] != op)
		return false;
	*xid = bytes_be32(buf + DHCP4_AT_XID);
	return true;
}

// Append an option; above 255 bytes it is split (RFC 3396).
void dhcp4_write_option(struct writer *w, uint8_t code, const void *data, uint32_t len);
void dhcp4_write_option_be32(struct writer *w, uint8_t code, uint32_t value);
void dhcp4_write_option_u8(struct writer *w, uint8_t code, uint8_t value);

// Find an option in a message that we wrote or parsed, not overloaded or split: offset of its code
// byte, 0: absent. Its data lies within len. Also finds DHCP4_OPT_END.
uint32_t dhcp4_find_option(const uint8_t *buf, uint32_t len, uint8_t code);

// Join all pieces of an option in a parsed message, including overloaded fields, with repetitions
// once. Returns the length, -1: absent or longer than room.
int dhcp4_option_join(const uint8_t *buf, uint32_t len, uint8_t code, uint8_t *out, uint32_t room);

// "DISCOVER", "NotAllowed" ...; NULL for an unnamed number.
const char *dhcp4_type_name(uint32_t type);
const char *dhcp4_status_name(uint32_t status);
// For counters: "none" for type 0, "other" for any other unnamed number.
const char *dhcp4_type_label(uint32_t type);
const char *dhcp4_status_label(uint32_t status);

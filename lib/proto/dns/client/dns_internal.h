// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the DNS protocol: the compiled plan, the state of a worker, messages, and
// the functions. Only for lib/proto, tests and fuzzers. Path: cold (set-up) | hot (the rest).
#pragma once

#include "base/arena.h"
#include "base/rand.h"
#include "proto/dns/client/dns_proxy_wire.h"
#include "proto/dns/client/dns_queries.h"
#include "proto/dns/client/dns_referee.h"
#include "proto/dns/client/dns_settings.h"
#include "proto/proto.h"

#define DNS_PORT              53
#define DNS_TLS_PORT          853
#define DNS_HTTPS_PORT        443
#define DNS_QUIC_PORT         853 // of UDP
#define DNS_HEADER_LEN        12
#define DNS_COOKIE_SERVER_MAX 32
#define DNS_DO                0x8000 // in the flags of an OPT record
// Maximum datagram. A packet buffer counts octets in 16 bits, including headers and its own
// headroom: 65507, the maximum of IPv4, is a frame of 65549.
#define DNS_DATAGRAM_MAX 65200

// Bits in byte 2 of the header.
#define DNS_QR     0x80
#define DNS_OPCODE 0x78
#define DNS_AA     0x04
#define DNS_TC     0x02
#define DNS_RD     0x01
// Bits in byte 3.
#define DNS_AD    0x20
#define DNS_CD    0x10
#define DNS_RCODE 0x0f

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_YXDOMAIN = 6,
	DNS_YXRRSET = 7,
	DNS_NXRRSET = 8,
	DNS_NOTAUTH = 9,
	DNS_NOTZONE = 10,
	DNS_BADVERS = 16,
	DNS_BADCOOKIE = 23,
	DNS_RCODE_OTHER = DNS_RCODES - 1,
};
enum dns_opcode { DNS_QUERY = 0, DNS_NOTIFY = 4, DNS_UPDATE = 5 };
enum dns_type {
	DNS_A = 1,
	DNS_NS = 2,
	DNS_CNAME = 5,
	DNS_SOA = 6,
	DNS_TXT = 16,
	DNS_AAAA = 28,
	DNS_DNAME = 39,
	DNS_OPT = 41,
	DNS_DS = 43,
	DNS_TSIG = 250,
	DNS_IXFR = 251,
	DNS_AXFR = 252,
	DNS_MAILB = 253,
	DNS_MAILA = 254,
	DNS_ANY = 255
};
enum dns_class { DNS_CLASS_IN = 1, DNS_CLASS_NONE = 254, DNS_CLASS_ANY = 255 };
enum dns_option {
	DNS_NSID = 3,
	DNS_CLIENT_SUBNET = 8,
	DNS_COOKIE = 10,
	DNS_KEEPALIVE = 11,
	DNS_PADDING = 12,
	DNS_EDE = 15,
	DNS_REPORT_CHANNEL = 18,
	DNS_ZONEVERSION = 19,
};
#define DNS_OPTION_HEAD 4 // code and length

struct dns_alias;
struct dns_tsig_key;
struct dns_tsig_client;

// First member of both shared structs: teardown and open get either one.
enum dns_role { DNS_ASKS, DNS_ANSWERS };

struct dns_plan {
	enum dns_role role;
	enum dns_order order;
	enum dns_cookies cookies;
	bool varies; // the question differs from the blob (random characters or 0x20)
	bool case_0x20;
	bool fixed;             // queries with equal questions differ only in the ID
	bool plain;             // usual replies need no further checks
	uint8_t subnet_len;     // address octets in the drawn client subnet
	uint16_t max_reply;     // size that we advertise, in bytes
	uint16_t max_own_reply; // likewise in queries with their own OPT
	uint32_t min_answers;
	bool keepalive;           // the OPT record requests the server's idle timeout
	bool wrong;               // some messages are deliberately malformed
	bool transfers;           // all transactions are zone transfers
	bool tc_to_stream;        // truncated answers are retried over a connection
	uint32_t expected_rcodes; // bit per rcode
	struct dns_queries queries;
	struct dns_referee referee;
	struct recip count;   // of queries
	struct recip run;     // consecutive transactions that use one message of a list
	struct recip round;   // transactions for the whole list
	struct recip padding; // block size for padding queries; divisor 0: none
	struct dns_proxy proxy;
	struct dns_alias *alias;
	uint64_t wrong_below[DNS_WRONG_COUNT]; // of 2^32, ascending: a draw picks the first above
	uint64_t subnet_base[2];               // network, in memory order
	uint64_t subnet_mask[2];               // bits to draw per query
	struct perm unique[DNS_RANDOM_UNIQUE + 1];
	uint32_t sums[2]; // of header and OPT, by parity of the question's length
	uint32_t own_sum; // of the header before a query's own OPT
	uint8_t header[DNS_HEADER_LEN];
	struct dns_opt opt;        // of queries without their own
	struct dns_tsig_key *tsig; // signing key; NULL: none
};

struct dns_cookie {
	uint8_t len; // 0: none learnt
	uint8_t bytes[DNS_COOKIE_SERVER_MAX];
};

enum dns_salt {
	DNS_SALT_ORDER,
	DNS_SALT_NAME,
	DNS_SALT_SUBNET,
	DNS_SALT_CASE,
	DNS_SALT_COOKIE,
	DNS_SALT_WRONG,
	DNS_SALTS
};

// ctx->own of a traffic item. Used by one thread.
struct dns_worker {
	uint64_t salt[DNS_SALTS]; // one random stream per use
	uint32_t worker, workers;
	struct dns_tsig_client *tsig;
	uint32_t clients;            // with a cookie slot
	struct dns_cookie cookies[]; // for DNS_COOKIES_FULL, by txn->client
};

#define DNS_RECORD_CLASS 4 // offset
// Why a message is not well formed.
enum dns_broken {
	DNS_BROKEN_QUESTION,
	DNS_BROKEN_NAME,
	DNS_BROKEN_END,
	DNS_BROKEN_OPT,
	DNS_BROKEN_TSIG,
	DNS_BROKEN_COUNT,
};

// The parts of a whole message. Pointers point into the message, NULL: absent.
struct dns_message {
	uint16_t answers;
	bool has_opt;
	uint8_t broken; // enum dns_broken, if not well formed
	uint8_t ext_rcode, version;
	uint16_t udp_size, edns_flags;
	// Data of the options.
	const uint8_t *nsid, *cookie, *subnet, *keepalive, *padding, *zoneversion;
	uint16_t nsid_len, cookie_len, subnet_len, keepalive_len, zoneversion_len;
	uint16_t report_channel_len;
	uint32_t errors;    // bit per extended error
	uint32_t left;      // bytes after the last record
	const uint8_t *opt; // the OPT record, starting at its type
	uint32_t tsig;      // offset of the TSIG record, which comes last; 0: none
	uint32_t tsig_type; // offset of its type
};

static inline uint8_t dns_lower_case(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static inline bool dns_names_equal(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (dns_lower_case(a[i]) != dns_lower_case(b[i]))
			return false;
	return true;
}

static inline uint32_t dns_type_bucket(uint16_t type)
{
	switch (type) {
	case DNS_A:
		return 0;
	case DNS_AAAA:
		return 1;
	case DNS_TXT:
		return 2;
	}
	return DNS_TYPE_BUCKETS - 1;
}

// Expand the name, compressed or not, at offset `at` into out, in lower case; out has room for
// DNS_NAME_MAX. Returns its length, or 0 if it is not well formed.
uint32_t dns_name_read(const uint8_t *msg, uint32_t len, uint32_t at, uint8_t *out);
// The length of the uncompressed question after the header, or 0 if it is not well formed. len >=
// 12.
uint32_t dns_question_len(const uint8_t *buf, uint32_t len);
// Walk all records of all sections from offset `at` (after the question, if any). false: not well
// formed, see m->broken.
bool dns_message_walk(const uint8_t *buf, uint32_t len, uint32_t at, struct dns_message *m);

// Pad a message of len bytes that ends with the OPT record at opt, by an option with `more` bytes,
// if there is room. Returns the new length.
uint32_t dns_pad(uint8_t *buf, uint32_t len, uint32_t room, uint8_t *opt, uint32_t more);

// The end of the name at p in a message of len bytes; NULL: not well formed. *steps: remaining
// number of pointers, and labels after them, that may be followed.
const uint8_t *dns_name_end(const uint8_t *p, const uint8_t *msg, uint32_t len, uint32_t *steps);
// The serial of an SOA record whose RDATA begins at data. *steps: see dns_name_end.
bool dns_soa_serial(
	const uint8_t *buf, uint32_t len, const uint8_t *data, uint32_t *steps, uint32_t *serial);

// dns_request_wire.c, dns_reply_wire.c: functions for proto.h
void dns_request(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
	struct proto_out *out, uint32_t n, uint32_t room);
extern const struct proto_images dns_images;
uint32_t dns_preface(struct proto_ctx *ctx, uint64_t number, uint8_t *buf, uint32_t room);
bool dns_key(const uint8_t *buf, uint32_t len, uint32_t *key);
#define DNS_KEY_PLACE                                                                              \
	{                                                                                          \
		.least = DNS_HEADER_LEN, .mask = DNS_QR << 8, .mark = DNS_QR << 8, .shift = 16     \
	}
uint32_t dns_reply(struct proto_ctx *ctx, struct proto_txn *const *t,
	const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n);
const char *dns_reason(
	struct proto_ctx *ctx, const struct proto_txn *t, const uint8_t *buf, uint32_t len);
enum proto_verdict dns_timeout(struct proto_ctx *ctx, struct proto_txn *t);
// dns_transfer_wire.c. Judge a message that may belong to the transfer of t, and has been walked.
struct dns_query;
enum proto_verdict dns_transfer_judge(struct proto_ctx *ctx, struct proto_txn *t,
	const struct dns_query *q, const uint8_t *buf, uint32_t len, const struct dns_message *m);
// dns_setup.c
void dns_check(const void *settings, const struct proto_env *env, struct diag *d);
void *dns_setup(const void *settings, const struct proto_env *env, struct proto_facts *facts,
	struct diag *d);
void dns_teardown(void *shared);
int dns_open(struct proto_ctx *ctx, const struct proto_env *env);
int dns_close(struct proto_ctx *ctx);
// Source prefix length to send: the setting, or 24 and 56 (RFC 7871 section 11.1), but at least the
// prefix's.
uint32_t dns_client_subnet_bits(const struct dns_edns_settings *s);

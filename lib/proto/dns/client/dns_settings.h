// SPDX-License-Identifier: BSD-3-Clause
// The settings of DNS as structs and its counters as X-macro rows; dns.c has the rows of both.
// Path: cold (settings) | hot (the counters themselves).
#pragma once

#include "base/addr.h"
#include "base/counter.h"
#include "base/field.h"
#include "net/transport.h"

#define DNS_RCODES       25 // 0..23 and "other"
#define DNS_SIZES        7
#define DNS_EDES         32 // 0..30 and "other"
#define DNS_TYPE_BUCKETS 4
#define DNS_CAPTURED     5 // rcode, flags, answer, authority, additional
#define DNS_TSIG_ERRORS  5 // BADSIG, BADKEY, BADTIME, BADTRUNC, other

// Deliberately malformed messages: the name of a kind, and its help text.
// clang-format off
#define DNS_WRONGS(X) \
	X(DNS_WRONG_HEADER, "header", "messages of 2 to 11 octets: a part of the header") \
	X(DNS_WRONG_COUNTS, "counts", "messages with fewer records than the header says") \
	X(DNS_WRONG_LOOP, "loop", "a name that is a compression pointer to itself") \
	X(DNS_WRONG_LABEL, "label", "a label of 64 octets") \
	X(DNS_WRONG_NAME, "name", "a name of 300 octets") \
	X(DNS_WRONG_RANDOM, "random", "random octets after the ID") \
	X(DNS_WRONG_RESPONSE, "response", "queries with the QR bit of a response") \
	X(DNS_WRONG_QUESTIONS, "questions", "two questions") \
	X(DNS_WRONG_OPTS, "opts", "two OPT records") \
	X(DNS_WRONG_VERSION, "version", "an EDNS version above 0") \
	X(DNS_WRONG_COOKIE, "cookie", "a cookie of 1 to 7 octets") \
	X(DNS_WRONG_TSIG, "tsig", "a signature with an unknown key") \
	X(DNS_WRONG_TSIG_MAC, "tsig_mac", "a signature with our key whose MAC is wrong")
// clang-format on

#define DNS_WRONG_NUMBER(number, name, help) number,
enum dns_wrong { DNS_WRONGS(DNS_WRONG_NUMBER) DNS_WRONG_COUNT };

enum dns_order { DNS_SEQUENTIAL, DNS_RANDOM, DNS_ZIPF };
enum dns_words { DNS_WORDS_OPTIONS, DNS_WORDS_IGNORED };
enum dns_bad_lines { DNS_BAD_LINES_ERROR, DNS_BAD_LINES_SKIP };
enum dns_cookies { DNS_COOKIES_NONE, DNS_COOKIES_CLIENT, DNS_COOKIES_FULL };

struct dns_option_settings {
	uint64_t code;
	struct field_bytes hex;
	const char *text; // instead of hex; NULL: none
};

struct dns_edns_settings {
	uint64_t size;
	uint64_t version;
	bool dnssec_ok;
	bool nsid;
	bool zoneversion;
	uint64_t padding;                 // bytes; 0: none
	struct addr_prefix client_subnet; // addr.len 0: none
	uint64_t client_subnet_bits;      // UINT64_MAX: auto
	struct field_list options;        // struct dns_option_settings
};

struct dns_expect_settings {
	struct field_list rcode; // int32_t
	uint64_t min_answers;
	struct field_list captured; // int32_t, enum dns_compared
};

struct dns_wrong_settings {
	double shares[DNS_WRONG_COUNT]; // of 1
};

enum dns_proxy_place { DNS_PROXY_INSIDE, DNS_PROXY_OUTSIDE };

struct dns_proxy_settings {
	struct addr_range clients; // first.len 0: none
	struct addr server;        // len 0: the item's
	bool local;
	int32_t place;          // enum dns_proxy_place
	struct field_list tlvs; // struct dns_option_settings
};

struct dns_key_settings {
	const char *secret_file;
	const char *name;  // NULL: from the file
	int32_t algorithm; // 0: auto; otherwise index in dns_tsig_algorithms, plus 1
	uint64_t fudge_ns;
	uint64_t ahead_ns, behind_ns;
};

struct dns_settings {
	struct transport_settings transport;
	const char *queries;
	struct field_list names; // const char *
	const char *wire;
	uint64_t wire_port;          // UINT64_MAX: 53 and the item's
	struct field_list transfers; // const char *
	const char *updates;
	struct field_list update; // const char *
	uint64_t update_run;
	int32_t opcode;
	int32_t class;       // IN, CH, HS, ANY
	int32_t extra_words; // enum dns_words
	int32_t bad_lines;   // enum dns_bad_lines
	int32_t order;
	double zipf_exponent;
	bool rd, cd, ad;
	bool case_0x20;
	int32_t cookies;
	struct dns_edns_settings *edns;     // NULL: none
	struct dns_expect_settings *expect; // NULL: none
	struct dns_wrong_settings *wrong;   // NULL: none
	struct dns_proxy_settings *proxy;   // NULL: none
	struct dns_key_settings *key;       // NULL: nothing is signed
};

struct dns_answers_settings {
	uint64_t ttl_ns;
	int32_t rcode;
	struct addr address, address6;
	const char *text;
	struct field_list zone; // const char *
	uint64_t zone_room, journal;
	uint64_t transfer_size, transfer_signed_every;
	uint64_t keepalive_ns;      // UINT64_MAX: never
	struct field_list errors;   // uint64_t
	const char *report_channel; // NULL: none
	bool proxy;
	struct field_list keys; // struct dns_key_settings
};

// X(member, help), A(member, length, label, help)
// clang-format off
#define DNS_COUNTERS(X, A)                                                                       \
	X(request_bytes, "bytes of DNS messages sent")                                           \
	X(reply_bytes, "bytes of DNS messages received as replies")                              \
	A(rcode, DNS_RCODES, dns_rcode_label, "replies by RCODE, the extended bits included")    \
	A(reply_size, DNS_SIZES, dns_size_label, "replies by size in bytes")                     \
	X(tc, "replies with TC set: truncated by the server")                                    \
	X(tc_asked_again, "of them, asked again over a connection")                         \
	X(aa, "replies with AA set: authoritative")                                              \
	X(ad, "replies with AD set: validated")                                                  \
	X(empty, "NOERROR replies without an answer record")                                     \
	X(no_question, "replies without a question, of an error other than NXDOMAIN")            \
	X(edns_refused, "replies to EDNS queries with FORMERR or without OPT")                   \
	X(oversize, "replies larger than advertised (512 bytes without EDNS)")                   \
	X(trailing, "replies with bytes after the last record")                                  \
	X(nsid, "replies that carry an NSID")                                                    \
	X(zoneversion, "replies that carry a zone's version (RFC 9660)")                         \
	X(report_channel, "replies that carry the agent of error reports (RFC 9567)")            \
	X(padded, "replies that carry padding (RFC 7830)")                                       \
	A(extended_error, DNS_EDES, dns_ede_label, "replies by extended error (RFC 8914)")       \
	X(keepalive, "replies that carry an idle timeout of connections (RFC 7828)")             \
	X(cookies_learnt, "server cookies learnt, first ones and changed ones")                  \
	X(badcookie_retries, "queries repeated with a new cookie after BADCOOKIE")               \
	X(cookie_bad, COUNTER_STRAY("the client cookie is not ours"))                            \
	X(client_subnet_bad, COUNTER_STRAY("the client subnet is not ours"))                     \
	X(transfers, "zone transfers that came to their end")                                    \
	X(transfers_unchanged, "of them, replies that the zone has not changed")               \
	X(transfers_broken, "failed: transfers whose records are in no right order")             \
	X(transfer_messages, "messages of transfers")                                            \
	X(transfer_records, "records of transfers, SOA records included")                        \
	X(case_mismatch, COUNTER_STRAY("the case of the name is not as sent"))                   \
	X(unexpected_rcode, "failed: an RCODE that expect does not list")                        \
	X(too_few_answers, "failed: fewer answer records than expect asks for")                  \
	X(captured_same, "replies that match the captured answer (expect.captured)") \
	A(captured_differs, DNS_CAPTURED, dns_captured_label,                                    \
		"failed: replies by the first part that differs from the captured answer")      \
	X(captured_unknown, "replies not compared: the capture has no whole answer")             \
	A(wrong_sent, DNS_WRONG_COUNT, dns_wrong_label, "sent deliberately malformed, by kind")  \
	A(wrong_right, DNS_WRONG_COUNT, dns_wrong_label, \
		"of them, handled correctly: answered, or ignored") \
	A(wrong_other, DNS_WRONG_COUNT, dns_wrong_label, "of them, answered otherwise")          \
	A(wrong_unanswered, DNS_WRONG_COUNT, dns_wrong_label, \
		"of them, without the required answer") \
	A(wrong_rcode, DNS_RCODES, dns_rcode_label, "answers to such messages by RCODE")         \
	X(wrong_unexpected, "deliberately malformed messages of all kinds: answered otherwise") \
	X(tsig_verified, "replies whose signature is right (RFC 8945)")                          \
	X(tsig_unsigned_errors, "FORMERR, NOTIMP and REFUSED without a signature: taken")        \
	A(tsig_error, DNS_TSIG_ERRORS, dns_tsig_error_label,                                     \
		"failed: replies by the error in their TSIG record")                             \
	X(tsig_unsigned, "failed: other replies without a signature")                            \
	X(tsig_time, "failed: signed at a time further away than the fudge")                     \
	X(tsig_mac_bad, COUNTER_STRAY("their signature is wrong, or of another key"))            \
	X(tsig_forgotten, "replies not verified: with cookies full, too many were in flight")    \
	X(tsig_malformed, "replies dropped: their TSIG record is not well formed")               \
	X(tsig_chain_bad, "failed: transfers with a message whose signature is wrong")           \
	X(tsig_chain_unsigned, "failed: transfers with over 99 unsigned messages in a row")      \
	X(tsig_chain_last, "failed: transfers whose last message is unsigned")                   \
	X(tsig_chain_forgotten, "failed: transfers not verified, as too many were in flight")

#define DNS_ANSWER_COUNTERS(X, A)                                                                \
	X(received, "messages received")                                                         \
	X(answered, "messages answered, with errors too")                                        \
	X(ignored, "messages not answered: too short, or responses")                             \
	X(malformed, "messages answered with FORMERR")                                           \
	X(not_implemented, "messages answered with NOTIMP: not a query")                         \
	X(proxied, "datagrams and connections that begin with a PROXY header")                   \
	X(proxied_local, "of them, from the proxy itself (LOCAL)")                           \
	X(proxy_bad, "datagrams and connections without the PROXY header that is due")           \
	X(truncated, "replies cut with TC, as they do not fit")                                  \
	A(type, DNS_TYPE_BUCKETS, dns_type_bucket_label, "well-formed queries by type")           \
	A(zone_rcode, DNS_RCODES, dns_rcode_label, "answers out of the zones by RCODE")          \
	A(update_rcode, DNS_RCODES, dns_rcode_label, "answers to updates by RCODE")              \
	X(serial_steps, "updates that changed a zone, and its serial")                           \
	X(update_noops, "updates that were right and changed nothing")                           \
	X(records_added, "records added by updates")                                             \
	X(records_deleted, "records deleted by updates")                                         \
	X(transfers, "zone transfers that were sent to their end")                               \
	X(transfers_incremental, "of them, incremental transfers")                              \
	X(transfers_unchanged, "of them, replies that the zone has not changed")               \
	X(transfer_messages, "messages of transfers")                                            \
	X(transfer_records, "records of transfers, SOA records included")                        \
	X(transfers_overtaken, "transfers ended with SERVFAIL: the zone changed meanwhile")      \
	X(transfers_dropped, "transfers whose connection was closed before their end")           \
	X(notifies, "NOTIFY messages answered")                                                  \
	X(tsig_verified, "requests whose signature is right (RFC 8945)")                         \
	A(tsig_refused, DNS_TSIG_ERRORS, dns_tsig_error_label,                                   \
		"requests answered with NOTAUTH, by the error in the TSIG record")
// clang-format on

struct dns_counters {
	DNS_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBERS)
};

struct dns_answer_counters {
	DNS_ANSWER_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBERS)
};

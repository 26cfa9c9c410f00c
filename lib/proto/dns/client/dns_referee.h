// SPDX-License-Identifier: BSD-3-Clause
// The referee: a reply must match the capture's answer to its question. An answer is reduced to
// RCODE, flags and one number per section, independent of order, case and compression of the
// records. dns_referee.c finds the answers of a capture.
// Path: cold (dns_pairs) | hot (the rest).
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dns_message;
struct frame;

enum dns_compared {
	DNS_COMPARED_RCODE,
	DNS_COMPARED_FLAGS, // AA, TC, AD
	DNS_COMPARED_ANSWER,
	DNS_COMPARED_AUTHORITY,
	DNS_COMPARED_ADDITIONAL,
	DNS_COMPARED_COUNT,
	DNS_COMPARED_TTL = DNS_COMPARED_COUNT, // of the records in those sections
};
#define DNS_COMPARED_SECTIONS                                                                      \
	(1u << DNS_COMPARED_ANSWER | 1u << DNS_COMPARED_AUTHORITY | 1u << DNS_COMPARED_ADDITIONAL)

struct dns_digest {
	uint64_t sections[3]; // 0: not wanted, or empty
	uint16_t rcode, flags;
	bool known; // the capture has the answer
};

struct dns_referee {
	uint64_t seed;
	uint32_t parts;             // bit per compared part; 0: none
	struct dns_digest *answers; // by query
};

// Continue the hash h with bytes and their number.
uint64_t dns_bytes_hash(uint64_t h, const uint8_t *p, uint32_t len);

// Digest a message that dns_message_walk found well formed, with records from offset `at` on. Names
// in RDATA are compared as names if senders may compress them (RFC 3597 section 4).
void dns_digest_make(const struct dns_referee *r, const uint8_t *buf, uint32_t len, uint32_t at,
	const struct dns_message *m, struct dns_digest *out);

// The first part that differs between two answers; DNS_COMPARED_COUNT: none.
uint32_t dns_digest_differs(uint32_t parts, const struct dns_digest *a, const struct dns_digest *b);

// Queries and answers of a capture, in file order.
struct dns_pairs {
	struct dns_referee *referee; // NULL: answers are not wanted, nothing is stored
	struct dns_seen *seen;
	uint32_t count, room;
};

// Add a message of the capture: query is its index in the list, or DNS_PAIRS_ANSWER. 0 or -ENOMEM.
#define DNS_PAIRS_ANSWER UINT32_MAX
int dns_pairs_add(struct dns_pairs *p, const struct frame *f, uint32_t query);
// Give each of `count` queries its answer: the next one from its server to its address, port and
// ID, with its question or none. *found: number of queries with one. 0 or -ENOMEM. Frees the pairs.
int dns_pairs_end(struct dns_pairs *p, uint32_t count, uint32_t *found);

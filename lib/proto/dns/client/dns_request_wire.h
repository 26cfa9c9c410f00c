// SPDX-License-Identifier: BSD-3-Clause
// The message of a transaction, needed both for its request and for the checks of its reply.
// Path: hot. The worker that owns ctx.
#pragma once

#include <string.h>

#include "base/bytes.h"
#include "proto/dns/client/dns_internal.h"
#include "proto/dns/client/dns_zipf.h"

// The message of one transaction, before variation.
struct dns_query {
	uint64_t number;     // of the transaction, over all workers
	uint32_t index;      // in the list
	const uint8_t *wire; // QNAME, QTYPE, QCLASS
	uint32_t len;        // of wire; 0: whole message without exactly one question
	const uint8_t *body; // whole message from its flags on; NULL: a question
	uint32_t body_len;
	uint16_t cut;                   // octets missing from the ID
	uint32_t own_len;               // of its own OPT after wire; 0: uses the common OPT
	uint16_t random_at, random_len; // relative to the end of the header
	bool own_subnet;
	uint16_t sum; // of wire, and of its own OPT
};

// The OPT record of one query. len 0: none.
struct opt {
	const uint8_t *bytes;
	uint32_t len;
};

static inline uint64_t number_of(const struct dns_worker *w, const struct proto_txn *t)
{
	return t->seq * w->workers + w->worker;
}

// Index of a transaction's query in the list.
static inline uint32_t query_index(
	const struct dns_plan *p, const struct dns_worker *w, uint64_t number)
{
	unsigned __int128 spread;
	uint32_t i;

	if (p->order == DNS_SEQUENTIAL && p->run.divisor > 1)
		return (uint32_t)recip_div(&p->run, recip_mod(&p->round, number));
	if (p->order == DNS_SEQUENTIAL)
		return (uint32_t)recip_mod(&p->count, number);
	spread = (unsigned __int128)rand_hash(w->salt[DNS_SALT_ORDER] + number) * p->queries.count;
	i = (uint32_t)(spread >> 64);
	// The bits below the index are equally random.
	if (p->order != DNS_RANDOM && (uint32_t)((uint64_t)spread >> 32) >= p->alias[i].keep)
		i = p->alias[i].other;
	return i;
}

// The number that determines the random characters of a whole message: with the list in sequence,
// all its messages use the same one.
static inline uint64_t names_number(const struct dns_plan *p, uint64_t number)
{
	if (p->order != DNS_SEQUENTIAL)
		return number;
	return recip_div(&p->round, number) * p->run.divisor +
	       recip_mod(&p->run, recip_mod(&p->round, number));
}

// i: from query_index.
static inline struct dns_query query_at(const struct dns_queries *queries, uint32_t i)
{
	const uint8_t *entry = queries->blob + queries->offsets[i];
	struct dns_query q = {.wire = entry + DNS_ENTRY_HEAD,
		.random_at = entry[0],
		.random_len = entry[1] & DNS_RANDOM_MAX,
		.own_subnet = entry[1] & DNS_OWN_SUBNET};
	uint16_t len;

	memcpy(&q.sum, entry + 2, sizeof(q.sum));
	memcpy(&len, entry + 4, sizeof(len));
	q.len = len;
	q.own_len = queries->offsets[i + 1] - queries->offsets[i] - DNS_ENTRY_HEAD - q.len;
	return q;
}

static inline struct dns_query whole_at(const struct dns_queries *queries, uint32_t i)
{
	const uint8_t *entry = queries->blob + queries->offsets[i];
	struct dns_whole head;

	memcpy(&head, entry, sizeof(head));
	entry += sizeof(head);
	return (struct dns_query){.wire = entry + DNS_HEADER_LEN - 2,
		.len = head.question_len,
		.body = entry,
		.body_len = (uint32_t)(queries->blob + queries->offsets[i + 1] - entry),
		.cut = head.cut,
		.random_at = head.random_at,
		.random_len = head.random_len};
}

static inline struct opt opt_of(const struct dns_plan *p, const struct dns_query *q)
{
	return q->own_len ? (struct opt){q->wire + q->len, q->own_len}
	                  : (struct opt){p->opt.bytes, p->opt.len};
}

// The index is in t->user, unless that holds the time of a signature; a transaction that has ended
// has no slot to store it.
static inline struct dns_query query_of(
	const struct dns_plan *p, const struct dns_worker *w, const struct proto_txn *t)
{
	uint64_t number = number_of(w, t);
	uint32_t i = t->over || p->transfers || p->tsig ? query_index(p, w, number) : t->user;
	struct dns_query q = p->queries.whole ? whole_at(&p->queries, i) : query_at(&p->queries, i);

	q.index = i;
	q.number = p->queries.whole ? names_number(p, number) : number;
	return q;
}

// Write the random characters of a name, random case, and the address of the client subnet option.
void dns_random_write(const struct dns_plan *p, const struct dns_worker *w,
	const struct dns_query *q, uint8_t *name);
void dns_case_write(const struct dns_worker *w, const struct proto_txn *t,
	const struct dns_query *q, uint8_t *name);
void dns_subnet_draw(const struct dns_plan *p, const struct dns_worker *w,
	const struct dns_query *q, uint64_t out[2]);

// Build the whole message of t, unsigned. Returns its length, or 0: it does not fit.
uint32_t dns_message_build(
	const struct proto_ctx *ctx, const struct proto_txn *t, uint8_t *buf, uint32_t room);

static inline void question_write(const struct dns_plan *p, const struct dns_worker *w,
	const struct proto_txn *t, const struct dns_query *q, uint8_t *out)
{
	memcpy(out, q->wire, q->len);
	if (!p->varies)
		return;
	if (q->random_len && q->random_at < q->len) // in a whole message, also elsewhere
		dns_random_write(p, w, q, out);
	if (p->case_0x20)
		dns_case_write(w, t, q, out);
}

static inline uint64_t client_cookie(const struct dns_worker *w, const struct proto_txn *t)
{
	return rand_hash(w->salt[DNS_SALT_COOKIE] + ((uint64_t)w->worker << 32) + t->client);
}

// The slot for the server cookie of the transaction's client, or NULL.
static inline struct dns_cookie *cookie_slot(
	const struct dns_plan *p, struct dns_worker *w, const struct proto_txn *t)
{
	return p->cookies == DNS_COOKIES_FULL && t->client < w->clients ? &w->cookies[t->client]
	                                                                : NULL;
}

// SPDX-License-Identifier: BSD-3-Clause
// Shared by ddns.c (settings, counters, set-up), ddns_clients.c (query schedule) and ddns_wire.c
// (messages). Path: cold (setup) | hot (the verbs). The thread that owns the ctx.
#pragma once

#include "base/counter.h"
#include "base/pattern.h"
#include "proto/proto.h"

// By RR type; the address is DDNS_A or DDNS_AAAA.
enum ddns_kind { DDNS_A, DDNS_AAAA, DDNS_PTR, DDNS_DHCID, DDNS_KINDS };
enum ddns_record { DDNS_RECORD_ADDRESS, DDNS_RECORD_PTR, DDNS_RECORD_DHCID };

struct ddns_settings {
	const char *name;         // NULL: of the followed item's clients
	struct field_list record; // int32_t, enum ddns_record
	uint64_t every_ns, within_ns;
	bool rd;
};

// leased + released = visible + wrong + never + gone + stayed + overtaken + unfinished.
// clang-format off
#define DDNS_COUNTERS(X, A) \
	X(request_bytes, "bytes of DNS messages sent") \
	X(reply_bytes, "bytes of DNS messages received as replies") \
	A(leased, DDNS_KINDS, ddns_kind_label, \
		"records expected to appear: their clients got a lease") \
	A(visible, DDNS_KINDS, ddns_kind_label, "of them, appeared") \
	A(beside, DDNS_KINDS, ddns_kind_label, "of these, with other data of the same name and type") \
	A(wrong, DDNS_KINDS, ddns_kind_label, "given up: only the data of another client appeared") \
	A(never, DDNS_KINDS, ddns_kind_label, "given up: none appeared") \
	A(released, DDNS_KINDS, ddns_kind_label, "records expected to go: their clients released") \
	A(gone, DDNS_KINDS, ddns_kind_label, "of them, gone") \
	A(stayed, DDNS_KINDS, ddns_kind_label, "given up: still there") \
	A(overtaken, DDNS_KINDS, ddns_kind_label, "no longer waited for: its client released, or got another lease") \
	A(unfinished, DDNS_KINDS, ddns_kind_label, "still waited for when the run ended") \
	X(truncated, "failed: replies with TC set") \
	X(errors, "failed: replies with another RCODE than NOERROR and NXDOMAIN")
// clang-format on

struct ddns_counters {
	DDNS_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBERS)
};

const char *ddns_kind_label(uint32_t i);

// Created by setup, then const.
struct ddns_plan {
	const struct proto_followed *followed; // NULL: in a sample
	struct arena *arena;
	struct pattern name; // max_len 0: the client's own
	uint32_t records;    // bit per enum ddns_record
	uint32_t happenings; // bit per enum proto_happening
	uint64_t every_ms, within_ms;
	bool rd;
};

#define DDNS_NOBODY UINT32_MAX

// A client, starting with its first event. A set has one bit per kind.
struct ddns_client {
	struct ddns_counters *counters; // counters for this client
	uint64_t at;                    // of the last event
	uint64_t due_ms, until_ms;
	uint32_t number, next; // next: in its list, or DDNS_NOBODY
	uint8_t addr[16], addr_len;
	uint8_t what;    // enum proto_happening of the last event
	uint8_t events;  // number of events, as far as a transaction stores it
	uint8_t listed;  // in a list
	uint8_t pending; // awaited
	uint8_t asked;   // awaited and in flight
	uint8_t turn;    // due for a query
	uint8_t seen;    // present
	uint8_t wrong;   // the last reply had only others' data
};

// Clients ordered by due_ms.
struct ddns_list {
	uint32_t first, last;
};

// ctx->own.
struct ddns_worker {
	struct ddns_list fresh, again; // not queried yet, and queried before
	uint32_t waited;               // clients in both lists
	uint32_t count;
	struct ddns_client clients[];
};

// A transaction stores client, kind and events in t->user.
#define DDNS_CLIENT_BITS 26
#define DDNS_KIND_BITS   2
#define DDNS_EVENTS_MASK 15

static inline uint32_t ddns_user(uint32_t client, uint32_t kind, uint32_t events)
{
	return client | kind << DDNS_CLIENT_BITS |
	       (events & DDNS_EVENTS_MASK) << (DDNS_CLIENT_BITS + DDNS_KIND_BITS);
}

static inline uint32_t ddns_user_client(uint32_t user)
{
	return user & ((1u << DDNS_CLIENT_BITS) - 1);
}

static inline uint32_t ddns_user_kind(uint32_t user)
{
	return user >> DDNS_CLIENT_BITS & ((1u << DDNS_KIND_BITS) - 1);
}

// State of the queried record according to a reply.
enum ddns_found { DDNS_ABSENT, DDNS_OTHERS, DDNS_OURS, DDNS_OURS_BESIDE };

// ddns_clients.c: the functions of struct proto_follower, and the result of a transaction: a reply,
// or none (ddns_lost).
void ddns_happened(struct proto_ctx *ctx, const struct proto_event *event);
uint32_t ddns_begin(struct proto_ctx *ctx, struct proto_txn *t, uint32_t n);
uint64_t ddns_due(struct proto_ctx *ctx);
uint64_t ddns_waiting(struct proto_ctx *ctx, uint64_t until_ms);
void ddns_over(struct proto_ctx *ctx);
void ddns_found(struct proto_ctx *ctx, const struct proto_txn *t, enum ddns_found found);
void ddns_lost(struct proto_ctx *ctx, const struct proto_txn *t);

// ddns_wire.c. A client's domain name in lower case, with the root: its length, 0: invalid.
uint32_t ddns_name(const struct proto_ctx *ctx, uint32_t client, uint8_t *out);
// RDATA of the DHCID record (RFC 4701 section 3.3) for a client with that name.
#define DDNS_DHCID_LEN 35
void ddns_dhcid(const struct proto_identity *identity, const uint8_t *name, uint32_t len,
	uint8_t out[DDNS_DHCID_LEN]);
void ddns_request(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
	struct proto_out *out, uint32_t n, uint32_t room);
bool ddns_key(const uint8_t *buf, uint32_t len, uint32_t *key);
uint32_t ddns_reply(struct proto_ctx *ctx, struct proto_txn *const *t,
	const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n);
enum proto_verdict ddns_timeout(struct proto_ctx *ctx, struct proto_txn *t);

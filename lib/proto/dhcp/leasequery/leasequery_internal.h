// SPDX-License-Identifier: BSD-3-Clause
// Shared by leasequery.c (settings, counters, set-up) and leasequery4_wire.c and leasequery6_wire.c
// (messages). A transaction is one query and all messages of its answer. Path: cold (set-up) | hot
// (the verbs). The worker that owns the ctx.
#pragma once

#include "base/addr.h"
#include "base/arena.h"
#include "base/counter.h"
#include "base/pattern.h"
#include "base/rand.h"
#include "net/transport.h"
#include "proto/dhcp/v4/dhcp4_message.h"
#include "proto/dhcp/v6/dhcp6_message.h"
#include "proto/proto.h"

#define LEASEQUERY_SUBJECT_MAX    255
#define LEASEQUERY_PARAMETERS_MAX 64
#define LEASEQUERY_TYPES          19 // messages by type; the last bucket: any other

enum leasequery4_kind {
	LEASEQUERY4_ALL,
	LEASEQUERY4_MAC,
	LEASEQUERY4_CLIENT_ID,
	LEASEQUERY4_RELAY_ID,
	LEASEQUERY4_REMOTE_ID,
};

// Whether the first reply has arrived.
enum leasequery_step { LEASEQUERY_FIRST, LEASEQUERY_REST, LEASEQUERY_STEPS };

struct leasequery_settings {
	struct transport_settings transport;
	int32_t query; // enum leasequery4_kind, or enum dhcp6_query_type minus 1
	const char *subject;
	struct addr_range address; // DHCPv6; count 0: not given
	struct addr link;          // DHCPv6
	struct field_bytes duid;   // DHCPv6
	uint64_t clients;
	struct field_list parameters; // uint64_t
};

// Created by set-up, then const.
struct leasequery_plan {
	struct arena *arena;
	struct recip clients;
	struct pattern subject;
	struct addr_range address;
	uint8_t query;    // as in the settings
	uint8_t link[16]; // all zero: every link
	uint8_t duid_len;
	uint8_t duid[DHCP6_DUID_MAX];
	uint8_t parameter_count;
	uint16_t parameters[LEASEQUERY_PARAMETERS_MAX];
};

struct leasequery_worker {
	uint32_t worker, workers;
	struct dhcp4_scratch scratch;
};

// Rows of both families: X(member, help), A(member, length, label, help); of one family: X4, X6.
// clang-format off
#define LEASEQUERY_COUNTERS(X, A, X4, X6) \
	X(request_bytes, "bytes of queries written") \
	X(reply_bytes, "bytes of messages received") \
	A(received, LEASEQUERY_TYPES, LEASEQUERY_TYPE_LABEL, "messages received by type") \
	X(bindings, LEASEQUERY_BINDINGS_HELP) \
	X4(unassigned, "addresses without a lease, LEASEUNASSIGNED") \
	X6(leases, "addresses and prefixes of those clients") \
	X(empty, "queries answered by the last message alone") \
	A(status, LEASEQUERY_STATUSES, LEASEQUERY_STATUS_LABEL, \
		"messages with a status other than Success") \
	X(refused, "failed: answers with a status other than Success") \
	X(unexpected, "failed: a message of a type that does not belong there") \
	X(subject_wrong, "failed: a binding that was not asked for") \
	X(closed_before, "lost: the connection ended before the first message of the answer") \
	X(closed_within, "lost: the connection ended within the answer") \
	X(late_within, "lost: the answer began, and its last message did not come within the timeout")
// clang-format on
#define LEASEQUERY_BINDINGS_HELP                                                                   \
	"bindings received: LEASEACTIVE messages of DHCPv4, data of clients of DHCPv6"

#define LEASEQUERY_STATUSES (DHCP6_STATUSES + 1) // the last bucket: any other
struct leasequery_counters {
	LEASEQUERY_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBERS, COUNTER_MEMBER, COUNTER_MEMBER)
};
#undef LEASEQUERY_STATUSES

// The number of the transaction's subject.
static inline uint64_t leasequery_number(const struct proto_ctx *ctx, const struct proto_txn *t)
{
	const struct leasequery_plan *p = ctx->shared;
	const struct leasequery_worker *w = ctx->own;

	return recip_mod(&p->clients, t->seq * w->workers + w->worker);
}

// Writes the subject of the query, up to LEASEQUERY_SUBJECT_MAX bytes, and returns its length.
static inline uint32_t leasequery_subject(
	const struct proto_ctx *ctx, const struct proto_txn *t, uint8_t *out)
{
	const struct leasequery_plan *p = ctx->shared;
	const struct pattern_values v = {.client = leasequery_number(ctx, t)};
	struct writer w = writer_of(out, LEASEQUERY_SUBJECT_MAX);

	pattern_write(&p->subject, &v, &w);
	return (uint32_t)(w.at - out);
}

// A message of the answer has arrived that is not the last.
static inline enum proto_verdict leasequery_continues(struct proto_txn *t)
{
	if (!t->over)
		t->step = LEASEQUERY_REST;
	return PROTO_KEPT;
}

// The last message has arrived, with this status (0: Success; `statuses` are known); empty: the
// answer contained no binding.
static inline enum proto_verdict leasequery_over(
	struct leasequery_counters *n, uint32_t status, uint32_t statuses, bool empty)
{
	if (status) {
		n->status[status < statuses ? status : statuses]++;
		n->refused++;
		return PROTO_FAIL;
	}
	n->empty += empty;
	return PROTO_DONE;
}

static inline enum proto_verdict leasequery_fail(uint64_t *counter)
{
	++*counter;
	return PROTO_FAIL;
}

// The verbs of proto.h.
void leasequery4_request(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
	struct proto_out *out, uint32_t n, uint32_t room);
bool leasequery4_key(const uint8_t *buf, uint32_t len, uint32_t *key);
uint32_t leasequery4_reply(struct proto_ctx *ctx, struct proto_txn *const *t,
	const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n);
void leasequery6_request(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
	struct proto_out *out, uint32_t n, uint32_t room);
bool leasequery6_key(const uint8_t *buf, uint32_t len, uint32_t *key);
uint32_t leasequery6_reply(struct proto_ctx *ctx, struct proto_txn *const *t,
	const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n);

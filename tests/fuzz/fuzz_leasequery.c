// SPDX-License-Identifier: BSD-3-Clause
// Answers to bulk lease queries from anyone, of both families: the first byte chooses the query,
// and a sequence of messages follows, each behind its length. The transaction ID is put right if
// the highest bit of that says so. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/one_message.h"
#include "proto/dhcp/leasequery/leasequery.h"
#include "proto/dhcp/leasequery/leasequery_internal.h"

#define KINDS 5 // of queries
#define KEY   0x123456

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool right)
{
	if (!right)
		abort();
}

static struct proto_ctx *ctx_of(bool v6, int32_t query)
{
	static struct proto_ctx all[2][KINDS];
	static struct leasequery_counters counters;
	const struct proto *p = v6 ? &leasequery6_proto : &leasequery4_proto;
	const struct proto_env env = {.workers = 1, .addr_len = v6 ? 16 : 4};
	const struct leasequery_settings s = {.query = query,
		.subject = "0003{client:2}",
		.clients = 3,
		.address = {{16, {0x20, 1}}, 4},
		.link = {16, {0}},
		.duid = {(const uint8_t *)"\0\3\0\1", 4}};
	struct proto_ctx *ctx = &all[v6][query];
	struct diag *d = diag_new();

	memset(&counters, 0, sizeof(counters));
	if (!ctx->shared) {
		ctx->shared = p->setup(&s, &env, &(struct proto_facts){0}, d);
		require(ctx->shared && p->open(ctx, &env) == 0);
		ctx->counters = &counters;
	}
	diag_free(d);
	return ctx;
}

// One message: its verdict says what was counted.
static enum proto_verdict hear(struct proto_ctx *ctx, const struct proto *p, struct proto_txn *t,
	const uint8_t *data, uint32_t len, bool ours)
{
	const struct leasequery_counters *n = ctx->counters;
	const struct leasequery_counters before = *n;
	uint8_t *message = malloc(len ? len : 1), step = t->step;
	enum proto_verdict v;
	uint32_t key;

	require(message);
	if (len)
		memcpy(message, data, len);
	if (ours && len >= 8)
		bytes_put_be32(message + (p == &leasequery4_proto ? 4 : 0),
			p == &leasequery4_proto ? KEY : (uint32_t)message[0] << 24 | KEY);
	// Without a key, as a RECONFIGURE has none, a message is nobody's.
	v = p->key(message, len, &key) ? judge_one(p, ctx, t, message, len) : PROTO_STRAY;
	if (v == PROTO_STRAY || v == PROTO_MALFORMED)
		require(memcmp(n, &before, sizeof(before)) == 0 && t->step == step);
	else
		require(n->reply_bytes == before.reply_bytes + len && key == KEY);
	require((v == PROTO_KEPT) ==
		(n->bindings + n->unassigned > before.bindings + before.unassigned));
	require((v == PROTO_FAIL) ==
		(n->refused + n->unexpected + n->subject_wrong >
			before.refused + before.unexpected + before.subject_wrong));
	free(message);
	return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_of(data, size);
	uint8_t head = read_u8(&r), query[512];
	bool v6 = head & 0x80;
	const struct proto *p = v6 ? &leasequery6_proto : &leasequery4_proto;
	struct proto_ctx *ctx = ctx_of(v6, head % KINDS);
	struct proto_txn t = {.seq = 5, .key = KEY};
	enum proto_verdict v = PROTO_KEPT;

	require(proto_request(p, ctx, &t, query, sizeof(query)) > 0);
	while (reader_left(&r) >= 2 && v != PROTO_DONE && v != PROTO_FAIL) {
		uint32_t word = read_be16(&r), len = word & 0x7fff;

		if (len > reader_left(&r))
			len = (uint32_t)reader_left(&r);
		v = hear(ctx, p, &t, read_bytes(&r, len), len, word >> 15);
	}
	return 0;
}

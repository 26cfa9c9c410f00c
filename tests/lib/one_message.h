// SPDX-License-Identifier: BSD-3-Clause
// One message at a time with the functions of a protocol, which write and judge several (proto.h).
// Path: tests only.
#pragma once

#include <stdlib.h>
#include <string.h>

#include "proto/proto.h"

// The verdict on one reply, at ctx->ends.
static inline enum proto_verdict judge_one(const struct proto *p, struct proto_ctx *ctx,
	struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	const struct proto_message in = {buf, len, ctx->ends};
	enum proto_verdict verdict;

	p->reply(ctx, &t, &in, &verdict, 1);
	return verdict;
}

// How the next message of t travels; the message itself is dropped, and nothing is counted.
static inline void flow_one(const struct proto *p, const struct proto_ctx *ctx,
	const struct proto_txn *t, struct proto_flow *flow)
{
	struct proto_ctx apart = *ctx;
	struct proto_txn copy = *t, *one = &copy;
	uint8_t buf[4096];
	struct proto_out out = {.buf = buf};

	apart.counters = calloc(1, p->counters->size);
	memset(flow, 0, sizeof(*flow));
	p->request(&apart, &one, flow, &out, 1, sizeof(buf));
	free(apart.counters);
}

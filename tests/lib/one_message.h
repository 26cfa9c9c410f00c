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
	const struct proto_message in = {.buf = buf, .len = len, .ends = ctx->ends};
	enum proto_verdict verdict;

	p->reply(ctx, &t, &in, &verdict, 1);
	return verdict;
}

// The message in a plain frame, from and to these ends; the caller frees *frame.
static inline struct proto_message plain_message(
	const struct proto_ends *e, const uint8_t *buf, uint32_t len, uint8_t **frame)
{
	uint32_t head = (e->addr_len == 4 ? FRAME_PLAIN_UDP : FRAME_PLAIN_UDP6) + FRAME_UDP_LEN;
	uint8_t *udp;

	*frame = calloc(1, head + len);
	udp = *frame + head - FRAME_UDP_LEN;
	memcpy(udp - 2 * e->addr_len, e->src, e->addr_len);
	memcpy(udp - e->addr_len, e->dst, e->addr_len);
	bytes_put_be16(udp, e->src_port);
	bytes_put_be16(udp + 2, e->dst_port);
	memcpy(*frame + head, buf, len);
	return (struct proto_message){.buf = *frame + head, .len = len, .plain = e->addr_len};
}

// As judge_one, for a reply that came in such a frame if ctx->ends is known and has no VLANs.
static inline enum proto_verdict judge_plain(const struct proto *p, struct proto_ctx *ctx,
	struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	struct proto_message in = {.buf = buf, .len = len, .ends = ctx->ends};
	enum proto_verdict verdict;
	uint8_t *frame = NULL;

	if (in.ends && !in.ends->vlan_count)
		in = plain_message(in.ends, buf, len, &frame);
	p->reply(ctx, &t, &in, &verdict, 1);
	free(frame);
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

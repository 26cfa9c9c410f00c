// SPDX-License-Identifier: BSD-3-Clause
// Lease queries over connections at the server, for both families: answers of several messages, and
// the next lease that belongs to one. Does not write messages. Path: hot. The responder's thread.
#pragma once

#include "proto/dhcp/server/dhcp_server.h"

#define DHCP_BULK_LOOKED 256 // leases looked at for a further message, at most

// A lease that a client holds now.
static inline bool dhcp_bulk_is_held(
	const struct dhcp_pool *p, const struct dhcp_lease *l, uint32_t now_s)
{
	return l->state == DHCP_BOUND && !dhcp_pool_is_over(p, l, now_s);
}

// The answer has further messages: what is to be written next is in *b, NULL: no more answers can.
// ctx->more stands for it.
static inline struct dhcp_bulk *dhcp_bulk_begin(struct proto_ctx *ctx)
{
	struct dhcp_server *s = ctx->own;
	struct dhcp_bulk *b = &s->bulks[s->bulk_free];

	if (s->bulk_free == PROTO_MAX_MORE)
		return NULL;
	ctx->more = s->bulk_free + 1;
	s->bulk_free = b->next;
	return b;
}

static inline struct dhcp_bulk *dhcp_bulk_of(const struct proto_ctx *ctx)
{
	return &((struct dhcp_server *)ctx->own)->bulks[ctx->more - 1];
}

// It is over.
static inline void dhcp_bulk_end(struct proto_ctx *ctx, uint64_t *counter)
{
	struct dhcp_server *s = ctx->own;
	struct dhcp_bulk *b = dhcp_bulk_of(ctx);

	b->next = s->bulk_free;
	s->bulk_free = ctx->more - 1;
	ctx->more = 0;
	++*counter;
}

// The next lease from the position of *b on, whatever its state, and its pool; NULL: none is left.
static inline const struct dhcp_lease *dhcp_bulk_next(
	const struct dhcp_server *s, struct dhcp_bulk *b, const struct dhcp_pool **pool)
{
	for (; b->kind < DHCP_KINDS; b->kind++, b->record = 0) {
		*pool = &s->pools[b->kind];
		if (b->record < (*pool)->count)
			return dhcp_pool_record(*pool, b->record++);
	}
	return NULL;
}

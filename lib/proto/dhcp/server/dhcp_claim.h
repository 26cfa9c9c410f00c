// SPDX-License-Identifier: BSD-3-Clause
// Claims of clients to leases, for both families: a lease is offered, bound, released, declined or
// given to another client; also the leases requested by bulk lease queries. Independent of message
// formats. The family is a constant, so the compiler makes calls of its functions direct.
// Path: hot. The responder's thread.
#pragma once

#include "proto/dhcp/server/dhcp_server.h"

// Handlers for the family's part of a lease record; NULL: it has none.
struct dhcp_claim_family {
	void (*keep)(struct dhcp_pool *p, struct dhcp_lease *l, const void *client);
	void (*forget)(struct dhcp_pool *p, struct dhcp_lease *l);
};

#define DHCP_CLAIM static inline __attribute__((always_inline))

// One client and one pool: a whole DHCPv4 message, or one IA of DHCPv6.
struct dhcp_claim {
	struct dhcp_pool *pool; // NULL: the server has no pool of this kind
	struct dhcp_answer_counters *n;
	uint64_t identity;
	const void *client; // for keep
	uint32_t now_s;
	enum dhcp_kind kind;
};

static inline struct dhcp_lease *dhcp_claim_own(const struct dhcp_claim *c)
{
	return c->pool ? dhcp_pool_of_identity(c->pool, c->identity) : NULL;
}

static inline struct dhcp_lease *dhcp_claim_bound(const struct dhcp_claim *c)
{
	struct dhcp_lease *l = dhcp_claim_own(c);

	return l && l->state == DHCP_BOUND ? l : NULL;
}

// The lease with this number, if it is free.
static inline struct dhcp_lease *dhcp_claim_free(const struct dhcp_claim *c, dhcp_number n)
{
	struct dhcp_lease *l = dhcp_pool_at(c->pool, n);

	return l && l->state == DHCP_FREE ? l : NULL;
}

static inline void dhcp_claim_bind(const struct dhcp_claim *c, struct dhcp_lease *l)
{
	dhcp_pool_move(c->pool, l, DHCP_BOUND, c->now_s);
}

// Assign the lease to the client, in state OFFERED.
DHCP_CLAIM void dhcp_claim_take(
	const struct dhcp_claim_family *f, const struct dhcp_claim *c, struct dhcp_lease *l)
{
	c->n->expired += l->state != DHCP_FREE;
	if (f->forget)
		f->forget(c->pool, l);
	dhcp_pool_give(c->pool, l, c->identity, c->now_s);
	if (f->keep)
		f->keep(c->pool, l, c->client);
}

static inline void dhcp_claim_share_if_due(const struct dhcp_claim *c, struct dhcp_lease *l)
{
	if (c->pool->twice == 0 || ++c->pool->fresh < c->pool->twice)
		return;
	if (!dhcp_pool_share(c->pool, l))
		return;
	c->pool->fresh = 0;
	c->n->address_twice += c->kind == DHCP_ADDRESSES;
	c->n->prefix_twice += c->kind == DHCP_PREFIXES;
}

// A lease for a client without one: the free lease `wish` (NULL: none), or the oldest. NULL: the
// pool is exhausted.
DHCP_CLAIM struct dhcp_lease *dhcp_claim_new(
	const struct dhcp_claim_family *f, const struct dhcp_claim *c, struct dhcp_lease *wish)
{
	struct dhcp_lease *l = wish ? wish : dhcp_pool_oldest(c->pool, c->now_s);

	if (!l)
		return NULL;
	dhcp_claim_take(f, c, l);
	dhcp_claim_share_if_due(c, l);
	return l;
}

// RFC 2131 section 4.3.1, RFC 8415 section 18.3.1: the client's lease or a new one, bound at once
// with rapid commit. NULL: the pool is exhausted.
DHCP_CLAIM struct dhcp_lease *dhcp_claim_offer(const struct dhcp_claim_family *f,
	const struct dhcp_claim *c, struct dhcp_lease *wish, bool rapid)
{
	struct dhcp_lease *l = dhcp_claim_own(c);

	if (!l && c->pool)
		l = dhcp_claim_new(f, c, wish);
	if (l && (rapid || l->state != DHCP_BOUND))
		dhcp_pool_move(c->pool, l, rapid ? DHCP_BOUND : DHCP_OFFERED, c->now_s);
	return l;
}

DHCP_CLAIM void dhcp_claim_release(
	const struct dhcp_claim_family *f, const struct dhcp_claim *c, struct dhcp_lease *l)
{
	if (f->forget && dhcp_pool_is_shared(c->pool, l))
		f->forget(c->pool, l);
	dhcp_pool_free(c->pool, l, c->now_s);
}

// The client has accepted another server's offer.
DHCP_CLAIM void dhcp_claim_drop_offer(const struct dhcp_claim_family *f, const struct dhcp_claim *c)
{
	struct dhcp_lease *l = dhcp_claim_own(c);

	if (l && l->state == DHCP_OFFERED)
		dhcp_claim_release(f, c, l);
}

// Handle a RELEASE or DECLINE of a bound lease.
DHCP_CLAIM void dhcp_claim_return(const struct dhcp_claim_family *f, const struct dhcp_claim *c,
	struct dhcp_lease *l, bool declined)
{
	if (!declined) {
		dhcp_claim_release(f, c, l);
		c->n->released++;
		return;
	}
	if (f->forget)
		f->forget(c->pool, l);
	dhcp_pool_rest(c->pool, l, c->now_s);
	c->n->declined++;
}

static inline uint32_t dhcp_claim_silent(uint64_t *counter)
{
	++*counter;
	return 0;
}

// Count the reply to a message by type; len 0: none is sent. Returns len.
static inline uint32_t dhcp_claim_answered(
	struct dhcp_answer_counters *n, uint32_t type, const struct writer *w, uint32_t len)
{
	n->answered += len > 0;
	n->sent[type] += len > 0;
	n->ignored += w->failed;
	return len;
}

// Lease queries over connections: answers in several messages, and the next lease of an answer.

#define DHCP_BULK_LOOKED 256 // leases examined per message, at most

// Is the lease held by a client now?
static inline bool dhcp_bulk_is_held(
	const struct dhcp_pool *p, const struct dhcp_lease *l, uint32_t now_s)
{
	return l->state == DHCP_BOUND && !dhcp_pool_is_over(p, l, now_s);
}

// Begin an answer with further messages: the caller stores the position in the result, whose number
// is in ctx->more. NULL: too many unfinished answers.
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

// End such an answer.
static inline void dhcp_bulk_end(struct proto_ctx *ctx, uint64_t *counter)
{
	struct dhcp_server *s = ctx->own;
	struct dhcp_bulk *b = dhcp_bulk_of(ctx);

	b->next = s->bulk_free;
	s->bulk_free = ctx->more - 1;
	ctx->more = 0;
	++*counter;
}

// The next lease at or after the position *b, in any state, with its pool; NULL: no more.
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

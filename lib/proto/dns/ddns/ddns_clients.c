// SPDX-License-Identifier: BSD-3-Clause
// Clients whose records are awaited: each is queried at once, and again after `every`, until its
// records have appeared, or disappeared, or time is up. Two lists ordered by due time need no
// search. Messages are in ddns_wire.c. Path: hot. The worker that owns ctx.
#include "proto/dns/ddns/ddns_internal.h"

#define LOOKS_MAX 64 // clients examined per call of due

static void count(uint64_t *by_kind, uint32_t kinds)
{
	for (uint32_t k = 0; k < DDNS_KINDS; k++)
		by_kind[k] += kinds >> k & 1;
}

static uint8_t kinds_of(const struct ddns_plan *p, const struct ddns_client *c)
{
	uint32_t kinds = 0;

	if (p->records >> DDNS_RECORD_ADDRESS & 1)
		kinds |= 1u << (c->addr_len == 4 ? DDNS_A : DDNS_AAAA);
	kinds |= (p->records >> DDNS_RECORD_PTR & 1) << DDNS_PTR;
	kinds |= (p->records >> DDNS_RECORD_DHCID & 1) << DDNS_DHCID;
	return (uint8_t)kinds;
}

static void list_add(struct ddns_worker *w, struct ddns_list *l, uint32_t client)
{
	w->clients[client].next = DDNS_NOBODY;
	if (l->first == DDNS_NOBODY)
		l->first = client;
	else
		w->clients[l->last].next = client;
	l->last = client;
}

static void list_drop_first(struct ddns_worker *w, struct ddns_list *l)
{
	l->first = w->clients[l->first].next;
}

// From now on, the client waits for exactly these kinds.
static void wait_for(struct ddns_worker *w, const struct ddns_plan *p, uint32_t client,
	uint8_t kinds, uint64_t now_ms)
{
	struct ddns_client *c = &w->clients[client];

	count(c->counters->overtaken, c->pending);
	c->events++;
	c->pending = kinds;
	c->asked = c->turn = c->wrong = 0;
	c->until_ms = now_ms + p->within_ms;
	if (c->listed || !kinds)
		return;
	c->due_ms = now_ms;
	c->listed = true;
	w->waited++;
	list_add(w, &w->fresh, client);
}

static void leased(struct ddns_worker *w, const struct ddns_plan *p, struct ddns_client *c,
	const struct proto_event *e, struct ddns_counters *n, uint64_t now_ms)
{
	uint8_t kinds;

	if (c->what == PROTO_LEASED && c->addr_len == e->addr_len &&
		memcmp(c->addr, e->addr, e->addr_len) == 0)
		return; // renewed
	memcpy(c->addr, e->addr, e->addr_len);
	c->addr_len = e->addr_len;
	c->number = e->number;
	c->what = PROTO_LEASED;
	kinds = p->happenings >> PROTO_LEASED & 1 ? kinds_of(p, c) : 0;
	if (!c->counters)
		c->counters = n;
	c->seen = 0;
	wait_for(w, p, e->client, kinds, now_ms);
	c->counters = n;
	c->at = e->at;
	count(n->leased, kinds);
}

// Records not seen yet may still appear, so their absence proves nothing.
static void released(struct ddns_worker *w, const struct ddns_plan *p, struct ddns_client *c,
	const struct proto_event *e, struct ddns_counters *n, uint64_t now_ms)
{
	bool known = c->addr_len && p->happenings >> PROTO_LEASED & 1;
	uint8_t kinds;

	if (c->addr_len && c->what == PROTO_RELEASED)
		return;
	memcpy(c->addr, e->addr, e->addr_len);
	c->addr_len = e->addr_len;
	c->number = e->number;
	c->what = PROTO_RELEASED;
	kinds = known ? c->seen : kinds_of(p, c);
	if (!(p->happenings >> PROTO_RELEASED & 1))
		kinds = 0;
	if (!c->counters)
		c->counters = n;
	wait_for(w, p, e->client, kinds, now_ms);
	c->counters = n;
	c->at = e->at;
	count(n->released, kinds);
}

void ddns_happened(struct proto_ctx *ctx, const struct proto_event *e)
{
	struct ddns_worker *w = ctx->own;
	struct ddns_client *c = &w->clients[e->client];

	switch (e->what) {
	case PROTO_LEASED:
		leased(w, ctx->shared, c, e, ctx->counters, ctx->now_ms);
		return;
	case PROTO_RELEASED:
		released(w, ctx->shared, c, e, ctx->counters, ctx->now_ms);
		return;
	case PROTO_HAPPENINGS:
		return;
	}
}

static void give_up(struct ddns_client *c)
{
	uint8_t kinds = c->pending & ~c->asked;

	c->pending &= c->asked;
	if (c->what == PROTO_RELEASED) {
		count(c->counters->stayed, kinds);
		return;
	}
	count(c->counters->wrong, kinds & c->wrong);
	count(c->counters->never, kinds & ~c->wrong);
}

// The first client of the list has had its turn.
static void turn_over(
	struct ddns_worker *w, const struct ddns_plan *p, struct ddns_list *l, uint64_t now_ms)
{
	uint32_t client = l->first;
	struct ddns_client *c = &w->clients[client];

	list_drop_first(w, l);
	if (!c->pending) {
		c->listed = false;
		w->waited--;
		return;
	}
	c->due_ms = now_ms + p->every_ms;
	list_add(w, &w->again, client);
}

static struct ddns_list *list_due(struct ddns_worker *w, uint64_t now_ms)
{
	struct ddns_list *l = w->fresh.first != DDNS_NOBODY ? &w->fresh : &w->again;

	return l->first != DDNS_NOBODY && w->clients[l->first].due_ms <= now_ms ? l : NULL;
}

uint64_t ddns_due(struct proto_ctx *ctx)
{
	const struct ddns_plan *p = ctx->shared;
	struct ddns_worker *w = ctx->own;

	for (int i = 0; i < LOOKS_MAX; i++) {
		struct ddns_list *l = list_due(w, ctx->now_ms);
		struct ddns_client *c;

		if (!l)
			break;
		c = &w->clients[l->first];
		if (c->turn)
			return c->due_ms;
		if (c->until_ms <= ctx->now_ms)
			give_up(c);
		c->turn = c->pending & ~c->asked;
		if (c->turn)
			return c->due_ms;
		turn_over(w, p, l, ctx->now_ms);
	}
	return w->waited ? PROTO_NOT_YET : PROTO_NOT_DUE;
}

static bool begin_one(struct proto_ctx *ctx, struct proto_txn *t)
{
	struct ddns_worker *w = ctx->own;
	struct ddns_list *l = list_due(w, ctx->now_ms);
	struct ddns_client *c = l ? &w->clients[l->first] : NULL;
	uint32_t kind;

	if (!c || !c->turn)
		return false;
	kind = (uint32_t)__builtin_ctz(c->turn);
	t->user = ddns_user(l->first, kind, c->events);
	c->asked |= (uint8_t)(1u << kind);
	c->turn &= (uint8_t)(c->turn - 1);
	if (!c->turn)
		turn_over(w, ctx->shared, l, ctx->now_ms);
	return true;
}

PROTO_BEGIN(ddns_begin, begin_one)

uint64_t ddns_waiting(struct proto_ctx *ctx, uint64_t until_ms)
{
	const struct ddns_worker *w = ctx->own;
	const struct ddns_list lists[] = {w->fresh, w->again};
	uint64_t n = 0;

	for (int i = 0; i < 2; i++)
		for (uint32_t k = lists[i].first;
			k != DDNS_NOBODY && w->clients[k].due_ms < until_ms; k = w->clients[k].next)
			n += (uint32_t)__builtin_popcount(
				w->clients[k].turn ? w->clients[k].turn
						   : w->clients[k].pending & ~w->clients[k].asked);
	return n;
}

void ddns_over(struct proto_ctx *ctx)
{
	struct ddns_worker *w = ctx->own;

	for (uint32_t i = 0; i < w->count; i++)
		if (w->clients[i].pending)
			count(w->clients[i].counters->unfinished, w->clients[i].pending);
}

// The client of t, unless an event has happened to it since.
static struct ddns_client *client_of(struct ddns_worker *w, const struct proto_txn *t)
{
	struct ddns_client *c = &w->clients[ddns_user_client(t->user)];

	if (ddns_user(ddns_user_client(t->user), ddns_user_kind(t->user), c->events) != t->user)
		return NULL;
	return c;
}

void ddns_lost(struct proto_ctx *ctx, const struct proto_txn *t)
{
	struct ddns_client *c = client_of(ctx->own, t);

	if (c)
		c->asked &= (uint8_t) ~(1u << ddns_user_kind(t->user));
}

void ddns_found(struct proto_ctx *ctx, const struct proto_txn *t, enum ddns_found found)
{
	struct ddns_client *c = client_of(ctx->own, t);
	uint32_t kind = ddns_user_kind(t->user);
	uint8_t bit = (uint8_t)(1u << kind);
	bool ours = found >= DDNS_OURS;

	if (!c || !(c->pending & bit))
		return;
	c->asked &= (uint8_t)~bit;
	c->wrong = (uint8_t)((c->wrong & ~bit) | (found == DDNS_OTHERS ? bit : 0));
	if (ours != (c->what == PROTO_LEASED))
		return;
	c->pending &= (uint8_t)~bit;
	c->seen = (uint8_t)(ours ? c->seen | bit : c->seen & ~bit);
	if (ours) {
		c->counters->visible[kind]++;
		c->counters->beside[kind] += found == DDNS_OURS_BESIDE;
	} else {
		c->counters->gone[kind]++;
	}
	ctx->noted = true;
	ctx->mark = 1 + kind + (ours ? 0 : DDNS_KINDS);
	ctx->mark_from = c->at;
}

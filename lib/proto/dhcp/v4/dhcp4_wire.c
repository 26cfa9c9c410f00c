// SPDX-License-Identifier: BSD-3-Clause
// The client side: who begins which exchange, and what becomes of the client when an answer comes
// or none. Not here: its messages (dhcp4_request_wire.c), what a right answer is
// (dhcp4_checks_wire.c). Path: hot. The worker that owns ctx.

#include <string.h>

#include "base/bytes.h"
#include "proto/dhcp/v4/dhcp4_self.h"

#define MS_PER_S 1000

#define BIT(type) (1u << (type))
#define OFFERS    BIT(DHCP4_OFFER)
#define ACKS      BIT(DHCP4_ACK)
#define DECIDES   (BIT(DHCP4_ACK) | BIT(DHCP4_NAK))

// What a client may send with a message that makes a lease.
#define FULL                                                                                       \
	(DHCP4_HAS_OPTIONS | DHCP4_HAS_PARAMETERS | DHCP4_HAS_CHADDR | DHCP4_HAS_SECS |            \
		DHCP4_HAS_TIME)

const struct dhcp4_kind dhcp4_kinds[DHCP4_STEPS] = {
	[DHCP4_STEP_DISCOVER] = {DHCP4_DISCOVER, FULL | DHCP4_HAS_WISH, OFFERS, 0},
	[DHCP4_STEP_REQUEST] = {DHCP4_REQUEST,
		FULL | DHCP4_HAS_REQUESTED | DHCP4_HAS_SERVER_ID | DHCP4_MAKES_LEASE, DECIDES,
		OFFERS},
	[DHCP4_STEP_RAPID] = {DHCP4_DISCOVER,
		FULL | DHCP4_HAS_WISH | DHCP4_HAS_RAPID | DHCP4_MAKES_LEASE, OFFERS | ACKS, 0},
	[DHCP4_STEP_RENEW] = {DHCP4_REQUEST,
		FULL | DHCP4_HAS_CIADDR | DHCP4_IS_UNICAST | DHCP4_MAKES_LEASE, DECIDES, 0},
	[DHCP4_STEP_REBIND] = {DHCP4_REQUEST, FULL | DHCP4_HAS_CIADDR | DHCP4_MAKES_LEASE, DECIDES,
		0},
	[DHCP4_STEP_REBOOT] = {DHCP4_REQUEST, FULL | DHCP4_HAS_REQUESTED | DHCP4_MAKES_LEASE,
		DECIDES, 0},
	[DHCP4_STEP_INFORM] = {DHCP4_INFORM,
		(FULL & ~DHCP4_HAS_TIME) | DHCP4_HAS_CIADDR | DHCP4_IS_UNICAST, ACKS, 0},
	[DHCP4_STEP_RELEASE] = {DHCP4_RELEASE,
		DHCP4_HAS_CIADDR | DHCP4_HAS_SERVER_ID | DHCP4_HAS_CHADDR | DHCP4_IS_UNICAST |
			DHCP4_IS_SILENT,
		0, 0},
	[DHCP4_STEP_DECLINE] = {DHCP4_DECLINE,
		DHCP4_HAS_REQUESTED | DHCP4_HAS_SERVER_ID | DHCP4_HAS_CHADDR | DHCP4_IS_SILENT, 0,
		0},
	[DHCP4_STEP_LEASEQUERY] = {DHCP4_LEASEQUERY, DHCP4_HAS_CIADDR | DHCP4_HAS_PARAMETERS,
		BIT(DHCP4_LEASEUNASSIGNED) | BIT(DHCP4_LEASEUNKNOWN) | BIT(DHCP4_LEASEACTIVE), 0},
};

const struct dhcp_start dhcp4_starts[DHCP4_EXCHANGES] = {
	[DHCP4_DORA] = {DHCP4_STEP_DISCOVER, DHCP_IS_FREE},
	[DHCP_TWO_WAY] = {DHCP4_STEP_DISCOVER, DHCP_IS_FREE},
	[DHCP_RAPID] = {DHCP4_STEP_RAPID, DHCP_IS_FREE},
	[DHCP4_INFORMS] = {DHCP4_STEP_INFORM, DHCP_IS_BOUND},
	[DHCP4_RENEW] = {DHCP4_STEP_RENEW, DHCP_IS_BOUND},
	[DHCP4_REBIND] = {DHCP4_STEP_REBIND, DHCP_IS_BOUND},
	[DHCP4_REBOOT] = {DHCP4_STEP_REBOOT, DHCP_IS_BOUND},
	[DHCP4_RELEASES] = {DHCP4_STEP_RELEASE, DHCP_IS_BOUND},
	[DHCP4_DECLINES] = {DHCP4_STEP_DECLINE, DHCP_IS_BOUND},
	[DHCP4_LEASEQUERIES] = {DHCP4_STEP_LEASEQUERY, DHCP_IS_BOUND},
};

static inline uint32_t now_s(const struct proto_ctx *ctx)
{
	return ctx->now_ms / MS_PER_S;
}

static void held_drop(struct dhcp_work *w, uint32_t client)
{
	dhcp4_lease_drop((struct dhcp4_worker *)w, client);
}

bool dhcp4_begin(struct proto_ctx *ctx, struct proto_txn *t)
{
	const struct dhcp4_plan *p = ctx->shared;
	struct dhcp4_worker *w = ctx->own;
	struct dhcp4_counters *n = ctx->counters;
	struct dhcp4_client *k;
	enum dhcp_begun begun;

	begun = dhcp_work_begin(&w->is.work, ctx, t, held_drop, &n->expired);
	n->no_free_client += begun == DHCP_NO_FREE;
	n->no_bound_client += begun == DHCP_NO_BOUND;
	if (begun != DHCP_BEGUN)
		return false;
	k = dhcp4_client_at(w, t->user);
	k->chosen = k->server_id;
	k->offered = k->address;
	if (k->head.holds)
		dhcp_holders_expect(&w->is.common->leases.holders, k->address);
	else if (p->hint_first)
		k->offered = p->hint_first + (uint32_t)recip_mod(&p->hint_count,
						     dhcp_work_number(&w->is.work, t->user));
	return true;
}

// A client of any worker of the item: what is asked may come on any queue.
bool dhcp4_owns(struct proto_ctx *ctx, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6])
{
	const struct dhcp4_plan *p = ctx->shared;
	struct dhcp4_worker *w = ctx->own;
	uint8_t chaddr[DHCP4_CHADDR_LEN];
	uint32_t owner;

	if (addr_len != 4)
		return false;
	owner = dhcp_holders_find(
		&w->is.common->leases.holders, dhcp4_held(dhcp4_get32(addr)), now_s(ctx));
	if (owner == DHCP_NOBODY || owner - p->is.owner >= p->is.clients)
		return false;
	if (p->is.relays) // they are reached through it
		return true;
	dhcp4_chaddr(p, owner - p->is.owner, chaddr);
	memcpy(mac, chaddr, 6);
	return true;
}

// Requests too: one that comes back to us is counted for what it is.
bool dhcp4_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	return dhcp4_xid(buf, len, DHCP4_REPLY_OP, key) ||
	       dhcp4_xid(buf, len, DHCP4_REQUEST_OP, key);
}

static enum proto_verdict fail(struct proto_ctx *ctx, const struct proto_txn *t)
{
	if (!t->over)
		dhcp_work_leave(ctx->own, ctx, t, false);
	return PROTO_FAIL;
}

static enum proto_verdict done(
	struct proto_ctx *ctx, const struct proto_txn *t, const struct dhcp4_client *k)
{
	struct dhcp4_worker *w = ctx->own;
	struct dhcp4_counters *n = ctx->counters;

	n->server[k->head.server]++;
	dhcp_work_leave(&w->is.work, ctx, t, false);
	return PROTO_DONE;
}

// Whose server identifier it is; the one that was asked when it is nobody's.
static inline uint8_t server_of(
	const struct dhcp4_plan *p, const struct dhcp4_client *k, uint32_t server_id)
{
	for (uint32_t i = 0; i < p->is.server_count; i++)
		if (p->servers[i] == server_id)
			return (uint8_t)i;
	return k->head.server;
}

static enum proto_verdict offered(struct proto_ctx *ctx, struct proto_txn *t,
	struct dhcp4_client *k, const struct dhcp4_message *m)
{
	const struct dhcp4_plan *p = ctx->shared;
	struct dhcp4_worker *w = ctx->own;
	struct dhcp4_counters *n = ctx->counters;

	if (p->is.layout.more || !p->is.relays) // all were asked
		k->head.server = server_of(p, k, m->server_id);
	if (k->head.exchange == DHCP_TWO_WAY)
		return done(ctx, t, k);
	k->offered = m->yiaddr;
	k->chosen = m->server_id;
	dhcp_holders_expect(&w->is.common->leases.holders, m->yiaddr);
	n->rapid_fallback += t->step == DHCP4_STEP_RAPID;
	t->step = DHCP4_STEP_REQUEST;
	t->tries = 0;
	return PROTO_AGAIN;
}

static void clash_note(struct dhcp4_worker *w, uint32_t address, uint32_t holder, uint32_t taker)
{
	struct dhcp_clash clash = {.holder = holder, .taker = dhcp4_owner(w, taker)};

	dhcp4_put32(clash.bytes, address);
	dhcp_work_clash(&w->is.work, &clash);
}

static enum proto_verdict leased(struct proto_ctx *ctx, struct proto_txn *t, struct dhcp4_client *k,
	const struct dhcp4_message *m)
{
	struct dhcp4_worker *w = ctx->own;
	struct dhcp4_counters *n = ctx->counters;
	bool had = k->address != 0;
	uint32_t until = dhcp_work_expiry(&k->head, m->lease_time);
	uint32_t holder = dhcp4_lease_hold(w, t->user, m->yiaddr, until, now_s(ctx));

	if (holder != DHCP_NOBODY) {
		n->duplicate_address++;
		clash_note(w, m->yiaddr, holder, t->user);
		return fail(ctx, t);
	}
	n->renewed += had;
	n->leases += !had;
	k->server_id = m->server_id;
	k->head.server = server_of(ctx->shared, k, m->server_id);
	return done(ctx, t, k);
}

static enum proto_verdict refused(
	struct proto_ctx *ctx, const struct proto_txn *t, const struct dhcp4_message *m)
{
	struct dhcp4_worker *w = ctx->own;
	struct dhcp4_counters *n = ctx->counters;

	n->nak++;
	if (!t->over) {
		dhcp_work_refused(&w->is.work, 0, m->message, m->message_len);
		dhcp4_lease_drop(w, t->user);
	}
	return fail(ctx, t);
}

enum proto_verdict dhcp4_reply(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	struct dhcp4_worker *w = ctx->own;
	struct dhcp4_counters *n = ctx->counters;
	enum proto_verdict verdict;
	struct dhcp4_message m;
	struct dhcp4_self s;

	if (!dhcp4_parse(buf, len, &w->scratch, &m))
		return PROTO_MALFORMED;
	dhcp4_self_find(ctx, t->user, &s);
	verdict = dhcp4_judge(&s, ctx, t, &m);
	if (verdict != PROTO_DONE && verdict != PROTO_FAIL)
		return verdict;
	n->reply_bytes += len;
	w->is.heard = true;
	if (!t->over)
		n->attempt[t->tries < DHCP_TRIES_MAX ? t->tries : DHCP_TRIES_MAX - 1]++;
	if (m.type == DHCP4_NAK)
		return refused(ctx, t, &m);
	if (verdict == PROTO_FAIL)
		return fail(ctx, t);
	if (t->over)
		return PROTO_DONE;
	if (m.type == DHCP4_OFFER)
		return offered(ctx, t, s.client, &m);
	if (dhcp4_kinds[t->step].has & DHCP4_MAKES_LEASE)
		return leased(ctx, t, s.client, &m);
	return done(ctx, t, s.client);
}

enum proto_verdict dhcp4_timeout(struct proto_ctx *ctx, struct proto_txn *t)
{
	struct dhcp4_worker *w = ctx->own;
	struct dhcp4_counters *n = ctx->counters;

	if ((dhcp4_kinds[t->step].has & DHCP4_IS_SILENT) && t->tries)
		return PROTO_FAIL;
	w->is.heard |= !t->over;
	if (dhcp_work_again(&w->is.work, t)) {
		n->retransmitted++;
		return PROTO_AGAIN;
	}
	t->over = false;
	return fail(ctx, t);
}

// SPDX-License-Identifier: BSD-3-Clause
// The client side: who begins which exchange, and what becomes of the client when an answer comes
// or none. Not here: its messages (dhcp6_request_wire.c), what a right answer is
// (dhcp6_checks_wire.c). Path: hot. The worker that owns ctx.

#include "base/bytes.h"
#include "proto/dhcp/v6/dhcp6_self.h"

#define MS_PER_S     1000
#define URGENT       255 // preference (RFC 8415 section 21.8)
#define NS_PER_S     1000000000u
#define MAX_RT_LEAST 60 // seconds (RFC 8415 section 21.24): others are not for us
#define MAX_RT_MOST  86400

#define ADVERTISES (1u << DHCP6_ADVERTISE)
#define REPLIES    (1u << DHCP6_REPLY)

// Every client message that asks for something may have these.
#define FULL  (DHCP6_HAS_OPTIONS | DHCP6_HAS_PARAMETERS)
#define IAS   (DHCP6_HAS_ADDRESSES | DHCP6_HAS_PREFIXES)
#define BOUND (IAS | DHCP6_HAS_LEASES)

const struct dhcp6_message_kind dhcp6_kinds[DHCP6_STEPS] = {
	[DHCP6_STEP_SOLICIT] = {DHCP6_SOLICIT, FULL | IAS, ADVERTISES, 0},
	[DHCP6_STEP_REQUEST] = {DHCP6_REQUEST,
		FULL | BOUND | DHCP6_HAS_SERVER_ID | DHCP6_MAKES_LEASE, REPLIES, ADVERTISES},
	[DHCP6_STEP_RAPID] = {DHCP6_SOLICIT, FULL | IAS | DHCP6_HAS_RAPID | DHCP6_MAKES_LEASE,
		ADVERTISES | REPLIES, 0},
	[DHCP6_STEP_RENEW] = {DHCP6_RENEW, FULL | BOUND | DHCP6_HAS_SERVER_ID | DHCP6_MAKES_LEASE,
		REPLIES, 0},
	[DHCP6_STEP_REBIND] = {DHCP6_REBIND, FULL | BOUND | DHCP6_MAKES_LEASE, REPLIES, 0},
	[DHCP6_STEP_RELEASE] = {DHCP6_RELEASE, BOUND | DHCP6_HAS_SERVER_ID | DHCP6_ENDS_LEASE,
		REPLIES, 0},
	[DHCP6_STEP_DECLINE] = {DHCP6_DECLINE,
		DHCP6_HAS_ADDRESSES | DHCP6_HAS_LEASES | DHCP6_HAS_SERVER_ID | DHCP6_ENDS_LEASE,
		REPLIES, 0},
	[DHCP6_STEP_CONFIRM] = {DHCP6_CONFIRM,
		DHCP6_HAS_ADDRESSES | DHCP6_HAS_LEASES | DHCP6_HAS_OPTIONS, REPLIES, 0},
	[DHCP6_STEP_INFORMATION] = {DHCP6_INFORMATION, FULL, REPLIES, 0},
};

const struct dhcp_start dhcp6_starts[DHCP6_EXCHANGES] = {
	[DHCP6_SARR] = {DHCP6_STEP_SOLICIT, DHCP_IS_FREE},
	[DHCP_TWO_WAY] = {DHCP6_STEP_SOLICIT, DHCP_IS_FREE},
	[DHCP_RAPID] = {DHCP6_STEP_RAPID, DHCP_IS_FREE},
	[DHCP6_RENEWS] = {DHCP6_STEP_RENEW, DHCP_IS_BOUND},
	[DHCP6_REBINDS] = {DHCP6_STEP_REBIND, DHCP_IS_BOUND},
	[DHCP6_RELEASES] = {DHCP6_STEP_RELEASE, DHCP_IS_BOUND},
	[DHCP6_DECLINES] = {DHCP6_STEP_DECLINE, DHCP_IS_BOUND},
	[DHCP6_CONFIRMS] = {DHCP6_STEP_CONFIRM, DHCP_IS_BOUND},
	[DHCP6_INFORMS] = {DHCP6_STEP_INFORMATION, DHCP_IS_FREE},
};

static inline uint32_t now_s(const struct proto_ctx *ctx)
{
	return ctx->now_ms / MS_PER_S;
}

static void leases_drop(struct dhcp_work *work, uint32_t client)
{
	struct dhcp6_worker *w = (struct dhcp6_worker *)work;
	struct dhcp6_client *k = dhcp6_client_at(w, client);
	uint32_t lease = dhcp_lease_of(w->is.plan, &w->is, client);

	for (uint32_t i = 0; k->head.holds && i < w->is.plan->stride; i++)
		dhcp_lease_drop(&w->is.common->leases, lease + i);
	k->head.holds = false;
}

static void keys_prefetch(const struct dhcp6_plan *p, const struct dhcp6_worker *w, uint32_t client)
{
	if (client != DHCP_NOBODY)
		__builtin_prefetch(
			&w->is.common->leases.words[dhcp_lease_of(&p->is, &w->is, client)], 1);
}

// What is given back is not used any more from the first try on (RFC 8415 section 18.2.7).
bool dhcp6_begin(struct proto_ctx *ctx, struct proto_txn *t)
{
	const struct dhcp6_plan *p = ctx->shared;
	struct dhcp6_worker *w = ctx->own;
	struct dhcp6_counters *n = ctx->counters;
	enum dhcp_begun begun;
	struct dhcp6_client *k;
	uint8_t from;

	begun = dhcp_work_begin(&w->is.work, ctx, t, leases_drop, &n->expired);
	n->no_free_client += begun == DHCP_NO_FREE;
	n->no_bound_client += begun == DHCP_NO_BOUND;
	if (begun != DHCP_BEGUN)
		return false;
	k = dhcp6_client_at(w, t->user);
	k->kept = 0;
	from = dhcp6_starts[k->head.exchange].from;
	keys_prefetch(p, w, dhcp_clients_later(&w->is.work.clients, (enum dhcp_client_state)from));
	if (dhcp6_kinds[t->step].has & DHCP6_ENDS_LEASE)
		leases_drop(&w->is.work, t->user);
	return true;
}

// Of a client's link-local address, which tells its MAC.
static bool is_client(const struct dhcp6_plan *p, const uint8_t *addr, uint8_t mac[6])
{
	const uint8_t from[6] = {addr[8] ^ 2, addr[9], addr[10], addr[13], addr[14], addr[15]};
	uint8_t own[16];
	uint64_t number = 0;

	dhcp6_link_local(from, own);
	if (!addr_bytes_equal(addr, own, 16))
		return false;
	for (int i = 0; i < 6; i++)
		number = number << 8 | from[i];
	if (p->is.macs.items ? !dhcp_macs_has(&p->is.macs, from) : number - p->mac >= p->is.clients)
		return false;
	memcpy(mac, from, 6);
	return true;
}

// A client of any worker of the item: what is asked may come on any queue.
bool dhcp6_owns(struct proto_ctx *ctx, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6])
{
	const struct dhcp6_plan *p = ctx->shared;
	struct dhcp6_worker *w = ctx->own;
	uint64_t lease;

	if (addr_len != 16)
		return false;
	if (!p->is.relays && is_client(p, addr, mac))
		return true;
	lease = dhcp_leases_find(&w->is.common->leases, addr, now_s(ctx));
	if (lease == DHCP_NOBODY || lease - p->is.owner >= (uint64_t)p->is.clients * p->is.stride)
		return false;
	if (!p->is.relays) // behind a relay they are reached through it
		dhcp6_mac(p, dhcp_number_of(&p->is, (uint32_t)lease), mac);
	return true;
}

// What relays and clients send too: a message that comes back to us is counted for what it is.
bool dhcp6_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	if (!dhcp6_xid(buf, len, DHCP6_RELAY_REPL, key) &&
		!dhcp6_xid(buf, len, DHCP6_RELAY_FORW, key))
		return false;
	*key >>= 1;
	return true;
}

static enum proto_verdict fail(struct proto_ctx *ctx, const struct proto_txn *t)
{
	if (!t->over)
		dhcp_work_leave(ctx->own, ctx, t, t->step == DHCP6_STEP_DECLINE);
	return PROTO_FAIL;
}

static enum proto_verdict done(
	struct proto_ctx *ctx, const struct proto_txn *t, const struct dhcp6_client *k)
{
	struct dhcp6_worker *w = ctx->own;
	struct dhcp6_counters *n = ctx->counters;

	n->server[k->head.server]++;
	dhcp_work_leave(&w->is.work, ctx, t, t->step == DHCP6_STEP_DECLINE);
	return PROTO_DONE;
}

// Who answers, where all were asked.
static void server_find(const struct proto_ctx *ctx, struct dhcp6_client *k)
{
	const struct dhcp6_plan *p = ctx->shared;

	for (uint32_t i = 0; p->is.layout.more && ctx->ends && i < p->is.server_count; i++)
		if (addr_bytes_equal(p->servers[i], ctx->ends->src, 16))
			k->head.server = (uint8_t)i;
}

// The number of a server DUID of the worker; false: there are too many of them.
bool dhcp6_server_keep(struct dhcp6_worker *w, const struct dhcp6_bytes *id, struct dhcp6_client *k)
{
	for (uint32_t i = 0; i < w->server_count; i++) {
		const struct dhcp6_duid_bytes *known = &w->servers[i];

		if (known->len != id->len || memcmp(known->bytes, id->data, id->len) != 0)
			continue;
		k->chosen = (uint8_t)i;
		return true;
	}
	if (w->server_count == DHCP_SERVERS_MAX)
		return false;
	k->chosen = (uint8_t)w->server_count;
	w->servers[w->server_count].len = (uint8_t)id->len;
	memcpy(w->servers[w->server_count++].bytes, id->data, id->len);
	return true;
}

// The client goes on with the ADVERTISE at hand.
static enum proto_verdict requested(
	struct proto_ctx *ctx, struct proto_txn *t, struct dhcp6_client *k)
{
	struct dhcp6_counters *n = ctx->counters;

	n->rapid_fallback += t->step == DHCP6_STEP_RAPID;
	t->step = DHCP6_STEP_REQUEST;
	t->tries = 0;
	k->kept = 0;
	k->head.began_ms = ctx->now_ms;
	return PROTO_AGAIN;
}

// The ADVERTISE is at hand from now on. false: there are too many servers.
static inline bool advertise_keep(struct proto_ctx *ctx, const struct dhcp6_self *s,
	const struct dhcp6_message *m, const struct dhcp6_given *given)
{
	struct dhcp6_worker *w = ctx->own;
	struct dhcp6_counters *n = ctx->counters;

	if (!dhcp6_server_keep(w, &m->server_id, s->client)) {
		n->servers_beyond++;
		return false;
	}
	for (uint32_t i = 0; i < s->p->is.stride; i++) {
		dhcp_lease_set(&w->is.common->leases, s->lease + i, &given->keys[i]);
		dhcp_lease_expect(&w->is.common->leases, &given->keys[i]);
	}
	return true;
}

static enum proto_verdict advertised(struct proto_ctx *ctx, struct proto_txn *t,
	const struct dhcp6_self *s, const struct dhcp6_message *m, const struct dhcp6_given *given)
{
	struct dhcp6_counters *n = ctx->counters;
	struct dhcp6_client *k = s->client;

	server_find(ctx, k);
	n->preferred += m->preference == URGENT;
	if (k->head.exchange == DHCP_TWO_WAY)
		return done(ctx, t, k);
	if (!advertise_keep(ctx, s, m, given))
		return fail(ctx, t);
	if (!s->p->takes_best || t->tries || m->preference == URGENT)
		return requested(ctx, t, k);
	k->kept = m->preference + 1;
	return PROTO_KEPT;
}

bool dhcp6_leases_hold(struct dhcp6_worker *w, uint32_t client, const struct dhcp_key *keys,
	uint32_t until_s, uint32_t now_s, struct dhcp_clash *clash)
{
	const struct dhcp_plan *p = w->is.plan;
	struct dhcp_leases *l = &w->is.common->leases;
	uint32_t first = dhcp_lease_of(p, &w->is, client);

	for (uint32_t i = 0; i < p->stride; i++) {
		bool prefix = dhcp_is_prefix(p, i);
		uint32_t other = dhcp_lease_hold(l, first + i, &keys[i], prefix, until_s, now_s);

		if (other == DHCP_NOBODY || dhcp_same_client(w->is.common, first + i, other))
			continue;
		*clash = (struct dhcp_clash){.prefix = prefix, .holder = other, .taker = first + i};
		memcpy(clash->bytes, keys[i].bytes, sizeof(clash->bytes));
		while (i-- > 0)
			dhcp_lease_drop(l, first + i);
		return false;
	}
	return true;
}

// The client holds these leases and none else.
static bool leases_take(struct proto_ctx *ctx, const struct dhcp6_self *s,
	const struct dhcp6_given *given, uint32_t until_s)
{
	struct dhcp6_worker *w = ctx->own;
	struct dhcp6_counters *n = ctx->counters;
	struct dhcp_clash clash;
	bool same = memcmp(s->keys, given->keys, s->p->is.stride * sizeof(given->keys[0])) == 0;

	if (s->client->head.holds && !same)
		leases_drop(&w->is.work, s->index);
	for (uint32_t i = 0; !same && i < s->p->is.stride; i++)
		dhcp_lease_set(&w->is.common->leases, s->lease + i, &given->keys[i]);
	s->client->head.holds =
		dhcp6_leases_hold(w, s->index, given->keys, until_s, now_s(ctx), &clash);
	s->client->head.expires_s = until_s;
	if (!s->client->head.holds) {
		n->duplicate_address += !clash.prefix;
		n->duplicate_prefix += clash.prefix;
		dhcp_work_clash(&w->is.work, &clash);
	}
	return s->client->head.holds;
}

static enum proto_verdict leased(struct proto_ctx *ctx, struct proto_txn *t,
	const struct dhcp6_self *s, const struct dhcp6_message *m, const struct dhcp6_given *given)
{
	const struct dhcp6_plan *p = ctx->shared;
	struct dhcp6_worker *w = ctx->own;
	struct dhcp6_counters *n = ctx->counters;
	struct dhcp6_client *k = s->client;
	bool had = k->head.holds;

	if (!dhcp6_server_keep(w, &m->server_id, k)) {
		n->servers_beyond++;
		return fail(ctx, t);
	}
	if (!leases_take(ctx, s, given, dhcp_work_expiry(&k->head, given->valid_s)))
		return fail(ctx, t);
	n->renewed += had;
	n->leases += !had;
	n->addresses += had ? 0 : p->is.addresses;
	n->prefixes += had ? 0 : p->is.prefixes;
	server_find(ctx, k);
	return done(ctx, t, k);
}

static enum proto_verdict refused(struct proto_ctx *ctx, const struct proto_txn *t, uint16_t status,
	const struct dhcp6_bytes *text)
{
	struct dhcp6_worker *w = ctx->own;
	struct dhcp6_counters *n = ctx->counters;

	n->refused++;
	if (!t->over) {
		dhcp_work_refused(&w->is.work, status, text->data, text->len);
		leases_drop(&w->is.work, t->user);
	}
	return fail(ctx, t);
}

static bool lacks_parameters(const struct dhcp6_plan *p, const struct dhcp6_message *m)
{
	uint64_t lack = 0;

	for (uint32_t i = 0; i < 4; i++)
		lack |= p->is.parameters[i] & ~m->present[i];
	return lack != 0;
}

static enum proto_verdict ended(
	struct proto_ctx *ctx, const struct proto_txn *t, const struct dhcp6_client *k)
{
	struct dhcp6_counters *n = ctx->counters;

	n->released += t->step == DHCP6_STEP_RELEASE;
	n->declined += t->step == DHCP6_STEP_DECLINE;
	n->confirmed += t->step == DHCP6_STEP_CONFIRM;
	return done(ctx, t, k);
}

// Everything in an answer that is ours by its header, and what becomes of it. Of its two calls one
// is rare, for which the other one is not to be slower.
static inline __attribute__((always_inline)) enum proto_verdict judge(struct proto_ctx *ctx,
	struct proto_txn *t, const struct dhcp6_self *s, const struct dhcp6_message *m,
	struct dhcp6_given *given)
{
	struct dhcp6_counters *n = ctx->counters;
	uint16_t has = dhcp6_kinds[t->step].has, status;
	struct dhcp6_bytes text;

	if (!dhcp6_server_check(s, n, t, m))
		return fail(ctx, t);
	if (dhcp6_is_refusal(s, n, t, m, &status, &text))
		return refused(ctx, t, status, &text);
	if (m->type == DHCP6_REPLY && (has & DHCP6_HAS_PARAMETERS))
		n->parameters_missing += lacks_parameters(s->p, m);
	if (m->type == DHCP6_REPLY && !(has & DHCP6_MAKES_LEASE))
		return t->over ? PROTO_DONE : ended(ctx, t, s->client);
	if (!dhcp6_leases_check(s, n, t, m, given))
		return fail(ctx, t);
	if (t->step == DHCP6_STEP_RAPID && m->type == DHCP6_REPLY &&
		!dhcp6_has(m, DHCP6_OPT_RAPID_COMMIT)) {
		n->rapid_commit_missing++;
		return fail(ctx, t);
	}
	if (t->over)
		return PROTO_DONE;
	return (m->type == DHCP6_ADVERTISE ? advertised : leased)(ctx, t, s, m, given);
}

// One more ADVERTISE while one is at hand: the better one is kept, and the other one is the further
// answer that a client has no use for. A wrong one changes nothing.
static __attribute__((noinline)) enum proto_verdict another(struct proto_ctx *ctx,
	struct proto_txn *t, const struct dhcp6_self *s, const struct dhcp6_message *m,
	const struct dhcp6_envelope *e)
{
	struct dhcp6_counters *n = ctx->counters, aside = {0};
	struct dhcp6_client *k = s->client;
	struct proto_txn only_judged = *t;
	struct dhcp6_given given;
	bool right;

	only_judged.over = true;
	ctx->counters = &aside;
	right = dhcp6_envelope_check(s, &aside, e) &&
	        judge(ctx, &only_judged, s, m, &given) == PROTO_DONE;
	ctx->counters = n;
	n->other_advertises++;
	if (!right || m->preference < k->kept || !advertise_keep(ctx, s, m, &given))
		return PROTO_DUPLICATE;
	server_find(ctx, k);
	k->kept = m->preference + 1;
	if (m->preference != URGENT)
		return PROTO_DUPLICATE;
	n->preferred++;
	return requested(ctx, t, k);
}

// RFC 8415 section 18.2.9: also from an answer that is of no use otherwise.
static void max_rt_keep(const struct dhcp6_self *s, const struct dhcp6_message *m)
{
	const struct dhcp_waits *w = &s->p->is.course.waits;

	if (m->sol_max_rt_s >= MAX_RT_LEAST && m->sol_max_rt_s <= MAX_RT_MOST)
		s->client->sol_waits = dhcp_waits_within(
			w, DHCP6_STEP_SOLICIT, m->sol_max_rt_s * (uint64_t)NS_PER_S);
	if (m->inf_max_rt_s >= MAX_RT_LEAST && m->inf_max_rt_s <= MAX_RT_MOST)
		s->client->inf_waits = dhcp_waits_within(
			w, DHCP6_STEP_INFORMATION, m->inf_max_rt_s * (uint64_t)NS_PER_S);
}

enum proto_verdict dhcp6_reply(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	struct dhcp6_worker *w = ctx->own;
	struct dhcp6_counters *n = ctx->counters;
	enum proto_verdict verdict;
	struct dhcp6_envelope e;
	struct dhcp6_message m;
	struct dhcp6_given given;
	struct dhcp6_self s;

	if (!dhcp6_unwrap(buf, len, &e) || !dhcp6_parse(e.inner, e.inner_len, &m))
		return PROTO_MALFORMED;
	dhcp6_self_find(ctx, t->user, &s);
	if (ctx->ends && !dhcp6_way_is_ours(&s, ctx->ends)) {
		n->way_wrong++;
		return PROTO_STRAY;
	}
	if (ctx->ends && !dhcp_vlan_is_ours(&s.p->is, s.number, ctx->ends)) {
		n->vlan_wrong++;
		return PROTO_STRAY;
	}
	verdict = dhcp6_ours(&s, n, t, &m);
	if (verdict != PROTO_DONE)
		return verdict;
	n->reply_bytes += len;
	w->is.heard = true;
	if (!t->over && (m.sol_max_rt_s | m.inf_max_rt_s))
		max_rt_keep(&s, &m);
	if (!t->over && s.client->kept && m.type == DHCP6_ADVERTISE)
		return another(ctx, t, &s, &m, &e);
	if (!t->over && !s.client->kept)
		n->attempt[t->tries < DHCP_TRIES_MAX ? t->tries : DHCP_TRIES_MAX - 1]++;
	if (!dhcp6_envelope_check(&s, n, &e))
		return fail(ctx, t);
	return judge(ctx, t, &s, &m, &given);
}

enum proto_verdict dhcp6_timeout(struct proto_ctx *ctx, struct proto_txn *t)
{
	struct dhcp6_worker *w = ctx->own;
	struct dhcp6_counters *n = ctx->counters;
	struct dhcp6_client *k = dhcp6_client_at(w, t->user);

	w->is.heard |= !t->over;
	if (k->kept && !t->over)
		return requested(ctx, t, k);
	if (dhcp_work_again(&w->is.work, t)) {
		n->retransmitted++;
		return PROTO_AGAIN;
	}
	t->over = false;
	return fail(ctx, t);
}

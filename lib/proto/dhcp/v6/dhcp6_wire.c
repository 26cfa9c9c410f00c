// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 clients in the course of an exchange (dhcp_course.h): the leases a client holds, its
// server, and its choice of an ADVERTISE. Messages are in dhcp6_request_wire.c, checks in
// dhcp6_checks_wire.c. Path: hot. The worker that owns ctx.

#include "proto/dhcp/v6/dhcp6_wire.h"
#include "base/bytes.h"
#include "proto/dhcp/client/dhcp_course.h"
#include "proto/dhcp/v6/dhcp6_checks.h"
#include "proto/dhcp/v6/dhcp6_reconfigure.h"
#include "proto/dhcp/v6/dhcp6_request.h"
#include "proto/dhcp/v6/dhcp6_usual.h"

#define URGENT       255 // preference (RFC 8415 section 21.8)
#define NS_PER_S     1000000000u
#define MAX_RT_LEAST 60 // seconds (RFC 8415 section 21.24): smaller values are ignored
#define MAX_RT_MOST  86400

static void dhcp6_leases_drop(struct dhcp_work *work, uint32_t client)
{
	struct dhcp6_worker *w = (struct dhcp6_worker *)work;
	struct dhcp6_client *k = dhcp6_client_at(w, client);
	uint32_t lease = dhcp_lease_of(w->is.plan, &w->is, client);

	for (uint32_t i = 0; k->head.holds && i < w->is.plan->stride; i++)
		dhcp_lease_drop(&w->is.common->leases, lease + i);
	k->head.holds = false;
}

// Prefetches the keys of a client that will begin soon. A lease to be released is unused from the
// first try on (RFC 8415 section 18.2.7).
DHCP_INLINE void dhcp6_begun(struct proto_ctx *ctx, struct proto_txn *t)
{
	const struct dhcp6_plan *p = ctx->shared;
	struct dhcp6_worker *w = ctx->own;
	struct dhcp6_client *k = dhcp6_client_at(w, t->user);
	uint8_t from = dhcp6_starts[k->head.exchange].from;
	uint32_t later = dhcp_clients_later(&w->is.work.clients, (enum dhcp_client_state)from);

	k->kept = 0;
	if (later != DHCP_NOBODY)
		__builtin_prefetch(
			&w->is.common->leases.words[dhcp_lease_of(&p->is, &w->is, later)], 1);
	if (dhcp6_kinds[t->step].has & DHCP6_ENDS_LEASE)
		dhcp6_leases_drop(&w->is.work, t->user);
}

// The link-local address of a client on the link, which contains its MAC.
static bool dhcp6_is_own(const struct dhcp_plan *plan, const uint8_t *addr, uint8_t mac[6])
{
	uint64_t number = 0;
	uint8_t from[6];

	if (plan->relays || !dhcp6_link_local_mac(addr, from))
		return false;
	for (int i = 0; i < 6; i++)
		number = number << 8 | from[i];
	if (plan->macs.items ? !dhcp_macs_has(&plan->macs, from)
			     : number - plan->mac >= plan->clients)
		return false;
	memcpy(mac, from, 6);
	return true;
}

// Why the relay messages cannot be removed.
static const char *envelope_broken(const struct dhcp6_envelope *e)
{
	const struct dhcp6_relay *last;

	if (e->levels == DHCP6_LEVELS_MAX)
		return "too many relay messages around it";
	last = &e->relays[e->levels];
	if (e->levels && last->message.data && last->type != e->relays[0].type)
		return "relay messages of two types around it";
	return last->notes.broken;
}

static inline bool dhcp6_heard_parse(struct proto_ctx *ctx, uint32_t client, const uint8_t *buf,
	uint32_t len, struct dhcp_heard *heard)
{
	struct dhcp6_heard *h = (struct dhcp6_heard *)heard;

	h->buf = buf;
	h->len = len;
	if (!dhcp6_unwrap(buf, len, &h->envelope)) {
		heard->broken = envelope_broken(&h->envelope);
		return false;
	}
	if (!dhcp6_parse(h->envelope.inner, h->envelope.inner_len, &h->m)) {
		heard->broken = h->m.notes.broken;
		return false;
	}
	for (uint32_t i = 0; i < h->envelope.levels; i++)
		h->m.notes.repeats |= h->envelope.relays[i].notes.repeats;
	dhcp6_self_find(ctx, client, &h->self);
	heard->client = &h->self.client->head;
	heard->number = h->self.number;
	heard->type = h->m.type;
	return true;
}

static inline void dhcp6_server_find(
	const struct proto_ctx *ctx, const uint8_t *src, struct dhcp_client *k)
{
	const struct dhcp_plan *p = ctx->shared;
	uint32_t server;

	if (!p->layout.more || !src)
		return;
	server = dhcp_server_of(p, src, 16);
	if (server < p->server_count)
		k->server = (uint8_t)server;
}

static inline void dhcp6_advertised(const struct proto_ctx *ctx, struct dhcp_heard *heard)
{
	const struct dhcp6_heard *h = (const struct dhcp6_heard *)heard;
	struct dhcp_counters *n = ctx->counters;

	dhcp6_server_find(ctx, heard->src, heard->client);
	n->preferred += h->m.preference == URGENT;
}

// Index of a server DUID on the worker; false: too many servers.
bool dhcp6_server_keep(struct dhcp6_worker *w, const struct dhcp6_bytes *id, struct dhcp6_client *k)
{
	for (uint32_t i = 0; i < w->server_count; i++) {
		const struct dhcp6_duid_bytes *known = &w->servers[i];

		if (known->len != id->len || memcmp(known->bytes, id->data, id->len) != 0)
			continue;
		k->chosen = i & 0x7f;
		return true;
	}
	if (w->server_count == DHCP_SERVERS_MAX)
		return false;
	k->chosen = w->server_count & 0x7f;
	w->servers[w->server_count].len = (uint8_t)id->len;
	memcpy(w->servers[w->server_count++].bytes, id->data, id->len);
	return true;
}

// The client chooses the server of a valid reply. false: too many servers.
static inline bool server_choose(
	struct dhcp6_worker *w, const struct dhcp6_heard *h, struct dhcp_counters *n)
{
	const struct dhcp6_plan *p = h->self.p;
	const uint8_t *told = h->m.unicast;
	struct dhcp6_client *k = h->self.client;
	uint8_t before = k->chosen;

	if (!dhcp6_server_keep(w, &h->m.server_id, k))
		return false;
	k->keyed = k->keyed && before == k->chosen;
	k->unicast = p->asks_unicast && told && addr_bytes_equal(told, p->is.servers[0], 16);
	n->unicast_elsewhere += p->asks_unicast && told && !k->unicast;
	dhcp6_usual_learn(w, h);
	return true;
}

DHCP_INLINE void lease_offered(struct dhcp6_worker *w, uint32_t lease, const struct dhcp_key *key)
{
	dhcp_lease_set(&w->is.common->leases, lease, key);
	dhcp_lease_expect(&w->is.common->leases, *key);
}

static inline bool dhcp6_offer_keep(struct proto_ctx *ctx, struct dhcp_heard *heard)
{
	const struct dhcp6_heard *h = (const struct dhcp6_heard *)heard;
	const struct dhcp_plan *p = ctx->shared;
	struct dhcp_counters *n = ctx->counters;
	struct dhcp6_worker *w = ctx->own;

	if (!server_choose(w, h, n)) {
		n->servers_beyond++;
		return false;
	}
	for (uint32_t i = 0; i < p->stride; i++)
		lease_offered(w, h->self.lease + i, &h->given.keys[i]);
	return true;
}

static inline bool dhcp6_offer_waits(struct dhcp_heard *heard, const struct proto_txn *t)
{
	const struct dhcp6_heard *h = (const struct dhcp6_heard *)heard;

	if (!h->self.p->takes_best || t->tries || h->m.preference == URGENT)
		return false;
	h->self.client->kept = h->m.preference + 1;
	return true;
}

// RFC 8415 section 18.2.9: a server without leases is not chosen.
static inline bool dhcp6_refusal_waits(const struct dhcp_heard *heard, const struct proto_txn *t)
{
	const struct dhcp6_heard *h = (const struct dhcp6_heard *)heard;

	return h->self.p->takes_best && h->m.type == DHCP6_ADVERTISE && t->tries == 0;
}

// RFC 8415 section 18.2.10: send the message again, to all servers.
static inline bool dhcp6_goes_again(
	const struct proto_ctx *ctx, const struct dhcp_heard *heard, const struct proto_txn *t)
{
	const struct dhcp6_heard *h = (const struct dhcp6_heard *)heard;
	struct dhcp6_client *k = h->self.client;
	struct dhcp_counters *n = ctx->counters;

	if (h->m.status != DHCP6_USE_MULTICAST || !dhcp6_is_unicast(k, t->step))
		return false;
	k->unicast = 0;
	n->multicast_again++;
	return true;
}

static inline bool dhcp6_offer_kept(const struct dhcp_client *k)
{
	return ((const struct dhcp6_client *)k)->kept;
}

static inline void dhcp6_request_begins(struct dhcp_client *k, uint64_t now_ms)
{
	((struct dhcp6_client *)k)->kept = 0;
	k->began_ms = (uint32_t)now_ms;
}

// Hold one lease of a client. Returns DHCP_NOBODY, or another client's lease that clashes.
DHCP_INLINE uint32_t lease_hold(struct dhcp6_worker *w, uint32_t lease, bool prefix,
	struct dhcp_key key, uint32_t until_s, uint32_t now_s, uint64_t *unwatched)
{
	uint32_t other = dhcp_lease_hold(&w->is.common->leases, lease, key, prefix, until_s, now_s);

	if (__builtin_expect(other == DHCP_NOBODY, 1))
		return other;
	*unwatched += other == DHCP_UNWATCHED;
	return other == DHCP_UNWATCHED || dhcp_same_client(w->is.common, lease, other) ? DHCP_NOBODY
	                                                                               : other;
}

// Hold all leases of a client. Returns DHCP_NOBODY, or another client's lease that clashes: then
// none is held, and *at is the index of the client's own.
static uint32_t leases_hold(struct dhcp6_worker *w, uint32_t first, const struct dhcp_key *keys,
	uint32_t until_s, uint32_t now_s, uint32_t *at, uint64_t *unwatched)
{
	const struct dhcp_plan *p = w->is.plan;

	for (uint32_t i = 0; i < p->stride; i++) {
		uint32_t other = lease_hold(
			w, first + i, dhcp_is_prefix(p, i), keys[i], until_s, now_s, unwatched);

		if (other == DHCP_NOBODY)
			continue;
		*at = i;
		while (i-- > 0)
			dhcp_lease_drop(&w->is.common->leases, first + i);
		return other;
	}
	return DHCP_NOBODY;
}

bool dhcp6_leases_hold(struct dhcp6_worker *w, uint32_t client, const struct dhcp_key *keys,
	uint32_t until_s, uint64_t *unwatched)
{
	uint32_t first = dhcp_lease_of(w->is.plan, &w->is, client), at;

	return leases_hold(w, first, keys, until_s, 0, &at, unwatched) == DHCP_NOBODY;
}

// A server gave the client a lease that another one holds.
static __attribute__((noinline)) void lease_clashes(
	struct proto_ctx *ctx, uint32_t taker, uint32_t at, struct dhcp_key key, uint32_t holder)
{
	struct dhcp_clash clash = {
		.prefix = dhcp_is_prefix(ctx->shared, at), .holder = holder, .taker = taker + at};
	struct dhcp_counters *n = ctx->counters;
	struct dhcp_worker *w = ctx->own;

	memcpy(clash.bytes, key.bytes, sizeof(clash.bytes));
	n->duplicate_address += !clash.prefix;
	n->duplicate_prefix += clash.prefix;
	dhcp_work_clash(&w->work, &clash);
}

// Count the leases that the client holds until then. had: it held leases before; holder: of a lease
// that clashes, DHCP_NOBODY: none does; at, key: of this lease.
DHCP_INLINE bool leases_taken(struct proto_ctx *ctx, const struct dhcp6_heard *h, bool had,
	uint32_t until_s, uint32_t holder, uint32_t at, struct dhcp_key key)
{
	const struct dhcp_plan *p = ctx->shared;
	struct dhcp_counters *n = ctx->counters;
	struct dhcp_client *k = h->is.client;

	k->holds = holder == DHCP_NOBODY;
	k->expires_s = until_s;
	if (holder != DHCP_NOBODY) {
		lease_clashes(ctx, h->self.lease, at, key, holder);
		return false;
	}
	n->addresses += had ? 0 : p->addresses;
	n->prefixes += had ? 0 : p->prefixes;
	dhcp6_server_find(ctx, h->is.src, k);
	return true;
}

static bool dhcp6_leases_take(
	struct proto_ctx *ctx, struct proto_txn *t, struct dhcp_heard *heard, uint32_t until_s)
{
	const struct dhcp6_heard *h = (const struct dhcp6_heard *)heard;
	const struct dhcp_key *keys = h->given.keys;
	const struct dhcp_plan *p = ctx->shared;
	struct dhcp_counters *n = ctx->counters;
	struct dhcp6_worker *w = ctx->own;
	bool same = memcmp(h->self.keys, keys, p->stride * sizeof(keys[0])) == 0;
	bool had = heard->client->holds;
	uint32_t holder, at = 0;

	if (!server_choose(w, h, n)) {
		n->servers_beyond++;
		return false;
	}
	dhcp6_key_keep(h, t->user);
	if (had && !same)
		dhcp6_leases_drop(&w->is.work, t->user);
	for (uint32_t i = 0; !same && i < p->stride; i++)
		dhcp_lease_set(&w->is.common->leases, h->self.lease + i, &keys[i]);
	holder = leases_hold(w, h->self.lease, keys, until_s, dhcp_now_s(ctx), &at, &n->unwatched);
	return leases_taken(ctx, h, had, until_s, holder, at, keys[at]);
}

static inline void dhcp6_ended(
	const struct proto_ctx *ctx, const struct proto_txn *t, const struct dhcp_heard *heard)
{
	const struct dhcp6_heard *h = (const struct dhcp6_heard *)heard;
	const struct dhcp6_duid_bytes *server = &h->self.w->servers[h->self.client->chosen];
	struct dhcp_counters *n = ctx->counters;

	if (dhcp6_bytes_are(&h->m.server_id, server->bytes, server->len))
		dhcp6_key_keep(h, t->user);

	n->released += t->step == DHCP6_STEP_RELEASE;
	n->declined += t->step == DHCP6_STEP_DECLINE;
	n->confirmed += t->step == DHCP6_STEP_CONFIRM;
}

// RFC 8415 section 18.2.9: applies even to otherwise useless replies.
static inline void dhcp6_limits_keep(struct dhcp_heard *heard)
{
	const struct dhcp6_heard *h = (const struct dhcp6_heard *)heard;
	const struct dhcp_waits *w = &h->self.p->is.course.waits;
	const struct dhcp6_message *m = &h->m;

	if (m->sol_max_rt_s >= MAX_RT_LEAST && m->sol_max_rt_s <= MAX_RT_MOST)
		h->self.client->sol_waits = dhcp_waits_within(
			w, DHCP6_STEP_SOLICIT, m->sol_max_rt_s * (uint64_t)NS_PER_S);
	if (m->inf_max_rt_s >= MAX_RT_LEAST && m->inf_max_rt_s <= MAX_RT_MOST)
		h->self.client->inf_waits = dhcp_waits_within(
			w, DHCP6_STEP_INFORMATION, m->inf_max_rt_s * (uint64_t)NS_PER_S);
}

static inline bool dhcp6_has_xid(const struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	uint32_t xid;

	return dhcp6_xid(buf, len, DHCP6_RELAY_REPL, &xid) && xid == dhcp6_xid_of(t);
}

static enum proto_verdict dhcp6_another(
	struct proto_ctx *ctx, struct proto_txn *t, struct dhcp_heard *heard);

static const struct dhcp_messages dhcp6_messages = {
	.kinds = dhcp6_kinds,
	.offer = DHCP6_ADVERTISE,
	.rests_after = DHCP6_STEP_DECLINE,
	.begun = dhcp6_begun,
	.leases_drop = dhcp6_leases_drop,
	.parse = dhcp6_heard_parse,
	.way_is_ours = dhcp6_way_is_ours,
	.is_elsewhere = dhcp6_is_elsewhere,
	.ours = dhcp6_ours,
	.judge = dhcp6_judge,
	.server_find = dhcp6_advertised,
	.offer_keep = dhcp6_offer_keep,
	.leases_take = dhcp6_leases_take,
	.lease_find = dhcp_leases_find,
	.has_xid = dhcp6_has_xid,
	.is_own = dhcp6_is_own,
	.refusal_waits = dhcp6_refusal_waits,
	.goes_again = dhcp6_goes_again,
	.limits_keep = dhcp6_limits_keep,
	.offer_kept = dhcp6_offer_kept,
	.offer_waits = dhcp6_offer_waits,
	.another = dhcp6_another,
	.request_begins = dhcp6_request_begins,
	.ended = dhcp6_ended,
};

// The server of a usual reply is known, and it has one lease.
DHCP_INLINE void usual_choose(struct dhcp6_client *k, const struct dhcp6_usual *u)
{
	if (k->chosen != u->chosen) {
		k->chosen = u->chosen & 0x7f;
		k->keyed = 0;
	}
	k->unicast = u->unicast;
}

DHCP_INLINE bool usual_offer_keep(struct proto_ctx *ctx, struct dhcp_heard *heard)
{
	const struct dhcp6_heard *h = (const struct dhcp6_heard *)heard;

	usual_choose(h->self.client, h->usual);
	lease_offered(ctx->own, h->self.lease, &h->given.keys[0]);
	return true;
}

DHCP_INLINE bool usual_leases_take(
	struct proto_ctx *ctx, struct proto_txn *t, struct dhcp_heard *heard, uint32_t until_s)
{
	const struct dhcp6_heard *h = (const struct dhcp6_heard *)heard;
	struct dhcp_key key = h->given.keys[0];
	struct dhcp_counters *n = ctx->counters;
	struct dhcp6_worker *w = ctx->own;
	bool had = heard->client->holds;
	uint32_t holder;

	usual_choose(h->self.client, h->usual);
	if (!dhcp_key_equal(&h->self.keys[0], &key)) {
		if (had)
			dhcp6_leases_drop(&w->is.work, t->user);
		dhcp_lease_set(&w->is.common->leases, h->self.lease, &key);
	}
	holder = lease_hold(w, h->self.lease, false, key, until_s, dhcp_now_s(ctx), &n->unwatched);
	return leases_taken(ctx, h, had, until_s, holder, 0, key);
}

static const struct dhcp_messages dhcp6_usual_messages = {
	.kinds = dhcp6_kinds,
	.offer = DHCP6_ADVERTISE,
	.rests_after = DHCP6_STEP_DECLINE,
	.is_usual = dhcp6_is_usual,
	.server_find = dhcp6_advertised,
	.offer_keep = usual_offer_keep,
	.leases_take = usual_leases_take,
	.request_begins = dhcp6_request_begins,
};

// Another ADVERTISE while one is kept: keeps the better, and the client drops the other. An invalid
// one has no effect.
static __attribute__((noinline)) enum proto_verdict dhcp6_another(
	struct proto_ctx *ctx, struct proto_txn *t, struct dhcp_heard *heard)
{
	const struct dhcp6_heard *h = (const struct dhcp6_heard *)heard;
	struct dhcp_counters *n = ctx->counters, aside = {0};
	struct proto_txn only_judged = *t;
	bool right;

	only_judged.over = true;
	ctx->counters = &aside;
	right = dhcp6_judge(heard, ctx, &only_judged) == DHCP_RIGHT;
	ctx->counters = n;
	n->other_advertises++;
	if (!right || h->m.preference < h->self.client->kept || !dhcp6_offer_keep(ctx, heard))
		return PROTO_DUPLICATE;
	dhcp6_server_find(ctx, heard->src, heard->client);
	h->self.client->kept = h->m.preference + 1;
	if (h->m.preference != URGENT)
		return PROTO_DUPLICATE;
	n->preferred++;
	return dhcp_requested(&dhcp6_messages, ctx, t, heard->client);
}

// The key of an ADVERTISE or REPLY in one relay message that begins with it.
static inline bool relayed_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	const uint32_t least = DHCP6_RELAY_LEN + DHCP6_OPTION_LEN + DHCP6_HEADER_LEN;
	uint32_t option, inner, type;

	if (len < least || buf[0] != DHCP6_RELAY_REPL)
		return false;
	option = bytes_be32(buf + DHCP6_RELAY_LEN);
	inner = bytes_be32(buf + DHCP6_RELAY_LEN + DHCP6_OPTION_LEN);
	type = inner >> 24;
	*key = (inner & DHCP6_XID_MAX) >> 1;
	return option >> 16 == DHCP6_OPT_RELAY_MESSAGE &&
	       (option & 0xffff) - DHCP6_HEADER_LEN <= len - least &&
	       (type == DHCP6_ADVERTISE || type == DHCP6_REPLY);
}

static __attribute__((noinline)) bool any_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	bool sent = len && buf[0] == DHCP6_RELAY_FORW;

	if (!dhcp6_xid(buf, len, sent ? DHCP6_RELAY_FORW : DHCP6_RELAY_REPL, key))
		return false;
	*key >>= 1;
	return true;
}

// Accepts messages of relays and clients as well: if one comes back to us, it is counted as such.
bool dhcp6_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	return relayed_key(buf, len, key) || any_key(buf, len, key);
}

// The event carries the first address.
bool dhcp6_happened(struct proto_ctx *ctx, const struct proto_txn *t, struct proto_event *out)
{
	const struct dhcp6_worker *w = ctx->own;
	const struct dhcp_plan *p = &((const struct dhcp6_plan *)ctx->shared)->is;
	struct dhcp_key key;

	if (!p->addresses || !dhcp_happened(&w->is, t, out))
		return false;
	dhcp_lease_get(&w->is.common->leases, dhcp_lease_of(p, &w->is, t->user), &key);
	memcpy(out->addr, key.bytes, sizeof(out->addr));
	return true;
}

DHCP_VERBS(dhcp6, 16, dhcp6_usual_messages)

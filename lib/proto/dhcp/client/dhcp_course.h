// SPDX-License-Identifier: BSD-3-Clause
// The course of a client through an exchange, for both families: begin, judge the reply, take a
// lease or a refusal, retransmit or fail. A family's file includes this header and passes its
// struct dhcp_messages as a constant, so the compiler makes all calls direct. Messages and their
// checks belong to the family. Path: hot. The worker that owns ctx.
#pragma once

#include "proto/dhcp/client/dhcp_client.h"
#include "proto/dhcp/client/dhcp_wrong.h"

#define DHCP_INLINE static inline __attribute__((always_inline))

// The reply being processed, and its client; first member of the family's struct.
struct dhcp_heard {
	struct dhcp_client *client;
	uint32_t number;     // of the client, unique in the whole run
	uint8_t type;        // of the message
	uint32_t valid_s;    // of the lease it grants
	uint32_t t1_s, t2_s; // of the lease; 0: not given
	// A refusal: its status (0 in DHCPv4) and text.
	uint16_t status;
	uint32_t text_len;
	const uint8_t *text;
	const char *broken; // why it is malformed
	uint8_t peer;       // index of its server; DHCP_PEER_NONE: no server identifier
	const uint8_t *src; // address that it came from; NULL: unknown
};

#define DHCP_PEER_NONE UINT8_MAX

// Passes on the result of a check, and counts failures.
DHCP_INLINE bool dhcp_right(bool right, uint64_t *counter)
{
	*counter += !right;
	return right;
}

// Count a reply of this kind from the server h->peer.
DHCP_INLINE void dhcp_peer_count(
	struct dhcp_counters *n, const struct dhcp_heard *h, enum dhcp_peer_kind kind)
{
	if (h->peer != DHCP_PEER_NONE)
		n->peers[h->peer][kind]++;
}

enum dhcp_judgement { DHCP_RIGHT, DHCP_WRONG, DHCP_REFUSED };

struct dhcp_messages {
	const struct dhcp_message_kind *kinds; // by step
	uint8_t offer;                         // type of the message that REQUEST answers
	uint8_t rests_after; // step after which a client rests; DHCP_STEP_NONE: none

	// The exchange now has its client: the family's part of begin.
	void (*begun)(struct proto_ctx *ctx, struct proto_txn *t);
	// End the leases of a client.
	void (*leases_drop)(struct dhcp_work *w, uint32_t client);
	// Returns whether this is the usual reply to t and valid in every part. If so, fills the
	// message and client as needed by the functions from server_find on, and counts like for
	// any valid reply. false: unrecognised, nothing has changed.
	bool (*is_usual)(struct proto_ctx *ctx, const struct proto_txn *t,
		const struct proto_message *in, struct dhcp_heard *h);
	// Parse the message and find its client. false: malformed.
	bool (*parse)(struct proto_ctx *ctx, uint32_t client, const uint8_t *buf, uint32_t len,
		struct dhcp_heard *h);
	// Was it sent to the address and port at which t expects its reply?
	bool (*way_is_ours)(
		const struct dhcp_heard *h, const struct proto_ends *e, const struct proto_txn *t);
	// Does it come from another address or port than t was sent to? A server may have several,
	// and is identified by its identifier in messages.
	bool (*is_elsewhere)(
		const struct dhcp_heard *h, const struct proto_ends *e, const struct proto_txn *t);
	// Does it answer the last message of t? DONE, STRAY or DUPLICATE; counts the reason and the
	// server.
	enum proto_verdict (*ours)(
		struct dhcp_heard *h, const struct proto_ctx *ctx, const struct proto_txn *t);
	// Checks the content and counts the first error.
	enum dhcp_judgement (*judge)(
		struct dhcp_heard *h, const struct proto_ctx *ctx, const struct proto_txn *t);
	// Finds the server that answered, if several were asked.
	void (*server_find)(const struct proto_ctx *ctx, struct dhcp_heard *h);
	// Continue with this offer. false: not possible, which is counted.
	bool (*offer_keep)(struct proto_ctx *ctx, struct dhcp_heard *h);
	// Give the client exactly these leases until until_s. false: another client has one, or
	// there are too many servers; counts the reason.
	bool (*leases_take)(
		struct proto_ctx *ctx, struct proto_txn *t, struct dhcp_heard *h, uint32_t until_s);
	// The lease of an address, or DHCP_NOBODY.
	uint32_t (*lease_find)(const struct dhcp_leases *l, const uint8_t *addr, uint32_t now_s);

	// Does a client have this address without a lease? Writes its MAC if the client is on the
	// link.
	bool (*is_own)(const struct dhcp_plan *p, const uint8_t *addr, uint8_t mac[6]);
	// Does a reply carry the transaction ID of t?
	bool (*has_xid)(const struct proto_txn *t, const uint8_t *buf, uint32_t len);

	// DHCPv6 only; NULL in DHCPv4.
	// Keep the limits that are set even by a useless reply.
	void (*limits_keep)(struct dhcp_heard *h);
	// After this refusal, should the client wait for an offer of another server?
	bool (*refusal_waits)(const struct dhcp_heard *h, const struct proto_txn *t);
	// After this refusal, should the message be sent again in another way?
	bool (*goes_again)(
		const struct proto_ctx *ctx, const struct dhcp_heard *h, const struct proto_txn *t);
	// Does the client have an offer, and should it wait for a better one?
	bool (*offer_kept)(const struct dhcp_client *k);
	bool (*offer_waits)(struct dhcp_heard *h, const struct proto_txn *t);
	// Another offer while the client has one.
	enum proto_verdict (*another)(
		struct proto_ctx *ctx, struct proto_txn *t, struct dhcp_heard *h);
	// The message after the offer is about to be sent for the first time.
	void (*request_begins)(struct dhcp_client *k, uint64_t now_ms);
	// Count a reply that ends the exchange without a lease.
	void (*ended)(
		const struct proto_ctx *ctx, const struct proto_txn *t, const struct dhcp_heard *h);
};

#define DHCP_STEP_NONE UINT8_MAX

DHCP_INLINE uint32_t dhcp_now_s(const struct proto_ctx *ctx)
{
	return (uint32_t)(ctx->now_ms / 1000);
}

// Does a message with these options lack a requested parameter?
DHCP_INLINE bool dhcp_lacks_parameters(const struct dhcp_plan *p, const uint64_t present[4])
{
	uint64_t lack = 0;

	for (uint32_t i = 0; i < 4; i++)
		lack |= p->parameters[i] & ~present[i];
	return lack != 0;
}

// Count the requested parameters that a reply lacks.
DHCP_INLINE void dhcp_count_missing(
	const struct dhcp_plan *p, const uint64_t present[4], struct dhcp_counters *n)
{
	n->parameters_missing++;
	for (uint32_t i = 0; i < 4; i++)
		for (uint64_t lack = p->parameters[i] & ~present[i]; lack; lack &= lack - 1)
			n->missing[64 * i + (uint32_t)__builtin_ctzll(lack)]++;
}

DHCP_INLINE bool dhcp_begin(
	const struct dhcp_messages *f, struct proto_ctx *ctx, struct proto_txn *t, uint32_t now_s)
{
	struct dhcp_counters *n = ctx->counters;
	struct dhcp_worker *w = ctx->own;
	enum dhcp_begun begun;

	begun = dhcp_work_begin(&w->work, ctx, t, now_s, f->leases_drop, &n->expired);
	if (__builtin_expect(begun != DHCP_BEGUN, 0)) {
		n->no_free_client += begun == DHCP_NO_FREE;
		n->no_bound_client += begun == DHCP_NO_BOUND || begun == DHCP_NO_BOUND_YET;
		n->forgotten += begun == DHCP_BEGUN_AGAIN;
		if (begun == DHCP_NO_BOUND || begun == DHCP_NO_BOUND_YET)
			ctx->lack = begun == DHCP_NO_BOUND ? PROTO_NO_BOUND : PROTO_NO_BOUND_YET;
		if (begun != DHCP_BEGUN_AGAIN)
			return false;
	}
	f->begun(ctx, t);
	return true;
}

// Answers for clients of any worker of the item, because a neighbour request may arrive on any
// queue. A client behind a relay is reached through the relay.
DHCP_INLINE bool dhcp_owns(
	const struct dhcp_messages *f, struct proto_ctx *ctx, const uint8_t *addr, uint8_t mac[6])
{
	const struct dhcp_plan *p = ctx->shared;
	struct dhcp_worker *w = ctx->own;
	uint32_t lease;

	if (f->is_own(p, addr, mac))
		return true;
	lease = f->lease_find(&w->common->leases, addr, dhcp_now_s(ctx));
	if (lease == DHCP_NOBODY || (uint64_t)lease - p->owner >= (uint64_t)p->clients * p->stride)
		return false;
	if (p->relays)
		return true;
	dhcp_mac_write(p, dhcp_number_of(p, lease), mac);
	return true;
}

DHCP_INLINE enum proto_verdict dhcp_fail(
	const struct dhcp_messages *f, struct proto_ctx *ctx, const struct proto_txn *t)
{
	if (!t->over)
		dhcp_work_leave(ctx->own, ctx, t, t->step == f->rests_after, DHCP_LEFT_FAILED);
	return PROTO_FAIL;
}

DHCP_INLINE enum proto_verdict dhcp_done(const struct dhcp_messages *f, struct proto_ctx *ctx,
	const struct proto_txn *t, const struct dhcp_client *k, enum dhcp_left how)
{
	struct dhcp_counters *n = ctx->counters;

	n->server[k->server]++;
	dhcp_work_leave(ctx->own, ctx, t, t->step == f->rests_after, how);
	return PROTO_DONE;
}

// Continue with the offer that was kept.
DHCP_INLINE enum proto_verdict dhcp_requested(const struct dhcp_messages *f, struct proto_ctx *ctx,
	struct proto_txn *t, struct dhcp_client *k)
{
	struct dhcp_counters *n = ctx->counters;

	n->rapid_fallback += t->step == DHCP_STEP_RAPID;
	t->step = DHCP_STEP_REQUEST;
	t->tries = 0;
	if (f->request_begins)
		f->request_begins(k, ctx->now_ms);
	return PROTO_AGAIN;
}

DHCP_INLINE enum proto_verdict dhcp_offered(const struct dhcp_messages *f, struct proto_ctx *ctx,
	struct proto_txn *t, struct dhcp_heard *h)
{
	f->server_find(ctx, h);
	if (h->client->exchange == DHCP_TWO_WAY)
		return dhcp_done(f, ctx, t, h->client, DHCP_LEFT_DONE);
	if (!f->offer_keep(ctx, h))
		return dhcp_fail(f, ctx, t);
	if (f->offer_waits && f->offer_waits(h, t))
		return PROTO_KEPT;
	return dhcp_requested(f, ctx, t, h->client);
}

DHCP_INLINE enum proto_verdict dhcp_leased(const struct dhcp_messages *f, struct proto_ctx *ctx,
	struct proto_txn *t, struct dhcp_heard *h)
{
	struct dhcp_counters *n = ctx->counters;
	struct dhcp_worker *w = ctx->own;
	bool had = h->client->holds;

	if (!f->leases_take(ctx, t, h, dhcp_work_expiry(h->client, ctx->now_ms, h->valid_s)))
		return dhcp_fail(f, ctx, t);
	n->renewed += had;
	n->leases += !had;
	if (w->work.life.of)
		n->t1_unforeseen +=
			!dhcp_life_lease(&w->work.life, t->user, h->t1_s, h->t2_s, h->valid_s);
	return dhcp_done(f, ctx, t, h->client, DHCP_LEFT_LEASED);
}

DHCP_INLINE enum proto_verdict dhcp_refused(const struct dhcp_messages *f, struct proto_ctx *ctx,
	const struct proto_txn *t, const struct dhcp_heard *h)
{
	struct dhcp_worker *w = ctx->own;

	if (!t->over) {
		dhcp_work_refused(&w->work, h->status, h->text, h->text_len);
		if (!(f->kinds[t->step].has & DHCP_ASKS_ABOUT))
			f->leases_drop(&w->work, t->user);
	}
	return dhcp_fail(f, ctx, t);
}

DHCP_INLINE void dhcp_attempt_count(struct dhcp_counters *n, const struct proto_txn *t)
{
	n->attempt[t->tries < DHCP_TRIES_MAX ? t->tries : DHCP_TRIES_MAX - 1]++;
}

// Judge the content and decide how the client continues. first: the first reply to its message.
DHCP_INLINE enum proto_verdict dhcp_decide(const struct dhcp_messages *f, struct proto_ctx *ctx,
	struct proto_txn *t, struct dhcp_heard *h, bool first)
{
	enum dhcp_judgement judged = f->judge(h, ctx, t);
	struct dhcp_worker *w = ctx->own;

	if (judged == DHCP_REFUSED && f->refusal_waits && h->peer != DHCP_PEER_NONE) {
		uint64_t *of = ((struct dhcp_counters *)ctx->counters)->peers[h->peer];

		of[h->type == f->offer ? DHCP_PEER_OFFERS : DHCP_PEER_ANSWERS]--;
		of[DHCP_PEER_REFUSALS]++;
	}
	if (judged == DHCP_REFUSED && first && f->refusal_waits && f->refusal_waits(h, t)) {
		dhcp_work_refused(&w->work, h->status, h->text, h->text_len);
		return PROTO_KEPT;
	}
	if (first)
		dhcp_attempt_count(ctx->counters, t);
	switch (judged) {
	case DHCP_RIGHT:
		break;
	case DHCP_WRONG:
		return dhcp_fail(f, ctx, t);
	case DHCP_REFUSED:
		if (f->goes_again && !t->over && f->goes_again(ctx, h, t))
			return PROTO_AGAIN;
		return dhcp_refused(f, ctx, t, h);
	}
	if (t->over)
		return PROTO_DONE;
	if (h->type == f->offer)
		return dhcp_offered(f, ctx, t, h);
	if (f->kinds[t->step].has & DHCP_MAKES_LEASE)
		return dhcp_leased(f, ctx, t, h);
	if (f->ended)
		f->ended(ctx, t, h);
	return dhcp_done(f, ctx, t, h->client, DHCP_LEFT_DONE);
}

// DONE if this is a reply to t, which is then counted as such.
DHCP_INLINE enum proto_verdict dhcp_match(const struct dhcp_messages *f, struct proto_ctx *ctx,
	const struct proto_txn *t, struct dhcp_heard *h)
{
	struct dhcp_counters *n = ctx->counters;

	if (ctx->ends && !f->way_is_ours(h, ctx->ends, t)) {
		n->way_wrong++;
		return PROTO_STRAY;
	}
	if (ctx->ends && !dhcp_vlan_is_ours(ctx->shared, h->number, ctx->ends)) {
		n->vlan_wrong++;
		return PROTO_STRAY;
	}
	return f->ours(h, ctx, t);
}

// End an exchange whose message was deliberately malformed, restoring the client's earlier state.
DHCP_INLINE enum proto_verdict dhcp_apart(
	struct proto_ctx *ctx, const struct proto_txn *t, uint64_t *counter)
{
	++*counter;
	dhcp_work_leave(ctx->own, ctx, t, false, DHCP_LEFT_FAILED);
	return PROTO_APART;
}

// A reply to such a message: any message with its transaction ID.
DHCP_INLINE enum proto_verdict dhcp_wrong_reply(const struct dhcp_messages *f,
	struct proto_ctx *ctx, const struct proto_txn *t, const uint8_t *buf, uint32_t len,
	struct dhcp_heard *h, uint32_t kind)
{
	struct dhcp_counters *n = ctx->counters;
	struct dhcp_worker *w = ctx->own;
	uint32_t other = DHCP_TYPE_BUCKETS - 1;

	if (!f->has_xid(t, buf, len))
		return PROTO_STRAY;
	if (!f->parse(ctx, t->user, buf, len, h))
		return PROTO_MALFORMED;
	n->received[h->type < other ? h->type : other]++;
	n->reply_bytes += len;
	w->heard = true;
	return dhcp_apart(ctx, t, &n->wrong_answered[kind]);
}

// Judges a usual reply. false: it is another one, for dhcp_reply; nothing has changed.
DHCP_INLINE bool dhcp_reply_usual(const struct dhcp_messages *f, struct proto_ctx *ctx,
	struct proto_txn *t, const struct proto_message *in, struct dhcp_heard *h,
	enum proto_verdict *verdict)
{
	struct dhcp_counters *n = ctx->counters;
	struct dhcp_worker *w = ctx->own;

	if (dhcp_is_wrong(w, t) || t->over || !f->is_usual(ctx, t, in, h))
		return false;
	n->received[h->type]++;
	n->reply_bytes += in->len;
	w->heard = true;
	dhcp_attempt_count(n, t);
	if (h->type == f->offer) {
		dhcp_peer_count(n, h, DHCP_PEER_OFFERS);
		*verdict = dhcp_offered(f, ctx, t, h);
	} else {
		dhcp_peer_count(n, h, DHCP_PEER_ANSWERS);
		*verdict = dhcp_leased(f, ctx, t, h);
	}
	return true;
}

DHCP_INLINE enum proto_verdict dhcp_reply(const struct dhcp_messages *f, struct proto_ctx *ctx,
	struct proto_txn *t, const uint8_t *buf, uint32_t len, struct dhcp_heard *h)
{
	struct dhcp_counters *n = ctx->counters;
	struct dhcp_worker *w = ctx->own;
	uint32_t wrong = dhcp_wrong_kind(w, t);
	enum proto_verdict verdict;
	bool kept;

	h->src = ctx->ends ? ctx->ends->src : NULL;
	if (wrong < DHCP_WRONG_COUNT && !t->over)
		return dhcp_wrong_reply(f, ctx, t, buf, len, h, wrong);
	if (!f->parse(ctx, t->user, buf, len, h))
		return PROTO_MALFORMED;
	verdict = dhcp_match(f, ctx, t, h);
	if (verdict != PROTO_DONE)
		return verdict;
	n->reply_bytes += len;
	w->heard = true;
	if (ctx->ends && !t->over && f->is_elsewhere(h, ctx->ends, t)) {
		n->other_source++;
		ctx->noted = ctx->elsewhere = true;
	}
	if (f->limits_keep && !t->over)
		f->limits_keep(h);
	kept = f->offer_kept && f->offer_kept(h->client);
	if (kept && !t->over && h->type == f->offer)
		return f->another(ctx, t, h);
	return dhcp_decide(f, ctx, t, h, !t->over && !kept);
}

// Returns why a reply is malformed, or NULL.
DHCP_INLINE const char *dhcp_reason(const struct dhcp_messages *f, struct proto_ctx *ctx,
	const struct proto_txn *t, const uint8_t *buf, uint32_t len, struct dhcp_heard *h)
{
	return f->parse(ctx, t->user, buf, len, h) ? NULL : h->broken;
}

DHCP_INLINE enum proto_verdict dhcp_timeout(
	const struct dhcp_messages *f, struct proto_ctx *ctx, struct proto_txn *t)
{
	struct dhcp_counters *n = ctx->counters;
	struct dhcp_worker *w = ctx->own;
	struct dhcp_client *k = dhcp_client_at(&w->work.clients, t->user);

	uint32_t wrong = dhcp_wrong_kind(w, t);

	if ((f->kinds[t->step].has & DHCP_IS_SILENT) && t->tries)
		return PROTO_FAIL;
	w->heard |= !t->over;
	if (wrong < DHCP_WRONG_COUNT && !t->over)
		return dhcp_apart(ctx, t, &n->wrong_unanswered[wrong]);
	if (f->offer_kept && !t->over && f->offer_kept(k))
		return dhcp_requested(f, ctx, t, k);
	if (dhcp_work_again(&w->work, t)) {
		n->retransmitted++;
		return PROTO_AGAIN;
	}
	t->over = false;
	return dhcp_fail(f, ctx, t);
}

// Predicts the decision of dhcp_timeout.
DHCP_INLINE bool dhcp_gives_up(
	const struct dhcp_messages *f, const struct proto_ctx *ctx, const struct proto_txn *t)
{
	const struct dhcp_worker *w = ctx->own;

	if ((f->kinds[t->step].has & DHCP_IS_SILENT) && t->tries)
		return true;
	if (!t->over && dhcp_wrong_kind(w, t) < DHCP_WRONG_COUNT)
		return true;
	if (!t->over && f->offer_kept && f->offer_kept(dhcp_client_at(&w->work.clients, t->user)))
		return false;
	return !dhcp_work_may_again(&w->work, t);
}

// The event of a successful transaction, without its address.
DHCP_INLINE bool dhcp_happened(
	const struct dhcp_worker *w, const struct proto_txn *t, struct proto_event *out)
{
	const struct dhcp_family *f = w->plan->family;

	if (dhcp_is_wrong(w, t))
		return false;
	if (t->step == f->starts[f->life.release].step)
		out->what = PROTO_RELEASED;
	else if (f->kinds[t->step].has & DHCP_MAKES_LEASE)
		out->what = PROTO_LEASED;
	else
		return false;
	out->client = t->user;
	out->number = dhcp_work_number(&w->work, t->user);
	out->addr_len = f->addr_len;
	return true;
}

// Defines the functions for struct proto that follow from the family's struct dhcp_messages, and
// from the one for usual replies; bytes: of an address.
#define DHCP_VERBS(family, bytes, usual)                                                           \
	uint32_t family##_begin(struct proto_ctx *ctx, struct proto_txn *t, uint32_t n)            \
	{                                                                                          \
		const uint32_t now_s = dhcp_now_s(ctx);                                            \
                                                                                                   \
		for (uint32_t i = 0; i < n; i++)                                                   \
			if (!dhcp_begin(&family##_messages, ctx, &t[i], now_s))                    \
				return i;                                                          \
		return n;                                                                          \
	}                                                                                          \
                                                                                                   \
	bool family##_owns(                                                                        \
		struct proto_ctx *ctx, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6])      \
	{                                                                                          \
		return addr_len == (bytes) && dhcp_owns(&family##_messages, ctx, addr, mac);       \
	}                                                                                          \
                                                                                                   \
	static __attribute__((noinline)) enum proto_verdict family##_reply_other(                  \
		struct proto_ctx *ctx, struct proto_txn *t, const struct proto_message *in)        \
	{                                                                                          \
		struct family##_heard h;                                                           \
		struct proto_ends room;                                                            \
                                                                                                   \
		ctx->ends = proto_ends_of(in, &room);                                              \
		return dhcp_reply(&family##_messages, ctx, t, in->buf, in->len, &h.is);            \
	}                                                                                          \
                                                                                                   \
	uint32_t family##_reply(struct proto_ctx *ctx, struct proto_txn *const *t,                 \
		const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n)          \
	{                                                                                          \
		for (uint32_t i = 0; i < n; i++) {                                                 \
			struct family##_heard h;                                                   \
                                                                                                   \
			if (!dhcp_reply_usual(&usual, ctx, t[i], &in[i], &h.is, &verdicts[i]))     \
				verdicts[i] = family##_reply_other(ctx, t[i], &in[i]);             \
			if (__builtin_expect(ctx->noted, 0))                                       \
				return i + 1;                                                      \
		}                                                                                  \
		return n;                                                                          \
	}                                                                                          \
                                                                                                   \
	const char *family##_reason(struct proto_ctx *ctx, const struct proto_txn *t,              \
		const uint8_t *buf, uint32_t buf_len)                                              \
	{                                                                                          \
		struct family##_heard h;                                                           \
                                                                                                   \
		return dhcp_reason(&family##_messages, ctx, t, buf, buf_len, &h.is);               \
	}                                                                                          \
                                                                                                   \
	enum proto_verdict family##_timeout(struct proto_ctx *ctx, struct proto_txn *t)            \
	{                                                                                          \
		return dhcp_timeout(&family##_messages, ctx, t);                                   \
	}                                                                                          \
                                                                                                   \
	bool family##_gives_up(const struct proto_ctx *ctx, const struct proto_txn *t)             \
	{                                                                                          \
		return dhcp_gives_up(&family##_messages, ctx, t);                                  \
	}

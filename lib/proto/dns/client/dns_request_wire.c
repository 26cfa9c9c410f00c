// SPDX-License-Identifier: BSD-3-Clause
// The request of a transaction: a function of plan, seed, worker and transaction, except for a
// learnt server cookie. Replies are in dns_reply_wire.c. Path: hot. The worker that owns ctx.

#include "net/csum.h"
#include "proto/dns/client/dns_request_wire.h"
#include "proto/dns/client/dns_tsig.h"
#include "proto/dns/client/dns_wrong_wire.h"

#define ALPHABET    "abcdefghijklmnopqrstuv0123456789"
#define BYTES(byte) (0x0101010101010101u * (byte))

// The permutation makes the first characters unique in the run; the others are merely random.
void dns_random_write(const struct dns_plan *p, const struct dns_worker *w,
	const struct dns_query *q, uint8_t *name)
{
	uint32_t unique = q->random_len < DNS_RANDOM_UNIQUE ? q->random_len : DNS_RANDOM_UNIQUE;
	uint64_t bits = perm_map(&p->unique[unique], q->number);
	uint8_t *out = name + q->random_at;

	for (uint32_t i = 0, left = unique; i < q->random_len; i++, left--) {
		if (left == 0) {
			bits = rand_hash(w->salt[DNS_SALT_NAME] + q->number + ((uint64_t)i << 56));
			left = DNS_RANDOM_UNIQUE;
		}
		out[i] = (uint8_t)ALPHABET[bits & 31];
		bits >>= 5;
	}
}

// Randomise the case of the letters in eight octets. Label lengths are below all letters.
static inline uint64_t case_mix(uint64_t octets, uint64_t random)
{
	uint64_t low = (octets | BYTES(0x20)) & BYTES(0x7f);
	uint64_t from_a = low + BYTES(0x80 - 'a');
	uint64_t past_z = low + BYTES(0x7f - 'z');
	uint64_t case_bits = ((from_a & ~past_z & ~octets) & BYTES(0x80)) >> 2;

	return (octets & ~case_bits) | (random & case_bits);
}

void dns_case_write(const struct dns_worker *w, const struct proto_txn *t,
	const struct dns_query *q, uint8_t *name)
{
	uint64_t seed = rand_hash(w->salt[DNS_SALT_CASE] ^ (q->number << 16 | (t->key & 0xffff)));
	uint32_t len = q->len - 4, at = 0;
	uint64_t octets, random;

	for (; at + 8 <= len; at += 8) {
		memcpy(&octets, name + at, 8);
		octets = case_mix(octets, rand_hash(seed + at));
		memcpy(name + at, &octets, 8);
	}
	for (random = rand_hash(seed + at); at < len; at++, random >>= 8)
		name[at] = (uint8_t)case_mix(name[at], random);
}

// Draw the address of the client subnet option: the bits between the configured prefix and the sent
// one are random.
void dns_subnet_draw(const struct dns_plan *p, const struct dns_worker *w,
	const struct dns_query *q, uint64_t out[2])
{
	uint64_t at = w->salt[DNS_SALT_SUBNET] + q->number * 2;

	out[0] = p->subnet_base[0] | (rand_hash(at) & p->subnet_mask[0]);
	out[1] = p->subnet_base[1] | (rand_hash(at + 1) & p->subnet_mask[1]);
}

static void opt_write(const struct dns_plan *p, const struct dns_worker *w,
	const struct proto_txn *t, const struct dns_query *q, const struct opt *opt, uint8_t *out)
{
	memcpy(out, opt->bytes, opt->len);
	if (p->opt.subnet_at && !q->own_subnet) {
		uint64_t subnet[2];

		dns_subnet_draw(p, w, q, subnet);
		memcpy(out + p->opt.subnet_at + 4, subnet, p->subnet_len);
	}
	if (p->opt.cookie_at) {
		uint64_t cookie = client_cookie(w, t);

		memcpy(out + opt->len - DNS_COOKIE_CLIENT_LEN, &cookie, DNS_COOKIE_CLIENT_LEN);
	}
}

// Append the server part to the cookie option, which must be the last option of opt.
static void cookie_append(const struct dns_cookie *c, uint8_t *opt, uint32_t len)
{
	memcpy(opt + len, c->bytes, c->len);
	bytes_add_be16(opt + DNS_OPT_HEADER_LEN - 2, c->len);
	bytes_add_be16(opt + len - DNS_COOKIE_CLIENT_LEN - 2, c->len);
}

// Write the message up to its OPT record.
static uint32_t message_write(const struct dns_plan *p, const struct dns_worker *w,
	const struct proto_txn *t, const struct dns_query *q, uint8_t *buf)
{
	if (q->body) {
		memcpy(buf + 2, q->body, q->body_len);
		if (q->random_len)
			dns_random_write(p, w, q, buf + DNS_HEADER_LEN);
	} else {
		memcpy(buf, p->header, DNS_HEADER_LEN);
		buf[11] = 0; // ARCOUNT
		question_write(p, w, t, q, buf + DNS_HEADER_LEN);
	}
	bytes_put_be16(buf, (uint16_t)t->key);
	return q->body ? 2 + q->body_len - q->cut : DNS_HEADER_LEN + q->len;
}

// Pad to a multiple of the block (RFC 8467 section 4.1).
static uint32_t query_pad(
	const struct recip *block, uint8_t *buf, uint32_t len, uint32_t room, uint8_t *opt)
{
	uint32_t over = (uint32_t)recip_mod(block, len + DNS_OPTION_HEAD);

	return dns_pad(buf, len, room, opt, over ? (uint32_t)block->divisor - over : 0);
}

uint32_t dns_message_build(
	const struct proto_ctx *ctx, const struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	const struct dns_plan *p = ctx->shared;
	struct dns_worker *w = ctx->own;
	struct dns_query q = query_of(p, w, t);
	const struct dns_cookie *cookie = cookie_slot(p, w, t);
	const struct opt opt = opt_of(p, &q);
	uint32_t cookie_len = cookie ? cookie->len : 0, len;
	uint8_t *opt_at;

	if ((q.body ? 2 + q.body_len : DNS_HEADER_LEN + q.len) + opt.len + cookie_len > room)
		return 0;
	len = message_write(p, w, t, &q, buf);
	if (opt.len) {
		opt_write(p, w, t, &q, &opt, buf + len);
		bytes_add_be16(buf + 10, 1); // ARCOUNT
	}
	if (cookie_len)
		cookie_append(cookie, buf + len, opt.len);
	opt_at = buf + len;
	len += opt.len + cookie_len;
	if (p->padding.divisor)
		len = query_pad(&p->padding, buf, len, room, opt_at);
	return len;
}

static __attribute__((noinline)) uint32_t request_varied(
	struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	const struct dns_plan *p = ctx->shared;
	const struct dns_worker *w = ctx->own;
	struct dns_counters *n = ctx->counters;
	uint32_t len = dns_message_build(ctx, t, buf, room);
	bool ends_early = len < DNS_HEADER_LEN && p->queries.shorts;
	bool wrong = !ends_early && p->wrong && dns_wrong_kind(p, w, t) < DNS_WRONG_COUNT;

	if (len && wrong)
		len = dns_wrong_spoil(ctx, t, buf, len, room);
	else if (len && p->tsig && !ends_early)
		len = dns_tsig_request(w->tsig, ctx, t, buf, len, room);
	if (ends_early && !ctx->stream) // a server could not answer it
		t->silent = 1;
	n->request_bytes += len;
	return len;
}

// Constants of queries that differ only in name and ID. A copy of the plan's, because the compiler
// cannot know that messages do not overlap the plan.
struct fixed {
	struct dns_queries queries;
	uint8_t header[DNS_HEADER_LEN];
	const uint8_t *opt;
	uint32_t opt_len, room;
	uint32_t sums[2];
	uint32_t own_sum; // of the header before a query's own OPT
};

// Write a query with its own OPT, which follows the question in wire format.
static void request_own(const struct fixed *f, const struct proto_txn *t, const struct dns_query *q,
	struct proto_out *out)
{
	uint16_t id = csum_be16((uint16_t)t->key);
	uint32_t len = DNS_HEADER_LEN + q->len + q->own_len;
	uint8_t *buf = out->buf;

	out->len = 0;
	if (len > f->room)
		return;
	memcpy(buf, f->header, DNS_HEADER_LEN);
	memcpy(buf, &id, sizeof(id));
	buf[11] = 1; // ARCOUNT
	memcpy(buf + DNS_HEADER_LEN, q->wire, q->len + q->own_len);
	out->sum = f->own_sum + id + (uint32_t)q->sum;
	out->len = len;
}

static inline void request_fixed(
	const struct fixed *f, const struct proto_txn *t, struct proto_out *out)
{
	uint16_t id = csum_be16((uint16_t)t->key);
	struct dns_query q = query_at(&f->queries, t->user);
	uint32_t len = DNS_HEADER_LEN + q.len + f->opt_len;
	uint8_t *buf = out->buf;

	if (__builtin_expect(f->queries.own_opts && q.own_len, 0)) {
		request_own(f, t, &q, out);
		return;
	}

	out->len = 0;
	if (len > f->room)
		return;
	memcpy(buf, f->header, DNS_HEADER_LEN);
	memcpy(buf, &id, sizeof(id));
	bytes_put(buf + DNS_HEADER_LEN, q.wire, q.len);
	if (f->opt_len)
		memcpy(buf + DNS_HEADER_LEN + q.len, f->opt, f->opt_len);
	out->sum = f->sums[q.len & 1] + id + (uint32_t)q.sum;
	out->len = len;
}

// Choose the transactions' queries, in t->user: in sequence, each follows from the previous one,
// unless that one was sent before the run, with a number below zero.
static inline void queries_choose(const struct dns_plan *p, const struct dns_worker *w,
	struct proto_txn *const *t, uint32_t n)
{
	const uint32_t count = p->queries.count,
		       stride = (uint32_t)recip_mod(&p->count, w->workers);
	const bool in_turn = p->order == DNS_SEQUENTIAL && p->run.divisor == 1;
	uint32_t i = 0;

	while (i < n) {
		uint32_t index = query_index(p, w, number_of(w, t[i]));
		uint64_t next = t[i]->seq;

		do {
			t[i]->user = index;
			index += stride;
			index -= index >= count ? count : 0;
		} while (++i < n && in_turn && ++next && t[i]->seq == next);
	}
}

static inline struct fixed fixed_of(const struct dns_plan *p, uint32_t room)
{
	struct fixed f = {.queries = p->queries,
		.opt = p->opt.bytes,
		.opt_len = p->opt.len,
		.room = room,
		.sums = {p->sums[0], p->sums[1]},
		.own_sum = p->own_sum};

	memcpy(f.header, p->header, sizeof(f.header));
	return f;
}

static inline uint64_t requests_fixed(const struct dns_plan *p, struct proto_txn *const *t,
	struct proto_out *out, uint32_t n, uint32_t room)
{
	const struct fixed f = fixed_of(p, room);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		request_fixed(&f, t[i], &out[i]);
		bytes += out[i].len;
	}
	return bytes;
}

// Write the message after the PROXY header of its datagram.
static uint32_t request_apart(
	struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	const struct dns_plan *p = ctx->shared;
	uint32_t head = ctx->stream ? 0 : p->proxy.len, len;

	if (head > room)
		return 0;
	if (p->transfers) // a retry on another connection starts over
		t->tries = 0;
	if (head)
		dns_proxy_write(&p->proxy, number_of(ctx->own, t), false, buf);
	len = request_varied(ctx, t, buf + head, room - head);
	return len ? head + len : 0;
}

uint32_t dns_preface(struct proto_ctx *ctx, uint64_t number, uint8_t *buf, uint32_t room)
{
	const struct dns_plan *p = ctx->shared;
	const struct dns_worker *w = ctx->own;

	if (p->proxy.len == 0 || p->proxy.len > room)
		return 0;
	dns_proxy_write(&p->proxy, number * w->workers + w->worker, true, buf);
	return p->proxy.len;
}

void dns_request(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
	struct proto_out *out, uint32_t n, uint32_t room)
{
	const struct dns_plan *p = ctx->shared;
	struct dns_counters *counters = ctx->counters;

	if (!p->tsig) // TSIG keeps its time there
		queries_choose(p, ctx->own, t, n);
	if (p->fixed) {
		counters->request_bytes += requests_fixed(p, t, out, n, room);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		out[i].len = request_apart(ctx, t[i], out[i].buf, room);
		out[i].sum = 0;
	}
}

static uint32_t images_count(const void *shared)
{
	const struct dns_plan *p = shared;

	return p->fixed ? p->queries.count : 0;
}

static uint32_t image_write(const void *shared, uint32_t number, uint8_t *buf, uint32_t room)
{
	const struct fixed f = fixed_of(shared, room);
	struct proto_txn t = {.user = number};
	struct proto_out out = {.buf = buf};

	request_fixed(&f, &t, &out);
	return out.len;
}

static void images_choose(struct proto_ctx *ctx, struct proto_txn *const *t, uint32_t n)
{
	queries_choose(ctx->shared, ctx->own, t, n);
}

const struct proto_images dns_images = {
	.count = images_count,
	.write = image_write,
	.choose = images_choose,
	.bytes_at = offsetof(struct dns_counters, request_bytes),
};

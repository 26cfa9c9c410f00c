// SPDX-License-Identifier: BSD-3-Clause
// The client: the query of a transaction, and the checks of its reply. A query is a function of
// plan, seed, worker and transaction, except for a learnt server cookie. So the reply is compared
// with the very bytes that were sent (RFC 5452 section 9.1). Not here: the server. Path:
// hot. The worker that owns ctx.

#include <string.h>

#include "base/bytes.h"
#include "net/csum.h"
#include "proto/dns/dns_internal.h"

#define QR          0x80 // of byte 2 of the header
#define OPCODE      0x78
#define AA          0x04
#define TC          0x02
#define AD          0x20 // of byte 3
#define RCODE       0x0f
#define ALPHABET    "abcdefghijklmnopqrstuv0123456789"
#define BYTES(byte) (0x0101010101010101u * (byte))

// The query of one transaction, not yet varied.
struct dns_query {
	uint64_t number;     // of the transaction over all workers
	const uint8_t *wire; // QNAME, QTYPE, QCLASS
	uint32_t len;
	uint32_t own_len; // of an OPT of its own behind wire; 0: it has that of all
	uint8_t random_at, random_len;
	bool own_subnet;
	uint16_t sum; // of wire, and of its own OPT
};

// The OPT record of one query. len 0: none.
struct opt {
	const uint8_t *bytes;
	uint32_t len;
};

static inline uint64_t number_of(const struct dns_worker *w, const struct proto_txn *t)
{
	return t->seq * w->workers + w->worker;
}

// Which query of the list a transaction has.
static inline uint32_t query_index(
	const struct dns_plan *p, const struct dns_worker *w, uint64_t number)
{
	unsigned __int128 spread;
	uint32_t i;

	if (p->order == DNS_SEQUENTIAL)
		return (uint32_t)recip_mod(&p->count, number);
	spread = (unsigned __int128)rand_hash(w->salt[DNS_SALT_ORDER] + number) * p->queries.count;
	i = (uint32_t)(spread >> 64);
	// The bits below the index are as random as it is.
	if (p->order != DNS_RANDOM && (uint32_t)((uint64_t)spread >> 32) >= p->alias[i].keep)
		i = p->alias[i].other;
	return i;
}

// i: of query_index.
static inline struct dns_query query_at(const struct dns_queries *queries, uint32_t i)
{
	const uint8_t *entry = queries->blob + queries->offsets[i];
	struct dns_query q = {.wire = entry + DNS_ENTRY_HEAD,
		.random_at = entry[0],
		.random_len = entry[1] & DNS_RANDOM_MAX,
		.own_subnet = entry[1] & DNS_OWN_SUBNET};
	uint16_t len;

	memcpy(&q.sum, entry + 2, sizeof(q.sum));
	memcpy(&len, entry + 4, sizeof(len));
	q.len = len;
	q.own_len = queries->offsets[i + 1] - queries->offsets[i] - DNS_ENTRY_HEAD - q.len;
	return q;
}

static inline struct opt opt_of(const struct dns_plan *p, const struct dns_query *q)
{
	return q->own_len ? (struct opt){q->wire + q->len, q->own_len}
	                  : (struct opt){p->opt.bytes, p->opt.len};
}

// The index is kept in t->user; a transaction that has ended has no slot that keeps it.
static inline struct dns_query query_of(
	const struct dns_plan *p, const struct dns_worker *w, const struct proto_txn *t)
{
	uint64_t number = number_of(w, t);
	struct dns_query q = query_at(&p->queries, t->over ? query_index(p, w, number) : t->user);

	q.number = number;
	return q;
}

// The permutation makes the first characters unique in the run; the others are only random.
static void random_write(const struct dns_plan *p, const struct dns_worker *w,
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

// Give the letters among eight octets random case. Lengths of labels are below all letters.
static inline uint64_t case_mix(uint64_t octets, uint64_t random)
{
	uint64_t low = (octets | BYTES(0x20)) & BYTES(0x7f);
	uint64_t from_a = low + BYTES(0x80 - 'a');
	uint64_t past_z = low + BYTES(0x7f - 'z');
	uint64_t case_bits = ((from_a & ~past_z & ~octets) & BYTES(0x80)) >> 2;

	return (octets & ~case_bits) | (random & case_bits);
}

static void case_write(const struct dns_worker *w, const struct proto_txn *t,
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

static inline void question_write(const struct dns_plan *p, const struct dns_worker *w,
	const struct proto_txn *t, const struct dns_query *q, uint8_t *out)
{
	memcpy(out, q->wire, q->len);
	if (!p->varies)
		return;
	if (q->random_len)
		random_write(p, w, q, out);
	if (p->case_0x20)
		case_write(w, t, q, out);
}

// The address of the client subnet option: the bits between the configured prefix and the sent one
// are drawn.
static void subnet_draw(const struct dns_plan *p, const struct dns_worker *w,
	const struct dns_query *q, uint64_t out[2])
{
	uint64_t at = w->salt[DNS_SALT_SUBNET] + q->number * 2;

	out[0] = p->subnet_base[0] | (rand_hash(at) & p->subnet_mask[0]);
	out[1] = p->subnet_base[1] | (rand_hash(at + 1) & p->subnet_mask[1]);
}

static inline uint64_t client_cookie(const struct dns_worker *w, const struct proto_txn *t)
{
	return rand_hash(w->salt[DNS_SALT_COOKIE] + ((uint64_t)w->worker << 32) + t->client);
}

static void opt_write(const struct dns_plan *p, const struct dns_worker *w,
	const struct proto_txn *t, const struct dns_query *q, const struct opt *opt, uint8_t *out)
{
	memcpy(out, opt->bytes, opt->len);
	if (p->opt.subnet_at && !q->own_subnet) {
		uint64_t subnet[2];

		subnet_draw(p, w, q, subnet);
		memcpy(out + p->opt.subnet_at + 4, subnet, p->subnet_len);
	}
	if (p->opt.cookie_at) {
		uint64_t cookie = client_cookie(w, t);

		memcpy(out + opt->len - DNS_COOKIE_CLIENT_LEN, &cookie, DNS_COOKIE_CLIENT_LEN);
	}
}

static void be16_add(uint8_t *at, uint32_t n)
{
	bytes_put_be16(at, (uint16_t)(bytes_be16(at) + n));
}

// Append the server part to the cookie option, which is the last one of opt.
static void cookie_append(const struct dns_cookie *c, uint8_t *opt, uint32_t len)
{
	memcpy(opt + len, c->bytes, c->len);
	be16_add(opt + DNS_OPT_HEADER_LEN - 2, c->len);
	be16_add(opt + len - DNS_COOKIE_CLIENT_LEN - 2, c->len);
}

// Where the server cookie of the transaction's client is kept, or NULL.
static inline struct dns_cookie *cookie_slot(
	const struct dns_plan *p, struct dns_worker *w, const struct proto_txn *t)
{
	return p->cookies == DNS_COOKIES_FULL && t->client < w->clients ? &w->cookies[t->client]
	                                                                : NULL;
}

static __attribute__((noinline)) uint32_t request_varied(
	struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	const struct dns_plan *p = ctx->shared;
	struct dns_worker *w = ctx->own;
	struct dns_counters *n = ctx->counters;
	struct dns_query q = query_of(p, w, t);
	const struct dns_cookie *cookie = cookie_slot(p, w, t);
	const struct opt opt = opt_of(p, &q);
	uint8_t *opt_at = buf + DNS_HEADER_LEN + q.len;
	uint32_t len = DNS_HEADER_LEN + q.len + opt.len + (cookie ? cookie->len : 0);

	if (len > room)
		return 0;
	memcpy(buf, p->header, DNS_HEADER_LEN);
	bytes_put_be16(buf, (uint16_t)t->key);
	buf[11] = opt.len > 0; // ARCOUNT
	question_write(p, w, t, &q, buf + DNS_HEADER_LEN);
	if (opt.len)
		opt_write(p, w, t, &q, &opt, opt_at);
	if (cookie && cookie->len)
		cookie_append(cookie, opt_at, opt.len);
	n->request_bytes += len;
	return len;
}

// What queries are made of that differ by nothing but name and ID. A copy of the plan's, as the
// compiler cannot know that messages do not overlap the plan.
struct fixed {
	struct dns_queries queries;
	uint8_t header[DNS_HEADER_LEN];
	const uint8_t *opt;
	uint32_t opt_len, room;
	uint32_t sums[2];
	uint32_t own_sum; // of the header before an OPT that is the query's own
};

// A query with an OPT of its own, which stands behind the question as on the wire.
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

// The queries of transactions, in t->user: in sequence, one follows from the other.
static inline void queries_choose(const struct dns_plan *p, const struct dns_worker *w,
	struct proto_txn *const *t, uint32_t n)
{
	const uint32_t count = p->queries.count,
		       stride = (uint32_t)recip_mod(&p->count, w->workers);
	uint64_t next = 0; // number of the transaction that follows; 0: none does
	uint32_t index = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (next && t[i]->seq == next) {
			index += stride;
			index -= index >= count ? count : 0;
		} else {
			index = query_index(p, w, number_of(w, t[i]));
		}
		t[i]->user = index;
		next = p->order == DNS_SEQUENTIAL ? t[i]->seq + 1 : 0;
	}
}

static inline uint64_t requests_fixed(const struct dns_plan *p, struct proto_txn *const *t,
	struct proto_out *out, uint32_t n, uint32_t room)
{
	struct fixed f = {.queries = p->queries,
		.opt = p->opt.bytes,
		.opt_len = p->opt.len,
		.room = room,
		.sums = {p->sums[0], p->sums[1]},
		.own_sum = p->own_sum};
	uint64_t bytes = 0;

	memcpy(f.header, p->header, sizeof(f.header));
	for (uint32_t i = 0; i < n; i++) {
		request_fixed(&f, t[i], &out[i]);
		bytes += out[i].len;
	}
	return bytes;
}

void dns_request_n(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_out *out,
	uint32_t n, uint32_t room)
{
	const struct dns_plan *p = ctx->shared;
	struct dns_counters *counters = ctx->counters;

	queries_choose(p, ctx->own, t, n);
	if (p->fixed) {
		counters->request_bytes += requests_fixed(p, t, out, n, room);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		out[i].len = request_varied(ctx, t[i], out[i].buf, room);
		out[i].sum = 0;
	}
}

uint32_t dns_request(struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	struct proto_out out = {.buf = buf};

	dns_request_n(ctx, &t, &out, 1, room);
	ctx->sum = out.sum;
	return out.len;
}

bool dns_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	if (len < DNS_HEADER_LEN || !(buf[2] & QR))
		return false;
	*key = bytes_be16(buf);
	return true;
}

static inline uint8_t lower_case(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static bool names_equal(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (lower_case(a[i]) != lower_case(b[i]))
			return false;
	return true;
}

// The verdict on a question that differs from ours in a byte: malformed, another one, or other
// case.
static enum proto_verdict question_differs(const struct dns_plan *p, struct dns_counters *n,
	const uint8_t *ours, uint32_t ours_len, const uint8_t *buf, uint32_t len)
{
	uint32_t theirs_len = dns_question_len(buf, len);
	const uint8_t *theirs = buf + DNS_HEADER_LEN;

	if (theirs_len == 0)
		return PROTO_MALFORMED;
	if (theirs_len != ours_len || !names_equal(theirs, ours, ours_len - 4) ||
		memcmp(theirs + ours_len - 4, ours + ours_len - 4, 4) != 0)
		return PROTO_STRAY;
	if (!p->case_0x20)
		return PROTO_DONE;
	n->case_mismatch++;
	return PROTO_STRAY;
}

// PROTO_DONE: the question is ours, the records start at *at. Else: the verdict on the whole reply.
static inline enum proto_verdict question_check(struct proto_ctx *ctx, const struct proto_txn *t,
	const struct dns_query *q, const uint8_t *buf, uint32_t len, uint32_t *at)
{
	const struct dns_plan *p = ctx->shared;
	const uint8_t *ours = q->wire;
	uint32_t questions = bytes_be16(buf + 4), rcode = buf[3] & RCODE;
	uint8_t made[DNS_QUESTION_MAX];

	*at = DNS_HEADER_LEN;
	if (questions == 0)
		return rcode == DNS_FORMERR || rcode == DNS_NOTIMP ? PROTO_DONE : PROTO_STRAY;
	if (questions > 1)
		return PROTO_MALFORMED;
	if (p->varies) {
		question_write(p, ctx->own, t, q, made);
		ours = made;
	}
	*at += q->len;
	if (len >= *at && bytes_equal(buf + DNS_HEADER_LEN, ours, q->len))
		return PROTO_DONE;
	return question_differs(p, ctx->counters, ours, q->len, buf, len);
}

// RFC 7873 section 5.3: no client cookie but ours, then nothing or a server cookie of 8 to 32
// bytes.
static bool cookie_is_ours(
	const struct dns_worker *w, const struct proto_txn *t, const struct dns_message *m)
{
	uint64_t ours = client_cookie(w, t);

	if (m->cookie_len != DNS_COOKIE_CLIENT_LEN &&
		(m->cookie_len < 16 ||
			m->cookie_len > DNS_COOKIE_CLIENT_LEN + DNS_COOKIE_SERVER_MAX))
		return false;
	return memcmp(m->cookie, &ours, DNS_COOKIE_CLIENT_LEN) == 0;
}

// RFC 7871 section 7.3: family, source prefix length and address as sent; the scope is the
// server's.
static bool subnet_is_ours(const struct dns_plan *p, const struct dns_worker *w,
	const struct dns_query *q, const struct dns_message *m)
{
	const uint8_t *own = q->wire + q->len + DNS_OPT_HEADER_LEN + 4; // the first option's data
	uint64_t ours[2];

	if (q->own_subnet)
		return m->subnet_len == bytes_be16(own - 2) && memcmp(m->subnet, own, 3) == 0 &&
		       memcmp(m->subnet + 4, own + 4, m->subnet_len - 4u) == 0;
	if (m->subnet_len != p->subnet_len + 4u ||
		memcmp(m->subnet, p->opt.bytes + p->opt.subnet_at, 3) != 0)
		return false;
	subnet_draw(p, w, q, ours);
	return memcmp(m->subnet + 4, ours, p->subnet_len) == 0;
}

// Options must repeat the values sent; a reply that fails this is dropped as forged.
static bool options_check(struct proto_ctx *ctx, const struct proto_txn *t,
	const struct dns_query *q, const struct dns_message *m)
{
	const struct dns_plan *p = ctx->shared;
	struct dns_counters *n = ctx->counters;

	if (m->cookie && p->opt.cookie_at && !cookie_is_ours(ctx->own, t, m)) {
		n->cookie_bad++;
		return false;
	}
	if (m->subnet && (p->opt.subnet_at || q->own_subnet) &&
		!subnet_is_ours(p, ctx->own, q, m)) {
		n->client_subnet_bad++;
		return false;
	}
	return true;
}

// m->cookie is checked. false: it holds no server cookie.
static bool cookie_learn(
	struct dns_counters *n, struct dns_cookie *slot, const struct dns_message *m)
{
	const uint8_t *bytes;
	uint32_t len;

	if (!m->cookie || m->cookie_len == DNS_COOKIE_CLIENT_LEN)
		return false;
	bytes = m->cookie + DNS_COOKIE_CLIENT_LEN;
	len = m->cookie_len - (uint32_t)DNS_COOKIE_CLIENT_LEN;
	if (slot->len == len && memcmp(slot->bytes, bytes, len) == 0)
		return true;
	slot->len = (uint8_t)len;
	memcpy(slot->bytes, bytes, len);
	n->cookies_learnt++;
	return true;
}

static inline uint32_t size_bucket(uint32_t len)
{
	return (len > 128) + (len > 256) + (len > 512) + (len > 1232) + (len > 1452) + (len > 4096);
}

static void reply_count(const struct proto_ctx *ctx, const struct dns_query *q, const uint8_t *buf,
	uint32_t len, const struct dns_message *m, uint32_t rcode)
{
	const struct dns_plan *p = ctx->shared;
	struct dns_counters *n = ctx->counters;
	bool asked_edns = q->own_len || p->opt.len;

	n->reply_bytes += len;
	n->rcode[rcode]++;
	n->reply_size[size_bucket(len)]++;
	n->tc += (buf[2] & TC) != 0;
	n->aa += (buf[2] & AA) != 0;
	n->ad += (buf[3] & AD) != 0;
	n->empty += rcode == DNS_NOERROR && m->answers == 0;
	n->no_question += buf[5] == 0;
	n->edns_refused += asked_edns && (!m->has_opt || rcode == DNS_FORMERR);
	n->oversize += !ctx->stream && len > (q->own_len ? p->max_own_reply : p->max_reply);
	n->trailing += m->left != 0;
	n->nsid += m->nsid_len != 0;
	n->keepalive += m->keepalive_len != 0;
}

// RFC 7873 section 5.3: ask once more with the cookie that came with the refusal.
static enum proto_verdict badcookie(struct dns_counters *n, struct proto_txn *t, bool learnt)
{
	if (!learnt || t->tries > 0)
		return PROTO_FAIL;
	t->tries = 1;
	n->badcookie_retries++;
	return PROTO_AGAIN;
}

static inline enum proto_verdict expect_check(
	const struct dns_plan *p, struct dns_counters *n, uint32_t rcode, uint32_t answers)
{
	if (!(p->expected_rcodes >> rcode & 1)) {
		n->unexpected_rcode++;
		return PROTO_FAIL;
	}
	if (answers < p->min_answers) {
		n->too_few_answers++;
		return PROTO_FAIL;
	}
	return PROTO_DONE;
}

static __attribute__((noinline)) enum proto_verdict reply_judge(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	const struct dns_plan *p = ctx->shared;
	struct dns_counters *n = ctx->counters;
	struct dns_cookie *slot = cookie_slot(p, ctx->own, t);
	struct dns_message m;
	struct dns_query q;
	enum proto_verdict verdict;
	uint32_t at, rcode;
	bool learnt = false;

	if (len < DNS_HEADER_LEN)
		return PROTO_MALFORMED;
	if (bytes_be16(buf) != (uint16_t)t->key || (buf[2] & (QR | OPCODE)) != QR)
		return PROTO_STRAY;
	q = query_of(p, ctx->own, t);
	verdict = question_check(ctx, t, &q, buf, len, &at);
	if (verdict != PROTO_DONE)
		return verdict;
	if (!dns_message_walk(buf, len, at, &m))
		return PROTO_MALFORMED;
	if (!options_check(ctx, t, &q, &m))
		return PROTO_STRAY;

	rcode = (uint32_t)m.ext_rcode << 4 | (buf[3] & RCODE);
	rcode = rcode < DNS_RCODE_OTHER ? rcode : DNS_RCODE_OTHER;
	reply_count(ctx, &q, buf, len, &m, rcode);
	if (ctx->stream && p->keepalive && m.keepalive_len == 2) // RFC 7828: tenths of a second
		ctx->idle_ms = 100u * bytes_be16(m.keepalive);
	if (slot)
		learnt = cookie_learn(n, slot, &m);
	if (rcode == DNS_BADCOOKIE && slot)
		return badcookie(n, t, learnt);
	if (buf[2] & TC && p->tc_to_stream && !ctx->stream) {
		n->tc_asked_again++;
		return PROTO_STREAM;
	}
	return expect_check(p, n, rcode, m.answers);
}

// What the usual replies are compared with; a copy of the plan's.
struct usual {
	struct dns_queries queries;
	uint32_t max_reply, max_own_reply, min_answers, has_opt;
};

// From offset `at` to the end of the message: records of the name in the question, and an OPT
// without options if one was sent.
static inline bool records_are_plain(
	const uint8_t *buf, uint32_t len, uint32_t at, uint32_t has_opt)
{
	uint32_t records = bytes_be16(buf + 6) + bytes_be16(buf + 8);

	for (uint32_t i = 0; i < records; i++) {
		if (at + 12 > len || bytes_be16(buf + at) != (0xc000 | DNS_HEADER_LEN))
			return false;
		at += 12 + bytes_be16(buf + at + 10);
	}
	if (bytes_be16(buf + 10) != has_opt)
		return false;
	if (!has_opt)
		return at == len;
	return at + DNS_OPT_HEADER_LEN == len && buf[at] == 0 &&
	       bytes_be16(buf + at + 1) == DNS_OPT && buf[at + 5] == 0 &&
	       bytes_be16(buf + at + 9) == 0;
}

// The usual reply to a plain query that is not over: our question, NOERROR, nothing special. It
// passes every check of reply_judge, which takes all other replies. own: its query may have an OPT
// of its own.
static inline bool reply_is_plain(const struct usual *u, const struct proto_txn *t,
	const uint8_t *buf, uint32_t len, const bool own)
{
	// ID, flags, QDCOUNT.
	const uint64_t due = (uint64_t)t->key << 48 | (uint64_t)QR << 40 | 1 << 16;
	const uint64_t matters =
		~0ull << 48 | (uint64_t)((QR | OPCODE | TC) << 8 | AD | RCODE) << 32 | 0xffff0000u;
	uint32_t has_opt = u->has_opt;
	struct dns_query q;

	if (len < DNS_HEADER_LEN || (!own && len > u->max_reply) ||
		((bytes_be64(buf) ^ due) & matters) != 0 || bytes_be16(buf + 6) < u->min_answers)
		return false;
	q = query_at(&u->queries, t->user);
	if (own) {
		has_opt |= q.own_len > 0;
		if (len > (q.own_len ? u->max_own_reply : u->max_reply))
			return false;
	}
	return len >= DNS_HEADER_LEN + q.len && bytes_equal(buf + DNS_HEADER_LEN, q.wire, q.len) &&
	       records_are_plain(buf, len, DNS_HEADER_LEN + q.len, has_opt);
}

static inline __attribute__((always_inline)) void replies_judge(struct proto_ctx *ctx,
	struct proto_txn *const *t, const struct proto_message *in, enum proto_verdict *verdicts,
	uint32_t n, const bool own)
{
	const struct dns_plan *p = ctx->shared;
	const struct usual u = {
		p->queries, p->max_reply, p->max_own_reply, p->min_answers, p->opt.len > 0};
	struct dns_counters *counters = ctx->counters;
	uint64_t plain = 0, bytes = 0, aa = 0, empty = 0, small = 0;
	const bool is_plain = p->plain;

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *buf = in[i].buf;
		uint32_t len = in[i].len;

		if (__builtin_expect(!is_plain || !reply_is_plain(&u, t[i], buf, len, own), 0)) {
			verdicts[i] = reply_judge(ctx, t[i], buf, len);
			continue;
		}
		verdicts[i] = PROTO_DONE;
		plain++;
		bytes += len;
		if (len <= 128)
			small++;
		else
			counters->reply_size[size_bucket(len)]++;
		aa += (buf[2] & AA) != 0;
		empty += bytes_be16(buf + 6) == 0;
	}
	counters->rcode[DNS_NOERROR] += plain;
	counters->reply_size[0] += small;
	counters->reply_bytes += bytes;
	counters->aa += aa;
	counters->empty += empty;
}

void dns_reply_n(struct proto_ctx *ctx, struct proto_txn *const *t, const struct proto_message *in,
	enum proto_verdict *verdicts, uint32_t n)
{
	const struct dns_plan *p = ctx->shared;

	if (p->queries.own_opts)
		replies_judge(ctx, t, in, verdicts, n, true);
	else
		replies_judge(ctx, t, in, verdicts, n, false);
}

enum proto_verdict dns_reply(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	const struct proto_message in = {buf, len};
	enum proto_verdict verdict;

	if (t->over)
		return reply_judge(ctx, t, buf, len);
	dns_reply_n(ctx, &t, &in, &verdict, 1);
	return verdict;
}

enum proto_verdict dns_timeout(struct proto_ctx *ctx, struct proto_txn *t)
{
	return PROTO_FAIL;
}

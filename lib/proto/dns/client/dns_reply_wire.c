// SPDX-License-Identifier: BSD-3-Clause
// The checks of a reply: it is compared with the exact bytes of the request, which are generated
// again (RFC 5452 section 9.1). Path: hot. The worker that owns ctx.

#include "proto/dns/client/dns_request_wire.h"
#include "proto/dns/client/dns_tsig.h"
#include "proto/dns/client/dns_wrong_wire.h"

bool dns_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	if (len < DNS_HEADER_LEN || !(buf[2] & DNS_QR))
		return false;
	*key = bytes_be16(buf);
	return true;
}

// The verdict on a question that differs from ours: malformed, another question, or another case.
static enum proto_verdict question_differs(const struct dns_plan *p, struct dns_counters *n,
	const uint8_t *ours, uint32_t ours_len, const uint8_t *buf, uint32_t len)
{
	uint32_t theirs_len = dns_question_len(buf, len);
	const uint8_t *theirs = buf + DNS_HEADER_LEN;

	if (theirs_len == 0)
		return PROTO_MALFORMED;
	if (theirs_len != ours_len || !dns_names_equal(theirs, ours, ours_len - 4) ||
		memcmp(theirs + ours_len - 4, ours + ours_len - 4, 4) != 0)
		return PROTO_STRAY;
	if (!p->case_0x20)
		return PROTO_DONE;
	n->case_mismatch++;
	return PROTO_STRAY;
}

// The reply to a message without exactly one question is matched by ID and opcode. Its questions,
// if any, are skipped.
static enum proto_verdict questions_skip(const uint8_t *buf, uint32_t len, uint32_t *at)
{
	for (uint32_t left = bytes_be16(buf + 4); left > 0; left--) {
		uint32_t before = *at - DNS_HEADER_LEN;
		uint32_t question = dns_question_len(buf + before, len - before);

		if (question == 0)
			return PROTO_MALFORMED;
		*at += question;
	}
	return PROTO_DONE;
}

// PROTO_DONE: the question is ours, and the records start at *at. Otherwise the verdict on the
// reply.
static inline enum proto_verdict question_check(struct proto_ctx *ctx, const struct proto_txn *t,
	const struct dns_query *q, const uint8_t *buf, uint32_t len, uint32_t *at)
{
	const struct dns_plan *p = ctx->shared;
	const uint8_t *ours = q->wire;
	uint32_t questions = bytes_be16(buf + 4), rcode = buf[3] & DNS_RCODE;
	uint8_t made[DNS_QUESTION_MAX];

	*at = DNS_HEADER_LEN;
	if (q->len == 0)
		return questions_skip(buf, len, at);
	if (questions == 0 && p->transfers && t->tries > 0) // RFC 5936 section 2.2.1
		return PROTO_DONE;
	// A server that refuses may send only the header, also in answer to an update (RFC 2136
	// section 3.8).
	if (questions == 0)
		return (rcode != DNS_NOERROR && rcode != DNS_NXDOMAIN) || buf[2] & DNS_OPCODE
		               ? PROTO_DONE
		               : PROTO_STRAY;
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

// RFC 7873 section 5.3: our client cookie, alone or followed by a server cookie of 8 to 32 bytes.
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

// RFC 7871 section 7.3: family, source prefix length and address as sent; the server chooses the
// scope.
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
	dns_subnet_draw(p, w, q, ours);
	return memcmp(m->subnet + 4, ours, p->subnet_len) == 0;
}

// Options must echo the values sent; otherwise the reply is dropped as forged.
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

// m->cookie has been checked. false: it contains no server cookie.
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
	n->tc += (buf[2] & DNS_TC) != 0;
	n->aa += (buf[2] & DNS_AA) != 0;
	n->ad += (buf[3] & DNS_AD) != 0;
	n->empty += rcode == DNS_NOERROR && m->answers == 0;
	n->no_question += buf[5] == 0;
	n->edns_refused += asked_edns && (!m->has_opt || rcode == DNS_FORMERR);
	n->oversize += !ctx->stream && len > (q->own_len ? p->max_own_reply : p->max_reply);
	n->trailing += m->left != 0;
	n->nsid += m->nsid_len != 0;
	n->keepalive += m->keepalive_len != 0;
	n->zoneversion += m->zoneversion_len != 0;
	n->report_channel += m->report_channel_len != 0;
	n->padded += m->padding != NULL;
	for (uint32_t errors = m->errors; errors; errors &= errors - 1)
		n->extended_error[__builtin_ctz(errors)]++;
}

// RFC 7873 section 5.3: retry with the cookie that came with the refusal.
static enum proto_verdict badcookie(struct dns_counters *n, struct proto_txn *t, bool learnt)
{
	if (!learnt || t->tries > 0)
		return PROTO_FAIL;
	t->tries = 1;
	n->badcookie_retries++;
	return PROTO_AGAIN;
}

// Result of comparing a reply with `expect`. Values below FOUND_SAME are failures.
enum found {
	FOUND_RCODE,
	FOUND_FEW,
	FOUND_DIFFERENT, // plus the first part that differs
	FOUND_SAME = FOUND_DIFFERENT + DNS_COMPARED_COUNT,
	FOUND_UNKNOWN,
	FOUND_GOOD,
};

// An answer truncated in the capture does not determine the whole answer.
static uint32_t captured_find(const struct proto_ctx *ctx, const struct dns_query *q,
	const uint8_t *buf, uint32_t len, uint32_t at, const struct dns_message *m)
{
	const struct dns_referee *r = &((const struct dns_plan *)ctx->shared)->referee;
	const struct dns_digest *due = &r->answers[q->index];
	struct dns_digest digest;

	if (!due->known || (ctx->stream && due->flags & DNS_TC << 8))
		return FOUND_UNKNOWN;
	dns_digest_make(r, buf, len, at, m, &digest);
	return FOUND_DIFFERENT + dns_digest_differs(r->parts, &digest, due);
}

static inline uint32_t rcode_of(const uint8_t *buf, const struct dns_message *m)
{
	uint32_t rcode = (uint32_t)m->ext_rcode << 4 | (buf[3] & DNS_RCODE);

	return rcode < DNS_RCODE_OTHER ? rcode : DNS_RCODE_OTHER;
}

static inline uint32_t expect_find(const struct proto_ctx *ctx, const struct dns_query *q,
	const uint8_t *buf, uint32_t len, uint32_t at, const struct dns_message *m)
{
	const struct dns_plan *p = ctx->shared;

	if (!(p->expected_rcodes >> rcode_of(buf, m) & 1))
		return FOUND_RCODE;
	if (m->answers < p->min_answers)
		return FOUND_FEW;
	return p->referee.parts ? captured_find(ctx, q, buf, len, at, m) : FOUND_GOOD;
}

static inline enum proto_verdict expect_check(struct dns_counters *n, uint32_t found)
{
	n->unexpected_rcode += found == FOUND_RCODE;
	n->too_few_answers += found == FOUND_FEW;
	n->captured_same += found == FOUND_SAME;
	n->captured_unknown += found == FOUND_UNKNOWN;
	if (found >= FOUND_DIFFERENT && found < FOUND_SAME)
		n->captured_differs[found - FOUND_DIFFERENT]++;
	return found < FOUND_SAME ? PROTO_FAIL : PROTO_DONE;
}

// The verdict on the signature. If the request's MAC is no longer stored, the request is rebuilt,
// which is impossible if it had a server cookie.
static enum proto_verdict tsig_judge(struct proto_ctx *ctx, const struct proto_txn *t,
	const uint8_t *buf, uint32_t len, const struct dns_message *m)
{
	const struct dns_plan *p = ctx->shared;
	struct dns_counters *n = ctx->counters;
	struct dns_tsig_client *c = ((struct dns_worker *)ctx->own)->tsig;
	const struct dns_tsig_prior *mac;

	if (c->transfers && t->over) // the earlier messages are no longer known
		return m->tsig ? dns_tsig_reply(c, ctx, NULL, buf, len, m) : PROTO_DONE;
	if (c->transfers)
		return dns_tsig_transfer_reply(c, ctx, t, buf, len, m);
	mac = dns_tsig_request_mac(c, t);
	if (!mac && !t->over && m->tsig && p->cookies == DNS_COOKIES_FULL) {
		n->tsig_forgotten++;
	} else if (!mac && !t->over && m->tsig) {
		dns_tsig_request_again(c, t, dns_message_build(ctx, t, c->scratch, c->scratch_len));
		mac = dns_tsig_request_mac(c, t);
	}
	return dns_tsig_reply(c, ctx, mac, buf, len, m);
}

static enum proto_verdict reply_verdict(
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
	if (p->wrong && bytes_be16(buf) == (uint16_t)t->key && buf[2] & DNS_QR) {
		uint32_t kind = dns_wrong_kind(p, ctx->own, t);

		if (kind < DNS_WRONG_COUNT) {
			dns_wrong_answered(n, kind, buf, len);
			return PROTO_APART;
		}
	}
	q = query_of(p, ctx->own, t);
	if (bytes_be16(buf) != (uint16_t)t->key || !(buf[2] & DNS_QR) ||
		(buf[2] ^ (q.body ? q.body[0] : p->header[2])) & DNS_OPCODE)
		return PROTO_STRAY;
	verdict = question_check(ctx, t, &q, buf, len, &at);
	if (verdict != PROTO_DONE)
		return verdict;
	if (!dns_message_walk(buf, len, at, &m))
		return PROTO_MALFORMED;
	if (!options_check(ctx, t, &q, &m))
		return PROTO_STRAY;
	verdict = p->tsig ? tsig_judge(ctx, t, buf, len, &m) : PROTO_DONE;
	if (verdict == PROTO_STRAY || verdict == PROTO_MALFORMED)
		return verdict;

	rcode = rcode_of(buf, &m);
	reply_count(ctx, &q, buf, len, &m, rcode);
	if (verdict == PROTO_FAIL)
		return verdict;
	if (ctx->stream && p->keepalive && m.keepalive_len == 2) // RFC 7828: tenths of a second
		ctx->idle_ms = 100u * bytes_be16(m.keepalive);
	if (slot)
		learnt = cookie_learn(n, slot, &m);
	if (rcode == DNS_BADCOOKIE && slot)
		return badcookie(n, t, learnt);
	if (buf[2] & DNS_TC && p->tc_to_stream && !ctx->stream) {
		n->tc_asked_again++;
		return PROTO_STREAM;
	}
	verdict = expect_check(n, expect_find(ctx, &q, buf, len, at, &m));
	if (p->transfers && verdict == PROTO_DONE && rcode == DNS_NOERROR)
		return dns_transfer_judge(ctx, t, &q, buf, len, &m);
	return verdict;
}

static __attribute__((noinline)) enum proto_verdict reply_judge(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	const struct dns_plan *p = ctx->shared;
	enum proto_verdict verdict = reply_verdict(ctx, t, buf, len);

	if (p->tsig && !t->over &&
		(verdict == PROTO_AGAIN || verdict == PROTO_STREAM ||
			(p->transfers && (verdict == PROTO_DONE || verdict == PROTO_FAIL))))
		dns_tsig_end(((struct dns_worker *)ctx->own)->tsig, t);
	return verdict;
}

const char *dns_reason(
	struct proto_ctx *ctx, const struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	static const char *const reasons[FOUND_SAME] = {
		[FOUND_RCODE] = "an RCODE that expect does not list",
		[FOUND_FEW] = "fewer answer records than expect asks for",
		[FOUND_DIFFERENT + DNS_COMPARED_RCODE] = "another RCODE than in the capture",
		[FOUND_DIFFERENT + DNS_COMPARED_FLAGS] = "other flags than in the capture",
		[FOUND_DIFFERENT + DNS_COMPARED_ANSWER] =
			"another answer section than in the capture",
		[FOUND_DIFFERENT + DNS_COMPARED_AUTHORITY] =
			"another authority section than in the capture",
		[FOUND_DIFFERENT + DNS_COMPARED_ADDITIONAL] =
			"another additional section than in the capture",
	};
	static const char *const broken[DNS_BROKEN_COUNT] = {
		[DNS_BROKEN_QUESTION] = "its question is broken, or there are several",
		[DNS_BROKEN_NAME] = "the owner name of a record is broken",
		[DNS_BROKEN_END] = "it ends within its records, or before them",
		[DNS_BROKEN_OPT] = "an OPT record is malformed, not at the root, or repeated",
		[DNS_BROKEN_TSIG] = "a TSIG record is not the last one",
	};
	struct dns_query q = query_of(ctx->shared, ctx->own, t);
	enum proto_verdict question;
	struct dns_message m;
	uint32_t at, found;

	question = question_check(ctx, t, &q, buf, len, &at);
	if (question != PROTO_DONE)
		return question == PROTO_MALFORMED ? broken[DNS_BROKEN_QUESTION] : NULL;
	if (!dns_message_walk(buf, len, at, &m))
		return broken[m.broken];
	found = expect_find(ctx, &q, buf, len, at, &m);
	return found < FOUND_SAME ? reasons[found] : NULL;
}

// Constants for comparison with usual replies, copied from the plan.
struct usual {
	struct dns_queries queries;
	uint32_t max_reply, max_own_reply, min_answers, has_opt;
};

// Are there only plain records from offset `at` to the end: records of the question's name without
// TSIG, and an OPT without options if one was sent?
static inline bool records_are_plain(
	const uint8_t *buf, uint32_t len, uint32_t at, uint32_t has_opt)
{
	uint32_t records = bytes_be16(buf + 6) + bytes_be16(buf + 8);

	for (uint32_t i = 0; i < records; i++) {
		if (at + 12 > len || bytes_be16(buf + at) != (0xc000 | DNS_HEADER_LEN) ||
			bytes_be16(buf + at + 2) == DNS_TSIG)
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

// Is this the usual reply to a plain query that is not over: our question, NOERROR, nothing
// special? It would pass every check of reply_judge, which handles all other replies. own: the
// query may have its own OPT.
static inline bool reply_is_plain(const struct usual *u, const struct proto_txn *t,
	const uint8_t *buf, uint32_t len, const bool own)
{
	// ID, flags, QDCOUNT.
	const uint64_t due = (uint64_t)t->key << 48 | (uint64_t)DNS_QR << 40 | 1 << 16;
	const uint64_t matters =
		~0ull << 48 |
		(uint64_t)((DNS_QR | DNS_OPCODE | DNS_TC) << 8 | DNS_AD | DNS_RCODE) << 32 |
		0xffff0000u;
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
		aa += (buf[2] & DNS_AA) != 0;
		empty += bytes_be16(buf + 6) == 0;
	}
	counters->rcode[DNS_NOERROR] += plain;
	counters->reply_size[0] += small;
	counters->reply_bytes += bytes;
	counters->aa += aa;
	counters->empty += empty;
}

uint32_t dns_reply(struct proto_ctx *ctx, struct proto_txn *const *t,
	const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n)
{
	const struct dns_plan *p = ctx->shared;

	if (__builtin_expect(t[0]->over, 0)) // comes alone
		verdicts[0] = reply_judge(ctx, t[0], in[0].buf, in[0].len);
	else if (p->queries.own_opts)
		replies_judge(ctx, t, in, verdicts, n, true);
	else
		replies_judge(ctx, t, in, verdicts, n, false);
	return n;
}

enum proto_verdict dns_timeout(struct proto_ctx *ctx, struct proto_txn *t)
{
	const struct dns_plan *p = ctx->shared;
	uint32_t kind = p->wrong ? dns_wrong_kind(p, ctx->own, t) : DNS_WRONG_COUNT;

	if (p->tsig) // may be retried
		dns_tsig_end(((struct dns_worker *)ctx->own)->tsig, t);
	if (kind == DNS_WRONG_COUNT)
		return PROTO_FAIL;
	dns_wrong_unanswered(ctx->counters, kind);
	return PROTO_APART;
}

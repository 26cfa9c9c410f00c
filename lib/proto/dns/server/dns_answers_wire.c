// SPDX-License-Identifier: BSD-3-Clause
// Answers: one configured record for every well-formed query, and RFC errors, without any zone.
// Requests are in dns_request_wire.c, records in dns_answers.c.
// Path: hot. The worker that owns ctx.

#include <string.h>

#include "proto/dns/server/dns_answers.h"
#include "base/bytes.h"
#include "proto/dns/server/dns_answer_transfer.h"
#include "proto/dns/server/dns_update.h"
#include "proto/dns/server/dns_zone_answer.h"

#define CLASS_CH          3
#define PLAIN_SIZE        512 // without EDNS, and the minimum with EDNS
#define OUR_SIZE          1232
#define SERVER_COOKIE_LEN 8
#define OUR_NSID          "ddiperf"
#define OUR_NSID_LEN      (sizeof(OUR_NSID) - 1)
#define KEEPALIVE_LEN     6 // of the option
#define ZONEVERSION_LEN   6 // RFC 9660 section 2: labels, type and serial of the zone
#define ZONE_SERIAL       1
#define PADDING_BLOCK     468 // RFC 8467 section 4.1

// A parsed query.
struct asked {
	const uint8_t *buf;
	uint32_t len, question_len;
	uint16_t type, class;
	struct dns_message m;
};

// Write only a header: QDCOUNT 0, because the question may be invalid.
static uint32_t error_write(const uint8_t *buf, uint8_t *out, enum dns_rcode rcode)
{
	memset(out, 0, DNS_HEADER_LEN);
	out[0] = buf[0];
	out[1] = buf[1];
	out[2] = DNS_QR | (buf[2] & (DNS_OPCODE | DNS_RD));
	out[3] = (uint8_t)rcode;
	return DNS_HEADER_LEN;
}

// RFC 7873 section 5.2.2: a client cookie, optionally with a server cookie of 8 to 32 bytes.
static bool cookie_is_valid(const struct dns_message *m)
{
	return !m->cookie || m->cookie_len == DNS_COOKIE_CLIENT_LEN ||
	       (m->cookie_len >= 16 &&
		       m->cookie_len <= DNS_COOKIE_CLIENT_LEN + DNS_COOKIE_SERVER_MAX);
}

static bool query_read(struct asked *q, const uint8_t *buf, uint32_t len)
{
	const uint8_t *end;

	if (bytes_be16(buf + 4) != 1)
		return false;
	q->question_len = dns_question_len(buf, len);
	if (q->question_len == 0)
		return false;
	end = buf + DNS_HEADER_LEN + q->question_len;
	q->buf = buf;
	q->len = len;
	q->type = bytes_be16(end - 4);
	q->class = bytes_be16(end - 2);
	return dns_message_walk(buf, len, DNS_HEADER_LEN + q->question_len, &q->m) &&
	       cookie_is_valid(&q->m);
}

// Send an idle timeout (RFC 7828 section 3.3)? Only over a connection and on request.
static bool tells_keepalive(const struct proto_ctx *ctx, const struct dns_message *m)
{
	const struct dns_answers *a = ctx->shared;

	return ctx->stream && m->keepalive && a->keepalive != UINT16_MAX;
}

static uint32_t opt_len(const struct proto_ctx *ctx, const struct dns_message *m)
{
	const struct dns_answers *a = ctx->shared;

	if (!m->has_opt)
		return 0;
	return DNS_OPT_HEADER_LEN + a->extra_len +
	       (m->zoneversion ? DNS_OPTION_HEAD + ZONEVERSION_LEN : 0) +
	       (tells_keepalive(ctx, m) ? KEEPALIVE_LEN : 0) +
	       (m->nsid ? 4 + (uint32_t)OUR_NSID_LEN : 0) +
	       (m->cookie ? 4 + DNS_COOKIE_CLIENT_LEN + SERVER_COOKIE_LEN : 0);
}

static void opt_write(
	const struct proto_ctx *ctx, struct writer *w, const struct dns_message *m, uint32_t rcode)
{
	const struct dns_answers *a = ctx->shared;

	write_u8(w, 0);
	write_be16(w, DNS_OPT);
	write_be16(w, OUR_SIZE);
	write_u8(w, (uint8_t)(rcode >> 4));
	write_u8(w, 0); // version
	write_be16(w, m->edns_flags & DNS_DO);
	write_be16(w, (uint16_t)(opt_len(ctx, m) - DNS_OPT_HEADER_LEN));
	if (m->nsid) {
		write_be16(w, DNS_NSID);
		write_be16(w, OUR_NSID_LEN);
		write_bytes(w, OUR_NSID, OUR_NSID_LEN);
	}
	if (m->zoneversion) {
		write_be16(w, DNS_ZONEVERSION);
		write_be16(w, ZONEVERSION_LEN);
		write_be16(w, 0); // the root, and an SOA serial
		write_be32(w, ZONE_SERIAL);
	}
	write_bytes(w, a->extra, a->extra_len);
	if (tells_keepalive(ctx, m)) {
		write_be16(w, DNS_KEEPALIVE);
		write_be16(w, KEEPALIVE_LEN - 4);
		write_be16(w, a->keepalive);
	}
	if (m->cookie) {
		uint64_t made;

		memcpy(&made, m->cookie, sizeof(made));
		made = rand_hash(made);
		write_be16(w, DNS_COOKIE);
		write_be16(w, DNS_COOKIE_CLIENT_LEN + SERVER_COOKIE_LEN);
		write_bytes(w, m->cookie, DNS_COOKIE_CLIENT_LEN);
		write_bytes(w, &made, SERVER_COOKIE_LEN);
	}
}

static void header_write(
	struct writer *w, const struct asked *q, uint32_t rcode, bool truncated, bool answer)
{
	write_bytes(w, q->buf, 2);
	write_u8(w, DNS_QR | DNS_AA | (truncated ? DNS_TC : 0) | (q->buf[2] & DNS_RD));
	write_u8(w, (uint8_t)((q->buf[3] & DNS_CD) | (rcode & 0x0f)));
	write_be16(w, 1);
	write_be16(w, answer);
	write_be16(w, 0);
	write_be16(w, q->m.has_opt);
}

// The size accepted by the client (RFC 6891 section 6.2.3), limited to the available room.
static uint32_t size_limit(const struct dns_message *m, uint32_t room)
{
	uint32_t size = m->has_opt && m->udp_size > PLAIN_SIZE ? m->udp_size : PLAIN_SIZE;

	return size < room ? size : room;
}

// Class CH has texts about the server, like version.bind.
static bool is_ours(const struct asked *q)
{
	return q->class == DNS_CLASS_IN || (q->class == CLASS_CH && q->type == DNS_TXT);
}

// Write header, question and OPT around the zones' answer.
static uint32_t zone_answer(
	struct proto_ctx *ctx, const struct asked *q, uint8_t *out, uint32_t room)
{
	const struct dns_answers *a = ctx->shared;
	struct dns_answer_counters *n = ctx->counters;
	uint32_t bare = DNS_HEADER_LEN + q->question_len, opt = opt_len(ctx, &q->m);
	uint32_t limit = ctx->stream ? room : size_limit(&q->m, room < OUR_SIZE ? room : OUR_SIZE);
	struct writer w = writer_of(out, limit);
	struct dns_zone_reply r = {0};
	bool truncated;

	if (bare + opt > limit)
		return 0;
	header_write(&w, q, 0, false, false);
	write_bytes(&w, q->buf + DNS_HEADER_LEN, q->question_len);
	w.end -= opt;
	if (q->m.has_opt && q->m.version > 0)
		r.rcode = DNS_BADVERS;
	else if (q->class != DNS_CLASS_IN)
		r.foreign = true;
	else if (ctx->stream && (q->type == DNS_AXFR || q->type == DNS_IXFR))
		dns_transfer_answer(ctx, q->buf, q->len, q->question_len, out, &w, &r);
	else
		dns_zone_answer(a->zones, out, q->question_len, &w, &r);
	truncated = w.failed;
	if (truncated) {
		w = writer_of(out + bare, opt);
		r = (struct dns_zone_reply){.rcode = r.rcode};
	}
	w.end = out + limit;
	r.rcode = r.foreign ? DNS_REFUSED : ctx->stream && truncated ? DNS_SERVFAIL : r.rcode;
	out[2] &= (uint8_t) ~(r.foreign || r.referral ? DNS_AA : 0);
	out[2] |= truncated && !ctx->stream ? DNS_TC : 0;
	out[3] |= r.rcode & 0x0f;
	bytes_put_be16(out + 6, r.answers);
	bytes_put_be16(out + 8, r.authority);
	bytes_add_be16(out + 10, r.additional);
	if (q->m.has_opt)
		opt_write(ctx, &w, &q->m, r.rcode);
	n->truncated += truncated;
	n->type[dns_type_bucket(q->type)]++;
	n->zone_rcode[r.rcode]++;
	return (uint32_t)(w.at - out);
}

static uint8_t update_answer(struct proto_ctx *ctx, const struct asked *q, uint32_t len)
{
	const struct dns_answers *a = ctx->shared;
	struct dns_answer_counters *n = ctx->counters;
	struct dns_zone_changes c;
	uint8_t rcode = dns_update(a->zones, q->buf, len, q->question_len, &c);

	n->update_rcode[rcode]++;
	n->serial_steps += c.any;
	n->update_noops += rcode == DNS_NOERROR && !c.any;
	n->records_added += c.added;
	n->records_deleted += c.deleted;
	return rcode;
}

// RFC 1996 section 3.11: for a zone of this server.
static uint8_t notify_answer(struct proto_ctx *ctx, const struct asked *q)
{
	const struct dns_answers *a = ctx->shared;
	struct dns_answer_counters *n = ctx->counters;
	const struct dns_zone_node *node;
	uint8_t name[DNS_NAME_MAX];

	dns_zone_lower(name, q->buf + DNS_HEADER_LEN, q->question_len - 4);
	node = dns_zone_find(a->zones, name, q->question_len - 4);
	n->notifies++;
	return node && !node->parent ? DNS_NOERROR : DNS_NOTAUTH;
}

// Answer messages to the zones other than queries: question and RCODE. 0: not for our zones.
static uint32_t opcode_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	struct writer w = writer_of(out, room);
	bool update = (buf[2] & DNS_OPCODE) >> 3 == DNS_UPDATE;
	struct asked q;
	uint8_t rcode;

	if (!update && (buf[2] & DNS_OPCODE) >> 3 != DNS_NOTIFY)
		return 0;
	if (!query_read(&q, buf, len)) {
		((struct dns_answer_counters *)ctx->counters)->malformed++;
		return error_write(buf, out, DNS_FORMERR);
	}
	if (DNS_HEADER_LEN + q.question_len + opt_len(ctx, &q.m) > room)
		return 0;
	rcode = update ? update_answer(ctx, &q, len) : notify_answer(ctx, &q);
	header_write(&w, &q, rcode, false, false);
	out[2] = DNS_QR | (buf[2] & DNS_OPCODE) | (update ? 0 : DNS_AA);
	write_bytes(&w, buf + DNS_HEADER_LEN, q.question_len);
	if (q.m.has_opt)
		opt_write(ctx, &w, &q.m, rcode);
	return (uint32_t)(w.at - out);
}

// Pad for clients that pad.
static uint32_t answer_pad(uint8_t *out, uint32_t len, uint32_t limit, uint32_t opt)
{
	uint32_t over = (len + DNS_OPTION_HEAD) % PADDING_BLOCK;

	return dns_pad(out, len, limit, out + len - opt, over ? PADDING_BLOCK - over : 0);
}

static uint32_t query_answer(
	struct proto_ctx *ctx, const struct asked *q, uint8_t *out, uint32_t room)
{
	const struct dns_answers *a = ctx->shared;
	struct dns_answer_counters *n = ctx->counters;
	uint32_t limit = ctx->stream ? room : size_limit(&q->m, room);
	const struct dns_record *record = &a->records[dns_type_bucket(q->type)];
	uint32_t rcode = q->m.has_opt && q->m.version > 0 ? DNS_BADVERS : a->rcode;
	uint32_t bare = DNS_HEADER_LEN + q->question_len + opt_len(ctx, &q->m);
	bool answer = rcode == DNS_NOERROR && is_ours(q) && record->len > 0;
	bool truncated = answer && bare + record->len > limit;
	struct writer w = writer_of(out, room);

	answer = answer && !truncated;
	header_write(&w, q, rcode, truncated, answer);
	write_bytes(&w, q->buf + DNS_HEADER_LEN, q->question_len);
	if (answer) {
		write_bytes(&w, record->bytes, DNS_RECORD_CLASS);
		write_be16(&w, q->class);
		write_bytes(&w, record->bytes + DNS_RECORD_CLASS + 2,
			record->len - DNS_RECORD_CLASS - 2u);
	}
	if (q->m.has_opt)
		opt_write(ctx, &w, &q->m, rcode);
	if (w.failed)
		return 0;
	n->truncated += truncated;
	n->type[dns_type_bucket(q->type)]++;
	bare += answer ? record->len : 0;
	return q->m.padding ? answer_pad(out, bare, limit, opt_len(ctx, &q->m)) : bare;
}

uint32_t dns_answer_longest(const struct dns_answers *a)
{
	uint32_t longest = 0;

	for (uint32_t i = 0; i < DNS_TYPE_BUCKETS; i++)
		longest = a->records[i].len > longest ? a->records[i].len : longest;
	if (a->zones)
		return OUR_SIZE + (a->key_count ? DNS_TSIG_MAX : 0);
	return DNS_HEADER_LEN + DNS_QUESTION_MAX + longest + DNS_OPT_HEADER_LEN + 4 +
	       KEEPALIVE_LEN + (uint32_t)OUR_NSID_LEN + 4 + DNS_COOKIE_CLIENT_LEN +
	       SERVER_COOKIE_LEN + a->extra_len + DNS_OPTION_HEAD + ZONEVERSION_LEN +
	       DNS_OPTION_HEAD + PADDING_BLOCK + (a->key_count ? DNS_TSIG_MAX : 0);
}

// Returns the length of the PROXY header and counts it; 0: no valid header.
static uint32_t proxy_take(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, bool stream)
{
	struct dns_answer_counters *n = ctx->counters;
	uint32_t head;
	enum dns_proxy_kind kind = dns_proxy_read(buf, len, stream, &head);

	n->proxied += kind != DNS_PROXY_BAD;
	n->proxied_local += kind == DNS_PROXY_LOCAL;
	n->proxy_bad += kind == DNS_PROXY_BAD;
	return kind == DNS_PROXY_BAD ? 0 : head;
}

// Answer a message that has a complete header.
static uint32_t answer_write(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	const struct dns_answers *a = ctx->shared;
	struct dns_answer_counters *n = ctx->counters;
	uint32_t answer;
	struct asked q;

	if (a->zones && (answer = opcode_answer(ctx, buf, len, out, room)))
		return answer;
	if (buf[2] & DNS_OPCODE) {
		n->not_implemented++;
		return error_write(buf, out, DNS_NOTIMP);
	}
	if (query_read(&q, buf, len))
		return a->zones ? zone_answer(ctx, &q, out, room)
		                : query_answer(ctx, &q, out, room);
	n->malformed++;
	return error_write(buf, out, DNS_FORMERR);
}

// Answer a message; if it is signed, the answer leaves room for a signature and is signed, too.
static uint32_t signed_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	struct dns_answer_counters *n = ctx->counters;
	uint32_t question = bytes_be16(buf + 4) == 1 ? dns_question_len(buf, len) : 0, answer;
	struct dns_tsig_session session;
	struct dns_message m;

	if (question == 0 || !dns_message_walk(buf, len, DNS_HEADER_LEN + question, &m) || !m.tsig)
		return answer_write(ctx, buf, len, out, room);
	if (!dns_tsig_accept(
		    ((struct dns_answerer *)ctx->own)->tsig, ctx, buf, len, &m, &session)) {
		n->malformed++;
		return error_write(buf, out, DNS_FORMERR);
	}
	room = ctx->stream ? room : size_limit(&m, room);
	if (room < DNS_HEADER_LEN + question + session.len)
		return 0;
	if (session.say.error) {
		error_write(buf, out, DNS_NOTAUTH);
		out[5] = 1; // QDCOUNT
		memcpy(out + DNS_HEADER_LEN, buf + DNS_HEADER_LEN, question);
		answer = DNS_HEADER_LEN + question;
	} else {
		answer = answer_write(ctx, buf, len, out, room - session.len);
	}
	answer = dns_tsig_answer(&session, out, answer, room);
	if (ctx->more)
		dns_transfer_signed(ctx, &session);
	return answer;
}

uint32_t dns_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	const struct dns_answers *a = ctx->shared;
	struct dns_answer_counters *n = ctx->counters;
	uint32_t answer;

	if (a->proxy && ctx->begins)
		return proxy_take(ctx, buf, len, true) ? 0 : PROTO_RESET;
	n->received++;
	if (a->proxy && !ctx->stream) {
		uint32_t head = proxy_take(ctx, buf, len, false);

		buf += head;
		len = head ? len - head : 0;
	}
	if (len < DNS_HEADER_LEN || (buf[2] & DNS_QR) || room < DNS_HEADER_LEN) {
		n->ignored++;
		return 0;
	}
	answer = a->key_count ? signed_answer(ctx, buf, len, out, room)
	                      : answer_write(ctx, buf, len, out, room);
	n->answered += answer > 0;
	n->ignored += answer == 0;
	return answer;
}

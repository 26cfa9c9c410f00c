// SPDX-License-Identifier: BSD-3-Clause
// The query for a client's record, and the evaluation of its answer. The query schedule is in
// ddns_clients.c. Path: hot. The worker that owns ctx.
#include <nettle/sha2.h>

#include "proto/dns/ddns/ddns_internal.h"
#include "proto/dns/client/dns_internal.h"

#define QUESTION_MAX  (DNS_NAME_MAX + 4)
#define RECORD_FIXED  10   // TYPE, CLASS, TTL, RDLENGTH
#define STEPS_ALLOWED 4096 // of compressed names, per message
#define SHA256        1    // digest type of a DHCID record

static const uint16_t types[DDNS_KINDS] = {
	[DDNS_A] = DNS_A, [DDNS_AAAA] = DNS_AAAA, [DDNS_PTR] = 12, [DDNS_DHCID] = 49};

// Convert text after a free byte to labels, with the root.
static void labels_end(struct writer *w, uint8_t *at)
{
	uint8_t *label = at;

	for (uint8_t *c = at + 1; c < w->at; c++) {
		if (*c != '.')
			continue;
		*label = (uint8_t)(c - label - 1);
		label = c;
	}
	*label = (uint8_t)(w->at - label - 1);
	if (*label)
		write_u8(w, 0);
}

// Are the `len` bytes labels of 1 to 63 bytes, with the root at the end?
static bool is_name(const uint8_t *name, uint32_t len)
{
	uint32_t at = 0;

	while (at < len && name[at]) {
		if (name[at] > 63)
			return false;
		at += 1u + name[at];
	}
	return at + 1 == len;
}

static uint32_t name_end(const struct writer *w, uint8_t *out)
{
	uint32_t len = (uint32_t)(w->at - out);

	if (w->failed || !is_name(out, len))
		return 0;
	for (uint32_t i = 0; i < len; i++)
		out[i] = dns_lower_case(out[i]);
	return len;
}

uint32_t ddns_name(const struct proto_ctx *ctx, uint32_t client, uint8_t *out)
{
	const struct ddns_worker *dw = ctx->own;
	const struct ddns_plan *p = ctx->shared;
	struct writer w = writer_of(out, DNS_NAME_MAX);
	uint8_t *at;

	if (!p->name.max_len) {
		if (ctx->followed)
			p->followed->name(ctx->followed, client, &w);
		else
			write_u8(&w, 0); // a sample has no clients
		return name_end(&w, out);
	}
	at = write_space(&w, 1);
	pattern_write(&p->name, &(struct pattern_values){.client = dw->clients[client].number}, &w);
	if (!w.failed)
		labels_end(&w, at);
	return name_end(&w, out);
}

static void octet_label(struct writer *w, uint8_t v)
{
	uint8_t *len = write_space(w, 1), *from = w->at;
	uint32_t hundreds = (v >= 100) + (v >= 200), rest = v - 100 * hundreds;
	uint32_t tens = rest * 205 >> 11; // rest / 10

	if (hundreds)
		write_u8(w, (uint8_t)('0' + hundreds));
	if (hundreds || tens)
		write_u8(w, (uint8_t)('0' + tens));
	write_u8(w, (uint8_t)('0' + rest - 10 * tens));
	if (len)
		*len = (uint8_t)(w->at - from);
}

// RFC 1035 section 3.5, RFC 3596 section 2.5.
static uint32_t reverse_name(const struct ddns_client *c, uint8_t *out)
{
	static const char digits[] = "0123456789abcdef";
	struct writer w = writer_of(out, DNS_NAME_MAX);

	for (int i = c->addr_len - 1; i >= 0 && c->addr_len == 4; i--)
		octet_label(&w, c->addr[i]);
	for (int i = 2 * c->addr_len - 1; i >= 0 && c->addr_len == 16; i--) {
		write_u8(&w, 1);
		write_u8(&w, (uint8_t)digits[c->addr[i / 2] >> (i & 1 ? 0 : 4) & 15]);
	}
	if (c->addr_len == 4)
		write_bytes(&w, "\7in-addr\4arpa", 14);
	else
		write_bytes(&w, "\3ip6\4arpa", 10);
	return w.failed ? 0 : (uint32_t)(w.at - out);
}

// Write name, type and class: returns the length, 0: there is no such name.
static uint32_t question_of(const struct proto_ctx *ctx, const struct proto_txn *t, uint8_t *out)
{
	const struct ddns_worker *w = ctx->own;
	uint32_t client = ddns_user_client(t->user), kind = ddns_user_kind(t->user), len;

	len = kind == DDNS_PTR ? reverse_name(&w->clients[client], out)
	                       : ddns_name(ctx, client, out);
	if (len == 0)
		return 0;
	bytes_put_be16(out + len, types[kind]);
	bytes_put_be16(out + len + 2, DNS_CLASS_IN);
	return len + 4;
}

static uint32_t request_write(
	struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	const struct ddns_plan *p = ctx->shared;
	struct ddns_counters *n = ctx->counters;
	uint32_t len;

	if (room < DNS_HEADER_LEN + QUESTION_MAX)
		return 0;
	len = question_of(ctx, t, buf + DNS_HEADER_LEN);
	if (len == 0)
		return 0;
	memset(buf, 0, DNS_HEADER_LEN);
	bytes_put_be16(buf, (uint16_t)t->key);
	buf[2] = p->rd ? DNS_RD : 0;
	buf[5] = 1; // QDCOUNT
	len += DNS_HEADER_LEN;
	n->request_bytes += len;
	return len;
}

PROTO_REQUEST(ddns_request, request_write)

bool ddns_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	return dns_key(buf, len, key);
}

// Separate because only this function may call the library.
__attribute__((noinline)) void ddns_dhcid(const struct proto_identity *identity,
	const uint8_t *name, uint32_t len, uint8_t out[DDNS_DHCID_LEN])
{
	struct sha256_ctx hash;

	bytes_put_be16(out, identity->type);
	out[2] = SHA256;
	sha256_init(&hash);
	sha256_update(&hash, identity->len, identity->bytes);
	sha256_update(&hash, len, name);
	sha256_digest(&hash, SHA256_DIGEST_SIZE, out + 3);
}

// Write the expected RDATA of the record, names in lower case; returns the length.
static uint32_t rdata_due(const struct proto_ctx *ctx, const struct proto_txn *t, uint8_t *out)
{
	const struct ddns_worker *w = ctx->own;
	const struct ddns_plan *p = ctx->shared;
	uint32_t client = ddns_user_client(t->user), len;
	const struct ddns_client *c = &w->clients[client];
	struct proto_identity identity;
	uint8_t name[DNS_NAME_MAX];

	switch ((enum ddns_kind)ddns_user_kind(t->user)) {
	case DDNS_A:
	case DDNS_AAAA:
		memcpy(out, c->addr, sizeof(c->addr));
		return c->addr_len;
	case DDNS_PTR:
		return ddns_name(ctx, client, out);
	case DDNS_DHCID:
		len = ddns_name(ctx, client, name);
		p->followed->identity(ctx->followed, client, &identity);
		ddns_dhcid(&identity, name, len, out);
		return DDNS_DHCID_LEN;
	case DDNS_KINDS:
		break;
	}
	return 0;
}

// Search the answer section of a well-formed message. A CNAME may lead to the record, so any owner
// is accepted.
static enum ddns_found answer_find(const struct proto_ctx *ctx, const struct proto_txn *t,
	const uint8_t *buf, uint32_t len, uint32_t at)
{
	uint32_t kind = ddns_user_kind(t->user), steps = STEPS_ALLOWED, ours = 0, others = 0;
	uint8_t due[DNS_NAME_MAX + 1], target[DNS_NAME_MAX];
	uint32_t due_len = rdata_due(ctx, t, due);
	const uint8_t *p = buf + at;

	for (uint32_t left = bytes_be16(buf + 6); left > 0; left--) {
		const uint8_t *data;
		uint32_t size;

		p = dns_name_end(p, buf, len, &steps);
		if (!p || (size_t)(buf + len - p) < RECORD_FIXED)
			break;
		data = p + RECORD_FIXED;
		size = bytes_be16(p + 8);
		if ((size_t)(buf + len - data) < size)
			break;
		if (bytes_be16(p) == types[kind] && bytes_be16(p + 2) == DNS_CLASS_IN) {
			if (kind == DDNS_PTR) {
				size = dns_name_read(buf, len, (uint32_t)(data - buf), target);
				if (size == due_len && memcmp(target, due, size) == 0)
					ours++;
				else
					others++;
				size = bytes_be16(p + 8);
			} else if (size == due_len && memcmp(data, due, size) == 0) {
				ours++;
			} else {
				others++;
			}
		}
		p = data + size;
	}
	if (ours)
		return others ? DDNS_OURS_BESIDE : DDNS_OURS;
	return others ? DDNS_OTHERS : DDNS_ABSENT;
}

static enum proto_verdict reply_judge(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	struct ddns_counters *n = ctx->counters;
	uint8_t ours[QUESTION_MAX];
	struct dns_message m;
	uint32_t question, rcode;

	if (len < DNS_HEADER_LEN)
		return PROTO_MALFORMED;
	if (bytes_be16(buf) != (uint16_t)t->key || (buf[2] & (DNS_QR | DNS_OPCODE)) != DNS_QR)
		return PROTO_STRAY;
	if (bytes_be16(buf + 4) != 1)
		return PROTO_MALFORMED;
	question = dns_question_len(buf, len);
	if (question == 0 || !dns_message_walk(buf, len, DNS_HEADER_LEN + question, &m))
		return PROTO_MALFORMED;
	if (t->over) // its client is unknown by now
		return PROTO_DONE;
	if (question_of(ctx, t, ours) != question ||
		!dns_names_equal(buf + DNS_HEADER_LEN, ours, question - 4) ||
		memcmp(buf + DNS_HEADER_LEN + question - 4, ours + question - 4, 4) != 0)
		return PROTO_STRAY;

	n->reply_bytes += len;
	rcode = buf[3] & DNS_RCODE;
	n->truncated += (buf[2] & DNS_TC) != 0;
	n->errors += rcode != DNS_NOERROR && rcode != DNS_NXDOMAIN;
	if (buf[2] & DNS_TC || (rcode != DNS_NOERROR && rcode != DNS_NXDOMAIN)) {
		ddns_lost(ctx, t);
		return PROTO_FAIL;
	}
	ddns_found(ctx, t,
		rcode == DNS_NXDOMAIN ? DDNS_ABSENT
				      : answer_find(ctx, t, buf, len, DNS_HEADER_LEN + question));
	return PROTO_DONE;
}

PROTO_REPLY(ddns_reply, reply_judge)

enum proto_verdict ddns_timeout(struct proto_ctx *ctx, struct proto_txn *t)
{
	ddns_lost(ctx, t);
	return PROTO_FAIL;
}

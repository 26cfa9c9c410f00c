// SPDX-License-Identifier: BSD-3-Clause
// Zone transfers of the responder over connections: messages and their signatures. Records are in
// dns_zone_transfer_wire.c. Path: hot. The worker that owns ctx.

#include <string.h>

#include "proto/dns/server/dns_answer_transfer.h"

static void transfer_give(struct dns_answerer *own, struct dns_transfer *x)
{
	x->next = own->free;
	own->free = (uint32_t)(x - own->transfers);
}

// The serial of the client's copy, from the SOA record after the question (RFC 1995 section 3).
static bool serial_read(const uint8_t *buf, uint32_t len, uint32_t at, uint32_t *serial)
{
	uint32_t steps = UINT16_MAX;
	const uint8_t *fixed = bytes_be16(buf + 6) == 0 && bytes_be16(buf + 8) > 0
	                               ? dns_name_end(buf + at, buf, len, &steps)
	                               : NULL;

	return fixed && buf + len - fixed >= 10 && bytes_be16(fixed) == DNS_SOA &&
	       dns_soa_serial(buf, len, fixed + 10, &steps, serial);
}

static void message_count(
	struct dns_answer_counters *n, const struct dns_zone_cursor *c, uint16_t records)
{
	bool over = dns_zone_transfer_is_over(c);

	n->transfer_messages++;
	n->transfer_records += records;
	n->transfers += over;
	n->transfers_incremental += over && dns_zone_transfer_is_incremental(c);
}

void dns_transfer_answer(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len,
	uint32_t question_len, const uint8_t *out, struct writer *w, struct dns_zone_reply *r)
{
	const struct dns_answers *a = ctx->shared;
	struct dns_answerer *own = ctx->own;
	struct dns_answer_counters *n = ctx->counters;
	const uint8_t *question = buf + DNS_HEADER_LEN;
	bool incremental = bytes_be16(question + question_len - 4) == DNS_IXFR;
	uint8_t name[DNS_NAME_MAX];
	const struct dns_zone_node *node;
	struct dns_transfer *x;
	uint32_t serial = 0;

	dns_zone_lower(name, question, question_len - 4);
	node = dns_zone_find(a->zones, name, question_len - 4);
	r->foreign = !node || node->parent;
	if (r->foreign)
		return;
	r->rcode = DNS_FORMERR;
	if (incremental && !serial_read(buf, len, DNS_HEADER_LEN + question_len, &serial))
		return;
	r->rcode = DNS_SERVFAIL; // too many transfers, or no record fits
	if (own->free == PROTO_MAX_MORE)
		return;
	x = &own->transfers[own->free];
	dns_zone_transfer_begin(a->zones, node->zone, incremental, serial, &x->cursor);
	r->answers = dns_zone_transfer_write(a->zones, &x->cursor, w, a->transfer_size);
	if (r->answers == 0)
		return;
	r->rcode = DNS_NOERROR;
	message_count(n, &x->cursor, r->answers);
	n->transfers_unchanged += r->answers == 1 && dns_zone_transfer_is_over(&x->cursor);
	if (dns_zone_transfer_is_over(&x->cursor))
		return;
	own->free = x->next;
	ctx->more = (uint32_t)(x - own->transfers) + 1;
	x->is_signed = false;
	memcpy(x->head, out, sizeof(x->head));
	x->question_len = question_len;
	memcpy(x->question, question, question_len);
}

void dns_transfer_signed(struct proto_ctx *ctx, const struct dns_tsig_session *session)
{
	struct dns_transfer *x = &((struct dns_answerer *)ctx->own)->transfers[ctx->more - 1];

	x->is_signed = true;
	dns_tsig_chain_begin(&x->chain, session->signer, &session->prior);
	x->chain.form = DNS_TSIG_TIMERS; // the first message has all variables
}

static uint32_t message_sign(
	struct proto_ctx *ctx, struct dns_transfer *x, uint8_t *out, uint32_t len, uint32_t room)
{
	const struct dns_answers *a = ctx->shared;
	const struct dns_tsig_key *key = x->chain.signer.key;
	const struct dns_tsig say = {.time = dns_tsig_now(ctx, key), .fudge = key->fudge};
	bool is_due = ctx->more == 0 || x->chain.unsigned_count + 1u >= a->signed_every;

	return dns_tsig_chain_sign(&x->chain, is_due ? &say : NULL, out, len, room);
}

uint32_t dns_answer_more(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	const struct dns_answers *a = ctx->shared;
	struct dns_answerer *own = ctx->own;
	struct dns_answer_counters *n = ctx->counters;
	struct dns_transfer *x = &own->transfers[ctx->more - 1];
	uint32_t signature = x->is_signed ? dns_tsig_record_len(x->chain.signer.key) : 0, made;
	struct writer w;
	uint16_t records = 0;

	if (!out) {
		ctx->more = 0;
		n->transfers_dropped++;
		transfer_give(own, x);
		return 0;
	}
	w = writer_of(out, room - signature);
	write_bytes(&w, x->head, sizeof(x->head));
	write_be16(&w, 1);
	memset(write_space(&w, 6), 0, 6);
	write_bytes(&w, x->question, x->question_len);
	if (!dns_zone_transfer_is_overtaken(a->zones, &x->cursor))
		records = dns_zone_transfer_write(a->zones, &x->cursor, &w, a->transfer_size);
	bytes_put_be16(out + 6, records);
	if (records) {
		message_count(n, &x->cursor, records);
	} else {
		out[3] |= DNS_SERVFAIL;
		n->transfers_overtaken++;
	}
	ctx->more = records && !dns_zone_transfer_is_over(&x->cursor) ? ctx->more : 0;
	made = (uint32_t)(w.at - out);
	if (x->is_signed)
		made = message_sign(ctx, x, out, made, room);
	if (ctx->more == 0)
		transfer_give(own, x);
	return made;
}

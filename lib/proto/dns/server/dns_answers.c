// SPDX-License-Identifier: BSD-3-Clause
// The responder's set-up: its records or zones, its keys, and the state of its workers. Path: cold.
// Management thread.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dns/server/dns_answers.h"
#include "base/addr.h"
#include "base/bytes.h"
#include "proto/dns/server/dns_answer_transfer.h"

#define NS_PER_S 1000000000u

static void build_record(
	struct dns_record *r, enum dns_type type, uint32_t ttl, const void *rdata, uint16_t len)
{
	struct writer w = writer_of(r->bytes, sizeof(r->bytes));

	write_be16(&w, 0xc000 | DNS_HEADER_LEN); // the name of the question
	write_be16(&w, (uint16_t)type);
	write_be16(&w, 1);
	write_be32(&w, ttl);
	write_be16(&w, len);
	write_bytes(&w, rdata, len);
	r->len = (uint16_t)(w.at - r->bytes);
}

static void build_text(struct dns_record *r, uint32_t ttl, const char *text)
{
	size_t left = strnlen(text, DNS_TEXT_MAX);
	uint8_t rdata[DNS_RECORD_MAX - 12], *at = rdata;

	do {
		uint8_t len = left < DNS_STRING_MAX ? (uint8_t)left : DNS_STRING_MAX;

		*at++ = len;
		memcpy(at, text, len);
		at += len;
		text += len;
		left -= len;
	} while (left);
	build_record(r, DNS_TXT, ttl, rdata, (uint16_t)(at - rdata));
}

static bool check_family(const struct addr *a, uint8_t len, struct diag *d)
{
	if (a->len == len)
		return true;
	diag_error(d, a, NULL, "not an IPv%d address", len == 4 ? 4 : 6);
	return false;
}

// NULL: no memory, or an error in d.
static struct dns_zones *zones_setup(
	const struct dns_answers_settings *s, const struct proto_env *env, struct diag *d)
{
	if (s->zone_room == 0 || env->workers == 1)
		return dns_zones_load(&s->zone, env->seed, d);
	diag_error(d, &s->zone_room, NULL,
		"a zone that takes updates is served by one thread (the port of the responder has "
		"%u cpus)",
		env->workers);
	return NULL;
}

static bool build_extra(struct dns_answers *a, const struct dns_answers_settings *s, struct diag *d)
{
	struct writer w = writer_of(a->extra, sizeof(a->extra));
	const uint64_t *codes = s->errors.items;
	struct dns_text_error e;
	uint8_t name[DNS_NAME_MAX];
	int len;

	if (s->errors.count > DNS_EXTRA_EDES) {
		diag_error(d, &s->errors, NULL, "more than %u extended errors", DNS_EXTRA_EDES);
		return false;
	}
	for (uint32_t i = 0; i < s->errors.count; i++) {
		write_be16(&w, DNS_EDE);
		write_be16(&w, 2);
		write_be16(&w, (uint16_t)codes[i]);
	}
	if (s->report_channel) {
		len = dns_name_from_text(s->report_channel, strlen(s->report_channel), name, &e);
		if (len < 0) {
			diag_error(d, &s->report_channel, NULL, "%s", e.reason);
			return false;
		}
		write_be16(&w, DNS_REPORT_CHANNEL);
		write_be16(&w, (uint16_t)len);
		write_bytes(&w, name, (size_t)len);
	}
	a->extra_len = (uint16_t)(w.at - a->extra);
	return true;
}

static uint64_t worker_memory(const struct dns_answers *a)
{
	uint64_t transfers = PROTO_MAX_MORE * sizeof(struct dns_transfer);

	if (!a->zones)
		return 0;
	return transfers +
	       (a->zone_room ? dns_zones_room_bytes(a->zones, a->zone_room, a->journal) : 0);
}

void *dns_answers_setup(
	const void *answers, const struct proto_env *env, struct proto_facts *facts, struct diag *d)
{
	const struct dns_answers_settings *s = answers;
	uint32_t ttl = (uint32_t)(s->ttl_ns / NS_PER_S);
	bool right = check_family(&s->address, 4, d);
	struct dns_answers *a;

	right = check_family(&s->address6, 16, d) && right;
	a = right ? calloc(1, sizeof(*a)) : NULL;
	if (!a)
		return NULL;
	a->role = DNS_ANSWERS;
	a->keepalive = s->keepalive_ns == UINT64_MAX ? UINT16_MAX
	                                             : (uint16_t)(s->keepalive_ns / 100000000);
	a->rcode = (uint8_t)s->rcode;
	a->proxy = s->proxy;
	a->zone_room = s->zone_room;
	a->journal = s->journal;
	a->transfer_size = (uint32_t)s->transfer_size;
	a->signed_every = (uint32_t)s->transfer_signed_every;
	build_record(&a->records[dns_type_bucket(DNS_A)], DNS_A, ttl, s->address.bytes, 4);
	build_record(&a->records[dns_type_bucket(DNS_AAAA)], DNS_AAAA, ttl, s->address6.bytes, 16);
	build_text(&a->records[dns_type_bucket(DNS_TXT)], ttl, s->text);
	right = build_extra(a, s, d);
	if (right && s->zone.count > 0)
		right = (a->zones = zones_setup(s, env, d)) != NULL;
	if (right && s->keys.count) {
		a->key_count = s->keys.count;
		right = (a->keys = dns_tsig_keys_load(&s->keys, d)) != NULL;
	}
	if (!right) {
		dns_answers_teardown(a);
		return NULL;
	}
	facts->longest = dns_answer_longest(a);
	facts->memory = env->workers * worker_memory(a);
	facts->timed = true;
	facts->preface = a->proxy ? dns_proxy_framed : NULL;
	return a;
}

void dns_answers_teardown(void *shared)
{
	struct dns_answers *a = shared;

	if (!a)
		return;
	dns_zones_free(a->zones);
	dns_tsig_keys_free(a->keys, a->key_count);
	free(a);
}

static struct dns_tsig_server *tsig_open(const struct dns_answers *a)
{
	struct dns_tsig_server *s = calloc(1, sizeof(*s) + a->key_count * sizeof(s->signers[0]));

	if (!s)
		return NULL;
	s->count = a->key_count;
	for (uint32_t i = 0; i < s->count; i++)
		dns_tsig_signer_init(&s->signers[i], &a->keys[i]);
	return s;
}

static struct dns_transfer *transfers_open(void)
{
	struct dns_transfer *transfers = calloc(PROTO_MAX_MORE, sizeof(*transfers));

	for (uint32_t i = 0; transfers && i < PROTO_MAX_MORE; i++)
		transfers[i].next = i + 1;
	return transfers;
}

int dns_answers_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	const struct dns_answers *a = ctx->shared;
	struct dns_answerer *own;

	ctx->own = NULL;
	if (a->key_count == 0 && !a->zones)
		return 0;
	ctx->own = own = calloc(1, sizeof(*own));
	if (!own)
		return -ENOMEM;
	if (a->key_count)
		own->tsig = tsig_open(a);
	if (a->zones)
		own->transfers = transfers_open();
	if ((!a->key_count || own->tsig) && (!a->zones || own->transfers) &&
		(!a->zones || !a->zone_room ||
			dns_zones_make_room(a->zones, a->zone_room, a->journal) == 0))
		return 0;
	dns_answers_close(ctx);
	return -ENOMEM;
}

void dns_answers_close(struct proto_ctx *ctx)
{
	struct dns_answerer *own = ctx->own;

	ctx->own = NULL;
	if (!own)
		return;
	if (own->tsig)
		explicit_bzero(own->tsig,
			sizeof(*own->tsig) + own->tsig->count * sizeof(own->tsig->signers[0]));
	if (own->transfers)
		explicit_bzero(own->transfers, PROTO_MAX_MORE * sizeof(*own->transfers));
	free(own->tsig);
	free(own->transfers);
	free(own);
}

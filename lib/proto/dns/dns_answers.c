// SPDX-License-Identifier: BSD-3-Clause
// What the responder answers with: from settings to its records, options, zones and keys. Path:
// cold. Management thread.

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "proto/dns/dns_internal.h"
#include "proto/dns/dns_tsig.h"

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
		return dns_zones_load(&s->zone, s->zone_room, env->seed, d);
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

void *dns_answers_setup(const void *answers, const struct proto_env *env, struct diag *d)
{
	const struct dns_answers_settings *s = answers;
	uint32_t ttl = (uint32_t)(s->ttl_ns / NS_PER_S);
	bool right = check_family(&s->address, 4, d);
	struct dns_answers *a;

	right = check_family(&s->address6, 16, d) && right;
	a = right ? calloc(1, sizeof(*a)) : NULL;
	if (!a)
		return NULL;
	if (!build_extra(a, s, d)) {
		free(a);
		return NULL;
	}
	a->role = DNS_ANSWERS;
	a->keepalive = s->keepalive_ns == UINT64_MAX ? UINT16_MAX
	                                             : (uint16_t)(s->keepalive_ns / 100000000);
	a->rcode = (uint8_t)s->rcode;
	a->proxy = s->proxy;
	build_record(&a->records[dns_type_bucket(DNS_A)], DNS_A, ttl, s->address.bytes, 4);
	build_record(&a->records[dns_type_bucket(DNS_AAAA)], DNS_AAAA, ttl, s->address6.bytes, 16);
	if (s->zone.count > 0 && !(a->zones = zones_setup(s, env, d))) {
		free(a);
		return NULL;
	}
	build_text(&a->records[dns_type_bucket(DNS_TXT)], ttl, s->text);
	if (s->keys.count) {
		a->keys = dns_tsig_keys_load(&s->keys, d);
		a->key_count = s->keys.count;
	}
	if (!s->keys.count || a->keys)
		return a;
	free(a);
	return NULL;
}

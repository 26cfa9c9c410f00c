// SPDX-License-Identifier: BSD-3-Clause
// A responder with a zone in memory: updates and queries as a client would send them. Path: tests
// only.
#pragma once

#include "dns_fixture.h"

#include "base/bytes.h"
#include "base/log.h"
#include "proto/dns/client/dns_updates.h"

#define ZONE                                                                                       \
	"$ORIGIN z.\n$TTL 300\n@ SOA ns h 10 3600 900 604800 60\n@ NS ns\nns A 192.0.2.53\n"       \
	"a A 192.0.2.1\na A 192.0.2.2\na TXT \"x\"\nb.deep MX 10 a\nalias CNAME A\n*.w TXT "       \
	"\"w\"\n"                                                                                  \
	"away CNAME www.example.com.\nloop CNAME loop\n"

struct responder {
	struct proto_ctx ctx;
	struct dns_answer_counters n;
	struct dns_answers answers;
	uint8_t out[65535];
	uint32_t len;
};

static inline struct responder *responder_of(const char *zone, uint64_t room, uint32_t size)
{
	const struct proto_env env = {.workers = 1};
	struct responder *r = calloc(1, sizeof(*r));
	struct diag *d = diag_new();

	r->answers = (struct dns_answers){.role = DNS_ANSWERS, .keepalive = UINT16_MAX};
	r->answers.zones = dns_zones_load_text("z.zone", zone, strlen(zone), 1, d);
	if (!r->answers.zones)
		diag_print(d, stderr);
	assert_non_null(r->answers.zones);
	r->ctx.shared = &r->answers;
	r->ctx.counters = &r->n;
	r->answers.zone_room = room;
	r->answers.journal = 1 << 14;
	r->answers.transfer_size = size;
	r->answers.signed_every = 1;
	assert_int_equal(dns_answers_open(&r->ctx, &env), 0);
	diag_free(d);
	return r;
}

static inline struct responder *responder_new(uint64_t room)
{
	return responder_of(ZONE, room, 65535);
}

static inline void responder_end(struct responder *r)
{
	dns_answers_close(&r->ctx);
	dns_zones_free(r->answers.zones);
	free(r);
}

static inline uint32_t ask(struct responder *r, const uint8_t *message, uint32_t len, uint32_t room)
{
	r->len = fixture_answer_to(&r->ctx, message, len, r->out, room);
	assert_true(r->len >= DNS_HEADER_LEN);
	return r->out[3] & 0x0fu;
}

// Returns the RCODE of an update, whose reply repeats the zone and nothing else.
static inline uint32_t update(struct responder *r, const char *text)
{
	struct dns_queries q = {0};
	struct diag *d = diag_new();
	uint8_t message[2000] = {0xab, 0xcd};
	uint32_t len, rcode, question;
	const uint8_t *entry;

	if (dns_updates_load_text(&q, sizeof(message), "u", text, strlen(text), text, d) < 0)
		diag_print(d, stderr);
	assert_int_equal(q.count, 1);
	entry = q.blob + sizeof(struct dns_whole);
	len = q.offsets[1] - (uint32_t)sizeof(struct dns_whole) + 2;
	memcpy(message + 2, entry, len - 2);
	rcode = ask(r, message, len, 512);
	question = dns_question_len(message, len);
	assert_int_equal(r->out[2], 0xa8);
	assert_int_equal(r->len, DNS_HEADER_LEN + question);
	assert_memory_equal(r->out + 4, "\0\1\0\0\0\0\0\0", 8);
	assert_memory_equal(r->out + DNS_HEADER_LEN, message + DNS_HEADER_LEN, question);
	dns_queries_free(&q);
	diag_free(d);
	return rcode;
}

static inline uint32_t serial(const struct responder *r)
{
	return dns_zone_serial(&r->answers.zones->zones[0]);
}

static inline uint32_t query_over(struct responder *r, const char *name, uint16_t type, bool stream)
{
	uint8_t message[300] = "\xab\xcd\1\0\0\1\0\0\0\0\0\0";
	struct dns_text_error e;
	uint32_t len = DNS_HEADER_LEN + (uint32_t)dns_name_from_text(
						name, strlen(name), message + DNS_HEADER_LEN, &e);
	struct dns_message m;
	uint32_t rcode;

	bytes_put_be16(message + len, type);
	bytes_put_be16(message + len + 2, 1);
	r->ctx.stream = stream;
	rcode = ask(r, message, len + 4, stream ? 65535 : 2000);
	r->ctx.stream = false;
	assert_memory_equal(
		r->out + DNS_HEADER_LEN, message + DNS_HEADER_LEN, len + 4 - DNS_HEADER_LEN);
	assert_true(dns_message_walk(r->out, r->len, len + 4, &m));
	assert_int_equal(m.left, 0);
	return rcode;
}

static inline uint32_t query(struct responder *r, const char *name, uint16_t type)
{
	return query_over(r, name, type, false);
}

static inline uint32_t answers(const struct responder *r)
{
	return bytes_be16(r->out + 6);
}

static inline uint32_t authority(const struct responder *r)
{
	return bytes_be16(r->out + 8);
}

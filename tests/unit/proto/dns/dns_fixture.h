// SPDX-License-Identifier: BSD-3-Clause
// A DNS item in memory for tests: settings with their defaults, one worker, its counters and one
// transaction. Path: tests only.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/dns/dns.h"
#include "one_message.h"
#include "proto/dns/server/dns_answers.h"
#include "diag_text.h"
#include "net/csum.h"
#include "proto/dns/client/dns_internal.h"

struct dns_fixture {
	struct dns_settings settings;
	struct dns_edns_settings edns;
	struct dns_expect_settings expect;
	const char *names[8];
	struct diag *diag;
	struct proto_env env;
	struct proto_facts facts;
	struct proto_ctx ctx;
	struct dns_counters n;
	struct proto_txn txn;
	uint8_t query[4096];
	uint32_t query_len;
	uint8_t reply[65536];
	uint32_t reply_len;
};

// As with `edns: {}`, for lines that want an OPT record.
static const struct dns_opt fixture_plain_opt = {
	.len = DNS_OPT_HEADER_LEN, .bytes = "\0\0\x29\x04\xd0\0\0\0\0\0"};
static const struct dns_form fixture_form = {.class = 1, .opt = &fixture_plain_opt};

static inline struct dns_fixture *fixture_new(const char *name)
{
	struct dns_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->names[0] = name;
	f->settings.names = (struct field_list){f->names, 1};
	f->settings.rd = true;
	f->settings.zipf_exponent = 1;
	f->edns.size = 1232;
	f->edns.client_subnet_bits = UINT64_MAX;
	f->env = (struct proto_env){.seed = 1, .workers = 1, .clients = 4, .addr_len = 4};
	f->diag = diag_new();
	f->txn.key = 0x1234;
	return f;
}

static inline void fixture_open(struct dns_fixture *f)
{
	f->ctx.shared = dns_setup(&f->settings, &f->env, &f->facts, f->diag);
	if (!f->ctx.shared)
		diag_print(f->diag, stderr);
	assert_non_null(f->ctx.shared);
	f->ctx.counters = &f->n;
	assert_int_equal(dns_open(&f->ctx, &f->env), 0);
}

static inline struct dns_fixture *fixture_start(const char *name)
{
	struct dns_fixture *f = fixture_new(name);

	fixture_open(f);
	return f;
}

// Reopens the item with unchanged settings, as if the program was started again.
static inline void fixture_reopen(struct dns_fixture *f)
{
	dns_close(&f->ctx);
	dns_teardown((void *)f->ctx.shared);
	fixture_open(f);
}

static inline void fixture_end(struct dns_fixture *f)
{
	if (f->ctx.shared) {
		dns_close(&f->ctx);
		dns_teardown((void *)f->ctx.shared);
	}
	diag_free(f->diag);
	free(f);
}

// Makes the query of transaction seq; f->reply becomes its header and question with QR set.
static inline void fixture_ask(struct dns_fixture *f, uint64_t seq)
{
	f->txn.seq = seq;
	f->ctx.sum = 0;
	f->query_len = proto_request(&dns_proto, &f->ctx, &f->txn, f->query, sizeof(f->query));
	assert_true(f->query_len > DNS_HEADER_LEN);
	assert_int_equal(f->ctx.sum != 0, ((const struct dns_plan *)f->ctx.shared)->fixed);
	if (f->ctx.sum)
		assert_int_equal(
			csum_fold(f->ctx.sum), csum_fold(csum_add(0, f->query, f->query_len)));
	f->reply_len = DNS_HEADER_LEN + dns_question_len(f->query, f->query_len);
	memcpy(f->reply, f->query, f->reply_len);
	f->reply[2] |= 0x80;
	memset(f->reply + 6, 0, 6);
}

static inline void fixture_append(struct dns_fixture *f, const void *data, uint32_t len)
{
	if (len)
		memcpy(f->reply + f->reply_len, data, len);
	f->reply_len += len;
}

static inline void fixture_answer(struct dns_fixture *f)
{
	fixture_append(f, "\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4\xc0\0\2\x50", 16);
	f->reply[7]++;
}

// Adds an OPT with these options and upper bits of the RCODE.
static inline void fixture_opt(
	struct dns_fixture *f, uint8_t ext_rcode, const void *options, uint16_t len)
{
	uint8_t opt[] = {
		0, 0, 41, 0x04, 0xd0, ext_rcode, 0, 0, 0, (uint8_t)(len >> 8), (uint8_t)len};

	fixture_append(f, opt, sizeof(opt));
	fixture_append(f, options, len);
	f->reply[11]++;
}

// Judges a reply; the short way must give the verdict and counters of the long one.
static inline enum proto_verdict fixture_judge(
	struct dns_fixture *f, const uint8_t *reply, uint32_t len)
{
	const struct dns_plan *plan = f->ctx.shared;
	struct dns_counters *n = f->ctx.counters, before = *n, judged;
	struct dns_plan slow = *plan;
	struct proto_txn t = f->txn;
	enum proto_verdict v;

	if (!plan->plain)
		return judge_one(&dns_proto, &f->ctx, &f->txn, reply, len);
	slow.plain = false;
	f->ctx.shared = &slow;
	v = judge_one(&dns_proto, &f->ctx, &t, reply, len);
	judged = *n;
	*n = before;
	f->ctx.shared = plan;
	assert_int_equal(judge_one(&dns_proto, &f->ctx, &f->txn, reply, len), v);
	assert_memory_equal(n, &judged, sizeof(judged));
	return v;
}

// Judges the reply in a heap block of exactly its size, so that the sanitizer sees every read
// beyond it.
static inline enum proto_verdict fixture_verdict_of(
	struct dns_fixture *f, const void *data, uint32_t len)
{
	uint8_t *exact = malloc(len ? len : 1);
	enum proto_verdict v;

	assert_non_null(exact);
	memcpy(exact, data, len);
	v = fixture_judge(f, exact, len);
	free(exact);
	return v;
}

static inline enum proto_verdict fixture_verdict(struct dns_fixture *f)
{
	return fixture_verdict_of(f, f->reply, f->reply_len);
}

// Returns the length of the responder's reply to a query, both in blocks of exactly their size.
static inline uint32_t fixture_answer_to(
	struct proto_ctx *ctx, const void *query, uint32_t len, uint8_t *out, uint32_t room)
{
	uint8_t *exact = malloc(len ? len : 1), *answer = malloc(room ? room : 1);
	uint32_t n;

	assert_true(exact && answer);
	memcpy(exact, query, len);
	n = dns_answer(ctx, exact, len, answer, room);
	assert_true(n <= room);
	memcpy(out, answer, n);
	free(exact);
	free(answer);
	return n;
}

static inline uint32_t from_hex(const char *hex, uint8_t *out)
{
	uint32_t len = 0;
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		out[len++] = (uint8_t)byte;
	return len;
}

// SPDX-License-Identifier: BSD-3-Clause
// A bulk lease query of one family in tests: set-up, query and replies. A test includes this after
// its definition of FAMILY(name). Path: tests only.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "one_message.h"
#include "proto/dhcp/leasequery/leasequery.h"
#include "proto/dhcp/leasequery/leasequery_internal.h"

struct asked {
	struct proto_ctx ctx;
	struct proto_txn t;
	struct leasequery_counters n;
	uint8_t query[512];
	uint32_t len;
};

static inline const struct proto *proto_of(void)
{
	return &FAMILY(proto);
}

// Transaction `seq` of worker 1 of 2.
static inline void ask(struct asked *a, const struct leasequery_settings *s, uint64_t seq)
{
	const struct proto_env env = {.worker = 1, .workers = 2, .addr_len = ADDR_LEN};
	struct diag *d = diag_new();

	*a = (struct asked){.t = {.seq = seq, .key = 0x123456}};
	a->ctx.counters = &a->n;
	a->ctx.shared = proto_of()->setup(s, &env, &(struct proto_facts){0}, d);
	assert_int_equal(diag_count(d), 0);
	diag_free(d);
	assert_non_null(a->ctx.shared);
	assert_int_equal(proto_of()->open(&a->ctx, &env), 0);
	a->len = proto_request(proto_of(), &a->ctx, &a->t, a->query, sizeof(a->query));
	assert_true(a->len > 0);
	assert_int_equal(a->n.request_bytes, a->len);
	for (uint32_t room = 0; room < a->len; room++)
		assert_int_equal(
			proto_request(proto_of(), &a->ctx, &a->t, (uint8_t[512]){0}, room), 0);
}

static inline void asked_end(struct asked *a)
{
	proto_of()->close(&a->ctx);
	proto_of()->teardown((void *)a->ctx.shared);
}

// In a block of exactly the size, so that a sanitizer sees every access beyond it.
static inline enum proto_verdict hear(struct asked *a, const void *bytes, uint32_t len)
{
	uint8_t *exact = malloc(len ? len : 1);
	enum proto_verdict v;

	memcpy(exact, bytes, len);
	v = judge_one(proto_of(), &a->ctx, &a->t, exact, len);
	free(exact);
	return v;
}

// Each truncation of a message is malformed, or is judged; nothing is read beyond it.
static inline void cut(struct asked *a, const void *bytes, uint32_t len)
{
	struct proto_txn before = a->t;

	for (uint32_t n = 0; n < len; n++) {
		hear(a, bytes, n);
		a->t = before;
	}
	memset(&a->n, 0, sizeof(a->n));
}

// SPDX-License-Identifier: BSD-3-Clause
// Replies from anyone: the first byte chooses one of six items, the rest is a reply to its first
// query. Of some of them a plain answer has a short way: it must say what the long one says. The ID
// and, on request, the question are put right, so that the fuzzer gets past them. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dns/dns.h"
#include "lib/one_message.h"
#include "proto/dns/client/dns_internal.h"

#define ITEMS         6
#define KEEP_ID       0x80 // of the first byte
#define GIVE_QUESTION 0x40
#define REPLY_MAX     65535

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct item {
	struct proto_ctx ctx;
	struct dns_counters n;
	uint8_t query[2048];
	uint32_t query_len;
};

static struct item items[ITEMS];

static void item_start(struct item *it, bool edns, bool checks, bool plain)
{
	static const char *name = "www.example.com A";
	static const int32_t noerror;
	static struct dns_edns_settings edns_settings = {.size = 1232,
		.nsid = true,
		.client_subnet = {{4, {10}}, 8},
		.client_subnet_bits = UINT64_MAX};
	static struct dns_edns_settings only_size = {.size = 1232};
	static struct dns_expect_settings expect = {
		.rcode = {(void *)&noerror, 1}, .min_answers = 1};
	const struct dns_settings s = {.names = {&name, 1},
		.rd = true,
		.case_0x20 = checks && !plain,
		.cookies = edns && !plain ? DNS_COOKIES_FULL : DNS_COOKIES_NONE,
		.edns = !edns   ? NULL
	                : plain ? &only_size
	                        : &edns_settings,
		.expect = checks ? &expect : NULL};
	const struct proto_env env = {.seed = 1, .workers = 1, .clients = 1, .addr_len = 4};
	struct proto_txn t = {.key = 0x1234};
	struct diag *d = diag_new();

	it->ctx.shared = dns_setup(&s, &env, &(struct proto_facts){0}, d);
	if (!it->ctx.shared || dns_open(&it->ctx, &env) < 0)
		abort();
	it->ctx.counters = &it->n;
	it->query_len = proto_request(&dns_proto, &it->ctx, &t, it->query, sizeof(it->query));
	diag_free(d);
}

static void require_the_same(struct item *it, const uint8_t *reply, uint32_t len)
{
	const struct dns_plan *plan = it->ctx.shared;
	struct dns_plan slow = *plan;
	struct dns_counters n[2] = {0};
	struct proto_txn t[2] = {{.key = 0x1234}, {.key = 0x1234}};
	enum proto_verdict v[2];

	slow.plain = false;
	for (int i = 0; i < 2; i++) {
		it->ctx.shared = i ? plan : &slow;
		it->ctx.counters = &n[i];
		v[i] = judge_one(&dns_proto, &it->ctx, &t[i], reply, len);
	}
	it->ctx.counters = &it->n;
	if (v[0] != v[1] || memcmp(&n[0], &n[1], sizeof(n[0])) != 0)
		abort();
}

// The case of the question's name, which names of records point into, makes no other answer.
static void require_one_digest(uint8_t *reply, uint32_t len, uint32_t question)
{
	const struct dns_referee r = {.seed = 1, .parts = UINT32_MAX};
	struct dns_digest digests[2];
	struct dns_message m;

	if (len < DNS_HEADER_LEN + question || dns_question_len(reply, len) != question)
		return;
	for (int i = 0; i < 2; i++) {
		if (!dns_message_walk(reply, len, DNS_HEADER_LEN + question, &m))
			return;
		dns_digest_make(&r, reply, len, DNS_HEADER_LEN + question, &m, &digests[i]);
		for (uint32_t k = DNS_HEADER_LEN; k < DNS_HEADER_LEN + question - 4; k++)
			if (dns_lower_case(reply[k] & ~0x20) != (reply[k] & ~0x20))
				reply[k] ^= 0x20;
	}
	if (dns_digest_differs(r.parts, &digests[0], &digests[1]) != DNS_COMPARED_COUNT)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proto_txn t = {.key = 0x1234};
	struct item *it;
	uint32_t key, question;
	uint8_t *reply;

	if (!items[0].query_len)
		for (int i = 0; i < ITEMS; i++)
			item_start(&items[i], i & 1, i & 2, i & 4);
	if (size < 1 || size > REPLY_MAX)
		return 0;
	it = &items[data[0] % ITEMS];
	reply = malloc(size);
	if (!reply)
		return 0;
	memcpy(reply, data + 1, size - 1);
	question = dns_question_len(it->query, it->query_len);
	if (!(data[0] & KEEP_ID) && size > 2)
		memcpy(reply, it->query, 2);
	if ((data[0] & GIVE_QUESTION) && size > DNS_HEADER_LEN + question)
		memcpy(reply + DNS_HEADER_LEN, it->query + DNS_HEADER_LEN, question);
	dns_key(reply, (uint32_t)size - 1, &key);
	if (((const struct dns_plan *)it->ctx.shared)->plain)
		require_the_same(it, reply, (uint32_t)size - 1);
	if (judge_one(&dns_proto, &it->ctx, &t, reply, (uint32_t)size - 1) == PROTO_AGAIN &&
		t.tries != 1)
		abort();
	if (proto_request(&dns_proto, &it->ctx, &t, it->query, sizeof(it->query)) == 0)
		abort();
	require_one_digest(reply, (uint32_t)size - 1, question);
	free(reply);
	return 0;
}

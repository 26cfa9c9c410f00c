// SPDX-License-Identifier: BSD-3-Clause
// Replies from anyone: the first byte chooses one of four items, the rest is a reply to its first
// query. The ID and, on request, the question are put right, so that the fuzzer gets past them.
// Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dns_internal.h"

#define ITEMS         4
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

static void item_start(struct item *it, bool edns, bool checks)
{
	static const char *name = "www.example.com A";
	static const int32_t noerror;
	static struct dns_edns_settings edns_settings = {.size = 1232,
		.nsid = true,
		.client_subnet = {{4, {10}}, 8},
		.client_subnet_bits = UINT64_MAX};
	static struct dns_expect_settings expect = {
		.rcode = {(void *)&noerror, 1}, .min_answers = 1};
	const struct dns_settings s = {.names = {&name, 1},
		.rd = true,
		.case_0x20 = checks,
		.cookies = edns ? DNS_COOKIES_FULL : DNS_COOKIES_NONE,
		.edns = edns ? &edns_settings : NULL,
		.expect = checks ? &expect : NULL};
	const struct proto_env env = {.seed = 1, .workers = 1, .clients = 1, .addr_len = 4};
	struct proto_txn t = {.key = 0x1234};
	struct diag *d = diag_new();

	it->ctx.shared = dns_setup(&s, &env, d);
	if (!it->ctx.shared || dns_open(&it->ctx, &env) < 0)
		abort();
	it->ctx.counters = &it->n;
	it->query_len = dns_request(&it->ctx, &t, it->query, sizeof(it->query));
	diag_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proto_txn t = {.key = 0x1234};
	struct item *it;
	uint32_t key, question;
	uint8_t *reply;

	if (!items[0].query_len)
		for (int i = 0; i < ITEMS; i++)
			item_start(&items[i], i & 1, i & 2);
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
	if (dns_reply(&it->ctx, &t, reply, (uint32_t)size - 1) == PROTO_AGAIN && t.tries != 1)
		abort();
	if (dns_request(&it->ctx, &t, it->query, sizeof(it->query)) == 0)
		abort();
	free(reply);
	return 0;
}

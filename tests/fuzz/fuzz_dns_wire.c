// SPDX-License-Identifier: BSD-3-Clause
// Files of whole messages, messages of zone transfers, and PROXY headers: the first byte says which
// the rest is. Each message of a file can be asked, and a bare FORMERR with its ID answers it.
// Path: tests only.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/dns/dns.h"
#include "lib/one_message.h"
#include "base/bytes.h"
#include "base/log.h"
#include "proto/dns/client/dns_internal.h"
#include "proto/dns/client/dns_proxy_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static const struct proto_env env = {.seed = 1, .workers = 1, .clients = 1, .addr_len = 4};

static struct proto_facts facts;

static void ask_all(struct proto_ctx *ctx, uint32_t count, bool captured)
{
	enum proto_verdict v;
	static uint8_t message[UINT16_MAX];
	struct proto_txn t = {.key = 0x1234};

	for (t.seq = 0; t.seq < count && t.seq < 64; t.seq++) {
		uint32_t len = proto_request(&dns_proto, ctx, &t, message, sizeof(message)), key;

		require(len >= DNS_HEADER_LEN && len <= facts.longest);
		message[2] |= 0x80; // QR
		require(dns_key(message, len, &key) && key == t.key);
		// A message that has one question may be anything else behind it.
		judge_one(&dns_proto, ctx, &t, message,
			len);   // any verdict: what follows the question may be anything
		message[3] = 1; // FORMERR
		memset(message + 4, 0, 8);
		v = judge_one(&dns_proto, ctx, &t, message, DNS_HEADER_LEN);
		require(v == PROTO_DONE || (captured && v == PROTO_FAIL));
		require((v == PROTO_FAIL) ==
			(dns_reason(ctx, &t, message, DNS_HEADER_LEN) != NULL));
	}
}

static void load_file(const uint8_t *data, size_t size, bool captured)
{
	static int32_t parts[] = {DNS_COMPARED_RCODE, DNS_COMPARED_FLAGS, DNS_COMPARED_ANSWER,
		DNS_COMPARED_AUTHORITY, DNS_COMPARED_ADDITIONAL};
	struct dns_expect_settings expect = {.captured = {parts, captured ? 5 : 0}};
	char path[64];
	struct dns_settings s = {.wire = path, .expect = &expect};
	struct dns_counters n = {0};
	struct proto_ctx ctx = {.counters = &n, .stream = true};
	struct diag *d = diag_new();
	int fd = memfd_create("wire", 0);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ctx.shared = dns_setup(&s, &env, &facts, d);
	require(ctx.shared || diag_count(d) > 0);
	if (ctx.shared) {
		require(dns_open(&ctx, &env) == 0);
		ask_all(&ctx, ((const struct dns_plan *)ctx.shared)->queries.count, captured);
		dns_close(&ctx);
		dns_teardown((void *)ctx.shared);
	}
	diag_free(d);
	close(fd);
}

// Messages, each behind a length of two bytes, to a question for all of a zone or for its changes.
static void transfer(const uint8_t *data, size_t size, bool incremental)
{
	const char *zone = incremental ? "a 5" : "a";
	const struct dns_settings s = {.transfers = {&zone, 1}};
	struct dns_counters n = {0};
	struct proto_ctx ctx = {.counters = &n, .stream = true};
	struct proto_txn t = {.key = 0x1234};
	struct diag *d = diag_new();
	struct reader r = reader_of(data, size);
	enum proto_verdict v = PROTO_KEPT;
	uint8_t question[128];

	ctx.shared = dns_setup(&s, &env, &facts, d);
	diag_free(d);
	require(ctx.shared && dns_open(&ctx, &env) == 0);
	require(proto_request(&dns_proto, &ctx, &t, question, sizeof(question)) > 0);
	while (v != PROTO_DONE && v != PROTO_FAIL && reader_left(&r) > 0) {
		uint32_t len = read_be16(&r);
		const uint8_t *at = read_bytes(&r, len);
		uint8_t *exact;

		if (!at)
			break;
		exact = malloc(len ? len : 1);
		require(exact != NULL);
		memcpy(exact, at, len);
		v = judge_one(&dns_proto, &ctx, &t, exact, len);
		free(exact);
	}
	require(n.transfers == (v == PROTO_DONE));
	dns_close(&ctx);
	dns_teardown((void *)ctx.shared);
}

static void proxy(const uint8_t *data, size_t size, bool stream)
{
	uint32_t head = 0, whole = dns_proxy_framed(data, (uint32_t)size);

	if (dns_proxy_read(data, (uint32_t)size, stream, &head) != DNS_PROXY_BAD)
		require(head <= size && (!stream || whole == head));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > UINT16_MAX)
		return 0;
	log_set_level(LOG_QUIET);
	if (data[0] & 1)
		load_file(data + 1, size - 1, data[0] & 8);
	else if (data[0] & 2)
		transfer(data + 1, size - 1, data[0] & 4);
	else
		proxy(data + 1, size - 1, data[0] & 4);
	return 0;
}

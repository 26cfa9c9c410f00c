// SPDX-License-Identifier: BSD-3-Clause
// Answers to the questions for a client's records, from anyone. The first byte chooses the record,
// and whether ID, question and data are put right, so that the fuzzer gets past the checks.
// Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dns/ddns/ddns.h"
#include "lib/one_message.h"
#include "proto/dns/ddns/ddns_internal.h"
#include "proto/dns/client/dns_internal.h"

#define KINDS         3 // of the first byte
#define GIVE_QUESTION 4
#define GIVE_RELEASE  8
#define LEN_MAX       1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool right)
{
	if (!right)
		abort();
}

static void name_of(const struct proto_ctx *of, uint32_t client, struct writer *out)
{
	write_bytes(out, "\2pc\7example", 12);
}

static void identity_of(const struct proto_ctx *of, uint32_t client, struct proto_identity *out)
{
	*out = (struct proto_identity){.type = 2, .len = 3, .bytes = "id"};
}

static const struct proto_followed followed = {.name = name_of, .identity = identity_of};

static uint64_t sum_of(const struct ddns_counters *n)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < DDNS_KINDS; k++)
		sum += n->visible[k] + n->gone[k];
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ddns_plan plan = {.followed = &followed,
		.records = size ? 1u << data[0] % KINDS : 0,
		.happenings = 3,
		.every_ms = 1,
		.within_ms = 1};
	struct proto_event event = {
		.addr_len = size && data[0] & 16 ? 16 : 4, .addr = {192, 0, 2, 1}, .at = 1};
	struct proto_ctx of = {0}, ctx = {.shared = &plan, .followed = &of};
	struct proto_txn t = {.key = 0x1234};
	struct ddns_counters n = {0};
	uint8_t query[512], *reply;
	struct ddns_worker *w;
	enum proto_verdict v;
	uint32_t len, head;

	if (size < 1 || size > LEN_MAX)
		return 0;
	w = calloc(1, sizeof(*w) + sizeof(w->clients[0]));
	reply = malloc(size); // one more: never of size 0
	if (!w || !reply)
		exit(1);
	w->fresh.first = w->again.first = DDNS_NOBODY;
	w->count = 1;
	ctx.own = w;
	ctx.counters = &n;
	event.what = data[0] & GIVE_RELEASE ? PROTO_RELEASED : PROTO_LEASED;
	if (event.what == PROTO_RELEASED)
		w->clients[0].seen = 0;
	ddns_happened(&ctx, &event);
	require(ddns_due(&ctx) == 0 && ddns_begin(&ctx, &t, 1) == 1);
	head = proto_request(&ddns_proto, &ctx, &t, query, sizeof(query));
	require(head > DNS_HEADER_LEN);
	len = (uint32_t)size - 1;
	memcpy(reply, data + 1, len);
	if (data[0] & GIVE_QUESTION && len >= head) {
		memcpy(reply, query, 2);
		reply[2] = DNS_QR | (reply[2] & DNS_TC);
		memcpy(reply + 4, query + 4, 2);
		memcpy(reply + DNS_HEADER_LEN, query + DNS_HEADER_LEN, head - DNS_HEADER_LEN);
	}
	v = judge_one(&ddns_proto, &ctx, &t, reply, len);
	require(sum_of(&n) == (ctx.mark != 0));
	require(v == PROTO_DONE || ctx.mark == 0);
	require(ctx.mark <= 2 * DDNS_KINDS);
	t.over = true;
	judge_one(&ddns_proto, &ctx, &t, reply, len);
	free(reply);
	free(w);
	return 0;
}

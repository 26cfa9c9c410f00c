// SPDX-License-Identifier: BSD-3-Clause
// Messages from anyone to the DHCPv4 responder, one after the other with one table of leases: every
// answer must itself be well formed, with and without a fault. The input is a sequence of messages,
// each behind three bytes: seconds that pass, and its length. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/server/dhcp4_answer.h"
#define ROOM 700

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dhcp_answer_counters n;

static void server_open(struct proto_ctx *ctx)
{
	static const struct addr_range pool = {{4, {198, 18, 64, 16}}, 3};
	const struct dhcp4_answers_settings s = {
		.common.pool = {(void *)&pool, 1},
		.common.clients = UINT64_MAX,
		.common.lease_ns = 100000000000,
		.common.t1_ns = UINT64_MAX,
		.common.t2_ns = UINT64_MAX,
		.server_id = {4, {198, 18, 0, 2}},
		.common.domain = "example.com",
		.common.rapid = true,
		.common.address_twice = 3,
	};
	const struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();

	ctx->shared = dhcp4_answers_setup(&s, &env, d);
	ctx->counters = &n;
	diag_free(d);
	if (!ctx->shared || dhcp4_answers_open(ctx, &env) < 0)
		abort();
}

static void check_parses(const uint8_t *out, uint32_t len)
{
	static struct dhcp4_scratch scratch;
	struct dhcp4_message m;

	if (len > ROOM || !dhcp4_parse(out, len, &scratch, &m) || m.op != DHCP4_REPLY_OP ||
		!m.has_end || m.type == 0)
		abort();
}

static void check_answer(const uint8_t *request, const uint8_t *out, uint32_t len)
{
	struct proto_direction to;
	uint8_t *copy = malloc(ROOM);

	if (!copy)
		return;
	check_parses(out, len);
	if (memcmp(request + DHCP4_AT_XID, out + DHCP4_AT_XID, 4) != 0)
		abort();
	dhcp4_direct(out, len, &to);
	for (const struct proto_fault *f = dhcp4_faults; f->name; f++) {
		uint32_t spoiled;

		memcpy(copy, out, len);
		spoiled = f->apply(copy, len, ROOM, len);
		if (spoiled == 0 && memcmp(copy, out, len) != 0)
			abort();
		if (spoiled > 0 && spoiled <= ROOM)
			check_parses(copy, spoiled);
	}
	free(copy);
}

static void hear(struct proto_ctx *ctx, const uint8_t *data, uint32_t len)
{
	uint8_t *request = malloc(len ? len : 1), *out = malloc(ROOM);
	uint32_t answer;

	if (request && out) {
		memcpy(request, data, len);
		answer = dhcp4_answer(ctx, request, len, out, ROOM);
		if (answer)
			check_answer(request, out, answer);
	}
	free(request);
	free(out);
}

// Every lease is in one queue, that of its state.
static void check_queues(const struct dhcp_pool *p)
{
	uint32_t seen = 0;

	for (uint32_t state = 0; state < DHCP_LEASE_STATES; state++)
		for (uint32_t i = p->queues[state].head; i != DHCP_NO_LEASE;
			i = dhcp_pool_record(p, i)->next)
			if (dhcp_pool_record(p, i)->state != state || ++seen > p->count)
				abort();
	if (seen != p->count)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct proto_ctx ctx;
	struct dhcp_pool *p;
	struct reader r = reader_of(data, size);

	if (!ctx.shared)
		server_open(&ctx);
	p = &((struct dhcp_server *)ctx.own)->pools[DHCP_ADDRESSES];
	dhcp_pool_clear(p);
	p->fresh = 0;
	ctx.now_ms = 0;
	while (reader_left(&r) >= 3) {
		uint32_t len;

		ctx.now_ms += 1000u * read_u8(&r);
		len = read_be16(&r);
		if (len > reader_left(&r))
			len = (uint32_t)reader_left(&r);
		hear(&ctx, read_bytes(&r, len), len);
	}
	check_queues(p);
	if (n.received != n.answered + n.released + n.declined + n.pool_full + n.other_server +
				  n.unknown_client + n.ignored + n.malformed)
		abort();
	return 0;
}

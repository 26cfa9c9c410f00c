// SPDX-License-Identifier: BSD-3-Clause
// Messages from anyone to the DHCPv6 responder, one after the other with one table of leases: every
// answer must itself be well formed, with and without a fault. The input is a sequence of messages,
// each behind three bytes: seconds that pass, and its length. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/server/dhcp6_answer.h"

#define ROOM 1500

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dhcp_answer_counters n;

static void server_open(struct proto_ctx *ctx)
{
	static const struct addr_range pool = {{16, {0x20, 1, [15] = 0x10}}, 3};
	static const struct addr_prefix prefixes = {{16, {0x20, 2}}, 54};
	const struct dhcp6_answers_settings s = {
		.common.pool = {(void *)&pool, 1},
		.common.prefixes = {(void *)&prefixes, 1},
		.common.prefix_length = 56,
		.common.clients = 3,
		.common.lease_ns = 100000000000,
		.common.preferred_ns = UINT64_MAX,
		.common.t1_ns = UINT64_MAX,
		.common.t2_ns = UINT64_MAX,
		.preference = 255,
		.common.domain = "example.com",
		.sol_max_rt_ns = 3600000000000,
		.common.rapid = true,
		.common.authoritative = true,
		.common.address_twice = 3,
		.common.prefix_twice = 2,
	};
	const struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();

	ctx->shared = dhcp6_answers_setup(&s, &env, d);
	ctx->counters = &n;
	diag_free(d);
	if (!ctx->shared || dhcp6_answers_open(ctx, &env) < 0)
		abort();
}

static void check_parses(const uint8_t *out, uint32_t len)
{
	static struct dhcp6_envelope e;
	static struct dhcp6_message m;

	if (len > ROOM || !dhcp6_unwrap(out, len, &e) || !dhcp6_parse(e.inner, e.inner_len, &m) ||
		(m.type != DHCP6_ADVERTISE && m.type != DHCP6_REPLY))
		abort();
}

static void check_faults(const uint8_t *out, uint32_t len)
{
	uint8_t *copy = malloc(ROOM);

	if (!copy)
		return;
	for (const struct proto_fault *f = dhcp6_faults; f->name; f++) {
		uint32_t spoiled;

		memcpy(copy, out, len);
		spoiled = f->apply(copy, len, ROOM, len * 0x9e3779b97f4a7c15u);
		if (spoiled == 0 && memcmp(copy, out, len) != 0)
			abort();
		if (spoiled > 0 && spoiled != PROTO_NO_ANSWER)
			check_parses(copy, spoiled);
	}
	free(copy);
}

static void check_answer(
	const uint8_t *request, uint32_t request_len, const uint8_t *out, uint32_t len)
{
	uint32_t asked, answered;
	struct proto_direction to;

	check_parses(out, len);
	if (!dhcp6_xid(request, request_len, DHCP6_RELAY_FORW, &asked) ||
		!dhcp6_xid(out, len, DHCP6_RELAY_REPL, &answered) || asked != answered)
		abort();
	dhcp6_direct(out, len, &to);
	check_faults(out, len);
}

static void hear(struct proto_ctx *ctx, const uint8_t *data, uint32_t len)
{
	uint8_t *request = malloc(len ? len : 1), *out = malloc(ROOM);
	uint32_t answer;

	if (request && out) {
		memcpy(request, data, len);
		answer = dhcp6_answer(ctx, request, len, out, ROOM);
		if (answer)
			check_answer(request, len, out, answer);
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
	struct dhcp_server *s;
	struct reader r = reader_of(data, size);

	if (!ctx.shared)
		server_open(&ctx);
	s = ctx.own;
	for (uint32_t kind = 0; kind < DHCP_KINDS; kind++) {
		dhcp_pool_clear(&s->pools[kind]);
		s->pools[kind].fresh = 0;
	}
	ctx.now_ms = 0;
	while (reader_left(&r) >= 3) {
		uint32_t len;

		ctx.now_ms += 1000u * read_u8(&r);
		len = read_be16(&r);
		if (len > reader_left(&r))
			len = (uint32_t)reader_left(&r);
		hear(&ctx, read_bytes(&r, len), len);
	}
	for (uint32_t kind = 0; kind < DHCP_KINDS; kind++)
		check_queues(&s->pools[kind]);
	if (n.received != n.answered + n.other_server + n.ignored + n.malformed)
		abort();
	return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Messages of any content to the server of one family, one after the other with one table of
// leases: every reply must itself be well formed, with and without a fault. The input is a sequence
// of messages, each behind three bytes: seconds that pass, and its length, in which the highest bit
// says that it comes over a connection. A family's harness includes this after its definitions of
// FAMILY(name), ROOM and GIVING_BACK_IS_SILENT. Path: tests only.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEASES_MOST 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dhcp_answer_counters n;

// Of the family: the settings; a reply, perhaps with a fault, is well formed; it answers the
// request.
static struct FAMILY(answers_settings) server_settings(void);
static void check_parses(const uint8_t *out, uint32_t len);
static void check_answers(
	const uint8_t *request, uint32_t request_len, const uint8_t *out, uint32_t len);

static void server_open(struct proto_ctx *ctx)
{
	struct FAMILY(answers_settings) s = server_settings();
	const struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();

	ctx->shared = FAMILY(server).setup(&s, &env, &(struct proto_facts){0}, d);
	ctx->counters = &n;
	diag_free(d);
	if (!ctx->shared || FAMILY(server).open(ctx, &env) < 0)
		abort();
}

static void check_faults(const uint8_t *out, uint32_t len)
{
	uint8_t *copy = malloc(ROOM);

	for (const struct proto_fault *f = FAMILY(server).faults; copy && f->name; f++) {
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

// The further messages of an answer: about each lease, and the last one.
static void go_on(struct proto_ctx *ctx, const uint8_t *request, uint32_t len, uint8_t *out)
{
	uint32_t answer, messages = 0;

	while (ctx->more) {
		answer = FAMILY(server).more(ctx, NULL, 0, out, ROOM);
		if (answer == 0 || ++messages > LEASES_MOST)
			abort();
		check_parses(out, answer);
		check_answers(request, len, out, answer);
	}
}

static void hear(struct proto_ctx *ctx, const uint8_t *data, uint32_t len, bool stream)
{
	uint8_t *request = malloc(len ? len : 1), *out = malloc(ROOM);
	struct proto_direction to;
	uint32_t answer = 0;

	ctx->stream = stream;
	ctx->more = 0;
	if (request && out) {
		memcpy(request, data, len);
		answer = FAMILY(server).answer(ctx, request, len, out, ROOM);
	}
	ctx->stream = false;
	if (answer) {
		check_parses(out, answer);
		check_answers(request, len, out, answer);
		FAMILY(direct)(out, answer, &to);
		check_faults(out, answer);
		if (stream)
			go_on(ctx, request, len, out);
		else if (ctx->more) {
			answer = FAMILY(server).more(ctx, request, len, out, ROOM);
			if (answer)
				check_parses(out, answer);
		}
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
	struct reader r = reader_of(data, size);
	struct dhcp_server *s;

	if (!ctx.shared)
		server_open(&ctx);
	s = ctx.own;
	for (uint32_t kind = 0; kind < DHCP_KINDS; kind++) {
		dhcp_pool_clear(&s->pools[kind]);
		s->pools[kind].fresh = 0;
	}
	ctx.now_ms = 0;
	while (reader_left(&r) >= 3) {
		uint32_t len, head;

		ctx.now_ms += 1000u * read_u8(&r);
		head = read_be16(&r);
		len = head & 0x7fff;
		if (len > reader_left(&r))
			len = (uint32_t)reader_left(&r);
		hear(&ctx, read_bytes(&r, len), len, head >> 15);
	}
	for (uint32_t kind = 0; kind < DHCP_KINDS; kind++)
		check_queues(&s->pools[kind]);
	if (n.received != n.answered + n.pool_full + n.other_server + n.unknown_client + n.ignored +
				  n.malformed +
				  (GIVING_BACK_IS_SILENT ? n.released + n.declined : 0))
		abort();
	return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Parley: a protocol that exists in tests only, to prove docs/protocols.md. Its identifier has 8
// bits; a request carries a digest of itself, and an answer one of the request and itself (as in
// RFC 2865); a HELLO is answered by two PARTs from another port of the server, where the CONFIRM
// that follows must go. Path: hot, and cold (set-up). The thread that owns ctx.
#include <nettle/md5.h>
#include <stdlib.h>

#include "proto/proto.h"

#define LEN   28 // of each message: code, identifier, part, 0, nonce of 8 bytes, digest of 16
#define NONCE 4
#define CODE  12
#define PORT  7000
#define PORTS 3 // of the server, after that one

enum code { HELLO = 1, PART, CONFIRM, DONE };
enum step { OPENING, CONFIRMING };

static const char *const steps[] = {"hello-parts", "confirm-done", NULL};

static const struct field_section section = {
	"parley", "an exchange with two ports of a server", .size = sizeof(uint64_t)};
#define COUNTERS(X)                                                                                \
	X(hellos, "HELLOs answered")                                                               \
	X(parts, "PARTs received")                                                                 \
	X(confirms, "CONFIRMs answered")                                                           \
	X(again, "messages sent again")                                                            \
	X(bad_digest, "messages with a wrong digest")                                              \
	X(wrong_port, "messages to the wrong port")

struct counters { // of both sides
	COUNTERS(COUNTER_MEMBER)
};

#define OFFSET(member) offsetof(struct counters, member)
static const struct counter rows[] = {COUNTERS(COUNTER_MEMBER_ROW)};
static const struct counter_section counters = {
	"parley", "parley", COUNTER_ROWS(rows), sizeof(struct counters)};

// The digest of a message: of a request with zeros in its place, of an answer with the request's.
static void digest(const uint8_t *message, const uint8_t *request, uint8_t out[16])
{
	static const uint8_t zeros[16];
	struct md5_ctx md5;

	md5_init(&md5);
	md5_update(&md5, CODE, message);
	md5_update(&md5, 16, request ? request + CODE : zeros);
	md5_update(&md5, 6, (const uint8_t *)"secret");
	md5_digest(&md5, 16, out);
}

static uint32_t message_write(enum code code, uint8_t id, uint8_t part, uint64_t nonce,
	const uint8_t *request, uint8_t *out)
{
	memcpy(out, (uint8_t[]){(uint8_t)code, id, part, 0}, NONCE);
	bytes_put_be64(out + NONCE, nonce);
	digest(out, request, out + CODE);
	return LEN;
}

// user of the client: the port of the server, and a bit above it for each PART that came.
#define PART_BIT(part) (0x10000u << (part))
#define BOTH_PARTS     0x30000u

static void request_of(const struct proto_ctx *ctx, const struct proto_txn *t, uint8_t *out)
{
	const uint64_t *seed = ctx->shared;

	message_write(t->step == OPENING ? HELLO : CONFIRM, (uint8_t)t->key, 0,
		rand_hash(*seed ^ rand_hash(t->seq) ^ t->step), NULL, out);
}

static void request(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
	struct proto_out *out, uint32_t n, uint32_t room)
{
	for (uint32_t i = 0; i < n; i++) {
		out[i].sum = 0;
		out[i].len = room < LEN ? 0 : LEN;
		flow[i].dst_port = t[i]->step == OPENING ? 0 : (uint16_t)t[i]->user;
		if (out[i].len)
			request_of(ctx, t[i], out[i].buf);
	}
}

static bool key(const uint8_t *buf, uint32_t len, uint32_t *out)
{
	if (len != LEN || (buf[0] != PART && buf[0] != DONE) || buf[2] > 1)
		return false;
	*out = buf[1];
	return true;
}

static enum proto_verdict judge(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	struct counters *n = ctx->counters;
	uint8_t asked[LEN], due[16];

	request_of(ctx, t, asked);
	if (buf[0] != (t->step == OPENING ? PART : DONE) ||
		memcmp(buf + NONCE, asked + NONCE, CODE - NONCE) != 0)
		return PROTO_STRAY;
	digest(buf, asked, due);
	if (memcmp(buf + CODE, due, sizeof(due)) != 0) {
		n->bad_digest++;
		return PROTO_FAIL;
	}
	if (t->step == CONFIRMING || t->over)
		return PROTO_DONE;
	if (t->user & PART_BIT(buf[2]))
		return PROTO_DUPLICATE;
	n->parts++;
	t->user = (t->user & BOTH_PARTS) | PART_BIT(buf[2]) | (ctx->ends ? ctx->ends->src_port : 0);
	if ((t->user & BOTH_PARTS) != BOTH_PARTS)
		return PROTO_KEPT; // the other part follows
	t->step = CONFIRMING;
	t->tries = 0;
	return PROTO_AGAIN;
}

PROTO_REPLY(parley_reply, judge)

static enum proto_verdict timeout(struct proto_ctx *ctx, struct proto_txn *t)
{
	if (++t->tries >= 3)
		return PROTO_FAIL;
	((struct counters *)ctx->counters)->again++;
	return PROTO_AGAIN;
}

static void *setup(const void *settings, const struct proto_env *env, struct proto_facts *facts,
	struct diag *d)
{
	uint64_t *seed = malloc(sizeof(*seed));

	if (seed)
		*seed = env->seed;
	facts->any_port = true;
	return seed;
}

static uint32_t answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	struct counters *n = ctx->counters;
	uint16_t port = (uint16_t)(PORT + 1 + buf[1] % PORTS);
	uint8_t due[16];

	if (len != LEN || room < LEN)
		return 0;
	digest(buf, NULL, due);
	n->bad_digest += memcmp(buf + CODE, due, sizeof(due)) != 0;
	n->wrong_port += ctx->ends && ctx->ends->dst_port != (buf[0] == HELLO ? PORT : port);
	if (n->bad_digest || n->wrong_port)
		return 0;
	ctx->directed = true;
	ctx->to = (struct proto_direction){.src_port = port};
	ctx->more = buf[0] == HELLO;
	*(buf[0] == HELLO ? &n->hellos : &n->confirms) += 1;
	return message_write(
		buf[0] == HELLO ? PART : DONE, buf[1], 0, bytes_be64(buf + NONCE), buf, out);
}

static uint32_t more(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	ctx->more = 0;
	return room < LEN ? 0 : message_write(PART, buf[1], 1, bytes_be64(buf + NONCE), buf, out);
}

static void *server_setup(const void *settings, const struct proto_env *env,
	struct proto_facts *facts, struct diag *d)
{
	facts->ports = PORTS;
	return malloc(1);
}

static const struct proto_server server = {.settings = &section,
	.counters = &counters,
	.setup = server_setup,
	.teardown = free,
	.answer = answer,
	.more = more};

const struct proto parley_proto = {.name = "parley",
	.help = "an exchange of tests",
	.ports = &(const struct proto_ports){.plain = PORT},
	.key_bits = 8,
	.steps = steps,
	.settings = &section,
	.counters = &counters,
	.server = &server,
	.setup = setup,
	.teardown = free,
	.request = request,
	.key = key,
	.reply = parley_reply,
	.timeout = timeout};

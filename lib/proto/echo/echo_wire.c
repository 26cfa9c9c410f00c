// SPDX-License-Identifier: BSD-3-Clause
// Messages of echo: a header and a fill. An echo server returns both unchanged (RFC 862); the
// responder repeats or cuts them to the length requested in the header, so the tester knows each
// byte of a reply without storing one. A message or reply that is shorter than the header has no
// header: it begins with as many bytes of the key as both have room for. Path: hot. The worker that
// owns the ctx.
#include <string.h>

#include "base/bytes.h"
#include "base/rand.h"
#include "net/csum.h"
#include "proto/echo/echo_internal.h"

// Offsets in the header.
#define KEY    4
#define COOKIE 8
#define LENGTH 16 // of this message
#define WANTED 18 // length of the reply; 0: none

static const uint8_t magic[KEY] = {'d', 'd', 'i', 0xec};

static void head_write(const struct echo_plan *p, const struct proto_txn *t, uint8_t *to)
{
	if (p->head != ECHO_HEAD) {
		for (uint32_t i = 0; i < p->head; i++)
			to[i] = (uint8_t)(t->key >> 8 * i);
		return;
	}
	memcpy(to, magic, sizeof(magic));
	bytes_put_be32(to + KEY, t->key);
	bytes_put_be64(to + COOKIE, rand_hash(p->seed ^ rand_hash(t->seq) ^ t->key));
	bytes_put_be16(to + LENGTH, (uint16_t)p->size);
	bytes_put_be16(to + WANTED, (uint16_t)p->reply);
}

// The bytes after the header.
static const uint8_t *fill_of(const struct echo_plan *p, const struct proto_txn *t)
{
	return p->fill + (p->random ? rand_hash(~p->seed ^ t->seq) % ECHO_FILL : 0);
}

static bool has_head(const uint8_t *buf, uint32_t len)
{
	return len >= ECHO_HEAD && memcmp(buf, magic, sizeof(magic)) == 0 &&
	       bytes_be16(buf + LENGTH) == len;
}

static uint32_t request_write(
	struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	const struct echo_plan *p = ctx->shared;
	struct echo_counters *n = ctx->counters;

	if (room < p->size)
		return 0;
	head_write(p, t, buf);
	memcpy(buf + p->head, fill_of(p, t), p->size - p->head);
	if (!p->random && p->head == ECHO_HEAD)
		ctx->sum = csum_add(p->fill_sum, buf, ECHO_HEAD);
	t->silent = p->reply == 0;
	n->request_bytes += p->size;
	return p->size;
}

PROTO_REQUEST(echo_request, request_write)

uint32_t echo_framed(const uint8_t *buf, uint32_t len)
{
	uint32_t whole;

	if (memcmp(buf, magic, len < sizeof(magic) ? len : sizeof(magic)) != 0)
		return len < UINT16_MAX ? len : UINT16_MAX; // bytes of a stream (RFC 862)
	if (len < LENGTH + 2)
		return 0;
	whole = bytes_be16(buf + LENGTH);
	return whole < ECHO_HEAD ? len : whole;
}

bool echo_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	if (!has_head(buf, len))
		return false;
	*key = bytes_be32(buf + KEY);
	return true;
}

static bool key_read(const uint8_t *buf, uint32_t len, uint32_t bytes, uint32_t *key)
{
	if (len < bytes)
		return false;
	*key = 0;
	for (uint32_t i = 0; i < bytes; i++)
		*key |= (uint32_t)buf[i] << 8 * i;
	return true;
}

bool echo_key_1(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	return key_read(buf, len, 1, key);
}

bool echo_key_2(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	return key_read(buf, len, 2, key);
}

bool echo_key_3(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	return key_read(buf, len, 3, key);
}

bool echo_key_4(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	return key_read(buf, len, 4, key);
}

// Checks for repetitions of the request, the first header with the length of the reply.
static bool is_echo(const struct echo_plan *p, const struct proto_txn *t, const uint8_t *head,
	const uint8_t *buf, uint32_t len)
{
	const uint8_t *fill = fill_of(p, t);

	for (uint32_t at = 0; at < len; at += p->size) {
		uint32_t part = len - at < p->size ? len - at : p->size;
		uint32_t front = part < p->head ? part : p->head;

		if (at && memcmp(buf + at, head, front) != 0)
			return false;
		if (memcmp(buf + at + front, fill, part - front) != 0)
			return false;
	}
	return true;
}

static enum proto_verdict reply_judge(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	const struct echo_plan *p = ctx->shared;
	struct echo_counters *n = ctx->counters;
	uint8_t head[ECHO_HEAD];

	if (p->head == ECHO_HEAD && !has_head(buf, len))
		return PROTO_MALFORMED;
	head_write(p, t, head);
	if (p->head == ECHO_HEAD && memcmp(buf, head, LENGTH) != 0)
		return PROTO_STRAY;
	n->reply_bytes += len;
	if (len != p->reply) {
		n->wrong_length++;
		return PROTO_FAIL;
	}
	if ((p->head == ECHO_HEAD && memcmp(buf + WANTED, head + WANTED, 2) != 0) ||
		!is_echo(p, t, head, buf, len)) {
		n->wrong_bytes++;
		return PROTO_FAIL;
	}
	return PROTO_DONE;
}

PROTO_REPLY(echo_reply, reply_judge)

// The server has accepted the connection, or refuses it with a message.
static enum proto_verdict connected_judge(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	return len == 0 ? PROTO_DONE : PROTO_STRAY;
}

PROTO_REPLY(echo_connected, connected_judge)

enum proto_verdict echo_timeout(struct proto_ctx *ctx, struct proto_txn *t)
{
	return PROTO_FAIL;
}

// --- the server ---

static bool is_from_echo_server(const struct proto_ctx *ctx)
{
	return ctx->ends && ctx->ends->src_port == ctx->ends->dst_port;
}

// Length of the reply, up to room; 0: none.
static uint32_t answer_len(
	const struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint32_t room)
{
	const struct echo_server_plan *p = ctx->shared;
	struct echo_server_counters *n = ctx->counters;
	uint64_t plain = p->reply == UINT64_MAX ? len : p->reply;
	uint32_t want;

	if (!has_head(buf, len)) {
		if (len == 0 || plain > room || is_from_echo_server(ctx)) {
			n->ignored++;
			return 0;
		}
		n->plain += plain != 0;
		n->one_way += plain == 0;
		return (uint32_t)plain;
	}
	want = bytes_be16(buf + WANTED);
	if (want == 0) {
		n->one_way++;
		return 0;
	}
	want = want < ECHO_HEAD ? ECHO_HEAD : want;
	if (want <= room)
		return want;
	n->cut++;
	return room;
}

uint32_t echo_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	const struct echo_server_plan *p = ctx->shared;
	struct echo_server_counters *n = ctx->counters;
	uint32_t most = ctx->stream || room < p->longest ? room : p->longest, want, at;

	n->received++;
	n->received_bytes += len;
	want = answer_len(ctx, buf, len, most);
	if (want == 0)
		return 0;
	at = len < want ? len : want;
	memcpy(out, buf, at);
	while (at < want) {
		uint32_t more = want - at < at ? want - at : at;

		memcpy(out + at, out, more);
		at += more;
	}
	if (want != len && has_head(buf, len))
		bytes_put_be16(out + LENGTH, (uint16_t)want);
	n->answered++;
	n->answered_bytes += want;
	return want;
}

static uint32_t wrong_fill(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	if (!has_head(buf, len) || len == ECHO_HEAD)
		return 0;
	buf[ECHO_HEAD + rand_scale(random, len - ECHO_HEAD)] ^= 1;
	return len;
}

static uint32_t wrong_length(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	if (!has_head(buf, len) || len == ECHO_HEAD)
		return 0;
	bytes_put_be16(buf + LENGTH, ECHO_HEAD);
	return ECHO_HEAD;
}

static uint32_t wrong_cookie(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	if (!has_head(buf, len))
		return 0;
	buf[COOKIE] ^= 1;
	return len;
}

// The key is kept: the transaction is found, and its check rejects the reply.
const struct proto_fault echo_faults[] = {
	{"wrong_fill", "echo replies with a bit changed behind the header", false, wrong_fill},
	{"header_only", "echo replies without the bytes behind the header", false, wrong_length},
	{"wrong_echo", "echo replies with the cookie of another message", false, wrong_cookie},
	{0},
};

// SPDX-License-Identifier: BSD-3-Clause
// NTP messages (RFC 5905 section 7.3): requests of clients, the check of replies, and the server's
// answer with its faults. Functions on bytes; settings are in ntp.c. Path: hot. The worker that
// owns the ctx.
#include <string.h>

#include "base/bytes.h"
#include "base/rand.h"
#include "proto/ntp/ntp_internal.h"

// Offsets in the header.
#define STRATUM     1
#define POLL        2
#define PRECISION   3
#define ROOT_DELAY  4
#define DISPERSION  8
#define REFERENCE   12 // identifier; stratum 0: the kiss code
#define REFERENCED  16 // timestamps of 8 bytes: seconds since 1900, fraction
#define ORIGIN      24
#define RECEIVED    32
#define TRANSMITTED 40

#define MODE_CLIENT 3
#define MODE_SERVER 4
#define VERSION_MAX 4

// The first second of 2026, at which the responder's clock starts: a protocol has no access to the
// clock of the box.
#define CLOCK_BEGIN 3976214400u

static uint8_t leap_of(const uint8_t *buf)
{
	return buf[0] >> 6;
}

static uint8_t version_of(const uint8_t *buf)
{
	return buf[0] >> 3 & 7;
}

static uint8_t mode_of(const uint8_t *buf)
{
	return buf[0] & 7;
}

// The transmit timestamp of a request: the key in the lower half, and a value that varies between
// transactions in the upper half. A server returns both as the origin timestamp.
static uint64_t cookie_of(const struct ntp_plan *p, const struct proto_txn *t)
{
	uint32_t value = (uint32_t)rand_hash(p->seed ^ rand_hash(t->seq) ^ t->key);

	return (uint64_t)(value | 1u << 31) << 32 | t->key;
}

static uint32_t request_write(
	struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	const struct ntp_plan *p = ctx->shared;
	struct ntp_counters *n = ctx->counters;

	if (room < NTP_LEN)
		return 0;
	memset(buf, 0, NTP_LEN);
	buf[0] = (uint8_t)(p->version << 3 | MODE_CLIENT);
	buf[POLL] = p->poll;
	bytes_put_be64(buf + TRANSMITTED, cookie_of(p, t));
	n->request_bytes += NTP_LEN;
	return NTP_LEN;
}

PROTO_REQUEST(ntp_request, request_write)

bool ntp_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	if (len < NTP_LEN || mode_of(buf) != MODE_SERVER)
		return false;
	*key = bytes_be32(buf + ORIGIN + 4);
	return true;
}

static enum ntp_kiss kiss_of(const uint8_t *code)
{
	static const char codes[NTP_KISS_OTHER][4] = {
		{'R', 'A', 'T', 'E'}, {'D', 'E', 'N', 'Y'}, {'R', 'S', 'T', 'R'}};

	for (uint32_t i = 0; i < NTP_KISS_OTHER; i++)
		if (memcmp(code, codes[i], 4) == 0)
			return (enum ntp_kiss)i;
	return NTP_KISS_OTHER;
}

// The server's clock is usable: synchronised, and no kiss-o'-death (RFC 5905 section 7.4).
static bool is_usable(const uint8_t *buf, struct ntp_counters *n)
{
	if (buf[STRATUM] == 0 && bytes_be32(buf + REFERENCE) != 0) {
		n->kiss[kiss_of(buf + REFERENCE)]++;
		return false;
	}
	if (buf[STRATUM] == 0 || buf[STRATUM] >= NTP_STRATUM_NO || leap_of(buf) == NTP_LEAP_ALARM) {
		n->unsynchronised++;
		return false;
	}
	return true;
}

static enum proto_verdict reply_judge(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	const struct ntp_plan *p = ctx->shared;
	struct ntp_counters *n = ctx->counters;
	bool right = true;

	if (len < NTP_LEN || mode_of(buf) != MODE_SERVER)
		return PROTO_MALFORMED;
	if (bytes_be64(buf + ORIGIN) != cookie_of(p, t))
		return PROTO_STRAY;
	n->reply_bytes += len;
	n->leap[leap_of(buf)]++;
	n->stratum[buf[STRATUM] < NTP_STRATUM_NO ? buf[STRATUM] : NTP_STRATUM_NO]++;
	if (!is_usable(buf, n))
		return PROTO_FAIL;
	if (version_of(buf) != p->version) {
		n->bad_version++;
		right = false;
	}
	if (bytes_be64(buf + TRANSMITTED) == 0) {
		n->no_transmit_time++;
		right = false;
	}
	return right ? PROTO_DONE : PROTO_FAIL;
}

PROTO_REPLY(ntp_reply, reply_judge)

enum proto_verdict ntp_timeout(struct proto_ctx *ctx, struct proto_txn *t)
{
	return PROTO_FAIL;
}

// --- the server ---

static uint64_t timestamp(uint64_t ms)
{
	uint64_t fraction = ((ms % 1000) << 32) / 1000;

	return (CLOCK_BEGIN + ms / 1000) << 32 | fraction;
}

uint32_t ntp_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	const struct ntp_server_plan *p = ctx->shared;
	struct ntp_server_counters *n = ctx->counters;
	bool synchronised = p->stratum < NTP_STRATUM_NO;
	uint64_t now = timestamp(ctx->now_ms);

	n->received++;
	if (len < NTP_LEN || room < NTP_LEN || mode_of(buf) != MODE_CLIENT ||
		version_of(buf) - 1u >= VERSION_MAX) {
		n->ignored++;
		return 0;
	}
	memset(out, 0, NTP_LEN);
	out[0] = (uint8_t)((synchronised ? NTP_LEAP_NONE : NTP_LEAP_ALARM) << 6 |
			   version_of(buf) << 3 | MODE_SERVER);
	out[STRATUM] = p->stratum;
	out[POLL] = buf[POLL];
	out[PRECISION] = (uint8_t)-10;             // ms
	bytes_put_be32(out + ROOT_DELAY, 1 << 10); // 1/64 s
	bytes_put_be32(out + DISPERSION, 1 << 10);
	memcpy(out + REFERENCE, p->stratum == 1 ? "LOCL" : "\x7f\x7f\x01\x01", 4);
	bytes_put_be64(out + REFERENCED, timestamp(0));
	memcpy(out + ORIGIN, buf + TRANSMITTED, 8);
	bytes_put_be64(out + RECEIVED, now);
	bytes_put_be64(out + TRANSMITTED, now);
	n->answered++;
	return NTP_LEN;
}

static uint32_t kiss(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	buf[0] |= NTP_LEAP_ALARM << 6;
	buf[STRATUM] = 0;
	memcpy(buf + REFERENCE, "RATE", 4);
	return len;
}

static uint32_t unsynchronised(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	buf[0] |= NTP_LEAP_ALARM << 6;
	buf[STRATUM] = NTP_STRATUM_NO;
	return len;
}

// The key is kept: the transaction is found, and its check rejects the reply.
static uint32_t wrong_origin(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	buf[ORIGIN + 3] ^= 1;
	return len;
}

const struct proto_fault ntp_faults[] = {
	{"kiss", "kiss-o'-death RATE in place of the time", false, kiss},
	{"unsynchronised", "leap indicator alarm and stratum 16", false, unsynchronised},
	{"wrong_origin", "replies with another origin timestamp", false, wrong_origin},
	{0},
};

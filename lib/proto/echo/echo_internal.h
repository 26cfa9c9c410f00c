// SPDX-License-Identifier: BSD-3-Clause
// Shared by echo.c (settings, counters, set-up) and echo_wire.c (messages): the settings, the plan
// made by setup, and the counters. Path: cold (setup) | hot (the verbs). The thread that owns the
// ctx.
#pragma once

#include "base/counter.h"
#include "net/transport.h"
#include "proto/proto.h"

#define ECHO_HEAD       20    // bytes of the header of each message
#define ECHO_MOST       65000 // of a message
#define ECHO_FILL       65536 // offsets of a random fill, and bytes after the last offset
#define ECHO_REPLY_MOST 1400  // of a reply in a datagram, by default
#define ECHO_KEY_MOST   4     // bytes of the key at the start of a message without a header

enum echo_test { ECHO_RR, ECHO_STREAM, ECHO_CONNECT };
enum echo_fill { ECHO_COUNTING, ECHO_ZEROS, ECHO_HEX, ECHO_RANDOM };

struct echo_settings {
	struct transport_settings transport;
	uint64_t size;
	uint64_t reply; // UINT64_MAX: as size
	int32_t test;   // enum echo_test
	int32_t fill;   // enum echo_fill
};

struct echo_server_settings {
	uint64_t longest; // longest reply in a datagram
	uint64_t request; // of messages without a header, over a connection; UINT64_MAX: any
	uint64_t reply;   // to such a message; UINT64_MAX: of equal length
};

// Created by setup, then const.
struct echo_plan {
	uint64_t seed;
	uint64_t fill_sum; // of the bytes behind the header; 0: they differ between messages
	uint32_t size;
	uint32_t reply; // 0: no reply is requested
	uint32_t head;  // bytes in front of the fill: ECHO_HEAD, or the length of the key
	bool random;
	uint8_t fill[2 * ECHO_FILL];
};

struct echo_server_plan {
	uint32_t longest;
	uint64_t reply; // UINT64_MAX: as long as the request
};

// clang-format off
#define ECHO_COUNTERS(X) \
	X(request_bytes, "bytes of messages written") \
	X(reply_bytes, "bytes of messages in replies") \
	X(wrong_length, "failed: replies of another length than expected") \
	X(wrong_bytes, "failed: replies whose bytes differ from the request")

#define ECHO_SERVER_COUNTERS(X) \
	X(received, "messages to the responder") \
	X(received_bytes, "bytes of them") \
	X(answered, "replies made") \
	X(answered_bytes, "bytes of them") \
	X(one_way, "messages that want no reply") \
	X(plain, "of those answered, without a header: returned unchanged or as set by `reply`") \
	X(cut, "of those answered, shorter than wanted: the reply did not fit") \
	X(ignored, "datagrams of another echo server, or without a byte")
// clang-format on

struct echo_counters {
	ECHO_COUNTERS(COUNTER_MEMBER)
};

struct echo_server_counters {
	ECHO_SERVER_COUNTERS(COUNTER_MEMBER)
};

// The verbs of proto.h.
void echo_request(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
	struct proto_out *out, uint32_t n, uint32_t room);
uint32_t echo_framed(const uint8_t *buf, uint32_t len);
bool echo_key(const uint8_t *buf, uint32_t len, uint32_t *key);
// For messages without a header, by the length of the key in bytes.
bool echo_key_1(const uint8_t *buf, uint32_t len, uint32_t *key);
bool echo_key_2(const uint8_t *buf, uint32_t len, uint32_t *key);
bool echo_key_3(const uint8_t *buf, uint32_t len, uint32_t *key);
bool echo_key_4(const uint8_t *buf, uint32_t len, uint32_t *key);
uint32_t echo_reply(struct proto_ctx *ctx, struct proto_txn *const *t,
	const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n);
uint32_t echo_connected(struct proto_ctx *ctx, struct proto_txn *const *t,
	const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n);
enum proto_verdict echo_timeout(struct proto_ctx *ctx, struct proto_txn *t);
uint32_t echo_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);
extern const struct proto_fault echo_faults[];

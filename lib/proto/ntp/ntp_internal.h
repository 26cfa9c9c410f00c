// SPDX-License-Identifier: BSD-3-Clause
// Shared by ntp.c (settings, counters, set-up) and ntp_wire.c (messages): the settings, the plan
// made by setup, and the counters. Path: cold (setup) | hot (the verbs). The thread that owns the
// ctx.
#pragma once

#include "base/counter.h"
#include "proto/proto.h"

#define NTP_LEN        48 // header of RFC 5905 section 7.3; extension fields may follow
#define NTP_STRATA     17 // 0..15, and one for all higher values
#define NTP_STRATUM_NO 16 // the server's clock is not synchronised

struct ntp_settings {
	uint64_t version;
	uint64_t poll; // log2 of seconds
};

struct ntp_server_settings {
	uint64_t stratum;
};

// Created by setup, then const.
struct ntp_plan {
	uint64_t seed;
	uint8_t version, poll;
};

struct ntp_server_plan {
	uint8_t stratum;
};

enum ntp_leap { NTP_LEAP_NONE, NTP_LEAP_61, NTP_LEAP_59, NTP_LEAP_ALARM, NTP_LEAPS };
enum ntp_kiss { NTP_KISS_RATE, NTP_KISS_DENY, NTP_KISS_RSTR, NTP_KISS_OTHER, NTP_KISSES };

const char *ntp_stratum_label(uint32_t i);
const char *ntp_leap_label(uint32_t i);
const char *ntp_kiss_label(uint32_t i);

// clang-format off
#define NTP_COUNTERS(X, A) \
	A(stratum, NTP_STRATA, ntp_stratum_label, "replies by stratum of the server") \
	A(leap, NTP_LEAPS, ntp_leap_label, "replies by leap indicator") \
	A(kiss, NTP_KISSES, ntp_kiss_label, "kiss-o'-death replies by code: the server refuses service") \
	X(unsynchronised, "replies of a server whose clock is not synchronised") \
	X(bad_version, "replies with another version than the request") \
	X(no_transmit_time, "replies without transmit timestamp") \
	X(request_bytes, "bytes of NTP messages sent") \
	X(reply_bytes, "bytes of NTP messages in replies")

#define NTP_SERVER_COUNTERS(X, A) \
	X(received, "requests to the responder") \
	X(answered, "replies made") \
	X(ignored, "messages other than requests of a client: too short, another mode, version 0 or above 4")
// clang-format on

struct ntp_counters {
	NTP_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBERS)
};

struct ntp_server_counters {
	NTP_SERVER_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBERS)
};

// The verbs of proto.h.
void ntp_request(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
	struct proto_out *out, uint32_t n, uint32_t room);
bool ntp_key(const uint8_t *buf, uint32_t len, uint32_t *key);
uint32_t ntp_reply(struct proto_ctx *ctx, struct proto_txn *const *t,
	const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n);
enum proto_verdict ntp_timeout(struct proto_ctx *ctx, struct proto_txn *t);
uint32_t ntp_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);
extern const struct proto_fault ntp_faults[];

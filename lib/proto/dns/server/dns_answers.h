// SPDX-License-Identifier: BSD-3-Clause
// The responder's settings, prepared for answering, and its functions. Path: cold (set-up) | hot
// (the rest). Any thread (set-up); the worker that owns ctx.
#pragma once

#include "proto/dns/client/dns_internal.h"
#include "proto/dns/server/dns_zone.h"

#define DNS_TEXT_MAX   4000
#define DNS_STRING_MAX 255
// With a compressed owner name; TXT records are the longest.
#define DNS_RECORD_MAX (12 + DNS_TEXT_MAX + DNS_TEXT_MAX / DNS_STRING_MAX + 1)

struct dns_record {
	uint16_t len;
	uint8_t bytes[DNS_RECORD_MAX];
};

// Extra options in every OPT record: extended errors, and the agent of error reports.
#define DNS_EXTRA_EDES 8
#define DNS_EXTRA_MAX  (DNS_EXTRA_EDES * (DNS_OPTION_HEAD + 2) + DNS_OPTION_HEAD + DNS_NAME_MAX)

struct dns_answers {
	enum dns_role role;
	uint8_t rcode;
	uint16_t keepalive;      // for clients over connections, in tenths of a second
	struct dns_zones *zones; // source of answers; NULL: the records below
	bool proxy;
	uint16_t extra_len;
	uint8_t extra[DNS_EXTRA_MAX];
	struct dns_record records[DNS_TYPE_BUCKETS]; // by dns_type_bucket; the last has length 0
	uint64_t zone_room, journal;                 // bytes
	uint32_t transfer_size, signed_every;        // bytes and messages of transfers
	uint32_t key_count;
	struct dns_tsig_key *keys; // accepted for signed requests
};

// Functions for proto.h
uint32_t dns_answer_longest(const struct dns_answers *a);
uint32_t dns_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);

// dns_faults_wire.c: the responder's faults
extern const struct proto_fault dns_faults[];

void *dns_answers_setup(const void *answers, const struct proto_env *env, struct proto_facts *facts,
	struct diag *d);
void dns_answers_teardown(void *shared);
int dns_answers_open(struct proto_ctx *ctx, const struct proto_env *env);
void dns_answers_close(struct proto_ctx *ctx);

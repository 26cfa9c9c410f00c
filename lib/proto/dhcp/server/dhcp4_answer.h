// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 responder: its settings, its counters as X-macro rows, what set-up makes of the
// settings, what its thread owns, and the verbs that the protocol's row names. Path: cold
// (settings, set-up) | hot (the rest). The responder's thread.
#pragma once

#include "base/addr.h"
#include "base/counter.h"
#include "base/field.h"
#include "proto/dhcp/v4/dhcp4_message.h"
#include "proto/dhcp/server/dhcp4_pool.h"
#include "proto/dhcp/server/dhcp_answers.h"
#include "proto/proto.h"

#define DHCP4_ANSWER_PAD    300 // least length of an answer
#define DHCP4_ANSWER_MAX    548 // no asked option beyond: 576 with IP and UDP (RFC 2131 section 2)
#define DHCP4_ANSWER_LISTED 62  // addresses in one option

struct dhcp4_answers_settings {
	struct field_list pool;        // struct addr_range
	uint64_t clients;              // UINT64_MAX: as many as addresses
	uint64_t lease_time_ns;        // UINT64_MAX: for ever
	uint64_t t1_ns, t2_ns;         // UINT64_MAX: 1/2 and 7/8 of it
	struct addr server_id;         // len 0: the responder's own
	struct addr subnet_mask;       // len 0: from the pool
	struct field_list router, dns; // struct addr
	const char *domain;            // NULL: none
	bool rapid, authoritative;
	bool full_pool;         // fewer addresses than clients are meant
	uint64_t address_twice; // 0: never
};

// Every message received is counted once in answered or in one of the rows after it.
// clang-format off
#define DHCP4_ANSWER_COUNTERS(X, A)                                                              \
	X(received, "messages received")                                                         \
	A(type, DHCP4_TYPES, dhcp4_answer_type_label, "messages received by type")               \
	A(sent, DHCP4_TYPES, dhcp4_answer_type_label, "answers by type")                         \
	X(answered, "messages answered")                                                         \
	X(released, "leases given back")                                                         \
	X(declined, "addresses declined; they rest for the lease time")                          \
	X(pool_full, "DISCOVERs not answered: no address is left")                               \
	X(other_server, "messages not answered: for another server")                             \
	X(unknown_client, "messages not answered: from a client without such a lease")           \
	X(ignored, "messages not answered: not a client's, or longer than there is room for")    \
	X(malformed, "messages not answered: not well formed, or without a required option")     \
	X(rapid, "DISCOVERs answered with an ACK")                                               \
	X(expired, "addresses given to another client as their time had passed")                 \
	X(address_twice, "addresses offered on purpose that another client has")
// clang-format on

struct dhcp4_answer_counters {
	DHCP4_ANSWER_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBERS)
};

const char *dhcp4_answer_type_label(uint32_t i);

// Made by dhcp4_answers_setup, const from then on.
struct dhcp4_answers {
	struct dhcp4_range ranges[DHCP4_RANGES_MAX];
	uint32_t range_count;
	uint32_t leases;    // records
	uint64_t seed;      // of the hashes
	uint64_t twice;     // every so-many-th new client; 0: never
	uint32_t server_id; // host order
	uint32_t lease_s, t1_s, t2_s;
	bool rapid, authoritative;
	uint8_t terms_len; // options 51, 58 and 59
	uint8_t terms[18];
	uint8_t mask[6];            // option 1
	struct dhcp_ready ready[3]; // in answers to those who ask for them
	uint32_t ready_count;
};

// ctx->own, made by dhcp4_answers_open.
struct dhcp4_server {
	struct dhcp4_pool pool;
	struct dhcp4_range ranges[DHCP4_RANGES_MAX]; // of pool
	struct dhcp4_scratch scratch;
	uint64_t fresh; // new clients since the last address given twice
};

// dhcp4_answer.c and dhcp4_answer_setup.c: the responder's settings, counters and set-up
extern const struct field_section dhcp4_answers_section;
extern const struct counter_section dhcp4_answered_section;
void dhcp4_check_answers(
	const void *answers, const void *const *settings, uint32_t count, struct diag *d);
void *dhcp4_answers_setup(const void *answers, const struct proto_env *env, struct diag *d);
void dhcp4_answers_teardown(void *shared);
int dhcp4_answers_open(struct proto_ctx *ctx, const struct proto_env *env);
void dhcp4_answers_close(struct proto_ctx *ctx);

// dhcp4_answer_wire.c: the responder's verbs
uint32_t dhcp4_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);
bool dhcp4_direct(const uint8_t *answer, uint32_t len, struct proto_direction *out);

// dhcp4_faults_wire.c: the responder's faults
extern const struct proto_fault dhcp4_faults[];

// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv6 responder: its settings, its counters as X-macro rows, what set-up makes of the
// settings, what its thread owns, and the verbs that the protocol's row names. Path: cold
// (settings, set-up) | hot (the rest). The responder's thread.
#pragma once

#include "base/addr.h"
#include "base/counter.h"
#include "base/field.h"
#include "proto/dhcp/v6/dhcp6_message.h"
#include "proto/dhcp/server/dhcp6_pool.h"
#include "proto/dhcp/server/dhcp_answers.h"
#include "proto/proto.h"

#define DHCP6_ANSWER_LISTED 32 // addresses in one option

struct dhcp6_answers_settings {
	struct field_list pool;     // struct addr_range
	struct field_list prefixes; // struct addr_prefix
	uint64_t prefix_length;
	uint64_t clients;                    // of either at most
	uint64_t valid_ns;                   // UINT64_MAX: for ever
	uint64_t preferred_ns, t1_ns, t2_ns; // UINT64_MAX: 5/8 of valid, 1/2 and 4/5 of that
	struct field_bytes server_id;        // len 0: made of the responder's address
	uint64_t preference;                 // UINT64_MAX: none
	struct field_list dns;               // struct addr
	const char *domain;                  // NULL: none
	uint64_t sol_max_rt_ns, inf_max_rt_ns, refresh_ns; // 0: none
	bool rapid, authoritative, unicast, full_pool;
	uint64_t address_twice, prefix_twice; // 0: never
};

// Every message received is counted once in answered or in one of the rows after it, up to
// malformed.
// clang-format off
#define DHCP6_ANSWER_COUNTERS(X, A)                                                              \
	X(received, "messages received")                                                         \
	A(type, DHCP6_TYPES, dhcp6_answer_type_label, "messages received by type, relays taken off") \
	X(relayed, "messages received that came through relays")                                 \
	A(sent, DHCP6_TYPES, dhcp6_answer_type_label, "answers by type")                         \
	A(status, DHCP6_STATUSES, dhcp6_answer_status_label, "status codes in answers")          \
	X(answered, "messages answered")                                                         \
	X(other_server, "messages not answered: for another server")                             \
	X(ignored, "messages not answered: not a client's, a CONFIRM without addresses, or longer than there is room for") \
	X(malformed, "messages not answered: not well formed, or without an option that is required or with one that must not be there") \
	X(rapid, "SOLICITs answered with a REPLY")                                               \
	X(released, "leases given back")                                                         \
	X(declined, "addresses declined; they rest for the valid lifetime")                      \
	X(expired, "addresses and prefixes given to another client as their time had passed")    \
	X(ias_ignored, "IAs beyond the eighth of a message, which stay unanswered")              \
	X(address_twice, "addresses offered on purpose that another client has")                 \
	X(prefix_twice, "prefixes offered on purpose that another client has")
// clang-format on

struct dhcp6_answer_counters {
	DHCP6_ANSWER_COUNTERS(COUNTER_MEMBER, COUNTER_MEMBERS)
};

const char *dhcp6_answer_type_label(uint32_t i);
const char *dhcp6_answer_status_label(uint32_t i);

enum dhcp6_kind { DHCP6_ADDRESSES, DHCP6_PREFIXES, DHCP6_KINDS };

// Made by dhcp6_answers_setup, const from then on.
struct dhcp6_answers {
	struct dhcp6_range ranges[DHCP6_KINDS][DHCP6_RANGES_MAX];
	uint32_t range_count[DHCP6_KINDS];
	uint32_t leases[DHCP6_KINDS]; // records
	uint64_t twice[DHCP6_KINDS];  // every so-many-th new client; 0: never
	uint8_t bits[DHCP6_KINDS];
	uint64_t seed; // of the hashes
	uint32_t valid_s, preferred_s, t1_s, t2_s;
	bool rapid, authoritative, unicast, has_preference;
	uint8_t preference;
	uint8_t server_id_len;
	uint8_t server_id[DHCP6_DUID_MAX];
	struct dhcp_ready ready[5]; // in answers to those who ask for them
	uint32_t ready_count;
};

// ctx->own, made by dhcp6_answers_open.
struct dhcp6_server {
	struct dhcp6_pool pools[DHCP6_KINDS];
	struct dhcp6_range ranges[DHCP6_KINDS][DHCP6_RANGES_MAX]; // of this worker
	uint64_t fresh[DHCP6_KINDS]; // new clients since the last one given twice
};

// dhcp6_answer.c and dhcp6_answer_setup.c: the responder's settings, counters and set-up
extern const struct field_section dhcp6_answers_section;
extern const struct counter_section dhcp6_answered_section;
void dhcp6_check_answers(
	const void *answers, const void *const *settings, uint32_t count, struct diag *d);
void *dhcp6_answers_setup(const void *answers, const struct proto_env *env, struct diag *d);
void dhcp6_answers_teardown(void *shared);
int dhcp6_answers_open(struct proto_ctx *ctx, const struct proto_env *env);
void dhcp6_answers_close(struct proto_ctx *ctx);

// dhcp6_answer_pools.c: the pools of set-up and of a worker (0 or -ENOMEM)
bool dhcp6_pools_check(const struct dhcp6_answers_settings *s, struct diag *d);
bool dhcp6_pools_set(struct dhcp6_answers *a, const struct dhcp6_answers_settings *s,
	const struct proto_env *env, struct diag *d);
int dhcp6_pool_open(struct dhcp6_server *s, const struct dhcp6_answers *a, enum dhcp6_kind kind,
	const struct proto_env *env);

// dhcp6_answer_wire.c: the responder's verbs
uint32_t dhcp6_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);
bool dhcp6_direct(const uint8_t *answer, uint32_t len, struct proto_direction *out);

// dhcp6_faults_wire.c: the responder's faults
extern const struct proto_fault dhcp6_faults[];

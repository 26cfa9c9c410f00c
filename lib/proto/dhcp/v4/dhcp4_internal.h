// SPDX-License-Identifier: BSD-3-Clause
// What the files of the DHCPv4 protocol share: its sections and the verbs. Not for anyone outside
// lib/proto, tests and fuzzers. Path: cold (set-up) | hot (the rest).
#pragma once

#include "proto/proto.h"

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

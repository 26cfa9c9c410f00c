// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 part of the server: its settings, the result of set-up, the state of a worker, and the
// functions for the protocol's row. Path: cold (settings, set-up) | hot (the rest). Management
// thread; the responder's thread.
#pragma once

#include "proto/dhcp/server/dhcp4_pool.h"
#include "proto/dhcp/server/dhcp_server.h"
#include "proto/dhcp/v4/dhcp4_message.h"

#define DHCP4_ANSWER_PAD    300 // minimum length of a reply
#define DHCP4_ANSWER_MAX    548 // limit of requested options: 576 with IP, UDP (RFC 2131 section 2)
#define DHCP4_ANSWER_LISTED 62  // addresses in one option

struct dhcp4_answers_settings {
	struct dhcp_answers_settings common;
	struct addr server_id;    // len 0: the responder's own address
	struct addr subnet_mask;  // len 0: from the pool
	struct field_list router; // struct addr
};

struct dhcp4_answers {
	struct dhcp_answers common;
	uint32_t server_id; // host order
	uint8_t terms_len;  // options 51, 58 and 59
	uint8_t terms[18];
	uint8_t mask[6]; // option 1
};

struct dhcp4_server_state {
	struct dhcp_server common;
	struct dhcp4_scratch scratch;
};

extern const struct proto_server dhcp4_server; // dhcp4_answer.c

// dhcp4_answer_wire.c: functions on messages
uint32_t dhcp4_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);
uint32_t dhcp4_more(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);
bool dhcp4_direct(const uint8_t *answer, uint32_t len, struct proto_direction *out);

extern const struct proto_fault dhcp4_faults[]; // dhcp4_faults_wire.c

// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv6 part of the server: its settings, the result of set-up, and its functions. Path: cold
// (settings, set-up) | hot (the rest). Management thread; the responder's thread.
#pragma once

#include "proto/dhcp/server/dhcp_server.h"
#include "proto/dhcp/v6/dhcp6_message.h"

#define DHCP6_ANSWER_LISTED 32 // addresses in one option

struct dhcp6_calls_settings {
	uint64_t after_ns;
	int32_t message;    // index of its name
	uint64_t bad_every; // 0: never
};

struct dhcp6_answers_settings {
	struct dhcp_answers_settings common;
	struct field_bytes server_id; // len 0: derived from the responder's address
	uint64_t preference;          // UINT64_MAX: none
	uint64_t sol_max_rt_ns, inf_max_rt_ns, refresh_ns; // 0: none
	bool unicast, leasequery;
	struct addr unicast_address;              // len 0: replies have no option 12
	struct dhcp6_calls_settings *reconfigure; // NULL: clients are not called
};

// Identity of the client for lease queries; stored only if these are answered.
struct dhcp6_lease_kept {
	struct dhcp_lease lease;
	uint8_t duid_len; // 0: not stored, or too long
	uint8_t duid[31];
};

_Static_assert(sizeof(struct dhcp6_lease_kept) == 64, "a power of two");

struct dhcp6_answers {
	struct dhcp_answers common;
	bool unicast, leasequery, has_preference;
	uint8_t preference;
	uint8_t prefix_length;
	uint8_t server_id_len;
	uint8_t server_id[DHCP6_DUID_MAX];
	uint64_t bad_every;
	uint8_t call; // type of the requested message
};

// ctx->own.
struct dhcp6_server {
	struct dhcp_server is;
	uint64_t replay;    // number of the latest message with authentication
	uint64_t until_bad; // valid RECONFIGUREs left
	uint32_t bad;       // number of invalid ones
};

extern const struct proto_server dhcp6_server; // dhcp6_answer.c

// dhcp6_answer_wire.c: functions on messages
uint32_t dhcp6_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);
bool dhcp6_direct(const uint8_t *answer, uint32_t len, struct proto_direction *out);
uint32_t dhcp6_more(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);

// Copy an option of a request, if present.
static inline void dhcp6_echo(struct writer *w, uint16_t code, const struct dhcp6_bytes *option)
{
	if (option->data)
		dhcp6_write_option(w, code, option->data, option->len);
}

extern const struct proto_fault dhcp6_faults[]; // dhcp6_faults_wire.c

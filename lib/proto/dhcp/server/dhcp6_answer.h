// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv6 part of the server: its settings, the result of set-up, and its table of verbs. Path:
// cold (settings, set-up) | hot (the rest). Management thread; the responder's thread.
#pragma once

#include "proto/dhcp/server/dhcp_server.h"
#include "proto/dhcp/v6/dhcp6_message.h"

#define DHCP6_ANSWER_LISTED 32 // addresses in one option

struct dhcp6_calls_settings {
	uint64_t after_ns;
	int32_t message;    // number of its name
	uint64_t bad_every; // 0: none is
};

struct dhcp6_answers_settings {
	struct dhcp_answers_settings common;
	struct field_bytes server_id;                      // len 0: made of the responder's address
	uint64_t preference;                               // UINT64_MAX: none
	uint64_t sol_max_rt_ns, inf_max_rt_ns, refresh_ns; // 0: none
	bool unicast, leasequery;
	struct addr unicast_address;              // len 0: replies have no option 12
	struct dhcp6_calls_settings *reconfigure; // NULL: no client is called on
};

// What a lease query can tell of its client; kept if lease queries are answered.
struct dhcp6_lease_kept {
	struct dhcp_lease lease;
	uint8_t duid_len; // 0: not kept, or too long
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
	uint8_t call; // type of the message that is asked for
};

// ctx->own.
struct dhcp6_server {
	struct dhcp_server is;
	uint64_t replay;    // number of the last message with an authentication
	uint64_t until_bad; // RECONFIGUREs that are right
	uint32_t bad;       // number of those that were not
};

extern const struct proto_server dhcp6_server; // dhcp6_answer.c

// dhcp6_answer_wire.c: the verbs on messages
uint32_t dhcp6_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);
bool dhcp6_direct(const uint8_t *answer, uint32_t len, struct proto_direction *out);
uint32_t dhcp6_more(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);

// An option of a request as it is, if the request has it.
static inline void dhcp6_echo(struct writer *w, uint16_t code, const struct dhcp6_bytes *option)
{
	if (option->data)
		dhcp6_write_option(w, code, option->data, option->len);
}

// dhcp6_calls_wire.c: the relay messages of a request, around the answer to it; begins: for
// dhcp6_option_end of each
void dhcp6_relays_begin(
	struct writer *w, const struct dhcp6_envelope *e, uint8_t *begins[DHCP6_LEVELS_MAX]);
// For a client that accepts RECONFIGUREs, if the server sends some: so does the server, and with
// `gives` there is a key. duid: hash of its DUID. A RECONFIGURE follows a key with a lease.
void dhcp6_accept_write(struct proto_ctx *ctx, const struct dhcp6_message *m, uint64_t duid,
	bool gives, struct writer *w);
static inline bool dhcp6_gives_key(uint8_t type)
{
	return type == DHCP6_REQUEST || type == DHCP6_INFORMATION;
}
// The RECONFIGURE that follows the REPLY to this request; its length, 0: none.
uint32_t dhcp6_reconfigure_write(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);

extern const struct proto_fault dhcp6_faults[]; // dhcp6_faults_wire.c

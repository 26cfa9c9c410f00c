// SPDX-License-Identifier: BSD-3-Clause
// RECONFIGUREs of the server, and the relay messages around them and around answers. Path: hot. The
// responder's thread.
#pragma once

#include "proto/dhcp/server/dhcp6_answer.h"

// Write the relay messages of a request around its answer; begins: for dhcp6_option_end of each.
void dhcp6_relays_begin(
	struct writer *w, const struct dhcp6_envelope *e, uint8_t *begins[DHCP6_LEVELS_MAX]);
// Write Reconfigure Accept for a client that accepts RECONFIGUREs, if the server sends any, and
// with `gives` a key. duid: hash of the client's DUID. A RECONFIGURE follows a key with a lease.
void dhcp6_accept_write(struct proto_ctx *ctx, const struct dhcp6_message *m, uint64_t duid,
	bool gives, struct writer *w);
static inline bool dhcp6_gives_key(uint8_t type)
{
	return type == DHCP6_REQUEST || type == DHCP6_INFORMATION;
}
// Write the RECONFIGURE that follows the REPLY to this request; returns its length, 0: none.
uint32_t dhcp6_reconfigure_write(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);

// SPDX-License-Identifier: BSD-3-Clause
// RECONFIGUREs of servers, and the keys for them. Options and MACs are in dhcp6_rkap.h. Path: hot.
// The worker that owns ctx.
#pragma once

#include "proto/dhcp/v6/dhcp6_plan.h"

// Keep the key in a valid reply to this client, if present.
void dhcp6_key_keep(const struct dhcp6_heard *h, uint32_t client);
// For struct proto_router.
bool dhcp6_unasked(struct proto_ctx *ctx, const struct proto_message *message, uint32_t *worker);

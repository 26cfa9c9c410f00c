// SPDX-License-Identifier: BSD-3-Clause
// The fast path for usual replies; all others take the slow path (dhcp4_wire.c). Path: hot. The
// worker that owns ctx.
#pragma once

#include "proto/dhcp/v4/dhcp4_plan.h"

// See struct dhcp_messages.
bool dhcp4_is_usual(struct proto_ctx *ctx, const struct proto_txn *t, const uint8_t *buf,
	uint32_t len, struct dhcp_heard *h);

// SPDX-License-Identifier: BSD-3-Clause
// The values of a client that its messages have, and the relay messages around them. Path: hot. The
// worker that owns ctx.
#pragma once

#include "proto/dhcp/v6/dhcp6_plan.h"

// Fields of one relay message.
struct dhcp6_hop {
	uint8_t hop_count;
	const uint8_t *link;
	uint8_t peer[16];
};

void dhcp6_self_find(const struct proto_ctx *ctx, uint32_t client, struct dhcp6_self *s);
void dhcp6_hop_find(const struct dhcp6_self *s, uint32_t level, struct dhcp6_hop *h);
struct pattern_values dhcp6_values_of(const struct dhcp6_self *s);

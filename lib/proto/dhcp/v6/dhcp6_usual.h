// SPDX-License-Identifier: BSD-3-Clause
// The fast path: requests copied from earlier ones, and replies compared with earlier ones.
// Path: hot. The worker that owns ctx.
#pragma once

#include "proto/dhcp/v6/dhcp6_plan.h"

// See struct dhcp_messages.
bool dhcp6_is_usual(struct proto_ctx *ctx, const struct proto_txn *t, const uint8_t *buf,
	uint32_t len, struct dhcp_heard *h);
// Learn from a valid reply that made a lease, after its client has chosen the server.
void dhcp6_usual_learn(struct dhcp6_worker *w, const struct dhcp6_heard *h);
// Learn from the message of t just written; learns only from a few.
void dhcp6_image_learn(
	struct dhcp6_worker *w, const struct proto_txn *t, const uint8_t *buf, uint32_t len);
// Write the message of t from an image, with its sum in ctx; returns its length, 0: no image.
uint32_t dhcp6_image_write(
	struct proto_ctx *ctx, const struct proto_txn *t, uint16_t elapsed, uint8_t *buf);

// SPDX-License-Identifier: BSD-3-Clause
// Checks of a reply: its client, type, relays and content. dhcp6_wire.c acts on it. Path: hot. The
// worker that owns the counters.
#pragma once

#include "proto/dhcp/v6/dhcp6_plan.h"

// Is it inside the relay messages in which t was sent? Counts the first difference.
bool dhcp6_envelope_is_ours(const struct dhcp6_self *s, struct dhcp_counters *n,
	const struct proto_txn *t, const struct dhcp6_envelope *e);
// See struct dhcp_messages.
bool dhcp6_way_is_ours(
	const struct dhcp_heard *h, const struct proto_ends *e, const struct proto_txn *t);
bool dhcp6_is_elsewhere(
	const struct dhcp_heard *h, const struct proto_ends *e, const struct proto_txn *t);
enum proto_verdict dhcp6_ours(
	struct dhcp_heard *h, const struct proto_ctx *ctx, const struct proto_txn *t);
enum dhcp_judgement dhcp6_judge(
	struct dhcp_heard *h, const struct proto_ctx *ctx, const struct proto_txn *t);
